// Making connections: who may ask, what is agreed, what comes of it.
#include <algorithm>

#include "networkdirect/cases/foreign_addresses.h"
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

constexpr Duration kLong = Duration::s(20);

/// A connector of the active end, and a queue pair for it.
NdSide another_side(NdEnd& end, IND2CompletionQueue& queue) {
  NdSide side;
  side.end = &end;
  side.qp = end.queue_pair(queue);
  side.connector = end.bound_connector();
  return side;
}

HRESULT bind_to(IND2Connector& connector, const IpAddress& address, std::uint16_t port = 0) {
  const NdAddress at(address, port);
  return connector.Bind(at.get(), at.length());
}

void completed(ProviderBench& bench, Check& check, NdConnection& c) {
  NdRequest request;
  const HRESULT called = c.a.connector->CompleteConnect(&request);
  says(check, "CompleteConnect", ended(bench, called, request, *c.a.connector), {ND_SUCCESS});
}

}  // namespace

CONFORMANCE_CASE(nd_without_a_peer_nothing_is_done, "networkdirect.connection.unconnected", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().prepare();
  const auto unbound = c->a.end->connector();
  for (IND2Connector* connector : {unbound.get(), c->a.connector.get()}) {
    says(check, "CompleteConnect", connector->CompleteConnect(&request), {ND_CONNECTION_INVALID});
    says(check, "Accept", connector->Accept(c->a.qp.get(), 1, 1, nullptr, 0, &request), {ND_CONNECTION_INVALID});
    says(check, "Reject", connector->Reject(nullptr, 0), {ND_CONNECTION_INVALID});
    says(check, "Disconnect", connector->Disconnect(&request), {ND_CONNECTION_INVALID});
  }
}

CONFORMANCE_CASE(nd_a_connector_is_bound_once, "networkdirect.connection.bind-again", roles::provider) {
  const auto connector = bench.nd().a().bound_connector();
  refused(check, "a second Bind", bind_to(*connector, bench.nd().a().address()));
}

CONFORMANCE_CASE(nd_a_connector_has_an_address_of_its_adapter, "networkdirect.connection.bind-foreign", roles::provider) {
  NdEnd& end = bench.nd().a();
  for (const IpAddress& foreign : foreign_addresses(end.address())) {
    refused(check, "Bind to " + to_string(foreign), bind_to(*end.connector(), foreign));
  }
}

CONFORMANCE_CASE(nd_connect_wants_a_bound_connector, "networkdirect.connection.connect-unbound", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().prepare();
  c->a.connector = c->a.end->connector();
  const HRESULT called = ask_for(c->a, listening_at(*c), request);
  refused(check, "Connect of a connector that is not bound", called);
}

CONFORMANCE_CASE(nd_a_connector_asks_once_at_a_time, "networkdirect.connection.connect-again", roles::provider) {
  NdRequest again;
  const auto c = bench.nd().ask();
  says(check, "a second Connect", ask_for(c->a, listening_at(*c), again), {ND_CONNECTION_ACTIVE});
}

CONFORMANCE_CASE(nd_a_pair_has_one_connector, "networkdirect.connection.pair-busy", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().ask();
  const auto other = c->a.end->bound_connector();
  const NdAddress to = listening_at(*c);
  says(check, "Connect of a queue pair that is connecting",
       other->Connect(c->a.qp.get(), to.get(), to.length(), 1, 1, nullptr, 0, &request), {ND_CONNECTION_ACTIVE});
}

CONFORMANCE_CASE(nd_a_pair_has_one_connection, "networkdirect.connection.pair-spent", roles::provider) {
  NdRequest request, again;
  const auto c = bench.nd().connect();
  const HRESULT called = c->a.connector->Disconnect(&request);
  check.precondition(ended(bench, called, request, *c->a.connector) == ND_SUCCESS, "Disconnect completes");
  c->a.connector = c->a.end->bound_connector();
  const HRESULT second = ask_for(c->a, listening_at(*c), again);
  bench.nd().wait_until([&] { return second != ND_PENDING || !again.pending(); }, Duration::s(1));
  refused(check, "Connect of a queue pair that was disconnected",
          second != ND_PENDING ? NdStatus(second) : NdStatus(c->a.connector->GetOverlappedResult(&again, FALSE)));
}

