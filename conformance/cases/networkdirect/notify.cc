// Notifications of completion queues.
#include <array>

#include "conformance/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

/// A Notify of the passive side's queue, which may complete at once.
HRESULT notify(Check& check, NdSide& side, ULONG type, NdRequest& request) {
  const HRESULT called = side.queue->Notify(type, &request);
  check.require(called == ND_PENDING || called == ND_SUCCESS, "Notify is taken", "it answered " + words(NdStatus(called)));
  return called;
}

void still_pending(ProviderBench& bench, Check& check, std::string_view what, HRESULT called, NdRequest& request) {
  bench.nd().pass(kNdQuiet);
  check.that(called == ND_PENDING && request.pending(), std::string(what) + " is pending", "it has completed");
}

}  // namespace

CONFORMANCE_CASE(nd_a_completion_is_told, "networkdirect.completion.notify-any", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_ANY, request);
  still_pending(bench, check, "Notify on an idle queue", called, request);
  deliver(bench, check, *c);
  says(check, "Notify", ended(bench, called, request, *c->b.queue), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_no_wake_up_is_lost, "networkdirect.completion.notify-present", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  deliver(bench, check, *c);
  const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_ANY, request);
  says(check, "Notify with a completion there", ended(bench, called, request, *c->b.queue), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_one_completion_is_told_to_all, "networkdirect.completion.notify-all", roles::provider) {
  const auto c = bench.nd().connect();
  for (const std::size_t count : {std::size_t{3}, std::size_t{1}, std::size_t{4}, std::size_t{5}, std::size_t{17}}) {
    std::array<NdRequest, 17> requests;
    for (std::size_t i = 0; i < count; ++i) notify(check, c->b, ND_CQ_NOTIFY_ANY, requests[i]);
    deliver(bench, check, *c);
    for (std::size_t i = 0; i < count; ++i) {
      says(check, "one of " + std::to_string(count) + " calls of Notify", ended(bench, ND_PENDING, requests[i], *c->b.queue), {ND_SUCCESS});
    }
    next_result(bench, check, c->b, "the Receive");
  }
}

CONFORMANCE_CASE(nd_the_first_to_ask_is_told_first, "networkdirect.completion.notify-order", roles::provider) {
  std::array<NdRequest, 3> requests;
  const auto c = bench.nd().connect();
  for (NdRequest& request : requests) notify(check, c->b, ND_CQ_NOTIFY_ANY, request);
  deliver(bench, check, *c);
  const auto packets = c->b.end->packets(3);
  check.require(packets.size() == 3, "each request has a packet");
  for (std::size_t i = 0; i < 3; ++i) {
    check.that(packets[i].overlapped == &requests[i], "the packets are in the order of the requests");
  }
}

CONFORMANCE_CASE(nd_a_completion_is_told_once, "networkdirect.completion.notify-once", roles::provider) {
  NdRequest request, later;
  const auto c = bench.nd().connect();
  const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_ANY, request);
  deliver(bench, check, *c);
  says(check, "Notify", ended(bench, called, request, *c->b.queue), {ND_SUCCESS});
  still_pending(bench, check, "a later Notify", notify(check, c->b, ND_CQ_NOTIFY_ANY, later), later);
}

CONFORMANCE_CASE(nd_solicited_means_solicited, "networkdirect.completion.notify-solicited-only", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_SOLICITED, request);
  deliver(bench, check, *c);
  still_pending(bench, check, "Notify for solicited completions", called, request);
}

CONFORMANCE_CASE(nd_a_solicited_completion_is_told, "networkdirect.completion.notify-solicited", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_SOLICITED, request);
  deliver(bench, check, *c, 1, ND_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  says(check, "Notify for solicited completions", ended(bench, called, request, *c->b.queue), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_failure_is_solicited, "networkdirect.completion.notify-solicited-error", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  const HRESULT called = notify(check, c->a, ND_CQ_NOTIFY_SOLICITED, request);
  check.precondition(send_bad_token(*c) == ND_SUCCESS, "a Send with a bad token is taken");
  says(check, "Notify for solicited completions", ended(bench, called, request, *c->a.queue), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_errors_are_those_of_the_queue, "networkdirect.completion.notify-errors", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_ERRORS, request);
  deliver(bench, check, *c, 1, ND_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  still_pending(bench, check, "Notify for errors", called, request);
}

CONFORMANCE_CASE(nd_any_completion_tells_the_others_too, "networkdirect.completion.notify-upgrade", roles::provider) {
  NdRequest solicited, any;
  const auto c = bench.nd().connect();
  const HRESULT first = notify(check, c->b, ND_CQ_NOTIFY_SOLICITED, solicited);
  const HRESULT second = notify(check, c->b, ND_CQ_NOTIFY_ANY, any);
  deliver(bench, check, *c);
  says(check, "Notify for any completion", ended(bench, second, any, *c->b.queue), {ND_SUCCESS});
  says(check, "Notify for solicited completions", ended(bench, first, solicited, *c->b.queue), {ND_SUCCESS});
}

}  // namespace fb::conformance
