// What connectors know of their peers, and how connections end.
#include <algorithm>

#include "networkdirect/cases/networkdirect/scene.h"
#include "conformance/cases/private_data.h"

namespace fb::conformance {
namespace {

constexpr ULONG kProgramsSay = 39;                                   // the most that common programs send with a request or a reply
constexpr HRESULT kDisconnected = static_cast<HRESULT>(0xC000020C);  // what some programs take for a disconnect

NdAddress address_of(Check& check, std::string_view what, HRESULT (STDMETHODCALLTYPE IND2Connector::*get)(struct sockaddr*, ULONG*),
                     IND2Connector& connector) {
  NdAddress found;
  ULONG length = found.capacity();
  says(check, what, (connector.*get)(found.room(), &length), {ND_SUCCESS});
  return found;
}

NdStatus disconnect(ProviderBench& bench, NdSide& side) {
  NdRequest request;
  const HRESULT called = side.connector->Disconnect(&request);
  const NdStatus status = ended(bench, called, request, *side.connector);
  if (status == ND_PENDING) side.connector->CancelOverlappedRequests();
  return status;
}

}  // namespace

CONFORMANCE_CASE(nd_data_of_a_request_arrives, "networkdirect.connection.request-data", roles::provider) {
  NdConnectTerms terms;
  terms.request_data = private_data(kProgramsSay, 'a');
  const auto c = bench.nd().ask(terms);
  begins_with(check, "private data of the request", data_of(check, *c->b.connector), terms.request_data);
}

CONFORMANCE_CASE(nd_data_of_a_reply_arrives, "networkdirect.connection.reply-data", roles::provider) {
  NdConnectTerms terms;
  terms.reply_data = private_data(kProgramsSay, 'A');
  const auto c = bench.nd().reply(terms);
  begins_with(check, "private data of the reply", data_of(check, *c->a.connector), terms.reply_data);
}

CONFORMANCE_CASE(nd_data_of_a_refusal_arrives, "networkdirect.connection.reject-data", roles::provider) {
  const auto c = bench.nd().ask();
  says(check, "Reject", c->b.connector->Reject("not today", 9), {ND_SUCCESS});
  refused(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector));
  begins_with(check, "private data of the refusal", data_of(check, *c->a.connector), "not today");
}

CONFORMANCE_CASE(nd_the_size_of_data_is_said, "networkdirect.connection.data-size", roles::provider) {
  NdConnectTerms terms;
  terms.request_data = "twelve bytes";
  const auto c = bench.nd().ask(terms);
  ULONG length = 0;
  says(check, "GetPrivateData without a buffer", c->b.connector->GetPrivateData(nullptr, &length), {ND_BUFFER_OVERFLOW});
  check.that(length >= 12, "the size is that of the data, or of what it was padded to", "it is " + std::to_string(length));
}

CONFORMANCE_CASE(nd_a_part_of_the_data_is_copied, "networkdirect.connection.data-part", roles::provider) {
  NdConnectTerms terms;
  terms.request_data = "twelve bytes";
  const auto c = bench.nd().ask(terms);
  char part[8] = {'-', '-', '-', '-', '-', '-', '-', '-'};
  ULONG length = 6;
  says(check, "GetPrivateData with a small buffer", c->b.connector->GetPrivateData(part, &length), {ND_BUFFER_OVERFLOW});
  check.that(length >= 12, "the size is said", "it is " + std::to_string(length));
  check.equal("what is in the buffer", std::string_view(part, 8), "twelve--");
}

CONFORMANCE_CASE(nd_data_wants_a_peer, "networkdirect.connection.data-none", roles::provider) {
  char room[8];
  ULONG length = sizeof room;
  says(check, "GetPrivateData", bench.nd().a().bound_connector()->GetPrivateData(room, &length), {ND_CONNECTION_INVALID});
}

CONFORMANCE_CASE(nd_too_much_data_is_refused_with_a_request, "networkdirect.connection.caller-data-large", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().prepare();
  const std::string large(c->a.end->info().MaxCallerData + 1, 'x');
  says(check, "Connect with too much data", ended(bench, ask_for(c->a, listening_at(*c), request, large), request, *c->a.connector),
       {ND_INVALID_BUFFER_SIZE});
  establish(bench, check, *c);
}

