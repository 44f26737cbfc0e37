// Listeners and shared endpoints.
#include "networkdirect/cases/foreign_addresses.h"
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

NdkAnswer& begin_listen(NdkBench& ndk, NDK_LISTENER* listener, NdkAddress at) {
  return ndk.begin([&](auto c, PVOID x) { return listener->Dispatch->NdkListen(listener, at.get(), at.length, c, x); });
}

NdkStatus listen(NdkBench& ndk, NDK_LISTENER* listener, std::uint16_t port) {
  return ndk.finish(begin_listen(ndk, listener, NdkAddress(ndk.b().address(), port)));
}

std::uint16_t port_of(Check& check, NDK_LISTENER* listener) {
  NdkAddress at;
  arranged_by(check, "NdkGetLocalAddress", listener->Dispatch->NdkGetLocalAddress(listener, at.get(), &at.length));
  return at.port();
}

std::uint16_t port_of(Check& check, NDK_SHARED_ENDPOINT* endpoint) {
  NdkAddress at;
  arranged_by(check, "NdkGetLocalAddress", endpoint->Dispatch->NdkGetLocalAddress(endpoint, at.get(), &at.length));
  return at.port();
}

void pause(NdkConnection& c, bool paused) {
  c.listening->listener->Dispatch->NdkControlConnectEvents(c.listening->listener, paused ? 1 : 0);
}

/// Connects from a shared endpoint of the active side.
NdkAnswer& connect_from(NdkBench& ndk, NDK_SHARED_ENDPOINT* endpoint, NDK_CONNECTOR* connector, NDK_QP* qp, std::uint16_t port) {
  NdkAddress to(ndk.b().address(), port);
  return ndk.begin([&](auto done, PVOID x) {
    return connector->Dispatch->NdkConnectWithSharedEndpoint(connector, qp, endpoint, to.get(), to.length, 1, 1, nullptr, 0, done, x);
  });
}

}  // namespace

CONFORMANCE_CASE(ndk_a_listener_tells_its_port, "ndk.listener.port", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.that(port_of(check, ndk.b().listener(0).listener) != 0, "the port is not 0");
  const std::uint16_t port = ndk.fresh_port();
  check.equal("the port that was asked for", port_of(check, ndk.b().listener(port).listener), port);
}

CONFORMANCE_CASE(ndk_listeners_listen_at_any_port, "ndk.listener.port", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{1, 2, 256, 49151, 65535}) {
    NdkConnection& c = ndk.prepare();
    c.listening = &ndk.b().listener(port);
    c.port = port;
    check.equal("the port that was asked for", port_of(check, c.listening->listener), port);
    establish(ndk, check, c);
    NdkAddress peer;
    says(check, "NdkGetPeerAddress", c.a.connector->Dispatch->NdkGetPeerAddress(c.a.connector, peer.get(), &peer.length), {STATUS_SUCCESS});
    check.equal("the port of the peer", peer.port(), port);
  }
}

CONFORMANCE_CASE(ndk_listeners_share_no_port, "ndk.listener.port-busy", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const std::uint16_t port = ndk.fresh_port();
  ndk.b().listener(port);
  refused(check, "NdkListen on a port that is in use", listen(ndk, ndk.b().idle_listener().listener, port));
}

CONFORMANCE_CASE(ndk_a_listener_listens_once, "ndk.listener.twice", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_LISTENER* const listener = ndk.b().listener(ndk.fresh_port()).listener;
  refused(check, "NdkListen once more", listen(ndk, listener, ndk.fresh_port()));
  // Nor twice at the same time.
  NDK_LISTENER* const other = ndk.b().idle_listener().listener;
  const std::uint16_t port = ndk.fresh_port();
  const NdkAnswer& first = begin_listen(ndk, other, NdkAddress(ndk.b().address(), port));
  const NdkAnswer& second = begin_listen(ndk, other, NdkAddress(ndk.b().address(), ndk.fresh_port()));
  says(check, "NdkListen", ndk.finish(first), {STATUS_SUCCESS});
  refused(check, "NdkListen before the first one has ended", ndk.finish(second));
  check.equal("port of the listener", port_of(check, other), port);
}

