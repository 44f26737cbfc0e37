// Bridges: packets that cross them, the EIDs that they are given, and what they and the owner of the network answer about
// those behind them. The bus behind the bridge is of another kind than the one in front of it.
#include <algorithm>
#include <map>
#include <set>

#include "conformance/cases/mctp/bridge_scene.h"

namespace fb::conformance {
namespace {

using mctp::control::Command;
using mctp::control::Completion;

constexpr std::uint8_t kNobody = 0xE7;
constexpr std::uint8_t kAccepted = 0, kRejected = 1;

/// Packets of all kinds arrive as they were, in their order, from the bridge's address on that bus.
void crosses(Check& check, PlayedDevice& from, PlayedDevice& to, const mctp::PhysicalAddress& bridge, std::string_view way) {
  struct Message {
    std::uint8_t tag;
    bool owner;
    std::uint8_t start;
    std::size_t bytes;
  };
  std::vector<Message> messages;
  for (std::uint8_t tag = 0; tag < 8; ++tag) messages.push_back({tag, tag % 2 == 0, static_cast<std::uint8_t>(tag & 3), 1u + tag * 9u});
  messages.insert(messages.end(), {{1, true, 3, 64}, {2, false, 0, 65}, {7, true, 2, 64 * 6 + 1}, {0, false, 1, 128}});
  for (const Message& one : messages) {
    const auto sent = message(from, to.eid(), one.tag, one.owner, one.start, one.bytes);
    for (const MctpPacket& packet : sent) from.raw().send(packet);
    from.raw().wait_until_said();
    const auto came = vendor_packets(to);
    const std::string what = fmt::format("a message of {} bytes with tag {} {}", one.bytes, one.tag, way);
    if (!check.equal("packets of " + what, came.size(), sent.size())) return;
    for (std::size_t i = 0; i < came.size(); ++i) {
      check.bytes("packet of " + what, to_bytes(came[i].packet), to_bytes(sent[i]));
      check.that(came[i].from == bridge, "its physical source is the bridge", to_string(came[i].from));
    }
  }
}

/// Who answers a Get Endpoint ID to that EID.
std::vector<mctp::Eid> who_answers(PlayedDevice& from, mctp::Eid to) {
  from.raw().forget();
  MctpPacket asked = from.raw().packet({0x00, 0x83, static_cast<std::uint8_t>(Command::get_endpoint_id)});
  asked.destination = to;
  asked.tag = 6;
  from.raw().send(asked);
  from.raw().wait_until_said();
  std::vector<mctp::Eid> found;
  while (auto seen = from.raw().next_packet(Duration::ms(300))) {
    const Bytes& payload = seen->packet.payload;
    const bool answer = payload.size() > 1 && (payload[0] & 0x7F) == 0 && (payload[1] & 0x80) == 0;
    if (answer && !seen->packet.owner) found.push_back(seen->packet.source);
  }
  return found;
}

}  // namespace

CONFORMANCE_CASE(bridges_hand_packets_on, "mctp.bridge.forward", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  turn_to_bridge(bench, scene, scene.other);
  forget_all(scene);
  crosses(check, scene.near, scene.far, bridge_seen_by(scene.far), "through the bridge");
  crosses(check, scene.other, scene.farther, bridge_seen_by(scene.farther), "through the bridge to another device");
  crosses(check, scene.farther, scene.near, bench.bridge_address(), "back through the bridge");
  crosses(check, scene.far, scene.other, bench.bridge_address(), "back through the bridge to another device");
  // What is handed on is not for the bridge as well.
  check.that(who_answers(scene.near, scene.far.eid()) == std::vector{scene.far.eid()}, "a request to a device is answered by it alone");
  check.that(who_answers(scene.far, scene.near.eid()) == std::vector{scene.near.eid()}, "and so is one from behind the bridge");
  // More packets than a bridge can hold, a few at a time.
  for (const auto& [from, to] : {std::pair{&scene.near, &scene.far}, std::pair{&scene.farther, &scene.other}}) {
    for (unsigned round = 0; round < 40; ++round) {
      const auto sent = message(*from, to->eid(), round & 7, true, round & 3, std::size_t{64} * 8);
      for (const MctpPacket& packet : sent) from->raw().send(packet);
      from->raw().wait_until_said();
      if (!check.equal(fmt::format("packets of message {} of many", round), vendor_packets(*to).size(), sent.size())) return;
    }
  }
}

namespace {

/// Two senders and two tags at once: each message keeps its own order.
void keeps_the_order(Check& check, const std::vector<PlayedDevice*>& senders, PlayedDevice& to) {
  using Message = std::pair<mctp::Eid, unsigned>;
  std::map<Message, std::vector<Bytes>> sent, came;
  std::vector<std::pair<PlayedDevice*, std::vector<MctpPacket>>> all;
  for (PlayedDevice* from : senders) {
    for (const std::uint8_t tag : {std::uint8_t{2}, std::uint8_t{5}}) {
      all.emplace_back(from, message(*from, to.eid(), tag, true, tag & 3, 64 * 9));
    }
  }
  for (std::size_t i = 0; i < all.front().second.size(); ++i) {
    for (const auto& [from, packets] : all) {
      from->raw().send(packets[i]);
      sent[{packets[i].source, packets[i].tag}].push_back(to_bytes(packets[i]));
    }
  }
  for (const SeenPacket& seen : vendor_packets(to)) came[{seen.packet.source, seen.packet.tag}].push_back(to_bytes(seen.packet));
  check.equal("messages that came", came.size(), sent.size());
  for (const auto& [key, packets] : sent) {
    const std::string of = fmt::format(" from EID {} with tag {}", key.first, key.second);
    if (!check.equal("packets" + of, came[key].size(), packets.size())) continue;
    for (std::size_t i = 0; i < packets.size(); ++i) check.bytes(fmt::format("packet {}", i) + of, came[key][i], packets[i]);
  }
}

}  // namespace

CONFORMANCE_CASE(bridges_keep_the_order_of_packets, "mctp.bridge.order", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  turn_to_bridge(bench, scene, scene.other);
  forget_all(scene);
  // One of the two buses is the slower one, so that packets wait in the bridge.
  keeps_the_order(check, {&scene.near, &scene.other}, scene.far);
  keeps_the_order(check, {&scene.far, &scene.farther}, scene.near);
}

CONFORMANCE_CASE(bridges_have_an_eid_of_their_own, "mctp.bridge.own", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  for (PlayedDevice* device : {&scene.near, &scene.far}) {
    for (const mctp::Eid destination : {scene.bridge, mctp::kNullEid}) {
      const mctp::PhysicalAddress at = device == &scene.near ? bench.bridge_address() : bridge_seen_by(*device);
      device->raw().set_product(destination, at);
      const std::string what =
          fmt::format("Get Endpoint ID to EID {} from {} the bridge", destination, device == &scene.near ? "in front of" : "behind");
      const OwnerAnswer answer = ask(*device, Command::get_endpoint_id);
      if (!succeeds(check, answer, what) || answer.data().size() != 3) continue;
      check.equal("EID in " + what, answer.data()[0], scene.bridge);
      check.equal("endpoint type in " + what, answer.data()[1] >> 4 & 3, 1);
    }
  }
}

CONFORMANCE_CASE(bridges_drop_what_has_no_route, "mctp.bridge.unknown", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  forget_all(scene);
  const mctp::Eid owner = bench.product().owner().eid();
  const std::vector<mctp::Eid> known = {scene.near.eid(), scene.other.eid(), scene.far.eid(), scene.farther.eid(), scene.bridge, owner};
  for (PlayedDevice* from : {&scene.near, &scene.far}) {
    for (unsigned eid = mctp::kFirstEid; eid < mctp::kBroadcastEid; ++eid) {
      const auto to = static_cast<mctp::Eid>(eid);
      if (std::find(known.begin(), known.end(), to) != known.end()) continue;
      for (const MctpPacket& packet : message(*from, to, 3, true, 0, 20)) from->raw().send(packet);
    }
    from->raw().wait_until_said(Duration::s(60));
  }
  for (PlayedDevice* from : {&scene.near, &scene.far}) {
    for (const mctp::Eid to : {mctp::kFirstEid, kNobody, static_cast<mctp::Eid>(mctp::kBroadcastEid - 1)}) {
      if (std::find(known.begin(), known.end(), to) == known.end())
        check.that(who_answers(*from, to).empty(), "nobody answers for EID " + words(to));
    }
  }
  for (PlayedDevice* device : {&scene.near, &scene.other, &scene.far, &scene.farther}) {
    check.equal(fmt::format("packets for nobody that came to EID {}", device->eid()), vendor_packets(*device).size(), 0u);
  }
}

CONFORMANCE_CASE(bridges_do_not_hand_on_broadcasts, "mctp.bridge.broadcast", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  forget_all(scene);
  for (PlayedDevice* from : {&scene.near, &scene.far}) {
    // To its own bus, the other side of which it must not reach.
    for (const MctpPacket& packet : message(*from, mctp::kBroadcastEid, 1, true, 2, 30)) from->raw().send(packet);
    from->raw().wait_until_said();
    for (PlayedDevice* to : {&scene.near, &scene.other, &scene.far, &scene.farther}) {
      const bool same_bus = (from == &scene.near) == (to == &scene.near || to == &scene.other);
      const std::size_t came = vendor_packets(*to).size();
      if (!same_bus) check.equal("broadcast packets on the other side of the bridge", came, 0u);
    }
  }
}

CONFORMANCE_CASE(bridges_do_not_hand_on_the_null_eid, "mctp.bridge.null", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  forget_all(scene);
  const auto one_way = [&](PlayedDevice& from, PlayedDevice& to) {
    for (const bool source : {true, false}) {
      for (MctpPacket packet : message(from, to.eid(), 4, true, 1, 100)) {
        (source ? packet.source : packet.destination) = mctp::kNullEid;
        from.raw().send(packet);
      }
    }
    from.raw().wait_until_said();
    check.equal("packets from or to EID 0 behind the bridge", vendor_packets(to).size(), 0u);
    for (const MctpPacket& packet : message(from, to.eid(), 4, true, 1, 100)) from.raw().send(packet);
    check.equal("packets with both EIDs behind the bridge", vendor_packets(to).size(), 2u);
  };
  one_way(scene.near, scene.far);
  one_way(scene.far, scene.near);
}

// ---- EIDs ----

CONFORMANCE_CASE(bridges_say_whether_they_have_a_pool, "mctp.bridge.pool.state", roles::bus, over_buses) {
  bench.add_bridge();
  PlayedDevice& near = bench.device();
  near.raw().set_eid(0x40);
  near.raw().set_product(mctp::kNullEid, bench.bridge_address());
  const auto state = [&](std::uint8_t operation, std::uint8_t eid, unsigned expected, std::string_view when) {
    const OwnerAnswer answer = ask(near, Command::set_endpoint_id, {operation, eid});
    const std::string what = "Set Endpoint ID of a bridge " + std::string(when);
    if (!succeeds(check, answer, what) || answer.data().size() != 3) return;
    check.equal("EID pool allocation status, " + what, answer.data()[0], expected);
    check.equal("EID, " + what, answer.data()[1], eid);
    check.equal("EID pool size, " + what, answer.data()[2], BusBench::kBridgePool);
  };
  state(0, 0x30, 1, "without a pool");
  state(1, 0x31, 1, "without a pool, by force");
  const OwnerAnswer given = ask(near, Command::allocate_endpoint_ids, {0, 4, 0x50});
  check.require(succeeds(check, given, "Allocate Endpoint IDs") && given.data().size() == 3 && given.data()[0] == kAccepted,
                "the pool is accepted", given.describe());
  state(0, 0x32, 2, "with a pool");
}

namespace {

/// Allocate Endpoint IDs, answered in three bytes. False otherwise.
bool allocates(Check& check, PlayedDevice& from, const Bytes& request, unsigned status, unsigned first, std::string_view what) {
  const OwnerAnswer answer = ask(from, Command::allocate_endpoint_ids, request);
  if (!succeeds(check, answer, what) || !check.equal("bytes of " + std::string(what), answer.data().size(), 3u)) return false;
  check.equal("status of " + std::string(what), answer.data()[0], status);
  check.equal("pool size in " + std::string(what), answer.data()[1], BusBench::kBridgePool);
  return check.equal("first EID in " + std::string(what), answer.data()[2], first);
}
bool in_range(mctp::Eid eid, unsigned first, unsigned count) { return eid >= first && eid < first + count; }
unsigned first_of_pool(BusBench& bench, const Bridged& scene, Check& check) {
  const auto found = bench.known().find(scene.bridge);
  check.precondition(found != bench.known().end() && found->second.pool_size == BusBench::kBridgePool,
                     "the owner gives the bridge as many EIDs as it asks for");
  return found->second.pool_first;
}

}  // namespace

CONFORMANCE_CASE(bridges_say_which_eids_they_have, "mctp.bridge.pool.query", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  const unsigned first = first_of_pool(bench, scene, check);
  turn_to_bridge(bench, scene, scene.near);
  // Count and first EID of the request do not matter.
  for (const Bytes& request : {Bytes{2, 0, 0}, Bytes{2, 200, 0x10}, Bytes{2, 1, 0xFF}}) {
    allocates(check, scene.near, request, kAccepted, first, "Allocate Endpoint IDs 2");
    allocates(check, scene.far, request, kAccepted, first, "Allocate Endpoint IDs 2 from behind the bridge");
  }
  check.that(in_range(scene.far.eid(), first, BusBench::kBridgePool) && in_range(scene.farther.eid(), first, BusBench::kBridgePool),
             "devices behind the bridge have EIDs of its pool", fmt::format("{} and {}", scene.far.eid(), scene.farther.eid()));
  check.that(scene.far.eid() != scene.farther.eid(), "each has its own", words(scene.far.eid()));
  check.that(!in_range(scene.bridge, first, BusBench::kBridgePool), "the bridge's own EID is not of its pool", words(scene.bridge));
  // With as many devices as EIDs the last one has its EID as well.
  std::set<mctp::Eid> given = {scene.far.eid(), scene.farther.eid()};
  std::vector<PlayedDevice*> more;
  while (more.size() + 2 < BusBench::kBridgePool) more.push_back(&bench.add_device_behind());
  bench.enumerate();
  for (const PlayedDevice* device : more) given.insert(device->eid());
  check.that(given.size() == BusBench::kBridgePool && in_range(*given.begin(), first, BusBench::kBridgePool) &&
                 in_range(*given.rbegin(), first, BusBench::kBridgePool),
             "as many devices behind the bridge as its pool has EIDs are given all of them", std::to_string(given.size()) + " EIDs");
}

CONFORMANCE_CASE(bridges_refuse_more_eids_than_they_use, "mctp.bridge.pool.excess", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  const unsigned first = first_of_pool(bench, scene, check);
  turn_to_bridge(bench, scene, scene.near);
  for (const std::uint8_t operation : {std::uint8_t{0}, std::uint8_t{1}}) {
    for (const unsigned count : {BusBench::kBridgePool + 1u, 0x40u, 0xFFu}) {
      const OwnerAnswer answer = ask(scene.near, Command::allocate_endpoint_ids, {operation, static_cast<std::uint8_t>(count), 0x60});
      check.that(answer.answered() && !answer.ok(), fmt::format("Allocate Endpoint IDs {} of {} EIDs fails", operation, count),
                 answer.describe());
      check.equal("bytes behind its completion code", answer.data().size(), 0u);
    }
    // As many as it may use, of which the last would be the broadcast EID.
    for (const unsigned start : {0xFFu - BusBench::kBridgePool + 1u, 0xFFu, 0x00u}) {
      const OwnerAnswer answer =
          ask(scene.near, Command::allocate_endpoint_ids, {operation, BusBench::kBridgePool, static_cast<std::uint8_t>(start)});
      check.that(answer.answered() && !answer.ok(), fmt::format("Allocate Endpoint IDs {} from {} on fails", operation, start),
                 answer.describe());
    }
  }
  allocates(check, scene.near, {2, 0, 0}, kAccepted, first, "Allocate Endpoint IDs 2 afterwards");
}

CONFORMANCE_CASE(bridges_take_eids_from_one_bus, "mctp.bridge.pool.other-bus", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  const unsigned first = first_of_pool(bench, scene, check);
  turn_to_bridge(bench, scene, scene.near);
  for (const std::uint8_t count : {std::uint8_t{1}, std::uint8_t{4}}) {
    allocates(check, scene.far, {0, count, 0x70}, kRejected, first, "Allocate Endpoint IDs from another bus");
  }
  allocates(check, scene.near, {2, 0, 0}, kAccepted, first, "Allocate Endpoint IDs 2 afterwards");
}

CONFORMANCE_CASE(a_forced_pool_replaces_the_other, "mctp.bridge.pool.force", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  for (const unsigned first : {0x90u, 0xF9u}) {  // the second ends with the last EID
    const auto start = static_cast<std::uint8_t>(first);
    if (!allocates(check, scene.near, {1, BusBench::kBridgePool, start}, kAccepted, first, "Allocate Endpoint IDs 1")) return;
    bench.world().run_for(Duration::s(10));
    turn_to_bridge(bench, scene, scene.near);
    for (PlayedDevice* device : {&scene.far, &scene.farther}) {
      check.that(in_range(device->eid(), first, BusBench::kBridgePool), "a device behind the bridge gets an EID of the new pool",
                 words(device->eid()));
    }
    for (const Route& one : routing_table(scene.near, check)) {
      const bool behind = one.medium == medium_id(bench.medium_behind());
      check.that(!behind || in_range(static_cast<mctp::Eid>(one.first), first, BusBench::kBridgePool),
                 "no route is left of the pool before", words(one.first));
    }
  }
}

CONFORMANCE_CASE(a_pool_may_be_empty, "mctp.bridge.pool.empty", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  allocates(check, scene.near, {1, 0, 0x66}, kAccepted, 0, "Allocate Endpoint IDs 1 of no EIDs");
  allocates(check, scene.near, {2, 0, 0}, kAccepted, 0, "Allocate Endpoint IDs 2 of a bridge without EIDs");
}

// ---- routes ----

CONFORMANCE_CASE(bridges_list_who_is_behind_them, "mctp.bridge.routing", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  std::map<unsigned, Route> by_eid;
  for (const Route& one : routing_table(scene.near, check)) {
    check.that(!one.is_static, "an entry that came with an EID is dynamic", words(one.first));
    for (unsigned eid = one.first; eid < one.first + one.size; ++eid) {
      check.that(by_eid.emplace(eid, one).second || one.size > 1, "an EID has one entry", fmt::format("EID {} again", eid));
    }
  }
  struct Expected {
    PlayedDevice* device;
    std::string_view medium;
  };
  for (const auto& [device, medium] : {Expected{&scene.far, bench.medium_behind()}, Expected{&scene.farther, bench.medium_behind()},
                                       Expected{&scene.near, bench.medium()}, Expected{&scene.other, bench.medium()}}) {
    const std::string of = fmt::format(" of EID {}", device->eid());
    const auto found = by_eid.find(device->eid());
    if (!check.that(found != by_eid.end(), "there is an entry" + of, "none")) continue;
    check.equal("entry type" + of, found->second.type, 0u);
    check.equal("binding" + of, found->second.binding, unsigned{binding_id(medium)});
    check.equal("physical medium" + of, found->second.medium, unsigned{medium_id(medium)});
    check.bytes("physical address" + of, found->second.address, address_of(*device));
  }
  check.that(by_eid[scene.far.eid()].port != by_eid[scene.near.eid()].port, "the two buses have different ports",
             words(by_eid[scene.far.eid()].port));
  check.equal("port of two devices behind the bridge", by_eid[scene.farther.eid()].port, by_eid[scene.far.eid()].port);
}

CONFORMANCE_CASE(who_is_behind_a_bridge_is_resolved_to_it, "mctp.bridge.resolve", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  const auto resolves = [&](PlayedDevice& from, mctp::Eid eid, mctp::Eid through, const Bytes& address, std::string_view what) {
    const OwnerAnswer answer = ask(from, Command::resolve_endpoint_id, {eid});
    if (!succeeds(check, answer, what) || answer.data().empty()) return;
    check.equal("bridge in " + std::string(what), answer.data()[0], through);
    check.bytes("physical address in " + std::string(what), answer.data().subspan(1), address);
  };
  // On one bus either the device itself, or who was asked, where all packets are to go through it.
  const auto resolves_here = [&](PlayedDevice& from, PlayedDevice& to, mctp::Eid asked, const Bytes& address, std::string_view what) {
    const OwnerAnswer answer = ask(from, Command::resolve_endpoint_id, {to.eid()});
    if (!succeeds(check, answer, what) || answer.data().empty()) return;
    const bool through = answer.data()[0] == asked;
    check.equal("bridge in " + std::string(what), answer.data()[0], one_of(to.eid(), asked));
    check.bytes("physical address in " + std::string(what), answer.data().subspan(1), through ? address : address_of(to));
  };
  const Bytes bridge = bytes_of(bench.bridge_address());
  const SeenMessage& owner = *scene.near.requests_of(Command::set_endpoint_id).front();
  for (PlayedDevice* device : {&scene.far, &scene.farther}) {
    resolves(scene.near, device->eid(), scene.bridge, bridge, "Resolve Endpoint ID of who is behind the bridge");
  }
  resolves(scene.near, scene.bridge, scene.bridge, bridge, "Resolve Endpoint ID of the bridge");
  resolves_here(scene.near, scene.other, owner.source, bytes_of(owner.from), "Resolve Endpoint ID on the owner's bus");
  // Behind the bridge, the bridge is the owner.
  const Bytes behind = bytes_of(bridge_seen_by(scene.far));
  resolves_here(scene.far, scene.farther, scene.bridge, behind, "Resolve Endpoint ID behind the bridge");
  resolves(scene.far, scene.near.eid(), scene.bridge, behind, "Resolve Endpoint ID of who is in front of the bridge");
  const OwnerAnswer nobody = ask(scene.far, Command::resolve_endpoint_id, {kNobody});
  check.that(nobody.answered() && !nobody.ok(), "Resolve Endpoint ID of nobody fails", nobody.describe());
}

CONFORMANCE_CASE(hops_through_a_bridge_are_told, "mctp.bridge.hop", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  const auto hops = [&](PlayedDevice& from, mctp::Eid target, mctp::Eid next, std::string_view what) {
    for (const std::uint8_t type : {std::uint8_t{0x00}, std::uint8_t{0x04}}) {
      const OwnerAnswer answer = ask(from, Command::query_hop, {target, type});
      if (!succeeds(check, answer, what) || !check.equal("bytes of " + std::string(what), answer.data().size(), 6u)) return;
      check.equal("next bridge in " + std::string(what), answer.data()[0], next);
      check.equal("message type in " + std::string(what), answer.data()[1], one_of(unsigned{type}, 0xFFu));
    }
  };
  // The owner of the network is not on the way between two devices of its bus and those behind the bridge.
  hops(scene.near, scene.far.eid(), 0, "Query Hop of the owner to who is behind the bridge");
  turn_to_bridge(bench, scene, scene.near);
  for (PlayedDevice* device : {&scene.far, &scene.farther}) hops(scene.near, device->eid(), device->eid(), "Query Hop to who is behind");
  hops(scene.near, scene.other.eid(), 0, "Query Hop to who is on the same bus");
  hops(scene.near, scene.bridge, 0, "Query Hop to the bridge itself");
  for (PlayedDevice* device : {&scene.near, &scene.other}) hops(scene.far, device->eid(), device->eid(), "Query Hop to who is in front");
  hops(scene.far, scene.farther.eid(), 0, "Query Hop to who is behind too");
  for (PlayedDevice* device : {&scene.near, &scene.far}) {
    for (const std::uint8_t nowhere : {std::uint8_t{0x00}, std::uint8_t{0xFF}, kNobody}) {
      refused(check, ask(*device, Command::query_hop, {nowhere, 4}), Completion::invalid_data, fmt::format("Query Hop to EID {}", nowhere));
    }
  }
}

namespace {

/// A message to that EID from behind the bridge comes to this one alone.
void leads_to(Check& check, const Bridged& scene, mctp::Eid eid, PlayedDevice* expected) {
  forget_all(scene);
  for (const MctpPacket& packet : message(scene.far, eid, 6, true, 0, 70)) scene.far.raw().send(packet);
  for (PlayedDevice* device : {&scene.near, &scene.other, &scene.farther}) {
    check.equal(fmt::format("packets for EID {} at the device with EID {}", eid, device->eid()), vendor_packets(*device).size(),
                device == expected ? 2u : 0u);
  }
}

}  // namespace

CONFORMANCE_CASE(bridges_learn_routes_from_their_owner, "mctp.bridge.update", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  const Bytes near = address_of(scene.near), other = address_of(scene.other);
  const auto tell = [&](const Bytes& data, std::string_view what) {
    const OwnerAnswer answer = ask(scene.near, Command::routing_information_update, data);
    succeeds(check, answer, what);
    check.equal("bytes behind its completion code", answer.data().size(), 0u);
  };
  tell(update({{0, 1, 0xD0, near}, {1, 4, 0xD4, other}}), "Routing Information Update of two entries");
  leads_to(check, scene, 0xD0, &scene.near);
  leads_to(check, scene, 0xD4, &scene.other);
  leads_to(check, scene, 0xD7, &scene.other);
  leads_to(check, scene, 0xD3, nullptr);
  leads_to(check, scene, 0xD8, nullptr);
  tell(update({{2, 1, 0xD0, other}}), "Routing Information Update of an entry that is there");
  leads_to(check, scene, 0xD0, &scene.other);
  tell(update({{1, 3, 0xFC, other}}), "Routing Information Update of a range that ends with the last EID");
  leads_to(check, scene, 0xFC, &scene.other);
  leads_to(check, scene, 0xFE, &scene.other);
  tell(update({{0, 1, 0xD5, near}}), "Routing Information Update of an EID inside a range");
  leads_to(check, scene, 0xD5, &scene.near);
  leads_to(check, scene, 0xD6, &scene.other);
  turn_to_bridge(bench, scene, scene.near);
  unsigned entries = 0;
  for (const Route& one : routing_table(scene.near, check)) {
    if (one.first != 0xD0) continue;
    ++entries;
    check.equal("entry type of EID D0h", one.type, 2u);
    check.bytes("physical address of EID D0h", one.address, other);
    check.that(!one.is_static, "what an update brings is dynamic");
  }
  check.equal("entries of EID D0h", entries, 1u);
}

CONFORMANCE_CASE(routing_updates_are_of_their_bus, "mctp.bridge.update.own-bus", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  const auto tell = [&](PlayedDevice& from, const Bytes& data) {
    const OwnerAnswer answer = ask(from, Command::routing_information_update, data);
    check.that(answer.answered(), "Routing Information Update is answered", answer.describe());
  };
  // From behind the bridge, of who is in front of it: one by one, as endpoints and as ranges of one.
  for (const std::uint8_t type : {std::uint8_t{0}, std::uint8_t{1}}) {
    for (PlayedDevice* device : {&scene.near, &scene.other}) {
      tell(scene.far, update({{type, 1, device->eid(), address_of(scene.farther)}}));
      leads_to(check, scene, device->eid(), device);
    }
  }
  // Behind an entry that it may change.
  tell(scene.far, update({{0, 1, 0xD0, address_of(scene.farther)}, {0, 1, scene.other.eid(), address_of(scene.farther)}}));
  leads_to(check, scene, scene.other.eid(), &scene.other);
  // And the other way round.
  turn_to_bridge(bench, scene, scene.near);
  for (PlayedDevice* device : {&scene.far, &scene.farther}) {
    tell(scene.near, update({{0, 1, device->eid(), address_of(scene.other)}}));
    forget_all(scene);
    for (const MctpPacket& packet : message(scene.near, device->eid(), 6, true, 0, 70)) scene.near.raw().send(packet);
    check.equal("packets for who is behind the bridge, there", vendor_packets(*device).size(), 2u);
    check.equal("packets for who is behind the bridge, at another device in front of it", vendor_packets(scene.other).size(), 0u);
  }
}

// ---- what the owner makes of a bridge ----

}  // namespace fb::conformance
