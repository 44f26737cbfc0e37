#include "wire/nvme/opcodes.h"

namespace fb::nvme {

namespace {
constexpr std::uint8_t kFirstVendorOpcode = 0xC0;
constexpr std::uint8_t kFirstVendorIoOpcode = 0x80;
}  // namespace

std::string_view admin_opcode_name(std::uint8_t opcode) {
  switch (static_cast<AdminOpcode>(opcode)) {
    case AdminOpcode::delete_io_sq:
      return "Delete I/O Submission Queue";
    case AdminOpcode::create_io_sq:
      return "Create I/O Submission Queue";
    case AdminOpcode::get_log_page:
      return "Get Log Page";
    case AdminOpcode::delete_io_cq:
      return "Delete I/O Completion Queue";
    case AdminOpcode::create_io_cq:
      return "Create I/O Completion Queue";
    case AdminOpcode::identify:
      return "Identify";
    case AdminOpcode::abort:
      return "Abort";
    case AdminOpcode::set_features:
      return "Set Features";
    case AdminOpcode::get_features:
      return "Get Features";
    case AdminOpcode::async_event_request:
      return "Asynchronous Event Request";
    case AdminOpcode::namespace_management:
      return "Namespace Management";
    case AdminOpcode::firmware_commit:
      return "Firmware Commit";
    case AdminOpcode::firmware_download:
      return "Firmware Image Download";
    case AdminOpcode::device_self_test:
      return "Device Self-test";
    case AdminOpcode::namespace_attachment:
      return "Namespace Attachment";
    case AdminOpcode::keep_alive:
      return "Keep Alive";
    case AdminOpcode::directive_send:
      return "Directive Send";
    case AdminOpcode::directive_receive:
      return "Directive Receive";
    case AdminOpcode::virtualization_management:
      return "Virtualization Management";
    case AdminOpcode::nvme_mi_send:
      return "NVMe-MI Send";
    case AdminOpcode::nvme_mi_receive:
      return "NVMe-MI Receive";
    case AdminOpcode::capacity_management:
      return "Capacity Management";
    case AdminOpcode::discovery_information_management:
      return "Discovery Information Management";
    case AdminOpcode::fabric_zoning_receive:
      return "Fabric Zoning Receive";
    case AdminOpcode::lockdown:
      return "Lockdown";
    case AdminOpcode::fabric_zoning_lookup:
      return "Fabric Zoning Lookup";
    case AdminOpcode::clear_exported_nvm_resource:
      return "Clear Exported NVM Resource";
    case AdminOpcode::fabric_zoning_send:
      return "Fabric Zoning Send";
    case AdminOpcode::create_exported_nvm_subsystem:
      return "Create Exported NVM Subsystem";
    case AdminOpcode::manage_exported_nvm_subsystem:
      return "Manage Exported NVM Subsystem";
    case AdminOpcode::manage_exported_namespace:
      return "Manage Exported Namespace";
    case AdminOpcode::manage_exported_port:
      return "Manage Exported Port";
    case AdminOpcode::cross_controller_reset:
      return "Cross-Controller Reset";
    case AdminOpcode::send_discovery_log_page:
      return "Send Discovery Log Page";
    case AdminOpcode::track_send:
      return "Track Send";
    case AdminOpcode::track_receive:
      return "Track Receive";
    case AdminOpcode::migration_send:
      return "Migration Send";
    case AdminOpcode::migration_receive:
      return "Migration Receive";
    case AdminOpcode::controller_data_queue:
      return "Controller Data Queue";
    case AdminOpcode::doorbell_buffer_config:
      return "Doorbell Buffer Config";
    case AdminOpcode::fabrics:
      return "Fabrics";
    case AdminOpcode::format_nvm:
      return "Format NVM";
    case AdminOpcode::security_send:
      return "Security Send";
    case AdminOpcode::security_receive:
      return "Security Receive";
    case AdminOpcode::sanitize:
      return "Sanitize";
    case AdminOpcode::get_lba_status:
      return "Get LBA Status";
  }
  return opcode >= kFirstVendorOpcode ? "Vendor Specific" : "Reserved";
}

std::string_view io_opcode_name(std::uint8_t opcode) {
  switch (static_cast<IoOpcode>(opcode)) {
    case IoOpcode::flush:
      return "Flush";
    case IoOpcode::write:
      return "Write";
    case IoOpcode::read:
      return "Read";
    case IoOpcode::write_uncorrectable:
      return "Write Uncorrectable";
    case IoOpcode::compare:
      return "Compare";
    case IoOpcode::write_zeroes:
      return "Write Zeroes";
    case IoOpcode::dataset_management:
      return "Dataset Management";
    case IoOpcode::verify:
      return "Verify";
    case IoOpcode::reservation_register:
      return "Reservation Register";
    case IoOpcode::reservation_report:
      return "Reservation Report";
    case IoOpcode::reservation_acquire:
      return "Reservation Acquire";
    case IoOpcode::io_management_receive:
      return "I/O Management Receive";
    case IoOpcode::reservation_release:
      return "Reservation Release";
    case IoOpcode::cancel:
      return "Cancel";
    case IoOpcode::copy:
      return "Copy";
    case IoOpcode::io_management_send:
      return "I/O Management Send";
    case IoOpcode::zone_management_send:
      return "Zone Management Send";
    case IoOpcode::zone_management_receive:
      return "Zone Management Receive";
    case IoOpcode::zone_append:
      return "Zone Append";
    case IoOpcode::fabrics:
      return "Fabrics";
  }
  return opcode >= kFirstVendorIoOpcode ? "Vendor Specific" : "Reserved";
}

std::string_view fabrics_type_name(std::uint8_t fctype) {
  switch (static_cast<FabricsType>(fctype)) {
    case FabricsType::property_set:
      return "Property Set";
    case FabricsType::connect:
      return "Connect";
    case FabricsType::property_get:
      return "Property Get";
    case FabricsType::authentication_send:
      return "Authentication Send";
    case FabricsType::authentication_receive:
      return "Authentication Receive";
    case FabricsType::disconnect:
      return "Disconnect";
  }
  return fctype >= kFirstVendorOpcode ? "Vendor Specific" : "Reserved";
}

}  // namespace fb::nvme
