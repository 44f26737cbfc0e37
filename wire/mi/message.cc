#include "wire/mi/message.h"

#include <fmt/format.h>
#include <isa-l/crc.h>

#include <cstdio>

#include "wire/mi/control.h"
#include "wire/mi/tunnels.h"
#include "wire/nvme/opcodes.h"

namespace fb::mi {

std::string_view name_of(Status status) {
  switch (status) {
    case Status::success:
      return "Success";
    case Status::more_processing:
      return "More Processing Required";
    case Status::internal_error:
      return "Internal Error";
    case Status::invalid_opcode:
      return "Invalid Command Opcode";
    case Status::invalid_parameter:
      return "Invalid Parameter";
    case Status::invalid_command_size:
      return "Invalid Command Size";
    case Status::invalid_data_size:
      return "Invalid Command Input Data Size";
    case Status::access_denied:
      return "Access Denied";
    case Status::unable_to_abort:
      return "Unable to Abort";
    case Status::vpd_updates_exceeded:
      return "VPD Updates Exceeded";
    case Status::pcie_inaccessible:
      return "PCIe Inaccessible";
    case Status::buffer_cleared:
      return "Management Endpoint Buffer Cleared Due to Sanitize";
    case Status::enclosure_services_failure:
      return "Enclosure Services Failure";
    case Status::enclosure_transfer_failure:
      return "Enclosure Services Transfer Failure";
    case Status::enclosure_failure:
      return "Enclosure Failure";
    case Status::enclosure_transfer_refused:
      return "Enclosure Services Transfer Refused";
    case Status::enclosure_function_unsupported:
      return "Unsupported Enclosure Function";
    case Status::enclosure_unavailable:
      return "Enclosure Services Unavailable";
    case Status::enclosure_degraded:
      return "Enclosure Degraded";
    case Status::sanitize_in_progress:
      return "Sanitize In Progress";
  }
  return static_cast<unsigned>(status) >= 0xE0 ? "Vendor Specific" : "Reserved";
}

bool is_defined(Status status) { return name_of(status) != "Reserved"; }

std::string to_string(const ParameterError& at) { return "byte " + std::to_string(at.byte) + " bit " + std::to_string(at.bit); }

std::string_view name_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::read_data_structure:
      return "Read NVMe-MI Data Structure";
    case Opcode::subsystem_health_poll:
      return "NVM Subsystem Health Status Poll";
    case Opcode::controller_health_poll:
      return "Controller Health Status Poll";
    case Opcode::configuration_set:
      return "Configuration Set";
    case Opcode::configuration_get:
      return "Configuration Get";
    case Opcode::vpd_read:
      return "VPD Read";
    case Opcode::vpd_write:
      return "VPD Write";
    case Opcode::reset:
      return "Reset";
    case Opcode::ses_receive:
      return "SES Receive";
    case Opcode::ses_send:
      return "SES Send";
    case Opcode::buffer_read:
      return "Management Endpoint Buffer Read";
    case Opcode::buffer_write:
      return "Management Endpoint Buffer Write";
    case Opcode::shutdown:
      return "Shutdown";
  }
  return static_cast<unsigned>(opcode) >= 0xC0 ? "Vendor Specific" : "Reserved";
}

std::uint32_t mic_of(ByteView bytes) {
  // ISA-L neither inverts what it is given nor what it returns; and takes no const.
  return ~crc32_iscsi(const_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), ~0u);
}

void append_mic(Bytes& message) {
  const std::uint32_t mic = mic_of(message);
  message.resize(message.size() + kMicSize);
  store_le(&message[message.size() - kMicSize], mic);
}

bool mic_ok(ByteView message) {
  if (message.size() < kHeaderSize + kMicSize) return false;
  const ByteView body = message.first(message.size() - kMicSize);
  return load_le<std::uint32_t>(message.data() + body.size()) == mic_of(body);
}

