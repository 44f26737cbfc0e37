// Rules about connections, over every length of private data, every pair of read limits, and several connections side by side.
#include <array>

#include "networkdirect/cases/ndk/scene.h"
#include "conformance/cases/private_data.h"

namespace fb::conformance {
namespace {

/// What a peer has: the bytes, and nothing but zeroes behind them.
void has_data(Check& check, std::string_view what, NDK_CONNECTOR* connector, std::string_view sent) {
  const auto ask = [&](PVOID data, ULONG* length) {
    return NdkStatus(connector->Dispatch->NdkGetConnectionData(connector, nullptr, nullptr, data, length));
  };
  ULONG length = 0;
  says(check, std::string(what) + ": NdkGetConnectionData without a buffer", ask(nullptr, &length), {STATUS_SUCCESS});
  if (!check.that(length >= sent.size(), std::string(what) + ": the length is that of the data, or of what it was padded to",
                  "it is " + words(length))) {
    return;
  }
  std::string room(length + 8, '\x5C');
  ULONG given = length;
  says(check, std::string(what) + ": NdkGetConnectionData", ask(room.data(), &given), {STATUS_SUCCESS});
  check.equal(std::string(what) + ": the length", given, length);
  check.equal(std::string(what) + ": the bytes", room.substr(0, sent.size()), sent);
  const bool padded = std::all_of(room.begin() + static_cast<std::ptrdiff_t>(sent.size()),
                                  room.begin() + static_cast<std::ptrdiff_t>(length), [](char c) { return c == '\0'; });
  check.that(padded, std::string(what) + ": what follows the data is zero", "it is not");
  check.equal(std::string(what) + ": the bytes behind the buffer", room.substr(length), std::string(8, '\x5C'));
  if (length < 2) return;
  for (const ULONG part : {length - 1, ULONG{1}}) {
    std::string cut(length, '\x5C');
    given = part;
    says(check, std::string(what) + ": NdkGetConnectionData with a smaller buffer", ask(cut.data(), &given), {STATUS_BUFFER_TOO_SMALL});
    check.equal(std::string(what) + ": the length", given, length);
    check.equal(std::string(what) + ": the part", cut, room.substr(0, part) + std::string(length - part, '\x5C'));
  }
}

void has_limits(Check& check, std::string_view what, NDK_CONNECTOR* connector, ULONG inbound, ULONG outbound) {
  ULONG in = 777, out = 777, length = 0;
  says(check, std::string(what) + ": NdkGetConnectionData",
       connector->Dispatch->NdkGetConnectionData(connector, &in, &out, nullptr, &length), {STATUS_SUCCESS});
  check.equal(std::string(what) + ": inbound limit", in, inbound);
  check.equal(std::string(what) + ": outbound limit", out, outbound);
}

void has_addresses(Check& check, std::string_view what, NDK_CONNECTOR* connector, const Endpoint& local, const Endpoint& peer) {
  const auto judge = [&](std::string_view which, auto get, const Endpoint& expected) {
    const std::string name = std::string(what) + ": " + std::string(which);
    const ULONG needed = NdkAddress(expected.address).length;
    NdkAddress found;
    found.length = needed - 1;
    says(check, name + " with a byte too few", get(connector, found.get(), &found.length), {STATUS_BUFFER_TOO_SMALL});
    check.equal(name + ": the length", found.length, needed);
    says(check, name, get(connector, found.get(), &found.length), {STATUS_SUCCESS});
    check.equal(name + ": the length", found.length, needed);
    check.equal(name + ": the address", to_string(found.address()), to_string(expected.address));
    check.equal(name + ": the port", found.port(), expected.port);
  };
  judge("NdkGetLocalAddress", connector->Dispatch->NdkGetLocalAddress, local);
  judge("NdkGetPeerAddress", connector->Dispatch->NdkGetPeerAddress, peer);
}

NdkStatus reject(NDK_CONNECTOR* connector, std::string data) {
  return connector->Dispatch->NdkReject(connector, data.empty() ? nullptr : data.data(), static_cast<ULONG>(data.size()));
}

NdkStatus disconnected(NdkBench& ndk, NdkSide& side) {
  return ndk.request([&](auto c, PVOID x) { return side.connector->Dispatch->NdkDisconnect(side.connector, c, x); });
}

}  // namespace

CONFORMANCE_CASE(ndk_data_of_any_length_comes_with_a_request, "ndk.connector.request-data", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const ULONG length : lengths_up_to(ndk.a().info().MaxCallerData)) {
    const std::string data = private_data(length, 'a');
    has_data(check, "a request with " + words(length) + " bytes", ndk.ask({.request_data = data}).b.connector, data);
  }
}

