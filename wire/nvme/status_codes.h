// Every status code of NVMe Base 2.3, NVMe over Fabrics, the NVM and the Zoned Namespace command
// set, declared once: X(status code type, status code, identifier, name).
#pragma once

// clang-format off

#define FB_NVME_GENERIC_STATUS(X)                                                                  \
  X(0, 0x00, success, "Success")                                                                   \
  X(0, 0x01, invalid_opcode, "Invalid Command Opcode")                                             \
  X(0, 0x02, invalid_field, "Invalid Field in Command")                                            \
  X(0, 0x03, command_id_conflict, "Command ID Conflict")                                           \
  X(0, 0x04, data_transfer_error, "Data Transfer Error")                                           \
  X(0, 0x05, aborted_power_loss, "Commands Aborted due to Power Loss Notification")                \
  X(0, 0x06, internal_error, "Internal Error")                                                     \
  X(0, 0x07, abort_requested, "Command Abort Requested")                                           \
  X(0, 0x08, aborted_sq_deletion, "Command Aborted due to SQ Deletion")                            \
  X(0, 0x09, aborted_failed_fused, "Command Aborted due to Failed Fused Command")                  \
  X(0, 0x0A, aborted_missing_fused, "Command Aborted due to Missing Fused Command")                \
  X(0, 0x0B, invalid_namespace_or_format, "Invalid Namespace or Format")                           \
  X(0, 0x0C, command_sequence_error, "Command Sequence Error")                                     \
  X(0, 0x0D, invalid_sgl_segment_descriptor, "Invalid SGL Segment Descriptor")                     \
  X(0, 0x0E, invalid_number_of_sgl_descriptors, "Invalid Number of SGL Descriptors")               \
  X(0, 0x0F, data_sgl_length_invalid, "Data SGL Length Invalid")                                   \
  X(0, 0x10, metadata_sgl_length_invalid, "Metadata SGL Length Invalid")                           \
  X(0, 0x11, sgl_descriptor_type_invalid, "SGL Descriptor Type Invalid")                           \
  X(0, 0x12, invalid_use_of_cmb, "Invalid Use of Controller Memory Buffer")                        \
  X(0, 0x13, prp_offset_invalid, "PRP Offset Invalid")                                             \
  X(0, 0x14, atomic_write_unit_exceeded, "Atomic Write Unit Exceeded")                             \
  X(0, 0x15, operation_denied, "Operation Denied")                                                 \
  X(0, 0x16, sgl_offset_invalid, "SGL Offset Invalid")                                             \
  X(0, 0x18, host_identifier_inconsistent_format, "Host Identifier Inconsistent Format")           \
  X(0, 0x19, keep_alive_timer_expired, "Keep Alive Timer Expired")                                 \
  X(0, 0x1A, keep_alive_timeout_invalid, "Keep Alive Timeout Invalid")                             \
  X(0, 0x1B, aborted_preempt_and_abort, "Command Aborted due to Preempt and Abort")                \
  X(0, 0x1C, sanitize_failed, "Sanitize Failed")                                                   \
  X(0, 0x1D, sanitize_in_progress, "Sanitize In Progress")                                         \
  X(0, 0x1E, sgl_data_block_granularity_invalid, "SGL Data Block Granularity Invalid")             \
  X(0, 0x1F, command_not_supported_in_cmb, "Command Not Supported for Queue in CMB")               \
  X(0, 0x20, namespace_write_protected, "Namespace is Write Protected")                            \
  X(0, 0x21, command_interrupted, "Command Interrupted")                                           \
  X(0, 0x22, transient_transport_error, "Transient Transport Error")                               \
  X(0, 0x23, prohibited_by_lockdown, "Command Prohibited by Command and Feature Lockdown")         \
  X(0, 0x24, admin_command_media_not_ready, "Admin Command Media Not Ready")                       \
  X(0, 0x25, invalid_key_tag, "Invalid Key Tag")                                                   \
  X(0, 0x26, host_dispersed_ns_not_enabled, "Host Dispersed Namespace Support Not Enabled")        \
  X(0, 0x27, host_identifier_not_initialized, "Host Identifier Not Initialized")                   \
  X(0, 0x28, incorrect_key, "Incorrect Key")                                                       \
  X(0, 0x29, fdp_disabled, "FDP Disabled")                                                         \
  X(0, 0x2A, invalid_placement_handle_list, "Invalid Placement Handle List")                       \
  X(0, 0x2B, sanitize_namespace_failed, "Sanitize Namespace Failed")                               \
  X(0, 0x2C, sanitize_namespace_in_progress, "Sanitize Namespace In Progress")                     \
  X(0, 0x80, lba_out_of_range, "LBA Out of Range")                                                 \
  X(0, 0x81, capacity_exceeded, "Capacity Exceeded")                                               \
  X(0, 0x82, namespace_not_ready, "Namespace Not Ready")                                           \
  X(0, 0x83, reservation_conflict, "Reservation Conflict")                                         \
  X(0, 0x84, format_in_progress, "Format In Progress")                                             \
  X(0, 0x85, invalid_value_size, "Invalid Value Size")                                             \
  X(0, 0x86, invalid_key_size, "Invalid Key Size")                                                 \
  X(0, 0x87, key_does_not_exist, "KV Key Does Not Exist")                                          \
  X(0, 0x88, unrecovered_key_value_error, "Unrecovered Error")                                     \
  X(0, 0x89, key_exists, "Key Exists")

