#include "networkdirect/consumer/memory.h"

#include <fmt/format.h>

#include "base/result.h"
#include "networkdirect/consumer/translate.h"

namespace fb::networkdirect::consumer {

namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t pointer_of(MutableBytes memory) { return reinterpret_cast<std::uintptr_t>(memory.data()); }

}  // namespace

Region::Region(Shared& shared, std::uint64_t base, bool at, MutableBytes memory, rdma::Access access)
    : s_(shared), base_(base), memory_(memory) {
  const HRESULT made = s_.adapter.CreateMemoryRegion(IID_IND2MemoryRegion, s_.mailbox->file(), object_.out());
  if (FAILED(made)) throw UserError(fmt::format("no NetworkDirect memory region: status 0x{:08x}", static_cast<unsigned>(made)));
  if (s_.departs("region.token_early")) object_->GetLocalToken();
  register_memory(at, region_flags(access));
  take_tokens();
}

void Region::register_memory(bool at, ULONG flags) {
  if (s_.departs("region.unknown_flag")) flags |= 0x100;
  if (s_.departs("region.local_write_missing")) flags &= ND_MR_FLAG_ALLOW_REMOTE_READ | ND_MR_FLAG_RDMA_READ_SINK;
  if (s_.departs("region.read_sink_missing")) flags &= ~ULONG{ND_MR_FLAG_RDMA_READ_SINK};
  const SIZE_T length = s_.departs("region.empty") ? 0 : memory_.size();
  Com<IFabricbenchMemoryRegion> chooser;
  if (at && FAILED(object_->QueryInterface(IID_IFabricbenchMemoryRegion, chooser.out()))) {
    throw UserError("the NetworkDirect provider registers no memory at an address of one's choice");
  }
  const auto call = [&](OVERLAPPED* overlapped) {
    if (chooser) return chooser->RegisterAt(memory_.data(), length, base_, flags, overlapped);
    return object_->Register(memory_.data(), length, flags, overlapped);
  };
  const HRESULT status = s_.mailbox->wait(*object_, call);
  if (s_.departs("overlapped.none")) call(nullptr);
  if (s_.departs("region.registered_twice")) s_.mailbox->wait(*object_, call);
  registered_ = status == ND_SUCCESS || status == ND_PENDING;
  if (status == ND_SUCCESS || (status == ND_PENDING && s_.departs("pending.taken_for_done"))) return;
  // What is pending ends with the object's release.
  throw UserError(fmt::format("the NetworkDirect provider registers no memory: status 0x{:08x}", static_cast<unsigned>(status)));
}

void Region::take_tokens() {
  const UINT32 local = object_->GetLocalToken();
  const UINT32 remote = object_->GetRemoteToken();
  rkey_ = ntohl(remote);
  key_ = s_.regions.add({.token = local, .base = base_, .data = memory_.data(), .length = memory_.size(), .region = this});
}

HRESULT Region::deregister() {
  registered_ = false;
  if (const RegionTable::Entry* entry = s_.regions.find(key_)) s_.stale_token = entry->token;
  return s_.mailbox->wait(*object_, [&](OVERLAPPED* overlapped) { return object_->Deregister(overlapped); });
}

void Region::deregister_early() {
  if (registered_) deregister();
}

Region::~Region() {
  if (registered_ && !s_.departs("region.released_registered")) {
    deregister();
    if (s_.departs("region.deregistered_twice")) deregister();
  }
  s_.regions.remove(key_);
  s_.release(object_, "region.leaked", "region.used_after_release", [](IND2MemoryRegion& stale) { stale.GetLocalToken(); });
}

std::unique_ptr<rdma::MemoryRegion> Domain::register_memory(MutableBytes memory, rdma::Access access) {
  if (!s_.chooses_addresses) return std::make_unique<Region>(s_, pointer_of(memory), false, memory, access);
  const std::uint64_t base = s_.next_address;
  s_.next_address += (memory.size() + kPage - 1) / kPage * kPage + kPage;
  return std::make_unique<Region>(s_, base, true, memory, access);
}

std::unique_ptr<rdma::MemoryRegion> Domain::register_memory_at(std::uint64_t iova, MutableBytes memory, rdma::Access access) {
  return std::make_unique<Region>(s_, iova, iova != pointer_of(memory), memory, access);
}

std::unique_ptr<rdma::MemoryRegion> Domain::allocate_fast_region(std::size_t) {
  throw UserError("NetworkDirect has no fast registration: see DeviceLimits::fast_registration");
}

}  // namespace fb::networkdirect::consumer
