#include "sim/mctp/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/mctp/fault_points.h"

namespace fb::mctp {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

AssemblyOptions assembly_options(const Binding& binding, const EndpointOptions& options) {
  AssemblyOptions made;
  made.packet_gap = binding.facts().packet_gap;
  made.assemblies_max = options.assemblies_max;
  made.address_in_key = options.address_in_key;
  made.as_linux = options.reassembles_as_linux;
  return made;
}

std::uint8_t type_of(ByteView body) { return body[0] & 0x7F; }

}  // namespace

Endpoint::Endpoint(World& world, Binding& binding, const EndpointOptions& options)
    : world_(world), binding_(binding), options_(options), eid_(options.eid), assembler_(*this, assembly_options(binding, options)) {
  binding_.set_sink(this);
}

Endpoint::~Endpoint() {
  binding_.set_sink(nullptr);
  binding_.set_hooks(nullptr);
}

std::size_t Endpoint::unit_max() const { return std::min(options_.unit_max, binding_.facts().unit_max); }

void Endpoint::set_unit(std::size_t unit) {
  BENCH_ASSERT(unit >= kBaselineUnit && unit <= unit_max(), "a unit that the port can take");
  assembler_.set_unit(unit);
}

void Endpoint::set_handler(MessageType type, MessageHandler* handler, std::size_t size_max) {
  const auto index = static_cast<std::size_t>(type);
  BENCH_ASSERT(index < listeners_.size(), "a type has seven bits");
  listeners_[index] = {handler, handler == nullptr ? 0 : size_max};
  handlers_.clear();
  for (const Listener& one : listeners_) {
    const bool known = std::find(handlers_.begin(), handlers_.end(), one.handler) != handlers_.end();
    if (one.handler != nullptr && !known) handlers_.push_back(one.handler);
  }
}

void Endpoint::set_eid(Eid eid) {
  if (eid == eid_) return;
  eid_ = eid;
  if (!world_.trace().on()) return;
  TraceEvent event;
  event.kind = TraceKind::state;
  event.time = world_.now();
  event.actor = options_.name;
  event.label = "mctp.eid";
  const std::string text = fmt::format("EID {}", eid);
  event.text = text;
  world_.trace().emit(event);
}

void Endpoint::set_route(Eid first, Eid last, const PhysicalAddress& to) {
  for (unsigned eid = first; eid <= last; ++eid) routes_[eid] = to;
}

void Endpoint::clear_route(Eid first, Eid last) {
  for (unsigned eid = first; eid <= last; ++eid) routes_[eid] = learned_[eid] = {};
}

PhysicalAddress Endpoint::route_of(Eid eid) const { return routes_[eid].size > 0 ? routes_[eid] : learned_[eid]; }

// -------------------------------------------------------------------------------------------- out

SendId Endpoint::send(Outgoing message) {
  BENCH_ASSERT(!message.body.empty(), "a message has its type at least");
  BENCH_ASSERT(message.unit > 0 && message.tag.value < 8, "a unit and a tag that packets can have");
  Sending sending;
  sending.id = ++last_id_;
  sending.message = std::move(message);
  std::size_t& unit = sending.message.unit;
  unit = std::min(unit, binding_.facts().unit_max);
  if (unit > binding_.facts().unit_step) unit -= unit % binding_.facts().unit_step;
  sendings_.push_back(std::move(sending));
  ++counters_.messages_out;
  pump();
  return last_id_;
}

std::size_t Endpoint::find(SendId id) const {
  for (std::size_t at = 0; at < sendings_.size(); ++at) {
    if (sendings_[at].id == id) return at;
  }
  return kNone;
}

void Endpoint::remove(std::size_t index) {
  sendings_.erase(sendings_.begin() + static_cast<std::ptrdiff_t>(index));
  if (turn_ > index) --turn_;
}

void Endpoint::hold(SendId id) {
  if (const std::size_t index = find(id); index != kNone) sendings_[index].held = true;
}

void Endpoint::resume(SendId id) {
  const std::size_t index = find(id);
  if (index == kNone || !sendings_[index].held) return;
  sendings_[index].held = false;
  pump();
}

