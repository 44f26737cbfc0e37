// Values of the RDMA interface in NDK's terms, and back.
#pragma once

#include <ndkpi.h>

#include "sim/rdma/verbs_types.h"

namespace fb::ndk::consumer {

/// For NdkRegisterMr. `sink`: the adapter wants memory that RDMA READs fill to be marked.
ULONG region_flags(rdma::Access access, bool sink);
/// For NdkFastRegister, whose flags have other values.
ULONG fast_register_flags(rdma::Access access, bool sink);

rdma::CompletionOpcode completion_opcode(rdma::SendOpcode opcode);
rdma::CompletionStatus completion_status(NTSTATUS status, rdma::CompletionOpcode opcode);

/// How an attempt to connect ended that did not succeed.
enum class ConnectFailure { refused, unreachable, no_resources, cancelled };
ConnectFailure connect_failure(NTSTATUS status);

/// A socket address of either family, in memory that can be passed to NDK.
struct SocketAddress {
  SocketAddress() = default;
  explicit SocketAddress(const Endpoint& endpoint);
  PSOCKADDR get() { return reinterpret_cast<PSOCKADDR>(&storage); }
  Endpoint endpoint() const;

  SOCKADDR_STORAGE storage = {};
  ULONG length = sizeof(SOCKADDR_STORAGE);
};

}  // namespace fb::ndk::consumer
