#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "conformance/report/report.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/waivers.h"

namespace fb::conformance {

namespace {

constexpr std::size_t kColumns = 80;

/// `text` in lines of at most 80 columns: the first begins with `head`, the others are indented as
/// far. A word that is longer than a line is not broken.
std::string wrapped(const std::string& head, std::string_view text) {
  std::string out = head, line;
  std::size_t column = head.size();
  const std::string indent(head.size(), ' ');
  while (!text.empty()) {
    const std::size_t space = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (column > head.size() && column + 1 + word.size() > kColumns) {
      out += "\n" + indent;
      column = head.size();
    } else if (column > head.size()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string upper(std::string_view word) {
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return out;
}

std::string expected_text(const Finding& finding) {
  std::string text;
  for (const std::string& one : finding.expected) text += (text.empty() ? "" : " or ") + one;
  return text;
}

/// The name, and the transport where the case has several.
std::string name_text(const CaseResult& result) {
  std::string text(result.info->name);
  if (result.info->options.transports.size() > 1) text += " (" + std::string(result.transport) + ")";
  return text;
}

/// The first few by name, and how many there are.
std::string cases_text(const std::vector<const CaseInfo*>& cases) {
  constexpr std::size_t kNamed = 3;
  std::string text = std::to_string(cases.size()) + (cases.size() == 1 ? " case: " : " cases, whose own verdicts stand: ");
  for (std::size_t i = 0; i < std::min(cases.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + std::string(cases[i]->name);
  return cases.size() > kNamed ? text + ", ..." : text;
}

void append_details(std::string& out, const CaseResult& result, const ReportFacts& facts, const std::string& folder) {
  const Requirement* requirement = find_requirement(result.info->requirement);
  const std::string verdict = upper(result.disposition == Disposition::unexpected_pass ? "unexpected pass" : name_of(result.verdict));
  out += "\n" + wrapped(verdict + "  ", std::string(title_of(*result.info)));
  out += wrapped("  case         ", name_text(result));
  std::string where(result.info->requirement);
  if (requirement != nullptr) {
    where += fmt::format(" ({}; {})", citation(*requirement), requirement->level);
  }
  out += wrapped("  requirement  ", where);
  if (requirement != nullptr) out += wrapped("               ", requirement->text);
  for (const Lane& lane : all_lanes()) {
    if (lane.name != result.lane || lane.plain()) continue;
    out += wrapped("  lane         ", std::string(lane.name) + ": " + std::string(lane.text));
  }
  for (const Finding& finding : result.findings) {
    out += wrapped("  checked      ", finding.what);
    out += wrapped("    expected   ", expected_text(finding));
    out += wrapped("    seen       ", finding.seen);
  }
  // Findings speak for themselves, where they are not what a person is asked to look at.
  if (result.findings.empty() || result.verdict == Verdict::inconclusive) out += wrapped("  reason       ", result.reason);
  if (!result.shown_by.empty()) {
    out += wrapped("  first        ", result.reason);
    out += wrapped("  in           ", cases_text(result.shown_by));
  }
  for (const std::string_view rule : broken_rules(result)) out += wrapped("  besides      ", "broke the rule " + std::string(rule));
  if (!result.waiver_problem.empty()) out += wrapped("  waiver       ", result.waiver_problem);
  if (!result.capture.empty()) out += wrapped("  capture      ", folder + "/" + result.capture);
  out += "  again with   fabricbench replay \\\n" + replay_text(result, facts) + "\n";
}

bool worth_details(const CaseResult& result) { return is_red(result) || result.verdict == Verdict::inconclusive; }

std::string counts_text(const Summary& s, std::size_t cases) {
  std::string text = std::to_string(cases) + (cases == 1 ? " case: " : " cases: ");
  const std::pair<std::size_t, const char*> counts[] = {
      {s.pass, "passed"}, {s.fail, "failed"}, {s.error, "error"}, {s.waived, "waived"}, {s.inconclusive, "inconclusive"},
      {s.skip, "skipped"}};
  bool first = true;
  for (const auto& [count, word] : counts) {
    if (count == 0) continue;
    text += (first ? "" : ", ") + std::to_string(count) + " " + word;
    if (&count == &counts[0].first && s.unexpected_pass > 0) {
      text += " (" + std::to_string(s.unexpected_pass) + " unexpectedly: a waiver expects a failure)";
    }
    first = false;
  }
  return text;
}

}  // namespace

std::string terminal_summary(const RunResult& run, const ReportFacts& facts, const std::string& folder, bool verbose) {
  const Summary summary = summarize(run);
  std::string out;
  for (const CaseResult& result : run.cases) {
    if (worth_details(result)) append_details(out, result, facts, folder);
  }
  if (verbose) {
    for (const CaseResult& result : run.cases) {
      if (result.verdict == Verdict::skip) {
        const std::string lane = result.lane == plain_lane().name ? "" : " [" + std::string(result.lane) + "]";
        out += wrapped("SKIP  " + name_text(result) + lane + ": ", result.reason);
      }
      if (result.disposition == Disposition::waived) {
        const std::string owner = result.waiver_owner.empty()
                                      ? ""
                                      : " (" + result.waiver_owner + ", until " + result.waiver_expires + ", " + result.waiver_link + ")";
        out += wrapped("WAIVED  " + name_text(result) + ": ", result.waiver + owner);
      }
    }
  }
  if (!out.empty()) out += "\n";
  for (const std::string& remark : run.remarks) out += wrapped("note: ", remark);
  if (run.stopped) {
    out += wrapped("", run.stopped->text() + "; " + std::to_string(run.stopped->not_run) + " cases were not run");
  }
  out += wrapped("", counts_text(summary, run.cases.size()));
  char time[32];
  std::snprintf(time, sizeof time, "%.2f s", facts.duration_s);
  out += wrapped("", "product " + facts.dut + ", seed " + std::to_string(facts.seed) + ", digest " + digest_text(run.digest) + ", " + time);
  const bool unjudged = std::any_of(run.cases.begin(), run.cases.end(),
                                    [](const CaseResult& result) { return result.embedded && result.verdict == Verdict::inconclusive; });
  if (unjudged) out += wrapped("", "inconclusive cases make a run of the embedded product red (exit code 1)");
  if (run.interrupted) {
    out += "interrupted: the cases above are those that were finished\n";
  } else {
    out += run.canary_caught ? "canary caught\n" : "canary MISSED: the case that must fail passed; do not rely on these verdicts\n";
  }
  return out;
}

std::string selftest_summary(const SelftestResult& result) {
  std::string out;
  for (const SelftestCase& one : result.cases) {
    const std::string name(one.info->name);
    if (one.honest != Verdict::pass) {
      out += wrapped("HONEST " + upper(name_of(one.honest)) + "  " + name + ": ", one.reason);
    }
    for (const DeviationOutcome& outcome : one.deviations) {
      if (outcome.verdict == Verdict::fail) continue;
      out += wrapped("MISSED  ", name + " on " + std::string(outcome.deviation->name) + ": " + std::string(name_of(outcome.verdict)) +
                                     (outcome.reason.empty() ? "" : " (" + outcome.reason + ")"));
    }
    if (one.deviations.empty()) out += wrapped("WITHOUT DEVIATION  ", name);
  }
  for (const std::string& one : result.without_case) out += wrapped("WITHOUT CASE  ", one);
  for (const std::string& one : result.broken) out += wrapped("BROKEN  ", one);
  if (!out.empty()) out += "\n";
  out += wrapped("", (result.interrupted ? "interrupted: " : "") + std::to_string(result.cases.size()) + " cases, " +
                         std::to_string(result.deviations) + " deviations: " + std::to_string(result.caught) + " caught, " +
                         std::to_string(result.missed) + " missed, " + std::to_string(result.without_deviation) +
                         " cases without a deviation");
  return out;
}

std::string list_text(const std::vector<const CaseInfo*>& cases) {
  std::string out;
  for (const CaseInfo* info : cases) {
    out += std::string(info->name) + "\n" + wrapped("    ", std::string(title_of(*info))) + "    " + std::string(name_of(info->role)) +
           ", " + std::string(info->requirement) + "\n";
    std::string names;
    for (const auto* deviation : deviations::deviations_of(info->requirement)) {
      names += (names.empty() ? "" : ", ") + std::string(deviation->name);
    }
    if (!names.empty()) out += wrapped("    fails on ", names);
  }
  return out + std::to_string(cases.size()) + " cases\n";
}

}  // namespace fb::conformance
