// What the commands share: sizes, signals, progress, the edge where problems become exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/or_throw.h"
#include "base/size_text.h"
#include "sim/net/local_host.h"

namespace fb::cli {

namespace exit_code {
inline constexpr int good = 0;
inline constexpr int red = 1;
inline constexpr int wrong_use = 2;
inline constexpr int interrupted = 130;
}  // namespace exit_code

/// What a command's action sets: the exit code of the program.
struct Outcome {
  int code = exit_code::good;
};

/// For CLI11's check(): empty, or why the text is no seed. CLI11 itself takes any number of digits.
std::string check_seed(const std::string& text);
/// The same for any other number of 64 bits: CLI11 takes "-1" as the largest one.
std::string check_number(const std::string& text);

/// Who has UDP port 4791: the software device takes it for itself, the kernel shares it among its own.
enum class RocePort : std::uint8_t { own, kernels };
/// What --local says, or the address that the routing table gives when it is empty.
net::LocalHost local_host(const std::string& text, const Endpoint& to, RocePort port = RocePort::own);

/// What was printed reaches its reader now; UserError if it cannot.
void flush_output();

/// A whole file; UserError when it cannot be read.
std::string read_text(const std::string& path);
/// The results.json of a report: of its folder, or the file itself.
std::string results_of(const std::string& report);

/// Writes files (name, content) into the folder, which is created; returns their paths. UserError when one cannot be written.
std::vector<std::string> write_folder(const std::string& folder, const std::vector<std::pair<std::string, std::string>>& files);

/// Today's date as 2027-01-31, and the time of now as 2027-01-31T12:00:00Z.
std::string today();
std::string now_text();
/// A number that differs from run to run.
std::uint64_t nonce();

/// Threads that the machine offers.
unsigned default_jobs();

/// Blocks SIGINT and SIGTERM in this thread and those it starts; call it before any thread starts.
void block_signals();

/// Waits for SIGINT and SIGTERM in a thread of its own and calls back from there.
class SignalWatcher {
 public:
  explicit SignalWatcher(std::function<void()> call);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  std::thread thread_;
};

/// One line on standard error that is written over, where that is a terminal; else nothing.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  void show(const std::string& text);
  void clear();

 private:
  bool on_;
  std::int64_t shown_at_ms_ = 0;
  bool visible_ = false;
};

/// "1 fault", "2 faults".
inline std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}
inline std::string counted(std::uint64_t count, std::string_view word) { return counted(count, word, std::string(word) + "s"); }

// Each command adds itself to the program.
void add_run(CLI::App& app, Outcome& outcome);
void add_init(CLI::App& app, Outcome& outcome);
void add_report(CLI::App& app, Outcome& outcome);
void add_statement(CLI::App& app, Outcome& outcome);
void add_catalogue(CLI::App& app, Outcome& outcome);
void add_selftest(CLI::App& app, Outcome& outcome);
void add_list(CLI::App& app, Outcome& outcome);
void add_requirements(CLI::App& app, Outcome& outcome);
void add_replay(CLI::App& app, Outcome& outcome);
void add_campaign(CLI::App& app, Outcome& outcome);
void add_shrink(CLI::App& app, Outcome& outcome);
void add_check(CLI::App& app, Outcome& outcome);
void add_devices(CLI::App& app, Outcome& outcome);
void add_target(CLI::App& app, Outcome& outcome);
void add_host(CLI::App& app, Outcome& outcome);
void add_proxy(CLI::App& app, Outcome& outcome);
void add_ctl(CLI::App& app, Outcome& outcome);
void add_mctp(CLI::App& app, Outcome& outcome);
void add_networkdirect(CLI::App& app, Outcome& outcome);

/// The whole program.
int run_program(int argc, const char* const* argv);

}  // namespace fb::cli
