#include "networkdirect/consumer/queue_pair.h"

#include <algorithm>

namespace fb::networkdirect::consumer {

using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::QpState;
using rdma::SendOpcode;

QueuePair::QueuePair(Shared& shared, const rdma::QueuePairOptions& options)
    : s_(shared),
      options_(options),
      send_queue_(static_cast<CompletionQueue*>(options.send_queue)),
      receive_queue_(static_cast<CompletionQueue*>(options.receive_queue)),
      shared_queue_(static_cast<SharedQueue*>(options.shared_receive_queue)),
      number_(s_.next_number++),
      context_(s_.queue_pairs.add(*this)) {
  options_.max_send_sges = std::clamp(options.max_send_sges, 1u, s_.limits.max_sges);
  options_.max_receive_sges = std::clamp(options.max_receive_sges, 1u, s_.limits.max_sges);
  for (CompletionQueue* queue : {send_queue_, receive_queue_}) {
    if (queue != nullptr) queue->attach(*this);
  }
  if (has_queues()) create();
}

/// Both, and of this device: another's adapter is another.
bool QueuePair::has_queues() const {
  if (send_queue_ == nullptr || receive_queue_ == nullptr) return false;
  const bool own = send_queue_->belongs_to(s_) && receive_queue_->belongs_to(s_);
  return s_.departs("queue_pair.queue_of_other_adapter") || own;
}

void QueuePair::create() {
  const ND2_ADAPTER_INFO& info = s_.info;
  ULONG sends = std::clamp<ULONG>(options_.send_entries, 1, info.MaxInitiatorQueueDepth);
  const ULONG receives = std::clamp<ULONG>(options_.receive_entries, 1, info.MaxReceiveQueueDepth);
  if (s_.departs("queue_pair.too_deep")) sends = info.MaxInitiatorQueueDepth + 1;
  if (s_.departs("queue_pair.shallow")) sends = 1;
  const ULONG inline_bytes = s_.departs("queue_pair.no_inline") ? 0 : s_.limits.max_inline_bytes;
  IUnknown* const receive_queue = receive_queue_for_creation();
  if (shared_queue_ != nullptr) {
    s_.adapter.CreateQueuePairWithSrq(IID_IND2QueuePair, receive_queue, send_queue_->object(), shared_queue_->object(), context_, sends,
                                      options_.max_send_sges, inline_bytes, object_.out());
  } else {
    s_.adapter.CreateQueuePair(IID_IND2QueuePair, receive_queue, send_queue_->object(), context_, receives, sends,
                               options_.max_receive_sges, options_.max_send_sges, inline_bytes, object_.out());
  }
}

QueuePair::~QueuePair() {
  // Completions that were there stay; what the end brings is for nobody.
  for (CompletionQueue* queue : {receive_queue_, send_queue_}) {
    if (queue == nullptr) continue;
    if (object_) queue->pull();
    queue->detach(*this);
  }
  s_.world.loop().cancel(event_);
  forget_requests();
  s_.queue_pairs.remove(context_);
  if (connector_) {
    if (phase_ == Phase::held && !s_.departs("connector.reply_unanswered")) connector_->Reject(nullptr, 0);
    if (phase_ == Phase::connected && !s_.departs("queue_pair.released_connected")) {
      s_.mailbox->start_unheard([&](OVERLAPPED* overlapped) { return connector_->Disconnect(overlapped); });
    }
    give_up_connector();
  }
  if (object_ && s_.departs("queue_pair.released_last")) *s_.late.emplace_back().out() = object_.leave();
  s_.release(object_, "queue_pair.leaked", "queue_pair.used_after_release", [](IND2QueuePair& stale) { stale.Flush(); });
}

// ---------------------------------------------------------------- completions

rdma::Completion QueuePair::completion_of(std::uint64_t id, CompletionOpcode opcode, CompletionStatus status) const {
  rdma::Completion completion;
  completion.id = id;
  completion.status = status;
  completion.opcode = opcode;
  completion.qp_number = number_;
  completion.qp_context = options_.context;
  return completion;
}

bool QueuePair::convert(const ND2_RESULT& result, rdma::Completion& completion) {
  const ND2_REQUEST_TYPE type = result.RequestType;
  const bool of_window = type == Nd2RequestTypeBind || type == Nd2RequestTypeInvalidate;
  if (of_window && result.RequestContext == nullptr) return false;  // of a departure
  completion = completion_of(reinterpret_cast<std::uintptr_t>(result.RequestContext), completion_opcode(type),
                             completion_status(result.Status, type));
  if (type == Nd2RequestTypeReceive && result.Status == ND_SUCCESS) completion.byte_length = result.BytesTransferred;
  if (type == Nd2RequestTypeRead) {
    // After the first that fails, none succeeds: unsignaled ones that fail do no harm here.
    const std::uint32_t length = read_lengths_.pop();
    if (result.Status == ND_SUCCESS) completion.byte_length = length;
  }
  if (completion.status != CompletionStatus::success && completion.status != CompletionStatus::flushed) broken();
  return true;
}

void QueuePair::push_flushed(std::uint64_t id, CompletionOpcode opcode) {
  CompletionQueue* const queue = opcode == CompletionOpcode::receive ? receive_queue_ : send_queue_;
  queue->push(completion_of(id, opcode, CompletionStatus::flushed));
}

void QueuePair::broken() {
  if (state_ == QpState::error) return;
  state_ = QpState::error;  // the provider flushes by itself
  report(Report::Kind::failed);
}

void QueuePair::to_error() {
  if (state_ == QpState::error) return;
  state_ = QpState::error;
  object_->Flush();
}

void QueuePair::fail() { to_error(); }

// ---------------------------------------------------------------- requests

bool QueuePair::post_receive(const rdma::ReceiveRequest& request) {
  if (shared_queue_ != nullptr && !s_.departs("post.receive_beside_shared_queue")) return false;
  if (request.sges.size() > options_.max_receive_sges) return false;
  if (state_ == QpState::error) {
    push_flushed(request.id, CompletionOpcode::receive);
    return true;
  }
  if (s_.departs("post.receive_late") && depart_receive(request)) return true;
  const SgeList sges(s_, request.sges);
  return object_->Receive(reinterpret_cast<void*>(request.id), sges.data(), sges.size()) == ND_SUCCESS;
}

bool QueuePair::post_send(const rdma::SendRequest& request) {
  const auto opcode = completion_opcode(request.opcode);
  if (!opcode || request.sges.size() > options_.max_send_sges) return false;
  const bool goes_on = state_ == QpState::error && s_.departs("post.after_failure");
  if (state_ == QpState::error && !goes_on) {
    push_flushed(request.id, *opcode);
    return true;
  }
  if (state_ != QpState::ready_to_send && !goes_on && !s_.departs("post.unconnected")) return false;
  if (request.inline_data) {
    if (request.opcode == SendOpcode::rdma_read) return false;
    // The provider copies right away: from nowhere else, and what fits.
    std::uint64_t length = 0;
    for (const rdma::Sge& sge : request.sges) {
      if (sge.length > 0 && !s_.regions.covers(sge)) return false;
      length += sge.length;
    }
    if (length > s_.limits.max_inline_bytes) return false;
  }
  const SgeList sges(s_, request.sges, request.inline_data);
  const bool counted = request.opcode == SendOpcode::rdma_read && request.signaled;
  if (counted) {
    // Entered first: a provider may answer within the call.
    std::uint32_t length = 0;
    for (const rdma::Sge& sge : request.sges) length += sge.length;
    read_lengths_.push(length);
  }
  const HRESULT status = post(request, sges);
  if (status == ND_SUCCESS) {
    if (s_.options.hooks != nullptr) depart_after_post(request);
    return true;
  }
  if (counted) read_lengths_.take_back();
  if (status != ND_CONNECTION_INVALID) return false;
  // The connection has ended, and the word of it is on its way.
  push_flushed(request.id, *opcode);
  return true;
}

HRESULT QueuePair::post(const rdma::SendRequest& request, const SgeList& sges) {
  void* const context = reinterpret_cast<void*>(request.id);
  ULONG flags = 0;
  if (!request.signaled) flags |= ND_OP_FLAG_SILENT_SUCCESS;
  if (request.fence) flags |= ND_OP_FLAG_READ_FENCE;
  if (request.inline_data) flags |= ND_OP_FLAG_INLINE;
  if (s_.departs("post.unknown_flag")) flags |= 0x4000;
  UINT32 token = htonl(request.rkey);
  if (s_.departs("post.token_in_host_order")) token = request.rkey;
  switch (request.opcode) {
    case SendOpcode::rdma_read:
      if (s_.departs("post.read_inline")) flags |= ND_OP_FLAG_INLINE;
      return object_->Read(context, sges.data(), sges.size(), request.remote_address, token, flags);
    case SendOpcode::rdma_write:
      if (request.solicited && s_.departs("post.write_solicited")) flags |= ND_OP_FLAG_SEND_AND_SOLICIT_EVENT;
      return object_->Write(context, sges.data(), sges.size(), request.remote_address, token, flags);
    default:
      if (request.solicited) flags |= ND_OP_FLAG_SEND_AND_SOLICIT_EVENT;
      return object_->Send(context, sges.data(), sges.size(), flags);
  }
}

}  // namespace fb::networkdirect::consumer
