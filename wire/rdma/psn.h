// Packet sequence numbers: 24 bits, compared within half the range.
#pragma once

#include <cstdint>

namespace fb::roce {

inline constexpr std::uint32_t kPsnMask = 0xFFFFFF;
/// At most this many PSNs may be outstanding.
inline constexpr std::uint32_t kPsnHalf = 0x800000;

constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t count) { return (psn + count) & kPsnMask; }
/// How far `a` lies after `b`: negative when it lies before. b + 2^23 counts as before b.
constexpr std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t forward = (a - b) & kPsnMask;
  return forward < kPsnHalf ? static_cast<std::int32_t>(forward) : static_cast<std::int32_t>(forward) - (1 << 24);
}
constexpr bool psn_before(std::uint32_t a, std::uint32_t b) { return psn_distance(a, b) < 0; }

/// PSNs that a message of `length` bytes takes: one a packet, at least one.
constexpr std::uint32_t packets_of(std::uint64_t length, std::uint32_t mtu) {
  return length == 0 ? 1 : static_cast<std::uint32_t>((length + mtu - 1) / mtu);
}

/// Path MTU codes 1..5 stand for 256..4096 bytes; 0 for a code that does not exist.
constexpr std::uint32_t mtu_bytes(unsigned code) { return code >= 1 && code <= 5 ? 128u << code : 0; }

}  // namespace fb::roce