#define FB_NVME_COMMAND_STATUS(X)                                                                  \
  X(1, 0x00, completion_queue_invalid, "Completion Queue Invalid")                                 \
  X(1, 0x01, invalid_queue_identifier, "Invalid Queue Identifier")                                 \
  X(1, 0x02, invalid_queue_size, "Invalid Queue Size")                                             \
  X(1, 0x03, abort_command_limit_exceeded, "Abort Command Limit Exceeded")                         \
  X(1, 0x05, async_event_request_limit_exceeded, "Asynchronous Event Request Limit Exceeded")      \
  X(1, 0x06, invalid_firmware_slot, "Invalid Firmware Slot")                                       \
  X(1, 0x07, invalid_firmware_image, "Invalid Firmware Image")                                     \
  X(1, 0x08, invalid_interrupt_vector, "Invalid Interrupt Vector")                                 \
  X(1, 0x09, invalid_log_page, "Invalid Log Page")                                                 \
  X(1, 0x0A, invalid_format, "Invalid Format")                                                     \
  X(1, 0x0B, firmware_needs_conventional_reset, "Firmware Activation Requires Conventional Reset") \
  X(1, 0x0C, invalid_queue_deletion, "Invalid Queue Deletion")                                     \
  X(1, 0x0D, feature_not_saveable, "Feature Identifier Not Saveable")                              \
  X(1, 0x0E, feature_not_changeable, "Feature Not Changeable")                                     \
  X(1, 0x0F, feature_not_namespace_specific, "Feature Not Namespace Specific")                     \
  X(1, 0x10, firmware_needs_subsystem_reset, "Firmware Activation Requires NVM Subsystem Reset")   \
  X(1, 0x11, firmware_needs_controller_reset, "Firmware Activation Requires Controller Reset")     \
  X(1, 0x12, firmware_max_time_violation, "Firmware Activation Requires Maximum Time Violation")   \
  X(1, 0x13, firmware_activation_prohibited, "Firmware Activation Prohibited")                     \
  X(1, 0x14, overlapping_range, "Overlapping Range")                                               \
  X(1, 0x15, namespace_insufficient_capacity, "Namespace Insufficient Capacity")                   \
  X(1, 0x16, namespace_identifier_unavailable, "Namespace Identifier Unavailable")                 \
  X(1, 0x18, namespace_already_attached, "Namespace Already Attached")                             \
  X(1, 0x19, namespace_is_private, "Namespace Is Private")                                         \
  X(1, 0x1A, namespace_not_attached, "Namespace Not Attached")                                     \
  X(1, 0x1B, thin_provisioning_not_supported, "Thin Provisioning Not Supported")                   \
  X(1, 0x1C, controller_list_invalid, "Controller List Invalid")                                   \
  X(1, 0x1D, self_test_in_progress, "Device Self-test In Progress")                                \
  X(1, 0x1E, boot_partition_write_prohibited, "Boot Partition Write Prohibited")                   \
  X(1, 0x1F, invalid_controller_identifier, "Invalid Controller Identifier")                       \
  X(1, 0x20, invalid_secondary_controller_state, "Invalid Secondary Controller State")             \
  X(1, 0x21, invalid_number_of_controller_resources, "Invalid Number of Controller Resources")     \
  X(1, 0x22, invalid_resource_identifier, "Invalid Resource Identifier")                           \
  X(1, 0x23, sanitize_prohibited_with_pmr,                                                         \
    "Sanitize Prohibited While Persistent Memory Region is Enabled")                               \
  X(1, 0x24, ana_group_identifier_invalid, "ANA Group Identifier Invalid")                         \
  X(1, 0x25, ana_attach_failed, "ANA Attach Failed")                                               \
  X(1, 0x26, insufficient_capacity, "Insufficient Capacity")                                       \
  X(1, 0x27, namespace_attachment_limit_exceeded, "Namespace Attachment Limit Exceeded")           \
  X(1, 0x28, lockdown_not_supported, "Prohibition of Command Execution Not Supported")             \
  X(1, 0x29, io_command_set_not_supported, "I/O Command Set Not Supported")                        \
  X(1, 0x2A, io_command_set_not_enabled, "I/O Command Set Not Enabled")                            \
  X(1, 0x2B, io_command_set_combination_rejected, "I/O Command Set Combination Rejected")          \
  X(1, 0x2C, invalid_io_command_set, "Invalid I/O Command Set")                                    \
  X(1, 0x2D, identifier_unavailable, "Identifier Unavailable")                                     \
  X(1, 0x2E, namespace_is_dispersed, "Namespace Is Dispersed")                                     \
  X(1, 0x2F, invalid_discovery_information, "Invalid Discovery Information")                       \
  X(1, 0x30, zoning_data_structure_locked, "Zoning Data Structure Locked")                         \
  X(1, 0x31, zoning_data_structure_not_found, "Zoning Data Structure Not Found")                   \
  X(1, 0x32, insufficient_discovery_resources, "Insufficient Discovery Resources")                 \
  X(1, 0x33, requested_function_disabled, "Requested Function Disabled")                           \
  X(1, 0x34, zone_group_originator_invalid, "ZoneGroup Originator Invalid")                        \
  X(1, 0x35, invalid_host, "Invalid Host")                                                         \
  X(1, 0x36, invalid_nvm_subsystem, "Invalid NVM Subsystem")                                       \
  X(1, 0x37, invalid_controller_data_queue, "Invalid Controller Data Queue")                       \
  X(1, 0x38, not_enough_resources, "Not Enough Resources")                                         \
  X(1, 0x39, controller_suspended, "Controller Suspended")                                         \
  X(1, 0x3A, controller_not_suspended, "Controller Not Suspended")                                 \
  X(1, 0x3B, controller_data_queue_full, "Controller Data Queue Full")                             \
  X(1, 0x3C, too_many_namespace_sanitizes,                                                         \
    "Request Exceeds Maximum Namespace Sanitize Operations In Progress")                           \
  X(1, 0x3D, default_personality_required, "Manufacturing Default Personality Required")           \
  X(1, 0x3E, invalid_power_limit, "Invalid Power Limit")                                           \
  X(1, 0x3F, ccr_in_progress, "Cross-Controller Reset In Progress")                                \
  X(1, 0x40, ccr_log_page_full, "Cross-Controller Reset Log Page Full")                            \
  X(1, 0x41, ccr_limit_exceeded, "Cross-Controller Reset Limit Exceeded")                          \
  X(1, 0x7F, stream_allocation_failed, "Stream Resource Allocation Failed")

