// Admin commands out of band that are not executed, answered or refused as they should be.
#include <algorithm>

#include "model/deviations/deviation.h"
#include "model/deviations/endpoint_speech.h"
#include "model/mi/fault_points.h"
#include "wire/mi/tunnels.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

using mi::MessageContext;
using mi::Status;
using nvme::AdminOpcode;

namespace {

constexpr std::size_t kData = mi::AdminResponse::size;

bool is_admin_command(const MessageContext& message) { return message.kind() == mi::MessageKind::admin_command; }
bool is(const MessageContext& message, AdminOpcode opcode) {
  return is_admin_command(message) && message.opcode() == static_cast<std::uint8_t>(opcode);
}
std::uint32_t dofst_of(const MessageContext& message) { return request_dword(message, 28); }
std::uint32_t dlen_of(const MessageContext& message) { return request_dword(message, 32); }
std::uint32_t cdw10_of(const MessageContext& message) { return request_dword(message, 44); }
std::uint32_t lpo_of(const MessageContext& message) { return request_dword(message, 52); }
bool is_log(const MessageContext& message, unsigned lid) {
  return is(message, AdminOpcode::get_log_page) && (cdw10_of(message) & 0xFF) == lid;
}
/// Executed, and with success.
bool is_done(const Bytes& body) { return is_success(body) && body.size() >= kData && body[18] >> 1 == 0 && body[19] == 0; }

void another_vendor(const MessageContext& message, Bytes& body) {
  if (is(message, AdminOpcode::identify) && is_done(body) && dofst_of(message) == 0 && body.size() > kData) body[kData] ^= 0x01;
}
void rubbish_behind_the_status(const MessageContext& message, Bytes& body) {
  if (is_admin_command(message) && is_success(body)) body[6] = 0x5A;
}
void with_dword_2(const MessageContext& message, Bytes& body) {
  if (is_admin_command(message) && is_success(body) && body.size() >= kData) body.insert(body.begin() + 16, 4, std::uint8_t{0});
}
void with_an_identifier(const MessageContext& message, Bytes& body) {
  if (is_admin_command(message) && is_success(body) && body.size() >= kData) body[16] = 0x17;
}
void half_a_page_at_most(const MessageContext& message, Bytes& body) {
  if (is_admin_command(message) && body.size() > kData + 1024) body.resize(kData + 1024);
}
std::optional<Status> windows_of_nothing_refused(const MessageContext& message) {
  if (!is(message, AdminOpcode::identify) || dlen_of(message) != 0) return std::nullopt;
  return Status::invalid_command_size;
}
void everything_for_nothing(const MessageContext& message, Bytes& body) {
  if (is(message, AdminOpcode::identify) && is_done(body) && dlen_of(message) == 0) body.resize(kData + 4096);
}
void filled_to_the_length(const MessageContext& message, Bytes& body) {
  const std::size_t size = kData + std::min<std::size_t>(dlen_of(message), mi::kDataMax);
  if (is(message, AdminOpcode::identify) && is_done(body) && body.size() < size) body.resize(size);
}
std::optional<Status> keep_alive_served(const MessageContext& message) {
  if (!is(message, AdminOpcode::keep_alive)) return std::nullopt;
  return Status::success;
}
void failures_of_the_message(const MessageContext& message, Bytes& body) {
  if (!is_admin_command(message) || !is_success(body) || body.size() < kData || is_done(body)) return;
  body.resize(mi::kResponseMin);
  body[4] = static_cast<std::uint8_t>(Status::invalid_parameter);
  body[6] = 44;
}
std::optional<Status> not_in_slot_1(const MessageContext& message) {
  if (!is_admin_command(message) || message.slot() != 1) return std::nullopt;
  return Status::invalid_opcode;
}
std::optional<Status> no_firmware_log(const MessageContext& message) {
  if (!is_log(message, 0x03)) return std::nullopt;
  return Status::invalid_parameter;
}
void smart_in_degrees(const MessageContext& message, Bytes& body) {
  if (!is_log(message, 0x02) || !is_done(body) || body.size() < kData + 3) return;
  store_le(&body[kData + 1], static_cast<std::uint16_t>(load_le<std::uint16_t>(&body[kData + 1]) - 273));
}
void short_pieces(const MessageContext& message, Bytes& body) {
  if (is(message, AdminOpcode::get_log_page) && is_done(body) && lpo_of(message) != 0 && body.size() > kData) {
    body.resize(body.size() - 4);
  }
}
/// Pieces begin a dword too late. What the page is, is known from when it was read whole.
class PiecesShifted final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (is(message, AdminOpcode::get_log_page) && is_done(body) && lpo_of(message) % 8 == 4 && body.size() > kData) {
      body[kData] = static_cast<std::uint8_t>(body[kData] + 1);
    }
  }
};
void endurance_supported(const MessageContext& message, Bytes& body) {
  if (is_log(message, 0x00) && is_done(body) && body.size() >= kData + 1024) body[kData + 4 * 0x09] |= 1;
}
void smart_unsupported(const MessageContext& message, Bytes& body) {
  if (is_log(message, 0x00) && is_done(body) && body.size() >= kData + 1024) body[kData + 4 * 0x02] &= 0xFE;
}
void threshold_never_moves(const MessageContext& message, Bytes& body) {
  if (!is(message, AdminOpcode::get_features) || (cdw10_of(message) & 0xFF) != 0x04 || !is_done(body)) return;
  store_le<std::uint32_t>(&body[8], 350);
}

}  // namespace

