// Shared receive queues.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

NdkStatus modify(NdkBench& ndk, NdkShared& shared, ULONG depth, ULONG threshold) {
  return ndk.request([&](auto c, PVOID x) { return shared.srq->Dispatch->NdkModifySrq(shared.srq, depth, threshold, c, x); });
}

NdkConnection& connected(NdkBench& ndk, NdkShared& shared) { return ndk.connect({.b = {.context = ndk_tag(77), .shared = &shared}}); }

}  // namespace

CONFORMANCE_CASE(ndk_shared_queues_have_limits, "ndk.srq.limits", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_PD* const domain = ndk.a().pd();
  const NDK_ADAPTER_INFO info = ndk.a().info();
  const auto create = [&](ULONG depth, ULONG sges) {
    return ndk
        .create<NDK_SRQ>([&](auto c, PVOID x, NDK_SRQ** p) {
          return domain->Dispatch->NdkCreateSrq(domain, depth, sges, 0, nullptr, nullptr, nullptr, c, x, p);
        })
        .end();
  };
  refused(check, "NdkCreateSrq of more than MaxSrqDepth", create(info.MaxSrqDepth + 1, 1));
  refused(check, "NdkCreateSrq of more than MaxReceiveRequestSge", create(16, info.MaxReceiveRequestSge + 1));
}

CONFORMANCE_CASE(ndk_a_shared_queue_serves_all, "ndk.srq.context", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkShared& shared = ndk.b().shared_receive_queue();
  NdkConnection& first = connected(ndk, shared);
  NdkConnection& second = ndk.connect({.b = {.context = ndk_tag(78), .shared = &shared}});
  arranged_by(check, "NdkSrqReceive", first.b.receive(21));
  arranged_by(check, "NdkSrqReceive", first.b.receive(22));
  arranged_by(check, "NdkSend", second.a.send(1));
  const NDK_RESULT_EX one = next_result(ndk, check, second.b, "a message over the second connection");
  check.that(one.RequestContext == ndk_tag(21) && one.QPContext == ndk_tag(78), "the contexts are those of the receive and its queue pair");
  arranged_by(check, "NdkSend", first.a.send(1));
  const NDK_RESULT_EX two = next_result(ndk, check, first.b, "a message over the first connection");
  check.that(two.RequestContext == ndk_tag(22) && two.QPContext == ndk_tag(77), "the contexts are those of the receive and its queue pair");
}

CONFORMANCE_CASE(ndk_a_full_shared_queue_refuses, "ndk.srq.full", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkShared& shared = ndk.b().shared_receive_queue(8);
  const NdkMemory& memory = ndk.b().memory(4096);
  const NDK_SGE into = memory.sge(0, 64);
  const ULONG most = std::min<ULONG>(ndk.b().info().MaxSrqDepth, 8192) + 1;
  ULONG posted = 0;
  NdkStatus called;
  while (posted < most && (called = shared.srq->Dispatch->NdkSrqReceive(shared.srq, nullptr, &into, 1)) == STATUS_SUCCESS) ++posted;
  check.that(posted >= 8, "the queue takes as many as it was made for");
  refused(check, "NdkSrqReceive to a full queue", called);
}

CONFORMANCE_CASE(ndk_receives_go_to_the_shared_queue, "ndk.srq.beside", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = connected(ndk, ndk.b().shared_receive_queue());
  const NDK_SGE into = c.b.memory->sge(0, 64);
  refused(check, "NdkReceive", c.b.qp->Dispatch->NdkReceive(c.b.qp, nullptr, &into, 1));
}

CONFORMANCE_CASE(ndk_a_shared_queue_tells_when_it_runs_low, "ndk.srq.threshold", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkShared& shared = ndk.b().shared_receive_queue(16, 3);
  NdkConnection& c = connected(ndk, shared);
  for (std::uintptr_t i = 0; i < 5; ++i) arranged_by(check, "NdkSrqReceive", c.b.receive(i));
  ndk.pass(kNdkQuiet);
  check.equal("callbacks with five receives", shared.notified, 0);
  for (int i = 0; i < 3; ++i) arranged_by(check, "NdkSend", c.a.send(1));
  ndk.pass(kNdkQuiet);
  check.that(shared.notified > 0, "the queue tells when two are left");
}

CONFORMANCE_CASE(ndk_a_shared_queue_tells_once, "ndk.srq.threshold-once", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkShared& shared = ndk.b().shared_receive_queue(16, 3);
  NdkConnection& c = connected(ndk, shared);
  for (std::uintptr_t i = 0; i < 5; ++i) arranged_by(check, "NdkSrqReceive", c.b.receive(i));
  for (int i = 0; i < 4; ++i) arranged_by(check, "NdkSend", c.a.send(1));
  ndk.pass(kNdkQuiet);
  check.equal("callbacks", shared.notified, 1);
  // Filled above the threshold and used up again, while nobody sets it.
  for (std::uintptr_t i = 5; i < 10; ++i) arranged_by(check, "NdkSrqReceive", c.b.receive(i));
  for (int i = 0; i < 5; ++i) arranged_by(check, "NdkSend", c.a.send(1));
  ndk.pass(kNdkQuiet);
  check.equal("callbacks without NdkModifySrq", shared.notified, 1);
}

