// Tables by command identifier: few are outstanding at a time, and their room is used again.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace fb::monitors {

/// `T` has clear(), which leaves it as new but may keep its room.
template <class T>
class ByCid {
 public:
  T* find(std::uint16_t cid) {
    const std::uint32_t place = places_[entry_of(cid)];
    return place == kNowhere ? nullptr : &slots_[place].value;
  }
  /// A fresh entry, in place of one that may be there.
  T& put(std::uint16_t cid) {
    std::size_t entry = entry_of(cid);
    if (places_[entry] == kNowhere) {
      if (free_.empty()) {
        if (4 * (slots_.size() + 1) > places_.size()) {
          spread(2 * places_.size());
          entry = entry_of(cid);
        }
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
      }
      places_[entry] = free_.back();
      free_.pop_back();
    }
    Slot& slot = slots_[places_[entry]];
    slot.used = true;
    slot.cid = cid;
    slot.value.clear();
    return slot.value;
  }
  /// Whether it was there.
  bool erase(std::uint16_t cid) {
    std::size_t hole = entry_of(cid);
    if (places_[hole] == kNowhere) return false;
    slots_[places_[hole]].used = false;
    free_.push_back(places_[hole]);
    // Whoever stands behind the hole because it was taken moves into it.
    for (std::size_t at = next(hole); places_[at] != kNowhere; at = next(at)) {
      const std::size_t home = home_of(slots_[places_[at]].cid);
      const bool stays = ((at - home) & (places_.size() - 1)) < ((at - hole) & (places_.size() - 1));
      if (stays) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = kNowhere;
    return true;
  }
  const T* find(std::uint16_t cid) const { return const_cast<ByCid*>(this)->find(cid); }
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.used) visit(slot.cid, slot.value);
    }
  }
  template <class Visit>
  void each(Visit&& visit) {
    for (Slot& slot : slots_) {
      if (slot.used) visit(slot.cid, slot.value);
    }
  }
  std::size_t size() const { return slots_.size() - free_.size(); }

 private:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  struct Slot {
    std::uint16_t cid = 0;
    bool used = false;
    T value;
  };
  std::size_t next(std::size_t entry) const { return (entry + 1) & (places_.size() - 1); }
  std::size_t home_of(std::uint16_t cid) const {
    return (cid * std::uint32_t{0x9E3779B1} >> 16) & (places_.size() - 1);  // spreads counters and generations alike
  }
  /// Where it stands, or would stand.
  std::size_t entry_of(std::uint16_t cid) const {
    std::size_t entry = home_of(cid);
    while (places_[entry] != kNowhere && slots_[places_[entry]].cid != cid) entry = next(entry);
    return entry;
  }
  void spread(std::size_t entries) {
    places_.assign(entries, kNowhere);
    for (std::uint32_t place = 0; place < slots_.size(); ++place) {
      if (slots_[place].used) places_[entry_of(slots_[place].cid)] = place;
    }
  }
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;  // slots
  // Slots by command identifier: a power of two, at most a quarter of it taken.
  std::vector<std::uint32_t> places_ = std::vector<std::uint32_t>(32, kNowhere);
};

/// Identifiers, one bit each.
class CidSet {
 public:
  bool has(std::uint16_t cid) const { return cid / 64u < words_.size() && (words_[cid / 64u] & bit_of(cid)) != 0; }
  /// Whether it was not there before.
  bool add(std::uint16_t cid) {
    if (cid / 64u >= words_.size()) [[unlikely]]
      words_.resize(std::bit_ceil(cid / 64u + std::size_t{1}));
    std::uint64_t& word = words_[cid / 64u];
    if ((word & bit_of(cid)) != 0) return false;
    word |= bit_of(cid);
    ++size_;
    return true;
  }
  /// Whether it was there.
  bool remove(std::uint16_t cid) {
    if (!has(cid)) return false;
    words_[cid / 64u] &= ~bit_of(cid);
    --size_;
    return true;
  }
  std::size_t size() const { return size_; }
  /// Those of `other` too, which is empty then.
  void take(CidSet& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
    size_ = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (i < other.words_.size()) words_[i] |= other.words_[i];
      size_ += static_cast<std::size_t>(std::popcount(words_[i]));
    }
    other = {};
  }

 private:
  static std::uint64_t bit_of(std::uint16_t cid) { return std::uint64_t{1} << cid % 64u; }
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

}  // namespace fb::monitors
