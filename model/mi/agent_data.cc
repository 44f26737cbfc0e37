// Read NVMe-MI Data Structure.
#include <algorithm>

#include "model/mi/agent.h"
#include "model/mi/fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/mi/tunnels.h"

namespace fb::mi {

namespace {

constexpr std::uint8_t kPayloadCode = 1;  // MPS of 256 bytes

constexpr SupportedCommand kWithBuffer[] = {
    {MessageKind::mi_command, static_cast<std::uint8_t>(Opcode::vpd_read)},
    {MessageKind::mi_command, static_cast<std::uint8_t>(Opcode::vpd_write)},
    {MessageKind::mi_command, static_cast<std::uint8_t>(Opcode::ses_receive)},
    {MessageKind::mi_command, static_cast<std::uint8_t>(Opcode::ses_send)},
    {MessageKind::admin_command, 0x02},  // Get Log Page
    {MessageKind::admin_command, 0x06},  // Identify
    {MessageKind::admin_command, 0x11},  // Firmware Image Download
    {MessageKind::admin_command, 0x81},  // Security Send
    {MessageKind::admin_command, 0x82},  // Security Receive
};

constexpr Opcode kOptionalCommands[] = {Opcode::vpd_write,   Opcode::reset,        Opcode::ses_receive, Opcode::ses_send,
                                        Opcode::buffer_read, Opcode::buffer_write, Opcode::shutdown};
/// What every endpoint must have, and a controller need not.
constexpr Opcode kOptionalInBand[] = {Opcode::read_data_structure, Opcode::configuration_set, Opcode::configuration_get};

}  // namespace

bool Agent::allowed_with_buffer(MessageKind kind, std::uint8_t opcode) {
  return std::find(std::begin(kWithBuffer), std::end(kWithBuffer), SupportedCommand{kind, opcode}) != std::end(kWithBuffer);
}

std::vector<SupportedCommand> Agent::buffer_commands() { return {std::begin(kWithBuffer), std::end(kWithBuffer)}; }

void Agent::read_data_structure(Exchange& exchange) {
  const auto asked = exchange.as<ReadDataStructure>();
  Bytes data;
  switch (static_cast<DataType>(asked.get(read_ds::dtyp))) {
    case DataType::subsystem_information:
      data = subsystem_information();
      break;
    case DataType::port_information: {
      const std::uint8_t port = asked.get(read_ds::portid);
      if (!device_.has_port(port)) {
        if (!refuse(exchange, check::read_ds_port)) finish(exchange, 0, {});
        return;
      }
      data = port_information(port);
      break;
    }
    case DataType::controller_list: {
      std::uint16_t first = asked.get(read_ds::ctrlid);
      // libnvme says there where the list is to begin.
      if (options_.list_start_in_byte_10 && first == 0) first = asked.get(read_ds::portid);
      data = controller_list(departs(departure::ds_start) ? std::uint16_t{0} : first);
      break;
    }
    case DataType::controller_information: {
      subsystem::Controller* const controller = device_.find_controller(asked.get(read_ds::ctrlid));
      if (controller == nullptr) {
        if (!refuse(exchange, check::read_ds_controller)) finish(exchange, 0, {});
        return;
      }
      data = controller_information(*controller);
      break;
    }
    case DataType::supported_commands: {
      subsystem::Controller* const controller = device_.find_controller(asked.get(read_ds::ctrlid));
      data = make_command_list(optional_commands(controller));
      break;
    }
    case DataType::buffer_commands:
      if (!buffer_offered() && refuse(exchange, check::read_ds_buffer)) return;
      data = make_command_list(buffer_commands());
      break;
    default:
      if (!refuse(exchange, check::read_ds_type)) finish(exchange, 0, {});
      return;
  }
  if (departs(departure::ds_reserved) && data.size() == 32) data.back() = 0x5A;
  const std::size_t extra = departs(departure::ds_length) ? 2 : 0;
  finish(exchange, static_cast<std::uint32_t>(data.size() + extra), data);
}

Bytes Agent::subsystem_information() const {
  Record<SubsystemInfo> info;
  const Revision revision = device_.options().revision;
  const std::size_t extra = departs(departure::ds_ports) ? 1 : 0;
  info.set(subsystem_info::nump, device_.ports() - 1 + extra)
      .set(subsystem_info::mjr, major_of(revision))
      .set(subsystem_info::mnr, minor_of(revision))
      .set(subsystem_info::sre, device_.has(Revision::r1_2) && !options_.reset_keeps_changes);
  return {info.bytes().begin(), info.bytes().end()};
}

Bytes Agent::port_information(std::uint8_t port) const {
  const DevicePort& facts = device_.port(port);
  const bool ours = port == options_.port;
  Record<PciePortInfo> info;
  info.set(port_info::prttyp, facts.type)
      .set(port_info::mmtus, facts.unit_max)
      .set(port_info::mebs, ours && buffer_offered() ? options_.buffer_bytes : 0u)
      .set(port_info::ciaps, ours && auto_pause_offered())
      .set(port_info::aems, ours && events_offered());
  if (facts.type == PortType::pcie) {
    const bool up = device_.port_state(port).link_active;
    info.set(port_info::mps, kPayloadCode)
        .set(port_info::slsv, facts.link_speeds)
        .set(port_info::cls, up ? facts.link_speed : std::uint8_t{0})
        .set(port_info::mlw, facts.link_width)
        .set(port_info::nlw, up ? facts.link_width : std::uint8_t{0})
        .set(port_info::pn, port);
  }
  if (facts.type == PortType::two_wire) {
    info.edit<TwoWirePortInfo>()
        .set(port_info::cvpdaddr, facts.vpd_address)
        .set(port_info::mvpdfreq, facts.frequency_max)
        .set(port_info::cmeaddr, facts.endpoint_address)
        .set(port_info::mmefreq, facts.frequency_max)
        .set(port_info::nvmebms, facts.basic_management);
  }
  return {info.bytes().begin(), info.bytes().end()};
}

Bytes Agent::controller_information(subsystem::Controller& controller) const {
  Record<ControllerInfo> info;
  const subsystem::SubsystemOptions& facts = device_.subsystem().options();
  // The first PCI Express port is the one that the functions are on.
  for (std::size_t i = 0; i < device_.ports(); ++i) {
    if (device_.port(static_cast<std::uint8_t>(i)).type != PortType::pcie) continue;
    unsigned function = 0;
    for (const auto& [id, other] : device_.subsystem().controllers()) {
      if (other.get() == &controller) break;
      ++function;
    }
    info.set(controller_info::portid, i)
        .set(controller_info::pri_valid, true)
        .set(controller_info::bus, 1u)
        .set(controller_info::device, function / 8)
        .set(controller_info::function, function % 8);
    break;
  }
  const unsigned other = departs(departure::ds_vendor) ? 1u : 0u;
  info.set(controller_info::vid, facts.vid + other)
      .set(controller_info::did, device_.options().device_id)
      .set(controller_info::ssvid, facts.ssvid)
      .set(controller_info::ssid, device_.options().subsystem_id);
  return {info.bytes().begin(), info.bytes().end()};
}

Bytes Agent::controller_list(std::uint16_t first) const {
  std::vector<std::uint16_t> ids;
  for (const auto& [id, controller] : device_.subsystem().controllers()) {
    if (id >= first) ids.push_back(id);
  }
  if (departs(departure::ds_order)) std::reverse(ids.begin(), ids.end());
  Bytes list = make_controller_list(ids);
  if (departs(departure::ds_count)) store_le(list.data(), static_cast<std::uint16_t>(ids.size() + 1));
  return list;
}

std::vector<SupportedCommand> Agent::optional_commands(const subsystem::Controller* controller) const {
  std::vector<SupportedCommand> commands;
  const bool lies = departs(departure::ds_optional_lies);
  for (const Opcode opcode : kOptionalInBand) {
    if (in_band_) commands.push_back({MessageKind::mi_command, static_cast<std::uint8_t>(opcode)});
  }
  for (const Opcode opcode : kOptionalCommands) {
    const auto code = static_cast<std::uint8_t>(opcode);
    if (command_supported(code) || lies) commands.push_back({MessageKind::mi_command, code});
  }
  if (in_band_) return commands;
  if (controller != nullptr) {
    for (unsigned code = 0; code < 256; ++code) {
      const auto opcode = static_cast<std::uint8_t>(code);
      if (admin_policy(opcode) == Policy::optional && controller->admin_supported(opcode)) {
        commands.push_back({MessageKind::admin_command, opcode});
      }
    }
  }
  for (unsigned code = 0; code < 256; ++code) {
    const auto opcode = static_cast<std::uint8_t>(code);
    if (pcie_supported(opcode)) commands.push_back({MessageKind::pcie_command, opcode});
  }
  return commands;
}

}  // namespace fb::mi
