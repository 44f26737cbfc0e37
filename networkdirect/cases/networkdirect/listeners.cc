// Listeners.
#include <array>

#include "networkdirect/cases/foreign_addresses.h"
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

NdRef<IND2Listener> fresh_listener(Check& check, NdEnd& end) {
  NdRef<IND2Listener> made;
  arranged_by(check, "CreateListener", end.adapter().CreateListener(IID_IND2Listener, end.file(), made.out()));
  return made;
}

HRESULT bind_to(IND2Listener& listener, const IpAddress& address, std::uint16_t port) {
  const NdAddress at(address, port);
  return listener.Bind(at.get(), at.length());
}

HRESULT get_address(IND2Listener& listener, NdAddress& found) {
  ULONG length = found.capacity();
  return listener.GetLocalAddress(found.room(), &length);
}

/// Several active sides that ask one listener, one after the other; each says its number.
template <std::size_t N>
struct Callers {
  Callers(ProviderBench& bench, Check& check, NdEnd& end, const NdAddress& to) : queue(end.completion_queue()) {
    for (std::size_t i = 0; i < N; ++i) {
      sides[i].qp = end.queue_pair(*queue);
      sides[i].connector = end.bound_connector();
      const HRESULT called = ask_for(sides[i], to, requests[i], std::string(1, static_cast<char>('0' + i)));
      check.precondition(called == ND_PENDING, "Connect is pending");
      bench.nd().pass(Duration::ms(10));
    }
  }
  std::array<NdRequest, N> requests;
  NdRef<IND2CompletionQueue> queue;
  std::array<NdSide, N> sides;
};

}  // namespace

CONFORMANCE_CASE(nd_listeners_listen_at_any_port, "networkdirect.listener.address", roles::provider) {
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{1, 2, 256, 49151, 65535}) {
    const auto c = bench.nd().prepare();
    c->listener = c->b.end->listener(port);
    c->port = port;
    NdAddress own, peer;
    says(check, "GetLocalAddress", get_address(*c->listener, own), {ND_SUCCESS});
    check.equal("the port that was asked for", own.port(), port);
    establish(bench, check, *c);
    ULONG length = peer.capacity();
    says(check, "GetPeerAddress", c->a.connector->GetPeerAddress(peer.room(), &length), {ND_SUCCESS});
    check.equal("the port of the peer", peer.port(), port);
  }
}

CONFORMANCE_CASE(nd_a_listener_is_bound_once, "networkdirect.listener.bind-again", roles::provider) {
  NdEnd& end = bench.nd().b();
  const auto listener = fresh_listener(check, end);
  says(check, "Bind", bind_to(*listener, end.address(), bench.nd().fresh_port()), {ND_SUCCESS});
  refused(check, "a second Bind", bind_to(*listener, end.address(), bench.nd().fresh_port()));
}

CONFORMANCE_CASE(nd_a_listener_has_an_address_of_its_adapter, "networkdirect.listener.bind-foreign", roles::provider) {
  NdEnd& end = bench.nd().b();
  for (const IpAddress& foreign : foreign_addresses(end.address())) {
    refused(check, "Bind to " + to_string(foreign), bind_to(*fresh_listener(check, end), foreign, bench.nd().fresh_port()));
  }
}

