#include "networkdirect/consumer/window.h"

#include "networkdirect/consumer/queue_pair.h"

namespace fb::networkdirect::consumer {

Window::Window(Shared& shared) : s_(shared) { s_.adapter.CreateMemoryWindow(IID_IND2MemoryWindow, object_.out()); }

HRESULT Window::bind_in(IND2QueuePair& qp, void* context, IND2MemoryRegion& region, const void* buffer, SIZE_T length, ULONG flags) {
  if (!s_.departs("window.bound_unregistered")) return qp.Bind(context, &region, object_.get(), buffer, length, flags);
  Com<IND2MemoryRegion> empty;
  s_.adapter.CreateMemoryRegion(IID_IND2MemoryRegion, s_.mailbox->file(), empty.out());
  return empty ? qp.Bind(context, empty.get(), object_.get(), buffer, length, flags) : ND_INSUFFICIENT_RESOURCES;
}

bool Window::bind(rdma::QueuePair& qp, std::uint64_t id, rdma::MemoryRegion& in, std::uint64_t offset, std::uint64_t length,
                  rdma::Access access) {
  auto& pair = static_cast<QueuePair&>(qp);
  auto& region = static_cast<Region&>(in);
  ULONG flags = 0;
  if (rdma::allows(access, rdma::Access::remote_read)) flags |= ND_OP_FLAG_ALLOW_READ;
  if (rdma::allows(access, rdma::Access::remote_write)) flags |= ND_OP_FLAG_ALLOW_WRITE;
  if (s_.departs("window.write_unasked")) flags |= ND_OP_FLAG_ALLOW_WRITE;
  if (s_.departs("window.grants_nothing")) flags = 0;
  if (s_.departs("window.token_early")) object_->GetRemoteToken();
  const SIZE_T asked = s_.departs("window.beyond_region") ? region.length() + 1 : length;
  const std::uint8_t* const buffer = s_.regions.find(region.lkey())->data + offset;
  void* const context = reinterpret_cast<void*>(id);
  if (FAILED(bind_in(*pair.object(), context, region.object(), buffer, asked, flags))) return false;
  if (s_.departs("window.bound_twice")) bind_in(*pair.object(), nullptr, region.object(), buffer, asked, flags);
  if (s_.departs("region.deregistered_with_window")) {
    s_.mailbox->start_unheard([&](OVERLAPPED* overlapped) { return region.object().Deregister(overlapped); });
  }
  rkey_ = ntohl(object_->GetRemoteToken());
  address_ = region.address() + offset;
  length_ = length;
  return true;
}

bool Window::invalidate(rdma::QueuePair& qp, std::uint64_t id) {
  auto* pair = static_cast<QueuePair*>(&qp);
  QueuePair* const other = s_.queue_pairs.other_than(*pair);
  if (other != nullptr && s_.departs("window.invalidated_elsewhere")) pair = other;
  const HRESULT status = pair->object()->Invalidate(reinterpret_cast<void*>(id), object_.get(), 0);
  if (s_.departs("window.invalidated_unbound")) pair->object()->Invalidate(nullptr, object_.get(), 0);
  return !FAILED(status);
}

}  // namespace fb::networkdirect::consumer