CONFORMANCE_CASE(ndk_data_of_any_length_comes_with_a_reply, "ndk.connector.reply-data", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const ULONG length : lengths_up_to(ndk.b().info().MaxCalleeData)) {
    const std::string data = private_data(length, 'A');
    has_data(check, "a reply with " + words(length) + " bytes", ndk.reply({.reply_data = data}).a.connector, data);
  }
}

CONFORMANCE_CASE(ndk_data_of_any_length_comes_with_a_rejection, "ndk.connector.reject-data", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const ULONG length : lengths_up_to(std::min(ndk.b().info().MaxCalleeData, ULONG{kRefusalData}))) {
    const std::string data = private_data(length, '0');
    NdkConnection& c = ndk.ask();
    says(check, "NdkReject", reject(c.b.connector, data), {STATUS_SUCCESS});
    says(check, "NdkConnect", ndk.finish(*c.connecting), {STATUS_CONNECTION_REFUSED});
    has_data(check, "a rejection with " + words(length) + " bytes", c.a.connector, data);
  }
}

CONFORMANCE_CASE(ndk_read_limits_are_agreed_for_any_offer, "ndk.connector.read-limits", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const NDK_ADAPTER_INFO a = ndk.a().info(), b = ndk.b().info();
  struct Offer {
    ULONG inbound_a, outbound_a, inbound_b, outbound_b;
  };
  constexpr ULONG kHuge = 100'000;
  const ULONG most = a.MaxInboundReadLimit;
  for (const Offer& offer : {Offer{6, 3, 2, 5}, Offer{0, 4, 4, 0}, Offer{4, 0, 0, 4}, Offer{1, 2, 3, 4}, Offer{most, most, most, most},
                             Offer{most + 1, most + 1, 1, 1}, Offer{kHuge, 5, 7, kHuge}, Offer{5, kHuge, kHuge, 7}}) {
    const NdkConnectTerms terms = {
        .inbound_a = offer.inbound_a, .outbound_a = offer.outbound_a, .inbound_b = offer.inbound_b, .outbound_b = offer.outbound_b};
    NdkConnection& c = ndk.ask(terms);
    const ULONG offered_in = std::min({offer.inbound_a, a.MaxInboundReadLimit, ULONG{255}});
    const ULONG offered_out = std::min({offer.outbound_a, a.MaxOutboundReadLimit, ULONG{255}});
    const ULONG seen_in = std::min(offered_out, b.MaxInboundReadLimit), seen_out = std::min(offered_in, b.MaxOutboundReadLimit);
    const std::string what =
        "of " + words(offer.inbound_a) + ", " + words(offer.outbound_a) + " and " + words(offer.inbound_b) + ", " + words(offer.outbound_b);
    has_limits(check, "the passive side's view " + what, c.b.connector, seen_in, seen_out);
    arranged_by(check, "NdkAccept", ndk.begin_accept(c, terms).said);
    check.require(ndk.finish(*c.connecting) == STATUS_SUCCESS, "NdkConnect completes");
    const ULONG agreed_in = std::min(seen_in, offer.inbound_b), agreed_out = std::min(seen_out, offer.outbound_b);
    has_limits(check, "the active side's view " + what, c.a.connector, agreed_out, agreed_in);
    says(check, "NdkCompleteConnect", ndk.finish(ndk.begin_complete(c)), {STATUS_SUCCESS});
    says(check, "NdkAccept", ndk.finish(*c.accepting), {STATUS_SUCCESS});
    for (auto [side, other, agreed] : {std::tuple{&c.a, &c.b, agreed_in}, std::tuple{&c.b, &c.a, agreed_out}}) {
      if (agreed == 0) continue;
      for (std::uintptr_t i = 0; i < 12; ++i) {
        check.require(side->read(i, 32768 + i * 64, 64, other->memory->address(i * 128 + 3), other->memory->remote) == STATUS_SUCCESS,
                      "NdkRead is taken");
      }
      for (std::uintptr_t i = 0; i < 12; ++i) {
        const NDK_RESULT_EX result = next_result(ndk, check, *side, "a Read");
        says(check, "a Read", result.Status, {STATUS_SUCCESS});
        check.that(result.RequestContext == ndk_tag(i), "Reads end in their order", "they do not");
        check.bytes("what was read", ByteView(side->memory->bytes).subspan(32768 + i * 64, 64),
                    ByteView(other->memory->bytes).subspan(i * 128 + 3, 64));
      }
    }
  }
}