DEVIATION(admin_commands_go_to_the_first, "mi.admin.identify", Product::endpoint,
          "executes Admin commands in its first controller whichever was named", Departs{mi::departure::admin_other_controller});
DEVIATION(identify_of_another_vendor, "mi.admin.identify", Product::endpoint,
          "names another vendor in Identify than in Controller Information", hooks<ResponseChanged, &another_vendor>());
DEVIATION(admin_response_with_rubbish, "mi.admin.response.form", Product::endpoint, "sets reserved bytes of Admin responses",
          hooks<ResponseChanged, &rubbish_behind_the_status>());
DEVIATION(admin_response_with_dword_2, "mi.admin.response.form", Product::endpoint, "sends the third dword of the completion too",
          hooks<ResponseChanged, &with_dword_2>());
DEVIATION(admin_response_with_identifier, "mi.admin.response.cid", Product::endpoint, "sends a command identifier of its own",
          hooks<ResponseChanged, &with_an_identifier>());
DEVIATION(admin_offset_ignored, "mi.admin.window.inside", Product::endpoint, "returns data from its beginning whatever DOFST says (F6)",
          Departs{mi::departure::admin_offset_ignored});
DEVIATION(admin_offset_denied, "mi.admin.window.inside", Product::endpoint, "refuses any DOFST but 0 (F6)",
          Departs{mi::departure::admin_offset_refused});
DEVIATION(admin_data_cut_at_1_kib, "mi.admin.window.inside", Product::endpoint, "returns 1024 bytes of data at most",
          hooks<ResponseChanged, &half_a_page_at_most>());
DEVIATION(admin_window_of_nothing_refused, "mi.admin.window.nothing", Product::endpoint, "takes a DLEN of 0 for a wrong size",
          hooks<SomeNotServed, &windows_of_nothing_refused>());
DEVIATION(admin_window_of_nothing_is_all, "mi.admin.window.nothing", Product::endpoint, "takes a DLEN of 0 for all",
          hooks<ResponseChanged, &everything_for_nothing>());
DEVIATION(admin_window_filled_up, "mi.admin.window.end", Product::endpoint, "fills data up to DLEN with zeroes",
          hooks<ResponseChanged, &filled_to_the_length>());
DEVIATION(admin_length_unlimited, "mi.admin.dlen", Product::endpoint, "takes any DLEN above 4096", Tolerate{"mi.admin.dlen"});
DEVIATION(admin_length_of_bytes, "mi.admin.dlen", Product::endpoint, "takes a DLEN that is no multiple of 4",
          Tolerate{"mi.admin.dlen.dword"});
DEVIATION(admin_length_located_at_the_offset, "mi.admin.dlen", Product::endpoint, "points at DOFST when DLEN is wrong",
          AnswerMi{"mi.admin.dlen", Status::invalid_parameter, {28, 0}});
DEVIATION(admin_offset_of_bytes, "mi.admin.dofst", Product::endpoint, "takes a DOFST that is no multiple of 4",
          Tolerate{"mi.admin.dofst.dword"});
DEVIATION(admin_offset_located_at_the_length, "mi.admin.dofst", Product::endpoint, "points at DLEN when DOFST is wrong",
          AnswerMi{"mi.admin.dofst.dword", Status::invalid_parameter, {32, 0}});
DEVIATION(admin_unknown_controllers_served, "mi.admin.controller", Product::endpoint,
          "executes commands for controllers that there are not in its first", Tolerate{"mi.admin.ctlid"});
DEVIATION(admin_controller_located_elsewhere, "mi.admin.controller", Product::endpoint,
          "points at the namespace when the controller is wrong", AnswerMi{"mi.admin.ctlid", Status::invalid_parameter, {8, 0}});
DEVIATION(admin_prohibited_executed, "mi.admin.prohibited", Product::endpoint, "executes Admin commands that are prohibited out of band",
          Tolerate{"mi.admin.opcode"});
DEVIATION(admin_keep_alive_served, "mi.admin.prohibited", Product::endpoint, "answers Keep Alive out of band",
          hooks<SomeNotServed, &keep_alive_served>());
