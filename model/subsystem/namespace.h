// An NVM namespace: logical blocks on a BlockStore, with its names and its damaged ranges.
//
// Blocks lie in the store one after the other, data and metadata together. Of protection information the store
// holds the complement: what was never written, or was deallocated, reads as tags of ones, which turn checks off.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "model/subsystem/attachments.h"
#include "model/subsystem/block_ranges.h"
#include "model/subsystem/key_values.h"
#include "model/subsystem/options.h"
#include "model/subsystem/reservations.h"
#include "model/subsystem/zones.h"
#include "wire/nvme/lba_status.h"
#include "wire/nvme/status.h"

namespace fb::subsystem {

/// What hosts read and wrote.
struct IoTotals {
  std::uint64_t reads = 0, writes = 0, bytes_read = 0, bytes_written = 0;

  void count(std::size_t bytes, bool write) {
    (write ? writes : reads) += 1;
    (write ? bytes_written : bytes_read) += bytes;
  }
  IoTotals& operator+=(const IoTotals& other) {
    reads += other.reads, writes += other.writes;
    bytes_read += other.bytes_read, bytes_written += other.bytes_written;
    return *this;
  }
};

class Namespace {
 public:
  /// `family` is the subsystem's name. options.nsid must have been chosen.
  Namespace(std::string_view family, NamespaceOptions options);

  std::uint32_t nsid() const { return nsid_; }
  std::uint64_t blocks() const { return blocks_; }
  const nvme::BlockLayout& layout() const { return layout_; }
  bool zoned() const { return zones_ != nullptr; }
  /// Null: the namespace is not zoned.
  ZoneTable* zones() { return zones_.get(); }
  const ZoneTable* zones() const { return zones_.get(); }
  bool key_value() const { return pairs_ != nullptr; }
  /// Null: it is not a key value namespace.
  KeyValueStore* pairs() { return pairs_.get(); }
  const KeyValueStore* pairs() const { return pairs_.get(); }
  /// Blocks of a zone that there would be with that layout.
  std::uint64_t zone_blocks_as(const nvme::BlockLayout& layout) const;
  nvme::CommandSet command_set() const {
    return zoned() ? nvme::CommandSet::zoned : key_value() ? nvme::CommandSet::key_value : nvme::CommandSet::nvm;
  }
  /// Data and metadata of one block.
  std::uint32_t block_bytes() const { return stride_; }
  /// Most blocks that can be in use (NCAP).
  std::uint64_t capacity() const { return capacity_; }
  bool thin() const { return capacity_ < blocks_; }
  std::uint32_t ana_group() const { return ana_group_; }
  bool shared() const { return shared_; }
  Attachments& attachments() { return attachments_; }
  const Attachments& attachments() const { return attachments_; }
  const std::array<std::uint8_t, 16>& uuid() const { return uuid_; }
  const std::array<std::uint8_t, 16>& nguid() const { return nguid_; }
  const std::array<std::uint8_t, 8>& eui64() const { return eui64_; }
  const NamespaceLimits& limits() const { return limits_; }
  /// 0 without endurance groups, or NVM sets.
  std::uint16_t endurance_group() const { return endurance_group_; }
  std::uint16_t nvm_set() const { return nvm_set_; }
  IoTotals& totals() { return totals_; }
  const IoTotals& totals() const { return totals_; }
  /// Blocks in use (NUSE).
  std::uint64_t blocks_in_use() const;

  /// 0 none, 1 write protect (feature 84h).
  std::uint32_t write_protection() const { return write_protection_; }
  void set_write_protection(std::uint32_t state) { write_protection_ = state; }
  ReservationTable& reservations() { return reservations_; }
  const ReservationTable& reservations() const { return reservations_; }
  /// NSZE is changed; what lies beyond a smaller size is out of reach. At most the store's size.
  void resize(std::uint64_t blocks);
  /// The same space in blocks of another layout; what is left over at the end is out of reach. For who erases it.
  void set_layout(const nvme::BlockLayout& layout);
  /// Blocks of that layout that there would be.
  std::uint64_t blocks_as(const nvme::BlockLayout& layout) const {
    const std::uint64_t blocks = space_ / layout.bytes();
    return zoned() ? blocks - blocks % zone_blocks_as(layout) : blocks;
  }

