// What queue pairs take and what they refuse.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

/// A queue pair with these terms cannot be made.
void refuses_terms(NdkBench& ndk, Check& check, std::string_view what, const NdkQueueTerms& terms, bool receive_sges) {
  NDK_PD* const domain = ndk.a().pd();
  NDK_CQ* const cq = ndk.a().queue().cq;
  refused(check, what,
          ndk.create<NDK_QP>([&](auto c, PVOID x, NDK_QP** p) {
               return domain->Dispatch->NdkCreateQp(domain, cq, cq, nullptr, 16, terms.depth, receive_sges ? terms.sges : 1,
                                                    receive_sges ? 1 : terms.sges, terms.inline_bytes, c, x, p);
             })
              .end());
}

/// A buffer that is in no region.
NDK_SGE loose(const Bytes& data, ULONG length) {
  NDK_SGE sge = {};
  sge.VirtualAddress = const_cast<std::uint8_t*>(data.data());
  sge.Length = length;
  sge.MemoryRegionToken = 0xBAD00;
  return sge;
}

NdkStatus send_inline(NdkSide& side, const Bytes& data, ULONG length) {
  const NDK_SGE sge = loose(data, length);
  return side.qp->Dispatch->NdkSend(side.qp, ndk_tag(3), &sge, 1, NDK_OP_FLAG_INLINE);
}

NdkStatus write_inline(NdkConnection& c, const Bytes& data, ULONG length) {
  const NDK_SGE sge = loose(data, length);
  return c.a.qp->Dispatch->NdkWrite(c.a.qp, ndk_tag(4), &sge, 1, c.b.memory->address(8192), c.b.memory->remote, NDK_OP_FLAG_INLINE);
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
  const NDK_ADAPTER_INFO info = ndk.a().info();
  const ULONG most = std::min(info.MaxInitiatorRequestSge, info.MaxReceiveRequestSge);
  for (const ULONG count : {ULONG{1}, ULONG{2}, ULONG{5}, most}) {
    if (count > most) continue;
    NdkConnection& c = ndk.connect({.a = {.sges = count}, .b = {.sges = count}});
    NDK_QP *const a = c.a.qp, *const b = c.b.qp;
    const std::vector<NDK_SGE> out(count + 1, c.a.memory->sge(0, 1)), in(count + 1, c.b.memory->sge(0, 1));
    const std::string one_more = " with " + words(count + 1) + " buffers on a queue pair for " + words(count);
    const UINT64 there = c.b.memory->address();
    const UINT32 token = c.b.memory->remote;
    refused(check, "NdkSend" + one_more, a->Dispatch->NdkSend(a, ndk_tag(1), out.data(), count + 1, 0));
    refused(check, "NdkWrite" + one_more, a->Dispatch->NdkWrite(a, ndk_tag(1), out.data(), count + 1, there, token, 0));
    refused(check, "NdkRead" + one_more, a->Dispatch->NdkRead(a, ndk_tag(1), out.data(), count + 1, there, token, 0));
    refused(check, "NdkReceive" + one_more, b->Dispatch->NdkReceive(b, ndk_tag(1), in.data(), count + 1));
    // As many as it was made for; what was refused left nothing behind.
    check.require(b->Dispatch->NdkReceive(b, ndk_tag(2), in.data(), count) == STATUS_SUCCESS, "NdkReceive of all buffers is taken");
    check.require(a->Dispatch->NdkSend(a, ndk_tag(3), out.data(), count, 0) == STATUS_SUCCESS, "NdkSend of all buffers is taken");
    for (NdkSide* side : {&c.a, &c.b}) {
      const NDK_RESULT_EX result = next_result(ndk, check, *side, "the message");
      says(check, "the message", result.Status, {STATUS_SUCCESS});
      check.that(result.RequestContext == ndk_tag(side == &c.a ? 3 : 2), "its result has its context", "it has another");
    }
  }
}

CONFORMANCE_CASE(ndk_inline_data_has_a_limit, "ndk.qp.inline-limit", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const ULONG most = ndk.a().info().MaxInlineDataSize;
  for (const ULONG limit : {ULONG{0}, ULONG{1}, ULONG{16}, ULONG{33}, most}) {
    if (limit > most) continue;
    NdkConnection& c = ndk.connect(with_inline(limit));
    Bytes data(limit + 1);
    for (ULONG i = 0; i <= limit; ++i) data[i] = static_cast<std::uint8_t>(0x40 + i * 3);
    const std::string one_more = " of " + words(limit + 1) + " inline bytes on a queue pair for " + words(limit);
    refused(check, "NdkSend" + one_more, send_inline(c.a, data, limit + 1));
    refused(check, "NdkWrite" + one_more, write_inline(c, data, limit + 1));
    check.that(ndk.quiet(c.a, Duration::ms(1)), "what is refused has no result", "there is a result");
    if (limit == 0) continue;
    arranged_by(check, "NdkReceive", c.b.receive(1, 0, 4096));
    check.require(write_inline(c, data, limit) == STATUS_SUCCESS, "NdkWrite of all inline data is taken");
    check.require(send_inline(c.a, data, limit) == STATUS_SUCCESS, "NdkSend of all inline data is taken");
    for (int i = 0; i < 2; ++i) ends_as(ndk, check, c.a, "inline data up to the limit", {STATUS_SUCCESS});
    ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
    check.bytes("bytes of the Send", ByteView(c.b.memory->bytes).first(limit), ByteView(data).first(limit));
    check.bytes("bytes of the Write", ByteView(c.b.memory->bytes).subspan(8192, limit), ByteView(data).first(limit));
  }
}

CONFORMANCE_CASE(ndk_inline_data_needs_no_token, "ndk.qp.inline-token", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition(ndk.a().info().MaxInlineDataSize >= 32, "the adapter takes inline data");
  NdkConnection& c = ndk.connect(with_inline(32));
  const Bytes data(32, 0x6D);
  arranged_by(check, "NdkReceive", c.b.receive(1, 0, 64));
  check.require(send_inline(c.a, data, 32) == STATUS_SUCCESS, "NdkSend is taken");
  ends_as(ndk, check, c.a, "the Send", {STATUS_SUCCESS});
  ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
  check.bytes("bytes that came", ByteView(c.b.memory->bytes).first(32), data);
  check.require(write_inline(c, data, 32) == STATUS_SUCCESS, "NdkWrite is taken");
  ends_as(ndk, check, c.a, "the Write", {STATUS_SUCCESS});
  check.bytes("bytes that were written", ByteView(c.b.memory->bytes).subspan(8192, 32), data);
}

CONFORMANCE_CASE(ndk_inline_data_is_copied, "ndk.qp.inline-copy", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition(ndk.a().info().MaxInlineDataSize >= 32, "the adapter takes inline data");
  NdkConnection& c = ndk.connect(with_inline(32));
  Bytes data(32, 0x6D);
  arranged_by(check, "NdkReceive", c.b.receive(1, 0, 64));
  arranged_by(check, "NdkSend", send_inline(c.a, data, 32));
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
