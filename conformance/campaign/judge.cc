#include "conformance/campaign/judge.h"

namespace fb::conformance {

std::string_view name_of(WorldVerdict verdict) {
  switch (verdict) {
    case WorldVerdict::pass:
      return "pass";
    case WorldVerdict::inconclusive:
      return "inconclusive";
    case WorldVerdict::fail:
      return "fail";
  }
  return "?";
}

void Judge::tell(WorldOutcome& outcome) const {
  if (!failed()) return;
  fault::Schedule struck;
  for (const fault::Strike& strike : outcome.strikes) struck.decisions.push_back(strike.decision);
  // Damaged data is worse than a wrong answer to a fault, and is reported first where no fault excuses it.
  const bool certain = !answer_.signature.empty() && (failure_.signature.empty() || struck.lies());
  const bool firm = certain || !failure_.signature.empty();
  const Fault& fault = certain ? answer_ : firm ? failure_ : promise_;
  std::string excuse;
  if (!certain && struck.lies()) excuse = "bytes were changed behind the checks that would notice it";
  if (!firm && excuse.empty()) excuse = struck.beyond({});
  outcome.verdict = excuse.empty() ? WorldVerdict::fail : WorldVerdict::inconclusive;
  outcome.signature = fault.signature;
  outcome.text = excuse.empty() ? fault.text : fault.text + " (" + excuse + ")";
}

std::string without_numbers(std::string_view text) {
  std::string out;
  bool inside = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && !inside) out += '#';
    inside = digit;
  }
  return out;
}

}  // namespace fb::conformance
