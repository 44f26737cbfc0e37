#include <algorithm>

#include <fmt/format.h>

#include "networkdirect/ndk/verifier/queues.h"

namespace fb::ndk::verifier {

namespace {

constexpr ULONG kCommonFlags = NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_DEFER;
constexpr ULONG kSendFlags = kCommonFlags | NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_INLINE;
constexpr ULONG kWriteFlags = kCommonFlags | NDK_OP_FLAG_INLINE;
constexpr ULONG kReadFlags = kCommonFlags | NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE;
constexpr ULONG kBindFlags = kCommonFlags | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
constexpr ULONG kFastRegisterFlags = kBindFlags | NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK;
constexpr ULONG kAllFlags = kSendFlags | kReadFlags | kFastRegisterFlags;
constexpr ULONG kSince12 = NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE | NDK_OP_FLAG_DEFER;
/// Of ALLOW_REMOTE_WRITE, what is not ALLOW_LOCAL_WRITE.
constexpr ULONG kRemoteWriteAlone = NDK_OP_FLAG_ALLOW_REMOTE_WRITE & ~NDK_OP_FLAG_ALLOW_LOCAL_WRITE;

PVOID as_context(std::uint64_t id) { return reinterpret_cast<PVOID>(static_cast<std::uintptr_t>(id)); }

}  // namespace

// ---------------------------------------------------------------- making and closing

void ProtectionDomain::judge_queue_pair(Call& call, ULONG initiator_depth, ULONG initiator_sges, ULONG inline_bytes) const {
  const NDK_ADAPTER_INFO& info = adapter()->info();
  call.limit(Rule::qp_depth_exceeded, "the initiator queue's depth", initiator_depth, info.MaxInitiatorQueueDepth);
  call.limit(Rule::qp_sges_exceeded, "the number of an initiator's buffers", initiator_sges, info.MaxInitiatorRequestSge);
  call.limit(Rule::qp_inline_exceeded, "the inline data", inline_bytes, info.MaxInlineDataSize);
}

NTSTATUS ProtectionDomain::create_qp(NDK_PD* ndk, NDK_CQ* receive_cq, NDK_CQ* initiator_cq, PVOID qp_context, ULONG receive_depth,
                                     ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_bytes,
                                     NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_QP** place) {
  auto& pd = of<ProtectionDomain>(ndk);
  Call call(pd, "NdkCreateQp");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto* const receives = call.argument<CompletionQueue>(receive_cq, "the queue of receives");
  auto* const initiators = call.argument<CompletionQueue>(initiator_cq, "the queue of initiators");
  if (receives == nullptr || initiators == nullptr) return STATUS_INVALID_PARAMETER;
  const NDK_ADAPTER_INFO& info = pd.adapter()->info();
  call.limit(Rule::qp_depth_exceeded, "the receive queue's depth", receive_depth, info.MaxReceiveQueueDepth);
  call.limit(Rule::qp_sges_exceeded, "the number of a receive's buffers", receive_sges, info.MaxReceiveRequestSge);
  pd.judge_queue_pair(call, initiator_depth, initiator_sges, inline_bytes);
  const QueuePairTerms terms{receives,        initiators,   nullptr,        qp_context,  receive_depth,
                             initiator_depth, receive_sges, initiator_sges, inline_bytes};
  auto& made = pd.session().make<QueuePair>(pd, terms);
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_QP** inner) {
    return pd.inner().Dispatch->NdkCreateQp(&pd.inner(), &receives->inner(), &initiators->inner(), made.context_name(), receive_depth,
                                            initiator_depth, receive_sges, initiator_sges, inline_bytes, done, ours, inner);
  });
}

NTSTATUS ProtectionDomain::create_qp_with_srq(NDK_PD* ndk, NDK_CQ* receive_cq, NDK_CQ* initiator_cq, NDK_SRQ* srq, PVOID qp_context,
                                              ULONG initiator_depth, ULONG initiator_sges, ULONG inline_bytes,
                                              NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_QP** place) {
  auto& pd = of<ProtectionDomain>(ndk);
  Call call(pd, "NdkCreateQpWithSrq");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto* const receives = call.argument<CompletionQueue>(receive_cq, "the queue of receives");
  auto* const initiators = call.argument<CompletionQueue>(initiator_cq, "the queue of initiators");
  auto* const shared = call.argument<SharedReceiveQueue>(srq, "the shared receive queue");
  if (receives == nullptr || initiators == nullptr || shared == nullptr) return STATUS_INVALID_PARAMETER;
  if (&shared->domain() != &pd) {
    call.find(Rule::argument_of_other_domain, shared->name());
    return STATUS_INVALID_PARAMETER;
  }
  pd.judge_queue_pair(call, initiator_depth, initiator_sges, inline_bytes);
  auto& made = pd.session().make<QueuePair>(
      pd, QueuePairTerms{receives, initiators, shared, qp_context, 0, initiator_depth, 0, initiator_sges, inline_bytes});
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_QP** inner) {
    return pd.inner().Dispatch->NdkCreateQpWithSrq(&pd.inner(), &receives->inner(), &initiators->inner(), &shared->inner(),
                                                   made.context_name(), initiator_depth, initiator_sges, inline_bytes, done, ours, inner);
  });
}