CONFORMANCE_CASE(nd_both_sides_see_the_limits, "networkdirect.connection.read-limits", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().prepare();
  const ND2_ADAPTER_INFO a = c->a.end->info(), b = c->b.end->info();
  check.precondition(std::min({a.MaxInboundReadLimit, a.MaxOutboundReadLimit, b.MaxInboundReadLimit, b.MaxOutboundReadLimit}) >= 6,
                     "the adapters serve 6 Reads in either direction");
  check.require(ask_for(c->a, listening_at(*c), c->connecting, {}, 6, 3) == ND_PENDING, "Connect is pending");
  const HRESULT waited = c->listener->GetConnectionRequest(c->b.connector.get(), &request);
  check.require(ended(bench, waited, request, *c->listener) == ND_SUCCESS, "the request reaches the listener");
  ULONG inbound = 0, outbound = 0;
  says(check, "GetReadLimits of the passive side", c->b.connector->GetReadLimits(&inbound, &outbound), {ND_SUCCESS});
  check.equal("inbound of the passive side", inbound, ULONG{3});
  check.equal("outbound of the passive side", outbound, ULONG{6});
  check.require(accept_on(c->b, c->accepting, {}, 2, 6) == ND_PENDING, "Accept is pending");
  check.require(ended(bench, ND_PENDING, c->connecting, *c->a.connector) == ND_SUCCESS, "Connect completes");
  says(check, "GetReadLimits of the active side", c->a.connector->GetReadLimits(&inbound, &outbound), {ND_SUCCESS});
  check.equal("inbound of the active side", inbound, ULONG{6});
  check.equal("outbound of the active side", outbound, ULONG{2});
}

CONFORMANCE_CASE(nd_no_more_is_agreed_than_was_offered, "networkdirect.connection.read-limits-offer", roles::provider) {
  NdConnectTerms terms;
  terms.reads = 2;
  const auto c = bench.nd().ask(terms);
  check.require(accept_on(c->b, c->accepting, {}, 100000, 100000) == ND_PENDING, "Accept is pending");
  check.require(ended(bench, ND_PENDING, c->connecting, *c->a.connector) == ND_SUCCESS, "Connect completes");
  completed(bench, check, *c);
  for (NdSide* side : {&c->a, &c->b}) {
    ULONG inbound = 0, outbound = 0;
    says(check, "GetReadLimits", side->connector->GetReadLimits(&inbound, &outbound), {ND_SUCCESS});
    check.between("inbound limit", inbound, ULONG{0}, ULONG{2});
    check.between("outbound limit", outbound, ULONG{0}, ULONG{2});
  }
}

CONFORMANCE_CASE(nd_limits_want_a_peer, "networkdirect.connection.read-limits-none", roles::provider) {
  ULONG inbound = 0, outbound = 0;
  says(check, "GetReadLimits", bench.nd().a().bound_connector()->GetReadLimits(&inbound, &outbound),
       {ND_CONNECTION_INVALID, ND_UNSUCCESSFUL});
}

CONFORMANCE_CASE(nd_connect_completes_when_accepted, "networkdirect.connection.connect", roles::provider) {
  const auto c = bench.nd().ask();
  check.that(c->connecting.pending(), "Connect is pending until the passive side answers", "it has completed");
  check.require(accept_on(c->b, c->accepting) == ND_PENDING, "Accept is pending");
  says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_accept_waits_for_the_connection, "networkdirect.connection.accept-waits", roles::provider) {
  const auto c = bench.nd().reply();
  bench.nd().pass(kNdQuiet);
  check.that(c->accepting.pending(), "Accept is pending until CompleteConnect", "it has completed");
  completed(bench, check, *c);
  says(check, "Accept", ended(bench, ND_PENDING, c->accepting, *c->b.connector), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_complete_connect_completes, "networkdirect.connection.complete", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().reply();
  const HRESULT called = c->a.connector->CompleteConnect(&request);
  says(check, "CompleteConnect", ended(bench, called, request, *c->a.connector), {ND_SUCCESS});
  message_crosses(bench, check, c->a, c->b);
}

CONFORMANCE_CASE(nd_there_is_no_connection_before, "networkdirect.connection.not-before", roles::provider) {
  const auto c = bench.nd().reply();
  says(check, "Send before CompleteConnect", c->a.qp->Send(nullptr, nullptr, 0, 0), {ND_CONNECTION_INVALID});
}

CONFORMANCE_CASE(nd_nobody_listens, "networkdirect.connection.nobody", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().prepare();
  const NdAddress nobody(c->b.end->address(), bench.nd().fresh_port());
  says(check, "Connect to nobody", ended(bench, ask_for(c->a, nobody, request), request, *c->a.connector), {ND_CONNECTION_REFUSED});
}

CONFORMANCE_CASE(nd_a_rejected_connect_is_refused, "networkdirect.connection.rejected", roles::provider) {
  const auto c = bench.nd().ask();
  says(check, "Reject", c->b.connector->Reject(nullptr, 0), {ND_SUCCESS});
  says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector), {ND_CONNECTION_REFUSED});
}

