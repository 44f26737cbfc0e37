// Owners of a bus that ask wrongly, or make the wrong of what they hear; requesters that cut messages wrongly.
#include "model/deviations/catalogue/mctp_shapes.h"
#include "model/deviations/deviation.h"
#include "sim/mctp/fault_points.h"

namespace fb::deviations {

namespace {

namespace departure = mctp::departure;

/// Changes every packet on its way out.
template <auto Change>
class AlteringPackets final : public mctp::EndpointHooks {
 public:
  void packets_out(mctp::PhysicalAddress&, std::vector<Bytes>& packets) override {
    for (Bytes& packet : packets) Change(packet);
  }
};

/// Changes or drops (empty) what comes in.
template <auto Change>
class AlteringArrivals final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override { Change(packet); }
};

/// What follows a first packet is taken for a part of its message: by its tag, or whoever it is from.
template <bool AnySource>
class JoinsWhatFollows final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    constexpr std::uint8_t kStart = 0x80, kOwner = 0x08, kTag = 0x07;
    if (packet.size() < mctp::kHeaderSize) return;
    if ((packet[3] & kStart) != 0) {
      first_ = packet;
      return;
    }
    if (first_.empty()) return;
    packet[3] = static_cast<std::uint8_t>((packet[3] & ~kOwner) | (first_[3] & kOwner));
    if (!AnySource) return;
    packet[3] = static_cast<std::uint8_t>((packet[3] & ~kTag) | (first_[3] & kTag));
    packet[2] = first_[2];
  }

 private:
  Bytes first_;
};

bool is_request(const Bytes& packet) { return packet.size() > 6 && (packet[3] & 0x08) != 0 && (packet[4] & 0x7F) == 0; }
bool sets_eid(const Bytes& packet) { return is_request(packet) && packet[6] == 0x01; }

void set_reserved_of_control(Bytes& packet) {
  if (is_request(packet)) packet[5] |= 0x20;
}
void set_ic_of_control(Bytes& packet) {
  if (is_request(packet)) packet[4] |= 0x80;
}
void reserved_eid(Bytes& packet) {
  if (sets_eid(packet)) packet[8] = 0x05;
}
void owners_eid(Bytes& packet) {
  if (sets_eid(packet)) packet[8] = packet[2];
}
void same_eid(Bytes& packet) {
  if (sets_eid(packet)) packet[8] = 0x60;
}
void addresses_by_eid(Bytes& packet) {
  if (is_request(packet) && packet[1] == 0) packet[1] = 0x09;
}
/// Nobody is prepared: the broadcast becomes one of Endpoint Discovery.
void without_prepare(Bytes& packet) {
  if (is_request(packet) && packet[6] == 0x0B) packet[6] = 0x0C;
}

void other_version(Bytes& packet) { packet[0] = 0x02; }
void reserved_bits(Bytes& packet) { packet[0] |= 0x10; }
void stuck_sequence(Bytes& packet) { packet[3] &= 0xCF; }
void end_everywhere(Bytes& packet) { packet[3] |= 0x40; }
void other_source(Bytes& packet) { packet[2] = 0x33; }

/// The first part leaves four bytes to the second.
class ShortParts final : public mctp::EndpointHooks {
 public:
  void packets_out(mctp::PhysicalAddress&, std::vector<Bytes>& packets) override {
    for (Bytes& packet : packets) {
      const bool first = (packet[3] & 0x80) != 0, last = (packet[3] & 0x40) != 0;
      if (first) carried_.clear();
      packet.insert(packet.begin() + 4, carried_.begin(), carried_.end());
      carried_.clear();
      if (!first || last) continue;
      carried_.assign(packet.end() - 4, packet.end());
      packet.resize(packet.size() - 4);
    }
  }

 private:
  Bytes carried_;
};

void only_start_zero(Bytes& packet) {
  if (packet.size() > 3 && (packet[3] & 0x80) != 0 && (packet[3] & 0x30) != 0) packet.clear();
}
void any_destination(Bytes& packet) {
  if (packet.size() > 3) packet[1] = 0;
}
void from_an_eid_only(Bytes& packet) {
  const bool assigned = packet.size() > 7 && (packet[3] & 0x08) == 0 && (packet[4] & 0x7F) == 0 && packet[6] == 0x01;
  if (assigned && packet[2] == 0) packet.clear();
}
void any_version(Bytes& packet) {
  if (packet.size() > 3) packet[0] = 1;
}

