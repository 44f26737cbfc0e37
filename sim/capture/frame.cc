#include "sim/capture/frame.h"

#include <algorithm>

#include "base/assert.h"
#include "base/rng.h"

namespace fb::capture {

namespace {

constexpr std::uint16_t kEtherIpv4 = 0x0800;
constexpr std::uint16_t kEtherIpv6 = 0x86DD;
constexpr std::uint8_t kUdp = 17;
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kUdpHeader = 8;

void append(Bytes& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void append_be16(Bytes& out, std::size_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8 & 0xFF));
  out.push_back(static_cast<std::uint8_t>(value & 0xFF));
}

// One's complement sum of 16-bit words, an odd last byte padded with zero.
std::uint32_t add_words(std::uint32_t sum, ByteView bytes) {
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += load_be<std::uint16_t>(&bytes[i]);
  if (bytes.size() % 2 != 0) sum += static_cast<std::uint32_t>(bytes.back()) << 8;
  return sum;
}

std::uint16_t fold_checksum(std::uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

void append_ipv4(Bytes& out, const Endpoint& source, const Endpoint& destination,
                 const IpFacts& ip, std::size_t payload) {
  const std::size_t start = out.size();
  out.push_back(0x45);
  out.push_back(ip.tos);
  append_be16(out, kIpv4Header + kUdpHeader + payload);
  append_be16(out, ip.id);
  append_be16(out, ip.dont_fragment ? 0x4000 : 0);
  out.push_back(ip.ttl);
  out.push_back(kUdp);
  append_be16(out, 0);
  append(out, ByteView(source.address.bytes()).last(4));
  append(out, ByteView(destination.address.bytes()).last(4));
  const std::uint16_t sum = fold_checksum(add_words(0, ByteView(out).subspan(start)));
  store_be<std::uint16_t>(&out[start + 10], sum);
}

void append_ipv6(Bytes& out, const Endpoint& source, const Endpoint& destination,
                 const IpFacts& ip, std::size_t payload) {
  out.push_back(static_cast<std::uint8_t>(0x60 | ip.tos >> 4));
  out.push_back(static_cast<std::uint8_t>(ip.tos << 4 & 0xF0));
  append_be16(out, 0);
  append_be16(out, kUdpHeader + payload);
  out.push_back(kUdp);
  out.push_back(ip.ttl);
  append(out, source.address.bytes());
  append(out, destination.address.bytes());
}

std::uint16_t udp_checksum_v6(const IpAddress& source, const IpAddress& destination,
                              ByteView datagram) {
  std::uint32_t sum = add_words(0, source.bytes());
  sum = add_words(sum, destination.bytes());
  sum += static_cast<std::uint32_t>(datagram.size()) + kUdp;
  const std::uint16_t checksum = fold_checksum(add_words(sum, datagram));
  return checksum == 0 ? 0xFFFF : checksum;  // 0 would say that there is none
}

// ------------------------------------------------------------------------------------- reading

FrameFault parse_udp(ByteView datagram, UdpFrame& frame) {
  if (datagram.size() < kUdpHeader) return FrameFault::malformed;
  const std::size_t length = load_be<std::uint16_t>(&datagram[4]);
  if (length < kUdpHeader || length > datagram.size()) return FrameFault::malformed;
  frame.source.port = load_be<std::uint16_t>(&datagram[0]);
  frame.destination.port = load_be<std::uint16_t>(&datagram[2]);
  frame.payload = datagram.subspan(kUdpHeader, length - kUdpHeader);
  return FrameFault::none;
}

IpAddress address_v4(const std::uint8_t* at) { return IpAddress::v4(at[0], at[1], at[2], at[3]); }

IpAddress address_v6(const std::uint8_t* at) {
  std::array<std::uint8_t, 16> bytes;
  std::copy(at, at + 16, bytes.begin());
  return IpAddress::v6(bytes);
}

FrameFault parse_ipv4(ByteView bytes, UdpFrame& frame) {
  if (bytes.size() < kIpv4Header) return FrameFault::cut_short;
  const std::size_t header = static_cast<std::size_t>(bytes[0] & 0x0F) * 4;
  const std::size_t total = load_be<std::uint16_t>(&bytes[2]);
  if (header < kIpv4Header || total < header) return FrameFault::malformed;
  if (bytes[9] != kUdp) return FrameFault::not_udp;
  const std::uint16_t fragment = load_be<std::uint16_t>(&bytes[6]);
  if ((fragment & 0x3FFF) != 0) return FrameFault::fragment;  // more to come, or an offset
  if (total > bytes.size()) return FrameFault::cut_short;
  frame.ip = {load_be<std::uint16_t>(&bytes[4]), (fragment & 0x4000) != 0, bytes[1], bytes[8]};
  frame.source.address = address_v4(&bytes[12]);
  frame.destination.address = address_v4(&bytes[16]);
  frame.ip_packet = bytes.first(total);
  return parse_udp(frame.ip_packet.subspan(header), frame);
}

FrameFault parse_ipv6(ByteView bytes, UdpFrame& frame) {
  if (bytes.size() < kIpv6Header) return FrameFault::cut_short;
  const std::size_t total = kIpv6Header + load_be<std::uint16_t>(&bytes[4]);
  const auto tos = static_cast<std::uint8_t>((bytes[0] << 4 | bytes[1] >> 4) & 0xFF);
  frame.ip = {0, true, tos, bytes[7]};
  frame.source.address = address_v6(&bytes[8]);
  frame.destination.address = address_v6(&bytes[24]);
  std::uint8_t next = bytes[6];
  std::size_t at = kIpv6Header;
  if (total > bytes.size()) return next == kUdp ? FrameFault::cut_short : FrameFault::not_udp;
  // Hop-by-hop, routing and destination options carry their own length in units of eight bytes.
  while (next == 0 || next == 43 || next == 60) {
    if (total - at < 8) return FrameFault::malformed;
    const std::size_t length = (static_cast<std::size_t>(bytes[at + 1]) + 1) * 8;
    if (length > total - at) return FrameFault::malformed;
    next = bytes[at];
    at += length;
  }
  if (next == 44) return FrameFault::fragment;
  if (next != kUdp) return FrameFault::not_udp;
  frame.ip_packet = bytes.first(total);
  return parse_udp(frame.ip_packet.subspan(at), frame);
}

FrameFault parse_ip(ByteView bytes, UdpFrame& frame) {
  if (bytes.empty()) return FrameFault::cut_short;
  switch (bytes[0] >> 4) {
    case 4: return parse_ipv4(bytes, frame);
    case 6: return parse_ipv6(bytes, frame);
    default: return FrameFault::not_udp;
  }
}

// `at` is where the EtherType stands; VLAN tags may lie between it and the packet.
FrameFault parse_ethertype(ByteView bytes, std::size_t at, UdpFrame& frame) {
  for (;;) {
    if (bytes.size() < at + 2) return FrameFault::cut_short;
    const std::uint16_t type = load_be<std::uint16_t>(&bytes[at]);
    at += 2;
    if (type == 0x8100 || type == 0x88A8 || type == 0x9100) {
      at += 2;
      continue;
    }
    if (type != kEtherIpv4 && type != kEtherIpv6) return FrameFault::not_udp;
    return parse_ip(bytes.subspan(at), frame);
  }
}

}  // namespace

bool is_known_link_type(std::uint32_t type) {
  switch (type) {
    case link_type::null:
    case link_type::ethernet:
    case link_type::raw_bsd:
    case link_type::raw_openbsd:
    case link_type::raw:
    case link_type::loop:
    case link_type::linux_sll:
    case link_type::ipv4:
    case link_type::ipv6:
    case link_type::linux_sll2: return true;
    default: return false;
  }
}

std::array<std::uint8_t, 6> mac_of(const IpAddress& address) {
  std::array<std::uint8_t, 6> mac = {0x02, 0xFB};
  const auto& bytes = address.bytes();
  if (address.is_v4()) {
    std::copy(bytes.begin() + 12, bytes.end(), mac.begin() + 2);
  } else {
    const std::uint64_t mixed =
        mix64(load_be<std::uint64_t>(bytes.data()) ^ mix64(load_be<std::uint64_t>(&bytes[8])));
    store_be<std::uint32_t>(&mac[2], static_cast<std::uint32_t>(mixed & 0xFFFFFFFF));
  }
  return mac;
}

void append_frame(Bytes& out, const Endpoint& source, const Endpoint& destination,
                  const IpFacts& ip, ByteView payload) {
  BENCH_ASSERT(payload.size() <= kUdpPayloadMax, "a UDP payload fits its IP packet");
  const bool v4 = source.address.is_v4() && destination.address.is_v4();
  append(out, mac_of(destination.address));
  append(out, mac_of(source.address));
  append_be16(out, v4 ? kEtherIpv4 : kEtherIpv6);
  if (v4) {
    append_ipv4(out, source, destination, ip, payload.size());
  } else {
    append_ipv6(out, source, destination, ip, payload.size());
  }
  const std::size_t udp = out.size();
  append_be16(out, source.port);
  append_be16(out, destination.port);
  append_be16(out, kUdpHeader + payload.size());
  append_be16(out, 0);
  append(out, payload);
  if (!v4) {
    const std::uint16_t checksum = udp_checksum_v6(source.address, destination.address,
                                                   ByteView(out).subspan(udp));
    store_be<std::uint16_t>(&out[udp + 6], checksum);
  }
}

FrameFault parse_frame(std::uint32_t link, ByteView bytes, UdpFrame& frame) {
  switch (link) {
    case link_type::ethernet: return parse_ethertype(bytes, 12, frame);
    case link_type::linux_sll: return parse_ethertype(bytes, 14, frame);
    case link_type::linux_sll2: {
      // The protocol comes first, the packet after twenty bytes.
      if (bytes.size() < 20) return FrameFault::cut_short;
      const std::uint16_t type = load_be<std::uint16_t>(bytes.data());
      if (type == 0x8100 || type == 0x88A8) return parse_ethertype(bytes, 22, frame);
      if (type != kEtherIpv4 && type != kEtherIpv6) return FrameFault::not_udp;
      return parse_ip(bytes.subspan(20), frame);
    }
    case link_type::null:
    case link_type::loop:
      return bytes.size() < 4 ? FrameFault::cut_short : parse_ip(bytes.subspan(4), frame);
    case link_type::raw:
    case link_type::raw_bsd:
    case link_type::raw_openbsd:
    case link_type::ipv4:
    case link_type::ipv6: return parse_ip(bytes, frame);
    default: return FrameFault::not_udp;
  }
}

}  // namespace fb::capture
