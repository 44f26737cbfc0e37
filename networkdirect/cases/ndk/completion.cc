// Completion queues: when they call back, what overruns, depths.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

NdkStatus resize(NdkBench& ndk, NdkQueue& queue, ULONG depth) {
  return ndk.request([&](auto c, PVOID x) { return queue.cq->Dispatch->NdkResizeCq(queue.cq, depth, c, x); });
}

NdkStatus moderate(NdkQueue& queue, ULONG interval_us, ULONG count) {
  return queue.cq->Dispatch->NdkControlCqInterruptModeration(queue.cq, interval_us, count);
}

/// The passive side's queue gets another depth, if queues can.
void resized_where_possible(NdkBench& ndk, Check& check, NdkConnection& c, ULONG depth) {
  if ((ndk.b().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) == 0) return;
  arranged_by(check, "NdkResizeCq", resize(ndk, *c.b.queue, std::min(depth, ndk.b().info().MaxCqDepth)));
}

/// A connection whose passive side has a queue of its own, with room for three.
NdkConnection& with_small_queue(NdkBench& ndk, Check& check) {
  NdkConnection& c = ndk.prepare();
  c.b.queue = &ndk.b().queue(3);
  c.b.qp = ndk.b().queue_pair(*c.b.queue);
  establish(ndk, check, c);
  return c;
}

/// The messages of deliver() have come, in their order.
void came_in_order(NdkBench& ndk, Check& check, NdkConnection& c, std::uintptr_t messages) {
  for (std::uintptr_t i = 0; i < messages; ++i) {
    const NDK_RESULT_EX result = next_result(ndk, check, c.b, "a Receive");
    check.that(result.RequestContext == ndk_tag(100 + i), "results come in their order");
  }
}

}  // namespace

CONFORMANCE_CASE(ndk_queues_have_a_greatest_depth, "ndk.cq.depth", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_ADAPTER* const adapter = ndk.a().adapter();
  const ULONG depth = ndk.a().info().MaxCqDepth + 1;
  check.precondition(depth != 0, "the depth has a limit");
  NdkQueue& nobodys = ndk.keep(std::make_unique<NdkQueue>());
  refused(check, "NdkCreateCq of more than MaxCqDepth",
          ndk.create<NDK_CQ>([&](auto c, PVOID x, NDK_CQ** p) {
               return adapter->Dispatch->NdkCreateCq(adapter, depth, &NdkQueue::on_notify, &nobodys, nullptr, c, x, p);
             })
              .end());
}

CONFORMANCE_CASE(ndk_an_armed_queue_calls_back, "ndk.cq.notify", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
  deliver(ndk, check, c);
  check.that(c.b.queue->notified > 0, "the queue calls back");
  says(check, "status of the callback", c.b.queue->status, {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_an_armed_queue_calls_back_once, "ndk.cq.notify-once", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
  deliver(ndk, check, c);
  check.equal("callbacks", c.b.queue->notified, 1);
}

CONFORMANCE_CASE(ndk_a_queue_is_armed_for_one_callback, "ndk.cq.notify-unarmed", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
  deliver(ndk, check, c);
  check.precondition(c.b.queue->notified == 1, "the queue has called back");
  deliver(ndk, check, c, 2);
  check.equal("callbacks", c.b.queue->notified, 1);
}

CONFORMANCE_CASE(ndk_arming_finds_what_is_there, "ndk.cq.arm-present", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  deliver(ndk, check, c);
  check.equal("callbacks of a queue that nobody armed", c.b.queue->notified, 0);
  c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
  ndk.pass(kNdkQuiet);
  check.equal("callbacks", c.b.queue->notified, 1);
}

CONFORMANCE_CASE(ndk_another_depth_keeps_what_is_untold, "ndk.cq.arm-present", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const ULONG depth : {100u, 32u, 3u}) {
    NdkConnection& c = ndk.connect();
    deliver(ndk, check, c, 3);
    resized_where_possible(ndk, check, c, depth);
    c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
    ndk.pass(kNdkQuiet);
    check.equal("callbacks of a queue that has got a depth of " + words(depth), c.b.queue->notified, 1);
  }
}

CONFORMANCE_CASE(ndk_another_depth_keeps_a_queue_armed, "ndk.cq.notify", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const ULONG depth : {100u, 32u, 3u}) {
    NdkConnection& c = ndk.connect();
    c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
    resized_where_possible(ndk, check, c, depth);
    deliver(ndk, check, c);
    check.that(c.b.queue->notified > 0, "the queue calls back after it has got a depth of " + words(depth));
  }
}

