#include "sim/rdma/verbs/queue_pair.h"

#include <arpa/inet.h>

#include <algorithm>

#include "sim/rdma/verbs/translate.h"

namespace fb::verbs {

using rdma::CompletionStatus;
using rdma::QpState;
using rdma::SendOpcode;

QueuePair::QueuePair(Shared& shared, const rdma::QueuePairOptions& options) : s_(shared), options_(options) {
  options_.max_send_sges = std::clamp(options.max_send_sges, 1u, s_.limits.max_sges);
  options_.max_receive_sges = std::clamp(options.max_receive_sges, 1u, s_.limits.max_sges);
}

std::unique_ptr<QueuePair> QueuePair::make(Shared& shared, Domain& domain, const rdma::QueuePairOptions& options) {
  std::unique_ptr<QueuePair> made(new QueuePair(shared, options));
  return made->open(domain) ? std::move(made) : nullptr;
}

bool QueuePair::open(Domain& domain) {
  if (options_.send_queue == nullptr || options_.receive_queue == nullptr) return false;
  auto* const shared_queue = static_cast<SharedQueue*>(options_.shared_receive_queue);
  ibv_qp_init_attr wanted = {};
  wanted.qp_context = this;
  wanted.send_cq = static_cast<CompletionQueue*>(options_.send_queue)->object();
  wanted.recv_cq = static_cast<CompletionQueue*>(options_.receive_queue)->object();
  wanted.srq = shared_queue != nullptr ? shared_queue->object() : nullptr;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = std::clamp(options_.send_entries, 1u, s_.limits.max_queue_entries);
  wanted.cap.max_recv_wr = shared_queue != nullptr ? 0 : std::clamp(options_.receive_entries, 1u, s_.limits.max_queue_entries);
  wanted.cap.max_send_sge = options_.max_send_sges;
  wanted.cap.max_recv_sge = options_.max_receive_sges;
  wanted.cap.max_inline_data = s_.limits.max_inline_bytes;
  object_.reset(ibv_create_qp(domain.object(), &wanted));
  if (object_ == nullptr) return false;
  s_.queue_pairs[object_->qp_num] = this;
  // Receives are posted before there is a connection. Which port it takes is the connection manager's to say, later.
  ibv_qp_attr first = {};
  first.qp_state = IBV_QPS_INIT;
  first.port_num = 1;
  return ibv_modify_qp(object_.get(), &first, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0;
}

QueuePair::~QueuePair() {
  s_.loop.cancel(event_);
  if (object_ == nullptr) return;
  if (phase_ == Phase::held) rdma_reject(id_.get(), nullptr, 0);
  if (phase_ == Phase::connected) rdma_disconnect(id_.get());
  s_.queue_pairs.erase(object_->qp_num);
}

// ---------------------------------------------------------------- completions

rdma::Completion QueuePair::convert(const ibv_wc& completion) {
  const rdma::Completion made = completion_of(completion, options_.context);
  // Nobody but the driver flushes a queue pair that is good to us.
  if (made.status != CompletionStatus::success) broken();
  return made;
}

void QueuePair::broken() {
  if (state_ == QpState::error) return;
  to_error();
  report(Report::Kind::failed);
}

void QueuePair::to_error() {
  if (state_ == QpState::error) return;
  state_ = QpState::error;
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(object_.get(), &attributes, IBV_QP_STATE);
}

void QueuePair::fail() { to_error(); }

// ---------------------------------------------------------------- requests

bool QueuePair::post_receive(const rdma::ReceiveRequest& request) {
  if (options_.shared_receive_queue != nullptr || request.sges.size() > options_.max_receive_sges) return false;
  SgeList sges(request.sges);
  ibv_recv_wr work = {};
  work.wr_id = request.id;
  work.sg_list = sges.data();
  work.num_sge = sges.size();
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(object_.get(), &work, &bad) == 0;
}

rdma::QpState QueuePair::state() const {
  if (state_ != QpState::ready_to_send) return state_;
  // Drivers do not tell of every error of their own.
  ibv_qp_attr now = {};
  ibv_qp_init_attr made = {};
  const bool failed = ibv_query_qp(object_.get(), &now, IBV_QP_STATE, &made) == 0 && now.qp_state == IBV_QPS_ERR;
  return failed ? QpState::error : state_;
}

bool QueuePair::post_send(const rdma::SendRequest& request) {
  if (request.sges.size() > options_.max_send_sges) return false;
  if (state_ != QpState::ready_to_send && state_ != QpState::error) return false;
  ibv_send_wr work = {};
  if (!prepare(request, work)) return false;
  SgeList sges(request.sges);
  work.sg_list = sges.data();
  work.num_sge = sges.size();
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(object_.get(), &work, &bad) == 0;
}

/// All but the buffers. False for what verbs have not.
bool QueuePair::prepare(const rdma::SendRequest& request, ibv_send_wr& work) const {
  const auto opcode = work_opcode(request.opcode);
  if (!opcode) return false;
  work.wr_id = request.id;
  work.opcode = *opcode;
  unsigned flags = 0;
  if (request.signaled) flags |= IBV_SEND_SIGNALED;
  if (request.solicited) flags |= IBV_SEND_SOLICITED;
  if (request.fence) flags |= IBV_SEND_FENCE;
  if (request.inline_data) {
    std::uint64_t length = 0;
    for (const rdma::Sge& sge : request.sges) length += sge.length;
    if (length > s_.limits.max_inline_bytes || request.opcode == SendOpcode::rdma_read) return false;
    flags |= IBV_SEND_INLINE;
  }
  work.send_flags = flags;
  switch (request.opcode) {
    case SendOpcode::send_with_invalidate:
      work.invalidate_rkey = request.invalidate_rkey;
      break;
    case SendOpcode::send_with_immediate:
    case SendOpcode::rdma_write_with_immediate:
      work.imm_data = htonl(request.immediate);
      break;
    default:
      break;
  }
  if (request.opcode == SendOpcode::compare_and_swap || request.opcode == SendOpcode::fetch_and_add) {
    if (!s_.limits.atomics) return false;
    work.wr.atomic.remote_addr = request.remote_address;
    work.wr.atomic.rkey = request.rkey;
    const bool swaps = request.opcode == SendOpcode::compare_and_swap;
    work.wr.atomic.compare_add = swaps ? request.compare : request.swap_or_add;
    work.wr.atomic.swap = swaps ? request.swap_or_add : 0;
  } else {
    work.wr.rdma.remote_addr = request.remote_address;
    work.wr.rdma.rkey = request.rkey;
  }
  return true;
}

}  // namespace fb::verbs
