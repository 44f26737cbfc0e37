// The two check codes of MCTP bindings: the PEC of SMBus and the FCS of the serial line. No library of
// the distribution has them in these forms.
#pragma once

#include <array>

#include "base/bytes.h"

namespace fb::mctp {

namespace crc_detail {

consteval std::array<std::uint8_t, 256> pec_table() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned at = 0; at < 256; ++at) {
    unsigned value = at;
    for (int bit = 0; bit < 8; ++bit) value = (value & 0x80) != 0 ? (value << 1 ^ 0x07) : value << 1;
    table[at] = static_cast<std::uint8_t>(value & 0xFF);
  }
  return table;
}

consteval std::array<std::uint16_t, 256> fcs_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned at = 0; at < 256; ++at) {
    unsigned value = at;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? (value >> 1 ^ 0x8408) : value >> 1;
    table[at] = static_cast<std::uint16_t>(value);
  }
  return table;
}

inline constexpr std::array<std::uint8_t, 256> kPecTable = pec_table();
inline constexpr std::array<std::uint16_t, 256> kFcsTable = fcs_table();

}  // namespace crc_detail

/// CRC-8 of SMBus packet error checking: polynomial 07h, from 0, not reflected.
constexpr std::uint8_t pec(ByteView bytes, std::uint8_t start = 0) {
  std::uint8_t value = start;
  for (const std::uint8_t byte : bytes) value = crc_detail::kPecTable[value ^ byte];
  return value;
}

inline constexpr std::uint16_t kFcsStart = 0xFFFF;

/// One byte more in a frame check sequence.
constexpr std::uint16_t fcs_add(std::uint16_t value, std::uint8_t byte) {
  return static_cast<std::uint16_t>(value >> 8 ^ crc_detail::kFcsTable[(value ^ byte) & 0xFF]);
}

/// FCS-16 of a serial frame: reflected 1021h from FFFFh, and sent as it is, not inverted as PPP does.
constexpr std::uint16_t fcs(ByteView bytes, std::uint16_t start = kFcsStart) {
  std::uint16_t value = start;
  for (const std::uint8_t byte : bytes) value = fcs_add(value, byte);
  return value;
}

}  // namespace fb::mctp
