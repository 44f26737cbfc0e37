#include "sim/rdma/softroce/memory.h"

#include "sim/rdma/softroce/finer_fault_points.h"

namespace fb::softroce {

namespace {
constexpr std::uint64_t kPage = 4096;
// A freed index is not handed out again before this many others were freed after it, so that a
// stale key finds nothing rather than somebody else's memory.
constexpr std::size_t kFreeQuarantine = 64;
}  // namespace

MemoryTable::MemoryTable(std::uint32_t first_index, std::uint8_t first_key_byte)
    : first_index_(first_index), next_key_byte_(first_key_byte) {}

std::size_t MemoryTable::take_slot() {
  ++live_;
  std::size_t slot = regions_.size();
  if (free_.size() > kFreeQuarantine) {
    slot = free_.front();
    free_.pop_front();
  } else {
    regions_.emplace_back();
  }
  regions_[slot] = Region{};
  regions_[slot].live = true;
  regions_[slot].key_byte = next_key_byte_++;
  return slot;
}

std::uint32_t MemoryTable::add(std::uint32_t domain, MutableBytes memory, rdma::Access access) {
  const std::uint64_t iova = next_iova_;
  next_iova_ += (memory.size() + kPage - 1) / kPage * kPage + kPage;  // with a guard page
  return add_at(iova, domain, memory, access);
}

std::uint32_t MemoryTable::add_at(std::uint64_t iova, std::uint32_t domain, MutableBytes memory, rdma::Access access) {
  const std::size_t slot = take_slot();
  Region& region = regions_[slot];
  region.valid = true;
  region.domain = domain;
  region.access = access;
  region.data = memory.data();
  region.length = memory.size();
  region.iova = iova;
  return key_of(slot);
}

std::uint32_t MemoryTable::add_fast(std::uint32_t domain, std::size_t max_bytes) {
  const std::size_t slot = take_slot();
  Region& region = regions_[slot];
  region.fast = true;
  region.domain = domain;
  region.max_length = max_bytes;
  return key_of(slot);
}

MemoryTable::Region* MemoryTable::slot_of(std::uint32_t key) {
  const std::size_t slot = static_cast<std::size_t>(key >> 8) - first_index_;
  return slot < regions_.size() && regions_[slot].live ? &regions_[slot] : nullptr;
}
const MemoryTable::Region* MemoryTable::slot_of(std::uint32_t key) const { return const_cast<MemoryTable*>(this)->slot_of(key); }

void MemoryTable::remove(std::uint32_t key) {
  Region* region = slot_of(key);
  BENCH_ASSERT(region != nullptr, "a region is removed once");
  region->live = false;  // what it was is kept for who asks in vain
  --live_;
  free_.push_back(static_cast<std::size_t>(region - regions_.data()));
}

bool MemoryTable::fast_register(std::uint32_t domain, std::uint32_t key, MutableBytes memory, std::uint64_t iova, rdma::Access access,
                                std::uint8_t key_byte, std::uint32_t queue, SoftHooks* hooks) {
  Region* region = slot_of(key);
  if (region == nullptr || !region->fast || region->valid || region->domain != domain) return false;
  if (memory.size() > region->max_length && !departs(hooks, finer::kFastRegionUnbounded)) return false;
  region->valid = true;
  region->key_byte = key_byte;
  region->queue = queue;
  region->access = access;
  region->iova = iova;
  region->data = memory.data();
  region->length = memory.size();
  return true;
}

bool MemoryTable::invalidate(std::uint32_t domain, std::uint32_t key, std::uint32_t queue) {
  Region* region = slot_of(key);
  if (region == nullptr || !region->fast || !region->valid || region->domain != domain) return false;
  if (region->key_byte != (key & 0xFF)) return false;
  if (region->queue != 0 && queue != 0 && region->queue != queue) return false;
  region->valid = false;
  region->length = 0;
  return true;
}

MemoryTable::Found MemoryTable::find(std::uint32_t domain, std::uint32_t key, std::uint64_t address, std::uint64_t length,
                                     rdma::Access access, SoftHooks* hooks, std::uint32_t queue) const {
  const Region* region = slot_of(key);
  if (region == nullptr && departs(hooks, finer::kResponderServesDeregistered)) {
    const std::size_t slot = static_cast<std::size_t>(key >> 8) - first_index_;
    if (slot < regions_.size()) region = &regions_[slot];
  }
  if (region == nullptr || !region->valid) return {KeyCheck::unknown_key, nullptr};
  if (hooks != nullptr && hooks->key_lost()) return {KeyCheck::unknown_key, nullptr};
  if (region->key_byte != (key & 0xFF) && !departs(hooks, Departure::responder_key_byte_unchecked)) {
    return {KeyCheck::unknown_key, nullptr};
  }
  if (region->queue != 0 && queue != 0 && region->queue != queue) return {KeyCheck::unknown_key, nullptr};
  if (region->domain != domain && !departs(hooks, Departure::responder_pd_unchecked)) {
    return {KeyCheck::wrong_domain, nullptr};
  }
  if (!rdma::allows(region->access, access) && !departs(hooks, Departure::responder_access_unchecked)) {
    return {KeyCheck::no_right, nullptr};
  }
  // No sum that could wrap: address + length may exceed 2^64.
  const auto fits = [&](std::uint64_t offset, std::uint64_t end) {
    return address >= region->iova && offset <= end && length <= end - offset;
  };
  const std::uint64_t offset = address - region->iova;
  if (!fits(offset, region->length)) {
    // A product that departs serves bytes of the region in place of those behind it, which are not its own.
    if (length > region->length) return {KeyCheck::out_of_range, nullptr};
    if (departs(hooks, Departure::responder_range_unchecked)) return {KeyCheck::ok, region->data};
    if (departs(hooks, finer::kResponderRangeOneMore) && fits(offset, region->length + 1)) {
      return {KeyCheck::ok, region->data + (region->length - length)};
    }
    return {KeyCheck::out_of_range, nullptr};
  }
  return {KeyCheck::ok, region->data + offset};
}

std::uint32_t MemoryTable::current_key(std::uint32_t key) const {
  const Region* region = slot_of(key);
  return region == nullptr ? key : (key & ~0xFFu) | region->key_byte;
}
std::uint32_t MemoryTable::domain_of(std::uint32_t key) const {
  const Region* region = slot_of(key);
  return region == nullptr ? 0 : region->domain;
}
std::uint64_t MemoryTable::address_of(std::uint32_t key) const {
  const Region* region = slot_of(key);
  return region == nullptr ? 0 : region->iova;
}
std::size_t MemoryTable::length_of(std::uint32_t key) const {
  const Region* region = slot_of(key);
  return region == nullptr ? 0 : static_cast<std::size_t>(region->length);
}

}  // namespace fb::softroce
