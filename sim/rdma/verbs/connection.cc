// The connection of a queue pair. The connection manager speaks through on_cm_event(), the user hears through deliver().
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/result.h"
#include "sim/net/udp_socket.h"
#include "sim/rdma/verbs/queue_pair.h"

namespace fb::verbs {

using net::socket_detail::SocketAddress;
using rdma::QpState;
namespace reject_reason = rdma::reject_reason;

namespace {

// What librdmacm's private data has room for in the TCP port space (InfiniBand A11.3).
constexpr std::size_t kRequestRoom = 56;
constexpr std::size_t kReplyRoom = 196;
constexpr std::size_t kRejectRoom = 148;
// For a neighbour's address, and for the route behind it.
constexpr int kResolveTimeout_ms = 5000;

void check_private_data(const Shared& shared, ByteView data, std::size_t room) {
  if (data.size() <= room) return;
  throw UserError(fmt::format("verbs:{}: the message takes {} bytes of private data, not {}", shared.name, room, data.size()));
}

void reject(rdma_cm_id& id, ByteView data) { rdma_reject(&id, data.data(), static_cast<std::uint8_t>(data.size())); }

}  // namespace

// ---------------------------------------------------------------- active side

void QueuePair::connect(const Endpoint& to, const rdma::ConnectionParameters& parameters) {
  check_private_data(s_, parameters.private_data, kRequestRoom);
  if (phase_ != Phase::idle) return;
  phase_ = Phase::connecting;
  parameters_ = parameters;
  private_data_.assign(parameters.private_data.begin(), parameters.private_data.end());
  parameters_.private_data = private_data_;
  id_ = make_identifier(s_, *this);
  if (id_ == nullptr) return on_failed(Report::Kind::rejected, reject_reason::no_resources);
  SocketAddress from(Endpoint{s_.address, parameters.source_port});
  SocketAddress peer(to);
  if (rdma_resolve_addr(id_.get(), from.get(), peer.get(), kResolveTimeout_ms) == 0) return;
  on_failed(errno == EADDRINUSE ? Report::Kind::rejected : Report::Kind::unreachable, reject_reason::no_resources);
}

void QueuePair::resolve_route() {
  // The address says which device it is.
  const bool ours = id_->verbs != nullptr && s_.name == ibv_get_device_name(id_->verbs->device);
  if (!ours || rdma_resolve_route(id_.get(), kResolveTimeout_ms) != 0) on_failed(Report::Kind::unreachable);
}

rdma_conn_param QueuePair::parameters_for_kernel() const {
  const auto bounded = [&](std::uint8_t reads) { return static_cast<std::uint8_t>(std::min<std::uint32_t>(reads, s_.limits.max_reads)); };
  rdma_conn_param made = {};
  made.private_data = private_data_.data();
  made.private_data_len = static_cast<std::uint8_t>(private_data_.size());
  made.responder_resources = bounded(parameters_.responder_resources);
  made.initiator_depth = bounded(parameters_.initiator_depth);
  made.flow_control = parameters_.flow_control ? 1 : 0;
  made.retry_count = parameters_.retry_count;
  made.rnr_retry_count = parameters_.rnr_retry_count;
  made.srq = options_.shared_receive_queue != nullptr ? 1 : 0;
  made.qp_num = object_->qp_num;
  return made;
}

void QueuePair::send_request() {
  rdma_conn_param parameters = parameters_for_kernel();
  if (rdma_connect(id_.get(), &parameters) != 0) on_failed(Report::Kind::unreachable);
}

void QueuePair::on_reply(CmEvent& event) {
  facts_ = std::move(event.facts);
  if (!parameters_.hold_reply) return complete();
  phase_ = Phase::held;
  report(Report::Kind::accepted, 0, facts_);
}

void QueuePair::confirm() {
  if (phase_ == Phase::held) complete();
}

void QueuePair::complete() {
  const auto& facts = facts_.facts;
  if (!make_ready(facts.initiator_depth, facts.responder_resources) || rdma_establish(id_.get()) != 0) {
    phase_ = Phase::over;
    rdma_reject(id_.get(), nullptr, 0);
    return on_failed(Report::Kind::disconnected);
  }
  phase_ = Phase::connected;
  report(Report::Kind::established, 0, facts_);
}

void QueuePair::refuse(std::uint16_t, ByteView private_data) {
  if (phase_ != Phase::held) return;
  check_private_data(s_, private_data, kRejectRoom);
  phase_ = Phase::over;
  reject(*id_, private_data);
  to_error();
}

// ---------------------------------------------------------------- passive side

void QueuePair::accept(Owned<rdma_cm_id> id, CmFacts facts, const rdma::ConnectionParameters& parameters) {
  check_private_data(s_, parameters.private_data, kReplyRoom);
  if (phase_ != Phase::idle) {
    rdma_reject(id.get(), nullptr, 0);
    return;
  }
  phase_ = Phase::accepting;
  id_ = std::move(id);
  set_owner(*id_, *this);
  facts_ = std::move(facts);
  parameters_ = parameters;
  private_data_.assign(parameters.private_data.begin(), parameters.private_data.end());
  rdma_conn_param answer = parameters_for_kernel();
  // No more reads than the peer serves, and no more room for its reads than it asks for.
  answer.initiator_depth = std::min(answer.initiator_depth, facts_.facts.responder_resources);
  answer.responder_resources = std::min(answer.responder_resources, facts_.facts.initiator_depth);
  if (make_ready(answer.responder_resources, answer.initiator_depth) && rdma_accept(id_.get(), &answer) == 0) return;
  rdma_reject(id_.get(), nullptr, 0);
  on_failed(Report::Kind::disconnected);
}

void QueuePair::data_came_first() {
  if (phase_ == Phase::accepting) rdma_notify(id_.get(), IBV_EVENT_COMM_EST);
}

// ---------------------------------------------------------------- both

/// From the state init, with what the connection manager knows of the path and the peer, to ready to send.
bool QueuePair::make_ready(std::uint32_t responder_resources, std::uint32_t initiator_depth) {
  for (const ibv_qp_state to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (!change_state(to, responder_resources, initiator_depth)) return false;
  }
  state_ = QpState::ready_to_send;
  return true;
}

bool QueuePair::change_state(ibv_qp_state to, std::uint32_t responder_resources, std::uint32_t initiator_depth) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = to;
  int mask = 0;
  if (rdma_init_qp_attr(id_.get(), &attributes, &mask) != 0) return false;
  const auto bounded = [&](std::uint32_t reads) { return static_cast<std::uint8_t>(std::min(reads, s_.limits.max_reads)); };
  if (to == IBV_QPS_RTR) attributes.max_dest_rd_atomic = bounded(responder_resources);
  if (to == IBV_QPS_RTS) attributes.max_rd_atomic = bounded(initiator_depth);
  return ibv_modify_qp(object_.get(), &attributes, mask) == 0;
}

