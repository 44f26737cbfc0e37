#include "conformance/runner/raw_mctp.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fb::conformance {

Bytes to_bytes(const MctpPacket& packet) {
  Bytes bytes = {static_cast<std::uint8_t>(packet.reserved << 4 | (packet.version & 0x0F)), packet.destination, packet.source,
                 static_cast<std::uint8_t>((packet.som ? 0x80 : 0) | (packet.eom ? 0x40 : 0) | (packet.sequence & 3) << 4 |
                                           (packet.owner ? 0x08 : 0) | (packet.tag & 7))};
  bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
  return bytes;
}

namespace {

MctpPacket packet_of(ByteView bytes) {
  MctpPacket packet;
  packet.reserved = bytes[0] >> 4;
  packet.version = bytes[0] & 0x0F;
  packet.destination = bytes[1];
  packet.source = bytes[2];
  packet.som = (bytes[3] & 0x80) != 0;
  packet.eom = (bytes[3] & 0x40) != 0;
  packet.sequence = bytes[3] >> 4 & 3;
  packet.owner = (bytes[3] & 0x08) != 0;
  packet.tag = bytes[3] & 7;
  packet.payload.assign(bytes.begin() + 4, bytes.end());
  return packet;
}

}  // namespace

std::vector<MctpPacket> cut(ByteView body, const MctpPacket& like, std::size_t unit) {
  std::vector<MctpPacket> packets;
  for (std::size_t at = 0; at == 0 || at < body.size(); at += unit) {
    MctpPacket& packet = packets.emplace_back(like);
    const ByteView part = body.subspan(at, std::min(unit, body.size() - at));
    packet.payload.assign(part.begin(), part.end());
    packet.som = at == 0;
    packet.eom = at + unit >= body.size();
    packet.sequence = static_cast<std::uint8_t>((like.sequence + packets.size() - 1) & 3);
  }
  return packets;
}

std::string SeenPacket::describe() const {
  return fmt::format("packet of {} bytes{}{}, sequence {}, {}tag {}, from EID {} to {}", packet.payload.size(), packet.som ? ", SOM" : "",
                     packet.eom ? ", EOM" : "", packet.sequence, packet.owner ? "own " : "", packet.tag, packet.source, packet.destination);
}

RawMctp::RawMctp(World& world, mctp::Binding& binding, mctp::Eid eid, std::function<void(Bytes)> send_frame)
    : world_(world), binding_(binding), eid_(eid), send_frame_(std::move(send_frame)) {
  binding_.set_sink(this);
}

RawMctp::~RawMctp() { binding_.set_sink(nullptr); }

namespace {

/// Of the last header byte: what the lane adds to the sequence number and to the tag of a request.
constexpr unsigned kNearWrapSequence = 2, kNearWrapTag = 6;
std::uint8_t shifted(std::uint8_t flags, unsigned sequence, unsigned tag) {
  return static_cast<std::uint8_t>((flags & 0xC8) | ((flags + (sequence << 4)) & 0x30) | ((flags + tag) & 0x07));
}
constexpr std::size_t kFlags = 3;
constexpr std::uint8_t kTagOwner = 0x08;

}  // namespace

void RawMctp::send_bytes(Bytes packet) {
  if (near_wrap_ && packet.size() > kFlags) {
    const bool request = (packet[kFlags] & kTagOwner) != 0;
    packet[kFlags] = shifted(packet[kFlags], kNearWrapSequence, request ? kNearWrapTag : 0);
  }
  waiting_.push_back({std::move(packet), false});
  say_next();
}

void RawMctp::send_frame(Bytes frame) {
  waiting_.push_back({std::move(frame), true});
  say_next();
}

void RawMctp::say_next() {
  if (sending_ || waiting_.empty()) return;
  sending_ = true;
  const Said said = std::move(waiting_.front());
  waiting_.pop_front();
  if (said.frame) {
    send_frame_(said.bytes);
  } else {
    binding_.send(to_, said.bytes);
  }
}

