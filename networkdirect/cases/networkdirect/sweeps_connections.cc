// Rules about connections, over every length of private data, every pair of limits, every state of a connector, and several
// connections side by side.
#include <array>

#include "networkdirect/cases/networkdirect/scene.h"
#include "conformance/cases/private_data.h"

namespace fb::conformance {
namespace {

/// What a peer has: the bytes, and nothing but zeroes behind them.
void has_data(Check& check, std::string_view what, IND2Connector& connector, std::string_view sent) {
  ULONG length = 0;
  const NdStatus asked = connector.GetPrivateData(nullptr, &length);
  // With no data at all there is nothing that could overflow.
  says(
      check, std::string(what) + ": GetPrivateData without a buffer", asked,
      length == 0 ? std::vector<HRESULT>{ND_SUCCESS, ND_BUFFER_OVERFLOW, ND_CONNECTION_INVALID} : std::vector<HRESULT>{ND_BUFFER_OVERFLOW});
  if (!check.that(length >= sent.size(), std::string(what) + ": the size is that of the data, or of what it was padded to",
                  "it is " + std::to_string(length))) {
    return;
  }
  std::string room(length + 8, '\x5C');
  ULONG given = length;
  if (length > 0) says(check, std::string(what) + ": GetPrivateData", connector.GetPrivateData(room.data(), &given), {ND_SUCCESS});
  check.equal(std::string(what) + ": the bytes", room.substr(0, sent.size()), sent);
  const bool padded = std::all_of(room.begin() + static_cast<std::ptrdiff_t>(sent.size()),
                                  room.begin() + static_cast<std::ptrdiff_t>(length), [](char c) { return c == '\0'; });
  check.that(padded, std::string(what) + ": what follows the data is zero", "it is not");
  check.equal(std::string(what) + ": the bytes behind the buffer", room.substr(length), std::string(8, '\x5C'));
  if (length < 2) return;
  // One byte too few, and one byte.
  for (const ULONG part : {length - 1, ULONG{1}}) {
    std::string cut(length, '\x5C');
    given = part;
    says(check, std::string(what) + ": GetPrivateData with a smaller buffer", connector.GetPrivateData(cut.data(), &given),
         {ND_BUFFER_OVERFLOW});
    check.equal(std::string(what) + ": the size", given, length);
    check.equal(std::string(what) + ": the part", cut, room.substr(0, part) + std::string(length - part, '\x5C'));
  }
}

void has_limits(Check& check, std::string_view what, IND2Connector& connector, ULONG inbound, ULONG outbound) {
  ULONG in = 777, out = 777;
  says(check, std::string(what) + ": GetReadLimits", connector.GetReadLimits(&in, &out), {ND_SUCCESS});
  check.equal(std::string(what) + ": inbound limit", in, inbound);
  check.equal(std::string(what) + ": outbound limit", out, outbound);
  ULONG alone = 777;
  says(check, std::string(what) + ": GetReadLimits of the inbound one", connector.GetReadLimits(&alone, nullptr), {ND_SUCCESS});
  check.equal(std::string(what) + ": inbound limit alone", alone, inbound);
  says(check, std::string(what) + ": GetReadLimits of the outbound one", connector.GetReadLimits(nullptr, &alone), {ND_SUCCESS});
  check.equal(std::string(what) + ": outbound limit alone", alone, outbound);
}

void has_addresses(Check& check, std::string_view what, IND2Connector& connector, const Endpoint& local, const Endpoint& peer) {
  const auto judge = [&](std::string_view which, auto get, const Endpoint& expected) {
    NdAddress found;
    const std::string name = std::string(what) + ": " + std::string(which);
    const ULONG needed = NdAddress(expected.address).length();
    for (const ULONG room : {ULONG{0}, needed - 1}) {
      ULONG length = room;
      says(check, name + " with too little room", (connector.*get)(found.room(), &length), {ND_BUFFER_OVERFLOW});
      check.equal(name + ": the size", length, needed);
    }
    ULONG length = needed;
    says(check, name, (connector.*get)(found.room(), &length), {ND_SUCCESS});
    check.equal(name + ": the size", length, needed);
    check.equal(name + ": the address", to_string(found.address()), to_string(expected.address));
    if (expected.port != 0) check.equal(name + ": the port", found.port(), expected.port);
  };
  judge("GetLocalAddress", &IND2Connector::GetLocalAddress, local);
  judge("GetPeerAddress", &IND2Connector::GetPeerAddress, peer);
}

std::uint16_t port_of(IND2Connector& connector) {
  NdAddress found;
  ULONG length = found.capacity();
  return connector.GetLocalAddress(found.room(), &length) == ND_SUCCESS ? found.port() : std::uint16_t{0};
}

NdStatus disconnected(ProviderBench& bench, NdSide& side) {
  NdRequest request;
  const HRESULT called = side.connector->Disconnect(&request);
  return ended(bench, called, request, *side.connector);
}

/// Each method that needs a peer, on a connector that has none.
void judge_without_peer(Check& check, std::string_view state, IND2Connector& connector, IND2QueuePair& qp) {
  NdRequest request;
  const std::string in = std::string(" of a connector that ") + std::string(state);
  says(check, "CompleteConnect" + in, connector.CompleteConnect(&request), {ND_CONNECTION_INVALID});
  says(check, "Accept" + in, connector.Accept(&qp, 1, 1, nullptr, 0, &request), {ND_CONNECTION_INVALID});
  says(check, "Reject" + in, connector.Reject(nullptr, 0), {ND_CONNECTION_INVALID});
}

}  // namespace

CONFORMANCE_CASE(nd_data_of_any_length_arrives_with_a_request, "networkdirect.connection.request-data", roles::provider) {
  for (const ULONG length : lengths_up_to(bench.nd().a().info().MaxCallerData)) {
    NdConnectTerms terms;
    terms.request_data = private_data(length, 'a');
    const auto c = bench.nd().ask(terms);
    has_data(check, "a request with " + std::to_string(length) + " bytes", *c->b.connector, terms.request_data);
  }
}

CONFORMANCE_CASE(nd_data_of_any_length_arrives_with_a_reply, "networkdirect.connection.reply-data", roles::provider) {
  for (const ULONG length : lengths_up_to(bench.nd().b().info().MaxCalleeData)) {
    NdConnectTerms terms;
    terms.reply_data = private_data(length, 'A');
    const auto c = bench.nd().reply(terms);
    has_data(check, "a reply with " + std::to_string(length) + " bytes", *c->a.connector, terms.reply_data);
  }
}

CONFORMANCE_CASE(nd_data_of_any_length_arrives_with_a_refusal, "networkdirect.connection.reject-data", roles::provider) {
  for (const ULONG length : lengths_up_to(std::min(bench.nd().b().info().MaxCalleeData, ULONG{kRefusalData}))) {
    const std::string data = private_data(length, '0');
    const auto c = bench.nd().ask();
    says(check, "Reject", c->b.connector->Reject(data.data(), length), {ND_SUCCESS});
    says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector), {ND_CONNECTION_REFUSED});
    has_data(check, "a refusal with " + std::to_string(length) + " bytes", *c->a.connector, data);
    // Of the first attempt nothing is left when there is a second.
    c->b.connector = c->b.end->connector();
    establish(bench, check, *c);
    message_crosses(bench, check, c->a, c->b);
  }
}

