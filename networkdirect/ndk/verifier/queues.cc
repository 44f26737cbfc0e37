#include "networkdirect/ndk/verifier/queues.h"

#include <array>

#include <fmt/format.h>

namespace fb::ndk::verifier {

namespace {

constexpr ULONG kInfinite = ~ULONG{0};

/// A request has ended with `status`: what became of the region that it was to make valid or invalid.
void settle_region(const Posted& request, std::uint64_t id, NTSTATUS status) {
  using Validity = MemoryRegion::Validity;
  MemoryRegion* const region = request.region;
  if (region == nullptr || region->last_change != id) return;
  if (status != STATUS_SUCCESS) {
    region->validity = Validity::unknown;
    region->use(nullptr);
  } else if (request.type == NdkOperationTypeFastRegister) {
    region->validity = Validity::valid;
  } else {
    region->validity = Validity::invalid;
    region->use(nullptr);
  }
}

/// The peer has invalidated a token.
void invalidated(const ProtectionDomain& domain, UINT32 token) {
  if (const auto at = domain.remote_tokens.find(token); at != domain.remote_tokens.end() && at->second->fast()) {
    at->second->validity = MemoryRegion::Validity::invalid;
    at->second->last_change = 0;
    at->second->use(nullptr);
  }
  for (MemoryWindow* const window : domain.windows) {
    if (window->binding != MemoryWindow::Binding::bound || !window->alive()) continue;
    NDK_MW& inner = window->inner();
    if (inner.Dispatch->NdkGetRemoteTokenFromMw(&inner) == token) window->unbind(MemoryWindow::Binding::none);
  }
}

}  // namespace

// ---------------------------------------------------------------- completion queues

/// Requests that are posted bring one result more.
void CompletionQueue::expect(Call& call) {
  ever_expected_ = true;
  if (++expected_ <= depth_ || std::exchange(called_shallow_, true)) return;
  call.find(Rule::cq_shallow, fmt::format("{} results may come to {}, which holds {}", expected_, name(), depth_));
}

void CompletionQueue::closing(Call& call) {
  if (ever_expected_ && !ever_armed_) call.find(Rule::cq_never_armed);
}

VOID CompletionQueue::on_notify(PVOID context, NTSTATUS status) {
  auto& queue = *static_cast<CompletionQueue*>(context);
  Session& session = queue.session();
  if (status == STATUS_BUFFER_OVERFLOW) {
    session.add(Rule::cq_overrun, queue.name(), session.calls(), fmt::format("more than {} results came", queue.depth_));
  }
  session.call_back([&] { queue.callback_(queue.context_, status); });
}

NTSTATUS CompletionQueue::resize(NDK_CQ* ndk, ULONG depth, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& queue = of<CompletionQueue>(ndk);
  Call call(queue, "NdkResizeCq");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!queue.adapter()->flag(NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED)) call.find(Rule::resize_unsupported);
  if (queue.resizing_) call.find(Rule::resize_overlap);
  if (depth == 0) call.find(Rule::cq_depth_exceeded, "no entry");
  call.limit(Rule::cq_depth_exceeded, "the depth", depth, queue.adapter()->info().MaxCqDepth);
  const bool mine = !std::exchange(queue.resizing_, true);
  const std::uint64_t number = queue.session().calls();
  return call.request(
      completion, context, [&](auto done, PVOID ours) { return queue.inner().Dispatch->NdkResizeCq(&queue.inner(), depth, done, ours); },
      [&queue, depth, mine, number](NTSTATUS status) {
        if (mine) queue.resizing_ = false;
        if (status == STATUS_SUCCESS) queue.depth_ = depth;
        if (status != STATUS_BUFFER_OVERFLOW) return;
        queue.session().add(Rule::resize_too_small, queue.name(), number, fmt::format("NdkResizeCq: to {} entries", depth));
      });
}

VOID CompletionQueue::arm(NDK_CQ* ndk, ULONG type) {
  auto& queue = of<CompletionQueue>(ndk);
  Call call(queue, "NdkArmCq");
  if (!call.alive()) return;
  if (type > NDK_CQ_NOTIFY_SOLICITED) call.find(Rule::arm_type_unknown, fmt::format("type {}", type));
  if (queue.busy_) call.find(Rule::cq_calls_overlap);
  queue.ever_armed_ = true;
  const bool before = std::exchange(queue.busy_, true);
  queue.inner().Dispatch->NdkArmCq(&queue.inner(), type);
  queue.busy_ = before;
}

