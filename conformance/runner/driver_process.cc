#include "conformance/runner/driver_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/result.h"

namespace fb::conformance {

namespace {

/// Of a whole answer: a read of some MiB in hexadecimal digits.
constexpr std::size_t kLongestLine = 64u << 20;
constexpr Duration kLook = Duration::ms(5);
constexpr int kLooksAfterOutput = 20, kLooksAtTheEnd = 600;

[[noreturn]] void cannot(std::string_view what) { throw UserError(std::string(what) + ": " + std::strerror(errno)); }

/// What a program begins with: these streams, no other descriptor, signals as usual, a process group of its own.
class Beginning {
 public:
  Beginning(int input, int output) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&usual, signal);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Beginning() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;

  pid_t shell(std::string command) {
    std::string words[] = {"sh", "-c", std::move(command)};
    char* const argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t child = 0;
    errno = posix_spawn(&child, "/bin/sh", &files_, &attributes_, argv, environ);
    if (errno != 0) cannot("/bin/sh");
    return child;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

void close_if_open(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

DriverProcess::DriverProcess(World& world, const std::string& command, DriverListener& listener)
    : world_(world), loop_(*world.real_loop()), listener_(listener) {
  int input[2], output[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0) cannot("a socket for the driver");
  if (pipe2(output, O_CLOEXEC) != 0) {
    ::close(input[0]);
    ::close(input[1]);
    cannot("a pipe for the driver");
  }
  input_ = input[0];
  output_ = output[0];
  try {
    child_ = Beginning(input[1], output[1]).shell(command);
  } catch (...) {
    for (int fd : {input[0], input[1], output[0], output[1]}) ::close(fd);
    throw;
  }
  ::close(input[1]);
  ::close(output[1]);
  shutdown(input_, SHUT_RD);
  fcntl(input_, F_SETFL, O_NONBLOCK);
  fcntl(output_, F_SETFL, O_NONBLOCK);
  loop_.watch(output_, *this);
}

DriverProcess::~DriverProcess() {
  close_input();
  if (output_ >= 0) loop_.unwatch(output_);
  close_if_open(output_);
  if (!had_time_) wait_a_moment(kLooksAtTheEnd);
  // The group outlives its first process while others of it live.
  kill(-child_, SIGKILL);
  if (!reaped_) waitpid(child_, &status_, 0);
}

void DriverProcess::send(std::string_view line) {
  if (input_ < 0) return;
  const bool idle = unsent_.empty();
  unsent_ += line;
  unsent_ += '\n';
  if (idle) on_writable();
}

void DriverProcess::on_writable() {
  while (!unsent_.empty()) {
    const ssize_t n = ::send(input_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return close_input();  // what has become of it is told by its output
    if (n < 0) break;
    unsent_.erase(0, static_cast<std::size_t>(n));
  }
  watch_input();
}

void DriverProcess::watch_input() {
  if (unsent_.empty()) {
    loop_.unwatch(input_);
  } else {
    loop_.watch(input_, *this, true, false);
  }
}

void DriverProcess::on_readable() {
  if (output_ < 0) return;
  char some[65536];
  const ssize_t n = ::read(output_, some, sizeof some);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return close_output(why_it_ended());
  unread_.append(some, static_cast<std::size_t>(n));
  std::size_t from = 0;
  for (std::size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n', from)) {
    const std::string line = unread_.substr(from, end - from);
    from = end + 1;
    if (!line.empty()) listener_.on_line(line);
  }
  unread_.erase(0, from);
  if (unread_.size() > kLongestLine) close_output("its line has no end");
}

void DriverProcess::close_input() {
  if (input_ >= 0) loop_.unwatch(input_);
  close_if_open(input_);
  unsent_.clear();
}

void DriverProcess::close_output(const std::string& why) {
  loop_.unwatch(output_);
  close_if_open(output_);
  listener_.on_end(why);
}

bool DriverProcess::reap() {
  if (!reaped_) reaped_ = waitpid(child_, &status_, WNOHANG) == child_;
  return reaped_;
}

void DriverProcess::wait_a_moment(int looks) {
  while (!reap() && looks-- > 0) usleep(static_cast<useconds_t>(kLook.count_ns() / 1000));
}

std::string DriverProcess::why_it_ended() {
  // Its output ends a moment before it does.
  wait_a_moment(kLooksAfterOutput);
  if (!reaped_) return "it has closed its output";
  if (WIFSIGNALED(status_)) return "it was ended by signal " + std::to_string(WTERMSIG(status_));
  return "it has ended with exit code " + std::to_string(WEXITSTATUS(status_));
}

bool DriverProcess::end(Duration limit) {
  const Instant until = world_.now() + limit;
  had_time_ = true;
  world_.run_until([&] { return unsent_.empty() || input_ < 0; }, limit);
  close_input();
  world_.run_until([&] { return output_ < 0; }, until - world_.now());
  while (!reap() && world_.now() < until) world_.run_for(kLook);
  return reaped_;
}

}  // namespace fb::conformance
