#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "sim/mctp/network.h"

namespace fb::mctp {
namespace {

using control::Command;

DeviceOptions drive(std::uint8_t number) {
  DeviceOptions device;
  device.uuid = control::Uuid{0xFB, number};
  device.types = {{0x04, {{0xF1, 0xF2, 0xFF, 0}}}};
  return device;
}

// An owner with two buses, a drive on the first, a bridge on the second and a drive behind it.
class Bridged : public ::testing::Test {
 protected:
  Bridged() {
    NetworkOptions options;
    options.owner.network = control::Uuid{0xAB};
    network = std::make_unique<Network>(*world, options);
    left = network->add_smbus();
    right = network->add_smbus();
    near = &network->add_endpoint(left, smbus_address(0x3A), drive(1));
    node = &network->add_bridge(right, smbus_address(0x40), {.name = "b", .pool_size = 10});
    behind = network->add_smbus_behind(*node);
    far = &network->add_endpoint(behind, smbus_address(0x3A), drive(2));
    report = network->enumerate();
  }
  ControlReply ask(SimpleDevice& from, Eid to, Command command, Bytes data = {}) {
    // Nobody knows the way yet but to the owner of the own bus.
    return from.control().requester().ask({to, smbus_address(0x20)}, command, std::move(data)).wait();
  }

  std::unique_ptr<World> world = World::make_virtual(1);
  std::unique_ptr<Network> network;
  std::size_t left = 0, right = 0, behind = 0;
  SimpleDevice* near = nullptr;
  SimpleDevice* far = nullptr;
  BridgeNode* node = nullptr;
  EnumerationReport report;
};

TEST_F(Bridged, TheBridgeHasItsPoolAndItsEndpoints) {
  EXPECT_EQ(report.faulty, 0u);
  const Eid bridge = node->bridge->eid();
  const KnownEndpoint& known = network->known().at(bridge);
  EXPECT_TRUE(known.is_bridge);
  EXPECT_EQ(known.pool_size, 10);
  EXPECT_EQ(node->bridge->pool().first(), known.pool_first);
  EXPECT_TRUE(node->bridge->pool().holds(far->endpoint().eid()));
  EXPECT_EQ(network->known().at(far->endpoint().eid()).behind, bridge);
  EXPECT_EQ(network->known().at(far->endpoint().eid()).uuid, control::Uuid({0xFB, 2}));
}

TEST_F(Bridged, AnotherEnumerationFindsWhoLostItsEidBehindTheBridge) {
  const Eid had = far->endpoint().eid();
  far->reset();
  SimpleDevice& later = network->add_endpoint(behind, smbus_address(0x3C), drive(3));
  EXPECT_EQ(far->endpoint().eid(), kNullEid);
  report = network->enumerate();
  EXPECT_EQ(report.faulty, 0u);
  EXPECT_EQ(far->endpoint().eid(), had);
  EXPECT_TRUE(node->bridge->pool().holds(later.endpoint().eid()));
  EXPECT_EQ(network->known().at(later.endpoint().eid()).behind, node->bridge->eid());
}

TEST_F(Bridged, PacketsCrossTwoBridges) {
  // From a drive on the first bus to one behind the bridge on the second, and back.
  const ControlReply reply = ask(*near, far->endpoint().eid(), Command::get_endpoint_uuid);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply.source, far->endpoint().eid());
  EXPECT_EQ(to_hex(reply.data()), "fb020000000000000000000000000000");
  const ControlReply back = ask(*far, near->endpoint().eid(), Command::get_endpoint_id);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.source, near->endpoint().eid());
  EXPECT_EQ(node->bridge->counters().no_route, 0u);
}

TEST_F(Bridged, NullSourcesAndUnknownDestinationsAreNotBridged) {
  const Eid target = far->endpoint().eid();
  const std::uint64_t before = far->endpoint().assembly().packets;
  Outgoing out;
  out.destination = target;
  out.to = smbus_address(0x20);
  out.tag = {0, true};
  out.body = from_hex("008002");
  near->endpoint().set_eid(kNullEid);
  near->endpoint().send(out);
  world->run_until_idle();
  EXPECT_EQ(network->owner().counters().not_bridged, 1u);
  out.destination = 200;
  near->endpoint().send(out);
  world->run_until_idle();
  EXPECT_EQ(network->owner().counters().no_route, 1u);
  EXPECT_EQ(network->owner().endpoint(0).assembly().dropped(Drop::no_route), 2u);
  out.destination = kBroadcastEid;
  near->endpoint().send(out);
  world->run_until_idle();
  EXPECT_EQ(far->endpoint().assembly().packets, before);
}

