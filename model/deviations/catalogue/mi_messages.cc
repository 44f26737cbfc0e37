// NVMe-MI messages that are not what they should be: headers, checks, errors, requests for time.
#include "model/deviations/catalogue/mi_shapes.h"
#include "model/drive/drive.h"

namespace fb::deviations {
namespace {

using mi::Status;
namespace departure = mi::departure;

bool is(ByteView body, Status status) { return body[4] == static_cast<std::uint8_t>(status); }

void clear_integrity_bit(const MessageContext&, Bytes& body) { body[0] &= 0x7F; }
void admin_errors_as_mi(const MessageContext& message, Bytes& body) {
  if (message.kind() == MessageKind::admin_command && !succeeded(body)) body[1] = (body[1] & 0x87) | 0x08;
}
void slot_zero(const MessageContext&, Bytes& body) { body[1] &= 0xFE; }
void reserved_kind_bit(const MessageContext&, Bytes& body) { body[1] |= 0x02; }
void auto_pause_said_back(const MessageContext&, Bytes& body) { body[2] |= 0x02; }

bool primitives_unchecked(const MessageContext& message, std::string_view check) {
  return check == "mi.message.mic" && message.kind() == MessageKind::control_primitive;
}
void reserved_kinds_are_commands(Bytes& body) {
  const unsigned kind = body[1] >> 3 & 0x0F;
  if (kind == 3 || kind > 4) body[1] = 0x08;
}

/// Falls silent for good behind a message above the maximum.
class WedgedByLongMessages final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() > 4) {
      if ((packet[3] & 0x80) != 0) bytes_ = 0;
      bytes_ += packet.size() - 4;
    }
    wedged_ = wedged_ || bytes_ > mi::kMessageMax;
    if (wedged_) packet.clear();
  }

 private:
  std::size_t bytes_ = 0;
  bool wedged_ = false;
};

void lose_the_last_dword(const MessageContext&, Bytes& body) {
  if (body.size() > mi::kDataMax) body.resize(body.size() - 4);
}
void admin_errors_with_completion(const MessageContext& message, Bytes& body) {
  if (message.kind() == MessageKind::admin_command && !succeeded(body) && !is(body, Status::more_processing)) body.resize(20);
}
void location_backwards(const MessageContext&, Bytes& body) {
  if (is(body, Status::invalid_parameter)) std::swap(body[5], body[6]);
}
void no_location(const MessageContext&, Bytes& body) {
  if (is(body, Status::invalid_parameter)) body[5] = body[6] = body[7] = 0;
}
void reserved_status(const MessageContext& message, Bytes& body) {
  if (message.kind() == MessageKind::admin_command && is(body, Status::invalid_opcode)) body[4] = 0x1B;
}

bool one_reserved_opcode(const MessageContext& message, std::string_view check) {
  return check == "mi.command.opcode" && message.opcode() == 0x9C;
}
bool short_ones(const MessageContext& message, std::string_view check) {
  return check == "mi.command.size" && message.request.size() < mi::MiRequest::size;
}
bool long_ones(const MessageContext& message, std::string_view check) {
  return check == "mi.command.size" && message.request.size() > mi::MiRequest::size;
}
bool more_vpd_than_said(const MessageContext& message, std::string_view check) {
  return check == "mi.vpd.data" && message.request.size() > mi::MiRequest::size + 16;
}

void slow_without_a_word(mi::DriveOptions& drive) {
  drive.endpoint.latency = Duration::ms(250);
  drive.endpoint.more_processing_after = Duration::s(2);
}
void more_of_other_slot(const MessageContext&, Bytes& body) {
  if (is(body, Status::more_processing)) body[1] ^= 0x01;
}
void more_with_reserved(const MessageContext&, Bytes& body) {
  if (is(body, Status::more_processing)) body[5] = 0x5A;
}

}  // namespace

// Headers.
DEVIATION(answers_of_another_type, "mi.message.type", Product::endpoint, "answers with another MCTP message type (F9)",
          Departs{departure::reply_type});
DEVIATION(answers_without_the_integrity_bit, "mi.message.type", Product::endpoint, "answers with the integrity bit clear",
          alters_answers<&clear_integrity_bit>());
DEVIATION(answers_that_look_like_requests, "mi.message.ror", Product::endpoint, "answers with ROR clear (F9)",
          Departs{departure::reply_direction});
DEVIATION(answers_of_another_kind, "mi.message.nmimt", Product::endpoint, "answers with another NMIMT than the request's (F9)",
          Departs{departure::reply_kind});
DEVIATION(admin_errors_of_another_kind, "mi.message.nmimt", Product::endpoint, "refuses Admin commands by answers to MI commands",
          alters_answers<&admin_errors_as_mi>());
