#include "cli/preload/client.h"

#include <sys/un.h>

#include <atomic>
#include <cstdlib>

#include "sim/mctp/i2c_frame.h"
#include "sim/mctp/socket_frame.h"

namespace fb::preload {

const char* bus() { return getenv(mctp::kSocketVariable); }
const char* adapters() { return getenv(mctp::kI2cVariable); }

namespace {

constexpr int kKnown = 4096;
std::atomic<bool> g_foreign[kKnown], g_no_adapter[kKnown];  // for sure no socket of the bus, no adapter

bool connected_to(const char* path, int fd, std::atomic<bool> (&others)[kKnown]) {
  if (path == nullptr || fd < 0 || (fd < kKnown && others[fd])) return false;
  const int before = errno;
  sockaddr_un to = {};
  socklen_t size = sizeof to;
  const bool same =
      syscall(SYS_getpeername, fd, &to, &size) == 0 && to.sun_family == AF_UNIX && std::strncmp(to.sun_path, path, sizeof to.sun_path) == 0;
  if (!same && fd < kKnown) others[fd] = true;
  errno = before;
  return same;
}

}  // namespace

void forget(int fd) {
  if (fd >= 0 && fd < kKnown) g_foreign[fd] = g_no_adapter[fd] = false;
}
bool ours(int fd) { return connected_to(bus(), fd, g_foreign); }
bool is_adapter(int fd) { return connected_to(adapters(), fd, g_no_adapter); }

int connected(const char* path, bool close_on_exec, bool non_blocking, int none) {
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, path, sizeof to.sun_path - 1);
  const int fd = NEXT(socket)(AF_UNIX, SOCK_SEQPACKET | (close_on_exec ? SOCK_CLOEXEC : 0), 0);
  if (fd < 0) return fd;
  if (NEXT(connect)(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    NEXT(close)(fd);
    return failed(none);
  }
  if (non_blocking) NEXT(fcntl)(fd, F_SETFL, O_NONBLOCK);
  forget(fd);
  return fd;
}

}  // namespace fb::preload
