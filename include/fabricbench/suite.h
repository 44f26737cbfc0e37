// The conformance suite, on the embedded products.
#pragma once

#include <fabricbench/types.h>

#include <string>
#include <vector>

namespace fabricbench {

struct SuiteOptions {
  std::vector<std::string> suites = {};  ///< all, if none is named
  std::vector<std::string> cases = {};   ///< patterns
  std::vector<std::string> roles = {};
  std::vector<std::string> deviations = {};
  std::uint64_t seed = 1;
};

struct FABRICBENCH_API CaseResult {
  std::string name;
  std::string requirement;
  std::string transport;
  std::string verdict;  ///< pass, fail, skip, inconclusive, error
  std::string reason;
  std::string replay;  ///< token for `fabricbench replay`
};

FABRICBENCH_API std::vector<CaseResult> run_suite(const SuiteOptions& options = {});

}  // namespace fabricbench