DEVIATION(answers_of_the_other_slot, "mi.message.csi", Product::endpoint, "answers with the other slot's CSI (F9)",
          Departs{departure::reply_slot});
DEVIATION(answers_always_name_slot_0, "mi.message.csi", Product::endpoint, "answers with CSI 0 whatever the slot",
          alters_answers<&slot_zero>());
DEVIATION(answers_with_a_reserved_byte, "mi.message.reserved", Product::endpoint, "sets byte 3 of the header",
          Departs{departure::reply_reserved});
DEVIATION(answers_with_a_reserved_bit, "mi.message.reserved", Product::endpoint, "sets bit 1 beside the CSI",
          alters_answers<&reserved_kind_bit>());
DEVIATION(answers_ask_for_auto_pause, "mi.message.reserved", Product::endpoint, "sets CIAP in answers",
          alters_answers<&auto_pause_said_back>());

// The integrity check.
DEVIATION(checks_with_a_wrong_bit, "mi.message.mic.sent", Product::endpoint, "sends integrity checks with a wrong bit (F8)",
          Departs{departure::mic_wrong});
DEVIATION(checks_of_zero, "mi.message.mic.sent", Product::endpoint, "sends 0 in place of the integrity check (F8)",
          Departs{departure::mic_zero});
DEVIATION(checks_high_byte_first, "mi.message.mic.sent", Product::endpoint, "sends the integrity check high byte first (F8)",
          Departs{departure::mic_big_endian});
DEVIATION(answers_without_a_check, "mi.message.mic.sent", Product::endpoint, "sends no integrity check (F8)",
          Departs{departure::mic_missing});
DEVIATION(checks_without_the_header, "mi.message.mic.sent", Product::endpoint, "leaves the header out of the integrity check (F8)",
          Departs{departure::mic_short_range});
DEVIATION(wrong_checks_are_executed, "mi.message.mic.wrong", Product::endpoint, "does not look at the integrity check",
          Tolerate{"mi.message.mic"});
DEVIATION(wrong_checks_are_answered, "mi.message.mic.wrong", Product::endpoint, "answers a wrong integrity check by an error",
          AnswerMi{"mi.message.mic", Status::internal_error});
DEVIATION(primitives_are_not_checked, "mi.message.mic.wrong", Product::endpoint, "does not look at the integrity check of primitives",
          tolerates_some<&primitives_unchecked>());
DEVIATION(a_clear_integrity_bit_is_taken, "mi.message.ic.clear", Product::endpoint, "takes messages whose integrity bit is clear",
          Tolerate{"mi.message.ic"});
DEVIATION(a_clear_integrity_bit_is_answered, "mi.message.ic.clear", Product::endpoint,
          "answers messages whose integrity bit is clear by an error", AnswerMi{"mi.message.ic", Status::invalid_parameter});
DEVIATION(answers_to_nothing_are_taken, "mi.message.ror.set", Product::endpoint, "takes answers for requests", Tolerate{"mi.message.ror"});
DEVIATION(answers_to_nothing_are_answered, "mi.message.ror.set", Product::endpoint, "answers answers by an error",
          AnswerMi{"mi.message.ror", Status::invalid_parameter});

// What is taken for a message.
DEVIATION(reserved_kinds_are_mi_commands, "mi.message.nmimt.reserved", Product::endpoint,
          "takes messages of reserved kinds for MI commands", misreads_requests<&reserved_kinds_are_commands>());
DEVIATION(long_messages_wedge_it, "mi.message.size", Product::endpoint, "says nothing any more after a message above the maximum",
          hooks<WedgedByLongMessages>());
DEVIATION(long_answers_lose_their_end, "mi.message.length", Product::endpoint, "leaves out the last four bytes of a full answer",
          alters_answers<&lose_the_last_dword>());
DEVIATION(a_gap_is_needed_between_commands, "mi.message.gap", Product::endpoint,
          "loses a command that comes within 1 ms behind an answer (F1)", Departs{departure::gap_needed}, "pcie");

// Errors.
DEVIATION(errors_with_reserved_bytes, "mi.error.generic", Product::endpoint, "sets a reserved byte of error responses",
          Departs{departure::error_reserved});
DEVIATION(errors_with_data, "mi.error.generic", Product::endpoint, "appends data to error responses", Departs{departure::error_data});
DEVIATION(admin_errors_with_a_completion, "mi.error.generic", Product::endpoint,
          "refuses Admin commands in the long form, with completion dwords", alters_answers<&admin_errors_with_completion>());
DEVIATION(locations_name_another_bit, "mi.error.location", Product::endpoint, "locates a wrong parameter at another bit",
          Departs{departure::pel_bit});
