// TAP version 14: a line a case, and below those that did not pass what stands behind it, as YAML.
#include <fmt/format.h>

#include "conformance/report/report.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/waivers.h"

namespace fb::conformance {

namespace {

/// Text on a line of its own: no line breaks, and no '#' that would begin a directive.
std::string on_a_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '#' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

/// A YAML scalar between double quotes.
std::string scalar(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// As in JUnit: red is not ok; whatever else did not pass was skipped.
std::string directive(const CaseResult& result) {
  if (is_red(result) || result.verdict == Verdict::pass) return "";
  const bool waived = result.disposition == Disposition::waived;
  return fmt::format(" # SKIP {}: {}", waived ? "waived" : name_of(result.verdict),
                     on_a_line(waived ? result.waiver : headline_of(result)));
}

void append_details(std::string& out, const CaseResult& result, const ReportFacts& facts) {
  out += "  ---\n";
  out += fmt::format("  title: {}\n", scalar(title_of(*result.info)));
  out += fmt::format("  verdict: {}\n  disposition: {}\n  requirement: {}\n", name_of(result.verdict), name_of(result.disposition),
                     scalar(result.info->requirement));
  if (const Requirement* const rule = find_requirement(result.info->requirement); rule != nullptr) {
    out += fmt::format("  section: {}\n", scalar(fmt::format("{} {}, {}", rule->document, rule->revision, rule->section)));
  }
  out += fmt::format("  message: {}\n", scalar(headline_of(result)));
  if (!result.capture.empty()) out += fmt::format("  capture: {}\n", scalar(result.capture));
  if (!result.findings.empty()) {
    out += "  findings:\n";
    for (const Finding& one : result.findings) {
      out += fmt::format("    - what: {}\n      expected:\n", scalar(one.what));
      for (const std::string& expected : one.expected) out += fmt::format("        - {}\n", scalar(expected));
      out += fmt::format("      seen: {}\n", scalar(one.seen));
    }
  }
  if (!result.waiver_problem.empty()) out += fmt::format("  waiver: {}\n", scalar(result.waiver_problem));
  if (const std::string replay = replay_text(result, facts); !replay.empty()) {
    out += fmt::format("  replay: {}\n", scalar("fabricbench replay " + replay));
  }
  out += "  ...\n";
}

}  // namespace

std::string tap_text(const RunResult& run, const ReportFacts& facts) {
  const std::size_t more = (run.canary_not_run() ? 0 : 1) + (run.stopped ? 1 : 0);
  std::string out = fmt::format("TAP version 14\n1..{}\n", run.cases.size() + more);
  std::size_t number = 0;
  for (const CaseResult& result : run.cases) {
    out += fmt::format("{} {} - {} ({} {}){}\n", is_red(result) ? "not ok" : "ok", ++number, on_a_line(name_in_lane(result)),
                       on_a_line(name_of(result.info->role)), on_a_line(result.transport), directive(result));
    if (is_red(result) || result.verdict != Verdict::pass) append_details(out, result, facts);
  }
  if (run.stopped) {
    out += fmt::format("not ok {} - product_stays_up\n  ---\n  message: {}\n  ...\n", ++number, scalar(run.stopped->text()));
  }
  if (!run.canary_not_run()) {
    out += fmt::format("{} {} - canary_is_caught\n", run.canary_caught ? "ok" : "not ok", ++number);
  }
  return out;
}

}  // namespace fb::conformance
