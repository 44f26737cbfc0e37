#include "wire/mctp/control.h"

#include <fmt/format.h>

namespace fb::mctp::control {

std::string_view name_of(Command command) {
  switch (command) {
    case Command::set_endpoint_id:
      return "Set Endpoint ID";
    case Command::get_endpoint_id:
      return "Get Endpoint ID";
    case Command::get_endpoint_uuid:
      return "Get Endpoint UUID";
    case Command::get_version_support:
      return "Get MCTP Version Support";
    case Command::get_message_type_support:
      return "Get Message Type Support";
    case Command::get_vendor_support:
      return "Get Vendor Defined Message Support";
    case Command::resolve_endpoint_id:
      return "Resolve Endpoint ID";
    case Command::allocate_endpoint_ids:
      return "Allocate Endpoint IDs";
    case Command::routing_information_update:
      return "Routing Information Update";
    case Command::get_routing_table:
      return "Get Routing Table Entries";
    case Command::prepare_for_discovery:
      return "Prepare for Endpoint Discovery";
    case Command::endpoint_discovery:
      return "Endpoint Discovery";
    case Command::discovery_notify:
      return "Discovery Notify";
    case Command::get_network_id:
      return "Get Network ID";
    case Command::query_hop:
      return "Query Hop";
    case Command::resolve_uuid:
      return "Resolve UUID";
    case Command::query_rate_limit:
      return "Query Rate Limit";
    case Command::request_tx_rate_limit:
      return "Request TX Rate Limit";
    case Command::update_rate_limit:
      return "Update Rate Limit";
    case Command::query_supported_interfaces:
      return "Query Supported Interfaces";
  }
  return "unknown command";
}

std::string_view name_of(Completion code) {
  switch (code) {
    case Completion::success:
      return "success";
    case Completion::error:
      return "error";
    case Completion::invalid_data:
      return "invalid data";
    case Completion::invalid_length:
      return "invalid length";
    case Completion::not_ready:
      return "not ready";
    case Completion::unsupported_command:
      return "unsupported command";
    case Completion::command_specific:
      return "command specific 80h";
  }
  return "unknown code";
}

namespace {

std::string digits(std::uint8_t bcd) {
  const unsigned high = bcd >> 4;
  const unsigned low = bcd & 0xF;
  if (low > 9 || (high > 9 && high != 0xF)) return fmt::format("{:02x}h", bcd);
  return high == 0xF ? fmt::format("{}", low) : fmt::format("{}{}", high, low);
}

}  // namespace

std::string to_string(const Version& version) {
  std::string text = digits(version.major) + "." + digits(version.minor);
  if (version.update != 0xFF) text += "." + digits(version.update);
  if (version.alpha >= 0x20 && version.alpha < 0x7F) text += static_cast<char>(version.alpha);
  return text;
}

Bytes make_request(Command command, std::uint8_t instance, ByteView data, bool datagram) {
  Record<RequestHeader> head;
  head.set(header::request, true).set(header::datagram, datagram).set(header::instance, instance).set(header::command, command);
  Bytes message(head.bytes().begin(), head.bytes().end());
  message.insert(message.end(), data.begin(), data.end());
  return message;
}

Bytes make_response(ByteView request, Completion completion, ByteView data) {
  const View<RequestHeader> asked{request};
  Record<ResponseHeader> head;
  head.set(header::instance, asked.get(header::instance))
      .set(header::command, asked.get(header::command))
      .set(response::completion, completion);
  Bytes message(head.bytes().begin(), head.bytes().end());
  if (completion == Completion::success) message.insert(message.end(), data.begin(), data.end());
  return message;
}

std::string describe_message(ByteView message) {
  const auto head = View<RequestHeader>::over(message);
  if (!head) return "control message cut short";
  const Command command = head->get(header::command);
  std::string text = fmt::format("{} ({:02x}h)", name_of(command), static_cast<unsigned>(command));
  if (head->get(header::request)) {
    return fmt::format("{} {} {}", text, head->get(header::datagram) ? "datagram" : "request", head->get(header::instance));
  }
  text += fmt::format(" response {}", head->get(header::instance));
  if (message.size() < kResponseHeader) return text + " cut short";
  const Completion code = View<ResponseHeader>{message}.get(response::completion);
  return fmt::format("{} {} ({:02x}h)", text, name_of(code), static_cast<unsigned>(code));
}

}  // namespace fb::mctp::control