DEVIATION(admin_opcodes_are_errors, "mi.admin.prohibited", Product::endpoint, "calls an Admin command that is prohibited an internal error",
          AnswerMi{"mi.admin.opcode", Status::internal_error});
DEVIATION(admin_unsupported_executed, "mi.admin.unsupported", Product::endpoint,
          "gives Admin commands to the controller that it does not support", Tolerate{"mi.admin.opcode"});
DEVIATION(admin_opcodes_as_parameters, "mi.admin.unsupported", Product::endpoint,
          "calls an Admin command that it does not support an invalid parameter",
          AnswerMi{"mi.admin.opcode", Status::invalid_parameter, {4, 0}});
DEVIATION(admin_failure_with_data, "mi.admin.failure", Product::endpoint, "returns data with failed Admin commands",
          Departs{mi::departure::admin_error_data});
DEVIATION(admin_failure_as_its_own, "mi.admin.failure", Product::endpoint, "refuses the message when its command failed",
          hooks<ResponseChanged, &failures_of_the_message>());
DEVIATION(admin_status_shifted, "mi.admin.failure", Product::endpoint, "puts the NVMe status one bit too low",
          Departs{mi::departure::admin_status_shift});
DEVIATION(admin_short_commands_served, "mi.admin.request.size", Product::endpoint, "takes what is missing of an Admin command for zero",
          Tolerate{"mi.command.size"});
DEVIATION(admin_unwanted_data_taken, "mi.admin.request.unwanted", Product::endpoint, "ignores data with Admin commands that take none",
          Tolerate{"mi.admin.data"});
DEVIATION(admin_data_of_any_size, "mi.admin.request.data", Product::endpoint, "takes Admin commands with more or less data than they say",
          Tolerate{"mi.admin.data"});
DEVIATION(admin_data_as_command_size, "mi.admin.request.data", Product::endpoint,
          "calls wrong data of an Admin command a wrong command size", AnswerMi{"mi.admin.data", Status::invalid_command_size});
DEVIATION(admin_data_echoed, "mi.admin.request.echo", Product::endpoint, "returns the data that it was given",
          Departs{mi::departure::admin_write_answers});
DEVIATION(admin_flags_count, "mi.admin.flags", Product::endpoint, "still looks at the flags of DLEN and DOFST",
          Departs{mi::departure::admin_flags_checked});
DEVIATION(admin_not_in_slot_1, "mi.admin.both-slots", Product::endpoint, "serves Admin commands in slot 0 alone",
          hooks<SomeNotServed, &not_in_slot_1>());
DEVIATION(features_of_the_first_controller, "mi.admin.controllers.apart", Product::endpoint,
          "sets features in its first controller whichever was named", Departs{mi::departure::admin_other_controller});
DEVIATION(firmware_log_refused, "mi.admin.log.mandatory", Product::endpoint, "does not have the firmware log",
          hooks<SomeNotServed, &no_firmware_log>());
DEVIATION(smart_log_in_degrees, "mi.admin.log.mandatory", Product::endpoint, "gives the temperature in degrees",
          hooks<ResponseChanged, &smart_in_degrees>());
DEVIATION(log_pieces_short, "mi.admin.log.pieces", Product::endpoint, "leaves out the end of every piece of a log page but the first (F7)",
          hooks<ResponseChanged, &short_pieces>());
DEVIATION(log_pieces_wrong, "mi.admin.log.pieces", Product::endpoint, "reads a log page from another place at some offsets (F7)",
          hooks<PiecesShifted>());
DEVIATION(log_pieces_without_offset, "mi.admin.log.pieces", Product::endpoint, "honours the log page offset and not DOFST (F6)",
          Departs{mi::departure::admin_offset_ignored});
DEVIATION(logs_listed_and_not_served, "mi.admin.log.supported", Product::endpoint, "calls a log page supported that it does not have",
          hooks<ResponseChanged, &endurance_supported>());
DEVIATION(logs_served_and_not_listed, "mi.admin.log.supported", Product::endpoint, "does not call a log page supported that it has",
          hooks<ResponseChanged, &smart_unsupported>());
DEVIATION(prohibited_features_open, "mi.admin.feature.prohibited", Product::endpoint,
          "reads and sets features that are prohibited out of band", Departs{mi::departure::admin_features_open});
DEVIATION(thresholds_not_kept, "mi.admin.feature.kept", Product::endpoint, "reads the same threshold whatever was set",
          hooks<ResponseChanged, &threshold_never_moves>());
DEVIATION(namespaces_meant_by_a_byte, "mi.admin.fields.nsid", Product::endpoint, "takes a byte of a namespace's identifier",
          Departs{mi::departure::admin_nsid_low});
DEVIATION(log_offsets_cut_to_half, "mi.admin.fields.offset", Product::endpoint, "takes the lower half of a log page's offset",
          Departs{mi::departure::admin_offset_low});

}  // namespace fb::deviations
