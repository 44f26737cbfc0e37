#include "sim/net/l2_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace fb::net {

namespace {

constexpr int kSocketBuffer = 8 << 20;

Failure<Problem> wrong(const std::string& path, std::string_view why) { return {Problem{fmt::format("unix socket {}: {}", path, why)}}; }

Failure<Problem> wrong_interface(const std::string& name, std::string_view why) {
  return {Problem{fmt::format("interface {}: {}", name, why)}};
}

template <class Address>
const sockaddr* plain(const Address& address) {
  return static_cast<const sockaddr*>(static_cast<const void*>(&address));
}

template <class Address>
sockaddr_storage stored(const Address& address) {
  sockaddr_storage made{};
  static_assert(sizeof address <= sizeof made);
  std::memcpy(&made, &address, sizeof address);
  return made;
}

bool fill(sockaddr_un& to, const std::string& path) {
  to = {};
  to.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof to.sun_path) return false;
  std::memcpy(to.sun_path, path.data(), path.size());
  return true;
}

/// Takes away what a process that was killed left there; never what somebody uses, or a file.
Result<void> make_room_for(const std::string& path, const sockaddr_un& address) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return wrong(path, "there is a file of that name");
  const int probe = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool used = probe >= 0 && connect(probe, plain(address), sizeof address) == 0;
  if (probe >= 0) close(probe);
  if (used) return wrong(path, "another process has it open");
  unlink(path.c_str());
  return {};
}

}  // namespace

Result<std::unique_ptr<L2Socket>> L2Socket::on_unix_sockets(const std::string& path, const std::string& peer) {
  sockaddr_un ours, theirs;
  if (!fill(ours, path)) return wrong(path, "no path for a socket (empty or too long)");
  if (!fill(theirs, peer)) return wrong(peer, "no path for a socket (empty or too long)");
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return wrong(path, std::strerror(errno));
  auto made = std::make_unique<L2Socket>(fd, stored(theirs), socklen_t{sizeof theirs});
  if (auto taken = make_room_for(path, ours); !taken) return Failure{taken.error()};
  if (bind(fd, plain(ours), sizeof ours) != 0) return wrong(path, std::strerror(errno));
  made->path_ = path;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBuffer, sizeof kSocketBuffer);
  return made;
}

Result<std::unique_ptr<L2Socket>> L2Socket::on_interface(const std::string& name) {
  const unsigned index = if_nametoindex(name.c_str());
  if (index == 0) return wrong_interface(name, std::strerror(errno));
  // Nothing is heard before it is bound to the one interface.
  const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 && errno == EPERM) return wrong_interface(name, "raw Ethernet needs CAP_NET_RAW");
  if (fd < 0) return wrong_interface(name, std::strerror(errno));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_ALL);
  at.sll_ifindex = static_cast<int>(index);
  auto made = std::make_unique<L2Socket>(fd, stored(at), socklen_t{sizeof at});
  packet_mreq all{};
  all.mr_ifindex = at.sll_ifindex;
  all.mr_type = PACKET_MR_PROMISC;
  const int yes = 1;
  if (bind(fd, plain(at), sizeof at) != 0 || setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0 ||
      setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) != 0) {
    return wrong_interface(name, std::strerror(errno));
  }
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof kSocketBuffer);
  return made;
}

L2Socket::~L2Socket() {
  if (!path_.empty()) unlink(path_.c_str());
  close(fd_);
}

int L2Socket::send(ByteView frame) const {
  const auto sent = sendto(fd_, frame.data(), frame.size(), MSG_DONTWAIT, plain(peer_), peer_size_);
  return sent >= 0 ? 0 : errno;
}

}  // namespace fb::net
