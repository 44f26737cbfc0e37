#include "networkdirect/verifier/library/report.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/wrap.h"

namespace fb::networkdirect::verifier {

namespace {

using Json = nlohmann::ordered_json;

Json event(const char* name) { return {{"event", name}, {"process", getpid()}}; }

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

/// Zero, or why not all was written.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string_view word_of(Severity severity) { return severity == Severity::violation ? "violation" : "advice"; }

}  // namespace

/// The file is opened for each line: programs close descriptors that they do not know, and use the numbers for others.
bool Report::append(const std::string& line) {
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const int error = file < 0 ? errno : write_all(file, line);
  if (file >= 0) close(file);
  if (error == 0) return true;
  lost_ = true;
  say(fmt::format("{}: {}; what is found is said here instead\n", path_.string(), std::strerror(error)));
  return false;
}

/// In one piece, as far as the system has it: other threads and processes write there too.
void Report::say(std::string_view text) { write_all(STDERR_FILENO, fmt::format("fabricbench verifier: {}", text)); }

void Report::opened(const std::string& provider) {
  const std::lock_guard guard(lock_);
  std::error_code ignored;
  Json json = event("opened");
  json["program"] = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  json["provider"] = provider;
  if (to_file()) append(line_of(json));
}

void Report::problem(const std::string& text) {
  const std::lock_guard guard(lock_);
  Json json = event("problem");
  json["text"] = text;
  if (!to_file() || !append(line_of(json))) say(text + '\n');
}

void Report::found(const Finding& finding) {
  const std::lock_guard guard(lock_);
  const RuleEntry& rule = *finding.rule;
  Tally& tally = tallies_[rule.rule];
  if (++tally.times > kTold) return;
  tally.told = tally.times;
  Json json = event("finding");
  json["rule"] = rule.name;
  json["severity"] = word_of(rule.severity);
  json["section"] = rule.section;
  json["sentence"] = rule.sentence;
  json["object"] = finding.object;
  json["detail"] = finding.text;
  json["call"] = finding.call;
  if (to_file() && append(line_of(json))) return;
  say(fmt::format("{} {}, process {}, call {}, {}\n", word_of(rule.severity), rule.name, getpid(), finding.call, finding.object) +
      wrap(fmt::format("    {}: {}", rule.section, rule.sentence), 4) + wrap("    " + finding.text, 4));
}

void Report::ended(std::uint64_t calls, std::size_t living) {
  const std::lock_guard guard(lock_);
  std::size_t violations = 0, advice = 0;
  for (auto& [rule, tally] : tallies_) {
    (entry_of(rule).severity == Severity::violation ? violations : advice) += tally.times;
    if (tally.times == tally.told) continue;
    Json json = event("repeated");
    json["rule"] = entry_of(rule).name;
    json["times"] = tally.times - std::exchange(tally.told, tally.times);
    if (!to_file() || !append(line_of(json))) say(fmt::format("{}: {} times in all\n", entry_of(rule).name, tally.times));
  }
  Json json = event("ended");
  json["calls"] = calls;
  json["living"] = living;
  if (to_file() && append(line_of(json))) return;
  say(fmt::format("process {}: {} calls, {} violation{}, {} of advice\n", getpid(), calls, violations, violations == 1 ? "" : "s", advice));
}

}  // namespace fb::networkdirect::verifier
