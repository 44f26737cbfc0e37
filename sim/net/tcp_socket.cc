#include "sim/net/tcp_socket.h"

#include <errno.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/net/udp_socket.h"

namespace fb::net {

namespace {

using socket_detail::SocketAddress;
using socket_detail::words_of;

constexpr std::size_t kPartsMax = 1024;  // of one call to the kernel
constexpr int kBacklog = 4096;           // the kernel cuts it to its own limit
constexpr int kAcceptsMax = 64;          // a turn
constexpr Duration kAcceptPause = Duration::ms(20);

void set_option(int fd, int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof value); }

bool is_any(const IpAddress& address) { return address == IpAddress{} || address == IpAddress::v4(0, 0, 0, 0); }

Failure<Problem> problem(const Endpoint& local, int error) {
  const char* hint = error == EADDRNOTAVAIL ? " (no interface of this machine has it)" : "";
  return Failure{Problem{fmt::format("TCP {}: {}{}", to_string(local), words_of(error), hint)}};
}

StreamEnd::Kind kind_of(int error) {
  switch (error) {
    case ECONNREFUSED:
      return StreamEnd::Kind::refused;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
      return StreamEnd::Kind::unreachable;
    default:
      return StreamEnd::Kind::reset;
  }
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

void set_stream_options(int fd, const RealHostOptions& options) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (options.stream_buffer_bytes == 0) return;
  set_option(fd, SOL_SOCKET, SO_RCVBUF, options.stream_buffer_bytes);
  set_option(fd, SOL_SOCKET, SO_SNDBUF, options.stream_buffer_bytes);
}

Endpoint local_of(int fd, const Endpoint& otherwise) {
  SocketAddress bound;
  socklen_t length = sizeof bound;
  if (getsockname(fd, bound.get(), &length) != 0) return otherwise;
  return bound.endpoint().value_or(otherwise);
}

// The parts as the kernel wants them: as many as one call takes, and how long they are together.
template <class Part>
struct Pieces {
  explicit Pieces(std::span<const Part> parts) : count(std::min(parts.size(), kPartsMax)) {
    for (std::size_t i = 0; i < count; ++i) {
      list[i] = {const_cast<std::uint8_t*>(parts[i].data()), parts[i].size()};
      total += parts[i].size();
    }
  }
  std::array<iovec, kPartsMax> list;
  std::size_t count;
  std::size_t total = 0;
};

}  // namespace

TcpStream::TcpStream(RealHost& host, int fd, State state, const Endpoint& local, const Endpoint& peer)
    : host_(host),
      loop_(*host.world_.real_loop()),
      fd_(fd),
      state_(state),
      local_(local),
      peer_(peer),
      trace_(host.world_, local, peer, {.shown = host.options_.streams_traced}) {
  if (state_ == State::connecting) {
    loop_.schedule_after(connect_timer_, host_.options_.connect_timeout);
  } else {
    trace_.handshake(false);
  }
  watch();
}

TcpStream::~TcpStream() { abort(); }

// Watches for what matters now.
void TcpStream::watch() {
  watched_ = true;
  loop_.watch(fd_, *this, blocked_ || state_ == State::connecting, reading_ && !finished_);
}

void TcpStream::set_handler(StreamHandler* handler) {
  handler_ = handler;
  if (handler == nullptr || state_ == State::over) return;
  if (state_ == State::ending) {
    loop_.schedule_after(end_, {});
    return;
  }
  armed_ = true;  // if something waits, the kernel says so again
  if (!reading_ || !watched_) {
    reading_ = true;
    watch();
  }
}

// -------------------------------------------------------------------------------------- connecting

void TcpStream::connected_at_once(int error) {
  connect_error_ = error;
  loop_.schedule_after(settled_, {});
}

void TcpStream::settled() {
  if (state_ != State::connecting) return;
  if (connect_error_ != 0) {
    fail(connect_error_);
  } else {
    check_connected();
  }
}

void TcpStream::check_connected() {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    fail(error);
    return;
  }
  loop_.cancel(connect_timer_);
  loop_.cancel(settled_);
  state_ = State::open;
  local_ = local_of(fd_, local_);
  trace_.ends(local_, peer_);
  trace_.handshake(true);
  watch();
  if (handler_ != nullptr) handler_->on_connected();
}

void TcpStream::connect_due() {
  fail(StreamEnd::Kind::unreachable,
       fmt::format("no answer from {} within {}", to_string(peer_), to_string(host_.options_.connect_timeout)));
}

// ----------------------------------------------------------------------------------------- the end

void TcpStream::fail(int error) {
  if (state_ == State::ending || state_ == State::over) return;
  fail(kind_of(error), fmt::format("{}: {}", to_string(peer_), words_of(error)));
}

