#include "conformance/runner/watched.h"

#include <fmt/format.h>

#include <algorithm>

namespace fb::conformance {

namespace {

std::string what_of(const monitors::Finding& found) {
  const monitors::RuleFacts& rule = monitors::facts_of(found.rule);
  return fmt::format("{} ({})", rule.requirement, rule.name);
}

std::string told(const monitors::Finding& found) {
  return fmt::format("{}: packet {} at {}, {}: {}", what_of(found), found.packet, to_string(found.time),
                     to_string(found.blamed), found.text);
}

}  // namespace

// Simulated hosts and endpoints are named, those of the bench by these words; sockets call the other side the peer.
bool blames_product(const monitors::Finding& finding, Role role, bool embedded) {
  if (!embedded) return finding.actor == "peer";
  // A serial line's ends have names of their own: the owner of the bus is on the left.
  const bool left = finding.actor.ends_with(".left");
  if (left || finding.actor.ends_with(".right")) return left != (role == Role::endpoint);
  for (const std::string_view ours : {"bench", "middle", "played", "second owner"}) {
    if (finding.actor.starts_with(ours)) return false;
  }
  return true;
}

void judge_by_monitors(const std::vector<monitors::Finding>& findings, bool embedded, CaseResult& result) {
  result.monitored = findings;
  // A failure under a rule that nobody has confirmed says no more than a pass does about the rules of every exchange.
  const bool unconfirmed = result.verdict == Verdict::inconclusive && !result.findings.empty();
  if (result.verdict != Verdict::pass && !unconfirmed) return;
  const CaseInfo& info = *result.info;
  const monitors::Finding* ours = nullptr;
  for (const monitors::Finding& found : findings) {
    if (!blames_product(found, info.role, embedded)) {
      const bool meant = info.options.malformed || on_purpose(info.name, found.rule);
      if (!meant && ours == nullptr) ours = &found;
      continue;
    }
    // What is seen has no numbers in it: waivers hold from run to run.
    const std::string what = what_of(found);
    const auto known = std::find_if(result.findings.begin(), result.findings.end(), [&](const Finding& f) { return f.what == what; });
    if (known != result.findings.end()) continue;
    // In front of what was not confirmed, so that a waiver names what the verdict is about.
    const auto place = result.verdict == Verdict::fail ? result.findings.end() : result.findings.begin();
    if (result.verdict != Verdict::fail) result.reason = told(found);
    result.verdict = Verdict::fail;
    result.findings.insert(place, {what, {std::string(monitors::facts_of(found.rule).sentence)}, "the product breaks this rule"});
  }
  // A bench may be misled by a product that breaks rules, and a real one has answers that nobody foresaw.
  if (ours == nullptr || !embedded || result.verdict != Verdict::pass) return;
  result.verdict = Verdict::error;
  result.reason = "the bench itself broke a rule: " + told(*ours);
}

}  // namespace fb::conformance
