// What queue pairs do with data: Send, Read, Write, inline data, the fence.
#include <algorithm>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

/// A connection whose active side may send so much inline; adapters without inline data are not judged.
std::unique_ptr<NdConnection> with_inline(ProviderBench& bench, Check& check, ULONG bytes) {
  check.precondition(bench.nd().a().info().MaxInlineDataSize >= bytes, "the adapter takes inline data");
  NdConnectTerms terms;
  terms.a.inline_bytes = bytes;
  return bench.nd().connect(terms);
}

void receive(Check& check, NdConnection& c) {
  ND2_SGE into = c.b.memory->sge(4096, 4096);
  arranged_by(check, "Receive", c.b.qp->Receive(nullptr, &into, 1));
}

void done(ProviderBench& bench, Check& check, NdSide& side, std::string_view what, HRESULT called) {
  check.require(says(check, what, called, {ND_SUCCESS}), "the call is taken");
  ends_as(bench, check, side, what, {ND_SUCCESS});
}

}  // namespace

CONFORMANCE_CASE(nd_a_send_arrives, "networkdirect.queue.send", roles::provider) {
  const auto c = bench.nd().connect();
  message_crosses(bench, check, c->a, c->b);
  message_crosses(bench, check, c->b, c->a);
}

CONFORMANCE_CASE(nd_a_write_arrives, "networkdirect.queue.write", roles::provider) {
  const auto c = bench.nd().connect();
  ND2_SGE mine = c->a.memory->sge(7, 1000);
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  done(bench, check, c->a, "Write", c->a.qp->Write(nullptr, &mine, 1, c->b.memory->address(20000), token, 0));
  check.bytes("what was written", ByteView(c->b.memory->bytes).subspan(20000, 1000), ByteView(c->a.memory->bytes).subspan(7, 1000));
  check.that(bench.nd().quiet(c->b), "the peer has no result of it", "there is a result");
}

CONFORMANCE_CASE(nd_a_read_brings_what_is_there, "networkdirect.queue.read", roles::provider) {
  const auto c = bench.nd().connect();
  ND2_SGE mine = c->a.memory->sge(20000, 1000);
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  done(bench, check, c->a, "Read", c->a.qp->Read(nullptr, &mine, 1, c->b.memory->address(7), token, 0));
  check.bytes("what was read", ByteView(c->a.memory->bytes).subspan(20000, 1000), ByteView(c->b.memory->bytes).subspan(7, 1000));
}

CONFORMANCE_CASE(nd_buffers_are_one_message, "networkdirect.queue.buffers", roles::provider) {
  const auto c = bench.nd().connect();
  ND2_SGE into[] = {c->b.memory->sge(20000, 70), c->b.memory->sge(30000, 200)};
  ND2_SGE out[] = {c->a.memory->sge(10, 100), c->a.memory->sge(5000, 50)};
  arranged_by(check, "Receive", c->b.qp->Receive(nullptr, into, 2));
  done(bench, check, c->a, "Send", c->a.qp->Send(nullptr, out, 2, 0));
  check.equal("bytes that came", next_result(bench, check, c->b, "the Receive").BytesTransferred, ULONG{150});
  const ByteView sent(c->a.memory->bytes), got(c->b.memory->bytes);
  check.bytes("the first buffer", got.subspan(20000, 70), sent.subspan(10, 70));
  check.bytes("the second, from the first of the sender", got.subspan(30000, 30), sent.subspan(80, 30));
  check.bytes("the second, from the second of the sender", got.subspan(30030, 50), sent.subspan(5000, 50));
}

CONFORMANCE_CASE(nd_no_bytes_are_legal, "networkdirect.queue.zero-length", roles::provider) {
  const auto c = bench.nd().connect();
  const UINT64 there = c->b.memory->address();
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  receive(check, *c);
  done(bench, check, c->a, "Send of nothing", c->a.qp->Send(nullptr, nullptr, 0, 0));
  check.equal("bytes that came", next_result(bench, check, c->b, "the Receive").BytesTransferred, ULONG{0});
  done(bench, check, c->a, "Write of nothing", c->a.qp->Write(nullptr, nullptr, 0, there, token, 0));
  done(bench, check, c->a, "Read of nothing", c->a.qp->Read(nullptr, nullptr, 0, there, token, 0));
}

CONFORMANCE_CASE(nd_one_buffer_more_is_taken, "networkdirect.queue.extra-buffer", roles::provider) {
  NdConnectTerms terms;
  terms.a.sges = 1;
  const auto c = bench.nd().connect(terms);
  ND2_SGE out[] = {c->a.memory->sge(0, 8), c->a.memory->sge(8, 8)};
  receive(check, *c);
  done(bench, check, c->a, "Send with one buffer more", c->a.qp->Send(nullptr, out, 2, 0));
}

CONFORMANCE_CASE(nd_inline_data_is_taken_in_the_call, "networkdirect.queue.inline-copy", roles::provider) {
  const auto c = with_inline(bench, check, 32);
  receive(check, *c);
  ND2_SGE out = c->a.memory->sge(5, 32);
  const Bytes before(c->a.memory->bytes.begin() + 5, c->a.memory->bytes.begin() + 37);
  const HRESULT called = c->a.qp->Send(nullptr, &out, 1, ND_OP_FLAG_INLINE);
  std::fill_n(c->a.memory->bytes.begin() + 5, 32, std::uint8_t{0xEE});
  done(bench, check, c->a, "Send of inline data", called);
  check.equal("bytes that came", next_result(bench, check, c->b, "the Receive").BytesTransferred, ULONG{32});
  check.bytes("the bytes", ByteView(c->b.memory->bytes).subspan(4096, 32), before);
}

