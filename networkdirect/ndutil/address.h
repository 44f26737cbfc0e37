// An IP address as the helper library compares them: without a port, whichever family.
#pragma once

#include <cstddef>
#include <optional>

#include <winsock2.h>
#include <ws2tcpip.h>

namespace fb::ndutil {

class Address {
 public:
  /// Empty for what is neither IPv4 nor IPv6, or is shorter than its family says. Any alignment will do.
  static std::optional<Address> from(const void* address, std::size_t size);
  /// Bytes of a socket address of the family; 0 for families that NetworkDirect does not know.
  static std::size_t size_of(int family);

  int family() const { return inet_.si_family; }
  std::size_t size() const { return size_of(family()); }
  /// size() bytes, port 0.
  const SOCKADDR_INET& get() const { return inet_; }
  /// 127.0.0.0/8 or ::1.
  bool is_loopback() const;
  /// Bits at the beginning that both have alike; 0 for two families.
  unsigned common_bits(const Address& other) const;

  /// The same address; a scope counts where both have one.
  friend bool operator==(const Address& a, const Address& b);

 private:
  const unsigned char* bytes() const;
  unsigned bits() const;

  SOCKADDR_INET inet_ = {};
};

}  // namespace fb::ndutil