CONFORMANCE_CASE(nd_a_refusal_is_not_the_end, "networkdirect.connection.retry", roles::provider) {
  const auto c = bench.nd().ask();
  arranged_by(check, "Reject", c->b.connector->Reject(nullptr, 0));
  check.precondition(ended(bench, ND_PENDING, c->connecting, *c->a.connector).failed(), "Connect fails");
  c->b.connector = c->b.end->connector();
  establish(bench, check, *c);
  message_crosses(bench, check, c->a, c->b);
}

CONFORMANCE_CASE(nd_a_refusal_leaves_the_pair, "networkdirect.connection.failed-keeps", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().prepare();
  ND2_SGE into = c->a.memory->sge(0, 64);
  arranged_by(check, "Receive", c->a.qp->Receive(nullptr, &into, 1));
  const NdAddress nobody(c->b.end->address(), bench.nd().fresh_port());
  check.precondition(ended(bench, ask_for(c->a, nobody, request), request, *c->a.connector).failed(), "Connect to nobody fails");
  check.that(bench.nd().quiet(c->a), "the Receive stays", "it has a result");
  // It has the first message of the next attempt, with another connector where a refusal spends one.
  c->a.connector = c->a.end->bound_connector();
  establish(bench, check, *c);
  ND2_SGE out = c->b.memory->sge(7, 64);
  arranged_by(check, "Send", c->b.qp->Send(nullptr, &out, 1, 0));
  ends_as(bench, check, c->a, "the Receive of before", {ND_SUCCESS});
  check.bytes("what it received", ByteView(c->a.memory->bytes).first(64), ByteView(c->b.memory->bytes).subspan(7, 64));
}

CONFORMANCE_CASE(nd_a_request_is_rejected_once, "networkdirect.connection.reject-again", roles::provider) {
  const auto c = bench.nd().ask();
  says(check, "Reject", c->b.connector->Reject(nullptr, 0), {ND_SUCCESS});
  says(check, "a second Reject", c->b.connector->Reject(nullptr, 0), {ND_CONNECTION_INVALID});
}

CONFORMANCE_CASE(nd_the_active_side_may_reject, "networkdirect.connection.reply-rejected", roles::provider) {
  const auto c = bench.nd().reply();
  says(check, "Reject of the active side", c->a.connector->Reject("no", 2), {ND_SUCCESS});
  says(check, "Accept", ended(bench, ND_PENDING, c->accepting, *c->b.connector), {ND_CONNECTION_REFUSED, ND_CONNECTION_ABORTED});
}

CONFORMANCE_CASE(nd_the_active_side_may_go_away, "networkdirect.connection.abandoned", roles::provider) {
  const auto c = bench.nd().reply();
  c->a.connector.release();
  says(check, "Accept", ended(bench, ND_PENDING, c->accepting, *c->b.connector), {ND_CONNECTION_REFUSED, ND_CONNECTION_ABORTED});
}

CONFORMANCE_CASE(nd_a_connect_is_cancelled, "networkdirect.connection.cancel", roles::provider) {
  const auto c = bench.nd().ask();
  c->a.connector->CancelOverlappedRequests();
  says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector), {ND_CANCELED});
}

