// Socket addresses of the interface and IP addresses of the project.
#pragma once

#include <optional>
#include <vector>

#include <ndspi.h>

#include "base/ip.h"

namespace fb::networkdirect {

/// Empty for another family, a null pointer or a length that is too short for its family.
std::optional<Endpoint> endpoint_of(const struct sockaddr* address, ULONG length);

/// Copies `endpoint` out: ND_BUFFER_OVERFLOW with the needed length, and the buffer untouched, when it is too short.
HRESULT put_endpoint(const Endpoint& endpoint, struct sockaddr* out, ULONG* length);

/// A SOCKET_ADDRESS_LIST in one piece; the same rules.
HRESULT put_address_list(const std::vector<IpAddress>& addresses, SOCKET_ADDRESS_LIST* out, ULONG* length);

}  // namespace fb::networkdirect