void QueuePair::end() { link = Link::ended; }

void QueuePair::judge_deferred(Call& call) {
  if (std::exchange(deferred, false) && link == Link::connected && !failed) call.find(Rule::deferred_without_end);
}

void QueuePair::closing(Call& call) {
  judge_deferred(call);
  if (link == Link::connected && !failed) call.find(Rule::closed_connected);
  end();
}

void QueuePair::closed() { session().cease(*this); }

VOID QueuePair::flush(NDK_QP* ndk) {
  auto& qp = of<QueuePair>(ndk);
  Call call(qp, "NdkFlush");
  if (!call.alive()) return;
  qp.inner().Dispatch->NdkFlush(&qp.inner());
  qp.session().cease(qp);
}

// ---------------------------------------------------------------- posting

/// What holds for every request of the initiator queue.
void QueuePair::judge(Call& call, const Posting& posting) const {
  const ULONG flags = posting.flags;
  const auto found = [&](Rule rule, ULONG which) { call.find(rule, fmt::format("flags 0x{:x}", which)); };
  if ((flags & ~kAllFlags) != 0) found(Rule::op_flags_unknown, flags & ~kAllFlags);
  const ULONG later = knows(Header.Version, 1, 2) ? 0 : flags & kSince12;
  if (later != 0) found(Rule::flags_of_later_version, later);
  const ULONG misplaced = flags & kAllFlags & ~posting.known_flags & ~later;
  if (misplaced != 0) found(Rule::op_flags_misplaced, misplaced);
  if (link == Link::ended || failed) {
    call.find(Rule::post_after_end);
  } else if (link != Link::connected && !answered) {
    call.find(Rule::post_unconnected);
  }
  const std::uint64_t bytes = total_bytes(posting.sges, posting.count);
  if ((flags & NDK_OP_FLAG_INLINE & posting.known_flags) != 0) {
    if (bytes > terms_.inline_bytes) call.find(Rule::inline_too_long, fmt::format("{} bytes of {}", bytes, terms_.inline_bytes));
    return;
  }
  if (posting.count > terms_.initiator_sges) {
    call.find(Rule::sge_count_exceeded, fmt::format("{} buffers; the queue was created for {}", posting.count, terms_.initiator_sges));
  }
  call.limit(Rule::transfer_too_long, "the length", bytes, adapter()->info().MaxTransferLength);
}

template <class Work>
NTSTATUS QueuePair::post(Call& call, const Posting& posting, Posted request, Work&& work) {
  request.queue_pair = this;
  request.context = posting.context;
  request.silent = (posting.flags & NDK_OP_FLAG_SILENT_SUCCESS) != 0;
  const bool full = initiators.size() >= terms_.initiator_depth;
  if (!request.silent) {
    request.expected_on = terms_.initiator_queue;
    request.expected_on->expect(call);
  }
  const std::uint64_t id = session().post(request);
  const NTSTATUS status = work(as_context(id));
  if (status == STATUS_SUCCESS) {
    deferred = (posting.flags & NDK_OP_FLAG_DEFER) != 0;
    accepted(id, request);
    return status;
  }
  if (status == STATUS_NO_MORE_ENTRIES && full) {
    call.find(Rule::queue_depth_exceeded, fmt::format("the queue was created for {}", terms_.initiator_depth));
  }
  if (status == STATUS_CONNECTION_INVALID && link == Link::attached && answered) call.find(Rule::post_unconnected);
  session().finish_posted(id);
  return status;
}

/// The provider has taken it: what it does to a region or window counts for whatever is posted behind it.
void QueuePair::accepted(std::uint64_t id, const Posted& request) {
  const bool over = session().posted(id) == nullptr;
  if (MemoryRegion* const region = request.region) {
    const bool registers = request.type == NdkOperationTypeFastRegister;
    region->validity = registers ? MemoryRegion::Validity::valid : MemoryRegion::Validity::invalid;
    region->last_change = id;
    if (over && !registers) region->use(nullptr);
  }
  if (request.window != nullptr && request.type == NdkOperationTypeInvalidate) request.window->unbind(MemoryWindow::Binding::none);
}

