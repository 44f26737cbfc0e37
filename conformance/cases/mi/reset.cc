// Reset and Shutdown, and what is left of an endpoint's state after a reset.
#include "conformance/cases/mi/commands.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/managed_setup.h"
#include "model/drive/drive.h"

namespace fb::conformance {
namespace {

using mi::Opcode;

constexpr std::uint8_t kReset = static_cast<std::uint8_t>(Opcode::reset);
constexpr std::uint32_t type_bits(unsigned type) { return static_cast<std::uint32_t>(type) << 24; }

/// What Get State says of a slot; INCONCLUSIVE when it says nothing.
std::uint16_t state_of(EndpointBench& bench, unsigned slot) { return static_cast<std::uint16_t>(integer_of(bench.state(slot))); }

/// Sends a message whose check is wrong: an error flag.
void raise_a_flag(EndpointBench& bench) {
  Bytes message = mi_message(static_cast<std::uint8_t>(Opcode::read_data_structure));
  mi::append_mic(message);
  message.back() ^= 0x01;
  bench.messages().send_message(message);
  bench.silent();
}

/// Nothing that a reset would undo has been undone.
void nothing_was_reset(EndpointBench& bench, Check& check, std::uint32_t unit) {
  const MiAnswer answer = configuration(bench, mi::ConfigurationId::transmission_unit, port_bits(bench.port()));
  if (success(check, answer, "Configuration Get")) check.equal("transmission unit", answer.nmresp(), unit);
}
/// A unit that is not the one after a reset, where the port has one; 64 otherwise.
std::uint32_t larger_unit(EndpointBench& bench, Check& check) {
  const std::uint32_t unit = bench.declared().unit_max();
  precondition(check, configure(bench, mi::ConfigurationId::transmission_unit, port_bits(bench.port()), unit),
               "Set of the transmission unit");
  return unit;
}

/// SHST of every controller, by the Controller Health Status Poll.
std::vector<unsigned> shutdown_states(EndpointBench& bench, Check& check) {
  constexpr std::uint32_t kAllOfAll = 0x87000000, kMost = 254u << 16;
  const MiAnswer answer = bench.command(Opcode::controller_health_poll, kAllOfAll | kMost);
  precondition(check, answer, "Controller Health Status Poll");
  std::vector<unsigned> states;
  for (std::size_t at = 0; at + mi::ControllerHealth::size <= answer.data().size(); at += mi::ControllerHealth::size) {
    states.push_back(View<mi::ControllerHealth>{answer.data().subspan(at)}.get(mi::controller_health::shst));
  }
  return states;
}
bool all_are(const std::vector<unsigned>& states, unsigned expected) {
  return std::all_of(states.begin(), states.end(), [&](unsigned state) { return state == expected; });
}

void serves_after_a_reset_in(EndpointBench& bench, Check& check, unsigned slot) {
  const std::uint32_t unit = larger_unit(bench, check);
  const MiTerms terms{.slot = slot, .unit = mctp::kBaselineUnit};
  bench.say(mi_message(kReset, type_bits(0), 0, {}, terms), terms);
  check.that(bench.silent(), "Reset is not answered", "something came");
  check.require(serves_again(bench, check), "the endpoint serves after the reset");
  const MiAnswer answer = configuration(bench, mi::ConfigurationId::transmission_unit, port_bits(bench.port()));
  if (success(check, answer, "Configuration Get")) {
    const bool other = unit == mctp::kBaselineUnit || answer.nmresp() != unit;
    check.that(other, "there has been a reset", "the transmission unit is as it was");
  }
  for (const unsigned one : {0u, 1u}) serves(bench, check, "a request after the reset", one);
}

}  // namespace

CONFORMANCE_CASE(reset_is_not_answered, "mi.reset.silent", roles::endpoint, needs(offers<Opcode::reset>)) {
  serves_after_a_reset_in(bench, check, 0);
}

CONFORMANCE_CASE(reset_is_served_in_slot_1, "mi.reset.both-slots", roles::endpoint, needs(offers<Opcode::reset>)) {
  serves_after_a_reset_in(bench, check, 1);
}

CONFORMANCE_CASE(other_resets_are_refused, "mi.reset.type", roles::endpoint, needs(offers<Opcode::reset>)) {
  const std::uint32_t unit = larger_unit(bench, check);
  for (const unsigned type : {1u, 2u, 3u, 4u, 0x10u, 0x7Fu, 0x80u, 0xFFu}) {
    refused_at(check, bench.command(Opcode::reset, type_bits(type)), 11, fmt::format("reset of type {}", type));
  }
  nothing_was_reset(bench, check, unit);
}

CONFORMANCE_CASE(resets_of_another_size_are_refused, "mi.reset.request.size", roles::endpoint, needs(offers<Opcode::reset>)) {
  const std::uint32_t unit = larger_unit(bench, check);
  const Bytes whole = mi_message(kReset);
  for (const std::size_t size : {8u, 12u}) {
    refused(check, bench.request(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))), mi::Status::invalid_command_size,
            fmt::format("a reset of {} bytes", size));
  }
  size_refused(check, bench.command(Opcode::reset, 0, 0, Bytes(4)), "a reset with data");
  nothing_was_reset(bench, check, unit);
}

