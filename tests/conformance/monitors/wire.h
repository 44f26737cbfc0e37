// Packets said by hand into the monitors: a host at 10.0.0.1 and a controller at 10.0.0.2.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "conformance/monitors/monitors.h"
#include "conformance/runner/raw_roce.h"
#include "sim/rdma/softroce/icrc.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/rdma_private_data.h"
#include "wire/mi/message.h"
#include "wire/nvme/cqe.h"
#include "wire/tcp/pdu.h"

namespace fb::monitors {

inline constexpr IpAddress kHost = IpAddress::v4(10, 0, 0, 1);
inline constexpr IpAddress kController = IpAddress::v4(10, 0, 0, 2);

/// Which rules have spoken against whom.
class Wire {
 public:
  explicit Wire(bool complete = true) : monitors({.complete = complete}) {}
  explicit Wire(const evidence::DissectorOptions& options) : monitors(options) {}

  Monitors monitors;
  Instant now;

  bool heard(Rule rule, bool host) const {
    return std::any_of(monitors.findings().begin(), monitors.findings().end(),
                       [&](const Finding& found) { return found.rule == rule && found.actor == (host ? "host" : "controller"); });
  }
  std::string all() const {
    std::string text;
    for (const Finding& found : monitors.findings()) {
      text += std::string(facts_of(found.rule).name) + " (" + found.actor + "): " + found.text + "\n";
    }
    return text;
  }
  void wait(Duration span) { now = now + span; }

 protected:
  void emit(TraceEvent event, bool by_host) {
    now = now + Duration::us(1);
    event.kind = TraceKind::packet;
    event.time = now;
    event.actor = by_host ? "host" : "controller";
    monitors.on_event(event);
  }
};

class RdmaWire : public Wire {
 public:
  using Wire::Wire;
  static constexpr std::uint32_t kHostQp = 0x11, kControllerQp = 0x22;
  std::uint32_t host_psn = 100, controller_psn = 200;

  /// What is said is kept, to be let go in another order.
  bool holds = false;
  void let_go(std::size_t place) {
    const Held held = std::move(held_[place]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(place));
    TraceEvent event;
    event.source = {held.by_host ? kHost : kController, 50000};
    event.destination = {held.by_host ? kController : kHost, roce::kUdpPort};
    event.bytes = held.bytes;
    event.text = held.text;
    emit(event, held.by_host);
  }
  void say(bool by_host, conformance::RocePacket packet, std::string_view text = {}) {
    if (packet.qpn == 0) packet.qpn = by_host ? kControllerQp : kHostQp;
    Bytes bytes = conformance::to_bytes(packet);
    bytes.resize(bytes.size() + roce::kIcrcBytes);
    TraceEvent event;
    event.source = {by_host ? kHost : kController, 50000};
    event.destination = {by_host ? kController : kHost, roce::kUdpPort};
    softroce::seal_icrc(softroce::IcrcPath(event.source, event.destination), bytes, event.ip);
    if (spoil) bytes.back() ^= 1;
    held_.push_back({by_host, std::move(bytes), std::string(text)});
    if (!holds) let_go(0);
  }
  /// A request with the next PSN of its side.
  void request(bool by_host, roce::Opcode opcode, Bytes payload = {}, std::optional<Record<roce::Reth>> reth = {}) {
    conformance::RocePacket packet;
    packet.opcode = opcode;
    packet.psn = by_host ? host_psn++ : controller_psn++;
    packet.payload = std::move(payload);
    packet.reth = reth;
    say(by_host, std::move(packet));
  }
  void answer(bool by_host, roce::Opcode opcode, std::uint32_t psn, std::uint32_t msn, Bytes payload = {}) {
    conformance::RocePacket packet;
    packet.opcode = opcode;
    packet.psn = psn;
    if (opcode != roce::Opcode::read_response_middle) {
      packet.aeth.emplace().set(roce::aeth::syndrome, roce::kAckSyndrome).set(roce::aeth::msn, msn);
    }
    packet.payload = std::move(payload);
    say(by_host, std::move(packet));
  }
  static Record<roce::Reth> reth(std::uint64_t va, std::uint32_t key, std::uint32_t length) {
    Record<roce::Reth> made;
    made.set(roce::reth::va, va).set(roce::reth::rkey, key).set(roce::reth::dmalen, length);
    return made;
  }
  void mad(bool by_host, const cm::Mad& mad) {
    conformance::RocePacket packet;
    packet.opcode = roce::Opcode::ud_send_only;
    packet.qpn = roce::kGsiQpn;
    packet.deth.emplace().set(roce::deth::qkey, roce::kGsiQkey).set(roce::deth::srcqp, 1);
    packet.payload.assign(mad.bytes().begin(), mad.bytes().end());
    say(by_host, std::move(packet));
  }
  static cm::Mad req(std::uint64_t tid = 7) {
    cm::Mad made(cm::Attribute::req, tid);
    Bytes data(92);
    MutableView<cm::IpHeader>{data}.set(cm::ip_header::ip_version, 4);
    MutableView<fabrics::RdmaRequest>{MutableBytes{data}.subspan(cm::IpHeader::size)}
        .set(fabrics::rdma_request::hrqsize, 32)
        .set(fabrics::rdma_request::hsqsize, 31);
    made.message<cm::Req>()
        .set(cm::req::local_comm_id, 1)
        .set(cm::req::service_id, cm::service_id_of(4420))
        .set(cm::req::local_qpn, kHostQp)
        .set(cm::req::starting_psn, 200)
        .set(cm::req::path_mtu, 1)
        .set(cm::req::responder_resources, 4)
        .set(cm::req::private_data, data);
    return made;
  }
  static cm::Mad rep(std::uint64_t tid = 7) {
    cm::Mad made(cm::Attribute::rep, tid);
    made.message<cm::Rep>()
        .set(cm::rep::local_comm_id, 2)
        .set(cm::rep::remote_comm_id, 1)
        .set(cm::rep::local_qpn, kControllerQp)
        .set(cm::rep::starting_psn, 100)
        .set(cm::rep::initiator_depth, 4);
    return made;
  }
  static cm::Mad pair(cm::Attribute attribute, std::uint32_t local, std::uint32_t remote, std::uint64_t tid) {
    cm::Mad made(attribute, tid);
    made.message<cm::Ids>().set(cm::ids::local_comm_id, local).set(cm::ids::remote_comm_id, remote);
    return made;
  }
  void connect() {
    mad(true, req());
    mad(false, rep());
    mad(true, pair(cm::Attribute::rtu, 1, 2, 7));
  }
  void capsule(bool by_host, ByteView bytes) { request(by_host, roce::Opcode::send_only, Bytes(bytes.begin(), bytes.end())); }

