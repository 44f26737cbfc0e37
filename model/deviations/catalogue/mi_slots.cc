// Command slots and control primitives that do not do what they should.
#include "model/deviations/catalogue/mi_shapes.h"

namespace fb::deviations {
namespace {

using mi::Primitive;
using mi::SlotState;
using mi::Status;
namespace departure = mi::departure;
namespace flag = mi::error_flag;

constexpr std::uint16_t kPaused = 1u << 15;

std::uint16_t cpsr_of(ByteView body) { return load_le<std::uint16_t>(&body[6]); }
void set_cpsr(Bytes& body, unsigned value) { store_le(&body[6], static_cast<std::uint16_t>(value)); }
bool tells_state(const MessageContext& message, ByteView body) { return is_of(message, Primitive::get_state) && succeeded(body); }

// ---- Get State ----

template <SlotState From, SlotState To>
void other_state(const MessageContext& message, Bytes& body) {
  if (!tells_state(message, body) || (body[6] & 3) != static_cast<unsigned>(From)) return;
  body[6] = static_cast<std::uint8_t>((body[6] & 0xFC) | static_cast<unsigned>(To));
}
template <std::uint16_t Bits>
void hides_flags(const MessageContext& message, Bytes& body) {
  if (tells_state(message, body)) set_cpsr(body, cpsr_of(body) & ~unsigned{Bits});
}
void reserved_state_bit(const MessageContext& message, Bytes& body) {
  if (tells_state(message, body)) body[6] |= 0x04;
}
void clears_before_it_tells(const MessageContext& message, Bytes& body) {
  if (tells_state(message, body) && (message.request[6] & 1) != 0) set_cpsr(body, cpsr_of(body) & 0x8003u);
}

/// Slot 1 is said to be in the state that slot 0 is in, as far as anybody asked.
class OneStateForBothSlots final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (message.kind() == MessageKind::mi_command && message.slot() == 0) state_ = 0;
    if (!tells_state(message, body)) return;
    if (message.slot() == 0) state_ = body[6] & 3u;
    if (message.slot() == 1) body[6] = static_cast<std::uint8_t>((body[6] & 0xFC) | state_);
  }

 private:
  unsigned state_ = 0;
};

/// An answer that is an error makes Get State tell of a wrong check.
class ErrorsAreFlagged final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (message.kind() == MessageKind::mi_command && !succeeded(body)) flagged_ = true;
    if (flagged_ && tells_state(message, body)) set_cpsr(body, cpsr_of(body) | flag::bmice);
  }

 private:
  bool flagged_ = false;
};

// ---- the form of primitives ----

void seven_bits_of_tag(const MessageContext& message, Bytes& body) {
  if (message.kind() == MessageKind::control_primitive) body[5] &= 0x7F;
}
bool last_reserved_primitive(const MessageContext& message, std::string_view check) {
  return check == "mi.primitive.opcode" && message.opcode() == 0xEF;
}
void reserved_abort_bits(const MessageContext& message, Bytes& body) {
  if (is_of(message, Primitive::abort)) body[7] |= 0x80;
}
void long_primitives(const MessageContext& message, Bytes& body) {
  if (is_of(message, Primitive::resume)) body.resize(12);
}

/// A primitive's answer leaves behind the last packet of the answer that is under way.
class PrimitivesWaitTheirTurn final : public mctp::EndpointHooks {
 public:
  void packets_out(mctp::PhysicalAddress&, std::vector<Bytes>& packets) override {
    std::vector<Bytes> leaving;
    for (Bytes& packet : packets) {
      const bool som = (packet[3] & 0x80) != 0, eom = (packet[3] & 0x40) != 0;
      const bool primitive = som && eom && packet.size() > 5 && packet[4] == 0x84 && (packet[5] & 0x78) == 0;
      if (primitive && busy_) {
        held_.push_back(std::move(packet));
        continue;
      }
      busy_ = primitive ? busy_ : !eom;
      leaving.push_back(std::move(packet));
      if (busy_) continue;
      for (Bytes& one : held_) leaving.push_back(std::move(one));
      held_.clear();
    }
    packets = std::move(leaving);
  }

