#include "networkdirect/provider/addresses.h"

#include <cstring>

#include <ws2tcpip.h>

namespace fb::networkdirect {

namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

ULONG length_of(const IpAddress& address) { return address.is_v4() ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }

void fill(const Endpoint& endpoint, void* out) {
  if (endpoint.address.is_v4()) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(endpoint.port);
    std::memcpy(&to.sin_addr, &endpoint.address.bytes()[12], 4);
    std::memcpy(out, &to, sizeof to);
  } else {
    sockaddr_in6 to = {};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(endpoint.port);
    std::memcpy(&to.sin6_addr, endpoint.address.bytes().data(), 16);
    std::memcpy(out, &to, sizeof to);
  }
}

}  // namespace

std::optional<Endpoint> endpoint_of(const struct sockaddr* address, ULONG length) {
  if (address == nullptr || length < sizeof(sockaddr)) return std::nullopt;
  std::array<std::uint8_t, 16> bytes = {};
  if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
    sockaddr_in from = {};
    std::memcpy(&from, address, sizeof from);
    std::memcpy(bytes.data(), kMappedPrefix.data(), kMappedPrefix.size());
    std::memcpy(&bytes[12], &from.sin_addr, 4);
    return Endpoint{IpAddress::v6(bytes), ntohs(from.sin_port)};
  }
  if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
    sockaddr_in6 from = {};
    std::memcpy(&from, address, sizeof from);
    std::memcpy(bytes.data(), &from.sin6_addr, 16);
    return Endpoint{IpAddress::v6(bytes), ntohs(from.sin6_port)};
  }
  return std::nullopt;
}

HRESULT put_endpoint(const Endpoint& endpoint, struct sockaddr* out, ULONG* length) {
  if (length == nullptr) return ND_INVALID_PARAMETER_2;
  const ULONG needed = length_of(endpoint.address);
  const ULONG given = *length;
  *length = needed;
  if (out == nullptr || given < needed) return ND_BUFFER_OVERFLOW;
  fill(endpoint, out);
  return ND_SUCCESS;
}

HRESULT put_address_list(const std::vector<IpAddress>& addresses, SOCKET_ADDRESS_LIST* out, ULONG* length) {
  if (length == nullptr) return ND_INVALID_PARAMETER_2;
  std::size_t at = offsetof(SOCKET_ADDRESS_LIST, Address) + addresses.size() * sizeof(SOCKET_ADDRESS);
  ULONG needed = static_cast<ULONG>(at);
  for (const IpAddress& address : addresses) needed += length_of(address);
  const ULONG given = *length;
  *length = needed;
  if (out == nullptr || given < needed) return ND_BUFFER_OVERFLOW;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(out);
  out->iAddressCount = static_cast<INT>(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    auto* const to = reinterpret_cast<struct sockaddr*>(bytes + at);
    fill({addresses[i], 0}, to);
    // Entries are addressed as bytes: the structure declares one.
    const SOCKET_ADDRESS entry = {to, static_cast<INT>(length_of(addresses[i]))};
    std::memcpy(bytes + offsetof(SOCKET_ADDRESS_LIST, Address) + i * sizeof entry, &entry, sizeof entry);
    at += length_of(addresses[i]);
  }
  return ND_SUCCESS;
}

}  // namespace fb::networkdirect
