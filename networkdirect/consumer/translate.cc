#include "networkdirect/consumer/translate.h"

#include <ws2tcpip.h>

#include <array>
#include <cstring>

namespace fb::networkdirect::consumer {

using rdma::Access;
using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::SendOpcode;

ULONG region_flags(Access access) {
  ULONG flags = 0;
  // Some transports want memory that Reads fill to be marked; it costs the others nothing.
  if (rdma::allows(access, Access::local_write)) flags |= ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_RDMA_READ_SINK;
  if (rdma::allows(access, Access::remote_read)) flags |= ND_MR_FLAG_ALLOW_REMOTE_READ;
  if (rdma::allows(access, Access::remote_write)) flags |= ND_MR_FLAG_ALLOW_REMOTE_WRITE;
  return flags;
}

CompletionStatus completion_status(HRESULT status, ND2_REQUEST_TYPE type) {
  const bool one_sided = type == Nd2RequestTypeRead || type == Nd2RequestTypeWrite;
  switch (status) {
    case ND_SUCCESS:
      return CompletionStatus::success;
    case ND_CANCELED:
      return CompletionStatus::flushed;
    // NetworkDirect does not say whose memory it was; of one-sided requests it is mostly the peer's.
    case ND_ACCESS_VIOLATION:
      return one_sided ? CompletionStatus::remote_access_error : CompletionStatus::local_protection_error;
    case ND_BUFFER_OVERFLOW:
      return CompletionStatus::local_length_error;
    case ND_DATA_OVERRUN:
      return type == Nd2RequestTypeReceive ? CompletionStatus::local_length_error : CompletionStatus::remote_invalid_request;
    case ND_IO_TIMEOUT:
      return CompletionStatus::retry_exceeded;
    case ND_REMOTE_ERROR:
      return CompletionStatus::remote_operation_error;
    case ND_INVALID_DEVICE_REQUEST:
      return CompletionStatus::local_qp_operation_error;
    case ND_INTERNAL_ERROR:
      return CompletionStatus::fatal;
    default:
      return CompletionStatus::general_error;
  }
}

CompletionOpcode completion_opcode(ND2_REQUEST_TYPE type) {
  switch (type) {
    case Nd2RequestTypeReceive:
      return CompletionOpcode::receive;
    case Nd2RequestTypeRead:
      return CompletionOpcode::rdma_read;
    case Nd2RequestTypeWrite:
      return CompletionOpcode::rdma_write;
    case Nd2RequestTypeBind:
      return CompletionOpcode::fast_register;
    case Nd2RequestTypeInvalidate:
      return CompletionOpcode::local_invalidate;
    default:
      return CompletionOpcode::send;
  }
}

std::optional<CompletionOpcode> completion_opcode(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::send:
      return CompletionOpcode::send;
    case SendOpcode::rdma_write:
      return CompletionOpcode::rdma_write;
    case SendOpcode::rdma_read:
      return CompletionOpcode::rdma_read;
    default:
      return std::nullopt;
  }
}

ConnectFailure connect_failure(HRESULT status) {
  switch (status) {
    case ND_CONNECTION_REFUSED:
      return ConnectFailure::refused;
    case ND_CANCELED:
    case ND_CONNECTION_ABORTED:
    case ND_CONNECTION_INVALID:
    case ND_DEVICE_REMOVED:
      return ConnectFailure::gone;
    case ND_NO_MEMORY:
    case ND_INSUFFICIENT_RESOURCES:
    case ND_TOO_MANY_ADDRESSES:
    case ND_ADDRESS_ALREADY_EXISTS:
    case ND_SHARING_VIOLATION:
      return ConnectFailure::no_resources;
    default:
      return ConnectFailure::unreachable;
  }
}

SocketAddress::SocketAddress(const Endpoint& endpoint) {
  if (endpoint.address.is_v4()) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(endpoint.port);
    std::memcpy(&to.sin_addr, &endpoint.address.bytes()[12], 4);
    length = sizeof to;
    std::memcpy(&storage_, &to, sizeof to);
  } else {
    storage_.sin6_family = AF_INET6;
    storage_.sin6_port = htons(endpoint.port);
    std::memcpy(&storage_.sin6_addr, endpoint.address.bytes().data(), 16);
    length = sizeof storage_;
  }
}

Endpoint SocketAddress::read(const struct sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in from = {};
    std::memcpy(&from, address, sizeof from);
    std::array<std::uint8_t, 4> ip = {};
    std::memcpy(ip.data(), &from.sin_addr, ip.size());
    return {IpAddress::v4(ip[0], ip[1], ip[2], ip[3]), ntohs(from.sin_port)};
  }
  if (address->sa_family != AF_INET6) return {};
  sockaddr_in6 from = {};
  std::memcpy(&from, address, sizeof from);
  std::array<std::uint8_t, 16> ip = {};
  std::memcpy(ip.data(), &from.sin6_addr, ip.size());
  return {IpAddress::v6(ip), ntohs(from.sin6_port)};
}

}  // namespace fb::networkdirect::consumer
