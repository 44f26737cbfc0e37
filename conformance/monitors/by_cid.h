// Small tables by command identifier: few are outstanding at a time, and their room is used again.
#pragma once

#include <cstdint>
#include <vector>

namespace fb::monitors {

/// `T` has clear(), which leaves it as new but may keep its room.
template <class T>
class ByCid {
 public:
  T* find(std::uint16_t cid) {
    for (Slot& slot : slots_) {
      if (slot.used && slot.cid == cid) return &slot.value;
    }
    return nullptr;
  }
  /// A fresh entry, in place of one that may be there.
  T& put(std::uint16_t cid) {
    Slot* free = nullptr;
    for (Slot& slot : slots_) {
      if (slot.used && slot.cid == cid) free = &slot;
    }
    if (free == nullptr) {
      for (Slot& slot : slots_) {
        if (!slot.used) {
          free = &slot;
          break;
        }
      }
      if (free == nullptr) free = &slots_.emplace_back();
      ++count_;
    }
    free->used = true;
    free->cid = cid;
    free->value.clear();
    return free->value;
  }
  void erase(std::uint16_t cid) {
    for (Slot& slot : slots_) {
      if (!slot.used || slot.cid != cid) continue;
      slot.used = false;
      --count_;
      return;
    }
  }
  template <class Visit>
  void each(Visit&& visit) {
    for (Slot& slot : slots_) {
      if (slot.used) visit(slot.cid, slot.value);
    }
  }
  std::size_t size() const { return count_; }

 private:
  struct Slot {
    std::uint16_t cid = 0;
    bool used = false;
    T value;
  };
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

/// Identifiers that were seen, one bit each.
class CidSet {
 public:
  bool has(std::uint16_t cid) const { return cid / 64u < words_.size() && (words_[cid / 64u] >> cid % 64u & 1) != 0; }
  void add(std::uint16_t cid) {
    if (cid / 64u >= words_.size()) words_.resize(cid / 64u + 1);
    words_[cid / 64u] |= std::uint64_t{1} << cid % 64u;
  }
  void remove(std::uint16_t cid) {
    if (cid / 64u < words_.size()) words_[cid / 64u] &= ~(std::uint64_t{1} << cid % 64u);
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace fb::monitors