ULONG CompletionQueue::get_results(NDK_CQ* ndk, NDK_RESULT results[], ULONG count) {
  auto& queue = of<CompletionQueue>(ndk);
  Call call(queue, "NdkGetCqResults");
  if (!call.alive() || (count > 0 && !call.given(results, "the place for results"))) return 0;
  std::array<NDK_RESULT_EX, 16> some;
  ULONG taken = 0;
  do {
    const ULONG room = std::min(count - taken, static_cast<ULONG>(some.size()));
    const ULONG got = queue.take(call, some.data(), room);
    for (ULONG i = 0; i < got; ++i) {
      results[taken++] = {some[i].Status, some[i].BytesTransferred, some[i].QPContext, some[i].RequestContext};
    }
    if (got < room) break;
  } while (taken < count);
  return taken;
}

ULONG CompletionQueue::get_results_ex(NDK_CQ* ndk, NDK_RESULT_EX results[], ULONG count) {
  auto& queue = of<CompletionQueue>(ndk);
  Call call(queue, "NdkGetCqResultsEx");
  if (!call.alive() || (count > 0 && !call.given(results, "the place for results"))) return 0;
  return queue.take(call, results, count);
}

ULONG CompletionQueue::get_results_ex_too_early(NDK_CQ* ndk, NDK_RESULT_EX[], ULONG) {
  Call(of<CompletionQueue>(ndk), "NdkGetCqResultsEx").find(Rule::function_of_later_version);
  return 0;
}

/// Types of results are asked for even when the consumer does not: a receive may have invalidated something.
ULONG CompletionQueue::take(Call& call, NDK_RESULT_EX results[], ULONG count) {
  if (busy_) call.find(Rule::cq_calls_overlap);
  const bool before = std::exchange(busy_, true);
  ULONG taken = 0;
  if (knows(Header.Version, 1, 2)) {
    taken = inner().Dispatch->NdkGetCqResultsEx(&inner(), results, count);
  } else {
    std::vector<NDK_RESULT> plain(count);
    taken = inner().Dispatch->NdkGetCqResults(&inner(), plain.data(), count);
    for (ULONG i = 0; i < taken; ++i) {
      results[i] = {};
      results[i].Status = plain[i].Status;
      results[i].BytesTransferred = plain[i].BytesTransferred;
      results[i].QPContext = plain[i].QPContext;
      results[i].RequestContext = plain[i].RequestContext;
    }
  }
  busy_ = before;
  for (ULONG i = 0; i < taken; ++i) translate(results[i]);
  return taken;
}

/// Gives the consumer its own contexts back; the provider has our numbers in their place. A number that is not ours stays: it
/// is the provider's mistake.
void CompletionQueue::translate(NDK_RESULT_EX& result) {
  QueuePair* const qp = session().queue_pair(reinterpret_cast<std::uintptr_t>(result.QPContext));
  if (qp != nullptr) result.QPContext = qp->terms().context;
  const std::uint64_t id = reinterpret_cast<std::uintptr_t>(result.RequestContext);
  const Posted* const request = session().posted(id);
  if (request == nullptr) return;
  if (!request->receive && qp != nullptr) {
    // Silent ones before it are done as well.
    while (!qp->initiators.empty() && *qp->initiators.begin() < id) {
      const std::uint64_t earlier = *qp->initiators.begin();
      const Posted& silent = *session().posted(earlier);
      if (!silent.silent) break;
      settle_region(silent, earlier, result.Status);
      session().finish_posted(earlier);
    }
  }
  settle_region(*request, id, result.Status);
  if (result.Status != STATUS_SUCCESS && request->window != nullptr) request->window->unbind(MemoryWindow::Binding::unknown);
  if (result.Status == STATUS_SUCCESS && result.Type == NdkOperationTypeReceiveAndInvalidate && qp != nullptr) {
    invalidated(qp->domain(), static_cast<UINT32>(result.TypeSpecificCompletionOutput));
  }
  result.RequestContext = request->context;
  session().finish_posted(id);
  if (result.Status == STATUS_SUCCESS || qp == nullptr) return;
  if (result.Status != STATUS_CANCELLED) qp->failed = true;
  session().cease(*qp);  // whatever is outstanding is cancelled
}

NTSTATUS CompletionQueue::moderate(NDK_CQ* ndk, ULONG interval, ULONG count) {
  auto& queue = of<CompletionQueue>(ndk);
  Call call(queue, "NdkControlCqInterruptModeration");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (!queue.adapter()->flag(NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED)) call.find(Rule::moderation_unsupported);
  if (interval == kInfinite && count == kInfinite) call.find(Rule::moderation_infinite);
  return queue.inner().Dispatch->NdkControlCqInterruptModeration(&queue.inner(), interval, count);
}

