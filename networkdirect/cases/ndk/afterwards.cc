// What remains of an earlier use: queues that were resized, mappings that come again, queue pairs whose first attempt was refused,
// and listeners that are closed while requests wait.
#include <algorithm>
#include <array>
#include <cstring>

#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {

CONFORMANCE_CASE(ndk_a_resized_queue_holds_more, "ndk.cq.resize", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition((ndk.b().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0, "queues get other depths");
  constexpr int kBefore = 5, kAfter = 50;
  NdkConnection& c = ndk.connect({.a = {.depth = 64}, .b = {.depth = 64}, .queue_depth = 8});
  const auto send = [&](int first, int count) {
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(first + i);
      arranged_by(check, "NdkReceive", c.b.receive(100 + at, 64 * at, 64));
      arranged_by(check, "NdkSend", c.a.send(1, at, 16, NDK_OP_FLAG_SILENT_SUCCESS));
    }
    ndk.pass(kNdkQuiet);
  };
  send(0, kBefore);
  says(check, "NdkResizeCq",
       ndk.request([&](auto done, PVOID x) { return c.b.queue->cq->Dispatch->NdkResizeCq(c.b.queue->cq, kBefore + kAfter, done, x); }),
       {STATUS_SUCCESS});
  send(kBefore, kAfter);
  for (std::size_t i = 0; i < kBefore + kAfter; ++i) {
    const NDK_RESULT_EX result = next_result(ndk, check, c.b, "a Receive");
    says(check, "a Receive", result.Status, {STATUS_SUCCESS});
    if (!check.that(result.RequestContext == ndk_tag(100 + i), "the results are in order", "they are not")) return;
    check.bytes("a message", ByteView(c.b.memory->bytes).subspan(64 * i, 16), ByteView(c.a.memory->bytes).subspan(i, 16));
  }
}

CONFORMANCE_CASE(ndk_a_shared_queue_closes_after_its_queue_pairs, "ndk.close.queue", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkShared& shared = ndk.a().shared_receive_queue();
  NDK_QP* const first = ndk.a().queue_pair(ndk.a().queue(), {.shared = &shared});
  NDK_QP* const second = ndk.a().queue_pair(ndk.a().queue(), {.shared = &shared});
  const NdkAnswer& closing = ndk.close(shared.srq);
  says(check, "NdkCloseSrq with two queue pairs", closing.said, {STATUS_PENDING});
  for (NDK_QP* const qp : {first, second}) {
    ndk.pass(kNdkQuiet);
    check.equal("callbacks before the last queue pair is closed", closing.calls, 0);
    ndk.finish(ndk.close(qp));
  }
  ndk.finish(closing);
  check.equal("callbacks at last", closing.calls, 1);
}

CONFORMANCE_CASE(ndk_a_mapping_may_be_shorter_than_its_chain, "ndk.lam.chain", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkMemory& memory = ndk.a().plain_memory(4 * PAGE_SIZE);
  for (const std::size_t second_at : {std::size_t{PAGE_SIZE}, std::size_t{2 * PAGE_SIZE}}) {
    MDL &first = ndk.keep(std::make_unique<MDL>()), &second = ndk.keep(std::make_unique<MDL>());
    MmInitializeMdl(&first, memory.at(0), PAGE_SIZE);
    MmInitializeMdl(&second, memory.at(second_at), PAGE_SIZE);
    first.Next = &second;
    const bool neighbours = second_at == PAGE_SIZE;
    const std::string what = neighbours ? " of a chain" : " of a chain with a gap";
    NdkLam& one = ndk.keep(std::make_unique<NdkLam>());
    says(check, "NdkBuildLAM of the first part" + what, build(ndk, ndk.a(), &first, PAGE_SIZE, one), {STATUS_SUCCESS});
    check.equal("pages of the first part" + what, one.count(), ULONG{1});
    NdkLam& more = ndk.keep(std::make_unique<NdkLam>());
    const NdkStatus both = build(ndk, ndk.a(), &first, PAGE_SIZE + 1, more);
    if (neighbours) {
      says(check, "NdkBuildLAM of a byte more" + what, both, {STATUS_SUCCESS});
      check.equal("pages" + what, more.count(), ULONG{2});
    } else {
      says(check, "NdkBuildLAM of a byte more" + what, both, {STATUS_INVALID_PARAMETER});
    }
    NdkLam& beyond = ndk.keep(std::make_unique<NdkLam>());
    refused(check, "NdkBuildLAM of more than there is" + what, build(ndk, ndk.a(), &first, 2 * PAGE_SIZE + 1, beyond));
  }
}

