// A failure in one line, as the page, JUnit and TAP head it.
#include <algorithm>

#include "conformance/report/report.h"

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

std::string headline_of(const CaseResult& result) {
  // Other reasons than that of a check are sentences of their own.
  const auto checked = std::find_if(result.findings.begin(), result.findings.end(),
                                    [&](const Finding& one) { return signature_of(one) == result.reason; });
  return checked == result.findings.end() ? result.reason : expected_and_seen(*checked);
}

}  // namespace fb::conformance
