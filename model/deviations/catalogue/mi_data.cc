// Read NVMe-MI Data Structure: structures and lists that are not what they should be.
#include <algorithm>

#include "model/deviations/catalogue/mi_shapes.h"
#include "model/drive/drive.h"

namespace fb::deviations {
namespace {

using mi::DataType;
using mi::Status;
namespace departure = mi::departure;

constexpr std::size_t kData = mi::kResponseMin;  // where data begins

void revision_zero(const MessageContext& message, Bytes& body) {
  if (reads(message, body, DataType::subsystem_information)) body[kData + 1] = body[kData + 2] = 0;
}
void lists_are_told_as_two_bytes(const MessageContext& message, Bytes& body) {
  if (reads(message, body, DataType::controller_list)) body[5] = 2, body[6] = 0;
}
void length_with_reserved_bits(const MessageContext& message, Bytes& body) {
  if (is_of(message, mi::Opcode::read_data_structure) && succeeded(body)) body[7] = 0x5A;
}
class ChecksWhatIsIgnored final : public mi::EndpointHooks {
 public:
  std::optional<Status> admission(const MessageContext& message) override {
    const bool subsystem = is_of(message, mi::Opcode::read_data_structure) && message.request[11] == 0;
    const bool others = subsystem && (message.request[8] != 0 || message.request[9] != 0 || message.request[10] != 0);
    if (others) return Status::invalid_parameter;
    return std::nullopt;
  }
};
bool last_port(const MessageContext& message, std::string_view check) {
  return check == "mi.read_ds.portid" && message.request[mi::read_ds::portid.offset] == 0xFF;
}
void reserved_port_byte(const MessageContext& message, Bytes& body) {
  if (reads(message, body, DataType::port_information)) body[kData + 20] = 0x5A;
}
void small_units(mi::DriveOptions& drive) {
  for (mi::DevicePort& port : drive.device.ports) port.unit_max = 32;
}
void impossible_speed(mi::DriveOptions& drive) {
  for (mi::DevicePort& port : drive.device.ports) port.link_speed = 6;
}
void other_address(mi::DriveOptions& drive) {
  for (mi::DevicePort& port : drive.device.ports) port.endpoint_address = 0x3C;
}
void padded_lists(const MessageContext& message, Bytes& body) {
  if (!reads(message, body, DataType::controller_list)) return;
  body.resize((body.size() + 3) / 4 * 4);
  store_le(&body[5], static_cast<std::uint16_t>(body.size() - kData));
}
void lists_above_their_start(const MessageContext& message, Bytes& body) {
  // The one that was asked for is left out.
  if (!reads(message, body, DataType::controller_list) || body.size() < kData + 4) return;
  if (load_le<std::uint16_t>(&body[kData + 2]) != load_le<std::uint16_t>(&message.request[8])) return;
  body.erase(body.begin() + kData + 2, body.begin() + kData + 4);
  --body[kData], body[5] = static_cast<std::uint8_t>(body[5] - 2);
}
void reserved_controller_byte(const MessageContext& message, Bytes& body) {
  if (reads(message, body, DataType::controller_information)) body[kData + 2] = 0x5A;
}
void controller_on_another_port(const MessageContext& message, Bytes& body) {
  if (reads(message, body, DataType::controller_information)) body[kData] ^= 1;
}
void one_routing_for_all(const MessageContext& message, Bytes& body) {
  if (reads(message, body, DataType::controller_information)) body[kData + 6] = 0;
}
void swapped_vendors(const MessageContext& message, Bytes& body) {
  if (reads(message, body, DataType::controller_information)) std::swap(body[kData + 12], body[kData + 13]);
}
void vpd_write_is_not_listed(const MessageContext& message, Bytes& body) {
  if (!reads(message, body, DataType::supported_commands)) return;
  for (std::size_t at = kData + 2; at + 1 < body.size(); at += 2) {
    if (body[at] != 0x08 || body[at + 1] != static_cast<std::uint8_t>(mi::Opcode::vpd_write)) continue;
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(at), body.begin() + static_cast<std::ptrdiff_t>(at) + 2);
    --body[kData], body[5] = static_cast<std::uint8_t>(body[5] - 2);
    return;
  }
}
void buffer_list_counts_too_much(const MessageContext& message, Bytes& body) {
  if (reads(message, body, DataType::buffer_commands)) ++body[kData];
}
bool one_reserved_type(const MessageContext& message, std::string_view check) {
  return check == "mi.read_ds.dtyp" && message.request[mi::read_ds::dtyp.offset] == 0x80;
}

}  // namespace

DEVIATION(structures_with_a_reserved_byte, "mi.read-ds.subsystem", Product::endpoint, "sets a reserved byte of its data structures",
          Departs{departure::ds_reserved});
DEVIATION(subsystem_of_revision_zero, "mi.read-ds.subsystem", Product::endpoint, "calls itself revision 0.0",
          alters_answers<&revision_zero>());
DEVIATION(structures_of_another_length, "mi.read-ds.length", Product::endpoint, "tells two bytes more than there are (F16)",
          Departs{departure::ds_length});
DEVIATION(lists_are_told_as_empty, "mi.read-ds.length", Product::endpoint, "tells the length of every controller list as two (F16)",
          alters_answers<&lists_are_told_as_two_bytes>());
DEVIATION(lengths_have_reserved_bits, "mi.read-ds.length", Product::endpoint, "sets bits above the length of a data structure",
          alters_answers<&length_with_reserved_bits>());
