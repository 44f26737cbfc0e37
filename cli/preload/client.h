// What the parts of the preload library share: the next functions of a name, which descriptors are ours, and questions to the bus.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace fb::preload {

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}
#define NEXT(function)                                                           \
  (*[] {                                                                         \
    static auto* const found = fb::preload::next<decltype(function)>(#function); \
    return found;                                                                \
  }())

/// Where the bus and the I2C adapters listen; null: this program has none.
const char* bus();
const char* adapters();

/// Whether a descriptor is a socket of the bus, or a file of an adapter.
bool ours(int fd);
bool is_adapter(int fd);
/// The descriptor may be another one from now on.
void forget(int fd);

/// A connection, or -1 and `none` as errno where nobody listens.
int connected(const char* path, bool close_on_exec, bool non_blocking, int none);

inline int failed(int error) {
  errno = error;
  return -1;
}

/// Reads until there are `size` bytes or no more; how many there are.
inline std::size_t read_all(int fd, void* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const long got = syscall(SYS_read, fd, static_cast<char*>(to) + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

/// Sends the frame with `parts` behind it and waits for the answer, and for as much behind that as there is room for. An errno in
/// the answer stands for whatever went wrong.
template <class Frame>
Frame ask(int fd, const Frame& frame, const iovec* parts = nullptr, std::size_t count = 0, iovec room = {}) {
  constexpr std::size_t kPartsMax = 64;
  Frame answer;
  answer.error = ENETDOWN;
  iovec all[kPartsMax + 1];
  if (count > kPartsMax) {
    answer.error = EMSGSIZE;
    return answer;
  }
  all[0] = {const_cast<Frame*>(&frame), sizeof frame};
  for (std::size_t i = 0; i < count; ++i) all[i + 1] = parts[i];
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    answer.error = errno;
    return answer;
  }
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = all;
  message.msg_iovlen = count + 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &ends[1], sizeof(int));
  // The descriptor may be non-blocking, the call to the bus is not.
  long sent = 0;
  while ((sent = syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL)) < 0) {
    if (errno == EAGAIN) {
      pollfd writable = {fd, POLLOUT, 0};
      syscall(SYS_poll, &writable, 1, -1);
    } else if (errno != EINTR) {
      answer.error = errno == EPIPE || errno == ECONNRESET ? ENETDOWN : errno;
      break;
    }
  }
  syscall(SYS_close, ends[1]);
  if (sent >= 0) {
    Frame got;
    if (read_all(ends[0], &got, sizeof got) == sizeof got) answer = got;
    if (room.iov_len > 0 && answer.error == 0) read_all(ends[0], room.iov_base, room.iov_len);
  }
  syscall(SYS_close, ends[0]);
  return answer;
}

template <class Frame>
int result_of(const Frame& answer) {
  return answer.error == 0 ? 0 : failed(answer.error);
}

}  // namespace fb::preload