// 1/80h to 1/BFh in the answer to a Fabrics command.
#define FB_NVME_FABRICS_STATUS(X)                                                                  \
  X(1, 0x80, incompatible_format, "Incompatible Format")                                           \
  X(1, 0x81, controller_busy, "Controller Busy")                                                   \
  X(1, 0x82, connect_invalid_parameters, "Connect Invalid Parameters")                             \
  X(1, 0x83, connect_restart_discovery, "Connect Restart Discovery")                               \
  X(1, 0x84, connect_invalid_host, "Connect Invalid Host")                                         \
  X(1, 0x85, invalid_queue_type, "Invalid Queue Type")

// Fabrics statuses that every command may have: a log page that changed, a queue that has not authenticated.
#define FB_NVME_FABRICS_COMMON_STATUS(X)                                                           \
  X(1, 0x90, discover_restart, "Discover Restart")                                                 \
  X(1, 0x91, authentication_required, "Authentication Required")

// The same codes in the answer to a command of an I/O command set.
#define FB_NVME_COMMAND_SET_STATUS(X)                                                              \
  X(1, 0x80, conflicting_attributes, "Conflicting Attributes")                                     \
  X(1, 0x81, invalid_protection_information, "Invalid Protection Information")                     \
  X(1, 0x82, write_to_read_only_range, "Attempted Write to Read Only Range")                       \
  X(1, 0x83, command_size_limit_exceeded, "Command Size Limit Exceeded")                           \
  X(1, 0x84, invalid_command_id, "Invalid Command ID")                                             \
  X(1, 0x85, incompatible_namespace_or_format, "Incompatible Namespace or Format")                 \
  X(1, 0x86, fast_copy_not_possible, "Fast Copy Not Possible")                                     \
  X(1, 0x87, overlapping_io_range, "Overlapping I/O Range")                                        \
  X(1, 0x88, namespace_not_reachable, "Namespace Not Reachable")                                   \
  X(1, 0x89, insufficient_resources, "Insufficient Resources")                                     \
  X(1, 0x9C, successful_media_verification_read, "Successful Media Verification Read")             \
  X(1, 0xB6, invalid_zone_operation_request, "Invalid Zone Operation Request")                     \
  X(1, 0xB7, zrwa_resources_unavailable, "ZRWA Resources Unavailable")                             \
  X(1, 0xB8, zone_boundary_error, "Zoned Boundary Error")                                          \
  X(1, 0xB9, zone_is_full, "Zone Is Full")                                                         \
  X(1, 0xBA, zone_is_read_only, "Zone Is Read Only")                                               \
  X(1, 0xBB, zone_is_offline, "Zone Is Offline")                                                   \
  X(1, 0xBC, zone_invalid_write, "Zone Invalid Write")                                             \
  X(1, 0xBD, too_many_active_zones, "Too Many Active Zones")                                       \
  X(1, 0xBE, too_many_open_zones, "Too Many Open Zones")                                           \
  X(1, 0xBF, invalid_zone_state_transition, "Invalid Zone State Transition")

