// Addresses that an adapter does not have: one of another network, and the neighbours of those that it may be asked for.
#pragma once

#include <vector>

#include "base/ip.h"

namespace fb::conformance {

inline std::vector<IpAddress> foreign_addresses(const IpAddress& own) {
  auto neighbour = own.bytes();
  neighbour[15] ^= 0x40;
  // The unspecified address is the one that ends in 0.
  return {IpAddress::v4(192, 0, 2, 77), IpAddress::v6(neighbour), IpAddress::v4(0, 0, 0, 1)};
}

}  // namespace fb::conformance