CONFORMANCE_CASE(nd_a_listener_may_be_bound_to_any_address, "networkdirect.listener.bind-any", roles::provider) {
  NdEnd& end = bench.nd().b();
  const auto listener = fresh_listener(check, end);
  const IpAddress any = end.address().is_v4() ? IpAddress::v4(0, 0, 0, 0) : IpAddress();
  says(check, "Bind to the unspecified address", bind_to(*listener, any, bench.nd().fresh_port()), {ND_SUCCESS});
  says(check, "Listen", listener->Listen(0), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_port_has_one_listener, "networkdirect.listener.port-taken", roles::provider) {
  NdEnd& end = bench.nd().b();
  const std::uint16_t port = bench.nd().fresh_port();
  const auto first = end.listener(port);
  const auto second = fresh_listener(check, end);
  const HRESULT bound = bind_to(*second, end.address(), port);
  says(check, "a second listener of a port", bound == ND_SUCCESS ? second->Listen(0) : bound, {ND_SHARING_VIOLATION});
}

CONFORMANCE_CASE(nd_a_port_of_a_listener_is_chosen, "networkdirect.listener.ephemeral", roles::provider) {
  const auto listener = bench.nd().b().listener(0);
  NdAddress found;
  says(check, "GetLocalAddress", get_address(*listener, found), {ND_SUCCESS});
  check.between("the port", unsigned{found.port()}, 49152u, 65535u);
}

CONFORMANCE_CASE(nd_a_listener_listens_once, "networkdirect.listener.listen-again", roles::provider) {
  const auto listener = bench.nd().b().listener(bench.nd().fresh_port());
  refused(check, "a second Listen", listener->Listen(0));
}

CONFORMANCE_CASE(nd_a_listener_wants_an_address, "networkdirect.listener.listen-unbound", roles::provider) {
  refused(check, "Listen of a listener that is not bound", fresh_listener(check, bench.nd().b())->Listen(0));
}

CONFORMANCE_CASE(nd_a_listener_knows_its_address, "networkdirect.listener.address", roles::provider) {
  const std::uint16_t port = bench.nd().fresh_port();
  const auto listener = bench.nd().b().listener(port);
  NdAddress found;
  says(check, "GetLocalAddress", get_address(*listener, found), {ND_SUCCESS});
  check.that(found.address() == bench.nd().b().address(), "it is the address that it was bound to");
  check.equal("the port", found.port(), port);
}

CONFORMANCE_CASE(nd_a_listener_has_no_address_before, "networkdirect.listener.address-early", roles::provider) {
  NdEnd& end = bench.nd().b();
  const auto listener = fresh_listener(check, end);
  NdAddress found;
  says(check, "GetLocalAddress before Bind", get_address(*listener, found), {ND_INVALID_DEVICE_STATE});
  arranged_by(check, "Bind", bind_to(*listener, end.address(), bench.nd().fresh_port()));
  says(check, "GetLocalAddress before Listen", get_address(*listener, found), {ND_INVALID_DEVICE_STATE});
}

CONFORMANCE_CASE(nd_a_listener_has_no_requests_before, "networkdirect.listener.request-early", roles::provider) {
  NdRequest request;
  NdEnd& end = bench.nd().b();
  const auto connector = end.connector();
  const auto listener = fresh_listener(check, end);
  arranged_by(check, "Bind", bind_to(*listener, end.address(), bench.nd().fresh_port()));
  refused(check, "GetConnectionRequest before Listen", listener->GetConnectionRequest(connector.get(), &request));
}

CONFORMANCE_CASE(nd_a_request_wants_an_unused_connector, "networkdirect.listener.used-connector", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().connect();
  refused(check, "GetConnectionRequest into a connector that is connected",
          c->listener->GetConnectionRequest(c->b.connector.get(), &request));
}

CONFORMANCE_CASE(nd_requests_are_served_in_order, "networkdirect.listener.order", roles::provider) {
  const auto c = bench.nd().prepare();
  const Callers<3> callers(bench, check, *c->a.end, listening_at(*c));
  for (const std::string_view number : {"0", "1", "2"}) {
    NdRequest request;
    const auto connector = c->b.end->connector();
    const HRESULT called = c->listener->GetConnectionRequest(connector.get(), &request);
    check.require(ended(bench, called, request, *c->listener) == ND_SUCCESS, "there is a request for each caller");
    begins_with(check, "number of the caller", data_of(check, *connector), number);
  }
}

CONFORMANCE_CASE(nd_a_request_is_for_one, "networkdirect.listener.one-each", roles::provider) {
  std::array<NdRequest, 3> requests;
  const auto c = bench.nd().prepare();
  std::array<NdRef<IND2Connector>, 3> connectors;
  for (std::size_t i = 0; i < 3; ++i) {
    connectors[i] = c->b.end->connector();
    const HRESULT called = c->listener->GetConnectionRequest(connectors[i].get(), &requests[i]);
    check.precondition(called == ND_PENDING, "GetConnectionRequest is pending");
  }
  check.precondition(ask_for(c->a, listening_at(*c), c->connecting) == ND_PENDING, "Connect is pending");
  says(check, "the first GetConnectionRequest", ended(bench, ND_PENDING, requests[0], *c->listener), {ND_SUCCESS});
  bench.nd().pass(kNdQuiet);
  check.that(requests[1].pending() && requests[2].pending(), "the others are pending", "they have completed");
  // The connector is that of the request which has ended.
  ULONG length = 0;
  check.that(NdStatus(connectors[0]->GetPrivateData(nullptr, &length)) != ND_CONNECTION_INVALID, "its connector has the request",
             "it has none");
  arranged_by(check, "Reject", connectors[0]->Reject(nullptr, 0));
  says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector), {ND_CONNECTION_REFUSED});
}

