// The self-test of the suite: every case passes on the honest products, and fails on each deviation
// that breaks its requirement.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/runner/runner.h"

namespace fb::conformance {

struct SelftestOptions {
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  /// Run each deviation against the other cases of its product too, to say who else catches it.
  bool cross = true;
  BenchFactory factory = &make_bench;
  Interrupter* interrupter = nullptr;
  std::string transport = {};  ///< only over this one
  std::function<void(std::size_t done, std::size_t all)> progress;
};

/// A deviation against a case that names its requirement, over each transport that both have: the
/// verdict is FAIL when the case fails over every one.
struct DeviationOutcome {
  const deviations::Deviation* deviation = nullptr;
  Verdict verdict = Verdict::none;
  std::string reason;
  std::vector<std::string> caught_by;  ///< every case that fails on it
};

struct SelftestCase {
  const CaseInfo* info = nullptr;
  /// Over its transports; what is not PASS first.
  Verdict honest = Verdict::none;
  std::string reason;
  std::vector<DeviationOutcome> deviations;
};

struct SelftestResult {
  std::vector<SelftestCase> cases;
  std::size_t deviations = 0;  ///< that some case answers for
  std::size_t caught = 0;      ///< pairs of case and deviation
  std::size_t missed = 0;
  std::size_t without_deviation = 0;      ///< cases
  std::vector<std::string> without_case;  ///< deviations whose requirement no chosen case names
  std::vector<std::string> broken;        ///< "case on deviation: reason", where the bench broke
  bool interrupted = false;
  bool good() const;
};

SelftestResult selftest(const std::vector<const CaseInfo*>& cases, const SelftestOptions& options);

}  // namespace fb::conformance
