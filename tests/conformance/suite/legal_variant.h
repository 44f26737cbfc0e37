// What the tests of legal variants share: the cases run on a product that is made in another legal way, and none may fail.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/runner/case.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

/// One case in so many runs: sanitizers take twenty times as long.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr std::size_t kOneCaseIn = 16;
#else
inline constexpr std::size_t kOneCaseIn = 1;
#endif
#else
inline constexpr std::size_t kOneCaseIn = 1;
#endif

/// Expects that no case fails or is in error on a product made by `vary`, and that more than `share` of their runs pass.
/// Where only some cases run, each variant begins at another one, by its name.
inline void expect_no_fault(std::string_view name, const std::function<void(EmbeddedSetup&)>& vary,
                            const std::function<bool(const CaseInfo&)>& concerns, double share) {
  RunOptions options;
  options.evidence = false;
  options.product.vary = vary;
  std::vector<const CaseInfo*> cases;
  std::size_t at = 0;
  for (const char letter : name) at += static_cast<unsigned char>(letter);
  for (const CaseInfo* info : all_cases()) {
    if (concerns(*info) && at++ % kOneCaseIn == 0) cases.push_back(info);
  }
  const RunResult run = run_cases(cases, options);
  std::size_t passed = 0;
  for (const CaseResult& result : run.cases) {
    passed += result.verdict == Verdict::pass;
    const bool fine = result.verdict == Verdict::pass || result.verdict == Verdict::skip || result.verdict == Verdict::inconclusive;
    EXPECT_TRUE(fine) << result.info->name << " over " << result.transport << ": " << result.reason;
  }
  if (kOneCaseIn == 1) {
    EXPECT_GT(static_cast<double>(passed), static_cast<double>(run.cases.size()) * share);
  }
}

}  // namespace fb::conformance
