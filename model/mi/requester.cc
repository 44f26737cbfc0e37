#include "model/mi/requester.h"

#include <algorithm>
#include <utility>

namespace fb::mi {

using mctp::MessageType;

std::string to_string(const Violation& violation) {
  return std::string(violation.rule) + " at byte " + std::to_string(violation.offset) + ": " + std::to_string(violation.got) +
         ", allowed " + std::to_string(violation.allowed);
}

/// A request that was made, or waits to be.
struct Requester::Pending {
  enum class Form : std::uint8_t { request, raw, replay };

  Pending(Requester& owner, Form which) : requester(owner), form(which) {}
  Requester& requester;
  const Form form;
  mctp::Eid peer = 0;
  mctp::PhysicalAddress to;
  std::size_t unit = mctp::kBaselineUnit;
  Bytes message;  ///< with its check
  MessageKind kind = MessageKind::control_primitive;
  unsigned slot = 0;
  std::optional<mctp::Tag> tag;
  bool tag_taken = false;
  bool started = false;
  bool ended = false;
  Duration timeout;
  Reply reply;
  Promise<Reply> promise;
  // raw
  unsigned answers_wanted = 1;
  std::vector<Bytes> answers;
  Promise<std::vector<Bytes>> raw_promise;
  // replay
  Promise<ReplayReply> replay_promise;
  ReplayReply replayed;

