// What the findings of the monitors mean for a case.
#pragma once

#include "conformance/runner/runner.h"

namespace fb::conformance {

/// Whether the one who is blamed is the product under test, and not the bench.
bool blames_product(const monitors::Finding& finding, Role role, bool embedded);

/// Whether the bench breaks this rule in this case on purpose, as on_purpose.cc has it.
bool on_purpose(std::string_view name, monitors::Rule rule);

/// Keeps what was found with the case. Rules that the product breaks are reported once a run; what the bench itself breaks on
/// purpose is written down for each case, and anything else is its ERROR.
/// `simulated`: a third-party product in a simulated network, whose actors have names.
void judge_by_monitors(const std::vector<monitors::Finding>& findings, bool embedded, CaseResult& result, bool simulated = false);

/// A rule that holds for every exchange as a case of its own, "rule_nvme_cid_reuse": what a broken one is reported under.
const CaseInfo& rule_case(monitors::Rule rule, Role role);

/// A result for each rule that the product broke in these cases, or beforehand while it was asked what it is. None where a case
/// about the same requirement has failed: that says it already.
std::vector<CaseResult> results_of_rules(const std::vector<CaseResult>& cases, const std::vector<monitors::Finding>& beforehand,
                                         const Product& product);

}  // namespace fb::conformance
