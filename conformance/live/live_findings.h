// What judges of live traffic keep: each finding once, with the side that is to blame, and the results that follow from them.
#pragma once

#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "conformance/monitors/monitors.h"
#include "conformance/runner/runner.h"

namespace fb::live {

class LiveFindings {
 public:
  /// Reported on `on_finding`, unless it was before.
  void add(const monitors::Finding& found, conformance::Side side, const std::function<void(const conformance::LiveFinding&)>& on_finding);
  /// Into the order of the packets.
  void sort();
  const std::vector<conformance::LiveFinding>& all() const { return all_; }
  /// A result for each rule that had something to judge: a failure of each side that broke it, else a pass of `unbroken(rule)`.
  conformance::RunResult result(const std::set<monitors::Rule>& judged, std::string_view transport,
                                conformance::Role (*role_of_side)(conformance::Side), conformance::Role (*unbroken)(monitors::Rule)) const;

 private:
  std::vector<conformance::LiveFinding> all_;
};

/// The rules that any of them had something to judge by.
std::set<monitors::Rule> judged_by(std::initializer_list<const monitors::Monitors*> judges);

}  // namespace fb::live
