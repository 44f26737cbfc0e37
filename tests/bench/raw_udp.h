// Plain UDP programs without anything of the project between them and the kernel: the yardstick that
// the real-time figures are given as ratios of. Busy polling, one thread a side: the near side belongs
// to whoever measures, turn() of the far side is called again and again by a thread of its own.
#pragma once

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
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
  void send_as_trains(int segment) { setsockopt(fd_, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment); }
  bool send(const std::uint8_t* data, std::size_t size, sockaddr_in to) {
    return sendto(fd_, data, size, 0, plain(to), sizeof to) == static_cast<ssize_t>(size);
  }
  /// -1 when there is nothing.
  ssize_t receive(std::uint8_t* data, std::size_t size, sockaddr_in* from = nullptr) {
    socklen_t length = sizeof(sockaddr_in);
    return recvfrom(fd_, data, size, MSG_DONTWAIT, from == nullptr ? nullptr : plain(*from), from == nullptr ? nullptr : &length);
  }

 private:
  static sockaddr* plain(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }
  int fd_;
  sockaddr_in address_ = {};
};

/// Round trips: a question of `asked` bytes, an answer of `answered` bytes.
class RawPingPong {
 public:
  RawPingPong(std::size_t asked, std::size_t answered) : asked_(asked), answered_(answered) {}
  bool round_trip() {
    if (!near_.send(near_buffer_.data(), asked_, far_.address())) return false;
    while (near_.receive(near_buffer_.data(), near_buffer_.size()) < 0) {
    }
    return true;
  }
  void turn() {
    sockaddr_in from = {};
    if (far_.receive(far_buffer_.data(), far_buffer_.size(), &from) < 0) return;
    far_.send(far_buffer_.data(), answered_, from);
  }

 private:
  std::size_t asked_, answered_;
  RawSocket near_{2}, far_{3};
  std::array<std::uint8_t, 9000> near_buffer_ = {}, far_buffer_ = {};
};

/// Questions of `asked` bytes, answers of `answered` bytes, `depth` of them at a time: what has arrived is read with one call as
/// far as the kernel merged it, and what it causes goes out with as few calls as there can be, with segmentation offload.
class RawUdpEcho {
 public:
  RawUdpEcho(std::size_t asked, std::size_t answered, std::size_t depth)
      : asked_(asked),
        answered_(answered),
        depth_(depth),
        in_(kTrainMost),
        out_(kTrainMost, 1),
        far_in_(kTrainMost),
        far_out_(kTrainMost, 2) {
    near_.merge_received();
    near_.send_as_trains(static_cast<int>(asked));
    far_.merge_received();
    far_.send_as_trains(static_cast<int>(answered));
  }
  void run(std::uint64_t count) {
    std::uint64_t sent = 0, answers = 0;
    int idle = 0;
    const auto ask = [&](std::uint64_t more) {
      more = std::min(more, count - sent);
      if (more > 0) send(near_, out_, asked_, more, far_.address());
      sent += more;
    };
    ask(depth_);
    while (answers < count) {
      const ssize_t got = near_.receive(in_.data(), in_.size());
      if (got <= 0) {
        if (++idle > 100'000'000) return;  // a datagram was lost: the figure of this turn is worthless, not the run
        continue;
      }
      idle = 0;
      const std::uint64_t whole = static_cast<std::size_t>(got) / answered_;
      answers += whole;
      ask(whole);
    }
  }
  void turn() {
    const ssize_t got = far_.receive(far_in_.data(), far_in_.size());
    if (got > 0) send(far_, far_out_, answered_, static_cast<std::size_t>(got) / asked_, near_.address());
  }

 private:
  static constexpr std::size_t kTrainMost = 65536, kPayloadMost = 65507, kSegmentsMost = 64;
  static void send(RawSocket& socket, const std::vector<std::uint8_t>& data, std::size_t each, std::uint64_t count, sockaddr_in to) {
    const std::uint64_t most = std::min<std::uint64_t>(kSegmentsMost, kPayloadMost / each);
    for (; count > 0;) {
      const std::uint64_t now = std::min(count, most);
      socket.send(data.data(), now * each, to);
      count -= now;
    }
  }
  std::size_t asked_, answered_, depth_;
  RawSocket near_{2}, far_{3};
  std::vector<std::uint8_t> in_, out_, far_in_, far_out_;
};

/// Trains of `segments` datagrams of `segment` bytes, sent and received with segmentation offload. The
/// receiver confirms every train; at most kWindow trains are on their way. The sender goes round
/// `source_bytes` of data, the receiver round `sink_bytes` of memory: a program that has nothing to
/// send but one train never leaves its cache.
class RawTrains {
 public:
  static constexpr int kWindow = 8;
  RawTrains(std::size_t segment, std::size_t segments, std::size_t source_bytes, std::size_t sink_bytes)
      : train_bytes_(segment * segments), source_(std::max(source_bytes, train_bytes_), 1), sink_(std::max(sink_bytes, kTrainMost), 2) {
    near_.send_as_trains(static_cast<int>(segment));
    far_.merge_received();
  }
  std::size_t train_bytes() const { return train_bytes_; }
  bool send_train() {
    const auto window = static_cast<std::int64_t>(kWindow * train_bytes_);
    while (outstanding_ >= window) take_confirmation();
    if (source_at_ + train_bytes_ > source_.size()) source_at_ = 0;
    if (!near_.send(source_.data() + source_at_, train_bytes_, far_.address())) return false;
    source_at_ += train_bytes_;
    outstanding_ += static_cast<std::int64_t>(train_bytes_);
    return true;
  }
  void wait_for_all() {
    while (outstanding_ > 0) take_confirmation();
  }
  void turn() {
    if (sink_at_ + kTrainMost > sink_.size()) sink_at_ = 0;
    const ssize_t got = far_.receive(sink_.data() + sink_at_, kTrainMost);
    if (got <= 0) return;
    sink_at_ += static_cast<std::size_t>(got);
    const auto count = static_cast<std::uint32_t>(got);
    std::array<std::uint8_t, 4> word;
    std::memcpy(word.data(), &count, sizeof count);
    far_.send(word.data(), word.size(), near_.address());
  }

 private:
  void take_confirmation() {
    std::uint32_t count = 0;
    std::array<std::uint8_t, 4> word;
    if (near_.receive(word.data(), word.size()) == 4) {
      std::memcpy(&count, word.data(), sizeof count);
      outstanding_ -= count;
      asked_ = 0;
    } else if (++asked_ > 1'000'000) {
      outstanding_ = asked_ = 0;  // a train was lost: go on without it
    }
  }
  static constexpr std::size_t kTrainMost = 65536;
  std::size_t train_bytes_;
  std::vector<std::uint8_t> source_, sink_;
  std::size_t source_at_ = 0, sink_at_ = 0;
  RawSocket near_{2}, far_{3};
  std::int64_t outstanding_ = 0;
  int asked_ = 0;
};

}  // namespace fb::bench
