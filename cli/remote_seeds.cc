#include "cli/remote_seeds.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "cli/common.h"

namespace fb::cli {

namespace {

using conformance::SeedOutcome;
using conformance::WorldVerdict;

/// Between two looks at whether somebody has interrupted.
constexpr int kLook_ms = 50;
/// For the program to cancel what runs on the cluster; beyond that it is killed.
constexpr auto kEnd = std::chrono::seconds(5);
/// Outcomes at a time where the campaign may stop early: as a run on this machine takes them, so that it stops at the same seed.
constexpr std::uint64_t kBatch = 128;

std::string interpreter() {
  const char* named = std::getenv("FABRICBENCH_PYTHON");
  return named != nullptr && *named != 0 ? named : "/usr/bin/python3";
}

/// Ours, with the package that was built with this program first among those that Python finds.
std::vector<std::string> python_environment() {
  std::vector<std::string> all = own_environment();
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto packages = std::filesystem::weakly_canonical(program.parent_path() / ".." / "python", error);
  if (error || !std::filesystem::is_directory(packages, error)) return all;
  constexpr std::string_view kName = "PYTHONPATH=";
  for (std::string& one : all) {
    if (!one.starts_with(kName)) continue;
    one.insert(kName.size(), packages.string() + (one.size() > kName.size() ? ":" : ""));
    return all;
  }
  all.push_back(std::string(kName) + packages.string());
  return all;
}

std::optional<WorldVerdict> verdict_of(const std::string& name) {
  for (const WorldVerdict verdict : {WorldVerdict::pass, WorldVerdict::fail, WorldVerdict::inconclusive}) {
    if (conformance::name_of(verdict) == name) return verdict;
  }
  return std::nullopt;
}

}  // namespace

RemoteSeeds::RemoteSeeds(std::string scheduler, const conformance::CampaignOptions& options, std::function<void(const std::string&)> note)
    : scheduler_(std::move(scheduler)), options_(options), note_(std::move(note)), interpreter_(interpreter()) {}

RemoteSeeds::~RemoteSeeds() { end(); }

std::vector<SeedOutcome> RemoteSeeds::next(std::uint64_t first, std::uint64_t count) {
  if (program_ == 0) start(first);
  const std::uint64_t wanted = options_.failures_max == 0 ? 1 : std::min(count, kBatch);
  const std::uint64_t most = options_.failures_max == 0 ? count : wanted;
  while (outcomes_.size() < wanted) {
    if (options_.interrupter != nullptr && options_.interrupter->fired()) return {};
    if (read_more()) continue;
    if (outcomes_.size() >= wanted) break;
    over();
    return {};
  }
  std::vector<SeedOutcome> batch;
  while (!outcomes_.empty() && batch.size() < most) {
    if (outcomes_.front().seed != first + batch.size()) {
      throw UserError(fmt::format("{}: received seed {} instead of {}", scheduler_, outcomes_.front().seed, first + batch.size()));
    }
    batch.push_back(std::move(outcomes_.front()));
    outcomes_.pop_front();
  }
  return batch;
}

void RemoteSeeds::start(std::uint64_t first) {
  Pipe in = make_pipe(), out = make_pipe(), errors = make_pipe();
  input_.file = std::move(in.write_end);
  output_.file = std::move(out.read_end);
  errors_.file = std::move(errors.read_end);
  try {
    program_ = start_program({interpreter_, "-m", "fabricbench._dask", scheduler_}, python_environment(),
                             ProgramStreams{.input = in.read_end.fd(), .output = out.write_end.fd(), .errors = errors.write_end.fd()});
  } catch (const UserError& problem) {
    throw UserError(std::string(problem.what()) + " (FABRICBENCH_PYTHON names the Python that distributes seeds)");
  }
  // Else its end would not be seen.
  for (const auto end : {&in.read_end, &out.write_end, &errors.write_end}) end->close();
  send_campaign(first);
}

void RemoteSeeds::send_campaign(std::uint64_t first) {
  const nlohmann::json campaign = {{"version", conformance::tool_version()},
                                   {"workload", options_.workload},
                                   {"plan", fault::to_yaml(options_.plan)},
                                   {"first", first},
                                   {"last", options_.seeds.last},
                                   {"steps", options_.steps},
                                   {"deviations", options_.deviations},
                                   {"twice", options_.twice}};
  const std::string text = campaign.dump() + "\n";
  // A program that ends before it has read all of it says why.
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t done = ::write(input_.file.fd(), text.data() + at, text.size() - at);
    if (done > 0)
      at += static_cast<std::size_t>(done);
    else if (errno != EINTR)
      break;
  }
}