CONFORMANCE_CASE(ndk_a_shared_queue_does_not_shrink_below_its_contents, "ndk.srq.shrink", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkShared& shared = ndk.b().shared_receive_queue(16);
  NdkConnection& c = connected(ndk, shared);
  for (std::uintptr_t i = 0; i < 8; ++i) arranged_by(check, "NdkSrqReceive", c.b.receive(i));
  refused(check, "NdkModifySrq to a depth of 4 with 8 receives", modify(ndk, shared, 4, 0));
}

CONFORMANCE_CASE(ndk_a_shared_queue_gets_deeper, "ndk.srq.modify-depth", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkShared& shared = ndk.b().shared_receive_queue(4);
  NdkConnection& c = connected(ndk, shared);
  const ULONG depth = std::min<ULONG>(ndk.b().info().MaxSrqDepth, 600);
  says(check, "NdkModifySrq", modify(ndk, shared, depth, 0), {STATUS_SUCCESS});
  // Some have one buffer and some have two, and each message fills its own.
  const auto post = [&](ULONG i) -> NdkStatus {
    const NDK_SGE into[] = {c.b.memory->sge(0, i % 2 == 0 ? 64 : 32), c.b.memory->sge(4096, 32)};
    return shared.srq->Dispatch->NdkSrqReceive(shared.srq, ndk_tag(i), into, i % 2 == 0 ? 1 : 2);
  };
  for (ULONG i = 0; i < depth; ++i) {
    check.require(post(i) == STATUS_SUCCESS, "the queue takes as many as it has room for now", "it took " + words(i));
  }
  std::vector<int> used(depth);
  for (ULONG i = 0; i < depth; ++i) {
    arranged_by(check, "NdkSend", c.a.send(1, 0, 64));
    ends_as(ndk, check, c.a, "the Send", {STATUS_SUCCESS});
    const NDK_RESULT_EX result = next_result(ndk, check, c.b, "a Receive");
    check.require(says(check, "a Receive", result.Status, {STATUS_SUCCESS}), "all that were posted can be used");
    const auto tag = reinterpret_cast<std::uintptr_t>(result.RequestContext);
    check.require(tag < depth && used[tag]++ == 0, "each Receive is used once", "one was used twice, or none was posted like it");
    check.equal("bytes that came", result.BytesTransferred, ULONG{64});
  }
}

CONFORMANCE_CASE(ndk_a_threshold_may_be_set_again, "ndk.srq.modify-threshold", roles::provider) {
  NdkBench& ndk = bench.ndk();
  // With the depth as it is, said and unsaid, and with others.
  for (const ULONG depth : {0u, 16u, std::min<ULONG>(ndk.b().info().MaxSrqDepth, 20), 8u}) {
    NdkShared& shared = ndk.b().shared_receive_queue(16, 3);
    NdkConnection& c = connected(ndk, shared);
    for (std::uintptr_t i = 0; i < 5; ++i) arranged_by(check, "NdkSrqReceive", c.b.receive(i));
    for (int i = 0; i < 3; ++i) arranged_by(check, "NdkSend", c.a.send(1));
    ndk.pass(kNdkQuiet);
    check.precondition(shared.notified == 1, "the queue has told");
    for (std::uintptr_t i = 0; i < 3; ++i) arranged_by(check, "NdkSrqReceive", c.b.receive(i));
    const std::string with = " with a depth of " + words(depth);
    says(check, "NdkModifySrq" + with, modify(ndk, shared, depth, 4), {STATUS_SUCCESS});
    for (int i = 0; i < 3; ++i) arranged_by(check, "NdkSend", c.a.send(1));
    ndk.pass(kNdkQuiet);
    check.equal("callbacks after NdkModifySrq" + with, shared.notified, 2);
  }
  // It is as exact as the first.
  NdkShared& exact = ndk.b().shared_receive_queue(16, 1);
  NdkConnection& c = connected(ndk, exact);
  for (std::uintptr_t i = 0; i < 8; ++i) arranged_by(check, "NdkSrqReceive", c.b.receive(i));
  says(check, "NdkModifySrq", modify(ndk, exact, 0, 5), {STATUS_SUCCESS});
  for (ULONG left = 8; left > 3; --left) {
    ndk.pass(kNdkQuiet);
    check.equal("callbacks with " + words(left) + " receives and the threshold 5", exact.notified, left < 5 ? 1 : 0);
    arranged_by(check, "NdkSend", c.a.send(1));
  }
  // One that only the new depth has room for.
  const ULONG deeper = std::min<ULONG>(ndk.b().info().MaxSrqDepth, 20);
  says(check, "NdkModifySrq of 16 entries to as many as the threshold, " + words(deeper),
       modify(ndk, ndk.b().shared_receive_queue(16, 3), deeper, deeper), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_a_depth_of_zero_changes_nothing, "ndk.srq.modify-keeps", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkShared& shared = ndk.b().shared_receive_queue(8);
  NdkConnection& c = connected(ndk, shared);
  says(check, "NdkModifySrq", modify(ndk, shared, 0, 0), {STATUS_SUCCESS});
  for (std::uintptr_t i = 0; i < 8; ++i) says(check, "NdkSrqReceive", c.b.receive(i), {STATUS_SUCCESS});
}

}  // namespace fb::conformance
