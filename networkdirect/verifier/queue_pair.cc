#include "networkdirect/verifier/queue_pair.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "networkdirect/verifier/buffers.h"
#include "networkdirect/verifier/memory.h"

namespace fb::networkdirect::verifier {

namespace {

using Link = QueuePairState::Link;

/// Results that may come are more than fit: said once.
void judge_room(Call& call, QueueState& queue) {
  if (queue.expected <= queue.depth || std::exchange(queue.called_shallow, true)) return;
  call.find(Rule::completion_queue_shallow, fmt::format("{} {}", name_of(Kind::completion_queue), queue.number),
            fmt::format("{} results may come; it was created for {}", queue.expected, queue.depth));
}

/// A request that failed in its call has changed nothing.
void restore(WindowState& window, const WindowState& before) {
  window.unbind();
  window = before;
  window.count();
}

}  // namespace

QueuePair::QueuePair(Session& session, std::shared_ptr<AdapterState> adapter, IND2QueuePair& inner, std::shared_ptr<QueuePairState> state)
    : Facade(session, Kind::queue_pair, std::move(adapter), inner), state_(std::move(state)) {}

HRESULT QueuePair::Flush() {
  Call call(*this, "Flush");
  if (!call.alive()) return ND_INVALID_HANDLE;
  const HRESULT status = call.inner([&] { return inner().Flush(); });
  session().cease(*state_);
  return status;
}

template <class Give>
HRESULT QueuePair::post(Call& call, Posted posted, ULONG flags, Give&& give) {
  const auto state = state_;
  const bool initiator = posted.receives == nullptr;
  posted.queue_pair = state;
  posted.silent = (flags & ND_OP_FLAG_SILENT_SUCCESS) != 0;
  const bool failed_before = state->failed;
  const std::uint64_t id = session().post(std::move(posted));
  const HRESULT status = call.inner([&] { return give(reinterpret_cast<void*>(static_cast<std::uintptr_t>(id))); });
  if (initiator) {
    judge_depth(call, status, state->initiators.size(), state->initiator_depth);
  } else {
    judge_depth(call, status, state->receives->outstanding, state->receives->depth);
  }
  if (FAILED(status)) {
    session().finish_posted(id);
    if (status == ND_CONNECTION_INVALID && !state->ever_attached) call.find(Rule::post_unconnected);
    return status;
  }
  if (failed_before) call.find(Rule::post_after_failure);
  judge_room(call, initiator ? *state->initiator_queue : *state->receive_queue);
  return status;
}

bool QueuePair::judge_list(Call& call, const ND2_SGE* sges, ULONG count, ULONG flags) {
  if (count > 0 && !call.given(sges, "the list of buffers")) return false;
  const UINT64 bytes = total_bytes(sges, count);
  if ((flags & ND_OP_FLAG_INLINE) != 0) {
    if (bytes > state_->inline_bytes) {
      call.find(Rule::inline_too_long, fmt::format("{} bytes; the queue pair was created for {}", bytes, state_->inline_bytes));
    }
    return true;
  }
  call.limit("the length", bytes, adapter()->info.MaxTransferLength);
  return true;
}

template <class Give>
HRESULT QueuePair::transfer(Call& call, ND2_REQUEST_TYPE type, VOID* context, const ND2_SGE* sges, ULONG count, ULONG flags, Give&& give) {
  if (!judge_list(call, sges, count, flags)) return ND_INVALID_PARAMETER_2;
  Posted posted;
  posted.type = type;
  posted.context = context;
  if ((flags & ND_OP_FLAG_INLINE) == 0) {  // inline data are taken in the call, whatever their tokens
    if (count > state_->initiator_sges) {
      call.find(Rule::sge_count_exceeded, fmt::format("{} buffers; the queue pair was created for {}", count, state_->initiator_sges));
    }
    const Use use = type == Nd2RequestTypeRead ? Use::read : Use::source;
    posted.regions = judge_buffers(call, *adapter(), sges, count, use);
  }
  return post(call, std::move(posted), flags, give);
}

HRESULT QueuePair::Send(VOID* context, const ND2_SGE sges[], ULONG count, ULONG flags) {
  Call call(*this, "Send");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_flags(call, flags, ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE | ND_OP_FLAG_SEND_AND_SOLICIT_EVENT | ND_OP_FLAG_INLINE);
  return transfer(call, Nd2RequestTypeSend, context, sges, count, flags, [&](void* id) { return inner().Send(id, sges, count, flags); });
}

HRESULT QueuePair::Receive(VOID* context, const ND2_SGE sges[], ULONG count) {
  Call call(*this, "Receive");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!judge_list(call, sges, count, 0)) return ND_INVALID_PARAMETER_2;
  if (state_->shared) {
    call.find(Rule::receive_on_shared);
    return call.inner([&] { return inner().Receive(context, sges, count); });
  }
  if (count > state_->receives->sges) {
    call.find(Rule::sge_count_exceeded, fmt::format("{} buffers; the queue pair was created for {}", count, state_->receives->sges));
  }
  // Said once: those that follow are not late.
  if (std::exchange(state_->agreed_bare, false) && state_->link == Link::attached) call.find(Rule::receives_late);
  Posted posted;
  posted.type = Nd2RequestTypeReceive;
  posted.receives = state_->receives;
  posted.context = context;
  posted.regions = judge_buffers(call, *adapter(), sges, count, Use::receive);
  return post(call, std::move(posted), 0, [&](void* id) { return inner().Receive(id, sges, count); });
}

