// EIDs that a bus owner may give away. One that is reclaimed is not used again before TRECLAIM has passed, and not
// before all others have been.
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
  EidPool(Eid first, std::size_t size) : first_(first), size_(std::min(size, std::size_t{kBroadcastEid} - first)) {}

  Eid first() const { return static_cast<Eid>(first_); }
  std::size_t size() const { return size_; }
  bool holds(Eid eid) const { return eid >= first_ && eid - first_ < size_; }

  /// The lowest that is free, a reclaimed one only where there is no other.
  std::optional<Eid> take(Instant now) { return take_range(now, 1); }
  /// The lowest `count` in a row that are free; their first.
  std::optional<Eid> take_range(Instant now, std::size_t count) {
    const auto unused = find_range(now, count, false);
    const auto found = unused ? unused : find_range(now, count, true);
    if (!found) return std::nullopt;
    for (std::size_t eid = *found; eid < *found + count; ++eid) entries_[eid].taken = true;
    return found;
  }
  /// Somebody has it already: a static EID, or one that we have given.
  void mark(Eid eid) {
    if (eid != kBroadcastEid) entries_[eid].taken = true;
  }
  bool is_taken(Eid eid) const { return eid == kBroadcastEid || entries_[eid].taken; }
  /// Nobody has it, and nobody had.
  void give_back(Eid eid) {
    if (eid != kBroadcastEid) entries_[eid] = {};
  }
  void reclaim(Eid eid, Instant usable) {
    if (eid != kBroadcastEid) entries_[eid] = {false, true, usable};
  }

 private:
  struct Entry {
    bool taken = false;
    bool reclaimed = false;
    Instant usable;
  };
  bool is_free(Instant now, std::size_t eid, bool reclaimed_too) const {
    if (eid >= entries_.size() || entries_[eid].taken) return false;
    return !entries_[eid].reclaimed || (reclaimed_too && entries_[eid].usable <= now);
  }
  std::optional<Eid> find_range(Instant now, std::size_t count, bool reclaimed_too) const {
    std::size_t run = 0;
    for (std::size_t at = 0; at < size_; ++at) {
      run = is_free(now, first_ + at, reclaimed_too) ? run + 1 : 0;
      if (run >= count && count > 0) return static_cast<Eid>(first_ + at + 1 - count);
    }
    return std::nullopt;
  }

  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::array<Entry, 255> entries_{};  // EID FFh is nobody's
};

}  // namespace fb::mctp
