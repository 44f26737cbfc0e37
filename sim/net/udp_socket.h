// What sockets need of the kernel: addresses, options, the probe for segmentation offload.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/ip.h"
#include "base/result.h"

namespace fb::net::socket_detail {

/// A kernel socket address of either family.
class SocketAddress {
 public:
  SocketAddress() = default;
  explicit SocketAddress(const Endpoint& endpoint);
  /// Nothing when the family is neither IPv4 nor IPv6.
  std::optional<Endpoint> endpoint() const;
  sockaddr* get() { return &any_.plain; }
  const sockaddr* get() const { return &any_.plain; }
  socklen_t length() const { return any_.plain.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }

 private:
  union Any {
    sockaddr plain;
    sockaddr_in v4;
    sockaddr_in6 v6 = {};
  } any_;
};

/// "address already in use": an errno in the middle of a line.
std::string words_of(int error);

struct OpenSocket {
  int fd;
  Endpoint local;
};

/// A bound, unconnected, non-blocking socket that never fragments and merges what it receives.
Result<OpenSocket> open_udp(const Endpoint& local, int buffer_bytes);

/// Tries a train of two datagrams on a socket of its own.
bool can_send_trains(const IpAddress& local);

/// IP MTU of the interface that has the address; 65536 for loopback and when it is not known.
std::size_t interface_mtu(const IpAddress& address);

/// The size of the datagrams that the kernel merged into this message; `length` when it did not.
std::size_t merged_segment(const msghdr& message, std::size_t length);

}  // namespace fb::net::socket_detail