bool RemoteSeeds::read_more() {
  pollfd watched[] = {{output_.file.fd(), POLLIN, 0}, {errors_.file.fd(), POLLIN, 0}};
  if (::poll(watched, 2, kLook_ms) <= 0) return true;
  if (watched[1].revents != 0 && !read_errors()) errors_.file.close();
  if (watched[0].revents == 0) return true;
  return read_from(output_, [this](const std::string& line) { take_line(line); });
}

bool RemoteSeeds::read_errors() {
  return read_from(errors_, [this](const std::string& line) {
    if (!line.empty()) last_error_line_ = line;
  });
}

bool RemoteSeeds::read_from(Stream& stream, const std::function<void(const std::string&)>& take_line) {
  char bytes[65536];
  const ssize_t count = ::read(stream.file.fd(), bytes, sizeof bytes);
  if (count < 0) return errno == EINTR;
  if (count == 0) return false;
  stream.rest.append(bytes, static_cast<std::size_t>(count));
  std::size_t begin = 0;
  for (std::size_t end; (end = stream.rest.find('\n', begin)) != std::string::npos; begin = end + 1) {
    take_line(stream.rest.substr(begin, end - begin));
  }
  stream.rest.erase(0, begin);
  return true;
}

void RemoteSeeds::take_line(const std::string& line) {
  const auto nonsense = [&] { return UserError(fmt::format("{}: its answer about seeds cannot be read: {:.80}", interpreter_, line)); };
  std::string error;
  try {
    const nlohmann::json said = nlohmann::json::parse(line);
    if (said.is_object()) {
      if (said.contains("note")) note_(said.at("note").get<std::string>());
      error = said.value("error", "");
    } else {
      const auto verdict = verdict_of(said.at(1));
      if (!verdict) throw nonsense();
      outcomes_.push_back({said.at(0), *verdict, said.at(2), said.at(3), said.at(4), said.at(5)});
    }
  } catch (const nlohmann::json::exception&) {
    throw nonsense();
  }
  if (!error.empty()) throw UserError(error);
}

void RemoteSeeds::over() {
  // What it complained about is in the pipe, if it is not read yet.
  while (errors_.file.fd() >= 0 && read_errors()) {
  }
  int status = 0;
  waitpid(program_, &status, 0);
  program_ = -1;
  // A terminal gives Ctrl-C to the program as well, and it may be the first to see it.
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == exit_code::interrupted) return;
  const std::string how = WIFSIGNALED(status) ? fmt::format("it was ended by signal {}", WTERMSIG(status)) : "it ended too early";
  throw UserError(fmt::format("{}: {}", interpreter_, last_error_line_.empty() ? how : last_error_line_));
}

void RemoteSeeds::end() {
  // The end of its input alone ends it; the signal is faster.
  input_.file.close();
  if (program_ > 0) {
    kill(program_, SIGTERM);
    const auto until = std::chrono::steady_clock::now() + kEnd;
    while (waitpid(program_, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > until) kill(program_, SIGKILL);
      ::poll(nullptr, 0, 10);
    }
    program_ = -1;
  }
  output_.file.close();
  errors_.file.close();
}

}  // namespace fb::cli
