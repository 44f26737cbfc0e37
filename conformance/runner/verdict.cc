#include "conformance/runner/verdict.h"

namespace fb::conformance {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::none: return "none";
    case Verdict::pass: return "pass";
    case Verdict::inconclusive: return "inconclusive";
    case Verdict::fail: return "fail";
    case Verdict::error: return "error";
    case Verdict::skip: return "skip";
  }
  return "error";
}

std::string_view name_of(Disposition disposition) {
  switch (disposition) {
    case Disposition::as_expected: return "as_expected";
    case Disposition::waived: return "waived";
    case Disposition::regression: return "regression";
    case Disposition::unexpected_pass: return "unexpected_pass";
  }
  return "regression";
}

std::string signature_of(const Finding& finding) { return finding.what + ": " + finding.seen; }

}  // namespace fb::conformance
