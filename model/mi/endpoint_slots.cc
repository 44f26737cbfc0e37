// The two command slots: how a command comes in, lasts, and leaves its response.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/mi/endpoint.h"

namespace fb::mi {

namespace {
/// MPRT counts in these.
constexpr std::int64_t kMoreProcessingUnitMs = 100;
/// A requester of the faulty kind that F1 tells of needs this long between two commands.
constexpr Duration kGap = Duration::ms(1);

/// Configuration Set of that identifier.
bool configures(const Exchange& exchange, ConfigurationId id) {
  return exchange.kind() == MessageKind::mi_command && exchange.opcode() == static_cast<std::uint8_t>(Opcode::configuration_set) &&
         exchange.request.size() > configuration::id.offset && exchange.request[configuration::id.offset] == static_cast<std::uint8_t>(id);
}

void trace_step(World& world, unsigned index, SlotState from, SlotEvent event, SlotState to) {
  const std::string text = fmt::format("slot {}: {} -> {} ({})", index, name_of(from), name_of(to), name_of(event));
  TraceEvent seen;
  seen.kind = TraceKind::state;
  seen.time = world.now();
  seen.actor = "endpoint";
  seen.label = "mi.slot";
  seen.text = text;
  world.trace().emit(seen);
}
}  // namespace

void Endpoint::step(Slot& slot, SlotEvent event) {
  const std::optional<SlotState> to = next_state(slot.state, event);
  BENCH_ASSERT(to.has_value(), "a command slot does what its table says");
  if (world_.trace().on()) trace_step(world_, slot.index, slot.state, event, *to);
  slot.state = *to;
}

void Endpoint::on_started(const mctp::Incoming& first) {
  if (!is_command(first.body)) return;
  Slot& slot = slots_[View<MessageHeader>{first.body}.get(header::csi)];
  if (slot.state != SlotState::idle) {
    if (!departs(departure::flags_never)) slot.flags |= error_flag::cmnics;
    ignored_.push_back({first.source, first.tag});
    return;
  }
  step(slot, SlotEvent::start);
  slot.path = ReturnPath::of(first);
}

/// Whether that assembly was not to be looked at; it is over now.
bool Endpoint::forgotten(mctp::Eid source, mctp::Tag tag) {
  return std::erase_if(ignored_, [&](const Key& key) { return key.source == source && key.tag == tag; }) != 0;
}

void Endpoint::on_abandoned(mctp::Eid source, mctp::Tag tag, mctp::Abandoned why) {
  switch (why) {
    case mctp::Abandoned::out_of_sequence:
      raise_flags(error_flag::ospsn);
      break;
    case mctp::Abandoned::unit_changed:
      raise_flags(error_flag::itu);
      break;
    case mctp::Abandoned::timed_out:
      if (options_.timeout_flag) raise_flags(error_flag::twpkt);
      break;
    case mctp::Abandoned::restarted:
    case mctp::Abandoned::too_long:
      break;
  }
  forgotten(source, tag);
  give_up(source, tag);
}

/// What was coming in is not a command: its slot is idle again.
void Endpoint::give_up(mctp::Eid source, mctp::Tag tag) {
  for (Slot& slot : slots_) {
    if (slot.state != SlotState::receive || !slot.path.same_message(source, tag)) continue;
    if (!departs(departure::slot_stuck)) step(slot, SlotEvent::give_up);
  }
}

void Endpoint::on_command(const mctp::Incoming& message, ByteView body) {
  Slot& slot = slots_[View<MessageHeader>{body}.get(header::csi)];
  const bool too_soon = departs(departure::gap_needed) && last_response_ != Instant{} && world_.now() - last_response_ < kGap;
  if (too_soon || (slot.index == 1 && departs(departure::slot_one_ignored))) {
    return give_up(message.source, message.tag);
  }
  const bool ours =
      slot.state == SlotState::idle || (slot.state == SlotState::receive && slot.path.same_message(message.source, message.tag));
  if (!ours) {
    if (!departs(departure::flags_never)) slot.flags |= error_flag::cmnics;
    world_.trace().mark(check::message_slot_busy.name);
    if (departs(departure::slot_busy_answered)) {
      send(ReturnPath::of(message), body, error_response(body, Status::internal_error), unit());
    }
    return;
  }
  begin(slot, message, body);
}

Duration Endpoint::duration_of(const Exchange& exchange) const {
  Duration duration = options_.latency;
  if (exchange.request.size() > request::opcode.offset) {
    const auto found = options_.durations.find({exchange.kind(), exchange.opcode()});
    if (found != options_.durations.end()) duration = duration + found->second;
  }
  return hooked_ ? duration + hooks_.delay(exchange.context()) : duration;
}

void Endpoint::begin(Slot& slot, const mctp::Incoming& message, ByteView body) {
  step(slot, SlotEvent::accept);
  slot.path = ReturnPath::of(message);
  slot.exchange = std::make_unique<Exchange>();
  slot.exchange->request.assign(body.begin(), body.end());
  slot.exchange->on_done = [this, &slot] { complete(slot); };
  slot.executed = false;
  slot.more_sent = 0;
  slot.stored.clear();
  slot.stored_unit = unit();
  slot.ready.clear();
  if (world_.trace().on()) {
    world_.trace().emit({.kind = TraceKind::message,
                         .time = world_.now(),
                         .actor = "endpoint",
                         .label = "mi.command",
                         .text = {},
                         .bytes = body,
                         .source = {},
                         .destination = {},
                         .ip = {}});
  }
  if (View<MessageHeader>{body}.get(header::ciap) && agent_.auto_pause_offered()) slot.paused = true;
  const Slot& other = slots_[slot.index ^ 1];
  Duration duration = duration_of(*slot.exchange);
  if (departs(departure::slots_serial) && other.state == SlotState::process && !other.executed) {
    duration = duration + (other.due - world_.now());
  }
  const bool endless = options_.more_processing.endless && device_.has(Revision::r1_2);
  slot.due = endless ? Instant::never() : world_.now() + duration;
  if (endless) {
    duration = Duration::forever();
  } else if (duration == Duration{}) {
    execute(slot);
    if (slot.state != SlotState::process || slot.exchange == nullptr || slot.exchange->done) return;
  } else {
    world_.loop().schedule(slot.due_timer, slot.due);
  }
  if (device_.has(Revision::r1_2) && !departs(departure::mpr_missing)) {
    Duration limit = options_.more_processing_after;
    if (departs(departure::mpr_late)) limit = limit * 3;
    if (!slot.due_timer.scheduled() || duration > limit) {
      world_.loop().schedule_after(slot.more_timer, limit);
    }
  }
}

void Endpoint::execute(Slot& slot) {
  slot.executed = true;
  agent_.execute(*slot.exchange);
  if (slot.exchange->done) complete(slot);
}

void Endpoint::complete(Slot& slot) {
  world_.loop().cancel(slot.more_timer);
  const std::unique_ptr<Exchange> exchange = std::move(slot.exchange);
  const auto answer_to = View<AnyResponse>::over(exchange->response);
  const bool served = answer_to && answer_to->get(response::status) == Status::success;
  if (!exchange->response.empty()) {
    EndpointHooks::Delivery delivery;
    Bytes body = std::move(exchange->response);
    // The answer that sets another unit still goes out in the old one: it was made before the change.
    const bool sets_unit = configures(*exchange, ConfigurationId::transmission_unit);
    if (!sets_unit) slot.stored_unit = unit();
    const bool leaves = dress(exchange->request, body, delivery);
    if (leaves) {
      slot.ready = body;
      slot.stored = std::move(body);
    }
    if (leaves && delivery == EndpointHooks::Delivery::send_twice) {
      port_.send({slot.path.peer, slot.path.to, slot.path.self, {slot.path.tag.value, false}, slot.stored_unit, slot.stored});
    }
  }
  configured_unit_ = device_.port_state(options_.port).unit;
  use_unit();
  if (served && configures(*exchange, ConfigurationId::async_event)) event_peer_ = slot.path.peer;
  if (exchange->resets_subsystem) {
    const Bytes answer = std::move(slot.ready);
    const ReturnPath path = slot.path;
    device_.reset_subsystem();
    if (!answer.empty()) {
      port_.send({path.peer, path.to, path.self, {path.tag.value, false}, mctp::kBaselineUnit, answer});
    }
    return;
  }
  if (slot.ready.empty()) return step(slot, SlotEvent::clear);  // withheld by a hook
  if (!slot.paused) return respond(slot);
  // Get State shows that it is done (1.2); the packets wait for Resume.
  if (device_.has(Revision::r1_2)) step(slot, SlotEvent::respond);
}

/// The response begins to leave.
void Endpoint::respond(Slot& slot) {
  if (slot.state == SlotState::process) step(slot, SlotEvent::respond);
  last_response_ = world_.now();
  slot.sending = port_.send({.destination = slot.path.peer,
                             .to = slot.path.to,
                             .source = slot.path.self,
                             .tag = {slot.path.tag.value, false},
                             .unit = slot.stored_unit,
                             .body = std::exchange(slot.ready, {})});
}

void Endpoint::more_processing(Slot& slot) {
  if (slot.state != SlotState::process || slot.exchange == nullptr) return;
  if (slot.paused && !departs(departure::mpr_paused)) return;  // Resume asks again
  const MoreProcessingOptions& more = options_.more_processing;
  const bool again = departs(departure::mpr_repeated);
  if (slot.more_sent > 0 && !again && !more.endless && slot.more_sent >= more.count) return;
  ++slot.more_sent;
  std::int64_t units = 0;
  if (slot.due_timer.scheduled()) {
    const std::int64_t left_ms = (slot.due - world_.now()).count_ms();
    units = std::min<std::int64_t>(left_ms / kMoreProcessingUnitMs + 1, 0xFFFF);
  }
  if (departs(departure::mpr_time_zero)) units = 0;
  if (departs(departure::mpr_time_short)) units = units > 1 ? 1 : units;
  if (more.time) units = *more.time;
  Bytes body = begin_response(slot.exchange->request, Status::more_processing);
  MutableView<MoreProcessing>{body}.set(response::mprt, units);
  if (departs(departure::mpr_long)) body.resize(20);
  EndpointHooks::Delivery delivery;
  if (dress(slot.exchange->request, body, delivery)) {
    slot.stored = body;
    slot.stored_unit = unit();
    slot.more_sending =
        port_.send({slot.path.peer, slot.path.to, slot.path.self, {slot.path.tag.value, false}, slot.stored_unit, std::move(body)});
    world_.trace().mark("mi.more_processing");
  }
  const bool further = again || more.endless || slot.more_sent < more.count;
  if (further) world_.loop().schedule_after(slot.more_timer, more.interval);
}

/// Back to Idle, whatever it was doing; nothing is left to be replayed.
void Endpoint::clear(Slot& slot) {
  world_.loop().cancel(slot.due_timer);
  world_.loop().cancel(slot.more_timer);
  if (slot.state == SlotState::receive) ignored_.push_back({slot.path.peer, slot.path.tag});
  for (mctp::SendId* id : {&slot.sending, &slot.more_sending}) {
    if (*id != 0) port_.withdraw(std::exchange(*id, 0));
  }
  slot.replay_after = 0;
  slot.exchange.reset();
  slot.ready.clear();
  slot.stored.clear();
  step(slot, SlotEvent::clear);
}

void Endpoint::start_replay(Slot& slot) {
  slot.replay_after = 0;
  slot.sending = port_.send(std::move(slot.replay));
  if (slot.paused) port_.hold(slot.sending);
}

void Endpoint::on_sent(mctp::SendId id, bool delivered) {
  (void)delivered;  // what the medium gave up is not sent again: the requester may ask for a Replay
  if (id == event_sending_ && id != 0) {
    event_sending_ = 0;
    port_.release_tag(event_sent_to_, event_tag_);
    return;
  }
  for (Slot& slot : slots_) {
    if (id == slot.more_sending) slot.more_sending = 0;
    if (slot.replay_after != 0 && id == slot.replay_after) return start_replay(slot);
    if (slot.sending != 0 && id == slot.sending) {
      slot.sending = 0;
      if (slot.state == SlotState::transmit) step(slot, SlotEvent::sent);
      last_response_ = world_.now();
      return;
    }
  }
}

}  // namespace fb::mi