void RawMctp::on_packet_sent(bool delivered) {
  if (!delivered) ++undelivered_;
  sending_ = false;
  say_next();
}

void RawMctp::wait_until_said(Duration limit) {
  world_.run_until([&] { return quiet(); }, limit);
}

void RawMctp::send_message(ByteView body, const MctpTerms& terms) {
  MctpPacket like = packet();
  like.tag = terms.tag;
  like.owner = terms.owner;
  like.destination = terms.destination.value_or(product_);
  for (const MctpPacket& one : cut(body, like, terms.unit)) send(one);
}

void RawMctp::forget() {
  messages_.clear();
  begun_.clear();
  taken_ = packets_.size();
  faults_.clear();
}

std::optional<SeenPacket> RawMctp::next_packet(Duration limit) {
  if (!world_.run_until([&] { return taken_ < packets_.size(); }, limit)) return std::nullopt;
  return packets_[taken_++];
}

std::optional<SeenMessage> RawMctp::next_message(Duration limit) {
  if (!world_.run_until([&] { return !messages_.empty(); }, limit)) return std::nullopt;
  SeenMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

void RawMctp::fault(const SeenPacket& seen, const std::string& why) { faults_.push_back(seen.describe() + ": " + why); }

void RawMctp::on_packet(const mctp::PhysicalAddress& from, ByteView packet) {
  if (packet.size() < 5) {
    faults_.push_back(fmt::format("a packet of {} bytes, header included", packet.size()));
    return;
  }
  packets_.push_back({world_.now(), from, packet_of(packet)});
  MctpPacket& came = packets_.back().packet;
  if (near_wrap_ && !came.owner) came.tag = static_cast<std::uint8_t>((came.tag - kNearWrapTag) & 0x07);
  put_together(packets_.back());
}

void RawMctp::put_together(const SeenPacket& seen) {
  const MctpPacket& packet = seen.packet;
  if (packet.version != mctp::kHeaderVersion) return fault(seen, "another header version than 1");
  const auto same = [&](const SeenMessage& one) {
    return one.from == seen.from && one.source == packet.source && one.owner == packet.owner && one.tag == packet.tag;
  };
  // The bench may speak for several EIDs, whose messages are apart; a packet that goes astray is told below.
  const auto for_same = [&](const SeenMessage& one) { return same(one) && one.destination == packet.destination; };
  auto found = std::find_if(begun_.begin(), begun_.end(), for_same);
  if (found == begun_.end() && !packet.som) found = std::find_if(begun_.begin(), begun_.end(), same);
  if (packet.som) {
    if (found != begun_.end()) {
      fault(seen, "the message before it with that tag has no end");
      begun_.erase(found);
    }
    begun_.push_back({seen.at, seen.at, seen.from, packet.source, packet.destination, packet.owner, packet.tag, {}, {}});
  } else if (found == begun_.end()) {
    return fault(seen, "no message with that tag has begun");
  }
  const auto at = packet.som ? begun_.end() - 1 : found;
  SeenMessage& message = *at;
  if (!packet.som) {
    const MctpPacket& before = message.packets.back().packet;
    const std::size_t unit = message.packets.front().packet.payload.size();
    if (packet.sequence != ((before.sequence + 1) & 3)) fault(seen, fmt::format("it follows sequence {}", before.sequence));
    if (packet.destination != message.destination) fault(seen, "the message began to another EID");
    if (packet.eom ? packet.payload.size() > unit : packet.payload.size() != unit) {
      fault(seen, fmt::format("the message's first packet has {} bytes", unit));
    }
  }
  if (!packet.eom && packet.payload.size() < mctp::kBaselineUnit) fault(seen, "not the last, and below 64 bytes");
  message.packets.push_back(seen);
  message.last = seen.at;
  message.body.insert(message.body.end(), packet.payload.begin(), packet.payload.end());
  if (!packet.eom) return;
  SeenMessage whole = std::move(message);
  begun_.erase(at);
  if (on_message && on_message(whole)) return;
  messages_.push_back(std::move(whole));
}

}  // namespace fb::conformance
