// What the owner of a bus answers to the devices on it: who it is, who else is there, and how they are reached.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/cases/mctp/owner_exchange.h"

namespace fb::conformance {
namespace {

using mctp::control::Command;
using mctp::control::Completion;

OwnerAnswer ask(BusBench& bench, Command command, const Bytes& data = {}) { return ask(bench.device(), command, data); }

/// Devices that were found, ours the first of them. On a serial line there is one. As many as fill two answers of the
/// routing table; the twelfth would have an address that SMBus keeps.
std::vector<PlayedDevice*> found_devices(BusBench& bench, Check& check, unsigned further = 10) {
  std::vector<PlayedDevice*> devices = {&bench.device()};
  for (unsigned i = 0; i < further && bench.medium() != "serial"; ++i) devices.push_back(&bench.add_device());
  bench.enumerate();
  for (PlayedDevice* device : devices) check.precondition(device->eid() != 0, "every device is given an EID");
  return devices;
}

mctp::Eid owner_eid(BusBench& bench) { return bench.device().requests_of(Command::set_endpoint_id).front()->source; }

}  // namespace

CONFORMANCE_CASE(an_owner_says_what_it_is, "mctp.bus.owner.identity", roles::bus) {
  found_devices(bench, check, 0);
  const OwnerAnswer answer = ask(bench, Command::get_endpoint_id);
  if (!succeeds(check, answer, "Get Endpoint ID of the owner")) return;
  check.require(answer.data().size() == 3, "it says three bytes", words(answer.data().size()));
  check.equal("EID, under which its requests came", answer.data()[0], owner_eid(bench));
  check.equal("endpoint type: bridge or bus owner", answer.data()[1] >> 4 & 3, 1);
  check.equal("reserved bits", answer.data()[1] & 0xCC, 0);
}

namespace {

/// Each device has an entry that is right, and nobody else has one.
void table_is_right(BusBench& bench, Check& check) {
  const std::vector<PlayedDevice*> devices = found_devices(bench, check);
  std::map<unsigned, Route> by_eid;
  for (const Route& one : routing_table(bench.device(), check)) {
    if (one.size != 1) continue;
    check.that(by_eid.emplace(one.first, one).second, "an EID has one entry", fmt::format("EID {} again", one.first));
  }
  for (PlayedDevice* device : devices) {
    const std::string of = fmt::format(" of EID {}", device->eid());
    const auto found = by_eid.find(device->eid());
    if (!check.that(found != by_eid.end(), "there is an entry" + of, "none")) continue;
    check.equal("entry type" + of, found->second.type, 0u);
    check.equal("binding" + of, found->second.binding, unsigned{binding_id(bench.medium())});
    check.equal("physical medium" + of, found->second.medium, unsigned{medium_id(bench.medium())});
    check.bytes("physical address" + of, found->second.address, address_of(*device));
  }
  for (const auto& [eid, route] : by_eid) {
    const bool known = std::any_of(devices.begin(), devices.end(), [&](PlayedDevice* one) { return one->eid() == eid; });
    check.that(known || eid == owner_eid(bench), "no entry is of an EID that nobody has", words(eid));
  }
}

}  // namespace

CONFORMANCE_CASE(the_routing_table_has_every_device, "mctp.bus.owner.routing", roles::bus, over_buses) { table_is_right(bench, check); }

CONFORMANCE_CASE(the_routing_table_names_the_serial_line, "mctp.bus.owner.routing.serial", roles::bus, transports{"serial"}) {
  table_is_right(bench, check);
}

CONFORMANCE_CASE(handles_that_are_none_are_refused, "mctp.bus.owner.routing.handle", roles::bus) {
  found_devices(bench, check, 2);
  const std::size_t entries = routing_table(bench.device(), check).size();
  for (const std::size_t handle : {entries, entries + 1, std::size_t{0x80}, std::size_t{0xFE}}) {
    refused(check, ask(bench, Command::get_routing_table, {static_cast<std::uint8_t>(handle)}), Completion::invalid_data,
            fmt::format("handle {} of a table of {}", handle, entries));
  }
}

CONFORMANCE_CASE(eids_are_resolved, "mctp.bus.owner.resolve", roles::bus) {
  for (PlayedDevice* device : found_devices(bench, check)) {
    const OwnerAnswer answer = ask(bench, Command::resolve_endpoint_id, {device->eid()});
    const std::string what = fmt::format("Resolve Endpoint ID {}", device->eid());
    if (!succeeds(check, answer, what)) continue;
    check.require(!answer.data().empty(), what + " says an EID", answer.describe());
    // An owner may have the devices of its bus go through it.
    const bool through = answer.data()[0] == owner_eid(bench);
    check.equal("the bridge that leads to it: itself, or the owner", answer.data()[0], one_of(device->eid(), owner_eid(bench)));
    const Bytes owner = bytes_of(bench.device().requests_of(Command::set_endpoint_id).front()->from);
    check.bytes("its physical address", answer.data().subspan(1), through ? owner : address_of(*device));
  }
  for (const std::uint8_t nobody : {std::uint8_t{0xE7}, std::uint8_t{0x00}, std::uint8_t{0xFF}}) {
    const OwnerAnswer answer = ask(bench, Command::resolve_endpoint_id, {nobody});
    check.that(answer.answered() && !answer.ok(), fmt::format("Resolve Endpoint ID {}, which nobody has, fails", nobody),
               answer.describe());
  }
}

CONFORMANCE_CASE(hops_lead_to_their_target, "mctp.bus.owner.hop", roles::bus) {
  std::vector<mctp::Eid> here;
  for (PlayedDevice* device : found_devices(bench, check, 5)) here.push_back(device->eid());
  here.push_back(owner_eid(bench));
  for (const mctp::Eid eid : here) {
    for (const std::uint8_t type : {std::uint8_t{0x04}, std::uint8_t{0x7E}}) {
      const OwnerAnswer answer = ask(bench, Command::query_hop, {eid, type});
      const std::string what = fmt::format("Query Hop to EID {}", eid);
      if (!succeeds(check, answer, what)) continue;
      check.require(answer.data().size() == 6, what + " says six bytes", words(answer.data().size()));
      check.equal("next bridge on the way from the same bus: none", answer.data()[0], 0);
      check.equal("message type", answer.data()[1], one_of(unsigned{type}, 0xFFu));
      check.that(load_be<std::uint16_t>(answer.data().data() + 2) < 0x400 && load_be<std::uint16_t>(answer.data().data() + 4) < 0x400,
                 "units are counted in steps of 16 bytes above 64", words(Bytes(answer.data().begin(), answer.data().end())));
    }
  }
  for (const std::uint8_t nowhere : {std::uint8_t{0x00}, std::uint8_t{0xFF}, std::uint8_t{0xE7}}) {
    refused(check, ask(bench, Command::query_hop, {nowhere, 4}), Completion::invalid_data, fmt::format("Query Hop to EID {}", nowhere));
  }
}

CONFORMANCE_CASE(uuids_are_resolved, "mctp.bus.owner.resolve-uuid", roles::bus) {
  const auto resolve = [&](const mctp::control::Uuid& uuid, std::uint8_t handle) {
    Bytes data(uuid.begin(), uuid.end());
    data.push_back(handle);
    return ask(bench, Command::resolve_uuid, data);
  };
  for (PlayedDevice* device : found_devices(bench, check, 6)) {
    const OwnerAnswer answer = resolve(device->uuid(), 0);
    if (answer.completion() == Completion::unsupported_command && answer.answered()) {
      check.inconclusive("Resolve UUID is not supported");
    }
    const std::string what = fmt::format("Resolve UUID of EID {}", device->eid());
    if (!succeeds(check, answer, what)) continue;
    const Bytes address = address_of(*device);
    const auto length = static_cast<std::uint8_t>(address.size());
    Bytes expected = {0xFF, 0x01, device->eid(), binding_id(bench.medium()), medium_id(bench.medium()), length};
    expected.insert(expected.end(), address.begin(), address.end());
    check.bytes(what, answer.data(), expected);
  }
  mctp::control::Uuid unknown = bench.device().uuid();
  unknown[15] ^= 0x80;
  const OwnerAnswer answer = resolve(unknown, 0);
  check.that(!answer.ok() || (answer.data().size() >= 2 && answer.data()[1] == 0), "a UUID that differs in a bit is nobody's",
             answer.describe());
}

CONFORMANCE_CASE(a_topmost_owner_is_given_no_eids, "mctp.bus.owner.allocate", roles::bus) {
  found_devices(bench, check, 0);
  for (const std::uint8_t operation : {std::uint8_t{0}, std::uint8_t{1}}) {
    const OwnerAnswer answer = ask(bench, Command::allocate_endpoint_ids, {operation, 4, 0x80});
    if (!check.that(answer.answered(), "Allocate Endpoint IDs is answered", answer.describe())) continue;
    check.that(!answer.ok() || (answer.data().size() >= 1 && (answer.data()[0] & 3) == 1),
               "EIDs of a device are not accepted by the topmost owner", answer.describe());
  }
  refused(check, ask(bench, Command::allocate_endpoint_ids, {3, 4, 0x80}), Completion::invalid_data, "operation 3");
}

CONFORMANCE_CASE(owners_look_at_lengths_too, "mctp.bus.owner.length", roles::bus) {
  found_devices(bench, check, 0);
  struct Wrong {
    Command command;
    std::vector<std::size_t> sizes;
  };
  const Wrong all[] = {
      {Command::set_endpoint_id, {0, 1, 3}},      {Command::get_endpoint_id, {1, 8}},
      {Command::get_version_support, {0, 2}},     {Command::get_message_type_support, {1, 4}},
      {Command::resolve_endpoint_id, {0, 2, 9}},  {Command::allocate_endpoint_ids, {0, 2, 4, 9}},
      {Command::routing_information_update, {0}}, {Command::get_routing_table, {0, 2, 4}},
      {Command::query_hop, {0, 1, 3, 4}},         {Command::resolve_uuid, {0, 1, 16, 18}},
  };
  for (const Wrong& one : all) {
    for (const std::size_t size : one.sizes) {
      const OwnerAnswer answer = ask(bench, one.command, Bytes(size, one.command == Command::set_endpoint_id ? 0x21 : 0x00));
      if (answer.answered() && answer.completion() == Completion::unsupported_command) continue;
      refused(check, answer, Completion::invalid_length,
              fmt::format("{} with {} bytes of data", mctp::control::name_of(one.command), size));
    }
  }
  // A count that is not that of the entries behind it.
  const Bytes entry = {0x00, 0x01, 0xE0};
  for (const std::uint8_t count : {std::uint8_t{0}, std::uint8_t{2}}) {
    Bytes data = {count};
    data.insert(data.end(), entry.begin(), entry.end());
    data.resize(data.size() + bench.device().raw().binding().address().size);
    refused(check, ask(bench, Command::routing_information_update, data), Completion::invalid_length,
            fmt::format("Routing Information Update of one entry that counts {}", count));
  }
}

CONFORMANCE_CASE(who_has_gone_is_in_no_table, "mctp.bus.owner.gone", roles::bus, over_buses) {
  const std::vector<PlayedDevice*> devices = found_devices(bench, check, 2);
  const mctp::Eid gone = devices[1]->eid();
  check.precondition(ask(bench, Command::resolve_endpoint_id, {gone}).ok(), "its EID is resolved");
  devices[1]->script = [](const SeenMessage&, const Bytes&) { return Bytes{}; };
  bench.enumerate();
  check.precondition(bench.known().count(gone) == 0, "the owner has noticed that it is gone");
  for (const Route& one : routing_table(bench.device(), check)) {
    check.that(gone < one.first || gone >= one.first + one.size, "no entry covers the EID of a device that has gone", words(gone));
  }
  check.that(!ask(bench, Command::resolve_endpoint_id, {gone}).ok(), "its EID is no longer resolved");
  for (PlayedDevice* stays : {devices[0], devices[2]}) {
    check.that(ask(bench, Command::resolve_endpoint_id, {stays->eid()}).ok(), "those that are there are resolved");
  }
}

CONFORMANCE_CASE(who_was_reset_gets_its_eid_again, "mctp.bus.eid.again", roles::bus) {
  const std::vector<PlayedDevice*> devices = found_devices(bench, check, 3);
  std::vector<mctp::Eid> had;
  for (PlayedDevice* device : devices) had.push_back(device->eid());
  // The others keep theirs: what is free meanwhile must not go to the one that lost its own.
  devices.back()->raw().set_eid(mctp::kNullEid);
  bench.enumerate();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    check.equal(fmt::format("EID of device {} after one was reset", i + 1), devices[i]->eid(), had[i]);
  }
}

