// What queue pairs take and what they refuse.
#include "conformance/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

/// A queue pair with these terms cannot be made.
void refuses_terms(NdkBench& ndk, Check& check, std::string_view what, const NdkQueueTerms& terms, bool receive_sges) {
  NDK_PD* const domain = ndk.a().pd();
  NDK_CQ* const cq = ndk.a().queue().cq;
  refused(check, what, ndk.create<NDK_QP>([&](auto c, PVOID x, NDK_QP** p) {
    return domain->Dispatch->NdkCreateQp(domain, cq, cq, nullptr, 16, terms.depth, receive_sges ? terms.sges : 1,
                                         receive_sges ? 1 : terms.sges, terms.inline_bytes, c, x, p);
  }).end());
}

/// Inline data that is in no region.
NdkStatus send_inline(NdkSide& side, PVOID data, ULONG length) {
  NDK_SGE sge = {};
  sge.VirtualAddress = data;
  sge.Length = length;
  sge.MemoryRegionToken = 0xBAD00;
  return side.qp->Dispatch->NdkSend(side.qp, ndk_tag(3), &sge, 1, NDK_OP_FLAG_INLINE);
}

NdkConnectTerms with_inline(ULONG bytes) { return {.a = {.inline_bytes = bytes}}; }

}  // namespace

CONFORMANCE_CASE(ndk_queue_pairs_have_limits, "ndk.qp.limits", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const NDK_ADAPTER_INFO info = ndk.a().info();
  refuses_terms(ndk, check, "more than MaxInitiatorQueueDepth", {.depth = info.MaxInitiatorQueueDepth + 1}, false);
  refuses_terms(ndk, check, "more than MaxInitiatorRequestSge", {.sges = info.MaxInitiatorRequestSge + 1}, false);
  refuses_terms(ndk, check, "more than MaxReceiveRequestSge", {.sges = info.MaxReceiveRequestSge + 1}, true);
  refuses_terms(ndk, check, "more than MaxInlineDataSize", {.inline_bytes = info.MaxInlineDataSize + 1}, false);
}

CONFORMANCE_CASE(ndk_requests_want_a_connection, "ndk.qp.unconnected", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  const UINT64 there = c.b.memory->address();
  refused(check, "NdkSend", c.a.send(1));
  refused(check, "NdkRead", c.a.read(1, 0, 16, there, c.b.memory->remote));
  refused(check, "NdkWrite", c.a.write(1, 0, 16, there, c.b.memory->remote));
  check.that(ndk.quiet(c.a), "there is no result of them", "there is a result");
}

CONFORMANCE_CASE(ndk_requests_have_their_flags, "ndk.qp.flags", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  refused(check, "NdkSend with the rights of a registration", c.a.send(1, 0, 16, NDK_OP_FLAG_ALLOW_REMOTE_READ));
  refused(check, "NdkSend with a flag that is none", c.a.send(1, 0, 16, 0x40000000));
  refused(check, "NdkRead with inline data", c.a.read(1, 0, 16, c.b.memory->address(), c.b.memory->remote, NDK_OP_FLAG_INLINE));
}

CONFORMANCE_CASE(ndk_flags_have_versions, "ndk.qp.flags-version", roles::provider) {
  NdkBench& ndk = bench.ndk({.version = {1, 1}});
  NdkConnection& c = ndk.connect();
  refused(check, "NdkSend that is deferred", c.a.send(1, 0, 16, NDK_OP_FLAG_DEFER));
  refused(check, "NdkRead that invalidates",
          c.a.read(1, 0, 16, c.b.memory->address(), c.b.memory->remote, NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE));
}

CONFORMANCE_CASE(ndk_buffers_are_counted, "ndk.qp.many-buffers", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const ULONG count = ndk.a().info().MaxInitiatorRequestSge + 1;
  const std::vector<NDK_SGE> many(count, c.a.memory->sge(0, 1));
  refused(check, "NdkSend with too many buffers", c.a.qp->Dispatch->NdkSend(c.a.qp, nullptr, many.data(), count, 0));
}

CONFORMANCE_CASE(ndk_inline_data_has_a_limit, "ndk.qp.inline-limit", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect(with_inline(16));
  Bytes data(4096);
  const ULONG most = ndk.a().info().MaxInlineDataSize;
  check.precondition(most < data.size(), "inline data has a limit that a page exceeds");
  refused(check, "NdkSend with too much inline data", send_inline(c.a, data.data(), most + 1));
}