CONFORMANCE_CASE(nd_inline_data_needs_no_token, "networkdirect.queue.inline-token", roles::provider) {
  const auto c = with_inline(bench, check, 32);
  receive(check, *c);
  Bytes loose(16, 0x3C);
  ND2_SGE out = {loose.data(), 16, 0};
  done(bench, check, c->a, "Send of inline data without a token", c->a.qp->Send(nullptr, &out, 1, ND_OP_FLAG_INLINE));
  next_result(bench, check, c->b, "the Receive");
  check.bytes("the bytes", ByteView(c->b.memory->bytes).subspan(4096, 16), loose);
}

CONFORMANCE_CASE(nd_inline_data_has_any_number_of_buffers, "networkdirect.queue.inline-buffers", roles::provider) {
  const auto c = with_inline(bench, check, 32);
  receive(check, *c);
  ND2_SGE out[6];
  for (std::size_t i = 0; i < 6; ++i) out[i] = c->a.memory->sge(10 * i, 4);
  done(bench, check, c->a, "Send of inline data in six buffers", c->a.qp->Send(nullptr, out, 6, ND_OP_FLAG_INLINE));
  check.equal("bytes that came", next_result(bench, check, c->b, "the Receive").BytesTransferred, ULONG{24});
}

CONFORMANCE_CASE(nd_inline_data_ends_at_its_limit, "networkdirect.queue.inline-limit", roles::provider) {
  const ULONG most = bench.nd().a().info().MaxInlineDataSize;
  check.precondition(most >= 1, "the adapter takes inline data");
  for (const ULONG limit : {ULONG{1}, ULONG{16}, ULONG{33}, most}) {
    if (limit > most) continue;
    const auto c = with_inline(bench, check, limit);
    Bytes loose(limit + 1);
    for (ULONG i = 0; i <= limit; ++i) loose[i] = static_cast<std::uint8_t>(0x40 + i * 3);
    ND2_SGE out = {loose.data(), limit + 1, 0};
    const UINT64 there = c->b.memory->address(20000);
    const UINT32 token = c->b.memory->region->GetRemoteToken();
    const std::string one_more = " of " + std::to_string(limit + 1) + " inline bytes on a queue pair for " + std::to_string(limit);
    says(check, "Send" + one_more, c->a.qp->Send(nullptr, &out, 1, ND_OP_FLAG_INLINE), {ND_BUFFER_OVERFLOW});
    says(check, "Write" + one_more, c->a.qp->Write(nullptr, &out, 1, there, token, ND_OP_FLAG_INLINE), {ND_BUFFER_OVERFLOW});
    out.BufferLength = limit;
    receive(check, *c);
    done(bench, check, c->a, "Write of all inline data", c->a.qp->Write(nullptr, &out, 1, there, token, ND_OP_FLAG_INLINE));
    done(bench, check, c->a, "Send of all inline data", c->a.qp->Send(nullptr, &out, 1, ND_OP_FLAG_INLINE));
    ends_as(bench, check, c->b, "the Receive", {ND_SUCCESS});
    check.bytes("bytes of the Send", ByteView(c->b.memory->bytes).subspan(4096, limit), ByteView(loose).first(limit));
    check.bytes("bytes of the Write", ByteView(c->b.memory->bytes).subspan(20000, limit), ByteView(loose).first(limit));
  }
}

CONFORMANCE_CASE(nd_a_fence_waits_for_reads, "networkdirect.queue.read-fence", roles::provider) {
  const auto c = bench.nd().connect();
  std::fill_n(c->b.memory->bytes.begin(), 4096, std::uint8_t{0x5A});
  ND2_SGE into = c->b.memory->sge(8192, 4096), mine = c->a.memory->sge(0, 4096);
  arranged_by(check, "Receive", c->b.qp->Receive(nullptr, &into, 1));
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  arranged_by(check, "Read", c->a.qp->Read(nullptr, &mine, 1, c->b.memory->address(), token, ND_OP_FLAG_SILENT_SUCCESS));
  done(bench, check, c->a, "Send with the fence", c->a.qp->Send(nullptr, &mine, 1, ND_OP_FLAG_READ_FENCE));
  ends_as(bench, check, c->b, "the Receive", {ND_SUCCESS});
  check.bytes("what the Read had brought", ByteView(c->b.memory->bytes).subspan(8192, 4096), Bytes(4096, 0x5A));
}

CONFORMANCE_CASE(nd_more_reads_than_the_limit_wait, "networkdirect.queue.read-limit", roles::provider) {
  NdConnectTerms terms;
  terms.reads = 1;
  const auto c = bench.nd().connect(terms);
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  for (std::size_t i = 0; i < 8; ++i) {
    ND2_SGE mine = c->a.memory->sge(4096 * i, 4096);
    says(check, "Read", c->a.qp->Read(nullptr, &mine, 1, c->b.memory->address(), token, 0), {ND_SUCCESS});
  }
  for (int i = 0; i < 8; ++i) ends_as(bench, check, c->a, "a Read", {ND_SUCCESS});
}

}  // namespace fb::conformance