CONFORMANCE_CASE(nd_a_cancelled_answer_makes_no_connection, "networkdirect.connection.cancel", roles::provider) {
  NdRequest first, second;  // outlive the connections, whatever becomes of them
  // Nothing crosses from who took its word back, though the other side could receive it.
  const auto nothing_crosses = [&](std::string_view who, NdSide& from) {
    bench.nd().pass(kNdQuiet);
    ND2_SGE out = from.memory->sge(0, 16);
    const HRESULT called = from.qp->Send(nd_tag(1), &out, 1, 0);
    const std::string what = "a Send of who cancelled its " + std::string(who);
    if (FAILED(called)) {
      refused(check, what, called);
    } else {
      ends_badly(bench, check, from, what);
    }
  };
  const auto c = bench.nd().reply();
  ND2_SGE into = c->a.memory->sge(0, 64);
  arranged_by(check, "Receive", c->a.qp->Receive(nd_tag(2), &into, 1));
  c->b.connector->CancelOverlappedRequests();
  says(check, "Accept", ended(bench, ND_PENDING, c->accepting, *c->b.connector), {ND_CANCELED});
  const HRESULT called = c->a.connector->CompleteConnect(&first);
  ended(bench, called, first, *c->a.connector);
  nothing_crosses("Accept", c->b);

  const auto d = bench.nd().reply();
  ND2_SGE place = d->b.memory->sge(0, 64);
  arranged_by(check, "Receive", d->b.qp->Receive(nd_tag(2), &place, 1));
  const HRESULT pending = d->a.connector->CompleteConnect(&second);
  d->a.connector->CancelOverlappedRequests();
  const NdStatus end = ended(bench, pending, second, *d->a.connector);
  says(check, "CompleteConnect", end, {ND_CANCELED, ND_SUCCESS});
  check.that(ended(bench, ND_PENDING, d->accepting, *d->b.connector) != ND_PENDING, "Accept ends", "it is pending");
  if (end == ND_CANCELED) nothing_crosses("CompleteConnect", d->a);
}

CONFORMANCE_CASE(nd_a_released_connector_cancels, "networkdirect.connection.release", roles::provider) {
  const auto c = bench.nd().ask();
  c->a.connector.release();
  says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.memory->region), {ND_CANCELED});
}

CONFORMANCE_CASE(nd_accept_may_take_its_time, "networkdirect.connection.patience-request", roles::provider, lasts(kLong)) {
  const auto c = bench.nd().ask();
  bench.nd().pass(kLong);
  says(check, "Accept", accept_on(c->b, c->accepting), {ND_PENDING});
  says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector), {ND_SUCCESS});
  completed(bench, check, *c);
}

CONFORMANCE_CASE(nd_complete_connect_may_take_its_time, "networkdirect.connection.patience-reply", roles::provider, lasts(kLong)) {
  const auto c = bench.nd().reply();
  bench.nd().pass(kLong);
  completed(bench, check, *c);
  says(check, "Accept", ended(bench, ND_PENDING, c->accepting, *c->b.connector), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_withdrawn_acceptance_is_not_completed, "networkdirect.connection.complete-withdrawn", roles::provider) {
  NdRequest request;  // outlives the connection
  const auto c = bench.nd().reply();
  c->b.connector.release();
  c->b.qp.release();
  bench.nd().pass(kNdQuiet);
  const HRESULT called = c->a.connector->CompleteConnect(&request);
  says(check, "CompleteConnect", ended(bench, called, request, *c->a.connector),
       {ND_IO_TIMEOUT, ND_CONNECTION_INVALID, ND_CONNECTION_ABORTED, ND_CONNECTION_REFUSED});
  refused(check, "another Connect", ask_for(c->a, listening_at(*c), request));
}

CONFORMANCE_CASE(nd_nowhere_is_no_destination, "networkdirect.connection.nowhere", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().prepare();
  const NdAddress nowhere(c->a.end->address().is_v4() ? IpAddress::v4(0, 0, 0, 0) : IpAddress(), c->port);
  const HRESULT called = ask_for(c->a, nowhere, request);
  refused(check, "Connect to the unspecified address", bench.nd().finish(called, request, *c->a.connector, Duration::s(60)));
}

CONFORMANCE_CASE(nd_an_adapter_connects_to_itself, "networkdirect.connection.loopback", roles::provider) {
  const auto c = bench.nd().prepare();
  if ((c->b.end->info().AdapterFlags & ND_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED) == 0) {
    check.inconclusive("the adapter does not say that it connects to itself");
  }
  // The active side moves to the adapter of the passive one.
  NdSide side = another_side(*c->b.end, *c->b.queue);
  side.queue = c->b.end->completion_queue();
  side.qp = c->b.end->queue_pair(*side.queue);
  side.memory = c->b.end->memory();
  c->a = std::move(side);
  establish(bench, check, *c);
  message_crosses(bench, check, c->a, c->b);
  message_crosses(bench, check, c->b, c->a);
}

}  // namespace fb::conformance
