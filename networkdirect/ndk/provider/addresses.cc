#include "networkdirect/ndk/provider/addresses.h"

#include <cstring>

namespace fb::ndk::provider {

namespace {

constexpr std::size_t kV4InV6 = 12;

}  // namespace

std::optional<Endpoint> endpoint_of(const SOCKADDR* address, ULONG length) {
  if (address == nullptr || length < sizeof(SOCKADDR)) return std::nullopt;
  if (address->sa_family == AF_INET && length >= sizeof(SOCKADDR_IN)) {
    SOCKADDR_IN from = {};
    std::memcpy(&from, address, sizeof from);
    std::array<std::uint8_t, 4> bytes = {};
    std::memcpy(bytes.data(), &from.sin_addr, bytes.size());
    return Endpoint{IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]), ntohs(from.sin_port)};
  }
  if (address->sa_family == AF_INET6 && length >= sizeof(SOCKADDR_IN6)) {
    SOCKADDR_IN6 from = {};
    std::memcpy(&from, address, sizeof from);
    std::array<std::uint8_t, 16> bytes = {};
    std::memcpy(bytes.data(), &from.sin6_addr, bytes.size());
    return Endpoint{IpAddress::v6(bytes), ntohs(from.sin6_port)};
  }
  return std::nullopt;
}

NTSTATUS put_endpoint(const Endpoint& endpoint, SOCKADDR* out, ULONG* length) {
  if (length == nullptr) return STATUS_INVALID_PARAMETER;
  const bool v4 = endpoint.address.is_v4();
  const ULONG needed = v4 ? sizeof(SOCKADDR_IN) : sizeof(SOCKADDR_IN6);
  const ULONG given = *length;
  *length = needed;
  if (out == nullptr || given < needed) return STATUS_BUFFER_TOO_SMALL;
  if (v4) {
    SOCKADDR_IN to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(endpoint.port);
    std::memcpy(&to.sin_addr, &endpoint.address.bytes()[kV4InV6], sizeof to.sin_addr);
    std::memcpy(out, &to, sizeof to);
  } else {
    SOCKADDR_IN6 to = {};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(endpoint.port);
    std::memcpy(&to.sin6_addr, endpoint.address.bytes().data(), sizeof to.sin6_addr);
    std::memcpy(out, &to, sizeof to);
  }
  return STATUS_SUCCESS;
}

bool unspecified(const IpAddress& address) { return address == IpAddress::v4(0, 0, 0, 0) || address == IpAddress(); }

}  // namespace fb::ndk::provider