CONFORMANCE_CASE(nd_waiting_for_requests_is_cancelled, "networkdirect.listener.cancel", roles::provider) {
  std::array<NdRequest, 3> requests;
  const auto c = bench.nd().prepare();
  std::array<NdRef<IND2Connector>, 3> connectors;
  for (std::size_t i = 0; i < 3; ++i) {
    connectors[i] = c->b.end->connector();
    const HRESULT called = c->listener->GetConnectionRequest(connectors[i].get(), &requests[i]);
    check.precondition(called == ND_PENDING, "GetConnectionRequest is pending");
  }
  c->b.end->packets();
  c->listener->CancelOverlappedRequests();
  for (NdRequest& request : requests) {
    says(check, "a cancelled GetConnectionRequest", ended(bench, ND_PENDING, request, *c->listener), {ND_CANCELED});
  }
  const auto packets = c->b.end->packets();
  check.require(packets.size() == 3, "each has a packet");
  for (std::size_t i = 0; i < 3; ++i) {
    check.that(packets[i].overlapped == &requests[i] && !packets[i].good, "the packets are in order, and those of failures");
  }
  // Whoever asks next has the next request, and nobody who asked before.
  establish(bench, check, *c);
  message_crosses(bench, check, c->a, c->b);
}

CONFORMANCE_CASE(nd_a_backlog_has_an_end, "networkdirect.listener.backlog", roles::provider) {
  NdEnd& end = bench.nd().b();
  const std::uint16_t port = bench.nd().fresh_port();
  const auto listener = end.listener(port, 1);
  Callers<8> callers(bench, check, bench.nd().a(), NdAddress(end.address(), port));
  bench.nd().pass(Duration::ms(500));
  std::size_t kept = 0, turned_away = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const NdStatus status = callers.sides[i].connector->GetOverlappedResult(&callers.requests[i], FALSE);
    ++(status == ND_PENDING ? kept : turned_away);
    if (status != ND_PENDING) says(check, "a Connect beyond the backlog", status, {ND_CONNECTION_REFUSED});
  }
  check.that(kept != 0, "a backlog of one keeps one request", "it keeps none");
  check.that(turned_away != 0, "a backlog of one does not keep eight requests", "it keeps all");
  // One that is taken leaves its place to the next.
  const auto c = bench.nd().prepare();
  c->listener = end.listener(c->port = bench.nd().fresh_port(), 1);
  for (int turn = 0; turn < 5; ++turn) {
    NdRequest asking, waiting;
    c->a.qp = c->a.end->queue_pair(*c->a.queue);
    c->a.connector = c->a.end->bound_connector();
    c->b.connector = c->b.end->connector();
    const HRESULT asked = ask_for(c->a, listening_at(*c), asking);
    check.require(!FAILED(asked), "Connect is taken", "it answered " + words(NdStatus(asked)));
    bench.nd().pass(kNdQuiet);
    check.require(asking.pending(), "a request that comes alone has a place in a backlog of one", "it was refused");
    const HRESULT waited = c->listener->GetConnectionRequest(c->b.connector.get(), &waiting);
    check.require(ended(bench, waited, waiting, *c->listener) == ND_SUCCESS, "the request reaches the listener");
    arranged_by(check, "Reject", c->b.connector->Reject(nullptr, 0));
    says(check, "Connect", ended(bench, asked, asking, *c->a.connector), {ND_CONNECTION_REFUSED});
  }
}

CONFORMANCE_CASE(nd_a_released_listener_cancels, "networkdirect.listener.close-cancels", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().prepare();
  check.precondition(c->listener->GetConnectionRequest(c->b.connector.get(), &request) == ND_PENDING, "GetConnectionRequest is pending");
  c->listener.release();
  says(check, "GetConnectionRequest", ended(bench, ND_PENDING, request, *c->b.connector), {ND_CANCELED});
}

CONFORMANCE_CASE(nd_a_released_listener_refuses, "networkdirect.listener.close-refuses", roles::provider) {
  const auto c = bench.nd().prepare();
  check.precondition(ask_for(c->a, listening_at(*c), c->connecting) == ND_PENDING, "Connect is pending");
  bench.nd().pass(kNdQuiet);
  c->listener.release();
  says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector), {ND_CONNECTION_REFUSED});
}

CONFORMANCE_CASE(nd_a_released_listener_frees_its_port, "networkdirect.listener.close-port", roles::provider) {
  NdEnd& end = bench.nd().b();
  const std::uint16_t port = bench.nd().fresh_port();
  end.listener(port).release();
  const auto second = fresh_listener(check, end);
  says(check, "Bind to the port of a listener that was released", bind_to(*second, end.address(), port), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_released_listener_leaves_connections, "networkdirect.listener.close-keeps", roles::provider) {
  const auto c = bench.nd().connect();
  c->listener.release();
  bench.nd().pass(kNdQuiet);
  message_crosses(bench, check, c->a, c->b);
  message_crosses(bench, check, c->b, c->a);
}

}  // namespace fb::conformance
