// What a CI job shows of a run: a page in Markdown, and annotations.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "conformance/report/document.h"
#include "conformance/report/report.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/waivers.h"

namespace fb::conformance {

namespace {

/// GitHub takes a megabyte of Markdown, and shows ten annotations of a step.
constexpr std::size_t kRowsMax = 100;
constexpr std::size_t kAnnotationsMax = 10;
constexpr std::size_t kTextMax = 300;

/// Text in a cell of a table: nothing of it is Markdown or HTML.
std::string cell(std::string_view text) {
  const bool is_cut = text.size() > kTextMax;
  std::size_t end = std::min(text.size(), kTextMax);
  // A character is not cut in two.
  while (is_cut && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  std::string out;
  for (const char c : text.substr(0, end)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (std::string_view("\\|`*_[]#~").find(c) != std::string_view::npos)
      out += std::string("\\") + c;
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return is_cut ? out + " ..." : out;
}

std::string where_of(const CaseResult& result) {
  const Requirement* const rule = find_requirement(result.info->requirement);
  return rule == nullptr ? std::string(result.info->requirement) : citation(*rule);
}

std::string headline_with_waiver(const CaseResult& result) {
  if (result.disposition == Disposition::unexpected_pass) return "passed, but " + result.waiver_problem;
  return headline_of(result);
}

std::string_view verdict_text(const CaseResult& result) {
  return result.disposition == Disposition::unexpected_pass ? "unexpected pass" : name_of(result.verdict);
}

using Rows = std::vector<const CaseResult*>;

template <class Wanted>
Rows rows_of(const RunResult& run, Wanted wanted) {
  Rows rows;
  for (const CaseResult& result : run.cases) {
    if (wanted(result)) rows.push_back(&result);
  }
  return rows;
}

template <class Line>
void append_table(std::string& out, std::string_view title, std::string_view head, const Rows& rows, Line line) {
  if (rows.empty()) return;
  out += fmt::format("\n### {}\n\n{}\n", title, head);
  for (std::size_t i = 0; i < std::min(rows.size(), kRowsMax); ++i) out += line(*rows[i]);
  if (rows.size() > kRowsMax) out += fmt::format("\n{} more are in the report.\n", rows.size() - kRowsMax);
}

std::string red_line(const CaseResult& result) {
  const std::string name = fmt::format("{} ({}, {})", title_of(*result.info), name_in_lane(result), result.transport);
  return fmt::format("| {} | {} | {} | {} |\n", verdict_text(result), cell(name), cell(headline_with_waiver(result)),
                     cell(where_of(result)));
}

std::string waived_line(const CaseResult& result) {
  return fmt::format("| {} | {} | {} | {} |\n", cell(name_in_lane(result)), cell(result.waiver), cell(result.waiver_owner),
                     cell(result.waiver_expires));
}

/// Commands of a workflow are lines: what would end one, or a property of one, is escaped.
std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

std::string annotation(std::string_view title, std::string_view text) {
  return fmt::format("::error title={}::{}\n", escaped(title, true), escaped(text, false));
}

}  // namespace

std::string summary_markdown(const RunResult& run, const ReportFacts& facts) {
  const Summary s = summarize(run);
  std::string out = fmt::format("## fabricbench: {}\n\n", s.red ? "failures" : run.interrupted ? "interrupted" : "all as expected");
  out += "| pass | fail | error | inconclusive | waived | skip |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n";
  out += fmt::format("| {} | {} | {} | {} | {} | {} |\n\n", s.pass, s.fail, s.error, s.inconclusive, s.waived, s.skip);
  out += fmt::format("Product `{}`, seed {}, digest `{}`, fabricbench {} (`{}`), ledger `{}`.\n", cell(facts.dut), facts.seed,
                     digest_text(run.digest), tool_version(), tool_commit(), ledger_version());
  if (run.stopped) out += fmt::format("\n**{}**\n", cell(run.stopped->text()));
  if (!run.canary_caught && !run.canary_not_run()) out += "\n**The canary was missed: the case that must fail did not.**\n";
  append_table(out, "Failures", "| verdict | case | expected and seen | requirement |\n| --- | --- | --- | --- |",
               rows_of(run, [](const CaseResult& one) { return is_red(one); }), red_line);
  append_table(out, "Inconclusive", "| verdict | case | reason | requirement |\n| --- | --- | --- | --- |",
               rows_of(run, [](const CaseResult& one) { return one.verdict == Verdict::inconclusive && !is_red(one); }), red_line);
  append_table(out, "Waived", "| case | reason | owner | until |\n| --- | --- | --- | --- |",
               rows_of(run, [](const CaseResult& one) { return one.disposition == Disposition::waived; }), waived_line);
  for (const std::string& remark : run.remarks) out += fmt::format("\nNote: {}\n", cell(remark));
  return out;
}

std::string github_annotations(const RunResult& run, const ReportFacts& facts) {
  std::vector<std::string> all;
  if (run.stopped) all.push_back(annotation(facts.dut, run.stopped->text()));
  if (!run.canary_caught && !run.canary_not_run()) all.push_back(annotation("canary", "the case that must fail did not"));
  for (const CaseResult& result : run.cases) {
    if (!is_red(result)) continue;
    all.push_back(annotation(fmt::format("{} {}", verdict_text(result), name_in_lane(result)),
                             fmt::format("{}\n{}: {}", headline_with_waiver(result), result.info->requirement, where_of(result))));
  }
  if (all.size() > kAnnotationsMax) {
    const std::size_t more = all.size() - (kAnnotationsMax - 1);
    all.resize(kAnnotationsMax - 1);
    all.push_back(annotation("fabricbench", fmt::format("{} more failures are in the report", more)));
  }
  std::string out;
  for (const std::string& one : all) out += one;
  return out;
}

}  // namespace fb::conformance
