// IP addresses and UDP/TCP end points as values with a total order.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace fb {

/// An IPv4 or IPv6 address. IPv4 is kept in the last four bytes in the ::ffff:a.b.c.d form, which
/// is the RoCEv2 GID of the address as well.
class IpAddress {
 public:
  constexpr IpAddress() = default;
  static constexpr IpAddress v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    IpAddress address;
    address.bytes_ = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d};
    return address;
  }
  static constexpr IpAddress v6(const std::array<std::uint8_t, 16>& bytes) {
    IpAddress address;
    address.bytes_ = bytes;
    return address;
  }
  /// "192.0.2.1", "fd00::1" or "fe80::1%eth0" (see ip_scope.h), also in square brackets.
  static std::optional<IpAddress> parse(std::string_view text);

  constexpr bool is_v4() const { return load_le<std::uint64_t>(&bytes_[0]) == 0 && load_le<std::uint32_t>(&bytes_[8]) == 0xFFFF0000; }
  /// The 16 bytes of the GID / IPv6 form.
  constexpr const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }

  constexpr auto operator<=>(const IpAddress&) const = default;
  // Compared several times for each packet: two words instead of a call.
  constexpr bool operator==(const IpAddress& other) const {
    return load_le<std::uint64_t>(&bytes_[0]) == load_le<std::uint64_t>(&other.bytes_[0]) &&
           load_le<std::uint64_t>(&bytes_[8]) == load_le<std::uint64_t>(&other.bytes_[8]);
  }

 private:
  std::array<std::uint8_t, 16> bytes_ = {};
};

struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;
  constexpr auto operator<=>(const Endpoint&) const = default;
};

std::string to_string(const IpAddress& address);
/// "192.0.2.1:4420" or "[fd00::1]:4420".
std::string to_string(const Endpoint& endpoint);

}  // namespace fb