CONFORMANCE_CASE(nd_limits_are_agreed_for_any_offer, "networkdirect.connection.read-limits", roles::provider) {
  const ND2_ADAPTER_INFO a = bench.nd().a().info(), b = bench.nd().b().info();
  struct Offer {
    ULONG inbound_a, outbound_a, inbound_b, outbound_b;
  };
  constexpr ULONG kHuge = 100'000;
  const ULONG most = a.MaxInboundReadLimit;
  for (const Offer& offer : {Offer{6, 3, 2, 5}, Offer{0, 4, 4, 0}, Offer{4, 0, 0, 4}, Offer{1, 2, 3, 4}, Offer{most, most, most, most},
                             Offer{most + 1, most + 1, 1, 1}, Offer{kHuge, 5, 7, kHuge}, Offer{5, kHuge, kHuge, 7}, Offer{0, 0, 9, 9}}) {
    NdRequest request, completing;
    const auto c = bench.nd().prepare();
    check.require(ask_for(c->a, listening_at(*c), c->connecting, {}, offer.inbound_a, offer.outbound_a) == ND_PENDING,
                  "Connect is pending");
    const HRESULT waited = c->listener->GetConnectionRequest(c->b.connector.get(), &request);
    check.require(ended(bench, waited, request, *c->listener) == ND_SUCCESS, "the request reaches the listener");
    // The wire has a byte for each.
    const ULONG offered_in = std::min({offer.inbound_a, a.MaxInboundReadLimit, ULONG{255}});
    const ULONG offered_out = std::min({offer.outbound_a, a.MaxOutboundReadLimit, ULONG{255}});
    const ULONG seen_in = std::min(offered_out, b.MaxInboundReadLimit), seen_out = std::min(offered_in, b.MaxOutboundReadLimit);
    const std::string what = "of " + std::to_string(offer.inbound_a) + ", " + std::to_string(offer.outbound_a) + " and " +
                             std::to_string(offer.inbound_b) + ", " + std::to_string(offer.outbound_b);
    has_limits(check, "the passive side's view " + what, *c->b.connector, seen_in, seen_out);
    check.require(accept_on(c->b, c->accepting, {}, offer.inbound_b, offer.outbound_b) == ND_PENDING, "Accept is pending");
    check.require(ended(bench, ND_PENDING, c->connecting, *c->a.connector) == ND_SUCCESS, "Connect completes");
    const ULONG agreed_in = std::min(seen_in, offer.inbound_b), agreed_out = std::min(seen_out, offer.outbound_b);
    has_limits(check, "the active side's view " + what, *c->a.connector, agreed_out, agreed_in);
    const HRESULT called = c->a.connector->CompleteConnect(&completing);
    says(check, "CompleteConnect", ended(bench, called, completing, *c->a.connector), {ND_SUCCESS});
    says(check, "Accept", ended(bench, ND_PENDING, c->accepting, *c->b.connector), {ND_SUCCESS});
    has_limits(check, "the active side's view when connected, " + what, *c->a.connector, agreed_out, agreed_in);
    // As many Reads as were agreed, and more, which wait.
    for (auto [side, other, agreed] : {std::tuple{&c->a, &c->b, agreed_in}, std::tuple{&c->b, &c->a, agreed_out}}) {
      if (agreed == 0) continue;
      for (std::uintptr_t i = 0; i < 12; ++i) {
        ND2_SGE mine = side->memory->sge(32768 + i * 64, 64);
        const UINT32 token = other->memory->region->GetRemoteToken();
        check.require(side->qp->Read(nd_tag(i), &mine, 1, other->memory->address(i * 128 + 3), token, 0) == ND_SUCCESS, "Read is taken");
      }
      for (std::uintptr_t i = 0; i < 12; ++i) {
        const ND2_RESULT result = next_result(bench, check, *side, "a Read");
        says(check, "a Read", result.Status, {ND_SUCCESS});
        check.that(result.RequestContext == nd_tag(i), "Reads end in their order");
        check.bytes("what was read", ByteView(side->memory->bytes).subspan(32768 + i * 64, 64),
                    ByteView(other->memory->bytes).subspan(i * 128 + 3, 64));
      }
    }
  }
}

