// The side that asks for a connection, further rules.
#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;
namespace reason = rdma::reject_reason;
constexpr Duration kHandshake = Duration::s(10);
constexpr Duration kLong = Duration::s(1200);

VerbsQueue& product_asks(RdmaBench& bench, const rdma::ConnectionParameters& parameters = RdmaBench::good_parameters()) {
  return bench.product().connect({bench.peer_address(), kNvmePort}, parameters);
}

cm::Mad req_of(RdmaBench& bench, Check& check) {
  const auto req = bench.peer().wait_mad(Attribute::req, kHandshake);
  check.precondition(req.has_value(), "the product sent no connection request");
  return *req;
}

}  // namespace

CONFORMANCE_CASE(a_req_carries_what_its_program_says, "cm.active.private-data", roles::requester) {
  const Bytes said = pattern(24);
  rdma::ConnectionParameters parameters = RdmaBench::good_parameters();
  parameters.private_data = said;
  product_asks(bench, parameters);
  const cm::Mad req = req_of(bench, check);
  const auto data = seen_as<cm::Req>(req).get(cm::req::private_data);
  check.bytes("what follows the IP addressing header", ByteView{data}.subspan(cm::IpHeader::size, said.size()), said);
}

CONFORMANCE_CASE(the_first_request_has_the_psn_of_the_rep, "cm.active.psn", roles::requester) {
  constexpr std::uint32_t kPsn = 0xABCDEF;
  const auto c = bench.connect_from_product(RdmaBench::good_parameters(), {.psn = kPsn, .responder_resources = 16});
  auto& memory = bench.product().memory(64);
  c.queue->post_receive(memory, 0, 0, 64);
  auto& source = bench.product().memory(16);
  c.queue->post_send({}, source, 0, 16);
  const auto request = next_packet(bench, check, "the product's first request", "a SEND");
  if (request) check.equal("its PSN", request->psn, kPsn);
  bench.peer().inbox().clear();
  bench.peer().send(c.request(roce::Opcode::send_only, 0, pattern(16)));
  acknowledged(bench, check, c, 0, "a SEND with the PSN that the REQ announces");
}

CONFORMANCE_CASE(no_more_reads_than_the_rep_allows, "cm.active.depth", roles::requester) {
  constexpr unsigned kServed = 2;
  const auto c = bench.connect_from_product(RdmaBench::good_parameters(), {.responder_resources = kServed});
  auto& memory = bench.product().memory(64);
  for (std::uint64_t id = 0; id < 4; ++id) {
    rdma::SendRequest request;
    request.id = id;
    request.opcode = rdma::SendOpcode::rdma_read;
    request.remote_address = 0x5000;
    request.rkey = 0x1234;
    c.queue->post_send(request, memory, id * 16, 16);
  }
  unsigned reads = 0;
  // Before the product can think that one of them was lost.
  while (const auto packet = bench.peer().wait_packet(kAnswerTime)) reads += packet->opcode == roce::Opcode::read_request;
  check.between("READs in flight", reads, 1u, kServed);
}

CONFORMANCE_CASE(a_rej_ends_the_attempt, "cm.active.rejected", roles::requester, lasts(Duration::s(20))) {
  const Bytes said = pattern(16);
  VerbsQueue& queue = product_asks(bench);
  const cm::Mad req = req_of(bench, check);
  bench.peer().send_mad(bench.peer().make_rej(req, reason::consumer_defined, said));
  check.require(queue.wait_event(ConnectionEvent::rejected, kAnswerTime), "the program hears of the REJ", "it does not");
  if (bench.bare()) check.equal("reason that it hears", queue.reject_reason(), reason::consumer_defined);
  check.require(queue.private_data().size() >= said.size(), "the program gets the private data", "it gets less");
  check.bytes("private data", ByteView{queue.private_data()}.first(said.size()), said);
  const auto more = bench.peer().wait_mad(Attribute::req, kHandshake);
  expect(check, !more, "after the REJ", "no further REQ", "the REQ again");
}

CONFORMANCE_CASE(a_rep_for_nobody_establishes_nothing, "cm.active.rep-ids", roles::requester, reaches{"cm.rep.unknown"}) {
  VerbsQueue& queue = product_asks(bench);
  const cm::Mad req = req_of(bench, check);
  cm::Mad other = req;
  other.message<cm::Req>().set(cm::req::local_comm_id, seen_as<cm::Req>(req).get(cm::req::local_comm_id) ^ 0x01010101);
  bench.peer().accept(other, {.responder_resources = 16});
  expect(check, !queue.wait_event(ConnectionEvent::established, kAnswerTime), "the attempt after a REP that names another REQ", "goes on",
         "established");
  bench.peer().mads().clear();
  bench.peer().accept(req, {.responder_resources = 16});
  mad_of(bench, check, Attribute::rtu, "answer to the right REP");
}

CONFORMANCE_CASE(a_req_is_not_repeated_too_early, "cm.active.repeat-time", roles::requester, reaches{"cm.resend"}) {
  product_asks(bench);
  const cm::Mad first = req_of(bench, check);
  const Instant sent = bench.world().now();
  const unsigned code = seen_as<cm::Req>(first).get(cm::req::remote_cm_timeout);
  const auto second = bench.peer().wait_mad(Attribute::req, kLong);
  check.precondition(second.has_value(), "the product does not repeat its REQ");
  const Duration least = Duration::ms(std::int64_t{1} << (code > 8 ? code - 8 : 0));
  check.between("time until the REQ comes again", bench.world().now() - sent, least - bench.jitter(), Duration::forever());
}

CONFORMANCE_CASE(an_unanswered_attempt_is_given_up_aloud, "cm.give-up.said", roles::requester, lasts(Duration::s(80)),
                 reaches{"cm.give_up"}) {
  product_asks(bench);
  req_of(bench, check);
  const auto rej = bench.peer().wait_mad(Attribute::rej, kLong);
  if (!expect(check, rej.has_value(), "end of the attempt", "REJ 4", "silence")) return;
  check.equal("reason", seen_as<cm::Rej>(*rej).get(cm::rej::reason), reason::timeout);
}

CONFORMANCE_CASE(a_rej_for_a_timeout_names_its_sender, "cm.rej.timeout.guid", roles::requester, lasts(Duration::s(80)),
                 reaches{"cm.give_up"}) {
  product_asks(bench);
  const cm::Mad req = req_of(bench, check);
  const auto answer = bench.peer().wait_mad(Attribute::rej, kLong);
  check.precondition(answer && seen_as<cm::Rej>(*answer).get(cm::rej::reason) == reason::timeout, "the product sends no REJ 4");
  const auto rej = seen_as<cm::Rej>(*answer);
  const auto asked = seen_as<cm::Req>(req);
  check.equal("local comm ID of the REJ", rej.get(cm::rej::local_comm_id), asked.get(cm::req::local_comm_id));
  check.equal("length of the additional information", unsigned{rej.get(cm::rej::info_length)}, 8u);
  const auto info = rej.get(cm::rej::info);
  check.equal("CA GUID in the additional information", load_be<std::uint64_t>(info.data()), asked.get(cm::req::local_ca_guid));
}

}  // namespace fb::conformance