TEST_F(Bridged, NothingGoesBackToItsBus) {
  SimpleDevice* const self = near;
  Outgoing out;
  out.destination = self->endpoint().eid();
  out.to = smbus_address(0x20);
  out.tag = {0, true};
  out.body = from_hex("008002");
  // From somebody else on the same bus.
  Binding& binding = network->segment(left).attach("stranger", smbus_address(0x60));
  Endpoint stranger(*world, binding, {.name = "stranger", .eid = 99});
  stranger.send(out);
  world->run_until_idle();
  EXPECT_EQ(network->owner().counters().not_bridged, 1u);
}

TEST_F(Bridged, ResolveEndpointId) {
  const Eid bridge = node->bridge->eid();
  const auto resolve = [&](Eid eid) { return ask(*near, 8, Command::resolve_endpoint_id, {eid}); };
  // Both are on another bus: the way is through the owner.
  EXPECT_EQ(to_hex(resolve(bridge).data()), to_hex(Bytes{8, 0x20}));
  EXPECT_EQ(to_hex(resolve(far->endpoint().eid()).data()), to_hex(Bytes{8, 0x20}));
  EXPECT_EQ(to_hex(resolve(near->endpoint().eid()).data()), to_hex(Bytes{near->endpoint().eid(), 0x3A}));
  EXPECT_EQ(resolve(200).completion, control::Completion::invalid_data);
}

TEST_F(Bridged, QueryHop) {
  const auto hop = [&](Eid eid) { return ask(*near, 8, Command::query_hop, {eid, 4}); };
  const Eid bridge = node->bridge->eid();
  EXPECT_EQ(to_hex(hop(far->endpoint().eid()).data()), to_hex(Bytes{bridge, 4, 0, 0, 0, 0}));
  EXPECT_EQ(to_hex(hop(bridge).data()), to_hex(Bytes{bridge, 4, 0, 0, 0, 0}));
  // To the owner itself, and on the bus of the request, no bridge is on the way.
  EXPECT_EQ(to_hex(hop(8).data()), to_hex(Bytes{0, 4, 0, 0, 0, 0}));
  EXPECT_EQ(to_hex(hop(near->endpoint().eid()).data()), to_hex(Bytes{0, 4, 0, 0, 0, 0}));
  // Through the bridge there is one hop to who is behind it.
  const Eid beyond = far->endpoint().eid();
  EXPECT_EQ(to_hex(ask(*near, bridge, Command::query_hop, {beyond, 4}).data()), to_hex(Bytes{beyond, 4, 0, 0, 0, 0}));
  EXPECT_EQ(hop(kNullEid).completion, control::Completion::invalid_data);
  EXPECT_EQ(hop(kBroadcastEid).completion, control::Completion::invalid_data);
  EXPECT_EQ(hop(200).completion, control::Completion::invalid_data);
  EXPECT_EQ(ask(*near, 8, Command::query_hop, {9}).completion, control::Completion::invalid_length);
}

