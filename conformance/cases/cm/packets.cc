// The packets that carry connection messages, and the numbers of a REQ, each unequal to its neighbours.
#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;

/// The packet of a REQ of its own.
RocePacket packet_of_req(RdmaBench& bench) {
  const cm::Mad mad = bench.peer().make_req({.mtu_code = 1});
  RocePacket packet;
  packet.opcode = roce::Opcode::ud_send_only;
  packet.qpn = roce::kGsiQpn;
  packet.migreq = false;
  packet.deth.emplace();
  packet.deth->set(roce::deth::qkey, roce::kGsiQkey).set(roce::deth::srcqp, roce::kGsiQpn);
  packet.payload.assign(mad.bytes().begin(), mad.bytes().end());
  return packet;
}

/// 4.096 microseconds times 2^code.
Duration cm_time(unsigned code) { return Duration::ns(std::int64_t{4096} << code); }

}  // namespace

CONFORMANCE_CASE(each_field_of_a_management_packet_counts, "cm.mad.packet", roles::responder, sends_malformed) {
  bench.product().listen(kNvmePort);
  const auto unanswered = [&](const RocePacket& packet, const std::string& what, const RawRoce::Sending& how = {}) {
    bench.peer().send(packet, how);
    const auto seen = bench.peer().mad_within(Duration::ms(2));
    return expect(check, !seen, "a REQ in a packet " + what, "silence", words_of_mad(seen));
  };
  for (unsigned bit = 0; bit < 15; ++bit) {
    for (const bool full_member : {true, false}) {
      RocePacket packet = packet_of_req(bench);
      packet.pkey ^= static_cast<std::uint16_t>(1u << bit);
      if (!full_member) packet.pkey &= 0x7FFF;
      unanswered(packet, "whose P_Key differs in bit " + std::to_string(bit));
    }
  }
  for (unsigned bit = 0; bit < 24; ++bit) {
    RocePacket packet = packet_of_req(bench);
    packet.qpn ^= 1u << bit;
    unanswered(packet, "whose destination differs in bit " + std::to_string(bit));
  }
  for (unsigned bit = 0; bit < 32; ++bit) {
    RocePacket packet = packet_of_req(bench);
    packet.deth->set(roce::deth::qkey, roce::kGsiQkey ^ 1u << bit);
    unanswered(packet, "whose Q_Key differs in bit " + std::to_string(bit));
  }
  for (std::uint8_t version = 1; version < 16; ++version) {
    RocePacket packet = packet_of_req(bench);
    packet.tver = version;
    unanswered(packet, "of transport version " + std::to_string(version));
  }
  for (const std::size_t bytes : {0u, 4u, 128u, 252u, 260u, 512u}) {
    RocePacket packet = packet_of_req(bench);
    packet.payload.resize(bytes);
    unanswered(packet, "with " + std::to_string(bytes) + " bytes in place of 256");
  }
  RocePacket connected = packet_of_req(bench);
  connected.opcode = roce::Opcode::send_only;
  connected.deth.reset();
  unanswered(connected, "of the reliable connected service");
  unanswered(packet_of_req(bench), "with a wrong ICRC", {.good_icrc = false});
  check.equal("connections that the listener was asked for", bench.product().requests_seen(), 0);
  RocePacket limited = packet_of_req(bench);
  limited.pkey = 0x7FFF;
  bench.peer().send(limited);
  mad_of(bench, check, Attribute::rep, "answer to a REQ of a limited member of the partition");
  bench.peer().send(packet_of_req(bench));
  mad_of(bench, check, Attribute::rep, "answer to the right packet");
}

CONFORMANCE_CASE(each_number_of_a_req_has_its_own_use, "cm.req.own-numbers", roles::responder, sends_malformed, lasts(Duration::s(30)),
                 beyond_interfaces("the interface confirms a connection by its own timers")) {
  constexpr std::uint8_t kRepTimeout = 9, kAckTimeout = 12, kRetries = 2, kRnrRetries = 5, kCmRetries = 7;
  bench.product().listen(kNvmePort);
  const auto connected = [&](std::optional<cm::Mad>& rep) {
    cm::Mad req = bench.peer().make_req(
        {.mtu_code = 1, .ack_timeout = kAckTimeout, .retry_count = kRetries, .rnr_retry_count = kRnrRetries, .cm_timeout = kRepTimeout});
    req.message<cm::Req>().set(cm::req::remote_cm_timeout, 20).set(cm::req::max_cm_retries, kCmRetries);
    bench.peer().send_mad(req);
    rep = mad_of(bench, check, Attribute::rep, "answer to the REQ");
    RcConnection c;
    if (!rep) return c;
    const Instant first = bench.world().now();
    const auto again = bench.peer().wait_mad(Attribute::rep, Duration::s(2));
    if (expect(check, again.has_value(), "a REP that is not answered", "the REP again", "silence")) {
      check.between("time until the REP comes again", bench.world().now() - first, cm_time(kRepTimeout) * 9 / 10 - bench.jitter(),
                    cm_time(kRepTimeout) * 4 + Duration::ms(100));
    }
    c.facts = bench.peer().facts_from(req, *rep);
    c.queue = bench.product().accepted();
    bench.peer().send_rtu(c.facts);
    check.precondition(c.queue != nullptr && c.queue->wait_event(ConnectionEvent::established, kAnswerTime),
                       "the RTU establishes the connection");
    bench.peer().inbox().clear();
    return c;
  };
  const auto copies = [&](const RcConnection& c, bool answered) {
    auto& memory = bench.product().memory(16);
    c.queue->post_send({}, memory, 0, 16);
    unsigned seen = 0;
    Instant last = bench.world().now();
    while (const auto packet = bench.peer().wait_packet(cm_time(kAckTimeout) * 6)) {
      if (++seen > 1 && !answered)
        check.between("time until a SEND comes again", packet->at - last, cm_time(kAckTimeout) * 9 / 10 - bench.jitter(),
                      cm_time(kAckTimeout) * 4 + bench.jitter());
      last = packet->at;
      if (answered) bench.peer().send(c.facts.acknowledge(packet->psn, 0, roce::rnr_syndrome(1)));
      if (seen > 20) break;
    }
    return seen;
  };
  std::optional<cm::Mad> rep;
  const RcConnection silent = connected(rep);
  if (!rep) return;
  check.equal("copies of a SEND that nobody answers", copies(silent, false), kRetries + 1u);
  const auto end = silent.queue->wait_send(kAnswerTime);
  check.that(end && end->status == rdma::CompletionStatus::retry_exceeded, "it fails by its retries", "it does not");
  const RcConnection busy = connected(rep);
  if (!rep) return;
  check.equal("copies of a SEND that is answered by RNR NAKs", copies(busy, true), kRnrRetries + 1u);
  const auto refused = busy.queue->wait_send(kAnswerTime);
  check.that(refused && refused->status == rdma::CompletionStatus::rnr_retry_exceeded, "it fails by its RNR retries", "it does not");
}

}  // namespace fb::conformance