CONFORMANCE_CASE(nd_too_much_data_is_refused_with_a_reply, "networkdirect.connection.callee-data-large", roles::provider) {
  NdRequest request;
  const auto c = bench.nd().ask();
  const std::string large(c->b.end->info().MaxCalleeData + 1, 'x');
  const HRESULT called = accept_on(c->b, request, large);
  bench.nd().wait_until([&] { return called != ND_PENDING || !request.pending(); }, Duration::s(1));
  says(check, "Accept with too much data", called != ND_PENDING ? called : c->b.connector->GetOverlappedResult(&request, FALSE),
       {ND_INVALID_BUFFER_SIZE});
  if (called == ND_PENDING) c->b.connector->CancelOverlappedRequests();
  says(check, "Accept with less", accept_on(c->b, c->accepting, "yes"), {ND_PENDING});
  says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_connector_knows_itself, "networkdirect.connection.local-address", roles::provider) {
  const auto c = bench.nd().connect();
  const NdAddress a = address_of(check, "GetLocalAddress", &IND2Connector::GetLocalAddress, *c->a.connector);
  check.that(a.address() == c->a.end->address(), "it is the address of the adapter");
  check.that(a.port() != 0, "there is a port");
  const NdAddress b = address_of(check, "GetLocalAddress", &IND2Connector::GetLocalAddress, *c->b.connector);
  check.that(b.address() == c->b.end->address(), "it is the address of the adapter");
  check.equal("port of the passive side", b.port(), c->port);
}

CONFORMANCE_CASE(nd_a_connector_knows_its_peer, "networkdirect.connection.peer-address", roles::provider) {
  const auto c = bench.nd().ask();
  const NdAddress seen = address_of(check, "GetPeerAddress", &IND2Connector::GetPeerAddress, *c->b.connector);
  const NdAddress own = address_of(check, "GetLocalAddress", &IND2Connector::GetLocalAddress, *c->a.connector);
  check.that(seen.address() == own.address(), "the passive side sees the address of the active one");
  check.equal("port of the active side, as the passive one sees it", seen.port(), own.port());
  const NdAddress to = address_of(check, "GetPeerAddress", &IND2Connector::GetPeerAddress, *c->a.connector);
  check.that(to.address() == c->b.end->address(), "the active side sees the address of the passive one");
  check.equal("port of the passive side, as the active one sees it", to.port(), c->port);
}

CONFORMANCE_CASE(nd_a_chosen_port_is_ephemeral, "networkdirect.connection.ephemeral", roles::provider) {
  const auto c = bench.nd().ask();
  const NdAddress own = address_of(check, "GetLocalAddress", &IND2Connector::GetLocalAddress, *c->a.connector);
  check.between("the port", unsigned{own.port()}, 49152u, 65535u);
}

CONFORMANCE_CASE(nd_a_short_address_is_left_alone, "networkdirect.connection.address-short", roles::provider) {
  const auto c = bench.nd().ask();
  NdAddress room;
  ULONG length = 4;
  says(check, "GetLocalAddress with a small buffer", c->a.connector->GetLocalAddress(room.room(), &length), {ND_BUFFER_OVERFLOW});
  check.that(length >= sizeof(sockaddr_in), "the size is said", "it is " + std::to_string(length));
  check.equal("family in the buffer", unsigned{room.get()->sa_family}, 0u);
}

CONFORMANCE_CASE(nd_an_unused_connector_has_no_address, "networkdirect.connection.address-none", roles::provider) {
  NdAddress room;
  ULONG length = room.capacity();
  says(check, "GetLocalAddress", bench.nd().a().connector()->GetLocalAddress(room.room(), &length), {ND_CONNECTION_INVALID});
}

CONFORMANCE_CASE(nd_a_disconnect_is_noticed, "networkdirect.connection.notify", roles::provider) {
  NdRequest noticed;
  const auto c = bench.nd().connect();
  const HRESULT called = c->b.connector->NotifyDisconnect(&noticed);
  bench.nd().pass(kNdQuiet);
  check.that(called == ND_PENDING && noticed.pending(), "NotifyDisconnect is pending while there is a connection", "it has completed");
  check.precondition(disconnect(bench, c->a) == ND_SUCCESS, "Disconnect completes");
  check.that(ended(bench, called, noticed, *c->b.connector) != ND_PENDING, "NotifyDisconnect completes", "it is pending");
}