 private:
  bool busy_ = false;
  std::vector<Bytes> held_;
};

// ---- slots ----

/// Answers of slot 1 leave with tag 0.
class TagsOfSlotOneAreLost final : public mctp::EndpointHooks {
 public:
  void packets_out(mctp::PhysicalAddress&, std::vector<Bytes>& packets) override {
    for (Bytes& packet : packets) {
      const unsigned tag = packet[3] & 7u;
      const bool som = (packet[3] & 0x80) != 0;
      if (som) lost_[tag] = packet.size() > 5 && packet[4] == 0x84 && (packet[5] & 0x78) != 0 && (packet[5] & 1) != 0;
      if (lost_[tag]) packet[3] &= 0xF8;
    }
  }

 private:
  bool lost_[8] = {};
};
void no_auto_pause(Bytes& body) { body[2] &= 0xFD; }

// ---- Pause, Abort, Replay ----

class PausesOnlyOnce final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (is_of(message, Primitive::resume)) paused_ = false;
    if (!is_of(message, Primitive::pause)) return;
    if (paused_) body[4] = static_cast<std::uint8_t>(Status::internal_error);
    paused_ = true;
  }

 private:
  bool paused_ = false;
};
void abort_always_stopped_something(const MessageContext& message, Bytes& body) {
  if (is_of(message, Primitive::abort) && succeeded(body)) body[6] |= 0x01;
}

class DeniesErrorsToReplay final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (message.kind() == MessageKind::mi_command) error_ = !succeeded(body);
    if (is_of(message, Primitive::replay) && error_) body[6] = 0;
  }

 private:
  bool error_ = false;
};
void replay_always_promised(const MessageContext& message, Bytes& body) {
  if (is_of(message, Primitive::replay) && succeeded(body)) body[6] = 1;
}
/// What asks for time is no answer to be replayed, to this one.
class DeniesMoreProcessingToReplay final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (message.kind() == MessageKind::mi_command) {
      more_ = body[4] == static_cast<std::uint8_t>(Status::more_processing);
    }
    if (is_of(message, Primitive::replay) && more_) body[6] = 0;
  }

 private:
  bool more_ = false;
};
void packets_counted_from_one(Bytes& body) {
  const bool replay = body[1] <= 1 && body.size() == mi::PrimitiveRequest::size && body[4] == static_cast<std::uint8_t>(Primitive::replay);
  if (replay && body[6] != 0) --body[6];
}

void four_bits_of_the_packet_number(Bytes& body) {
  const bool replay = body[1] <= 1 && body.size() == mi::PrimitiveRequest::size && body[4] == static_cast<std::uint8_t>(Primitive::replay);
  if (replay) body[6] &= 0x0F;
}
/// CESF leaves the flags of the upper byte.
class ClearsLowFlags final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (!is_of(message, Primitive::get_state) || !succeeded(body) || body.size() < 8) return;
    const unsigned slot = body[1] & 1u;
    body[7] |= kept_[slot];
    if ((message.request[6] & 1) != 0) kept_[slot] = static_cast<std::uint8_t>(kept_[slot] | (body[7] & 0x3F));
  }

 private:
  std::uint8_t kept_[2] = {};
};

}  // namespace

// The form of primitives.
DEVIATION(primitives_with_another_tag, "mi.primitive.tag", Product::endpoint, "answers primitives with another TAG",
          Departs{departure::primitive_tag});
DEVIATION(primitives_with_seven_bits_of_tag, "mi.primitive.tag", Product::endpoint, "loses the highest bit of TAG",
          alters_answers<&seven_bits_of_tag>());
DEVIATION(reserved_primitives_succeed, "mi.primitive.opcode", Product::endpoint, "answers reserved primitives with success",
          Tolerate{"mi.primitive.opcode"});
DEVIATION(reserved_primitives_are_parameters, "mi.primitive.opcode", Product::endpoint, "refuses reserved primitives as invalid parameters",
          AnswerMi{"mi.primitive.opcode", Status::invalid_parameter});
