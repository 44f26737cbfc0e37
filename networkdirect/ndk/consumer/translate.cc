#include "networkdirect/ndk/consumer/translate.h"

#include <algorithm>
#include <cstring>

namespace fb::ndk::consumer {

using rdma::Access;
using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::SendOpcode;

ULONG region_flags(Access access, bool sink) {
  ULONG flags = NDK_MR_FLAG_ALLOW_LOCAL_READ;
  if (rdma::allows(access, Access::local_write)) {
    flags |= NDK_MR_FLAG_ALLOW_LOCAL_WRITE;
    if (sink) flags |= NDK_MR_FLAG_RDMA_READ_SINK;
  }
  if (rdma::allows(access, Access::remote_read)) flags |= NDK_MR_FLAG_ALLOW_REMOTE_READ;
  if (rdma::allows(access, Access::remote_write)) flags |= NDK_MR_FLAG_ALLOW_REMOTE_WRITE;
  return flags;
}

ULONG fast_register_flags(Access access, bool sink) {
  ULONG flags = 0;
  if (rdma::allows(access, Access::local_write)) {
    flags |= NDK_OP_FLAG_ALLOW_LOCAL_WRITE;
    if (sink) flags |= NDK_OP_FLAG_RDMA_READ_SINK;
  }
  if (rdma::allows(access, Access::remote_read)) flags |= NDK_OP_FLAG_ALLOW_REMOTE_READ;
  if (rdma::allows(access, Access::remote_write)) flags |= NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
  return flags;
}

CompletionOpcode completion_opcode(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::rdma_write:
    case SendOpcode::rdma_write_with_immediate:
      return CompletionOpcode::rdma_write;
    case SendOpcode::rdma_read:
      return CompletionOpcode::rdma_read;
    case SendOpcode::fast_register:
      return CompletionOpcode::fast_register;
    case SendOpcode::local_invalidate:
      return CompletionOpcode::local_invalidate;
    default:
      return CompletionOpcode::send;
  }
}

CompletionStatus completion_status(NTSTATUS status, CompletionOpcode opcode) {
  const bool one_sided = opcode == CompletionOpcode::rdma_read || opcode == CompletionOpcode::rdma_write;
  const bool receive = opcode == CompletionOpcode::receive;
  const bool key = opcode == CompletionOpcode::fast_register || opcode == CompletionOpcode::local_invalidate;
  switch (status) {
    case STATUS_SUCCESS:
      return CompletionStatus::success;
    case STATUS_CANCELLED:
      return CompletionStatus::flushed;
    case STATUS_ACCESS_VIOLATION:
      // NDK has one word for a bad key here and there; of one's own there are fewer.
      if (one_sided) return CompletionStatus::remote_access_error;
      return key ? CompletionStatus::memory_window_bind_error : CompletionStatus::local_protection_error;
    case STATUS_DATA_OVERRUN:
    case STATUS_BUFFER_OVERFLOW:
      return receive ? CompletionStatus::local_length_error : CompletionStatus::remote_invalid_request;
    case STATUS_IO_TIMEOUT:
      return CompletionStatus::retry_exceeded;
    case STATUS_REMOTE_RESOURCES:
      return CompletionStatus::remote_operation_error;
    case STATUS_INVALID_DEVICE_REQUEST:
      return key ? CompletionStatus::memory_window_bind_error : CompletionStatus::local_qp_operation_error;
    default:
      return CompletionStatus::general_error;
  }
}

ConnectFailure connect_failure(NTSTATUS status) {
  switch (status) {
    case STATUS_CONNECTION_REFUSED:
    case STATUS_CONNECTION_ABORTED:
    case STATUS_CONNECTION_INVALID:
      return ConnectFailure::refused;
    case STATUS_IO_TIMEOUT:
    case STATUS_NETWORK_UNREACHABLE:
    case STATUS_HOST_UNREACHABLE:
      return ConnectFailure::unreachable;
    case STATUS_CANCELLED:
      return ConnectFailure::cancelled;
    default:
      return ConnectFailure::no_resources;
  }
}

namespace {

constexpr std::size_t kV4InV6 = 12;

}  // namespace

SocketAddress::SocketAddress(const Endpoint& endpoint) {
  const auto& bytes = endpoint.address.bytes();
  if (endpoint.address.is_v4()) {
    SOCKADDR_IN v4 = {};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&v4.sin_addr, bytes.data() + kV4InV6, sizeof v4.sin_addr);
    std::memcpy(&storage, &v4, length = sizeof v4);
    return;
  }
  SOCKADDR_IN6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(endpoint.port);
  std::memcpy(&v6.sin6_addr, bytes.data(), sizeof v6.sin6_addr);
  std::memcpy(&storage, &v6, length = sizeof v6);
}

Endpoint SocketAddress::endpoint() const {
  if (storage.ss_family == AF_INET6) {
    SOCKADDR_IN6 v6;
    std::memcpy(&v6, &storage, sizeof v6);
    std::array<std::uint8_t, 16> bytes;
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return {IpAddress::v6(bytes), ntohs(v6.sin6_port)};
  }
  SOCKADDR_IN v4;
  std::memcpy(&v4, &storage, sizeof v4);
  std::array<std::uint8_t, 4> bytes;
  std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
  return {IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]), ntohs(v4.sin_port)};
}

}  // namespace fb::ndk::consumer
