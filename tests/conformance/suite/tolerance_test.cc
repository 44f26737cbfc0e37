// A product that sets SUCCESS in C2HData although SQ flow control is on, on every queue, as a target in wide use does: one failure,
// and every other case is judged as ever, authentication with its short messages too.
#include <gtest/gtest.h>

#include "conformance/runner/runner.h"

namespace fb::conformance {
namespace {

TEST(Tolerance, SuccessWithFlowControlFailsItsOwnCaseAlone) {
  const deviations::Deviation* const deviation = deviations::find_deviation("success_with_flow_control");
  ASSERT_NE(deviation, nullptr);
  RunOptions options;
  options.evidence = false;
  options.product.transport = "tcp";
  options.deviations = deviations::DeviationSet({deviation});
  std::vector<const CaseInfo*> cases = all_cases();
  std::erase_if(cases, [](const CaseInfo* info) { return info->role != Role::controller; });
  const RunResult run = run_cases(cases, options);
  std::size_t passed = 0, authenticated = 0, failed = 0;
  for (const CaseResult& result : run.cases) {
    const bool own = result.info->requirement == "tcp.success.flow-control";
    failed += own && result.verdict == Verdict::fail;
    passed += result.verdict == Verdict::pass;
    authenticated += result.verdict == Verdict::pass && result.info->suite() == "auth";
    if (own) continue;
    EXPECT_TRUE(result.verdict == Verdict::pass || result.verdict == Verdict::skip)
        << result.info->name << ": " << name_of(result.verdict) << ": " << result.reason;
  }
  EXPECT_EQ(failed, 1u);
  EXPECT_GT(passed, 500u);
  EXPECT_GT(authenticated, 50u);
}

}  // namespace
}  // namespace fb::conformance
