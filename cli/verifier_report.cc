#include "cli/verifier_report.h"

#include <signal.h>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "base/wrap.h"
#include "cli/common.h"
#include "networkdirect/verifier/rules.h"

namespace fb::cli {

namespace {

using Json = nlohmann::ordered_json;
namespace verifier = networkdirect::verifier;

constexpr std::size_t kShown = 5;

VerifierReport::Rule& rule_named(VerifierReport& report, const std::string& name) {
  const auto at = std::ranges::find(report.rules, name, &VerifierReport::Rule::name);
  if (at != report.rules.end()) return *at;
  VerifierReport::Rule& rule = report.rules.emplace_back();
  rule.name = name;
  if (const verifier::RuleEntry* const entry = verifier::find_rule(name)) {
    rule.severity = entry->severity == verifier::Severity::violation ? "violation" : "advice";
    rule.section = entry->section;
    rule.sentence = entry->sentence;
  }
  return rule;
}

void take(VerifierReport& report, const Json& line) {
  const auto number = [&line](const char* key) { return line.value(key, std::uint64_t{0}); };
  const auto word = [&line](const char* key) { return line.value(key, std::string()); };
  const std::string event = word("event");
  const std::uint64_t id = number("process");
  if (event == "problem") {
    report.problems.push_back(word("text"));
    return;
  }
  auto& process = report.processes[id];
  if (event == "opened") {
    process.program = word("program");
    process.judged = false;
  } else if (event == "ended") {
    process.calls = number("calls");
    process.judged = true;
  } else if (event == "repeated") {
    rule_named(report, word("rule")).times += number("times");
  } else if (event == "finding") {
    process.judged = false;
    auto& rule = rule_named(report, word("rule"));
    ++rule.times;
    rule.findings.push_back(line);
    rule.findings.back().erase("event");
  }
}

std::string signal_text(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string place_of(const Json& finding, bool with_process) {
  std::string text = with_process ? fmt::format("process {}, ", finding["process"].dump()) : std::string();
  return text + fmt::format("{}, call {}: {}", finding.value("object", ""), finding["call"].dump(), finding.value("detail", ""));
}

}  // namespace

std::uint64_t VerifierReport::times(std::string_view severity) const {
  std::uint64_t sum = 0;
  for (const Rule& rule : rules) sum += rule.severity == severity ? rule.times : 0;
  return sum;
}

VerifierReport read_verifier_report(const std::filesystem::path& path) {
  VerifierReport report;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    // The last line of a process may be a piece.
    if (json.is_object()) take(report, json);
  }
  std::ranges::stable_sort(report.rules, {}, [](const auto& rule) { return rule.severity != "violation"; });
  return report;
}

std::string text_of(const VerifierReport& report, const ProgramEnd& end) {
  std::string text;
  for (const VerifierReport::Rule& rule : report.rules) {
    text += wrap(fmt::format("{} {}, {}", rule.severity, rule.name, counted(rule.times, "time", "times")), 4);
    text += wrap(fmt::format("    {}: {}", rule.section, rule.sentence), 4);
    const std::size_t shown = std::min(rule.findings.size(), kShown);
    for (std::size_t i = 0; i < shown; ++i) text += wrap("  - " + place_of(rule.findings[i], report.processes.size() > 1), 4);
    if (rule.times > shown) text += fmt::format("  - and {} more\n", rule.times - shown);
  }
  if (!text.empty()) text += '\n';
  if (end.signal != 0) text += fmt::format("the program was ended by {}\n", signal_text(end.signal));
  if (end.signal == 0 && end.code != 0) text += fmt::format("the program ended with exit code {}\n", end.code);
  for (const std::string& problem : report.problems) text += wrap(problem, 4);
  std::uint64_t calls = 0;
  bool all_judged = true;
  for (const auto& [id, process] : report.processes) {
    calls += process.calls;
    all_judged = all_judged && process.judged;
    if (process.judged) continue;
    text += wrap(fmt::format("process {} ended without the verifier, or is still running: unreleased objects are not reported", id), 4);
  }
  if (report.processes.empty()) return text;
  text += wrap(fmt::format("{}, {} of advice; {}{}", counted(report.violations(), "violation", "violations"), report.times("advice"),
                           all_judged ? counted(calls, "call", "calls") + " by " : std::string(),
                           counted(report.processes.size(), "process", "processes")),
               4);
  return text;
}

Json json_of(const VerifierReport& report, const ProgramEnd& end) {
  Json json;
  json["ended"] = end.signal != 0 ? Json{{"signal", signal_text(end.signal)}} : Json{{"exit_code", end.code}};
  json["findings"] = Json::array();
  json["rules"] = Json::array();
  for (const VerifierReport::Rule& rule : report.rules) {
    for (const Json& finding : rule.findings) json["findings"].push_back(finding);
    json["rules"].push_back({{"rule", rule.name}, {"severity", rule.severity}, {"times", rule.times}});
  }
  json["processes"] = Json::array();
  for (const auto& [id, process] : report.processes) {
    Json one = {{"process", id}, {"program", process.program}, {"calls", process.calls}, {"judged", process.judged}};
    if (!process.judged) one["calls"] = nullptr;  // nobody has said
    json["processes"].push_back(std::move(one));
  }
  json["problems"] = report.problems;
  json["summary"] = {{"violations", report.violations()}, {"advice", report.times("advice")}, {"processes", report.processes.size()}};
  return json;
}

}  // namespace fb::cli
