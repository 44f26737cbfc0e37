// The side that asks for a connection.
#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;
constexpr Duration kHandshake = Duration::s(10);

VerbsQueue& product_connects(RdmaBench& bench) {
  return bench.product().connect({bench.peer_address(), kNvmePort}, RdmaBench::good_parameters());
}

/// The REQ of the product, or INCONCLUSIVE.
cm::Mad req_of(RdmaBench& bench, Check& check) {
  const auto req = bench.peer().wait_mad(Attribute::req, kHandshake);
  check.precondition(req.has_value(), "the product sent no connection request");
  return *req;
}

}  // namespace

CONFORMANCE_CASE(a_req_is_complete, "cm.active.req-fields", roles::requester) {
  VerbsQueue& queue = product_connects(bench);
  const cm::Mad mad = req_of(bench, check);
  const auto req = seen_as<cm::Req>(mad);
  check.equal("service ID", req.get(cm::req::service_id), cm::service_id_of(kNvmePort));
  check.equal("transport service", req.get(cm::req::transport), cm::Transport::rc);
  if (bench.bare()) check.equal("queue pair", req.get(cm::req::local_qpn), queue.qp().number());
  check.that(req.get(cm::req::local_comm_id) != 0, "the comm ID is not 0");
  check.that(req.get(cm::req::local_ca_guid) != 0, "the CA GUID is not 0");
  check.equal("P_Key", req.get(cm::req::pkey), one_of(0xFFFF, 0x7FFF));
  check.that(req.get(cm::req::primary_hop_limit) != 0, "packets may take a hop", "the hop limit is 0");
  check.between("path MTU code", unsigned{req.get(cm::req::path_mtu)}, 1u, 5u);
  const auto local_gid = req.get(cm::req::primary_local_gid);
  const auto remote_gid = req.get(cm::req::primary_remote_gid);
  check.bytes("local GID", local_gid, bench.address().bytes());
  check.bytes("remote GID", remote_gid, bench.peer_address().bytes());
  const auto private_data = req.get(cm::req::private_data);
  const View<cm::IpHeader> ip{private_data};
  check.equal("version of the IP header", ip.get(cm::ip_header::major), 0);
  check.equal("IP version", ip.get(cm::ip_header::ip_version), bench.address().is_v4() ? 4 : 6);
  const auto source = ip.get(cm::ip_header::source);
  const auto destination = ip.get(cm::ip_header::destination);
  check.bytes("source in the IP header", source, cm::ip_header_form(bench.address()));
  check.bytes("destination in the IP header", destination, cm::ip_header_form(bench.peer_address()));
}

CONFORMANCE_CASE(every_rep_is_confirmed, "cm.active.rtu", roles::requester, reaches{"cm.rep.repeated"}) {
  product_connects(bench);
  const cm::Mad req = req_of(bench, check);
  const RawRoce::RawReply reply = {.responder_resources = 16};
  const RawConnectionFacts facts = bench.peer().accept(req, reply);
  for (int time = 0; time < 2; ++time) {
    const auto rtu = mad_of(bench, check, Attribute::rtu, time == 0 ? "answer to the REP" : "answer to the repeated REP");
    if (!rtu) return;
    const auto said = seen_as<cm::Rtu>(*rtu);
    check.equal("local comm ID of the RTU", said.get(cm::rtu::local_comm_id), facts.remote_comm_id);
    check.equal("remote comm ID of the RTU", said.get(cm::rtu::remote_comm_id), facts.local_comm_id);
    if (time == 0) bench.peer().send_mad(bench.peer().make_rep(facts, reply));
  }
}

CONFORMANCE_CASE(an_unanswered_req_is_repeated_and_given_up, "cm.active.req-repeated", roles::requester, lasts(Duration::s(80)),
                 furnished([](EmbeddedSetup& setup) { setup.connections.max_cm_retries = 4; }), reaches{"cm.resend", "cm.give_up"}) {
  VerbsQueue& queue = product_connects(bench);
  const cm::Mad first = req_of(bench, check);
  const unsigned retries = seen_as<cm::Req>(first).get(cm::req::max_cm_retries);
  check.that(queue.wait_event(ConnectionEvent::unreachable, Duration::s(1200)), "the attempt is given up", "it was not");
  unsigned repeated = 0;
  while (auto mad = bench.peer().wait_mad(Duration::ms(1))) {
    if (attribute_of(*mad) != Attribute::req) continue;
    check.bytes("the repeated REQ", mad->bytes(), first.bytes());
    ++repeated;
  }
  check.equal("repetitions of the REQ", repeated, retries);
  bench.step("the same for a REQ that follows a REJ of its path MTU");
  VerbsQueue& other = product_connects(bench);
  cm::Mad rej = bench.peer().make_rej(req_of(bench, check), rdma::reject_reason::invalid_mtu, {});
  const Bytes offered{1};
  rej.message<cm::Rej>().set(cm::rej::info_length, 1).set(cm::rej::info, ByteView{offered});
  bench.peer().send_mad(rej);
  const auto smaller = bench.peer().wait_mad(Attribute::req, kAnswerTime);
  if (!smaller) return;  // its own choice
  const unsigned promised = seen_as<cm::Req>(*smaller).get(cm::req::max_cm_retries);
  check.that(other.wait_event(ConnectionEvent::unreachable, Duration::s(1200)), "the second attempt is given up", "it was not");
  repeated = 0;
  while (auto mad = bench.peer().wait_mad(Duration::ms(1))) repeated += attribute_of(*mad) == Attribute::req;
  check.equal("repetitions of the REQ with a smaller path MTU", repeated, promised);
}

CONFORMANCE_CASE(an_mra_extends_the_wait, "cm.active.mra", roles::requester, lasts(Duration::s(33)), reaches{"cm.mra.received"}) {
  VerbsQueue& queue = product_connects(bench);
  const cm::Mad req = req_of(bench, check);
  constexpr std::uint8_t kServiceTimeout = 23;  // 2^(23-8) ms, far more than a REQ waits
  cm::Mad mra(Attribute::mra, tid_of(req));
  mra.message<cm::Mra>()
      .set(cm::mra::local_comm_id, bench.peer().fresh_id())
      .set(cm::mra::remote_comm_id, seen_as<cm::Req>(req).get(cm::req::local_comm_id))
      .set(cm::mra::about, cm::About::req)
      .set(cm::mra::service_timeout, kServiceTimeout);
  bench.peer().send_mad(mra);
  const auto early = bench.peer().mad_within(Duration::ms(std::int64_t{1} << (kServiceTimeout - 8)) - bench.jitter());
  expect(check, !early, "the time that the MRA asks for", "silence", words_of_mad(early));
  bench.peer().accept(req, {.responder_resources = 16});
  check.that(queue.wait_event(ConnectionEvent::established, kAnswerTime), "the late REP establishes the connection", "it did not");
}

}  // namespace fb::conformance
