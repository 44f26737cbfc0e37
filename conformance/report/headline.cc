// The title of a case, and its failure in one line, as the page, JUnit and TAP head it.
#include <algorithm>

#include "conformance/monitors/rules.h"
#include "conformance/report/report.h"
#include "conformance/requirements/titles.h"

namespace fb::conformance {

namespace {

std::string expected_and_seen(const Finding& finding) {
  std::string expected;
  for (const std::string& one : finding.expected) expected += (expected.empty() ? "" : " or ") + one;
  const std::string text = "expected " + (expected.empty() ? finding.what : expected) + ", seen " + finding.seen;
  const bool says_it = finding.expected.empty() || finding.expected.front() == finding.what;
  return says_it ? text : finding.what + ": " + text;
}

}  // namespace

std::string_view title_of(const CaseInfo& info) {
  constexpr std::string_view kRule = "rule_";
  if (info.name.starts_with(kRule)) {
    for (const monitors::RuleFacts& rule : monitors::catalogue()) {
      if (rule.name == info.name.substr(kRule.size())) return rule.sentence;
    }
  }
  return title_of(info.name);
}

std::string headline_of(const CaseResult& result) {
  // Other reasons than that of a check are sentences of their own.
  const auto checked =
      std::find_if(result.findings.begin(), result.findings.end(), [&](const Finding& one) { return signature_of(one) == result.reason; });
  return checked == result.findings.end() ? result.reason : expected_and_seen(*checked);
}

}  // namespace fb::conformance