CONFORMANCE_CASE(ndk_plain_messages_solicit_nothing, "ndk.cq.arm-solicited", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.queue->arm(NDK_CQ_NOTIFY_SOLICITED);
  deliver(ndk, check, c);
  check.equal("callbacks", c.b.queue->notified, 0);
  // Nor does a Send at its own side, whatever it solicits at the other.
  c.a.queue->arm(NDK_CQ_NOTIFY_SOLICITED);
  arranged_by(check, "NdkReceive", c.b.receive(1));
  arranged_by(check, "NdkSend", c.a.send(1, 0, 16, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT));
  ndk.pass(kNdkQuiet);
  check.equal("callbacks at the side of a Send", c.a.queue->notified, 0);
}

CONFORMANCE_CASE(ndk_messages_may_solicit, "ndk.cq.solicited", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.queue->arm(NDK_CQ_NOTIFY_SOLICITED);
  deliver(ndk, check, c, 1, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  check.equal("callbacks", c.b.queue->notified, 1);
}

CONFORMANCE_CASE(ndk_success_is_no_error, "ndk.cq.arm-errors", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.queue->arm(NDK_CQ_NOTIFY_ERRORS);
  deliver(ndk, check, c, 1, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  check.equal("callbacks", c.b.queue->notified, 0);
}

CONFORMANCE_CASE(ndk_failures_are_solicited, "ndk.cq.arm-solicited-errors", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.a.queue->arm(NDK_CQ_NOTIFY_SOLICITED);
  arranged_by(check, "NdkSend", send_bad_token(c));
  ndk.pass(kNdkQuiet);
  check.equal("callbacks", c.a.queue->notified, 1);
}

CONFORMANCE_CASE(ndk_the_stronger_arm_wins, "ndk.cq.arm-stronger", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
  c.b.queue->arm(NDK_CQ_NOTIFY_SOLICITED);
  c.b.queue->arm(NDK_CQ_NOTIFY_ERRORS);
  deliver(ndk, check, c);
  check.equal("callbacks", c.b.queue->notified, 1);
}

CONFORMANCE_CASE(ndk_an_overrun_is_told, "ndk.cq.overrun", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = with_small_queue(ndk, check);
  c.b.queue->arm(NDK_CQ_NOTIFY_ERRORS);
  deliver(ndk, check, c, 6);
  check.that(c.b.queue->notified > 0, "the queue calls back");
}

CONFORMANCE_CASE(ndk_an_overrun_has_its_status, "ndk.cq.overrun-status", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = with_small_queue(ndk, check);
  c.b.queue->arm(NDK_CQ_NOTIFY_ERRORS);
  deliver(ndk, check, c, 6);
  check.precondition(c.b.queue->notified > 0, "the queue calls back");
  says(check, "status of the callback", c.b.queue->status, {STATUS_BUFFER_OVERFLOW});
}

CONFORMANCE_CASE(ndk_an_overrun_ends_connections, "ndk.cq.overrun-ends", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = with_small_queue(ndk, check);
  c.b.queue->arm(NDK_CQ_NOTIFY_ERRORS);
  deliver(ndk, check, c, 6);
  check.precondition(c.b.queue->notified > 0, "the queue calls back");
  check.that(ndk.wait_until([&] { return c.a.disconnected > 0; }), "the peer hears of it");
  // Of each queue pair whose results end there.
  NdkConnection &first = with_small_queue(ndk, check), &second = ndk.prepare();
  second.b.queue = first.b.queue;
  second.b.qp = ndk.b().queue_pair(*second.b.queue);
  establish(ndk, check, second);
  first.b.queue->arm(NDK_CQ_NOTIFY_ERRORS);
  deliver(ndk, check, second, 6);
  check.precondition(first.b.queue->notified > 0, "the queue calls back");
  check.that(ndk.wait_until([&] { return first.a.disconnected > 0 && second.a.disconnected > 0; }),
             "the peers of both queue pairs hear of it");
  // Of no other: a queue pair that was made when one of the queue's had been closed.
  NdkConnection &kept = ndk.prepare(), &lost = ndk.prepare();
  NdkQueue& tiny = ndk.b().queue(3);
  NDK_PD* const domain = ndk.b().pd();
  NDK_QP* const closed = ndk.make<NDK_QP>("NdkCreateQp", [&](auto done, PVOID x, NDK_QP** p) {
    return domain->Dispatch->NdkCreateQp(domain, kept.b.queue->cq, tiny.cq, nullptr, 16, 16, 2, 2, 0, done, x, p);
  });
  ndk.finish(ndk.close(closed));
  kept.b.qp = ndk.b().queue_pair(*kept.b.queue);
  lost.b.queue = &tiny;
  lost.b.qp = ndk.b().queue_pair(tiny);
  for (NdkConnection* one : {&kept, &lost}) establish(ndk, check, *one);
  tiny.arm(NDK_CQ_NOTIFY_ERRORS);
  deliver(ndk, check, lost, 6);
  check.precondition(tiny.notified > 0, "the queue calls back");
  deliver(ndk, check, kept, 3);
  came_in_order(ndk, check, kept, 3);
  check.equal("disconnect events of a queue pair that has another queue", kept.a.disconnected, 0);
}

CONFORMANCE_CASE(ndk_a_resized_queue_keeps_results, "ndk.cq.resize", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  deliver(ndk, check, c, 5);
  const NdkStatus status = resize(ndk, *c.b.queue, 32);
  check.precondition((ndk.b().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0, "queues get other depths");
  says(check, "NdkResizeCq", status, {STATUS_SUCCESS});
  came_in_order(ndk, check, c, 5);
}

CONFORMANCE_CASE(ndk_a_queue_does_not_shrink_below_its_contents, "ndk.cq.resize-small", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const ULONG depth : {2u, 1u, 4u, 5u}) {
    NdkConnection& c = ndk.connect();
    deliver(ndk, check, c, 5);
    resize(ndk, *c.b.queue, depth);
    came_in_order(ndk, check, c, 5);
    check.that(ndk.quiet(c.b, Duration::ms(1)), "there are no more results than messages", "there is another");
  }
}

CONFORMANCE_CASE(ndk_moderation_has_an_end, "ndk.cq.moderation-mix", roles::provider) {
  constexpr ULONG kInfinite = ~ULONG{0};
  says(check, "NdkControlCqInterruptModeration", moderate(bench.ndk().a().queue(), kInfinite, kInfinite), {STATUS_INVALID_PARAMETER_MIX});
}

CONFORMANCE_CASE(ndk_a_moderated_queue_waits, "ndk.cq.moderation", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  check.precondition((ndk.b().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED) != 0, "queues can be moderated");
  says(check, "NdkControlCqInterruptModeration", moderate(*c.b.queue, 500'000, 10), {STATUS_SUCCESS});
  for (int round = 0; round < 3; ++round) {
    c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
    deliver(ndk, check, c);
    check.equal("callbacks before the interval has passed", c.b.queue->notified, round);
    ndk.pass(Duration::ms(600));
    check.equal("callbacks afterwards", c.b.queue->notified, round + 1);
    c.b.queue->look();
  }
}

CONFORMANCE_CASE(ndk_a_result_has_its_bytes, "ndk.cq.bytes", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(1, 0, 4096));
  arranged_by(check, "NdkSend", c.a.send(2, 0, 777));
  check.equal("bytes that came", next_result(ndk, check, c.b, "the Receive").BytesTransferred, ULONG{777});
}

CONFORMANCE_CASE(ndk_a_result_has_its_context, "ndk.cq.context", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(31));
  arranged_by(check, "NdkSend", c.a.send(32));
  check.that(next_result(ndk, check, c.a, "the Send").RequestContext == ndk_tag(32), "the Send has its context");
  check.that(next_result(ndk, check, c.b, "the Receive").RequestContext == ndk_tag(31), "the Receive has its context");
}

CONFORMANCE_CASE(ndk_a_result_has_its_queue_pair, "ndk.cq.qp-context", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect({.a = {.context = ndk_tag(41)}, .b = {.context = ndk_tag(42)}});
  arranged_by(check, "NdkReceive", c.b.receive(1));
  arranged_by(check, "NdkSend", c.a.send(1));
  check.that(next_result(ndk, check, c.a, "the Send").QPContext == ndk_tag(41), "the Send has the context of its queue pair");
  check.that(next_result(ndk, check, c.b, "the Receive").QPContext == ndk_tag(42), "the Receive has the context of its queue pair");
}

CONFORMANCE_CASE(ndk_a_result_has_its_type, "ndk.cq.type", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const auto is = [&](NdkSide& side, std::string_view what, NDK_OPERATION_TYPE type) {
    check.equal("type of " + std::string(what), static_cast<int>(next_result(ndk, check, side, what).Type), static_cast<int>(type));
  };
  arranged_by(check, "NdkReceive", c.b.receive(1));
  arranged_by(check, "NdkSend", c.a.send(1));
  is(c.a, "the Send", NdkOperationTypeSend);
  is(c.b, "the Receive", NdkOperationTypeReceive);
  arranged_by(check, "NdkRead", c.a.read(1, 0, 16, c.b.memory->address(), c.b.memory->remote));
  is(c.a, "the Read", NdkOperationTypeRead);
  arranged_by(check, "NdkWrite", c.a.write(1, 0, 16, c.b.memory->address(), c.b.memory->remote));
  is(c.a, "the Write", NdkOperationTypeWrite);
}

CONFORMANCE_CASE(ndk_failures_fail, "ndk.cq.failure", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  refused(check, "a Write with a token that is none", access(ndk, check, c, false, c.b.memory->address(), c.b.memory->remote ^ 0x550000));
}

CONFORMANCE_CASE(ndk_a_resized_queue_has_a_greatest_depth, "ndk.cq.resize-limit", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkQueue& queue = ndk.a().queue();
  const ULONG most = ndk.a().info().MaxCqDepth;
  check.precondition(most + 1 != 0, "the depth has a limit");
  const bool resizes = (ndk.a().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0;
  for (int round = 0; round < 2; ++round) {
    if (resizes) says(check, "NdkResizeCq to MaxCqDepth", resize(ndk, queue, most), {STATUS_SUCCESS});
    refused(check, "NdkResizeCq to MaxCqDepth + 1", resize(ndk, queue, most + 1));
    if (resizes) says(check, "NdkResizeCq to one entry", resize(ndk, queue, 1), {STATUS_SUCCESS});
  }
}

CONFORMANCE_CASE(ndk_plain_results_tell_the_same, "ndk.cq.plain", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect({.b = {.context = ndk_tag(43)}});
  deliver(ndk, check, c);
  NDK_RESULT result = {};
  check.require(c.b.queue->cq->Dispatch->NdkGetCqResults(c.b.queue->cq, &result, 1) == 1, "there is a result");
  says(check, "the Receive", result.Status, {STATUS_SUCCESS});
  check.equal("bytes that came", result.BytesTransferred, ULONG{16});
  check.that(result.RequestContext == ndk_tag(100), "it has the context of its request");
  check.that(result.QPContext == ndk_tag(43), "it has the context of its queue pair");
}

CONFORMANCE_CASE(ndk_a_queue_may_be_armed_in_its_callback, "ndk.cq.arm-inside", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NdkQueue& queue = *c.b.queue;
  queue.then = [&] {
    queue.look();
    queue.arm(NDK_CQ_NOTIFY_ANY);
  };
  queue.arm(NDK_CQ_NOTIFY_ANY);
  deliver(ndk, check, c);
  deliver(ndk, check, c);
  check.equal("callbacks", queue.notified, 2);
  check.equal("results", queue.results.size(), std::size_t{2});
}

}  // namespace fb::conformance
