#include "cli/drive/sessions.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/drive/driver.h"

namespace fb::drive {

namespace {

constexpr int kWaiting = 16;
constexpr int kTokenSeconds = 10;
constexpr std::size_t kTokenMax = 1024;

struct Place {
  std::string address, port;
};

Place place_of(const std::string& text, const std::string& option) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw UserError(option + " " + text + ": it is ADDRESS:PORT");
  Place place{text.substr(0, colon), text.substr(colon + 1)};
  const bool bracketed = place.address.starts_with('[') && place.address.ends_with(']');
  if (bracketed) place.address = place.address.substr(1, place.address.size() - 2);
  return place;
}

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Found find(const std::string& text, const std::string& option, int flags) {
  const Place place = place_of(text, option);
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICSERV | flags;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(place.address.c_str(), place.port.c_str(), &wanted, &found);
  if (error != 0) throw UserError(option + " " + text + ": " + gai_strerror(error));
  return {found, &freeaddrinfo};
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

int listener_at(const std::string& text, bool guarded) {
  const Found found = find(text, "--listen", AI_PASSIVE);
  if (!guarded && !is_loopback(*found->ai_addr)) {
    throw UserError("--listen " + text + ": without --token-file a driver listens on loopback alone, since who connects has root's powers");
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, kWaiting) != 0) {
    throw UserError("--listen " + text + ": " + std::strerror(errno));
  }
  return fd;
}

/// Where it listens in truth: port 0 stands for any.
std::string words_of(int listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char host[INET6_ADDRSTRLEN + 1], port[8];
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  const bool v6 = address.ss_family == AF_INET6;
  return (v6 ? "[" : "") + std::string(host) + (v6 ? "]:" : ":") + port;
}

/// Whether the first line is the token. Takes no byte behind it. Whatever differs, it takes the same time.
bool says_token(int connection, const std::string& token) {
  const timeval patience{.tv_sec = kTokenSeconds, .tv_usec = 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string line;
  char one = 0;
  while (line.size() <= kTokenMax && recv(connection, &one, 1, 0) == 1 && one != '\n') line += one;
  const timeval none{};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
  unsigned differs = one == '\n' && line.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i) {
    differs |= static_cast<unsigned char>(token[i]) ^ static_cast<unsigned char>(i < line.size() ? line[i] : 0);
  }
  return differs == 0;
}

/// In the child: the connection is its standard input and output, and it ends in order when the listener has gone.
[[noreturn]] void serve_one(int connection, const std::string& token, const Serving& serving) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (!token.empty() && !says_token(connection, token)) {
    std::fprintf(stderr, "%s: a connection without the token was closed\n", serving.name.c_str());
    _exit(2);
  }
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  dup2(connection, STDIN_FILENO);
  dup2(connection, STDOUT_FILENO);
  close(connection);
  _exit(serve(serving));
}

bool pass_on(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int serve_sessions(const std::string& address, const std::string& token, const Serving& serving) {
  const int listener = listener_at(address, !token.empty());
  sigset_t heard;
  sigemptyset(&heard);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&heard, signal);
  sigset_t before;
  sigprocmask(SIG_BLOCK, &heard, &before);
  const int signals = signalfd(-1, &heard, SFD_CLOEXEC);
  std::printf("listening on %s\n", words_of(listener).c_str());
  if (std::fflush(stdout) != 0) throw UserError(std::string("standard output cannot be written: ") + std::strerror(errno));
  std::vector<pid_t> sessions;
  for (bool over = false; !over;) {
    pollfd watched[] = {{listener, POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) {
      signalfd_siginfo signal{};
      over = read(signals, &signal, sizeof signal) != sizeof signal || signal.ssi_signo != SIGCHLD;
      std::erase_if(sessions, [](pid_t one) { return waitpid(one, nullptr, WNOHANG) != 0; });
    }
    if (watched[0].revents == 0) continue;
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    const pid_t child = fork();
    if (child == 0) {
      sigprocmask(SIG_SETMASK, &before, nullptr);
      close(listener);
      close(signals);
      serve_one(connection, token, serving);
    }
    close(connection);
    if (child > 0) sessions.push_back(child);
  }
  close(listener);
  for (const pid_t one : sessions) kill(one, SIGTERM);
  for (const pid_t one : sessions) waitpid(one, nullptr, 0);
  return 0;
}

int join_session(const std::string& address, const std::string& token) {
  const Found found = find(address, "--connect", 0);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
    throw UserError("--connect " + address + ": " + std::strerror(errno));
  }
  if (!token.empty() && !pass_on(fd, token + "\n")) throw UserError("--connect " + address + ": " + std::strerror(errno));
  bool heard = false;
  pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {fd, POLLIN, 0}};
  for (char buffer[65536];;) {
    if (poll(watched, 2, -1) < 0) continue;
    if (watched[0].revents != 0) {
      const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
      if (got <= 0) {
        shutdown(fd, SHUT_WR);  // the session ends in order, and may have something to say yet
        watched[0].fd = -1;
      } else if (!pass_on(fd, {buffer, static_cast<std::size_t>(got)})) {
        break;
      }
    }
    if (watched[1].revents == 0) continue;
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0 || !pass_on(STDOUT_FILENO, {buffer, static_cast<std::size_t>(got)})) break;
    heard = true;
  }
  close(fd);
  if (!heard)
    throw UserError("--connect " + address + ": the driver closed the connection" + (token.empty() ? "; it may want a token" : ""));
  return 0;
}

}  // namespace fb::drive