TEST_F(Bridged, NetworkIdAndUuidResolution) {
  EXPECT_EQ(to_hex(ask(*near, 8, Command::get_network_id).data()), "ab000000000000000000000000000000");
  Bytes question{0xFB, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const ControlReply reply = ask(*near, 8, Command::resolve_uuid, question);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(to_hex(reply.data()), to_hex(Bytes{0xFF, 1, far->endpoint().eid(), 1, 1, 1, 0x40}));
  question[1] = 9;
  EXPECT_EQ(to_hex(ask(*near, 8, Command::resolve_uuid, question).data()), "ff00");
}

TEST_F(Bridged, AllocationIsOnceAndWithinBounds) {
  auto& requester = network->owner().control(1).requester();
  const Eid bridge = node->bridge->eid();
  const auto allocate = [&](std::uint8_t op, std::uint8_t count, Eid first) {
    return requester.ask({bridge, {}}, Command::allocate_endpoint_ids, {op, count, first}).wait();
  };
  const Eid first = node->bridge->pool().first();
  EXPECT_EQ(to_hex(allocate(2, 0, 0).data()), to_hex(Bytes{0, 10, first})) << "a query";
  EXPECT_EQ(to_hex(allocate(0, 10, first).data()), to_hex(Bytes{0, 10, first})) << "a retry";
  EXPECT_EQ(to_hex(allocate(0, 4, 100).data()), to_hex(Bytes{1, 10, first})) << "has one already";
  EXPECT_EQ(allocate(0, 11, 100).completion, control::Completion::invalid_data);
  EXPECT_EQ(allocate(1, 4, 0xFD).completion, control::Completion::invalid_data);
  EXPECT_EQ(allocate(3, 4, 100).completion, control::Completion::invalid_data);
  EXPECT_EQ(to_hex(allocate(1, 4, 100).data()), to_hex(Bytes{0, 10, 100})) << "by force";
  EXPECT_EQ(node->bridge->pool().first(), 100);
  world->run_until_idle();
  EXPECT_TRUE(node->bridge->pool().holds(far->endpoint().eid())) << "its buses are given EIDs anew";
}

TEST_F(Bridged, RoutingUpdatesAreCheckedAndBounded) {
  auto& requester = network->owner().control(1).requester();
  const auto update = [&](Bytes data) {
    return requester.ask({node->bridge->eid(), {}}, Command::routing_information_update, std::move(data)).wait().completion;
  };
  EXPECT_EQ(update({1, 0, 1, 50, 0x20}), control::Completion::success);
  EXPECT_EQ(node->bridge->route_to(50)->address, smbus_address(0x20));
  EXPECT_EQ(update({2, 0, 1, 50, 0x20}), control::Completion::invalid_length);
  EXPECT_EQ(update({1, 0, 1, 50}), control::Completion::invalid_length);
  EXPECT_EQ(update({1, 4, 1, 50, 0x20}), control::Completion::invalid_data);
  EXPECT_EQ(update({1, 0, 0, 50, 0x20}), control::Completion::invalid_data);
  EXPECT_EQ(update({1, 3, 10, 0xFA, 0x20}), control::Completion::invalid_data);
  EXPECT_EQ(update({0}), control::Completion::success);
  const auto world2 = World::make_virtual(1);
  Bridge small(*world2, {.routes_max = 3});
  for (Eid eid = 10; eid < 13; ++eid) {
    EXPECT_TRUE(small.add_route({.first = eid, .address = {}}));
  }
  EXPECT_FALSE(small.add_route({.first = 20, .address = {}}));
  EXPECT_TRUE(small.add_route({.first = 10, .address = {}})) << "another way to one it has";
}

TEST_F(Bridged, AnUpdateWithoutSpaceIsRefused) {
  Network other(*world, {.number = 2, .name = "other"});
  const std::size_t bus = other.add_smbus();
  BridgeNode& tight = other.add_bridge(bus, smbus_address(0x40), {.name = "tight", .pool_size = 2, .routes_max = 2});
  other.add_smbus_behind(tight);
  other.enumerate();
  Bytes data{3};
  for (Eid eid = 100; eid < 103; ++eid) data.insert(data.end(), {0, 1, eid, 0x20});
  auto& requester = other.owner().control(0).requester();
  const ControlPeer peer{tight.bridge->eid(), {}};
  const auto reply = requester.ask(peer, Command::routing_information_update, data).wait();
  EXPECT_EQ(reply.completion, control::Completion::command_specific);
}

TEST_F(Bridged, TheRoutingTableIsReadInParts) {
  for (Eid eid = 100; eid < 130; ++eid) {
    network->owner().add_route({.first = eid, .port = 0, .address = smbus_address(0x3A)});
  }
  std::vector<Eid> seen;
  std::uint8_t handle = 0;
  int reads = 0;
  do {
    const ControlReply reply = ask(*near, 8, Command::get_routing_table, {handle});
    const auto response = reply.as<control::RoutingResponse>();
    ASSERT_TRUE(response.has_value());
    ASSERT_LE(reply.message.size(), control::kMessageMax);
    ByteView rest = ByteView(reply.message).subspan(control::RoutingResponse::size);
    for (unsigned left_over = response->get(control::routing_response::count); left_over > 0; --left_over) {
      const View<control::TableEntry> entry{rest};
      seen.push_back(entry.get(control::table_entry::first));
      EXPECT_EQ(entry.get(control::table_entry::binding), seen.back() >= 100 ? 0xFF : 1);
      rest = rest.subspan(control::TableEntry::size + entry.get(control::table_entry::address_size));
    }
    EXPECT_TRUE(rest.empty());
    handle = response->get(control::routing_response::next);
    ++reads;
  } while (handle != control::kHandleEnd && reads < 50);
  EXPECT_EQ(seen.size(), network->owner().routes().size());
  EXPECT_EQ(ask(*near, 8, Command::get_routing_table, {200}).completion, control::Completion::invalid_data);
}

// --------------------------------------------------------------------------------------- bus owner

TEST(BusOwner, WhoIsGoneIsForgottenAndTheEidComesBackLater) {
  const auto world = World::make_virtual(1);
  NetworkOptions options;
  options.pool_size = 3;  // a reclaimed EID comes last
  Network network(*world, options);
  const std::size_t bus = network.add_smbus();
  network.add_endpoint(bus, smbus_address(0x3A), drive(1));
  network.add_endpoint(bus, smbus_address(0x3C), drive(2));
  network.enumerate();
  auto& gone = dynamic_cast<SmbusPort&>(network.endpoints()[0]->binding());
  gone.set_present(false);
  network.add_endpoint(bus, smbus_address(0x3E), drive(3));
  EnumerationReport report = network.enumerate();
  EXPECT_EQ(report.lost, 1u);
  EXPECT_FALSE(network.known().contains(9));
  EXPECT_EQ(network.endpoints()[2]->endpoint().eid(), 11) << "9 is not free before TRECLAIM";
  world->run_for(Duration::s(6));
  network.add_endpoint(bus, smbus_address(0x44), drive(4));
  report = network.enumerate();
  EXPECT_EQ(network.endpoints()[3]->endpoint().eid(), 9);
  EXPECT_EQ(network.endpoints()[1]->endpoint().eid(), 10) << "who is known keeps its EID";
}

TEST(BusOwner, OneAddressIsLookedAtInEachWay) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t bus = network.add_smbus();
  SimpleDevice& one = network.add_endpoint(bus, smbus_address(0x3A));
  SimpleDevice& other = network.add_endpoint(bus, smbus_address(0x3C));
  const auto look = [&](std::uint8_t address, Assigning assigning, Eid wanted = kNullEid) {
    std::optional<EnumerationReport> report;
    network.bus_owner(0).look_at(smbus_address(address), assigning, wanted, [&](const EnumerationReport& made) { report = made; });
    world->run_until([&] { return report.has_value(); }, Duration::s(10));
    return *report;
  };
  EXPECT_EQ(look(0x3A, Assigning::never).faulty, 1u) << "it has no EID that could be learned";
  EXPECT_EQ(network.known().size(), 0u);
  EXPECT_EQ(look(0x3A, Assigning::missing).assigned, 1u);
  EXPECT_EQ(one.endpoint().eid(), 9);
  EXPECT_EQ(look(0x3C, Assigning::always, 0x40).assigned, 1u);
  EXPECT_EQ(other.endpoint().eid(), 0x40);
  EXPECT_EQ(look(0x3C, Assigning::always, 0x41).faulty, 1u) << "it has another one";
  EXPECT_EQ(look(0x3A, Assigning::always, 0x40).faulty, 1u) << "that is somebody else's";
  EXPECT_EQ(look(0x3A, Assigning::always, 8).faulty, 1u) << "that is the owner's own";
  // Removed, it keeps its EID, and is learned again by it without being given one.
  network.bus_owner(0).remove(0x40);
  EXPECT_EQ(network.known().count(0x40), 0u);
  EXPECT_EQ(look(0x3C, Assigning::never).assigned, 0u);
  EXPECT_EQ(network.known().count(0x40), 1u);
  // Nobody at that place.
  EXPECT_EQ(look(0x50, Assigning::missing).found, 0u);
  // Two with the same EID: the second is not taken as it is.
  other.endpoint().set_eid(9);
  network.bus_owner(0).remove(0x40);
  EXPECT_EQ(look(0x3C, Assigning::never).faulty, 1u);
  EXPECT_EQ(look(0x3C, Assigning::missing).assigned, 1u);
  EXPECT_NE(other.endpoint().eid(), 9);
}