void Endpoint::withdraw(SendId id) {
  const std::size_t index = find(id);
  if (index == kNone) return;
  remove(index);
  pump();
}

std::size_t Endpoint::packets_sent(SendId id) const {
  const std::size_t index = find(id);
  return index == kNone ? 0 : sendings_[index].packets;
}

void Endpoint::send_packet(const PhysicalAddress& to, Bytes packet) {
  raw_.push_back({to, std::move(packet), false});
  pump();
}

bool Endpoint::forward(const PhysicalAddress& to, ByteView packet) {
  if (foreign_waiting_ >= options_.forwards_max) {
    ++counters_.forwards_lost;
    return false;
  }
  ++foreign_waiting_;
  const auto place = departs(departure::kBridgeReorders) ? raw_.begin() : raw_.end();
  raw_.insert(place, Raw{to, Bytes(packet.begin(), packet.end()), true});
  pump();
  return true;
}

// A receiver tells two messages apart by their tags alone: those with the same go one after the other.
bool Endpoint::waits_for_another(std::size_t index) const {
  const Outgoing& message = sendings_[index].message;
  for (std::size_t at = 0; at < index; ++at) {
    const Outgoing& before = sendings_[at].message;
    if (before.tag == message.tag && before.destination == message.destination && before.source == message.source &&
        before.to == message.to) {
      return true;
    }
  }
  return false;
}

std::size_t Endpoint::next_sending() const {
  for (std::size_t step = 0; step < sendings_.size(); ++step) {
    const std::size_t at = (turn_ + step) % sendings_.size();
    const Sending& one = sendings_[at];
    if (!one.held && one.offset < one.message.body.size() && !waits_for_another(at)) return at;
  }
  return kNone;
}

void Endpoint::pump() {
  if (in_flight_ != InFlight::nothing) return;
  const std::size_t index = next_sending();
  if (!raw_.empty() && (index == kNone || !raw_was_last_)) {
    raw_was_last_ = true;
    send_raw();
  } else if (index != kNone) {
    raw_was_last_ = false;
    turn_ = index + 1;
    send_part(sendings_[index]);
  }
}

void Endpoint::send_part(Sending& sending) {
  const Outgoing& message = sending.message;
  const std::size_t rest = message.body.size() - sending.offset;
  const std::size_t size = std::min(rest, message.unit);
  packet_.assign(kHeaderSize, 0);
  const auto from = message.body.begin() + static_cast<std::ptrdiff_t>(sending.offset);
  packet_.insert(packet_.end(), from, from + static_cast<std::ptrdiff_t>(size));
  MutableView<PacketHeader>{packet_}
      .set(packet::version, kHeaderVersion)
      .set(packet::destination, message.destination)
      .set(packet::source, message.source != kNullEid ? message.source : eid_)
      .set(packet::som, sending.offset == 0)
      .set(packet::eom, size == rest)
      .set(packet::sequence, sending.sequence)
      .set(packet::tag_owner, message.tag.owner)
      .set(packet::tag, message.tag.value);
  sending.offset += size;
  sending.sequence = (sending.sequence + 1) & 3;
  in_flight_ = InFlight::message;
  in_flight_id_ = sending.id;
  give_to_binding(message.to.size > 0 ? message.to : route_of(message.destination));
}

void Endpoint::send_raw() {
  Raw raw = std::move(raw_.front());
  raw_.pop_front();
  if (raw.foreign) --foreign_waiting_;
  in_flight_ = raw.foreign ? InFlight::foreign : InFlight::raw;
  packet_ = std::move(raw.packet);
  give_to_binding(raw.to);
}

void Endpoint::give_to_binding(const PhysicalAddress& to) {
  if (hooks_ == nullptr) {
    binding_.send(to, packet_);
    return;
  }
  hooked_.assign(1, packet_);
  hooked_to_ = to;
  hooked_delivered_ = true;
  hooks_->packets_out(hooked_to_, hooked_);
  if (hooked_.empty()) {
    // Left out, which counts as sent; told from an event as every end is.
    world_.loop().schedule(left_out_, world_.now());
    return;
  }
  const Bytes first = std::move(hooked_.front());
  hooked_.erase(hooked_.begin());
  binding_.send(hooked_to_, first);
}