// The handler hears of it at the end of the turn, never from inside a call of its own.
void TcpStream::fail(StreamEnd::Kind kind, std::string text) {
  if (state_ == State::connecting) {
    if (kind == StreamEnd::Kind::refused) trace_.refused();
    finished_ = true;  // nothing ever came
  } else {
    trace_.reset(false);
  }
  RealStreamCounters& counters = host_.stream_counters_;
  ++(kind == StreamEnd::Kind::refused ? counters.refused : kind == StreamEnd::Kind::unreachable ? counters.unreachable : counters.resets);
  why_ = {kind, std::move(text)};
  state_ = State::ending;
  loop_.cancel(connect_timer_);
  loop_.cancel(settled_);
  loop_.unwatch(fd_);
  watched_ = false;
  loop_.schedule_after(end_, {});
}

void TcpStream::tell_end() {
  if (state_ != State::ending || handler_ == nullptr) return;
  if (armed_ && !finished_) {
    // What the peer said before it broke the connection still lies in the socket.
    const Lifetime::Watch watch(lifetime_);
    armed_ = false;
    handler_->on_readable();
    if (watch.gone()) return;
    if (state_ != State::ending || handler_ == nullptr) return;
  }
  finished_ = false;
  release();
  handler_->on_end(why_);
}

void TcpStream::release() {
  state_ = State::over;
  loop_.cancel(end_);
  loop_.cancel(settled_);
  loop_.cancel(connect_timer_);
  if (flush_asked_) loop_.cancel_turn_end(*this);
  flush_asked_ = false;
  loop_.unwatch(fd_);
  ::close(std::exchange(fd_, -1));
}

void TcpStream::abort() {
  handler_ = nullptr;
  if (state_ == State::over) return;
  if (state_ == State::open) trace_.reset(true);
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  release();
}

void TcpStream::close() {
  handler_ = nullptr;
  if (state_ == State::over) return;
  if (state_ == State::open) trace_.finished(true);
  release();  // the kernel delivers what it took
}

void TcpStream::finish() {
  if (state_ != State::open || std::exchange(half_closed_, true)) return;
  trace_.finished(true);
  shutdown(fd_, SHUT_WR);
}

// --------------------------------------------------------------------------------------- receiving

void TcpStream::on_readable() {
  if (state_ == State::open && armed_ && !finished_ && handler_ != nullptr) [[likely]] {
    armed_ = false;
    handler_->on_readable();
    return;
  }
  if (state_ == State::connecting) {
    check_connected();
    return;
  }
  look_at_error();
}

bool TcpStream::poll() {
  const std::uint64_t& received = host_.stream_counters_.received_bytes;  // outlives the stream
  const std::uint64_t before = received;
  on_readable();
  return received != before;
}

// The descriptor is ready, but nobody wants to read: the end, or a reason to look away.
void TcpStream::look_at_error() {
  if (state_ != State::open) return;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    fail(error);
  } else if (reading_ && !finished_) {
    reading_ = false;
    watch();
  } else {  // a hang-up is told of whatever is watched for
    loop_.unwatch(fd_);
    watched_ = false;
  }
}

std::size_t TcpStream::receive(std::span<const MutableBytes> into) {
  if ((state_ != State::open && state_ != State::ending) || finished_) return 0;
  std::size_t total = 0;
  for (;;) {
    const Pieces<MutableBytes> pieces(into);
    if (pieces.total == 0) return total;
    ++host_.stream_counters_.receive_calls;
    ssize_t got = 0;
    if (pieces.count == 1) {
      got = recv(fd_, pieces.list[0].iov_base, pieces.list[0].iov_len, MSG_DONTWAIT);
    } else {
      msghdr message = {};
      message.msg_iov = const_cast<iovec*>(pieces.list.data());
      message.msg_iovlen = pieces.count;
      got = recvmsg(fd_, &message, MSG_DONTWAIT);
    }
    const int error = errno;
    if (got < 0 && error == EINTR) continue;
    const std::size_t size = got > 0 ? static_cast<std::size_t>(got) : 0;
    trace_.received(into, size);
    host_.stream_counters_.received_bytes += size;
    total += size;
    if (size == pieces.total) {
      into = into.subspan(pieces.count);
      if (into.empty()) return total;
      continue;
    }
    armed_ = true;
    if (got == 0) {
      finished_ = true;
      trace_.finished(false);
      if (state_ == State::open) watch();
    } else if (got < 0 && !would_block(error)) {
      fail(error);
    } else if (state_ == State::open && (!reading_ || !watched_)) {
      reading_ = true;
      watch();
    }
    return total;
  }
}

// ----------------------------------------------------------------------------------------- sending

