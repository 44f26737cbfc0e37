// What the findings of the monitors mean for a case.
#pragma once

#include "conformance/runner/runner.h"

namespace fb::conformance {

/// Whether the one who is blamed is the product under test, and not the bench.
bool blames_product(const monitors::Finding& finding, Role role, bool embedded);

/// Whether the bench breaks this rule in this case on purpose, as on_purpose.cc has it.
bool on_purpose(std::string_view name, monitors::Rule rule);

/// A case that passed although the product broke a rule fails, with the rule's requirement. What the bench
/// itself breaks on purpose is written down for each case; anything else is its ERROR.
void judge_by_monitors(const std::vector<monitors::Finding>& findings, bool embedded, CaseResult& result);

}  // namespace fb::conformance
