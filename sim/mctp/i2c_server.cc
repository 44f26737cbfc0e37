#include "sim/mctp/i2c_server.h"

#include <fcntl.h>
#include <linux/i2c.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "sim/core/unix_socket.h"

namespace fb::mctp {

namespace {

constexpr std::size_t kFilesMax = 1024;
constexpr std::size_t kFrameMax = sizeof(I2cFrame) + I2cAdapter::kMessagesMax * (sizeof(I2cPart) + I2cAdapter::kMessageMax);
constexpr std::uint32_t kAddressMax = 0x7F;

}  // namespace

/// The end of the pipe that a request brought. Whoever keeps it last without an answer leaves the program an end of file, which it
/// takes for an adapter that has gone.
class I2cServer::Answer {
 public:
  explicit Answer(int pipe) : pipe_(pipe) { fcntl(pipe_, F_SETFL, O_NONBLOCK); }
  ~Answer() { ::close(pipe_); }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  void give(int error, ByteView data = {}) {
    I2cFrame frame;
    frame.error = error;
    frame.length = static_cast<std::uint32_t>(error == 0 ? data.size() : 0);
    Bytes all(sizeof frame + frame.length);
    std::memcpy(all.data(), &frame, sizeof frame);
    if (error == 0) std::copy(data.begin(), data.end(), all.begin() + sizeof frame);
    // The pipe is the program's: one that it has filled, or closed, gets nothing.
    [[maybe_unused]] const auto written = ::write(pipe_, all.data(), all.size());
  }

 private:
  int pipe_;
};

/// A file of a program.
class I2cServer::File final : public FdHandler {
 public:
  File(I2cServer& server, int fd) : server_(server), fd_(fd) { server_.world_.real_loop()->watch(fd_, *this); }
  ~File() {
    server_.world_.real_loop()->unwatch(fd_);
    ::close(fd_);
  }
  void on_readable() override;

  I2cAdapter* adapter = nullptr;
  std::uint8_t address = 0;
  bool pec = false;

