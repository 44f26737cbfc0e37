#include "model/subsystem/namespace.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/rng.h"

namespace fb::subsystem {

namespace {

constexpr std::size_t kScratchBytes = 64 * 1024;

template <std::size_t N>
bool all_zero(const std::array<std::uint8_t, N>& id) {
  return std::all_of(id.begin(), id.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

Namespace::Namespace(std::string_view family, NamespaceOptions options)
    : nsid_(options.nsid),
      block_shift_(static_cast<unsigned>(std::countr_zero(options.block_bytes))),
      blocks_(options.blocks),
      ana_group_(options.ana_group),
      shared_(options.shared),
      write_protection_(options.write_protected ? 1 : 0),
      uuid_(options.uuid),
      nguid_(options.nguid),
      eui64_(options.eui64),
      store_(std::move(options.store)) {
  BENCH_ASSERT(std::has_single_bit(options.block_bytes) && options.block_bytes >= 512,
               "a logical block is a power of two of bytes, at least 512");
  BENCH_ASSERT(blocks_ <= (std::uint64_t{1} << 62) >> block_shift_, "namespace too large");
  if (store_ == nullptr) store_ = make_memory_store(blocks_ << block_shift_);
  BENCH_ASSERT(store_->bytes() >= blocks_ << block_shift_, "the store is smaller than the namespace");
  Rng names(hash_name(family), "namespace " + std::to_string(nsid_));
  if (all_zero(uuid_)) {
    names.fill(uuid_);
    uuid_[6] = static_cast<std::uint8_t>((uuid_[6] & 0x0F) | 0x40);
    uuid_[8] = static_cast<std::uint8_t>((uuid_[8] & 0x3F) | 0x80);
  }
  if (all_zero(nguid_)) names.fill(nguid_);
  if (all_zero(eui64_)) names.fill(eui64_);
}

std::uint64_t Namespace::blocks_in_use() const {
  return std::min(blocks_, (store_->bytes_held() + block_bytes() - 1) >> block_shift_);
}

void Namespace::resize(std::uint64_t blocks) {
  BENCH_ASSERT(blocks <= store_->bytes() >> block_shift_, "the store is smaller than the namespace");
  blocks_ = blocks;
}

void Namespace::set_block_bytes(std::uint32_t block_bytes) {
  const std::uint64_t bytes = blocks_ << block_shift_;
  block_shift_ = static_cast<unsigned>(std::countr_zero(block_bytes));
  blocks_ = bytes >> block_shift_;
  uncorrectable_.clear();
}

bool Namespace::uncorrectable(std::uint64_t slba, std::uint64_t count) const {
  if (uncorrectable_.empty() || count == 0) return false;
  const auto after = uncorrectable_.lower_bound(slba + count);
  return after != uncorrectable_.begin() && std::prev(after)->second > slba;
}

void Namespace::mend(std::uint64_t slba, std::uint64_t count) {
  if (uncorrectable_.empty()) return;
  const std::uint64_t end = slba + count;
  auto at = uncorrectable_.lower_bound(slba);
  if (at != uncorrectable_.begin() && std::prev(at)->second > slba) at = std::prev(at);
  while (at != uncorrectable_.end() && at->first < end) {
    const auto [first, last] = *at;
    at = uncorrectable_.erase(at);
    if (first < slba) uncorrectable_[first] = slba;
    if (last > end) uncorrectable_[end] = last;
  }
}

nvme::Status Namespace::read(std::uint64_t slba, MutableBytes data) {
  return store_->read(slba << block_shift_, data) ? nvme::sc::success
                                                  : nvme::sc::unrecovered_read_error;
}

nvme::Status Namespace::write(std::uint64_t slba, ByteView data) {
  if (!store_->write(slba << block_shift_, data)) return nvme::sc::write_fault;
  mend(slba, data.size() >> block_shift_);
  return nvme::sc::success;
}

nvme::Status Namespace::compare(std::uint64_t slba, ByteView data) {
  scratch_.resize(kScratchBytes);
  std::uint64_t offset = slba << block_shift_;
  while (!data.empty()) {
    const std::size_t n = std::min(data.size(), scratch_.size());
    if (!store_->read(offset, MutableBytes{scratch_}.first(n))) {
      return nvme::sc::unrecovered_read_error;
    }
    if (std::memcmp(scratch_.data(), data.data(), n) != 0) return nvme::sc::compare_failure;
    data = data.subspan(n);
    offset += n;
  }
  return nvme::sc::success;
}

nvme::Status Namespace::verify(std::uint64_t slba, std::uint64_t count) {
  scratch_.resize(kScratchBytes);
  std::uint64_t offset = slba << block_shift_;
  std::uint64_t left = count << block_shift_;
  while (left > 0) {
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left, scratch_.size()));
    if (!store_->read(offset, MutableBytes{scratch_}.first(n))) {
      return nvme::sc::unrecovered_read_error;
    }
    offset += n;
    left -= n;
  }
  return nvme::sc::success;
}

nvme::Status Namespace::write_zeroes(std::uint64_t slba, std::uint64_t count) {
  if (!store_->zero(slba << block_shift_, count << block_shift_)) return nvme::sc::write_fault;
  mend(slba, count);
  return nvme::sc::success;
}

nvme::Status Namespace::deallocate(std::uint64_t slba, std::uint64_t count) {
  return write_zeroes(slba, count);
}

void Namespace::write_uncorrectable(std::uint64_t slba, std::uint64_t count) {
  mend(slba, count);
  uncorrectable_[slba] = slba + count;
}

nvme::Status Namespace::flush() {
  return store_->flush() ? nvme::sc::success : nvme::sc::write_fault;
}

}  // namespace fb::subsystem