std::size_t TcpStream::send(std::span<const ByteView> parts) {
  if (state_ != State::open || half_closed_ || blocked_) return 0;
  std::size_t total = 0;
  while (!parts.empty()) {
    const Pieces<ByteView> pieces(parts);
    if (pieces.total == 0) return total;
    ++host_.stream_counters_.send_calls;
    ssize_t sent = 0;
    if (pieces.count == 1) {
      sent = ::send(fd_, pieces.list[0].iov_base, pieces.list[0].iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      msghdr message = {};
      message.msg_iov = const_cast<iovec*>(pieces.list.data());
      message.msg_iovlen = pieces.count;
      sent = sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    const int error = errno;
    if (sent < 0 && error == EINTR) continue;
    if (sent < 0 && !would_block(error)) {
      fail(error);
      return total;
    }
    const std::size_t size = sent > 0 ? static_cast<std::size_t>(sent) : 0;
    trace_.sent(parts, size);
    host_.stream_counters_.sent_bytes += size;
    total += size;
    if (size < pieces.total) {
      ++host_.stream_counters_.blocked;
      blocked_ = true;
      watch();
      return total;
    }
    parts = parts.subspan(pieces.count);
  }
  return total;
}

void TcpStream::on_writable() {
  if (state_ == State::connecting) {
    check_connected();
    return;
  }
  if (!blocked_ || state_ != State::open) return;
  blocked_ = false;
  watch();
  if (handler_ != nullptr) handler_->on_writable();
}

void TcpStream::request_flush() {
  if (flush_asked_ || state_ == State::over || state_ == State::ending) return;
  flush_asked_ = true;
  loop_.at_turn_end(*this);
}

void TcpStream::on_turn_end() {
  flush_asked_ = false;
  if (handler_ != nullptr && state_ != State::ending) handler_->on_flush();
}

// --------------------------------------------------------------------------------------- listening

TcpListener::TcpListener(RealHost& host, int fd, const Endpoint& local, StreamAcceptor& acceptor)
    : host_(host), loop_(*host.world_.real_loop()), fd_(fd), local_(local), acceptor_(acceptor) {
  loop_.schedule_after(resume_, {});  // nothing is accepted before the caller holds the listener
}

TcpListener::~TcpListener() {
  loop_.unwatch(fd_);
  ::close(fd_);
}

void TcpListener::resume() { loop_.watch(fd_, *this); }

void TcpListener::on_readable() {
  const Lifetime::Watch watch(lifetime_);
  for (int i = 0; i < kAcceptsMax; ++i) {
    SocketAddress address;
    socklen_t length = sizeof address;
    const int fd = accept4(fd_, address.get(), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      const int error = errno;
      if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
        // The connection stays in the queue and would make the descriptor readable for ever.
        ++host_.stream_counters_.accept_pauses;
        loop_.unwatch(fd_);
        loop_.schedule_after(resume_, kAcceptPause);
      }
      if (error == EINTR || error == ECONNABORTED) continue;
      break;
    }
    set_stream_options(fd, host_.options_);
    ++host_.stream_counters_.accepted;
    const Endpoint local = local_of(fd, local_);
    acceptor_.on_stream(std::make_unique<TcpStream>(host_, fd, TcpStream::State::open, local, address.endpoint().value_or(Endpoint{})));
    if (watch.gone()) return;
  }
}

// -------------------------------------------------------------------------------------------- host

Result<std::unique_ptr<Stream>> RealHost::connect(const Endpoint& local, const Endpoint& to, StreamHandler& handler) {
  const bool v4 = to.address.is_v4();
  if (to.port == 0 || (local.address.is_v4() != v4 && local.address != IpAddress{})) {
    return Failure{Problem{fmt::format("TCP {}: cannot connect to {}", to_string(local), to_string(to))}};
  }
  const int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return problem(local, errno);
  const auto refuse = [&](int error) {
    ::close(fd);
    return problem(local, error);
  };
  set_stream_options(fd, options_);
  if (!is_any(local.address) || local.port != 0) {
    // Without a port of its own, the connection may share one with others to other peers.
    if (local.port == 0) set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    SocketAddress address(local);
    if (bind(fd, address.get(), address.length()) != 0) return refuse(errno);
  }
  SocketAddress address(to);
  const int error = ::connect(fd, address.get(), address.length()) == 0 ? 0 : errno;
  const bool expected = error == 0 || error == EINPROGRESS || error == EINTR || kind_of(error) != StreamEnd::Kind::reset;
  if (!expected) return refuse(error);
  ++stream_counters_.connections;
  auto stream = std::make_unique<TcpStream>(*this, fd, TcpStream::State::connecting, local_of(fd, local), to);
  stream->set_handler(&handler);
  if (error != EINPROGRESS && error != EINTR) stream->connected_at_once(error);
  return std::unique_ptr<Stream>(std::move(stream));
}

Result<std::unique_ptr<StreamListener>> RealHost::listen(const Endpoint& local, StreamAcceptor& acceptor) {
  const bool v4 = local.address.is_v4();
  const int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return problem(local, errno);
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (!v4) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (options_.stream_buffer_bytes != 0) {
    // The window's scale is agreed in the handshake, from the listener's buffer.
    set_option(fd, SOL_SOCKET, SO_RCVBUF, options_.stream_buffer_bytes);
  }
  SocketAddress address(local);
  if (bind(fd, address.get(), address.length()) != 0 || ::listen(fd, kBacklog) != 0) {
    const int error = errno;
    ::close(fd);
    return problem(local, error);
  }
  return std::unique_ptr<StreamListener>(std::make_unique<TcpListener>(*this, fd, local_of(fd, local), acceptor));
}

}  // namespace fb::net