/// Puts together by source alone: parts of another tag are taken for the one that began last.
class OneAssembly final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() < 5) return;
    if ((packet[3] & 0x80) != 0) tag_ = packet[3] & 0x07;
    packet[3] = static_cast<std::uint8_t>((packet[3] & 0xF8) | tag_);
  }

 private:
  std::uint8_t tag_ = 0;
};

// ---- what the owner answers ----

using mctp::control::Command;
using mctp::control::Completion;

/// Changes good answers to that command.
template <Command Which, auto Change>
void of_command(ByteView request, Bytes& answer) {
  if (shape::is(request, Which) && shape::succeeded(answer)) Change(answer);
}
void simple_endpoint(Bytes& answer) { answer[5] &= 0xCF; }
void no_medium(Bytes& answer) {
  if (answer.size() > 10) answer[6 + 4] = 0;
}
void no_address(Bytes& answer) {
  if (answer.size() > 12) answer[6 + 6] = 0;
}
/// The first entry stands there twice, the second not at all.
void first_entry_twice(Bytes& answer) {
  if (answer.size() <= 12) return;
  const std::size_t size = 6u + answer[6 + 5];
  if (answer.size() >= 6 + 2 * size) std::copy_n(answer.begin() + 6, size, answer.begin() + 6 + static_cast<std::ptrdiff_t>(size));
}
void ends_at_once(Bytes& answer) { answer[4] = 0xFF; }
/// With the address of the device behind it. Where media have no addresses this would be legal: there nobody is named.
void resolves_to_the_owner(Bytes& answer) { answer[4] = answer.size() > 5 ? 8 : 0xE6; }
void hops_nowhere(Bytes& answer) { answer[4] = 0; }
void hops_to_the_target(ByteView request, Bytes& answer) {
  if (shape::is(request, Command::query_hop) && shape::succeeded(answer)) answer[4] = request[3];
}
void one_port(Bytes& answer) {
  for (std::size_t at = 6; at + 6 <= answer.size(); at += 6u + answer[at + 5]) answer[at + 2] &= 0xE0;
}
void no_pool_said(Bytes& answer) {
  answer[4] &= 0xFC;
  answer[6] = 0;
}
void first_of_nothing(Bytes& answer) {
  if (answer[6] == 0) answer[6] = 0x66;
}
void first_is_null(Bytes& answer) { answer[6] = 0; }
void units_in_bytes(Bytes& answer) { answer[6] = answer[8] = 0x10; }
void uuid_without_medium(Bytes& answer) {
  if (answer.size() > 9) answer[8] = 0;
}
void any_handle(ByteView request, Bytes& answer) {
  if (!shape::is(request, Command::get_routing_table) || shape::succeeded(answer)) return;
  const std::uint8_t nothing[] = {0xFF, 0x00};
  answer = mctp::control::make_response(request, Completion::success, nothing);
}
void takes_eids(ByteView request, Bytes& answer) {
  if (!shape::is(request, Command::allocate_endpoint_ids) || request.size() < 6) return;
  const std::uint8_t accepted[] = {0x00, request[4], request[5]};
  answer = mctp::control::make_response(request, Completion::success, accepted);
}
void only_the_first_vendor(Bytes& packet) {
  const bool vendors = packet.size() > 9 && (packet[4] & 0x7F) == 0 && (packet[5] & 0x80) == 0 && packet[6] == 0x06;
  if (vendors && packet[7] == 0) packet[8] = 0xFF;
}
void only_the_low_byte_of_vendors(Bytes& packet) {
  const bool vendors = packet.size() > 9 && (packet[4] & 0x7F) == 0 && (packet[5] & 0x80) == 0 && packet[6] == 0x06;
  if (vendors && packet[7] == 0) packet[10] = 0;
}

#define OWNER(name, requirement, what, ...) DEVIATION(name, requirement, Product::bus, what, __VA_ARGS__)

OWNER(owner_sets_the_reserved_bit, "mctp.bus.request.form", "the reserved bit of control requests is set",
      hooks<AlteringPackets<&set_reserved_of_control>>());
OWNER(owner_sets_ic, "mctp.bus.request.form", "control requests have IC set", hooks<AlteringPackets<&set_ic_of_control>>());
OWNER(owner_sends_another_version, "mctp.bus.request.form", "packets have header version 2", hooks<AlteringPackets<&other_version>>());
OWNER(owner_asks_once, "mctp.bus.request.retry", "a request without an answer is not repeated", Departs{departure::kRequestOnce});
OWNER(owner_repeats_as_new, "mctp.bus.request.retry", "a request is repeated with another instance ID",
      Departs{departure::kRequestInstance});