TEST(BusOwner, AStaticEidStaysWhereItIsFree) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t bus = network.add_smbus();
  DeviceOptions fixed = drive(1);
  fixed.static_eid = 40;
  SimpleDevice& first = network.add_endpoint(bus, smbus_address(0x3A), fixed);
  SimpleDevice& second = network.add_endpoint(bus, smbus_address(0x3C), fixed);
  network.enumerate();
  EXPECT_EQ(first.endpoint().eid(), 40);
  EXPECT_EQ(second.endpoint().eid(), 9) << "two cannot have the same";
}

struct Answering final : EndpointHooks {
  bool control_answer(ByteView request, Bytes& answer) override {
    if (request[2] == command) answer = control::make_response(request, control::Completion::success, data);
    return true;
  }
  std::uint8_t command = 0;
  Bytes data;
};

TEST(BusOwner, WhatAnEndpointSaysItHasCounts) {
  const auto run = [](std::uint8_t command, Bytes data) {
    const auto world = World::make_virtual(1);
    Network network(*world);
    const std::size_t bus = network.add_smbus();
    Answering hooks;
    hooks.command = command;
    hooks.data = std::move(data);
    SimpleDevice& device = network.add_endpoint(bus, smbus_address(0x3A), drive(1));
    device.endpoint().set_hooks(&hooks);
    const EnumerationReport report = network.enumerate();
    EXPECT_FALSE(network.bus_owner(0).busy());
    return std::make_pair(report, network.known());
  };
  // Refused, and it goes on with another owner's EID; nothing else is answered there, as it is not its own.
  auto [report, known] = run(0x01, {0x10, 77, 0});
  EXPECT_EQ(report.rejected, 1u);
  EXPECT_TRUE(known.contains(77));
  EXPECT_TRUE(known.at(77).types.empty());
  std::tie(report, known) = run(0x01, {0, 0, 0});
  EXPECT_EQ(report.faulty, 1u);
  EXPECT_TRUE(known.empty());
  std::tie(report, known) = run(0x02, {9});
  EXPECT_EQ(report.faulty, 1u) << "a Get Endpoint ID answer cut short";
  std::tie(report, known) = run(0x05, {5, 4});
  EXPECT_EQ(report.assigned, 1u);
  EXPECT_TRUE(known.at(9).types.empty()) << "a count that does not hold is not believed";
  std::tie(report, known) = run(0x05, {2, 4, 0x7E});
  EXPECT_EQ(known.at(9).types, (std::vector<std::uint8_t>{4, 0x7E}));
}

