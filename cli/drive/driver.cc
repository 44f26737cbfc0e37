#include "cli/drive/driver.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/drive/job.h"
#include "cli/drive/protocol.h"
#include "cli/drive/refused.h"

namespace fb::drive {

namespace {

using nlohmann::json;
using namespace std::chrono_literals;

/// Until the kernel has ended the associations. A bench that starts the next driver does not wait for ever.
constexpr Limit kGoodbye = 10s;

/// A request that is being done.
struct Open {
  std::uint64_t id;
  Job job;
};

class Driver {
 public:
  explicit Driver(const Serving& serving) : serving_(serving), adapter_(serving.adapter()) {}
  int serve();

 private:
  bool hear();
  void take(const std::string& line);
  void greet(const Request& hello);
  void begin(const Request& request);
  void collect();
  bool answer(std::uint64_t id, json content);
  void complain(const std::string& text) const { std::fprintf(stderr, "%s: %s\n", serving_.name.c_str(), text.c_str()); }

  const Serving& serving_;
  std::unique_ptr<Adapter> adapter_;
  std::string problem_ = adapter_->missing();
  bool greeted_ = false, over_ = false;
  int code_ = 0;
  Lines lines_;
  std::list<Open> open_;
};

int Driver::serve() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  const int signals = signalfd(-1, &ends, SFD_CLOEXEC);
  if (!problem_.empty()) complain(problem_);
  while (!over_) {
    std::vector<pollfd> watched = {{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}};
    for (const Open& one : open_) watched.push_back({one.job.fd(), POLLIN, 0});
    if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) break;
    if (watched[1].revents != 0) break;
    collect();
    if (watched[0].revents != 0 && !hear()) break;
  }
  open_.clear();
  if (const std::string left = adapter_->end(kGoodbye); !left.empty()) {
    complain(left);
    code_ = 1;
  }
  return code_;
}

/// Takes in what the bench says; false when it says no more.
bool Driver::hear() {
  char buffer[65536];
  const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) {
    if (!greeted_ && problem_.empty()) complain("the bench sent nothing on standard input; '" + serving_.start + "' starts this program");
    if (!greeted_) code_ = 2;
    return false;
  }
  lines_.hear({buffer, static_cast<std::size_t>(got)});
  while (!over_) {
    const std::optional<std::string> line = lines_.next();
    if (!line) break;
    take(*line);
  }
  if (over_ || !lines_.endless()) return true;
  complain("a line is too long");
  return false;
}

void Driver::take(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  const std::optional<Request> request = request_of(line);
  if (!request) {
    complain("no request: " + line.substr(0, 200));
  } else if (request->what.empty()) {
    answer(request->id, refusal("a request has a text \"do\""));
  } else if (request->what == "hello") {
    greet(*request);
  } else if (!greeted_) {
    answer(request->id, refusal("hello comes first"));
  } else {
    begin(*request);
  }
}

void Driver::greet(const Request& hello) {
  const json content = outcome_of([&] {
    if (!problem_.empty()) throw Refused(problem_);
    return adapter_->greet(hello.body);
  });
  greeted_ = content["ok"];
  answer(hello.id, content);
  if (greeted_) return;
  if (problem_.empty()) complain(content["text"]);
  code_ = 2;
  over_ = true;
}

void Driver::begin(const Request& request) {
  adapter_->note(request.body);
  const auto perform = [&] { return outcome_of([&] { return adapter_->perform(request.body); }); };
  if (!adapter_->in_order()) {
    open_.push_back({request.id, Job([&] { return to_line(perform()); })});
  } else if (!answer(request.id, perform())) {
    over_ = true;
  }
}

void Driver::collect() {
  for (auto one = open_.begin(); one != open_.end();) {
    if (!one->job.wait(0ms)) {
      ++one;
      continue;
    }
    const std::optional<std::string> line = one->job.line();
    const json content = line ? json::parse(*line, nullptr, false) : refusal("the driver broke");
    if (!answer(one->id, content)) over_ = true;
    one = open_.erase(one);
  }
}

/// False when nobody listens any more.
bool Driver::answer(std::uint64_t id, json content) {
  content["id"] = id;
  const std::string line = to_line(content) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (errno != EPIPE) complain(std::string("standard output cannot be written: ") + std::strerror(errno));
      code_ = 2;
      over_ = true;
      return false;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int serve(const Serving& serving) { return Driver(serving).serve(); }

}  // namespace fb::drive
