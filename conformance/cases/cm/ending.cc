// The end of connections: DREQ and DREP.
#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;

bool ended(const RcConnection& c) { return c.queue->wait_event(ConnectionEvent::disconnected, kAnswerTime); }

/// A DREQ that is none of this connection's may be answered, but the connection goes on.
void not_obeyed(RdmaBench& bench, Check& check, const RcConnection& c) {
  const bool gone = ended(c);
  expect(check, !gone, "the connection after the DREQ", "goes on", "ended");
  serves_send(bench, check, c, 0, 0, "a SEND after the DREQ");
}

}  // namespace

CONFORMANCE_CASE(a_dreq_is_answered, "cm.dreq.answered", roles::responder) {
  const auto c = bench.connect_to_product();
  const cm::Mad dreq = make_dreq(bench, c.facts);
  bench.peer().send_mad(dreq);
  const auto drep = mad_of(bench, check, Attribute::drep, "answer to the DREQ");
  if (!drep) return;
  const auto said = seen_as<cm::Drep>(*drep);
  check.equal("local comm ID of the DREP", said.get(cm::drep::local_comm_id), c.facts.remote_comm_id);
  check.equal("remote comm ID of the DREP", said.get(cm::drep::remote_comm_id), c.facts.local_comm_id);
  check.equal("transaction of the DREP", tid_of(*drep), tid_of(dreq));
  check.that(ended(c), "the program on the product is told", "it was not");
}

CONFORMANCE_CASE(connections_that_come_and_go_are_answered, "cm.dreq.answered", roles::responder,
                 furnished([](EmbeddedSetup& setup) { setup.connections.half_open_max = 3; })) {
  // More than the listener lets be half open; every third one is refused by the peer when it is accepted.
  for (unsigned i = 0; i < 13; ++i) {
    const std::string which = "connection " + std::to_string(i);
    const auto c = bench.connect_to_product();
    const cm::Mad dreq = make_dreq(bench, c.facts);
    bench.peer().send_mad(dreq);
    const auto drep = mad_of(bench, check, Attribute::drep, "answer to the DREQ of " + which);
    if (!drep) return;
    const auto said = seen_as<cm::Drep>(*drep);
    check.equal("local comm ID of the DREP of " + which, said.get(cm::drep::local_comm_id), c.facts.remote_comm_id);
    check.equal("remote comm ID of the DREP of " + which, said.get(cm::drep::remote_comm_id), c.facts.local_comm_id);
    check.equal("transaction of the DREP of " + which, tid_of(*drep), tid_of(dreq));
    check.that(ended(c), "the program on the product is informed of the end of " + which, "it was not");
    if (i % 3 != 0) continue;
    const auto refused = bench.peer().connect({.port = kPlainPort, .mtu_code = 1}, false);
    check.precondition(refused.has_value(), "a REP comes for a REQ that is to be refused afterwards");
    cm::Mad rej(Attribute::rej, refused->tid);
    rej.message<cm::Rej>()
        .set(cm::rej::local_comm_id, refused->local_comm_id)
        .set(cm::rej::remote_comm_id, refused->remote_comm_id)
        .set(cm::rej::about, cm::About::rep)
        .set(cm::rej::reason, rdma::reject_reason::consumer_defined);
    bench.peer().send_mad(rej);
    bench.world().run_for(Duration::ms(1));
    bench.product().accepted();  // nobody asks for it again
  }
}

CONFORMANCE_CASE(a_dreq_for_an_unknown_connection_ends_nothing, "cm.dreq.unknown", roles::responder, reaches{"cm.dreq.unknown"}) {
  const auto c = bench.connect_to_product();
  // Neither ID is known; the product's own ID is right, and ours is not.
  for (const std::uint32_t flip : {0x01010101u, 0u}) {
    cm::Mad dreq = make_dreq(bench, c.facts);
    dreq.message<cm::Dreq>().set(cm::dreq::local_comm_id, 0x33333333).set(cm::dreq::remote_comm_id, c.facts.remote_comm_id ^ flip);
    bench.peer().send_mad(dreq);
    const auto answer = bench.peer().wait_mad(kAnswerTime);
    expect(check, !answer || attribute_of(*answer) == Attribute::drep, "answer to a DREQ for an unknown connection", "DREP or silence",
           words_of_mad(answer));
  }
  not_obeyed(bench, check, c);
}

CONFORMANCE_CASE(a_dreq_with_a_wrong_queue_pair_ends_nothing, "cm.dreq.wrong-qpn", roles::responder, reaches{"cm.dreq.wrong_qpn"}) {
  const auto c = bench.connect_to_product();
  cm::Mad dreq = make_dreq(bench, c.facts);
  dreq.message<cm::Dreq>().set(cm::dreq::remote_qpn, c.facts.remote_qpn ^ 1);
  bench.peer().send_mad(dreq);
  not_obeyed(bench, check, c);
}

CONFORMANCE_CASE(a_repeated_dreq_is_answered_again, "cm.dreq.repeated", roles::responder) {
  const auto c = bench.connect_to_product();
  const cm::Mad dreq = make_dreq(bench, c.facts);
  for (int time = 0; time < 2; ++time) {
    bench.peer().send_mad(dreq);
    mad_of(bench, check, Attribute::drep, time == 0 ? "answer to the DREQ" : "answer to it again");
  }
}

}  // namespace fb::conformance
