// Buffers of registered memory in size classes (powers of two). Memory is taken in slabs when it is
// first needed, shared by all queues of a fabric, and given back when much of it lies idle; so that
// a fabric costs what its commands in flight need, not what its queues could ask for at most.
#pragma once

#include <memory>
#include <vector>

#include "sim/rdma/device.h"

namespace fb::transport {

class RegisteredPool {
  struct Slab;

 public:
  struct Buffer {
    MutableBytes memory;  ///< the whole size class
    std::uint64_t address = 0;
    std::uint32_t lkey = 0;

    rdma::Sge sge(std::size_t offset, std::size_t length) const { return {address + offset, static_cast<std::uint32_t>(length), lkey}; }

   private:
    friend class RegisteredPool;
    Slab* slab = nullptr;
    Buffer* next_free = nullptr;
  };

  static constexpr std::size_t kSmallest = 64;
  /// Idle memory beyond this is given back.
  static constexpr std::size_t kKeepBytes = 16u << 20;

  RegisteredPool(rdma::ProtectionDomain& domain, std::size_t largest);
  ~RegisteredPool();
  RegisteredPool(const RegisteredPool&) = delete;
  RegisteredPool& operator=(const RegisteredPool&) = delete;

  /// A buffer of at least `bytes`; its content is arbitrary.
  Buffer* acquire(std::size_t bytes);
  void release(Buffer* buffer);

  std::size_t largest() const { return kSmallest << (classes_.size() - 1); }
  std::size_t bytes_held() const { return bytes_held_; }
  std::size_t bytes_used() const { return bytes_used_; }

 private:
  /// The slabs of one size that have a free buffer are linked in a list.
  struct SizeClass {
    std::size_t bytes = 0;
    Slab* open = nullptr;
  };
  Slab* add_slab(SizeClass& size_class);
  void link(Slab& slab);
  void unlink(Slab& slab);

  rdma::ProtectionDomain& domain_;
  std::vector<SizeClass> classes_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::size_t bytes_held_ = 0;
  std::size_t bytes_used_ = 0;
};

}  // namespace fb::transport
