// What fuzzers of unix sockets share: a folder for the socket, connections, and frames that bring the end of a pipe.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/bytes.h"

namespace fb::fuzz {

inline std::string make_directory() {
  std::string name = "/tmp/fabricbench-fuzz-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) std::abort();
  return name;
}

inline int connect_to_socket(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) std::abort();
  return fd;
}

inline void send_pipe(int fd, const Bytes& bytes, int pipe) {
  iovec part = {const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (pipe >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &pipe, sizeof pipe);
  }
  [[maybe_unused]] const auto sent = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// With a pipe nobody reads what comes into it.
inline void send_with(int fd, const Bytes& bytes, bool with_pipe) {
  int ends[2] = {-1, -1};
  if (with_pipe && ::pipe(ends) != 0) std::abort();
  send_pipe(fd, bytes, ends[1]);
  if (!with_pipe) return;
  ::close(ends[0]);
  ::close(ends[1]);
}

/// The frame that comes back, once `settle` has let the server do its work.
template <class Frame, class Settle>
Frame asked(int fd, const Frame& frame, Settle&& settle) {
  Bytes bytes(sizeof frame);
  std::memcpy(bytes.data(), &frame, sizeof frame);
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  send_pipe(fd, bytes, ends[1]);
  ::close(ends[1]);
  settle();
  Frame answer;
  if (::read(ends[0], &answer, sizeof answer) != sizeof answer) std::abort();
  ::close(ends[0]);
  return answer;
}

}  // namespace fb::fuzz
