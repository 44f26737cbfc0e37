#include "networkdirect/ndutil/address.h"

#include <cstring>

namespace fb::ndutil {

std::size_t Address::size_of(int family) { return family == AF_INET ? sizeof(sockaddr_in) : family == AF_INET6 ? sizeof(sockaddr_in6) : 0; }

std::optional<Address> Address::from(const void* address, std::size_t size) {
  sockaddr head = {};
  if (address == nullptr || size < sizeof(head)) return std::nullopt;
  std::memcpy(&head, address, sizeof(head));
  const std::size_t needed = size_of(head.sa_family);
  if (needed == 0 || size < needed) return std::nullopt;
  Address made;
  std::memcpy(&made.inet_, address, needed);
  if (made.family() == AF_INET) {
    made.inet_.Ipv4.sin_port = 0;
  } else {
    made.inet_.Ipv6.sin6_port = 0;
  }
  return made;
}

const unsigned char* Address::bytes() const {
  return family() == AF_INET ? reinterpret_cast<const unsigned char*>(&inet_.Ipv4.sin_addr)
                             : reinterpret_cast<const unsigned char*>(&inet_.Ipv6.sin6_addr);
}

unsigned Address::bits() const { return family() == AF_INET ? 32 : 128; }

bool Address::is_loopback() const {
  if (family() == AF_INET) return bytes()[0] == 127;
  static constexpr unsigned char kLoopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return std::memcmp(bytes(), kLoopback, sizeof(kLoopback)) == 0;
}

unsigned Address::common_bits(const Address& other) const {
  if (family() != other.family()) return 0;
  unsigned count = 0;
  while (count < bits() && ((bytes()[count / 8] ^ other.bytes()[count / 8]) & (0x80u >> count % 8)) == 0) ++count;
  return count;
}

bool operator==(const Address& a, const Address& b) {
  if (a.family() != b.family() || a.common_bits(b) != a.bits()) return false;
  if (a.family() == AF_INET) return true;
  const auto ours = a.inet_.Ipv6.sin6_scope_id;
  const auto theirs = b.inet_.Ipv6.sin6_scope_id;
  return ours == theirs || ours == 0 || theirs == 0;
}

}  // namespace fb::ndutil
