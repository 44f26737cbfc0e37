#include "conformance/runner/profiles.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/runner/fake_cases.h"

namespace fb::conformance {
namespace {

constexpr const char* kProfile = R"yaml(peer: some kernel
deviations:
  - requirement: fabrics.property.cap
    seen: "CAP.CQR: no"
    reason: CAP is put together without CQR
    source: core.c init_cap
  - requirement: fabrics.connect.sqsize.minimum
    case: connect_*
    seen: "status: Success (0/00h)"
    reason: takes it
    source: fabrics.c connect
  - requirement: rdma.read.replay
    seen: "opcode: Middle, PSN *h"
    reason: CAP is put together without CQR
    source: core.c init_cap
  - requirement: fabrics.association.*
    shows: sometimes
    seen: "status: no response"
    reason: CAP is put together without CQR
    source: core.c init_cap
)yaml";

CaseInfo case_of(std::string_view name, std::string_view requirement) {
  CaseInfo info = test::fake_case(name, nullptr);
  info.requirement = requirement;
  return info;
}

CaseResult result_of(const CaseInfo& info, Verdict verdict, std::string what = {}, std::string seen = {}) {
  CaseResult result;
  result.info = &info;
  result.verdict = verdict;
  if (verdict == Verdict::fail) result.findings = {{std::move(what), {"x"}, std::move(seen)}};
  return result;
}

Disposition disposed(CaseResult result) {
  Expectations expectations;
  EXPECT_TRUE(add_profile(kProfile, "p.yaml", expectations));
  dispose(result, expectations, "2026-11-21");
  if (result.disposition == Disposition::waived) {
    EXPECT_EQ(result.waiver, "some kernel: CAP is put together without CQR (core.c init_cap)");
  }
  return result.disposition;
}

TEST(Profile, LeavesOpenWhatIsAnotherNumberEachTime) {
  const CaseInfo replay = case_of("a_read_again", "rdma.read.replay");
  EXPECT_EQ(disposed(result_of(replay, Verdict::fail, "opcode", "Middle, PSN 12ab34h")), Disposition::waived);
  EXPECT_EQ(disposed(result_of(replay, Verdict::fail, "opcode", "Last, PSN 12ab34h")), Disposition::regression);
}

TEST(Profile, CoversADeviationAndNothingElse) {
  const CaseInfo cap = case_of("cap_shows_values", "fabrics.property.cap");
  EXPECT_EQ(disposed(result_of(cap, Verdict::fail, "CAP.CQR", "no")), Disposition::waived);
  EXPECT_EQ(disposed(result_of(cap, Verdict::fail, "CAP.MQES", "0")), Disposition::regression);
  EXPECT_EQ(disposed(result_of(cap, Verdict::error)), Disposition::regression);
  EXPECT_EQ(disposed(result_of(cap, Verdict::pass)), Disposition::unexpected_pass);
  EXPECT_EQ(disposed(result_of(cap, Verdict::skip)), Disposition::as_expected);
}

TEST(Profile, ACaseNarrowsAnEntry) {
  const CaseInfo other = case_of("io_connect", "fabrics.connect.sqsize.minimum");
  EXPECT_EQ(disposed(result_of(other, Verdict::fail, "status", "Success (0/00h)")), Disposition::regression);
  EXPECT_EQ(disposed(result_of(other, Verdict::pass)), Disposition::as_expected);
}

TEST(Profile, WhatShowsSometimesNeedNotShow) {
  const CaseInfo lost = case_of("lost_io_queue_ends_the_association", "fabrics.association.io-queue-lost");
  EXPECT_EQ(disposed(result_of(lost, Verdict::fail, "status", "no response")), Disposition::waived);
  EXPECT_EQ(disposed(result_of(lost, Verdict::fail, "status", "Success (0/00h)")), Disposition::regression);
  EXPECT_EQ(disposed(result_of(lost, Verdict::pass)), Disposition::as_expected);
}

TEST(Profile, SaysWhatIsWrong) {
  const auto problem = [](const std::string& text) {
    Expectations expectations;
    const auto added = add_profile(text, "p.yaml", expectations);
    return added ? std::string() : added.error().text;
  };
  EXPECT_EQ(problem("- a"), "p.yaml:1: a profile has 'peer' and 'deviations'");
  EXPECT_EQ(problem("peer: x\nmore: y"), "p.yaml:2: 'more' is not 'peer' (text) or 'deviations' (a list)");
  const std::string entry = "deviations:\n  - requirement: no.such.thing\n    seen: a\n    reason: b\n";
  EXPECT_EQ(problem(entry), "p.yaml:2: a deviation without 'source'");
  EXPECT_EQ(problem(entry + "    source: c\n"), "p.yaml:2: no requirement 'no.such.thing'");
  EXPECT_EQ(problem("deviations:\n  - requirement: fabrics.*\n    shows: never\n    seen: a\n    reason: b\n    source: c\n"),
            "p.yaml:2: a deviation shows 'sometimes', or always and does not say so");
  EXPECT_EQ(problem(entry + "    owner: c\n"), "p.yaml:5: a deviation has no 'owner'");
  EXPECT_NE(problem("peer: ["), "");
  Expectations expectations;
  const auto unknown = add_named_profile("windows", expectations);
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().text.starts_with("no profile 'windows'; known are linux-6.1"));
  EXPECT_FALSE(add_named_profile("nowhere.yaml", expectations));
}

TEST(Profile, EveryBuiltInOneIsRight) {
  EXPECT_FALSE(built_in_profiles().empty());
  for (const BuiltInProfile& profile : built_in_profiles()) {
    Expectations expectations;
    const auto added = add_named_profile(std::string(profile.name), expectations);
    EXPECT_TRUE(added) << added.error().text;
    EXPECT_FALSE(expectations.product.empty());
    EXPECT_FALSE(expectations.deviations.empty());
  }
}

}  // namespace
}  // namespace fb::conformance
