// The Timestamp feature (0Eh) of a controller: milliseconds that go on from a controller reset, or from what a host set.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "wire/nvme/features.h"

namespace fb::subsystem {

class TimestampClock {
 public:
  /// A controller reset.
  void restart(Instant now) {
    *this = {};
    since_ = reset_ = now;
  }
  void set(std::uint64_t ms, Instant now) {
    base_ms_ = ms;
    since_ = now;
    set_by_host_ = true;
  }
  /// As Get Features returns it.
  Record<nvme::Timestamp> read(Instant now) const {
    const std::uint64_t ms = base_ms_ + static_cast<std::uint64_t>((now - since_).count_ms());
    Record<nvme::Timestamp> out;
    out.set(nvme::timestamp::low, ms & 0xFFFFFFFF)
        .set(nvme::timestamp::high, ms >> 32 & 0xFFFF)
        .set(nvme::timestamp::to, set_by_host_ ? nvme::kTimestampOfHost : nvme::kTimestampSinceReset);
    return out;
  }
  std::uint64_t since_reset_ms(Instant now) const { return static_cast<std::uint64_t>((now - reset_).count_ms()); }

 private:
  std::uint64_t base_ms_ = 0;
  Instant since_;
  Instant reset_;
  bool set_by_host_ = false;
};

}  // namespace fb::subsystem
