// A plain TCP program without anything of the project between it and the kernel: the yardstick for what
// runs over streams. Busy polling, one thread a side: the near side belongs to whoever measures, turn()
// of the far side is called again and again by a thread of its own.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fb::bench {

/// Questions of `asked` bytes, answers of `answered` bytes, `depth` of them at a time. What has arrived is
/// read with one call and all that it causes is sent with one call: the batching that a good program
/// does. Answers come from one buffer, or go round `memory` bytes where that is given.
class RawTcpEcho {
 public:
  RawTcpEcho(std::size_t asked, std::size_t answered, std::size_t depth, std::size_t memory = 0)
      : asked_(asked), answered_(answered), depth_(depth) {
    const std::size_t room = std::max<std::size_t>(depth * std::max(asked, answered), 65536);
    near_.in.resize(room);
    far_.in.resize(room);
    near_.out.resize(room, 1);
    far_.out.resize(std::max(room, memory), 2);
    far_.goes_round = memory > 0;
    connect_pair();
  }
  ~RawTcpEcho() {
    close(near_.fd);
    close(far_.fd);
  }
  RawTcpEcho(const RawTcpEcho&) = delete;
  RawTcpEcho& operator=(const RawTcpEcho&) = delete;

  /// Asks `count` questions and waits for their answers.
  void run(std::uint64_t count) {
    std::uint64_t asked = 0, answers = 0;
    const auto ask = [&](std::uint64_t more) {
      more = std::min(more, count - asked);
      asked += more;
      near_.owed += more * asked_;
      near_.push();
    };
    ask(depth_);
    while (answers < count) {
      near_.pull();
      const std::size_t whole = near_.take(answered_);
      answers += whole;
      if (whole > 0 || near_.owed > 0) ask(whole);
    }
  }
  void turn() {
    far_.pull();
    far_.owed += far_.take(asked_) * answered_;
    if (far_.owed > 0) far_.push();
  }

 private:
  struct Side {
    int fd = -1;
    std::vector<std::uint8_t> in, out;
    std::size_t owed = 0;  // bytes to send
    std::size_t got = 0;   // bytes received and not yet a whole message
    std::size_t at = 0;    // where in `in` the next bytes go: a program's memory is not one page
    std::size_t from = 0;  // where in `out` the next bytes come from
    bool goes_round = false;
    void pull() {
      if (at == in.size()) at = 0;
      const ssize_t size = recv(fd, in.data() + at, in.size() - at, MSG_DONTWAIT);
      if (size <= 0) return;
      got += static_cast<std::size_t>(size);
      at += static_cast<std::size_t>(size);
    }
    std::size_t take(std::size_t message) {
      const std::size_t whole = got / message;
      got -= whole * message;
      return whole;
    }
    void push() {
      if (owed == 0) return;
      const ssize_t size = send(fd, out.data() + from, std::min(owed, out.size() - from), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (size <= 0) return;
      owed -= static_cast<std::size_t>(size);
      if (goes_round) from = (from + static_cast<std::size_t>(size)) % out.size();
    }
  };
  void connect_pair() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(0x7F000001u);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bind(listener, plain, length);
    getsockname(listener, plain, &length);
    listen(listener, 1);
    near_.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connect(near_.fd, plain, length);
    far_.fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    close(listener);
    const int on = 1;
    for (const int fd : {near_.fd, far_.fd}) {
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
  }
  std::size_t asked_, answered_, depth_;
  Side near_, far_;
};

}  // namespace fb::bench
