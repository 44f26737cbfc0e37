#include <fmt/format.h>

#include "sim/rdma/softroce/cm_manager.h"

namespace fb::softroce {

namespace reason = rdma::reject_reason;

namespace {
// The peer chooses the ACK timeout; it must not choose how long we remember it as well.
constexpr std::uint8_t kTimewaitCodeMax = 20;
}  // namespace

std::unique_ptr<CmCore> make_connection_manager(CmServices& services, const CmOptions& options) {
  return std::make_unique<ConnectionManager>(services, options);
}

// ---------------------------------------------------------------- small parts

void CmConnection::fire() { manager_.on_deadline(*this); }

CmListener::~CmListener() {
  if (manager_ != nullptr) manager_->drop_listener(*this);
}

Endpoint CmListener::local() const { return {manager_ == nullptr ? IpAddress{} : manager_->services_.address(), port_}; }

CmRequest::CmRequest(ConnectionManager& manager, CmConnection& connection, ByteView private_data)
    : manager_(manager.self_), connection_(&connection), facts_(connection.facts) {
  std::copy_n(private_data.begin(), std::min(private_data.size(), private_data_.size()), private_data_.begin());
  facts_.private_data = private_data_;
}

CmRequest::~CmRequest() {
  if (!answered_) reject(reason::consumer_defined, {});
}

void CmRequest::accept(rdma::QueuePair& qp, const rdma::ConnectionParameters& parameters) {
  BENCH_ASSERT(!answered_, "a connection request is answered once");
  answered_ = true;
  ConnectionManager* manager = *manager_;
  if (manager == nullptr) return;
  CmQueuePair& queue_pair = manager->services_.queue_pair_of(qp);
  if (connection_ == nullptr) {
    // The peer gave up while the listener thought about it.
    queue_pair.to_error();
    queue_pair.disconnected();
    return;
  }
  connection_->request = nullptr;
  manager->accept(*std::exchange(connection_, nullptr), queue_pair, parameters);
}

void CmRequest::reject(std::uint16_t why, ByteView private_data) {
  BENCH_ASSERT(!answered_, "a connection request is answered once");
  answered_ = true;
  ConnectionManager* manager = *manager_;
  if (manager == nullptr || connection_ == nullptr) return;
  manager->reject(*std::exchange(connection_, nullptr), why, private_data);
}

// ---------------------------------------------------------------- calls of the device

ConnectionManager::ConnectionManager(CmServices& services, const CmOptions& options)
    : services_(services),
      options_(options),
      random_(services.world().stream(std::string(services.name()) + "/cm/" + to_string(services.address()))),
      self_(std::make_shared<ConnectionManager*>(this)) {
  trace().set_decoder("cm", [](ByteView mad) { return cm::describe_mad(mad); });
}

ConnectionManager::~ConnectionManager() {
  for (auto& [id, connection] : by_id_) forget_request(*connection);
  for (auto& [port, listener] : listeners_) listener->manager_ = nullptr;
  *self_ = nullptr;
}

void ConnectionManager::connect(CmQueuePair& qp, const Endpoint& to, const rdma::ConnectionParameters& parameters) {
  BENCH_ASSERT(by_qpn(qp.number()) == nullptr, "a queue pair has one connection");
  BENCH_ASSERT(parameters.private_data.size() <= cm::kReqConsumerBytes, "private data of a REQ has 56 bytes");
  if (!is_usable(to.address) || by_id_.size() >= options_.connections_max) {
    trace().mark("cm.connect.impossible");
    qp.unreachable();
    return;
  }
  CmConnection& connection = open(true);
  attach(connection, qp);
  connection.hold_reply = parameters.hold_reply;
  compose_req(connection, to, parameters);
  connection.resends = options_.max_cm_retries;
  connection.resend_interval = cm_timeout(options_.packet_lifetime_code) * 2 + cm_timeout(options_.cm_response_timeout_code);
  move(connection, CmEvent::send_req);
  expect_answer(connection);
}

void ConnectionManager::disconnect(CmQueuePair& qp) {
  CmConnection* connection = by_qpn(qp.number());
  if (connection != nullptr) {
    end(*connection);
    return;
  }
  // Never connected. One that is in error has had its report.
  if (qp.state() == rdma::QpState::error) return;
  qp.to_error();
  qp.disconnected();
}

void ConnectionManager::confirm(CmQueuePair& qp) {
  CmConnection* connection = by_qpn(qp.number());
  if (connection == nullptr || connection->state != CmState::mra_rep_sent) return;
  if (qp.state() == rdma::QpState::error) {  // the user has given the queue pair up meanwhile
    withdraw(*connection, reason::consumer_defined);
    return;
  }
  move(*connection, CmEvent::confirm);
  qp.to_ready_to_send(connection->path);
  send_rtu(*connection);
  qp.established(connection->facts);
}

void ConnectionManager::refuse(CmQueuePair& qp, std::uint16_t why, ByteView private_data) {
  BENCH_ASSERT(private_data.size() <= cm::kRejConsumerBytes, "private data of a REJ has 148 bytes");
  CmConnection* connection = by_qpn(qp.number());
  if (connection != nullptr && connection->state == CmState::mra_rep_sent) refuse_rep(*connection, why, private_data);
}

/// The peer has our refusal instead of an RTU; the user knows already.
void ConnectionManager::refuse_rep(CmConnection& connection, std::uint16_t why, ByteView private_data) {
  send_reject(connection, cm::About::rep, why, private_data);
  move(connection, CmEvent::withdraw);
  CmQueuePair* qp = detach(connection);
  enter_timewait(connection);
  if (qp != nullptr) qp->to_error();
}

void ConnectionManager::forget(CmQueuePair& qp) {
  CmConnection* connection = by_qpn(qp.number());
  if (connection == nullptr) return;
  detach(*connection);
  end(*connection);
}

Result<std::unique_ptr<rdma::Listener>> ConnectionManager::listen(std::uint16_t port, rdma::ListenHandler& handler) {
  if (port == 0) return Failure{Problem{"RDMA port 0 cannot be listened on"}};
  if (listeners_.contains(port)) {
    return Failure{Problem{fmt::format("RDMA port {} is taken", to_string(Endpoint{services_.address(), port}))}};
  }
  auto listener = std::make_unique<CmListener>(*this, port, handler);
  listeners_[port] = listener.get();
  return std::unique_ptr<rdma::Listener>(std::move(listener));
}

void ConnectionManager::drop_listener(CmListener& listener) {
  listeners_.erase(listener.port_);
  for (auto& [id, connection] : by_id_) {
    if (connection->listener == &listener) connection->listener = nullptr;
  }
}

void ConnectionManager::data_before_rtu(std::uint32_t qpn) {
  CmConnection* connection = by_qpn(qpn);
  if (connection == nullptr || !awaits_rtu(connection->state)) return;
  if (departs(cm_departure::kDataBeforeRtuIgnored)) return;
  trace().mark("cm.data_before_rtu");
  establish_passive(*connection, CmEvent::receive_data);
}

// ---------------------------------------------------------------- the listener's answers

void ConnectionManager::accept(CmConnection& connection, CmQueuePair& qp, const rdma::ConnectionParameters& parameters) {
  BENCH_ASSERT(parameters.private_data.size() <= cm::kRepConsumerBytes, "private data of a REP has 196 bytes");
  BENCH_ASSERT(by_qpn(qp.number()) == nullptr, "a queue pair has one connection");
  if (qp.state() == rdma::QpState::error) {
    reject(connection, reason::no_qp, {});
    qp.disconnected();
    return;
  }
  attach(connection, qp);
  compose_rep(connection, parameters);
  qp.to_ready_to_receive(connection.path);
  move(connection, CmEvent::send_rep);
  expect_answer(connection);
}

void ConnectionManager::reject(CmConnection& connection, std::uint16_t why, ByteView private_data) {
  BENCH_ASSERT(private_data.size() <= cm::kRejConsumerBytes, "private data of a REJ has 148 bytes");
  if (departs(cm_departure::kConsumerRejectReason) && why == reason::consumer_defined) {
    why = reason::unsupported;
  }
  if (departs(cm_departure::kRejectWithoutPrivateData)) private_data = {};
  send_reject(connection, cm::About::req, why, private_data);
  move(connection, CmEvent::refuse);
  remove(connection);
}

// ---------------------------------------------------------------- deadlines

void ConnectionManager::on_deadline(CmConnection& connection) {
  if (connection.state == CmState::timewait) {
    move(connection, CmEvent::timewait_over);
    remove(connection);
    return;
  }
  if (connection.resends_left == 0) {
    on_unanswered(connection);
    return;
  }
  --connection.resends_left;
  loop().schedule_after(connection, connection.resend_interval);
  if (departs(cm_departure::kNeverResends)) return;
  trace().mark("cm.resend");
  send(connection.path.peer, connection.outstanding);
}

void ConnectionManager::on_unanswered(CmConnection& connection) {
  trace().mark("cm.give_up");
  if (connection.state == CmState::dreq_sent) {
    move(connection, CmEvent::dreq_unanswered);
    CmQueuePair* qp = detach(connection);
    enter_timewait(connection);
    if (qp != nullptr && !departs(cm_departure::kUnansweredDreqSilent)) qp->disconnected();
    return;
  }
  if (!departs(cm_departure::kGivesUpSilently)) {
    send_reject(connection, cm::About::other, reason::timeout, {});
  }
  move(connection, CmEvent::give_up);
  const bool active = connection.active;
  CmQueuePair* qp = detach(connection);
  enter_timewait(connection);
  if (qp == nullptr) return;
  if (!active && !departs(cm_departure::kGiveUpKeepsQueuePair)) qp->to_error();
  qp->unreachable();
}

// ---------------------------------------------------------------- what several paths share

CmConnection& ConnectionManager::open(bool active) {
  std::uint32_t id = 0;
  while (id == 0 || by_id_.contains(id)) id = static_cast<std::uint32_t>(random_.next() >> 32);
  auto& slot = by_id_[id];
  slot = std::make_unique<CmConnection>(*this);
  slot->local_id = id;
  slot->active = active;
  return *slot;
}

bool ConnectionManager::move(CmConnection& connection, CmEvent event) {
  const CmState source = connection.state;
  const std::optional<CmState> target = cm_next(source, event);
  if (!target) {
    trace().mark("cm.transition.refused");
    return false;
  }
  connection.state = *target;
  if (connection.listener != nullptr && is_half_open(source) != is_half_open(*target)) {
    if (is_half_open(*target)) {
      ++connection.listener->half_open_;
    } else {
      --connection.listener->half_open_;
      connection.listener = nullptr;
    }
  }
  loop().fold(std::uint64_t{connection.local_id} << 8 | static_cast<std::uint64_t>(event));
  if (trace().on()) {
    const std::string text =
        fmt::format("connection {:08x}: {} -> {} ({})", connection.local_id, name_of(source), name_of(*target), name_of(event));
    TraceEvent seen;
    seen.kind = TraceKind::state;
    seen.time = services_.world().now();
    seen.actor = services_.name();
    seen.label = "cm.state";
    seen.text = text;
    trace().emit(seen);
  }
  return true;
}

void ConnectionManager::attach(CmConnection& connection, CmQueuePair& qp) {
  connection.qp = &qp;
  connection.local_qpn = qp.number();
  by_qpn_[connection.local_qpn] = &connection;
}

CmQueuePair* ConnectionManager::detach(CmConnection& connection) {
  CmQueuePair* qp = std::exchange(connection.qp, nullptr);
  if (qp == nullptr) return nullptr;
  by_qpn_.erase(connection.local_qpn);
  lingering_.insert(connection.local_qpn);
  return qp;
}

void ConnectionManager::know_remote(CmConnection& connection, std::uint32_t id, std::uint64_t guid, std::uint32_t qpn) {
  connection.remote_id = id;
  connection.remote_guid = guid;
  connection.path.peer_qpn = qpn;
  by_remote_id_[{guid, id}] = &connection;
  by_remote_qpn_[{guid, qpn}] = &connection;
}

void ConnectionManager::expect_answer(CmConnection& connection) {
  connection.resends_left = connection.resends;
  if (departs(cm_departure::kOneResendTooMany)) ++connection.resends_left;
  Duration interval = connection.resend_interval;
  if (departs(cm_departure::kResendEarly)) interval = interval / 4;
  connection.resend_interval = std::max(interval, Duration::ms(1));
  loop().schedule_after(connection, connection.resend_interval);
  send(connection.path.peer, connection.outstanding);
}

void ConnectionManager::establish_passive(CmConnection& connection, CmEvent event) {
  move(connection, event);
  loop().cancel(connection);
  CmQueuePair& qp = *connection.qp;
  if (qp.state() == rdma::QpState::error) {
    // It failed while the handshake was on its way; the peer must hear of it.
    begin_disconnect(connection);
    return;
  }
  qp.to_ready_to_send(connection.path);
  qp.established(connection.facts);
}

/// The user, or the end of its queue pair, wants the connection to be over.
void ConnectionManager::end(CmConnection& connection) {
  switch (connection.state) {
    case CmState::established:
      begin_disconnect(connection);
      break;
    case CmState::req_sent:
    case CmState::mra_req_received:
      withdraw(connection, reason::timeout);
      break;
    case CmState::mra_rep_sent:
    case CmState::rep_sent:
    case CmState::mra_rep_received:
      withdraw(connection, reason::consumer_defined);
      break;
    default:
      break;  // already on its way
  }
}

void ConnectionManager::begin_disconnect(CmConnection& connection) {
  if (connection.qp != nullptr) connection.qp->to_error();
  compose_dreq(connection);
  move(connection, CmEvent::send_dreq);
  expect_answer(connection);
}

void ConnectionManager::withdraw(CmConnection& connection, std::uint16_t why) {
  const bool held = connection.state == CmState::mra_rep_sent;  // the peer waits for a word on its REP
  send_reject(connection, held ? cm::About::rep : cm::About::other, why, {});
  move(connection, CmEvent::withdraw);
  CmQueuePair* qp = detach(connection);
  enter_timewait(connection);
  if (qp == nullptr) return;
  qp->to_error();
  qp->disconnected();
}

/// The peer has started afresh and does not know this connection any more.
void ConnectionManager::end_stale(CmConnection& connection) {
  trace().mark("cm.stale");
  if (connection.state == CmState::established) {
    begin_disconnect(connection);
  } else if (awaits_rtu(connection.state) || connection.state == CmState::mra_rep_sent) {
    withdraw(connection, reason::stale_connection);
  } else if (awaits_decision(connection.state)) {
    move(connection, CmEvent::refuse);
    remove(connection);
  }
}

void ConnectionManager::enter_timewait(CmConnection& connection) {
  if (departs(cm_departure::kTimewaitSkipped)) {
    move(connection, CmEvent::timewait_over);
    remove(connection);
    return;
  }
  const std::uint8_t code = connection.path.ack_timeout_code == 0 ? options_.packet_lifetime_code : connection.path.ack_timeout_code;
  loop().schedule_after(connection, cm_timeout(std::min(code, kTimewaitCodeMax)));
}

void ConnectionManager::remove(CmConnection& connection) {
  forget_request(connection);
  detach(connection);
  if (connection.local_qpn != 0) lingering_.erase(lingering_.find(connection.local_qpn));
  const auto erase_own = [&](std::map<RemoteKey, CmConnection*>& map, const RemoteKey& key) {
    const auto found = map.find(key);
    if (found != map.end() && found->second == &connection) map.erase(found);
  };
  erase_own(by_remote_id_, {connection.remote_guid, connection.remote_id});
  erase_own(by_remote_qpn_, {connection.remote_guid, connection.path.peer_qpn});
  by_id_.erase(connection.local_id);
}

void ConnectionManager::forget_request(CmConnection& connection) {
  if (connection.request == nullptr) return;
  connection.request->connection_ = nullptr;
  connection.request = nullptr;
}

CmConnection* ConnectionManager::by_qpn(std::uint32_t qpn) {
  const auto found = by_qpn_.find(qpn);
  return found == by_qpn_.end() ? nullptr : found->second;
}

/// Our ID, and the peer's unless 0 is asked for.
CmConnection* ConnectionManager::by_ids(std::uint32_t local, std::uint32_t remote) {
  const auto found = by_id_.find(local);
  if (found == by_id_.end()) return nullptr;
  CmConnection* connection = found->second.get();
  return remote == 0 || connection->remote_id == remote ? connection : nullptr;
}

CmConnection* ConnectionManager::by_remote_id(std::uint64_t guid, std::uint32_t id) {
  const auto found = by_remote_id_.find({guid, id});
  return found == by_remote_id_.end() ? nullptr : found->second;
}

CmConnection* ConnectionManager::by_remote_qpn(std::uint64_t guid, std::uint32_t qpn) {
  const auto found = by_remote_qpn_.find({guid, qpn});
  return found == by_remote_qpn_.end() ? nullptr : found->second;
}

}  // namespace fb::softroce
