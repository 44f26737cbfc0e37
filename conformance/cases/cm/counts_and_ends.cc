// Finer rules of the connection manager: the counts that either side announces, and what an end leaves behind.
#include "conformance/cases/cm/exchange.h"

namespace fb::conformance {
namespace {

using cm::Attribute;
using rdma::CompletionStatus;
constexpr std::string_view kNoCounts = "the interface does not let its program choose retry counts";

}  // namespace

CONFORMANCE_CASE(a_req_carries_the_counts_of_its_program, "cm.active.req-counts", roles::requester, beyond_interfaces(kNoCounts)) {
  rdma::ConnectionParameters parameters;
  parameters.responder_resources = 3;
  parameters.initiator_depth = 5;
  parameters.retry_count = 4;
  parameters.rnr_retry_count = 2;
  bench.product().connect({bench.peer_address(), kNvmePort}, parameters);
  const auto req = bench.peer().wait_mad(Attribute::req, Duration::s(10));
  check.precondition(req.has_value(), "the product sent no connection request");
  const auto said = seen_as<cm::Req>(*req);
  check.equal("responder resources", +said.get(cm::req::responder_resources), 3);
  check.equal("initiator depth", +said.get(cm::req::initiator_depth), 5);
  check.equal("retry count", +said.get(cm::req::retry_count), 4);
  check.equal("RNR retry count", +said.get(cm::req::rnr_retry_count), 2);
}

CONFORMANCE_CASE(a_rep_carries_the_counts_of_its_program, "cm.rep.counts", roles::responder, beyond_interfaces(kNoCounts)) {
  const auto c = bench.connect_to_product({.responder_resources = 3, .initiator_depth = 5, .rnr_retry_count = 2});
  const auto said = seen_as<cm::Rep>(c.facts.reply);
  check.equal("responder resources", +said.get(cm::rep::responder_resources), 3);
  check.equal("RNR retry count", +said.get(cm::rep::rnr_retry_count), 2);
}

CONFORMANCE_CASE(the_rep_says_how_often_to_retry, "cm.active.rnr-of-rep", roles::requester,
                 beyond_interfaces("the interface has one status for all timeouts")) {
  for (const std::uint8_t retries : {std::uint8_t{1}, std::uint8_t{0}, std::uint8_t{3}, std::uint8_t{6}}) {
    bench.step("a REP with another RNR retry count");
    const auto c = bench.connect_from_product(RdmaBench::good_parameters(), {.responder_resources = 16, .rnr_retry_count = retries});
    bench.peer().inbox().clear();
    auto& memory = bench.product().memory(16);
    rdma::SendRequest request;
    request.id = 1;
    c.queue->post_send(request, memory, 0, 16);
    for (unsigned i = 0; i <= retries; ++i) {
      if (!next_packet(bench, check, "the request, again after an RNR NAK", "a SEND")) return;
      bench.peer().send(c.facts.acknowledge(c.facts.receive_psn, 0, roce::rnr_syndrome(1)));
    }
    const auto completion = c.queue->wait_send(kAnswerTime);
    check.require(completion.has_value(), "the request fails after " + std::to_string(retries) + " RNR retries", "no completion");
    check.equal("its status", completion->status, CompletionStatus::rnr_retry_exceeded);
  }
}

CONFORMANCE_CASE(receives_come_back_when_a_connection_ends, "cm.dreq.flushes", roles::responder) {
  const auto c = bench.connect_to_product({.receives = 3});
  bench.peer().send_mad(make_dreq(bench, c.facts));
  if (!mad_of(bench, check, Attribute::drep, "answer to the DREQ")) return;
  for (std::uint64_t id = 0; id < 3; ++id) {
    const auto completion = c.queue->wait_receive(kAnswerTime);
    check.require(completion.has_value(), "every receive comes back", "no receive completion");
    check.equal("the receive that comes back", completion->id, id);
    check.equal("its status", completion->status, CompletionStatus::flushed);
  }
}

}  // namespace fb::conformance