template <class Work>
NTSTATUS QueuePair::transfer(Call& call, const Posting& posting, NDK_OPERATION_TYPE type, Use use, Work&& work) {
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (posting.count > 0 && !call.given(posting.sges, "the list of buffers")) return STATUS_INVALID_PARAMETER;
  judge(call, posting);
  Posted request;
  request.type = type;
  if ((posting.flags & NDK_OP_FLAG_INLINE & posting.known_flags) == 0) {
    judge_buffers(call, domain_, posting.sges, posting.count, use, request);
  }
  if ((posting.flags & NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE & posting.known_flags) != 0 && posting.count > 0) {
    const auto at = domain_.local_tokens.find(posting.sges[0].MemoryRegionToken);
    if (at != domain_.local_tokens.end() && at->second->fast()) request.region = at->second;
  }
  return post(call, posting, std::move(request), work);
}

NTSTATUS QueuePair::send(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags) {
  auto& qp = of<QueuePair>(ndk);
  Call call(qp, "NdkSend");
  return qp.transfer(call, {context, sges, count, flags, kSendFlags}, NdkOperationTypeSend, Use::send,
                     [&](PVOID ours) { return qp.inner().Dispatch->NdkSend(&qp.inner(), ours, sges, count, flags); });
}

NTSTATUS QueuePair::send_and_invalidate(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags, UINT32 token) {
  auto& qp = of<QueuePair>(ndk);
  Call call(qp, "NdkSendAndInvalidate");
  return qp.transfer(call, {context, sges, count, flags, kSendFlags}, NdkOperationTypeSend, Use::send,
                     [&](PVOID ours) { return qp.inner().Dispatch->NdkSendAndInvalidate(&qp.inner(), ours, sges, count, flags, token); });
}

NTSTATUS QueuePair::send_and_invalidate_too_early(NDK_QP* ndk, PVOID, const NDK_SGE*, ULONG, ULONG, UINT32) {
  Call(of<QueuePair>(ndk), "NdkSendAndInvalidate").find(Rule::function_of_later_version);
  return STATUS_NOT_SUPPORTED;
}

NTSTATUS QueuePair::write(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count, UINT64 address, UINT32 token, ULONG flags) {
  auto& qp = of<QueuePair>(ndk);
  Call call(qp, "NdkWrite");
  return qp.transfer(call, {context, sges, count, flags, kWriteFlags}, NdkOperationTypeWrite, Use::send,
                     [&](PVOID ours) { return qp.inner().Dispatch->NdkWrite(&qp.inner(), ours, sges, count, address, token, flags); });
}

NTSTATUS QueuePair::read(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count, UINT64 address, UINT32 token, ULONG flags) {
  auto& qp = of<QueuePair>(ndk);
  Call call(qp, "NdkRead");
  if (call.alive()) {
    call.limit(Rule::read_sge_count_exceeded, "the number of buffers", count, qp.adapter()->info().MaxReadRequestSge);
    if (qp.no_reads) call.find(Rule::read_without_limit);
    const bool invalidates = (flags & NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE) != 0 && knows(qp.Header.Version, 1, 2);
    if (invalidates && !qp.adapter()->flag(NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED)) {
      call.find(Rule::read_invalidate_unsupported);
    }
  }
  return qp.transfer(call, {context, sges, count, flags, kReadFlags}, NdkOperationTypeRead, Use::read,
                     [&](PVOID ours) { return qp.inner().Dispatch->NdkRead(&qp.inner(), ours, sges, count, address, token, flags); });
}

NTSTATUS QueuePair::receive(NDK_QP* ndk, PVOID context, const NDK_SGE* sges, ULONG count) {
  auto& qp = of<QueuePair>(ndk);
  Call call(qp, "NdkReceive");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (count > 0 && !call.given(sges, "the list of buffers")) return STATUS_INVALID_PARAMETER;
  const QueuePairTerms& terms = qp.terms_;
  if (terms.shared != nullptr) {
    call.find(Rule::receive_beside_shared);
  } else if (count > terms.receive_sges) {
    call.find(Rule::sge_count_exceeded, fmt::format("{} buffers; the queue was created for {}", count, terms.receive_sges));
  }
  call.limit(Rule::transfer_too_long, "the length", total_bytes(sges, count), qp.adapter()->info().MaxTransferLength);
  // Said once: those that follow are not late.
  const bool standing = qp.link == Link::attached || qp.link == Link::connected;
  if (std::exchange(qp.agreed_bare, false) && standing) call.find(Rule::receives_late);
  Posted request;
  request.queue_pair = &qp;
  request.receive = true;
  request.type = NdkOperationTypeReceive;
  request.context = context;
  request.expected_on = terms.receive_queue;
  judge_buffers(call, qp.domain_, sges, count, Use::receive, request);
  const bool full = qp.receives >= terms.receive_depth;
  terms.receive_queue->expect(call);
  const std::uint64_t id = qp.session().post(std::move(request));
  const NTSTATUS status = qp.inner().Dispatch->NdkReceive(&qp.inner(), as_context(id), sges, count);
  if (status == STATUS_SUCCESS) return status;
  if (status == STATUS_NO_MORE_ENTRIES && full) {
    call.find(Rule::queue_depth_exceeded, fmt::format("the queue was created for {}", terms.receive_depth));
  }
  qp.session().finish_posted(id);
  return status;
}