OWNER(owner_is_hasty, "mctp.bus.request.patience", "a request is repeated after 20 ms", Departs{departure::kRequestHasty});
OWNER(owner_takes_any_response, "mctp.bus.response.matched", "instance ID and command of responses are not looked at (F24)",
      Departs{departure::kRequestUnmatched});
OWNER(owner_guesses_eids, "mctp.bus.eid.physical", "a device without an EID is spoken to by EID 9",
      hooks<AlteringPackets<&addresses_by_eid>>());
OWNER(owner_gives_reserved_eids, "mctp.bus.eid.range", "EID 5 is assigned", hooks<AlteringPackets<&reserved_eid>>());
OWNER(owner_gives_its_own_eid, "mctp.bus.eid.range", "the owner's EID is assigned", hooks<AlteringPackets<&owners_eid>>());
OWNER(owner_insists_on_its_offer, "mctp.bus.eid.returned", "the EID that a device has taken instead is ignored (F21)",
      Departs{departure::kOwnerKeepsOffer});
OWNER(owner_takes_reserved_eids, "mctp.bus.eid.unusable", "a device that says it took EID 5 is spoken to by it",
      Departs{departure::kOwnerReservedTaken});
OWNER(owner_ignores_rejection, "mctp.bus.eid.rejected", "a rejected EID is taken for assigned (F21)",
      Departs{departure::kOwnerIgnoresRejection});
OWNER(owner_leaves_static_twins, "mctp.bus.eid.static-twins", "two devices keep the same static EID (F17)",
      Departs{departure::kOwnerStaticBlind});
OWNER(owner_gives_one_eid_to_all, "mctp.bus.eid.static-twins", "all devices are given the same EID (F17)",
      hooks<AlteringPackets<&same_eid>>());
OWNER(owner_reuses_eids_at_once, "mctp.bus.eid.reclaim", "the EID of a device that has gone is given away at once (F26)",
      Departs{departure::kOwnerReclaim});
OWNER(owner_stops_at_silence, "mctp.bus.silent-device", "the enumeration ends at a device that is silent", Departs{departure::kOwnerStops});
OWNER(owner_believes_any_count, "mctp.bus.types.exact", "a list of types of another length is believed",
      Departs{departure::kOwnerTypesUncounted});
OWNER(owner_needs_uuids, "mctp.bus.uuid.optional", "devices without a UUID are dropped (F19)", Departs{departure::kOwnerUuidNeeded});
OWNER(owner_believes_zeros, "mctp.bus.uuid.nil", "a UUID of zeros is an identity (F18)", Departs{departure::kOwnerUuidNil});
OWNER(owner_follows_selectors_for_ever, "mctp.bus.vendors.bounded", "selectors that do not rise are followed (F25)",
      Departs{departure::kOwnerVendorEndless});
OWNER(owner_does_not_prepare, "mctp.vdm.bus.discovery", "Prepare for Endpoint Discovery is not sent",
      hooks<AlteringPackets<&without_prepare>>());

#define REQUESTER(name, requirement, what, ...) DEVIATION(name, requirement, Product::management_requester, what, __VA_ARGS__)

REQUESTER(requester_sends_another_version, "mctp.requester.packets", "packets have header version 2",
          hooks<AlteringPackets<&other_version>>());
REQUESTER(requester_sets_reserved_bits, "mctp.requester.packets", "reserved bits of the packet header are set",
          hooks<AlteringPackets<&reserved_bits>>());
REQUESTER(requester_does_not_count, "mctp.requester.packets", "all packets have sequence number 0",
          hooks<AlteringPackets<&stuck_sequence>>());
REQUESTER(requester_ends_every_packet, "mctp.requester.packets", "every packet has EOM set", hooks<AlteringPackets<&end_everywhere>>());
REQUESTER(requester_sends_as_another, "mctp.requester.packets", "packets name another source EID", hooks<AlteringPackets<&other_source>>());
REQUESTER(requester_cuts_short_parts, "mctp.requester.unit", "packets that are not the last have 60 bytes", hooks<ShortParts>());
REQUESTER(requester_wants_to_start_at_zero, "mctp.requester.any-start", "answers that do not begin with sequence number 0 are lost",
          hooks<AlteringArrivals<&only_start_zero>>());