void QueuePair::on_cm_event(CmEvent event) {
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (phase_ == Phase::connecting) resolve_route();
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      if (phase_ == Phase::connecting) send_request();
      return;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      if (phase_ == Phase::connecting) on_reply(event);
      return;
    case RDMA_CM_EVENT_ESTABLISHED:
      if (phase_ != Phase::accepting) return;
      phase_ = Phase::connected;
      return report(Report::Kind::established, 0, facts_);
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
      if (phase_ == Phase::connecting || phase_ == Phase::accepting) on_failed(Report::Kind::unreachable);
      return;
    case RDMA_CM_EVENT_REJECTED:
      if (phase_ != Phase::connecting && phase_ != Phase::held && phase_ != Phase::accepting) return;
      return on_failed(Report::Kind::rejected, static_cast<std::uint16_t>(event.status), std::move(event.facts));
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return peer_gone();
    default:
      return;  // what does not concern a connection, such as the end of its quiet time
  }
}

/// An attempt came to nothing. The active side may try again with the same queue pair; once the peer has accepted, nobody.
void QueuePair::on_failed(Report::Kind kind, std::uint16_t reason, CmFacts facts) {
  const bool again = phase_ == Phase::connecting;
  phase_ = again ? Phase::idle : Phase::over;
  if (again) {
    id_.reset();
  } else {
    to_error();
  }
  report(kind, reason, std::move(facts));
}

void QueuePair::disconnect() {
  switch (phase_) {
    case Phase::connected:
      phase_ = Phase::disconnecting;
      to_error();
      if (rdma_disconnect(id_.get()) == 0) return;
      break;
    case Phase::idle:
      // Never connected. One that is in error has had its report.
      if (state_ == QpState::error) return;
      break;
    case Phase::disconnecting:
    case Phase::over:
      return;
    case Phase::held:
    case Phase::accepting:
      rdma_reject(id_.get(), nullptr, 0);
      break;
    case Phase::connecting:
      id_.reset();
      break;
  }
  phase_ = Phase::over;
  to_error();
  report(Report::Kind::disconnected);
}

void QueuePair::peer_gone() {
  if (phase_ == Phase::connected) {
    to_error();
    rdma_disconnect(id_.get());  // the answer to its request
  } else if (phase_ != Phase::disconnecting && phase_ != Phase::accepting) {
    return;
  }
  phase_ = Phase::over;
  to_error();
  report(Report::Kind::disconnected);
}

// ---------------------------------------------------------------- reports

void QueuePair::report(Report::Kind kind, std::uint16_t reason, CmFacts facts) {
  if (options_.handler == nullptr) return;
  reports_.push_back({kind, reason, std::move(facts)});
  if (!event_.scheduled()) s_.loop.schedule(event_, s_.world.now());
}

void QueuePair::deliver() {
  const Report report = std::move(reports_.front());
  reports_.pop_front();
  if (!reports_.empty()) s_.loop.schedule(event_, s_.world.now());
  rdma::ConnectionHandler& handler = *options_.handler;
  // The handler may destroy this queue pair: nothing is touched after it.
  switch (report.kind) {
    case Report::Kind::established:
      return handler.on_established(*this, report.facts.get());
    case Report::Kind::accepted:
      return handler.on_accepted(*this, report.facts.get());
    case Report::Kind::rejected:
      return handler.on_rejected(*this, report.reason, report.facts.private_data);
    case Report::Kind::unreachable:
      return handler.on_unreachable(*this);
    case Report::Kind::disconnected:
      return handler.on_disconnected(*this);
    case Report::Kind::failed:
      return handler.on_queue_error(*this);
  }
}

}  // namespace fb::verbs
