// Answers that pend, and their callbacks.
#include "networkdirect/cases/ndk/scene.h"

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
  check.that(c.b.event_irql <= DISPATCH_LEVEL, "a disconnect event comes at DISPATCH_LEVEL or below", ndk::name_of_irql(c.b.event_irql));
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
  const std::size_t before = ndk.kernel().findings().size();
  const auto judge = [&](std::string_view what) {
    check.equal("findings of the kernel after " + std::string(what), ndk.kernel().findings().size() - before, std::size_t{0});
  };
  const ndk::IrqlRaiser raiser(ndk.kernel());
  NdkEnd &a = ndk.a(), &b = ndk.b();
  NDK_ADAPTER* const adapter = a.adapter();
  // Each kind of object is made, used and closed.
  NdkConnection& c = ndk.prepare();
  NdkShared& shared = a.shared_receive_queue(8);
  c.a.connector->Dispatch->NdkQueryExtension(&c.a.connector->Header, nullptr, {1, 0}, nullptr);
  judge("the creation of every object");
  arranged_by(check, "NdkConnect", ndk.begin_connect(c).said);
  check.require(ndk.asked(c), "the request reaches the listener");
  ULONG length = 0;
  c.b.connector->Dispatch->NdkGetConnectionData(c.b.connector, nullptr, nullptr, nullptr, &length);
  for (const NdkSide* side : {&c.a, &c.b}) {
    NdkAddress found;
    side->connector->Dispatch->NdkGetLocalAddress(side->connector, found.get(), &found.length);
    side->connector->Dispatch->NdkGetPeerAddress(side->connector, found.get(), &found.length);
  }
  NdkAddress listening;
  c.listening->listener->Dispatch->NdkGetLocalAddress(c.listening->listener, listening.get(), &listening.length);
  arranged_by(check, "NdkAccept", ndk.begin_accept(c).said);
  check.require(ndk.finish(*c.connecting) == STATUS_SUCCESS, "NdkConnect completes with STATUS_SUCCESS");
  check.require(ndk.finish(ndk.begin_complete(c)) == STATUS_SUCCESS, "NdkCompleteConnect completes with STATUS_SUCCESS");
  judge("the making of a connection");

  NdkMemory& memory = a.plain_memory(2 * PAGE_SIZE);
  NDK_MR* const region = a.region();
  const auto registered = [&](auto done, PVOID x) {
    return region->Dispatch->NdkRegisterMr(region, &memory.mdl, memory.bytes.size(), kNdkAllRights, done, x);
  };
  arranged_by(check, "NdkRegisterMr", ndk.request(registered));
  region->Dispatch->NdkGetLocalTokenFromMr(region);
  region->Dispatch->NdkGetRemoteTokenFromMr(region);
  UINT32 privileged = 0;
  a.pd()->Dispatch->NdkGetPrivilegedMemoryRegionToken(a.pd(), &privileged);
  NdkLam& lam = mapped(ndk, check, a, &memory.mdl, memory.bytes.size());
  NDK_MR* const fast = a.fast_region();
  NDK_MW* const window = a.window();
  judge("the calls on memory");

  NDK_QP* const qp = c.a.qp;
  arranged_by(check, "NdkReceive", c.b.receive(1));
  arranged_by(check, "NdkReceive", c.b.receive(2));
  arranged_by(check, "NdkSend", c.a.send(3));
  arranged_by(check, "NdkRead", c.a.read(4, 0, 16, c.b.memory->address(), c.b.memory->remote));
  arranged_by(check, "NdkWrite", c.a.write(5, 0, 16, c.b.memory->address(), c.b.memory->remote));
  arranged_by(check, "NdkBind", qp->Dispatch->NdkBind(qp, ndk_tag(6), region, window, memory.at(0), 64, NDK_OP_FLAG_ALLOW_REMOTE_READ));
  arranged_by(check, "NdkInvalidate", qp->Dispatch->NdkInvalidate(qp, ndk_tag(7), &window->Header, 0));
  window->Dispatch->NdkGetRemoteTokenFromMw(window);
  arranged_by(check, "NdkFastRegister",
              qp->Dispatch->NdkFastRegister(qp, ndk_tag(8), fast, lam.count(), lam.pages(), lam.offset, memory.bytes.size(),
                                            ndk_tag(0x7000'0000 + lam.offset), NDK_OP_FLAG_ALLOW_REMOTE_READ));
  arranged_by(check, "NdkSendAndInvalidate",
              qp->Dispatch->NdkSendAndInvalidate(qp, ndk_tag(9), nullptr, 0, 0, c.b.memory->remote ^ 0x5500));
  const NDK_SGE piece = c.a.memory->sge(0, 64);
  arranged_by(check, "NdkSrqReceive", shared.srq->Dispatch->NdkSrqReceive(shared.srq, ndk_tag(10), &piece, 1));
  ndk.request([&](auto done, PVOID x) { return shared.srq->Dispatch->NdkModifySrq(shared.srq, 12, 0, done, x); });
  NDK_CQ* const cq = c.a.queue->cq;
  cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
  cq->Dispatch->NdkControlCqInterruptModeration(cq, 0, 0);
  ndk.request([&](auto done, PVOID x) { return cq->Dispatch->NdkResizeCq(cq, 80, done, x); });
  NDK_RESULT plain;
  NDK_RESULT_EX extended;
  cq->Dispatch->NdkGetCqResults(cq, &plain, 1);
  cq->Dispatch->NdkGetCqResultsEx(cq, &extended, 1);
  judge("the calls on queues");

  qp->Dispatch->NdkFlush(qp);
  ndk.request([&](auto done, PVOID x) { return c.b.connector->Dispatch->NdkDisconnect(c.b.connector, done, x); });
  ndk.request([&](auto done, PVOID x) { return region->Dispatch->NdkDeregisterMr(region, done, x); });
  c.listening->listener->Dispatch->NdkControlConnectEvents(c.listening->listener, 1);
  adapter->Dispatch->NdkReleaseLAM(adapter, lam.get());
  NDK_CONNECTOR* const refused_one = b.connector();
  refused_one->Dispatch->NdkReject(refused_one, nullptr, 0);
  const auto close = [&](auto* object) { ndk.finish(ndk.close(object)); };
  close(c.a.connector);
  close(c.b.connector);
  close(qp);
  close(c.b.qp);
  close(shared.srq);
  close(window);
  close(fast);
  close(region);
  close(c.listening->listener);
  close(a.endpoint(0));
  close(cq);
  judge("the end of every object");
}

}  // namespace fb::conformance
