#include "networkdirect/consumer/shared.h"

#include "base/assert.h"

namespace fb::networkdirect::consumer {

namespace {
// An index is not used again before this many others were freed after it.
constexpr std::size_t kQuarantine = 64;
}  // namespace

std::uint32_t RegionTable::add(Entry entry) {
  std::size_t index = entries_.size();
  if (free_.size() > kQuarantine) {
    index = free_.front();
    free_.pop_front();
  } else {
    entries_.emplace_back();
    owners_.push_back(0);
  }
  entry.key = static_cast<std::uint32_t>(index << 8) | owners_[index]++;
  entries_[index] = entry;
  return entry.key;
}

void RegionTable::remove(std::uint32_t key) {
  BENCH_ASSERT(find(key) != nullptr, "a region is removed once");
  entries_[key >> 8] = {};
  free_.push_back(key >> 8);
}

void* QueuePairTable::add(QueuePair& qp) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  entries_[index].qp = &qp;
  return reinterpret_cast<void*>(std::uintptr_t{entries_[index].owner} << 32 | index);
}

/// For a deviation.
QueuePair* QueuePairTable::other_than(const QueuePair& qp) const {
  for (const Entry& entry : entries_) {
    if (entry.qp != nullptr && entry.qp != &qp) return entry.qp;
  }
  return nullptr;
}

void QueuePairTable::remove(void* context) {
  BENCH_ASSERT(find(context) != nullptr, "a queue pair is removed once");
  const auto index = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(context));
  entries_[index].qp = nullptr;
  ++entries_[index].owner;
  free_.push_back(index);
}

}  // namespace fb::networkdirect::consumer
