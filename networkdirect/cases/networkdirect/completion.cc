// Results of completion queues, their order, and queues of another depth.
#include <algorithm>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

std::unique_ptr<NdConnection> named_pairs(ProviderBench& bench) {
  NdConnectTerms terms;
  terms.a.context = nd_tag(0xA0);
  terms.b.context = nd_tag(0xB0);
  return bench.nd().connect(terms);
}

/// One message of 5 bytes; the results of both sides.
struct Exchange {
  Exchange(ProviderBench& bench, Check& check, NdConnection& c) {
    ND2_SGE into = c.b.memory->sge(0, 64), out = c.a.memory->sge(0, 5);
    arranged_by(check, "Receive", c.b.qp->Receive(nd_tag(11), &into, 1));
    arranged_by(check, "Send", c.a.qp->Send(nd_tag(22), &out, 1, 0));
    sent = next_result(bench, check, c.a, "the Send");
    received = next_result(bench, check, c.b, "the Receive");
  }
  ND2_RESULT sent, received;
};

/// A queue with five results that nobody has taken.
std::unique_ptr<NdConnection> five_results(ProviderBench& bench, Check& check) {
  auto c = bench.nd().connect();
  deliver(bench, check, *c, 5);
  return c;
}

/// Whether the queue can be resized; where not, it says so.
bool resizes(Check& check, NdSide& side) {
  if ((side.end->info().AdapterFlags & ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0) return true;
  says(check, "Resize of an adapter that cannot", side.queue->Resize(128), {ND_NOT_SUPPORTED});
  return false;
}

void five_are_there(ProviderBench& bench, Check& check, NdSide& side) {
  for (std::uintptr_t i = 0; i < 5; ++i) {
    const auto result = bench.nd().result(side, Duration::s(1));
    if (!check.that(result.has_value(), "every result is still there", "some are missing")) return;
    check.that(result->RequestContext == nd_tag(100 + i), "the results are in order");
  }
}

}  // namespace

CONFORMANCE_CASE(nd_results_are_taken_once, "networkdirect.completion.results-once", roles::provider) {
  const auto c = five_results(bench, check);
  five_are_there(bench, check, c->b);
  check.that(bench.nd().quiet(c->b), "nothing is left", "there are more results than requests");
}

CONFORMANCE_CASE(nd_an_affinity_is_said, "networkdirect.completion.affinity", roles::provider) {
  USHORT group = 0;
  KAFFINITY affinity = 0;
  says(check, "GetNotifyAffinity", bench.nd().a().completion_queue()->GetNotifyAffinity(&group, &affinity),
       {ND_SUCCESS, ND_NOT_SUPPORTED, ND_INVALID_PARAMETER});
}

CONFORMANCE_CASE(nd_a_result_says_how_much_came, "networkdirect.completion.result-bytes", roles::provider) {
  const auto c = bench.nd().connect();
  check.equal("BytesTransferred", Exchange(bench, check, *c).received.BytesTransferred, ULONG{5});
}

CONFORMANCE_CASE(nd_a_result_has_its_request, "networkdirect.completion.result-context", roles::provider) {
  const auto c = bench.nd().connect();
  const Exchange exchange(bench, check, *c);
  check.that(exchange.sent.RequestContext == nd_tag(22), "the result of the Send has its context");
  check.that(exchange.received.RequestContext == nd_tag(11), "the result of the Receive has its context");
}

CONFORMANCE_CASE(nd_a_result_has_its_queue_pair, "networkdirect.completion.result-pair", roles::provider) {
  const auto c = named_pairs(bench);
  const Exchange exchange(bench, check, *c);
  check.that(exchange.sent.QueuePairContext == nd_tag(0xA0), "the result of the Send has that of its queue pair");
  check.that(exchange.received.QueuePairContext == nd_tag(0xB0), "the result of the Receive has that of its queue pair");
}

CONFORMANCE_CASE(nd_a_result_has_its_type, "networkdirect.completion.result-type", roles::provider) {
  const auto c = bench.nd().connect();
  const Exchange exchange(bench, check, *c);
  check.equal("type of a Send", exchange.sent.RequestType, Nd2RequestTypeSend);
  check.equal("type of a Receive", exchange.received.RequestType, Nd2RequestTypeReceive);
  ND2_SGE mine = c->a.memory->sge(0, 16);
  const UINT64 there = c->b.memory->address();
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  const auto window = c->a.end->window();
  const auto type = [&](std::string_view what, HRESULT called, ND2_REQUEST_TYPE expected) {
    check.require(called == ND_SUCCESS, std::string(what) + " is taken");
    check.equal(std::string("type of ").append(what), next_result(bench, check, c->a, what).RequestType, expected);
  };
  type("a Read", c->a.qp->Read(nullptr, &mine, 1, there, token, 0), Nd2RequestTypeRead);
  type("a Write", c->a.qp->Write(nullptr, &mine, 1, there, token, 0), Nd2RequestTypeWrite);
  type("a Bind", c->a.qp->Bind(nullptr, c->a.memory->region.get(), window.get(), c->a.memory->bytes.data(), 64, ND_OP_FLAG_ALLOW_READ),
       Nd2RequestTypeBind);
  type("an Invalidate", c->a.qp->Invalidate(nullptr, window.get(), 0), Nd2RequestTypeInvalidate);
}