CONFORMANCE_CASE(nd_connectors_know_both_addresses_all_along, "networkdirect.connection.peer-address", roles::provider) {
  const auto c = bench.nd().ask();
  const std::uint16_t port = port_of(*c->a.connector);
  const Endpoint a{c->a.end->address(), port}, b{c->b.end->address(), c->port};
  const auto judge = [&](std::string_view when) {
    has_addresses(check, "the active side " + std::string(when), *c->a.connector, a, b);
    has_addresses(check, "the passive side " + std::string(when), *c->b.connector, b, a);
  };
  judge("with a request");
  check.require(accept_on(c->b, c->accepting) == ND_PENDING, "Accept is pending");
  check.require(ended(bench, ND_PENDING, c->connecting, *c->a.connector) == ND_SUCCESS, "Connect completes");
  judge("with a reply");
  NdRequest request;
  const HRESULT called = c->a.connector->CompleteConnect(&request);
  says(check, "CompleteConnect", ended(bench, called, request, *c->a.connector), {ND_SUCCESS});
  says(check, "Accept", ended(bench, ND_PENDING, c->accepting, *c->b.connector), {ND_SUCCESS});
  judge("when connected");
}

CONFORMANCE_CASE(nd_without_a_peer_nothing_is_done_in_any_state, "networkdirect.connection.unconnected", roles::provider) {
  const auto c = bench.nd().prepare();
  const auto has_no_peer = [&](std::string_view what, IND2Connector& connector) {
    NdAddress found;
    ULONG length = found.capacity();
    refused(check, "GetPeerAddress of a connector that " + std::string(what), connector.GetPeerAddress(found.room(), &length));
  };
  has_no_peer("is new", *c->a.end->connector());
  has_no_peer("is bound", *c->a.connector);
  judge_without_peer(check, "is new", *c->a.end->connector(), *c->a.qp);
  judge_without_peer(check, "is bound", *c->a.connector, *c->a.qp);
  arranged_by(check, "Connect", ask_for(c->a, listening_at(*c), c->connecting));
  judge_without_peer(check, "asks", *c->a.connector, *c->a.qp);
  NdRequest request;
  const HRESULT waited = c->listener->GetConnectionRequest(c->b.connector.get(), &request);
  check.require(ended(bench, waited, request, *c->listener) == ND_SUCCESS, "the request reaches the listener");
  NdRequest none;
  says(check, "CompleteConnect of the passive side", c->b.connector->CompleteConnect(&none), {ND_CONNECTION_INVALID});
  says(check, "Disconnect of a connector with a request", c->b.connector->Disconnect(&none), {ND_CONNECTION_INVALID});
  says(check, "NotifyDisconnect of a connector with a request", c->b.connector->NotifyDisconnect(&none), {ND_CONNECTION_INVALID});
  arranged_by(check, "Accept", accept_on(c->b, c->accepting));
  check.require(ended(bench, ND_PENDING, c->connecting, *c->a.connector) == ND_SUCCESS, "Connect completes");
  says(check, "Accept of the active side", c->a.connector->Accept(c->a.qp.get(), 1, 1, nullptr, 0, &none), {ND_CONNECTION_INVALID});
  says(check, "CompleteConnect of the passive side", c->b.connector->CompleteConnect(&none), {ND_CONNECTION_INVALID});
  says(check, "a second Accept", c->b.connector->Accept(c->b.qp.get(), 1, 1, nullptr, 0, &none),
       {ND_CONNECTION_INVALID, ND_CONNECTION_ACTIVE});
  const HRESULT called = c->a.connector->CompleteConnect(&request);
  says(check, "CompleteConnect", ended(bench, called, request, *c->a.connector), {ND_SUCCESS});
  says(check, "Accept", ended(bench, ND_PENDING, c->accepting, *c->b.connector), {ND_SUCCESS});
  judge_without_peer(check, "is connected, at the active side", *c->a.connector, *c->a.qp);
  says(check, "Connect of a connector that is connected", ask_for(c->a, listening_at(*c), none), {ND_CONNECTION_ACTIVE});
  message_crosses(bench, check, c->a, c->b);
  says(check, "Disconnect", disconnected(bench, c->a), {ND_SUCCESS});
  judge_without_peer(check, "was disconnected", *c->a.connector, *c->a.qp);
}

