// Protection domains and registered memory.
#pragma once

#include "sim/rdma/device.h"
#include "sim/rdma/verbs/shared.h"

namespace fb::verbs {

class Region final : public rdma::MemoryRegion {
 public:
  explicit Region(Owned<ibv_mr> object) : object_(std::move(object)) {}
  std::uint32_t lkey() const override { return object_->lkey; }
  std::uint32_t rkey() const override { return object_->rkey; }
  std::uint64_t address() const override { return reinterpret_cast<std::uintptr_t>(object_->addr); }
  std::size_t length() const override { return object_->length; }

 private:
  Owned<ibv_mr> object_;
};

class Domain final : public rdma::ProtectionDomain {
 public:
  Domain(Shared& shared, Owned<ibv_pd> object) : s_(shared), object_(std::move(object)) {}
  std::unique_ptr<rdma::MemoryRegion> register_memory(MutableBytes memory, rdma::Access access) override;
  std::unique_ptr<rdma::MemoryRegion> register_memory_at(std::uint64_t iova, MutableBytes memory, rdma::Access access) override;
  std::unique_ptr<rdma::MemoryRegion> allocate_fast_region(std::size_t max_bytes) override;
  ibv_pd* object() { return object_.get(); }

 private:
  Shared& s_;
  Owned<ibv_pd> object_;
};

}  // namespace fb::verbs
