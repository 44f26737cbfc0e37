// Rules from memory: they fail embedded products, so that deviations stay caught, and leave the others to a person.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/requirements/ledger.h"
#include "conformance/runner/waivers.h"
#include "conformance/runner/watched.h"
#include "tests/conformance/runner/fake_cases.h"

namespace fb::conformance {
namespace {

using test::fake_case;
using test::fake_options;
using test::run_fake;

constexpr std::string_view kConfirmed = "fabrics.connect.sqsize.minimum";

std::string_view a_rule_from_memory() {
  const auto rules = ledger();
  const auto one =
      std::find_if(rules.begin(), rules.end(), [](const Requirement& rule) { return rule.confidence == "memory" && rule.state.empty(); });
  return one == rules.end() ? std::string_view{} : one->id;
}

RunOptions against(bool embedded) {
  RunOptions options = fake_options();
  options.product.embedded = embedded;
  return options;
}

void fails(Bench&, Check& check) { check.equal("the answer", 1, one_of(2, 3)); }
void passes(Bench&, Check& check) { check.equal("the answer", 2, one_of(2, 3)); }
void breaks(Bench& bench, Check& check) {
  fails(bench, check);
  BENCH_ASSERT(false, "then the bench broke");
}

TEST(Unconfirmed, FailsAnEmbeddedProduct) {
  ASSERT_FALSE(a_rule_from_memory().empty()) << "every rule was read: this file and what it tests can go";
  const CaseResult result = run_fake(fake_case("a", &fails, a_rule_from_memory()), against(true));
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.reason, "the answer: 1");
}

TEST(Unconfirmed, AsksAPersonAboutAnotherProduct) {
  const CaseInfo info = fake_case("a", &fails, a_rule_from_memory());
  CaseResult result = run_fake(info, against(false));
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  ASSERT_EQ(result.findings.size(), 1u) << "what was expected and seen stays";
  EXPECT_EQ(result.findings[0].expected, (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(result.findings[0].seen, "1");
  EXPECT_NE(result.reason.find("not confirmed in its document"), std::string::npos) << result.reason;
  EXPECT_NE(result.reason.find("a person should look"), std::string::npos) << result.reason;
  EXPECT_NE(result.reason.find("the answer: 1"), std::string::npos) << result.reason;
  dispose(result, {}, "2026-01-01");
  EXPECT_FALSE(is_red(result));
}

TEST(Unconfirmed, IsNoExcuseForARuleThatWasRead) {
  const CaseInfo info = fake_case("a", &fails, kConfirmed);
  CaseResult result = run_fake(info, against(false));
  EXPECT_EQ(result.verdict, Verdict::fail);
  dispose(result, {}, "2026-01-01");
  EXPECT_TRUE(is_red(result));
}

TEST(Unconfirmed, LeavesWhatPassesAndWhatBreaksAlone) {
  EXPECT_EQ(run_fake(fake_case("a", &passes, a_rule_from_memory()), against(false)).verdict, Verdict::pass);
  EXPECT_EQ(run_fake(fake_case("a", &breaks, a_rule_from_memory()), against(false)).verdict, Verdict::error);
}

TEST(Unconfirmed, DoesNotHideARuleOfEveryExchange) {
  const CaseInfo info = fake_case("a", &fails, a_rule_from_memory());
  CaseResult result = run_fake(info, against(false));
  ASSERT_EQ(result.verdict, Verdict::inconclusive);
  monitors::Finding found;
  found.rule = monitors::Rule::nvme_completion_twice;
  found.actor = "peer";
  found.text = "command 7 is completed again";
  judge_by_monitors({found}, false, result);
  EXPECT_EQ(result.verdict, Verdict::inconclusive) << "a case keeps its own verdict";
  const auto rules = results_of_rules({result}, {}, against(false).product);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].verdict, Verdict::fail);
  EXPECT_NE(rules[0].findings[0].what.find("nvme.completion.identity"), std::string::npos) << rules[0].findings[0].what;
  EXPECT_NE(rules[0].reason.find("completed again"), std::string::npos) << rules[0].reason;
}

// A read that was answered with success and brought nothing: each case that compares data would fail for it.
TEST(MissingData, IsReportedByItsRuleAlone) {
  const CaseInfo info = fake_case("a", &fails, kConfirmed);
  CaseResult result = run_fake(info, against(false));
  ASSERT_EQ(result.verdict, Verdict::fail);
  monitors::Finding found;
  found.rule = monitors::Rule::tcp_c2h_last;
  found.actor = "peer";
  found.text = "command 7 succeeded, and no C2HData with LAST_PDU came; 0 of 4096 bytes did";
  judge_by_monitors({found}, false, result);
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_NE(result.reason.find("tcp.c2hdata.last"), std::string::npos) << result.reason;
  const auto rules = results_of_rules({result}, {}, against(false).product);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].verdict, Verdict::fail);
}

