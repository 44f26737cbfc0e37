#include "cli/common.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "sim/capture/pcapng.h"
#include "sim/net/resolve.h"

namespace fb::cli {

namespace {

std::int64_t wall_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);  // wakes the watcher when it is no longer needed
  return set;
}

std::string time_text(const char* format) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[40];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

}  // namespace

namespace {

bool is_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

std::string check_seed(const std::string& text) {
  if (is_number(text)) return {};
  return "'" + text + "' is not a seed: a seed is a number from 0 to 18446744073709551615";
}

std::string check_number(const std::string& text) {
  if (is_number(text)) return {};
  return "'" + text + "' is no number from 0 to 18446744073709551615";
}

net::LocalHost local_host(const std::string& text, const Endpoint& to, RocePort port) {
  if (text.empty()) return {.address = or_throw(net::local_address_towards(to))};
  const auto parsed = net::parse_local_host(text);
  if (!parsed) throw UserError("--local: " + parsed.error().text);
  if (parsed->address.is_v4() != to.address.is_v4()) {
    throw UserError("--local " + text + " and " + to_string(to.address) + " are of different families (IPv4, IPv6)");
  }
  if (port == RocePort::own && parsed->address == to.address) {
    throw UserError("--local " + text +
                    " is the other side's address; both need UDP port 4791, so each "
                    "has an address of its own (127.0.0.3 for example)");
  }
  return *parsed;
}

void flush_output() {
  if (std::fflush(stdout) != 0) throw UserError(std::string("standard output cannot be written: ") + std::strerror(errno));
}

std::string read_text(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // An empty file sets the failure bit of the text alone.
  const bool read = file && (file.peek() == std::ifstream::traits_type::eof() ? !file.bad() : bool(text << file.rdbuf()));
  if (!read) throw UserError(path + ": cannot be read" + (errno == 0 ? std::string() : ": " + std::string(std::strerror(errno))));
  return text.str();
}

std::string results_of(const std::string& report) {
  std::error_code error;
  if (std::filesystem::is_directory(report, error)) return (std::filesystem::path(report) / "results.json").string();
  return report;
}

std::vector<std::string> write_folder(const std::string& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UserError("cannot create the folder " + folder + ": " + error.message());
  std::vector<std::string> written;
  for (const auto& [name, text] : files) {
    written.push_back((std::filesystem::path(folder) / name).string());
    or_throw(capture::write_atomically(written.back(), Bytes(text.begin(), text.end())));
  }
  return written;
}

std::string today() { return time_text("%Y-%m-%d"); }
std::string now_text() { return time_text("%Y-%m-%dT%H:%M:%SZ"); }

std::uint64_t nonce() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

unsigned default_jobs() { return std::max(1u, std::thread::hardware_concurrency()); }

void block_signals() {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

SignalWatcher::SignalWatcher(std::function<void()> call)
    : thread_([call = std::move(call)] {
        const sigset_t set = watched_signals();
        int number = 0;
        while (sigwait(&set, &number) == 0 && number != SIGUSR1) call();
      }) {}

SignalWatcher::~SignalWatcher() {
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

ProgressLine::ProgressLine() : on_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const std::string& text) {
  constexpr std::int64_t kInterval_ms = 100;
  if (!on_) return;
  const std::int64_t now = wall_ms();
  if (now - shown_at_ms_ < kInterval_ms) return;
  shown_at_ms_ = now;
  visible_ = true;
  std::fprintf(stderr, "\r\033[K%.79s", text.c_str());
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (!visible_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  visible_ = false;
}

}  // namespace fb::cli
