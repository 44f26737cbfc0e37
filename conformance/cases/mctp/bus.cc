// What the owner of a bus asks of the devices on it, and what it makes of their answers.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "conformance/runner/bus_bench.h"

namespace fb::conformance {
namespace {

using mctp::control::Command;

bool is(const SeenMessage& request, Command command) { return request.body[2] == static_cast<std::uint8_t>(command); }

/// The good answer with the data behind its completion code replaced.
Bytes with_data(Bytes good, std::initializer_list<std::uint8_t> data) {
  good.resize(4);
  good[3] = 0x00;
  good.insert(good.end(), data.begin(), data.end());
  return good;
}
/// An answer that says no more than a completion code.
Bytes refusal(const SeenMessage& request, std::uint8_t code) {
  return Bytes{0x00, static_cast<std::uint8_t>(request.body[1] & 0x1F), request.body[2], code};
}

/// The device has been given an EID: the scene of most cases.
void enumerated(BusBench& bench, Check& check) {
  bench.enumerate();
  check.precondition(!bench.device().requests_of(Command::set_endpoint_id).empty(), "the device is given an EID");
}

/// What was asked of a device after it has its EID.
std::vector<const SeenMessage*> after_assignment(const PlayedDevice& device) {
  std::vector<const SeenMessage*> found;
  bool assigned = false;
  for (const SeenMessage& request : device.requests()) {
    const bool to_it = request.destination != mctp::kBroadcastEid && !is(request, Command::set_endpoint_id);
    if (assigned && to_it) found.push_back(&request);
    assigned = assigned || is(request, Command::set_endpoint_id);
  }
  return found;
}

}  // namespace

CONFORMANCE_CASE(control_requests_of_the_owner_are_sound, "mctp.bus.request.form", roles::bus) {
  bench.device().types = {4, 0x7E};
  bench.device().script = [](const SeenMessage& request, Bytes good) {
    if (!is(request, Command::get_vendor_support)) return good;
    return with_data(std::move(good), {0xFF, 0x00, 0x12, 0x34, 0x00, 0x01});
  };
  bench.enumerate();
  const auto& faults = bench.device().raw().faults();
  check.that(faults.empty(), "every packet of the owner is sound", faults.empty() ? "" : faults.front());
  check.require(!bench.device().requests().empty(), "the owner asks the device");
  for (const SeenMessage& request : bench.device().requests()) {
    const std::string what = "request " + words(request.body[2]);
    check.equal("byte 0 of " + what, request.body[0], 0x00);
    check.equal("Rq, D and reserved bit of " + what, request.body[1] & 0xE0, 0x80);
    check.that(request.owner, "the owner of the bus owns the tag of " + what);
    check.equal("packets of " + what, request.packets.size(), 1u);
    check.that(request.body.size() <= 64, what + " has at most 64 bytes");
  }
}

CONFORMANCE_CASE(a_request_without_answer_is_repeated, "mctp.bus.request.retry", roles::bus) {
  bench.device().script = [](const SeenMessage& request, Bytes good) {
    if (!is(request, Command::get_message_type_support)) return good;
    return Bytes{};
  };
  enumerated(bench, check);
  const auto tries = bench.device().requests_of(Command::get_message_type_support);
  check.require(!tries.empty(), "the message types are asked for");
  check.that(tries.size() >= 3, "a request is tried three times or more", std::to_string(tries.size()) + " tries");
  for (const SeenMessage* one : tries) check.bytes("a request that is sent again", one->body, tries.front()->body);
}

CONFORMANCE_CASE(a_request_is_repeated_in_time, "mctp.bus.request.patience", roles::bus) {
  bench.device().script = [](const SeenMessage& request, Bytes good) {
    if (!is(request, Command::get_message_type_support)) return good;
    return Bytes{};
  };
  enumerated(bench, check);
  const auto tries = bench.device().requests_of(Command::get_message_type_support);
  check.require(tries.size() >= 2, "a request is tried again");
  const Duration least = bench.medium() == "pcie" ? Duration::ms(126) : Duration::ms(200);
  for (std::size_t i = 1; i < tries.size(); ++i) {
    const Duration gap = tries[i]->last - tries[i - 1]->last;
    check.that(gap >= least, "the next try comes after the time for an answer", to_string(gap));
  }
}

CONFORMANCE_CASE(answers_to_other_requests_are_not_taken, "mctp.bus.response.matched", roles::bus) {
  // Each in turn is wrong in one way; what it says would be seen in what the owner knows.
  for (const unsigned wrong : {0u, 1u, 2u, 3u}) {
    bool first = true;
    bench.device().script = [&](const SeenMessage& request, Bytes good) {
      if (!is(request, Command::get_message_type_support) || !first) return good;
      first = false;
      Bytes bad = with_data(std::move(good), {0x01, 0x7D});
      if (wrong == 0) bad[1] = static_cast<std::uint8_t>((bad[1] + 7) & 0x1F);
      if (wrong == 1) bad[2] = static_cast<std::uint8_t>(Command::get_vendor_support);
      if (wrong == 2) bad[1] |= 0x80;
      if (wrong == 3) bad[1] |= 0x40;
      return bad;
    };
    enumerated(bench, check);
    const auto known = bench.known().find(bench.device().eid());
    check.require(known != bench.known().end(), "the device is known");
    check.equal("types that were believed of a response to something else",
                std::count(known->second.types.begin(), known->second.types.end(), 0x7D), 0);
  }
}

CONFORMANCE_CASE(who_has_no_eid_is_spoken_to_by_address, "mctp.bus.eid.physical", roles::bus) {
  enumerated(bench, check);
  for (const SeenMessage& request : bench.device().requests()) {
    const bool broadcast = is(request, Command::prepare_for_discovery) || is(request, Command::endpoint_discovery);
    if (!broadcast) check.equal("destination EID of " + words(request.body[2]) + " before there is one", request.destination, 0);
    if (is(request, Command::set_endpoint_id)) break;
  }
}

CONFORMANCE_CASE(each_device_gets_an_eid_of_its_own, "mctp.bus.eid.range", roles::bus, over_buses) {
  std::vector<PlayedDevice*> devices = {&bench.device()};
  for (int i = 0; i < 4; ++i) devices.push_back(&bench.add_device());
  bench.enumerate();
  std::set<mctp::Eid> given;
  for (PlayedDevice* device : devices) {
    const auto set = device->requests_of(Command::set_endpoint_id);
    check.require(!set.empty() && set.front()->body.size() == 5, "every device is given an EID");
    const mctp::Eid eid = set.front()->body[4];
    check.between("an EID that is given", unsigned{eid}, 8u, 254u);
    check.that(given.insert(eid).second, "no EID is given twice", words(eid));
    check.that(eid != set.front()->source, "the owner's own EID is not given", words(eid));
    check.that(set.front()->body[3] <= 1, "the operation is Set or Force", words(set.front()->body[3]));
  }
}

CONFORMANCE_CASE(one_device_gets_a_good_eid, "mctp.bus.eid.range", roles::bus) {
  enumerated(bench, check);
  const SeenMessage& set = *bench.device().requests_of(Command::set_endpoint_id).front();
  check.between("the EID that is given", unsigned{set.body[4]}, 8u, 254u);
  check.that(set.body[4] != set.source, "it is not the owner's own");
}

CONFORMANCE_CASE(the_eid_that_a_device_took_counts, "mctp.bus.eid.returned", roles::bus) {
  bench.device().script = [](const SeenMessage& request, Bytes good) {
    if (!is(request, Command::set_endpoint_id)) return good;
    return with_data(std::move(good), {0x00, 0x50, 0x00});
  };
  enumerated(bench, check);
  const auto later = after_assignment(bench.device());
  check.require(!later.empty(), "the device is asked further");
  for (const SeenMessage* request : later) check.equal("destination of " + words(request->body[2]), request->destination, 0x50);
  check.equal("entries for the EID that was taken", bench.known().count(0x50), 1u);
}

CONFORMANCE_CASE(eids_that_cannot_be_are_not_used, "mctp.bus.eid.unusable", roles::bus) {
  for (const unsigned said : {0x00u, 0x01u, 0x05u, 0x07u, 0xFFu}) {
    const auto eid = static_cast<std::uint8_t>(said);
    bench.device().script = [eid](const SeenMessage& request, Bytes good) {
      if (!is(request, Command::set_endpoint_id)) return good;
      return with_data(std::move(good), {0x00, eid, 0x00});
    };
    enumerated(bench, check);
    check.equal(fmt::format("entries for EID {:02X}h, which the device says it took", said), bench.known().count(eid), 0u);
    for (const SeenMessage* request : after_assignment(bench.device())) {
      if (said == 0) break;  // that is how a device without an EID is spoken to
      check.that(request->destination != eid, fmt::format("no request to EID {:02X}h", said), words(request->body[2]));
    }
  }
}

CONFORMANCE_CASE(the_eid_that_a_device_kept_counts, "mctp.bus.eid.rejected", roles::bus) {
  bench.device().script = [](const SeenMessage& request, Bytes good) {
    if (!is(request, Command::set_endpoint_id)) return good;
    return with_data(std::move(good), {0x10, 0x44, 0x00});
  };
  enumerated(bench, check);
  for (const SeenMessage* request : after_assignment(bench.device())) {
    check.equal("destination of " + words(request->body[2]), request->destination, 0x44);
  }
  const auto offered = bench.device().requests_of(Command::set_endpoint_id).front()->body[4];
  check.equal("entries for the EID that was rejected", bench.known().count(offered), offered == 0x44 ? 1u : 0u);
}

CONFORMANCE_CASE(static_twins_are_told_apart, "mctp.bus.eid.static-twins", roles::bus, over_buses) {
  const auto twin = [](const SeenMessage& request, Bytes good) {
    // Of static EID 30h, which it has.
    if (!is(request, Command::get_endpoint_id)) return good;
    return with_data(std::move(good), {0x30, 0x02, 0x00});
  };
  PlayedDevice& other = bench.add_device();
  bench.device().script = twin;
  other.script = twin;
  bench.enumerate();
  check.that(bench.device().eid() != 0 && other.eid() != 0, "both devices are given an EID");
  check.that(bench.device().eid() != other.eid(), "they are different", words(other.eid()));
}

CONFORMANCE_CASE(an_eid_rests_before_another_gets_it, "mctp.bus.eid.reclaim", roles::bus, over_smbus) {
  enumerated(bench, check);
  const mctp::Eid gone = bench.device().eid();
  bench.device().script = [](const SeenMessage&, const Bytes&) { return Bytes{}; };
  const Instant lost = bench.world().now();
  bench.enumerate();
  PlayedDevice& newcomer = bench.add_device();
  bench.enumerate();
  const auto given = newcomer.requests_of(Command::set_endpoint_id);
  check.require(!given.empty(), "the newcomer is given an EID");
  const bool soon = given.front()->last - lost < Duration::s(5);
  check.precondition(soon, "it is given one within five seconds");
  check.that(given.front()->body[4] != gone, "it is not that of the device that has gone", words(gone));
}

CONFORMANCE_CASE(a_silent_device_stands_in_nobodys_way, "mctp.bus.silent-device", roles::bus, over_smbus) {
  const auto silent = [](const SeenMessage&, const Bytes&) { return Bytes{}; };
  bench.device().script = silent;
  for (int i = 0; i < 5; ++i) bench.add_device().script = silent;
  std::vector<PlayedDevice*> others;
  for (int i = 0; i < 3; ++i) others.push_back(&bench.add_device());
  bench.enumerate();
  for (PlayedDevice* other : others) check.that(other->eid() != 0, "a device beside a silent one is given its EID");
  check.equal("devices known", bench.known().size(), others.size());
}

CONFORMANCE_CASE(types_are_as_many_as_they_say, "mctp.bus.types.exact", roles::bus) {
  for (const bool more : {false, true}) {
    bench.device().script = [&](const SeenMessage& request, Bytes good) {
      if (!is(request, Command::get_message_type_support)) return good;
      if (more) return with_data(std::move(good), {0x01, 0x7D, 0x06});
      return with_data(std::move(good), {0x03, 0x7D});
    };
    enumerated(bench, check);
    const auto known = bench.known().find(bench.device().eid());
    check.require(known != bench.known().end(), "the device is known");
    check.equal("types that were believed of a list of another length", known->second.types.size(), 0u);
  }
}

CONFORMANCE_CASE(a_device_needs_no_uuid, "mctp.bus.uuid.optional", roles::bus) {
  constexpr std::uint8_t kCodes[] = {0x05, 0x01, 0x00};
  for (const std::uint8_t code : kCodes) {
    bench.device().script = [&](const SeenMessage& request, Bytes good) {
      if (!is(request, Command::get_endpoint_uuid)) return good;
      return refusal(request, code);
    };
    enumerated(bench, check);
    const auto known = bench.known().find(bench.device().eid());
    const std::string what = "the device that answers Get Endpoint UUID with code " + words(code) + " alone";
    if (!check.that(known != bench.known().end(), what + " is known")) continue;
    check.equal("its message types", known->second.types == std::vector<std::uint8_t>{4}, true);
    check.that(!known->second.uuid.has_value(), "it has no UUID");
  }
}

CONFORMANCE_CASE(zeros_are_no_identity, "mctp.bus.uuid.nil", roles::bus) {
  bench.device().script = [](const SeenMessage& request, Bytes good) {
    if (!is(request, Command::get_endpoint_uuid)) return good;
    good.assign(20, 0);
    good[1] = static_cast<std::uint8_t>(request.body[1] & 0x1F);
    good[2] = request.body[2];
    return good;
  };
  enumerated(bench, check);
  const auto known = bench.known().find(bench.device().eid());
  check.require(known != bench.known().end(), "the device is known");
  check.that(!known->second.uuid.has_value(), "a UUID of zeros is no UUID");
}

CONFORMANCE_CASE(selectors_that_do_not_rise_end, "mctp.bus.vendors.bounded", roles::bus) {
  bench.device().types = {4, 0x7E};
  unsigned asked = 0;
  bench.device().script = [&](const SeenMessage& request, Bytes good) {
    if (!is(request, Command::get_vendor_support)) return good;
    // Enough is enough: from then on it is silent, so that the case has an end.
    if (++asked > 100) return Bytes{};
    return with_data(std::move(good), {0x01, 0x00, 0x12, 0x34, 0x00, 0x01});
  };
  enumerated(bench, check);
  check.that(asked >= 1, "vendor support is asked for");
  check.that(asked <= 8, "selectors that repeat are not followed", std::to_string(asked) + " requests");
}

CONFORMANCE_CASE(discovery_comes_before_assignment, "mctp.vdm.bus.discovery", roles::bus) {
  enumerated(bench, check);
  const auto& requests = bench.device().requests();
  const auto at = [&](Command command) {
    return std::find_if(requests.begin(), requests.end(), [&](const SeenMessage& one) { return is(one, command); });
  };
  const auto prepare = at(Command::prepare_for_discovery), discover = at(Command::endpoint_discovery);
  const auto set = at(Command::set_endpoint_id);
  check.require(prepare != requests.end() && discover != requests.end(), "Prepare and Endpoint Discovery are sent");
  check.that(prepare < discover && discover < set, "Prepare comes first, then Endpoint Discovery, then Set Endpoint ID");
  check.equal("destination of Prepare for Endpoint Discovery", prepare->destination, 0xFF);
  check.equal("destination of Endpoint Discovery", discover->destination, 0xFF);
}

}  // namespace fb::conformance