CONFORMANCE_CASE(ndk_connectors_know_both_addresses_all_along, "ndk.connector.peer-address", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask({.source_port = 50321});
  const Endpoint a{ndk.a().address(), 50321}, b{ndk.b().address(), c.port};
  const auto judge = [&](std::string_view when) {
    has_addresses(check, "the active side " + std::string(when), c.a.connector, a, b);
    has_addresses(check, "the passive side " + std::string(when), c.b.connector, b, a);
  };
  judge("with a request");
  arranged_by(check, "NdkAccept", ndk.begin_accept(c).said);
  check.require(ndk.finish(*c.connecting) == STATUS_SUCCESS, "NdkConnect completes");
  judge("with a reply");
  says(check, "NdkCompleteConnect", ndk.finish(ndk.begin_complete(c)), {STATUS_SUCCESS});
  says(check, "NdkAccept", ndk.finish(*c.accepting), {STATUS_SUCCESS});
  judge("when connected");
}

CONFORMANCE_CASE(ndk_data_is_that_of_the_newest_answer, "ndk.connector.reject-data", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  // Less, more, and nothing, by turns: nothing of an earlier answer is left.
  for (const ULONG length : {120u, 3u, 60u, 0u, 41u}) {
    const std::string data = private_data(length, 'r');
    says(check, "NdkReject", reject(c.b.connector, data), {STATUS_SUCCESS});
    says(check, "NdkConnect", ndk.finish(*c.connecting), {STATUS_CONNECTION_REFUSED});
    has_data(check, "a rejection with " + words(length) + " bytes", c.a.connector, data);
    const std::string asked = data.substr(0, 39);
    if (NdkStatus(ndk.begin_connect(c, {.request_data = asked}).said).failed()) return;  // another rule's business
    check.require(ndk.asked(c), "the request reaches the listener");
    has_data(check, "a request with " + std::to_string(asked.size()) + " bytes", c.b.connector, asked);
  }
  arranged_by(check, "NdkAccept", ndk.begin_accept(c, {.reply_data = "yes"}).said);
  check.require(ndk.finish(*c.connecting) == STATUS_SUCCESS, "NdkConnect completes with STATUS_SUCCESS");
  has_data(check, "a reply after five rejections", c.a.connector, "yes");
}

