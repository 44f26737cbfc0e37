#include <ifaddrs.h>
#include <net/if.h>

#include "networkdirect/library/interfaces.h"
#include "networkdirect/provider/addresses.h"

namespace fb::networkdirect {

std::vector<IpAddress> addresses_of_interfaces() {
  std::vector<IpAddress> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return found;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    const auto endpoint = endpoint_of(at->ifa_addr, sizeof(sockaddr_in6));
    const bool usable = endpoint && (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6);
    if (usable && !is_link_local(endpoint->address)) found.push_back(endpoint->address);
  }
  freeifaddrs(first);
  return found;
}

}  // namespace fb::networkdirect
