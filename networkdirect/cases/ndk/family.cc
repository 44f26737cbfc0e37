// Adapters at IPv6 addresses, ports at their end, the room for private data, and what stays as it is.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr NdkTerms kIpv6 = {.ipv6 = true};
constexpr unsigned kEphemerals = 65536 - 49152;

NdkStatus listen_at(NdkBench& ndk, NDK_LISTENER* listener, const IpAddress& address, std::uint16_t port) {
  NdkAddress at(address, port);
  return ndk.request([&](auto c, PVOID x) { return listener->Dispatch->NdkListen(listener, at.get(), at.length, c, x); });
}

}  // namespace

CONFORMANCE_CASE(ndk_a_foreign_address_has_its_code, "ndk.listener.address-code", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const IpAddress& foreign : {IpAddress::v4(192, 0, 2, 77), ndk.a().address()}) {
    says(check, "NdkListen at " + to_string(foreign), listen_at(ndk, ndk.b().idle_listener().listener, foreign, ndk.fresh_port()),
         {STATUS_INVALID_ADDRESS});
  }
}

CONFORMANCE_CASE(ndk_listeners_run_out_of_ports, "ndk.listener.ports-exhausted", roles::provider) {
  NdkBench& ndk = bench.ndk({.answers = ndk::Answers::at_once});
  NdkStatus last;
  for (unsigned i = 0; i <= kEphemerals && !last.failed(); ++i) {
    last = listen_at(ndk, ndk.b().idle_listener().listener, ndk.b().address(), 0);
  }
  says(check, "NdkListen when no port is left", last, {STATUS_TOO_MANY_ADDRESSES});
  NDK_ADAPTER* const adapter = ndk.a().adapter();
  last = STATUS_SUCCESS;
  for (unsigned i = 0; i <= kEphemerals && !last.failed(); ++i) {
    NdkAddress at(ndk.a().address());
    last = ndk.create<NDK_SHARED_ENDPOINT>([&](auto c, PVOID x, NDK_SHARED_ENDPOINT** p) {
                return adapter->Dispatch->NdkCreateSharedEndpoint(adapter, at.get(), at.length, c, x, p);
              })
               .end();
  }
  says(check, "NdkCreateSharedEndpoint when no port is left", last, {STATUS_TOO_MANY_ADDRESSES});
}

CONFORMANCE_CASE(ndk_an_ipv6_connection_carries_messages, "ndk.connector.ipv6", roles::provider) {
  NdkBench& ndk = bench.ndk(kIpv6);
  NdkConnection& c = ndk.prepare();
  establish(ndk, check, c);
  for (auto [from, to] : {std::pair{&c.a, &c.b}, std::pair{&c.b, &c.a}}) {
    arranged_by(check, "NdkReceive", to->receive(1, 16384, 4096));
    check.require(from->send(2, 100, 3000) == STATUS_SUCCESS, "NdkSend is taken");
    ends_as(ndk, check, *from, "the Send", {STATUS_SUCCESS});
    ends_as(ndk, check, *to, "the Receive", {STATUS_SUCCESS});
    check.bytes("bytes that came", ByteView(to->memory->bytes).subspan(16384, 3000), ByteView(from->memory->bytes).subspan(100, 3000));
  }
}

CONFORMANCE_CASE(ndk_ipv6_addresses_are_whole, "ndk.listener.ipv6-address", roles::provider) {
  NdkBench& ndk = bench.ndk(kIpv6);
  constexpr std::uint16_t kSource = 50321;
  NdkConnection& c = ndk.ask({.source_port = kSource});
  const auto judge = [&](const std::string& what, auto get, auto* object, const IpAddress& address, std::uint16_t port) {
    NdkAddress at;
    at.length = sizeof(SOCKADDR_IN);
    refused(check, what + " with room for IPv4 alone", get(object, at.get(), &at.length));
    check.equal("the size that it says", at.length, ULONG{sizeof(SOCKADDR_IN6)});
    says(check, what, get(object, at.get(), &at.length), {STATUS_SUCCESS});
    check.equal("family", unsigned{at.get()->sa_family}, unsigned{AF_INET6});
    check.that(at.address() == address, what + " tells the address", "it is " + to_string(at.address()));
    check.equal("port of " + what, at.port(), port);
  };
  NDK_LISTENER* const listener = c.listening->listener;
  judge("NdkGetLocalAddress of the listener", listener->Dispatch->NdkGetLocalAddress, listener, ndk.b().address(), c.port);
  for (const bool active : {true, false}) {
    NDK_CONNECTOR* const connector = active ? c.a.connector : c.b.connector;
    const std::string of = active ? " of the active side" : " of the passive side";
    const std::uint16_t own = active ? kSource : c.port, others = active ? c.port : kSource;
    NdkEnd &here = active ? ndk.a() : ndk.b(), &there = active ? ndk.b() : ndk.a();
    judge("NdkGetLocalAddress" + of, connector->Dispatch->NdkGetLocalAddress, connector, here.address(), own);
    judge("NdkGetPeerAddress" + of, connector->Dispatch->NdkGetPeerAddress, connector, there.address(), others);
  }
  NDK_SHARED_ENDPOINT* const endpoint = ndk.a().endpoint(50322);
  judge("NdkGetLocalAddress of a shared endpoint", endpoint->Dispatch->NdkGetLocalAddress, endpoint, ndk.a().address(), 50322);
}

