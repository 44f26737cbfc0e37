// What requests do: data, order, silence, deferred requests, invalidation.
#include <optional>

#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

/// A fast region of a side, registered for all that peers and Reads may do.
struct Registered {
  static constexpr UINT64 kBase = 0x60000000;
  Registered(NdkBench& bench, Check& c, NdkEnd& end, NdkSide& owner) : ndk(bench), check(c), side(owner) {
    memory = &end.plain_memory(PAGE_SIZE);
    lam = &mapped(ndk, check, end, &memory->mdl, PAGE_SIZE);
    region = end.fast_region();
    arranged_by(check, "NdkFastRegister", post());
    arranged_by(check, "NdkFastRegister", next_result(ndk, check, side, "the registration").Status);
  }
  NdkStatus post() {
    return side.qp->Dispatch->NdkFastRegister(side.qp, ndk_tag(70), region, lam->count(), lam->pages(), lam->offset, PAGE_SIZE,
                                              ndk_tag(kBase + lam->offset),
                                              NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_RDMA_READ_SINK);
  }
  /// What is valid cannot be registered again.
  void registers_again() {
    check.require(post() == STATUS_SUCCESS, "NdkFastRegister is taken");
    ends_as(ndk, check, side, "another registration", {STATUS_SUCCESS});
  }
  UINT32 token() const { return region->Dispatch->NdkGetRemoteTokenFromMr(region); }
  NDK_SGE sink(ULONG length) const {
    NDK_SGE made = {};
    made.VirtualAddress = ndk_tag(kBase + lam->offset);
    made.Length = length;
    made.MemoryRegionToken = region->Dispatch->NdkGetLocalTokenFromMr(region);
    return made;
  }
  NdkBench& ndk;
  Check& check;
  NdkSide& side;
  NdkMemory* memory = nullptr;
  NdkLam* lam = nullptr;
  NDK_MR* region = nullptr;
};

/// A message that invalidates the region of the passive side, as its receive reports it.
NDK_RESULT_EX invalidated_by_message(NdkBench& ndk, Check& check, NdkConnection& c, UINT32 token) {
  const auto send_and_invalidate = c.a.qp->Dispatch->NdkSendAndInvalidate;
  check.precondition(send_and_invalidate != nullptr, "messages invalidate");
  arranged_by(check, "NdkReceive", c.b.receive(1));
  const NDK_SGE out = c.a.memory->sge(0, 16);
  arranged_by(check, "NdkSendAndInvalidate", send_and_invalidate(c.a.qp, ndk_tag(2), &out, 1, 0, token));
  ends_as(ndk, check, c.a, "the Send", {STATUS_SUCCESS});
  const NDK_RESULT_EX result = next_result(ndk, check, c.b, "the Receive");
  says(check, "the Receive", result.Status, {STATUS_SUCCESS});
  return result;
}

}  // namespace

CONFORMANCE_CASE(ndk_a_message_comes_as_it_was_sent, "ndk.qp.send", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(1, 20000, 4096));
  check.require(c.a.send(2, 33, 1500) == STATUS_SUCCESS, "NdkSend is taken");
  ends_as(ndk, check, c.a, "the Send", {STATUS_SUCCESS});
  ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
  check.bytes("bytes that came", ByteView(c.b.memory->bytes).subspan(20000, 1500), ByteView(c.a.memory->bytes).subspan(33, 1500));
}

CONFORMANCE_CASE(ndk_a_write_arrives, "ndk.qp.write", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  check.require(c.a.write(1, 33, 1500, c.b.memory->address(20000), c.b.memory->remote) == STATUS_SUCCESS, "NdkWrite is taken");
  ends_as(ndk, check, c.a, "the Write", {STATUS_SUCCESS});
  check.bytes("bytes that came", ByteView(c.b.memory->bytes).subspan(20000, 1500), ByteView(c.a.memory->bytes).subspan(33, 1500));
}

CONFORMANCE_CASE(ndk_a_read_brings_its_bytes, "ndk.qp.read", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  check.require(c.a.read(1, 20000, 1500, c.b.memory->address(33), c.b.memory->remote) == STATUS_SUCCESS, "NdkRead is taken");
  ends_as(ndk, check, c.a, "the Read", {STATUS_SUCCESS});
  check.bytes("bytes that came", ByteView(c.a.memory->bytes).subspan(20000, 1500), ByteView(c.b.memory->bytes).subspan(33, 1500));
}