CONFORMANCE_CASE(nd_data_is_that_of_the_newest_answer, "networkdirect.connection.reject-data", roles::provider) {
  NdBench& nd = bench.nd();
  const auto c = nd.ask();
  // Less, more, and nothing, by turns: nothing of an earlier answer is left.
  for (const ULONG length : {120u, 3u, 60u, 0u, 41u}) {
    const std::string data = private_data(length, 'r');
    says(check, "Reject", c->b.connector->Reject(data.data(), length), {ND_SUCCESS});
    says(check, "Connect", ended(bench, ND_PENDING, c->connecting, *c->a.connector), {ND_CONNECTION_REFUSED});
    has_data(check, "a refusal with " + std::to_string(length) + " bytes", *c->a.connector, data);
    c->b.connector = c->b.end->connector();
    NdRequest request;
    const std::string said = data.substr(0, 39);
    const HRESULT asked = ask_for(c->a, listening_at(*c), c->connecting, said);
    if (FAILED(asked)) return;  // that a refusal is not the end is another rule
    ULONG early = 0;
    const NdStatus before = c->a.connector->GetPrivateData(nullptr, &early);
    check.that(before.failed() && (before != ND_BUFFER_OVERFLOW || early == 0), "there is no private data before the next answer",
               std::to_string(early) + " bytes are left of the one before");
    const HRESULT waited = c->listener->GetConnectionRequest(c->b.connector.get(), &request);
    check.require(ended(bench, waited, request, *c->listener) == ND_SUCCESS, "the request reaches the listener");
    has_data(check, "a request with " + std::to_string(said.size()) + " bytes", *c->b.connector, said);
  }
  arranged_by(check, "Accept", accept_on(c->b, c->accepting, "yes"));
  check.require(ended(bench, ND_PENDING, c->connecting, *c->a.connector) == ND_SUCCESS, "Connect completes with ND_SUCCESS");
  has_data(check, "a reply after five refusals", *c->a.connector, "yes");
}

