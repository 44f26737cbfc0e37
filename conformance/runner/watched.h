// What the findings of the monitors mean for a case.
#pragma once

#include "conformance/monitors/monitors.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

/// Whether the one who is blamed is the product under test, and not the bench.
bool blames_product(const monitors::Finding& finding, bool embedded);

/// A case that passed although the product broke a rule fails, with the rule's requirement. What the bench
/// itself breaks on purpose is written down for each case (on_purpose.h); anything else is its ERROR.
void judge_by_monitors(const monitors::Monitors& watch, bool embedded, CaseResult& result);

}  // namespace fb::conformance
