// The end of connections, further rules: what a DREQ says, who hears of it, and what comes late.
#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;

bool told(const RcConnection& c) { return c.queue->wait_event(ConnectionEvent::disconnected, kAnswerTime); }

}  // namespace

CONFORMANCE_CASE(a_dreq_names_its_connection, "cm.dreq.sent", roles::requester) {
  const auto c = bench.connect_from_product();
  c.queue->qp().disconnect();
  const auto dreq = mad_of(bench, check, Attribute::dreq, "what the product says when its program disconnects");
  if (!dreq) return;
  const auto said = seen_as<cm::Dreq>(*dreq);
  check.equal("local comm ID of the DREQ", said.get(cm::dreq::local_comm_id), c.facts.remote_comm_id);
  check.equal("remote comm ID of the DREQ", said.get(cm::dreq::remote_comm_id), c.facts.local_comm_id);
  check.equal("queue pair of the other side", said.get(cm::dreq::remote_qpn), c.facts.local_qpn);
  bench.peer().send_mad(make_drep(*dreq));
  check.that(told(c), "the program hears that the connection is over", "it does not");
}

CONFORMANCE_CASE(an_unanswered_dreq_is_repeated, "cm.dreq.sent.repeated", roles::requester, lasts(Duration::s(120)), reaches{"cm.resend"}) {
  const auto c = bench.connect_to_product({}, {.port = kPlainPort, .cm_timeout = 16});
  c.queue->qp().disconnect();
  const auto first = mad_of(bench, check, Attribute::dreq, "what the product says when its program disconnects");
  if (!first) return;
  const auto second = bench.peer().wait_mad(Attribute::dreq, Duration::s(60));
  if (!expect(check, second.has_value(), "the DREQ that nobody answered", "the same DREQ again", "silence")) return;
  check.bytes("the repeated DREQ", second->bytes(), first->bytes());
  bench.peer().send_mad(make_drep(*second));
  check.that(told(c), "the program hears that the connection is over", "it does not");
  const auto third = bench.peer().wait_mad(Attribute::dreq, Duration::s(60));
  expect(check, !third, "after the DREP", "no further DREQ", "the DREQ again");
}

CONFORMANCE_CASE(a_dreq_that_nobody_answers_ends_the_connection, "cm.dreq.sent.given-up", roles::requester, lasts(Duration::s(120)),
                 beyond_interfaces("the interface ends connections by its own timers")) {
  const auto c = bench.connect_to_product({.receives = 3}, {.port = kPlainPort, .cm_timeout = 12});
  c.queue->qp().disconnect();
  // Before that there may be REPs on their way that were sent again.
  auto first = bench.peer().wait_mad(kAnswerTime);
  while (first && attribute_of(*first) == Attribute::rep) first = bench.peer().wait_mad(kAnswerTime);
  const bool asked = first && attribute_of(*first) == Attribute::dreq;
  if (!expect(check, asked, "when the program disconnects", "DREQ", words_of_mad(first))) return;
  check.that(c.queue->wait_event(ConnectionEvent::disconnected, Duration::s(110)), "the program hears of the end", "it does not");
  unsigned copies = 1;
  while (const auto mad = bench.peer().wait_mad(Duration::ms(1))) {
    if (attribute_of(*mad) != Attribute::dreq) continue;
    check.bytes("the repeated DREQ", mad->bytes(), first->bytes());
    ++copies;
  }
  check.between("DREQs, with the first one", copies, 1u, 16u);
  for (std::uint64_t id = 0; id < 3; ++id) {
    const auto done = c.queue->wait_receive(kAnswerTime);
    if (!expect(check, done.has_value(), "receives of the connection", "each comes back", "one does not")) return;
    check.equal("the receive that comes back", done->id, id);
    check.equal("its status", done->status, rdma::CompletionStatus::flushed);
  }
  while (bench.peer().mad_within(Duration::ms(50))) {  // what was on its way
  }
  bench.peer().send_mad(make_drep(*first));
  const auto more = bench.peer().mad_within(Duration::s(1));
  expect(check, !more, "after the end of the connection", "silence", words_of_mad(more));
}

CONFORMANCE_CASE(a_dreq_that_crosses_another_is_answered, "cm.dreq.crossing", roles::responder, lasts(Duration::s(60)),
                 reaches{"cm.dreq.crossing"}) {
  const auto c = bench.connect_to_product();
  c.queue->qp().disconnect();
  const auto theirs = bench.peer().wait_mad(Attribute::dreq, kAnswerTime);
  check.precondition(theirs.has_value(), "the product sends no DREQ");
  const cm::Mad ours = make_dreq(bench, c.facts);
  bench.peer().send_mad(ours);
  const auto drep = bench.peer().wait_mad(Attribute::drep, Duration::s(60));
  if (!expect(check, drep.has_value(), "answer to a DREQ that crosses the product's own", "DREP", "silence")) return;
  check.equal("transaction of the DREP", tid_of(*drep), tid_of(ours));
  check.that(told(c), "the program hears that the connection is over", "it does not");
}

CONFORMANCE_CASE(a_dreq_for_an_unknown_connection_is_answered, "cm.dreq.unknown-answered", roles::responder, reaches{"cm.dreq.unknown"}) {
  bench.product().listen(kNvmePort);
  cm::Mad dreq(Attribute::dreq, std::uint64_t{bench.peer().fresh_id()} << 32);
  dreq.message<cm::Dreq>()
      .set(cm::dreq::local_comm_id, 0x33333333)
      .set(cm::dreq::remote_comm_id, 0x44444444)
      .set(cm::dreq::remote_qpn, 0x555555);
  bench.peer().send_mad(dreq);
  const auto drep = mad_of(bench, check, Attribute::drep, "answer to a DREQ for an unknown connection");
  if (!drep) return;
  const auto said = seen_as<cm::Drep>(*drep);
  check.equal("remote comm ID of the DREP", said.get(cm::drep::remote_comm_id), 0x33333333u);
  check.equal("transaction of the DREP", tid_of(*drep), tid_of(dreq));
}

CONFORMANCE_CASE(a_late_copy_of_a_req_opens_nothing, "cm.timewait.late-req", roles::responder) {
  bench.product().listen(kNvmePort);
  // The time that the product has to remember the connection follows from the ACK timeout: a second.
  const cm::Mad req = bench.peer().make_req({.mtu_code = 1, .ack_timeout = 18});
  bench.peer().send_mad(req);
  const auto rep = mad_of(bench, check, Attribute::rep, "answer to the REQ");
  if (!rep) return;
  const RawConnectionFacts facts = bench.peer().facts_from(req, *rep);
  bench.peer().send_rtu(facts);
  VerbsQueue* queue = bench.product().accepted();
  check.precondition(queue != nullptr && queue->wait_event(ConnectionEvent::established, kAnswerTime),
                     "the product did not take the connection as established");
  bench.peer().send_mad(make_dreq(bench, facts));
  if (!mad_of(bench, check, Attribute::drep, "answer to the DREQ")) return;
  bench.step("a copy of the REQ that was long on its way");
  bench.peer().send_mad(req);
  const auto answer = bench.peer().wait_mad(kAnswerTime);
  expect(check, !answer || attribute_of(*answer) == Attribute::rej, "answer to the late copy", "REJ or silence", words_of_mad(answer));
  check.equal("connections that the listener was asked for", bench.product().requests_seen(), 1);
}

}  // namespace fb::conformance