CONFORMANCE_CASE(new_requests_have_new_instances, "mctp.bus.request.instance", roles::bus) {
  found_devices(bench, check, 0);
  std::optional<unsigned> last;
  for (const SeenMessage& request : bench.device().requests()) {
    if (request.destination == mctp::kBroadcastEid) continue;
    const unsigned instance = request.body[1] & 0x1Fu;
    const bool to_its_eid = request.destination != mctp::kNullEid;
    if (last && to_its_eid) {
      check.that(instance != *last, "a new request has another instance ID than the one before it",
                 fmt::format("{} in both, the second being {:02X}h", instance, request.body[2]));
    }
    if (to_its_eid) last = instance;
  }
  check.precondition(last.has_value(), "the device is asked by its EID");
}

CONFORMANCE_CASE(what_devices_say_is_known_as_said, "mctp.bus.devices", roles::bus) {
  // Four versions, three types of which one is a vendor's, three sets of vendors.
  const Bytes versions = {0x04, 0xF1, 0xF0, 0xFF, 0x00, 0xF1, 0xF1, 0xFF, 0x00, 0xF1, 0xF2, 0xFF, 0x00, 0xF1, 0xF3, 0xF1, 0x61};
  bench.device().types = {0x01, 0x04, 0x7F};
  bench.device().script = [&](const SeenMessage& request, Bytes good) {
    const auto with = [&](Bytes data) {
      good.resize(4);
      good[3] = 0x00;
      good.insert(good.end(), data.begin(), data.end());
      return good;
    };
    const auto command = static_cast<Command>(request.body[2]);
    if (command == Command::get_version_support && request.body.size() == 4 && request.body[3] == 0xFF) return with(versions);
    if (command != Command::get_vendor_support || request.body.size() != 4) return good;
    if (request.body[3] == 0) return with({0x01, 0x00, 0x12, 0x34, 0x56, 0x78});
    if (request.body[3] == 1) return with({0x02, 0x01, 0x00, 0x01, 0x86, 0xA1, 0x02, 0x03});
    return with({0xFF, 0x00, 0xAB, 0xCD, 0x00, 0x09});
  };
  found_devices(bench, check, 0);
  const auto found = bench.known().find(bench.device().eid());
  check.require(found != bench.known().end(), "the device is known");
  const mctp::KnownEndpoint& known = found->second;
  check.equal("message types", known.types, std::vector<std::uint8_t>{0x01, 0x04, 0x7F});
  check.that(known.uuid == bench.device().uuid(), "its UUID");
  check.equal("versions of the base specification", known.versions.size(), 4u);
  if (known.versions.size() == 4) {
    check.that(known.versions[0] == mctp::control::Version{0xF1, 0xF0, 0xFF, 0x00} &&
                   known.versions[3] == mctp::control::Version{0xF1, 0xF3, 0xF1, 0x61},
               "the first and the last of them");
  }
  check.require(known.vendors.size() == 3, "three sets of vendors", words(known.vendors.size()));
  const std::pair<std::uint32_t, std::uint16_t> expected[] = {{0x1234, 0x5678}, {0x000186A1, 0x0203}, {0xABCD, 0x0009}};
  for (std::size_t i = 0; i < 3; ++i) {
    check.equal(fmt::format("format of vendor {}", i), static_cast<unsigned>(known.vendors[i].format), i == 1 ? 1u : 0u);
    check.equal(fmt::format("vendor {}", i), known.vendors[i].vendor, expected[i].first);
    check.equal(fmt::format("command set of vendor {}", i), known.vendors[i].command_set, expected[i].second);
  }
}

}  // namespace fb::conformance
