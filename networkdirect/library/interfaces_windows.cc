#include <winsock2.h>
#include <ws2tcpip.h>
// After the two: it needs their types.
#include <iphlpapi.h>

#include "networkdirect/library/interfaces.h"
#include "networkdirect/provider/addresses.h"

namespace fb::networkdirect {

std::vector<IpAddress> addresses_of_interfaces() {
  constexpr ULONG kFlags = GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_DNS_SERVER;
  std::vector<IpAddress> found;
  std::vector<std::uint64_t> room(2048);
  ULONG status = ERROR_BUFFER_OVERFLOW;
  // Interfaces may come between the answer that it is too little and the next question.
  for (int tries = 0; tries < 4 && status == ERROR_BUFFER_OVERFLOW; ++tries) {
    auto bytes = static_cast<ULONG>(room.size() * sizeof(std::uint64_t));
    status = GetAdaptersAddresses(AF_UNSPEC, kFlags, nullptr, reinterpret_cast<IP_ADAPTER_ADDRESSES*>(room.data()), &bytes);
    if (status == ERROR_BUFFER_OVERFLOW) room.resize(bytes / sizeof(std::uint64_t) + 1);
  }
  if (status != NO_ERROR) return found;
  for (auto* at = reinterpret_cast<IP_ADAPTER_ADDRESSES*>(room.data()); at != nullptr; at = at->Next) {
    if (at->OperStatus != IfOperStatusUp) continue;
    for (auto* unicast = at->FirstUnicastAddress; unicast != nullptr; unicast = unicast->Next) {
      const SOCKET_ADDRESS& address = unicast->Address;
      const auto endpoint = endpoint_of(address.lpSockaddr, static_cast<ULONG>(address.iSockaddrLength));
      if (endpoint && !is_link_local(endpoint->address)) found.push_back(endpoint->address);
    }
  }
  return found;
}

}  // namespace fb::networkdirect