DEVIATION(one_reserved_primitive_succeeds, "mi.primitive.opcode", Product::endpoint, "has a primitive at a reserved opcode",
          tolerates_some<&last_reserved_primitive>());
DEVIATION(abort_sets_reserved_bits, "mi.primitive.form", Product::endpoint, "sets a reserved bit in the answer to Abort",
          alters_answers<&reserved_abort_bits>());
DEVIATION(resume_has_a_long_answer, "mi.primitive.form", Product::endpoint, "answers Resume with twelve bytes",
          alters_answers<&long_primitives>());
DEVIATION(primitives_wait_for_answers, "mi.primitive.time", Product::endpoint, "answers primitives behind the answer that is under way",
          hooks<PrimitivesWaitTheirTurn>(), "smbus");

// Get State.
DEVIATION(idle_slots_say_process, "mi.state.idle", Product::endpoint, "Get State says Process of an idle slot",
          alters_answers<&other_state<SlotState::idle, SlotState::process>>());
DEVIATION(get_state_sets_a_reserved_bit, "mi.state.idle", Product::endpoint, "Get State sets bit 2", alters_answers<&reserved_state_bit>());
DEVIATION(get_state_always_says_idle, "mi.state.receive", Product::endpoint, "Get State always says Idle", Departs{departure::state_wrong});
DEVIATION(receiving_slots_say_process, "mi.state.receive", Product::endpoint, "Get State says Process of a slot in Receive",
          alters_answers<&other_state<SlotState::receive, SlotState::process>>());
DEVIATION(busy_slots_say_idle, "mi.state.process", Product::endpoint, "Get State says Idle of a slot in Process",
          alters_answers<&other_state<SlotState::process, SlotState::idle>>());
DEVIATION(get_state_has_one_state_for_both_slots, "mi.state.process", Product::endpoint, "Get State says of slot 1 what slot 0 is in",
          hooks<OneStateForBothSlots>());
DEVIATION(sending_slots_say_process, "mi.state.transmit", Product::endpoint, "Get State says Process of a slot in Transmit",
          alters_answers<&other_state<SlotState::transmit, SlotState::process>>());
DEVIATION(no_flag_is_ever_set, "mi.state.umep", Product::endpoint, "sets none of the error flags", Departs{departure::flags_never});
DEVIATION(stray_packets_are_not_flagged, "mi.state.umep", Product::endpoint, "never sets UMEP", alters_answers<&hides_flags<flag::umep>>());
DEVIATION(gaps_are_not_flagged, "mi.state.ospsn", Product::endpoint, "never sets OSPSN", alters_answers<&hides_flags<flag::ospsn>>());
DEVIATION(versions_are_not_flagged, "mi.state.bhvs", Product::endpoint, "never sets BHVS", alters_answers<&hides_flags<flag::bhvs>>());
DEVIATION(destinations_are_not_flagged, "mi.state.udstid", Product::endpoint, "never sets UDSTID",
          alters_answers<&hides_flags<flag::udstid>>());
DEVIATION(tags_are_not_flagged, "mi.state.buemt", Product::endpoint, "never sets BUEMT", alters_answers<&hides_flags<flag::buemt>>());
DEVIATION(large_units_are_not_flagged, "mi.state.utunt", Product::endpoint, "never sets UTUNT",
          alters_answers<&hides_flags<flag::utunt>>());
DEVIATION(changed_units_are_not_flagged, "mi.state.itu", Product::endpoint, "never sets ITU", alters_answers<&hides_flags<flag::itu>>());
DEVIATION(damaged_frames_are_not_flagged, "mi.state.bpopl", Product::endpoint, "never sets BPOPL",
          alters_answers<&hides_flags<flag::bpopl>>());
DEVIATION(wrong_checks_are_not_flagged, "mi.state.bmice", Product::endpoint, "never sets BMICE",
          alters_answers<&hides_flags<flag::bmice>>());
