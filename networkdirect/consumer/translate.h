// Values of the RDMA interface in NetworkDirect's terms, and back.
#pragma once

#include <ndspi.h>
#include <ws2tcpip.h>

#include <optional>

#include "sim/rdma/verbs_types.h"

namespace fb::networkdirect::consumer {

/// For IND2MemoryRegion::Register.
ULONG region_flags(rdma::Access access);

rdma::CompletionStatus completion_status(HRESULT status, ND2_REQUEST_TYPE type);
rdma::CompletionOpcode completion_opcode(ND2_REQUEST_TYPE type);
/// What a request of that kind is when it completes; empty for requests that NetworkDirect has not.
std::optional<rdma::CompletionOpcode> completion_opcode(rdma::SendOpcode opcode);

/// How an attempt to connect ended that did not succeed.
enum class ConnectFailure { refused, unreachable, gone, no_resources };
ConnectFailure connect_failure(HRESULT status);

/// A socket address of either family.
class SocketAddress {
 public:
  SocketAddress() = default;
  explicit SocketAddress(const Endpoint& endpoint);
  struct sockaddr* get() {
    return reinterpret_cast<struct sockaddr*>(&storage_);
  }
  const struct sockaddr* get() const { return reinterpret_cast<const struct sockaddr*>(&storage_); }
  static Endpoint read(const struct sockaddr* address);
  Endpoint endpoint() const { return read(get()); }

  ULONG length = sizeof(sockaddr_in6);

 private:
  sockaddr_in6 storage_ = {};
};

}  // namespace fb::networkdirect::consumer
