// Plain UDP programs without anything of the project between them and the kernel: the yardstick that
// the real-time figures are given as ratios of. Busy polling, one thread a side.
#pragma once

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace fb::bench {

class RawSocket {
 public:
  /// Bound to 127.0.0.`last`, any port.
  explicit RawSocket(std::uint8_t last) : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const int buffer = 32 << 20;
    if (setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    }
    const int discover = IP_PMTUDISC_DO;
    setsockopt(fd_, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(0x7F000000u | last);
    socklen_t length = sizeof address_;
    bind(fd_, plain(address_), length);
    getsockname(fd_, plain(address_), &length);
  }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;
  ~RawSocket() { close(fd_); }

  const sockaddr_in& address() const { return address_; }
  void merge_received() {
    const int on = 1;
    setsockopt(fd_, SOL_UDP, 104 /* UDP_GRO */, &on, sizeof on);
  }
  void send_as_trains(int segment) {
    setsockopt(fd_, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment);
  }
  bool send(const std::uint8_t* data, std::size_t size, sockaddr_in to) {
    return sendto(fd_, data, size, 0, plain(to), sizeof to) == static_cast<ssize_t>(size);
  }
  /// -1 when there is nothing.
  ssize_t receive(std::uint8_t* data, std::size_t size, sockaddr_in* from = nullptr) {
    socklen_t length = sizeof(sockaddr_in);
    return recvfrom(fd_, data, size, MSG_DONTWAIT, from == nullptr ? nullptr : plain(*from),
                    from == nullptr ? nullptr : &length);
  }

 private:
  static sockaddr* plain(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }
  int fd_;
  sockaddr_in address_ = {};
};

/// A thread that runs `turn()` until it is destroyed.
template <class Turn>
class Peer {
 public:
  explicit Peer(Turn turn)
      : thread_([this, turn = std::move(turn)]() mutable {
          while (!stop_.load(std::memory_order_relaxed)) turn();
        }) {}
  ~Peer() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// Round trips of `size` bytes against an echoing thread.
class RawPingPong {
 public:
  explicit RawPingPong(std::size_t size) : size_(size) { buffer_.fill(0); }
  bool round_trip() {
    if (!near_.send(buffer_.data(), size_, far_.address())) return false;
    while (near_.receive(buffer_.data(), buffer_.size()) < 0) {
    }
    return true;
  }

 private:
  struct Echo {
    RawSocket& socket;
    std::array<std::uint8_t, 9000> buffer = {};
    void operator()() {
      sockaddr_in from = {};
      const ssize_t got = socket.receive(buffer.data(), buffer.size(), &from);
      if (got >= 0) socket.send(buffer.data(), static_cast<std::size_t>(got), from);
    }
  };
  std::size_t size_;
  RawSocket near_{2}, far_{3};
  std::array<std::uint8_t, 9000> buffer_;
  Peer<Echo> peer_{Echo{far_}};
};

/// Trains of `segments` datagrams of `segment` bytes to a thread that confirms every train; at most
/// kWindow trains are on their way.
class RawTrains {
 public:
  static constexpr int kWindow = 8;
  RawTrains(std::size_t segment, std::size_t segments) : train_(segment * segments) {
    near_.send_as_trains(static_cast<int>(segment));
    far_.merge_received();
  }
  std::size_t train_bytes() const { return train_.size(); }
  bool send_train() {
    confirmed_at_ = 0;
    while (outstanding_ >= static_cast<std::int64_t>(kWindow * train_.size())) take_confirmation();
    if (!near_.send(train_.data(), train_.size(), far_.address())) return false;
    outstanding_ += static_cast<std::int64_t>(train_.size());
    return true;
  }

 private:
  struct Sink {
    RawSocket& socket;
    sockaddr_in to;
    std::vector<std::uint8_t> buffer = std::vector<std::uint8_t>(65536);
    void operator()() {
      const ssize_t got = socket.receive(buffer.data(), buffer.size());
      if (got <= 0) return;
      const auto count = static_cast<std::uint32_t>(got);
      std::array<std::uint8_t, 4> word;
      std::memcpy(word.data(), &count, sizeof count);
      socket.send(word.data(), word.size(), to);
    }
  };
  void take_confirmation() {
    std::uint32_t count = 0;
    std::array<std::uint8_t, 4> word;
    if (near_.receive(word.data(), word.size()) == 4) {
      std::memcpy(&count, word.data(), sizeof count);
      outstanding_ -= count;
      confirmed_at_ = 0;
    } else if (++confirmed_at_ > 1'000'000) {
      outstanding_ = 0;  // a train was lost: go on without it
    }
  }
  std::vector<std::uint8_t> train_;
  RawSocket near_{2}, far_{3};
  std::int64_t outstanding_ = 0;
  int confirmed_at_ = 0;
  Peer<Sink> peer_{Sink{far_, near_.address()}};
};

}  // namespace fb::bench
