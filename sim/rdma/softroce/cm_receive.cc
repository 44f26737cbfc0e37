#include "sim/rdma/softroce/cm_manager.h"
#include "wire/rdma/headers.h"

// What arrives. Each function takes a MAD of 256 bytes that may hold anything; it looks up the
// connection by its IDs, asks the table whether the event is allowed, and answers.

namespace fb::softroce {

namespace reason = rdma::reject_reason;
using cm::About;
using cm::Attribute;
using cm::Method;

namespace {
constexpr std::uint8_t kPathMtuCodeMax = 5;
constexpr std::uint8_t kDefaultHopLimit = 64;
}  // namespace

void ConnectionManager::on_mad(const Endpoint& from, const IpAddress& to, ByteView mad) {
  (void)to;
  if (mad.size() != cm::kMadBytes) return trace().mark("cm.drop.length");
  trace_mad("from", from.address, mad);
  const View<cm::MadHeader> header{mad};
  if (header.get(cm::mad::base_version) != cm::kMadBaseVersion && !departs(cm_departure::kBaseVersionUnchecked)) {
    return trace().mark("cm.drop.base_version");
  }
  if ((header.get(cm::mad::management_class) != cm::kCmClass || header.get(cm::mad::class_version) != cm::kCmClassVersion) &&
      !departs(cm_departure::kClassUnchecked)) {
    return trace().mark("cm.drop.class");
  }
  const Method method = header.get(cm::mad::method);
  if (method == Method::get) return on_get(from.address, mad);
  if (method != Method::send && !departs(cm_departure::kMethodUnchecked)) {
    return trace().mark("cm.drop.method");
  }
  on_message(from.address, mad);
}

void ConnectionManager::on_message(const IpAddress& from, ByteView mad) {
  switch (View<cm::MadHeader>{mad}.get(cm::mad::attribute)) {
    case Attribute::req:
      return on_req(from, mad);
    case Attribute::mra:
      return on_mra(mad);
    case Attribute::rej:
      return on_rej(mad);
    case Attribute::rep:
      return on_rep(from, mad);
    case Attribute::rtu:
      return on_rtu(mad);
    case Attribute::dreq:
      return on_dreq(from, mad);
    case Attribute::drep:
      return on_drep(mad);
    case Attribute::lap:
      return on_lap(from, mad);
    case Attribute::sidr_req:
      return on_sidr_req(from, mad);
    default:
      return trace().mark("cm.drop.attribute");
  }
}

void ConnectionManager::on_get(const IpAddress& from, ByteView mad) {
  if (departs(cm_departure::kClassPortInfoSilent)) return;
  const View<cm::MadHeader> header{mad};
  cm::Mad answer{header.get(cm::mad::attribute), header.get(cm::mad::tid)};
  answer.header().set(cm::mad::method, Method::get_response);
  if (header.get(cm::mad::attribute) == Attribute::class_port_info) {
    namespace info = cm::class_port_info;
    answer.message<cm::ClassPortInfo>()
        .set(info::base_version, cm::kMadBaseVersion)
        .set(info::class_version, cm::kCmClassVersion)
        .set(info::capability_mask, info::kReliableConnectionCapable)
        .set(info::response_time, options_.cm_response_timeout_code);
  } else {
    answer.header().set(cm::mad::status, cm::kStatusMethodAttributeUnsupported);
  }
  send(from, answer);
}

/// Somebody to whom an answer can go, and who can be a peer: unicast, of our own IP version.
bool ConnectionManager::is_usable(const IpAddress& address) const {
  const IpAddress own = services_.address();
  if (address.is_v4() != own.is_v4()) return false;
  const auto& b = address.bytes();
  if (address.is_v4()) {
    if (b[12] == 0 || b[12] >= 224) return false;  // this network, multicast, reserved, broadcast
    return b[12] != 127 || own.bytes()[12] == 127;
  }
  if (b[0] == 0xFF || address == IpAddress{}) return false;
  const IpAddress loopback = IpAddress::v6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  return address != loopback || own == loopback;
}

// ---------------------------------------------------------------- REQ

void ConnectionManager::on_req(const IpAddress& from, ByteView mad) {
  const auto req = cm::message_of<cm::Req>(mad);
  const IpAddress answer_to = departs(cm_departure::kAnswersToPacketSource) ? from : cm::from_gid(req.get(cm::req::primary_local_gid));
  if (!is_usable(answer_to)) return trace().mark("cm.drop.req_without_return_path");

  const std::uint64_t guid = req.get(cm::req::local_ca_guid);
  CmConnection* known = by_remote_id(guid, req.get(cm::req::local_comm_id));
  if (known != nullptr && !departs(cm_departure::kDuplicateReqNewConnection)) {
    return on_repeated_req(*known, answer_to, mad);
  }
  CmConnection* stale = by_remote_qpn(guid, req.get(cm::req::local_qpn));
  if (stale != nullptr && known == nullptr && !departs(cm_departure::kStaleAccepted)) {
    answer_reject(answer_to, mad, About::req, {reason::stale_connection});
    return end_stale(*stale);
  }
  const Refusal refusal = judge_req(mad);
  if (refusal.reason != 0) return answer_reject(answer_to, mad, About::req, refusal);
  open_passive(answer_to, mad);
}

void ConnectionManager::on_repeated_req(CmConnection& connection, const IpAddress& answer_to, ByteView mad) {
  const auto req = cm::message_of<cm::Req>(mad);
  trace().mark("cm.req.repeated");
  const bool same = !connection.active && connection.path.peer_qpn == req.get(cm::req::local_qpn) &&
                    connection.peer_psn == req.get(cm::req::starting_psn);
  if (!same || connection.state == CmState::timewait) {
    // Not a repetition: a peer that started afresh and came to the same IDs.
    answer_reject(answer_to, mad, About::req, {reason::stale_connection});
    return end_stale(connection);
  }
  if (departs(cm_departure::kDuplicateReqSilent)) return;
  if (awaits_decision(connection.state)) {
    move(connection, CmEvent::send_mra_req);
    return send_mra(connection, cm::About::req);
  }
  if (!awaits_rtu(connection.state)) return trace().mark("cm.req.repeated_late");
  if (departs(cm_departure::kRepeatedRepNewPsn)) {
    connection.outstanding.message<cm::Rep>().set(cm::rep::starting_psn, services_.random_psn());
  }
  send(connection.path.peer, connection.outstanding);
}

/// The header of the IP addressing service, as far as it must be right.
bool ConnectionManager::ip_header_is_good(ByteView req_private_data) {
  namespace ip = cm::ip_header;
  const View<cm::IpHeader> header{req_private_data};
  if (header.get(ip::major) != 0 || header.get(ip::minor) != 0) return false;
  const bool v4 = services_.address().is_v4();
  if (header.get(ip::ip_version) != (v4 ? 4 : 6)) return false;
  return is_usable(cm::from_ip_header(header.get(ip::source), v4)) &&
         cm::from_ip_header(header.get(ip::destination), v4) == services_.address();
}

ConnectionManager::Refusal ConnectionManager::judge_req(ByteView mad) {
  const auto req = cm::message_of<cm::Req>(mad);
  const std::uint64_t service_id = req.get(cm::req::service_id);
  std::optional<std::uint16_t> port = cm::port_of(service_id);
  if (!port && departs(cm_departure::kServiceIdUnchecked)) {
    port = static_cast<std::uint16_t>(service_id & 0xFFFF);
  }
  const auto listener = port ? listeners_.find(*port) : listeners_.end();
  if (listener == listeners_.end()) {
    return {departs(cm_departure::kNoListenerReason) ? reason::consumer_defined : reason::invalid_service_id};
  }
  const auto gid = req.get(cm::req::primary_remote_gid);
  if (cm::from_gid(gid) != services_.address() && !departs(cm_departure::kForeignGidAccepted)) {
    Refusal refusal{reason::invalid_gid, services_.address().bytes(), 16};
    if (departs(cm_departure::kForeignGidNoInfo)) refusal.info_length = 0;
    return refusal;
  }
  if (!ip_header_is_good(req.get(cm::req::private_data)) && !departs(cm_departure::kIpHeaderUnchecked)) {
    return {reason::consumer_defined};
  }
  if (req.get(cm::req::transport) != cm::Transport::rc && !departs(cm_departure::kTransportUnchecked)) {
    return {reason::invalid_transport_type};
  }
  if (req.get(cm::req::local_qpn) <= roce::kGsiQpn) return {reason::unsupported};
  const std::uint8_t mtu = req.get(cm::req::path_mtu);
  const unsigned most = std::min(services_.mtu_code(), kPathMtuCodeMax) + (departs(cm_departure::kMtuOneMore) ? 1u : 0u);
  if ((mtu == 0 || mtu > most) && !departs(cm_departure::kMtuUnchecked)) {
    return {reason::invalid_mtu, {services_.mtu_code()}, 1};
  }
  if (listener->second->half_open_ >= options_.half_open_max) {
    trace().mark("cm.half_open_limit");
    return {reason::no_resources};
  }
  if (by_id_.size() >= options_.connections_max) return {reason::no_resources};
  return {};
}

void ConnectionManager::open_passive(const IpAddress& answer_to, ByteView mad) {
  const auto req = cm::message_of<cm::Req>(mad);
  const auto private_data = req.get(cm::req::private_data);
  const View<cm::IpHeader> ip{private_data};
  CmConnection& connection = open(false);
  connection.tid = View<cm::MadHeader>{mad}.get(cm::mad::tid);
  connection.peer_psn = req.get(cm::req::starting_psn);
  connection.alternate_path = req.get(cm::req::alternate_local_lid) != 0;
  connection.resends = req.get(cm::req::max_cm_retries);
  connection.resend_interval = cm_timeout(req.get(cm::req::local_cm_timeout));
  know_remote(connection, req.get(cm::req::local_comm_id), req.get(cm::req::local_ca_guid), req.get(cm::req::local_qpn));

  PathFacts& path = connection.path;
  path.peer = answer_to;
  path.mtu_code = std::min(std::max<std::uint8_t>(req.get(cm::req::path_mtu), 1), kPathMtuCodeMax);
  path.ack_timeout_code = req.get(cm::req::primary_ack_timeout);
  path.retry_count = req.get(cm::req::retry_count);
  path.rnr_retry_count = req.get(cm::req::rnr_retry_count);
  path.min_rnr_timer_code = options_.min_rnr_timer_code;
  path.traffic_class = req.get(cm::req::primary_traffic_class);
  path.hop_limit = std::max<std::uint8_t>(req.get(cm::req::primary_hop_limit), 1);
  if (req.get(cm::req::primary_hop_limit) == 0) path.hop_limit = kDefaultHopLimit;

  rdma::ConnectionFacts& facts = connection.facts;
  const bool v4 = services_.address().is_v4();
  facts.peer = {cm::from_ip_header(ip.get(cm::ip_header::source), v4), ip.get(cm::ip_header::source_port)};
  facts.responder_resources = req.get(cm::req::responder_resources);
  facts.initiator_depth = req.get(cm::req::initiator_depth);
  facts.rnr_retry_count = path.rnr_retry_count;

  const auto port = static_cast<std::uint16_t>(req.get(cm::req::service_id) & 0xFFFF);
  connection.listener = listeners_.at(port);
  rdma::ListenHandler& handler = connection.listener->handler_;
  move(connection, CmEvent::receive_req);
  auto request = std::make_unique<CmRequest>(*this, connection, ByteView{private_data}.subspan(cm::IpHeader::size));
  connection.request = request.get();
  handler.on_connection_request(std::move(request));
}

// ---------------------------------------------------------------- REP, RTU, MRA

void ConnectionManager::on_rep(const IpAddress& from, ByteView mad) {
  const auto rep = cm::message_of<cm::Rep>(mad);
  const std::uint32_t peer_id = rep.get(cm::rep::local_comm_id);
  CmConnection* connection = by_ids(rep.get(cm::rep::remote_comm_id), 0);
  if (connection == nullptr && departs(cm_departure::kRepIdsUnchecked)) {
    for (const auto& [id, one] : by_id_) {
      if (awaits_rep(one->state)) connection = one.get();
    }
  }
  if (connection == nullptr || !connection->active) {
    trace().mark("cm.rep.unknown");
    return answer_reject(from, mad, About::rep, {reason::invalid_comm_id});
  }
  if (awaits_rep(connection->state)) {
    if (rep.get(cm::rep::local_qpn) <= roce::kGsiQpn) return trace().mark("cm.drop.rep_qpn");
    CmConnection* stale = by_remote_qpn(rep.get(cm::rep::local_ca_guid), rep.get(cm::rep::local_qpn));
    if (stale != nullptr) {
      // Our attempt goes on: the REQ will be repeated when the old connection is over.
      answer_reject(from, mad, About::rep, {reason::stale_connection});
      return end_stale(*stale);
    }
    return accept_rep(*connection, mad);
  }
  if (connection->remote_id != 0 && connection->remote_id != peer_id) {
    // The answer of a second connection that a late copy of our REQ has opened.
    trace().mark("cm.rep.conflicting");
    return answer_reject(from, mad, About::rep, {reason::invalid_comm_id});
  }
  if (connection->state == CmState::mra_rep_sent) {
    move(*connection, CmEvent::send_mra_rep);
    return send_mra(*connection, About::rep);
  }
  if (connection->state != CmState::established) return trace().mark("cm.rep.repeated_late");
  trace().mark("cm.rep.repeated");
  if (!departs(cm_departure::kRtuNotRepeated)) send_rtu(*connection);
}

void ConnectionManager::accept_rep(CmConnection& connection, ByteView mad) {
  const auto rep = cm::message_of<cm::Rep>(mad);
  if (connection.qp->state() == rdma::QpState::error) {
    // The user has given the queue pair up meanwhile.
    connection.remote_id = rep.get(cm::rep::local_comm_id);
    return withdraw(connection, reason::consumer_defined);
  }
  loop().cancel(connection);
  move(connection, connection.hold_reply ? CmEvent::send_mra_rep : CmEvent::receive_rep);
  know_remote(connection, rep.get(cm::rep::local_comm_id), rep.get(cm::rep::local_ca_guid), rep.get(cm::rep::local_qpn));
  PathFacts& path = connection.path;
  connection.peer_psn = path.send_psn = rep.get(cm::rep::starting_psn);
  if (departs(cm_departure::kPsnSwapped)) std::swap(path.send_psn, path.receive_psn);
  if (!departs(cm_departure::kRepRnrIgnored)) {
    path.rnr_retry_count = rep.get(cm::rep::rnr_retry_count);
  }
  path.initiator_depth = rep.get(cm::rep::responder_resources);
  path.responder_resources = rep.get(cm::rep::initiator_depth);
  if (departs(cm_departure::kDepthNotClamped)) {
    path.initiator_depth = connection.offered_initiator_depth;
  } else {
    path.initiator_depth = std::min(path.initiator_depth, connection.offered_initiator_depth);
    path.responder_resources = std::min(path.responder_resources, connection.offered_responder_resources);
  }
  // The peer may hold its acknowledgements back for its ACK delay; our timer must outlast that.
  const std::uint8_t delay = rep.get(cm::rep::target_ack_delay);
  std::uint8_t& timeout = path.ack_timeout_code;
  if (timeout != 0 && timeout <= delay) {
    timeout = std::min<std::uint8_t>(static_cast<std::uint8_t>(delay + 1), 31);
  }
  rdma::ConnectionFacts facts = connection.facts;
  facts.responder_resources = rep.get(cm::rep::responder_resources);
  facts.initiator_depth = rep.get(cm::rep::initiator_depth);
  facts.rnr_retry_count = path.rnr_retry_count;
  facts.private_data = rep.get(cm::rep::private_data);

  CmQueuePair& qp = *connection.qp;
  qp.to_ready_to_receive(path);
  if (connection.hold_reply) {
    connection.facts = facts;
    connection.facts.private_data = {};
    send_mra(connection, About::rep);
    return qp.accepted(facts);
  }
  qp.to_ready_to_send(path);
  send_rtu(connection);
  qp.established(facts);
}

void ConnectionManager::on_rtu(ByteView mad) {
  const auto rtu = cm::message_of<cm::Rtu>(mad);
  const std::uint32_t peer_id = rtu.get(cm::rtu::local_comm_id);
  const bool any = departs(cm_departure::kRtuIdsUnchecked);
  CmConnection* connection = by_ids(rtu.get(cm::rtu::remote_comm_id), any ? 0 : peer_id);
  if (connection == nullptr || (connection->remote_id != peer_id && !any)) {
    return trace().mark("cm.drop.rtu_unknown");
  }
  if (!awaits_rtu(connection->state)) return trace().mark("cm.rtu.repeated");
  establish_passive(*connection, CmEvent::receive_rtu);
}

void ConnectionManager::on_mra(ByteView mad) {
  const auto mra = cm::message_of<cm::Mra>(mad);
  CmConnection* connection = by_ids(mra.get(cm::mra::remote_comm_id), 0);
  if (connection == nullptr) return trace().mark("cm.drop.mra_unknown");
  if (departs(cm_departure::kMraIgnored)) return;
  const About about = mra.get(cm::mra::about);
  CmEvent event = CmEvent::receive_mra_req;
  if (about == About::rep && connection->remote_id == mra.get(cm::mra::local_comm_id)) {
    event = CmEvent::receive_mra_rep;
  } else if (about != About::req) {
    return trace().mark("cm.drop.mra_unknown");
  }
  if (!move(*connection, event)) return;
  trace().mark("cm.mra.received");
  // The time that the peer asks for, and the way there and back.
  loop().schedule_after(*connection, cm_timeout(mra.get(cm::mra::service_timeout)) + cm_timeout(options_.packet_lifetime_code) * 2);
}

// ---------------------------------------------------------------- REJ

CmConnection* ConnectionManager::rejected_connection(ByteView mad) {
  const auto rej = cm::message_of<cm::Rej>(mad);
  const std::uint32_t peer_id = rej.get(cm::rej::local_comm_id);
  const std::uint32_t own_id = rej.get(cm::rej::remote_comm_id);
  if (rej.get(cm::rej::reason) == reason::timeout && rej.get(cm::rej::info_length) >= 8) {
    // The sender may never have learnt our ID: its GUID and its own ID name the connection.
    if (departs(cm_departure::kTimeoutRejectIgnored)) return nullptr;
    CmConnection* found = by_remote_id(load_be<std::uint64_t>(rej.get(cm::rej::info).data()), peer_id);
    if (found != nullptr) return found;
  }
  CmConnection* found = by_ids(own_id, 0);
  if (found == nullptr) return nullptr;
  if (awaits_rep(found->state)) return found;
  return found->remote_id == peer_id ? found : nullptr;
}

/// The peer's port carries less than ours and has said how much: ask again for that, as another
/// connection of the same queue pair. Ends, because the MTU only shrinks.
bool ConnectionManager::retry_with_smaller_mtu(CmConnection& connection, ByteView mad) {
  const auto rej = cm::message_of<cm::Rej>(mad);
  const std::uint8_t code = rej.get(cm::rej::info)[0];
  if (rej.get(cm::rej::reason) != reason::invalid_mtu || rej.get(cm::rej::info_length) != 1 || code == 0 ||
      code >= connection.path.mtu_code) {
    return false;
  }
  trace().mark("cm.req.smaller_mtu");
  CmConnection& next = open(true);
  next.tid = new_tid();
  next.path = connection.path;
  next.path.mtu_code = code;
  next.facts = connection.facts;
  next.hold_reply = connection.hold_reply;
  next.offered_responder_resources = connection.offered_responder_resources;
  next.offered_initiator_depth = connection.offered_initiator_depth;
  next.resends = connection.resends;
  next.resend_interval = connection.resend_interval;
  next.outstanding = connection.outstanding;
  next.outstanding.header().set(cm::mad::tid, next.tid);
  next.outstanding.message<cm::Req>().set(cm::req::local_comm_id, next.local_id).set(cm::req::path_mtu, code);
  move(connection, CmEvent::receive_rej);
  CmQueuePair* qp = detach(connection);
  remove(connection);
  attach(next, *qp);
  move(next, CmEvent::send_req);
  expect_answer(next);
  return true;
}

void ConnectionManager::on_rej(ByteView mad) {
  const auto rej = cm::message_of<cm::Rej>(mad);
  CmConnection* connection = rejected_connection(mad);
  if (connection == nullptr) return trace().mark("cm.drop.rej_unknown");
  if (awaits_rep(connection->state)) {
    if (departs(cm_departure::kRejIgnored)) return;
    if (retry_with_smaller_mtu(*connection, mad)) return;
    move(*connection, CmEvent::receive_rej);
    CmQueuePair* qp = detach(*connection);
    remove(*connection);
    qp->rejected(rej.get(cm::rej::reason), rej.get(cm::rej::private_data));
  } else if (awaits_decision(connection->state)) {
    move(*connection, CmEvent::receive_rej);
    remove(*connection);
  } else {
    // Before there was a connection, on either side.
    const bool refused = awaits_rtu(connection->state) || connection->state == CmState::mra_rep_sent;
    if (!move(*connection, CmEvent::receive_late_rej)) return;
    trace().mark("cm.rej.late");
    CmQueuePair* qp = detach(*connection);
    enter_timewait(*connection);
    if (qp == nullptr) return;
    qp->to_error();
    if (refused) return qp->rejected(rej.get(cm::rej::reason), rej.get(cm::rej::private_data));
    qp->disconnected();
  }
}

// ---------------------------------------------------------------- DREQ, DREP

void ConnectionManager::on_dreq(const IpAddress& from, ByteView mad) {
  const auto dreq = cm::message_of<cm::Dreq>(mad);
  const std::uint32_t peer_id = dreq.get(cm::dreq::local_comm_id);
  const bool obeyed = departs(cm_departure::kUnknownDreqObeyed);
  CmConnection* connection = by_ids(dreq.get(cm::dreq::remote_comm_id), obeyed ? 0 : peer_id);
  if (connection == nullptr || (connection->remote_id != peer_id && !obeyed)) {
    trace().mark("cm.dreq.unknown");
    if (!departs(cm_departure::kUnknownDreqSilent)) send_drep(from, mad);
    return;
  }
  if (dreq.get(cm::dreq::remote_qpn) != connection->local_qpn && !departs(cm_departure::kDreqWrongQpnAccepted)) {
    return trace().mark("cm.dreq.wrong_qpn");
  }
  if (connection->state == CmState::timewait) {
    trace().mark("cm.dreq.repeated");
    if (!departs(cm_departure::kTimewaitDreqSilent)) send_drep(connection->path.peer, mad);
    return;
  }
  if (connection->state == CmState::dreq_sent) {
    trace().mark("cm.dreq.crossing");
    if (departs(cm_departure::kCrossingDreqIgnored)) return;
  }
  if (!move(*connection, CmEvent::receive_dreq)) return;
  send_drep(connection->path.peer, mad);
  CmQueuePair* qp = detach(*connection);
  enter_timewait(*connection);
  if (qp == nullptr) return;
  qp->to_error();
  qp->disconnected();
}

void ConnectionManager::on_drep(ByteView mad) {
  const auto drep = cm::message_of<cm::Drep>(mad);
  const std::uint32_t peer_id = drep.get(cm::drep::local_comm_id);
  const bool any = departs(cm_departure::kDrepIdsUnchecked);
  CmConnection* connection = by_ids(drep.get(cm::drep::remote_comm_id), any ? 0 : peer_id);
  if (connection == nullptr || (connection->remote_id != peer_id && !any) || connection->state != CmState::dreq_sent) {
    return trace().mark("cm.drop.drep_unexpected");
  }
  move(*connection, CmEvent::receive_drep);
  CmQueuePair* qp = detach(*connection);
  enter_timewait(*connection);
  if (qp != nullptr) qp->disconnected();
}

// ---------------------------------------------------------------- what is not served

void ConnectionManager::on_lap(const IpAddress& from, ByteView mad) {
  const auto lap = cm::message_of<cm::Lap>(mad);
  const std::uint32_t own_id = lap.get(cm::lap::remote_comm_id);
  const std::uint32_t peer_id = lap.get(cm::lap::local_comm_id);
  const CmConnection* connection = by_ids(own_id, peer_id);
  const bool known = connection != nullptr && connection->remote_id == peer_id;
  cm::Mad answer{Attribute::apr, View<cm::MadHeader>{mad}.get(cm::mad::tid)};
  answer.message<cm::Apr>()
      .set(cm::apr::local_comm_id, own_id)
      .set(cm::apr::remote_comm_id, peer_id)
      .set(cm::apr::status, known ? cm::AprStatus::unsupported : cm::AprStatus::invalid_comm_id);
  trace().mark("cm.lap.refused");
  send(known ? connection->path.peer : from, answer);
}

void ConnectionManager::on_sidr_req(const IpAddress& from, ByteView mad) {
  if (departs(cm_departure::kSidrSilent)) return;
  const auto request = cm::message_of<cm::SidrReq>(mad);
  cm::Mad answer{Attribute::sidr_rep, View<cm::MadHeader>{mad}.get(cm::mad::tid)};
  answer.message<cm::SidrRep>()
      .set(cm::sidr_rep::request_id, request.get(cm::sidr_req::request_id))
      .set(cm::sidr_rep::status, cm::SidrStatus::unsupported)
      .set(cm::sidr_rep::service_id, request.get(cm::sidr_req::service_id));
  trace().mark("cm.sidr.refused");
  send(from, answer);
}

}  // namespace fb::softroce