CONFORMANCE_CASE(ndk_buffers_make_one_message, "ndk.qp.buffers", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition(ndk.a().info().MaxInitiatorRequestSge >= 2, "requests take two buffers");
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(1, 20000, 4096));
  const NDK_SGE out[] = {c.a.memory->sge(500, 10), c.a.memory->sge(7, 20)};
  check.require(c.a.qp->Dispatch->NdkSend(c.a.qp, nullptr, out, 2, 0) == STATUS_SUCCESS, "NdkSend is taken");
  const NDK_RESULT_EX result = next_result(ndk, check, c.b, "the Receive");
  check.equal("bytes that came", result.BytesTransferred, ULONG{30});
  check.bytes("the second buffer", ByteView(c.b.memory->bytes).subspan(20010, 20), ByteView(c.a.memory->bytes).subspan(7, 20));
}

CONFORMANCE_CASE(ndk_requests_end_in_their_order, "ndk.qp.order", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  for (std::uintptr_t i = 0; i < 4; ++i) arranged_by(check, "NdkReceive", c.b.receive(10 + i));
  for (std::uintptr_t i = 0; i < 4; ++i) {
    arranged_by(check, "NdkRead", c.a.read(20 + 2 * i, 8192, 64, c.b.memory->address(), c.b.memory->remote));
    arranged_by(check, "NdkSend", c.a.send(21 + 2 * i));
  }
  for (std::uintptr_t i = 0; i < 8; ++i) {
    check.that(next_result(ndk, check, c.a, "a request").RequestContext == ndk_tag(20 + i), "requests end in their order");
  }
  for (std::uintptr_t i = 0; i < 4; ++i) {
    check.that(next_result(ndk, check, c.b, "a Receive").RequestContext == ndk_tag(10 + i), "receives end in their order");
  }
}

CONFORMANCE_CASE(ndk_a_fence_waits_for_reads, "ndk.qp.read-fence", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.a.memory->bytes[9000] = 1;
  c.b.memory->bytes[9000] = 2;
  arranged_by(check, "NdkReceive", c.b.receive(1, 0, 64));
  arranged_by(check, "NdkRead", c.a.read(1, 9000, 1, c.b.memory->address(9000), c.b.memory->remote));
  arranged_by(check, "NdkSend", c.a.send(2, 9000, 1, NDK_OP_FLAG_READ_FENCE));
  ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
  check.equal("the byte that was sent", c.b.memory->bytes[0], std::uint8_t{2});
  // The same when the fenced request waits for one behind it.
  c.b.memory->bytes[9001] = 3;
  for (std::uintptr_t i = 0; i < 2; ++i) arranged_by(check, "NdkReceive", c.b.receive(2 + i, 64 * i, 64));
  arranged_by(check, "NdkRead", c.a.read(1, 9000, 1, c.b.memory->address(9001), c.b.memory->remote));
  arranged_by(check, "NdkSend", c.a.send(2, 9000, 1, NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_DEFER));
  arranged_by(check, "NdkSend", c.a.send(3, 0, 1));
  for (int i = 0; i < 2; ++i) ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
  check.equal("the byte that was sent by a deferred request", c.b.memory->bytes[0], std::uint8_t{3});
}

CONFORMANCE_CASE(ndk_silent_requests_are_silent, "ndk.qp.silent", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(1));
  arranged_by(check, "NdkSend", c.a.send(2, 0, 16, NDK_OP_FLAG_SILENT_SUCCESS));
  ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
  check.that(ndk.quiet(c.a), "the Send has no result", "there is a result");
}

CONFORMANCE_CASE(ndk_failures_are_not_silent, "ndk.qp.silent-failure", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const NdkStatus posted = send_bad_token(c, NDK_OP_FLAG_SILENT_SUCCESS);
  check.precondition(!posted.failed(), "NdkSend is taken");
  ends_badly(ndk, check, c.a, "a silent Send with a token that is none");
}

CONFORMANCE_CASE(ndk_deferred_requests_go_with_the_next, "ndk.qp.defer", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  for (std::uintptr_t i = 0; i < 3; ++i) arranged_by(check, "NdkReceive", c.b.receive(10 + i));
  check.require(c.a.send(1, 0, 10, NDK_OP_FLAG_DEFER) == STATUS_SUCCESS, "NdkSend that is deferred is taken");
  check.require(c.a.send(2, 0, 20, NDK_OP_FLAG_DEFER) == STATUS_SUCCESS, "NdkSend that is deferred is taken");
  arranged_by(check, "NdkSend", c.a.send(3, 0, 30));
  for (const ULONG bytes : {10u, 20u, 30u}) {
    check.equal("bytes that came", next_result(ndk, check, c.b, "a Receive").BytesTransferred, ULONG{bytes});
  }
}

