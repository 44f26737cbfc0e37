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
#include <vector>

#include "base/result.h"
#include "cli/drive/driver.h"

namespace fb::drive {

namespace {

constexpr int kWaiting = 16;

struct Place {
  std::string address, port;
};

Place place_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) throw UserError("--listen " + text + ": it is ADDRESS:PORT");
  Place place{text.substr(0, colon), text.substr(colon + 1)};
  const bool bracketed = place.address.starts_with('[') && place.address.ends_with(']');
  if (bracketed) place.address = place.address.substr(1, place.address.size() - 2);
  return place;
}

int listener_at(const std::string& text) {
  const Place place = place_of(text);
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(place.address.c_str(), place.port.c_str(), &wanted, &found);
  if (error != 0) throw UserError("--listen " + text + ": " + gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
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

/// In the child: the connection is its standard input and output, and it ends in order when the listener has gone.
[[noreturn]] void serve_one(int connection, const Options& options) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  dup2(connection, STDIN_FILENO);
  dup2(connection, STDOUT_FILENO);
  close(connection);
  _exit(serve(options));
}

}  // namespace

int serve_sessions(const std::string& address, const Options& options) {
  const int listener = listener_at(address);
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
      serve_one(connection, options);
    }
    close(connection);
    if (child > 0) sessions.push_back(child);
  }
  close(listener);
  for (const pid_t one : sessions) kill(one, SIGTERM);
  for (const pid_t one : sessions) waitpid(one, nullptr, 0);
  return 0;
}

}  // namespace fb::drive
