#include <algorithm>
#include <cstdio>
#include <map>

#include "conformance/report/html_text.h"
#include "conformance/report/report.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/waivers.h"

namespace fb::conformance {

namespace {

/// Text for an attribute or an element; control characters that XML cannot carry become spaces.
std::string escaped(std::string_view text) {
  std::string out = html(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; }, ' ');
  return out;
}

std::string seconds(std::int64_t us) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(us / 1'000'000), static_cast<long long>(us % 1'000'000));
  return text;
}

std::string details(const CaseResult& result, const ReportFacts& facts) {
  std::string text = std::string(title_of(*result.info)) + "\n" + std::string(result.info->requirement);
  if (const Requirement* const rule = find_requirement(result.info->requirement); rule != nullptr) {
    text += " (" + std::string(rule->document) + " " + std::string(rule->revision) + ", section " + std::string(rule->section) + "; " +
            std::string(rule->level) + ")\n  " + std::string(rule->text);
  }
  text += "\n";
  for (const Finding& one : result.findings) {
    text += one.what + "\n";
    for (const std::string& expected : one.expected) text += "  expected " + expected + "\n";
    text += "  seen     " + one.seen + "\n";
  }
  if (!result.capture.empty()) text += "capture: " + result.capture + "\n";
  if (!result.waiver_problem.empty()) text += "waiver: " + result.waiver_problem + "\n";
  const std::string replay = replay_text(result, facts);
  return replay.empty() ? text : text + "replay: fabricbench replay " + replay + "\n";
}

/// A property more, where the product broke rules that are reported once for the run.
std::string joined_rules(const CaseResult& result) {
  std::string text;
  for (const std::string_view rule : broken_rules(result)) text += (text.empty() ? "" : ",") + std::string(rule);
  return text.empty() ? "" : "\"/><property name=\"rules_broken\" value=\"" + escaped(text);
}

void append_element(std::string& out, std::string_view element, const CaseResult& result, const ReportFacts& facts,
                    const std::string& message) {
  out += "      <" + std::string(element) + " message=\"" + escaped(message) + "\">" + escaped(details(result, facts)) + "</" +
         std::string(element) + ">\n";
}

void append_case(std::string& out, const CaseResult& result, const ReportFacts& facts) {
  const CaseInfo& info = *result.info;
  out += "    <testcase classname=\"" + escaped(info.suite()) + "." + escaped(name_of(info.role)) + "." + escaped(result.transport) +
         "\" name=\"" + escaped(name_in_lane(result)) + "\" time=\"" + seconds(result.duration_wall_us) + "\">\n";
  out += "      <properties><property name=\"title\" value=\"" + escaped(title_of(info)) + "\"/><property name=\"requirement\" value=\"" +
         escaped(info.requirement) + "\"/><property name=\"lane\" value=\"" + escaped(result.lane) +
         "\"/><property name=\"verdict\" value=\"" + std::string(name_of(result.verdict)) + "\"/><property name=\"disposition\" value=\"" +
         std::string(name_of(result.disposition)) + joined_rules(result) + "\"/><property name=\"digest\" value=\"" +
         digest_text(result.digest) + "\"/></properties>\n";
  if (result.verdict == Verdict::error) {
    append_element(out, "error", result, facts, result.reason);
  } else if (result.disposition == Disposition::waived) {
    const std::string owner = result.waiver_owner.empty()
                                  ? ""
                                  : " (" + result.waiver_owner + ", until " + result.waiver_expires + ", " + result.waiver_link + ")";
    out += "      <skipped message=\"waived: " + escaped(result.waiver + owner) + "\"/>\n";
  } else if (result.disposition == Disposition::unexpected_pass) {
    append_element(out, "failure", result, facts, "passed, but " + result.waiver_problem);
  } else if (result.verdict == Verdict::fail || is_red(result)) {
    append_element(out, "failure", result, facts, headline_of(result));
  } else if (result.verdict != Verdict::pass) {
    out += "      <skipped message=\"" + std::string(name_of(result.verdict)) + ": " + escaped(headline_of(result)) + "\"/>\n";
  }
  out += "    </testcase>\n";
}

struct SuiteCounts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  std::int64_t time_us = 0;
  std::string cases;
};

void count(SuiteCounts& counts, const CaseResult& result) {
  ++counts.tests;
  counts.time_us += result.duration_wall_us;
  if (result.verdict == Verdict::error) {
    ++counts.errors;
  } else if (is_red(result)) {
    ++counts.failures;
  } else if (result.verdict != Verdict::pass) {
    ++counts.skipped;
  }
}

std::string attributes(const SuiteCounts& counts) {
  return " tests=\"" + std::to_string(counts.tests) + "\" failures=\"" + std::to_string(counts.failures) + "\" errors=\"" +
         std::to_string(counts.errors) + "\" skipped=\"" + std::to_string(counts.skipped) + "\" time=\"" + seconds(counts.time_us) + "\"";
}

}  // namespace

std::string junit_xml(const RunResult& run, const ReportFacts& facts) {
  std::map<std::string, SuiteCounts> suites;
  for (const CaseResult& result : run.cases) {
    SuiteCounts& counts = suites[std::string(result.info->suite())];
    count(counts, result);
    append_case(counts.cases, result, facts);
  }
  SuiteCounts& canary = suites["bench"];
  canary.tests = 1;
  canary.skipped = run.canary_not_run() ? 1 : 0;
  canary.failures = run.canary_caught || run.canary_not_run() ? 0 : 1;
  canary.cases = "    <testcase classname=\"bench\" name=\"canary_is_caught\" time=\"0\">\n";
  if (canary.failures > 0) {
    canary.cases += "      <failure message=\"the case that must fail did not\"/>\n";
  }
  if (canary.skipped > 0) canary.cases += "      <skipped message=\"it was not run\"/>\n";
  canary.cases += "    </testcase>\n";
  if (run.stopped) {
    ++canary.tests;
    ++canary.failures;
    canary.cases += "    <testcase classname=\"bench\" name=\"product_stays_up\" time=\"0\">\n      <failure message=\"" +
                    escaped(run.stopped->text()) + "\"/>\n    </testcase>\n";
  }
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fabricbench\">\n";
  for (const auto& [name, counts] : suites) {
    out += "  <testsuite name=\"" + escaped(name) + "\"" + attributes(counts) + ">\n" + counts.cases + "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace fb::conformance