CONFORMANCE_CASE(ndk_connections_do_not_mix, "ndk.cq.qp-context", roles::provider) {
  constexpr std::size_t kConnections = 5;
  NdkBench& ndk = bench.ndk();
  NdkQueue &queue_a = ndk.a().queue(200), &queue_b = ndk.b().queue(200);
  std::array<NdkConnection*, kConnections> all;
  for (std::size_t i = 0; i < kConnections; ++i) {
    NdkConnection& c = *(all[i] = &ndk.prepare());
    c.a.qp = ndk.a().queue_pair(queue_a, {.context = ndk_tag(0xA0 + i)});
    c.b.qp = ndk.b().queue_pair(queue_b, {.context = ndk_tag(0xB0 + i)});
    establish(ndk, check, c);
  }
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kConnections; ++i) {
      NdkConnection& c = *all[i];
      arranged_by(check, "NdkReceive", c.b.receive(10 * i + round, 4096 * round, 4096));
      arranged_by(check, "NdkSend", c.a.send(1000 + 10 * i + round, i + 100 * round, static_cast<ULONG>(40 + i)));
    }
  }
  ndk.pass(kNdkQuiet);
  const auto judge = [&](NdkQueue& queue, std::uintptr_t pair, std::uintptr_t first, bool receives) {
    std::array<std::size_t, kConnections> seen = {};
    queue.look();
    check.equal("results", queue.results.size(), 3 * kConnections);
    for (const NDK_RESULT_EX& result : queue.results) {
      const auto of = reinterpret_cast<std::uintptr_t>(result.QPContext) - pair;
      if (!check.that(of < kConnections, "each result has the context of one of the queue pairs", "it has another")) continue;
      says(check, "a result", result.Status, {STATUS_SUCCESS});
      check.that(result.RequestContext == ndk_tag(first + 10 * of + seen[of]), "requests of each queue pair end in their order",
                 "they do not");
      if (receives) check.equal("bytes of a message", result.BytesTransferred, static_cast<ULONG>(40 + of));
      ++seen[of];
    }
    queue.results.clear();
  };
  judge(queue_a, 0xA0, 1000, false);
  judge(queue_b, 0xB0, 0, true);
  for (std::size_t i = 0; i < kConnections; ++i) {
    for (std::size_t round = 0; round < 3; ++round) {
      check.bytes("a message", ByteView(all[i]->b.memory->bytes).subspan(4096 * round, 40 + i),
                  ByteView(all[i]->a.memory->bytes).subspan(i + 100 * round, 40 + i));
    }
  }
  // The end of one is the end of no other.
  says(check, "NdkDisconnect", disconnected(ndk, all[2]->a), {STATUS_SUCCESS});
  ndk.pass(kNdkQuiet);
  for (std::size_t i = 0; i < kConnections; ++i) {
    check.equal("disconnect events of a passive side", all[i]->b.disconnected, i == 2 ? 1 : 0);
    check.equal("disconnect events of an active side", all[i]->a.disconnected, 0);
    if (i == 2) continue;
    arranged_by(check, "NdkReceive", all[i]->b.receive(1));
    check.that(all[i]->a.send(1) == STATUS_SUCCESS, "another connection takes a Send");
  }
  ndk.pass(kNdkQuiet);
  queue_a.look();
  check.equal("results of the others", queue_a.results.size(), std::size_t{4});
  for (const NDK_RESULT_EX& result : queue_a.results) says(check, "a Send of another connection", result.Status, {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_a_connection_ends_as_often_as_it_is_made, "ndk.connector.disconnect-event", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  for (int round = 0; round < 4; ++round) {
    establish(ndk, check, c);
    arranged_by(check, "NdkReceive", c.b.receive(1));
    arranged_by(check, "NdkSend", c.a.send(2));
    ends_as(ndk, check, c.b, "a message", {STATUS_SUCCESS});
    ends_as(ndk, check, c.a, "its Send", {STATUS_SUCCESS});
    NdkSide &first = round % 2 == 0 ? c.a : c.b, &second = round % 2 == 0 ? c.b : c.a;
    first.disconnected = second.disconnected = 0;
    says(check, "NdkDisconnect", disconnected(ndk, first), {STATUS_SUCCESS});
    check.that(ndk.wait_until([&] { return second.disconnected > 0; }), "the other side hears of it", "it does not");
    ndk.pass(kNdkQuiet);
    check.equal("disconnect events", second.disconnected, 1);
    check.equal("disconnect events of who disconnects", first.disconnected, 0);
    refused(check, "NdkDisconnect once more", disconnected(ndk, first));
    for (NdkSide* side : {&c.a, &c.b}) {
      ndk.finish(ndk.close(side->connector));
      ndk.finish(ndk.close(side->qp));
      side->queue->look();
      side->queue->results.clear();
      side->qp = side->end->queue_pair(*side->queue);
    }
    c.a.connector = ndk.a().connector();
  }
}

}  // namespace fb::conformance