HRESULT QueuePair::Read(VOID* context, const ND2_SGE sges[], ULONG count, UINT64 address, UINT32 token, ULONG flags) {
  Call call(*this, "Read");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_flags(call, flags, ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE);
  if (state_->no_reads) call.find(Rule::read_without_limit);
  call.limit("the number of buffers", count, adapter()->info.MaxReadSge);
  return transfer(call, Nd2RequestTypeRead, context, sges, count, flags & ~ULONG{ND_OP_FLAG_INLINE},
                  [&](void* id) { return inner().Read(id, sges, count, address, token, flags); });
}

HRESULT QueuePair::Write(VOID* context, const ND2_SGE sges[], ULONG count, UINT64 address, UINT32 token, ULONG flags) {
  Call call(*this, "Write");
  if (!call.alive()) return ND_INVALID_HANDLE;
  judge_flags(call, flags, ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE | ND_OP_FLAG_INLINE);
  return transfer(call, Nd2RequestTypeWrite, context, sges, count, flags,
                  [&](void* id) { return inner().Write(id, sges, count, address, token, flags); });
}

HRESULT QueuePair::Bind(VOID* context, IUnknown* region, IUnknown* window, const VOID* buffer, SIZE_T bytes, ULONG flags) {
  Call call(*this, "Bind");
  if (!call.alive()) return ND_INVALID_HANDLE;
  auto* const in = static_cast<MemoryRegion*>(call.argument(region, Kind::memory_region, "the region"));
  if (in == nullptr) return ND_INVALID_PARAMETER_2;
  auto* const bound = static_cast<MemoryWindow*>(call.argument(window, Kind::memory_window, "the window"));
  if (bound == nullptr) return ND_INVALID_PARAMETER_3;
  judge_flags(call, flags, ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE | ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE);
  const auto memory = in->state();
  const auto view = bound->state();
  if (memory->phase == RegionState::Phase::empty) {
    call.find(Rule::bind_unregistered, in->name());
  } else if (!memory->covers(buffer, bytes)) {
    call.find(Rule::bind_outside_region, fmt::format("{} bytes in {}, which has {}", bytes, in->name(), memory->bytes));
  }
  if ((flags & ND_OP_FLAG_ALLOW_WRITE) != 0 && (memory->flags & ND_MR_FLAG_ALLOW_LOCAL_WRITE) == 0) {
    call.find(Rule::bind_rights_missing, in->name());
  }
  if ((flags & (ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE)) == 0) call.find(Rule::bind_grants_nothing, bound->name());
  if (view->bound()) call.find(Rule::bind_of_bound_window, bound->name());
  Posted posted;
  posted.type = Nd2RequestTypeBind;
  posted.context = context;
  posted.window = view;
  // Before the call: another thread may have its result, and go on with the window, before it returns.
  const WindowState before = *view;
  view->unbind();
  view->region = memory;
  view->queue_pair = number();
  ++memory->windows;
  const HRESULT status =
      post(call, std::move(posted), flags, [&](void* id) { return inner().Bind(id, &in->inner(), &bound->inner(), buffer, bytes, flags); });
  if (FAILED(status)) {
    restore(*view, before);
  } else if (view->bound() && std::ranges::find(state_->windows, view) == state_->windows.end()) {
    state_->windows.push_back(view);
  }
  return status;
}

HRESULT QueuePair::Invalidate(VOID* context, IUnknown* window, ULONG flags) {
  Call call(*this, "Invalidate");
  if (!call.alive()) return ND_INVALID_HANDLE;
  auto* const bound = static_cast<MemoryWindow*>(call.argument(window, Kind::memory_window, "the window"));
  if (bound == nullptr) return ND_INVALID_PARAMETER_2;
  judge_flags(call, flags, ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE);
  const auto view = bound->state();
  if (!view->bound()) {
    call.find(Rule::window_not_bound, bound->name());
  } else if (view->queue_pair != number()) {
    call.find(Rule::window_of_other_queue_pair, fmt::format("{} is bound on queue pair {}", bound->name(), view->queue_pair));
  }
  Posted posted;
  posted.type = Nd2RequestTypeInvalidate;
  posted.context = context;
  const WindowState before = *view;
  view->unbind();
  const HRESULT status = post(call, std::move(posted), flags, [&](void* id) { return inner().Invalidate(id, &bound->inner(), flags); });
  if (FAILED(status)) {
    restore(*view, before);
  } else if (!view->bound()) {
    std::erase(state_->windows, view);
  }
  return status;
}

void QueuePair::last_release(Call&) {
  session().end_link(state_);
  for (const auto& window : state_->windows) {
    if (window->queue_pair == number()) window->unbind();
  }
  state_->windows.clear();
  --state_->receive_queue->queue_pairs;
  --state_->initiator_queue->queue_pairs;
  // Results may still come, of any of them but the silent.
  const auto posted = state_->posted;
  for (const std::uint64_t id : posted) {
    if (session().posted.at(id).silent) session().finish_posted(id);
  }
}

}  // namespace fb::networkdirect::verifier
