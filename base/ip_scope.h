// Link-local IPv6 addresses, fe80::1%eth0, are unique on one interface only. The index of the interface is kept in bytes 4
// to 7 of the address: they are zero in every link-local address (RFC 4291, 2.5.6), so that an IpAddress stays 16 bytes.
// Whatever leaves this process, to a socket or into a packet, is the address without them.
#pragma once

#include <cstdint>

#include "base/ip.h"

namespace fb {

/// The interface index of a link-local address; 0 for all others.
std::uint32_t scope_of(const IpAddress& address);
IpAddress without_scope(const IpAddress& address);
IpAddress with_scope(const IpAddress& address, std::uint32_t interface_index);

}  // namespace fb
