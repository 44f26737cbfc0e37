// The addresses of this machine.
#pragma once

#include <vector>

#include "base/ip.h"

namespace fb::networkdirect {

/// Of interfaces that are up, without link-local IPv6 addresses: they mean nothing without their interface.
std::vector<IpAddress> addresses_of_interfaces();

/// "fe80::/64".
inline bool is_link_local(const IpAddress& address) { return address.bytes()[0] == 0xFE && address.bytes()[1] == 0x80; }

}  // namespace fb::networkdirect