CONFORMANCE_CASE(ndk_replies_fit_the_size_that_is_announced, "ndk.connector.callee-data-room", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const ULONG most = ndk.a().info().MaxCalleeData;
  check.require(most > 0, "MaxCalleeData is not 0");
  for (const ULONG bytes : {ULONG{1}, most}) {
    NdkConnectTerms terms;
    for (ULONG i = 0; i < bytes; ++i) terms.reply_data += static_cast<char>('A' + i % 26);
    NdkConnection& c = ndk.reply(terms);
    std::string room(most, '\0');
    ULONG length = most;
    says(check, "NdkGetConnectionData with a buffer of MaxCalleeData, for " + std::to_string(bytes) + " bytes",
         c.a.connector->Dispatch->NdkGetConnectionData(c.a.connector, nullptr, nullptr, room.data(), &length), {STATUS_SUCCESS});
    check.equal("the bytes", std::string_view(room).substr(0, bytes), std::string_view(terms.reply_data));
  }
}

CONFORMANCE_CASE(ndk_a_table_stays, "ndk.object.dispatch", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.reply();
  const auto tables = [&] {
    return std::vector<const void*>{c.a.connector->Dispatch,
                                    c.b.connector->Dispatch,
                                    c.a.qp->Dispatch,
                                    c.b.qp->Dispatch,
                                    c.a.queue->cq->Dispatch,
                                    c.a.memory->region->Dispatch,
                                    c.listening->listener->Dispatch,
                                    ndk.a().pd()->Dispatch,
                                    ndk.a().adapter()->Dispatch};
  };
  const auto before = tables();
  for (const void* table : before) check.that(table != nullptr, "each object has a table");
  ndk.begin_complete(c);
  arranged_by(check, "NdkCompleteConnect", ndk.finish(*c.completing));
  arranged_by(check, "NdkAccept", ndk.finish(*c.accepting));
  check.that(tables() == before, "the tables are the same once there is a connection", "one is another");
  deliver(ndk, check, c);
  NDK_CONNECTOR* const connector = c.a.connector;
  const NdkStatus parted = ndk.request([&](auto done, PVOID x) { return connector->Dispatch->NdkDisconnect(connector, done, x); });
  arranged_by(check, "NdkDisconnect", parted);
  check.that(tables() == before, "the tables are the same when it is over", "one is another");
}

CONFORMANCE_CASE(ndk_a_mapping_is_not_longer_than_its_memory, "ndk.lam.length", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkMemory& memory = ndk.a().plain_memory(4 * PAGE_SIZE);
  MDL mdl;
  MmInitializeMdl(&mdl, memory.at(100), 5000);
  for (const SIZE_T length : {SIZE_T{5001}, SIZE_T{2 * PAGE_SIZE}, SIZE_T{1} << 20}) {
    NdkLam& lam = ndk.keep(std::make_unique<NdkLam>(std::size_t{8} * 512));
    says(check, "NdkBuildLAM of " + std::to_string(length) + " bytes where 5000 are described", build(ndk, ndk.a(), &mdl, length, lam),
         {STATUS_INVALID_PARAMETER});
  }
  NdkLam& lam = ndk.keep(std::make_unique<NdkLam>());
  says(check, "NdkBuildLAM of all that is described", build(ndk, ndk.a(), &mdl, 5000, lam), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_moderation_can_be_replaced, "ndk.cq.moderation-replaced", roles::provider) {
  constexpr ULONG kInfinite = ~ULONG{0};
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  check.precondition((ndk.b().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED) != 0, "queues can be moderated");
  const auto moderate = [&](ULONG interval_us, ULONG count) {
    return NdkStatus(c.b.queue->cq->Dispatch->NdkControlCqInterruptModeration(c.b.queue->cq, interval_us, count));
  };
  for (const auto& [interval_us, count] : {std::pair{kInfinite, ULONG{10}}, std::pair{ULONG{3'600'000'000}, ULONG{10}}}) {
    const int before = c.b.queue->notified;
    says(check, "NdkControlCqInterruptModeration", moderate(interval_us, count), {STATUS_SUCCESS});
    c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
    deliver(ndk, check, c);
    check.equal("callbacks while the moderation holds", c.b.queue->notified - before, 0);
    says(check, "NdkControlCqInterruptModeration without moderation", moderate(0, 0), {STATUS_SUCCESS});
    ndk.pass(kNdkQuiet);
    check.equal("callbacks once there is none", c.b.queue->notified - before, 1);
  }
}

}  // namespace fb::conformance