TEST(BusOwner, EidsRunOut) {
  const auto world = World::make_virtual(1);
  NetworkOptions options;
  options.pool_size = 2;
  Network network(*world, options);
  const std::size_t bus = network.add_smbus();
  for (std::uint8_t at = 0; at < 4; ++at) {
    network.add_endpoint(bus, smbus_address(static_cast<std::uint8_t>(0x30 + 2 * at)), drive(at));
  }
  const EnumerationReport report = network.enumerate();
  EXPECT_EQ(report.assigned, 2u);
  EXPECT_EQ(report.no_eid_left, 2u);
}

TEST(BusOwner, DiscoveryNotifyReachesTheOwner) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t pcie = network.add_pcie();
  SimpleDevice& device = network.add_endpoint(pcie, pcie_address(0x0100), drive(1));
  std::vector<PhysicalAddress> told;
  network.owner().on_notify([&](std::size_t port, const PhysicalAddress& from) {
    told.push_back(from);
    network.bus_owner(port).enumerate({from}, BusOwner::Then{});
  });
  const auto reply = device.control().notify_owner().wait();
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(told, std::vector<PhysicalAddress>{pcie_address(0x0100)});
  world->run_until_idle();
  EXPECT_EQ(device.endpoint().eid(), 9);
  EXPECT_TRUE(network.known().contains(9));
}

