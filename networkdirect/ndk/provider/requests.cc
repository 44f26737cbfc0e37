// What is posted to queue pairs.
#include <algorithm>
#include <cstring>

#include "networkdirect/ndk/provider/queue_pair.h"

namespace fb::ndk::provider {

namespace {

using rdma::Access;
using rdma::SendOpcode;

constexpr ULONG kCommonFlags = NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_DEFER;
constexpr ULONG kSendFlags = kCommonFlags | NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_INLINE;
constexpr ULONG kWriteFlags = kCommonFlags | NDK_OP_FLAG_INLINE;
constexpr ULONG kReadFlags = kCommonFlags | NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE;
constexpr ULONG kBindFlags = kCommonFlags | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
constexpr ULONG kFastRegisterFlags = kBindFlags | NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK;
constexpr ULONG kSince12 = NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE | NDK_OP_FLAG_DEFER;
/// Of ALLOW_REMOTE_WRITE, what is not ALLOW_LOCAL_WRITE.
constexpr ULONG kRemoteWriteAlone = NDK_OP_FLAG_ALLOW_REMOTE_WRITE & ~NDK_OP_FLAG_ALLOW_LOCAL_WRITE;

constexpr std::uint32_t kTopBit = 1u << 31;  // of a token, which a departure forgets
/// A key that no device has.
constexpr std::uint32_t kNoKey = kPrivilegedToken;

std::uint64_t on_the_wire(const Adapter& adapter, UINT64 address) {
  ProviderHooks* const hooks = adapter.miniport().options.hooks;
  return hooks == nullptr ? address : hooks->on_the_wire(address);
}

}  // namespace

UINT64 total_length(const NDK_SGE* sges, ULONG count) {
  UINT64 length = 0;
  for (ULONG i = 0; i < count; ++i) length += sges[i].Length;
  return length;
}

void translate(ProtectionDomain& domain, const NDK_SGE* sges, ULONG count, rdma::Sge* to) {
  for (ULONG i = 0; i < count; ++i) {
    const NDK_SGE& from = sges[i];
    if (from.MemoryRegionToken != kPrivilegedToken) [[likely]] {
      to[i] = {reinterpret_cast<std::uintptr_t>(from.VirtualAddress), from.Length, from.MemoryRegionToken};
      continue;
    }
    Adapter& a = domain.adapter();
    const auto logical = static_cast<std::uint64_t>(from.LogicalAddress.QuadPart);
    if (!a.logical().find(logical, from.Length, domain, to[i]) || a.departs(departure::kPrivilegedRefused)) {
      to[i] = {logical, from.Length, kNoKey};
    }
  }
}

// ---------------------------------------------------------------- the initiator queue

NTSTATUS QueuePair::post(const Posting& posting, rdma::SendRequest& request, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags) {
  Adapter& a = adapter();
  const bool hooked = a.hooked();
  ULONG known = posting.known_flags;
  if (!a.knows(1, 2)) known &= ~kSince12;
  if ((flags & ~known) != 0 && !(hooked && a.departs(departure::kFlagsUnchecked))) {
    return refuse(posting, context, STATUS_INVALID_PARAMETER);
  }
  if (a.refuses()) return refuse(posting, context, STATUS_INSUFFICIENT_RESOURCES);
  if (phase_ != Phase::connected && phase_ != Phase::ended) [[unlikely]] {
    if (hooked && a.departs(departure::kPostsUnconnected)) return STATUS_SUCCESS;
    return refuse(posting, context, STATUS_CONNECTION_INVALID);
  }
  if (count > 0 && sges == nullptr) return refuse(posting, context, STATUS_INVALID_PARAMETER);
  const bool inlined = (flags & NDK_OP_FLAG_INLINE) != 0;
  const UINT64 length = total_length(sges, count);
  if (inlined) {
    if (length > terms_.inline_bytes) {
      if (!(hooked && a.departs(departure::kInlineUnchecked))) return refuse(posting, context, STATUS_BUFFER_OVERFLOW);
      return STATUS_SUCCESS;
    }
  } else {
    if (count > terms_.max_initiator_sges) {
      if (!(hooked && a.departs(departure::kSgesUnchecked))) return refuse(posting, context, STATUS_DATA_OVERRUN);
      count = terms_.max_initiator_sges;
    }
    if (length > a.info().MaxTransferLength) return refuse(posting, context, STATUS_BUFFER_OVERFLOW);
  }
  if (hooked && length == 0 && posting.type == NdkOperationTypeSend && a.departs(departure::kZeroLengthRefused)) {
    return refuse(posting, context, STATUS_INVALID_PARAMETER);
  }
  const bool invalidates = (flags & NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE) != 0;
  if (invalidates && count == 0) return refuse(posting, context, STATUS_INVALID_PARAMETER);
  if (sends_.size() >= terms_.initiator_depth) {
    if (hooked && a.departs(departure::kFullQueueSwallows)) return STATUS_SUCCESS;
    return refuse(posting, context, STATUS_NO_MORE_ENTRIES);
  }
  Request& entry = requests_[sends_.tail & (requests_.size() - 1)];
  entry = {context, posting.type, static_cast<ULONG>(length)};
  if (phase_ == Phase::ended) [[unlikely]] {
    if (hooked && a.departs(departure::kPostAfterEndSwallowed)) return STATUS_SUCCESS;
    ++sends_.tail;
    if (!kept_) cancel_all();
    settle_queues();
    return STATUS_SUCCESS;
  }

  if (inlined) {
    count = gather_inline(sges, count, length) ? 1 : 0;
  } else {
    translate(domain_, sges, count, scratch_.data());
  }
  request.id = sends_.tail << 1;
  request.sges = {scratch_.data(), count};
  request.signaled = (flags & NDK_OP_FLAG_SILENT_SUCCESS) == 0;
  request.fence = (flags & NDK_OP_FLAG_READ_FENCE) != 0;
  request.solicited = (flags & NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT) != 0;
  UINT32 token = invalidates ? sges[0].MemoryRegionToken : 0;
  if (hooked) [[unlikely]] {
    if (a.departs(departure::kLocalTokenCut)) {
      for (ULONG i = 0; i < count; ++i) scratch_[i].lkey &= ~kTopBit;
    }
    if (a.departs(departure::kSilentSpeaks)) request.signaled = true;
    if (a.departs(departure::kFenceIgnored)) request.fence = false;
    if (a.departs(departure::kSolicitLost)) request.solicited = false;
    if (a.departs(departure::kReadInvalidateIgnored)) token = 0;
    if (inlined && count > 0 && a.departs(departure::kInlineNeedsToken)) scratch_[0].lkey = sges[0].MemoryRegionToken;
    depart_in_request(request, posting.type);
  }
  if ((flags & NDK_OP_FLAG_DEFER) != 0) {
    Deferred& deferred = deferred_.emplace_back();
    deferred.request = request;
    deferred.sges.assign(request.sges.begin(), request.sges.end());
    deferred.invalidate = token;
    ++sends_.tail;
    return STATUS_SUCCESS;
  }
  if (!deferred_.empty()) {
    if (hooked && a.departs(departure::kDeferDropped)) deferred_.clear();
    kick();
  }
  ++sends_.tail;
  give(request, token);
  return STATUS_SUCCESS;
}

void QueuePair::depart_in_request(rdma::SendRequest& request, NDK_OPERATION_TYPE type) {
  const Adapter& a = adapter();
  if (type == NdkOperationTypeSend && !request.sges.empty() && a.departs(departure::kSendCutShort)) {
    scratch_[request.sges.size() - 1].length /= 2;
  }
  if (type == NdkOperationTypeWrite && a.departs(departure::kWriteElsewhere)) ++request.remote_address;
  if (type == NdkOperationTypeRead && a.departs(departure::kReadElsewhere)) ++request.remote_address;
  if (request.sges.size() > 1 && a.departs(departure::kLastSgeIgnored)) {
    request.sges = request.sges.first(request.sges.size() - 1);
  }
}

/// A request that was refused leaves nothing behind, and those that wait for a later one do not wait for it.
NTSTATUS QueuePair::refuse(const Posting& posting, PVOID context, NTSTATUS status) {
  const Adapter& a = adapter();
  if (!deferred_.empty() && !a.departs(departure::kDeferStranded)) kick();
  if (a.departs(departure::kFailedPostCompletes)) {
    initiator_queue_.add(result(status, context, posting.type), true);
    settle_queues();
  }
  return status;
}

/// Copies inline data to where the device finds it. False when there is none.
bool QueuePair::gather_inline(const NDK_SGE* sges, ULONG count, UINT64 length) {
  if (length == 0) return false;
  const std::size_t at = (sends_.tail & (requests_.size() - 1)) * terms_.inline_bytes;
  std::uint8_t* to = inline_data_.data() + at;
  const bool stale = adapter().departs(departure::kInlineStale);
  for (ULONG i = 0; i < count; ++i) {
    if (!stale) std::memcpy(to, sges[i].VirtualAddress, sges[i].Length);
    to += sges[i].Length;
  }
  scratch_[0] = {inline_region_->address() + at, static_cast<std::uint32_t>(length), inline_region_->lkey()};
  return true;
}

/// Hands a request to the device; with a token, it is one that invalidates it in the end.
void QueuePair::give(rdma::SendRequest& request, UINT32 token) {
  const bool speaks = request.signaled;
  if (token != 0) request.signaled = false;
  bool taken = device_->post_send(request);
  if (taken && token != 0) {
    rdma::SendRequest second;
    second.id = request.id | 1;
    second.opcode = SendOpcode::local_invalidate;
    second.invalidate_rkey = token;
    second.signaled = speaks;
    second.fence = true;
    taken = device_->post_send(second);
  }
  // Promised already, or impossible on this device though it was possible by its limits.
  if (!taken) {
    adapter().note_broken(*this);
    adapter().end_broken();
  }
}

void QueuePair::kick() {
  for (Deferred& deferred : std::exchange(deferred_, {})) {
    if (phase_ != Phase::connected) return;  // cancelled
    deferred.request.sges = deferred.sges;
    give(deferred.request, deferred.invalidate);
  }
}

NTSTATUS QueuePair::send(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags) {
  static constexpr Posting kPosting{NdkOperationTypeSend, kSendFlags};
  rdma::SendRequest request;
  return of<QueuePair>(ndk).post(kPosting, request, context, sges, count, flags);
}

NTSTATUS QueuePair::send_and_invalidate(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags, UINT32 token) {
  static constexpr Posting kPosting{NdkOperationTypeSend, kSendFlags};
  auto& qp = of<QueuePair>(ndk);
  if (!qp.adapter().limits().remote_invalidation) return qp.refuse(kPosting, context, STATUS_NOT_SUPPORTED);
  rdma::SendRequest request;
  request.opcode = SendOpcode::send_with_invalidate;
  if (qp.adapter().departs(departure::kSendInvalidateIgnored)) request.opcode = SendOpcode::send;
  request.invalidate_rkey = token;
  return qp.post(kPosting, request, context, sges, count, flags);
}

NTSTATUS QueuePair::read(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count, UINT64 address, UINT32 token, ULONG flags) {
  static constexpr Posting kPosting{NdkOperationTypeRead, kReadFlags};
  auto& qp = of<QueuePair>(ndk);
  const Adapter& a = qp.adapter();
  const bool can = a.limits().fast_registration && !a.departs(departure::kNoReadInvalidate);
  if ((flags & NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE) != 0 && !can) {
    return qp.refuse(kPosting, context, STATUS_NOT_SUPPORTED);
  }
  rdma::SendRequest request;
  request.opcode = SendOpcode::rdma_read;
  request.remote_address = on_the_wire(qp.adapter(), address);
  request.rkey = token;
  return qp.post(kPosting, request, context, sges, count, flags);
}

NTSTATUS QueuePair::write(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count, UINT64 address, UINT32 token, ULONG flags) {
  static constexpr Posting kPosting{NdkOperationTypeWrite, kWriteFlags};
  auto& qp = of<QueuePair>(ndk);
  rdma::SendRequest request;
  request.opcode = SendOpcode::rdma_write;
  request.remote_address = on_the_wire(qp.adapter(), address);
  request.rkey = token;
  return qp.post(kPosting, request, context, sges, count, flags);
}

NTSTATUS QueuePair::fast_register(NDK_QP* ndk, PVOID context, NDK_MR* ndk_region, ULONG count, const NDK_LOGICAL_ADDRESS* pages,
                                  ULONG offset, SIZE_T length, PVOID base, ULONG flags) {
  static constexpr Posting kPosting{NdkOperationTypeFastRegister, kFastRegisterFlags};
  auto& qp = of<QueuePair>(ndk);
  Adapter& a = qp.adapter();
  const auto refuse = [&](NTSTATUS status) { return qp.refuse(kPosting, context, status); };
  if (ndk_region == nullptr || pages == nullptr) return refuse(STATUS_INVALID_PARAMETER);
  auto& region = of<MemoryRegion>(ndk_region);
  if (&region.domain() != &qp.domain_) return refuse(STATUS_INVALID_PARAMETER);
  if (!region.fast()) return a.departs(departure::kFastOfPlain) ? STATUS_SUCCESS : refuse(STATUS_INVALID_PARAMETER);
  if (!region.ready()) return a.departs(departure::kFastUninitialized) ? STATUS_SUCCESS : refuse(STATUS_INVALID_DEVICE_REQUEST);
  if (count == 0 || offset >= PAGE_SIZE) return refuse(STATUS_INVALID_PARAMETER);
  if (count > region.pages() && !a.departs(departure::kFastPagesUnchecked)) return refuse(STATUS_INVALID_PARAMETER);
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  if ((address & (PAGE_SIZE - 1)) != offset && !a.departs(departure::kFastOffsetUnchecked)) return refuse(STATUS_INVALID_PARAMETER);
  const std::size_t room = (std::size_t{count} << PAGE_SHIFT) - offset;
  if (length > room) {
    if (!a.departs(departure::kFastLengthUnchecked)) return refuse(STATUS_INVALID_PARAMETER);
    length = room;
  }
  const bool remote = (flags & (NDK_OP_FLAG_ALLOW_REMOTE_READ | kRemoteWriteAlone)) != 0;
  if (remote && !region.remote_allowed() && !a.departs(departure::kFastRemoteUnchecked)) return refuse(STATUS_ACCESS_VIOLATION);
  if (!a.logical().collect(pages, count, offset, length, qp.pieces_)) return refuse(STATUS_INVALID_PARAMETER);
  // Full or not connected: refused before the region is touched.
  const bool idle = qp.phase_ != Phase::connected || qp.sends_.size() >= qp.terms_.initiator_depth;

  rdma::SendRequest request;
  request.opcode = SendOpcode::fast_register;
  request.region = &region.device_region();
  if (!idle) request.memory = region.mapped(qp.pieces_, qp.terms_.initiator_depth);
  request.iova = address;
  request.key_byte = region.key_byte();
  if ((flags & (NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK)) != 0) request.access = request.access | Access::local_write;
  if ((flags & NDK_OP_FLAG_ALLOW_REMOTE_READ) != 0) request.access = request.access | Access::remote_read;
  if ((flags & kRemoteWriteAlone) != 0) request.access = request.access | Access::remote_write | Access::local_write;
  if (a.departs(departure::kFastGrantsAll)) request.access = Access::local_write | Access::remote_read | Access::remote_write;
  return qp.post(kPosting, request, context, nullptr, 0, flags);
}

NTSTATUS QueuePair::bind(NDK_QP* ndk, PVOID context, NDK_MR* region, NDK_MW* window, PVOID address, SIZE_T length, ULONG flags) {
  static constexpr Posting kPosting{NdkOperationTypeBind, kBindFlags};
  auto& qp = of<QueuePair>(ndk);
  if (region == nullptr || window == nullptr) return qp.refuse(kPosting, context, STATUS_INVALID_PARAMETER);
  return qp.bind_window(kPosting, context, of<MemoryRegion>(region), of<MemoryWindow>(window), address, length, flags);
}

NTSTATUS QueuePair::bind_window(const Posting& posting, PVOID context, MemoryRegion& region, MemoryWindow& window, PVOID address,
                                SIZE_T length, ULONG flags) {
  Adapter& a = adapter();
  if (region.fast() || !region.ready() || &region.domain() != &domain_ || &window.domain() != &domain_) {
    return refuse(posting, context, STATUS_INVALID_PARAMETER);
  }
  if (length > a.info().MaxWindowSize) return refuse(posting, context, STATUS_INVALID_PARAMETER);
  if (!region.covers(address, length) && !a.departs(departure::kBindRangeUnchecked)) {
    return refuse(posting, context, STATUS_ACCESS_VIOLATION);
  }
  const bool writes = (flags & kRemoteWriteAlone) != 0;
  if (writes && !region.allows_local_write() && !a.departs(departure::kBindRightsUnchecked)) {
    return refuse(posting, context, STATUS_ACCESS_VIOLATION);
  }
  rdma::SendRequest request;
  request.opcode = SendOpcode::fast_register;
  request.region = &window.device_region();
  request.memory = {static_cast<std::uint8_t*>(address), length};
  request.iova = region.remote_address(address);
  if ((flags & NDK_OP_FLAG_ALLOW_REMOTE_READ) != 0) request.access = request.access | Access::remote_read;
  if (writes) request.access = request.access | Access::remote_write;
  if (a.departs(departure::kWindowGrantsAll)) request.access = Access::remote_read | Access::remote_write;
  request.this_queue_only = !a.departs(departure::kWindowForAnyQueue);
  // A window that is bound already: the device refuses, and the binding stays.
  const bool fresh = !window.bound();
  if (fresh) request.key_byte = window.bind_to(region, windows_);
  const NTSTATUS status = post(posting, request, context, nullptr, 0, flags);
  if (fresh && (status != STATUS_SUCCESS || phase_ != Phase::connected)) window.unbind();
  return status;
}

NTSTATUS QueuePair::invalidate(NDK_QP* ndk, PVOID context, NDK_OBJECT_HEADER* object, ULONG flags) {
  static constexpr Posting kPosting{NdkOperationTypeInvalidate, kCommonFlags};
  auto& qp = of<QueuePair>(ndk);
  Adapter& a = qp.adapter();
  if (object == nullptr) return qp.refuse(kPosting, context, STATUS_INVALID_PARAMETER);
  rdma::SendRequest request;
  request.opcode = SendOpcode::local_invalidate;
  if (object->ObjectType == NdkObjectTypeMw) {
    auto& window = of<MemoryWindow>(reinterpret_cast<NDK_MW*>(object));
    if (&window.domain() != &qp.domain_) return qp.refuse(kPosting, context, STATUS_INVALID_PARAMETER);
    request.invalidate_rkey = window.token();
    if (a.departs(departure::kInvalidateIgnored)) request.opcode = SendOpcode::send;
    const NTSTATUS status = qp.post(kPosting, request, context, nullptr, 0, flags);
    if (status == STATUS_SUCCESS && std::ranges::find(qp.windows_, &window) != qp.windows_.end()) window.unbind();
    return status;
  }
  if (object->ObjectType != NdkObjectTypeMr) return qp.refuse(kPosting, context, STATUS_INVALID_PARAMETER);
  auto& region = of<MemoryRegion>(reinterpret_cast<NDK_MR*>(object));
  if (&region.domain() != &qp.domain_ || !region.ready()) return qp.refuse(kPosting, context, STATUS_INVALID_PARAMETER);
  if (!region.fast()) {
    if (a.departs(departure::kInvalidateOfPlain)) return STATUS_SUCCESS;
    return qp.refuse(kPosting, context, STATUS_INVALID_PARAMETER);
  }
  request.invalidate_rkey = region.remote_token();
  if (a.departs(departure::kInvalidateIgnored)) {
    // Something that does no more than to complete.
    request.opcode = SendOpcode::rdma_write;
  }
  return qp.post(kPosting, request, context, nullptr, 0, flags);
}

// ---------------------------------------------------------------- the receive queue

NTSTATUS QueuePair::receive(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count) {
  auto& qp = of<QueuePair>(ndk);
  return qp.do_receive(context, sges, count);
}

NTSTATUS QueuePair::do_receive(PVOID context, const NDK_SGE* sges, ULONG count) {
  Adapter& a = adapter();
  if (shared_ != nullptr) {
    return a.departs(departure::kReceiveBesideShared) ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_REQUEST;
  }
  if (a.refuses()) return STATUS_INSUFFICIENT_RESOURCES;
  if (count > 0 && sges == nullptr) return STATUS_INVALID_PARAMETER;
  if (count > terms_.max_receive_sges) return STATUS_DATA_OVERRUN;
  if (total_length(sges, count) > a.info().MaxTransferLength) return STATUS_BUFFER_OVERFLOW;
  if (!receiving_ && a.departs(departure::kReceiveNeedsConnection)) return STATUS_CONNECTION_INVALID;
  if (phase_ == Phase::ended && a.departs(departure::kPostAfterEndSwallowed)) return STATUS_SUCCESS;
  if (receives_.size() >= terms_.receive_depth) {
    return a.departs(departure::kFullQueueSwallows) ? STATUS_SUCCESS : STATUS_NO_MORE_ENTRIES;
  }
  const std::size_t at = receives_.tail & (posted_.size() - 1);
  if (phase_ != Phase::ended && receiving_) [[likely]] {
    translate(domain_, sges, count, scratch_.data());
    if (!device_->post_receive({receives_.tail, {scratch_.data(), count}})) return STATUS_INSUFFICIENT_RESOURCES;
    posted_[at] = {context, count};
    ++receives_.tail;
    return STATUS_SUCCESS;
  }
  translate(domain_, sges, count, waiting_.data() + at * terms_.max_receive_sges);
  posted_[at] = {context, count};
  ++receives_.tail;
  if (phase_ == Phase::ended && !kept_) {
    cancel_receives();
    settle_queues();
  }
  return STATUS_SUCCESS;
}

}  // namespace fb::ndk::provider
