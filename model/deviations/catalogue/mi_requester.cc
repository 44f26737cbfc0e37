// Management requesters that say requests wrongly, or believe too much or too little.
#include "model/deviations/deviation.h"
#include "model/drive/drive.h"
#include "model/mi/fault_points.h"
#include "wire/mi/tunnels.h"

namespace fb::deviations {

namespace {

namespace departure = mi::departure;

/// Changes the requests of one kind behind their header; the check is right again.
template <auto Change>
class AlteringRequests final : public mi::RequesterHooks {
 public:
  void message_out(Bytes& bytes) override {
    bytes.resize(bytes.size() - mi::kMicSize);
    Change(bytes);
    mi::append_mic(bytes);
  }
};

bool is_mi(const Bytes& message, mi::Opcode opcode) {
  return (message[1] >> 3 & 0xF) == 1 && message[4] == static_cast<std::uint8_t>(opcode);
}
bool is_admin(const Bytes& message) { return (message[1] >> 3 & 0xF) == 2; }

void set_direction(Bytes& message) { message[1] |= 0x80; }
void clear_integrity_bit(Bytes& message) { message[0] &= 0x7F; }
void always_slot_zero(Bytes& message) { message[1] &= 0xFE; }
void set_reserved_of_slot(Bytes& message) { message[1] |= 0x02; }
void set_reserved_of_command(Bytes& message) {
  if ((message[1] >> 3 & 0xF) == 1) message[6] = 0x01;
}
/// As libnvme does it.
void list_start_as_port(Bytes& message) {
  if (!is_mi(message, mi::Opcode::read_data_structure) || message[11] != 2) return;
  message[10] = message[8];
  message[8] = message[9] = 0;
}
void clear_at_status_positions(Bytes& message) {
  if (!is_mi(message, mi::Opcode::configuration_set) || message[8] != 2) return;
  store_le(&message[12], load_le<std::uint32_t>(&message[12]) << 1);
}
void big_endian_unit(Bytes& message) {
  if (is_mi(message, mi::Opcode::configuration_set) && message[8] == 3) std::swap(message[12], message[13]);
}
void clear_without_bit(Bytes& message) {
  if (is_mi(message, mi::Opcode::subsystem_health_poll)) message[15] &= 0x7F;
}
void length_without_limit(Bytes& message) {
  if (is_admin(message) && load_le<std::uint32_t>(&message[32]) == mi::kDataMax) message[33] = 0x20;
}
void odd_offset(Bytes& message) {
  if (is_admin(message) && load_le<std::uint32_t>(&message[28]) != 0) ++message[28];
}
void no_length_of_data(Bytes& message) {
  if (is_admin(message) && message.size() > mi::AdminRequest::size) store_le<std::uint32_t>(&message[32], 0);
}
void pieces_at_zero(Bytes& message) {
  if (is_admin(message) && message[4] == 0x02) store_le<std::uint64_t>(&message[56 - 4], 0);
}
void never_retains(Bytes& message) {
  if (is_admin(message) && message[4] == 0x02) message[45] &= 0x7F;
}
void vpd_at_zero(Bytes& message) {
  if (is_mi(message, mi::Opcode::vpd_read)) message[8] = message[9] = 0;
}

#define REQUESTER(name, requirement, what, ...) DEVIATION(name, requirement, Product::management_requester, what, __VA_ARGS__)

REQUESTER(requester_sends_a_wrong_check, "mi.requester.mic", "requests carry a wrong integrity check",
          Departs{departure::requester_mic_wrong});
REQUESTER(requester_sets_reserved_byte_3, "mi.requester.header", "byte 3 of requests is set", Departs{departure::requester_reserved});
REQUESTER(requester_sends_responses, "mi.requester.header", "requests have ROR set", hooks<AlteringRequests<&set_direction>>());
REQUESTER(requester_clears_ic, "mi.requester.header", "requests have IC clear", hooks<AlteringRequests<&clear_integrity_bit>>());
REQUESTER(requester_knows_one_slot, "mi.requester.header", "requests for slot 1 name slot 0", hooks<AlteringRequests<&always_slot_zero>>());
REQUESTER(requester_sets_reserved_of_byte_1, "mi.requester.header", "reserved bits of byte 1 are set",
          hooks<AlteringRequests<&set_reserved_of_slot>>());
REQUESTER(requester_sets_reserved_of_commands, "mi.requester.header", "reserved bytes of MI commands are set",
          hooks<AlteringRequests<&set_reserved_of_command>>());
REQUESTER(requester_starts_lists_at_a_port, "mi.requester.fields", "the first controller of a list stands where the port belongs",
          hooks<AlteringRequests<&list_start_as_port>>());
REQUESTER(requester_clears_other_changes, "mi.requester.fields", "Health Status Change is asked for by other bits",
          hooks<AlteringRequests<&clear_at_status_positions>>());
REQUESTER(requester_turns_the_unit_round, "mi.requester.fields", "the transmission unit is sent high byte first",
          hooks<AlteringRequests<&big_endian_unit>>());
REQUESTER(requester_never_clears_status, "mi.requester.fields", "the bit that clears the composite status is not set",
          hooks<AlteringRequests<&clear_without_bit>>());
REQUESTER(requester_asks_for_odd_lengths, "mi.requester.window", "DLEN is not a multiple of 4", Departs{departure::requester_length});
REQUESTER(requester_asks_for_too_much, "mi.requester.window", "DLEN is above 4,096", hooks<AlteringRequests<&length_without_limit>>());
REQUESTER(requester_asks_at_odd_offsets, "mi.requester.window", "DOFST is not a multiple of 4", hooks<AlteringRequests<&odd_offset>>());
REQUESTER(requester_keeps_data_length_quiet, "mi.requester.window", "data are sent with DLEN 0 (libnvme's Set Features)",
          hooks<AlteringRequests<&no_length_of_data>>());
REQUESTER(requester_reads_the_first_piece_only, "mi.requester.log-pieces", "every piece of a log is read at offset 0 (F7)",
          hooks<AlteringRequests<&pieces_at_zero>>());
REQUESTER(requester_never_retains_events, "mi.requester.log-pieces", "RAE is never set", hooks<AlteringRequests<&never_retains>>());
REQUESTER(requester_reads_vpd_from_the_start, "mi.requester.vpd-pieces", "every piece of the VPD is read at offset 0",
          hooks<AlteringRequests<&vpd_at_zero>>());
REQUESTER(requester_shares_a_tag, "mi.requester.tag.distinct", "outstanding requests share a tag",
          Departs{departure::requester_tag_shared});
REQUESTER(requester_leaks_tags, "mi.requester.tag.freed", "a tag whose answer stayed away is lost (F10)",
          Departs{departure::requester_tag_leaks});
REQUESTER(requester_overfills_a_slot, "mi.requester.slot.one-command", "a command is sent to a slot that is in use",
          Departs{departure::requester_slot_busy});
REQUESTER(requester_ends_with_more_processing, "mi.requester.more-processing.waits", "More Processing Required is taken for the answer",
          Departs{departure::requester_mpr_final});
REQUESTER(requester_is_impatient, "mi.requester.more-processing.waits", "the time that was asked for is not given (F11)",
          Departs{departure::requester_mpr_impatient});
REQUESTER(requester_waits_no_time, "mi.requester.more-processing.zero", "MPRT 0 is taken for no time at all (F4)",
          Departs{departure::requester_mpr_zero});
REQUESTER(requester_waits_for_ever, "mi.requester.more-processing.bounded", "More Processing Required is granted without end (F3)",
          Departs{departure::requester_mpr_endless});
REQUESTER(requester_believes_any_check, "mi.requester.check.mic", "responses with a wrong check are believed (F8)",
          Departs{departure::requester_any_mic});
REQUESTER(requester_believes_any_type, "mi.requester.check.type", "responses with IC clear are believed (F9)",
          Departs{departure::requester_any_type});
REQUESTER(requester_believes_requests, "mi.requester.check.direction", "requests are taken for responses (F9)",
          Departs{departure::requester_any_direction});
REQUESTER(requester_believes_any_kind, "mi.requester.check.kind", "responses of another NMIMT are believed (F9)",
          Departs{departure::requester_any_kind});
REQUESTER(requester_believes_any_slot, "mi.requester.check.slot", "responses of the other slot are believed (F9)",
          Departs{departure::requester_any_slot});
REQUESTER(requester_believes_short_answers, "mi.requester.check.size", "responses that are cut short are believed",
          Departs{departure::requester_any_size});
REQUESTER(requester_believes_any_primitive, "mi.requester.check.primitive-tag", "answers to other primitives are believed",
          Departs{departure::requester_any_primitive});
REQUESTER(requester_believes_any_source, "mi.requester.check.source", "the answer of one endpoint is taken for another's (F28)",
          Departs{departure::requester_any_source});
REQUESTER(requester_wants_whole_dwords, "mi.requester.odd-lengths", "responses that are no whole number of dwords are refused (F5)",
          Departs{departure::requester_dwords_only});
REQUESTER(requester_takes_errors_for_success, "mi.requester.status", "errors are taken for success",
          Departs{departure::requester_any_status});
REQUESTER(requester_waits_for_silence, "mi.requester.timeout", "a request without an answer never ends (F11)",
          Departs{departure::requester_patient});
REQUESTER(requester_never_acknowledges, "mi.requester.event.acknowledged", "events are not acknowledged",
          Departs{departure::requester_no_ack});
REQUESTER(requester_tells_events_again, "mi.requester.event.once", "an event that is sent again is told again",
          Departs{departure::requester_event_twice});
REQUESTER(requester_believes_damaged_events, "mi.requester.event.mic", "events with a wrong check are believed",
          Departs{departure::requester_event_any_mic});

}  // namespace

}  // namespace fb::deviations
