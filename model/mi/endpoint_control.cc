// Control primitives.
#include <algorithm>
#include <utility>

#include "model/mi/endpoint.h"

namespace fb::mi {

void Endpoint::on_primitive(const mctp::Incoming& message, ByteView body) {
  if (body.size() != PrimitiveRequest::size) {
    if (discard(body, check::message_size)) return;
    if (body.size() < PrimitiveRequest::size) return;
  }
  const View<PrimitiveRequest> asked{body};
  Slot& slot = slots_[asked.get(header::csi)];
  if (departs(departure::pause_silences) && slot.paused && asked.get(primitive::cpo) != static_cast<std::uint8_t>(Primitive::resume)) {
    return;
  }
  Bytes answer = begin_response(body, Status::success);
  MutableView<PrimitiveResponse> out{answer};
  out.set(primitive::tag, asked.get(primitive::tag) + (departs(departure::primitive_tag) ? 1u : 0u));
  std::uint16_t result = 0;
  const auto what = static_cast<Primitive>(asked.get(primitive::cpo));
  const bool of_both = what == Primitive::pause || what == Primitive::resume;
  if (of_both && slot.index != 0 && device_.has(Revision::r2_0)) {
    Refusal refusal{check::primitive_slot.name, check::primitive_slot.status, check::primitive_slot.at, false};
    if (!hooked_ || hooks_.refuses({body, false}, refusal)) {
      // As with Replay: the primitive's own form, which has no room for a location.
      out.set(response::status, refusal.status);
      send(ReturnPath::of(message), body, std::move(answer), unit());
      return;
    }
  }
  switch (what) {
    case Primitive::pause:
      result = pause();
      break;
    case Primitive::resume:
      if (departs(departure::resume_not_paused) && !slots_[0].paused && !slots_[1].paused) {
        out.set(response::status, Status::internal_error);
      }
      result = resume();
      break;
    case Primitive::abort:
      if (unabortable(slot)) {
        out.set(response::status, check::abort_impossible.status);
      } else {
        result = abort(slot);
      }
      break;
    case Primitive::get_state:
      result = get_state(slot, View<GetStateRequest>{body}.get(primitive::cesf));
      break;
    case Primitive::replay:
      return replay(slot, message, body, answer);
    default: {
      Refusal refusal{check::primitive_opcode.name, check::primitive_opcode.status, {}, false};
      if (!hooked_ || hooks_.refuses({body, false}, refusal)) out.set(response::status, refusal.status);
    }
  }
  out.set(primitive_response::cpsr, result);
  send(ReturnPath::of(message), body, std::move(answer), unit());
  // Abort ends a pause, of both slots since there is one flag for them (2.0).
  if (what != Primitive::abort || departs(departure::abort_keeps_pause)) return;
  if (device_.has(Revision::r2_0)) {
    resume();
  } else {
    slot.paused = false;
  }
}

std::uint16_t Endpoint::pause() {
  if (departs(departure::pause_ignored)) return options_.pause_result;
  for (Slot& slot : slots_) {
    if (slot.index == 1 && departs(departure::pause_one_slot)) break;
    slot.paused = true;
    if (departs(departure::pause_drops) && slot.sending != 0) {
      port_.withdraw(std::exchange(slot.sending, 0));
      step(slot, SlotEvent::sent);
    }
    for (const mctp::SendId id : {slot.sending, slot.more_sending}) {
      if (id != 0) port_.hold(id);
    }
  }
  if (event_sending_ != 0 && !departs(departure::event_paused)) port_.hold(event_sending_);
  return options_.pause_result;
}

std::uint16_t Endpoint::resume() {
  for (Slot& slot : slots_) {
    if (!std::exchange(slot.paused, false)) continue;
    for (const mctp::SendId id : {slot.more_sending, slot.sending}) {
      if (id != 0) port_.resume(id);
    }
    if (!slot.ready.empty()) {
      respond(slot);
    } else if (slot.state == SlotState::process && slot.more_sent == 0 && !slot.more_timer.scheduled() && device_.has(Revision::r1_2)) {
      // Its time passed while paused.
      world_.loop().schedule(slot.more_timer, world_.now());
    }
  }
  if (event_sending_ != 0) port_.resume(event_sending_);
  if (std::exchange(event_waits_, false)) send_event(std::exchange(event_held_, {}));
  return options_.pause_result;
}

/// A command under way that cannot be stopped: Abort says so, and it goes on.
bool Endpoint::unabortable(const Slot& slot) {
  if (slot.exchange == nullptr || !device_.has(Revision::r2_1)) return false;
  const SupportedCommand command{slot.exchange->kind(), slot.exchange->context().opcode()};
  const auto& all = options_.unabortable;
  if (std::find(all.begin(), all.end(), command) == all.end()) return false;
  return discard(slot.exchange->request, check::abort_impossible);
}

std::uint16_t Endpoint::abort(Slot& slot) {
  AbortResult result = AbortResult::nothing;
  if (slot.state == SlotState::receive) result = AbortResult::before;
  // A response that Pause holds back is complete.
  if (slot.state == SlotState::process && slot.ready.empty()) result = AbortResult::part_way;
  if (departs(departure::abort_answers) && slot.state != SlotState::receive) {
    return static_cast<std::uint16_t>(result);
  }
  const Bytes kept = slot.stored;
  clear(slot);
  if (departs(departure::abort_keeps_replay)) slot.stored = kept;
  if (departs(departure::abort_both)) clear(slots_[slot.index ^ 1]);
  if (departs(departure::abort_result)) result = AbortResult::nothing;
  return static_cast<std::uint16_t>(result);
}

std::uint16_t Endpoint::get_state(Slot& slot, bool clear_flags) {
  Record<SlotStatus> status;
  store_le(status.mutable_bytes().data(), slot.flags);
  status.set(slot_status::ssta, departs(departure::state_wrong) ? SlotState::idle : slot.state).set(slot_status::pflg, slot.paused);
  const bool cleared = clear_flags ? !departs(departure::flags_not_cleared) : departs(departure::flags_forgotten);
  if (cleared) slot.flags = 0;
  return static_cast<std::uint16_t>(integer_of(status));
}

/// Answers the primitive, then sends the stored response again from packet RRO on.
void Endpoint::replay(Slot& slot, const mctp::Incoming& message, ByteView body, Bytes& answer) {
  const ReturnPath path = ReturnPath::of(message);
  Slot& source = departs(departure::replay_other_slot) ? slots_[slot.index ^ 1] : slot;
  std::size_t first = View<ReplayRequest>{body}.get(primitive::rro);
  const std::size_t unit_then = source.stored_unit == 0 ? mctp::kBaselineUnit : source.stored_unit;
  const std::size_t packets = (source.stored.size() + unit_then - 1) / unit_then;
  // What a command that is coming in displaces is not sent again.
  const bool available = !source.stored.empty() && slot.state != SlotState::receive;
  if (available && first >= packets) {
    Refusal refusal{check::replay_offset.name, check::replay_offset.status, check::replay_offset.at, false};
    if (!hooked_ || hooks_.refuses({body, false}, refusal)) {
      // The primitive's own form has no room for a location.
      MutableView<PrimitiveResponse>{answer}.set(response::status, refusal.status);
      send(path, body, std::move(answer), unit());
      return;
    }
    first = packets - 1;
  }
  if (departs(departure::replay_whole)) first = 0;
  MutableView<PrimitiveResponse>{answer}.set(primitive_response::cpsr, available ? kReplayResponds : std::uint16_t{0});
  if (available && source.state == SlotState::transmit && slot.sending != 0) {
    port_.withdraw(std::exchange(slot.sending, 0));
  }
  if (available) {
    // A response that Pause held back leaves now, by this way (before 1.2 its slot is still in Process).
    if (!slot.ready.empty() && slot.state == SlotState::process) step(slot, SlotEvent::respond);
    slot.ready.clear();
    if (slot.more_sending != 0) port_.withdraw(std::exchange(slot.more_sending, 0));
  }
  const mctp::SendId id = send(path, body, std::move(answer), unit());
  if (!departs(departure::replay_keeps_pause)) resume();
  if (!available || departs(departure::replay_nothing)) {
    if (available && slot.state == SlotState::transmit) step(slot, SlotEvent::sent);
    return;
  }
  Bytes again;
  const std::size_t from = first * unit_then;
  if (first != 0 && options_.replay_inserts_header && !departs(departure::replay_headless)) {
    again.assign(source.stored.begin(), source.stored.begin() + kHeaderSize);
  }
  again.insert(again.end(), source.stored.begin() + static_cast<std::ptrdiff_t>(from), source.stored.end());
  if (departs(departure::replay_altered)) again[again.size() / 2] ^= 0x01;
  const std::uint8_t tag = departs(departure::replay_tag) ? slot.path.tag.value : path.tag.value;
  slot.replay = {path.peer, path.to, path.self, {tag, false}, unit_then, std::move(again)};
  if (slot.state != SlotState::process) step(slot, SlotEvent::replay);
  // Without an answer of its own (a hook withheld it) nothing is to be waited for.
  slot.replay_after = id;
  if (id == 0) start_replay(slot);
}

}  // namespace fb::mi
