// A set of logical blocks, kept as ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace fb::subsystem {

class BlockRanges {
 public:
  bool empty() const { return ranges_.empty(); }
  std::uint64_t size() const { return size_; }

  /// Blocks of [first, first + count) that are in the set.
  std::uint64_t count_in(std::uint64_t first, std::uint64_t count) const {
    std::uint64_t found = 0;
    visit_in(first, count, [&found](std::uint64_t, std::uint64_t blocks) { found += blocks; });
    return found;
  }
  /// What of the set lies in [first, first + count), range by range.
  template <class Visit>
  void visit_in(std::uint64_t first, std::uint64_t count, Visit&& visit) const {
    const std::uint64_t end = first + count;
    auto at = ranges_.lower_bound(first);
    if (at != ranges_.begin() && std::prev(at)->second > first) --at;
    for (; at != ranges_.end() && at->first < end; ++at) {
      const std::uint64_t from = std::max(at->first, first);
      visit(from, std::min(at->second, end) - from);
    }
  }
  bool touches(std::uint64_t first, std::uint64_t count) const { return !empty() && count_in(first, count) != 0; }

  void add(std::uint64_t first, std::uint64_t count) {
    if (count == 0) return;
    std::uint64_t end = first + count;
    // One range with those that it meets.
    auto at = ranges_.lower_bound(first);
    if (at != ranges_.begin() && std::prev(at)->second >= first) --at;
    while (at != ranges_.end() && at->first <= end) {
      first = std::min(first, at->first);
      end = std::max(end, at->second);
      size_ -= at->second - at->first;
      at = ranges_.erase(at);
    }
    ranges_[first] = end;
    size_ += end - first;
  }

  void remove(std::uint64_t first, std::uint64_t count) {
    if (ranges_.empty()) return;
    const std::uint64_t end = first + count;
    auto at = ranges_.lower_bound(first);
    if (at != ranges_.begin() && std::prev(at)->second > first) --at;
    while (at != ranges_.end() && at->first < end) {
      const auto [from, to] = *at;
      at = ranges_.erase(at);
      size_ -= to - from;
      if (from < first) keep(from, first);
      if (to > end) keep(end, to);
    }
  }

  void clear() {
    ranges_.clear();
    size_ = 0;
  }

 private:
  void keep(std::uint64_t from, std::uint64_t to) {
    ranges_[from] = to;
    size_ += to - from;
  }

  std::map<std::uint64_t, std::uint64_t> ranges_;  ///< first to one past the last; disjoint
  std::uint64_t size_ = 0;
};

}  // namespace fb::subsystem
