// Enumerations of the wire structures, for the IntEnums of fabricbench.enums.
#include "bindings/names.h"
#include "model/host/types.h"
#include "model/mi/options.h"
#include "model/subsystem/options.h"
#include "wire/fabrics/property.h"
#include "wire/mi/control.h"
#include "wire/mi/data_structures.h"
#include "wire/mi/events.h"
#include "wire/mi/message.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/kv.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/reservation.h"
#include "wire/nvme/sqe.h"
#include "wire/nvme/zones.h"
#include "wire/rdma/mad.h"
#include "wire/rdma/opcodes.h"
#include "wire/tcp/pdu.h"

namespace fb::python {

// clang-format off
py::dict enum_tables() {
  py::dict all;
#define FB_BEGIN(name, type)      \
  {                               \
    using E = type;               \
    py::list members;             \
    const char* const called = name;
#define FB_MEMBER(member) members.append(py::make_tuple(#member, static_cast<std::uint64_t>(E::member)));
#define FB_END                    \
    all[called] = members;        \
  }
  // Of options, not of the wire.
  FB_BEGIN("ControllerModel", subsystem::ControllerModel)
    FB_MEMBER(dynamic_controllers) FB_MEMBER(static_controllers)
  FB_END
  FB_BEGIN("ProtectionUse", host::ProtectionUse)
    FB_MEMBER(controller) FB_MEMBER(host)
  FB_END
  FB_BEGIN("MiRevision", mi::Revision)
    FB_MEMBER(r1_0) FB_MEMBER(r1_0a) FB_MEMBER(r1_1) FB_MEMBER(r1_2) FB_MEMBER(r2_0) FB_MEMBER(r2_1)
  FB_END
  FB_BEGIN("AdminOpcode", nvme::AdminOpcode)
    FB_MEMBER(delete_io_sq) FB_MEMBER(create_io_sq) FB_MEMBER(get_log_page) FB_MEMBER(delete_io_cq)
    FB_MEMBER(create_io_cq) FB_MEMBER(identify) FB_MEMBER(abort) FB_MEMBER(set_features) FB_MEMBER(get_features)
    FB_MEMBER(async_event_request) FB_MEMBER(namespace_management) FB_MEMBER(firmware_commit)
    FB_MEMBER(firmware_download) FB_MEMBER(device_self_test) FB_MEMBER(namespace_attachment) FB_MEMBER(keep_alive)
    FB_MEMBER(directive_send) FB_MEMBER(directive_receive) FB_MEMBER(virtualization_management)
    FB_MEMBER(nvme_mi_send) FB_MEMBER(nvme_mi_receive) FB_MEMBER(capacity_management)
    FB_MEMBER(discovery_information_management) FB_MEMBER(fabric_zoning_receive) FB_MEMBER(lockdown)
    FB_MEMBER(fabric_zoning_lookup) FB_MEMBER(clear_exported_nvm_resource) FB_MEMBER(fabric_zoning_send)
    FB_MEMBER(create_exported_nvm_subsystem) FB_MEMBER(manage_exported_nvm_subsystem)
    FB_MEMBER(manage_exported_namespace) FB_MEMBER(manage_exported_port) FB_MEMBER(cross_controller_reset)
    FB_MEMBER(send_discovery_log_page) FB_MEMBER(track_send) FB_MEMBER(track_receive) FB_MEMBER(migration_send)
    FB_MEMBER(migration_receive) FB_MEMBER(controller_data_queue) FB_MEMBER(doorbell_buffer_config)
    FB_MEMBER(fabrics) FB_MEMBER(format_nvm) FB_MEMBER(security_send) FB_MEMBER(security_receive) FB_MEMBER(sanitize)
    FB_MEMBER(get_lba_status)
  FB_END
  FB_BEGIN("IoOpcode", nvme::IoOpcode)
    FB_MEMBER(flush) FB_MEMBER(write) FB_MEMBER(read) FB_MEMBER(write_uncorrectable) FB_MEMBER(compare)
    FB_MEMBER(write_zeroes) FB_MEMBER(dataset_management) FB_MEMBER(verify) FB_MEMBER(reservation_register)
    FB_MEMBER(reservation_report) FB_MEMBER(reservation_acquire) FB_MEMBER(io_management_receive)
    FB_MEMBER(reservation_release) FB_MEMBER(cancel) FB_MEMBER(copy) FB_MEMBER(io_management_send)
    FB_MEMBER(zone_management_send) FB_MEMBER(zone_management_receive) FB_MEMBER(zone_append) FB_MEMBER(fabrics)
  FB_END
  FB_BEGIN("KvOpcode", nvme::KvOpcode)
    FB_MEMBER(store) FB_MEMBER(retrieve) FB_MEMBER(list) FB_MEMBER(remove) FB_MEMBER(exist)
  FB_END
  FB_BEGIN("FabricsType", nvme::FabricsType)
    FB_MEMBER(property_set) FB_MEMBER(connect) FB_MEMBER(property_get) FB_MEMBER(authentication_send)
    FB_MEMBER(authentication_receive) FB_MEMBER(disconnect)
  FB_END
  FB_BEGIN("Cns", nvme::Cns)
    FB_MEMBER(identify_namespace) FB_MEMBER(controller) FB_MEMBER(active_namespace_list)
    FB_MEMBER(namespace_id_descriptors) FB_MEMBER(nvm_set_list) FB_MEMBER(command_set_namespace)
    FB_MEMBER(command_set_controller) FB_MEMBER(command_set_active_namespace_list) FB_MEMBER(independent_namespace)
    FB_MEMBER(namespace_user_data_format) FB_MEMBER(command_set_user_data_format) FB_MEMBER(allocated_namespace_list)
    FB_MEMBER(allocated_namespace) FB_MEMBER(namespace_controller_list) FB_MEMBER(controller_list)
    FB_MEMBER(primary_controller_capabilities) FB_MEMBER(secondary_controller_list)
    FB_MEMBER(namespace_granularity_list) FB_MEMBER(uuid_list) FB_MEMBER(domain_list) FB_MEMBER(endurance_group_list)
    FB_MEMBER(command_set_allocated_namespace_list) FB_MEMBER(command_set_allocated_namespace)
    FB_MEMBER(command_set_combinations) FB_MEMBER(underlying_namespace_list) FB_MEMBER(ports_list)
    FB_MEMBER(allocated_independent_namespace) FB_MEMBER(controller_state_formats)
  FB_END
  FB_BEGIN("CommandSet", nvme::CommandSet)
    FB_MEMBER(nvm) FB_MEMBER(key_value) FB_MEMBER(zoned) FB_MEMBER(subsystem_local_memory)
    FB_MEMBER(computational_programs)
  FB_END
  FB_BEGIN("LogPage", nvme::LogPage)
    FB_MEMBER(supported_pages) FB_MEMBER(error_information) FB_MEMBER(smart) FB_MEMBER(firmware_slot)
    FB_MEMBER(changed_namespaces) FB_MEMBER(commands_effects) FB_MEMBER(self_test) FB_MEMBER(telemetry_host)
    FB_MEMBER(telemetry_controller) FB_MEMBER(endurance_group) FB_MEMBER(ana) FB_MEMBER(persistent_event)
    FB_MEMBER(lba_status) FB_MEMBER(endurance_group_events) FB_MEMBER(feature_effects) FB_MEMBER(mi_command_effects)
    FB_MEMBER(lockdown) FB_MEMBER(cross_controller_reset) FB_MEMBER(lost_host)
    FB_MEMBER(fdp_configurations) FB_MEMBER(reclaim_unit_handle_usage) FB_MEMBER(fdp_statistics)
    FB_MEMBER(fdp_events)
    FB_MEMBER(discovery) FB_MEMBER(host_discovery) FB_MEMBER(reservation_notification) FB_MEMBER(sanitize_status)
    FB_MEMBER(changed_zones)
  FB_END
  FB_BEGIN("AnaState", nvme::AnaState)
    FB_MEMBER(optimized) FB_MEMBER(non_optimized) FB_MEMBER(inaccessible) FB_MEMBER(persistent_loss)
    FB_MEMBER(change)
  FB_END
  FB_BEGIN("SanitizeState", nvme::SanitizeState)
    FB_MEMBER(never) FB_MEMBER(completed) FB_MEMBER(in_progress) FB_MEMBER(failed) FB_MEMBER(completed_deallocated)
  FB_END
  FB_BEGIN("ReservationNotice", nvme::ReservationNotice)
    FB_MEMBER(empty) FB_MEMBER(registration_preempted) FB_MEMBER(reservation_released)
    FB_MEMBER(reservation_preempted)
  FB_END
  FB_BEGIN("FeatureId", nvme::FeatureId)
    FB_MEMBER(arbitration) FB_MEMBER(power_management) FB_MEMBER(lba_range_type) FB_MEMBER(temperature_threshold)
    FB_MEMBER(error_recovery) FB_MEMBER(volatile_write_cache) FB_MEMBER(number_of_queues)
    FB_MEMBER(interrupt_coalescing) FB_MEMBER(interrupt_vector_configuration) FB_MEMBER(write_atomicity)
    FB_MEMBER(async_event_configuration) FB_MEMBER(autonomous_power_state_transition) FB_MEMBER(host_memory_buffer)
    FB_MEMBER(timestamp) FB_MEMBER(keep_alive_timer) FB_MEMBER(host_controlled_thermal_management)
    FB_MEMBER(non_operational_power_state) FB_MEMBER(read_recovery_level) FB_MEMBER(predictable_latency_mode)
    FB_MEMBER(predictable_latency_window) FB_MEMBER(lba_status_information) FB_MEMBER(host_behavior_support)
    FB_MEMBER(sanitize_configuration)
    FB_MEMBER(endurance_group_event) FB_MEMBER(io_command_set_profile) FB_MEMBER(spinup_control)
    FB_MEMBER(flexible_data_placement) FB_MEMBER(fdp_events) FB_MEMBER(key_value_configuration)
    FB_MEMBER(enhanced_controller_metadata) FB_MEMBER(controller_metadata) FB_MEMBER(namespace_metadata)
    FB_MEMBER(software_progress_marker) FB_MEMBER(host_identifier) FB_MEMBER(reservation_notification_mask)
    FB_MEMBER(reservation_persistence) FB_MEMBER(namespace_write_protection)
  FB_END
  FB_BEGIN("WriteProtection", nvme::WriteProtection)
    FB_MEMBER(none) FB_MEMBER(write_protected) FB_MEMBER(until_power_cycle) FB_MEMBER(permanent)
  FB_END
  FB_BEGIN("EventType", nvme::EventType)
    FB_MEMBER(error) FB_MEMBER(smart) FB_MEMBER(notice) FB_MEMBER(immediate) FB_MEMBER(one_shot)
    FB_MEMBER(command_set) FB_MEMBER(vendor)
  FB_END
  FB_BEGIN("ReservationType", nvme::ReservationType)
    FB_MEMBER(none) FB_MEMBER(write_exclusive) FB_MEMBER(exclusive_access)
    FB_MEMBER(write_exclusive_registrants_only) FB_MEMBER(exclusive_access_registrants_only)
    FB_MEMBER(write_exclusive_all_registrants) FB_MEMBER(exclusive_access_all_registrants)
  FB_END
  FB_BEGIN("RegisterAction", nvme::RegisterAction)
    FB_MEMBER(register_key) FB_MEMBER(unregister_key) FB_MEMBER(replace_key)
  FB_END
  FB_BEGIN("AcquireAction", nvme::AcquireAction)
    FB_MEMBER(acquire) FB_MEMBER(preempt) FB_MEMBER(preempt_and_abort)
  FB_END
  FB_BEGIN("ReleaseAction", nvme::ReleaseAction)
    FB_MEMBER(release) FB_MEMBER(clear)
  FB_END
  FB_BEGIN("PersistChange", nvme::PersistChange)
    FB_MEMBER(none) FB_MEMBER(reserved) FB_MEMBER(clear) FB_MEMBER(set)
  FB_END
  FB_BEGIN("FeatureSelect", nvme::FeatureSelect)
    FB_MEMBER(current) FB_MEMBER(default_value) FB_MEMBER(saved) FB_MEMBER(capabilities)
  FB_END
  FB_BEGIN("CommitAction", nvme::CommitAction)
    FB_MEMBER(replace) FB_MEMBER(replace_and_activate) FB_MEMBER(activate) FB_MEMBER(activate_at_once)
    FB_MEMBER(replace_boot_partition) FB_MEMBER(activate_boot_partition)
  FB_END
  FB_BEGIN("SanitizeAction", nvme::SanitizeAction)
    FB_MEMBER(exit_failure_mode) FB_MEMBER(block_erase) FB_MEMBER(overwrite) FB_MEMBER(crypto_erase)
    FB_MEMBER(exit_media_verification)
  FB_END
  FB_BEGIN("SelfTestCode", nvme::SelfTestCode)
    FB_MEMBER(none) FB_MEMBER(short_test) FB_MEMBER(extended_test) FB_MEMBER(vendor) FB_MEMBER(abort)
  FB_END
  FB_BEGIN("Fuse", nvme::Fuse)
    FB_MEMBER(normal) FB_MEMBER(first) FB_MEMBER(second) FB_MEMBER(reserved)
  FB_END
  FB_BEGIN("Psdt", nvme::Psdt)
    FB_MEMBER(prp) FB_MEMBER(sgl) FB_MEMBER(sgl_metadata_sgl) FB_MEMBER(reserved)
  FB_END
  FB_BEGIN("ZoneState", nvme::ZoneState)
    FB_MEMBER(empty) FB_MEMBER(implicitly_opened) FB_MEMBER(explicitly_opened) FB_MEMBER(closed) FB_MEMBER(read_only)
    FB_MEMBER(full) FB_MEMBER(offline)
  FB_END
  FB_BEGIN("ZoneSendAction", nvme::ZoneSendAction)
    FB_MEMBER(close) FB_MEMBER(finish) FB_MEMBER(open) FB_MEMBER(reset) FB_MEMBER(offline)
    FB_MEMBER(set_descriptor_extension) FB_MEMBER(flush_explicit_zrwa)
  FB_END
  FB_BEGIN("ZoneReporting", nvme::ZoneReporting)
    FB_MEMBER(all) FB_MEMBER(empty) FB_MEMBER(implicitly_opened) FB_MEMBER(explicitly_opened) FB_MEMBER(closed)
    FB_MEMBER(full) FB_MEMBER(read_only) FB_MEMBER(offline) FB_MEMBER(attributes)
  FB_END
  FB_BEGIN("ProtectionFormat", nvme::ProtectionFormat)
    FB_MEMBER(guard_16) FB_MEMBER(guard_32) FB_MEMBER(guard_64) FB_MEMBER(reserved)
  FB_END
  FB_BEGIN("DirectiveType", nvme::DirectiveType)
    FB_MEMBER(identify) FB_MEMBER(streams) FB_MEMBER(data_placement) FB_MEMBER(vendor)
  FB_END
  FB_BEGIN("LockdownScope", nvme::LockdownScope)
    FB_MEMBER(admin_command) FB_MEMBER(set_features) FB_MEMBER(management_command) FB_MEMBER(pcie_command)
  FB_END
  FB_BEGIN("LockdownInterface", nvme::LockdownInterface)
    FB_MEMBER(admin_queue) FB_MEMBER(both) FB_MEMBER(out_of_band)
  FB_END
  FB_BEGIN("ShutdownNotification", fabrics::ShutdownNotification)
    FB_MEMBER(none) FB_MEMBER(normal) FB_MEMBER(abrupt) FB_MEMBER(reserved)
  FB_END
  FB_BEGIN("ShutdownStatus", fabrics::ShutdownStatus)
    FB_MEMBER(none) FB_MEMBER(in_progress) FB_MEMBER(complete) FB_MEMBER(reserved)
  FB_END
  FB_BEGIN("PduType", tcp::PduType)
    FB_MEMBER(ic_req) FB_MEMBER(ic_resp) FB_MEMBER(h2c_term_req) FB_MEMBER(c2h_term_req) FB_MEMBER(capsule_cmd)
    FB_MEMBER(capsule_resp) FB_MEMBER(h2c_data) FB_MEMBER(c2h_data) FB_MEMBER(r2t)
  FB_END
  FB_BEGIN("FatalStatus", tcp::FatalStatus)
    FB_MEMBER(invalid_header_field) FB_MEMBER(sequence_error) FB_MEMBER(header_digest_error)
    FB_MEMBER(data_out_of_range) FB_MEMBER(limit_exceeded) FB_MEMBER(unsupported_parameter)
  FB_END
  FB_BEGIN("RoceOpcode", roce::Opcode)
    FB_MEMBER(send_first) FB_MEMBER(send_middle) FB_MEMBER(send_last) FB_MEMBER(send_last_with_immediate)
    FB_MEMBER(send_only) FB_MEMBER(send_only_with_immediate) FB_MEMBER(write_first) FB_MEMBER(write_middle)
    FB_MEMBER(write_last) FB_MEMBER(write_last_with_immediate) FB_MEMBER(write_only)
    FB_MEMBER(write_only_with_immediate) FB_MEMBER(read_request) FB_MEMBER(read_response_first)
    FB_MEMBER(read_response_middle) FB_MEMBER(read_response_last) FB_MEMBER(read_response_only)
    FB_MEMBER(acknowledge) FB_MEMBER(atomic_acknowledge) FB_MEMBER(compare_and_swap) FB_MEMBER(fetch_and_add)
    FB_MEMBER(send_last_with_invalidate) FB_MEMBER(send_only_with_invalidate) FB_MEMBER(ud_send_only)
    FB_MEMBER(ud_send_only_with_immediate) FB_MEMBER(congestion_notification)
  FB_END
  FB_BEGIN("CmAttribute", cm::Attribute)
    FB_MEMBER(class_port_info) FB_MEMBER(req) FB_MEMBER(mra) FB_MEMBER(rej) FB_MEMBER(rep) FB_MEMBER(rtu)
    FB_MEMBER(dreq) FB_MEMBER(drep) FB_MEMBER(sidr_req) FB_MEMBER(sidr_rep) FB_MEMBER(lap) FB_MEMBER(apr)
  FB_END
  FB_BEGIN("MiMessageKind", mi::MessageKind)
    FB_MEMBER(control_primitive) FB_MEMBER(mi_command) FB_MEMBER(admin_command) FB_MEMBER(pcie_command)
    FB_MEMBER(async_event)
  FB_END
  FB_BEGIN("MiStatus", mi::Status)
    FB_MEMBER(success) FB_MEMBER(more_processing) FB_MEMBER(internal_error) FB_MEMBER(invalid_opcode)
    FB_MEMBER(invalid_parameter) FB_MEMBER(invalid_command_size) FB_MEMBER(invalid_data_size)
    FB_MEMBER(access_denied) FB_MEMBER(unable_to_abort) FB_MEMBER(vpd_updates_exceeded) FB_MEMBER(pcie_inaccessible)
    FB_MEMBER(buffer_cleared) FB_MEMBER(enclosure_services_failure) FB_MEMBER(enclosure_transfer_failure)
    FB_MEMBER(enclosure_failure) FB_MEMBER(enclosure_transfer_refused) FB_MEMBER(enclosure_function_unsupported)
    FB_MEMBER(enclosure_unavailable) FB_MEMBER(enclosure_degraded) FB_MEMBER(sanitize_in_progress)
  FB_END
  FB_BEGIN("MiOpcode", mi::Opcode)
    FB_MEMBER(read_data_structure) FB_MEMBER(subsystem_health_poll) FB_MEMBER(controller_health_poll)
    FB_MEMBER(configuration_set) FB_MEMBER(configuration_get) FB_MEMBER(vpd_read) FB_MEMBER(vpd_write)
    FB_MEMBER(reset) FB_MEMBER(ses_receive) FB_MEMBER(ses_send) FB_MEMBER(buffer_read) FB_MEMBER(buffer_write)
    FB_MEMBER(shutdown)
  FB_END
  FB_BEGIN("MiConfiguration", mi::ConfigurationId)
    FB_MEMBER(smbus_frequency) FB_MEMBER(health_status_change) FB_MEMBER(transmission_unit) FB_MEMBER(async_event)
  FB_END
  FB_BEGIN("Primitive", mi::Primitive)
    FB_MEMBER(pause) FB_MEMBER(resume) FB_MEMBER(abort) FB_MEMBER(get_state) FB_MEMBER(replay)
  FB_END
  FB_BEGIN("MiSlotState", mi::SlotState)
    FB_MEMBER(idle) FB_MEMBER(receive) FB_MEMBER(process) FB_MEMBER(transmit)
  FB_END
  FB_BEGIN("MiDataType", mi::DataType)
    FB_MEMBER(subsystem_information) FB_MEMBER(port_information) FB_MEMBER(controller_list)
    FB_MEMBER(controller_information) FB_MEMBER(supported_commands) FB_MEMBER(buffer_commands)
  FB_END
  FB_BEGIN("MiPortType", mi::PortType)
    FB_MEMBER(inactive) FB_MEMBER(pcie) FB_MEMBER(two_wire)
  FB_END
  FB_BEGIN("MiEvent", mi::EventId)
    FB_MEMBER(controller_ready) FB_MEMBER(controller_fatal) FB_MEMBER(shutdown_status) FB_MEMBER(controller_enable)
    FB_MEMBER(namespace_attribute) FB_MEMBER(firmware_activated) FB_MEMBER(composite_temperature)
    FB_MEMBER(drive_life_used) FB_MEMBER(available_spare) FB_MEMBER(smart_warnings) FB_MEMBER(telemetry_controller)
    FB_MEMBER(pcie_link_active) FB_MEMBER(sanitize_failure_mode) FB_MEMBER(namespace_sanitize_failure)
    FB_MEMBER(power_threshold)
  FB_END
#undef FB_BEGIN
#undef FB_MEMBER
#undef FB_END
  return all;
}
// clang-format on

}  // namespace fb::python