CONFORMANCE_CASE(ndk_a_refusal_sends_deferred_requests, "ndk.qp.defer-refused", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(10));
  arranged_by(check, "NdkSend", c.a.send(1, 0, 10, NDK_OP_FLAG_DEFER));
  const ULONG count = ndk.a().info().MaxInitiatorRequestSge + 1;
  const std::vector<NDK_SGE> many(count, c.a.memory->sge(0, 1));
  const NdkStatus called = c.a.qp->Dispatch->NdkSend(c.a.qp, nullptr, many.data(), count, 0);
  check.precondition(called.failed(), "a Send with too many buffers is refused");
  ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_a_read_invalidates_its_sink, "ndk.qp.read-invalidate", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition((ndk.a().info().AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED) != 0, "Reads invalidate");
  for (const auto& [buffers, deferred] : {std::pair{1u, false}, std::pair{2u, false}, std::pair{1u, true}}) {
    if (buffers > ndk.a().info().MaxReadRequestSge) continue;
    NdkConnection& c = ndk.connect();
    Registered sink(ndk, check, ndk.a(), c.a);
    const NDK_SGE into[] = {sink.sink(64), c.a.memory->sge(8192, 32)};
    arranged_by(check, "NdkRead",
                c.a.qp->Dispatch->NdkRead(c.a.qp, nullptr, into, buffers, c.b.memory->address(100), c.b.memory->remote,
                                          NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE | (deferred ? NDK_OP_FLAG_DEFER : 0u)));
    if (deferred)
      arranged_by(check, "NdkWrite", c.a.write(3, 0, 8, c.b.memory->address(8192), c.b.memory->remote, NDK_OP_FLAG_SILENT_SUCCESS));
    ends_as(ndk, check, c.a, "the Read", {STATUS_SUCCESS});
    check.bytes("bytes that came", ByteView(sink.memory->bytes).first(64), ByteView(c.b.memory->bytes).subspan(100, 64));
    if (buffers == 2) {
      check.bytes("bytes behind them", ByteView(c.a.memory->bytes).subspan(8192, 32), ByteView(c.b.memory->bytes).subspan(164, 32));
    }
    // The first buffer's region alone.
    sink.registers_again();
  }
}

CONFORMANCE_CASE(ndk_every_kind_of_message_may_solicit, "ndk.cq.solicited", roles::provider) {
  enum class Kind : std::uint8_t { shared, inlined, fenced, silent, deferred, invalidating };
  NdkBench& ndk = bench.ndk();
  for (const auto& [kind, what] :
       {std::pair{Kind::shared, "a Send into a shared Receive"}, std::pair{Kind::inlined, "an inline Send"},
        std::pair{Kind::fenced, "a Send behind a fence"}, std::pair{Kind::silent, "a silent Send"},
        std::pair{Kind::deferred, "a deferred Send"}, std::pair{Kind::invalidating, "a Send that invalidates"}}) {
    NdkShared* const shared = kind == Kind::shared ? &ndk.b().shared_receive_queue(4) : nullptr;
    const ULONG inlined = std::min<ULONG>(ndk.a().info().MaxInlineDataSize, 16);
    NdkConnection& c = ndk.connect({.a = {.inline_bytes = kind == Kind::inlined ? inlined : 0}, .b = {.shared = shared}});
    NDK_QP* const qp = c.a.qp;
    const auto send_and_invalidate = qp->Dispatch->NdkSendAndInvalidate;
    if (send_and_invalidate == nullptr && (kind == Kind::deferred || kind == Kind::invalidating)) continue;
    std::optional<Registered> target;
    if (kind == Kind::invalidating) target.emplace(ndk, check, ndk.b(), c.b);
    arranged_by(check, "NdkReceive", c.b.receive(1));
    c.b.queue->notified = 0;
    c.b.queue->arm(NDK_CQ_NOTIFY_SOLICITED);
    const ULONG flags = NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | (kind == Kind::inlined ? NDK_OP_FLAG_INLINE : 0) |
                        (kind == Kind::fenced ? NDK_OP_FLAG_READ_FENCE : 0) | (kind == Kind::silent ? NDK_OP_FLAG_SILENT_SUCCESS : 0) |
                        (kind == Kind::deferred ? NDK_OP_FLAG_DEFER : 0);
    const NDK_SGE out = c.a.memory->sge(0, kind == Kind::inlined ? inlined : 16);
    arranged_by(check, what,
                target ? send_and_invalidate(qp, ndk_tag(2), &out, 1, flags, target->token())
                       : qp->Dispatch->NdkSend(qp, ndk_tag(2), &out, 1, flags));
    // What was deferred begins with the next request.
    if (kind == Kind::deferred) arranged_by(check, "NdkWrite", c.a.write(3, 0, 16, c.b.memory->address(8192), c.b.memory->remote));
    ndk.pass(kNdkQuiet);
    check.equal("callbacks after " + std::string(what), c.b.queue->notified, 1);
    ends_as(ndk, check, c.b, "the Receive of " + std::string(what), {STATUS_SUCCESS});
  }
}