  bool spoil = false;  ///< the ICRC of what is said

 private:
  struct Held {
    bool by_host;
    Bytes bytes;
    std::string text;
  };
  std::vector<Held> held_;
};

class TcpWire : public Wire {
 public:
  using Wire::Wire;
  std::uint16_t controller_port = 4420;
  /// What is said is kept, to be let go in another order.
  bool holds = false;

  void segment(bool by_host, ByteView bytes, std::uint8_t flags = tcp_flag::ack) {
    TcpFacts tcp;
    Sequences& of = sequences_[port_];
    std::uint32_t& seq = by_host ? of.host : of.controller;
    tcp.seq = seq;
    tcp.ack = by_host ? of.controller : of.host;
    tcp.flags = flags;
    seq += static_cast<std::uint32_t>(bytes.size()) + ((flags & tcp_flag::syn) != 0 ? 1u : 0u);
    held_.push_back({by_host, tcp, Bytes(bytes.begin(), bytes.end())});
    if (!holds) let_go(0);
  }
  /// The segment with this place among those that are held.
  void let_go(std::size_t place) {
    const Held held = std::move(held_[place]);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(place));
    TraceEvent event;
    event.source = {held.by_host ? kHost : kController, held.by_host ? port_ : controller_port};
    event.destination = {held.by_host ? kController : kHost, held.by_host ? controller_port : port_};
    event.tcp = &held.tcp;
    event.bytes = held.bytes;
    emit(event, held.by_host);
  }
  /// Another connection from here on.
  void use_port(std::uint16_t port) {
    port_ = port;
    header_digest = data_digest = false;
  }
  void handshake() {
    segment(true, {}, tcp_flag::syn);
    segment(false, {}, tcp_flag::syn | tcp_flag::ack);
  }
  void skip(bool by_host, std::uint32_t bytes) { (by_host ? sequences_[port_].host : sequences_[port_].controller) += bytes; }