// ---------------------------------------------------------------- regions and windows

void QueuePair::judge_fast_register(Call& call, FastRegistration& what) const {
  MemoryRegion& region = what.region;
  if (!region.fast()) return call.find(Rule::fast_register_of_plain_region);
  const bool ready = region.phase == MemoryRegion::Phase::ready;
  if (!ready) call.find(Rule::fast_region_uninitialized);
  if (region.validity == MemoryRegion::Validity::valid) call.find(Rule::fast_register_of_valid_region);
  if (ready && (what.count == 0 || what.count > region.pages)) {
    call.find(Rule::fast_pages_exceeded, fmt::format("{} pages of {}", what.count, region.pages));
  }
  if (what.offset >= PAGE_SIZE || (what.base & (PAGE_SIZE - 1)) != what.offset) {
    const std::uint64_t in_page = what.base & (PAGE_SIZE - 1);
    call.find(Rule::fast_offset_wrong, fmt::format("FBO {}, and {} in the page of the base address", what.offset, in_page));
  }
  const std::uint64_t room = std::uint64_t{what.count} * PAGE_SIZE;
  if (what.length > room || what.length + what.offset > room) {
    call.find(Rule::fast_length_exceeded, fmt::format("{} bytes behind {} in {}", what.length, what.offset, room));
  }
  const bool remote = (what.flags & (NDK_OP_FLAG_ALLOW_REMOTE_READ | kRemoteWriteAlone)) != 0;
  if (ready && remote && !region.remote_access) call.find(Rule::fast_remote_denied);
  const Adapter& owner = *adapter();
  what.mapping = owner.mapping_of(what.pages);
  for (ULONG i = 0; what.mapping == nullptr && i < std::min(what.count, region.pages); ++i) {
    bool any = false;
    Mapping* const only = owner.mapping_of(what.pages[i].QuadPart, any);
    if (i == 0) what.mapping = only;
    if (!any) return call.find(Rule::fast_page_unknown, fmt::format("page {}", i));
  }
}

NTSTATUS QueuePair::fast_register(NDK_QP* ndk, PVOID context, NDK_MR* ndk_region, ULONG count, const NDK_LOGICAL_ADDRESS* pages,
                                  ULONG offset, SIZE_T length, PVOID base, ULONG flags) {
  auto& qp = of<QueuePair>(ndk);
  Call call(qp, "NdkFastRegister");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto* const region = call.argument<MemoryRegion>(ndk_region, "the region");
  if (region == nullptr || !call.given(pages, "the list of pages")) return STATUS_INVALID_PARAMETER;
  if (&region->domain() != &qp.domain_) {
    call.find(Rule::argument_of_other_domain, region->name());
    return STATUS_INVALID_PARAMETER;
  }
  const Posting posting{context, nullptr, 0, flags, kFastRegisterFlags};
  qp.judge(call, posting);
  FastRegistration what{*region, count, pages, offset, length, reinterpret_cast<std::uintptr_t>(base), flags};
  qp.judge_fast_register(call, what);
  Posted request;
  request.type = NdkOperationTypeFastRegister;
  if (region->fast()) request.region = region;
  const NTSTATUS status = qp.post(call, posting, std::move(request), [&](PVOID ours) {
    return qp.inner().Dispatch->NdkFastRegister(&qp.inner(), ours, &region->inner(), count, pages, offset, length, base, flags);
  });
  if (status == STATUS_SUCCESS && region->fast()) {
    region->use(what.mapping);
    region->first = what.base;
    region->bytes = length;
    region->flags = flags;
  }
  return status;
}

