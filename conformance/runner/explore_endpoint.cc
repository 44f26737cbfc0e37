// What a management endpoint declares.
#include <algorithm>

#include "conformance/runner/endpoint_bench.h"

namespace fb::conformance {

using mctp::control::Command;

namespace {

void read_ports(EndpointBench& bench, EndpointFacts& facts, std::size_t count) {
  for (std::uint32_t port = 0; port < count; ++port) {
    const MiAnswer info =
        bench.command(mi::Opcode::read_data_structure, port << 16 | static_cast<std::uint32_t>(mi::DataType::port_information) << 24);
    Bytes bytes(info.data().begin(), info.data().end());
    bytes.resize(mi::PortInfo::size);
    facts.ports.push_back(std::move(bytes));
  }
  const auto kind = bench.medium() == "pcie" ? mi::PortType::pcie : mi::PortType::two_wire;
  facts.port = facts.port_of(kind).value_or(std::uint8_t{0});
  if (!bench.at_second_port()) return;
  for (std::size_t port = 0; port < facts.ports.size(); ++port) {
    if (facts.port_info(port).get(mi::port_info::prttyp) == kind) facts.port = static_cast<std::uint8_t>(port);
  }
}

/// A product that takes no EID is asked as it is: what it does wrong is for its cases to say.
void give_eid(EndpointBench& bench) {
  try {
    bench.assign();
  } catch (const CannotArrange&) {
  }
}

void ask_control(EndpointBench& bench, EndpointFacts& facts) {
  try {
    const ControlAnswer types = bench.control(Command::get_message_type_support);
    facts.answers = facts.answers || types.answered();
    if (types.ok() && !types.data().empty()) {
      facts.message_types.assign(types.data().begin() + 1, types.data().end());
    }
    facts.uuid = bench.control(Command::get_endpoint_uuid).ok();
  } catch (const CannotArrange&) {
    facts.control = false;
  }
}

}  // namespace

EndpointFacts explore_endpoint(EndpointBench& bench, Declared& found) {
  EndpointFacts facts;
  facts.packets = facts.frames = bench.medium() != kKernelTransport;
  facts.media = bench.embedded();
  if (!bench.embedded()) give_eid(bench);
  ask_control(bench, facts);
  const auto structure = [&](mi::DataType type, std::uint16_t cntlid) {
    MiAnswer answer = bench.command(mi::Opcode::read_data_structure, static_cast<std::uint32_t>(type) << 24 | cntlid);
    facts.answers = facts.answers || answer.answered();
    return answer;
  };
  const MiAnswer subsystem = structure(mi::DataType::subsystem_information, 0);
  found.known = facts.answers;
  if (!subsystem.ok() || subsystem.data().size() < 3) {
    found.why = "Read NVMe-MI Data Structure: " + subsystem.describe();
    return facts;
  }
  facts.major = subsystem.data()[1];
  facts.minor = subsystem.data()[2];
  facts.status_reporting = subsystem.data().size() > 3 && (subsystem.data()[3] & 1) != 0;
  read_ports(bench, facts, std::min<std::size_t>(subsystem.data()[0] + 1u, 8));
  const MiAnswer list = structure(mi::DataType::controller_list, 0);
  facts.controllers = mi::parse_controller_list(list.data()).value_or(std::vector<std::uint16_t>{});
  if (!facts.controllers.empty()) {
    const MiAnswer optional = structure(mi::DataType::supported_commands, facts.controllers.front());
    facts.optional = mi::parse_command_list(optional.data()).value_or(std::vector<mi::SupportedCommand>{});
  }
  return facts;
}

}  // namespace fb::conformance
