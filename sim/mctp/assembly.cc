#include "sim/mctp/assembly.h"

#include <algorithm>
#include <utility>

#include "sim/mctp/fault_points.h"

namespace fb::mctp {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr Duration kLinuxLife = Duration::s(6);
constexpr std::size_t kLinuxMax = 64 * 1024;
constexpr std::size_t kSparesMax = 8;

}  // namespace

std::string_view name_of(Drop why) {
  switch (why) {
    case Drop::unexpected_part:
      return "unexpected middle or end packet";
    case Drop::physical_layer:
      return "physical layer";
    case Drop::unexpected_tag:
      return "unexpected tag";
    case Drop::unknown_destination:
      return "unknown destination";
    case Drop::no_route:
      return "no route";
    case Drop::header_version:
      return "header version";
    case Drop::unit_unsupported:
      return "transmission unit";
    case Drop::message_type:
      return "message type";
    case Drop::too_short:
      return "too short";
  }
  return "unknown";
}

std::string_view name_of(Abandoned why) {
  switch (why) {
    case Abandoned::restarted:
      return "restarted";
    case Abandoned::timed_out:
      return "timed out";
    case Abandoned::out_of_sequence:
      return "out of sequence";
    case Abandoned::unit_changed:
      return "transmission unit changed";
    case Abandoned::too_long:
      return "too long";
  }
  return "unknown";
}

bool Assembler::drop(Drop why) {
  ++counters_.drops[static_cast<std::size_t>(why)];
  sink_.on_drop(why);
  return false;
}

void Assembler::on_packet(Instant now, const PhysicalAddress& from, ByteView packet) {
  ++counters_.packets;
  on_deadline(now);
  if (packet.size() <= kHeaderSize) {
    drop(Drop::too_short);
    return;
  }
  const View<PacketHeader> view{packet};
  if (view.get(packet::version) != kHeaderVersion && !sink_.tolerates(departure::kVersion)) {
    drop(Drop::header_version);
    return;
  }
  const Header header{view.get(packet::destination), view.get(packet::source), {view.get(packet::tag), view.get(packet::tag_owner)},
                      view.get(packet::som),         view.get(packet::eom),    view.get(packet::sequence)};
  if (!admit(header, from, packet)) return;
  const ByteView payload = packet.subspan(kHeaderSize);
  const std::size_t index = find(header, from);
  if (!header.som) {
    if (index == kNone) {
      drop(Drop::unexpected_part);
    } else {
      proceed(now, index, header, payload);
    }
    return;
  }
  if (index != kNone) {
    // The specification lets the new message begin; Linux loses both.
    const bool keeps_old = !options_.as_linux && sink_.tolerates(departure::kRestart);
    if (keeps_old) {
      ++counters_.spoilers;
      return;
    }
    abandon(index, Abandoned::restarted);
    if (options_.as_linux) {
      ++counters_.spoilers;
      return;
    }
  }
  start(now, header, from, payload);
}

bool Assembler::admit(const Header& header, const PhysicalAddress& from, ByteView packet) {
  if (header.source == kBroadcastEid) {
    ++counters_.bad_source;
    return false;
  }
  switch (sink_.belongs(header.destination, from, packet)) {
    case Belongs::here:
      break;
    case Belongs::elsewhere:
      ++counters_.forwarded;
      return false;
    case Belongs::nowhere:
      if (!sink_.tolerates(departure::kDestination)) return drop(Drop::unknown_destination);
      break;
    case Belongs::no_route:
      return drop(Drop::no_route);
  }
  const std::size_t size = packet.size() - kHeaderSize;
  if (!options_.as_linux) {
    if (size > options_.unit && !sink_.tolerates(departure::kUnitAbove)) {
      return drop(Drop::unit_unsupported);
    }
    if (!header.eom && size < kBaselineUnit && !sink_.tolerates(departure::kUnitBelow)) {
      return drop(Drop::unit_unsupported);
    }
  }
  if (!header.tag.owner && !sink_.expects(header.source, header.tag)) {
    return drop(Drop::unexpected_tag);
  }
  return true;
}

std::size_t Assembler::find(const Header& header, const PhysicalAddress& from) const {
  const bool with_address = options_.address_in_key || header.source == kNullEid;
  for (std::size_t at = 0; at < assemblies_.size(); ++at) {
    const Assembly& one = assemblies_[at];
    const bool sender = one.source == header.source && (!with_address || one.from == from);
    if ((sender || sink_.tolerates(departure::kKeySource)) && (one.tag == header.tag || sink_.tolerates(departure::kKeyTag))) {
      return at;
    }
  }
  return kNone;
}

Bytes Assembler::spare() {
  if (spares_.empty()) return {};
  Bytes bytes = std::move(spares_.back());
  spares_.pop_back();
  bytes.clear();
  return bytes;
}

