// Read NVMe-MI Data Structure: subsystem, ports, controllers, and which commands there are.
#include <set>

#include "conformance/cases/mi/structures.h"

namespace fb::conformance {
namespace {

using mi::DataType;

constexpr std::size_t kStructure = 32;

bool length_told(Check& check, const MiAnswer& answer, std::string_view what) {
  check.equal("bits 23:16 of NMRESP of " + std::string(what), answer.nmresp() >> 16, 0u);
  return check.equal("response data length (RDL) of " + std::string(what), answer.nmresp() & 0xFFFF, answer.data().size());
}

unsigned ports_of(EndpointBench& bench) {
  const MiAnswer info = read_structure(bench, DataType::subsystem_information);
  if (!info.ok() || info.data().empty()) throw CannotArrange{"no subsystem information: " + info.describe()};
  return info.data()[0] + 1u;
}

std::optional<std::vector<std::uint16_t>> list_from(EndpointBench& bench, Check& check, std::uint16_t first, bool exact = false) {
  const MiAnswer answer = read_structure(bench, DataType::controller_list, first);
  const std::string what = "the controller list from " + words(first);
  if (!success(check, answer, what)) return std::nullopt;
  const ByteView data = answer.data();
  check.require(data.size() >= 2, what + " has a count", words(data.size()) + " bytes");
  const auto count = load_le<std::uint16_t>(data.data());
  const std::size_t needed = 2 + 2 * static_cast<std::size_t>(count);
  const std::string bytes = "bytes of " + what + " with " + words(count) + " identifiers";
  if (exact && !check.equal(bytes, data.size(), needed)) return std::nullopt;
  if (!check.that(data.size() >= needed, bytes + " are there", words(data.size()))) return std::nullopt;
  length_told(check, answer, what);
  return mi::parse_controller_list(data);
}

/// A request for a command that does nothing, and is refused by who has it for another reason than its
/// opcode.
Bytes harmless(const mi::SupportedCommand& command, std::uint16_t cntlid) {
  constexpr std::uint32_t kReservedType = 0xFF000000;
  const auto opcode = static_cast<mi::Opcode>(command.opcode);
  switch (command.kind) {
    case mi::MessageKind::mi_command:
      return mi_message(command.opcode, opcode == mi::Opcode::reset || opcode == mi::Opcode::shutdown ? kReservedType : 0);
    case mi::MessageKind::admin_command: {
      // A length that is no multiple of 4 keeps it from being executed.
      nvme::Sqe sqe;
      sqe.set(nvme::sqe::opcode, command.opcode);
      return admin_message(cntlid, sqe, 0, 2);
    }
    default:
      // Beyond the configuration space, and in a BAR that cannot be.
      return pcie_message(cntlid, command.opcode, command.opcode < 2 ? 0xFFC : 0, 8, command.opcode < 2 ? 0 : 7,
                          Bytes(command.opcode % 2 == 1 ? 8 : 0));
  }
}

std::vector<mi::SupportedCommand> optional_of(EndpointBench& bench, Check& check, std::uint16_t cntlid) {
  const MiAnswer answer = read_structure(bench, DataType::supported_commands, cntlid);
  check.require(success(check, answer, "the list of optional commands"), "there is a list of optional commands");
  const ByteView data = answer.data();
  check.require(data.size() >= 2 && data.size() == 2u + 2u * load_le<std::uint16_t>(data.data()),
                "the list of optional commands is as long as it says", words(data.size()) + " bytes");
  for (std::size_t at = 2; at < data.size(); at += 2) {
    check.equal("reserved bits of entry " + words((at - 2) / 2), data[at] & 0x87, 0);
  }
  return mi::parse_command_list(data).value_or(std::vector<mi::SupportedCommand>{});
}

}  // namespace

CONFORMANCE_CASE(subsystem_information_is_32_bytes, "mi.read-ds.subsystem", roles::endpoint) {
  const MiAnswer answer = read_structure(bench, DataType::subsystem_information);
  if (!success(check, answer, "subsystem information")) return;
  check.equal("bytes of subsystem information", answer.data().size(), kStructure);
  check.equal("byte 7 of the response", answer.body[7], 0);
  check.require(answer.data().size() >= 4, "there is subsystem information");
  zero(check, answer.data().subspan(4), "reserved bytes of subsystem information");
  const unsigned major = answer.data()[1], minor = answer.data()[2];
  check.that((major == 1 && minor <= 2) || (major == 2 && minor <= 9), "the revision is one of NVMe-MI",
             std::to_string(major) + "." + std::to_string(minor));
}

CONFORMANCE_CASE(data_structures_are_as_long_as_told, "mi.read-ds.length", roles::endpoint) {
  const auto ids = controllers_of(bench);
  const struct {
    std::string what;
    DataType type;
    std::size_t fixed;
  } kStructures[] = {{"subsystem information", DataType::subsystem_information, kStructure},
                     {"port information", DataType::port_information, kStructure},
                     {"the controller list", DataType::controller_list, 2 + 2 * ids.size()},
                     {"controller information", DataType::controller_information, kStructure},
                     {"the list of optional commands", DataType::supported_commands, 0}};
  for (const auto& [what, type, fixed] : kStructures) {
    for (const unsigned slot : {0u, 1u}) {
      const MiAnswer answer =
          read_structure(bench, type, type == DataType::controller_list ? std::uint16_t{0} : ids.front(), 0, {.slot = slot});
      if (!success(check, answer, what)) continue;
      length_told(check, answer, what);
      if (fixed != 0) check.equal("bytes of " + what, answer.data().size(), fixed);
    }
  }
}

CONFORMANCE_CASE(controller_and_port_are_ignored_for_the_subsystem, "mi.read-ds.ignored", roles::endpoint) {
  const MiAnswer plain = read_structure(bench, DataType::subsystem_information);
  precondition(check, plain, "subsystem information");
  for (const std::uint32_t others : {0x00000001u, 0x0000FFFFu, 0x00FF0000u, 0x00010002u, 0x00FFFFFFu}) {
    const MiAnswer answer = bench.command(mi::Opcode::read_data_structure, others);
    if (!success(check, answer, "subsystem information with NMD0 " + words(others))) continue;
    check.bytes("subsystem information", answer.data(), plain.data());
  }
  const MiAnswer port = read_structure(bench, DataType::port_information, 0, bench.port());
  precondition(check, port, "port information");
  const MiAnswer same = read_structure(bench, DataType::port_information, 0xFFFF, bench.port());
  success(check, same, "port information with a controller identifier");
  check.bytes("port information", same.data(), port.data());
}

CONFORMANCE_CASE(as_many_ports_as_announced_are_there, "mi.read-ds.ports", roles::endpoint) {
  const unsigned ports = ports_of(bench);
  for (unsigned port = 0; port < ports; ++port) {
    success(check, read_structure(bench, DataType::port_information, 0, static_cast<std::uint8_t>(port)),
            "information of port " + words(port) + ", one of " + words(ports));
  }
}

CONFORMANCE_CASE(ports_that_are_not_there_are_refused, "mi.read-ds.ports.unknown", roles::endpoint) {
  for (unsigned port = ports_of(bench); port < 256; ++port) {
    const MiAnswer answer = read_structure(bench, DataType::port_information, 0, static_cast<std::uint8_t>(port));
    if (!invalid_parameter(check, answer, {10, 0}, "information of port " + words(port))) return;
  }
  serves(bench, check, "a good request afterwards");
}

CONFORMANCE_CASE(port_information_is_legal, "mi.read-ds.port", roles::endpoint) {
  const unsigned ports = ports_of(bench);
  for (unsigned port = 0; port < ports; ++port) {
    const std::string of = " of port " + words(port);
    const MiAnswer answer = read_structure(bench, DataType::port_information, 0, static_cast<std::uint8_t>(port));
    if (!success(check, answer, "information" + of)) continue;
    check.require(answer.data().size() == kStructure, "port information has 32 bytes", words(answer.data().size()));
    const ByteView data = answer.data();
    const View<mi::PciePortInfo> info{data};
    const auto type = info.get(mi::port_info::prttyp);
    check.that(static_cast<unsigned>(type) <= 2, "PRTTYP" + of + " is inactive, PCIe or two-wire", words(data[0]));
    check.equal("reserved bits of PRTCAP" + of, data[1] & 0xFC, 0);
    zero(check, data.subspan(14), "reserved bytes" + of);
    if (type == mi::PortType::inactive) continue;
    const auto unit = info.get(mi::port_info::mmtus);
    check.that(unit == 0 || unit >= mctp::kBaselineUnit, "MMTUS" + of + " is at least 64, or 0 without MCTP", words(unit));
    if (type == mi::PortType::pcie) {
      check.that(data[8] <= 5, "MPS" + of + " is one of 128 to 4096 bytes", words(data[8]));
      check.that(data[10] <= 6, "CLS" + of + " is a speed", words(data[10]));
      check.that(data[10] == 0 || (data[9] >> (data[10] - 1) & 1) != 0, "CLS" + of + " is among the supported ones", words(data[10]));
      check.that(data[12] <= data[11], "the link" + of + " is not wider than it can be", words(data[12]));
      check.equal("a link" + of + " with a speed has a width", data[10] != 0, data[12] != 0);
    } else {
      check.that(data[9] <= 3, "MVPDFREQ" + of + " is a frequency", words(data[9]));
      check.equal("reserved bits of byte 11" + of, data[11] & 0x7C, 0);
      check.that((data[11] & 3) != 0, "the endpoint's highest frequency" + of + " is a frequency", words(data[11]));
      check.equal("bit 0 of CVPDADDR" + of, data[8] & 1, 0);
      check.equal("bit 0 of CMEADDR" + of, data[10] & 1, 0);
      check.equal("reserved bits of byte 12" + of, data[12] & 0xFE, 0);
    }
  }
}

CONFORMANCE_CASE(the_endpoint_is_at_the_address_that_its_port_tells, "mi.read-ds.port.address", roles::endpoint, over_smbus,
                 needs(two_wire_port)) {
  const MiAnswer answer = read_structure(bench, DataType::port_information, 0, bench.port());
  if (!success(check, answer, "port information")) return;
  check.require(answer.data().size() == kStructure, "port information has 32 bytes", words(answer.data().size()));
  check.equal("CMEADDR", View<mi::TwoWirePortInfo>{answer.data()}.get(mi::port_info::cmeaddr), bench.address().bytes[0]);
}

CONFORMANCE_CASE(the_controller_list_ascends_from_where_it_is_asked, "mi.read-ds.controllers", roles::endpoint) {
  const auto all = list_from(bench, check, 0);
  if (!check.that(all.has_value() && !all->empty(), "there are controllers", "the list is empty")) return;
  check.that(std::is_sorted(all->begin(), all->end(), std::less_equal<>()), "identifiers ascend", words(all->size()) + " of them");
  std::set<std::uint16_t> starts = {0, 1, 0x00FF, 0x0100, 0xFFEF, 0xFFFF};
  for (const std::uint16_t id : *all) starts.insert({id, static_cast<std::uint16_t>(id + 1)});
  for (const std::uint16_t start : starts) {
    const auto rest = list_from(bench, check, start);
    if (!rest) return;
    std::vector<std::uint16_t> expected;
    for (const std::uint16_t id : *all) {
      if (id >= start) expected.push_back(id);
    }
    check.that(*rest == expected, "the list from " + words(start) + " has the " + words(expected.size()) + " identifiers from there on",
               words(rest->size()) + " identifiers");
  }
}

CONFORMANCE_CASE(an_odd_controller_list_is_not_padded, "mi.read-ds.controllers.odd", roles::endpoint,
                 arranged("three controllers, and an even number", [](EmbeddedSetup& setup) {
                   setup.managed->drive.subsystem.static_cntlids = {1, 2, 7, 9};
                 })) {
  for (const auto start : std::initializer_list<std::uint16_t>{0, 2, 3, 8, 10}) {
    const auto rest = list_from(bench, check, start, true);
    if (!rest) return;
    check.equal("identifiers from " + words(start), rest->size(),
                start == 0   ? 4u
                : start == 2 ? 3u
                : start == 3 ? 2u
                : start == 8 ? 1u
                             : 0u);
  }
}

CONFORMANCE_CASE(controller_information_agrees_with_identify, "mi.read-ds.controller", roles::endpoint) {
  const unsigned ports = ports_of(bench);
  for (const std::uint16_t id : controllers_of(bench)) {
    const std::string of = " of controller " + words(id);
    const MiAnswer answer = read_structure(bench, DataType::controller_information, id);
    if (!success(check, answer, "information" + of)) continue;
    check.require(answer.data().size() == kStructure, "controller information has 32 bytes", words(answer.data().size()));
    const View<mi::ControllerInfo> info{answer.data()};
    const unsigned port = info.get(mi::controller_info::portid);
    if (check.that(port < ports, "PORTID" + of + " is a port of the device", words(port))) {
      const MiAnswer its = read_structure(bench, DataType::port_information, 0, static_cast<std::uint8_t>(port));
      check.that(its.data().size() == kStructure && its.data()[0] == 1, "PORTID" + of + " is a PCI Express port", its.describe());
    }
    zero(check, answer.data().subspan(1, 4), "bytes 1 to 4" + of);
    check.equal("reserved bits of PRII" + of, answer.data()[5] & 0xFE, 0);
    zero(check, answer.data().subspan(17), "bytes behind 16" + of);
    const MiAnswer identify = identify_controller(bench, id);
    if (!admin_success(check, identify, "Identify" + of)) continue;
    check.require(identify.admin_data().size() == nvme::kIdentifySize, "Identify" + of + " has 4096 bytes",
                  words(identify.admin_data().size()));
    const View<nvme::IdentifyController> controller{identify.admin_data()};
    check.equal("VID" + of, info.get(mi::controller_info::vid), controller.get(nvme::id_ctrl::vid));
    check.equal("SSVID" + of, info.get(mi::controller_info::ssvid), controller.get(nvme::id_ctrl::ssvid));
    check.equal("CNTLID in Identify" + of, controller.get(nvme::id_ctrl::cntlid), id);
  }
}

CONFORMANCE_CASE(controllers_on_one_port_differ_in_their_routing, "mi.read-ds.controller.routing", roles::endpoint) {
  std::set<std::pair<unsigned, unsigned>> seen;
  for (const std::uint16_t id : controllers_of(bench)) {
    const MiAnswer answer = read_structure(bench, DataType::controller_information, id);
    if (!success(check, answer, "information of controller " + words(id))) continue;
    check.require(answer.data().size() == kStructure, "controller information has 32 bytes", words(answer.data().size()));
    const ByteView data = answer.data();
    if ((data[5] & 1) == 0) continue;
    const unsigned routing = load_le<std::uint16_t>(&data[6]) | unsigned{data[16]} << 16;
    check.that(seen.insert({data[0], routing}).second, "no two controllers of a port have one routing identifier", words(routing));
  }
}

CONFORMANCE_CASE(controllers_that_are_not_there_are_refused, "mi.read-ds.controller.unknown", roles::endpoint) {
  const auto ids = controllers_of(bench);
  std::set<std::uint16_t> unknown = {0xFFFF, 0xFFF0, 0xFFEF, 0x0100, 0x0080};
  for (const std::uint16_t id : ids) unknown.insert({static_cast<std::uint16_t>(id + 1), static_cast<std::uint16_t>(id + 0x100)});
  for (const std::uint16_t id : ids) unknown.erase(id);
  for (const std::uint16_t id : unknown) {
    invalid_parameter(check, read_structure(bench, DataType::controller_information, id), {8, 0}, "information of controller " + words(id));
  }
  serves(bench, check, "a good request afterwards");
}

CONFORMANCE_CASE(optional_commands_that_are_listed_are_there, "mi.read-ds.optional.listed", roles::endpoint) {
  for (const std::uint16_t id : controllers_of(bench)) {
    for (const mi::SupportedCommand& command : optional_of(bench, check, id)) {
      const bool vendor = command.opcode >= 0xC0;
      const bool reserved = command.kind == mi::MessageKind::mi_command && command.opcode > 0x0C && !vendor;
      check.that(!reserved, "no reserved command is listed", words(command.opcode));
      if (vendor || reserved) continue;  // what they do is not for us to try
      const MiAnswer answer = bench.request(harmless(command, id), {.within = Duration::s(2)});
      check.that(answer.answered() && answer.status() != mi::Status::invalid_opcode,
                 "command " + words(command.opcode) + " of NMIMT " + words(static_cast<unsigned>(command.kind)) + " is there, as listed",
                 answer.describe());
    }
  }
}

CONFORMANCE_CASE(optional_commands_that_are_not_listed_are_not_there, "mi.read-ds.optional.unlisted", roles::endpoint) {
  const std::uint16_t id = controllers_of(bench).front();
  const auto listed = optional_of(bench, check, id);
  for (const auto opcode : std::initializer_list<std::uint8_t>{0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C}) {
    const mi::SupportedCommand command{mi::MessageKind::mi_command, static_cast<std::uint8_t>(opcode)};
    const bool there = std::find(listed.begin(), listed.end(), command) != listed.end();
    const MiAnswer answer = bench.request(harmless(command, id));
    const std::string what = "MI command " + words(opcode) + (there ? ", listed," : ", not listed,");
    if (!check.that(answer.answered(), what + " is answered", answer.describe())) continue;
    check.equal(what + " is an invalid opcode", answer.status() == mi::Status::invalid_opcode, !there);
  }
}

CONFORMANCE_CASE(no_buffer_means_no_list_of_its_commands, "mi.read-ds.buffer.none", roles::endpoint,
                 arranged("an endpoint without a buffer", [](EmbeddedSetup& setup) { setup.managed->drive.endpoint.buffer_bytes = 0; })) {
  status_is(check, read_structure(bench, DataType::buffer_commands), mi::Status::invalid_parameter,
            "the list of commands with a buffer, where there is none");
  const MiAnswer port = read_structure(bench, DataType::port_information, 0, bench.port());
  if (!success(check, port, "port information") || port.data().size() != kStructure) return;
  check.equal("MEBS", View<mi::PortInfo>{port.data()}.get(mi::port_info::mebs), 0u);
}

CONFORMANCE_CASE(a_buffer_has_a_list_of_its_commands, "mi.read-ds.buffer.list", roles::endpoint, needs(endpoint_buffer)) {
  const MiAnswer answer = read_structure(bench, DataType::buffer_commands);
  if (!success(check, answer, "the list of commands with a buffer")) return;
  const ByteView data = answer.data();
  check.require(data.size() >= 2, "the list has a count", words(data.size()) + " bytes");
  check.equal("bytes of the list", data.size(), 2u + 2u * load_le<std::uint16_t>(data.data()));
  length_told(check, answer, "the list of commands with a buffer");
  for (std::size_t at = 2; at + 1 < data.size(); at += 2) {
    check.equal("reserved bits of an entry", data[at] & 0x87, 0);
  }
}

CONFORMANCE_CASE(reserved_data_structures_are_refused, "mi.read-ds.type", roles::endpoint) {
  for (unsigned type = 6; type < 256; ++type) {
    const MiAnswer answer = bench.command(mi::Opcode::read_data_structure, type << 24);
    if (!invalid_parameter(check, answer, {11, 0}, "data structure type " + words(type))) return;
  }
  serves(bench, check, "a good request afterwards");
}

}  // namespace fb::conformance