  /// [slba, slba + count) lies inside, without overflow.
  bool in_range(std::uint64_t slba, std::uint64_t count) const { return slba <= blocks_ && count <= blocks_ - slba; }
  bool uncorrectable(std::uint64_t slba, std::uint64_t count) const;
  /// The capacity holds these blocks beside those that are in use.
  bool admits(std::uint64_t slba, std::uint64_t count) const;

  // The range must be inside. `data` is count * block_bytes() long.
  nvme::Status read(std::uint64_t slba, MutableBytes data);
  /// What a read would give, in memory that never changes; empty where there is none.
  ByteView constant(std::uint64_t slba, std::size_t bytes) const {
    return layout_.is_protected() ? ByteView{} : store_->constant(slba * stride_, bytes);
  }
  /// Protection information in `data` is in disorder afterwards.
  nvme::Status write(std::uint64_t slba, MutableBytes data);
  /// Protection information is not compared.
  nvme::Status compare(std::uint64_t slba, ByteView data);
  /// Reads without giving the data to anybody.
  nvme::Status verify(std::uint64_t slba, std::uint64_t count);
  /// Zeroes; deallocated blocks read as zeroes too (DLFEAT 001b).
  nvme::Status write_zeroes(std::uint64_t slba, std::uint64_t count);
  nvme::Status deallocate(std::uint64_t slba, std::uint64_t count);
  /// True where blocks come to the known ones by that; so of the next two.
  bool write_uncorrectable(std::uint64_t slba, std::uint64_t count);
  /// The medium fails there: blocks cannot be read until they are written again. `known`: and somebody has noticed.
  bool damage(std::uint64_t slba, std::uint64_t count, bool known);
  /// Looks for damage.
  bool scan(std::uint64_t slba, std::uint64_t count);
  /// The known blocks that may not be recovered.
  std::vector<nvme::LbaStatus> unrecoverable(std::uint64_t slba, std::uint64_t count) const;
  /// For products that go on calling blocks unrecoverable that have been written.
  void keep_tracked(std::uint64_t slba, std::uint64_t count) { tracked_.add(slba, count); }
  nvme::Status flush();
  nvme::Status flush(std::uint64_t slba, std::uint64_t count);
  /// Puts a volatile write cache in front of the store.
  void cache_writes();
  /// What a loss of power does not tear: so many blocks, if the namespace has no limit of its own.
  AtomicUnit atomic_unit(std::uint32_t blocks) const;
  void lose_power(Rng& rng, const AtomicUnit& atomic) { store_->lose_power(rng, atomic); }
  /// The data of a zone, for good: a loss of power brings nothing back.
  nvme::Status erase_zone(std::size_t index);
  /// Every byte of the store, in reach or not, and the damage.
  nvme::Status erase();

  BlockStore& store() { return *store_; }

 private:
  void complement_tuples(MutableBytes data) const;
  bool equal(ByteView a, ByteView b) const;
  void mend(std::uint64_t slba, std::uint64_t count);
  bool track(const BlockRanges& of, std::uint64_t slba, std::uint64_t count);

  std::uint32_t nsid_;
  nvme::BlockLayout layout_;
  std::uint32_t stride_;
  std::uint64_t blocks_;
  std::uint64_t space_;  ///< bytes of the store that are the namespace's
  std::uint64_t capacity_;
  std::uint32_t ana_group_;
  std::uint16_t endurance_group_;
  std::uint16_t nvm_set_;
  NamespaceLimits limits_;
  IoTotals totals_;
  bool shared_;
  Attachments attachments_;
  std::uint32_t write_protection_;
  std::array<std::uint8_t, 16> uuid_;
  std::array<std::uint8_t, 16> nguid_;
  std::array<std::uint8_t, 8> eui64_;
  ReservationTable reservations_;
  std::unique_ptr<BlockStore> store_;
  /// The damage is never in a cache: what mends it is flushed, or a loss of power would bring back data from before it.
  BlockRanges uncorrectable_;
  /// What the medium has lost, and what is known of that and of the above (tracked LBAs).
  BlockRanges damaged_;
  BlockRanges tracked_;
  /// What is in use of a thin namespace; nothing is kept of others.
  BlockRanges in_use_;
  std::unique_ptr<ZoneTable> zones_;
  std::unique_ptr<KeyValueStore> pairs_;
  /// Data of a zone, whatever the format, and what it holds of it.
  std::uint64_t zone_bytes_ = 0;
  std::uint64_t zone_capacity_bytes_ = 0;
  /// For Compare and Verify, allocated at the first of them.
  Bytes scratch_;
};

}  // namespace fb::subsystem
