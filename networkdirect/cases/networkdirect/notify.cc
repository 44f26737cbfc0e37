// Notifications of completion queues.
#include <array>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

/// A Notify of the passive side's queue, which may complete at once.
HRESULT notify(Check& check, NdSide& side, ULONG type, NdRequest& request) {
  const HRESULT called = side.queue->Notify(type, &request);
  check.require(called == ND_PENDING || called == ND_SUCCESS, "Notify is taken", "it answered " + words(NdStatus(called)));
  return called;
}

/// A side's queue gets another depth, if queues can.
void resized_where_possible(Check& check, NdSide& side, ULONG depth) {
  const ND2_ADAPTER_INFO info = side.end->info();
  if ((info.AdapterFlags & ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) == 0) return;
  arranged_by(check, "Resize", side.queue->Resize(std::min(depth, info.MaxCompletionQueueDepth)));
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

CONFORMANCE_CASE(nd_another_depth_loses_no_wake_up, "networkdirect.completion.notify-present", roles::provider) {
  for (const ULONG depth : {100u, 32u, 3u}) {
    NdRequest request;
    const auto c = bench.nd().connect();
    deliver(bench, check, *c, 3);
    resized_where_possible(check, c->b, depth);
    const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_ANY, request);
    says(check, "Notify of a queue that has got a depth of " + std::to_string(depth), ended(bench, called, request, *c->b.queue),
         {ND_SUCCESS});
  }
}

CONFORMANCE_CASE(nd_another_depth_keeps_a_notify, "networkdirect.completion.notify-any", roles::provider) {
  for (const ULONG depth : {100u, 32u, 3u}) {
    NdRequest request;
    const auto c = bench.nd().connect();
    const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_ANY, request);
    resized_where_possible(check, c->b, depth);
    deliver(bench, check, *c);
    says(check, "Notify before the queue has got a depth of " + std::to_string(depth), ended(bench, called, request, *c->b.queue),
         {ND_SUCCESS});
  }
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
  // Nor does a Send at its own side, whatever it solicits at the other.
  NdRequest own;
  const HRESULT waiting = notify(check, c->a, ND_CQ_NOTIFY_SOLICITED, own);
  ND2_SGE into = c->b.memory->sge(0, 64), out = c->a.memory->sge(0, 16);
  arranged_by(check, "Receive", c->b.qp->Receive(nullptr, &into, 1));
  arranged_by(check, "Send", c->a.qp->Send(nullptr, &out, 1, ND_OP_FLAG_SEND_AND_SOLICIT_EVENT));
  bench.nd().pass(kNdQuiet);
  still_pending(bench, check, "Notify for solicited completions at the side of a Send", waiting, own);
}

CONFORMANCE_CASE(nd_a_solicited_completion_is_told, "networkdirect.completion.notify-solicited", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_SOLICITED, request);
  deliver(bench, check, *c, 1, ND_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  says(check, "Notify for solicited completions", ended(bench, called, request, *c->b.queue), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_every_kind_of_send_may_solicit, "networkdirect.completion.notify-solicited", roles::provider) {
  struct Kind {
    std::string_view what;
    ULONG flags;
    bool shared;
  };
  NdEnd& end = bench.nd().b();
  const ULONG inlined = std::min<ULONG>(bench.nd().a().info().MaxInlineDataSize, 16);
  for (const Kind& kind : {Kind{"a Send of 16 bytes", 0, false}, Kind{"a Send into a shared Receive", 0, true},
                           Kind{"an inline Send", ND_OP_FLAG_INLINE, false}, Kind{"a Send behind a fence", ND_OP_FLAG_READ_FENCE, false},
                           Kind{"a silent Send", ND_OP_FLAG_SILENT_SUCCESS, false}}) {
    if (kind.shared && end.info().MaxSharedReceiveQueueDepth < 4) continue;
    NdRequest request;
    NdRef<IND2SharedReceiveQueue> shared;
    NdConnectTerms terms;
    terms.a.inline_bytes = inlined;
    if (kind.shared) {
      shared = end.shared_receive_queue(4);
      terms.b.shared = shared.get();
    }
    const auto c = bench.nd().connect(terms);
    ND2_SGE into = c->b.memory->sge(0, 64), out = c->a.memory->sge(0, (kind.flags & ND_OP_FLAG_INLINE) != 0 ? inlined : 16);
    arranged_by(check, "Receive", kind.shared ? shared->Receive(nd_tag(1), &into, 1) : c->b.qp->Receive(nd_tag(1), &into, 1));
    const HRESULT called = notify(check, c->b, ND_CQ_NOTIFY_SOLICITED, request);
    arranged_by(check, kind.what, c->a.qp->Send(nullptr, &out, 1, kind.flags | ND_OP_FLAG_SEND_AND_SOLICIT_EVENT));
    says(check, "Notify for solicited completions after " + std::string(kind.what), ended(bench, called, request, *c->b.queue),
         {ND_SUCCESS});
    ends_as(bench, check, c->b, "the Receive of " + std::string(kind.what), {ND_SUCCESS});
  }
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
