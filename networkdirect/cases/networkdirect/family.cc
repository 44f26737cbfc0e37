// Adapters at IPv6 addresses; and what is left when ports or limits are at their end.
#include <cstring>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

constexpr NdTerms kIpv6 = {.ipv6 = true};
constexpr unsigned kEphemerals = 65536 - 49152;

/// Binds one after the other to a chosen port, until there is none. What the last answers.
template <class Make>
NdStatus bind_all(std::vector<NdStatus>& answers, unsigned most, Make&& make) {
  for (unsigned i = 0; i <= most; ++i) {
    answers.assign(1, make());
    if (answers.front().failed()) break;
  }
  return answers.front();
}

/// The zone of an IPv6 address.
ULONG scope_of(const struct sockaddr* address) {
  sockaddr_in6 from = {};
  std::memcpy(&from, address, sizeof from);
  return from.sin6_scope_id;
}

/// As the adapter lists its address, which is its only one.
ULONG listed_scope(Check& check, NdEnd& end) {
  ULONG bytes = 0;
  end.adapter().QueryAddressList(nullptr, &bytes);
  std::vector<std::uint64_t> room(bytes / sizeof(std::uint64_t) + 2);
  auto* const list = reinterpret_cast<SOCKET_ADDRESS_LIST*>(room.data());
  arranged_by(check, "QueryAddressList", end.adapter().QueryAddressList(list, &bytes));
  check.require(list->iAddressCount == 1, "an adapter of one address lists one");
  return scope_of(list->Address[0].lpSockaddr);
}

}  // namespace

CONFORMANCE_CASE(nd_an_ipv6_connection_carries_messages, "networkdirect.connection.ipv6", roles::provider) {
  NdConnectTerms terms;
  terms.request_data = "over the other family";
  auto c = bench.nd(kIpv6).prepare(terms);
  establish(bench, check, *c);
  message_crosses(bench, check, c->a, c->b);
  message_crosses(bench, check, c->b, c->a, 4000);
  ND2_SGE into = c->a.memory->sge(0, 5000);
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  check.require(c->a.qp->Read(nd_tag(3), &into, 1, c->b.memory->address(), token, 0) == ND_SUCCESS, "Read is taken");
  ends_as(bench, check, c->a, "the Read", {ND_SUCCESS});
  check.bytes("bytes that were read", ByteView(c->a.memory->bytes).first(5000), ByteView(c->b.memory->bytes).first(5000));
}

CONFORMANCE_CASE(nd_ipv6_addresses_are_whole, "networkdirect.connection.ipv6-address", roles::provider) {
  const auto c = bench.nd(kIpv6).ask();
  const auto judge = [&](std::string_view what, auto get, const IpAddress& expected, std::uint16_t port) {
    NdAddress found;
    ULONG length = sizeof(sockaddr_in);
    says(check, std::string(what) + " with room for IPv4 alone", get(found.room(), &length), {ND_BUFFER_OVERFLOW});
    check.equal("the size that it says", length, ULONG{sizeof(sockaddr_in6)});
    length = sizeof(sockaddr_in6);
    says(check, what, get(found.room(), &length), {ND_SUCCESS});
    check.equal("family", unsigned{found.get()->sa_family}, unsigned{AF_INET6});
    check.that(found.address() == expected, std::string(what) + " has the address", "it is " + to_string(found.address()));
    check.equal("port of " + std::string(what), found.port(), port);
    for (NdEnd* end : {c->a.end, c->b.end}) {
      if (expected == end->address()) check.equal("zone of " + std::string(what), scope_of(found.get()), listed_scope(check, *end));
    }
  };
  // What the peer is told of the active side's port is what went over the wire.
  NdAddress own;
  ULONG own_length = own.capacity();
  says(check, "GetLocalAddress", c->a.connector->GetLocalAddress(own.room(), &own_length), {ND_SUCCESS});
  check.between("the port", unsigned{own.port()}, 49152u, 65535u);
  judge(
      "GetLocalAddress of the active side", [&](auto* room, ULONG* length) { return c->a.connector->GetLocalAddress(room, length); },
      c->a.end->address(), own.port());
  judge(
      "GetPeerAddress of the active side", [&](auto* room, ULONG* length) { return c->a.connector->GetPeerAddress(room, length); },
      c->b.end->address(), c->port);
  judge(
      "GetPeerAddress of the passive side", [&](auto* room, ULONG* length) { return c->b.connector->GetPeerAddress(room, length); },
      c->a.end->address(), own.port());
  judge(
      "GetLocalAddress of the passive side", [&](auto* room, ULONG* length) { return c->b.connector->GetLocalAddress(room, length); },
      c->b.end->address(), c->port);
  judge(
      "GetLocalAddress of the listener", [&](auto* room, ULONG* length) { return c->listener->GetLocalAddress(room, length); },
      c->b.end->address(), c->port);
}

