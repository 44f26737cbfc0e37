// Memory windows.
#pragma once

#include "networkdirect/consumer/memory.h"

namespace fb::networkdirect::consumer {

class Window final : public WindowRegion {
 public:
  explicit Window(Shared& shared);

  std::uint32_t lkey() const override { return 0; }
  std::uint32_t rkey() const override { return rkey_; }
  std::uint64_t address() const override { return address_; }
  std::size_t length() const override { return length_; }
  bool bind(rdma::QueuePair& qp, std::uint64_t id, rdma::MemoryRegion& in, std::uint64_t offset, std::uint64_t length,
            rdma::Access access) override;
  bool invalidate(rdma::QueuePair& qp, std::uint64_t id) override;

  IND2MemoryWindow* object() { return object_.get(); }

 private:
  HRESULT bind_in(IND2QueuePair& qp, void* context, IND2MemoryRegion& region, const void* buffer, SIZE_T length, ULONG flags);

  Shared& s_;
  Com<IND2MemoryWindow> object_;
  std::uint32_t rkey_ = 0;
  std::uint64_t address_ = 0;
  std::size_t length_ = 0;
};

}  // namespace fb::networkdirect::consumer
