#include "sim/core/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fb {

namespace {

Failure<Problem> problem(const std::string& path, int error) { return Failure{Problem{path + ": " + std::strerror(error)}}; }

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty()) return Failure{Problem{"a socket needs a path"}};
  if (path.size() >= sizeof address.sun_path) return Failure{Problem{path + ": too long for the name of a socket"}};
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

bool connects(int fd, const sockaddr_un& address) {
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// A socket at which nobody listens any more.
bool is_stale(const sockaddr_un& address, int type) {
  struct stat found = {};
  if (lstat(address.sun_path, &found) != 0 || !S_ISSOCK(found.st_mode)) return false;
  const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const bool refused = !connects(fd, address) && errno == ECONNREFUSED;
  ::close(fd);
  return refused;
}

/// Nobody else can connect, not even between bind() and a later chmod().
bool bind_privately(int fd, const sockaddr_un& address) {
  const mode_t before = umask(0177);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  umask(before);
  errno = error;
  return bound;
}

}  // namespace

Result<int> listen_at(const std::string& path, int type) {
  const auto address = address_of(path);
  if (!address) return Failure{address.error()};
  const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return problem(path, errno);
  bool bound = bind_privately(fd, *address);
  if (!bound && errno == EADDRINUSE && is_stale(*address, type)) {
    ::unlink(path.c_str());
    bound = bind_privately(fd, *address);
  }
  if (bound && ::listen(fd, 64) == 0) return fd;
  const int error = errno;
  ::close(fd);
  return problem(path, error);
}

Result<int> connect_to(const std::string& path, int type) {
  const auto address = address_of(path);
  if (!address) return Failure{address.error()};
  const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return problem(path, errno);
  if (connects(fd, *address)) return fd;
  const int error = errno;
  ::close(fd);
  return problem(path, error);
}

}  // namespace fb
