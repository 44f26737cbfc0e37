// What is drawn from the results of a run: results.json, JUnit XML, TAP, SARIF, Markdown, the terminal summary.
// The page is in page.h, several runs beside each other in matrix.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/runner/runner.h"
#include "conformance/runner/selftest.h"

namespace fb::conformance {

/// What a report says beside the cases.
struct ReportFacts {
  std::uint64_t seed = 1;
  std::string dut = "embedded";
  std::vector<std::string> deviations;
  std::string started;  ///< 2026-11-21T06:12:37Z
  double duration_s = 0;
  /// What the product declares, a name and a value each; empty where it was not asked.
  std::vector<std::pair<std::string, std::string>> product = {};
  bool replayable = true;  ///< a command shows each case again
};

struct Summary {
  std::size_t pass = 0, fail = 0, skip = 0, waived = 0, inconclusive = 0, error = 0;
  std::size_t regression = 0, unexpected_pass = 0;
  bool red = false;  ///< anything that makes the run red
};
/// `fail` counts those that no waiver covers; the first six add up to the number of cases.
Summary summarize(const RunResult& run);

struct Declared;
/// For ReportFacts: what a controller says of itself.
std::vector<std::pair<std::string, std::string>> facts_of_product(const Declared& declared);

/// "0123456789abcdef".
std::string digest_text(std::uint64_t digest);
/// The name of a case, and its lane where that is not the plain one: "written_data_reads_back [io-queue-3]".
std::string name_in_lane(const CaseResult& result);
/// The replay token of a result.
std::string replay_text(const CaseResult& result, const ReportFacts& facts);

/// "Connect with SQSIZE 0: Connect Invalid Parameters"; for a rule that is reported once for the run, its sentence.
std::string_view title_of(const CaseInfo& info);

/// What a failure comes to in a line: "status: expected Connect Invalid Parameters (1/82h), seen Success (0/00h)".
std::string headline_of(const CaseResult& result);

std::string results_json(const RunResult& run, const ReportFacts& facts);
std::string junit_xml(const RunResult& run, const ReportFacts& facts);
/// TAP version 14: ok and not ok as JUnit has passed and failed.
std::string tap_text(const RunResult& run, const ReportFacts& facts);
/// SARIF 2.1.0, for code scanning: a rule for each requirement, a result for each case that failed, was waived or could not be decided.
std::string sarif_json(const RunResult& run, const ReportFacts& facts);
/// Markdown for the page of a CI job: the counts, what makes the run red, and what is waived.
std::string summary_markdown(const RunResult& run, const ReportFacts& facts);
/// Workflow commands of GitHub Actions that annotate a run with what makes it red.
std::string github_annotations(const RunResult& run, const ReportFacts& facts);
/// At most 80 columns (but tokens are never broken). `verbose` lists skipped cases too.
std::string terminal_summary(const RunResult& run, const ReportFacts& facts, const std::string& folder, bool verbose);

std::string selftest_json(const SelftestResult& result);
std::string selftest_summary(const SelftestResult& result);
std::string list_json(const std::vector<const CaseInfo*>& cases);
std::string list_text(const std::vector<const CaseInfo*>& cases);
std::string coverage_json(const std::vector<const CaseInfo*>& cases);
std::string coverage_text(const std::vector<const CaseInfo*>& cases);

class Gatherer;

/// Which captures a report keeps.
enum class Captures : std::uint8_t { all, failures, none };

/// A folder that a report is written into.
class ReportFolder {
 public:
  /// Makes the folder and captures/ in it, sees that it can be written to, and removes the results and captures of an earlier
  /// run of fabricbench.
  static Result<ReportFolder> open(const std::string& path, Captures kept = Captures::all);
  const std::string& path() const { return path_; }
  Captures kept() const { return kept_; }
  /// Writes captures/CASE.pcapng; returns that name, or nothing where the capture is not kept. After the first that cannot be
  /// written no more are tried: see capture_problem().
  std::string keep_capture(const CaseResult& result, std::string_view transport, std::string_view lane,
                           const capture::PcapngWriter& writer) const;
  /// Why captures stopped; empty: they did not.
  std::string capture_problem() const;
  /// Why there is no page for people to read, which does not change the verdict; empty: there is one.
  std::string page_problem() const;
  /// results.json, junit.xml, results.tap, results.sarif, summary.md and index.html, each as a whole or not at all,
  /// in this order. Where space is short, captures make room, those of passed cases first. The Problem is the
  /// first file that could not be written nevertheless.
  Result<void> write(RunResult& run, const ReportFacts& facts, const Gatherer* gathered = nullptr) const;

 private:
  struct Stopped;
  ReportFolder(std::string path, Captures kept);
  bool make_room(RunResult& run) const;

  std::string path_;
  Captures kept_;
  std::shared_ptr<Stopped> stopped_;
};

}  // namespace fb::conformance