CONFORMANCE_CASE(ndk_a_port_is_free_when_all_is_closed, "ndk.listener.keeps-port", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const NdkAnswer& closing = ndk.close(c.listening->listener);
  ndk.pass(kNdkQuiet);
  NDK_LISTENER* const other = ndk.b().idle_listener().listener;
  refused(check, "NdkListen while a connector of the first listener lives", listen(ndk, other, c.port));
  ndk.finish(ndk.close(c.b.connector));
  ndk.finish(closing);
  check.that(closing.done(), "the close of the listener ends after its connector's");
  says(check, "NdkListen when all is closed", listen(ndk, other, c.port), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_a_closed_listener_takes_nothing, "ndk.listener.closed", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  ndk.close(c.listening->listener);
  c.a.connector = ndk.a().connector();
  c.a.qp = ndk.a().queue_pair(*c.a.queue);
  says(check, "NdkConnect to a listener that is closed", ndk.finish(ndk.begin_connect(c)), {STATUS_CONNECTION_REFUSED});
}

CONFORMANCE_CASE(ndk_a_paused_listener_is_none, "ndk.listener.pause", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  pause(c, true);
  const NdkAnswer& connecting = ndk.begin_connect(c);
  ndk.finish(connecting, Duration::s(5));
  check.equal("connect events", c.listening->asked.size(), std::size_t{0});
  says(check, "NdkConnect to a listener that is paused", connecting.end(), {STATUS_CONNECTION_REFUSED});
}

CONFORMANCE_CASE(ndk_a_pause_ends, "ndk.listener.resume", roles::provider) {
  NdkBench& ndk = bench.ndk();
  // However often it was said.
  for (int pauses = 1; pauses <= 3; ++pauses) {
    NdkConnection& c = ndk.prepare();
    for (int i = 0; i < pauses; ++i) pause(c, true);
    pause(c, false);
    ndk.begin_connect(c);
    check.that(ndk.asked(c), "a request reaches the listener after " + words(pauses) + " pauses and one end of them");
  }
}

CONFORMANCE_CASE(ndk_chosen_ports_are_ephemeral, "ndk.listener.ephemeral", roles::provider) {
  const std::uint16_t port = port_of(check, bench.ndk().b().listener(0).listener);
  check.between("the port", port, std::uint16_t{49152}, std::uint16_t{65535});
}

CONFORMANCE_CASE(ndk_an_endpoint_outlives_its_connectors, "ndk.endpoint.keeps", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  NDK_SHARED_ENDPOINT* const endpoint = ndk.a().endpoint(0);
  arranged_by(check, "NdkConnectWithSharedEndpoint", connect_from(ndk, endpoint, c.a.connector, c.a.qp, c.port).said);
  const NdkAnswer& closing = ndk.close(endpoint);
  ndk.pass(kNdkQuiet);
  check.that(!closing.done(), "the close of an endpoint in use pends", "it has ended");
  ndk.finish(ndk.close(c.a.connector));
  ndk.finish(closing);
  check.that(closing.done(), "the close ends after the connector's");
}

CONFORMANCE_CASE(ndk_an_endpoint_has_one_connection_to_a_peer, "ndk.endpoint.peers", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  NDK_SHARED_ENDPOINT* const endpoint = ndk.a().endpoint(0);
  arranged_by(check, "NdkConnectWithSharedEndpoint", connect_from(ndk, endpoint, c.a.connector, c.a.qp, c.port).said);
  refused(check, "a second connection to the same port",
          connect_from(ndk, endpoint, ndk.a().connector(), ndk.a().queue_pair(*c.a.queue), c.port).said);
}

CONFORMANCE_CASE(ndk_an_endpoint_gives_its_port, "ndk.endpoint.address", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  NDK_SHARED_ENDPOINT* const endpoint = ndk.a().endpoint(0);
  arranged_by(check, "NdkConnectWithSharedEndpoint", connect_from(ndk, endpoint, c.a.connector, c.a.qp, c.port).said);
  check.require(ndk.asked(c), "the request reaches the listener");
  NdkAddress peer;
  says(check, "NdkGetPeerAddress", c.b.connector->Dispatch->NdkGetPeerAddress(c.b.connector, peer.get(), &peer.length), {STATUS_SUCCESS});
  check.equal("port", peer.port(), port_of(check, endpoint));
}

CONFORMANCE_CASE(ndk_an_endpoint_has_its_port_alone, "ndk.endpoint.busy", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const std::uint16_t port = port_of(check, ndk.a().endpoint(0));
  NdkAddress at(ndk.a().address(), port);
  NDK_ADAPTER* const adapter = ndk.a().adapter();
  const auto& creation = ndk.create<NDK_SHARED_ENDPOINT>([&](auto c, PVOID x, NDK_SHARED_ENDPOINT** p) {
    return adapter->Dispatch->NdkCreateSharedEndpoint(adapter, at.get(), at.length, c, x, p);
  });
  refused(check, "NdkCreateSharedEndpoint with a port that is in use", creation.end());
}

CONFORMANCE_CASE(ndk_a_listener_has_an_address_of_the_adapter, "ndk.listener.address", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const IpAddress& foreign : foreign_addresses(ndk.b().address())) {
    refused(check, "NdkListen at " + to_string(foreign),
            ndk.finish(begin_listen(ndk, ndk.b().idle_listener().listener, NdkAddress(foreign, ndk.fresh_port()))));
  }
}

CONFORMANCE_CASE(ndk_requests_may_come_together, "ndk.listener.several", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  constexpr std::size_t kRequests = 4;
  for (std::size_t i = 0; i < kRequests; ++i) {
    c.a.connector = ndk.a().connector();
    c.a.qp = ndk.a().queue_pair(*c.a.queue);
    arranged_by(check, "NdkConnect", ndk.begin_connect(c).said);
  }
  ndk.wait_until([&] { return c.listening->asked.size() >= kRequests; }, Duration::s(5));
  check.equal("connect events", c.listening->asked.size(), kRequests);
}

CONFORMANCE_CASE(ndk_an_endpoint_has_an_address_of_the_adapter, "ndk.endpoint.source", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NDK_ADAPTER* const adapter = ndk.a().adapter();
  for (const IpAddress& foreign : foreign_addresses(ndk.a().address())) {
    NdkAddress at(foreign, 0);
    const auto& creation = ndk.create<NDK_SHARED_ENDPOINT>([&](auto c, PVOID x, NDK_SHARED_ENDPOINT** p) {
      return adapter->Dispatch->NdkCreateSharedEndpoint(adapter, at.get(), at.length, c, x, p);
    });
    refused(check, "NdkCreateSharedEndpoint at " + to_string(foreign), creation.end());
  }
}

}  // namespace fb::conformance