void QueuePair::judge_bind(Call& call, const MemoryRegion& region, const MemoryWindow& window, PVOID address, SIZE_T length,
                           ULONG flags) const {
  if (window.binding == MemoryWindow::Binding::bound) call.find(Rule::window_bound_already, window.region->name());
  call.limit(Rule::window_too_long, "the length", length, adapter()->info().MaxWindowSize);
  const bool writes = (flags & kRemoteWriteAlone) != 0;
  if (!writes && (flags & NDK_OP_FLAG_ALLOW_REMOTE_READ) == 0) call.find(Rule::bind_grants_nothing);
  if (region.fast()) return call.find(Rule::bind_of_fast_region, region.name());
  if (region.phase != MemoryRegion::Phase::ready) return call.find(Rule::bind_unregistered, region.name());
  if (!region.covers(reinterpret_cast<std::uintptr_t>(address), length)) {
    call.find(Rule::bind_outside_region, fmt::format("{} bytes of {}", length, region.bytes));
  }
  if (writes && (region.flags & NDK_MR_FLAG_ALLOW_LOCAL_WRITE) == 0) call.find(Rule::bind_rights_missing);
}

NTSTATUS QueuePair::bind(NDK_QP* ndk, PVOID context, NDK_MR* ndk_region, NDK_MW* ndk_window, PVOID address, SIZE_T length, ULONG flags) {
  auto& qp = of<QueuePair>(ndk);
  Call call(qp, "NdkBind");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto* const region = call.argument<MemoryRegion>(ndk_region, "the region");
  auto* const window = call.argument<MemoryWindow>(ndk_window, "the window");
  if (region == nullptr || window == nullptr) return STATUS_INVALID_PARAMETER;
  if (&region->domain() != &qp.domain_ || &window->domain() != &qp.domain_) {
    call.find(Rule::argument_of_other_domain, fmt::format("{} and {}", region->name(), window->name()));
    return STATUS_INVALID_PARAMETER;
  }
  const Posting posting{context, nullptr, 0, flags, kBindFlags};
  qp.judge(call, posting);
  qp.judge_bind(call, *region, *window, address, length, flags);
  Posted request;
  request.type = NdkOperationTypeBind;
  request.window = window;
  const NTSTATUS status = qp.post(call, posting, std::move(request), [&](PVOID ours) {
    return qp.inner().Dispatch->NdkBind(&qp.inner(), ours, &region->inner(), &window->inner(), address, length, flags);
  });
  if (status == STATUS_SUCCESS) window->bind(*region, qp);
  return status;
}

NTSTATUS QueuePair::invalidate(NDK_QP* ndk, PVOID context, NDK_OBJECT_HEADER* object, ULONG flags) {
  auto& qp = of<QueuePair>(ndk);
  Call call(qp, "NdkInvalidate");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  const Wrapper* const found = qp.session().find(object);
  MemoryWindow* window = nullptr;
  MemoryRegion* region = nullptr;
  if (found != nullptr && found->type() == NdkObjectTypeMw) {
    window = call.argument<MemoryWindow>(reinterpret_cast<NDK_MW*>(object), "the window");
  } else {
    region = call.argument<MemoryRegion>(reinterpret_cast<NDK_MR*>(object), "the region");
  }
  if (window == nullptr && region == nullptr) return STATUS_INVALID_PARAMETER;
  if (&(window != nullptr ? window->domain() : region->domain()) != &qp.domain_) {
    call.find(Rule::argument_of_other_domain, found->name());
    return STATUS_INVALID_PARAMETER;
  }
  const Posting posting{context, nullptr, 0, flags, kCommonFlags};
  qp.judge(call, posting);
  Posted request;
  request.type = NdkOperationTypeInvalidate;
  if (window != nullptr) {
    using Binding = MemoryWindow::Binding;
    if (window->binding == Binding::none) call.find(Rule::window_not_bound, window->name());
    if (window->binding == Binding::bound && window->queue_pair != &qp) call.find(Rule::window_of_other_queue_pair, window->name());
    request.window = window;
  } else if (!region->fast()) {
    call.find(Rule::invalidate_of_plain_region, region->name());
  } else {
    if (region->phase != MemoryRegion::Phase::ready) {
      call.find(Rule::fast_region_uninitialized, region->name());
    } else if (region->validity == MemoryRegion::Validity::invalid) {
      call.find(Rule::invalidate_of_invalid_region, region->name());
    }
    request.region = region;
  }
  NDK_OBJECT_HEADER* const inner = window != nullptr ? &window->inner().Header : &region->inner().Header;
  return qp.post(call, posting, std::move(request),
                 [&](PVOID ours) { return qp.inner().Dispatch->NdkInvalidate(&qp.inner(), ours, inner, flags); });
}

}  // namespace fb::ndk::verifier
