#include "model/subsystem/namespace.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/rng.h"
#include "model/subsystem/write_cache.h"

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
      layout_{.data_bytes = options.block_bytes,
              .metadata_bytes = options.metadata_bytes,
              .protection_type = options.protection_type,
              .tuple_first = options.protection_first,
              .guard = options.guard,
              .storage_tag_bits = options.storage_tag_bits},
      stride_(layout_.bytes()),
      blocks_(options.key_value_bytes != 0 ? (options.key_value_bytes + options.block_bytes - 1) / options.block_bytes : options.blocks),
      space_(blocks_ * stride_),
      capacity_(options.capacity == 0 || options.key_value_bytes != 0 ? blocks_ : options.capacity),
      ana_group_(options.ana_group),
      endurance_group_(options.endurance_group),
      nvm_set_(options.nvm_set),
      limits_(options.limits),
      shared_(options.shared),
      attachments_(options.attached && options.shared, options.attached),
      write_protection_(options.write_protected ? 1 : 0),
      uuid_(options.uuid),
      nguid_(options.nguid),
      eui64_(options.eui64),
      store_(std::move(options.store)) {
  BENCH_ASSERT(std::has_single_bit(options.block_bytes) && options.block_bytes >= 512,
               "a logical block is a power of two of bytes, at least 512");
  BENCH_ASSERT(!layout_.is_protected() || layout_.metadata_bytes >= layout_.tuple_bytes(),
               "protection information needs metadata to be in");
  BENCH_ASSERT(blocks_ <= (std::uint64_t{1} << 62) / stride_, "namespace too large");
  if (store_ == nullptr) store_ = make_memory_store(space_);
  BENCH_ASSERT(store_->bytes() >= space_, "the store is smaller than the namespace");
  BENCH_ASSERT(capacity_ <= blocks_, "the capacity is at most the size");
  if (options.zones.zone_blocks != 0) {
    zones_ = std::make_unique<ZoneTable>(options.zones, blocks_);
    zone_bytes_ = zones_->zone_blocks() * layout_.data_bytes;
    zone_capacity_bytes_ = zones_->options().capacity * layout_.data_bytes;
  }
  if (options.key_value_bytes != 0) {
    pairs_ = std::make_unique<KeyValueStore>(options.key_value_bytes, KeyValueFormat{});
  }
  std::string name = "namespace " + std::to_string(nsid_);
  if (options.incarnation != 0) name += "." + std::to_string(options.incarnation);
  Rng names(hash_name(family), name);
  if (all_zero(uuid_)) {
    names.fill(uuid_);
    uuid_[6] = static_cast<std::uint8_t>((uuid_[6] & 0x0F) | 0x40);
    uuid_[8] = static_cast<std::uint8_t>((uuid_[8] & 0x3F) | 0x80);
  }
  if (all_zero(nguid_)) names.fill(nguid_);
  if (all_zero(eui64_)) names.fill(eui64_);
}

std::uint64_t Namespace::blocks_in_use() const {
  if (thin()) return in_use_.size();
  return std::min(blocks_, (store_->bytes_held() + stride_ - 1) / stride_);
}

AtomicUnit Namespace::atomic_unit(std::uint32_t blocks) const {
  const std::uint32_t own = limits_.atomic_power_fail;
  return {.block_bytes = block_bytes(),
          .blocks = own != 0 ? own : blocks,
          .boundary = limits_.boundary_power_fail,
          .boundary_offset = limits_.boundary_offset};
}

void Namespace::resize(std::uint64_t blocks) {
  BENCH_ASSERT(blocks <= store_->bytes() / stride_, "the store is smaller than the namespace");
  capacity_ = thin() ? std::min(capacity_, blocks) : blocks;
  blocks_ = blocks;
  space_ = blocks_ * stride_;
  if (zoned()) zones_->reshape(zones_->zone_blocks(), zones_->options().capacity, blocks_);
}

std::uint64_t Namespace::zone_blocks_as(const nvme::BlockLayout& layout) const {
  return std::max<std::uint64_t>(zone_bytes_ / layout.data_bytes, 1);
}

void Namespace::set_layout(const nvme::BlockLayout& layout) {
  const std::uint64_t capacity = capacity_ * stride_;
  const bool was_thin = thin();
  const std::uint64_t blocks = blocks_as(layout);
  if (zoned()) {
    const std::uint64_t held = std::max<std::uint64_t>(zone_capacity_bytes_ / layout.data_bytes, 1);
    zones_->reshape(zone_blocks_as(layout), held, blocks);
    zones_->initialize(true);
  }
  layout_ = layout;
  stride_ = layout.bytes();
  blocks_ = blocks;
  capacity_ = was_thin ? std::min(capacity / stride_, blocks_) : blocks_;
  mend(0, std::numeric_limits<std::uint64_t>::max());
  in_use_.clear();
}

void Namespace::complement_tuples(MutableBytes data) const {
  if (!layout_.is_protected()) return;
  const std::size_t bytes = layout_.tuple_bytes();
  for (std::size_t at = layout_.tuple_at(); at < data.size(); at += stride_) {
    for (std::size_t i = 0; i < bytes; i += 8) {
      std::uint8_t* const word = data.data() + at + i;
      store_le(word, ~load_le<std::uint64_t>(word));
    }
  }
}

bool Namespace::equal(ByteView a, ByteView b) const {
  if (!layout_.is_protected()) return std::memcmp(a.data(), b.data(), a.size()) == 0;
  const std::size_t tuple = layout_.tuple_at();
  const std::size_t after = tuple + layout_.tuple_bytes();
  for (std::size_t at = 0; at < a.size(); at += stride_) {
    if (std::memcmp(&a[at], &b[at], tuple) != 0) return false;
    if (after < stride_ && std::memcmp(&a[at + after], &b[at + after], stride_ - after) != 0) return false;
  }
  return true;
}

