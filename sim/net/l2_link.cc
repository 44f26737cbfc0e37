#include "sim/net/l2_link.h"

#include <algorithm>

#include "base/rng.h"

namespace fb::net {

namespace {

constexpr std::size_t kEthernet = 14, kArp = 28, kIpv4 = 20, kIpv6 = 40, kUdp = 8;
constexpr std::uint16_t kTypeIpv4 = 0x0800, kTypeArp = 0x0806, kTypeIpv6 = 0x86DD;
constexpr std::uint8_t kIcmp4 = 1, kUdpProtocol = 17, kIcmp6 = 58;
constexpr std::uint8_t kEchoRequest4 = 8, kEchoRequest6 = 128, kEchoReply6 = 129;
constexpr std::uint8_t kSolicitation = 135, kAdvertisement = 136;
constexpr std::size_t kSolicitationSize = 24;  // without options
constexpr MacAddress kBroadcast{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

constexpr Duration kAskAgain = Duration::ms(250);
constexpr int kAsksMax = 12;  // three seconds, as a guest may still be coming up
constexpr std::size_t kNeighboursMax = 64;
constexpr std::size_t kWaitingMax = 64;  // frames for one neighbour
constexpr std::size_t kPoolMax = 1024;

MacAddress mac_at(ByteView bytes, std::size_t offset) {
  MacAddress mac;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), mac.size(), mac.begin());
  return mac;
}

IpAddress v4_at(ByteView bytes, std::size_t offset) {
  return IpAddress::v4(bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]);
}

IpAddress v6_at(ByteView bytes, std::size_t offset) {
  std::array<std::uint8_t, 16> made;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), made.size(), made.begin());
  return IpAddress::v6(made);
}

void put(MutableBytes at, ByteView bytes) { std::copy(bytes.begin(), bytes.end(), at.begin()); }
ByteView v4_bytes(const IpAddress& address) { return ByteView(address.bytes()).subspan(12); }

std::uint32_t pseudo_sum(const IpAddress& from, const IpAddress& to, std::size_t length, std::uint8_t protocol) {
  // The mapped form of an IPv4 address adds ::ffff twice more than the four bytes do.
  const bool v4 = from.is_v4();
  std::uint32_t sum = static_cast<std::uint32_t>(length) + protocol;
  sum = internet_sum(v4 ? v4_bytes(from) : ByteView(from.bytes()), sum);
  return internet_sum(v4 ? v4_bytes(to) : ByteView(to.bytes()), sum);
}

IpAddress solicited_node(const IpAddress& address) {
  std::array<std::uint8_t, 16> group{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF};
  std::copy_n(address.bytes().begin() + 13, 3, group.begin() + 13);
  return IpAddress::v6(group);
}

MacAddress multicast_mac(const IpAddress& group) {
  const auto& bytes = group.bytes();
  return {0x33, 0x33, bytes[12], bytes[13], bytes[14], bytes[15]};
}

