// The close of objects: it never fails, it may wait for others, and it ends what pends.
#include <array>

#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr NdkTerms kLater = {.answers = ndk::Answers::later};
constexpr NdkTerms kAtOnce = {.answers = ndk::Answers::at_once};

}  // namespace

CONFORMANCE_CASE(ndk_a_close_does_not_fail, "ndk.close.status", roles::provider) {
  NdkBench& ndk = bench.ndk(kAtOnce);
  NdkEnd& end = ndk.a();
  // Objects that nothing was done with, and those of a connection with requests outstanding; what others stand on goes last, then
  // first.
  for (const bool antecedents_first : {false, true}) {
    NdkConnection& c = ndk.connect();
    for (std::uintptr_t i = 0; i < 3; ++i) arranged_by(check, "NdkReceive", c.a.receive(i));
    NDK_PD* const domain = another_domain(ndk, end);
    NDK_MR* const plain = region_of(ndk, domain, false);
    NDK_MR* const fast = region_of(ndk, domain, true);
    NDK_MW* const window = window_of(ndk, domain);
    NDK_SRQ* const shared = shared_queue_of(ndk, domain);
    NdkQueue& queue = end.queue();
    NDK_QP* const qp = end.queue_pair(queue);
    std::vector<std::pair<std::string_view, const NdkAnswer*>> closes;
    const auto close = [&](std::string_view what, auto* object) { closes.emplace_back(what, &ndk.close(object)); };
    if (antecedents_first) {
      close("NdkClosePd", domain);
      close("NdkCloseCq", queue.cq);
      close("NdkCloseQp of a connection", c.a.qp);
    }
    close("NdkCloseConnector", end.connector());
    close("NdkCloseConnector of a connection", c.a.connector);
    close("NdkCloseListener", end.idle_listener().listener);
    close("NdkCloseListener of one that listens", end.listener(ndk.fresh_port()).listener);
    close("NdkCloseSharedEndpoint", end.endpoint(0));
    close("NdkCloseQp", qp);
    close("NdkCloseMr", plain);
    close("NdkCloseMr of a fast region", fast);
    close("NdkCloseMw", window);
    close("NdkCloseSrq", shared);
    if (!antecedents_first) {
      close("NdkCloseQp of a connection", c.a.qp);
      close("NdkCloseCq", queue.cq);
      close("NdkClosePd", domain);
    }
    for (const auto& [what, answer] : closes) {
      says(check, what, answer->said, {STATUS_SUCCESS, STATUS_PENDING});
      ndk.finish(*answer);
      check.that(answer->done(), std::string(what) + " ends", "it pends for ever");
      check.equal("callbacks of " + std::string(what), answer->calls, answer->said == STATUS_PENDING ? 1 : 0);
    }
  }
}

CONFORMANCE_CASE(ndk_a_domain_closes_after_its_regions, "ndk.close.dependants", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_MR* const region = ndk.a().region();
  NDK_MW* const window = ndk.a().window();
  const NdkAnswer& domain = ndk.close(ndk.a().pd());
  says(check, "NdkClosePd with a region", domain.said, {STATUS_PENDING});
  ndk.pass(kNdkQuiet);
  check.equal("callbacks before the region is closed", domain.calls, 0);
  ndk.finish(ndk.close(region));
  ndk.pass(kNdkQuiet);
  check.equal("callbacks before the window is closed", domain.calls, 0);
  ndk.close(window);
  ndk.finish(domain);
  check.equal("callbacks at last", domain.calls, 1);
}

CONFORMANCE_CASE(ndk_a_queue_closes_after_its_queue_pairs, "ndk.close.queue", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkQueue& queue = ndk.a().queue();
  NDK_QP* const qp = ndk.a().queue_pair(queue);
  const NdkAnswer& closing = ndk.close(queue.cq);
  says(check, "NdkCloseCq with a queue pair", closing.said, {STATUS_PENDING});
  ndk.pass(kNdkQuiet);
  check.equal("callbacks before the queue pair is closed", closing.calls, 0);
  ndk.close(qp);
  ndk.finish(closing);
  check.equal("callbacks at last", closing.calls, 1);
}

CONFORMANCE_CASE(ndk_a_pending_close_calls_once, "ndk.close.once", roles::provider) {
  NdkBench& ndk = bench.ndk(kLater);
  const NdkAnswer& closing = ndk.close(ndk.a().region());
  ndk.finish(closing);
  ndk.pass(kNdkQuiet);
  check.precondition(closing.said == STATUS_PENDING, "the close pends");
  check.equal("callbacks", closing.calls, 1);
}

CONFORMANCE_CASE(ndk_a_done_close_calls_nobody, "ndk.close.inline", roles::provider) {
  NdkBench& ndk = bench.ndk(kAtOnce);
  const NdkAnswer& closing = ndk.close(ndk.a().region());
  ndk.pass(kNdkQuiet);
  check.precondition(closing.said == STATUS_SUCCESS, "the close does not pend");
  check.equal("callbacks", closing.calls, 0);
}

