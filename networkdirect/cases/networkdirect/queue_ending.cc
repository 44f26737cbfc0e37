// How requests of queue pairs end when they do not succeed: flushes, errors, the end of a connection.
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

void two_receives(Check& check, NdSide& side) {
  ND2_SGE into = side.memory->sge(0, 64);
  for (const std::uintptr_t tag : {1u, 2u}) {
    const HRESULT called = side.qp->Receive(nd_tag(tag), &into, 1);
    check.require(called == ND_SUCCESS, "Receive is taken", "it answered " + words(NdStatus(called)));
  }
}

/// The two Receives, in their order, with a status.
void two_come_back(ProviderBench& bench, Check& check, NdSide& side, std::vector<HRESULT> legal) {
  for (const std::uintptr_t tag : {1u, 2u}) {
    const ND2_RESULT result = next_result(bench, check, side, "a Receive");
    check.that(result.RequestContext == nd_tag(tag), "the Receives come back in their order");
    says(check, "a Receive that was flushed", result.Status, legal);
  }
}

/// A connection that the active side has ended.
std::unique_ptr<NdConnection> disconnected(ProviderBench& bench, Check& check) {
  auto c = bench.nd().connect();
  NdRequest request;
  const HRESULT called = c->a.connector->Disconnect(&request);
  check.precondition(ended(bench, called, request, *c->a.connector) == ND_SUCCESS, "Disconnect completes with ND_SUCCESS");
  return c;
}

/// Refused in the call, or taken and cancelled.
void refused_or_cancelled(ProviderBench& bench, Check& check, NdSide& side, std::string_view what, HRESULT called) {
  says(check, what, called, {ND_SUCCESS, ND_CONNECTION_INVALID});
  if (called == ND_SUCCESS) ends_as(bench, check, side, what, {ND_CANCELED});
}

}  // namespace

CONFORMANCE_CASE(nd_flush_needs_no_connection, "networkdirect.queue.flush-receives", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().prepare();
  two_receives(check, c->a);
  const HRESULT called = c->a.queue->Notify(ND_CQ_NOTIFY_ANY, &request);
  says(check, "Flush", c->a.qp->Flush(), {ND_SUCCESS});
  says(check, "Notify", ended(bench, called, request, *c->a.queue), {ND_SUCCESS});
  ND2_RESULT results[2] = {};
  check.require(c->a.queue->GetResults(results, 2) == 2, "both are there when the notification comes");
  for (std::uintptr_t i = 0; i < 2; ++i) {
    check.that(results[i].RequestContext == nd_tag(i + 1), "the Receives come back in their order");
    says(check, "a Receive that was flushed", results[i].Status, {ND_CANCELED});
  }
}

CONFORMANCE_CASE(nd_flushed_means_cancelled, "networkdirect.queue.flush-code", roles::provider) {
  const auto c = bench.nd().connect();
  two_receives(check, c->a);
  says(check, "Flush", c->a.qp->Flush(), {ND_SUCCESS});
  two_come_back(bench, check, c->a, {ND_CANCELED});
}

CONFORMANCE_CASE(nd_flush_brings_back_all, "networkdirect.queue.flush-all", roles::provider) {
  const auto c = bench.nd().connect();
  two_receives(check, c->a);
  // They wait for a Receive of the peer.
  for (int i = 0; i < 2; ++i) arranged_by(check, "Send", c->a.qp->Send(nd_tag(9), nullptr, 0, 0));
  says(check, "Flush", c->a.qp->Flush(), {ND_SUCCESS});
  int sends = 0, receives = 0;
  for (int i = 0; i < 4; ++i) {
    const ND2_RESULT result = next_result(bench, check, c->a, "a request that was flushed");
    ++(result.RequestType == Nd2RequestTypeReceive ? receives : sends);
  }
  check.equal("Sends that came back", sends, 2);
  check.equal("Receives that came back", receives, 2);
}

CONFORMANCE_CASE(nd_a_bad_buffer_is_said_by_its_result, "networkdirect.queue.local-error", roles::provider) {
  const auto c = bench.nd().connect();
  check.require(says(check, "Send with a bad token", send_bad_token(*c), {ND_SUCCESS}), "the call is taken");
  ends_as(bench, check, c->a, "a Send with a bad token", {ND_ACCESS_VIOLATION});
}