DEVIATION(locations_name_another_byte, "mi.error.location", Product::endpoint, "locates a wrong parameter at another byte",
          Departs{departure::pel_byte});
DEVIATION(locations_are_backwards, "mi.error.location", Product::endpoint, "gives byte and bit of a wrong parameter in the wrong order",
          alters_answers<&location_backwards>());
DEVIATION(locations_are_missing, "mi.error.location", Product::endpoint, "locates no wrong parameter", alters_answers<&no_location>());
DEVIATION(refusals_with_a_reserved_status, "mi.error.status", Product::endpoint, "refuses Admin commands by a reserved status",
          alters_answers<&reserved_status>());
DEVIATION(reserved_opcodes_succeed, "mi.command.opcode", Product::endpoint, "answers reserved MI opcodes with success",
          Tolerate{"mi.command.opcode"});
DEVIATION(reserved_opcodes_are_parameters, "mi.command.opcode", Product::endpoint, "refuses reserved MI opcodes as invalid parameters",
          AnswerMi{"mi.command.opcode", Status::invalid_parameter, {4, 0}});
DEVIATION(one_reserved_opcode_succeeds, "mi.command.opcode", Product::endpoint, "has an MI command at a reserved opcode",
          tolerates_some<&one_reserved_opcode>());
DEVIATION(short_commands_are_executed, "mi.command.size.short", Product::endpoint, "takes what is missing of a command for zero",
          tolerates_some<&short_ones>());
DEVIATION(short_commands_lack_data, "mi.command.size.short", Product::endpoint, "refuses short commands for their data",
          AnswerMi{"mi.command.size", Status::invalid_data_size});
DEVIATION(long_commands_are_executed, "mi.command.size.long", Product::endpoint, "does not look at what follows a command",
          tolerates_some<&long_ones>());
DEVIATION(vpd_write_fills_up, "mi.command.data.vpd", Product::endpoint, "writes zeroes where VPD Write has too little data",
          Tolerate{"mi.vpd.data"});
DEVIATION(vpd_write_of_wrong_data_is_of_wrong_size, "mi.command.data.vpd", Product::endpoint,
          "calls a wrong amount of VPD Write's data an invalid command size", AnswerMi{"mi.vpd.data", Status::invalid_command_size});
DEVIATION(vpd_write_ignores_the_rest, "mi.command.data.vpd", Product::endpoint, "takes VPD Write with more data than it says",
          tolerates_some<&more_vpd_than_said>());
DEVIATION(buffer_write_fills_up, "mi.command.data.buffer", Product::endpoint, "takes writes to the buffer with any amount of data",
          Tolerate{"mi.buffer.data"});
DEVIATION(buffer_write_of_wrong_data_is_of_wrong_size, "mi.command.data.buffer", Product::endpoint,
          "calls a wrong amount of data for the buffer an invalid command size", AnswerMi{"mi.buffer.data", Status::invalid_command_size});

// Time.
DEVIATION(answers_take_250_ms, "mi.command.time", Product::endpoint, "answers after 250 ms, and does not ask for the time",
          AlterDrive{&slow_without_a_word});
DEVIATION(slow_commands_say_nothing, "mi.mpr.limit", Product::endpoint, "sends no More Processing Required",
          Departs{departure::mpr_missing});
DEVIATION(slow_commands_ask_too_late, "mi.mpr.limit", Product::endpoint, "sends More Processing Required at three times its limit",
          Departs{departure::mpr_late});
DEVIATION(slow_commands_ask_again_and_again, "mi.mpr.once", Product::endpoint, "sends More Processing Required every 100 ms (F3)",
          Departs{departure::mpr_repeated});
DEVIATION(slow_commands_ask_for_no_time, "mi.mpr.time", Product::endpoint, "gives no time in More Processing Required (F4)",
          Departs{departure::mpr_time_zero});
DEVIATION(slow_commands_ask_for_too_little_time, "mi.mpr.time", Product::endpoint, "gives 100 ms in More Processing Required",
          Departs{departure::mpr_time_short});
DEVIATION(asking_for_time_is_long, "mi.mpr.form", Product::endpoint, "sends More Processing Required as long as an Admin response (F2)",
          Departs{departure::mpr_long});
DEVIATION(asking_for_time_names_the_other_slot, "mi.mpr.form", Product::endpoint, "sends More Processing Required for the other slot",
          alters_answers<&more_of_other_slot>());
DEVIATION(asking_for_time_has_a_reserved_byte, "mi.mpr.form", Product::endpoint, "sets the reserved byte of More Processing Required",
          alters_answers<&more_with_reserved>());

}  // namespace fb::deviations
