// Registered memory: keys, I/O addresses, rights. I/O addresses are handed out in ascending order
// and are never pointers, so that packets do not depend on where memory lies.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "sim/rdma/device.h"
#include "sim/rdma/softroce/fault_points.h"

namespace fb::softroce {

enum class KeyCheck : std::uint8_t { ok, unknown_key, wrong_domain, no_right, out_of_range };

class MemoryTable {
 public:
  /// `first_index` and `first_key_byte` make keys differ from device to device.
  MemoryTable(std::uint32_t first_index, std::uint8_t first_key_byte);

  /// The key of a valid region over `memory` at a fresh I/O address.
  std::uint32_t add(std::uint32_t domain, MutableBytes memory, rdma::Access access);
  /// The same at an address of the caller's choice.
  std::uint32_t add_at(std::uint64_t iova, std::uint32_t domain, MutableBytes memory, rdma::Access access);
  /// The key of a free region that fast_register() can make valid.
  std::uint32_t add_fast(std::uint32_t domain, std::size_t max_bytes);
  void remove(std::uint32_t key);

  /// FRWR: makes a free fast region valid. Its index stays, its key byte becomes `key_byte`.
  /// False when the region is not free, is not of `domain` or is too small. Peers may use it through queue
  /// pair `queue` alone, unless that is 0.
  bool fast_register(std::uint32_t domain, std::uint32_t key, MutableBytes memory, std::uint64_t iova, rdma::Access access,
                     std::uint8_t key_byte, std::uint32_t queue, SoftHooks* hooks = nullptr);
  /// Makes a valid fast region free. False for any other key, and for a peer's request that came on another
  /// queue pair than the region's (0: our own request).
  bool invalidate(std::uint32_t domain, std::uint32_t key, std::uint32_t queue = 0);

  struct Found {
    KeyCheck check = KeyCheck::unknown_key;
    std::uint8_t* data = nullptr;
  };
  /// Looks up `length` bytes at `address` under `key` and checks them against domain and rights, and
  /// requests of a peer against the queue pair on which they came (0: our own access).
  /// `hooks` may waive single checks; what it returns is in bounds of some region all the same.
  Found find(std::uint32_t domain, std::uint32_t key, std::uint64_t address, std::uint64_t length, rdma::Access access,
             SoftHooks* hooks = nullptr, std::uint32_t queue = 0) const;

  /// The current key of the region with this key's index: its low byte changes with FRWR.
  std::uint32_t current_key(std::uint32_t key) const;
  std::uint32_t domain_of(std::uint32_t key) const;
  std::uint64_t address_of(std::uint32_t key) const;
  std::size_t length_of(std::uint32_t key) const;
  std::size_t regions() const { return live_; }

 private:
  struct Region {
    bool live = false;
    bool fast = false;
    bool valid = false;
    std::uint8_t key_byte = 0;
    rdma::Access access = rdma::Access::none;
    std::uint32_t domain = 0;
    std::uint32_t queue = 0;  ///< the only queue pair whose peer may use it; 0: all of the domain
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
    std::uint64_t max_length = 0;
    std::uint8_t* data = nullptr;
  };
  Region* slot_of(std::uint32_t key);
  const Region* slot_of(std::uint32_t key) const;
  std::uint32_t key_of(std::size_t slot) const { return (first_index_ + static_cast<std::uint32_t>(slot)) << 8 | regions_[slot].key_byte; }
  std::size_t take_slot();

  std::uint32_t first_index_;
  std::uint8_t next_key_byte_;
  std::uint64_t next_iova_ = 0x100000;
  std::vector<Region> regions_;
  std::deque<std::size_t> free_;  // the oldest is reused first
  std::size_t live_ = 0;
};

/// The user's handle of a region.
class SoftRegion final : public rdma::MemoryRegion {
 public:
  SoftRegion(MemoryTable& table, std::uint32_t key, bool fast) : table_(table), key_(key), fast_(fast) {}
  ~SoftRegion() override { table_.remove(key_); }
  std::uint32_t lkey() const override { return table_.current_key(key_); }
  std::uint32_t rkey() const override { return table_.current_key(key_); }
  std::uint64_t address() const override { return table_.address_of(key_); }
  std::size_t length() const override { return table_.length_of(key_); }
  bool fast() const { return fast_; }

 private:
  MemoryTable& table_;
  std::uint32_t key_;
  bool fast_;
};

class SoftDomain final : public rdma::ProtectionDomain {
 public:
  SoftDomain(MemoryTable& table, std::uint32_t number) : table_(table), number_(number) {}
  std::unique_ptr<rdma::MemoryRegion> register_memory(MutableBytes memory, rdma::Access access) override {
    return std::make_unique<SoftRegion>(table_, table_.add(number_, memory, access), false);
  }
  std::unique_ptr<rdma::MemoryRegion> register_memory_at(std::uint64_t iova, MutableBytes memory, rdma::Access access) override {
    return std::make_unique<SoftRegion>(table_, table_.add_at(iova, number_, memory, access), false);
  }
  std::unique_ptr<rdma::MemoryRegion> allocate_fast_region(std::size_t max_bytes) override {
    return std::make_unique<SoftRegion>(table_, table_.add_fast(number_, max_bytes), true);
  }
  std::uint32_t number() const { return number_; }

 private:
  MemoryTable& table_;
  std::uint32_t number_;
};

}  // namespace fb::softroce
