// Answers that pend, and their callbacks.
#include "conformance/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr NdkTerms kLater = {.answers = ndk::Answers::later};
constexpr NdkTerms kAtOnce = {.answers = ndk::Answers::at_once};

NdkCreation<NDK_PD>& create_domain(NdkBench& ndk) {
  NDK_ADAPTER* const adapter = ndk.a().adapter();
  return ndk.create<NDK_PD>([&](auto c, PVOID x, NDK_PD** p) { return adapter->Dispatch->NdkCreatePd(adapter, c, x, p); });
}

NdkAnswer& begin_register(NdkBench& ndk) {
  NdkMemory& memory = ndk.a().plain_memory(4096);
  NDK_MR* const region = ndk.a().region();
  return ndk.begin([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &memory.mdl, 4096, 0, c, x); });
}

}  // namespace

CONFORMANCE_CASE(ndk_a_pending_creation_leaves_the_pointer, "ndk.callbacks.create-place", roles::provider) {
  const auto& creation = create_domain(bench.ndk(kLater));
  check.precondition(creation.said == STATUS_PENDING && creation.calls == 1, "the creation pends");
  check.that(creation.place == nullptr, "the pointer that was given is as it was");
  check.that(creation.made() != nullptr, "the callback has the object");
}

CONFORMANCE_CASE(ndk_a_pending_creation_calls_once, "ndk.callbacks.create-once", roles::provider) {
  NdkBench& ndk = bench.ndk(kLater);
  const auto& creation = create_domain(ndk);
  ndk.pass(kNdkQuiet);
  check.precondition(creation.said == STATUS_PENDING, "the creation pends");
  check.equal("callbacks", creation.calls, 1);
}

CONFORMANCE_CASE(ndk_a_done_creation_calls_nobody, "ndk.callbacks.create-inline", roles::provider) {
  NdkBench& ndk = bench.ndk(kAtOnce);
  const auto& creation = create_domain(ndk);
  ndk.pass(kNdkQuiet);
  check.precondition(creation.said == STATUS_SUCCESS, "the creation does not pend");
  check.that(creation.place != nullptr, "the object is there");
  check.equal("callbacks", creation.calls, 0);
}

CONFORMANCE_CASE(ndk_a_pending_creation_ends, "ndk.callbacks.create-ends", roles::provider) {
  const auto& creation = create_domain(bench.ndk(kLater));
  check.that(creation.done(), "the creation ends", "it pends for ever");
  check.equal("status", creation.end(), NdkStatus(STATUS_SUCCESS));
}

CONFORMANCE_CASE(ndk_a_pending_request_calls_once, "ndk.callbacks.request-once", roles::provider) {
  NdkBench& ndk = bench.ndk(kLater);
  const NdkAnswer& answer = begin_register(ndk);
  ndk.finish(answer);
  ndk.pass(kNdkQuiet);
  check.precondition(answer.said == STATUS_PENDING, "the request pends");
  check.equal("callbacks", answer.calls, 1);
}

CONFORMANCE_CASE(ndk_a_done_request_calls_nobody, "ndk.callbacks.request-inline", roles::provider) {
  NdkBench& ndk = bench.ndk(kAtOnce);
  const NdkAnswer& answer = begin_register(ndk);
  ndk.pass(kNdkQuiet);
  check.precondition(answer.said == STATUS_SUCCESS, "the request does not pend");
  check.equal("callbacks", answer.calls, 0);
}

CONFORMANCE_CASE(ndk_a_pending_request_ends, "ndk.callbacks.request-ends", roles::provider) {
  NdkBench& ndk = bench.ndk(kLater);
  says(check, "NdkRegisterMr", ndk.finish(begin_register(ndk)), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_completions_come_at_dispatch_level, "ndk.callbacks.level", roles::provider) {
  NdkBench& ndk = bench.ndk(kLater);
  const auto& creation = create_domain(ndk);
  const NdkAnswer& answer = begin_register(ndk);
  ndk.finish(answer);
  check.precondition(creation.calls > 0 && answer.calls > 0, "both calls pend");
  check.that(creation.irql <= DISPATCH_LEVEL, "a creation calls back at DISPATCH_LEVEL or below", ndk::name_of_irql(creation.irql));
  check.that(answer.irql <= DISPATCH_LEVEL, "a request calls back at DISPATCH_LEVEL or below", ndk::name_of_irql(answer.irql));
}

CONFORMANCE_CASE(ndk_events_come_at_dispatch_level, "ndk.callbacks.event-level", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
  deliver(ndk, check, c);
  const NdkAnswer& leaving = ndk.close(c.a.connector);
  ndk.wait_until([&] { return c.b.disconnected > 0; });
  check.precondition(c.b.queue->notified > 0 && leaving.done(), "the events have come");
  check.that(c.b.queue->irql <= DISPATCH_LEVEL, "a notification comes at DISPATCH_LEVEL or below", ndk::name_of_irql(c.b.queue->irql));
  check.that(c.listening->irql <= DISPATCH_LEVEL, "a request to connect comes at DISPATCH_LEVEL or below",
             ndk::name_of_irql(c.listening->irql));
  check.that(c.b.event_irql <= DISPATCH_LEVEL, "a disconnect event comes at DISPATCH_LEVEL or below",
             ndk::name_of_irql(c.b.event_irql));
}

CONFORMANCE_CASE(ndk_a_callback_before_the_return_is_the_only_one, "ndk.callbacks.before-return", roles::provider) {
  NdkBench& ndk = bench.ndk({.answers = ndk::Answers::before_return});
  const NdkAnswer& answer = begin_register(ndk);
  ndk.pass(kNdkQuiet);
  check.precondition(answer.said == STATUS_PENDING, "the request pends");
  check.equal("callbacks", answer.calls, 1);
  check.equal("status", answer.end(), NdkStatus(STATUS_SUCCESS));
}

CONFORMANCE_CASE(ndk_a_refused_request_calls_nobody, "ndk.callbacks.request-refused", roles::provider) {
  NdkBench& ndk = bench.ndk(kAtOnce);
  const std::uint16_t port = ndk.fresh_port();
  ndk.a().listener(port);
  NDK_LISTENER* const other = ndk.a().idle_listener().listener;
  NdkAddress at(ndk.a().address(), port);
  const NdkAnswer& answer = ndk.begin([&](auto c, PVOID x) { return other->Dispatch->NdkListen(other, at.get(), at.length, c, x); });
  ndk.pass(kNdkQuiet);
  check.precondition(NdkStatus(answer.said).failed(), "NdkListen on a port that is in use is refused at once");
  check.equal("callbacks", answer.calls, 0);
}

CONFORMANCE_CASE(ndk_functions_may_be_called_at_dispatch_level, "ndk.callbacks.at-dispatch", roles::provider) {
  NdkBench& ndk = bench.ndk(kAtOnce);
  NdkConnection& c = ndk.connect();
  const std::size_t before = ndk.kernel().findings().size();
  {
    const ndk::IrqlRaiser raiser(ndk.kernel());
    NDK_MR* const region = ndk.a().region();
    NdkQueue& queue = ndk.a().queue();
    NDK_QP* const qp = ndk.a().queue_pair(queue);
    queue.arm(NDK_CQ_NOTIFY_ANY);
    queue.look();
    arranged_by(check, "NdkReceive", c.b.receive(1));
    arranged_by(check, "NdkSend", c.a.send(2));
    ndk.close(qp);
    ndk.close(queue.cq);
    ndk.close(region);
  }
  check.equal("findings of the kernel", ndk.kernel().findings().size() - before, std::size_t{0});
}

}  // namespace fb::conformance