constexpr std::array<std::uint8_t, 16> kAllNodes{0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

/// The link-layer address in the options of a neighbour discovery message.
std::optional<MacAddress> link_option(ByteView options, std::uint8_t wanted) {
  while (options.size() >= 8) {
    const std::size_t size = std::size_t{options[1]} * 8;
    if (size == 0 || size > options.size()) return std::nullopt;
    if (options[0] == wanted) return mac_at(options, 2);
    options = options.subspan(size);
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t internet_sum(ByteView bytes, std::uint32_t start) {
  std::uint64_t sum = start;
  std::size_t at = 0;
  for (; at + 2 <= bytes.size(); at += 2) sum += load_be<std::uint16_t>(&bytes[at]);
  if (at < bytes.size()) sum += std::uint64_t{bytes[at]} << 8;
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint32_t>(sum);
}

std::uint16_t internet_checksum(std::uint32_t sum) {
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

MacAddress mac_for(const IpAddress& address) {
  std::uint64_t mixed = 0;
  for (const std::uint8_t byte : address.bytes()) mixed = mix64(mixed ^ byte);
  MacAddress mac{0x02};  // locally administered
  for (std::size_t i = 1; i < mac.size(); ++i) mac[i] = static_cast<std::uint8_t>(mixed >> (8 * i));
  return mac;
}

// -------------------------------------------------------------------------------------- arriving

std::optional<L2Datagram> L2Link::on_frame(Instant now, ByteView frame) {
  ++counters_.frames_in;
  if (frame.size() < kEthernet) return malformed(), std::nullopt;
  const MacAddress to = mac_at(frame, 0);
  const bool group = (to[0] & 1) != 0;
  if (to != mac_ && !group) return ignored(), std::nullopt;
  const auto type = load_be<std::uint16_t>(&frame[12]);
  if (type == kTypeArp) return on_arp(now, frame), std::nullopt;
  if (type == kTypeIpv4 && address_.is_v4()) return on_ipv4(now, frame);
  if (type == kTypeIpv6 && !address_.is_v4()) return on_ipv6(now, frame);
  return ignored(), std::nullopt;
}

std::optional<L2Datagram> L2Link::on_ipv4(Instant now, ByteView frame) {
  const ByteView ip = frame.subspan(kEthernet);
  if (ip.size() < kIpv4 || ip[0] != 0x45) return malformed(), std::nullopt;
  const std::size_t total = load_be<std::uint16_t>(&ip[2]);
  if (total < kIpv4 || total > ip.size()) return malformed(), std::nullopt;
  if (internet_checksum(internet_sum(ip.first(kIpv4))) != 0) return malformed(), std::nullopt;
  const auto fragment = load_be<std::uint16_t>(&ip[6]);
  if ((fragment & 0x3FFF) != 0) return ignored(), std::nullopt;
  L2Datagram packet;
  packet.source.address = v4_at(ip, 12);
  packet.destination.address = v4_at(ip, 16);
  packet.payload = ip.subspan(kIpv4, total - kIpv4);
  packet.ip = {.id = load_be<std::uint16_t>(&ip[4]), .dont_fragment = (fragment & 0x4000) != 0, .tos = ip[1], .ttl = ip[8]};
  if (packet.destination.address != address_) return ignored(), std::nullopt;
  learn(now, packet.source.address, mac_at(frame, 6));
  if (ip[9] == kIcmp4) return on_icmp4(frame, packet.payload), std::nullopt;
  if (ip[9] != kUdpProtocol) return ignored(), std::nullopt;
  return on_udp(packet, false);
}

std::optional<L2Datagram> L2Link::on_ipv6(Instant now, ByteView frame) {
  const ByteView ip = frame.subspan(kEthernet);
  if (ip.size() < kIpv6 || (ip[0] >> 4) != 6) return malformed(), std::nullopt;
  const std::size_t length = load_be<std::uint16_t>(&ip[4]);
  if (length > ip.size() - kIpv6) return malformed(), std::nullopt;
  L2Datagram packet;
  packet.source.address = v6_at(ip, 8);
  packet.destination.address = v6_at(ip, 24);
  packet.payload = ip.subspan(kIpv6, length);
  packet.ip = {.id = 0, .dont_fragment = true, .tos = static_cast<std::uint8_t>(load_be<std::uint16_t>(&ip[0]) >> 4 & 0xFF), .ttl = ip[7]};
  if (ip[6] == kIcmp6) return on_icmp6(now, frame, packet.payload, packet), std::nullopt;
  if (packet.destination.address != address_ || ip[6] != kUdpProtocol) {
    return ignored(), std::nullopt;
  }
  learn(now, packet.source.address, mac_at(frame, 6));
  // RoCEv2 devices leave the checksum out on IPv6 too; the ICRC covers the packet.
  return on_udp(packet, false);
}

std::optional<L2Datagram> L2Link::on_udp(const L2Datagram& packet, bool checksum_needed) {
  const ByteView udp = packet.payload;
  if (udp.size() < kUdp) return malformed(), std::nullopt;
  const std::size_t length = load_be<std::uint16_t>(&udp[4]);
  if (length < kUdp || length > udp.size()) return malformed(), std::nullopt;
  const bool summed = load_be<std::uint16_t>(&udp[6]) != 0;
  if (summed || checksum_needed) {
    const std::uint32_t sum = pseudo_sum(packet.source.address, packet.destination.address, length, kUdpProtocol);
    if (internet_checksum(internet_sum(udp.first(length), sum)) != 0) {
      return malformed(), std::nullopt;
    }
  }
  L2Datagram made = packet;
  made.source.port = load_be<std::uint16_t>(&udp[0]);
  made.destination.port = load_be<std::uint16_t>(&udp[2]);
  made.payload = udp.subspan(kUdp, length - kUdp);
  ++counters_.datagrams_in;
  return made;
}

void L2Link::on_arp(Instant now, ByteView frame) {
  const ByteView arp = frame.subspan(kEthernet);
  if (arp.size() < kArp) return malformed();
  const bool ethernet_ipv4 =
      load_be<std::uint16_t>(&arp[0]) == 1 && load_be<std::uint16_t>(&arp[2]) == kTypeIpv4 && arp[4] == 6 && arp[5] == 4;
  if (!ethernet_ipv4 || !address_.is_v4()) return ignored();
  const auto operation = load_be<std::uint16_t>(&arp[6]);
  const MacAddress sender = mac_at(arp, 8);
  const IpAddress sender_ip = v4_at(arp, 14);
  if (v4_at(arp, 24) != address_) return ignored();
  if (sender_ip != IpAddress::v4(0, 0, 0, 0)) learn(now, sender_ip, sender);
  if (operation != 1) return;
  ++counters_.questions_in;
  Bytes answer = blank(kEthernet + kArp);
  put_ethernet(answer, sender, kTypeArp);
  const MutableBytes out = MutableBytes(answer).subspan(kEthernet);
  put(out, arp.first(8));
  store_be<std::uint16_t>(&out[6], 2);
  put(out.subspan(8), mac_);
  put(out.subspan(14), v4_bytes(address_));
  put(out.subspan(18), sender);
  put(out.subspan(24), v4_bytes(sender_ip));
  outputs_.push_back(std::move(answer));
}

void L2Link::on_icmp4(ByteView frame, ByteView message) {
  if (message.size() < 8) return malformed();
  if (message[0] != kEchoRequest4 || message[1] != 0) return ignored();
  if (internet_checksum(internet_sum(message)) != 0) return malformed();
  ++counters_.questions_in;
  Bytes answer = blank(kEthernet + kIpv4 + message.size());
  put(answer, frame.first(answer.size()));
  put_ethernet(answer, mac_at(frame, 6), kTypeIpv4);
  const MutableBytes ip = MutableBytes(answer).subspan(kEthernet);
  put(ip.subspan(12), ByteView(frame).subspan(kEthernet + 16, 4));
  put(ip.subspan(16), ByteView(frame).subspan(kEthernet + 12, 4));
  const MutableBytes icmp = ip.subspan(kIpv4);
  icmp[0] = 0;
  store_be<std::uint16_t>(&icmp[2], 0);
  store_be<std::uint16_t>(&icmp[2], internet_checksum(internet_sum(icmp)));
  outputs_.push_back(std::move(answer));
}

void L2Link::on_icmp6(Instant now, ByteView frame, ByteView message, const L2Datagram& packet) {
  if (message.size() < 8) return malformed();
  const IpAddress& from = packet.source.address;
  const std::uint32_t sum = pseudo_sum(from, packet.destination.address, message.size(), kIcmp6);
  if (internet_checksum(internet_sum(message, sum)) != 0) return malformed();
  const std::uint8_t type = message[0];
  if (type == kEchoRequest6 && packet.destination.address == address_) {
    ++counters_.questions_in;
    Bytes answer = blank(kEthernet + kIpv6 + message.size());
    put_ethernet(answer, mac_at(frame, 6), kTypeIpv6);
    put_ipv6(answer, message.size(), kIcmp6, 64, address_, from);
    const MutableBytes icmp = MutableBytes(answer).subspan(kEthernet + kIpv6);
    put(icmp, message);
    icmp[0] = kEchoReply6;
    store_be<std::uint16_t>(&icmp[2], 0);
    const std::uint32_t pseudo = pseudo_sum(address_, from, icmp.size(), kIcmp6);
    store_be<std::uint16_t>(&icmp[2], internet_checksum(internet_sum(icmp, pseudo)));
    outputs_.push_back(std::move(answer));
    return;
  }
  const bool discovery = type == kSolicitation || type == kAdvertisement;
  // Neighbour discovery that came over a router is not from a neighbour.
  if (!discovery || packet.ip.ttl != 255 || message[1] != 0) return ignored();
  if (message.size() < kSolicitationSize) return malformed();
  const IpAddress target = v6_at(message, 8);
  const ByteView options = message.subspan(kSolicitationSize);
  if (type == kAdvertisement) {
    const auto found = neighbours_.find(target);
    const auto mac = link_option(options, 2);
    if (mac && found != neighbours_.end()) return learn(now, target, *mac);
    return ignored();
  }
  if (target != address_) return ignored();
  if (const auto mac = link_option(options, 1); mac && from != IpAddress{}) learn(now, from, *mac);
  answer_solicitation(frame, message, from);
}

void L2Link::answer_solicitation(ByteView frame, ByteView message, const IpAddress& asker) {
  ++counters_.questions_in;
  constexpr std::size_t kSize = kSolicitationSize + 8;
  // Who asks without an address of his own wants to know whether this one is free.
  const bool anonymous = asker == IpAddress{};
  const IpAddress to = anonymous ? IpAddress::v6(kAllNodes) : asker;
  Bytes answer = blank(kEthernet + kIpv6 + kSize);
  put_ethernet(answer, anonymous ? multicast_mac(to) : mac_at(frame, 6), kTypeIpv6);
  put_ipv6(answer, kSize, kIcmp6, 255, address_, to);
  const MutableBytes icmp = MutableBytes(answer).subspan(kEthernet + kIpv6);
  icmp[0] = kAdvertisement;
  icmp[4] = anonymous ? 0x20 : 0x60;  // override; solicited
  put(icmp.subspan(8), message.subspan(8, 16));
  icmp[24] = 2;
  icmp[25] = 1;
  put(icmp.subspan(26), mac_);
  const std::uint32_t pseudo = pseudo_sum(address_, to, kSize, kIcmp6);
  store_be<std::uint16_t>(&icmp[2], internet_checksum(internet_sum(icmp, pseudo)));
  outputs_.push_back(std::move(answer));
}

// --------------------------------------------------------------------------------------- sending

Bytes L2Link::blank(std::size_t size) {
  Bytes frame;
  if (!pool_.empty()) {
    frame = std::move(pool_.back());
    pool_.pop_back();
  }
  frame.assign(size, 0);
  return frame;
}

Bytes L2Link::take(std::size_t size) { return blank(headroom() + size); }

void L2Link::pop_output() {
  if (pool_.size() < kPoolMax) pool_.push_back(std::move(outputs_.front()));
  outputs_.pop_front();
}

void L2Link::put_ethernet(Bytes& frame, const MacAddress& to, std::uint16_t type) const {
  put(frame, to);
  put(MutableBytes(frame).subspan(6), mac_);
  store_be<std::uint16_t>(&frame[12], type);
}

void L2Link::put_ipv6(Bytes& frame, std::size_t payload, std::uint8_t next, std::uint8_t hops, const IpAddress& from,
                      const IpAddress& to) const {
  const MutableBytes ip = MutableBytes(frame).subspan(kEthernet);
  ip[0] = 0x60;
  store_be<std::uint16_t>(&ip[4], static_cast<std::uint16_t>(payload));
  ip[6] = next;
  ip[7] = hops;
  put(ip.subspan(8), from.bytes());
  put(ip.subspan(24), to.bytes());
}

void L2Link::send(Instant now, Bytes frame, std::uint16_t from_port, const Endpoint& to) {
  const IpFacts facts;
  const MutableBytes ip = MutableBytes(frame).subspan(kEthernet);
  const bool v4 = address_.is_v4();
  const MutableBytes udp = ip.subspan(v4 ? kIpv4 : kIpv6);
  store_be<std::uint16_t>(&udp[0], from_port);
  store_be<std::uint16_t>(&udp[2], to.port);
  store_be<std::uint16_t>(&udp[4], static_cast<std::uint16_t>(udp.size()));
  if (v4) {
    ip[0] = 0x45;
    ip[1] = facts.tos;
    store_be<std::uint16_t>(&ip[2], static_cast<std::uint16_t>(ip.size()));
    store_be<std::uint16_t>(&ip[4], facts.id);
    store_be<std::uint16_t>(&ip[6], facts.dont_fragment ? 0x4000 : 0);
    ip[8] = facts.ttl;
    ip[9] = kUdpProtocol;
    put(ip.subspan(12), v4_bytes(address_));
    put(ip.subspan(16), v4_bytes(to.address));
    store_be<std::uint16_t>(&ip[10], internet_checksum(internet_sum(ip.first(kIpv4))));
  } else {
    put_ipv6(frame, udp.size(), kUdpProtocol, facts.ttl, address_, to.address);
    const std::uint32_t pseudo = pseudo_sum(address_, to.address, udp.size(), kUdpProtocol);
    const std::uint16_t checksum = internet_checksum(internet_sum(udp, pseudo));
    store_be<std::uint16_t>(&udp[6], checksum == 0 ? std::uint16_t{0xFFFF} : checksum);
  }
  Neighbour& next = neighbour(to.address);
  put_ethernet(frame, next.mac.value_or(kBroadcast), v4 ? kTypeIpv4 : kTypeIpv6);
  if (next.mac) return outputs_.push_back(std::move(frame));
  if (next.waiting.size() >= kWaitingMax) {
    ++counters_.unresolved;
    return;
  }
  next.waiting.push_back(std::move(frame));
  if (next.asked == 0) {
    next.asked = 1;
    next.ask_at = now + kAskAgain;
    ask(to.address);
  }
}

// ------------------------------------------------------------------------------------ neighbours

L2Link::Neighbour& L2Link::neighbour(const IpAddress& address) {
  const auto found = neighbours_.find(address);
  if (found != neighbours_.end()) return found->second;
  if (neighbours_.size() >= kNeighboursMax) {
    drop_waiting(neighbours_.begin()->second);
    neighbours_.erase(neighbours_.begin());
  }
  return neighbours_[address];
}

void L2Link::drop_waiting(Neighbour& neighbour) {
  counters_.unresolved += neighbour.waiting.size();
  neighbour.waiting.clear();
  neighbour.asked = 0;
}

void L2Link::learn(Instant, const IpAddress& address, const MacAddress& mac) {
  if ((mac[0] & 1) != 0) return ignored();  // nobody is a group
  Neighbour& known = neighbour(address);
  known.mac = mac;
  known.asked = 0;
  for (Bytes& frame : known.waiting) {
    put(frame, mac);
    outputs_.push_back(std::move(frame));
  }
  known.waiting.clear();
}

void L2Link::ask(const IpAddress& address) { return address_.is_v4() ? ask_arp(address) : ask_neighbour(address); }

void L2Link::ask_arp(const IpAddress& address) {
  Bytes frame = blank(kEthernet + kArp);
  put_ethernet(frame, kBroadcast, kTypeArp);
  const MutableBytes arp = MutableBytes(frame).subspan(kEthernet);
  store_be<std::uint16_t>(&arp[0], 1);
  store_be<std::uint16_t>(&arp[2], kTypeIpv4);
  arp[4] = 6;
  arp[5] = 4;
  store_be<std::uint16_t>(&arp[6], 1);
  put(arp.subspan(8), mac_);
  put(arp.subspan(14), v4_bytes(address_));
  put(arp.subspan(24), v4_bytes(address));
  outputs_.push_back(std::move(frame));
}

void L2Link::ask_neighbour(const IpAddress& address) {
  constexpr std::size_t kSize = kSolicitationSize + 8;
  const IpAddress group = solicited_node(address);
  Bytes frame = blank(kEthernet + kIpv6 + kSize);
  put_ethernet(frame, multicast_mac(group), kTypeIpv6);
  put_ipv6(frame, kSize, kIcmp6, 255, address_, group);
  const MutableBytes icmp = MutableBytes(frame).subspan(kEthernet + kIpv6);
  icmp[0] = kSolicitation;
  put(icmp.subspan(8), address.bytes());
  icmp[24] = 1;
  icmp[25] = 1;
  put(icmp.subspan(26), mac_);
  const std::uint32_t pseudo = pseudo_sum(address_, group, kSize, kIcmp6);
  store_be<std::uint16_t>(&icmp[2], internet_checksum(internet_sum(icmp, pseudo)));
  outputs_.push_back(std::move(frame));
}

std::optional<Instant> L2Link::deadline() const {
  std::optional<Instant> first;
  for (const auto& [address, one] : neighbours_) {
    if (one.asked > 0 && (!first || one.ask_at < *first)) first = one.ask_at;
  }
  return first;
}

void L2Link::on_deadline(Instant now) {
  for (auto& [address, one] : neighbours_) {
    if (one.asked == 0 || one.ask_at > now) continue;
    if (one.asked >= kAsksMax) {
      drop_waiting(one);
      continue;
    }
    ++one.asked;
    one.ask_at = now + kAskAgain;
    ask(address);
  }
}

}  // namespace fb::net
