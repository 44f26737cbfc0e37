#include "sim/net/udp_socket.h"

#include <errno.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/ip_scope.h"

namespace fb::net::socket_detail {

namespace {

// Not in every distribution's headers.
constexpr int kUdpNoCheck6Rx = 102;
constexpr int kUdpGro = 104;

bool set_option(int fd, int level, int name, int value) { return setsockopt(fd, level, name, &value, sizeof value) == 0; }

// The forced form needs a privilege and ignores the system's limit; the plain one is cut to it.
void set_buffer(int fd, int forced, int plain, int bytes) {
  if (!set_option(fd, SOL_SOCKET, forced, bytes)) set_option(fd, SOL_SOCKET, plain, bytes);
}

Failure<Problem> problem(const Endpoint& local, int error) {
  const char* hint = error == EADDRNOTAVAIL ? " (no interface of this machine has it)" : "";
  return Failure{Problem{fmt::format("UDP {}: {}{}", to_string(local), words_of(error), hint)}};
}

void set_options(int fd, bool v4, int buffer_bytes) {
  if (v4) {
    set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
  } else {
    set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
    // Linux's own RoCE device sends no UDP checksum on IPv6 either.
    set_option(fd, SOL_UDP, kUdpNoCheck6Rx, 1);
  }
  set_option(fd, SOL_UDP, kUdpGro, 1);
  set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, buffer_bytes);
  set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, buffer_bytes);
}

}  // namespace

std::string words_of(int error) {
  std::string words = std::strerror(error);
  if (!words.empty() && words[0] >= 'A' && words[0] <= 'Z') {
    words[0] = static_cast<char>(words[0] - 'A' + 'a');
  }
  return words;
}

SocketAddress::SocketAddress(const Endpoint& endpoint) {
  const auto& bytes = endpoint.address.bytes();
  if (endpoint.address.is_v4()) {
    any_.v4 = {};
    any_.v4.sin_family = AF_INET;
    any_.v4.sin_port = htons(endpoint.port);
    std::memcpy(&any_.v4.sin_addr, bytes.data() + 12, 4);
  } else {
    any_.v6 = {};
    any_.v6.sin6_family = AF_INET6;
    any_.v6.sin6_port = htons(endpoint.port);
    std::memcpy(&any_.v6.sin6_addr, without_scope(endpoint.address).bytes().data(), 16);
    any_.v6.sin6_scope_id = scope_of(endpoint.address);
  }
}

std::optional<Endpoint> SocketAddress::endpoint() const {
  std::array<std::uint8_t, 16> bytes = {};
  if (any_.plain.sa_family == AF_INET) {
    std::memcpy(bytes.data(), &any_.v4.sin_addr, 4);
    return Endpoint{IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]), ntohs(any_.v4.sin_port)};
  }
  if (any_.plain.sa_family != AF_INET6) return std::nullopt;
  std::memcpy(bytes.data(), &any_.v6.sin6_addr, 16);
  return Endpoint{with_scope(IpAddress::v6(bytes), any_.v6.sin6_scope_id), ntohs(any_.v6.sin6_port)};
}

Result<OpenSocket> open_udp(const Endpoint& local, int buffer_bytes) {
  const bool v4 = local.address.is_v4();
  if (local.address == IpAddress{} || local.address == IpAddress::v4(0, 0, 0, 0)) {
    return Failure{Problem{fmt::format("UDP {}: name one address; RoCE packets are checked against it", to_string(local))}};
  }
  const int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return problem(local, errno);
  set_options(fd, v4, buffer_bytes);
  SocketAddress address(local);
  if (bind(fd, address.get(), address.length()) != 0) {
    const int error = errno;
    close(fd);
    return problem(local, error);
  }
  SocketAddress bound;
  socklen_t length = sizeof bound;
  getsockname(fd, bound.get(), &length);
  return OpenSocket{fd, bound.endpoint().value_or(local)};
}

bool can_send_trains(const IpAddress& local) {
  auto probe = open_udp({local, 0}, 65536);
  if (!probe) return false;
  std::array<std::uint8_t, 16> bytes = {};
  bool works = set_option(probe->fd, SOL_UDP, UDP_SEGMENT, 8);
  SocketAddress address(probe->local);
  works = works && sendto(probe->fd, bytes.data(), bytes.size(), MSG_DONTWAIT, address.get(), address.length()) ==
                       static_cast<ssize_t>(bytes.size());
  close(probe->fd);
  return works;
}

std::size_t interface_mtu(const IpAddress& address) {
  constexpr std::size_t kUnknown = 65536;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return kUnknown;
  std::size_t mtu = kUnknown;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    SocketAddress candidate;
    std::memcpy(candidate.get(), entry->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const auto endpoint = candidate.endpoint();
    if (!endpoint || endpoint->address != address) continue;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request = {};
    std::strncpy(request.ifr_name, entry->ifa_name, IFNAMSIZ - 1);
    if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0) {
      mtu = static_cast<std::size_t>(request.ifr_mtu);
    }
    if (fd >= 0) close(fd);
    break;
  }
  freeifaddrs(list);
  return mtu;
}

std::size_t merged_segment(const msghdr& message, std::size_t length) {
  msghdr copy = message;  // the macros want it mutable
  for (cmsghdr* control = CMSG_FIRSTHDR(&copy); control != nullptr; control = CMSG_NXTHDR(&copy, control)) {
    if (control->cmsg_level != SOL_UDP || control->cmsg_type != kUdpGro) continue;
    int size = 0;
    std::memcpy(&size, CMSG_DATA(control), sizeof size);
    if (size > 0 && static_cast<std::size_t>(size) < length) return static_cast<std::size_t>(size);
  }
  return length;
}

}  // namespace fb::net::socket_detail
