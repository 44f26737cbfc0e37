#include <algorithm>

#include <fmt/format.h>

#include "sim/rdma/softroce/cm_manager.h"

// What leaves: composing messages, and the one place where they go out.

namespace fb::softroce {

namespace reason = rdma::reject_reason;
using cm::About;
using cm::Attribute;

namespace {
/// How much more time an MRA of ours asks for: 2^(24-8) ms, a minute, as Linux does.
constexpr std::uint8_t kMraServiceTimeoutCode = 24;
constexpr std::uint16_t kPermissiveLid = 0xFFFF;
constexpr std::uint16_t kDefaultPkey = 0xFFFF;
constexpr std::uint8_t kHopLimit = 64;
// Active ports of the TCP port space, as Linux takes them.
constexpr std::uint16_t kActivePortFirst = 32768;
constexpr std::uint16_t kActivePortLast = 60999;
}  // namespace

void ConnectionManager::send(const IpAddress& to, const cm::Mad& mad) {
  if (!is_usable(to)) return trace().mark("cm.drop.no_return_path");
  cm::Mad copy = mad;  // what a hook changes must not come back in a resend
  if (!services_.hooks().mad_out(copy.mutable_bytes())) return;
  trace_mad("to", to, copy.bytes());
  services_.send_mad(to, copy.bytes());
}

void ConnectionManager::trace_mad(std::string_view direction, const IpAddress& peer, ByteView mad) {
  if (!trace().on()) return;
  const std::string text = fmt::format("{} {}: {}", direction, to_string(peer), cm::describe_mad(mad));
  TraceEvent seen;
  seen.kind = TraceKind::message;
  seen.time = services_.world().now();
  seen.actor = services_.name();
  seen.label = "cm";
  seen.text = text;
  seen.bytes = mad;
  trace().emit(seen);
}

namespace {

Bytes consumer_data(const IpAddress& source, std::uint16_t source_port, const IpAddress& destination, ByteView private_data, bool mapped) {
  namespace ip = cm::ip_header;
  const auto form = [&](const IpAddress& a) { return mapped ? a.bytes() : cm::ip_header_form(a); };
  Record<cm::IpHeader> header;
  header.set(ip::ip_version, source.is_v4() ? 4 : 6)
      .set(ip::source_port, source_port)
      .set(ip::source, form(source))
      .set(ip::destination, form(destination));
  Bytes out{header.bytes().begin(), header.bytes().end()};
  out.insert(out.end(), private_data.begin(), private_data.end());
  return out;
}

}  // namespace

void ConnectionManager::compose_req(CmConnection& connection, const Endpoint& to, const rdma::ConnectionParameters& parameters) {
  namespace req = cm::req;
  const auto depth_max = static_cast<std::uint8_t>(std::min<std::uint32_t>(services_.limits().max_reads, 255));
  connection.offered_responder_resources = std::min(parameters.responder_resources, depth_max);
  connection.offered_initiator_depth = std::min(parameters.initiator_depth, depth_max);
  connection.tid = new_tid();
  connection.facts.peer = to;
  PathFacts& path = connection.path;
  path.peer = to.address;
  path.mtu_code = services_.mtu_code();
  path.receive_psn = services_.random_psn();
  path.ack_timeout_code = options_.local_ack_timeout_code;
  path.retry_count = parameters.retry_count;
  path.min_rnr_timer_code = options_.min_rnr_timer_code;
  path.hop_limit = kHopLimit;

  const auto drawn = static_cast<std::uint16_t>(random_.between(kActivePortFirst, kActivePortLast));
  const std::uint16_t port = parameters.source_port != 0 ? parameters.source_port : drawn;
  const IpAddress own = services_.address();
  const std::uint8_t space = departs(cm_departure::kReqServiceIdWrong) ? cm::kUdpPortSpace : cm::kTcpPortSpace;
  const int mtu = path.mtu_code + (departs(cm_departure::kReqMtuTooLarge) ? 1 : 0);
  connection.outstanding = cm::Mad{Attribute::req, connection.tid};
  connection.outstanding.message<cm::Req>()
      .set(req::local_comm_id, connection.local_id)
      .set(req::service_id, cm::service_id_of(to.port, space))
      .set(req::local_ca_guid, services_.ca_guid())
      .set(req::local_qpn, connection.local_qpn)
      .set(req::responder_resources, connection.offered_responder_resources)
      .set(req::initiator_depth, connection.offered_initiator_depth)
      .set(req::remote_cm_timeout, options_.cm_response_timeout_code)
      .set(req::transport, cm::Transport::rc)
      .set(req::flow_control, parameters.flow_control ? 1 : 0)
      .set(req::starting_psn, path.receive_psn)
      .set(req::local_cm_timeout, options_.cm_response_timeout_code)
      .set(req::retry_count, parameters.retry_count)
      .set(req::pkey, departs(cm_departure::kReqPkeyWrong) ? 0x8001 : kDefaultPkey)
      .set(req::path_mtu, mtu)
      .set(req::rnr_retry_count, parameters.rnr_retry_count)
      .set(req::max_cm_retries, options_.max_cm_retries)
      .set(req::primary_local_lid, kPermissiveLid)
      .set(req::primary_remote_lid, kPermissiveLid)
      .set(req::primary_local_gid, own.bytes())
      .set(req::primary_remote_gid, to.address.bytes())
      .set(req::primary_flow_label, std::uint32_t{port} * 31 + to.port)
      .set(req::primary_hop_limit, kHopLimit)
      .set(req::primary_ack_timeout, options_.local_ack_timeout_code)
      .set(req::private_data, consumer_data(own, port, to.address, parameters.private_data, departs(cm_departure::kReqIpHeaderMapped)));
}

void ConnectionManager::compose_rep(CmConnection& connection, const rdma::ConnectionParameters& parameters) {
  namespace rep = cm::rep;
  PathFacts& path = connection.path;
  const std::uint32_t announced_psn = services_.random_psn();
  path.send_psn = connection.peer_psn;
  path.receive_psn = announced_psn;
  if (departs(cm_departure::kPsnSwapped)) std::swap(path.send_psn, path.receive_psn);
  // Nobody serves more reads than the other side will issue, nor issues more than are served.
  path.responder_resources = parameters.responder_resources;
  path.initiator_depth = parameters.initiator_depth;
  if (!departs(cm_departure::kDepthNotClamped)) {
    const auto limit = static_cast<std::uint8_t>(std::min<std::uint32_t>(services_.limits().max_reads, 255));
    path.responder_resources = std::min({path.responder_resources, connection.facts.initiator_depth, limit});
    path.initiator_depth = std::min({path.initiator_depth, connection.facts.responder_resources, limit});
  }
  const cm::Failover failover =
      connection.alternate_path && !departs(cm_departure::kAlternatePathAccepted) ? cm::Failover::not_supported : cm::Failover::accepted;
  const std::uint32_t other = departs(cm_departure::kRepWrongCommId) ? 1 : 0;
  connection.outstanding = cm::Mad{Attribute::rep, departs(cm_departure::kRepTidFresh) ? new_tid() : connection.tid};
  connection.outstanding.message<cm::Rep>()
      .set(rep::local_comm_id, connection.local_id)
      .set(rep::remote_comm_id, connection.remote_id ^ other)
      .set(rep::local_qpn, connection.local_qpn)
      .set(rep::starting_psn, announced_psn)
      .set(rep::responder_resources, path.responder_resources)
      .set(rep::initiator_depth, path.initiator_depth)
      .set(rep::target_ack_delay, options_.target_ack_delay_code)
      .set(rep::failover, failover)
      .set(rep::flow_control, parameters.flow_control ? 1 : 0)
      .set(rep::rnr_retry_count, parameters.rnr_retry_count)
      .set(rep::local_ca_guid, services_.ca_guid())
      .set(rep::private_data, parameters.private_data);
}

void ConnectionManager::send_rtu(const CmConnection& connection) {
  cm::Mad mad{Attribute::rtu, connection.tid};
  mad.message<cm::Rtu>().set(cm::rtu::local_comm_id, connection.local_id).set(cm::rtu::remote_comm_id, connection.remote_id);
  send(connection.path.peer, mad);
}

void ConnectionManager::compose_dreq(CmConnection& connection) {
  connection.outstanding = cm::Mad{Attribute::dreq, new_tid()};
  connection.outstanding.message<cm::Dreq>()
      .set(cm::dreq::local_comm_id, connection.local_id)
      .set(cm::dreq::remote_comm_id, connection.remote_id)
      .set(cm::dreq::remote_qpn, connection.path.peer_qpn);
}

void ConnectionManager::send_drep(const IpAddress& to, ByteView dreq) {
  const auto asked = cm::message_of<cm::Dreq>(dreq);
  const std::uint64_t tid = View<cm::MadHeader>{dreq}.get(cm::mad::tid);
  cm::Mad mad{Attribute::drep, departs(cm_departure::kDrepTidFresh) ? new_tid() : tid};
  mad.message<cm::Drep>()
      .set(cm::drep::local_comm_id, asked.get(cm::dreq::remote_comm_id))
      .set(cm::drep::remote_comm_id, asked.get(cm::dreq::local_comm_id));
  send(to, mad);
}

void ConnectionManager::send_mra(const CmConnection& connection, About about) {
  trace().mark("cm.mra.sent");
  cm::Mad mad{Attribute::mra, connection.tid};
  mad.message<cm::Mra>()
      .set(cm::mra::local_comm_id, connection.local_id)
      .set(cm::mra::remote_comm_id, connection.remote_id)
      .set(cm::mra::about, about)
      .set(cm::mra::service_timeout, kMraServiceTimeoutCode);
  send(connection.path.peer, mad);
}

void ConnectionManager::send_reject(const CmConnection& connection, About about, std::uint16_t why, ByteView private_data) {
  trace().mark("cm.rej.sent");
  // Before anything but the REQ was said, the peer has no use for an ID of ours.
  const bool unknown_to_peer = connection.state == CmState::req_received;
  if (departs(cm_departure::kRejectDataCut)) private_data = private_data.first(std::min<std::size_t>(private_data.size(), 140));
  cm::Mad mad{Attribute::rej, connection.tid};
  auto rej = mad.message<cm::Rej>();
  rej.set(cm::rej::local_comm_id, unknown_to_peer ? 0 : connection.local_id)
      .set(cm::rej::remote_comm_id, connection.remote_id)
      .set(cm::rej::about, about)
      .set(cm::rej::reason, why)
      .set(cm::rej::private_data, private_data);
  if (why == reason::timeout && !departs(cm_departure::kTimeoutRejectWithoutGuid)) {
    std::array<std::uint8_t, 8> guid = {};
    store_be(guid.data(), services_.ca_guid());
    rej.set(cm::rej::info_length, 8).set(cm::rej::info, guid);
  }
  send(connection.path.peer, mad);
}

void ConnectionManager::answer_reject(const IpAddress& to, ByteView mad, About about, const Refusal& refusal) {
  if (refusal.reason == reason::invalid_service_id && departs(cm_departure::kNoListenerSilent)) return;
  trace().mark("cm.rej.sent");
  const auto ids = cm::message_of<cm::Ids>(mad);
  cm::Mad answer{Attribute::rej, View<cm::MadHeader>{mad}.get(cm::mad::tid)};
  answer.message<cm::Rej>()
      .set(cm::rej::local_comm_id, about == About::req ? 0 : ids.get(cm::ids::remote_comm_id))
      .set(cm::rej::remote_comm_id, ids.get(cm::ids::local_comm_id))
      .set(cm::rej::about, about)
      .set(cm::rej::reason, refusal.reason)
      .set(cm::rej::info_length, refusal.info_length)
      .set(cm::rej::info, ByteView{refusal.info}.first(refusal.info_length));
  send(to, answer);
}

}  // namespace fb::softroce
