// Frames around UDP and TCP payloads: built for capture files, and taken apart when one is read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ip.h"
#include "sim/core/trace.h"

namespace fb::capture {

/// Link types of capture files.
namespace link_type {
inline constexpr std::uint32_t null = 0;  ///< four bytes of address family, then IP
inline constexpr std::uint32_t ethernet = 1;
inline constexpr std::uint32_t raw_bsd = 12;
inline constexpr std::uint32_t raw_openbsd = 14;
inline constexpr std::uint32_t raw = 101;
inline constexpr std::uint32_t loop = 108;
inline constexpr std::uint32_t linux_sll = 113;
inline constexpr std::uint32_t ipv4 = 228;
inline constexpr std::uint32_t ipv6 = 229;
inline constexpr std::uint32_t linux_sll2 = 276;
}  // namespace link_type
bool is_known_link_type(std::uint32_t type);

/// A locally administered MAC address that belongs to the IP address: 02:fb and the last four bytes
/// of an IPv4 address, or a hash of an IPv6 one.
std::array<std::uint8_t, 6> mac_of(const IpAddress& address);

/// Longest payload that fits an IP packet of either version, with UDP or with TCP.
inline constexpr std::size_t kPayloadMax = 65'487;

/// Appends Ethernet, IP and UDP headers and the payload. The UDP checksum is 0 on IPv4, as RoCE
/// devices send it, and correct on IPv6. `payload` holds at most kPayloadMax bytes.
void append_frame(Bytes& out, const Endpoint& source, const Endpoint& destination, const IpFacts& ip, ByteView payload);

/// The same with a TCP header, which has its checksum always; a SYN carries its options.
void append_frame(Bytes& out, const Endpoint& source, const Endpoint& destination, const IpFacts& ip, const TcpFacts& tcp,
                  ByteView payload);

/// An MCTP packet as a capture on Linux has it: the "cooked" header of its link type 276 with protocol
/// 00FAh, then the packet.
void append_mctp_frame(Bytes& out, const MctpFacts& facts, ByteView packet);

/// What a frame carries: a UDP datagram, a TCP segment, or an MCTP packet, which is all payload.
struct CarriedPacket {
  Endpoint source;
  Endpoint destination;
  IpFacts ip;
  std::optional<TcpFacts> tcp;
  std::optional<MctpFacts> mctp;
  ByteView payload;
  ByteView ip_packet;  ///< from the IP header to the end that the header gives
};

enum class FrameFault { none, other_protocol, fragment, cut_short, malformed };

/// Takes a frame apart; any bytes will do. `original`: its bytes on the wire, where the capture kept fewer. A packet that an
/// adapter is yet to cut up (TSO, BIG TCP) may have 0 for its length: then it is as long as the frame.
FrameFault parse_frame(std::uint32_t link, ByteView bytes, CarriedPacket& packet, std::size_t original = 0);

}  // namespace fb::capture
