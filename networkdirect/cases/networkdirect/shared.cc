// Shared receive queues.
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

constexpr ULONG kDepth = 8;

/// A shared queue at the passive side, and a connection whose Receives come from it.
struct Scene {
  explicit Scene(ProviderBench& b, ULONG threshold = 0) : bench(b), shared(b.nd().b().shared_receive_queue(kDepth, threshold)) {
    NdConnectTerms terms;
    terms.b.shared = shared.get();
    terms.b.context = nd_tag(0xB0);
    c = b.nd().connect(terms);
  }
  HRESULT post(std::uintptr_t tag) {
    ND2_SGE into = c->b.memory->sge(0, 64);
    return shared->Receive(nd_tag(tag), &into, 1);
  }
  void posted(Check& check, int count) {
    for (int i = 0; i < count; ++i) {
      const HRESULT called = post(static_cast<std::uintptr_t>(i));
      check.require(called == ND_SUCCESS, "a shared Receive is taken", "it answered " + words(NdStatus(called)));
    }
  }
  /// So many Receives are used up.
  void used(Check& check, int count) {
    for (int i = 0; i < count; ++i) {
      arranged_by(check, "Send", c->a.qp->Send(nullptr, nullptr, 0, ND_OP_FLAG_SILENT_SUCCESS));
      ends_as(bench, check, c->b, "a shared Receive", {ND_SUCCESS});
    }
    bench.nd().pass(kNdQuiet);
  }
  void waits(Check& check, NdRequest& request) {
    check.require(says(check, "Notify", shared->Notify(&request), {ND_PENDING, ND_SUCCESS}), "Notify is taken");
  }

  ProviderBench& bench;
  NdRequest first, second;
  NdRef<IND2SharedReceiveQueue> shared;
  std::unique_ptr<NdConnection> c;
};

}  // namespace

CONFORMANCE_CASE(nd_a_shared_receive_is_told_apart, "networkdirect.shared.context", roles::provider) {
  Scene s(bench);
  check.require(s.post(41) == ND_SUCCESS, "a shared Receive is taken");
  arranged_by(check, "Send", s.c->a.qp->Send(nullptr, nullptr, 0, 0));
  const ND2_RESULT result = next_result(bench, check, s.c->b, "a shared Receive");
  check.that(result.RequestContext == nd_tag(41), "the result has the context of the Receive");
  check.that(result.QueuePairContext == nd_tag(0xB0), "the result has the context of the queue pair");
}

CONFORMANCE_CASE(nd_a_full_shared_queue_refuses, "networkdirect.shared.full", roles::provider) {
  Scene s(bench);
  const ULONG most = s.c->b.end->info().MaxSharedReceiveQueueDepth + 1;
  ULONG posted = 0;
  HRESULT called = ND_SUCCESS;
  while (posted < most && (called = s.post(1)) == ND_SUCCESS) ++posted;
  check.that(posted >= kDepth, "the queue takes as many as it was made for");
  says(check, "Receive to a full shared queue", called, {ND_NO_MORE_ENTRIES});
}

CONFORMANCE_CASE(nd_buffers_of_shared_receives_are_counted, "networkdirect.shared.many-buffers", roles::provider) {
  Scene s(bench);
  const std::vector<ND2_SGE> buffers(2 * s.c->b.end->info().MaxReceiveSge + 8, s.c->b.memory->sge(0, 1));
  says(check, "shared Receive with too many buffers", s.shared->Receive(nullptr, buffers.data(), static_cast<ULONG>(buffers.size())),
       {ND_DATA_OVERRUN});
}

CONFORMANCE_CASE(nd_bytes_of_shared_receives_are_counted, "networkdirect.shared.many-bytes", roles::provider) {
  Scene s(bench);
  ND2_SGE into[] = {s.c->b.memory->sge(0, s.c->b.end->info().MaxTransferLength), s.c->b.memory->sge(0, 64)};
  says(check, "shared Receive of too many bytes", s.shared->Receive(nullptr, into, 2), {ND_BUFFER_OVERFLOW});
}