CONFORMANCE_CASE(nd_a_bad_remote_token_fails, "networkdirect.queue.remote-error", roles::provider) {
  for (const bool read : {false, true}) {
    const auto c = bench.nd().connect();
    const UINT32 token = c->b.memory->region->GetRemoteToken() ^ bits_in_network_order(0x00550000);
    says(check, "access with a bad token", access(bench, check, *c, read, c->b.memory->address(), token),
         {ND_ACCESS_VIOLATION, ND_REMOTE_ERROR});
  }
}

CONFORMANCE_CASE(nd_a_receive_may_be_too_small, "networkdirect.queue.short-receive", roles::provider) {
  const auto c = bench.nd().connect();
  ND2_SGE into = c->b.memory->sge(0, 100), out = c->a.memory->sge(0, 101);
  arranged_by(check, "Receive", c->b.qp->Receive(nullptr, &into, 1));
  arranged_by(check, "Send", c->a.qp->Send(nullptr, &out, 1, 0));
  ends_as(bench, check, c->b, "a Receive that is too small", {ND_DATA_OVERRUN, ND_BUFFER_OVERFLOW});
  ends_badly(bench, check, c->a, "the Send to it");
}

CONFORMANCE_CASE(nd_a_send_without_a_receive_fails, "networkdirect.queue.no-receive", roles::provider) {
  const auto c = bench.nd().connect();
  ND2_SGE out = c->a.memory->sge(0, 64);
  arranged_by(check, "Send", c->a.qp->Send(nullptr, &out, 1, 0));
  ends_as(bench, check, c->a, "a Send without a Receive", {ND_IO_TIMEOUT});
  check.that(bench.nd().quiet(c->b), "the peer sees nothing of it", "it has a result");
}

CONFORMANCE_CASE(nd_a_failure_ends_the_connection, "networkdirect.queue.failure-ends", roles::provider) {
  NdRequest noticed;
  const auto c = bench.nd().connect();
  const HRESULT waiting = c->b.connector->NotifyDisconnect(&noticed);
  check.precondition(waiting == ND_PENDING, "NotifyDisconnect is pending");
  check.precondition(send_bad_token(*c) == ND_SUCCESS, "a Send with a bad token is taken");
  ends_badly(bench, check, c->a, "a Send with a bad token");
  check.that(ended(bench, waiting, noticed, *c->b.connector) != ND_PENDING, "NotifyDisconnect of the peer completes", "it is pending");
}

CONFORMANCE_CASE(nd_a_send_after_the_end_is_cancelled, "networkdirect.queue.send-after", roles::provider) {
  const auto c = disconnected(bench, check);
  refused_or_cancelled(bench, check, c->a, "a Send after the end", c->a.qp->Send(nullptr, nullptr, 0, 0));
}

CONFORMANCE_CASE(nd_a_receive_after_the_end_is_cancelled, "networkdirect.queue.receive-after", roles::provider) {
  const auto c = disconnected(bench, check);
  ND2_SGE into = c->a.memory->sge(0, 64);
  refused_or_cancelled(bench, check, c->a, "a Receive after the end", c->a.qp->Receive(nullptr, &into, 1));
}

CONFORMANCE_CASE(nd_disconnect_brings_back_receives, "networkdirect.connection.disconnect-flushes", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  two_receives(check, c->a);
  const HRESULT called = c->a.connector->Disconnect(&request);
  says(check, "Disconnect", ended(bench, called, request, *c->a.connector), {ND_SUCCESS});
  two_come_back(bench, check, c->a, {ND_CANCELED});
}

CONFORMANCE_CASE(nd_receives_of_the_peer_come_back_cancelled, "networkdirect.connection.peer-flush", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  two_receives(check, c->b);
  const HRESULT called = c->a.connector->Disconnect(&request);
  says(check, "Disconnect", ended(bench, called, request, *c->a.connector), {ND_SUCCESS});
  for (int i = 0; i < 2; ++i) {
    const auto result = bench.nd().result(c->b, Duration::s(1));
    if (!result) return;
    says(check, "a Receive when the peer has disconnected", result->Status, {ND_CANCELED});
  }
}

}  // namespace fb::conformance
