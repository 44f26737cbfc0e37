#include "conformance/report/document.h"
#include "conformance/report/page.h"
#include "conformance/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "conformance/runner/replay.h"
#include "conformance/runner/waivers.h"

namespace fb::conformance {
namespace {

const CaseInfo kCase{"connect_<a>&\"b\"", "fabrics.connect.sqsize.minimum", Role::controller, nullptr, {}, ""};

CaseResult result_of(Verdict verdict) {
  CaseResult result;
  result.info = &kCase;
  result.verdict = verdict;
  result.reason = "because <of> \x01 this & that";
  result.capture = "captures/a.pcapng";
  result.finished = true;
  if (verdict == Verdict::fail) {
    result.findings = {{"status",
                        {"Connect Invalid Parameters (1/82h)", "Invalid Field in Command (0/02h)"},
                        "Success (0/00h) after a long tale that does not fit into what is left of a line"}};
  }
  dispose(result, {}, "2026-11-21");
  return result;
}

RunResult run_of(std::vector<Verdict> verdicts) {
  RunResult run;
  for (const Verdict verdict : verdicts) run.cases.push_back(result_of(verdict));
  run.digest = 0xABC;
  run.canary_caught = true;
  return run;
}

const ReportFacts kFacts{7, "embedded", {"dev"}, "2026-11-21T00:00:00Z", 0.5};

TEST(ResultsJson, HasTheKeysThatScriptsCountOn) {
  const RunResult run = run_of({Verdict::pass, Verdict::fail, Verdict::skip, Verdict::error});
  const auto json = nlohmann::json::parse(results_json(run, kFacts));
  for (const char* key : {"tool", "seed", "dut", "started", "duration_s", "digest", "summary", "canary", "cases"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["tool"]["name"], "fabricbench");
  EXPECT_EQ(json["digest"], "0000000000000abc");
  EXPECT_EQ(json["canary"], "caught");
  for (const char* key :
       {"name", "requirement", "section", "suite", "role", "transport", "verdict", "disposition", "reason", "lane", "expected", "seen",
        "duration_virtual_ns", "duration_wall_us", "digest", "capture", "sends_malformed", "replay"}) {
    EXPECT_TRUE(json["cases"][0].contains(key)) << key;
  }
  const auto& failed = json["cases"][1];
  EXPECT_EQ(failed["verdict"], "fail");
  EXPECT_EQ(failed["disposition"], "regression");
  EXPECT_EQ(failed["section"], "6.3");
  EXPECT_EQ(failed["suite"], "fabrics");
  EXPECT_EQ(failed["expected"].size(), 2u);
  const auto token = parse_replay_token(failed["replay"].get<std::string>()).value();
  EXPECT_EQ(token.seed, 7u);
  EXPECT_EQ(token.deviations, std::vector<std::string>{"dev"});
}

TEST(Summary, CountsEachCaseOnce) {
  RunResult run = run_of({Verdict::pass, Verdict::fail, Verdict::fail, Verdict::skip, Verdict::error, Verdict::inconclusive});
  run.cases[2].disposition = Disposition::waived;
  const Summary s = summarize(run);
  EXPECT_EQ(s.pass + s.fail + s.skip + s.waived + s.inconclusive + s.error, run.cases.size());
  EXPECT_EQ(s.fail, 1u);
  EXPECT_EQ(s.waived, 1u);
  EXPECT_EQ(s.regression, 2u);
  EXPECT_TRUE(s.red);
  EXPECT_FALSE(summarize(run_of({Verdict::pass, Verdict::skip, Verdict::inconclusive})).red);
}

TEST(Summary, InconclusiveIsRedOnTheEmbeddedProductAlone) {
  RunResult run = run_of({Verdict::pass, Verdict::inconclusive});
  EXPECT_FALSE(summarize(run).red);
  run.cases[1].embedded = true;
  EXPECT_TRUE(summarize(run).red);
  EXPECT_NE(terminal_summary(run, kFacts, "r", false).find("inconclusive cases make a run of the embedded product red"), std::string::npos);
  EXPECT_NE(junit_xml(run, kFacts).find("failures=\"1\""), std::string::npos);
  EXPECT_NE(tap_text(run, kFacts).find("not ok 2"), std::string::npos);
}

TEST(Lanes, AreNamedByEveryReport) {
  RunResult run = run_of({Verdict::fail});
  run.cases[0].lane = "io-queue-3";
  EXPECT_EQ(nlohmann::json::parse(results_json(run, kFacts))["cases"][0]["lane"], "io-queue-3");
  EXPECT_EQ(parse_replay_token(replay_text(run.cases[0], kFacts)).value().lane, "io-queue-3");
  EXPECT_NE(terminal_summary(run, kFacts, "r", false).find("io-queue-3: "), std::string::npos);
  EXPECT_NE(junit_xml(run, kFacts).find("[io-queue-3]\""), std::string::npos);
  EXPECT_NE(tap_text(run, kFacts).find("[io-queue-3]"), std::string::npos);
  EXPECT_NE(page_html(run, kFacts, nullptr).find("io-queue-3"), std::string::npos);
}

TEST(Summary, AMissedCanaryIsRed) {
  RunResult run = run_of({Verdict::pass});
  EXPECT_FALSE(summarize(run).red);
  run.canary_caught = false;
  EXPECT_TRUE(summarize(run).red);
  EXPECT_NE(terminal_summary(run, kFacts, "r", false).find("MISSED"), std::string::npos);
  EXPECT_NE(results_json(run, kFacts).find("\"missed\""), std::string::npos);
}

TEST(Terminal, FitsEightyColumnsAndSaysHowToReplay) {
  const std::string text = terminal_summary(run_of({Verdict::fail, Verdict::error}), kFacts, "report", true);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.size() <= 80 || line.starts_with("fb1:")) << line;
  }
  for (const char* part : {"fabrics.connect.sqsize.minimum", ", 6.3", "or Invalid Field", "captures/a.pcapng", "fabricbench replay"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(JUnit, EscapesWhatXmlCannotHold) {
  const std::string xml = junit_xml(run_of({Verdict::pass, Verdict::fail, Verdict::error, Verdict::skip}), kFacts);
  EXPECT_NE(xml.find("connect_&lt;a&gt;&amp;&quot;b&quot;"), std::string::npos);
  EXPECT_EQ(xml.find('\x01'), std::string::npos);
  EXPECT_NE(xml.find("<testsuite name=\"fabrics\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""), std::string::npos);
  const auto path = std::filesystem::temp_directory_path() / "fabricbench_junit_test.xml";
  std::ofstream(path) << xml;
  const std::string parse = "/usr/bin/python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' ";
  EXPECT_EQ(std::system((parse + path.string()).c_str()), 0);
  std::filesystem::remove(path);
}

TEST(Sarif, HasAResultForWhatDidNotPassAndARuleForEachRequirement) {
  RunResult run = run_of({Verdict::pass, Verdict::fail, Verdict::fail, Verdict::inconclusive, Verdict::skip});
  run.cases[2].disposition = Disposition::waived;
  run.cases[2].waiver = "fixed in 3.2";
  const auto log = nlohmann::json::parse(sarif_json(run, kFacts));
  EXPECT_EQ(log["version"], "2.1.0");
  const auto& one = log["runs"][0];
  const auto& rules = one["tool"]["driver"]["rules"];
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0]["id"], "fabrics.connect.sqsize.minimum");
  ASSERT_EQ(one["results"].size(), 3u);
  for (const auto& result : one["results"]) {
    EXPECT_EQ(rules[result["ruleIndex"].get<std::size_t>()]["id"], result["ruleId"]);
    EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "captures/a.pcapng");
  }
  EXPECT_EQ(one["results"][0]["level"], "error");
  EXPECT_FALSE(one["results"][0].contains("suppressions"));
  EXPECT_EQ(one["results"][1]["suppressions"][0]["justification"], "fixed in 3.2");
  EXPECT_EQ(one["results"][2]["kind"], "open");
  EXPECT_EQ(one["results"][2]["level"], "none");
}

TEST(JobPage, IsMarkdownThatTextOfAProductCannotLeave) {
  RunResult run = run_of({Verdict::pass, Verdict::error, Verdict::skip});
  run.cases[1].reason = "a | b <b> `c`\n# d";
  const std::string page = summary_markdown(run, kFacts);
  EXPECT_NE(page.find("## fabricbench: failures"), std::string::npos);
  EXPECT_NE(page.find("| 1 | 0 | 1 | 0 | 0 | 1 |"), std::string::npos);
  EXPECT_NE(page.find("a \\| b &lt;b&gt; \\`c\\` \\# d"), std::string::npos) << page;
  EXPECT_NE(summary_markdown(run_of({Verdict::pass}), kFacts).find("all as expected"), std::string::npos);
}

TEST(JobPage, AnnotationsAreOneLineEachAndNoMoreThanAJobShows) {
  RunResult run = run_of({Verdict::pass, Verdict::error});
  run.cases[1].reason = "100 %\nmore";
  std::string text = github_annotations(run, kFacts);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_TRUE(text.starts_with("::error title=error connect_")) << text;
  EXPECT_NE(text.find("::100 %25%0Amore%0Afabrics.connect.sqsize.minimum"), std::string::npos) << text;
  text = github_annotations(run_of(std::vector<Verdict>(30, Verdict::fail)), kFacts);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_NE(text.find("21 more failures"), std::string::npos) << text;
  EXPECT_EQ(github_annotations(run_of({Verdict::pass, Verdict::skip}), kFacts), "");
}

TEST(Document, NamesItsSchemaAndTheProgramThatMadeIt) {
  for (const std::string& text : {results_json(run_of({Verdict::pass}), kFacts), list_json({}), coverage_json({}), selftest_json({})}) {
    EXPECT_EQ(text.substr(0, 24), "{\n  \"schema_version\": 1,");
  }
  const auto tool = nlohmann::json::parse(results_json(run_of({Verdict::pass}), kFacts))["tool"];
  for (const char* key : {"version", "commit", "ledger", "compiler"}) EXPECT_FALSE(tool[key].get<std::string>().empty()) << key;
  EXPECT_NE(version_text().find(tool["commit"].get<std::string>()), std::string::npos);
}

TEST(Folder, IsWrittenAsAWholeOrNotAtAll) {
  const auto path = std::filesystem::temp_directory_path() / "fabricbench_folder_test";
  std::filesystem::remove_all(path);
  const ReportFolder folder = ReportFolder::open(path.string()).value();
  RunResult run = run_of({Verdict::pass});
  ASSERT_TRUE(folder.write(run, kFacts));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) names.insert(entry.path().filename());
  EXPECT_EQ(names,
            (std::set<std::string>{"captures", "index.html", "junit.xml", "results.json", "results.sarif", "results.tap", "summary.md"}))
      << "no temporary file is left";
  // What an earlier run left is gone, and what is somebody else's stays.
  for (const char* name : {"captures/gone_case.pcapng", "captures/notes.txt", "mine.txt"}) std::ofstream(path / name) << "x";
  ASSERT_TRUE(ReportFolder::open(path.string()));
  EXPECT_FALSE(std::filesystem::exists(path / "results.json"));
  EXPECT_FALSE(std::filesystem::exists(path / "captures/gone_case.pcapng"));
  EXPECT_TRUE(std::filesystem::exists(path / "captures/notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(path / "mine.txt"));
  std::filesystem::remove_all(path);
  EXPECT_FALSE(ReportFolder::open(""));
  const auto wrong = ReportFolder::open("/proc/no/such");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text.find("/proc/no/such"), std::string::npos);
}

}  // namespace
}  // namespace fb::conformance
