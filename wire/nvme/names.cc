#include <fmt/format.h>

#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/logs.h"

namespace fb::nvme {

namespace {
constexpr std::uint8_t kFirstVendorValue = 0xC0;

std::string_view unnamed(std::uint8_t value) { return value >= kFirstVendorValue ? "Vendor Specific" : "Reserved"; }
}  // namespace

std::string_view cns_name(std::uint8_t cns) {
  switch (static_cast<Cns>(cns)) {
    case Cns::identify_namespace:
      return "Namespace";
    case Cns::controller:
      return "Controller";
    case Cns::active_namespace_list:
      return "Active Namespace ID List";
    case Cns::namespace_id_descriptors:
      return "Namespace Identification Descriptors";
    case Cns::nvm_set_list:
      return "NVM Set List";
    case Cns::command_set_namespace:
      return "I/O Command Set Specific Namespace";
    case Cns::command_set_controller:
      return "I/O Command Set Specific Controller";
    case Cns::command_set_active_namespace_list:
      return "I/O Command Set Active Namespace ID List";
    case Cns::independent_namespace:
      return "I/O Command Set Independent Namespace";
    case Cns::namespace_user_data_format:
      return "Namespace User Data Format";
    case Cns::command_set_user_data_format:
      return "I/O Command Set User Data Format";
    case Cns::allocated_namespace_list:
      return "Allocated Namespace ID List";
    case Cns::allocated_namespace:
      return "Allocated Namespace";
    case Cns::namespace_controller_list:
      return "Namespace Attached Controller List";
    case Cns::controller_list:
      return "Controller List";
    case Cns::primary_controller_capabilities:
      return "Primary Controller Capabilities";
    case Cns::secondary_controller_list:
      return "Secondary Controller List";
    case Cns::namespace_granularity_list:
      return "Namespace Granularity List";
    case Cns::uuid_list:
      return "UUID List";
    case Cns::domain_list:
      return "Domain List";
    case Cns::endurance_group_list:
      return "Endurance Group List";
    case Cns::command_set_allocated_namespace_list:
      return "I/O Command Set Allocated Namespace ID List";
    case Cns::command_set_allocated_namespace:
      return "I/O Command Set Allocated Namespace";
    case Cns::command_set_combinations:
      return "I/O Command Set Combinations";
    case Cns::underlying_namespace_list:
      return "Underlying Namespace List";
    case Cns::ports_list:
      return "Ports List";
    case Cns::allocated_independent_namespace:
      return "I/O Command Set Independent Allocated Namespace";
    case Cns::controller_state_formats:
      return "Supported Controller State Formats";
  }
  return unnamed(cns);
}

std::string_view log_page_name(std::uint8_t lid) {
  switch (static_cast<LogPage>(lid)) {
    case LogPage::supported_pages:
      return "Supported Log Pages";
    case LogPage::error_information:
      return "Error Information";
    case LogPage::smart:
      return "SMART / Health Information";
    case LogPage::firmware_slot:
      return "Firmware Slot Information";
    case LogPage::changed_namespaces:
      return "Changed Namespace List";
    case LogPage::commands_effects:
      return "Commands Supported and Effects";
    case LogPage::self_test:
      return "Device Self-test";
    case LogPage::telemetry_host:
      return "Telemetry Host-Initiated";
    case LogPage::telemetry_controller:
      return "Telemetry Controller-Initiated";
    case LogPage::endurance_group:
      return "Endurance Group Information";
    case LogPage::ana:
      return "Asymmetric Namespace Access";
    case LogPage::persistent_event:
      return "Persistent Event";
    case LogPage::lba_status:
      return "LBA Status Information";
    case LogPage::endurance_group_events:
      return "Endurance Group Event Aggregate";
    case LogPage::feature_effects:
      return "Feature Identifiers Supported and Effects";
    case LogPage::mi_command_effects:
      return "NVMe-MI Commands Supported and Effects";
    case LogPage::lockdown:
      return "Command and Feature Lockdown";
    case LogPage::cross_controller_reset:
      return "Cross-Controller Reset";
    case LogPage::lost_host:
      return "Lost Host Communication";
    case LogPage::fdp_configurations:
      return "FDP Configurations";
    case LogPage::reclaim_unit_handle_usage:
      return "Reclaim Unit Handle Usage";
    case LogPage::fdp_statistics:
      return "FDP Statistics";
    case LogPage::fdp_events:
      return "FDP Events";
    case LogPage::discovery:
      return "Discovery";
    case LogPage::host_discovery:
      return "Host Discovery";
    case LogPage::ave_discovery:
      return "AVE Discovery";
    case LogPage::pull_model_request:
      return "Pull Model DDC Request";
    case LogPage::reservation_notification:
      return "Reservation Notification";
    case LogPage::sanitize_status:
      return "Sanitize Status";
    case LogPage::changed_zones:
      return "Changed Zone List";
  }
  return unnamed(lid);
}

std::string_view feature_name(std::uint8_t fid) {
  switch (static_cast<FeatureId>(fid)) {
    case FeatureId::arbitration:
      return "Arbitration";
    case FeatureId::power_management:
      return "Power Management";
    case FeatureId::lba_range_type:
      return "LBA Range Type";
    case FeatureId::temperature_threshold:
      return "Temperature Threshold";
    case FeatureId::error_recovery:
      return "Error Recovery";
    case FeatureId::volatile_write_cache:
      return "Volatile Write Cache";
    case FeatureId::number_of_queues:
      return "Number of Queues";
    case FeatureId::interrupt_coalescing:
      return "Interrupt Coalescing";
    case FeatureId::interrupt_vector_configuration:
      return "Interrupt Vector Configuration";
    case FeatureId::write_atomicity:
      return "Write Atomicity Normal";
    case FeatureId::async_event_configuration:
      return "Asynchronous Event Configuration";
    case FeatureId::autonomous_power_state_transition:
      return "Autonomous Power State Transition";
    case FeatureId::host_memory_buffer:
      return "Host Memory Buffer";
    case FeatureId::timestamp:
      return "Timestamp";
    case FeatureId::keep_alive_timer:
      return "Keep Alive Timer";
    case FeatureId::host_controlled_thermal_management:
      return "Host Controlled Thermal Management";
    case FeatureId::non_operational_power_state:
      return "Non-Operational Power State Config";
    case FeatureId::read_recovery_level:
      return "Read Recovery Level Config";
    case FeatureId::predictable_latency_mode:
      return "Predictable Latency Mode Config";
    case FeatureId::predictable_latency_window:
      return "Predictable Latency Mode Window";
    case FeatureId::lba_status_information:
      return "LBA Status Information Attributes";
    case FeatureId::host_behavior_support:
      return "Host Behavior Support";
    case FeatureId::sanitize_configuration:
      return "Sanitize Config";
    case FeatureId::endurance_group_event:
      return "Endurance Group Event Configuration";
    case FeatureId::io_command_set_profile:
      return "I/O Command Set Profile";
    case FeatureId::spinup_control:
      return "Spinup Control";
    case FeatureId::flexible_data_placement:
      return "Flexible Data Placement";
    case FeatureId::fdp_events:
      return "Flexible Data Placement Events";
    case FeatureId::key_value_configuration:
      return "Key Value Configuration";
    case FeatureId::enhanced_controller_metadata:
      return "Enhanced Controller Metadata";
    case FeatureId::controller_metadata:
      return "Controller Metadata";
    case FeatureId::namespace_metadata:
      return "Namespace Metadata";
    case FeatureId::software_progress_marker:
      return "Software Progress Marker";
    case FeatureId::host_identifier:
      return "Host Identifier";
    case FeatureId::reservation_notification_mask:
      return "Reservation Notification Mask";
    case FeatureId::reservation_persistence:
      return "Reservation Persistence";
    case FeatureId::namespace_write_protection:
      return "Namespace Write Protection Config";
  }
  return unnamed(fid);
}

std::string_view name_of(AnaState state) {
  switch (state) {
    case AnaState::optimized:
      return "optimized";
    case AnaState::non_optimized:
      return "non-optimized";
    case AnaState::inaccessible:
      return "inaccessible";
    case AnaState::persistent_loss:
      return "persistent loss";
    case AnaState::change:
      return "change";
  }
  return "reserved";
}

namespace {

std::string_view notice_name(std::uint8_t info) {
  switch (info) {
    case event_info::notice_namespace_attribute:
      return "namespace attribute changed";
    case event_info::notice_firmware_activation:
      return "firmware activation starting";
    case event_info::notice_telemetry:
      return "telemetry log changed";
    case event_info::notice_ana_change:
      return "ANA change";
    case event_info::notice_predictable_latency:
      return "predictable latency event";
    case event_info::notice_lba_status:
      return "LBA status alert";
    case event_info::notice_endurance_group:
      return "endurance group event";
    case event_info::notice_zone_descriptor:
      return "zone descriptor changed";
    case event_info::notice_discovery_log:
      return "discovery log changed";
    case event_info::notice_host_discovery_log:
      return "host discovery log changed";
    case event_info::notice_ave_discovery_log:
      return "AVE discovery log changed";
    case event_info::notice_pull_discovery:
      return "pull model discovery request";
    case event_info::notice_cross_controller_reset:
      return "cross-controller reset completed";
    case event_info::notice_lost_host:
      return "lost host communication";
    default:
      return "notice";
  }
}

std::string_view event_name(const Event& event) {
  switch (event.type) {
    case EventType::error:
      return "error";
    case EventType::smart:
      return "SMART / health";
    case EventType::notice:
      return notice_name(event.info);
    case EventType::immediate:
      return "immediate";
    case EventType::one_shot:
      return "one-shot";
    case EventType::command_set:
      return event.info == 0 ? "reservation log available" : "sanitize";
    case EventType::vendor:
      return "vendor specific";
  }
  return "reserved";
}

}  // namespace

std::string to_string(const Event& event) {
  return fmt::format("{} ({}/{:02X}h, log {:02X}h)", event_name(event), static_cast<unsigned>(event.type), event.info, event.lid);
}

}  // namespace fb::nvme