CONFORMANCE_CASE(nd_a_failure_is_not_a_success, "networkdirect.completion.result-failure", roles::provider) {
  const auto c = bench.nd().connect();
  check.precondition(send_bad_token(*c) == ND_SUCCESS, "a Send with a bad token is taken");
  ends_badly(bench, check, c->a, "a Send with a bad token");
}

CONFORMANCE_CASE(nd_requests_complete_in_order, "networkdirect.completion.order-initiator", roles::provider) {
  const auto c = bench.nd().connect();
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  for (std::uintptr_t i = 0; i < 8; ++i) {
    ND2_SGE mine = c->a.memory->sge(i * 4096, 4096);
    const UINT64 there = c->b.memory->address(i * 4096);
    arranged_by(check, "a request",
                i % 2 == 0 ? c->a.qp->Read(nd_tag(i), &mine, 1, there, token, 0) : c->a.qp->Write(nd_tag(i), &mine, 1, there, token, 0));
  }
  bench.nd().pass(kNdQuiet);
  for (std::uintptr_t i = 0; i < 8; ++i) {
    check.that(next_result(bench, check, c->a, "a request").RequestContext == nd_tag(i), "requests complete as they were posted");
  }
}

CONFORMANCE_CASE(nd_receives_complete_in_order, "networkdirect.completion.order-receives", roles::provider) {
  const auto c = five_results(bench, check);
  five_are_there(bench, check, c->b);
}

CONFORMANCE_CASE(nd_silence_is_kept, "networkdirect.completion.silent", roles::provider) {
  const auto c = bench.nd().connect();
  const UINT64 there = c->b.memory->address();
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  ND2_SGE mine = c->a.memory->sge(0, 16);
  for (std::uintptr_t i = 0; i < 4; ++i) {
    const ULONG flags = i < 3 ? ND_OP_FLAG_SILENT_SUCCESS : 0;
    arranged_by(check, "Write", c->a.qp->Write(nd_tag(i), &mine, 1, there, token, flags));
  }
  check.that(next_result(bench, check, c->a, "the last Write").RequestContext == nd_tag(3), "the first result is that of the last Write");
  check.that(bench.nd().quiet(c->a), "there is no other", "there are results of silent requests");
}

CONFORMANCE_CASE(nd_failures_are_not_silent, "networkdirect.completion.silent-failure", roles::provider) {
  const auto c = bench.nd().connect();
  check.precondition(send_bad_token(*c, ND_OP_FLAG_SILENT_SUCCESS) == ND_SUCCESS, "a Send with a bad token is taken");
  ends_badly(bench, check, c->a, "a silent Send with a bad token");
}

CONFORMANCE_CASE(nd_no_completion_is_dropped, "networkdirect.completion.overrun", roles::provider) {
  NdRequest request;
  NdConnectTerms terms;
  terms.queue_depth = 1;
  terms.a.depth = std::min<ULONG>(600, bench.nd().a().info().MaxInitiatorQueueDepth);
  const auto c = bench.nd().connect(terms);
  const UINT64 there = c->b.memory->address();
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  ULONG posted = 0;
  for (; posted < 600 && c->a.qp->Write(nullptr, nullptr, 0, there, token, 0) == ND_SUCCESS; ++posted) {
    bench.nd().pass(Duration::us(50));
  }
  bench.nd().pass(kNdQuiet);
  const HRESULT called = c->a.queue->Notify(ND_CQ_NOTIFY_ANY, &request);
  if (ended(bench, called, request, *c->a.queue) == ND_BUFFER_OVERFLOW) return void(check.that(true, "the overrun is said"));
  ULONG found = 0;
  while (found <= posted && bench.nd().result(c->a, Duration::s(1))) ++found;
  check.equal("results of a queue that says nothing of an overrun", found, posted);
}

CONFORMANCE_CASE(nd_another_depth_loses_nothing, "networkdirect.completion.resize-keeps", roles::provider) {
  const auto c = five_results(bench, check);
  if (!resizes(check, c->b)) return;
  says(check, "Resize", c->b.queue->Resize(128), {ND_SUCCESS});
  five_are_there(bench, check, c->b);
}

CONFORMANCE_CASE(nd_a_depth_that_is_too_small_is_refused, "networkdirect.completion.resize-small", roles::provider) {
  const auto c = five_results(bench, check);
  if (!resizes(check, c->b)) return;
  says(check, "Resize below what is there", c->b.queue->Resize(4), {ND_BUFFER_OVERFLOW});
  five_are_there(bench, check, c->b);
}

CONFORMANCE_CASE(nd_another_depth_has_its_limit, "networkdirect.completion.resize-limit", roles::provider) {
  const auto c = bench.nd().prepare();
  if (!resizes(check, c->b)) return;
  says(check, "Resize over the limit", c->b.queue->Resize(c->b.end->info().MaxCompletionQueueDepth + 1), {ND_INVALID_PARAMETER});
}

}  // namespace fb::conformance