DEVIATION(errors_are_flagged, "mi.state.flags.none", Product::endpoint, "sets BMICE with each error response", hooks<ErrorsAreFlagged>());
DEVIATION(flags_are_lost_when_read, "mi.state.flags.stay", Product::endpoint, "clears the error flags when they are read",
          Departs{departure::flags_forgotten});
DEVIATION(flags_are_never_cleared, "mi.state.flags.clear", Product::endpoint, "does not clear the error flags with CESF",
          Departs{departure::flags_not_cleared});
DEVIATION(flags_are_cleared_before_they_are_told, "mi.state.flags.clear", Product::endpoint, "tells no flags with CESF",
          alters_answers<&clears_before_it_tells>());

// Slots.
DEVIATION(slot_1_is_not_served, "mi.slot.both", Product::endpoint, "discards commands for slot 1 (F13)",
          Departs{departure::slot_one_ignored});
DEVIATION(tags_of_slot_1_are_lost, "mi.slot.tag", Product::endpoint, "answers commands of slot 1 with tag 0",
          hooks<TagsOfSlotOneAreLost>());
DEVIATION(slots_wait_for_each_other, "mi.slot.parallel", Product::endpoint, "executes one command at a time",
          Departs{departure::slots_serial});
DEVIATION(discarded_commands_are_not_flagged, "mi.slot.busy.flag", Product::endpoint, "never sets CMNICS",
          alters_answers<&hides_flags<flag::cmnics>>());
DEVIATION(busy_slots_answer, "mi.slot.busy.silent", Product::endpoint, "answers a command to a busy slot with an error",
          Departs{departure::slot_busy_answered});
DEVIATION(broken_off_commands_keep_their_slot, "mi.slot.abandoned", Product::endpoint,
          "leaves a slot in Receive when its command breaks off", Departs{departure::slot_stuck});
DEVIATION(auto_pause_is_ignored, "mi.slot.auto-pause", Product::endpoint, "offers auto pause and does not do it",
          misreads_requests<&no_auto_pause>());
DEVIATION(auto_pause_is_not_told, "mi.slot.auto-pause", Product::endpoint, "does not tell the pause flag of a command with CIAP",
          alters_answers<&hides_flags<kPaused>>());

// Pause and Resume.
DEVIATION(pause_does_nothing, "mi.pause.boundary", Product::endpoint, "sends on after Pause", Departs{departure::pause_ignored});
DEVIATION(pause_holds_one_slot, "mi.pause.both", Product::endpoint, "pauses slot 0 alone", Departs{departure::pause_one_slot});
DEVIATION(pause_fails_when_repeated, "mi.pause.twice", Product::endpoint, "refuses Pause while paused", hooks<PausesOnlyOnce>());
DEVIATION(pauses_are_not_told, "mi.pause.flag", Product::endpoint, "never tells the pause flag", alters_answers<&hides_flags<kPaused>>());
DEVIATION(pause_silences_primitives, "mi.pause.primitives", Product::endpoint, "answers no primitive but Resume while paused",
          Departs{departure::pause_silences});
DEVIATION(time_is_asked_for_while_paused, "mi.pause.more-processing", Product::endpoint, "sends More Processing Required while paused",
          Departs{departure::mpr_paused});
DEVIATION(pause_takes_any_slot, "mi.pause.csi", Product::endpoint, "takes Pause and Resume for slot 1", Tolerate{"mi.primitive.csi"});
DEVIATION(pause_loses_the_answer, "mi.resume.next", Product::endpoint, "loses the answer that was paused", Departs{departure::pause_drops});
DEVIATION(resume_fails_without_a_pause, "mi.resume.idle", Product::endpoint, "refuses Resume when nothing is paused",
          Departs{departure::resume_not_paused});

// Abort.
DEVIATION(abort_of_idle_slots_stops_something, "mi.abort.idle", Product::endpoint, "says that it aborted a command where there was none",
          alters_answers<&abort_always_stopped_something>());