namespace {

std::string hex(const char* name, std::uint64_t value) {
  char text[48];
  std::snprintf(text, sizeof text, " %s=%llXh", name, static_cast<unsigned long long>(value));
  return text;
}

std::string describe_request(MessageKind kind, ByteView message) {
  std::string text = request_name(kind, message[4]);
  switch (kind) {
    case MessageKind::control_primitive:
      return text + hex("tag", message[5]) + hex("cpsp", load_le<std::uint16_t>(&message[6]));
    case MessageKind::mi_command:
      if (const auto view = View<MiRequest>::over(message)) {
        text += hex("nmd0", view->get(mi_request::nmd0)) + hex("nmd1", view->get(mi_request::nmd1));
      }
      return text;
    case MessageKind::admin_command:
      if (const auto view = View<AdminRequest>::over(message)) {
        text += hex("ctlid", view->get(admin_request::ctlid)) + hex("nsid", view->get(admin_request::nsid)) +
                hex("cdw10", view->get(admin_request::cdw10)) + hex("dofst", view->get(admin_request::dofst)) +
                hex("dlen", view->get(admin_request::dlen));
      }
      return text;
    case MessageKind::pcie_command:
      if (const auto view = View<PcieRequest>::over(message)) {
        text += hex("ctlid", view->get(pcie_request::ctlid)) + hex("length", view->get(pcie_request::length)) +
                hex("offset", view->get(pcie_request::offset));
      }
      return text;
    case MessageKind::async_event:
      return text + hex("count", message[4]);
  }
  return text;
}

std::string describe_response(MessageKind kind, ByteView message) {
  const auto status = View<AnyResponse>{message}.get(response::status);
  std::string text{name_of(status)};
  if (status == Status::invalid_parameter) {
    const View<ErrorResponse> view{message};
    return text + " at " + to_string({view.get(response::pel_byte), view.get(response::pel_bit)});
  }
  if (status == Status::more_processing) {
    return text + hex("mprt", View<MoreProcessing>{message}.get(response::mprt));
  }
  if (status != Status::success) return text;
  if (kind == MessageKind::mi_command) {
    text += hex("nmresp", View<MiResponse>{message}.get(response::nmresp));
  }
  if (kind == MessageKind::control_primitive) text += hex("cpsr", load_le<std::uint16_t>(&message[6]));
  if (kind == MessageKind::admin_command) {
    if (const auto view = View<AdminResponse>::over(message)) {
      text += hex("dw0", view->get(admin_response::dw0)) + " " +
              nvme::to_string(view->get(admin_response::nvme_status).of(nvme::StatusFamily::command_set));
    }
  }
  return text;
}

}  // namespace

std::string request_name(MessageKind kind, std::uint8_t opcode) {
  switch (kind) {
    case MessageKind::control_primitive:
      return std::string(name_of(static_cast<Primitive>(opcode)));
    case MessageKind::mi_command:
      return std::string(name_of(static_cast<Opcode>(opcode)));
    case MessageKind::admin_command:
      return std::string(nvme::admin_opcode_name(opcode));
    case MessageKind::pcie_command:
      return std::string(name_of(static_cast<PcieOpcode>(opcode)));
    case MessageKind::async_event:
      return "events";
  }
  return fmt::format("opcode {:02X}h", opcode);
}

std::string describe(ByteView message) {
  if (message.size() < kResponseMin) return "(short NVMe-MI message)";
  const View<MessageHeader> head{message};
  const MessageKind kind = head.get(header::nmimt);
  std::string text;
  switch (kind) {
    case MessageKind::control_primitive:
      text = "primitive";
      break;
    case MessageKind::mi_command:
      text = "MI";
      break;
    case MessageKind::admin_command:
      text = "Admin";
      break;
    case MessageKind::pcie_command:
      text = "PCIe";
      break;
    case MessageKind::async_event:
      text = "async event";
      break;
    default:
      return "message of reserved kind" + hex("nmimt", static_cast<unsigned>(kind));
  }
  const bool is_response = head.get(header::ror);
  text += is_response ? " response" : " request";
  text += hex("slot", head.get(header::csi)) + " ";
  text += is_response ? describe_response(kind, message) : describe_request(kind, message);
  text += " (" + std::to_string(message.size()) + " bytes)";
  return text;
}

}  // namespace fb::mi
