// Protection domains, memory regions of both kinds, and the logical addresses of memory that is to be registered fast.
#pragma once

#include <deque>

#include "networkdirect/ndk/consumer/objects.h"

namespace fb::ndk::consumer {

/// A chain of MDLs over memory that is contiguous in virtual addresses.
class MdlChain {
 public:
  /// `offset` is where in its page the memory is said to begin. The pages of a simulated machine lie where one says;
  /// packets must not depend on where an allocator put a buffer.
  MdlChain(MutableBytes memory, ULONG offset);
  MDL* get() { return mdls_.data(); }

 private:
  std::vector<MDL> mdls_;
};

inline ULONG page_offset(std::uint64_t address) { return static_cast<ULONG>(address & (PAGE_SIZE - 1)); }
inline std::uint64_t address_of(const std::uint8_t* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

class DomainCore final : public Object {
 public:
  explicit DomainCore(std::shared_ptr<Shared> shared) : Object(std::move(shared)) {}
  void open();
  NDK_PD& pd() { return *pd_; }

 private:
  void begin_close() override;
  NDK_PD* pd_ = nullptr;
};

/// The mapping of one piece of memory, until nobody holds it.
class Lam final : public Object {
 public:
  Lam(std::shared_ptr<Shared> shared, MutableBytes memory, ULONG offset);
  void open();
  const NDK_LOGICAL_ADDRESS_MAPPING& mapping() const { return *reinterpret_cast<const NDK_LOGICAL_ADDRESS_MAPPING*>(storage_.data()); }
  ULONG offset() const { return offset_; }
  /// Departure: gives the mapping back while it is used.
  void release_early();

 private:
  void build();
  void begin_close() override;

  MdlChain mdls_;
  std::size_t length_;
  std::vector<std::uint64_t> storage_;
  ULONG size_ = 0;
  ULONG offset_ = 0;
  bool released_ = false;
};

class RegionCore final : public Object {
 public:
  RegionCore(std::shared_ptr<DomainCore> domain, std::shared_ptr<Shared> shared);
  /// Memory for good. With `iova`, at that I/O address: needs the extension.
  void open_plain(MutableBytes memory, rdma::Access access, const std::uint64_t* iova);
  void open_fast(std::size_t max_bytes);
  /// No request finds it any more.
  void forget();

  NDK_MR& mr() { return *mr_; }
  std::uint32_t handle() const { return handle_; }
  UINT32 local_token() const { return local_token_; }
  UINT32 remote_token() const { return remote_token_; }
  bool fast() const { return fast_; }
  std::size_t max_bytes() const { return max_bytes_; }
  /// The pointer behind an I/O address of the region; null beyond its ends.
  std::uint8_t* pointer(std::uint64_t address, std::size_t length) const;

  MutableBytes memory;
  std::uint64_t iova = 0;
  std::shared_ptr<Lam> lam;  ///< while the fast region is valid

 private:
  void begin_close() override;
  void close_mr();
  void create_mr(bool fast, std::function<void()> then);
  void register_plain(ULONG flags, bool chosen);
  void take_tokens(NTSTATUS status);

  std::shared_ptr<DomainCore> domain_;
  NDK_MR* mr_ = nullptr;
  std::unique_ptr<MdlChain> mdls_;
  std::uint32_t handle_;
  UINT32 local_token_ = 0;
  UINT32 remote_token_ = 0;
  std::size_t max_bytes_ = 0;
  bool fast_ = false;
  bool registered_ = false;
};

class Domain final : public rdma::ProtectionDomain {
 public:
  Domain(std::shared_ptr<DomainCore> core, std::shared_ptr<Shared> shared);
  ~Domain() override;
  std::unique_ptr<rdma::MemoryRegion> register_memory(MutableBytes memory, rdma::Access access) override;
  std::unique_ptr<rdma::MemoryRegion> register_memory_at(std::uint64_t iova, MutableBytes memory, rdma::Access access) override;
  std::unique_ptr<rdma::MemoryRegion> allocate_fast_region(std::size_t max_bytes) override;
  const std::shared_ptr<DomainCore>& core() const { return core_; }

 private:
  std::unique_ptr<rdma::MemoryRegion> finish(std::shared_ptr<RegionCore> region);
  void fill_reserve();

  std::shared_ptr<DomainCore> core_;
  std::shared_ptr<Shared> shared_;
  std::deque<std::shared_ptr<RegionCore>> reserve_;  ///< for those who need a key inside an event
};

/// A handle of a region, as rdma::Device users have it.
class Region final : public rdma::MemoryRegion {
 public:
  explicit Region(std::shared_ptr<RegionCore> core) : core_(std::move(core)) {}
  ~Region() override { core_->forget(); }
  std::uint32_t lkey() const override { return core_->handle(); }
  std::uint32_t rkey() const override;
  std::uint64_t address() const override { return core_->iova; }
  std::size_t length() const override { return core_->memory.size(); }
  const std::shared_ptr<RegionCore>& core() const { return core_; }

 private:
  std::shared_ptr<RegionCore> core_;
};

}  // namespace fb::ndk::consumer
