// Which EIDs the owner of a bus gives away: one that is asked for, what a device has already, and the last that are left.
#include <algorithm>
#include <set>

#include "conformance/cases/mctp/owner_exchange.h"

namespace fb::conformance {
namespace {

using mctp::Assigning;
using mctp::control::Command;

mctp::EnumerationReport look_at(BusBench& bench, PlayedDevice& device, Assigning assigning, mctp::Eid wanted = mctp::kNullEid) {
  std::optional<mctp::EnumerationReport> report;
  bench.bus_owner().look_at(device.raw().binding().address(), assigning, wanted,
                            [&](const mctp::EnumerationReport& made) { report = made; });
  bench.world().run_until([&] { return report.has_value(); }, Duration::s(30));
  return report.value_or(mctp::EnumerationReport{});
}
/// The EIDs that a device was given, in turn.
std::vector<mctp::Eid> given(const PlayedDevice& device) {
  std::vector<mctp::Eid> eids;
  for (const SeenMessage* request : device.requests_of(Command::set_endpoint_id)) eids.push_back(request->body[4]);
  return eids;
}
/// A device that has an EID, which is no static one.
void has(PlayedDevice& device, mctp::Eid eid) { device.raw().set_eid(eid); }

void two_eids(EmbeddedSetup& setup) { setup.managed->network.pool_size = 2; }
void four_eids(EmbeddedSetup& setup) { setup.managed->network.pool_size = 4; }
void last_eids(EmbeddedSetup& setup) {
  setup.managed->network.pool_first = 0xFC;
  setup.managed->network.pool_size = 20;
}

}  // namespace

CONFORMANCE_CASE(owners_give_the_eid_that_is_wanted, "mctp.bus.eid.wanted", roles::bus, over_buses) {
  PlayedDevice &one = bench.device(), &other = bench.add_device();
  const mctp::Eid owner = bench.product().owner().eid();
  const mctp::EnumerationReport report = look_at(bench, one, Assigning::always, 0x55);
  check.equal("EIDs that a device was given", given(one), std::vector<mctp::Eid>{0x55});
  check.equal("entries for the EID that was wanted", bench.known().count(0x55), 1u);
  check.equal("devices that were looked at", report.looked_at, 1u);
  check.equal("devices that were given an EID", report.assigned, 1u);
  check.equal("requests to a device that nobody asked about", other.requests().size(), 0u);
  // The same once more; and none that somebody has, or that a known device would have to change for.
  look_at(bench, one, Assigning::always, 0x55);
  check.equal("EIDs that a device was given when it is asked for again", given(one), std::vector<mctp::Eid>{0x55, 0x55});
  for (const mctp::Eid taken : {mctp::Eid{0x55}, owner}) {
    check.equal("devices that could not be used", look_at(bench, other, Assigning::always, taken).faulty, 1u);
  }
  check.equal("EIDs that a device was given which others have", given(other), std::vector<mctp::Eid>{});
  look_at(bench, one, Assigning::always, 0x56);
  check.equal("EID of a known device for which another is wanted", one.eid(), 0x55);
  look_at(bench, other, Assigning::always, 0x56);
  check.equal("EID of the other device", other.eid(), 0x56);
}

CONFORMANCE_CASE(owners_can_leave_eids_as_they_are, "mctp.bus.eid.left", roles::bus, over_buses) {
  PlayedDevice &one = bench.device(), &twin = bench.add_device(), &without = bench.add_device();
  has(one, 0x33);
  has(twin, 0x33);
  look_at(bench, one, Assigning::missing);
  check.equal("EIDs that a device with one was given", given(one), std::vector<mctp::Eid>{});
  check.equal("entries for the EID that it has", bench.known().count(0x33), 1u);
  const auto to_it = [](const SeenMessage& request) { return request.destination == 0x33; };
  check.that(std::any_of(one.requests().begin(), one.requests().end(), to_it), "it is spoken to by its EID");
  look_at(bench, twin, Assigning::missing);
  check.that(given(twin).size() == 1 && twin.eid() != 0x33, "a second device with the same EID is given another", words(twin.eid()));
  look_at(bench, without, Assigning::missing);
  check.that(given(without).size() == 1 && without.eid() >= mctp::kFirstEid, "a device without an EID is given one", words(without.eid()));
  const mctp::Eid owner = bench.product().owner().eid();
  for (const mctp::Eid unusable : {mctp::Eid{0x05}, owner}) {
    PlayedDevice& next = bench.add_device();
    has(next, unusable);
    look_at(bench, next, Assigning::missing);
    check.that(given(next).size() == 1 && next.eid() != unusable, fmt::format("a device with EID {} is given another", unusable),
               words(next.eid()));
  }
}

CONFORMANCE_CASE(owners_can_be_told_to_give_no_eid, "mctp.bus.eid.left", roles::bus, over_buses) {
  PlayedDevice &without = bench.device(), &one = bench.add_device(), &twin = bench.add_device();
  has(one, 0x34);
  has(twin, 0x34);
  check.equal("devices that could not be used", look_at(bench, without, Assigning::never).faulty, 1u);
  look_at(bench, one, Assigning::never);
  check.equal("entries for the EID that a device has", bench.known().count(0x34), 1u);
  check.equal("devices that could not be used, of those with an EID that another has", look_at(bench, twin, Assigning::never).faulty, 1u);
  for (PlayedDevice* device : {&without, &one, &twin}) {
    check.equal("EIDs that a device was given", given(*device), std::vector<mctp::Eid>{});
  }
  check.equal("devices known", bench.known().size(), 1u);
}

namespace {

/// A response by hand, from that device.
void respond(PlayedDevice& from, const SeenMessage& request, mctp::Eid source, Bytes data) {
  MctpPacket reply;
  reply.destination = request.source;
  reply.source = source;
  reply.owner = false;
  reply.tag = request.tag;
  constexpr std::size_t kHead = 4;
  reply.payload.resize(kHead + data.size());
  reply.payload[1] = static_cast<std::uint8_t>(request.body[1] & 0x1F);
  reply.payload[2] = request.body[2];
  std::copy(data.begin(), data.end(), reply.payload.begin() + kHead);
  from.raw().send(reply);
}

}  // namespace

CONFORMANCE_CASE(set_endpoint_id_is_answered_from_the_old_eid_too, "mctp.bus.eid.old-source", roles::bus) {
  PlayedDevice& device = bench.device();
  mctp::Eid taken = mctp::kNullEid;
  device.script = [&](const SeenMessage& request, Bytes good) {
    if (static_cast<Command>(request.body[2]) != Command::set_endpoint_id) return good;
    // Without an EID until the response has left.
    taken = request.body[4];
    device.raw().set_product(request.source, request.from);
    respond(device, request, mctp::kNullEid, {0x00, taken, 0x00});
    return Bytes{};
  };
  bench.enumerate();
  check.require(taken != mctp::kNullEid, "the device is given an EID");
  const auto known = bench.known().find(taken);
  check.require(known != bench.known().end(), "a device that answers Set Endpoint ID from EID 0 is known by its new EID");
  const auto& requests = device.requests();
  const bool asked = std::any_of(requests.begin(), requests.end(), [&](const SeenMessage& one) {
    return one.destination == taken && static_cast<Command>(one.body[2]) == Command::get_message_type_support;
  });
  check.that(asked, "it is asked further at its new EID", "it is not");
}

CONFORMANCE_CASE(an_eid_that_another_has_is_not_used, "mctp.bus.eid.unusable", roles::bus, over_buses) {
  PlayedDevice& first = bench.device();
  bench.enumerate();
  const mctp::Eid taken = first.eid();
  check.precondition(taken != mctp::kNullEid, "the first device is given an EID");
  PlayedDevice& second = bench.add_device();
  second.script = [taken](const SeenMessage& request, Bytes good) {
    if (static_cast<Command>(request.body[2]) == Command::set_endpoint_id) good[5] = taken;
    return good;
  };
  bench.enumerate();
  check.precondition(!given(second).empty(), "the second device is offered an EID");
  const auto known = bench.known().find(taken);
  check.require(known != bench.known().end(), "the first device is known by its EID");
  check.that(known->second.address == first.raw().binding().address(), "the EID leads to the device that had it first",
             to_string(known->second.address));
  const OwnerAnswer answer = ask(first, Command::resolve_endpoint_id, {taken});
  check.require(answer.ok() && !answer.data().empty(), "Resolve Endpoint ID of the first device succeeds", answer.describe());
  check.bytes("its physical address", answer.data().subspan(1), address_of(first));
  constexpr mctp::Eid kReserved = 0x05;
  second.script = [](const SeenMessage& request, Bytes good) {
    if (static_cast<Command>(request.body[2]) == Command::set_endpoint_id) good[5] = kReserved;
    return good;
  };
  bench.enumerate();
  check.equal("entries for an EID that is reserved", bench.known().count(kReserved), 0u);
}

CONFORMANCE_CASE(a_late_answer_is_taken_once, "mctp.bus.response.matched", roles::bus) {
  // The answer to the first try comes when the second was sent, and so does that to the second.
  PlayedDevice& device = bench.device();
  std::optional<SeenMessage> first;
  unsigned tries = 0;
  device.script = [&](const SeenMessage& request, Bytes good) {
    if (static_cast<Command>(request.body[2]) != Command::get_message_type_support || ++tries > 2) return good;
    if (tries == 1) return Bytes{};
    device.raw().set_product(request.source, request.from);
    // In front of both one that answers another request.
    SeenMessage another = request;
    another.body[1] ^= 0x10;
    respond(device, another, device.eid(), {0x01, 0x7D});
    respond(device, request, device.eid(), {0x02, 0x04, 0x05});
    return good;
  };
  bench.enumerate();
  check.precondition(tries >= 2, "the message types are asked for twice");
  const auto known = bench.known().find(device.eid());
  check.require(known != bench.known().end(), "the device is known");
  check.equal("message types, of the answer that came first", known->second.types, std::vector<std::uint8_t>{0x04, 0x05});
  check.that(known->second.uuid == device.uuid(), "what was asked afterwards has its own answer");
}

CONFORMANCE_CASE(bridges_get_the_eids_that_are_left, "mctp.bus.bridge.pool", roles::bus, over_buses,
                 arranged("an owner of four EIDs", &four_eids)) {
  constexpr std::uint8_t kWanted = 5, kLeft = 3;
  PlayedDevice& bridge = bench.device();
  std::vector<Bytes> offers;
  bridge.script = [&](const SeenMessage& request, Bytes good) {
    switch (static_cast<Command>(request.body[2])) {
      case Command::get_endpoint_id:
        good[5] |= 0x10;
        return good;
      case Command::set_endpoint_id:
        good[4] = 0x01;
        good[6] = kWanted;
        return good;
      case Command::allocate_endpoint_ids: {
        offers.emplace_back(request.body.begin() + 3, request.body.end());
        good.resize(4);
        good[3] = 0;
        good.insert(good.end(), {0x00, kWanted, request.body[5]});
        return good;
      }
      default:
        return good;
    }
  };
  bench.enumerate();
  check.precondition(bridge.eid() != mctp::kNullEid, "the bridge is given an EID");
  check.require(!offers.empty() && offers.front().size() == 3, "the bridge is offered a pool", "it is not");
  const mctp::BridgeOptions& options = bench.product().owner().options();
  const unsigned count = offers.front()[1], first = offers.front()[2], last = options.pool_first + options.pool_size - 1u;
  check.equal("EIDs of the pool: those that are left", count, unsigned{kLeft});
  check.that(first >= options.pool_first && first + count - 1 <= last, "they are EIDs that the owner has", words(first));
  check.that(bridge.eid() < first || bridge.eid() >= first + count, "the bridge's own is none of them", words(bridge.eid()));
}

CONFORMANCE_CASE(answers_come_from_the_address_that_was_asked, "mctp.bus.response.address", roles::bus, over_buses) {
  PlayedDevice &asked = bench.device(), &other = bench.add_device();
  bool first = true;
  asked.script = [&](const SeenMessage& request, Bytes good) {
    if (static_cast<Command>(request.body[2]) != Command::get_endpoint_id || !first) return good;
    first = false;
    // The neighbour says in its place that it has the static EID 44h.
    other.raw().set_product(request.source, request.from);
    respond(other, request, 0x44, {0x44, 0x02, 0x00});
    return Bytes{};
  };
  bench.enumerate();
  check.precondition(!first, "the device is asked for its EID");
  check.that(asked.eid() != 0x44 && asked.eid() != 0, "a response from another address is not taken for the device's", words(asked.eid()));
  check.that(asked.requests_of(Command::get_endpoint_id).size() >= 2, "the device is asked again");
}

CONFORMANCE_CASE(eids_run_out, "mctp.bus.eid.exhausted", roles::bus, over_buses, arranged("an owner of two EIDs", &two_eids)) {
  std::vector<PlayedDevice*> devices = {&bench.device()};
  for (int i = 0; i < 3; ++i) devices.push_back(&bench.add_device());
  const mctp::EnumerationReport report = bench.enumerate();
  std::multiset<mctp::Eid> eids;
  for (PlayedDevice* device : devices) eids.insert(device->eid());
  check.equal("devices without an EID", eids.count(0), std::size_t{2});
  const mctp::Eid first = bench.product().owner().options().pool_first;
  check.equal("EIDs that were given", std::vector<mctp::Eid>(eids.upper_bound(0), eids.end()),
              std::vector<mctp::Eid>{first, static_cast<mctp::Eid>(first + 1)});
  // Discovery comes to the same device several times.
  check.that(report.no_eid_left >= 2, "devices for which there was no EID are counted", words(report.no_eid_left));
  check.equal("devices known", bench.known().size(), 2u);
}

CONFORMANCE_CASE(eids_that_nobody_took_are_given_to_others, "mctp.bus.eid.returned", roles::bus, over_buses,
                 arranged("an owner of two EIDs", &two_eids)) {
  constexpr mctp::Eid kOwn = 0xD0;
  const mctp::Eid first = bench.product().owner().options().pool_first;
  PlayedDevice &one = bench.device(), &other = bench.add_device(), &third = bench.add_device();
  // Takes none of those that it is offered: it says success with another EID, then a rejection.
  for (const std::uint8_t status : {std::uint8_t{0x00}, std::uint8_t{0x10}}) {
    one.script = [status](const SeenMessage& request, Bytes good) {
      if (static_cast<Command>(request.body[2]) != Command::set_endpoint_id) return good;
      good[4] = status;
      good[5] = kOwn;
      return good;
    };
    bench.enumerate();
    check.equal("entries for the EID that the device has", bench.known().count(kOwn), 1u);
  }
  std::vector<mctp::Eid> others = {other.eid(), third.eid()};
  std::sort(others.begin(), others.end());
  check.equal("EIDs of the other devices", others, std::vector<mctp::Eid>{first, static_cast<mctp::Eid>(first + 1)});
}

CONFORMANCE_CASE(the_eid_of_the_owner_is_nobody_elses, "mctp.bus.eid.range", roles::bus) {
  const mctp::Eid owner = bench.product().owner().eid();
  // The device has that EID already, as a static one.
  bench.device().script = [owner](const SeenMessage& request, Bytes good) {
    if (static_cast<Command>(request.body[2]) != Command::get_endpoint_id || good[4] != mctp::kNullEid) return good;
    good[4] = owner;
    good[5] = 0x02;
    return good;
  };
  bench.enumerate();
  const auto eids = given(bench.device());
  check.require(!eids.empty(), "the device is given an EID", "it is not");
  for (const mctp::Eid eid : eids) {
    check.that(eid != owner && eid >= mctp::kFirstEid && eid != mctp::kBroadcastEid, "it is another one than the owner's", words(eid));
  }
}

CONFORMANCE_CASE(the_last_eid_is_254, "mctp.bus.eid.exhausted", roles::bus, over_buses, arranged("an owner of the last EIDs", &last_eids)) {
  std::vector<PlayedDevice*> devices = {&bench.device()};
  for (int i = 0; i < 4; ++i) devices.push_back(&bench.add_device());
  bench.enumerate();
  std::multiset<mctp::Eid> eids;
  for (PlayedDevice* device : devices) eids.insert(device->eid());
  check.equal("EIDs that were given", std::vector<mctp::Eid>(eids.upper_bound(0), eids.end()), std::vector<mctp::Eid>{0xFC, 0xFD, 0xFE});
}

}  // namespace fb::conformance
