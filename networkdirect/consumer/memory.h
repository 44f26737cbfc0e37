// Protection domains and memory regions.
#pragma once

#include "networkdirect/consumer/shared.h"
#include "networkdirect/provider/extension.h"

namespace fb::networkdirect::consumer {

class Region final : public rdma::MemoryRegion {
 public:
  /// At the pointer, or with `at` elsewhere. Throws UserError when the provider does not register it.
  Region(Shared& shared, std::uint64_t base, bool at, MutableBytes memory, rdma::Access access);
  ~Region() override;

  std::uint32_t lkey() const override { return key_; }
  std::uint32_t rkey() const override { return rkey_; }
  std::uint64_t address() const override { return base_; }
  std::size_t length() const override { return memory_.size(); }

  IND2MemoryRegion& object() { return *object_; }
  /// A departure: while requests may use it.
  void deregister_early();

 private:
  void register_memory(bool at, ULONG flags);
  void take_tokens();
  HRESULT deregister();

  Shared& s_;
  std::uint64_t base_;
  MutableBytes memory_;
  Com<IND2MemoryRegion> object_;
  std::uint32_t key_ = 0;
  std::uint32_t rkey_ = 0;
  bool registered_ = false;
};

class Domain final : public rdma::ProtectionDomain {
 public:
  explicit Domain(Shared& shared) : s_(shared) {}
  std::unique_ptr<rdma::MemoryRegion> register_memory(MutableBytes memory, rdma::Access access) override;
  std::unique_ptr<rdma::MemoryRegion> register_memory_at(std::uint64_t iova, MutableBytes memory, rdma::Access access) override;
  /// Throws UserError: NetworkDirect has none.
  std::unique_ptr<rdma::MemoryRegion> allocate_fast_region(std::size_t max_bytes) override;

 private:
  Shared& s_;
};

}  // namespace fb::networkdirect::consumer
