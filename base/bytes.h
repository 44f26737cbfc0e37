// Bytes and byte order. Every load and store of a wire value in the project goes through here.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fb {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

/// Reads sizeof(T) bytes at `from` in the given byte order. Any alignment; usable in constexpr.
template <std::unsigned_integral T>
constexpr T load(const std::uint8_t* from, std::endian order) {
  if (std::is_constant_evaluated()) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const std::size_t at = order == std::endian::little ? sizeof(T) - 1 - i : i;
      value = static_cast<T>((value << 7 << 1) | from[at]);
    }
    return value;
  }
  // g++ 12 does not fold the byte loop into one load; memcpy it does.
  T value;
  std::memcpy(&value, from, sizeof(T));
  if (order != std::endian::native) {
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
  }
  return value;
}

/// Writes sizeof(T) bytes at `to` in the given byte order.
template <std::unsigned_integral T>
constexpr void store(std::uint8_t* to, T value, std::endian order) {
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const std::size_t at = order == std::endian::little ? i : sizeof(T) - 1 - i;
      to[at] = static_cast<std::uint8_t>(value & 0xFF);
      value = static_cast<T>(value >> 7 >> 1);
    }
    return;
  }
  if (order != std::endian::native) {
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
  }
  std::memcpy(to, &value, sizeof(T));
}

template <std::unsigned_integral T>
constexpr T load_le(const std::uint8_t* from) {
  return load<T>(from, std::endian::little);
}
template <std::unsigned_integral T>
constexpr T load_be(const std::uint8_t* from) {
  return load<T>(from, std::endian::big);
}
template <std::unsigned_integral T>
constexpr void store_le(std::uint8_t* to, T value) {
  store<T>(to, value, std::endian::little);
}
template <std::unsigned_integral T>
constexpr void store_be(std::uint8_t* to, T value) {
  store<T>(to, value, std::endian::big);
}

/// "0a1b2c": two digits a byte, no separators.
std::string to_hex(ByteView bytes);

/// The inverse of to_hex; white space is skipped. Empty when the text is not hexadecimal.
Bytes from_hex(std::string_view text);

}  // namespace fb