DEVIATION(ignored_fields_are_checked, "mi.read-ds.ignored", Product::endpoint, "refuses subsystem information with a controller or port",
          hooks<ChecksWhatIsIgnored>());
DEVIATION(one_port_too_many_is_announced, "mi.read-ds.ports", Product::endpoint, "announces a port that is not there",
          Departs{departure::ds_ports});
DEVIATION(unknown_ports_have_information, "mi.read-ds.ports.unknown", Product::endpoint, "answers for any port",
          Tolerate{"mi.read_ds.portid"});
DEVIATION(unknown_ports_are_located_at_the_controller, "mi.read-ds.ports.unknown", Product::endpoint,
          "locates an unknown port at the controller", AnswerMi{"mi.read_ds.portid", Status::invalid_parameter, {8, 0}});
DEVIATION(one_unknown_port_has_information, "mi.read-ds.ports.unknown", Product::endpoint, "answers for port 255",
          tolerates_some<&last_port>());
DEVIATION(ports_with_a_reserved_byte, "mi.read-ds.port", Product::endpoint, "sets a reserved byte of port information",
          alters_answers<&reserved_port_byte>());
DEVIATION(ports_of_small_units, "mi.read-ds.port", Product::endpoint, "tells a largest transmission unit of 32 bytes",
          AlterDrive{&small_units});
DEVIATION(ports_of_an_impossible_speed, "mi.read-ds.port", Product::endpoint, "tells a link speed that it does not support",
          AlterDrive{&impossible_speed});
DEVIATION(ports_of_another_address, "mi.read-ds.port.address", Product::endpoint, "tells another address than the endpoint's",
          AlterDrive{&other_address});
DEVIATION(controller_lists_descend, "mi.read-ds.controllers", Product::endpoint, "lists controllers in descending order",
          Departs{departure::ds_order});
DEVIATION(controller_lists_count_too_much, "mi.read-ds.controllers", Product::endpoint, "counts a controller more than it lists (F16)",
          Departs{departure::ds_count});
DEVIATION(controller_lists_are_always_whole, "mi.read-ds.controllers", Product::endpoint,
          "lists every controller wherever the list is to begin", Departs{departure::ds_start});
DEVIATION(controller_lists_begin_too_late, "mi.read-ds.controllers", Product::endpoint,
          "leaves out the controller at which the list is to begin", alters_answers<&lists_above_their_start>());
DEVIATION(controller_lists_are_padded, "mi.read-ds.controllers.odd", Product::endpoint,
          "pads controller lists to a multiple of four bytes (F5)", alters_answers<&padded_lists>());
DEVIATION(controllers_of_another_vendor, "mi.read-ds.controller", Product::endpoint, "names another vendor than Identify does",
          Departs{departure::ds_vendor});
DEVIATION(controllers_of_a_swapped_vendor, "mi.read-ds.controller", Product::endpoint, "gives the subsystem vendor high byte first",
          alters_answers<&swapped_vendors>());
DEVIATION(controllers_with_a_reserved_byte, "mi.read-ds.controller", Product::endpoint, "sets a reserved byte of controller information",
          alters_answers<&reserved_controller_byte>());
DEVIATION(controllers_on_the_two_wire_port, "mi.read-ds.controller", Product::endpoint, "says that controllers are on the two-wire port",
          alters_answers<&controller_on_another_port>());
DEVIATION(controllers_share_a_routing_identifier, "mi.read-ds.controller.routing", Product::endpoint,
          "gives all controllers one routing identifier", alters_answers<&one_routing_for_all>());
DEVIATION(unknown_controllers_have_information, "mi.read-ds.controller.unknown", Product::endpoint, "answers for any controller",
          Tolerate{"mi.read_ds.ctrlid"});
DEVIATION(unknown_controllers_are_located_at_the_port, "mi.read-ds.controller.unknown", Product::endpoint,
          "locates an unknown controller at the port", AnswerMi{"mi.read_ds.ctrlid", Status::invalid_parameter, {10, 0}});
DEVIATION(optional_commands_are_made_up, "mi.read-ds.optional.listed", Product::endpoint, "lists optional commands that it does not have",
          Departs{departure::ds_optional_lies});
DEVIATION(vpd_write_is_kept_secret, "mi.read-ds.optional.unlisted", Product::endpoint, "has VPD Write and does not list it",
          alters_answers<&vpd_write_is_not_listed>());
DEVIATION(buffer_commands_without_a_buffer, "mi.read-ds.buffer.none", Product::endpoint, "lists commands with a buffer where it has none",
          Tolerate{"mi.read_ds.no_buffer"});
DEVIATION(buffer_commands_count_too_much, "mi.read-ds.buffer.list", Product::endpoint,
          "counts a command with a buffer more than it lists (F16)", alters_answers<&buffer_list_counts_too_much>());
DEVIATION(reserved_structures_are_read, "mi.read-ds.type", Product::endpoint, "answers reserved data structure types with success",
          Tolerate{"mi.read_ds.dtyp"});
DEVIATION(reserved_structures_are_located_elsewhere, "mi.read-ds.type", Product::endpoint,
          "locates a reserved data structure type at byte 8", AnswerMi{"mi.read_ds.dtyp", Status::invalid_parameter, {8, 0}});
DEVIATION(one_reserved_structure_is_read, "mi.read-ds.type", Product::endpoint, "has a data structure of a reserved type",
          tolerates_some<&one_reserved_type>());

}  // namespace fb::deviations