  bool is_command() const { return form == Form::request && kind != MessageKind::control_primitive; }
  void on_due() { requester.on_timeout(*this); }
  Timer<Pending, &Pending::on_due> timer{"mi.request.timeout", *this};
};

Requester::Requester(World& world, mctp::Port& port, RequesterOptions options, RequesterHooks* hooks)
    : world_(world), port_(port), options_(options), hooks_(hooks != nullptr ? *hooks : no_requester_hooks()), hooked_(hooks != nullptr) {
  port_.set_handler(MessageType::nvme_mi, this, kMessageMax);
}

Requester::~Requester() {
  port_.set_handler(MessageType::nvme_mi, nullptr, 0);
  for (const auto& pending : pending_) {
    if (pending->tag_taken) port_.release_tag(pending->peer, *pending->tag);
  }
}

// ---- sending ----

Op<Reply> Requester::request(mctp::Eid peer, Bytes body, std::optional<Duration> timeout) {
  BENCH_ASSERT(body.size() >= AnyRequest::size, "a request has at least eight bytes");
  auto made = make_op<Reply>(world_, "NVMe-MI " + describe(body) + " to EID " + std::to_string(peer));
  auto pending = std::make_unique<Pending>(*this, Pending::Form::request);
  const View<MessageHeader> head{body};
  pending->peer = peer;
  pending->kind = head.get(header::nmimt);
  pending->slot = head.get(header::csi);
  pending->timeout = timeout.value_or(options_.timeout);
  if (departs(departure::requester_reserved)) body[3] = 0x5A;
  pending->message = std::move(body);
  append_mic(pending->message);
  if (departs(departure::requester_mic_wrong)) pending->message.back() ^= 0x01;
  pending->promise = std::move(made.promise);
  pending_.push_back(std::move(pending));
  if (may_start(*pending_.back())) start(*pending_.back());
  return made.op;
}

Op<std::vector<Bytes>> Requester::send_raw(RawRequest request) {
  auto made = make_op<std::vector<Bytes>>(world_, "answers to raw bytes from EID " + std::to_string(request.peer));
  auto pending = std::make_unique<Pending>(*this, Pending::Form::raw);
  pending->peer = request.peer;
  pending->to = request.to;
  pending->unit = request.unit;
  pending->message = std::move(request.message);
  pending->tag = request.tag;
  pending->timeout = request.wait;
  pending->answers_wanted = request.answers;
  pending->raw_promise = std::move(made.promise);
  pending_.push_back(std::move(pending));
  start(*pending_.back());
  return made.op;
}

/// Two commands do not share a slot, and nobody goes past who waits longer for the same.
bool Requester::may_start(const Pending& pending) const {
  if (!pending.is_command() || departs(departure::requester_slot_busy)) return true;
  for (const auto& other : pending_) {
    if (other.get() == &pending) return true;
    if (other->is_command() && !other->ended && other->peer == pending.peer && other->slot == pending.slot) {
      return false;
    }
  }
  return true;
}

void Requester::start(Pending& pending) {
  pending.started = true;
  if (!pending.tag) {
    const mctp::Tag shared{0, true};
    pending.tag = departs(departure::requester_tag_shared) ? shared : port_.take_tag(pending.peer);
    pending.tag_taken = pending.tag.has_value() && !departs(departure::requester_tag_shared);
    if (!pending.tag) {  // all eight are in use: when one is given back it goes on
      pending.started = false;
      return;
    }
  }
  pending.reply.tag = *pending.tag;
  pending.reply.sent = world_.now();
  if (!departs(departure::requester_patient)) world_.loop().schedule_after(pending.timer, pending.timeout);
  if (hooked_) hooks_.message_out(pending.message);
  port_.send({.destination = pending.peer,
              .to = pending.to,
              .source = mctp::kNullEid,
              .tag = *pending.tag,
              .unit = pending.unit,
              .body = pending.message});
}

void Requester::start_waiting(mctp::Eid peer) {
  for (const auto& pending : pending_) {
    if (!pending->started && !pending->ended && pending->peer == peer && may_start(*pending)) start(*pending);
  }
}

// ---- what comes back ----

void Requester::on_message(const mctp::Incoming& message) {
  if (hooked_) hooks_.message_in(message.body);
  if (message.tag.owner) return on_event_message(message);
  for (const auto& pending : pending_) {
    const bool same_source = pending->peer == message.source || departs(departure::requester_any_source);
    if (!pending->started || pending->ended || !same_source || !pending->tag || pending->tag->value != message.tag.value) {
      continue;
    }
    switch (pending->form) {
      case Pending::Form::request:
        return on_answer(*pending, message.body);
      case Pending::Form::raw:
        return on_raw_answer(*pending, message.body);
      case Pending::Form::replay:
        return on_replayed(*pending, message.body);
    }
  }
  ++strays_;
}

std::optional<Violation> Requester::check(const Pending& pending, ByteView message) const {
  if (message.size() < kResponseMin + kMicSize) {
    if (message.size() >= kHeaderSize && departs(departure::requester_any_size)) return std::nullopt;
    return Violation{"response.size.minimum", 0, message.size(), kResponseMin + kMicSize};
  }
  if (message.size() % 4 != 0 && departs(departure::requester_dwords_only)) {
    return Violation{"response.size.dword", 0, message.size(), 4};
  }
  if (!mic_ok(message) && !departs(departure::requester_any_mic)) {
    const std::size_t at = message.size() - kMicSize;
    return Violation{"response.mic", at, load_le<std::uint32_t>(&message[at]), mic_of(message.first(at))};
  }
  const ByteView body = message.first(message.size() - kMicSize);
  const View<MessageHeader> head{body};
  if (body[0] != (kIntegrityBit | kNvmeMiType) && !departs(departure::requester_any_type)) {
    return Violation{"response.type", 0, body[0], kIntegrityBit | kNvmeMiType};
  }
  if (!head.get(header::ror) && !departs(departure::requester_any_direction)) return Violation{"response.direction", 1, 0, 1};
  if (head.get(header::nmimt) != pending.kind && !departs(departure::requester_any_kind)) {
    return Violation{"response.kind", 1, static_cast<unsigned>(head.get(header::nmimt)), static_cast<unsigned>(pending.kind)};
  }
  if (head.get(header::csi) != pending.slot && !departs(departure::requester_any_slot)) {
    return Violation{"response.slot", 1, head.get(header::csi), pending.slot};
  }
  return check_form(pending, body);
}

/// What the status makes of the rest.
std::optional<Violation> Requester::check_form(const Pending& pending, ByteView body) const {
  if (options_.reserved_checked) {
    if (const auto at = first_reserved_set<MessageHeader>(body)) {
      return Violation{"response.header.reserved", *at, body[*at], 0};
    }
  }
  const auto status = View<AnyResponse>{body}.get(response::status);
  if (!is_defined(status)) return Violation{"response.status", 4, body[4], 0};
  if (pending.kind == MessageKind::control_primitive) {
    if (body.size() != PrimitiveResponse::size) {
      return Violation{"response.primitive.size", 0, body.size(), PrimitiveResponse::size};
    }
    const std::uint8_t tag = pending.message[primitive::tag.offset];
    if (body[primitive::tag.offset] != tag && !departs(departure::requester_any_primitive)) {
      return Violation{"response.primitive.tag", primitive::tag.offset, body[primitive::tag.offset], tag};
    }
    return std::nullopt;
  }
  if (status == Status::success) {
    const bool admin = pending.kind == MessageKind::admin_command;
    const std::size_t least = admin ? AdminResponse::size : kResponseMin;
    if (body.size() < least) return Violation{"response.size.success", 0, body.size(), least};
    return std::nullopt;
  }
  // Two drives are known to send More Processing Required as long as an Admin response.
  const bool long_more =
      status == Status::more_processing && body.size() == AdminResponse::size && pending.kind == MessageKind::admin_command;
  if (body.size() != kResponseMin && !long_more) {
    return Violation{"response.size.error", 0, body.size(), kResponseMin};
  }
  if (!options_.reserved_checked || status == Status::more_processing || status == Status::invalid_parameter) {
    return std::nullopt;
  }
  for (std::size_t at = 5; at < kResponseMin; ++at) {
    if (body[at] != 0) return Violation{"response.error.reserved", at, body[at], 0};
  }
  return std::nullopt;
}

void Requester::on_answer(Pending& pending, ByteView message) {
  Reply& reply = pending.reply;
  if (reply.first == Instant{}) reply.first = world_.now();
  reply.answered = world_.now();
  const std::size_t body = message.size() >= kMicSize ? message.size() - kMicSize : 0;
  reply.message.assign(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(body));
  if (departs(departure::requester_any_size) && body < kResponseMin) reply.message.resize(kResponseMin);
  if (auto violation = check(pending, message)) {
    reply.violation = violation;
    reply.outcome = Outcome::violation;
    return settle(pending);
  }
  const bool more = pending.kind != MessageKind::control_primitive && reply.status() == Status::more_processing;
  if (!more || departs(departure::requester_mpr_final)) {
    if (departs(departure::requester_any_status)) reply.message[response::status.offset] = 0;
    reply.outcome = Outcome::answered;
    return settle(pending);
  }
  if (++reply.more_processing > options_.more_processing_count_max && !departs(departure::requester_mpr_endless)) {
    reply.violation = Violation{"response.more_processing.once", 4, reply.more_processing, options_.more_processing_count_max};
    reply.outcome = Outcome::violation;
    return settle(pending);
  }
  reply.more_time = View<MoreProcessing>{reply.message}.get(response::mprt);
  if (departs(departure::requester_mpr_impatient)) return;
  if (reply.more_time == 0 && departs(departure::requester_mpr_zero)) {
    world_.loop().schedule_after(pending.timer, {});
    return;
  }
  Duration wait = reply.more_time == 0 ? pending.timeout : Duration::ms(100 * std::int64_t{reply.more_time});
  wait = std::min(wait, options_.more_processing_max);
  world_.loop().schedule_after(pending.timer, wait + options_.timeout);
}

void Requester::on_raw_answer(Pending& pending, ByteView message) {
  pending.answers.emplace_back(message.begin(), message.end());
  if (pending.answers.size() >= pending.answers_wanted) settle(pending);
}

void Requester::on_replayed(Pending& pending, ByteView message) {
  ReplayReply& replayed = pending.replayed;
  if (replayed.primitive.outcome == Outcome::answered) {
    replayed.message.assign(message.begin(), message.end());
    return settle(pending);
  }
  pending.kind = MessageKind::control_primitive;
  on_answer(pending, message);
}

void Requester::on_timeout(Pending& pending) { settle(pending); }

void Requester::settle(Pending& pending) {
  if (pending.form == Pending::Form::replay && pending.replayed.primitive.outcome != Outcome::answered) {
    pending.replayed.primitive = pending.reply;
    const bool follows = pending.reply.ok() && (pending.reply.cpsr() & kReplayResponds) != 0;
    if (follows) {
      world_.loop().schedule_after(pending.timer, pending.timeout);
      return;
    }
  }
  world_.loop().cancel(pending.timer);
  pending.ended = true;
  const mctp::Eid peer = pending.peer;
  const bool leaks = pending.reply.outcome == Outcome::timed_out && departs(departure::requester_tag_leaks);
  if (pending.tag_taken && !leaks) port_.release_tag(peer, *pending.tag);
  const auto at = std::find_if(pending_.begin(), pending_.end(), [&](const auto& entry) { return entry.get() == &pending; });
  const std::unique_ptr<Pending> keep = std::move(*at);
  pending_.erase(at);
  start_waiting(peer);
  switch (keep->form) {
    case Pending::Form::request:
      return keep->promise.settle(std::move(keep->reply));
    case Pending::Form::raw:
      return keep->raw_promise.settle(std::move(keep->answers));
    case Pending::Form::replay:
      return keep->replay_promise.settle(std::move(keep->replayed));
  }
}

Op<ReplayReply> Requester::replay(mctp::Eid peer, unsigned slot, std::uint8_t first_packet) {
  auto made = make_op<ReplayReply>(world_, "a replay from EID " + std::to_string(peer));
  auto pending = std::make_unique<Pending>(*this, Pending::Form::replay);
  pending->peer = peer;
  pending->slot = slot;
  pending->timeout = options_.timeout;
  Record<ReplayRequest> body;
  body.set(header::ic, true)
      .set(header::mt, kNvmeMiType)
      .set(header::csi, slot)
      .set(primitive::cpo, static_cast<unsigned>(Primitive::replay))
      .set(primitive::tag, next_primitive_tag_++)
      .set(primitive::rro, first_packet);
  pending->message.assign(body.bytes().begin(), body.bytes().end());
  append_mic(pending->message);
  pending->replay_promise = std::move(made.promise);
  pending_.push_back(std::move(pending));
  start(*pending_.back());
  return made.op;
}

}  // namespace fb::mi