  template <class L>
  static Record<L> head(tcp::PduType type, std::uint8_t flags = 0) {
    Record<L> made;
    made.set(tcp::pdu::type, type).set(tcp::pdu::flags, flags);
    return made;
  }
  void pdu(bool by_host, ByteView header, ByteView data = {}) {
    segment(by_host, tcp::build_pdu(header, data, header_digest, data_digest));
  }
  void open(std::uint32_t maxr2t = 0, std::uint8_t digests = 0) {
    handshake();
    auto request = head<tcp::IcReq>(tcp::PduType::ic_req);
    request.set(tcp::ic_req::maxr2t, maxr2t)
        .set(tcp::ic_req::hdgst_enable, (digests & 1) != 0)
        .set(tcp::ic_req::ddgst_enable, (digests & 2) != 0);
    pdu(true, request.bytes());
    auto response = head<tcp::IcResp>(tcp::PduType::ic_resp);
    response.set(tcp::ic_resp::maxh2cdata, 4096)
        .set(tcp::ic_resp::hdgst_enable, (digests & 1) != 0)
        .set(tcp::ic_resp::ddgst_enable, (digests & 2) != 0);
    pdu(false, response.bytes());
    header_digest = (digests & 1) != 0;
    data_digest = (digests & 2) != 0;
  }
  void capsule(bool by_host, ByteView bytes, ByteView data = {}) {
    Bytes header(by_host ? tcp::CapsuleCmd::size : tcp::CapsuleResp::size);
    header[0] = static_cast<std::uint8_t>(by_host ? tcp::PduType::capsule_cmd : tcp::PduType::capsule_resp);
    std::copy(bytes.begin(), bytes.end(), header.begin() + tcp::kCommonHeaderBytes);
    const bool digest = std::exchange(data_digest, data_digest && !data.empty());
    pdu(by_host, header, data);
    data_digest = digest;
  }
  void data(bool by_host, tcp::PduType type, std::uint16_t cid, std::uint16_t ttag, std::uint32_t offset, std::uint32_t length,
            std::uint8_t flags = 0) {
    auto header = head<tcp::DataPdu>(type, flags);
    header.set(tcp::data_pdu::cccid, cid)
        .set(tcp::data_pdu::ttag, ttag)
        .set(tcp::data_pdu::offset, offset)
        .set(tcp::data_pdu::length, length);
    pdu(by_host, header.bytes(), type == tcp::PduType::r2t ? Bytes{} : Bytes(length));
  }

  bool header_digest = false, data_digest = false;

 private:
  struct Held {
    bool by_host;
    TcpFacts tcp;
    Bytes bytes;
  };
  std::vector<Held> held_;
  std::uint16_t port_ = 50000;
  struct Sequences {
    std::uint32_t host = 1000, controller = 9000;
  };
  std::map<std::uint16_t, Sequences> sequences_;  // by port: several connections take turns
};

class MctpWire : public Wire {
 public:
  using Wire::Wire;
  void packet(bool by_host, std::uint8_t flags, ByteView payload, std::uint8_t version = 1, std::uint8_t source = 0) {
    MctpFacts facts;
    Bytes bytes = {version, static_cast<std::uint8_t>(by_host ? 9 : 8), static_cast<std::uint8_t>(by_host ? 8 : 9), flags};
    if (source != 0) bytes[2] = source;
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    TraceEvent event;
    event.mctp = &facts;
    event.bytes = bytes;
    emit(event, by_host);
  }
  /// A message of one packet. SOM and EOM are set.
  void message(bool by_host, std::uint8_t tag, ByteView bytes) {
    packet(by_host, static_cast<std::uint8_t>(0xC0 | (by_host ? 8 : 0) | tag), bytes);
  }
  void management(bool by_host, std::uint8_t tag, Bytes body) {
    mi::append_mic(body);
    message(by_host, tag, body);
  }
};

// ---- capsules ----

inline nvme::Sqe connect_command(std::uint16_t cid = 0, bool no_flow_control = false, std::uint32_t kato = 0, std::uint16_t qid = 0) {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, nvme::kFabricsOpcode).set(nvme::sqe::cid, cid).set(nvme::sqe::psdt, nvme::Psdt::sgl);
  auto fields = sqe.edit<fabrics::ConnectSqe>();
  fields.set(fabrics::sqe::fctype, nvme::FabricsType::connect)
      .set(fabrics::connect_sqe::qid, qid)
      .set(fabrics::connect_sqe::sqsize, 7)
      .set(fabrics::connect_sqe::kato, kato)
      .set(fabrics::connect_sqe::cattr, no_flow_control ? fabrics::cattr_bits::disable_sq_flow_control : 0);
  return sqe;
}
inline nvme::Sqe command(std::uint8_t opcode, std::uint16_t cid, const nvme::SglDescriptor& sgl = nvme::SglDescriptor::transport(0)) {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, opcode).set(nvme::sqe::cid, cid).set(nvme::sqe::psdt, nvme::Psdt::sgl).set(nvme::sqe::sgl1, sgl.bytes());
  return sqe;
}
inline nvme::Cqe completion(std::uint16_t cid, std::uint16_t sqhd, std::uint32_t dw0 = 0) {
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::cid, cid).set(nvme::cqe::sqhd, sqhd).set(nvme::cqe::dw0, dw0);
  return cqe;
}

}  // namespace fb::monitors
