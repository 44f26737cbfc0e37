#include "sim/mctp/serial_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace fb::mctp {

namespace {

constexpr Duration kListenAgain = Duration::ms(100);

Failure<Problem> problem(const std::string& path, std::string_view what, int error) {
  return Failure{Problem{fmt::format("{}: {}: {}", path, what, std::strerror(error))}};
}

speed_t speed_of(unsigned baud) {
  switch (baud) {
    case 9'600:
      return B9600;
    case 19'200:
      return B19200;
    case 38'400:
      return B38400;
    case 57'600:
      return B57600;
    case 115'200:
      return B115200;
    case 230'400:
      return B230400;
    case 460'800:
      return B460800;
    case 921'600:
      return B921600;
    case 1'000'000:
      return B1000000;
    default:
      return B0;
  }
}

RealLoop& real_loop_of(World& world) {
  BENCH_ASSERT(world.real_loop() != nullptr, "descriptors are for a world in real time");
  return *world.real_loop();
}

// Bytes as they are: no echo, no line discipline, no flow control. True unless it is a terminal that refuses.
bool make_raw(int fd, unsigned baud) {
  if (isatty(fd) == 0) return true;
  termios settings{};
  if (tcgetattr(fd, &settings) != 0) return false;
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  settings.c_cflag &= ~static_cast<tcflag_t>(CRTSCTS);
  cfsetispeed(&settings, speed_of(baud));
  cfsetospeed(&settings, speed_of(baud));
  return tcsetattr(fd, TCSANOW, &settings) == 0;
}

Result<int> connect_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return problem(path, "cannot connect", ENAMETOOLONG);
  std::copy(path.begin(), path.end(), address.sun_path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return problem(path, "cannot make a socket", errno);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    close(fd);
    return problem(path, "cannot connect", error);
  }
  return fd;
}

}  // namespace

Result<std::unique_ptr<SerialFd>> SerialFd::open(World& world, const std::string& path, const SerialFdOptions& options) {
  if (speed_of(options.baud) == B0) {
    return Failure{Problem{fmt::format("{}: {} baud is no rate that is known", path, options.baud)}};
  }
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
    const Result<int> fd = connect_socket(path);
    if (!fd) return Failure{fd.error()};
    return std::make_unique<SerialFd>(world, *fd, options);
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return problem(path, "cannot open", errno);
  if (!make_raw(fd, options.baud)) {
    const int error = errno;
    close(fd);
    return problem(path, "cannot set up", error);
  }
  return std::make_unique<SerialFd>(world, fd, options);
}

Result<std::unique_ptr<SerialFd>> SerialFd::open_pty(World& world, const SerialFdOptions& options) {
  const int fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  char path[128];
  if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0 || ptsname_r(fd, path, sizeof path) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return problem("/dev/ptmx", "no pseudo-terminal", error);
  }
  // Held open, so that what is written before anybody listens is kept, and nothing hangs up.
  const int peer = ::open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (peer < 0 || !make_raw(peer, 115'200)) {
    const int error = errno;
    if (peer >= 0) close(peer);
    close(fd);
    return problem(path, "cannot set up", error);
  }
  auto made = std::make_unique<SerialFd>(world, fd, options);
  made->peer_fd_ = peer;
  made->peer_path_ = path;
  return made;
}

SerialFd::SerialFd(World& world, int fd, const SerialFdOptions& options)
    : world_(world),
      loop_(real_loop_of(world)),
      fd_(fd),
      options_(options),
      medium_{options.name, options.bus},
      facts_(serial_facts(options.unit_max)),
      receiver_(options.unit_max, options.unescape) {
  struct stat status {};
  is_socket_ = fstat(fd_, &status) == 0 && S_ISSOCK(status.st_mode);
  const int flags = fcntl(fd_, F_GETFL);
  fcntl(fd_, F_SETFL, flags | O_NONBLOCK);
  loop_.watch(fd_, *this);
}

SerialFd::~SerialFd() {
  if (!hung_up_) loop_.unwatch(fd_);
  close(fd_);
  if (peer_fd_ >= 0) close(peer_fd_);
}

// -------------------------------------------------------------------------------------------- out

void SerialFd::send(const PhysicalAddress&, ByteView packet) {
  Bytes frame;
  serial::encode(frame, packet);
  trace_packet(world_, medium_, options_.name, control::BindingId::serial, {}, packet);
  send_frame(std::move(frame));
}

void SerialFd::send_frame(Bytes bytes) {
  BENCH_ASSERT(written_ == out_.size() && !sent_.scheduled(), "one packet at a time");
  out_ = std::move(bytes);
  written_ = 0;
  delivered_ = true;
  if (!options_.paced) return flush();
  // Start bit, eight of data, stop bit. The frame is there when its last bit is: nobody answers before.
  constexpr std::int64_t kBitsPerByte = 10;
  const auto bits = static_cast<std::int64_t>(out_.size()) * kBitsPerByte;
  loop_.schedule_after(through_, Duration::ns(bits * 1'000'000'000 / options_.baud));
}

void SerialFd::flush() {
  while (written_ < out_.size()) {
    const std::size_t left = out_.size() - written_;
    // A socket whose other end has gone says so in the result, and not by a signal.
    const ssize_t n = is_socket_ ? ::send(fd_, &out_[written_], left, MSG_NOSIGNAL) : write(fd_, &out_[written_], left);
    if (n > 0) {
      written_ += static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && !hung_up_) {
      loop_.watch(fd_, *this, true);
      return;
    }
    delivered_ = false;
    written_ = out_.size();
  }
  loop_.schedule(sent_, world_.now());
}

void SerialFd::on_writable() {
  loop_.watch(fd_, *this, false);
  if (written_ < out_.size()) flush();
}

void SerialFd::tell_sent() {
  if (sink_ != nullptr) sink_->on_packet_sent(delivered_);
}

// --------------------------------------------------------------------------------------------- in

void SerialFd::on_readable() {
  std::uint8_t buffer[4096];
  const ssize_t n = read(fd_, buffer, sizeof buffer);
  if (n > 0) return receive(ByteView(buffer, static_cast<std::size_t>(n)));
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  hang_up();
}

void SerialFd::receive(ByteView bytes) {
  if (tap_) tap_(bytes);
  receiver_.feed(
      bytes,
      [&](ByteView packet) {
        trace_packet(world_, medium_, options_.name, control::BindingId::serial, {}, packet);
        if (sink_ != nullptr) sink_->on_packet({}, packet);
      },
      [&](serial::Fault fault) {
        trace_fault(world_, kTraceDamaged, options_.name, serial::name_of(fault), {});
        if (sink_ != nullptr) sink_->on_damaged();
      });
}

// A descriptor that hangs up is readable all the time: it is looked at now and then instead.
void SerialFd::hang_up() {
  if (hung_up_) return;
  hung_up_ = true;
  loop_.unwatch(fd_);
  if (written_ < out_.size()) {
    loop_.cancel(through_);
    written_ = out_.size();
    delivered_ = false;
    loop_.schedule(sent_, world_.now());
  }
  loop_.schedule_after(again_, kListenAgain);
}

void SerialFd::listen_again() {
  std::uint8_t buffer[4096];
  const ssize_t n = read(fd_, buffer, sizeof buffer);
  const bool alive = n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
  if (!alive) {
    loop_.schedule_after(again_, kListenAgain);
    return;
  }
  hung_up_ = false;
  loop_.watch(fd_, *this);
  if (n > 0) receive(ByteView(buffer, static_cast<std::size_t>(n)));
}

}  // namespace fb::mctp