CONFORMANCE_CASE(ndk_a_mapping_that_comes_again_is_another, "ndk.lam.privileged", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NDK_PD* const domain = ndk.a().pd();
  for (std::uint8_t round = 1; round <= 4; ++round) {
    NdkMemory& memory = ndk.a().plain_memory(PAGE_SIZE);
    std::fill(memory.bytes.begin(), memory.bytes.end(), std::uint8_t(0x30 + round));
    NdkLam& lam = mapped(ndk, check, ndk.a(), &memory.mdl, PAGE_SIZE);
    NDK_SGE sge = {};
    std::memcpy(&sge.LogicalAddress, &lam.pages()[0], sizeof sge.LogicalAddress);
    sge.Length = 64;
    domain->Dispatch->NdkGetPrivilegedMemoryRegionToken(domain, &sge.MemoryRegionToken);
    arranged_by(check, "NdkReceive", c.b.receive(1));
    check.require(c.a.qp->Dispatch->NdkSend(c.a.qp, ndk_tag(9), &sge, 1, 0) == STATUS_SUCCESS, "NdkSend is taken");
    ends_as(ndk, check, c.a, "a Send from a mapping", {STATUS_SUCCESS});
    ends_as(ndk, check, c.b, "its Receive", {STATUS_SUCCESS});
    check.bytes("bytes of the mapping", ByteView(c.b.memory->bytes).first(64), ByteView(memory.bytes).first(64));
    ndk.a().adapter()->Dispatch->NdkReleaseLAM(ndk.a().adapter(), lam.get());
  }
}

CONFORMANCE_CASE(ndk_a_refused_queue_pair_keeps_its_receives, "ndk.connector.refused-again", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  arranged_by(check, "NdkReceive", c.a.receive(1, 0, 64));
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (attempt > 0) {
      c.a.connector = ndk.a().connector();
      ndk.begin_connect(c);
      check.require(ndk.asked(c), "a further request reaches the listener", "it does not");
    }
    check.require(c.b.connector->Dispatch->NdkReject(c.b.connector, nullptr, 0) == STATUS_SUCCESS, "NdkReject is taken");
    says(check, "NdkConnect that is refused", ndk.finish(*c.connecting), {STATUS_CONNECTION_REFUSED});
    says(check, "NdkReceive after it",
         c.a.receive(static_cast<std::uintptr_t>(2 + attempt), 64u * (1u + static_cast<unsigned>(attempt)), 64), {STATUS_SUCCESS});
    check.that(ndk.quiet(c.a, Duration::ms(5)), "no Receive comes back", "one does");
  }
  c.a.connector = ndk.a().connector();
  establish(ndk, check, c);
  for (std::uintptr_t i = 0; i < 4; ++i) {
    arranged_by(check, "NdkSend", c.b.send(9, 100 + i, 20));
    ends_as(ndk, check, c.b, "a Send", {STATUS_SUCCESS});
    const NDK_RESULT_EX came = next_result(ndk, check, c.a, "a Receive");
    says(check, "a Receive", came.Status, {STATUS_SUCCESS});
    check.that(came.RequestContext == ndk_tag(1 + i), "Receives are used in their order", "they are not");
    check.bytes("the message", ByteView(c.a.memory->bytes).subspan(64 * i, 20), ByteView(c.b.memory->bytes).subspan(100 + i, 20));
  }
}

CONFORMANCE_CASE(ndk_a_listener_may_be_closed_in_its_callback, "ndk.listener.closed", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  NdkListening& listening = *c.listening;
  NDK_CONNECTOR* held = nullptr;
  int calls = 0;
  const NdkAnswer* closing = nullptr;
  listening.then = [&](NDK_CONNECTOR* connector) {
    if (calls++ == 0) {
      held = connector;
      closing = &ndk.close(listening.listener);
    }
  };
  std::array<const NdkAnswer*, 3> asked = {};
  for (const NdkAnswer*& one : asked) {
    c.a.connector = ndk.a().connector();
    c.a.qp = ndk.a().queue_pair(*c.a.queue);
    one = &ndk.begin_connect(c);
  }
  ndk.pass(Duration::s(1));
  check.equal("connect events of a listener that was closed in the first", calls, 1);
  check.require(held != nullptr && closing != nullptr, "a request reaches the listener", "none does");
  check.require(held->Dispatch->NdkReject(held, nullptr, 0) == STATUS_SUCCESS, "NdkReject is taken");
  ndk.close(held);
  for (const NdkAnswer* one : asked) says(check, "NdkConnect", ndk.finish(*one), {STATUS_CONNECTION_REFUSED});
  ndk.finish(*closing);
  check.that(closing->done(), "the close of the listener ends", "it pends for ever");
}

}  // namespace fb::conformance
