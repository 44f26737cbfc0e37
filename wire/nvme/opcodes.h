// Command opcodes.
#pragma once

#include <cstdint>
#include <string_view>

namespace fb::nvme {

enum class AdminOpcode : std::uint8_t {
  delete_io_sq = 0x00,
  create_io_sq = 0x01,
  get_log_page = 0x02,
  delete_io_cq = 0x04,
  create_io_cq = 0x05,
  identify = 0x06,
  abort = 0x08,
  set_features = 0x09,
  get_features = 0x0A,
  async_event_request = 0x0C,
  namespace_management = 0x0D,
  firmware_commit = 0x10,
  firmware_download = 0x11,
  device_self_test = 0x14,
  namespace_attachment = 0x15,
  keep_alive = 0x18,
  directive_send = 0x19,
  directive_receive = 0x1A,
  virtualization_management = 0x1C,
  nvme_mi_send = 0x1D,
  nvme_mi_receive = 0x1E,
  capacity_management = 0x20,
  discovery_information_management = 0x21,
  fabric_zoning_receive = 0x22,
  lockdown = 0x24,
  fabric_zoning_lookup = 0x25,
  clear_exported_nvm_resource = 0x28,
  fabric_zoning_send = 0x29,
  create_exported_nvm_subsystem = 0x2A,
  manage_exported_nvm_subsystem = 0x2D,
  manage_exported_namespace = 0x31,
  manage_exported_port = 0x35,
  cross_controller_reset = 0x38,
  send_discovery_log_page = 0x39,
  track_send = 0x3D,
  track_receive = 0x3E,
  migration_send = 0x41,
  migration_receive = 0x42,
  controller_data_queue = 0x45,
  doorbell_buffer_config = 0x7C,
  fabrics = 0x7F,
  format_nvm = 0x80,
  security_send = 0x81,
  security_receive = 0x82,
  sanitize = 0x84,
  get_lba_status = 0x86,
};

enum class IoOpcode : std::uint8_t {
  flush = 0x00,
  write = 0x01,
  read = 0x02,
  write_uncorrectable = 0x04,
  compare = 0x05,
  write_zeroes = 0x08,
  dataset_management = 0x09,
  verify = 0x0C,
  reservation_register = 0x0D,
  reservation_report = 0x0E,
  reservation_acquire = 0x11,
  io_management_receive = 0x12,
  reservation_release = 0x15,
  cancel = 0x18,
  copy = 0x19,
  io_management_send = 0x1D,
  zone_management_send = 0x79,
  zone_management_receive = 0x7A,
  zone_append = 0x7D,
  fabrics = 0x7F,
};

/// Both queues: a Fabrics command; byte 4 says which.
inline constexpr std::uint8_t kFabricsOpcode = 0x7F;

enum class FabricsType : std::uint8_t {
  property_set = 0x00,
  connect = 0x01,
  property_get = 0x04,
  authentication_send = 0x05,
  authentication_receive = 0x06,
  disconnect = 0x08,
};

enum class DataDirection : std::uint8_t {
  none = 0,
  host_to_controller = 1,
  controller_to_host = 2,
  bidirectional = 3,
};

/// What bits 1:0 of an opcode (of the FCTYPE for a Fabrics command) say about data.
constexpr DataDirection direction_of(std::uint8_t opcode_or_fctype) { return static_cast<DataDirection>(opcode_or_fctype & 3); }

/// "Identify"; "Reserved" or "Vendor Specific" for others.
std::string_view admin_opcode_name(std::uint8_t opcode);
std::string_view io_opcode_name(std::uint8_t opcode);
std::string_view fabrics_type_name(std::uint8_t fctype);

}  // namespace fb::nvme