CONFORMANCE_CASE(ndk_a_message_that_invalidates_has_its_bytes, "ndk.cq.bytes", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  Registered target(ndk, check, ndk.b(), c.b);
  check.equal("bytes that came", invalidated_by_message(ndk, check, c, target.token()).BytesTransferred, ULONG{16});
}

CONFORMANCE_CASE(ndk_a_message_invalidates, "ndk.qp.send-invalidate", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  Registered target(ndk, check, ndk.b(), c.b);
  invalidated_by_message(ndk, check, c, target.token());
  target.registers_again();
}

CONFORMANCE_CASE(ndk_a_result_tells_of_invalidation, "ndk.qp.invalidate-type", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  Registered target(ndk, check, ndk.b(), c.b);
  const NDK_RESULT_EX result = invalidated_by_message(ndk, check, c, target.token());
  check.equal("type of the result", static_cast<int>(result.Type), static_cast<int>(NdkOperationTypeReceiveAndInvalidate));
}

CONFORMANCE_CASE(ndk_a_result_has_the_invalidated_token, "ndk.qp.invalidate-token", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  Registered target(ndk, check, ndk.b(), c.b);
  const NDK_RESULT_EX result = invalidated_by_message(ndk, check, c, target.token());
  check.equal("token of the result", result.TypeSpecificCompletionOutput, ULONG_PTR{target.token()});
}

CONFORMANCE_CASE(ndk_a_message_may_be_empty, "ndk.qp.zero-length", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(1));
  const NdkStatus posted = c.a.qp->Dispatch->NdkSend(c.a.qp, nullptr, nullptr, 0, 0);
  check.require(says(check, "NdkSend without buffers", posted, {STATUS_SUCCESS}), "NdkSend is taken");
  ends_as(ndk, check, c.a, "the Send", {STATUS_SUCCESS});
  check.equal("bytes that came", next_result(ndk, check, c.b, "the Receive").BytesTransferred, ULONG{0});
}

CONFORMANCE_CASE(ndk_a_message_does_not_outgrow_its_receive, "ndk.qp.short-receive", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(1, 0, 64));
  arranged_by(check, "NdkSend", c.a.send(1, 0, 65));
  ends_badly(ndk, check, c.b, "the Receive");
  ends_badly(ndk, check, c.a, "the Send");
}

CONFORMANCE_CASE(ndk_a_message_invalidates_unseen, "ndk.qp.send-invalidate-plain", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const auto send_and_invalidate = c.a.qp->Dispatch->NdkSendAndInvalidate;
  check.precondition(send_and_invalidate != nullptr, "messages invalidate");
  Registered target(ndk, check, ndk.b(), c.b);
  arranged_by(check, "NdkReceive", c.b.receive(1));
  const NDK_SGE out = c.a.memory->sge(0, 16);
  arranged_by(check, "NdkSendAndInvalidate", send_and_invalidate(c.a.qp, ndk_tag(2), &out, 1, 0, target.token()));
  ndk.pass(kNdkQuiet);
  NDK_RESULT result = {};
  check.require(c.b.queue->cq->Dispatch->NdkGetCqResults(c.b.queue->cq, &result, 1) == 1, "the Receive has a result");
  target.registers_again();
}

CONFORMANCE_CASE(ndk_a_message_invalidates_what_is_valid, "ndk.qp.send-invalidate-none", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const auto send_and_invalidate = c.a.qp->Dispatch->NdkSendAndInvalidate;
  check.precondition(send_and_invalidate != nullptr, "messages invalidate");
  NDK_MR* const region = ndk.b().fast_region();
  const UINT32 token = region->Dispatch->NdkGetRemoteTokenFromMr(region);
  arranged_by(check, "NdkReceive", c.b.receive(1));
  const NDK_SGE out = c.a.memory->sge(0, 16);
  arranged_by(check, "NdkSendAndInvalidate", send_and_invalidate(c.a.qp, ndk_tag(2), &out, 1, 0, token));
  check.that(ndk.wait_until([&] { return c.a.disconnected > 0; }), "the connection ends");
}

}  // namespace fb::conformance