CONFORMANCE_CASE(nd_low_receives_are_told, "networkdirect.shared.threshold", roles::provider) {
  Scene s(bench, 3);
  s.posted(check, 6);
  s.waits(check, s.first);
  s.used(check, 3);
  check.that(s.first.pending(), "Notify is pending at the threshold", "it has completed");
  s.used(check, 1);
  says(check, "Notify below the threshold", ended(bench, ND_PENDING, s.first, *s.shared), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_enough_receives_are_not_told, "networkdirect.shared.above", roles::provider) {
  Scene s(bench, 3);
  s.posted(check, 6);
  const HRESULT called = s.shared->Notify(&s.first);
  bench.nd().pass(kNdQuiet);
  check.that(called == ND_PENDING && s.first.pending(), "Notify is pending above the threshold", "it has completed");
}

CONFORMANCE_CASE(nd_low_receives_are_told_to_all, "networkdirect.shared.notify-all", roles::provider) {
  Scene s(bench, 3);
  s.posted(check, 3);
  s.waits(check, s.first);
  s.waits(check, s.second);
  s.used(check, 1);
  says(check, "the first Notify", ended(bench, ND_PENDING, s.first, *s.shared), {ND_SUCCESS});
  says(check, "the second Notify", ended(bench, ND_PENDING, s.second, *s.shared), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_shared_notify_is_cancelled, "networkdirect.shared.cancel", roles::provider) {
  Scene s(bench, 3);
  s.posted(check, 6);
  check.precondition(s.shared->Notify(&s.first) == ND_PENDING, "Notify is pending");
  s.shared->CancelOverlappedRequests();
  says(check, "Notify", ended(bench, ND_PENDING, s.first, *s.shared), {ND_CANCELED});
}

CONFORMANCE_CASE(nd_a_shared_queue_keeps_what_is_posted, "networkdirect.shared.shrink", roles::provider) {
  Scene s(bench);
  s.posted(check, 5);
  says(check, "Modify below what is posted", s.shared->Modify(4, 0), {ND_BUFFER_OVERFLOW});
}

CONFORMANCE_CASE(nd_a_shared_queue_grows_to_its_limit, "networkdirect.shared.modify-limit", roles::provider) {
  Scene s(bench);
  const ULONG most = s.c->b.end->info().MaxSharedReceiveQueueDepth;
  says(check, "Modify over the limit", s.shared->Modify(most + 1, 0), {ND_INVALID_PARAMETER, ND_INVALID_PARAMETER_1});
}

CONFORMANCE_CASE(nd_a_depth_of_none_changes_nothing, "networkdirect.shared.modify-keeps", roles::provider) {
  Scene s(bench, 1);
  says(check, "Modify of the threshold", s.shared->Modify(0, 2), {ND_SUCCESS});
  s.posted(check, static_cast<int>(kDepth));
}

CONFORMANCE_CASE(nd_another_threshold_counts, "networkdirect.shared.modify-threshold", roles::provider) {
  // With the depth as it is, said and unsaid, and with others.
  const ULONG deeper = std::min<ULONG>(bench.nd().b().info().MaxSharedReceiveQueueDepth, 12);
  for (const ULONG depth : {ULONG{0}, kDepth, deeper, ULONG{6}}) {
    Scene s(bench, 1);
    s.posted(check, 6);
    s.waits(check, s.first);
    const std::string with = " with a depth of " + std::to_string(depth);
    says(check, "Modify of the threshold" + with, s.shared->Modify(depth, 5), {ND_SUCCESS});
    s.used(check, 2);
    says(check, "Notify below the new threshold" + with, ended(bench, ND_PENDING, s.first, *s.shared), {ND_SUCCESS});
  }
}

CONFORMANCE_CASE(nd_an_empty_shared_queue_is_no_end, "networkdirect.shared.empty", roles::provider, lasts(Duration::s(12))) {
  Scene s(bench);
  arranged_by(check, "Send", s.c->a.qp->Send(nullptr, nullptr, 0, 0));
  check.that(bench.nd().quiet(s.c->a, Duration::s(12)), "the Send waits for a Receive", "it has a result");
  s.posted(check, 1);
  ends_as(bench, check, s.c->b, "a shared Receive", {ND_SUCCESS});
}

}  // namespace fb::conformance
