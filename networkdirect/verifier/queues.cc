#include "networkdirect/verifier/queues.h"

#include <utility>

#include <fmt/format.h>

#include "networkdirect/verifier/buffers.h"

namespace fb::networkdirect::verifier {

CompletionQueue::CompletionQueue(Session& session, std::shared_ptr<AdapterState> adapter, IND2CompletionQueue& inner, ULONG depth)
    : OverlappedFacade(session, Kind::completion_queue, std::move(adapter), inner), state_(std::make_shared<QueueState>()) {
  state_->depth = depth;
}

HRESULT CompletionQueue::GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) {
  Call call(*this, "GetNotifyAffinity");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(group, "the place for the group") || !call.given(affinity, "the place for the mask")) return ND_INVALID_PARAMETER;
  return call.inner([&] { return inner().GetNotifyAffinity(group, affinity); });
}

HRESULT CompletionQueue::Resize(ULONG depth) {
  Call call(*this, "Resize");
  if (!call.alive()) return ND_INVALID_HANDLE;
  call.limit("the depth", depth, adapter()->info.MaxCompletionQueueDepth);
  const HRESULT status = call.inner([&] { return inner().Resize(depth); });
  if (status == ND_SUCCESS) state_->depth = depth;
  return status;
}

HRESULT CompletionQueue::Notify(ULONG type, OVERLAPPED* overlapped) {
  Call call(*this, "Notify");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (type > ND_CQ_NOTIFY_SOLICITED) call.find(Rule::notify_type_unknown, fmt::format("type {}", type));
  return call.request(overlapped, Method::notify, [&] { return inner().Notify(type, overlapped); });
}

ULONG CompletionQueue::GetResults(ND2_RESULT results[], ULONG count) {
  Call call(*this, "GetResults");
  if (!call.alive()) return 0;
  if (count == 0) return call.inner([&] { return inner().GetResults(results, count); });
  if (!call.given(results, "the place for results")) return 0;
  const ULONG taken = call.inner([&] { return inner().GetResults(results, count); });
  for (ULONG i = 0; i < taken; ++i) take(results[i]);
  return taken;
}

/// Gives the consumer its own contexts back; the provider has our numbers in their place. A number that is not ours stays: it
/// is the provider's mistake.
void CompletionQueue::take(ND2_RESULT& result) {
  const auto context = session().queue_pair_contexts.find(reinterpret_cast<std::uintptr_t>(result.QueuePairContext));
  if (context != session().queue_pair_contexts.end()) result.QueuePairContext = context->second;
  const std::uint64_t id = reinterpret_cast<std::uintptr_t>(result.RequestContext);
  const auto at = session().posted.find(id);
  if (at == session().posted.end()) return;
  const bool initiator = at->second.receives == nullptr;
  const auto queue_pair = at->second.queue_pair;
  if (initiator && queue_pair != nullptr) {
    // Silent ones before it are done as well.
    while (!queue_pair->initiators.empty() && *queue_pair->initiators.begin() < id) {
      const std::uint64_t earlier = *queue_pair->initiators.begin();
      if (!session().posted.at(earlier).silent) break;
      session().finish_posted(earlier);
    }
  }
  if (FAILED(result.Status) && at->second.window != nullptr && result.RequestType == Nd2RequestTypeBind) at->second.window->unbind();
  result.RequestContext = session().finish_posted(id)->context;
  if (FAILED(result.Status) && queue_pair != nullptr) {
    if (result.Status != ND_CANCELED) queue_pair->failed = true;
    session().cease(*queue_pair);  // whatever is outstanding is cancelled
  }
}

void CompletionQueue::last_release(Call& call) {
  if (state_->queue_pairs > 0) call.find(Rule::queue_released_first, fmt::format("{} queue pairs are on it", state_->queue_pairs));
}

SharedReceiveQueue::SharedReceiveQueue(Session& session, std::shared_ptr<AdapterState> adapter, IND2SharedReceiveQueue& inner, ULONG depth,
                                       ULONG sges)
    : OverlappedFacade(session, Kind::shared_receive_queue, std::move(adapter), inner), state_(std::make_shared<ReceiveState>()) {
  state_->depth = depth;
  state_->sges = sges;
}

HRESULT SharedReceiveQueue::GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) {
  Call call(*this, "GetNotifyAffinity");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!call.given(group, "the place for the group") || !call.given(affinity, "the place for the mask")) return ND_INVALID_PARAMETER;
  return call.inner([&] { return inner().GetNotifyAffinity(group, affinity); });
}

HRESULT SharedReceiveQueue::Modify(ULONG depth, ULONG threshold) {
  Call call(*this, "Modify");
  if (!call.alive()) return ND_INVALID_HANDLE;
  call.limit("the depth", depth, adapter()->info.MaxSharedReceiveQueueDepth);
  call.limit("the threshold", threshold, depth != 0 ? depth : state_->depth);
  const HRESULT status = call.inner([&] { return inner().Modify(depth, threshold); });
  if (status == ND_SUCCESS && depth != 0) state_->depth = depth;
  return status;
}

HRESULT SharedReceiveQueue::Notify(OVERLAPPED* overlapped) {
  Call call(*this, "Notify");
  if (!call.alive()) return ND_INVALID_HANDLE;
  return call.request(overlapped, Method::notify, [&] { return inner().Notify(overlapped); });
}

HRESULT SharedReceiveQueue::Receive(VOID* context, const ND2_SGE sges[], ULONG count) {
  Call call(*this, "Receive");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (count > 0 && !call.given(sges, "the list of buffers")) return ND_INVALID_PARAMETER_2;
  if (count > state_->sges) {
    call.find(Rule::sge_count_exceeded, fmt::format("{} buffers; the queue was created for {}", count, state_->sges));
  }
  call.limit("the length", total_bytes(sges, count), adapter()->info.MaxTransferLength);
  Posted posted;
  posted.receives = state_;
  posted.type = Nd2RequestTypeReceive;
  posted.context = context;
  posted.regions = judge_buffers(call, *adapter(), sges, count, Use::receive);
  const std::uint64_t id = session().post(std::move(posted));
  const HRESULT status = call.inner([&] { return inner().Receive(reinterpret_cast<void*>(static_cast<std::uintptr_t>(id)), sges, count); });
  judge_depth(call, status, state_->outstanding, state_->depth);
  if (FAILED(status)) session().finish_posted(id);
  return status;
}

void SharedReceiveQueue::last_release(Call&) {
  // Its queue pairs may still bring results of its Receives, which no longer hold anything up.
  for (auto& [id, posted] : session().posted) {
    if (posted.receives != state_ || posted.queue_pair != nullptr || !std::exchange(posted.uses_memory, false)) continue;
    for (const auto& region : posted.regions) --region->uses;
  }
}

}  // namespace fb::networkdirect::verifier
