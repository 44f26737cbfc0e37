#include "sim/capture/frame.h"

#include <algorithm>

#include "base/assert.h"
#include "base/rng.h"

namespace fb::capture {

namespace {

constexpr std::uint16_t kEtherIpv4 = 0x0800;
constexpr std::uint16_t kEtherIpv6 = 0x86DD;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kTcpHeader = 20;
constexpr std::size_t kSynOptions = 8;  // MSS, and the window's scale padded by one byte
constexpr std::uint8_t kOptionEnd = 0, kOptionNone = 1, kOptionMss = 2, kOptionWindowShift = 3;
constexpr std::uint8_t kWindowShiftMax = 14;

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

void append_ipv4(Bytes& out, const Endpoint& source, const Endpoint& destination, const IpFacts& ip, std::uint8_t protocol,
                 std::size_t length) {
  const std::size_t start = out.size();
  out.push_back(0x45);
  out.push_back(ip.tos);
  append_be16(out, kIpv4Header + length);
  append_be16(out, ip.id);
  append_be16(out, ip.dont_fragment ? 0x4000 : 0);
  out.push_back(ip.ttl);
  out.push_back(protocol);
  append_be16(out, 0);
  append(out, ByteView(source.address.bytes()).last(4));
  append(out, ByteView(destination.address.bytes()).last(4));
  const std::uint16_t sum = fold_checksum(add_words(0, ByteView(out).subspan(start)));
  store_be<std::uint16_t>(&out[start + 10], sum);
}

void append_ipv6(Bytes& out, const Endpoint& source, const Endpoint& destination, const IpFacts& ip, std::uint8_t protocol,
                 std::size_t length) {
  out.push_back(static_cast<std::uint8_t>(0x60 | ip.tos >> 4));
  out.push_back(static_cast<std::uint8_t>(ip.tos << 4 & 0xF0));
  append_be16(out, 0);
  append_be16(out, length);
  out.push_back(protocol);
  out.push_back(ip.ttl);
  append(out, source.address.bytes());
  append(out, destination.address.bytes());
}

// Over the pseudo-header too; the addresses as they stand in the packet.
std::uint16_t checksum_of(const Endpoint& source, const Endpoint& destination, bool v4, std::uint8_t protocol, ByteView segment) {
  const std::size_t length = v4 ? 4 : 16;
  std::uint32_t sum = add_words(0, ByteView(source.address.bytes()).last(length));
  sum = add_words(sum, ByteView(destination.address.bytes()).last(length));
  sum += static_cast<std::uint32_t>(segment.size()) + protocol;
  return fold_checksum(add_words(sum, segment));
}

// Ethernet and IP headers in front of `length` bytes. True when they are IPv4.
bool append_headers(Bytes& out, const Endpoint& source, const Endpoint& destination, const IpFacts& ip, std::uint8_t protocol,
                    std::size_t length) {
  const bool v4 = source.address.is_v4() && destination.address.is_v4();
  append(out, mac_of(destination.address));
  append(out, mac_of(source.address));
  append_be16(out, v4 ? kEtherIpv4 : kEtherIpv6);
  if (v4) {
    append_ipv4(out, source, destination, ip, protocol, length);
  } else {
    append_ipv6(out, source, destination, ip, protocol, length);
  }
  return v4;
}

// ------------------------------------------------------------------------------------- reading

FrameFault parse_udp(ByteView datagram, CarriedPacket& frame) {
  if (datagram.size() < kUdpHeader) return FrameFault::malformed;
  const std::size_t told = load_be<std::uint16_t>(&datagram[4]);
  const std::size_t length = told == 0 ? datagram.size() : told;  // 0 in jumbograms
  if (length < kUdpHeader || length > datagram.size()) return FrameFault::malformed;
  frame.source.port = load_be<std::uint16_t>(&datagram[0]);
  frame.destination.port = load_be<std::uint16_t>(&datagram[2]);
  frame.payload = datagram.subspan(kUdpHeader, length - kUdpHeader);
  return FrameFault::none;
}

// The options that a SYN is read for; what is broken ends the list.
void parse_tcp_options(ByteView options, TcpFacts& tcp) {
  while (!options.empty() && options[0] != kOptionEnd) {
    if (options[0] == kOptionNone) {
      options = options.subspan(1);
      continue;
    }
    if (options.size() < 2 || options[1] < 2 || options[1] > options.size()) return;
    const std::size_t length = options[1];
    if (options[0] == kOptionMss && length == 4) tcp.mss = load_be<std::uint16_t>(&options[2]);
    if (options[0] == kOptionWindowShift && length == 3) {
      tcp.window_shift = std::min(options[2], kWindowShiftMax);
    }
    options = options.subspan(length);
  }
}

FrameFault parse_tcp(ByteView segment, CarriedPacket& frame) {
  if (segment.size() < kTcpHeader) return FrameFault::malformed;
  const std::size_t header = static_cast<std::size_t>(segment[12] >> 4) * 4;
  if (header < kTcpHeader || header > segment.size()) return FrameFault::malformed;
  frame.source.port = load_be<std::uint16_t>(&segment[0]);
  frame.destination.port = load_be<std::uint16_t>(&segment[2]);
  TcpFacts& tcp = frame.tcp.emplace();
  tcp.seq = load_be<std::uint32_t>(&segment[4]);
  tcp.ack = load_be<std::uint32_t>(&segment[8]);
  tcp.flags = segment[13];
  tcp.window = load_be<std::uint16_t>(&segment[14]);
  if ((tcp.flags & tcp_flag::syn) != 0) {
    parse_tcp_options(segment.subspan(kTcpHeader, header - kTcpHeader), tcp);
  }
  frame.payload = segment.subspan(header);
  return FrameFault::none;
}

FrameFault parse_transport(std::uint8_t protocol, ByteView bytes, CarriedPacket& frame) {
  return protocol == kTcp ? parse_tcp(bytes, frame) : parse_udp(bytes, frame);
}

bool is_carried(std::uint8_t protocol) { return protocol == kUdp || protocol == kTcp; }

IpAddress address_v4(const std::uint8_t* at) { return IpAddress::v4(at[0], at[1], at[2], at[3]); }

IpAddress address_v6(const std::uint8_t* at) {
  std::array<std::uint8_t, 16> bytes;
  std::copy(at, at + 16, bytes.begin());
  return IpAddress::v6(bytes);
}

// `missing`: bytes of the frame that the capture did not keep.
FrameFault parse_ipv4(ByteView bytes, std::size_t missing, CarriedPacket& frame) {
  if (bytes.size() < kIpv4Header) return FrameFault::cut_short;
  const std::size_t header = static_cast<std::size_t>(bytes[0] & 0x0F) * 4;
  const std::size_t told = load_be<std::uint16_t>(&bytes[2]);
  const std::size_t total = told == 0 ? bytes.size() + missing : told;
  if (header < kIpv4Header || total < header) return FrameFault::malformed;
  if (!is_carried(bytes[9])) return FrameFault::other_protocol;
  const std::uint16_t fragment = load_be<std::uint16_t>(&bytes[6]);
  if ((fragment & 0x3FFF) != 0) return FrameFault::fragment;  // more to come, or an offset
  if (total > bytes.size()) return FrameFault::cut_short;
  frame.ip = {load_be<std::uint16_t>(&bytes[4]), (fragment & 0x4000) != 0, bytes[1], bytes[8]};
  frame.source.address = address_v4(&bytes[12]);
  frame.destination.address = address_v4(&bytes[16]);
  frame.ip_packet = bytes.first(total);
  return parse_transport(bytes[9], frame.ip_packet.subspan(header), frame);
}

// The length in the jumbo payload option of a hop-by-hop header; 0 without one.
std::size_t jumbo_length(ByteView options) {
  constexpr std::uint8_t kPad1 = 0, kJumbo = 0xC2;
  while (!options.empty()) {
    if (options[0] == kPad1) {
      options = options.subspan(1);
      continue;
    }
    if (options.size() < 2 || options.size() < std::size_t{2} + options[1]) return 0;
    if (options[0] == kJumbo && options[1] == 4) return load_be<std::uint32_t>(&options[2]);
    options = options.subspan(std::size_t{2} + options[1]);
  }
  return 0;
}

FrameFault parse_ipv6(ByteView bytes, std::size_t missing, CarriedPacket& frame) {
  constexpr std::uint8_t kHopByHop = 0;
  if (bytes.size() < kIpv6Header) return FrameFault::cut_short;
  const std::size_t told = load_be<std::uint16_t>(&bytes[4]);
  std::size_t total = told == 0 ? bytes.size() + missing : kIpv6Header + told;
  if (told == 0 && bytes[6] == kHopByHop && bytes.size() >= kIpv6Header + 8) {
    const std::size_t options = (static_cast<std::size_t>(bytes[kIpv6Header + 1]) + 1) * 8;
    const std::size_t there = std::min(options, bytes.size() - kIpv6Header);
    if (const std::size_t length = jumbo_length(bytes.subspan(kIpv6Header + 2, there - 2)); length != 0) total = kIpv6Header + length;
  }
  const auto tos = static_cast<std::uint8_t>((bytes[0] << 4 | bytes[1] >> 4) & 0xFF);
  frame.ip = {0, true, tos, bytes[7]};
  frame.source.address = address_v6(&bytes[8]);
  frame.destination.address = address_v6(&bytes[24]);
  std::uint8_t next = bytes[6];
  std::size_t at = kIpv6Header;
  const auto extends = [](std::uint8_t header) { return header == kHopByHop || header == 43 || header == 60; };
  if (total > bytes.size()) {
    return is_carried(next) || extends(next) ? FrameFault::cut_short : FrameFault::other_protocol;
  }
  // Hop-by-hop, routing and destination options carry their own length in units of eight bytes.
  while (extends(next)) {
    if (total - at < 8) return FrameFault::malformed;
    const std::size_t length = (static_cast<std::size_t>(bytes[at + 1]) + 1) * 8;
    if (length > total - at) return FrameFault::malformed;
    next = bytes[at];
    at += length;
  }
  if (next == 44) return FrameFault::fragment;
  if (!is_carried(next)) return FrameFault::other_protocol;
  frame.ip_packet = bytes.first(total);
  return parse_transport(next, frame.ip_packet.subspan(at), frame);
}

FrameFault parse_ip(ByteView bytes, std::size_t missing, CarriedPacket& frame) {
  if (bytes.empty()) return FrameFault::cut_short;
  switch (bytes[0] >> 4) {
    case 4:
      return parse_ipv4(bytes, missing, frame);
    case 6:
      return parse_ipv6(bytes, missing, frame);
    default:
      return FrameFault::other_protocol;
  }
}

constexpr std::uint16_t kProtocolMctp = 0x00FA;

// Where Linux's cooked headers keep who sent a packet, and to whom.
FrameFault parse_cooked_mctp(ByteView packet, std::uint32_t interface, std::size_t to, ByteView address, CarriedPacket& frame) {
  MctpFacts& facts = frame.mctp.emplace();
  facts.bus = interface;
  facts.broadcast = to == 1;
  facts.address_size = static_cast<std::uint8_t>(std::min(address.size(), facts.source.size()));
  std::copy_n(address.begin(), facts.address_size, facts.source.begin());
  frame.payload = packet;
  frame.ip_packet = {};
  return FrameFault::none;
}

// `at` is where the EtherType stands; VLAN tags may lie between it and the packet.
FrameFault parse_ethertype(ByteView bytes, std::size_t at, std::size_t missing, CarriedPacket& frame) {
  for (;;) {
    if (bytes.size() < at + 2) return FrameFault::cut_short;
    const std::uint16_t type = load_be<std::uint16_t>(&bytes[at]);
    at += 2;
    if (type == 0x8100 || type == 0x88A8 || type == 0x9100) {
      at += 2;
      continue;
    }
    if (type != kEtherIpv4 && type != kEtherIpv6) return FrameFault::other_protocol;
    return parse_ip(bytes.subspan(at), missing, frame);
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
    case link_type::linux_sll2:
      return true;
    default:
      return false;
  }
}

std::array<std::uint8_t, 6> mac_of(const IpAddress& address) {
  std::array<std::uint8_t, 6> mac = {0x02, 0xFB};
  const auto& bytes = address.bytes();
  if (address.is_v4()) {
    std::copy(bytes.begin() + 12, bytes.end(), mac.begin() + 2);
  } else {
    const std::uint64_t mixed = mix64(load_be<std::uint64_t>(bytes.data()) ^ mix64(load_be<std::uint64_t>(&bytes[8])));
    store_be<std::uint32_t>(&mac[2], static_cast<std::uint32_t>(mixed & 0xFFFFFFFF));
  }
  return mac;
}

void append_frame(Bytes& out, const Endpoint& source, const Endpoint& destination, const IpFacts& ip, ByteView payload) {
  BENCH_ASSERT(payload.size() <= kPayloadMax, "a UDP payload fits its IP packet");
  const std::size_t length = kUdpHeader + payload.size();
  const bool v4 = append_headers(out, source, destination, ip, kUdp, length);
  const std::size_t udp = out.size();
  append_be16(out, source.port);
  append_be16(out, destination.port);
  append_be16(out, length);
  append_be16(out, 0);
  append(out, payload);
  if (v4) return;
  const std::uint16_t checksum = checksum_of(source, destination, v4, kUdp, ByteView(out).subspan(udp));
  // 0 would say that there is none.
  store_be<std::uint16_t>(&out[udp + 6], checksum == 0 ? std::uint16_t{0xFFFF} : checksum);
}

void append_frame(Bytes& out, const Endpoint& source, const Endpoint& destination, const IpFacts& ip, const TcpFacts& tcp,
                  ByteView payload) {
  BENCH_ASSERT(payload.size() <= kPayloadMax, "a TCP payload fits its IP packet");
  const bool options = (tcp.flags & tcp_flag::syn) != 0 && tcp.mss != 0;
  const std::size_t header = kTcpHeader + (options ? kSynOptions : 0);
  const bool v4 = append_headers(out, source, destination, ip, kTcp, header + payload.size());
  const std::size_t start = out.size();
  append_be16(out, source.port);
  append_be16(out, destination.port);
  for (const std::uint32_t number : {tcp.seq, tcp.ack}) {
    append_be16(out, number >> 16);
    append_be16(out, number & 0xFFFF);
  }
  out.push_back(static_cast<std::uint8_t>(header / 4 << 4));
  out.push_back(tcp.flags);
  append_be16(out, tcp.window);
  append_be16(out, 0);  // checksum
  append_be16(out, 0);  // urgent pointer
  if (options) {
    append(out, std::array<std::uint8_t, 2>{kOptionMss, 4});
    append_be16(out, tcp.mss);
    append(out, std::array<std::uint8_t, 4>{kOptionNone, kOptionWindowShift, 3, tcp.window_shift});
  }
  append(out, payload);
  store_be<std::uint16_t>(&out[start + 16], checksum_of(source, destination, v4, kTcp, ByteView(out).subspan(start)));
}

void append_mctp_frame(Bytes& out, const MctpFacts& facts, ByteView packet) {
  constexpr std::uint16_t kHardwareMctp = 290;
  constexpr std::uint8_t kToUs = 0, kToAll = 1;
  constexpr std::size_t kAddressRoom = 8;
  append_be16(out, kProtocolMctp);
  append_be16(out, 0);
  append_be16(out, facts.bus >> 16);
  append_be16(out, facts.bus & 0xFFFF);
  append_be16(out, kHardwareMctp);
  out.push_back(facts.broadcast ? kToAll : kToUs);
  out.push_back(facts.address_size);
  append(out, facts.source);
  out.resize(out.size() + kAddressRoom - facts.source.size());
  append(out, packet);
}

FrameFault parse_frame(std::uint32_t link, ByteView bytes, CarriedPacket& frame, std::size_t original) {
  const std::size_t missing = original > bytes.size() ? original - bytes.size() : 0;
  switch (link) {
    case link_type::ethernet:
      return parse_ethertype(bytes, 12, missing, frame);
    case link_type::linux_sll: {
      if (bytes.size() >= 16 && load_be<std::uint16_t>(&bytes[14]) == kProtocolMctp) {
        if (missing != 0) return FrameFault::cut_short;
        const std::size_t size = std::min<std::size_t>(load_be<std::uint16_t>(&bytes[4]), 8);
        return parse_cooked_mctp(bytes.subspan(16), 0, load_be<std::uint16_t>(bytes.data()), bytes.subspan(6, size), frame);
      }
      return parse_ethertype(bytes, 14, missing, frame);
    }
    case link_type::linux_sll2: {
      // The protocol comes first, the packet after twenty bytes.
      if (bytes.size() < 20) return FrameFault::cut_short;
      const std::uint16_t type = load_be<std::uint16_t>(bytes.data());
      if (type == 0x8100 || type == 0x88A8) return parse_ethertype(bytes, 22, missing, frame);
      if (type == kProtocolMctp) {
        if (missing != 0) return FrameFault::cut_short;
        const std::size_t size = std::min<std::size_t>(bytes[11], 8);
        return parse_cooked_mctp(bytes.subspan(20), load_be<std::uint32_t>(&bytes[4]), bytes[10], bytes.subspan(12, size), frame);
      }
      if (type != kEtherIpv4 && type != kEtherIpv6) return FrameFault::other_protocol;
      return parse_ip(bytes.subspan(20), missing, frame);
    }
    case link_type::null:
    case link_type::loop:
      return bytes.size() < 4 ? FrameFault::cut_short : parse_ip(bytes.subspan(4), missing, frame);
    case link_type::raw:
    case link_type::raw_bsd:
    case link_type::raw_openbsd:
    case link_type::ipv4:
    case link_type::ipv6:
      return parse_ip(bytes, missing, frame);
    default:
      return FrameFault::other_protocol;
  }
}

}  // namespace fb::capture
