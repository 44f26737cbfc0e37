// Addresses of connections, and how connections end.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

NdkStatus local_address(NDK_CONNECTOR* connector, NdkAddress& address) {
  return connector->Dispatch->NdkGetLocalAddress(connector, address.get(), &address.length);
}

NdkStatus peer_address(NDK_CONNECTOR* connector, NdkAddress& address) {
  return connector->Dispatch->NdkGetPeerAddress(connector, address.get(), &address.length);
}

NdkStatus disconnect(NdkBench& ndk, NdkSide& side) {
  return ndk.request([&](auto c, PVOID x) { return side.connector->Dispatch->NdkDisconnect(side.connector, c, x); });
}

}  // namespace

CONFORMANCE_CASE(ndk_a_request_has_its_source, "ndk.connector.peer-address", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask({.source_port = 50123});
  NdkAddress peer;
  says(check, "NdkGetPeerAddress", peer_address(c.b.connector, peer), {STATUS_SUCCESS});
  check.equal("address", to_string(peer.address()), to_string(ndk.a().address()));
  check.equal("port", peer.port(), std::uint16_t{50123});
}

CONFORMANCE_CASE(ndk_a_request_has_its_destination, "ndk.connector.local-address", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  NdkAddress local;
  says(check, "NdkGetLocalAddress", local_address(c.b.connector, local), {STATUS_SUCCESS});
  check.equal("address", to_string(local.address()), to_string(ndk.b().address()));
  check.equal("port", local.port(), c.port);
}

CONFORMANCE_CASE(ndk_an_address_wants_room, "ndk.connector.address-cut", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  NdkAddress local;
  local.length = 4;
  says(check, "NdkGetLocalAddress with four bytes", local_address(c.b.connector, local), {STATUS_BUFFER_TOO_SMALL});
  const std::size_t whole = ndk.b().address().is_v4() ? sizeof(SOCKADDR_IN) : sizeof(SOCKADDR_IN6);
  check.equal("length", local.length, static_cast<ULONG>(whole));
}

CONFORMANCE_CASE(ndk_a_disconnect_cancels, "ndk.connector.disconnect-flushes", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  for (std::uintptr_t i = 0; i < 3; ++i) arranged_by(check, "NdkReceive", c.a.receive(i));
  says(check, "NdkDisconnect", disconnect(ndk, c.a), {STATUS_SUCCESS});
  for (int i = 0; i < 3; ++i) ends_as(ndk, check, c.a, "a Receive", {STATUS_CANCELLED});
}

CONFORMANCE_CASE(ndk_the_peer_hears_of_a_disconnect, "ndk.connector.disconnect-event", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  says(check, "NdkDisconnect", disconnect(ndk, c.a), {STATUS_SUCCESS});
  check.that(ndk.wait_until([&] { return c.b.disconnected > 0; }), "the peer hears of it");
}

CONFORMANCE_CASE(ndk_the_peer_hears_once, "ndk.connector.disconnect-once", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkDisconnect", disconnect(ndk, c.a));
  ndk.pass(Duration::s(1));
  check.precondition(c.b.disconnected > 0, "the peer hears of it");
  check.equal("disconnect events", c.b.disconnected, 1);
}

CONFORMANCE_CASE(ndk_the_peer_hears_of_failures, "ndk.connector.failure-event", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  refused(check, "a Write with a token that is none", access(ndk, check, c, false, c.b.memory->address(), c.b.memory->remote ^ 0x550000));
  check.that(ndk.wait_until([&] { return c.b.disconnected > 0; }), "the peer hears of the end");
}

CONFORMANCE_CASE(ndk_a_closed_connector_disconnects, "ndk.connector.close-event", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  ndk.finish(ndk.close(c.b.connector));
  check.that(ndk.wait_until([&] { return c.a.disconnected > 0; }), "the peer hears of it");
}

CONFORMANCE_CASE(ndk_a_disconnect_of_the_peer_cancels_nothing, "ndk.connector.peer-disconnect", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(1));
  arranged_by(check, "NdkDisconnect", disconnect(ndk, c.a));
  check.precondition(ndk.wait_until([&] { return c.b.disconnected > 0; }), "the peer hears of it");
  check.that(ndk.quiet(c.b), "the Receive is outstanding", "it has ended");
  c.b.qp->Dispatch->NdkFlush(c.b.qp);
  ends_as(ndk, check, c.b, "the Receive that was flushed", {STATUS_CANCELLED});
}

CONFORMANCE_CASE(ndk_a_chosen_port_is_told_to_both, "ndk.connector.local-chosen", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.reply();
  NdkAddress local, peer;
  says(check, "NdkGetLocalAddress of the active side", local_address(c.a.connector, local), {STATUS_SUCCESS});
  check.that(local.port() != 0, "the active side has a port");
  // The passive side was asked before it accepted; its connector still knows.
  says(check, "NdkGetPeerAddress of the passive side", peer_address(c.b.connector, peer), {STATUS_SUCCESS});
  check.equal("port at the passive side", peer.port(), local.port());
}

CONFORMANCE_CASE(ndk_who_disconnects_hears_nothing, "ndk.connector.disconnect-own", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkDisconnect", disconnect(ndk, c.a));
  ndk.pass(Duration::s(1));
  check.equal("disconnect events at the side that disconnects", c.a.disconnected, 0);
}

CONFORMANCE_CASE(ndk_events_may_have_a_reason, "ndk.connector.disconnect-extended", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.reply();
  NDK_CONNECTOR* const connector = c.a.connector;
  const auto complete = connector->Dispatch->NdkCompleteConnectEx;
  check.precondition(complete != nullptr, "the provider has NdkCompleteConnectEx");
  says(check, "NdkCompleteConnectEx",
       ndk.request([&](auto done, PVOID x) { return complete(connector, &NdkSide::on_disconnect_ex, &c.a, done, x); }), {STATUS_SUCCESS});
  arranged_by(check, "NdkAcceptEx", ndk.finish(*c.accepting));
  ndk.finish(ndk.close(c.b.connector));
  check.that(ndk.wait_until([&] { return c.a.disconnected > 0; }), "the event comes");
}

CONFORMANCE_CASE(ndk_old_consumers_hear_of_the_end, "ndk.connector.disconnect-plain", roles::provider) {
  NdkBench& ndk = bench.ndk({.version = {1, 2}});
  NdkConnection& c = ndk.connect();
  ndk.finish(ndk.close(c.a.connector));
  check.that(ndk.wait_until([&] { return c.b.disconnected > 0; }), "the event comes");
  check.equal("disconnect events", c.b.disconnected, 1);
}

}  // namespace fb::conformance
