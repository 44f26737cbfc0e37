// EIDs that a bus owner may give away. One that comes back is not used again before TRECLAIM has passed.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "base/time.h"
#include "sim/mctp/port.h"

namespace fb::mctp {

class EidPool {
 public:
  EidPool() = default;
  /// `size` EIDs from `first` on.
  EidPool(Eid first, std::size_t size)
      : first_(first), size_(std::min(size, std::size_t{kBroadcastEid} - first)) {}

  Eid first() const { return static_cast<Eid>(first_); }
  std::size_t size() const { return size_; }
  bool holds(Eid eid) const { return eid >= first_ && eid - first_ < size_; }

  /// The lowest that is free.
  std::optional<Eid> take(Instant now) { return take_range(now, 1); }
  /// The lowest `count` in a row that are free; their first.
  std::optional<Eid> take_range(Instant now, std::size_t count) {
    std::size_t run = 0;
    for (std::size_t at = 0; at < size_; ++at) {
      run = is_free(now, first_ + at) ? run + 1 : 0;
      if (run < count || count == 0) continue;
      const std::size_t begin = first_ + at + 1 - count;
      for (std::size_t eid = begin; eid < begin + count; ++eid) entries_[eid].taken = true;
      return static_cast<Eid>(begin);
    }
    return std::nullopt;
  }
  /// Somebody has it already: a static EID, or one that we have given.
  void mark(Eid eid) {
    if (eid != kBroadcastEid) entries_[eid].taken = true;
  }
  bool is_taken(Eid eid) const { return eid == kBroadcastEid || entries_[eid].taken; }
  void give_back(Eid eid, Instant usable) {
    if (eid != kBroadcastEid) entries_[eid] = {false, usable};
  }

 private:
  struct Entry {
    bool taken = false;
    Instant usable;
  };
  bool is_free(Instant now, std::size_t eid) const {
    return eid < entries_.size() && !entries_[eid].taken && entries_[eid].usable <= now;
  }

  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::array<Entry, 255> entries_{};  // EID FFh is nobody's
};

}  // namespace fb::mctp
