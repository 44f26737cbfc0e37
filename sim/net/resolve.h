// Addresses as people write them: numbers, or names that this machine resolves.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ip.h"
#include "base/result.h"

namespace fb::net {

/// "192.0.2.7", "[fe80::1%eth0]", "localhost", "array7.lab". Of the addresses of a name, IPv4 comes first. The Problem names
/// the text and the reason of the resolver.
Result<IpAddress> resolve_host(std::string_view text);

/// The same for a TCP service on that port: of several addresses, the first that accepts a connection.
Result<IpAddress> resolve_service(std::string_view text, std::uint16_t port);

/// Whether a TCP connection to that place is accepted; it is closed at once.
bool accepts_tcp(const Endpoint& to);

/// Our own address on the way to `to`, as the routing table has it. The Problem says why there is no way.
Result<IpAddress> local_address_towards(const Endpoint& to);

}  // namespace fb::net