CONFORMANCE_CASE(slots_are_clean_after_a_reset, "mi.reset.slots", roles::endpoint, needs(offers<Opcode::reset>)) {
  constexpr std::uint16_t kStateAndFlags = 0xBFFF;  // without NSSRO
  raise_a_flag(bench);
  check.precondition((state_of(bench, 0) & 0x3FF8) != 0, "a message with a wrong check raises a flag");
  // Paused, with a response that waits in slot 1.
  precondition(check, bench.primitive(mi::Primitive::pause), "Pause");
  bench.say(mi_message(0, 0, 0, {}, {.slot = 1}), {.slot = 1, .tag = 3});
  bench.say(mi_message(kReset));
  bench.silent();
  wait_for_eid(bench, check);
  for (const unsigned slot : {0u, 1u}) {
    check.equal(fmt::format("state and flags of slot {}", slot), state_of(bench, slot) & kStateAndFlags, 0);
    serves(bench, check, fmt::format("a request in slot {}", slot), slot);
  }
}

CONFORMANCE_CASE(a_reset_is_of_every_endpoint, "mi.reset.slots", roles::endpoint, over_buses, needs(offers<Opcode::reset>), sends_malformed,
                 arranged("a device of two endpoints", [](EmbeddedSetup& setup) { setup.managed->second_endpoint = true; })) {
  constexpr std::uint16_t kStateAndFlags = 0xBFFF;  // without NSSRO
  const auto use = [&](bool second) {
    bench.peer().set_product(second ? kSecondEndpointEid : bench.eid(), product_address_on(bench.medium(), second ? 1 : 0));
  };
  use(true);
  for (const unsigned slot : {0u, 1u}) precondition(check, vpd_read(bench, 0, 16, {.slot = slot}), "VPD Read");
  raise_a_flag(bench);
  check.precondition((state_of(bench, 0) & 0x3FF8) != 0, "a message with a wrong check raises a flag");
  precondition(check, bench.primitive(mi::Primitive::pause), "Pause");
  bench.say(mi_message(0, 0, 0, {}, {.slot = 1}), {.slot = 1, .tag = 3});
  use(false);
  reset_and_return(bench, check);
  use(true);
  for (const unsigned slot : {0u, 1u}) {
    check.equal(fmt::format("state and flags of slot {} of the other endpoint", slot), state_of(bench, slot) & kStateAndFlags, 0);
    const MiAnswer replayed = bench.primitive(mi::Primitive::replay, slot);
    if (success(check, replayed, "Replay after the reset")) check.equal("RR", replayed.cpsr() & 1, 0);
    serves(bench, check, fmt::format("a request in slot {} of the other endpoint", slot), slot);
  }
}

CONFORMANCE_CASE(a_reset_is_told_by_get_state, "mi.reset.nssro", roles::endpoint, needs(offers<Opcode::reset>), needs(status_reporting)) {
  for (const unsigned slot : {0u, 1u}) bench.state(slot, true);
  for (const unsigned slot : {0u, 1u}) check.that(!bench.state(slot).get(mi::slot_status::nssro), "NSSRO is clear at first");
  reset_and_return(bench, check);
  for (const unsigned slot : {0u, 1u}) {
    check.that(bench.state(slot).get(mi::slot_status::nssro), fmt::format("NSSRO is set in slot {}", slot));
  }
  for (const unsigned slot : {0u, 1u}) bench.state(slot, true);
  for (const unsigned slot : {0u, 1u}) {
    check.that(!bench.state(slot).get(mi::slot_status::nssro), fmt::format("NSSRO is cleared in slot {}", slot));
  }
}

