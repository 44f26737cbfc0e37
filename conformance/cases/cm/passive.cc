// The side that is asked: REQ, REP, RTU.
#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;
namespace reason = rdma::reject_reason;

}  // namespace

CONFORMANCE_CASE(a_duplicate_req_gets_the_same_answer, "cm.req.duplicate", roles::responder, reaches{"cm.req.repeated"}) {
  bench.product().listen(kNvmePort);
  const cm::Mad req = bench.peer().make_req({.mtu_code = 1});
  bench.peer().send_mad(req);
  const auto first = mad_of(bench, check, Attribute::rep, "answer to the REQ");
  if (!first) return;
  bench.peer().send_mad(req);
  const auto second = bench.peer().wait_mad(kAnswerTime);
  const bool holds = second && (attribute_of(*second) == Attribute::rep || attribute_of(*second) == Attribute::mra);
  if (!expect(check, holds, "answer to the duplicate", "REP or MRA", words_of_mad(second))) return;
  if (attribute_of(*second) == Attribute::rep) {
    const auto a = seen_as<cm::Rep>(*first), b = seen_as<cm::Rep>(*second);
    check.equal("comm ID", b.get(cm::rep::local_comm_id), a.get(cm::rep::local_comm_id));
    check.equal("queue pair", b.get(cm::rep::local_qpn), a.get(cm::rep::local_qpn));
    check.equal("starting PSN", b.get(cm::rep::starting_psn), a.get(cm::rep::starting_psn));
  }
  check.equal("connections that the listener was asked for", bench.product().requests_seen(), 1);
}

CONFORMANCE_CASE(a_req_from_a_connected_queue_pair_is_stale, "cm.req.stale", roles::responder, reaches{"cm.stale"}) {
  const auto c = bench.connect_to_product();
  rejected_with(bench, check, bench.peer().make_req({.qpn = c.facts.local_qpn}), {reason::stale_connection},
                "answer to a REQ that names a connected queue pair");
  if (!bench.embedded()) return;  // what becomes of the connection that the peer has forgotten: its section was not read for this
  const auto dreq = mad_of(bench, check, Attribute::dreq, "what becomes of the stale connection");
  if (!dreq) return;
  check.equal("local comm ID of the DREQ", seen_as<cm::Dreq>(*dreq).get(cm::dreq::local_comm_id), c.facts.remote_comm_id);
  check.equal("remote comm ID of the DREQ", seen_as<cm::Dreq>(*dreq).get(cm::dreq::remote_comm_id), c.facts.local_comm_id);
}

CONFORMANCE_CASE(a_req_for_another_transport_is_rejected, "cm.req.transport-type", roles::responder) {
  bench.product().listen(kNvmePort);
  cm::Mad req = bench.peer().make_req({.mtu_code = 1});
  req.message<cm::Req>().set(cm::req::transport, cm::Transport::uc);
  rejected_with(bench, check, req, {reason::invalid_transport_type, reason::consumer_defined, reason::unsupported},
                "answer to a REQ for an unreliable connection");
}

CONFORMANCE_CASE(an_unknown_ip_header_version_is_rejected, "cm.req.ip-header-version", roles::responder) {
  bench.product().listen(kNvmePort);
  cm::Mad req = bench.peer().make_req({.mtu_code = 1});
  Bytes data = copy(seen_as<cm::Req>(req).get(cm::req::private_data));
  data[0] = 0x10;  // major version 1
  req.message<cm::Req>().set(cm::req::private_data, data);
  rejected_with(bench, check, req, {reason::consumer_defined, reason::unsupported},
                "answer to a REQ with version 1.0 of the IP addressing header");
}

CONFORMANCE_CASE(a_req_for_a_foreign_gid_is_not_accepted, "cm.req.foreign-gid", roles::responder) {
  bench.product().listen(kNvmePort);
  cm::Mad req = bench.peer().make_req({.mtu_code = 1});
  req.message<cm::Req>().set(cm::req::primary_remote_gid, IpAddress::v4(10, 0, 0, 99).bytes());
  bench.peer().send_mad(req);
  const auto answer = bench.peer().wait_mad(kAnswerTime);
  const bool holds =
      !answer || (attribute_of(*answer) == Attribute::rej && seen_as<cm::Rej>(*answer).get(cm::rej::reason) == reason::invalid_gid);
  expect(check, holds, "answer to a REQ for somebody else's GID", "REJ 12 or silence", words_of_mad(answer));
  check.equal("connections that the listener was asked for", bench.product().requests_seen(), 0);
}