CONFORMANCE_CASE(ndk_a_pending_close_ends, "ndk.close.ends", roles::provider) {
  NdkBench& ndk = bench.ndk(kLater);
  NdkEnd& end = ndk.a();
  const auto ends = [&](std::string_view what, auto* object) {
    const NdkAnswer& closing = ndk.close(object);
    ndk.finish(closing);
    check.that(closing.done(), std::string(what) + " ends", "it pends for ever");
  };
  ends("NdkCloseMr", end.region());
  ends("NdkCloseMr of a fast region", end.fast_region());
  ends("NdkCloseMw", end.window());
  ends("NdkCloseSharedEndpoint", end.endpoint(0));
  ends("NdkCloseListener", end.listener(ndk.fresh_port()).listener);
  ends("NdkCloseConnector", end.connector());
  ends("NdkCloseSrq", end.shared_receive_queue().srq);
  NdkQueue& queue = end.queue();
  ends("NdkCloseQp", end.queue_pair(queue));
  ends("NdkCloseCq", queue.cq);
  ends("NdkClosePd", another_domain(ndk, end));
}

CONFORMANCE_CASE(ndk_a_close_ends_what_pends, "ndk.close.cancels", roles::provider) {
  NdkBench& ndk = bench.ndk();
  enum class Call : std::uint8_t { connect, accept, complete, disconnect };
  constexpr std::array<std::string_view, 4> kNames = {"NdkConnect", "NdkAccept", "NdkCompleteConnect", "NdkDisconnect"};
  for (const Call call : {Call::connect, Call::accept, Call::complete, Call::disconnect}) {
    const std::string name(kNames[static_cast<std::size_t>(call)]);
    NdkConnection& c = call == Call::disconnect ? ndk.connect() : call == Call::complete ? ndk.reply() : ndk.ask();
    NDK_CONNECTOR* const connector = call == Call::accept ? c.b.connector : c.a.connector;
    NdkAnswer* pending = c.connecting;
    if (call == Call::accept) pending = &ndk.begin_accept(c);
    if (call == Call::complete) pending = &ndk.begin_complete(c);
    if (call == Call::disconnect) {
      pending = &ndk.begin([&](auto done, PVOID x) { return connector->Dispatch->NdkDisconnect(connector, done, x); });
    }
    if (call == Call::connect) check.precondition(!pending->done(), "NdkConnect pends");
    if (pending->done()) continue;
    int ended_before = 0;
    NdkAnswer& closing = ndk.close(connector);
    closing.then = [&] { ended_before = pending->calls; };
    ndk.finish(closing);
    check.require(closing.done(), "the close of a connector whose " + name + " pends ends", "it pends for ever");
    if (call == Call::connect) refused(check, "the NdkConnect that pended", pending->end());
    ndk.pass(kNdkQuiet);
    check.equal("callbacks of the " + name + " that pended", pending->calls, 1);
    check.that(closing.said != STATUS_PENDING || ended_before == 1, name + " ends before the close does");
    closing.then = nullptr;
  }
}

CONFORMANCE_CASE(ndk_a_closed_queue_pair_cancels, "ndk.close.flushes", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  for (std::uintptr_t i = 0; i < 3; ++i) arranged_by(check, "NdkReceive", c.b.receive(20 + i));
  const NdkAnswer& closing = ndk.close(c.b.qp);
  for (std::uintptr_t i = 0; i < 3; ++i) {
    const NDK_RESULT_EX result = next_result(ndk, check, c.b, "a Receive");
    says(check, "a Receive", result.Status, {STATUS_CANCELLED});
    check.that(result.RequestContext == ndk_tag(20 + i), "Receives are cancelled in their order");
  }
  ndk.finish(closing);
  check.that(closing.done(), "the close of the queue pair ends");
}

CONFORMANCE_CASE(ndk_an_object_may_be_closed_in_its_callback, "ndk.close.inside", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  const NdkAnswer* closing = nullptr;
  bool inside = true, ended_inside = false;
  NdkAnswer& connecting = ndk.begin_connect(c);
  connecting.then = [&] {
    closing = &ndk.close(c.a.connector);
    ended_inside = inside && closing->calls > 0;
  };
  check.precondition(ndk.asked(c), "the request reaches the listener");
  arranged_by(check, "NdkReject", c.b.connector->Dispatch->NdkReject(c.b.connector, nullptr, 0));
  ndk.finish(connecting);
  inside = false;
  check.precondition(closing != nullptr, "NdkConnect calls back");
  says(check, "NdkCloseConnector inside of its callback", closing->said, {STATUS_PENDING});
  check.that(!ended_inside, "the close ends after the callback has returned");
  ndk.finish(*closing);
  check.equal("callbacks of the close", closing->calls, 1);
}

CONFORMANCE_CASE(ndk_a_closed_queue_calls_nobody, "ndk.close.last", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkQueue& queue = ndk.a().queue();
  queue.arm(NDK_CQ_NOTIFY_ANY);
  const NdkAnswer& closing = ndk.close(queue.cq);
  ndk.finish(closing);
  check.precondition(closing.done(), "the close ends");
  const int before = queue.notified;
  ndk.pass(kNdkQuiet);
  check.equal("callbacks after the close", queue.notified - before, 0);
}

}  // namespace fb::conformance
