// Bridges: tables that take several answers, units on the way, and who has a UUID.
#include <algorithm>
#include <set>

#include "conformance/cases/mctp/bridge_scene.h"

namespace fb::conformance {
namespace {

using mctp::control::Command;
using mctp::control::Completion;

/// Packets that came from that endpoint, with control messages.
std::vector<MctpPacket> packets_from(PlayedDevice& at, mctp::Eid source) {
  std::vector<MctpPacket> found;
  while (auto seen = at.raw().next_packet(Duration::ms(200))) {
    if (seen->packet.source == source) found.push_back(seen->packet);
  }
  return found;
}

}  // namespace

CONFORMANCE_CASE(long_routing_tables_take_several_answers, "mctp.bridge.routing.whole", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  std::set<unsigned> expected;
  for (const PlayedDevice* device : {&scene.near, &scene.other, &scene.far, &scene.farther}) expected.insert(device->eid());
  const Bytes near = address_of(scene.near), other = address_of(scene.other);
  for (unsigned first = 0xA0; first < 0xC0; first += 2) {
    const auto eid = static_cast<std::uint8_t>(first);
    const auto next = static_cast<std::uint8_t>(first + 1);
    const OwnerAnswer told = ask(scene.near, Command::routing_information_update, update({{0, 1, eid, near}, {0, 1, next, other}}));
    if (told.completion() == static_cast<Completion>(0x80)) break;  // no space for more
    check.precondition(told.ok(), "Routing Information Update");
    expected.insert({first, first + 1});
    // Each length once: where a page ends is the bridge's own affair.
    std::multiset<unsigned> listed;
    for (const Route& one : routing_table(scene.near, check)) {
      for (unsigned at = one.first; at < one.first + one.size; ++at) listed.insert(at);
    }
    for (const unsigned one : expected) {
      if (!check.that(listed.contains(one), fmt::format("EID {} is in a table of {} EIDs and more", one, expected.size()))) return;
      if (one < 0xA0 || one >= 0xC0) continue;
      if (!check.equal(fmt::format("entries of EID {} in a table of {} EIDs and more", one, expected.size()), listed.count(one), 1u))
        return;
    }
  }
  // As many in one update as a message of 64 bytes holds on each medium.
  std::vector<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t, Bytes>> many;
  constexpr unsigned kFirst = 0xD0, kMost = 12;
  for (unsigned eid = kFirst; eid < kFirst + kMost; ++eid)
    many.emplace_back(0, 1, static_cast<std::uint8_t>(eid), eid % 2 == 0 ? near : other);
  const OwnerAnswer told = ask(scene.near, Command::routing_information_update, update(many));
  if (told.completion() == static_cast<Completion>(0x80)) return;
  check.precondition(told.ok(), "Routing Information Update");
  std::set<unsigned> listed;
  for (const Route& one : routing_table(scene.near, check)) {
    for (unsigned at = one.first; at < one.first + one.size; ++at) listed.insert(at);
  }
  for (unsigned eid = kFirst; eid < kFirst + kMost; ++eid) {
    check.that(listed.contains(eid), fmt::format("EID {} of an update with {} entries is in the table", eid, kMost));
  }
}

CONFORMANCE_CASE(bridges_tell_units_that_they_carry, "mctp.bridge.hop.unit", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  turn_to_bridge(bench, scene, scene.near);
  const auto judge = [&](PlayedDevice& from, PlayedDevice& to, std::string_view way) {
    const OwnerAnswer answer = ask(from, Command::query_hop, {to.eid(), 0x04});
    if (!succeeds(check, answer, fmt::format("Query Hop {}", way)) || answer.data().size() != 6) return;
    const std::size_t incoming = 64 + 16u * load_be<std::uint16_t>(&answer.data()[2]),
                      outgoing = 64 + 16u * load_be<std::uint16_t>(&answer.data()[4]);
    const std::size_t here = from.raw().binding().facts().unit_max, there = to.raw().binding().facts().unit_max;
    check.that(incoming <= here, fmt::format("the incoming unit {} is none that the bus cannot carry", way), words(incoming));
    check.that(outgoing <= there, fmt::format("the outgoing unit {} is none that the bus cannot carry", way), words(outgoing));
    if (incoming > here || outgoing > there) return;
    forget_all(scene);
    MctpPacket packet = from.raw().packet();
    packet.destination = to.eid();
    packet.payload.assign(std::min(incoming, outgoing), kVendorType);
    from.raw().send(packet);
    from.raw().wait_until_said();
    const auto came = packets_from(to, from.eid());
    check.require(came.size() == 1, fmt::format("a packet of {} bytes comes {}", packet.payload.size(), way), words(came.size()));
    check.bytes("the packet", to_bytes(came[0]), to_bytes(packet));
  };
  judge(scene.near, scene.far, "through the bridge");
  judge(scene.far, scene.near, "back through the bridge");
}

CONFORMANCE_CASE(bridges_know_who_has_a_uuid, "mctp.bridge.uuid", roles::bus, over_buses) {
  const Bridged scene = bridged(bench, check);
  const auto resolve = [&](PlayedDevice& from, const mctp::control::Uuid& uuid) {
    Bytes data(uuid.begin(), uuid.end());
    data.push_back(0);
    return ask(from, Command::resolve_uuid, data);
  };
  const OwnerAnswer first = resolve(scene.far, scene.farther.uuid());
  if (first.answered() && first.completion() == Completion::unsupported_command) check.inconclusive("Resolve UUID is not supported");
  for (const auto& [from, of] :
       {std::pair{&scene.far, &scene.farther}, std::pair{&scene.farther, &scene.far}, std::pair{&scene.far, &scene.far}}) {
    const OwnerAnswer answer = resolve(*from, of->uuid());
    const std::string what = fmt::format("Resolve UUID of EID {} behind the bridge", of->eid());
    if (!succeeds(check, answer, what)) continue;
    const Bytes address = address_of(*of);
    const auto medium = bench.medium_behind();
    Bytes expected = {0xFF, 0x01, of->eid(), binding_id(medium), medium_id(medium), static_cast<std::uint8_t>(address.size())};
    expected.insert(expected.end(), address.begin(), address.end());
    check.bytes(what, answer.data(), expected);
  }
  for (const std::size_t byte : {std::size_t{0}, std::size_t{8}, std::size_t{15}}) {
    mctp::control::Uuid unknown = scene.farther.uuid();
    unknown[byte] ^= 0x40;
    const OwnerAnswer answer = resolve(scene.far, unknown);
    check.that(!answer.ok() || (answer.data().size() >= 2 && answer.data()[1] == 0), "a UUID that differs in a bit is nobody's",
               answer.describe());
  }
  // A device with two EIDs has one UUID.
  scene.far.script = [uuid = scene.farther.uuid()](const SeenMessage& request, Bytes good) {
    const bool asked = request.body[2] == static_cast<std::uint8_t>(Command::get_endpoint_uuid);
    if (asked && good.size() == 20) std::copy(uuid.begin(), uuid.end(), good.begin() + 4);
    return good;
  };
  bench.enumerate();
  const OwnerAnswer both = resolve(scene.farther, scene.farther.uuid());
  if (!succeeds(check, both, "Resolve UUID of a device with two EIDs")) return;
  const std::size_t each = 4 + address_of(scene.far).size();
  check.require(both.data().size() >= 2 && both.data().size() == 2 + each * both.data()[1], "the response is as long as its entries",
                both.describe());
  std::set<unsigned> eids;
  for (std::size_t at = 2; at < both.data().size(); at += each) eids.insert(both.data()[at]);
  check.that(eids == std::set<unsigned>{scene.far.eid(), scene.farther.eid()}, "both EIDs with that UUID are returned", both.describe());
}

}  // namespace fb::conformance