CONFORMANCE_CASE(a_reset_ends_what_is_running, "mi.reset.running", roles::endpoint, needs(offers<Opcode::reset>),
                 arranged("a command that lasts", [](EmbeddedSetup& setup) {
                   setup.managed->drive.endpoint.durations[{mi::MessageKind::mi_command, static_cast<std::uint8_t>(Opcode::vpd_read)}] =
                       Duration::ms(60);
                 })) {
  const MiTerms slow{.slot = 1, .tag = 2};
  bench.say(mi_message(static_cast<std::uint8_t>(Opcode::vpd_read), 0, 64, {}, slow), slow);
  bench.say(mi_message(kReset));
  check.that(bench.silent(Duration::ms(500)), "neither is answered", "something came");
  wait_for_eid(bench, check);
  for (const unsigned slot : {0u, 1u}) serves(bench, check, "a request after the reset", slot);
}

CONFORMANCE_CASE(nothing_is_replayed_after_a_reset, "mi.reset.replay", roles::endpoint, needs(offers<Opcode::reset>)) {
  for (const unsigned slot : {0u, 1u}) {
    precondition(check, vpd_read(bench, 0, 16, {.slot = slot}), "VPD Read");
  }
  // The first request after the reset is the replay itself.
  bench.say(mi_message(kReset));
  bench.silent();
  wait_for_eid(bench, check);
  for (const unsigned slot : {0u, 1u}) {
    const MiAnswer answer = bench.primitive(mi::Primitive::replay, slot);
    if (!success(check, answer, "Replay after the reset")) continue;
    check.equal(fmt::format("RR of slot {}", slot), answer.cpsr() & 1, 0);
    check.that(bench.silent(), "no response follows", "something came");
  }
}

CONFORMANCE_CASE(the_unit_is_64_after_a_reset, "mi.reset.unit", roles::endpoint, needs(larger_units), needs(offers<Opcode::reset>)) {
  for (unsigned port = 0; port < bench.declared().ports.size(); ++port) {
    const std::uint32_t most = bench.declared().port_info(port).get(mi::port_info::mmtus);
    if (most <= mctp::kBaselineUnit) continue;
    precondition(check, configure(bench, mi::ConfigurationId::transmission_unit, port_bits(port), most), "Set of the transmission unit");
  }
  reset_and_return(bench, check);
  for (std::size_t port = 0; port < bench.declared().ports.size(); ++port) {
    const MiAnswer answer = configuration(bench, mi::ConfigurationId::transmission_unit, port_bits(static_cast<unsigned>(port)));
    if (success(check, answer, "Configuration Get")) check.equal("transmission unit", answer.nmresp(), 64u);
  }
  const MiAnswer answer = vpd_read(bench, 0, 256);
  if (!success_with(check, answer, 256, "VPD Read")) return;
  for (const SeenPacket& seen : answer.message->packets) {
    check.that(seen.packet.payload.size() <= mctp::kBaselineUnit, "packets carry 64 bytes", seen.describe());
  }
}

CONFORMANCE_CASE(frequencies_are_slow_after_a_reset, "mi.reset.frequency", roles::endpoint, needs(two_wire_port),
                 needs(offers<Opcode::reset>)) {
  std::vector<unsigned> ports;
  for (unsigned port = 0; port < bench.declared().ports.size(); ++port) {
    const auto info = bench.declared().two_wire_info(port);
    if (info.get(mi::port_info::prttyp) == mi::PortType::two_wire && info.get(mi::port_info::mmefreq) >= mi::kFrequency400k) {
      ports.push_back(port);
    }
  }
  check.precondition(!ports.empty(), "a port has 400 kHz");
  for (const unsigned port : ports) {
    precondition(check, configure(bench, mi::ConfigurationId::smbus_frequency, port_bits(port) | mi::kFrequency400k << 8),
                 "Set of the frequency");
  }
  reset_and_return(bench, check);
  for (const unsigned port : ports) {
    const MiAnswer answer = configuration(bench, mi::ConfigurationId::smbus_frequency, port_bits(port));
    if (success(check, answer, "Configuration Get")) {
      check.equal(fmt::format("frequency of port {}", port), answer.nmresp(), +mi::kFrequency100k);
    }
  }
}

