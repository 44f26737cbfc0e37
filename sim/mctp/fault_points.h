// The named points at which an endpoint can be told to depart from MCTP, each of which breaks one rule.
// EndpointHooks::departs() is asked with the name, and only where the rule is about to be applied.
#pragma once

#include <array>
#include <string_view>

#include "base/fault_point.h"

namespace fb::mctp {

namespace departure {
// Packets on their way in.
inline constexpr std::string_view kVersion = "mctp.packet.version";
inline constexpr std::string_view kDestination = "mctp.packet.destination";
inline constexpr std::string_view kUnitAbove = "mctp.packet.unit.above";
inline constexpr std::string_view kUnitBelow = "mctp.packet.unit.below";
// Messages on their way in.
inline constexpr std::string_view kRestart = "mctp.assembly.restart";
inline constexpr std::string_view kSequence = "mctp.assembly.sequence";
inline constexpr std::string_view kGap = "mctp.assembly.gap";
inline constexpr std::string_view kGapOfAll = "mctp.assembly.gap.all";
inline constexpr std::string_view kKeySource = "mctp.assembly.key.source";
inline constexpr std::string_view kKeyTag = "mctp.assembly.key.tag";
// Frames of SMBus.
inline constexpr std::string_view kSmbusRetry = "mctp.smbus.retry";
inline constexpr std::string_view kSmbusWedged = "mctp.smbus.wedged";
// Control messages.
inline constexpr std::string_view kControlClass = "mctp.control.class";
inline constexpr std::string_view kControlIc = "mctp.control.ic";
inline constexpr std::string_view kControlLength = "mctp.control.length";
inline constexpr std::string_view kControlUnknownSilent = "mctp.control.unknown.silent";
inline constexpr std::string_view kControlDatagramAnswered = "mctp.control.datagram.answered";
inline constexpr std::string_view kControlEidRange = "mctp.control.set_eid.range";
inline constexpr std::string_view kControlEidKept = "mctp.control.set_eid.kept";
inline constexpr std::string_view kControlForeignOwner = "mctp.control.set_eid.foreign_owner";
inline constexpr std::string_view kControlDiscovered = "mctp.control.discovery.discovered";
inline constexpr std::string_view kControlDiscoveryAnywhere = "mctp.control.discovery.anywhere";
inline constexpr std::string_view kControlVersionType = "mctp.control.version.type";
inline constexpr std::string_view kControlBridgeOnly = "mctp.control.bridge_only";
// Control requests, and the owner of a bus.
inline constexpr std::string_view kRequestInstance = "mctp.request.instance";
inline constexpr std::string_view kRequestOnce = "mctp.request.once";
inline constexpr std::string_view kRequestHasty = "mctp.request.hasty";
inline constexpr std::string_view kRequestUnmatched = "mctp.request.unmatched";
inline constexpr std::string_view kOwnerKeepsOffer = "mctp.owner.keeps_offer";
inline constexpr std::string_view kOwnerReservedTaken = "mctp.owner.reserved_taken";
inline constexpr std::string_view kOwnerIgnoresRejection = "mctp.owner.ignores_rejection";
inline constexpr std::string_view kOwnerTypesUncounted = "mctp.owner.types.uncounted";
inline constexpr std::string_view kOwnerUuidNeeded = "mctp.owner.uuid.needed";
inline constexpr std::string_view kOwnerUuidNil = "mctp.owner.uuid.nil";
inline constexpr std::string_view kOwnerVendorEndless = "mctp.owner.vendor.endless";
inline constexpr std::string_view kOwnerStaticBlind = "mctp.owner.static.blind";
inline constexpr std::string_view kOwnerReclaim = "mctp.owner.reclaim";
inline constexpr std::string_view kOwnerKeepsRoutes = "mctp.owner.keeps_routes";
inline constexpr std::string_view kOwnerForgetful = "mctp.owner.forgetful";
inline constexpr std::string_view kRequestSameInstance = "mctp.request.same_instance";
inline constexpr std::string_view kOwnerStops = "mctp.owner.stops";
inline constexpr std::string_view kRequestAnyAddress = "mctp.request.any_address";
inline constexpr std::string_view kOwnerIgnoresWish = "mctp.owner.ignores_wish";
inline constexpr std::string_view kOwnerAssignsAlways = "mctp.owner.assigns_always";
inline constexpr std::string_view kOwnerOverflows = "mctp.owner.overflows";
inline constexpr std::string_view kOwnerReclaimedFirst = "mctp.owner.reclaimed_first";
inline constexpr std::string_view kOwnerNoPools = "mctp.owner.no_pools";
inline constexpr std::string_view kOwnerPoolBlind = "mctp.owner.pool_blind";
inline constexpr std::string_view kOwnerNoUpdates = "mctp.owner.no_updates";
inline constexpr std::string_view kOwnerLearnsNothing = "mctp.owner.learns_nothing";
// Bridges.
inline constexpr std::string_view kBridgeAlters = "mctp.bridge.alters";
inline constexpr std::string_view kBridgeReorders = "mctp.bridge.reorders";
inline constexpr std::string_view kBridgeFloods = "mctp.bridge.floods";
inline constexpr std::string_view kBridgeNull = "mctp.bridge.null";
inline constexpr std::string_view kBridgeResolvesElsewhere = "mctp.bridge.resolves_elsewhere";
inline constexpr std::string_view kBridgeHopsLocally = "mctp.bridge.hops_locally";
inline constexpr std::string_view kBridgePoolExcess = "mctp.bridge.pool.excess";
inline constexpr std::string_view kBridgePoolOtherBus = "mctp.bridge.pool.other_bus";
inline constexpr std::string_view kBridgePoolKept = "mctp.bridge.pool.kept";
inline constexpr std::string_view kBridgeUpdatesLost = "mctp.bridge.updates.lost";
inline constexpr std::string_view kBridgeUpdatesForeign = "mctp.bridge.updates.foreign";
}  // namespace departure

inline constexpr std::array kFaultPoints = {
    FaultPoint{departure::kVersion, "takes packets of any header version"},
    FaultPoint{departure::kDestination, "takes packets for other EIDs as its own"},
    FaultPoint{departure::kUnitAbove, "takes packets above the unit that is agreed"},
    FaultPoint{departure::kUnitBelow, "takes parts below 64 bytes that are not the last"},
    FaultPoint{departure::kRestart, "drops a new start instead of the old message"},
    FaultPoint{departure::kSequence, "does not look at sequence numbers"},
    FaultPoint{departure::kGap, "waits for the next packet for ever"},
    FaultPoint{departure::kGapOfAll, "gives a whole message the time that one packet has"},
    FaultPoint{departure::kKeySource, "puts packets of different senders into one message"},
    FaultPoint{departure::kKeyTag, "puts packets of different tags into one message"},
    FaultPoint{departure::kSmbusRetry, "gives a packet up that is not acknowledged once"},
    FaultPoint{departure::kSmbusWedged, "never sends again behind a packet that is not acknowledged"},
    FaultPoint{departure::kControlClass, "does not look at the Rq and D bits"},
    FaultPoint{departure::kControlIc, "takes control messages with IC set"},
    FaultPoint{departure::kControlLength, "does not check the length of requests"},
    FaultPoint{departure::kControlUnknownSilent, "is silent about commands it does not know"},
    FaultPoint{departure::kControlDatagramAnswered, "answers datagrams"},
    FaultPoint{departure::kControlEidRange, "lets itself be given any EID"},
    FaultPoint{departure::kControlEidKept, "accepts an EID and goes on with the old one"},
    FaultPoint{departure::kControlForeignOwner, "takes an EID from a second bus owner unforced"},
    FaultPoint{departure::kControlDiscovered, "answers Endpoint Discovery when discovered"},
    FaultPoint{departure::kControlDiscoveryAnywhere, "has discovery on every binding"},
    FaultPoint{departure::kControlVersionType, "gives a version for any message type"},
    FaultPoint{departure::kControlBridgeOnly, "answers a bridge's commands with success"},
    FaultPoint{departure::kRequestInstance, "asks again with another instance ID"},
    FaultPoint{departure::kRequestOnce, "does not ask again"},
    FaultPoint{departure::kRequestHasty, "asks again before an answer can be there"},
    FaultPoint{departure::kRequestUnmatched, "takes any response with the tag for the answer"},
    FaultPoint{departure::kOwnerKeepsOffer, "goes on with the EID that it offered, whatever was taken"},
    FaultPoint{departure::kOwnerReservedTaken, "goes on with a reserved EID that a device says it took"},
    FaultPoint{departure::kOwnerIgnoresRejection, "takes a rejected EID for assigned"},
    FaultPoint{departure::kOwnerTypesUncounted, "believes a list of types that is not as long as it says"},
    FaultPoint{departure::kOwnerUuidNeeded, "drops devices without a UUID"},
    FaultPoint{departure::kOwnerUuidNil, "takes a UUID of zeros for an identity"},
    FaultPoint{departure::kOwnerVendorEndless, "follows vendor selectors that do not rise"},
    FaultPoint{departure::kOwnerStaticBlind, "leaves two devices the same static EID"},
    FaultPoint{departure::kOwnerReclaim, "gives the EID of a device that has gone to another at once"},
    FaultPoint{departure::kOwnerKeepsRoutes, "keeps the routes of devices that have gone"},
    FaultPoint{departure::kOwnerForgetful, "gives a known device that lost its EID another one"},
    FaultPoint{departure::kRequestSameInstance, "sends all requests with one instance ID"},
    FaultPoint{departure::kOwnerStops, "ends the enumeration at the first device that is silent"},
    FaultPoint{departure::kRequestAnyAddress, "takes a response from any address"},
    FaultPoint{departure::kOwnerIgnoresWish, "gives a device another EID than the one that was wanted for it"},
    FaultPoint{departure::kOwnerAssignsAlways, "gives devices an EID that were to be left as they are"},
    FaultPoint{departure::kOwnerOverflows, "gives an EID twice when none is left"},
    FaultPoint{departure::kOwnerReclaimedFirst, "gives reclaimed EIDs away before unused ones"},
    FaultPoint{departure::kOwnerNoPools, "gives bridges no EIDs"},
    FaultPoint{departure::kOwnerPoolBlind, "routes EIDs that a bridge has rejected to it"},
    FaultPoint{departure::kOwnerNoUpdates, "sends no Routing Information Update"},
    FaultPoint{departure::kOwnerLearnsNothing, "does not ask who is behind a bridge"},
    FaultPoint{departure::kBridgeAlters, "changes the tag of packets that it forwards"},
    FaultPoint{departure::kBridgeReorders, "forwards the newest packet first"},
    FaultPoint{departure::kBridgeFloods, "forwards what is for no EID in its table, or for all"},
    FaultPoint{departure::kBridgeNull, "forwards packets from the null EID"},
    FaultPoint{departure::kBridgeResolvesElsewhere, "resolves EIDs to addresses of another bus"},
    FaultPoint{departure::kBridgeHopsLocally, "says that it leads to who is on the requester's bus"},
    FaultPoint{departure::kBridgePoolExcess, "takes more EIDs than it has asked for"},
    FaultPoint{departure::kBridgePoolOtherBus, "takes EIDs from a second bus"},
    FaultPoint{departure::kBridgePoolKept, "accepts a forced pool and goes on with the old one"},
    FaultPoint{departure::kBridgeUpdatesLost, "accepts routing updates without effect"},
    FaultPoint{departure::kBridgeUpdatesForeign, "lets an update replace the routes of another bus"},
};

}  // namespace fb::mctp