DEVIATION(abort_says_that_there_was_nothing, "mi.abort.receive", Product::endpoint, "says that there was nothing to abort",
          Departs{departure::abort_result});
DEVIATION(abort_does_not_stop_commands, "mi.abort.process", Product::endpoint, "answers commands that were aborted",
          Departs{departure::abort_answers});
DEVIATION(abort_of_a_command_says_nothing, "mi.abort.process", Product::endpoint, "says of a command that it had not begun to abort any",
          Departs{departure::abort_result});
DEVIATION(abort_does_not_stop_answers, "mi.abort.transmit", Product::endpoint, "sends the rest of an answer that was aborted",
          Departs{departure::abort_answers});
DEVIATION(abort_empties_both_slots, "mi.abort.other", Product::endpoint, "aborts the commands of both slots",
          Departs{departure::abort_both});
DEVIATION(abort_leaves_the_pause, "mi.abort.pause", Product::endpoint, "stays paused after Abort", Departs{departure::abort_keeps_pause});

// Replay.
DEVIATION(replay_sends_other_bytes, "mi.replay.whole", Product::endpoint, "replays an answer with another bit",
          Departs{departure::replay_altered});
DEVIATION(replay_sends_nothing, "mi.replay.whole", Product::endpoint, "promises an answer again and sends none",
          Departs{departure::replay_nothing});
DEVIATION(replay_denies_errors, "mi.replay.error", Product::endpoint, "says that an error is no answer to be replayed",
          hooks<DeniesErrorsToReplay>());
DEVIATION(replay_ignores_the_offset, "mi.replay.offset", Product::endpoint, "replays from the first packet whatever was asked",
          Departs{departure::replay_whole});
DEVIATION(replay_counts_packets_from_one, "mi.replay.offset", Product::endpoint,
          "replays from the packet before the one that was asked for", misreads_requests<&packets_counted_from_one>());
DEVIATION(replay_lacks_the_header, "mi.replay.header", Product::endpoint, "replays from the middle without the message header",
          Departs{departure::replay_headless});
DEVIATION(replay_keeps_the_first_tag, "mi.replay.tag", Product::endpoint, "replays with the tag of the first request",
          Departs{departure::replay_tag});
DEVIATION(replay_outlives_abort, "mi.replay.nothing", Product::endpoint, "replays what was aborted",
          Departs{departure::abort_keeps_replay});
DEVIATION(replay_is_always_promised, "mi.replay.nothing", Product::endpoint, "promises an answer again where there is none",
          alters_answers<&replay_always_promised>());
DEVIATION(replay_of_a_command_is_promised, "mi.replay.process", Product::endpoint, "promises the answer to a command that is not done",
          alters_answers<&replay_always_promised>());
DEVIATION(replay_denies_more_processing, "mi.replay.process", Product::endpoint,
          "says that More Processing Required is nothing to be replayed", hooks<DeniesMoreProcessingToReplay>());
DEVIATION(replay_beyond_the_end_is_taken, "mi.replay.range", Product::endpoint, "takes any packet number for a replay",
          Tolerate{"mi.primitive.rro"});
DEVIATION(replay_beyond_the_end_is_an_internal_error, "mi.replay.range", Product::endpoint,
          "calls a packet number beyond the end an internal error", AnswerMi{"mi.primitive.rro", Status::internal_error});
DEVIATION(replay_sends_the_other_slot, "mi.replay.slot", Product::endpoint, "replays the other slot's answer",
          Departs{departure::replay_other_slot});
DEVIATION(replay_leaves_the_pause, "mi.replay.pause", Product::endpoint, "stays paused after Replay",
          Departs{departure::replay_keeps_pause});
DEVIATION(replay_counts_to_sixteen, "mi.replay.offset.far", Product::endpoint, "takes four bits of the packet number of a replay",
          misreads_requests<&four_bits_of_the_packet_number>());
DEVIATION(upper_flags_not_cleared, "mi.state.flags.clear.all", Product::endpoint, "clears the lower error flags alone",
          hooks<ClearsLowFlags>());

}  // namespace fb::deviations