TEST(BusOwner, DiscoveryForgetsWhoDoesNotAnswerAnyMore) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t pcie = network.add_pcie();
  SimpleDevice& stays = network.add_endpoint(pcie, pcie_address(0x0100), drive(1));
  SimpleDevice& moves = network.add_endpoint(pcie, pcie_address(0x0200), drive(2));
  network.enumerate();
  EXPECT_EQ(network.known().size(), 2u);
  EXPECT_TRUE(moves.control().responder().discovered());
  EXPECT_TRUE(dynamic_cast<PciePort&>(moves.binding()).move_to(0x0300));
  EXPECT_FALSE(moves.control().responder().discovered()) << "lost with the address";
  const EnumerationReport report = network.enumerate();
  EXPECT_EQ(report.lost, 1u);
  EXPECT_EQ(network.known().size(), 2u);
  EXPECT_EQ(network.known().at(stays.endpoint().eid()).address, pcie_address(0x0100));
  EXPECT_EQ(network.known().at(moves.endpoint().eid()).address, pcie_address(0x0300));
  EXPECT_NE(stays.endpoint().eid(), moves.endpoint().eid());
}

TEST(BusOwner, ADeviceThatWasResetIsGivenItsEidAgain) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t bus = network.add_smbus();
  SimpleDevice& device = network.add_endpoint(bus, smbus_address(0x3A), drive(1));
  network.enumerate();
  auto unanswered = device.control().requester().ask({8, smbus_address(0x66)}, Command::get_endpoint_id);
  device.reset();
  EXPECT_EQ(unanswered.wait().end, ControlEnd::no_answer);
  EXPECT_EQ(device.endpoint().eid(), kNullEid);
  EXPECT_FALSE(device.control().responder().owner().has_value());
  network.enumerate();
  EXPECT_EQ(device.endpoint().eid(), 9);
}

TEST(BusOwner, EveryAddressOfASegmentCanBeLookedAt) {
  const auto world = World::make_virtual(1);
  Network network(*world);
  const std::size_t bus = network.add_smbus();
  network.add_endpoint(bus, smbus_address(0x3A), drive(1));
  network.add_endpoint(bus, smbus_address(0x98), drive(2));
  std::vector<PhysicalAddress> all;
  for (int address = 0; address < 256; address += 2) {
    const auto octet = static_cast<std::uint8_t>(address);
    if (smbus::assignable(octet) && octet != 0x20) all.push_back(smbus_address(octet));
  }
  const auto report = network.bus_owner(0).enumerate(all).wait();
  EXPECT_EQ(report.looked_at, all.size());
  EXPECT_EQ(report.found, 2u);
  EXPECT_LT((world->now() - Instant{}).count_ms(), 1000);
}

TEST(BusOwner, LossyMediaAreEnumeratedAllTheSame) {
  struct Losing final : FrameFilter {
    explicit Losing(Rng with) : rng(with) {}
    FrameVerdict on_frame(FrameContext& context) override {
      if (rng.chance(1, 8)) return {.drop = true};
      if (!rng.chance(1, 8)) return {};
      context.frame[rng.below(context.frame.size())] ^= 0x10;
      return {.corrupted = true};
    }
    Rng rng;
  };
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto world = World::make_virtual(seed);
    Network network(*world);
    const std::size_t bus = network.add_smbus();
    for (std::uint8_t at = 0; at < 10; ++at) {
      network.add_endpoint(bus, smbus_address(static_cast<std::uint8_t>(0x30 + 2 * at)), drive(at));
    }
    Losing filter(world->stream("loss"));
    network.segment(bus).set_filter(&filter);
    // Each round finds who was not heard in the one before.
    for (int round = 0; round < 3; ++round) network.enumerate();
    network.segment(bus).set_filter(nullptr);
    network.enumerate();
    EXPECT_EQ(network.known().size(), 10u) << seed;
    std::set<Eid> eids;
    for (const auto& one : network.endpoints()) eids.insert(one->endpoint().eid());
    EXPECT_EQ(eids.size(), 10u) << "no two have the same EID, seed " << seed;
    for (const auto& [eid, one] : network.known()) EXPECT_NE(network.find(eid), nullptr);
  }
}

}  // namespace
}  // namespace fb::mctp