CONFORMANCE_CASE(ndk_inline_data_needs_no_token, "ndk.qp.inline-token", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition(ndk.a().info().MaxInlineDataSize >= 32, "the adapter takes inline data");
  NdkConnection& c = ndk.connect(with_inline(32));
  Bytes data(32, 0x6D);
  arranged_by(check, "NdkReceive", c.b.receive(1, 0, 64));
  check.require(send_inline(c.a, data.data(), 32) == STATUS_SUCCESS, "NdkSend is taken");
  ends_as(ndk, check, c.a, "the Send", {STATUS_SUCCESS});
  ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_inline_data_is_copied, "ndk.qp.inline-copy", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition(ndk.a().info().MaxInlineDataSize >= 32, "the adapter takes inline data");
  NdkConnection& c = ndk.connect(with_inline(32));
  Bytes data(32, 0x6D);
  arranged_by(check, "NdkReceive", c.b.receive(1, 0, 64));
  arranged_by(check, "NdkSend", send_inline(c.a, data.data(), 32));
  std::ranges::fill(data, std::uint8_t{0});
  ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
  check.bytes("bytes that came", ByteView(c.b.memory->bytes).first(32), Bytes(32, 0x6D));
}

CONFORMANCE_CASE(ndk_a_full_initiator_queue_refuses, "ndk.qp.full-initiator", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect({.a = {.depth = 8}, .b = {.depth = 64}});
  const ULONG most = std::min<ULONG>(ndk.a().info().MaxInitiatorQueueDepth, 4096) + 1;
  // The peer has no receive, so that none of them can be done.
  ULONG posted = 0;
  NdkStatus called;
  while (posted < most && (called = c.a.send(posted)) == STATUS_SUCCESS) ++posted;
  check.that(posted >= 8, "the queue takes as many as it was made for");
  check.require(refused(check, "NdkSend to a full queue", called), "a full queue refuses");
  if (posted > 60) return;  // more than the peer has room for
  for (ULONG i = 0; i < posted; ++i) arranged_by(check, "NdkReceive", c.b.receive(i));
  for (ULONG i = 0; i < posted; ++i) ends_as(ndk, check, c.a, "a Send that was taken", {STATUS_SUCCESS});
  arranged_by(check, "NdkReceive", c.b.receive(99));
  says(check, "NdkSend when results were taken", c.a.send(99), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_a_full_receive_queue_refuses, "ndk.qp.full-receives", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare({.b = {.depth = 8}});
  const ULONG most = std::min<ULONG>(ndk.b().info().MaxReceiveQueueDepth, 4096) + 1;
  ULONG posted = 0;
  NdkStatus called;
  while (posted < most && (called = c.b.receive(posted)) == STATUS_SUCCESS) ++posted;
  check.that(posted >= 8, "the queue takes as many as it was made for");
  refused(check, "NdkReceive to a full queue", called);
}

CONFORMANCE_CASE(ndk_a_refused_request_has_no_result, "ndk.qp.refused", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const ULONG count = ndk.a().info().MaxInitiatorRequestSge + 1;
  const std::vector<NDK_SGE> many(count, c.a.memory->sge(0, 1));
  const NdkStatus called = c.a.qp->Dispatch->NdkSend(c.a.qp, ndk_tag(1), many.data(), count, 0);
  check.precondition(called.failed(), "NdkSend is refused");
  check.that(ndk.quiet(c.a), "there is no result", "there is a result");
}

CONFORMANCE_CASE(ndk_receives_want_no_connection, "ndk.qp.receive-unconnected", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  check.require(says(check, "NdkReceive", c.b.receive(6), {STATUS_SUCCESS}), "NdkReceive is taken");
  establish(ndk, check, c);
  arranged_by(check, "NdkSend", c.a.send(1, 0, 20));
  const NDK_RESULT_EX result = next_result(ndk, check, c.b, "the Receive");
  check.that(result.RequestContext == ndk_tag(6), "the first message goes to the Receive");
  check.equal("bytes that came", result.BytesTransferred, ULONG{20});
}

}  // namespace fb::conformance