CONFORMANCE_CASE(nd_connections_do_not_mix, "networkdirect.completion.result-pair", roles::provider) {
  constexpr std::size_t kConnections = 5;
  // All of one end on one completion queue.
  const auto queue_a = bench.nd().a().completion_queue(256), queue_b = bench.nd().b().completion_queue(256);
  std::array<std::unique_ptr<NdConnection>, kConnections> all;
  for (std::size_t i = 0; i < kConnections; ++i) {
    auto& c = all[i] = bench.nd().prepare();
    NdQueueTerms terms;
    terms.context = nd_tag(0xA0 + i);
    c->a.qp = c->a.end->queue_pair(*queue_a, terms);
    terms.context = nd_tag(0xB0 + i);
    c->b.qp = c->b.end->queue_pair(*queue_b, terms);
    establish(bench, check, *c);
  }
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kConnections; ++i) {
      NdConnection& c = *all[i];
      ND2_SGE into = c.b.memory->sge(4096 * round, 4096), out = c.a.memory->sge(i + 100 * round, static_cast<ULONG>(40 + i));
      arranged_by(check, "Receive", c.b.qp->Receive(nd_tag(10 * i + round), &into, 1));
      arranged_by(check, "Send", c.a.qp->Send(nd_tag(1000 + 10 * i + round), &out, 1, 0));
    }
  }
  bench.nd().pass(kNdQuiet);
  const auto judge = [&](IND2CompletionQueue& queue, std::uintptr_t pair, std::uintptr_t first, bool receives) {
    std::array<std::size_t, kConnections> seen = {};
    std::vector<ND2_RESULT> results(64);
    const ULONG count = queue.GetResults(results.data(), 64);
    check.equal("results", count, static_cast<ULONG>(3 * kConnections));
    for (ULONG n = 0; n < std::min<ULONG>(count, 64); ++n) {
      const auto of = reinterpret_cast<std::uintptr_t>(results[n].QueuePairContext) - pair;
      if (!check.that(of < kConnections, "each result has the context of one of the queue pairs", "it has another")) continue;
      says(check, "a result", results[n].Status, {ND_SUCCESS});
      check.that(results[n].RequestContext == nd_tag(first + 10 * of + seen[of]), "requests of each queue pair end in their order",
                 "they do not");
      if (receives) check.equal("bytes of a message", results[n].BytesTransferred, static_cast<ULONG>(40 + of));
      ++seen[of];
    }
  };
  judge(*queue_a, 0xA0, 1000, false);
  judge(*queue_b, 0xB0, 0, true);
  for (std::size_t i = 0; i < kConnections; ++i) {
    for (std::size_t round = 0; round < 3; ++round) {
      check.bytes("a message", ByteView(all[i]->b.memory->bytes).subspan(4096 * round, 40 + i),
                  ByteView(all[i]->a.memory->bytes).subspan(i + 100 * round, 40 + i));
    }
  }
  // The end of one is the end of no other.
  says(check, "Disconnect", disconnected(bench, all[2]->a), {ND_SUCCESS});
  bench.nd().pass(kNdQuiet);
  for (const std::size_t i : {0u, 1u, 3u, 4u}) {
    NdConnection& c = *all[i];
    ND2_SGE into = c.b.memory->sge(0, 64);
    arranged_by(check, "Receive", c.b.qp->Receive(nd_tag(1), &into, 1));
    check.that(c.a.qp->Send(nd_tag(1), nullptr, 0, 0) == ND_SUCCESS, "another connection takes a Send");
  }
  bench.nd().pass(kNdQuiet);
  std::array<ND2_RESULT, 8> results;
  check.equal("results of the others", queue_a->GetResults(results.data(), 8), ULONG{4});
  for (std::size_t i = 0; i < 4; ++i) says(check, "a Send of another connection", results[i].Status, {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_connection_ends_as_often_as_it_is_made, "networkdirect.connection.disconnect", roles::provider) {
  const auto c = bench.nd().prepare();
  for (int round = 0; round < 4; ++round) {
    establish(bench, check, *c);
    message_crosses(bench, check, c->a, c->b);
    NdSide &first = round % 2 == 0 ? c->a : c->b, &second = round % 2 == 0 ? c->b : c->a;
    NdRequest noticed[2];
    HRESULT waiting[2];
    for (int i = 0; i < 2; ++i) waiting[i] = second.connector->NotifyDisconnect(&noticed[i]);
    says(check, "Disconnect", disconnected(bench, first), {ND_SUCCESS});
    for (int i = 0; i < 2; ++i) {
      says(check, "NotifyDisconnect", ended(bench, waiting[i], noticed[i], *second.connector),
           {ND_SUCCESS, static_cast<HRESULT>(0xC000020C)});
    }
    NdRequest late;
    const HRESULT called = second.connector->NotifyDisconnect(&late);
    check.that(ended(bench, called, late, *second.connector) != ND_PENDING, "NotifyDisconnect after the end completes", "it is pending");
    says(check, "Disconnect of the other side", disconnected(bench, second), {ND_SUCCESS});
    // With fresh queue pairs and connectors; the listener stays.
    for (NdSide* side : {&c->a, &c->b}) {
      side->connector.release();
      side->qp = side->end->queue_pair(*side->queue);
      side->results.clear();
    }
    bench.nd().pass(kNdQuiet);
    for (NdSide* side : {&c->a, &c->b}) {
      while (bench.nd().result(*side, Duration::ms(1))) {
      }
    }
    c->a.connector = c->a.end->bound_connector();
    c->b.connector = c->b.end->connector();
  }
}

}  // namespace fb::conformance