CONFORMANCE_CASE(a_reset_clears_what_has_changed, "mi.reset.changes", roles::endpoint, needs(offers<Opcode::reset>),
                 needs(status_reporting),
                 arranges{{Request::temperature, Request::percentage_used, Request::available_spare, Request::critical_warning}}) {
  using namespace mi::change_bits;
  Arranger& drive = bench.arranger();
  clear_changed_flags(bench, check);
  health(bench, check, true);
  drive.temperature(330);
  drive.percentage_used(11);
  drive.available_spare(70);
  drive.critical_warning(1);
  constexpr std::uint16_t kChanged = ctemp | pdlu | spare | cwarn;
  const auto changes = [&] { return View<mi::SubsystemHealth>{health(bench, check)}.get(mi::subsystem_health::ccs); };
  check.precondition((changes() & kChanged) == kChanged, "the changes show");
  reset_and_return(bench, check);
  check.equal("changes after the reset", changes() & (kChanged | nac), 0);
}

// The link of the first PCI Express port goes down; the endpoint is on another medium.
CONFORMANCE_CASE(the_endpoint_needs_no_pcie_link, "mi.reset.link-down", roles::endpoint, transports{"smbus", "serial"}, needs(pcie_port),
                 arranges{{Request::link}}) {
  const std::uint8_t port = *bench.declared().port_of(mi::PortType::pcie);
  using namespace mi::subsystem_health;
  check.that(View<mi::SubsystemHealth>{health(bench, check)}.get(p0la), "the link is up at first");
  bench.arranger().link(port, false);
  const MiAnswer poll = bench.command(Opcode::subsystem_health_poll);
  if (success_with(check, poll, mi::SubsystemHealth::size, "the health poll with the link down")) {
    check.that(!View<mi::SubsystemHealth>{poll.data()}.get(p0la), "the health poll tells that the link is down");
  }
  for (const unsigned slot : {0u, 1u}) serves(bench, check, "a request with the link down", slot);
  const MiAnswer identify = bench.admin(a_controller(bench, check), identify_controller_command(), 0, 64);
  check.that(identify.admin_ok(), "Identify is served with the link down", identify.describe());
  bench.arranger().link(port, true);
  check.that(View<mi::SubsystemHealth>{health(bench, check)}.get(p0la), "the link is up again");
}

CONFORMANCE_CASE(shutdown_shuts_controllers_down, "mi.reset.shutdown.done", roles::endpoint, needs(offers<Opcode::shutdown>),
                 needs(offers<Opcode::reset>)) {
  constexpr unsigned kComplete = 2;
  for (const unsigned type : {0u, 1u}) {
    check.precondition(all_are(shutdown_states(bench, check), 0), "no controller is shut down at first");
    success_with(check, bench.command(Opcode::shutdown, type_bits(type)), 0, fmt::format("shutdown of type {}", type));
    std::vector<unsigned> states;
    for (int i = 0; i < 60; ++i) {
      states = shutdown_states(bench, check);
      if (all_are(states, kComplete)) break;
      bench.silent(Duration::ms(500));
    }
    check.that(!states.empty() && all_are(states, kComplete), "every controller is shut down");
    reset_and_return(bench, check);
  }
}

CONFORMANCE_CASE(other_shutdowns_are_refused, "mi.reset.shutdown.type", roles::endpoint, needs(offers<Opcode::shutdown>)) {
  check.precondition(all_are(shutdown_states(bench, check), 0), "no controller is shut down at first");
  for (const unsigned type : {2u, 3u, 4u, 0x10u, 0x7Fu, 0x80u, 0xFFu}) {
    refused_at(check, bench.command(Opcode::shutdown, type_bits(type)), 11, fmt::format("shutdown of type {}", type));
  }
  check.that(all_are(shutdown_states(bench, check), 0), "no controller is shut down");
}

}  // namespace fb::conformance
