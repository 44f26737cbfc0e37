// Configuration Get and Configuration Set.
#include "conformance/cases/mi/commands.h"
#include "model/drive/drive.h"

namespace fb::conformance {
namespace {

using mi::ConfigurationId;
using mi::Opcode;

constexpr std::uint32_t sfreq_bits(unsigned code) { return static_cast<std::uint32_t>(code) << 8; }

bool is_two_wire(const EndpointBench& bench, std::size_t port) {
  return bench.declared().port_info(port).get(mi::port_info::prttyp) == mi::PortType::two_wire;
}
unsigned fastest_of(const EndpointBench& bench, std::size_t port) {
  return bench.declared().two_wire_info(port).get(mi::port_info::mmefreq);
}
unsigned largest_unit_of(const EndpointBench& bench, std::size_t port) {
  return bench.declared().port_info(port).get(mi::port_info::mmtus);
}

/// What Configuration Get says of a port; INCONCLUSIVE when it does not.
std::uint32_t value_of(EndpointBench& bench, Check& check, ConfigurationId id, std::size_t port) {
  const MiAnswer answer = configuration(bench, id, port_bits(static_cast<unsigned>(port)));
  precondition(check, answer, "Configuration Get");
  return answer.nmresp();
}
bool value_is(EndpointBench& bench, Check& check, ConfigurationId id, std::size_t port, std::uint32_t expected, const std::string& what) {
  const MiAnswer answer = configuration(bench, id, port_bits(static_cast<unsigned>(port)));
  if (!success_with(check, answer, 0, "Configuration Get " + what)) return false;
  return check.equal("NMRESP " + what, answer.nmresp(), expected);
}

/// Identifiers that nobody has: 04h came with 2.0, and from there on is the product's choice.
std::vector<std::uint8_t> reserved_ids(const EndpointBench& bench) {
  std::vector<std::uint8_t> ids = {0x00};
  if (!bench.declared().at_least(2, 0)) ids.push_back(0x04);
  for (unsigned id = 0x05; id <= 0xBF; ++id) ids.push_back(static_cast<std::uint8_t>(id));
  return ids;
}

/// Everything that Health Status Change can clear and this bench can bring about, has changed.
void change_everything(EndpointBench& bench, unsigned round) {
  subsystem::Subsystem& disk = bench.drive().subsystem();
  using subsystem::Change;
  for (const Change what : {Change::ready, Change::fatal, Change::shutdown, Change::enable, Change::namespaces}) {
    disk.tell(what, 0);
  }
  disk.set_temperature(static_cast<std::uint16_t>(320 + round % 2));
  disk.set_percentage_used(static_cast<std::uint8_t>(10 + round % 2));
  disk.set_available_spare(static_cast<std::uint8_t>(50 + round % 2));
  disk.set_critical_warning(static_cast<std::uint8_t>(round % 2));
}
std::uint16_t composite_of(EndpointBench& bench, Check& check) {
  return View<mi::SubsystemHealth>{health(bench, check)}.get(mi::subsystem_health::ccs);
}

}  // namespace

CONFORMANCE_CASE(reserved_configurations_are_refused, "mi.config.id.reserved", roles::endpoint) {
  for (const std::uint8_t id : reserved_ids(bench)) {
    refused_at(check, configuration(bench, static_cast<ConfigurationId>(id)), 8, fmt::format("Get of {:02x}h", id));
    refused_at(check, configure(bench, static_cast<ConfigurationId>(id)), 8, fmt::format("Set of {:02x}h", id));
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(frequencies_are_legal, "mi.config.frequency.get", roles::endpoint, needs(two_wire_port)) {
  for (std::size_t port = 0; port < bench.declared().ports.size(); ++port) {
    if (!is_two_wire(bench, port)) continue;
    const MiAnswer answer = configuration(bench, ConfigurationId::smbus_frequency, port_bits(static_cast<unsigned>(port)));
    if (!success_with(check, answer, 0, "Configuration Get of the frequency")) continue;
    check.between("frequency code", answer.nmresp(), 1u, std::max(1u, fastest_of(bench, port)));
  }
}

CONFORMANCE_CASE(frequencies_can_be_set, "mi.config.frequency.set", roles::endpoint, needs(two_wire_port)) {
  for (std::size_t port = 0; port < bench.declared().ports.size(); ++port) {
    if (!is_two_wire(bench, port)) continue;
    const std::uint32_t before = value_of(bench, check, ConfigurationId::smbus_frequency, port);
    const std::uint32_t at = port_bits(static_cast<unsigned>(port));
    std::vector<unsigned> codes;
    for (unsigned code = 1; code <= std::max(1u, fastest_of(bench, port)); ++code) codes.push_back(code);
    codes.push_back(before);  // and back
    for (const unsigned code : codes) {
      const MiAnswer answer = configure(bench, ConfigurationId::smbus_frequency, at | sfreq_bits(code));
      success_with(check, answer, 0, fmt::format("Set of frequency {}", code));
      value_is(bench, check, ConfigurationId::smbus_frequency, port, code, fmt::format("after frequency {}", code));
    }
  }
}

CONFORMANCE_CASE(other_frequencies_are_refused, "mi.config.frequency.unsupported", roles::endpoint, needs(two_wire_port)) {
  for (std::size_t port = 0; port < bench.declared().ports.size(); ++port) {
    if (!is_two_wire(bench, port)) continue;
    const std::uint32_t before = value_of(bench, check, ConfigurationId::smbus_frequency, port);
    for (unsigned code = 0; code < 16; ++code) {
      if (code != 0 && code <= fastest_of(bench, port)) continue;
      const std::uint32_t at = port_bits(static_cast<unsigned>(port)) | sfreq_bits(code);
      refused_at(check, configure(bench, ConfigurationId::smbus_frequency, at), 9, fmt::format("frequency {}", code));
    }
    value_is(bench, check, ConfigurationId::smbus_frequency, port, before, "after the refusals");
  }
}

CONFORMANCE_CASE(only_two_wire_ports_have_a_frequency, "mi.config.frequency.port", roles::endpoint) {
  const std::size_t count = bench.declared().ports.size();
  check.precondition(count != 0, "the product says what ports it has");
  for (const unsigned port : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 0x80u, 0xFFu}) {
    if (port < count && is_two_wire(bench, port)) continue;
    const std::uint32_t at = port_bits(port);
    const MiAnswer told = configuration(bench, ConfigurationId::smbus_frequency, at);
    // A port that is there may say that it has none.
    if (port >= count || !told.ok() || told.nmresp() != 0) {
      refused_at(check, told, 11, fmt::format("frequency of port {}", port));
    }
    refused_at(check, configure(bench, ConfigurationId::smbus_frequency, at | sfreq_bits(1)), 11,
               fmt::format("Set of the frequency of port {}", port));
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(health_status_change_reads_as_nothing, "mi.config.health.get", roles::endpoint) {
  const MiAnswer answer = configuration(bench, ConfigurationId::health_status_change);
  if (success_with(check, answer, 0, "Get of Health Status Change")) check.equal("NMRESP", answer.nmresp(), 0u);
}

CONFORMANCE_CASE(health_status_change_clears_bit_by_bit, "mi.config.health.set", roles::endpoint,
                 arranged("controllers that change all the time")) {
  for (unsigned position = 0; position < mi::kClearBits; ++position) {
    change_everything(bench, position);
    const std::uint16_t before = composite_of(bench, check);
    check.precondition(before != 0, "something has changed");
    const MiAnswer answer = configure(bench, ConfigurationId::health_status_change, 0, 1u << position);
    if (!success_with(check, answer, 0, fmt::format("Set of bit {}", position))) continue;
    check.equal("NMRESP of the Set", answer.nmresp(), 0u);
    check.equal(fmt::format("composite status behind bit {}", position), composite_of(bench, check),
                static_cast<std::uint16_t>(before & ~mi::change_bit_of_clear(position)));
  }
  change_everything(bench, mi::kClearBits);
  const std::uint16_t all = composite_of(bench, check);
  success(check, configure(bench, ConfigurationId::health_status_change, 0, 0), "Set of no bit");
  check.equal("composite status behind no bit", composite_of(bench, check), all);
  success(check, configure(bench, ConfigurationId::health_status_change, 0, (1u << mi::kClearBits) - 1), "Set of all bits");
  check.equal("composite status behind all bits", composite_of(bench, check), 0);
}

CONFORMANCE_CASE(the_unit_is_64_at_first, "mi.config.unit.default", roles::endpoint) {
  check.precondition(!bench.declared().ports.empty(), "the product says what ports it has");
  for (std::size_t port = 0; port < bench.declared().ports.size(); ++port) {
    const std::uint32_t unit = value_of(bench, check, ConfigurationId::transmission_unit, port);
    if (!bench.embedded() && unit != mctp::kBaselineUnit) check.inconclusive(fmt::format("somebody may have set {} bytes before", unit));
    value_is(bench, check, ConfigurationId::transmission_unit, port, mctp::kBaselineUnit, fmt::format("of port {}", port));
  }
}

CONFORMANCE_CASE(units_can_be_set, "mi.config.unit.set", roles::endpoint) {
  const std::size_t count = bench.declared().ports.size();
  check.precondition(count != 0, "the product says what ports it has");
  std::vector<std::uint32_t> expected;
  for (std::size_t port = 0; port < count; ++port) {
    expected.push_back(value_of(bench, check, ConfigurationId::transmission_unit, port));
  }
  for (std::size_t port = 0; port < count; ++port) {
    for (const unsigned unit : {largest_unit_of(bench, port), 128u, 64u}) {
      if (unit > largest_unit_of(bench, port)) continue;
      const MiAnswer answer = configure(bench, ConfigurationId::transmission_unit, port_bits(static_cast<unsigned>(port)), unit);
      success_with(check, answer, 0, fmt::format("Set of {} bytes", unit));
      expected[port] = unit;
      for (std::size_t other = 0; other < count; ++other) {
        value_is(bench, check, ConfigurationId::transmission_unit, other, expected[other],
                 fmt::format("of port {} with port {} at {}", other, port, unit));
      }
    }
  }
}

CONFORMANCE_CASE(a_larger_unit_is_used, "mi.config.unit.used", roles::endpoint, needs(packets), needs(larger_units)) {
  const unsigned largest = largest_unit_of(bench, bench.port());
  const std::uint32_t at = port_bits(bench.port());
  for (const unsigned unit : {largest, std::min(128u, largest), 64u}) {
    if (!success(check, configure(bench, ConfigurationId::transmission_unit, at, unit), fmt::format("Set of {} bytes", unit))) {
      continue;
    }
    const MiAnswer answer = vpd_read(bench, 0, 256, {.unit = unit});
    if (!success_with(check, answer, 256, fmt::format("VPD Read at {} bytes", unit))) continue;
    const auto& seen = answer.message->packets;
    for (std::size_t i = 0; i + 1 < seen.size(); ++i) {
      check.between(fmt::format("payload of packet {} at {} bytes", i, unit), static_cast<unsigned>(seen[i].packet.payload.size()),
                    unit > 67 ? unit - 3 : 64u, unit);
    }
    check.that(!seen.empty() && seen.back().packet.payload.size() <= unit, "the last packet is no larger than the unit");
    // A request that fills such a packet.
    const Bytes long_request = mi_message(static_cast<std::uint8_t>(Opcode::read_data_structure), 0, 0, Bytes(unit - 20));
    size_refused(check, bench.request(long_request, {.unit = unit}), fmt::format("a packet of {} bytes", unit));
    serves(bench, check, "a request afterwards");
  }
}

CONFORMANCE_CASE(units_out_of_range_are_refused, "mi.config.unit.range", roles::endpoint) {
  check.precondition(!bench.declared().ports.empty(), "the product says what ports it has");
  for (std::size_t port = 0; port < bench.declared().ports.size(); ++port) {
    const std::uint32_t at = port_bits(static_cast<unsigned>(port));
    const std::uint32_t before = value_of(bench, check, ConfigurationId::transmission_unit, port);
    const unsigned largest = largest_unit_of(bench, port);
    // The unit is what it was first, and then the largest.
    for (const bool raised : {false, true}) {
      if (raised && (largest <= before || !configure(bench, ConfigurationId::transmission_unit, at, largest).ok())) continue;
      const std::uint32_t kept = raised ? largest : before;
      for (const unsigned unit : {0u, 1u, 32u, 63u, largest + 1, largest + 64, 0xFFFFu}) {
        if (unit >= 64 && unit <= largest) continue;
        refused_at(check, configure(bench, ConfigurationId::transmission_unit, at, unit), 12,
                   fmt::format("{} bytes at port {}", unit, port));
      }
      value_is(bench, check, ConfigurationId::transmission_unit, port, kept, "after the refusals");
    }
    if (largest > before) configure(bench, ConfigurationId::transmission_unit, at, before);
  }
}

CONFORMANCE_CASE(only_ports_have_a_unit, "mi.config.unit.port", roles::endpoint) {
  const auto count = static_cast<unsigned>(bench.declared().ports.size());
  check.precondition(count != 0, "the product says what ports it has");
  for (const unsigned port : {count, count + 1, 0x80u, 0xFFu}) {
    refused_at(check, configuration(bench, ConfigurationId::transmission_unit, port_bits(port)), 11, fmt::format("unit of port {}", port));
    refused_at(check, configure(bench, ConfigurationId::transmission_unit, port_bits(port), 64), 11,
               fmt::format("Set of the unit of port {}", port));
  }
  serves(bench, check, "a request after the refusals");
}

CONFORMANCE_CASE(configurations_take_no_data, "mi.config.request.data", roles::endpoint) {
  const std::uint32_t at = port_bits(bench.port());
  const std::uint32_t before = value_of(bench, check, ConfigurationId::transmission_unit, bench.port());
  for (const std::size_t bytes : {4u, 8u, 64u}) {
    for (const std::uint32_t id : {1u, 2u, 3u}) {
      const MiAnswer get = bench.command(Opcode::configuration_get, id | at, 0, Bytes(bytes));
      size_refused(check, get, fmt::format("Get of {} with {} bytes", id, bytes));
    }
    for (const std::uint32_t id : {2u, 3u}) {
      const std::uint32_t value = id == 3 ? largest_unit_of(bench, bench.port()) : 0;
      const MiAnswer set = bench.command(Opcode::configuration_set, id | at, value, Bytes(bytes));
      size_refused(check, set, fmt::format("Set of {} with {} bytes", id, bytes));
    }
  }
  value_is(bench, check, ConfigurationId::transmission_unit, bench.port(), before, "after the refusals");
}

CONFORMANCE_CASE(short_configurations_are_refused, "mi.config.request.size", roles::endpoint) {
  const std::uint32_t at = static_cast<std::uint32_t>(ConfigurationId::transmission_unit) | port_bits(bench.port());
  const std::uint32_t before = value_of(bench, check, ConfigurationId::transmission_unit, bench.port());
  for (const Opcode opcode : {Opcode::configuration_get, Opcode::configuration_set}) {
    const Bytes whole = mi_message(static_cast<std::uint8_t>(opcode), at, largest_unit_of(bench, bench.port()));
    for (const std::size_t size : {8u, 12u}) {
      const MiAnswer answer = bench.request(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      refused(check, answer, mi::Status::invalid_command_size, fmt::format("{} of {} bytes", mi::name_of(opcode), size));
    }
  }
  value_is(bench, check, ConfigurationId::transmission_unit, bench.port(), before, "after the refusals");
}

}  // namespace fb::conformance
