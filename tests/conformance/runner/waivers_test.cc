#include "conformance/runner/waivers.h"

#include <gtest/gtest.h>

#include "tests/conformance/runner/fake_cases.h"

namespace fb::conformance {
namespace {

constexpr const char* kGood = R"yaml(product: acme
waivers:
  - case: connect_*
    owner: jane
    reason: fixed in 3.2
    link: https://tracker/123
    expires: 2027-01-31
    signature: "status: Success (0/00h)"
)yaml";

CaseResult result_of(const CaseInfo& info, Verdict verdict, std::string what = "status", std::string seen = "Success (0/00h)") {
  CaseResult result;
  result.info = &info;
  result.verdict = verdict;
  if (verdict == Verdict::fail) result.findings = {{std::move(what), {"x"}, std::move(seen)}};
  return result;
}

struct Disposed : testing::Test {
  Disposition of(CaseResult result, std::string_view today = "2026-11-21") {
    dispose(result, expectations, today);
    red = is_red(result);
    return result.disposition;
  }
  CaseInfo info = test::fake_case("connect_a", nullptr);
  CaseInfo other = test::fake_case("read_a", nullptr);
  Expectations expectations = parse_expectations(kGood, "f.yaml").value();
  bool red = false;
};

TEST_F(Disposed, ComparesVerdictWithWhatWasExpected) {
  EXPECT_EQ(of(result_of(info, Verdict::fail)), Disposition::waived);
  EXPECT_FALSE(red);
  EXPECT_EQ(of(result_of(info, Verdict::pass)), Disposition::unexpected_pass);
  EXPECT_TRUE(red);
  EXPECT_EQ(of(result_of(other, Verdict::pass)), Disposition::as_expected);
  EXPECT_EQ(of(result_of(other, Verdict::fail)), Disposition::regression);
  EXPECT_TRUE(red);
  EXPECT_EQ(of(result_of(other, Verdict::skip)), Disposition::as_expected);
  EXPECT_EQ(of(result_of(other, Verdict::inconclusive)), Disposition::as_expected);
  EXPECT_FALSE(red);
}

TEST_F(Disposed, AWaiverCoversItsSignatureUntilItsDay) {
  EXPECT_EQ(of(result_of(info, Verdict::fail), "2027-01-31"), Disposition::waived);
  EXPECT_EQ(of(result_of(info, Verdict::fail), "2027-02-01"), Disposition::regression);
  EXPECT_EQ(of(result_of(info, Verdict::fail, "status", "silence")), Disposition::regression);
  EXPECT_EQ(of(result_of(info, Verdict::fail, "IPO")), Disposition::regression);
  EXPECT_EQ(of(result_of(info, Verdict::error)), Disposition::regression) << "an ERROR is never waived";
}

// One oracle rule is about many fields: a waiver of one of them says nothing of the others.
TEST_F(Disposed, OfABrokenRuleEachWayIsWaivedByItself) {
  CaseInfo rule = test::fake_case("rule_oracle_dwords", nullptr);
  const std::string what = "nvme.completion.dwords (oracle_dwords)";
  CaseResult result = result_of(rule, Verdict::fail, what, "the completion of Flush (command 5 of queue 1) has DW0 7");
  result.findings.push_back({what, {"x"}, "the completion of Abort (command 9 of queue 0) has DW1 1"});
  const Waiver flush{.case_glob = "rule_oracle_dwords",
                     .owner = "jane",
                     .reason = "r",
                     .link = "l",
                     .expires = "2027-01-31",
                     .signature = what + ": the completion of Flush (command N of queue N) has DW0 N"};
  Waiver abort = flush;
  abort.signature = what + ": the completion of Abort (command N of queue N) has DW1 N";
  Waiver whole = flush;
  whole.signature = what + ": the product breaks this rule";
  expectations.waivers = {flush};
  EXPECT_EQ(of(result), Disposition::regression);
  dispose(result, expectations, "2026-11-21");
  EXPECT_NE(result.waiver_problem.find("Abort (command N of queue N)"), std::string::npos) << result.waiver_problem;
  expectations.waivers = {abort, flush};
  EXPECT_EQ(of(result), Disposition::waived);
  expectations.waivers = {whole};
  EXPECT_EQ(of(result), Disposition::waived);
  result.findings.pop_back();
  expectations.waivers = {abort};
  EXPECT_EQ(of(result), Disposition::regression);
  expectations.waivers = {flush};
  EXPECT_EQ(of(result), Disposition::waived);
}

TEST(Signature, HasNothingThatDiffersBetweenRuns) {
  const auto of = [](std::string what, std::string seen) { return signature_of({std::move(what), {"x"}, std::move(seen)}); };
  const struct {
    const char *what, *one, *other, *signature;
  } rows[] = {
      {"GEN after Replace", "55 (37h)", "403 (193h)", "GEN after Replace: N"},
      {"longest silence", "35.21 ms without one to controller 3", "2 s without one to controller 17",
       "longest silence: T without one to controller N"},
      {"the connection", "127.0.0.1:40112 refused it", "192.0.2.7:4420 refused it", "the connection: ADDRESS refused it"},
      {"the connection", "[::1]:40112 refused it", "[fe80::1]:9 refused it", "the connection: ADDRESS refused it"},
      {"the error log", "01000000000000000000070002800400 at byte 0", "ff00000000000000 at byte 16", "the error log: X at byte N"},
      {"the name", "uuid:5f0c9e52-7a7c-4be0-9d5e-2f3b8a5d6e01", "uuid:00000000-0000-4be0-9d5e-2f3b8a5d6e02", "the name: uuid:X"},
      {"attempts on controller 17", "2", "3", "attempts on controller N: N"},
      {"answer", "C2HTermReq FES 1 (Invalid PDU Header Field) FEI 24", "C2HTermReq FES 1 (Invalid PDU Header Field) FEI 8",
       "answer: C2HTermReq FES 1 (Invalid PDU Header Field) FEI N"},
      {"R1 on queue 0", "61 at byte 47", "9c at byte 5", "R1 on queue 0: X at byte N"},
      {"the nonce", "12345678 at byte 4", "abc1 at byte 14", "the nonce: X at byte N"},
      {"the identity", "NVMe1G01 nqn m5I+sBhqU5zdBsY1Z/CuobzcWWwaB/MH0u0TUeknaZY=",
       "NVMe1G01 nqn 05WGF8C9vjxarblNlOzLM5Zt2xXg5QrkaK3q4FWTD+E=", "the identity: NVMe1G01 nqn X"},
      {"LSN", "0x1F2, -3 and 1,024 bytes", "0x7, 12 and 5 bytes", "LSN: N, N and N bytes"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(of(row.what, row.one), row.signature);
    EXPECT_EQ(of(row.what, row.other), row.signature);
    const Finding later{row.what, {"x"}, row.other};
    EXPECT_TRUE(is_signature_of(row.signature, later));
    EXPECT_TRUE(is_signature_of(std::string(row.what) + ": " + row.one, later)) << "what an older report gave";
  }
  // What tells failures apart stays.
  EXPECT_NE(of("status", "Success (0/00h)"), of("status", "Invalid Field in Command (0/02h)"));
  EXPECT_NE(of("answer", "C2HTermReq FES 1 (x) FEI 4"), of("answer", "C2HTermReq FES 2 (x) FEI 4"));
  EXPECT_NE(of("Property Get of size 2", "yes"), of("Property Get of size 3", "yes"));
  EXPECT_EQ(of("status of T10", "type1 in sha256"), "status of T10: type1 in sha256");
}

TEST_F(Disposed, SaysWhyAWaiverDoesNotHelp) {
  const auto problem = [&](CaseResult result, std::string_view today = "2026-11-21") {
    dispose(result, expectations, today);
    return result.waiver_problem;
  };
  EXPECT_EQ(problem(result_of(info, Verdict::fail)), "");
  EXPECT_EQ(problem(result_of(other, Verdict::fail)), "");
  EXPECT_EQ(problem(result_of(info, Verdict::fail), "2027-02-01"),
            "the waiver of jane (f.yaml:3, https://tracker/123) expired on 2027-01-31: fixed in 3.2");
  EXPECT_EQ(problem(result_of(info, Verdict::fail, "status", "silence")),
            "the waiver of jane (f.yaml:3, https://tracker/123) expects 'status: Success (0/00h)'; this failure is 'status: silence'");
  EXPECT_EQ(problem(result_of(info, Verdict::pass)),
            "the waiver of jane (f.yaml:3, https://tracker/123) expects 'status: Success (0/00h)' until 2027-01-31: delete it");
  EXPECT_EQ(of(result_of(info, Verdict::pass), "2027-02-01"), Disposition::as_expected) << "an expired waiver does not count";
}

TEST_F(Disposed, KeepsOwnerLinkAndExpiry) {
  for (const Verdict verdict : {Verdict::fail, Verdict::pass}) {
    CaseResult result = result_of(info, verdict);
    dispose(result, expectations, "2026-11-21");
    EXPECT_EQ(result.waiver, "fixed in 3.2");
    EXPECT_EQ(result.waiver_owner + " " + result.waiver_link + " " + result.waiver_expires, "jane https://tracker/123 2027-01-31");
  }
}

TEST_F(Disposed, RemarksOnWaiversThatCoverNothing) {
  EXPECT_TRUE(remarks_on(expectations, {&info, &other}, "2026-11-21").empty());
  EXPECT_EQ(remarks_on(expectations, {&info, &other}, "2027-02-01"),
            (std::vector<std::string>{
                "the waiver of jane (f.yaml:3, https://tracker/123) for 'connect_*' expired on 2027-01-31 and covers nothing"}));
  expectations.waivers.front().case_glob = "conect_a";
  EXPECT_EQ(remarks_on(expectations, {&info, &other}, "2026-11-21"),
            (std::vector<std::string>{"f.yaml:3: no case matches 'conect_a'; did you mean 'connect_a'?"}));
}

std::string fault(std::string text, const std::string& old, const std::string& by) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos);
  const auto parsed = parse_expectations(text.replace(at, old.size(), by), "f.yaml");
  EXPECT_FALSE(parsed) << by;
  return parsed ? "" : parsed.error().text;
}

