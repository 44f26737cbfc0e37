// What queue pairs take and what they refuse.
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

/// Far more buffers than any queue pair may have.
std::vector<ND2_SGE> many_buffers(NdSide& side, ULONG limit) { return std::vector<ND2_SGE>(2 * limit + 8, side.memory->sge(0, 1)); }

}  // namespace

CONFORMANCE_CASE(nd_requests_want_a_connection, "networkdirect.queue.unconnected", roles::provider) {
  const auto c = bench.nd().prepare();
  const UINT64 there = c->b.memory->address();
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  ND2_SGE mine = c->a.memory->sge(0, 16);
  says(check, "Send", c->a.qp->Send(nullptr, &mine, 1, 0), {ND_CONNECTION_INVALID});
  says(check, "Read", c->a.qp->Read(nullptr, &mine, 1, there, token, 0), {ND_CONNECTION_INVALID});
  says(check, "Write", c->a.qp->Write(nullptr, &mine, 1, there, token, 0), {ND_CONNECTION_INVALID});
  check.that(bench.nd().quiet(c->a), "there is no result of them", "there is a result");
}

CONFORMANCE_CASE(nd_receives_want_no_connection, "networkdirect.queue.receive-unconnected", roles::provider) {
  const auto c = bench.nd().prepare();
  ND2_SGE into = c->b.memory->sge(0, 64), out = c->a.memory->sge(9, 20);
  check.require(says(check, "Receive", c->b.qp->Receive(nd_tag(6), &into, 1), {ND_SUCCESS}), "Receive is taken");
  establish(bench, check, *c);
  arranged_by(check, "Send", c->a.qp->Send(nullptr, &out, 1, 0));
  const ND2_RESULT result = next_result(bench, check, c->b, "the Receive");
  check.that(result.RequestContext == nd_tag(6), "the first message goes to the Receive");
  check.equal("bytes that came", result.BytesTransferred, ULONG{20});
}

CONFORMANCE_CASE(nd_a_send_has_its_flags, "networkdirect.queue.send-flags", roles::provider) {
  const auto c = bench.nd().connect();
  ND2_SGE out = c->a.memory->sge(0, 16);
  for (const ULONG flags : {ULONG{ND_OP_FLAG_ALLOW_READ}, ULONG{ND_OP_FLAG_ALLOW_WRITE}, ULONG{0x40000000}}) {
    says(check, "Send with a foreign flag", c->a.qp->Send(nullptr, &out, 1, flags), {ND_INVALID_PARAMETER_4});
  }
}

CONFORMANCE_CASE(nd_access_has_its_flags, "networkdirect.queue.access-flags", roles::provider) {
  const auto c = bench.nd().connect();
  ND2_SGE mine = c->a.memory->sge(0, 16);
  const UINT64 there = c->b.memory->address();
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  for (const ULONG flags : {ULONG{ND_OP_FLAG_ALLOW_READ}, ULONG{0x40000000}}) {
    says(check, "Write with a foreign flag", c->a.qp->Write(nullptr, &mine, 1, there, token, flags), {ND_INVALID_PARAMETER_6});
    says(check, "Read with a foreign flag", c->a.qp->Read(nullptr, &mine, 1, there, token, flags), {ND_INVALID_PARAMETER_6});
  }
}

CONFORMANCE_CASE(nd_a_full_initiator_queue_refuses, "networkdirect.queue.full-initiator", roles::provider) {
  NdConnectTerms terms;
  terms.a.depth = 8;
  terms.b.depth = 64;
  const auto c = bench.nd().connect(terms);
  const ULONG most = c->a.end->info().MaxInitiatorQueueDepth + 1;
  // The peer has no Receive, so that none of them can be done.
  ULONG posted = 0;
  HRESULT called = ND_SUCCESS;
  while (posted < most && (called = c->a.qp->Send(nullptr, nullptr, 0, 0)) == ND_SUCCESS) ++posted;
  check.that(posted >= 8, "the queue takes as many as it was made for");
  check.require(says(check, "Send to a full queue", called, {ND_NO_MORE_ENTRIES}), "a full queue refuses");
  if (posted > 64) return;  // more than the peer has room for
  for (ULONG i = 0; i < posted; ++i) {
    ND2_SGE into = c->b.memory->sge(0, 64);
    arranged_by(check, "Receive", c->b.qp->Receive(nullptr, &into, 1));
  }
  for (ULONG i = 0; i < posted; ++i) ends_as(bench, check, c->a, "a Send that was taken", {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_full_receive_queue_refuses, "networkdirect.queue.full-receives", roles::provider) {
  NdConnectTerms terms;
  terms.b.depth = 8;
  const auto c = bench.nd().prepare(terms);
  const ULONG most = c->b.end->info().MaxReceiveQueueDepth + 1;
  ND2_SGE into = c->b.memory->sge(0, 64);
  ULONG posted = 0;
  HRESULT called = ND_SUCCESS;
  while (posted < most && (called = c->b.qp->Receive(nullptr, &into, 1)) == ND_SUCCESS) ++posted;
  check.that(posted >= 8, "the queue takes as many as it was made for");
  says(check, "Receive to a full queue", called, {ND_NO_MORE_ENTRIES});
}

CONFORMANCE_CASE(nd_buffers_of_requests_are_counted, "networkdirect.queue.many-buffers", roles::provider) {
  const auto c = bench.nd().connect();
  const auto buffers = many_buffers(c->a, c->a.end->info().MaxInitiatorSge);
  const auto count = static_cast<ULONG>(buffers.size());
  says(check, "Send with too many buffers", c->a.qp->Send(nullptr, buffers.data(), count, 0), {ND_DATA_OVERRUN});
  says(check, "Write with too many buffers",
       c->a.qp->Write(nullptr, buffers.data(), count, c->b.memory->address(), c->b.memory->region->GetRemoteToken(), 0), {ND_DATA_OVERRUN});
}

CONFORMANCE_CASE(nd_buffers_of_receives_are_counted, "networkdirect.queue.receive-many-buffers", roles::provider) {
  const auto c = bench.nd().connect();
  const auto buffers = many_buffers(c->b, c->b.end->info().MaxReceiveSge);
  says(check, "Receive with too many buffers", c->b.qp->Receive(nullptr, buffers.data(), static_cast<ULONG>(buffers.size())),
       {ND_DATA_OVERRUN});
}

CONFORMANCE_CASE(nd_bytes_of_requests_are_counted, "networkdirect.queue.many-bytes", roles::provider) {
  const auto c = bench.nd().connect();
  ND2_SGE out[] = {c->a.memory->sge(0, c->a.end->info().MaxTransferLength), c->a.memory->sge(0, 64)};
  const UINT64 there = c->b.memory->address();
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  says(check, "Send of too many bytes", c->a.qp->Send(nullptr, out, 2, 0), {ND_BUFFER_OVERFLOW});
  says(check, "Write of too many bytes", c->a.qp->Write(nullptr, out, 2, there, token, 0), {ND_BUFFER_OVERFLOW});
  says(check, "Read of too many bytes", c->a.qp->Read(nullptr, out, 2, there, token, 0), {ND_BUFFER_OVERFLOW});
  ND2_SGE into[] = {c->b.memory->sge(0, c->b.end->info().MaxTransferLength), c->b.memory->sge(0, 64)};
  says(check, "Receive of too many bytes", c->b.qp->Receive(nullptr, into, 2), {ND_BUFFER_OVERFLOW});
}

}  // namespace fb::conformance