void Endpoint::on_packet_sent(bool delivered) {
  ++(delivered ? counters_.packets_out : counters_.packets_undelivered);
  hooked_delivered_ = hooked_delivered_ && delivered;
  if (!hooked_.empty()) {
    const Bytes next = std::move(hooked_.front());
    hooked_.erase(hooked_.begin());
    binding_.send(hooked_to_, next);
    return;
  }
  finish_part(hooks_ == nullptr ? delivered : hooked_delivered_);
  pump();
}

void Endpoint::finish_part(bool delivered) {
  const InFlight what = std::exchange(in_flight_, InFlight::nothing);
  hooked_delivered_ = true;
  if (what == InFlight::foreign) ++(delivered ? counters_.forwarded : counters_.forwards_lost);
  if (what != InFlight::message) return;
  const std::size_t index = find(in_flight_id_);
  if (index == kNone) return;  // withdrawn meanwhile
  Sending& sending = sendings_[index];
  if (delivered) ++sending.packets;
  if (delivered && sending.offset < sending.message.body.size()) return;
  if (!delivered) ++counters_.messages_undelivered;
  const SendId id = sending.id;
  MessageHandler* const handler = listeners_[type_of(sending.message.body)].handler;
  remove(index);
  if (handler != nullptr) handler->on_sent(id, delivered);
}

// --------------------------------------------------------------------------------------------- in

void Endpoint::on_packet(const PhysicalAddress& from, ByteView packet) {
  if (hooks_ != nullptr) {
    Bytes changed(packet.begin(), packet.end());
    hooks_->packet_in(from, changed);
    if (changed.empty()) return;
    assembler_.on_packet(world_.now(), from, changed);
  } else {
    assembler_.on_packet(world_.now(), from, packet);
  }
  arm_gap();
}

Belongs Endpoint::belongs(Eid destination, const PhysicalAddress& from, ByteView packet) {
  const bool ours = destination == eid_ || destination == kNullEid || destination == kBroadcastEid;
  if (!ours) {
    if (forwarder_ == nullptr) return Belongs::nowhere;
    const Belongs where = forwarder_->forward(*this, destination, packet);
    if (where != Belongs::here) return where;
  }
  if (destination == kBroadcastEid && forwarder_ != nullptr && departs(departure::kBridgeFloods)) {
    forwarder_->forward(*this, destination, packet);
  }
  const Eid source = packet[2];
  if (source != kNullEid && learned_[source] != from) learned_[source] = from;
  return Belongs::here;
}

void Endpoint::on_message(const Incoming& message) {
  MessageHandler* const handler = listeners_[type_of(message.body)].handler;
  if (handler != nullptr) handler->on_message(message);
}

void Endpoint::on_started(const Incoming& first) {
  MessageHandler* const handler = listeners_[type_of(first.body)].handler;
  if (handler != nullptr) handler->on_started(first);
}

void Endpoint::on_abandoned(std::uint8_t type, Eid source, Tag tag, Abandoned why) {
  MessageHandler* const handler = listeners_[type].handler;
  if (handler != nullptr) handler->on_abandoned(source, tag, why);
}

void Endpoint::on_drop(Drop why) {
  // A handler may take itself off in the call.
  for (std::size_t at = 0; at < handlers_.size(); ++at) handlers_[at]->on_drop(why);
}

// The timer may be early, never late: most messages end long before their next packet is missed.
void Endpoint::arm_gap() {
  const auto deadline = assembler_.deadline();
  if (!deadline) {
    world_.loop().cancel(gap_);
  } else if (!gap_.scheduled() || *deadline < gap_.deadline()) {
    world_.loop().schedule(gap_, *deadline);
  }
}

void Endpoint::on_left_out() {
  finish_part(true);
  pump();
}

void Endpoint::on_gap() {
  assembler_.on_deadline(world_.now());
  arm_gap();
}

void Endpoint::reset() {
  assembler_.clear();
  sendings_.clear();
  raw_.clear();
  hooked_.clear();
  foreign_waiting_ = 0;
  turn_ = 0;
  arm_gap();
}

}  // namespace fb::mctp
