// UDP ports of one's own in place of RoCEv2's, for machines where one port cannot be open at several addresses (Wine). Everybody
// involved has the same list, so that each side knows the other's; engines see the usual port on both sides.
#pragma once

#include <memory>
#include <vector>

#include "sim/net/datagram.h"

namespace fb::networkdirect {

/// `places`: addresses with their ports; 0 is the usual one.
std::unique_ptr<net::DatagramHost> with_own_ports(std::unique_ptr<net::DatagramHost> host, std::vector<Endpoint> places);

}  // namespace fb::networkdirect