// The bench ends a connection on which it cannot go on: whatever a case wanted of it, the rule of the transport was broken.
TEST(EndedConnection, IsReportedByTheRuleThatEndedIt) {
  monitors::Finding found;
  found.rule = monitors::Rule::tcp_plen;
  found.actor = "peer";
  found.text = "reserved: PLEN 3 with HLEN 4";
  const CaseInfo info = fake_case("a", &fails, kConfirmed);
  const struct {
    const char* seen;
    Verdict verdict;
  } rows[] = {{"no response, the connection ended: a PDU of a reserved type", Verdict::inconclusive},
              {"no response, the connection ended: the peer closed the connection", Verdict::fail},
              {"no response, the connection ended: C2HTermReq FES 1", Verdict::fail},
              {"Success (0/00h)", Verdict::fail}};
  for (const auto& row : rows) {
    CaseResult result = run_fake(info, against(false));
    result.findings = {{"the answer", {"x"}, row.seen}};
    judge_by_monitors({found}, false, result);
    EXPECT_EQ(result.verdict, row.verdict) << row.seen;
    CaseResult alone = run_fake(info, against(false));
    alone.findings = {{"the answer", {"x"}, row.seen}};
    judge_by_monitors({}, false, alone);
    EXPECT_EQ(alone.verdict, Verdict::fail) << "no other rule would be red";
  }
}

// A waiver of one way of breaking a rule does not cover the next.
TEST(BrokenRules, KeepEachWayOfBreakingThem) {
  const CaseInfo info = fake_case("a", &passes, kConfirmed);
  CaseResult result = run_fake(info, against(false));
  std::vector<monitors::Finding> found(4);
  for (monitors::Finding& one : found) {
    one.rule = monitors::Rule::nvme_completion_twice;
    one.actor = "peer";
    one.text = "command 7 is completed again";
  }
  found[1].text = "command 9 is completed again";
  found[2].text = "the Connect of queue 3 is completed again";
  judge_by_monitors(found, false, result);
  const auto rules = results_of_rules({result}, {}, against(false).product);
  ASSERT_EQ(rules.size(), 1u);
  ASSERT_EQ(rules[0].findings.size(), 2u);
  EXPECT_NE(signature_of(rules[0].findings[0]).find("command N is completed again"), std::string::npos);
  EXPECT_NE(signature_of(rules[0].findings[1]).find("the Connect of queue N"), std::string::npos);
}

TEST(Unconfirmed, IsNoRuleOfTheMonitors) {
  for (std::size_t at = 0; at < monitors::catalogue().size(); ++at) {
    const monitors::RuleFacts& rule = monitors::catalogue()[at];
    const Requirement* const requirement = find_requirement(rule.requirement);
    ASSERT_NE(requirement, nullptr) << rule.requirement;
    if (requirement->confidence != "memory") continue;
    EXPECT_EQ(requirement->level, "recommended") << rule.name;
    EXPECT_TRUE(monitors::only_advises(static_cast<monitors::Rule>(at))) << rule.name << ": monitors judge captures of anybody's products";
  }
}

}  // namespace
}  // namespace fb::conformance
