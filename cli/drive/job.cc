#include "cli/drive/job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/result.h"

namespace fb::drive {

namespace {

using Clock = std::chrono::steady_clock;

constexpr Limit kAskAgain{20};

int left_ms(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<Limit>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw UserError(std::string("no pipe: ") + std::strerror(errno));
    read_end = ends[0];
    write_end = ends[1];
  }
};

/// In the child: it goes with its parent, hears signals again, and has `output` for both streams.
void become_a_child(int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  if (output != STDERR_FILENO) dup2(output, STDERR_FILENO);
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Appends what can be read now; false at the end.
bool read_some(int fd, std::string& to) {
  char buffer[65536];
  const ssize_t got = read(fd, buffer, sizeof buffer);
  if (got > 0) to.append(buffer, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

bool readable(int fd, int limit_ms) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, limit_ms) > 0;
}

}  // namespace

Job::Job(const std::function<std::string()>& work) {
  const Pipe pipe;
  child_ = fork();
  if (child_ == 0) {
    become_a_child(STDERR_FILENO);
    write_all(pipe.write_end, work() + "\n");
    _exit(0);
  }
  close(pipe.write_end);
  fd_ = pipe.read_end;
  if (child_ < 0) ended_ = true;
}

Job::Job(Job&& other) noexcept
    : child_(std::exchange(other.child_, -1)), fd_(std::exchange(other.fd_, -1)), said_(std::move(other.said_)), ended_(other.ended_) {}

Job::~Job() {
  if (fd_ >= 0) close(fd_);
  if (child_ <= 0) return;
  // One that has said its line is as good as gone; whom the kernel holds is left to it.
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, ended_ ? 0 : WNOHANG);
}

bool Job::receive() {
  if (!ended_ && !line()) ended_ = !read_some(fd_, said_);
  return ended_ || line();
}

std::optional<std::string> Job::line() const {
  if (!said_.ends_with('\n')) return std::nullopt;
  return said_.substr(0, said_.size() - 1);
}

bool Job::wait(Limit limit) {
  const auto until = Clock::now() + limit;
  while (readable(fd_, left_ms(until))) {
    if (receive()) return true;
  }
  return false;
}

std::string Ended::why() const {
  if (late) return "it does not end";
  std::string_view text = output;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t last = text.rfind('\n');
  if (last != std::string_view::npos) text.remove_prefix(last + 1);
  return text.empty() ? "exit code " + std::to_string(status) : std::string(text);
}

Ended run(const std::vector<std::string>& words, Limit limit) {
  const auto until = Clock::now() + limit;
  const Pipe pipe;
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  Ended ended;
  const pid_t child = fork();
  if (child == 0) {
    become_a_child(pipe.write_end);
    execvp(argv[0], argv.data());
    write_all(STDERR_FILENO, words.front() + ": " + std::strerror(errno) + "\n");
    _exit(127);
  }
  close(pipe.write_end);
  bool open = child > 0;
  while (open && readable(pipe.read_end, left_ms(until))) open = read_some(pipe.read_end, ended.output);
  close(pipe.read_end);
  ended.late = open;
  if (child <= 0) return ended;
  if (ended.late) kill(child, SIGKILL);
  int status = 0;
  if (waitpid(child, &status, ended.late ? WNOHANG : 0) == child && WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  return ended;
}

void pause_a_little() { std::this_thread::sleep_for(kAskAgain); }

bool wait_until(const std::function<bool()>& done, Limit limit) {
  const auto until = Clock::now() + limit;
  while (!done()) {
    if (Clock::now() >= until) return false;
    pause_a_little();
  }
  return true;
}

}  // namespace fb::drive