void Assembler::start(Instant now, const Header& header, const PhysicalAddress& from, ByteView payload) {
  const std::uint8_t type = payload[0] & 0x7F;
  const std::size_t size_max = sink_.size_max(type);
  if (size_max == 0) {
    drop(Drop::message_type);
    return;
  }
  ++counters_.used;
  if (header.eom) {
    if (payload.size() > size_max) {
      ++counters_.too_long_whole;
      return;
    }
    deliver(header, from, payload);
    return;
  }
  if (assemblies_.size() >= options_.assemblies_max) abandon(0, Abandoned::timed_out);
  Assembly assembly;
  assembly.source = header.source;
  assembly.destination = header.destination;
  assembly.tag = header.tag;
  assembly.from = from;
  assembly.type = type;
  assembly.next_sequence = (header.sequence + 1) & 3;
  assembly.unit = payload.size();
  assembly.size_max = options_.as_linux ? std::min(size_max, kLinuxMax) : size_max;
  assembly.deadline = now + (options_.as_linux ? kLinuxLife : options_.packet_gap);
  assembly.body = spare();
  assembly.body.assign(payload.begin(), payload.end());
  assemblies_.push_back(std::move(assembly));
  sink_.on_started({header.source, header.destination, header.tag, from, payload});
  // The handler may have done anything; what was too long from the start is found here.
  const std::size_t index = find(header, from);
  if (index != kNone && assemblies_[index].body.size() > assemblies_[index].size_max) {
    abandon(index, Abandoned::too_long);
  }
}

std::optional<Abandoned> Assembler::spoils(const Assembly& assembly, const Header& header, ByteView payload) {
  if (header.sequence != assembly.next_sequence && !sink_.tolerates(departure::kSequence)) {
    return Abandoned::out_of_sequence;
  }
  if (!options_.as_linux) {
    const bool fits = header.eom ? payload.size() <= assembly.unit : payload.size() == assembly.unit;
    if (!fits) return Abandoned::unit_changed;
  }
  if (assembly.body.size() + payload.size() > assembly.size_max) return Abandoned::too_long;
  return std::nullopt;
}

void Assembler::proceed(Instant now, std::size_t index, const Header& header, ByteView payload) {
  Assembly& assembly = assemblies_[index];
  if (const auto why = spoils(assembly, header, payload)) {
    ++counters_.spoilers;
    const bool survives = options_.as_linux && *why == Abandoned::out_of_sequence;
    if (!survives) abandon(index, *why);
    return;
  }
  ++counters_.used;
  assembly.body.insert(assembly.body.end(), payload.begin(), payload.end());
  assembly.next_sequence = (header.sequence + 1) & 3;
  if (!options_.as_linux && !sink_.tolerates(departure::kGapOfAll)) assembly.deadline = now + options_.packet_gap;
  if (!header.eom) return;
  Assembly whole = take(index);
  deliver({whole.destination, whole.source, whole.tag, true, true, 0}, whole.from, whole.body);
  if (spares_.size() < kSparesMax) spares_.push_back(std::move(whole.body));
}

void Assembler::deliver(const Header& header, const PhysicalAddress& from, ByteView body) {
  ++counters_.messages;
  sink_.on_message({header.source, header.destination, header.tag, from, body});
}

Assembler::Assembly Assembler::take(std::size_t index) {
  Assembly taken = std::move(assemblies_[index]);
  assemblies_.erase(assemblies_.begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

void Assembler::abandon(std::size_t index, Abandoned why) {
  ++counters_.abandoned[static_cast<std::size_t>(why)];
  Assembly gone = take(index);
  const std::uint8_t type = gone.type;
  if (spares_.size() < kSparesMax) spares_.push_back(std::move(gone.body));
  sink_.on_abandoned(type, gone.source, gone.tag, why);
}

void Assembler::on_deadline(Instant now) {
  for (std::size_t at = 0; at < assemblies_.size();) {
    if (assemblies_[at].deadline > now) {
      ++at;
      continue;
    }
    if (sink_.tolerates(departure::kGap)) {
      assemblies_[at].deadline = Instant::never();
      continue;
    }
    abandon(at, Abandoned::timed_out);
    at = 0;  // the sink may have changed the list
  }
}

std::optional<Instant> Assembler::deadline() const {
  std::optional<Instant> first;
  for (const Assembly& one : assemblies_) {
    if (one.deadline != Instant::never() && (!first || one.deadline < *first)) first = one.deadline;
  }
  return first;
}

std::size_t Assembler::bytes_held() const {
  std::size_t sum = 0;
  for (const Assembly& one : assemblies_) sum += one.body.size();
  return sum;
}

}  // namespace fb::mctp