// ---------------------------------------------------------------- shared receive queues

NTSTATUS ProtectionDomain::create_srq(NDK_PD* ndk, ULONG depth, ULONG sges, ULONG threshold, NDK_FN_SRQ_NOTIFICATION_CALLBACK callback,
                                      PVOID callback_context, GROUP_AFFINITY* affinity, NDK_FN_CREATE_COMPLETION completion, PVOID context,
                                      NDK_SRQ** place) {
  auto& pd = of<ProtectionDomain>(ndk);
  Call call(pd, "NdkCreateSrq");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  const NDK_ADAPTER_INFO& info = pd.adapter()->info();
  if (depth == 0) call.find(Rule::srq_depth_exceeded, "no entry");
  call.limit(Rule::srq_depth_exceeded, "the depth", depth, info.MaxSrqDepth);
  call.limit(Rule::srq_sges_exceeded, "the number of buffers", sges, info.MaxReceiveRequestSge);
  if (threshold > depth) call.find(Rule::srq_threshold_exceeded, fmt::format("{} of {}", threshold, depth));
  if (threshold > 0 && callback == nullptr) call.find(Rule::threshold_without_callback);
  auto& made = pd.session().make<SharedReceiveQueue>(pd, depth, sges, callback, callback_context);
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_SRQ** inner) {
    const auto notify = callback == nullptr ? nullptr : &SharedReceiveQueue::on_notify;
    return pd.inner().Dispatch->NdkCreateSrq(&pd.inner(), depth, sges, threshold, notify, &made, affinity, done, ours, inner);
  });
}

VOID SharedReceiveQueue::on_notify(PVOID context, NTSTATUS status) {
  auto& queue = *static_cast<SharedReceiveQueue*>(context);
  queue.session().call_back([&] { queue.callback_(queue.context_, status); });
}

NTSTATUS SharedReceiveQueue::modify(NDK_SRQ* ndk, ULONG depth, ULONG threshold, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& queue = of<SharedReceiveQueue>(ndk);
  Call call(queue, "NdkModifySrq");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  const ULONG wanted = depth == 0 ? queue.depth_ : depth;
  call.limit(Rule::srq_depth_exceeded, "the depth", wanted, queue.adapter()->info().MaxSrqDepth);
  if (threshold > wanted) call.find(Rule::srq_threshold_exceeded, fmt::format("{} of {}", threshold, wanted));
  if (threshold > 0 && queue.callback_ == nullptr) call.find(Rule::threshold_without_callback);
  return call.request(
      completion, context,
      [&](auto done, PVOID ours) { return queue.inner().Dispatch->NdkModifySrq(&queue.inner(), depth, threshold, done, ours); },
      [&queue, wanted](NTSTATUS status) {
        if (status == STATUS_SUCCESS) queue.depth_ = wanted;
      });
}

NTSTATUS SharedReceiveQueue::receive(NDK_SRQ* ndk, PVOID context, const NDK_SGE* sges, ULONG count) {
  auto& queue = of<SharedReceiveQueue>(ndk);
  Call call(queue, "NdkSrqReceive");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  if (count > 0 && !call.given(sges, "the list of buffers")) return STATUS_INVALID_PARAMETER;
  if (count > queue.sges_) call.find(Rule::sge_count_exceeded, fmt::format("{} buffers; the queue was created for {}", count, queue.sges_));
  call.limit(Rule::transfer_too_long, "the length", total_bytes(sges, count), queue.adapter()->info().MaxTransferLength);
  Posted request;
  request.shared = &queue;
  request.receive = true;
  request.type = NdkOperationTypeReceive;
  request.context = context;
  judge_buffers(call, queue.domain_, sges, count, Use::receive, request);
  // Which queue pair may still fill it nobody knows: it holds nothing up.
  request.regions.clear();
  request.mappings.clear();
  const bool full = queue.outstanding >= queue.depth_;
  const std::uint64_t id = queue.session().post(std::move(request));
  const NTSTATUS status =
      queue.inner().Dispatch->NdkSrqReceive(&queue.inner(), reinterpret_cast<PVOID>(static_cast<std::uintptr_t>(id)), sges, count);
  if (status == STATUS_SUCCESS) return status;
  if (full) call.find(Rule::queue_depth_exceeded, fmt::format("the queue was created for {}", queue.depth_));
  queue.session().finish_posted(id);
  return status;
}

}  // namespace fb::ndk::verifier