REQUESTER(requester_puts_one_together, "mctp.requester.interleaved", "one message is put together at a time (F28)", hooks<OneAssembly>());
REQUESTER(requester_does_not_look_at_sequence, "mctp.requester.spoiled", "sequence numbers are not looked at",
          Departs{departure::kSequence});
REQUESTER(requester_overlooks_the_owner, "mctp.requester.one-message", "the tag owner bit is looked at in first packets alone",
          hooks<JoinsWhatFollows<false>>());
REQUESTER(requester_joins_what_follows, "mctp.requester.one-message", "whatever follows a first packet is taken for a part of its message",
          hooks<JoinsWhatFollows<true>>());
REQUESTER(requester_takes_any_destination, "mctp.requester.strays", "packets for other EIDs are taken",
          hooks<AlteringArrivals<&any_destination>>());
REQUESTER(requester_takes_any_version, "mctp.requester.strays", "packets of other header versions are taken",
          hooks<AlteringArrivals<&any_version>>());

// ---- the owner's own answers ----
#define ANSWER(command, change) hooks<ControlAnswers<&of_command<Command::command, &change>>>()
OWNER(owner_is_a_simple_endpoint, "mctp.bus.owner.identity", "the owner says that it is a simple endpoint",
      ANSWER(get_endpoint_id, simple_endpoint));
OWNER(owner_names_no_medium, "mctp.bus.owner.routing", "routing entries name no physical medium", ANSWER(get_routing_table, no_medium));
OWNER(owner_names_no_serial_medium, "mctp.bus.owner.routing.serial", "the routing entry of a serial line names no medium",
      ANSWER(get_routing_table, no_medium));
OWNER(owner_names_other_addresses, "mctp.bus.owner.routing", "routing entries have another physical address",
      ANSWER(get_routing_table, no_address));
OWNER(owner_lists_one_device_twice, "mctp.bus.owner.routing", "one device is listed twice, another not at all",
      ANSWER(get_routing_table, first_entry_twice));
OWNER(owner_lists_the_first_devices, "mctp.bus.owner.routing", "the routing table ends with the first answer",
      ANSWER(get_routing_table, ends_at_once));
OWNER(owner_takes_any_handle, "mctp.bus.owner.routing.handle", "any handle has entries behind it, none",
      hooks<ControlAnswers<&any_handle>>());
OWNER(owner_resolves_to_itself, "mctp.bus.owner.resolve", "every EID is resolved to the owner, at the address of the device",
      ANSWER(resolve_endpoint_id, resolves_to_the_owner));
OWNER(owner_hops_to_its_neighbours, "mctp.bus.owner.hop", "Query Hop leads to who is on the same bus",
      hooks<ControlAnswers<&hops_to_the_target>>());
OWNER(owner_counts_units_in_bytes, "mctp.bus.owner.hop", "units are told in bytes", ANSWER(query_hop, units_in_bytes));
OWNER(owner_resolves_uuids_without_medium, "mctp.bus.owner.resolve-uuid", "Resolve UUID names no physical medium",
      ANSWER(resolve_uuid, uuid_without_medium));
OWNER(bridge_changes_tags, "mctp.bridge.forward", "the tag of forwarded packets is changed", Departs{departure::kBridgeAlters});
OWNER(bridge_forwards_the_newest_first, "mctp.bridge.order", "the newest packet is forwarded first", Departs{departure::kBridgeReorders});
OWNER(bridge_is_a_simple_endpoint, "mctp.bridge.own", "the bridge says that it is a simple endpoint",
      ANSWER(get_endpoint_id, simple_endpoint));
OWNER(bridge_floods, "mctp.bridge.unknown", "packets for nobody are forwarded", Departs{departure::kBridgeFloods});
OWNER(bridge_forwards_broadcasts, "mctp.bridge.broadcast", "packets for all are forwarded", Departs{departure::kBridgeFloods});
OWNER(bridge_forwards_from_nobody, "mctp.bridge.null", "packets from the null EID are forwarded", Departs{departure::kBridgeNull});
OWNER(bridge_says_no_pool, "mctp.bridge.pool.state", "Set Endpoint ID says that there is no pool", ANSWER(set_endpoint_id, no_pool_said));
OWNER(bridge_names_no_first_eid, "mctp.bridge.pool.query", "the first EID of the pool is said to be 0",
      ANSWER(allocate_endpoint_ids, first_is_null));
OWNER(bridge_takes_too_many_eids, "mctp.bridge.pool.excess", "more EIDs are taken than were asked for",
      Departs{departure::kBridgePoolExcess});
