// Every check on account of which the honest endpoint discards a message or answers with an error: a
// stable name, the status, and for Invalid Parameter the lowest byte and bit of the field. All of them pass
// through EndpointHooks::refuses(), so that a deviation can leave out or alter just one.
#pragma once

#include "wire/mi/message.h"

namespace fb::mi {

struct Check {
  std::string_view name;
  Status status = Status::success;
  ParameterError at = {};
  bool discards = false;  ///< no answer at all
};

// clang-format off

// X(identifier, name): the message is discarded
#define FB_MI_DISCARDS(X)                                                  \
  X(message_size, "mi.message.size")                                       \
  X(message_tag_owner, "mi.message.tag_owner")                             \
  X(message_integrity_bit, "mi.message.ic")                                \
  X(message_mic, "mi.message.mic")                                         \
  X(message_direction, "mi.message.ror")                                   \
  X(message_kind, "mi.message.nmimt")                                      \
  X(message_slot_busy, "mi.message.slot")

// X(identifier, name, status)
#define FB_MI_STATUS_CHECKS(X)                                             \
  X(command_opcode, "mi.command.opcode", invalid_opcode)                   \
  X(command_size, "mi.command.size", invalid_command_size)                 \
  X(command_kind, "mi.command.nmimt", invalid_opcode)                      \
  X(config_event_data, "mi.config.event.size", invalid_data_size)          \
  X(vpd_data, "mi.vpd.data", invalid_data_size)                            \
  X(vpd_locked, "mi.vpd.locked", access_denied)                            \
  X(vpd_endurance, "mi.vpd.endurance", vpd_updates_exceeded)               \
  X(ses_data, "mi.ses.data", invalid_data_size)                            \
  X(ses_refused, "mi.ses.refused", enclosure_transfer_refused)             \
  X(ses_unavailable, "mi.ses.unavailable", enclosure_unavailable)          \
  X(buffer_data, "mi.buffer.data", invalid_data_size)                      \
  X(buffer_cleared, "mi.buffer.cleared", buffer_cleared)                   \
  X(admin_opcode, "mi.admin.opcode", invalid_opcode)                       \
  X(admin_data, "mi.admin.data", invalid_data_size)                        \
  X(pcie_opcode, "mi.pcie.opcode", invalid_opcode)                         \
  X(pcie_data, "mi.pcie.data", invalid_data_size)                          \
  X(pcie_locked, "mi.pcie.locked", access_denied)                          \
  X(pcie_inaccessible, "mi.pcie.inaccessible", pcie_inaccessible)          \
  X(primitive_opcode, "mi.primitive.opcode", invalid_opcode)               \
  X(in_band_direction, "mi.in_band.direction", invalid_opcode)             \
  X(abort_impossible, "mi.primitive.abort", unable_to_abort)

// X(identifier, name, byte, bit): Invalid Parameter
#define FB_MI_PARAMETER_CHECKS(X)                                          \
  X(in_band_header, "mi.in_band.header", 0, 0)                             \
  X(command_buffer, "mi.command.meb", 2, 0)                                \
  X(command_ciap, "mi.command.ciap", 2, 1)                                 \
  X(read_ds_type, "mi.read_ds.dtyp", 11, 0)                                \
  X(read_ds_port, "mi.read_ds.portid", 10, 0)                              \
  X(read_ds_controller, "mi.read_ds.ctrlid", 8, 0)                         \
  X(read_ds_buffer, "mi.read_ds.no_buffer", 11, 0)                         \
  X(poll_entries, "mi.controller_poll.maxrent", 10, 0)                     \
  X(config_id, "mi.config.id", 8, 0)                                       \
  X(config_prohibited, "mi.config.in_band", 8, 0)                          \
  X(config_frequency, "mi.config.sfreq", 9, 0)                             \
  X(config_frequency_port, "mi.config.sfreq.port", 11, 0)                  \
  X(config_unit, "mi.config.unit", 12, 0)                                  \
  X(config_unit_port, "mi.config.unit.port", 11, 0)                        \
  X(config_event_list, "mi.config.event.list", 16, 0)                      \
  X(vpd_offset, "mi.vpd.dofst", 8, 0)                                      \
  X(vpd_length, "mi.vpd.dlen", 12, 0)                                      \
  X(reset_type, "mi.reset.type", 11, 0)                                    \
  X(shutdown_type, "mi.shutdown.type", 11, 0)                              \
  X(ses_page, "mi.ses.page", 8, 0)                                         \
  X(buffer_offset, "mi.buffer.dofst", 8, 0)                                \
  X(buffer_length, "mi.buffer.dlen", 12, 0)                                \
  X(admin_controller, "mi.admin.ctlid", 6, 0)                              \
  X(admin_length, "mi.admin.dlen", 32, 0)                                  \
  X(admin_length_dword, "mi.admin.dlen.dword", 32, 0)                      \
  X(admin_offset_dword, "mi.admin.dofst.dword", 28, 0)                     \
  X(pcie_controller, "mi.pcie.ctlid", 6, 0)                                \
  X(pcie_length, "mi.pcie.length", 8, 0)                                   \
  X(pcie_bar, "mi.pcie.bar", 10, 0)                                        \
  X(pcie_range, "mi.pcie.offset", 12, 0)                                   \
  X(primitive_slot, "mi.primitive.csi", 1, 0)                              \
  X(replay_offset, "mi.primitive.rro", 6, 0)

namespace check {
#define FB_MI_DISCARD(id, name) inline constexpr Check id{name, Status::success, {}, true};
#define FB_MI_STATUS(id, name, status) inline constexpr Check id{name, Status::status};
#define FB_MI_PARAMETER(id, name, byte, bit) inline constexpr Check id{name, Status::invalid_parameter, {byte, bit}};
FB_MI_DISCARDS(FB_MI_DISCARD)
FB_MI_STATUS_CHECKS(FB_MI_STATUS)
FB_MI_PARAMETER_CHECKS(FB_MI_PARAMETER)
#undef FB_MI_DISCARD
#undef FB_MI_STATUS
#undef FB_MI_PARAMETER
}  // namespace check

/// All of them, for who writes deviations.
inline constexpr Check kChecks[] = {
#define FB_MI_CHECK(id, ...) check::id,
FB_MI_DISCARDS(FB_MI_CHECK)
FB_MI_STATUS_CHECKS(FB_MI_CHECK)
FB_MI_PARAMETER_CHECKS(FB_MI_CHECK)
#undef FB_MI_CHECK
};

// clang-format on

}  // namespace fb::mi
