// Every check on account of which the honest subsystem refuses a command: a stable name, the status,
// whether a retry is pointless (DNR), and for Connect where the fault stands. All of them pass through
// SubsystemHooks::refuses(), so that a deviation can leave out or alter just one.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/nvme/status.h"

namespace fb::subsystem {

struct Check {
  std::string_view name;
  nvme::Status status;
  std::uint16_t parameter_offset = 0;
  bool parameter_in_data = false;
};

// clang-format off

// X(identifier, name, status, DNR, IPO, IPS)
#define FB_CONNECT_CHECKS(X)                                                                       \
  X(connect_once, "connect.queue.connected", command_sequence_error, 1, 0, 0)                      \
  X(connect_recfmt, "connect.recfmt", incompatible_format, 1, 0, 0)                                \
  X(connect_qid_transport, "connect.qid.transport", connect_invalid_parameters, 1, 42, 0)          \
  X(connect_sqsize_minimum, "connect.sqsize.minimum", connect_invalid_parameters, 1, 44, 0)        \
  X(connect_sqsize_admin, "connect.sqsize.admin", connect_invalid_parameters, 1, 44, 0)            \
  X(connect_sqsize_io, "connect.sqsize.io", connect_invalid_parameters, 1, 44, 0)                  \
  X(connect_sqsize_transport, "connect.sqsize.transport", connect_invalid_parameters, 1, 44, 0)    \
  X(connect_subnqn_terminated, "connect.subnqn.terminated", connect_invalid_parameters, 1, 256, 1) \
  X(connect_subnqn_syntax, "connect.subnqn.syntax", connect_invalid_parameters, 1, 256, 1)         \
  X(connect_subnqn_known, "connect.subnqn.known", connect_invalid_parameters, 1, 256, 1)           \
  X(connect_hostnqn_terminated, "connect.hostnqn.terminated", connect_invalid_parameters, 1, 512, 1) \
  X(connect_hostnqn_syntax, "connect.hostnqn.syntax", connect_invalid_parameters, 1, 512, 1)       \
  X(connect_hostnqn_subsystem, "connect.hostnqn.subsystem", connect_invalid_host, 1, 0, 0)         \
  X(connect_host_allowed, "connect.host.allowed", connect_invalid_host, 1, 0, 0)                   \
  X(connect_moved, "connect.subsystem.moved", connect_restart_discovery, 0, 0, 0)                  \
  X(connect_hostid_zero, "connect.hostid.zero", connect_invalid_parameters, 1, 0, 1)               \
  X(connect_cntlid_reserved, "connect.cntlid.reserved", connect_invalid_parameters, 1, 16, 1)      \
  X(connect_cntlid_dynamic, "connect.cntlid.dynamic", connect_invalid_parameters, 1, 16, 1)        \
  X(connect_cntlid_static, "connect.cntlid.static", connect_invalid_parameters, 1, 16, 1)          \
  X(connect_cntlid_exists, "connect.cntlid.exists", connect_invalid_parameters, 1, 16, 1)          \
  X(connect_controller_free, "connect.controller.free", controller_busy, 0, 0, 0)                  \
  X(connect_controller_left, "connect.controller.left", controller_busy, 0, 0, 0)                  \
  X(connect_kato_discovery, "connect.kato.discovery", connect_invalid_parameters, 1, 48, 0)        \
  X(connect_kato_required, "connect.kato.required", keep_alive_timeout_invalid, 1, 0, 0)           \
  X(connect_kato_maximum, "connect.kato.maximum", keep_alive_timeout_invalid, 1, 0, 0)             \
  X(connect_io_discovery, "connect.io.discovery", connect_invalid_parameters, 1, 42, 0)            \
  X(connect_io_qid_range, "connect.io.qid.range", connect_invalid_parameters, 1, 42, 0)            \
  X(connect_io_qid_granted, "connect.io.qid.granted", connect_invalid_parameters, 1, 42, 0)        \
  X(connect_io_qid_exists, "connect.io.qid.exists", command_sequence_error, 1, 0, 0)               \
  X(connect_io_cntlid, "connect.io.cntlid", connect_invalid_parameters, 1, 16, 1)                  \
  X(connect_io_port, "connect.io.port", connect_invalid_parameters, 1, 16, 1)                      \
  X(connect_tls_hostnqn, "connect.tls.hostnqn", connect_invalid_host, 1, 0, 0)                     \
  X(connect_tls_subnqn, "connect.tls.subnqn", connect_invalid_parameters, 1, 256, 1)               \
  X(connect_io_tls, "connect.io.tls", connect_invalid_parameters, 1, 16, 1)                        \
  X(connect_io_hostnqn, "connect.io.hostnqn", connect_invalid_parameters, 1, 512, 1)               \
  X(connect_io_hostid, "connect.io.hostid", connect_invalid_parameters, 1, 0, 1)                   \
  X(connect_io_ready, "connect.io.ready", connect_invalid_parameters, 0, 42, 0)

// X(identifier, name, status, DNR)
#define FB_COMMAND_CHECKS(X)                                                                       \
  X(before_connect, "command.before_connect", command_sequence_error, 1)                           \
  X(cid_unique, "command.cid.unique", command_id_conflict, 1)                                      \
  X(command_sgl, "command.sgl", sgl_descriptor_type_invalid, 1)                                    \
  X(command_psdt, "command.psdt", invalid_field, 1)                                                \
  X(command_fuse, "command.fuse.reserved", invalid_field, 1)                                       \
  X(nsid_unused, "command.nsid.unused", invalid_field, 1)                                          \
  X(admin_ready, "admin.controller.ready", command_sequence_error, 1)                              \
  X(io_ready, "io.controller.ready", command_sequence_error, 1)                                    \
  X(auth_required, "auth.required", authentication_required, 1)                                    \
  X(auth_secp, "auth.secp", invalid_field, 1)                                                      \
  X(auth_spsp, "auth.spsp", invalid_field, 1)                                                      \
  X(auth_length, "auth.length", invalid_field, 1)                                                  \
  X(auth_sequence, "auth.command_sequence", command_sequence_error, 1)                             \
  X(fabrics_fctype, "fabrics.fctype", invalid_field, 1)                                            \
  X(fabrics_io_queue, "fabrics.io_queue", invalid_field, 1)                                        \
  X(property_attrib, "property.attrib", invalid_field, 1)                                          \
  X(property_offset, "property.offset", invalid_field, 1)                                          \
  X(property_size, "property.size", invalid_field, 1)                                              \
  X(property_read_only, "property.read_only", invalid_field, 1)                                    \
  X(disconnect_supported, "disconnect.supported", invalid_opcode, 1)                               \
  X(disconnect_recfmt, "disconnect.recfmt", incompatible_format, 1)                                \
  X(disconnect_admin, "disconnect.admin_queue", invalid_queue_type, 1)                             \
  X(admin_opcode, "admin.opcode", invalid_opcode, 1)                                               \
  X(admin_fuse, "admin.fuse", invalid_field, 1)                                                    \
  X(identify_cns, "identify.cns", invalid_field, 1)                                                \
  X(identify_csi, "identify.csi", invalid_io_command_set, 1)                                       \
  X(identify_nsid, "identify.nsid", invalid_namespace_or_format, 1)                                \
  X(identify_inactive, "identify.nsid.inactive", invalid_field, 1)                                 \
  X(identify_list_start, "identify.list.start", invalid_namespace_or_format, 1)                    \
  X(identify_broadcast, "identify.nsid.broadcast", invalid_namespace_or_format, 1)                 \
  X(identify_format, "identify.format", invalid_field, 1)                                          \
  X(log_lid, "log.lid", invalid_log_page, 1)                                                       \
  X(log_nsid, "log.nsid", invalid_field, 1)                                                        \
  X(log_offset, "log.offset", invalid_field, 1)                                                    \
  X(log_offset_dword, "log.offset.dword", invalid_field, 1)                                        \
  X(log_offset_type, "log.offset_type", invalid_field, 1)                                          \
  X(log_length, "log.length", invalid_field, 1)                                                    \
  X(log_restart, "log.discovery.restart", discover_restart, 0)                                     \
  X(feature_fid, "feature.fid", invalid_field, 1)                                                  \
  X(feature_select, "feature.select", invalid_field, 1)                                            \
  X(feature_save, "feature.save", feature_not_saveable, 1)                                         \
  X(feature_nsid, "feature.nsid", invalid_namespace_or_format, 1)                                  \
  X(feature_not_namespace, "feature.namespace_specific", feature_not_namespace_specific, 1)        \
  X(feature_power_state, "feature.power_state", invalid_field, 1)                                  \
  X(feature_temperature, "feature.temperature", invalid_field, 1)                                  \
  X(feature_recovery, "feature.error_recovery", invalid_field, 1)                                  \
  X(feature_queues_reserved, "feature.queues.reserved", invalid_field, 1)                          \
  X(feature_queues_sequence, "feature.queues.sequence", command_sequence_error, 1)                 \
  X(feature_kato_zero, "feature.kato.zero", keep_alive_timeout_invalid, 1)                         \
  X(feature_kato_maximum, "feature.kato.maximum", keep_alive_timeout_invalid, 1)                   \
  X(feature_hostid_set, "feature.hostid.set", command_sequence_error, 1)                           \
  X(feature_hostid_exhid, "feature.hostid.exhid", invalid_field, 1)                                \
  X(feature_write_protect, "feature.write_protect", invalid_field, 1)                              \
  X(sanitize_verification, "sanitize.verification", invalid_field, 1)                              \
  X(sanitize_combination, "sanitize.verification.combination", invalid_field, 1)                   \
  X(sanitize_exit, "sanitize.verification.exit", invalid_field, 1)                                 \
  X(sanitize_verifying, "sanitize.verification.again", invalid_field, 1)                           \
  X(sanitize_read_checks, "sanitize.verification.checks", invalid_field, 1)                        \
  X(lba_status_action, "lba_status.action", invalid_field, 1)                                      \
  X(lba_status_range, "lba_status.range", lba_out_of_range, 1)                                     \
  X(feature_command_set, "feature.command_set", io_command_set_combination_rejected, 1)            \
  X(firmware_piece, "firmware.download.piece", invalid_field, 1)                                   \
  X(firmware_overlap, "firmware.download.overlap", overlapping_range, 1)                           \
  X(firmware_slot, "firmware.commit.slot", invalid_firmware_slot, 1)                               \
  X(firmware_action, "firmware.commit.action", invalid_field, 1)                                   \
  X(firmware_image, "firmware.commit.image", invalid_firmware_image, 1)                            \
  X(format_nsid, "format.nsid", invalid_namespace_or_format, 1)                                    \
  X(format_inactive, "format.nsid.inactive", invalid_field, 1)                                     \
  X(format_lbaf, "format.lbaf", invalid_format, 1)                                                 \
  X(format_protection, "format.protection", invalid_format, 1)                                     \
  X(format_extended, "format.extended", invalid_namespace_or_format, 1)                            \
  X(format_metadata, "format.metadata", invalid_format, 1)                                         \
  X(format_erase, "format.erase", invalid_field, 1)                                                \
  X(format_write_protected, "format.write_protected", namespace_write_protected, 1)                \
  X(security_protocol, "security.protocol", invalid_field, 1)                                      \
  X(security_length, "security.length", invalid_field, 1)                                          \
  X(security_specific, "security.protocol_specific", invalid_field, 1)                             \
  X(reservation_conflict, "reservation.access", reservation_conflict, 1)                           \
  X(reservation_action, "reservation.action", invalid_field, 1)                                    \
  X(reservation_type, "reservation.type", invalid_field, 1)                                        \
  X(reservation_iekey, "reservation.iekey", invalid_field, 1)                                      \
  X(reservation_cptpl, "reservation.cptpl", invalid_field, 1)                                      \
  X(reservation_key, "reservation.key", reservation_conflict, 1)                                   \
  X(reservation_held, "reservation.held", reservation_conflict, 1)                                 \
  X(reservation_release_type, "reservation.release.type", invalid_field, 1)                        \
  X(reservation_preempt_unknown, "reservation.preempt.unknown", reservation_conflict, 1)           \
  X(reservation_preempt_zero, "reservation.preempt.zero", invalid_field, 1)                        \
  X(reservation_eds, "reservation.report.eds", host_identifier_inconsistent_format, 1)             \
  X(reservation_length, "reservation.report.length", invalid_field, 1)                             \
  X(reservation_persistence, "feature.reservation_persistence", invalid_field, 1)                  \
  X(aer_limit, "aer.limit", async_event_request_limit_exceeded, 0)                                 \
  X(io_opcode, "io.opcode", invalid_opcode, 1)                                                     \
  X(io_nsid, "io.nsid", invalid_namespace_or_format, 1)                                            \
  X(io_nsid_inactive, "io.nsid.inactive", invalid_field, 1)                                        \
  X(io_nsid_broadcast, "io.nsid.broadcast", invalid_field, 1)                                      \
  X(io_ana_inaccessible, "io.ana.inaccessible", ana_inaccessible, 0)                               \
  X(io_ana_persistent_loss, "io.ana.persistent_loss", ana_persistent_loss, 0)                      \
  X(io_ana_change, "io.ana.change", ana_transition, 0)                                             \
  X(io_capacity, "io.capacity", capacity_exceeded, 1)                                              \
  X(nsm_select, "namespace.management.select", invalid_field, 1)                                   \
  X(nsm_size, "namespace.create.size", invalid_field, 1)                                           \
  X(nsm_thin, "namespace.create.thin", thin_provisioning_not_supported, 1)                         \
  X(nsm_format, "namespace.create.format", invalid_format, 1)                                      \
  X(nsm_sharing, "namespace.create.nmic", invalid_field, 1)                                        \
  X(nsm_ana_group, "namespace.create.ana_group", ana_group_identifier_invalid, 1)                  \
  X(nsm_command_set, "namespace.create.csi", io_command_set_not_supported, 1)                      \
  X(nsm_capacity, "namespace.create.capacity", namespace_insufficient_capacity, 1)                 \
  X(nsm_identifier, "namespace.create.identifier", namespace_identifier_unavailable, 1)            \
  X(nsm_delete_nsid, "namespace.delete.nsid", invalid_namespace_or_format, 1)                      \
  X(nsm_delete_unallocated, "namespace.delete.unallocated", invalid_field, 1)                      \
  X(nsm_write_protected, "namespace.delete.write_protected", namespace_write_protected, 1)         \
  X(nsa_select, "namespace.attachment.select", invalid_field, 1)                                   \
  X(nsa_nsid, "namespace.attachment.nsid", invalid_namespace_or_format, 1)                         \
  X(nsa_unallocated, "namespace.attachment.unallocated", invalid_field, 1)                         \
  X(nsa_list, "namespace.attachment.list", controller_list_invalid, 1)                             \
  X(nsa_attached, "namespace.attachment.attached", namespace_already_attached, 1)                  \
  X(nsa_private, "namespace.attachment.private", namespace_is_private, 1)                          \
  X(nsa_ana, "namespace.attachment.ana", ana_attach_failed, 1)                                     \
  X(nsa_limit, "namespace.attachment.limit", namespace_attachment_limit_exceeded, 1)               \
  X(nsa_not_attached, "namespace.attachment.not_attached", namespace_not_attached, 1)              \
  X(identify_unallocated, "identify.nsid.unallocated", invalid_field, 1)                           \
  X(sanitize_action, "sanitize.action", invalid_field, 1)                                          \
  X(sanitize_again, "sanitize.in_progress", sanitize_in_progress, 0)                               \
  X(sanitize_write_protected, "sanitize.write_protected", namespace_write_protected, 1)            \
  X(sanitize_firmware, "sanitize.firmware_pending", firmware_needs_controller_reset, 1)            \
  X(sanitize_no_deallocate, "sanitize.no_deallocate", invalid_field, 1)                            \
  X(sanitize_restricted, "sanitize.restricted", sanitize_failed, 1)                                \
  X(sanitize_admin, "sanitize.admin", sanitize_in_progress, 0)                                     \
  X(sanitize_io, "sanitize.io", sanitize_in_progress, 0)                                           \
  X(sanitize_failed_admin, "sanitize.failed.admin", sanitize_failed, 1)                            \
  X(sanitize_failed_io, "sanitize.failed.io", sanitize_failed, 1)                                  \
  X(log_telemetry_blocks, "log.telemetry.blocks", invalid_field, 1)                                \
  X(log_persistent_context, "log.persistent.context", command_sequence_error, 1)                   \
  X(log_persistent_established, "log.persistent.established", command_sequence_error, 1)           \
  X(log_endurance_group, "log.endurance.group", invalid_field, 1)                                  \
  X(log_lockdown_selection, "log.lockdown.selection", invalid_field, 1)                            \
  X(feature_endurance_group, "feature.endurance.group", invalid_field, 1)                          \
  X(directive_type, "directive.type", invalid_field, 1)                                            \
  X(directive_operation, "directive.operation", invalid_field, 1)                                  \
  X(directive_nsid, "directive.nsid", invalid_namespace_or_format, 1)                              \
  X(directive_inactive, "directive.nsid.inactive", invalid_field, 1)                               \
  X(directive_broadcast, "directive.nsid.broadcast", invalid_field, 1)                             \
  X(directive_disabled, "directive.disabled", invalid_field, 1)                                    \
  X(directive_enable, "directive.enable", invalid_field, 1)                                        \
  X(directive_length, "directive.length", invalid_field, 1)                                        \
  X(directive_allocated, "directive.streams.allocated", invalid_field, 1)                          \
  X(directive_resources, "directive.streams.resources", stream_allocation_failed, 0)               \
  X(io_directive, "io.directive", invalid_field, 1)                                                \
  X(lockdown_scope, "lockdown.scope", invalid_field, 1)                                            \
  X(lockdown_interface, "lockdown.interface", invalid_field, 1)                                    \
  X(lockdown_no_endpoint, "lockdown.endpoint", invalid_field, 1)                                   \
  X(lockdown_code, "lockdown.code", lockdown_not_supported, 1)                                     \
  X(locked_command, "lockdown.command", prohibited_by_lockdown, 1)                                 \
  X(locked_feature, "lockdown.feature", prohibited_by_lockdown, 1)                                 \
  X(capacity_operation, "capacity.operation", invalid_field, 1)                                    \
  X(capacity_element, "capacity.element", invalid_field, 1)                                        \
  X(capacity_size, "capacity.size", invalid_field, 1)                                              \
  X(capacity_room, "capacity.room", insufficient_capacity, 1)                                      \
  X(capacity_identifier, "capacity.identifier", identifier_unavailable, 1)                         \
  X(nsm_endurance_group, "namespace.create.endurance_group", invalid_field, 1)                     \
  X(log_fdp_group, "log.fdp.group", invalid_field, 1)                                              \
  X(log_fdp_usage, "log.fdp.usage.disabled", fdp_disabled, 1)                                      \
  X(log_fdp_statistics, "log.fdp.statistics.disabled", fdp_disabled, 1)                            \
  X(log_fdp_events, "log.fdp.events.disabled", fdp_disabled, 1)                                    \
  X(feature_fdp_group, "feature.fdp.group", invalid_field, 1)                                      \
  X(feature_fdp_save, "feature.fdp.save", invalid_field, 1)                                        \
  X(feature_fdp_index, "feature.fdp.index", invalid_field, 1)                                      \
  X(feature_fdp_namespaces, "feature.fdp.namespaces", command_sequence_error, 1)                   \
  X(feature_fdp_events_set_disabled, "feature.fdp_events.set.disabled", fdp_disabled, 1)           \
  X(feature_fdp_events_get_disabled, "feature.fdp_events.get.disabled", fdp_disabled, 1)           \
  X(feature_fdp_events_nsid, "feature.fdp_events.nsid", invalid_field, 1)                          \
  X(feature_fdp_events_handle, "feature.fdp_events.handle", invalid_field, 1)                      \
  X(feature_fdp_events_type, "feature.fdp_events.type", invalid_field, 1)                          \
  X(nsm_placement_count, "namespace.create.placement.count", invalid_placement_handle_list, 1)     \
  X(nsm_placement_range, "namespace.create.placement.range", invalid_placement_handle_list, 1)     \
  X(nsm_placement_twice, "namespace.create.placement.twice", invalid_placement_handle_list, 1)     \
  X(nsm_placement_taken, "namespace.create.placement.taken", invalid_placement_handle_list, 1)     \
  X(nsm_placement_none, "namespace.create.placement.none", invalid_placement_handle_list, 1)       \
  X(nsm_placement_format, "namespace.create.placement.format", invalid_format, 1)                  \
  X(nsm_placement_limit, "namespace.create.placement.limit", namespace_identifier_unavailable, 1)  \
  X(nsm_placement_csi, "namespace.create.placement.csi", invalid_field, 1)                         \
  X(format_placement, "format.placement", invalid_format, 1)                                       \
  X(io_receive_operation, "io_management.receive.operation", invalid_field, 1)                     \
  X(io_receive_nsid, "io_management.receive.nsid", invalid_namespace_or_format, 1)                 \
  X(io_receive_disabled, "io_management.receive.disabled", fdp_disabled, 1)                        \
  X(io_send_operation, "io_management.send.operation", invalid_field, 1)                           \
  X(io_send_disabled, "io_management.send.disabled", fdp_disabled, 1)                              \
  X(io_send_count, "io_management.send.count", invalid_field, 1)                                   \
  X(io_send_group, "io_management.send.group", invalid_field, 1)                                   \
  X(io_send_handle, "io_management.send.handle", invalid_field, 1)                                 \
  X(directive_placement_disabled, "directive.placement.disabled", fdp_disabled, 1)                 \
  X(directive_placement_broadcast, "directive.placement.broadcast", invalid_namespace_or_format, 1)\
  X(directive_placement_operation, "directive.placement.operation", invalid_field, 1)              \
  X(directive_streams_placed, "directive.streams.placed", invalid_field, 1)                        \
  X(ccr_itself, "cross_controller_reset.itself", invalid_field, 1)                                 \
  X(ccr_running, "cross_controller_reset.in_progress", ccr_in_progress, 0)                         \
  X(ccr_limit, "cross_controller_reset.limit", ccr_limit_exceeded, 0)                              \
  X(ccr_log_full, "cross_controller_reset.log_full", ccr_log_page_full, 0)                         \
  X(self_test_code, "self_test.code", invalid_field, 1)                                            \
  X(self_test_nsid, "self_test.nsid", invalid_namespace_or_format, 1)                              \
  X(self_test_inactive, "self_test.nsid.inactive", invalid_field, 1)                               \
  X(self_test_running, "self_test.in_progress", self_test_in_progress, 0)                          \
  X(io_mdts, "io.mdts", invalid_field, 1)                                                          \
  X(io_range, "io.lba.range", lba_out_of_range, 1)                                                 \
  X(io_extended_format, "io.extended_format", invalid_namespace_or_format, 1)                      \
  X(protection_action, "protection.action", invalid_protection_information, 1)                     \
  X(protection_reference_start, "protection.initial_reference", invalid_protection_information, 1) \
  X(protection_guard, "protection.guard", guard_check_error, 1)                                    \
  X(protection_application, "protection.application_tag", application_tag_check_error, 1)          \
  X(protection_storage, "protection.storage_tag", storage_tag_check_error, 1)                      \
  X(protection_reference, "protection.reference_tag", reference_tag_check_error, 1)                \
  X(io_write_protected, "io.write_protected", namespace_write_protected, 1)                        \
  X(io_uncorrectable, "io.uncorrectable", unrecovered_read_error, 1)                               \
  X(io_size_limit, "io.size_limit", invalid_field, 1)                                              \
  X(copy_format, "copy.descriptor_format", invalid_field, 1)                                       \
  X(copy_guard_format, "copy.guard_format", invalid_namespace_or_format, 1)                        \
  X(copy_ranges, "copy.range_count", command_size_limit_exceeded, 1)                               \
  X(copy_length, "copy.range_length", command_size_limit_exceeded, 1)                              \
  X(copy_total, "copy.total", command_size_limit_exceeded, 1)                                      \
  X(copy_source, "copy.source", invalid_namespace_or_format, 1)                                    \
  X(copy_source_inactive, "copy.source.inactive", invalid_field, 1)                                \
  X(copy_overlap, "copy.overlap", overlapping_io_range, 1)                                         \
  X(copy_protection_action, "copy.protection_action", invalid_field, 1)                            \
  X(copy_incompatible, "copy.compatible", incompatible_namespace_or_format, 1)                     \
  X(zone_namespace, "zone.namespace", invalid_opcode, 1)                                           \
  X(zone_boundary, "zone.boundary", zone_boundary_error, 1)                                        \
  X(zone_read_boundary, "zone.read.boundary", zone_boundary_error, 1)                              \
  X(zone_full, "zone.full", zone_is_full, 1)                                                       \
  X(zone_read_only, "zone.read_only", zone_is_read_only, 1)                                        \
  X(zone_offline, "zone.offline", zone_is_offline, 1)                                              \
  X(zone_read_offline, "zone.read.offline", zone_is_offline, 1)                                    \
  X(zone_deallocate_offline, "zone.deallocate.offline", zone_is_offline, 1)                        \
  X(zone_write_pointer, "zone.write_pointer", zone_invalid_write, 1)                               \
  X(zone_active, "zone.active_limit", too_many_active_zones, 0)                                    \
  X(zone_open, "zone.open_limit", too_many_open_zones, 0)                                          \
  X(zone_fused, "zone.fused", invalid_field, 1)                                                    \
  X(zone_append_start, "zone.append.start", invalid_field, 1)                                      \
  X(zone_append_size, "zone.append.size", invalid_field, 1)                                        \
  X(zone_append_remap, "zone.append.remap", invalid_protection_information, 1)                     \
  X(zone_start, "zone.send.start", invalid_field, 1)                                               \
  X(zone_action, "zone.send.action", invalid_field, 1)                                             \
  X(zone_transition, "zone.send.transition", invalid_zone_state_transition, 1)                     \
  X(zone_extension, "zone.send.extension", invalid_field, 1)                                       \
  X(zone_extension_all, "zone.send.extension.all", invalid_field, 1)                               \
  X(zone_receive_action, "zone.receive.action", invalid_field, 1)                                  \
  X(zone_receive_option, "zone.receive.option", invalid_field, 1)                                  \
  X(zone_receive_extended, "zone.receive.extended", invalid_field, 1)                              \
  X(zone_receive_range, "zone.receive.range", lba_out_of_range, 1)                                 \
  X(zone_zrwa_supported, "zone.zrwa.supported", invalid_field, 1)                                \
  X(zone_zrwa_state, "zone.zrwa.state", invalid_zone_operation_request, 1)                       \
  X(zone_zrwa_resources, "zone.zrwa.resources", zrwa_resources_unavailable, 0)                   \
  X(zone_zrwa_append, "zone.zrwa.append", invalid_zone_operation_request, 1)                     \
  X(zone_zrwa_behind, "zone.zrwa.write.behind", zone_invalid_write, 1)                           \
  X(zone_zrwa_beyond, "zone.zrwa.write.beyond", zone_invalid_write, 1)                           \
  X(zone_zrwa_flush_supported, "zone.zrwa.flush.supported", invalid_field, 1)                    \
  X(zone_zrwa_flush_none, "zone.zrwa.flush.none", invalid_zone_operation_request, 1)             \
  X(zone_zrwa_flush_range, "zone.zrwa.flush.range", invalid_zone_operation_request, 1)           \
  X(zone_zrwa_flush_granularity, "zone.zrwa.flush.granularity", invalid_field, 1)                \
  X(identify_csi_namespace, "identify.csi.namespace", invalid_io_command_set, 1)                   \
  X(log_csi, "log.csi", io_command_set_not_supported, 1)                                           \
  X(log_changed_zones, "log.changed_zones.nsid", invalid_field, 1)                                 \
  X(nsa_command_set, "namespace.attachment.command_set", io_command_set_not_enabled, 1)            \
  X(kv_opcode, "kv.opcode", invalid_opcode, 1)                                                     \
  X(kv_namespace, "kv.namespace", invalid_opcode, 1)                                               \
  X(kv_store_length, "kv.store.length", invalid_field, 1)                                          \
  X(kv_retrieve_length, "kv.retrieve.length", invalid_field, 1)                                    \
  X(kv_delete_length, "kv.delete.length", invalid_field, 1)                                        \
  X(kv_exist_length, "kv.exist.length", invalid_field, 1)                                          \
  X(kv_list_length, "kv.list.length", invalid_field, 1)                                            \
  X(kv_key_empty, "kv.key.empty", invalid_key_size, 1)                                             \
  X(kv_key_size, "kv.key.size", invalid_key_size, 1)                                               \
  X(kv_value_size, "kv.value.size", invalid_value_size, 1)                                         \
  X(kv_capacity, "kv.capacity", capacity_exceeded, 1)                                              \
  X(kv_keys_max, "kv.keys_max", capacity_exceeded, 1)                                              \
  X(kv_store_exists, "kv.store.exists", key_exists, 1)                                             \
  X(kv_store_missing, "kv.store.missing", key_does_not_exist, 1)                                   \
  X(kv_retrieve_missing, "kv.retrieve.missing", key_does_not_exist, 1)                             \
  X(kv_delete_missing, "kv.delete.missing", key_does_not_exist, 1)                                 \
  X(kv_exist_missing, "kv.exist.missing", key_does_not_exist, 1)                                   \
  X(kv_write_protected, "kv.write_protected", namespace_write_protected, 1)                        \
  X(kv_format, "kv.format", invalid_format, 1)                                                     \
  X(kv_identify_namespace, "kv.identify.namespace", invalid_io_command_set, 1)                     \
  X(kv_identify_blocks, "kv.identify.blocks", invalid_io_command_set, 1)                           \
  X(kv_identify_nvm, "kv.identify.nvm", invalid_io_command_set, 1)                                 \
  X(compare_mismatch, "compare.mismatch", compare_failure, 1)                                      \
  X(registration_task, "registration.task", invalid_field, 1)                                      \
  X(registration_length, "registration.length", invalid_field, 1)                                  \
  X(registration_format, "registration.format", invalid_field, 1)                                  \
  X(registration_type, "registration.type", invalid_field, 1)                                      \
  X(registration_port_local, "registration.port_local", invalid_field, 1)                          \
  X(registration_key, "registration.key", invalid_field, 1)                                        \
  X(registration_host_key, "registration.host.key", invalid_field, 1)                              \
  X(registration_none, "registration.register.none", invalid_field, 1)                             \
  X(registration_none_removed, "registration.deregister.none", invalid_field, 1)                   \
  X(registration_update_two, "registration.update.two", invalid_field, 1)                          \
  X(registration_host_format, "registration.host.format", invalid_discovery_information, 1)        \
  X(registration_entry_length, "registration.entry.length", invalid_field, 1)                      \
  X(registration_no_attribute, "registration.host.attributes", invalid_discovery_information, 1)   \
  X(registration_attribute_length, "registration.attribute.length", invalid_field, 1)              \
  X(registration_host_identifier, "registration.host.identifier", invalid_discovery_information, 1) \
  X(registration_subsystem_identifier, "registration.subsystem.identifier", invalid_discovery_information, 1) \
  X(registration_host_fields, "registration.host.fields", invalid_discovery_information, 1)        \
  X(registration_address_twice, "registration.address.twice", invalid_field, 1)                    \
  X(registration_capacity, "registration.capacity", insufficient_discovery_resources, 0)           \
  X(zoning_disabled, "zoning.disabled", requested_function_disabled, 1)                            \
  X(fused_missing, "fused.missing", aborted_missing_fused, 0)                                      \
  X(fused_failed, "fused.failed", aborted_failed_fused, 0)                                         \
  X(fused_operation, "fused.operation", invalid_field, 1)                                          \
  X(fused_range, "fused.range", invalid_field, 1)                                                  \
  X(fused_unit, "fused.atomic_unit", atomic_write_unit_exceeded, 1)

namespace check {
#define FB_CONNECT_CHECK(id, name, status, dnr, ipo, ips) \
  inline constexpr Check id{name, nvme::sc::status.with_dnr(dnr != 0), ipo, ips != 0};
#define FB_COMMAND_CHECK(id, name, status, dnr) \
  inline constexpr Check id{name, nvme::sc::status.with_dnr(dnr != 0)};
FB_CONNECT_CHECKS(FB_CONNECT_CHECK)
FB_COMMAND_CHECKS(FB_COMMAND_CHECK)
#undef FB_CONNECT_CHECK
#undef FB_COMMAND_CHECK
}  // namespace check

/// All of them, for who writes deviations.
inline constexpr Check kChecks[] = {
#define FB_CONNECT_CHECK(id, ...) check::id,
#define FB_COMMAND_CHECK(id, ...) check::id,
FB_CONNECT_CHECKS(FB_CONNECT_CHECK)
FB_COMMAND_CHECKS(FB_COMMAND_CHECK)
#undef FB_CONNECT_CHECK
#undef FB_COMMAND_CHECK
};

// clang-format on

}  // namespace fb::subsystem