CONFORMANCE_CASE(requests_from_the_announced_psn_are_served, "cm.rep.psn", roles::responder) {
  for (const std::uint32_t ours : {0x10u, 0xFFFFFFu, 0x800000u}) {
    const auto c = bench.connect_to_product({}, {.psn = ours});
    bench.peer().send(c.request(roce::Opcode::send_only, 0, pattern(16)));
    acknowledged(bench, check, c, 0, "a SEND with the PSN that the REP announces");
  }
}

CONFORMANCE_CASE(an_unconfirmed_rep_is_repeated_unchanged, "cm.rep.repeated", roles::responder, reaches{"cm.resend"}) {
  bench.product().listen(kNvmePort, {.private_data = pattern(20)});
  const cm::Mad req = bench.peer().make_req({.mtu_code = 1, .cm_timeout = 13});  // 32 ms
  bench.peer().send_mad(req);
  const auto first = mad_of(bench, check, Attribute::rep, "answer to the REQ");
  const auto second = mad_of(bench, check, Attribute::rep, "the REP, again without RTU", Duration::s(1));
  if (!first || !second) return;
  check.bytes("the repeated REP", second->bytes(), first->bytes());
  bench.peer().send_rtu(bench.peer().facts_from(req, *first));
  check.that(bench.product().accepted()->wait_event(ConnectionEvent::established, kAnswerTime),
             "the RTU after the repetition establishes the connection");
}

CONFORMANCE_CASE(a_rep_asks_for_no_more_reads_than_offered, "cm.rep.depths", roles::responder) {
  const auto c = bench.connect_to_product({}, {.responder_resources = 3, .initiator_depth = 2});
  check.between("initiator depth of the REP", unsigned{seen_as<cm::Rep>(c.facts.reply).get(cm::rep::initiator_depth)}, 0u, 3u);
}

CONFORMANCE_CASE(data_before_the_rtu_is_served, "cm.rtu.data-before", roles::responder, reaches{"cm.data_before_rtu"}) {
  bench.product().listen(kNvmePort);
  const auto facts = bench.peer().connect({}, false);
  check.precondition(facts.has_value(), "the product did not accept a good connection request");
  const RcConnection c{*facts, bench.product().accepted()};
  serves_send(bench, check, c, 0, 0, "a SEND before the RTU");
  check.require(c.queue->wait_event(ConnectionEvent::established, kAnswerTime), "data establishes the connection",
                "the product still waits for the RTU");
  auto& memory = bench.product().memory(16);
  c.queue->post_send({}, memory, 0, 16);
  const auto answer = next_packet(bench, check, "the product's own SEND", "a SEND");
  if (answer) check.bytes("its bytes", answer->payload, memory.bytes);
}

CONFORMANCE_CASE(a_mad_of_another_kind_is_dropped, "cm.mad.malformed", roles::responder,
                 reaches{"cm.drop.base_version", "cm.drop.class", "cm.drop.method"}) {
  bench.product().listen(kNvmePort);
  const auto dropped = [&](auto&& spoil, std::string_view what) {
    cm::Mad req = bench.peer().make_req({.mtu_code = 1});
    spoil(req.header());
    bench.peer().send_mad(req);
    no_mad(bench, check, what);
  };
  dropped([](auto h) { h.set(cm::mad::base_version, 2); }, "answer to base version 2");
  dropped([](auto h) { h.set(cm::mad::management_class, 0x09); }, "answer to another class");
  dropped([](auto h) { h.set(cm::mad::method, static_cast<cm::Method>(0x06)); }, "answer to another method");
  check.equal("connections that the listener was asked for", bench.product().requests_seen(), 0);
  bench.peer().send_mad(bench.peer().make_req({.mtu_code = 1}));
  mad_of(bench, check, Attribute::rep, "answer to a good REQ afterwards");
}

CONFORMANCE_CASE(a_mad_with_a_wrong_qkey_is_dropped, "cm.mad.qkey", roles::responder, reaches{"bench.dropped"}) {
  bench.product().listen(kNvmePort);
  bench.peer().send_mad(bench.peer().make_req({.mtu_code = 1}), 0x11111111);
  no_mad(bench, check, "answer to a MAD with another Q_Key");
  mark_dropped(bench, &softroce::SoftCounters::drop_bad_qkey);
  check.equal("connections that the listener was asked for", bench.product().requests_seen(), 0);
}

}  // namespace fb::conformance
