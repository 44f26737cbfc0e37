#include "cli/control/control_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sim/core/unix_socket.h"

namespace fb::cli {

std::string control_path(const std::string& url) {
  constexpr std::string_view kScheme = "unix:";
  return url.starts_with(kScheme) ? url.substr(kScheme.size()) : url;
}

class ControlSocket::Client final : public FdHandler {
 public:
  Client(ControlSocket& socket, int fd) : socket_(socket), fd_(fd) { socket_.world_.real_loop()->watch(fd_, *this); }
  ~Client() {
    socket_.world_.real_loop()->unwatch(fd_);
    ::close(fd_);
  }

  void on_readable() override {
    if (!take() || !answer_lines() || !give()) socket_.drop(*this);
  }
  void on_writable() override {
    if (!give()) socket_.drop(*this);
  }

 private:
  bool take();
  bool answer_lines();
  void say(std::string answer);
  bool give();

  ControlSocket& socket_;
  int fd_;
  std::string in_;
  std::string out_;
  bool ended_ = false;  ///< the client says no more, and goes when it has its answers
};

/// False when the connection is lost.
bool ControlSocket::Client::take() {
  char buffer[65536];
  const ssize_t got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) ended_ = true;
  in_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

/// False for a client that leaves its answers unread.
bool ControlSocket::Client::answer_lines() {
  std::size_t from = 0;
  for (std::size_t end = in_.find('\n'); end != std::string::npos; end = in_.find('\n', from)) {
    const std::string_view line = std::string_view(in_).substr(from, end - from);
    from = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    say(line.size() > kLineMax ? socket_.rpc_.answer("") : socket_.rpc_.answer(line));
    if (out_.size() > kUnreadMax) return false;
  }
  in_.erase(0, from);
  if (in_.size() > kLineMax) {
    say(socket_.rpc_.answer(""));
    in_.clear();
    ended_ = true;
  }
  return true;
}

void ControlSocket::Client::say(std::string answer) {
  if (answer.empty()) return;
  out_ += std::move(answer);
  out_ += '\n';
}

/// False when there is nothing left to do for the client.
bool ControlSocket::Client::give() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(fd_, out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) break;
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  if (ended_ && out_.empty()) return false;
  socket_.world_.real_loop()->watch(fd_, *this, !out_.empty(), !ended_);
  return true;
}

Result<std::unique_ptr<ControlSocket>> ControlSocket::open(World& world, const Rpc& rpc, const std::string& path) {
  BENCH_ASSERT(world.real_loop() != nullptr, "clients live in real time");
  const auto fd = listen_at(path, SOCK_STREAM);
  if (!fd) return Failure{fd.error()};
  return std::unique_ptr<ControlSocket>(new ControlSocket(world, rpc, path, *fd));
}

ControlSocket::ControlSocket(World& world, const Rpc& rpc, std::string path, int fd)
    : world_(world), rpc_(rpc), path_(std::move(path)), fd_(fd) {
  world_.real_loop()->watch(fd_, *this);
}

ControlSocket::~ControlSocket() {
  clients_.clear();
  world_.real_loop()->unwatch(fd_);
  ::close(fd_);
  ::unlink(path_.c_str());
}

void ControlSocket::on_readable() {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (clients_.size() >= kClientsMax) {
    ::close(fd);
    return;
  }
  clients_.push_back(std::make_unique<Client>(*this, fd));
}

void ControlSocket::drop(Client& client) {
  std::erase_if(clients_, [&](const auto& one) { return one.get() == &client; });
}

}  // namespace fb::cli
