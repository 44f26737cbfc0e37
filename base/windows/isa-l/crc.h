// The checksums that the project takes from ISA-L, for Windows, where Debian has no ISA-L. Eight bytes a step.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fb::isal {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables reflected_tables(std::uint32_t polynomial) {
  Tables made = {};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    made[0][byte] = crc;
  }
  for (std::size_t ahead = 1; ahead < made.size(); ++ahead) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = made[ahead - 1][byte];
      made[ahead][byte] = (before >> 8) ^ made[0][before & 0xFF];
    }
  }
  return made;
}

inline constexpr Tables kCastagnoli = reflected_tables(0x82F63B78);
inline constexpr Tables kEthernet = reflected_tables(0xEDB88320);

inline std::uint32_t reflected(const Tables& tables, std::uint32_t crc, const unsigned char* at, std::size_t size) {
  static_assert(std::endian::native == std::endian::little);
  for (; size >= 8; size -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= tables[7 - i][(word >> (8 * i)) & 0xFF];
  }
  for (; size > 0; --size, ++at) crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 0xFF];
  return crc;
}

constexpr std::array<std::uint16_t, 256> t10_table() {
  std::array<std::uint16_t, 256> made = {};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x18BB7u : 0);
    made[byte] = static_cast<std::uint16_t>(crc);
  }
  return made;
}

inline constexpr std::array<std::uint16_t, 256> kT10 = t10_table();

}  // namespace fb::isal

/// CRC32C of iSCSI; `init` and the value are not inverted.
inline unsigned int crc32_iscsi(unsigned char* bytes, int size, unsigned int init) {
  return fb::isal::reflected(fb::isal::kCastagnoli, init, bytes, static_cast<std::size_t>(size));
}

/// CRC32 of gzip; `init` is the value so far.
inline std::uint32_t crc32_gzip_refl(std::uint32_t init, const unsigned char* bytes, std::uint64_t size) {
  return ~fb::isal::reflected(fb::isal::kEthernet, ~init, bytes, size);
}

/// The guard of T10 protection information.
inline std::uint16_t crc16_t10dif(std::uint16_t init, const unsigned char* bytes, std::uint64_t size) {
  std::uint32_t crc = init;
  for (; size > 0; --size, ++bytes) crc = ((crc << 8) & 0xFF00) ^ fb::isal::kT10[((crc >> 8) ^ *bytes) & 0xFF];
  return static_cast<std::uint16_t>(crc);
}
