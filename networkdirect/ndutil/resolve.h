// Which local address a program takes towards a remote one. README.md says what for.
#pragma once

#include <optional>
#include <vector>

#include "networkdirect/ndutil/address.h"
#include <ndsupport.h>

namespace fb::ndutil {

/// What is known of this machine and this process.
struct Neighbourhood {
  std::vector<Address> served;    ///< the addresses of all providers
  std::vector<Address> opened;    ///< those that this process has had adapters of
  std::optional<Address> routed;  ///< what the system would send from
  bool reachable = false;         ///< whether the system knows a way at all
};

/// The system's own answer; `reachable` says whether it had one.
std::optional<Address> ask_routing(const Address& remote, bool& reachable);

/// ND_INVALID_ADDRESS: no provider's address will do; ND_NETWORK_UNREACHABLE: moreover the system knows no way.
/// `can_open` says whether this process gets an adapter for an address.
HRESULT resolve(const Address& remote, const Neighbourhood& here, bool (*can_open)(const Address&), std::optional<Address>& out);

}  // namespace fb::ndutil