#define FB_NVME_MEDIA_AND_PATH_STATUS(X)                                                           \
  X(2, 0x80, write_fault, "Write Fault")                                                           \
  X(2, 0x81, unrecovered_read_error, "Unrecovered Read Error")                                     \
  X(2, 0x82, guard_check_error, "End-to-end Guard Check Error")                                    \
  X(2, 0x83, application_tag_check_error, "End-to-end Application Tag Check Error")                \
  X(2, 0x84, reference_tag_check_error, "End-to-end Reference Tag Check Error")                    \
  X(2, 0x85, compare_failure, "Compare Failure")                                                   \
  X(2, 0x86, access_denied, "Access Denied")                                                       \
  X(2, 0x87, deallocated_or_unwritten, "Deallocated or Unwritten Logical Block")                   \
  X(2, 0x88, storage_tag_check_error, "End-to-End Storage Tag Check Error")                        \
  X(3, 0x00, internal_path_error, "Internal Path Error")                                           \
  X(3, 0x01, ana_persistent_loss, "Asymmetric Access Persistent Loss")                             \
  X(3, 0x02, ana_inaccessible, "Asymmetric Access Inaccessible")                                   \
  X(3, 0x03, ana_transition, "Asymmetric Access Transition")                                       \
  X(3, 0x60, controller_pathing_error, "Controller Pathing Error")                                 \
  X(3, 0x70, host_pathing_error, "Host Pathing Error")                                             \
  X(3, 0x71, aborted_by_host, "Command Aborted By Host")