TEST(Expectations, FaultsNameFileAndLine) {
  EXPECT_EQ(fault(kGood, "owner", "owned"), "f.yaml:4: a waiver has no 'owned'; did you mean 'owner'?");
  EXPECT_EQ(fault(kGood, "    owner: jane\n", "    owner: jane\n    owner: joe\n"), "f.yaml:5: 'owner' occurs twice in this waiver");
  EXPECT_EQ(fault(kGood, "    owner: jane\n", ""), "f.yaml:3: a waiver without 'owner'");
  EXPECT_EQ(fault(kGood, "2027-01-31", "2027-02-30"), "f.yaml:3: '2027-02-30' is not a date like 2027-01-31");
  EXPECT_EQ(fault(kGood, "waivers:", "waiver:"), "f.yaml:2: 'waiver' is not 'product' (text) or 'waivers' (a list)");
  EXPECT_EQ(fault(kGood, "owner: jane", "owner: [jane]"), "f.yaml:4: 'owner' is a text");
  EXPECT_NE(fault(kGood, "\"status", "status\"").find("f.yaml:"), std::string::npos);
  EXPECT_EQ(parse_expectations("- a list", "f.yaml").error().text, "f.yaml:1: a waiver is a mapping");
  EXPECT_FALSE(parse_expectations("text", "f.yaml"));
  EXPECT_NE(read_expectations("/nonexistent.yaml").error().text.find("/nonexistent.yaml"), std::string::npos);
}

TEST(Expectations, TheListAloneWillDo) {
  const std::string text = kGood;
  const auto parsed = parse_expectations(text.substr(text.find("  - case")), "f.yaml");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->waivers.size(), 1u);
}

TEST(Expectations, DatesExist) {
  for (const char* good : {"2026-11-21", "2028-02-29", "2000-02-29"}) EXPECT_TRUE(is_date(good)) << good;
  for (const char* bad : {"2027-02-29", "2100-02-29", "2026-13-01", "2026-00-01", "2026-1-01", "today", ""}) {
    EXPECT_FALSE(is_date(bad)) << bad;
  }
}

}  // namespace
}  // namespace fb::conformance