CONFORMANCE_CASE(nd_a_disconnect_is_no_failure, "networkdirect.connection.notify-code", roles::provider) {
  NdRequest noticed;
  const auto c = bench.nd().connect();
  const HRESULT called = c->b.connector->NotifyDisconnect(&noticed);
  check.precondition(disconnect(bench, c->a) == ND_SUCCESS, "Disconnect completes");
  says(check, "NotifyDisconnect", ended(bench, called, noticed, *c->b.connector), {ND_SUCCESS, kDisconnected});
}

CONFORMANCE_CASE(nd_only_connections_are_disconnected, "networkdirect.connection.notify-none", roles::provider) {
  NdRequest request;
  const auto connector = bench.nd().a().bound_connector();
  says(check, "NotifyDisconnect", connector->NotifyDisconnect(&request), {ND_CONNECTION_INVALID});
}

CONFORMANCE_CASE(nd_waiting_for_the_end_is_cancelled, "networkdirect.connection.notify-cancel", roles::provider) {
  NdRequest noticed;
  const auto c = bench.nd().connect();
  const HRESULT called = c->b.connector->NotifyDisconnect(&noticed);
  check.precondition(called == ND_PENDING, "NotifyDisconnect is pending");
  c->b.connector->CancelOverlappedRequests();
  says(check, "NotifyDisconnect", ended(bench, called, noticed, *c->b.connector), {ND_CANCELED});
  message_crosses(bench, check, c->a, c->b);
}

CONFORMANCE_CASE(nd_a_connection_is_disconnected, "networkdirect.connection.disconnect", roles::provider) {
  const auto c = bench.nd().connect();
  says(check, "Disconnect", disconnect(bench, c->a), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_connection_is_disconnected_once, "networkdirect.connection.disconnect-again", roles::provider) {
  const auto c = bench.nd().connect();
  check.precondition(disconnect(bench, c->a) == ND_SUCCESS, "Disconnect completes");
  says(check, "a second Disconnect", disconnect(bench, c->a), {ND_CONNECTION_INVALID});
  const auto d = bench.nd().connect();
  check.precondition(disconnect(bench, d->a) == ND_SUCCESS, "Disconnect completes");
  bench.nd().pass(kNdQuiet);
  check.precondition(disconnect(bench, d->b) == ND_SUCCESS, "Disconnect after the peer's completes");
  says(check, "a second Disconnect, where the peer was first", disconnect(bench, d->b), {ND_CONNECTION_INVALID});
}

CONFORMANCE_CASE(nd_a_connection_is_disconnected_after_the_peer, "networkdirect.connection.disconnect-after-peer", roles::provider) {
  for (const bool active_first : {true, false}) {
    for (const bool watches : {true, false}) {
      NdRequest noticed;
      const auto c = bench.nd().connect();
      NdSide &first = active_first ? c->a : c->b, &second = active_first ? c->b : c->a;
      const HRESULT waiting = watches ? second.connector->NotifyDisconnect(&noticed) : ND_SUCCESS;
      check.precondition(disconnect(bench, first) == ND_SUCCESS, "Disconnect of the first end completes");
      if (watches) check.precondition(!ended(bench, waiting, noticed, *second.connector).failed(), "the second end is told");
      bench.nd().pass(kNdQuiet);
      says(check,
           std::string("Disconnect of the ") + (active_first ? "passive" : "active") + " side after its peer's" +
               (watches ? ", once it was told" : ""),
           disconnect(bench, second), {ND_SUCCESS});
    }
  }
}

CONFORMANCE_CASE(nd_both_ends_disconnect_at_once, "networkdirect.connection.disconnect-both", roles::provider) {
  NdRequest noticed[2], ending[2];
  const auto c = bench.nd().connect();
  NdSide* const sides[] = {&c->a, &c->b};
  HRESULT waiting[2], called[2];
  for (int i = 0; i < 2; ++i) waiting[i] = sides[i]->connector->NotifyDisconnect(&noticed[i]);
  for (int i = 0; i < 2; ++i) called[i] = sides[i]->connector->Disconnect(&ending[i]);
  for (int i = 0; i < 2; ++i) {
    const std::string side = i == 0 ? " of the active side" : " of the passive side";
    says(check, "Disconnect" + side, ended(bench, called[i], ending[i], *sides[i]->connector), {ND_SUCCESS});
    says(check, "NotifyDisconnect" + side, ended(bench, waiting[i], noticed[i], *sides[i]->connector), {ND_SUCCESS, kDisconnected});
  }
}

}  // namespace fb::conformance
