// Message tags that we own: eight towards each peer, and an answer is taken only while its tag is out.
#pragma once

#include <array>
#include <optional>

#include "base/assert.h"
#include "sim/mctp/port.h"

namespace fb::mctp {

class TagTable {
 public:
  /// A tag that is free towards `peer`; the one that was given back last comes last, so that a late answer finds nobody
  /// who waits for it. A tag towards the null EID, whose answer may come from
  /// any EID, is never out together with the same tag towards somebody.
  std::optional<Tag> take(Eid peer) {
    const std::uint8_t mask = peer == kNullEid ? any() : taken_[peer] | taken_[kNullEid];
    for (unsigned i = 0; i < 8; ++i) {
      const auto value = static_cast<std::uint8_t>((next_[peer] + i) % 8);
      if ((mask >> value & 1) != 0) continue;
      next_[peer] = static_cast<std::uint8_t>(value + 1);
      taken_[peer] = static_cast<std::uint8_t>(taken_[peer] | 1u << value);
      return Tag{value, true};
    }
    return std::nullopt;
  }
  /// One bit a tag that take() could give.
  std::uint8_t free(Eid peer) const { return static_cast<std::uint8_t>(~(peer == kNullEid ? any() : taken_[peer] | taken_[kNullEid])); }
  /// This one, which is free.
  void take(Eid peer, std::uint8_t value) {
    BENCH_ASSERT((free(peer) >> value & 1) != 0, "a tag that is free");
    taken_[peer] = static_cast<std::uint8_t>(taken_[peer] | 1u << value);
  }
  void release(Eid peer, Tag tag) {
    BENCH_ASSERT(tag.value < 8, "a tag has three bits");
    taken_[peer] = static_cast<std::uint8_t>(taken_[peer] & ~(1u << tag.value));
  }
  /// Whether an answer from `source` with this tag is awaited.
  bool expects(Eid source, std::uint8_t value) const { return ((taken_[source] | taken_[kNullEid]) >> value & 1) != 0; }

 private:
  std::uint8_t any() const {
    std::uint8_t mask = 0;
    for (const std::uint8_t one : taken_) mask |= one;
    return mask;
  }
  std::array<std::uint8_t, 256> taken_{};
  std::array<std::uint8_t, 256> next_{};  ///< where the search begins
};

}  // namespace fb::mctp
