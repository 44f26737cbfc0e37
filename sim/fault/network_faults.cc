#include "sim/fault/network_faults.h"

#include <algorithm>

#include "sim/net/vanish.h"

namespace fb::fault {

namespace {

/// What an MTU counts beside the payload: the headers of IP, and of UDP or TCP.
std::size_t headers_of(const Endpoint& end, std::size_t transport) { return (end.address.is_v4() ? 20u : 40u) + transport; }
constexpr std::size_t kUdp = 8, kTcp = 20;

Duration span_of(const Decision& decision) { return Duration::ns(static_cast<std::int64_t>(decision.amount)); }

std::string turned(std::string_view name) {
  const std::size_t arrow = name.find("->");
  if (arrow == std::string_view::npos) return std::string(name);
  return std::string(name.substr(arrow + 2)) + "->" + std::string(name.substr(0, arrow));
}

}  // namespace

void flip_bit(MutableBytes bytes, std::uint64_t bit) {
  if (bytes.empty()) return;
  std::uint8_t& byte = bytes[bit / 8 % bytes.size()];
  byte = static_cast<std::uint8_t>(byte ^ 1u << bit % 8);
}

NetworkFaults::Link& NetworkFaults::link_of(std::size_t index, std::string_view name) {
  if (links_.size() <= index) links_.resize(index + 1);
  Link& link = links_[index];
  if (link.packets != nullptr) return link;
  link.packets = &points_.at({Site::packet, std::string(name)});
  link.segments = &points_.at({Site::segment, std::string(name)});
  by_name_.emplace(name, index);
  const auto back = by_name_.find(turned(name));
  if (back != by_name_.end()) {
    Link& other = links_[back->second];
    link.back = back->second + 1;
    other.back = index + 1;
    link.cut_until = other.cut_until;
  }
  return link;
}

void NetworkFaults::cut(Link& link, Instant until) {
  link.cut_until = std::max(link.cut_until, until);
  if (link.back != 0) links_[link.back - 1].cut_until = link.cut_until;
}

void NetworkFaults::throttle(Link& link, Instant now, std::uint64_t rate) {
  link.slow_until = now + Duration::s(1);
  link.free_at = std::max(link.free_at, now);
  link.rate = rate;
}

Duration NetworkFaults::wait_of(Link& link, Instant now, std::size_t bytes) {
  if (now >= link.slow_until || link.rate == 0) return {};
  const auto passing = static_cast<std::int64_t>(bytes * 1'000'000 / link.rate);
  link.free_at = std::max(link.free_at, now) + Duration::ns(passing);
  return link.free_at - now;
}

void NetworkFaults::apply(const Decision& decision, net::PacketContext& packet, Link& link, net::Verdict& verdict) {
  switch (decision.kind) {
    case Kind::drop:
      verdict.drop = true;
      break;
    case Kind::duplicate:
      ++verdict.duplicates;
      verdict.duplicate_delay = span_of(decision);
      break;
    case Kind::delay:
      verdict.delay = std::max(verdict.delay, span_of(decision));
      break;
    case Kind::corrupt:
    case Kind::forge:
      flip_bit(packet.payload, decision.amount);
      verdict.corrupted = true;
      if (decision.kind == Kind::forge && reseal_) reseal_(packet.source, packet.destination, packet.payload);
      break;
    case Kind::truncate:
      verdict.cut = std::min<std::size_t>(decision.amount, packet.payload.size());
      break;
    case Kind::partition:
      cut(link, packet.now + span_of(decision));
      break;
    case Kind::hold:
      link.held_until = std::max(link.held_until, packet.now + span_of(decision));
      break;
    case Kind::throttle:
      throttle(link, packet.now, decision.amount);
      break;
    case Kind::mtu:
      link.mtu = decision.amount;
      break;
    default:
      return;
  }
  points_.at(decision.place).struck(decision);
}

net::Verdict NetworkFaults::on_packet(net::PacketContext& packet) {
  Link& link = link_of(packet.link_index, packet.link);
  net::Verdict verdict;
  for (const Decision& decision : link.packets->next()) apply(decision, packet, link, verdict);
  if (!points_.armed()) return verdict;
  if (packet.now < link.cut_until) verdict.drop = true;
  if (packet.payload.size() + headers_of(packet.source, kUdp) > link.mtu) verdict.drop = true;
  if (!verdict.drop) verdict.delay = std::max(verdict.delay, wait_of(link, packet.now, packet.payload.size()));
  if (packet.now < link.held_until) verdict.delay = std::max(verdict.delay, link.held_until - packet.now);
  return verdict;
}

net::SegmentVerdict NetworkFaults::on_segment(const net::SegmentContext& segment) {
  Link& link = link_of(segment.link_index, segment.link);
  net::SegmentVerdict verdict;
  for (const Decision& decision : link.segments->next()) {
    switch (decision.kind) {
      case Kind::segment_split:
        if (decision.amount >= segment.size) continue;
        verdict.size = decision.amount;
        break;
      case Kind::segment_delay:
        verdict.delay = std::max(verdict.delay, span_of(decision));
        break;
      case Kind::segment_lose:
        verdict.lost += static_cast<std::uint32_t>(decision.amount);
        break;
      case Kind::segment_hold:
        verdict.hold = std::max(verdict.hold, span_of(decision));
        break;
      case Kind::segment_throttle:
        throttle(link, segment.now, decision.amount);
        break;
      case Kind::segment_mtu:
        link.mtu = decision.amount;
        break;
      case Kind::segment_reset:
        verdict.reset = true;
        break;
      default:
        continue;
    }
    points_.at(decision.place).struck(decision);
  }
  const std::size_t leaving = verdict.size != 0 ? std::min(verdict.size, segment.size) : segment.size;
  if (!points_.armed()) return verdict;
  if (leaving + headers_of(segment.source, kTcp) > link.mtu) {
    verdict.lost = net::kVanishes;
    return verdict;
  }
  verdict.delay = std::max(verdict.delay, wait_of(link, segment.now, leaving));
  return verdict;
}

}  // namespace fb::fault
