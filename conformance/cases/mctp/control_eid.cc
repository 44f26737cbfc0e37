// Set Endpoint ID and Get Endpoint ID.
#include <fmt/format.h>

#include "conformance/cases/mctp/exchange.h"

namespace fb::conformance {
namespace {

using mctp::control::SetOperation;

/// Set Endpoint ID to the physical address.
ControlAnswer set_eid(EndpointBench& bench, SetOperation operation, mctp::Eid eid, std::uint8_t instance = 3) {
  return bench.control(Command::set_endpoint_id, {static_cast<std::uint8_t>(operation), eid},
                       {.instance = instance, .destination = mctp::kNullEid});
}

/// What Get Endpoint ID says, asked at the physical address; INCONCLUSIVE when it says nothing.
Bytes get_eid(EndpointBench& bench, Check& check) {
  const ControlAnswer answer = bench.control(Command::get_endpoint_id, {}, {.destination = mctp::kNullEid});
  check.precondition(answer.ok() && answer.data().size() >= 3, "Get Endpoint ID says three bytes");
  return {answer.data().begin(), answer.data().end()};
}
mctp::Eid eid_now(EndpointBench& bench, Check& check) { return get_eid(bench, check)[0]; }

/// Whether the product says that it has a static EID, or had one.
bool has_static(EndpointBench& bench, Check& check) { return (get_eid(bench, check)[1] & 3) != 0; }

/// The EID is accepted, the answer says so in every byte, and it holds.
bool takes(EndpointBench& bench, Check& check, SetOperation operation, mctp::Eid eid) {
  const std::string what = fmt::format("Set Endpoint ID {} to {}", static_cast<unsigned>(operation), eid);
  const ControlAnswer answer = set_eid(bench, operation, eid);
  if (!completion_is(check, answer, Completion::success, what)) return false;
  if (!check.equal("bytes behind the completion code of " + what, answer.data().size(), 3)) return false;
  const bool good = check.equal("assignment status of " + what, answer.data()[0] >> 4 & 3, 0) &&
                    check.equal("EID in the answer to " + what, answer.data()[1], eid);
  return check.equal("EID that the product has after " + what, eid_now(bench, check), eid) && good;
}

}  // namespace

namespace {

/// With whatever error: one of them is only recommended.
void is_refused(Check& check, const ControlAnswer& answer, const std::string& what) {
  check.that(answer.answered() && !answer.ok(), what + " is refused", answer.describe());
}

}  // namespace

CONFORMANCE_CASE(every_good_eid_can_be_assigned, "mctp.control.set-eid.accepted", roles::endpoint, needs(packets), as_found) {
  for (unsigned eid = mctp::kFirstEid; eid < mctp::kBroadcastEid; ++eid) {
    if (!takes(bench, check, SetOperation::set, static_cast<mctp::Eid>(eid))) return;
  }
  const ControlAnswer at_its_eid = bench.control(Command::get_endpoint_id, {}, {.destination = mctp::Eid{0xFE}});
  completion_is(check, at_its_eid, Completion::success, "a request to the EID that was assigned");
}

CONFORMANCE_CASE(a_simple_endpoint_has_no_pool, "mctp.control.set-eid.pool", roles::endpoint, needs(packets), as_found) {
  const ControlAnswer answer = set_eid(bench, SetOperation::force, 0x30);
  check.require(answer.ok() && answer.data().size() == 3, "Set Endpoint ID is answered in three bytes", answer.describe());
  if ((get_eid(bench, check)[1] >> 4 & 3) != 0) check.inconclusive("the product is a bridge");
  check.equal("EID pool allocation status", answer.data()[0] & 3, 0);
  check.equal("EID pool size", answer.data()[2], 0);
}

CONFORMANCE_CASE(reserved_bits_of_set_endpoint_id_are_zero, "mctp.control.set-eid.reserved", roles::endpoint, needs(packets), as_found) {
  for (const SetOperation operation : {SetOperation::set, SetOperation::force}) {
    const ControlAnswer answer = set_eid(bench, operation, 0x30);
    check.require(answer.ok() && !answer.data().empty(), "Set Endpoint ID is answered", answer.describe());
    check.equal("bits 7, 6, 3 and 2 of the status", answer.data()[0] & 0xCC, 0);
  }
}

CONFORMANCE_CASE(the_null_eid_cannot_be_assigned, "mctp.control.set-eid.null", roles::endpoint, needs(packets)) {
  for (const SetOperation operation : {SetOperation::set, SetOperation::force}) {
    is_refused(check, set_eid(bench, operation, mctp::kNullEid), "Set Endpoint ID to 0");
    check.equal("EID that the product has afterwards", eid_now(bench, check), bench.eid());
  }
  serves(bench, check, "a request to the EID that it has kept");
}

CONFORMANCE_CASE(the_broadcast_eid_cannot_be_assigned, "mctp.control.set-eid.broadcast", roles::endpoint, needs(packets)) {
  for (const SetOperation operation : {SetOperation::set, SetOperation::force}) {
    is_refused(check, set_eid(bench, operation, mctp::kBroadcastEid), "Set Endpoint ID to 255");
    check.equal("EID that the product has afterwards", eid_now(bench, check), bench.eid());
  }
  serves(bench, check, "a request to the EID that it has kept");
}

CONFORMANCE_CASE(reserved_eids_are_refused_or_held, "mctp.control.set-eid.low", roles::endpoint, needs(packets)) {
  for (mctp::Eid eid = 1; eid < mctp::kFirstEid; ++eid) {
    const mctp::Eid before = eid_now(bench, check);
    const ControlAnswer answer = set_eid(bench, SetOperation::set, eid);
    if (!completion_is(check, answer, one_of(Completion::success, Completion::invalid_data), fmt::format("Set Endpoint ID to {}", eid))) {
      continue;
    }
    check.equal("EID that the product has afterwards", eid_now(bench, check), answer.ok() ? eid : before);
  }
  bench.assign();
  serves(bench, check, "the EID that it was given at last");
}

CONFORMANCE_CASE(an_eid_can_be_forced, "mctp.control.set-eid.force", roles::endpoint, needs(packets), as_found) {
  takes(bench, check, SetOperation::force, 0x41);
  takes(bench, check, SetOperation::force, 0x42);
  takes(bench, check, SetOperation::force, 0x42);
}

CONFORMANCE_CASE(its_owner_can_assign_another_eid, "mctp.control.set-eid.again", roles::endpoint, needs(packets), as_found) {
  // The same owner on the same bus need not force it.
  for (const mctp::Eid eid : octets<0x41, 0x42, 0x42, 0x41>) {
    if (!takes(bench, check, SetOperation::set, eid)) return;
  }
}

CONFORMANCE_CASE(set_endpoint_id_can_be_said_again, "mctp.control.set-eid.retry", roles::endpoint, needs(packets), as_found) {
  const ControlAnswer first = set_eid(bench, SetOperation::set, 0x51, 9);
  if (!completion_is(check, first, Completion::success, "Set Endpoint ID")) return;
  for (int again = 0; again < 2; ++again) {
    const ControlAnswer next = set_eid(bench, SetOperation::set, 0x51, 9);
    if (!completion_is(check, next, Completion::success, "the same Set Endpoint ID once more")) return;
    check.bytes("the answer to it", next.message->body, first.message->body);
  }
  check.equal("EID that the product has", eid_now(bench, check), 0x51);
}

CONFORMANCE_CASE(who_has_no_static_eid_cannot_go_back_to_it, "mctp.control.set-eid.reset", roles::endpoint, needs(packets)) {
  if (has_static(bench, check)) {
    const ControlAnswer answer = set_eid(bench, SetOperation::reset, 0x60);
    if (!completion_is(check, answer, Completion::success, "Set Endpoint ID 2 with a static EID")) return;
    check.equal("bytes behind the completion code", answer.data().size(), 3);
    check.equal("ID type afterwards", get_eid(bench, check)[1] & 3, one_of(1, 2));
    return;
  }
  for (const mctp::Eid eid : octets<0x00, 0x60>) {
    completion_is(check, set_eid(bench, SetOperation::reset, eid), Completion::invalid_data, "Set Endpoint ID 2 without a static EID");
    check.equal("EID that the product has afterwards", eid_now(bench, check), bench.eid());
  }
}

CONFORMANCE_CASE(a_static_eid_comes_back_on_reset, "mctp.control.set-eid.static", roles::endpoint, needs(packets),
                 arranged("a static EID", [](EmbeddedSetup& setup) {
                   setup.managed->drive.node.static_eid = 0x33;
                   setup.managed->assigned = false;
                 })) {
  Bytes said = get_eid(bench, check);
  check.equal("EID from the start", said[0], 0x33);
  check.equal("ID type with the static EID", said[1] & 3, one_of(1, 2));
  takes(bench, check, SetOperation::set, 0x44);
  said = get_eid(bench, check);
  check.equal("ID type with another EID", said[1] & 3, one_of(1, 3));
  const ControlAnswer answer = set_eid(bench, SetOperation::reset, 0);
  if (!completion_is(check, answer, Completion::success, "Set Endpoint ID 2")) return;
  check.require(answer.data().size() == 3, "Set Endpoint ID is answered in three bytes", answer.describe());
  check.equal("EID in the answer", answer.data()[1], 0x33);
  said = get_eid(bench, check);
  check.equal("EID afterwards", said[0], 0x33);
  check.equal("ID type afterwards", said[1] & 3, one_of(1, 2));
}

CONFORMANCE_CASE(a_second_owner_has_to_force_its_eid, "mctp.control.set-eid.second-owner", roles::endpoint, over_buses,
                 arranged("a second bus of the same device", [](EmbeddedSetup& setup) {
                   setup.managed->second_bus = true;
                   setup.managed->assigned = false;
                 })) {
  const mctp::Eid first = 0x31, other = 0x42;
  if (!takes(bench, check, SetOperation::set, first)) return;
  const auto from_second = [&](SetOperation operation) {
    return bench.control_from(bench.second_owner(), Command::set_endpoint_id, {static_cast<std::uint8_t>(operation), other});
  };
  const auto eid_on_second_bus = [&] {
    const ControlAnswer answer = bench.control_from(bench.second_owner(), Command::get_endpoint_id);
    check.precondition(answer.ok() && !answer.data().empty(), "Get Endpoint ID is answered on the second bus");
    return answer.data()[0];
  };
  check.precondition(eid_on_second_bus() == first, "the device has one EID on both buses");
  const ControlAnswer rejected = from_second(SetOperation::set);
  if (completion_is(check, rejected, Completion::success, "Set Endpoint ID of a second owner")) {
    check.require(rejected.data().size() >= 2, "it is answered with a status and an EID", rejected.describe());
    check.equal("assignment status", rejected.data()[0] >> 4 & 3, 1);
    check.equal("EID in the answer", rejected.data()[1], first);
  }
  check.equal("EID on the first bus then", eid_now(bench, check), first);
  check.equal("EID on the second bus then", eid_on_second_bus(), first);
  // A rejected request leaves the EID with its owner, who may set it again.
  if (!takes(bench, check, SetOperation::set, first)) return;
  const ControlAnswer forced = from_second(SetOperation::force);
  if (!completion_is(check, forced, Completion::success, "Set Endpoint ID of a second owner, forced")) return;
  check.equal("EID on the first bus after it was forced on the second", eid_now(bench, check), other);
  // The second owner is whose EID it is from then on.
  const ControlAnswer back = set_eid(bench, SetOperation::set, first);
  if (completion_is(check, back, Completion::success, "Set Endpoint ID of the first owner, when another's was forced")) {
    check.require(back.data().size() >= 2, "it is answered with a status and an EID", back.describe());
    check.equal("assignment status for the first owner then", back.data()[0] >> 4 & 3, 1);
  }
  check.equal("EID after both", eid_on_second_bus(), other);
}

CONFORMANCE_CASE(get_endpoint_id_says_what_was_assigned, "mctp.control.get-eid.value", roles::endpoint, needs(packets)) {
  serves(bench, check, "Get Endpoint ID");
  for (const mctp::Eid eid : octets<0x08, 0x7F, 0x80, 0xFE>) {
    bench.assign(eid);
    serves(bench, check, fmt::format("Get Endpoint ID after {} was assigned", eid));
  }
}

CONFORMANCE_CASE(get_endpoint_id_says_0_before_any_was_assigned, "mctp.control.get-eid.unassigned", roles::endpoint, needs(packets),
                 arranged("no EID yet", [](EmbeddedSetup& setup) { setup.managed->assigned = false; })) {
  const ControlAnswer answer = bench.control(Command::get_endpoint_id);
  if (!completion_is(check, answer, Completion::success, "Get Endpoint ID")) return;
  check.require(!answer.data().empty(), "Get Endpoint ID says an EID", answer.describe());
  check.equal("EID before any was assigned", answer.data()[0], 0);
  check.equal("source EID of the answer", answer.message->source, 0);
}

CONFORMANCE_CASE(get_endpoint_id_has_three_bytes, "mctp.control.get-eid.size", roles::endpoint, needs(control_messages)) {
  const ControlAnswer answer = bench.control(Command::get_endpoint_id);
  if (!completion_is(check, answer, Completion::success, "Get Endpoint ID")) return;
  check.equal("bytes behind the completion code", answer.data().size(), 3);
}

CONFORMANCE_CASE(a_drive_is_a_simple_endpoint, "mctp.control.get-eid.type", roles::endpoint, needs(control_messages)) {
  const ControlAnswer answer = bench.control(Command::get_endpoint_id);
  check.precondition(answer.ok() && answer.data().size() >= 2, "Get Endpoint ID says a type");
  const unsigned type = answer.data()[1] >> 4 & 3;
  if (type == 1) {
    // It says that it is a bridge: then it has what bridges must have.
    const ControlAnswer routes = bench.control(Command::get_routing_table, {0});
    completion_is(check, routes, Completion::success, "Get Routing Table Entries of what says it is a bridge");
    return;
  }
  check.equal("endpoint type", type, 0);
}

CONFORMANCE_CASE(reserved_bits_of_get_endpoint_id_are_zero, "mctp.control.get-eid.reserved", roles::endpoint, needs(control_messages)) {
  const ControlAnswer answer = bench.control(Command::get_endpoint_id);
  check.precondition(answer.ok() && answer.data().size() >= 3, "Get Endpoint ID says three bytes");
  check.equal("bits 7, 6, 3 and 2 of the types", answer.data()[1] & 0xCC, 0);
  // On SMBus bit 0 says that it arbitrates fairly.
  check.equal("reserved bits of the medium's byte", answer.data()[2] & (bench.medium() == "smbus" ? 0xFE : 0xFF), 0);
}

CONFORMANCE_CASE(the_id_type_fits_what_reset_does, "mctp.control.get-eid.static", roles::endpoint, needs(packets)) {
  const bool has = has_static(bench, check);
  const ControlAnswer answer = set_eid(bench, SetOperation::reset, 0);
  check.require(answer.answered(), "Set Endpoint ID 2 is answered", answer.describe());
  check.equal("a static EID, as the ID type says", has, answer.ok());
}

}  // namespace fb::conformance
