#include "sim/net/resolve.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/ip_scope.h"
#include "sim/net/udp_socket.h"

namespace fb::net {

namespace {

constexpr int kProbeMs = 2000;

Failure<Problem> wrong(std::string_view text, std::string_view why) {
  return {Problem{"'" + std::string(text) + "' is no IP address, and no host name that resolves: " + std::string(why)}};
}

/// Letters, digits, dots, hyphens: anything else is a mistyped address, which is not worth a query to a name server.
bool is_host_name(std::string_view text) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_'; };
  const bool only_numbers = text.find_first_not_of("0123456789.") == std::string_view::npos;
  return !text.empty() && text.size() <= 253 && !only_numbers && std::all_of(text.begin(), text.end(), fits);
}

Result<std::vector<IpAddress>> addresses_of(std::string_view text) {
  if (const auto address = IpAddress::parse(text)) return std::vector{*address};
  if (const std::size_t percent = text.find('%'); percent != std::string_view::npos) {
    std::string_view scope = text.substr(percent + 1);
    if (scope.ends_with(']')) scope.remove_suffix(1);
    return wrong(text, "an address with % is a link-local one of IPv6 (fe80::...) and an interface of this machine, not '" +
                           std::string(scope) + "'");
  }
  if (!is_host_name(text)) return wrong(text, "it has the form of neither");
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(std::string(text).c_str(), nullptr, &wanted, &found);
  if (error != 0) return wrong(text, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  std::vector<IpAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    socket_detail::SocketAddress address;
    if (one->ai_addrlen > sizeof address) continue;
    std::memcpy(address.get(), one->ai_addr, one->ai_addrlen);
    if (const auto endpoint = address.endpoint()) addresses.push_back(endpoint->address);
  }
  if (addresses.empty()) return wrong(text, "it has no IP address");
  std::stable_partition(addresses.begin(), addresses.end(), [](const IpAddress& one) { return one.is_v4(); });
  return addresses;
}

}  // namespace

Result<IpAddress> resolve_host(std::string_view text) {
  auto found = addresses_of(text);
  if (!found) return Failure{found.error()};
  return found->front();
}

Result<IpAddress> resolve_service(std::string_view text, std::uint16_t port) {
  auto found = addresses_of(text);
  if (!found) return Failure{found.error()};
  if (found->size() == 1) return found->front();
  for (const IpAddress& one : *found) {
    if (accepts_tcp({one, port})) return one;
  }
  return found->front();
}

bool accepts_tcp(const Endpoint& to) {
  const int fd = socket(to.address.is_v4() ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  socket_detail::SocketAddress address(to);
  bool good = ::connect(fd, address.get(), address.length()) == 0;
  if (!good && errno == EINPROGRESS) {
    pollfd watched{fd, POLLOUT, 0};
    int error = 0;
    socklen_t length = sizeof error;
    good = poll(&watched, 1, kProbeMs) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
  }
  close(fd);
  return good;
}

Result<IpAddress> local_address_towards(const Endpoint& to) {
  // fe80::/10
  const auto& bytes = to.address.bytes();
  if (!to.address.is_v4() && bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80 && scope_of(to.address) == 0) {
    return Failure{
        Problem{to_string(to.address) + " is a link-local address: name its interface, [" + to_string(to.address) + "%INTERFACE]"}};
  }
  const auto none = [&](const char* what) {
    return Failure{Problem{"no way to " + to_string(to.address) + ": " + what + ": " + std::strerror(errno)}};
  };
  const int fd = ::socket(to.address.is_v4() ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return none("socket");
  const socket_detail::SocketAddress peer(to);
  socket_detail::SocketAddress own;
  socklen_t length = sizeof own;
  const bool good = ::connect(fd, peer.get(), peer.length()) == 0 && getsockname(fd, own.get(), &length) == 0;
  const int error = errno;
  ::close(fd);
  errno = error;
  if (!good) return none("connect");
  return own.endpoint().value_or(Endpoint{}).address;
}

}  // namespace fb::net