CONFORMANCE_CASE(nd_listeners_run_out_of_ports, "networkdirect.listener.ports-exhausted", roles::provider) {
  NdEnd& end = bench.nd().b();
  std::vector<NdRef<IND2Listener>> listeners;
  std::vector<NdStatus> answers;
  const NdAddress at(end.address());
  const NdStatus last = bind_all(answers, kEphemerals, [&]() -> NdStatus {
    auto& made = listeners.emplace_back();
    const HRESULT status = end.adapter().CreateListener(IID_IND2Listener, end.file(), made.out());
    if (FAILED(status)) throw CannotArrange{"CreateListener answered " + words(NdStatus(status))};
    return made->Bind(at.get(), at.length());
  });
  says(check, "Bind of a listener when no port is left", last, {ND_TOO_MANY_ADDRESSES});
  listeners.erase(listeners.begin() + 7);
  auto& made = listeners.emplace_back();
  arranged_by(check, "CreateListener", end.adapter().CreateListener(IID_IND2Listener, end.file(), made.out()));
  says(check, "Bind when one is free again", made->Bind(at.get(), at.length()), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_connectors_run_out_of_ports, "networkdirect.connection.ports-exhausted", roles::provider) {
  NdEnd& end = bench.nd().a();
  std::vector<NdRef<IND2Connector>> connectors;
  std::vector<NdStatus> answers;
  const NdAddress at(end.address());
  const NdStatus last = bind_all(answers, kEphemerals, [&]() -> NdStatus {
    auto& made = connectors.emplace_back();
    const HRESULT status = end.adapter().CreateConnector(IID_IND2Connector, end.file(), made.out());
    if (FAILED(status)) throw CannotArrange{"CreateConnector answered " + words(NdStatus(status))};
    return made->Bind(at.get(), at.length());
  });
  says(check, "Bind of a connector when no port is left", last, {ND_TOO_MANY_ADDRESSES});
  connectors.erase(connectors.begin() + 7);
  auto& made = connectors.emplace_back();
  arranged_by(check, "CreateConnector", end.adapter().CreateConnector(IID_IND2Connector, end.file(), made.out()));
  says(check, "Bind when one is free again", made->Bind(at.get(), at.length()), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_queue_that_cannot_be_resized_says_so, "networkdirect.completion.resize-unsupported", roles::provider) {
  NdEnd& end = bench.nd({.behaviour = "document,+no-resize"}).a();
  const bool resizes = (end.info().AdapterFlags & ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0;
  check.precondition(!resizes, "the adapter does not claim to resize queues");
  const auto queue = end.completion_queue(16);
  for (const ULONG depth : {8u, 16u, 32u}) says(check, "Resize", queue->Resize(depth), {ND_NOT_SUPPORTED});
}

CONFORMANCE_CASE(nd_replies_fit_the_size_that_is_announced, "networkdirect.connection.callee-data-room", roles::provider) {
  const ULONG most = bench.nd().a().info().MaxCalleeData;
  check.require(most > 0, "MaxCalleeData is not 0");
  for (const ULONG bytes : {ULONG{1}, most}) {
    NdConnectTerms terms;
    for (ULONG i = 0; i < bytes; ++i) terms.reply_data += static_cast<char>('A' + i % 26);
    const auto c = bench.nd().reply(terms);
    std::string room(most, '\0');
    ULONG length = most;
    says(check, "GetPrivateData with a buffer of MaxCalleeData, for " + std::to_string(bytes) + " bytes",
         c->a.connector->GetPrivateData(room.data(), &length), {ND_SUCCESS});
    check.equal("the bytes", std::string_view(room).substr(0, bytes), std::string_view(terms.reply_data));
  }
}

CONFORMANCE_CASE(nd_requests_fit_the_size_that_is_announced, "networkdirect.connection.caller-data-room", roles::provider) {
  const ULONG most = bench.nd().b().info().MaxCallerData;
  check.require(most > 0, "MaxCallerData is not 0");
  for (const ULONG bytes : {ULONG{1}, most}) {
    NdConnectTerms terms;
    for (ULONG i = 0; i < bytes; ++i) terms.request_data += static_cast<char>('a' + i % 26);
    const auto c = bench.nd().ask(terms);
    std::string room(most, '\0');
    ULONG length = most;
    says(check, "GetPrivateData with a buffer of MaxCallerData, for " + std::to_string(bytes) + " bytes",
         c->b.connector->GetPrivateData(room.data(), &length), {ND_SUCCESS});
    check.equal("the bytes", std::string_view(room).substr(0, bytes), std::string_view(terms.request_data));
  }
}

}  // namespace fb::conformance