 private:
  I2cServer& server_;
  int fd_;
};

void I2cServer::File::on_readable() {
  Bytes& buffer = server_.buffer_;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec part = {buffer.data(), buffer.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(fd_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return server_.drop(*this);
  std::shared_ptr<Answer> answer;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    int pipe = -1;
    std::memcpy(&pipe, CMSG_DATA(at), sizeof pipe);
    answer = std::make_shared<Answer>(pipe);
  }
  if (got == 0) return server_.drop(*this);
  const auto size = static_cast<std::size_t>(got);
  if (size < sizeof(I2cFrame) || answer == nullptr || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    ++server_.counters_.malformed;
    if (answer != nullptr) answer->give(EMSGSIZE);
    return;
  }
  I2cFrame frame;
  std::memcpy(&frame, buffer.data(), sizeof frame);
  // The buffer is that of all files, and what is asked may be carried out later.
  const Bytes payload(buffer.begin() + sizeof frame, buffer.begin() + static_cast<std::ptrdiff_t>(size));
  server_.serve(*this, frame, payload, std::move(answer));
}

Result<std::unique_ptr<I2cServer>> I2cServer::open(World& world, std::vector<I2cAdapter*> adapters, const std::string& path) {
  BENCH_ASSERT(world.real_loop() != nullptr, "programs live in real time");
  const auto fd = listen_at(path, SOCK_SEQPACKET);
  if (!fd) return Failure{fd.error()};
  return std::unique_ptr<I2cServer>(new I2cServer(world, std::move(adapters), path, *fd));
}

I2cServer::I2cServer(World& world, std::vector<I2cAdapter*> adapters, std::string path, int fd)
    : world_(world), adapters_(std::move(adapters)), path_(std::move(path)), fd_(fd), buffer_(kFrameMax) {
  world_.real_loop()->watch(fd_, *this);
}

I2cServer::~I2cServer() {
  world_.real_loop()->unwatch(fd_);
  ::close(fd_);
  ::unlink(path_.c_str());
}

void I2cServer::on_readable() {
  const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (files_.size() >= kFilesMax) {
    ::close(fd);
    return;
  }
  ++counters_.opened;
  files_.push_back(std::make_unique<File>(*this, fd));
}

void I2cServer::drop(File& file) {
  std::erase_if(files_, [&](const auto& one) { return one.get() == &file; });
}

void I2cServer::serve(File& file, const I2cFrame& frame, ByteView payload, std::shared_ptr<Answer> answer) {
  ++counters_.calls;
  if (frame.call == I2cCall::open) {
    const bool is_there = frame.value >= 1 && frame.value <= adapters_.size();
    if (is_there) file.adapter = adapters_[frame.value - 1];
    return answer->give(is_there ? 0 : ENOENT);
  }
  if (file.adapter == nullptr) {
    ++counters_.malformed;
    return answer->give(EBADF);
  }
  switch (frame.call) {
    case I2cCall::slave:
      if (frame.value > kAddressMax) return answer->give(EINVAL);
      file.address = static_cast<std::uint8_t>(frame.value);
      return answer->give(0);
    case I2cCall::pec:
      file.pec = frame.value != 0;
      return answer->give(0);
    case I2cCall::transfer:
      return transfer(file, frame, payload, std::move(answer));
    case I2cCall::smbus:
      return smbus(file, frame, payload, std::move(answer));
    case I2cCall::write:
      if (payload.size() > I2cAdapter::kMessageMax) return answer->give(EMSGSIZE);
      return file.adapter->transfer({{.address = file.address, .data = Bytes(payload.begin(), payload.end())}},
                                    [answer](int error, const std::vector<Bytes>&) { answer->give(error); });
    case I2cCall::read:
      if (frame.value > I2cAdapter::kMessageMax) return answer->give(EMSGSIZE);
      return file.adapter->transfer(
          {{.address = file.address, .reads = true, .size = static_cast<std::uint16_t>(frame.value)}},
          [answer](int error, const std::vector<Bytes>& reads) { answer->give(error, error == 0 ? ByteView(reads.front()) : ByteView{}); });
    default:
      ++counters_.malformed;
      return answer->give(EINVAL);
  }
}

void I2cServer::transfer(File& file, const I2cFrame& frame, ByteView payload, std::shared_ptr<Answer> answer) {
  if (frame.value > I2cAdapter::kMessagesMax || payload.size() < frame.value * sizeof(I2cPart)) return answer->give(EINVAL);
  std::vector<I2cMessage> messages;
  std::size_t at = frame.value * sizeof(I2cPart), answered = 0;
  for (std::uint32_t i = 0; i < frame.value; ++i) {
    I2cPart part;
    std::memcpy(&part, payload.data() + i * sizeof part, sizeof part);
    if (part.address > kAddressMax || part.length > I2cAdapter::kMessageMax) return answer->give(EINVAL);
    if ((part.flags & ~(I2C_M_RD | I2C_M_RECV_LEN)) != 0) return answer->give(EOPNOTSUPP);
    I2cMessage made{.address = static_cast<std::uint8_t>(part.address)};
    if ((part.flags & I2C_M_RD) != 0) {
      made.reads = true;
      made.counted = (part.flags & I2C_M_RECV_LEN) != 0;
      made.size = part.length;
      answered += part.length + (made.counted ? 1 + I2C_SMBUS_BLOCK_MAX : 0);
    } else {
      if (part.length > payload.size() - at) return answer->give(EINVAL);
      const ByteView data = payload.subspan(at, part.length);
      made.data.assign(data.begin(), data.end());
      at += part.length;
    }
    messages.push_back(std::move(made));
  }
  if (answered > kI2cAnswerMax) return answer->give(EOPNOTSUPP);
  file.adapter->transfer(std::move(messages), [answer](int error, const std::vector<Bytes>& reads) {
    Bytes all;
    for (const Bytes& one : reads) all.insert(all.end(), one.begin(), one.end());
    answer->give(error, all);
  });
}

void I2cServer::smbus(File& file, const I2cFrame& frame, ByteView payload, std::shared_ptr<Answer> answer) {
  SmbusCall call{.address = file.address, .checks = file.pec, .size = frame.size};
  if (frame.value > 1 || frame.command > 0xFF) return answer->give(EINVAL);
  call.reads = frame.value == I2C_SMBUS_READ;
  call.command = static_cast<std::uint8_t>(frame.command);
  const bool without_data = call.size == I2C_SMBUS_QUICK || (call.size == I2C_SMBUS_BYTE && !call.reads);
  if (payload.empty() && !without_data) return answer->give(EINVAL);
  std::copy_n(payload.begin(), std::min(payload.size(), call.data.size()), call.data.begin());
  file.adapter->smbus(call, [answer](int error, const std::array<std::uint8_t, 34>& data) { answer->give(error, data); });
}

}  // namespace fb::mctp
