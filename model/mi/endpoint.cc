#include "model/mi/endpoint.h"

#include <algorithm>
#include <utility>

namespace fb::mi {

using mctp::MessageType;

Endpoint::ReturnPath Endpoint::ReturnPath::of(const mctp::Incoming& message) {
  const bool ours = message.destination != mctp::kNullEid && message.destination != mctp::kBroadcastEid;
  return {message.source, ours ? message.destination : mctp::kNullEid, message.from, message.tag};
}

Endpoint::Endpoint(World& world, Device& device, mctp::Port& port, EndpointOptions options, EndpointHooks* hooks)
    : world_(world),
      device_(device),
      port_(port),
      options_(std::move(options)),
      hooks_(hooks != nullptr ? *hooks : no_endpoint_hooks()),
      hooked_(hooks != nullptr),
      agent_(device, options_, hooks_),
      reporter_(world, device, hooks_, options_.event_retries_max, [this](const Bytes& list) { send_event(list); }),
      slots_{Slot{*this, 0}, Slot{*this, 1}} {
  BENCH_ASSERT(device.has_port(options_.port), "an endpoint is at a port of its device");
  agent_.set_reporter(&reporter_);
  device_.add_endpoint_at(options_.port);
  device_.add_listener(*this);
  port_.set_handler(MessageType::nvme_mi, this, kMessageMax);
}

Endpoint::~Endpoint() {
  port_.set_handler(MessageType::nvme_mi, nullptr, 0);
  device_.remove_listener(*this);
}

std::size_t Endpoint::unit() const {
  if (departs(departure::unit_ignored)) return mctp::kBaselineUnit;
  const std::size_t unit = std::clamp<std::size_t>(device_.port_state(options_.port).unit, mctp::kBaselineUnit, port_.unit_max());
  // On PCI Express only a last packet is padded: packets, which Replay counts, hold whole dwords.
  return device_.port(options_.port).type == PortType::pcie ? unit / 4 * 4 : unit;
}

/// What was configured, as far as the port can do it: a deviation may have let anything pass.
void Endpoint::use_unit() {
  const std::size_t unit = device_.port_state(options_.port).unit;
  port_.set_unit(std::clamp<std::size_t>(unit, mctp::kBaselineUnit, port_.unit_max()));
}

void Endpoint::reset(bool of_subsystem) {
  world_.trace().mark("mi.endpoint.reset");
  for (Slot& slot : slots_) {
    clear(slot);
    if (!departs(departure::reset_keeps_pause)) slot.paused = false;
    slot.flags = of_subsystem && !departs(departure::reset_no_flag) ? error_flag::nssro : std::uint16_t{0};
  }
  if (event_sending_ != 0) {
    port_.withdraw(event_sending_);
    port_.release_tag(event_sent_to_, event_tag_);
    event_sending_ = 0;
  }
  event_waits_ = false;
  event_peer_ = 0;
  reporter_.reset();
  if (!of_subsystem) agent_.reset();
  Device::PortState& state = device_.port_state(options_.port);
  state.unit = departs(departure::reset_keeps_unit) ? configured_unit_ : std::uint16_t{mctp::kBaselineUnit};
  state.frequency = kFrequency100k;
  use_unit();
  if (!on_reset_) return;
  // Who forgets the packets as well will never say that their messages came to nothing.
  on_reset_();
  ignored_.clear();
}

// ---- what arrives ----

void Endpoint::raise_flags(std::uint16_t flags) {
  if (departs(departure::flags_never)) return;
  for (Slot& slot : slots_) slot.flags = static_cast<std::uint16_t>(slot.flags | flags);
}

bool Endpoint::discard(ByteView message, const Check& check, const mctp::Incoming* answerable) {
  Refusal refusal{check.name, check.status, check.at, check.discards};
  if (hooked_ && !hooks_.refuses({message, false}, refusal)) return false;
  world_.trace().mark(check.name);
  if (check.discards && !refusal.discards && answerable != nullptr) {
    send(ReturnPath::of(*answerable), message, error_response(message, refusal.status, refusal.at), unit());
  }
  return true;
}

void Endpoint::on_drop(mctp::Drop why) {
  switch (why) {
    case mctp::Drop::unexpected_part:
      return raise_flags(error_flag::umep);
    case mctp::Drop::physical_layer:
      return raise_flags(error_flag::bpopl);
    case mctp::Drop::unexpected_tag:
      return raise_flags(error_flag::buemt);
    case mctp::Drop::unknown_destination:
      return raise_flags(error_flag::udstid);
    case mctp::Drop::header_version:
      return raise_flags(error_flag::bhvs);
    case mctp::Drop::unit_unsupported:
      return raise_flags(error_flag::utunt);
    case mctp::Drop::no_route:
    case mctp::Drop::message_type:
    case mctp::Drop::too_short:
      return;
  }
}

/// MI, Admin and PCIe commands use a slot; the other kinds do not.
bool Endpoint::is_command(ByteView body) {
  if (body.size() < kHeaderSize) return false;
  const View<MessageHeader> head{body};
  const MessageKind kind = head.get(header::nmimt);
  return !head.get(header::ror) && head.get(header::ic) &&
         (kind == MessageKind::mi_command || kind == MessageKind::admin_command || kind == MessageKind::pcie_command);
}

bool Endpoint::message_ok(const mctp::Incoming& message) {
  const ByteView body = message.body;
  if (body.size() < kHeaderSize + kMicSize || body.size() > kMessageMax) {
    if (discard(body, check::message_size) || body.size() < kHeaderSize + kMicSize) return false;
  }
  if (!message.tag.owner && discard(body, check::message_tag_owner, &message)) return false;
  const View<MessageHeader> head{body};
  if (!head.get(header::ic) && discard(body, check::message_integrity_bit, &message)) return false;
  if (!mic_ok(body)) {
    raise_flags(error_flag::bmice);
    if (discard(body, check::message_mic, &message)) return false;
  }
  return !head.get(header::ror) || !discard(body, check::message_direction, &message);
}

void Endpoint::on_message(const mctp::Incoming& message) {
  const bool known = forgotten(message.source, message.tag);
  const bool unseen = hooked_ && (!hooks_.message_in(message.body) || (departs(departure::link_silences) && !device_.link_active(0)));
  ++counters_.messages;
  if (unseen || !message_ok(message)) {
    ++counters_.discarded;
    return give_up(message.source, message.tag);
  }
  const ByteView body = message.body.first(message.body.size() - kMicSize);
  const MessageKind kind = View<MessageHeader>{body}.get(header::nmimt);
  ++counters_.requests[{kind, body.size() > kHeaderSize ? body[kHeaderSize] : std::uint8_t{0}}];
  switch (kind) {
    case MessageKind::control_primitive:
      return on_primitive(message, body);
    case MessageKind::mi_command:
    case MessageKind::admin_command:
    case MessageKind::pcie_command:
      if (!known) on_command(message, body);
      return;
    default:
      break;
  }
  if (options_.reserved_kind == ReservedKind::discard && discard(body, check::message_kind, &message)) return;
  send(ReturnPath::of(message), body, error_response(body, Status::invalid_opcode), unit());
}

// ---- what leaves ----

void Endpoint::spoil_header(Bytes& body) {
  MutableView<MessageHeader> head{body};
  if (departs(departure::reply_direction)) head.set(header::ror, false);
  if (departs(departure::reply_slot)) head.set(header::csi, head.get(header::csi) ^ 1u);
  if (departs(departure::reply_kind)) {
    head.set(header::nmimt, static_cast<unsigned>(head.get(header::nmimt)) ^ 3u);
  }
  if (departs(departure::reply_reserved)) body[3] = 0x5A;
  if (departs(departure::reply_type)) head.set(header::mt, 5u);
  const auto status = static_cast<Status>(body[4]);
  const bool generic = status != Status::success && status != Status::invalid_parameter && status != Status::more_processing &&
                       head.get(header::nmimt) != MessageKind::control_primitive;
  if (generic && departs(departure::error_reserved)) body[5] = 0x5A;
  if (generic && departs(departure::error_data)) body.resize(body.size() + 4, 0x5A);
}

void Endpoint::append_check(Bytes& body) {
  if (departs(departure::mic_missing)) return;
  const std::size_t at = body.size();
  append_mic(body);
  if (departs(departure::mic_short_range)) {
    store_le(&body[at], mic_of(ByteView{body}.subspan(kHeaderSize, at - kHeaderSize)));
  }
  if (departs(departure::mic_wrong)) body[at] ^= 0x10;
  if (departs(departure::mic_zero)) store_le(&body[at], std::uint32_t{0});
  if (departs(departure::mic_big_endian)) std::reverse(body.begin() + static_cast<std::ptrdiff_t>(at), body.end());
}

/// What every message gets on its way out. False: it stays.
bool Endpoint::dress(ByteView request, Bytes& body, EndpointHooks::Delivery& delivery) {
  delivery = EndpointHooks::Delivery::send;
  if (!hooked_) {
    append_mic(body);
    return true;
  }
  const MessageContext context{request, false};
  spoil_header(body);
  hooks_.response(context, body);
  append_check(body);
  delivery = hooks_.message_out(context, body);
  if (body.empty()) delivery = EndpointHooks::Delivery::withhold;
  return delivery != EndpointHooks::Delivery::withhold;
}

mctp::SendId Endpoint::send(const ReturnPath& path, ByteView request, Bytes body, std::size_t unit) {
  EndpointHooks::Delivery delivery;
  if (!dress(request, body, delivery)) return 0;
  if (world_.trace().on()) {
    world_.trace().emit({.kind = TraceKind::message,
                         .time = world_.now(),
                         .actor = "endpoint",
                         .label = "mi",
                         .text = {},
                         .bytes = body,
                         .source = {},
                         .destination = {},
                         .ip = {}});
  }
  mctp::Outgoing message{
      .destination = path.peer, .to = path.to, .source = path.self, .tag = {path.tag.value, false}, .unit = unit, .body = std::move(body)};
  if (delivery == EndpointHooks::Delivery::send_twice) port_.send(message);
  return port_.send(std::move(message));
}

void Endpoint::send_event(const Bytes& list) {
  const bool paused = slots_[0].paused || slots_[1].paused;
  if (event_sending_ != 0) return;  // the last one has not left yet: the next try says it again
  if (paused && !departs(departure::event_paused)) {
    event_waits_ = true;
    event_held_ = list;
    return;
  }
  const std::optional<mctp::Tag> tag = port_.take_tag(event_peer_);
  if (!tag) return;  // a retry may find one
  Bytes body(kHeaderSize + list.size());
  MutableView<MessageHeader>{body}.set(header::ic, true).set(header::mt, kNvmeMiType).set(header::nmimt, MessageKind::async_event);
  std::copy(list.begin(), list.end(), body.begin() + kHeaderSize);
  EndpointHooks::Delivery delivery = EndpointHooks::Delivery::send;
  if (hooked_) {
    hooks_.response({{}, false}, body);
    append_mic(body);
    if (departs(departure::event_integrity)) body.back() ^= 0x01;
    delivery = hooks_.message_out({{}, false}, body);
  } else {
    append_mic(body);
  }
  if (delivery == EndpointHooks::Delivery::withhold || body.empty()) return port_.release_tag(event_peer_, *tag);
  event_tag_ = *tag;
  event_sent_to_ = event_peer_;
  mctp::Tag sent = *tag;
  if (departs(departure::event_tag)) sent.owner = false;
  event_sending_ =
      port_.send({.destination = event_peer_, .to = {}, .source = mctp::kNullEid, .tag = sent, .unit = unit(), .body = std::move(body)});
}

}  // namespace fb::mi