bool Namespace::uncorrectable(std::uint64_t slba, std::uint64_t count) const {
  return uncorrectable_.touches(slba, count) || damaged_.touches(slba, count);
}

void Namespace::mend(std::uint64_t slba, std::uint64_t count) {
  uncorrectable_.remove(slba, count);
  damaged_.remove(slba, count);
  tracked_.remove(slba, count);
}

bool Namespace::admits(std::uint64_t slba, std::uint64_t count) const {
  return !thin() || in_use_.size() - in_use_.count_in(slba, count) + count <= capacity_;
}

nvme::Status Namespace::read(std::uint64_t slba, MutableBytes data) {
  if (!store_->read(slba * stride_, data)) return nvme::sc::unrecovered_read_error;
  complement_tuples(data);
  return nvme::sc::success;
}

nvme::Status Namespace::write(std::uint64_t slba, MutableBytes data) {
  complement_tuples(data);
  const std::uint64_t count = data.size() / stride_;
  const bool mends = uncorrectable(slba, count);
  if (!store_->write(slba * stride_, data)) return nvme::sc::write_fault;
  mend(slba, count);
  if (thin()) in_use_.add(slba, count);
  return mends ? flush(slba, count) : nvme::Status(nvme::sc::success);
}

nvme::Status Namespace::compare(std::uint64_t slba, ByteView data) {
  scratch_.resize(kScratchBytes / stride_ * stride_);
  std::uint64_t offset = slba * stride_;
  while (!data.empty()) {
    const std::size_t n = std::min(data.size(), scratch_.size());
    if (!store_->read(offset, MutableBytes{scratch_}.first(n))) {
      return nvme::sc::unrecovered_read_error;
    }
    if (!equal(data.first(n), ByteView{scratch_}.first(n))) return nvme::sc::compare_failure;
    data = data.subspan(n);
    offset += n;
  }
  return nvme::sc::success;
}

nvme::Status Namespace::verify(std::uint64_t slba, std::uint64_t count) {
  scratch_.resize(kScratchBytes);
  std::uint64_t offset = slba * stride_;
  std::uint64_t left = count * stride_;
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
  const bool mends = uncorrectable(slba, count);
  if (!store_->zero(slba * stride_, count * stride_)) return nvme::sc::write_fault;
  mend(slba, count);
  in_use_.remove(slba, count);
  return mends ? flush(slba, count) : nvme::Status(nvme::sc::success);
}

nvme::Status Namespace::deallocate(std::uint64_t slba, std::uint64_t count) { return write_zeroes(slba, count); }

nvme::Status Namespace::erase_zone(std::size_t index) {
  const std::uint64_t first = zones_->start_of(index);
  // A full zone may hold what was in its Zone Random Write Area.
  const bool holds = zones_->has_random(index) || zones_->state(index) == nvme::ZoneState::full;
  if (zones_->write_pointer(index) == first && !holds) return nvme::sc::success;
  const nvme::Status status = write_zeroes(first, zones_->zone_blocks());
  return status.ok() ? flush(first, zones_->zone_blocks()) : status;
}

bool Namespace::track(const BlockRanges& of, std::uint64_t slba, std::uint64_t count) {
  const std::uint64_t before = tracked_.size();
  of.visit_in(slba, count, [this](std::uint64_t first, std::uint64_t blocks) { tracked_.add(first, blocks); });
  return tracked_.size() != before;
}

bool Namespace::write_uncorrectable(std::uint64_t slba, std::uint64_t count) {
  damaged_.remove(slba, count);
  uncorrectable_.add(slba, count);
  return track(uncorrectable_, slba, count);
}

bool Namespace::damage(std::uint64_t slba, std::uint64_t count, bool known) {
  uncorrectable_.remove(slba, count);
  damaged_.add(slba, count);
  return known && scan(slba, count);
}

bool Namespace::scan(std::uint64_t slba, std::uint64_t count) { return track(damaged_, slba, count); }

std::vector<nvme::LbaStatus> Namespace::unrecoverable(std::uint64_t slba, std::uint64_t count) const {
  std::vector<nvme::LbaStatus> found;
  tracked_.visit_in(slba, count, [&](std::uint64_t first, std::uint64_t blocks) {
    for (; blocks != 0;) {
      const std::uint64_t now = std::min(blocks, nvme::kLbaRangeMax);
      const bool marked = uncorrectable_.count_in(first, now) == now;
      found.push_back({first, now, marked ? nvme::LbaRangeStatus::marked : nvme::LbaRangeStatus::unrecoverable});
      first += now, blocks -= now;
    }
  });
  return found;
}

nvme::Status Namespace::erase() {
  // Nor may a loss of power bring anything back.
  if (!store_->zero(0, store_->bytes()) || !store_->flush()) return nvme::sc::write_fault;
  if (key_value()) pairs_->clear();
  mend(0, std::numeric_limits<std::uint64_t>::max());
  in_use_.clear();
  return nvme::sc::success;
}

nvme::Status Namespace::flush(std::uint64_t slba, std::uint64_t count) {
  return store_->flush_range(slba * stride_, count * stride_) ? nvme::sc::success : nvme::sc::write_fault;
}

void Namespace::cache_writes() { store_ = make_write_cache(std::move(store_)); }

nvme::Status Namespace::flush() { return store_->flush() ? nvme::sc::success : nvme::sc::write_fault; }

}  // namespace fb::subsystem
