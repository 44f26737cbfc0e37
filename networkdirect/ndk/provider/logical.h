// Logical addresses: pages as the adapter would see them, of memory that NdkBuildLAM has mapped. They lie where no
// pointer of a program can be, and mean nothing but a place in this table.
#pragma once

#include <ndkpi.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "sim/rdma/device.h"

namespace fb::ndk::provider {

class ProtectionDomain;

/// Memory that one or more MDLs describe, end to end. The offset in its first page is the first MDL's, which need not be
/// that of the pointer: consumers of this project choose it.
struct Described {
  MutableBytes memory;
  ULONG offset = 0;
};
/// Nothing unless the chain lies side by side in virtual addresses (`chain_unchecked`: a departure that takes the first
/// MDL for all) and describes at least `length` bytes.
enum class DescribedEnd : std::uint8_t { good, not_contiguous, too_short };
DescribedEnd describe(const MDL* mdl, SIZE_T length, bool chain_unchecked, Described& out);

class LogicalSpace {
 public:
  explicit LogicalSpace(bool scattered) : scattered_(scattered) {}

  /// One mapping.
  struct Mapping {
    Described what;
    std::vector<std::uint32_t> pages;
    bool released = false;
    /// As each protection domain's device domain knows the memory, for the privileged token. Few.
    std::vector<std::pair<ProtectionDomain*, std::unique_ptr<rdma::MemoryRegion>>> regions;
  };
  static std::size_t pages_of(const Described& what) { return (what.offset + what.memory.size() + PAGE_SIZE - 1) >> PAGE_SHIFT; }
  Mapping& map(const Described& what);
  void unmap(Mapping& mapping);
  static std::uint64_t address_of(const Mapping& mapping, std::size_t page) {
    return kBase + (std::uint64_t{mapping.pages[page]} << PAGE_SHIFT);
  }

  /// `length` bytes at a logical address, for the privileged token of a domain: where they are and a device key for them. False
  /// when they are not mapped, or not side by side. The region of a mapping that the domain sees first is made here.
  bool find(std::uint64_t logical, std::uint32_t length, ProtectionDomain& domain, rdma::Sge& out);
  /// `length` bytes, from `offset` in the first of the pages on, as pieces of memory that lie side by side as far as they
  /// do. False when a page is none of ours or the bytes go beyond what was mapped.
  bool collect(const NDK_LOGICAL_ADDRESS* pages, ULONG count, ULONG offset, std::size_t length, std::vector<MutableBytes>& pieces) const;
  /// The domain goes: no region of its own may outlive it.
  void forget(ProtectionDomain& domain);
  std::size_t mappings() const { return live_; }

 private:
  /// No pointer of a program has this bit.
  static constexpr std::uint64_t kBase = std::uint64_t{1} << 51;
  struct Page {
    std::uint8_t* data = nullptr;  ///< where the page would begin; less of it may be mapped
    Mapping* mapping = nullptr;
  };
  const Page* page_at(std::uint64_t logical) const {
    const std::uint64_t index = (logical - kBase) >> PAGE_SHIFT;
    return index < pages_.size() && pages_[index].mapping != nullptr ? &pages_[index] : nullptr;
  }

  bool scattered_;
  std::vector<Page> pages_;
  std::deque<std::uint32_t> free_pages_;  // the oldest is used first
  std::deque<std::unique_ptr<Mapping>> all_;
  std::vector<Mapping*> free_;
  std::size_t live_ = 0;
};

}  // namespace fb::ndk::provider