OWNER(bridge_takes_eids_from_any_bus, "mctp.bridge.pool.other-bus", "a pool from another bus is taken",
      Departs{departure::kBridgePoolOtherBus});
OWNER(bridge_keeps_a_replaced_pool, "mctp.bridge.pool.force", "a forced pool changes nothing", Departs{departure::kBridgePoolKept});
OWNER(bridge_names_an_eid_of_nothing, "mctp.bridge.pool.empty", "an empty pool has a first EID",
      ANSWER(allocate_endpoint_ids, first_of_nothing));
OWNER(bridge_has_one_port, "mctp.bridge.routing", "all entries are of port 0", ANSWER(get_routing_table, one_port));
OWNER(bridge_resolves_to_another_bus, "mctp.bridge.resolve", "EIDs are resolved to addresses of another bus",
      Departs{departure::kBridgeResolvesElsewhere});
OWNER(bridge_hops_nowhere, "mctp.bridge.hop", "Query Hop says that it does not lead there", ANSWER(query_hop, hops_nowhere));
OWNER(bridge_hops_to_its_neighbours, "mctp.bridge.hop", "Query Hop leads to who is on the same bus",
      Departs{departure::kBridgeHopsLocally});
OWNER(bridge_ignores_updates, "mctp.bridge.update", "Routing Information Update has no effect", Departs{departure::kBridgeUpdatesLost});
OWNER(bridge_updates_any_bus, "mctp.bridge.update.own-bus", "an update replaces routes of another bus",
      Departs{departure::kBridgeUpdatesForeign});
OWNER(owner_gives_no_pools, "mctp.bus.bridge.pool", "bridges are given no EIDs", Departs{departure::kOwnerNoPools});
OWNER(owner_routes_rejected_pools, "mctp.bus.bridge.rejected", "EIDs that a bridge has rejected are routed to it",
      Departs{departure::kOwnerPoolBlind});
OWNER(owner_tells_bridges_nothing, "mctp.bus.bridge.update", "Routing Information Update is not sent", Departs{departure::kOwnerNoUpdates});
OWNER(owner_does_not_look_behind_bridges, "mctp.bus.bridge.learn", "who is behind a bridge is not asked",
      Departs{departure::kOwnerLearnsNothing});
OWNER(owner_needs_the_new_source, "mctp.bus.eid.old-source", "responses to Set Endpoint ID from EID 0 are dropped",
      hooks<AlteringArrivals<&from_an_eid_only>>());
OWNER(owner_takes_any_address, "mctp.bus.response.address", "responses from any address are taken", Departs{departure::kRequestAnyAddress});
OWNER(owner_ignores_wishes, "mctp.bus.eid.wanted", "a device is given another EID than the one that was wanted",
      Departs{departure::kOwnerIgnoresWish});
OWNER(owner_assigns_always, "mctp.bus.eid.left", "devices that were to be left as they are are given EIDs",
      Departs{departure::kOwnerAssignsAlways});
OWNER(owner_gives_eids_twice, "mctp.bus.eid.exhausted", "an EID is given twice when none is left", Departs{departure::kOwnerOverflows});
OWNER(owner_reuses_eids_first, "mctp.bus.eid.reclaimed-last", "reclaimed EIDs are given before unused ones",
      Departs{departure::kOwnerReclaimedFirst});
OWNER(owner_takes_eids_of_devices, "mctp.bus.owner.allocate", "the topmost owner takes EIDs from a device",
      hooks<ControlAnswers<&takes_eids>>());
OWNER(owner_ignores_lengths, "mctp.bus.owner.length", "requests of any length are served", Departs{departure::kControlLength});
OWNER(owner_keeps_routes, "mctp.bus.owner.gone", "devices that have gone stay in the routing table", Departs{departure::kOwnerKeepsRoutes});
OWNER(owner_gives_another_eid, "mctp.bus.eid.again", "a device that was reset is given another EID", Departs{departure::kOwnerForgetful});
OWNER(owner_never_counts, "mctp.bus.request.instance", "all requests have instance ID 0", Departs{departure::kRequestSameInstance});
OWNER(owner_knows_one_vendor, "mctp.bus.devices", "vendor support ends with its first entry",
      hooks<AlteringArrivals<&only_the_first_vendor>>());
OWNER(owner_knows_half_a_vendor, "mctp.bus.devices", "the high byte of a vendor is lost",
      hooks<AlteringArrivals<&only_the_low_byte_of_vendors>>());
#undef ANSWER

}  // namespace

}  // namespace fb::deviations
