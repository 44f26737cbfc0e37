// What is posted to the send queue.
#include <algorithm>

#include "networkdirect/ndk/consumer/queue_pair.h"
#include "networkdirect/ndk/consumer/translate.h"

namespace fb::ndk::consumer {

using rdma::CompletionOpcode;
using rdma::QpState;
using rdma::SendOpcode;

bool QueuePairCore::possible(const rdma::SendRequest& request) const {
  switch (request.opcode) {
    case SendOpcode::send_with_immediate:
    case SendOpcode::rdma_write_with_immediate:
    case SendOpcode::compare_and_swap:
    case SendOpcode::fetch_and_add:
      return false;
    case SendOpcode::send_with_invalidate:
      if (!s.limits.remote_invalidation) return false;
      break;
    case SendOpcode::fast_register:
      return request.region != nullptr && static_cast<Region*>(request.region)->core()->fast() &&
             request.memory.size() <= static_cast<Region*>(request.region)->core()->max_bytes();
    case SendOpcode::local_invalidate:
      return true;
    default:
      break;
  }
  std::uint64_t length = 0;
  for (const rdma::Sge& sge : request.sges) length += sge.length;
  if (request.inline_data && (request.opcode == SendOpcode::rdma_read || length > s.limits.max_inline_bytes)) return false;
  return request.sges.size() <= options_.max_send_sges && length <= s.limits.max_message_bytes;
}

bool QueuePairCore::post_send(const rdma::SendRequest& request) {
  if (state_ != QpState::ready_to_send && state_ != QpState::error) return false;
  if (!possible(request)) return false;
  if (state_ == QpState::error) return push_flushed(request.id, completion_opcode(request.opcode)), true;
  if (works_.size() + late_sends_.size() >= options_.send_entries) return false;
  Parts parts;
  if (request.inline_data) {
    if (!gather(request.sges)) return false;
    parts.inlined = scratch_;
  }
  if (request.opcode == SendOpcode::fast_register) {
    parts.region = static_cast<Region*>(request.region)->core();
    parts.lam = make_object<Lam>(shared_, request.memory, page_offset(request.iova));
    parts.lam->open();
    // Another offset than that of the wanted address cannot be had.
    if (parts.lam->settled() && (!parts.lam->ready() || parts.lam->offset() != page_offset(request.iova))) return false;
  }
  if (late_sends_.empty()) {
    const SgeList sges(s, request.inline_data ? std::span<const rdma::Sge>{} : request.sges);
    if (missing(parts, sges) == nullptr) return issue(request, parts, sges);
  }
  LateSend& late = late_sends_.emplace_back();
  late.request = request;
  late.sges.assign(request.sges.begin(), request.sges.end());
  late.inlined.assign(parts.inlined.begin(), parts.inlined.end());
  late.parts = std::move(parts);
  if (late_sends_.size() == 1) go_on_sending();
  return true;
}

/// Copies inline data together; false when it is nobody's memory.
bool QueuePairCore::gather(std::span<const rdma::Sge> sges) {
  scratch_.clear();
  for (const rdma::Sge& sge : sges) {
    const auto found = s.by_handle.find(sge.lkey);
    const std::uint8_t* data = found == s.by_handle.end() ? nullptr : found->second->pointer(sge.address, sge.length);
    if (data == nullptr && sge.length > 0) return false;
    scratch_.insert(scratch_.end(), data, data + sge.length);
  }
  return true;
}

/// What a request still waits for; null when it can be made.
Object* QueuePairCore::missing(const Parts& parts, const SgeList& sges) const {
  if (sges.missing != nullptr) return sges.missing;
  if (parts.region != nullptr && !parts.region->settled()) return parts.region.get();
  if (parts.lam != nullptr && !parts.lam->settled()) return parts.lam.get();
  return nullptr;
}

void QueuePairCore::go_on_sending() {
  while (!late_sends_.empty() && state_ == QpState::ready_to_send) {
    LateSend& first = late_sends_.front();
    const SgeList sges(s, first.request.inline_data ? std::span<const rdma::Sge>{} : std::span<const rdma::Sge>{first.sges});
    if (Object* object = missing(first.parts, sges)) {
      object->when_settled([weak = weak_from_this()] {
        if (const auto self = std::static_pointer_cast<QueuePairCore>(weak.lock())) self->go_on_sending();
      });
      return;
    }
    LateSend late = std::move(first);
    late_sends_.pop_front();
    late.request.sges = late.sges;
    late.parts.inlined = late.inlined;
    if (issue(late.request, late.parts, sges)) continue;
    push_own(late.request.id, completion_opcode(late.request.opcode), rdma::CompletionStatus::local_qp_operation_error);
    return broken();
  }
}

bool QueuePairCore::issue(const rdma::SendRequest& request, Parts& parts, const SgeList& sges) {
  ULONG flags = 0;
  if (!request.signaled) flags |= NDK_OP_FLAG_SILENT_SUCCESS;
  if (request.fence) flags |= NDK_OP_FLAG_READ_FENCE;
  const PVOID context = reinterpret_cast<PVOID>(static_cast<std::uintptr_t>((first_work_ + works_.size()) << 1));
  // Entered first: a provider may complete from inside the call.
  Work& work = works_.emplace_back();
  work.id = request.id;
  work.opcode = completion_opcode(request.opcode);
  if (request.opcode == SendOpcode::local_invalidate) {
    RegionCore* const found = s.fast_region(request.invalidate_rkey);
    if (found == nullptr) {
      works_.pop_back();
      push_own(request.id, CompletionOpcode::local_invalidate, rdma::CompletionStatus::memory_window_bind_error);
      broken();
      return true;
    }
    parts.region = std::static_pointer_cast<RegionCore>(found->shared_from_this());
    work.released = std::exchange(parts.region->lam, nullptr);
  }
  const NTSTATUS status = call(request, parts, sges, context, flags);
  if (status != STATUS_SUCCESS) {
    if (request.opcode == SendOpcode::local_invalidate) parts.region->lam = std::move(works_.back().released);
    works_.pop_back();
    return false;
  }
  if (request.opcode == SendOpcode::fast_register) {
    parts.region->memory = request.memory;
    parts.region->iova = request.iova;
    parts.region->lam = parts.lam;
    if (s.departs("lam.released_early")) parts.lam->release_early();
  }
  if (s.options.hooks != nullptr) depart_after_post(request, parts);
  return true;
}

NTSTATUS QueuePairCore::call(const rdma::SendRequest& request, const Parts& parts, const SgeList& sges, PVOID context, ULONG flags) {
  const NDK_QP_DISPATCH& table = *qp_->Dispatch;
  NDK_SGE inlined = {};
  const NDK_SGE* list = sges.data();
  ULONG count = sges.size();
  if (request.inline_data) {
    flags |= NDK_OP_FLAG_INLINE;
    inlined.VirtualAddress = const_cast<std::uint8_t*>(parts.inlined.data());
    inlined.Length = static_cast<ULONG>(parts.inlined.size());
    list = &inlined;
    count = parts.inlined.empty() ? 0 : 1;
  }
  if (s.departs("post.unknown_flag")) flags |= 0x8000;
  if (s.departs("post.defer_without_end")) flags |= NDK_OP_FLAG_DEFER;
  std::vector<NDK_SGE> many;
  if (s.departs("post.too_many_sges")) {
    many.assign(s.info.MaxInitiatorRequestSge + 1, NDK_SGE{});
    list = many.data();
    count = static_cast<ULONG>(many.size());
  }
  const bool solicits = request.solicited;
  switch (request.opcode) {
    case SendOpcode::send:
      return table.NdkSend(qp_, context, list, count, flags | (solicits ? NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT : 0u));
    case SendOpcode::send_with_invalidate:
      return table.NdkSendAndInvalidate(qp_, context, list, count, flags | (solicits ? NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT : 0u),
                                        request.invalidate_rkey);
    case SendOpcode::rdma_write:
      return table.NdkWrite(qp_, context, list, count, request.remote_address, request.rkey, flags);
    case SendOpcode::rdma_read:
      if (s.departs("read.inline")) flags |= NDK_OP_FLAG_INLINE;
      return table.NdkRead(qp_, context, list, count, request.remote_address, request.rkey, flags);
    case SendOpcode::local_invalidate:
      return table.NdkInvalidate(qp_, context, &parts.region->mr().Header, flags);
    default:
      return call_fast_register(request, parts, context, flags);
  }
}

NTSTATUS QueuePairCore::call_fast_register(const rdma::SendRequest& request, const Parts& parts, PVOID context, ULONG flags) {
  const bool sink = (s.info.AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED) == 0;
  flags |= fast_register_flags(request.access, sink);
  const Lam& lam = *parts.lam;
  if (!lam.ready() || lam.offset() != page_offset(request.iova)) return STATUS_INVALID_PARAMETER;
  const NDK_LOGICAL_ADDRESS_MAPPING& mapping = lam.mapping();
  std::uint64_t base = request.iova;
  SIZE_T length = request.memory.size();
  if (s.departs("fast_register.other_offset")) base ^= 0x10;
  if (s.departs("fast_register.beyond_pages")) length += PAGE_SIZE;
  return qp_->Dispatch->NdkFastRegister(qp_, context, &parts.region->mr(), mapping.AdapterPageCount, mapping.AdapterPageArray, lam.offset(),
                                        length, reinterpret_cast<PVOID>(static_cast<std::uintptr_t>(base)), flags);
}

/// Requests that no honest consumer makes, silent where they can be.
void QueuePairCore::depart_after_post(const rdma::SendRequest& request, const Parts& parts) {
  const auto extra = [&](CompletionOpcode opcode, auto&& made) {
    Work& work = works_.emplace_back();
    work.id = request.id;
    work.opcode = opcode;
    const auto sequence = static_cast<std::uintptr_t>(first_work_ + works_.size() - 1);
    if (made(reinterpret_cast<PVOID>(sequence << 1)) != STATUS_SUCCESS) works_.pop_back();
  };
  const NDK_QP_DISPATCH& table = *qp_->Dispatch;
  if (request.opcode == SendOpcode::fast_register && s.departs("fast_register.again_valid")) {
    extra(CompletionOpcode::fast_register,
          [&](PVOID context) { return call_fast_register(request, parts, context, NDK_OP_FLAG_SILENT_SUCCESS); });
  }
  if (request.opcode == SendOpcode::local_invalidate && s.departs("invalidate.twice")) {
    extra(CompletionOpcode::local_invalidate,
          [&](PVOID context) { return table.NdkInvalidate(qp_, context, &parts.region->mr().Header, NDK_OP_FLAG_SILENT_SUCCESS); });
  }
  if (!request.sges.empty()) {
    const auto found = s.by_handle.find(request.sges[0].lkey);
    if (found != s.by_handle.end() && !found->second->fast() && s.departs("invalidate.plain_region")) {
      extra(CompletionOpcode::local_invalidate,
            [&](PVOID context) { return table.NdkInvalidate(qp_, context, &found->second->mr().Header, NDK_OP_FLAG_SILENT_SUCCESS); });
    }
  }
  if (shared_queue_ != nullptr && s.departs("receive.beside_shared_queue")) {
    table.NdkReceive(qp_, shared_queue_->names.add(0), nullptr, 0);
  }
}

}  // namespace fb::ndk::consumer
