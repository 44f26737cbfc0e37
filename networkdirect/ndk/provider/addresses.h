// Socket addresses as NDK passes them.
#pragma once

#include <ndkpi.h>

#include <optional>

#include "base/ip.h"

namespace fb::ndk::provider {

/// Nothing when it is no IPv4 or IPv6 address, or cut.
std::optional<Endpoint> endpoint_of(const SOCKADDR* address, ULONG length);
/// *length is room before and what is needed afterwards. STATUS_BUFFER_TOO_SMALL when `out` is null or too short.
NTSTATUS put_endpoint(const Endpoint& endpoint, SOCKADDR* out, ULONG* length);
/// 0.0.0.0 or ::.
bool unspecified(const IpAddress& address);

}  // namespace fb::ndk::provider
