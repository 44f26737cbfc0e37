#include "cli/drive/driver.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/drive/disk_io.h"
#include "cli/drive/job.h"
#include "cli/drive/linux_host.h"

namespace fb::drive {

namespace {

using nlohmann::json;
using namespace std::chrono_literals;

/// Until the kernel has ended the associations. A bench that starts the next driver does not wait for ever.
constexpr Limit kGoodbye = 10s;
/// A line with the data of a write of 16 MiB has a place in it.
constexpr std::size_t kLineMax = 64u << 20;

void complain(const std::string& text) { std::fprintf(stderr, "fabricbench host drive: %s\n", text.c_str()); }

/// A request that is being done.
struct Open {
  json id;
  Job job;
};

class Driver {
 public:
  explicit Driver(bool verbose) : host_(verbose) {}
  int serve();

 private:
  bool hear();
  void take(const std::string& line);
  void greet(const json& hello);
  void begin(const json& request);
  void collect();
  bool answer(json id, json content);

  LinuxHost host_;
  std::string problem_ = LinuxHost::missing();
  bool greeted_ = false, over_ = false;
  int code_ = 0;
  std::string heard_;
  std::list<Open> open_;
};

json refusal(const std::string& text) { return {{"ok", false}, {"text", text}}; }

/// What the job of a request says: its answer without "id".
std::string outcome_of(LinuxHost& host, const json& request) {
  json content;
  try {
    content = host.perform(request);
    content["ok"] = true;
  } catch (const Refused& refused) {
    content = refusal(refused.what());
    if (refused.sct >= 0) {
      content["sct"] = refused.sct;
      content["sc"] = refused.sc;
    }
  } catch (const std::exception& broken) {
    content = refusal(broken.what());
  }
  return content.dump(-1, ' ', false, json::error_handler_t::replace);
}

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
  if (!host_.end_all(kGoodbye)) {
    complain("some associations do not end");
    code_ = 1;
  }
  return code_;
}

/// Takes in what the bench says; false when it says no more.
bool Driver::hear() {
  char buffer[65536];
  const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  heard_.append(buffer, static_cast<std::size_t>(got));
  std::size_t begin = 0;
  for (std::size_t end; (end = heard_.find('\n', begin)) != std::string::npos && !over_; begin = end + 1) {
    take(heard_.substr(begin, end - begin));
  }
  heard_.erase(0, begin);
  if (heard_.size() <= kLineMax) return true;
  complain("a line does not end");
  return false;
}

void Driver::take(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  const json request = json::parse(line, nullptr, false);
  if (!request.is_object() || !request.contains("id")) {
    complain("no request: " + line.substr(0, 200));
    return;
  }
  const json what = request.value("do", json());
  if (!what.is_string()) {
    answer(request["id"], refusal("a request has a word \"do\""));
  } else if (what == "hello") {
    greet(request);
  } else if (!greeted_) {
    answer(request["id"], refusal("hello comes first"));
  } else {
    begin(request);
  }
}

void Driver::greet(const json& hello) {
  try {
    if (!problem_.empty()) throw Refused(problem_);
    json content = host_.greet(hello);
    content["ok"] = true;
    greeted_ = true;
    answer(hello["id"], content);
  } catch (const std::exception& wrong) {
    if (problem_.empty()) complain(wrong.what());
    answer(hello["id"], refusal(wrong.what()));
    code_ = 2;
    over_ = true;
  }
}

void Driver::begin(const json& request) {
  host_.note(request);
  open_.push_back({request["id"], Job([&] { return outcome_of(host_, request); })});
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
bool Driver::answer(json id, json content) {
  content["id"] = std::move(id);
  std::string line = content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int serve(bool verbose) { return Driver(verbose).serve(); }

}  // namespace fb::drive
