#include "conformance/runner/watched.h"

#include <fmt/format.h>

namespace fb::conformance {

namespace {

Finding as_finding(const monitors::Finding& found) {
  const monitors::RuleFacts& rule = monitors::facts_of(found.rule);
  return {fmt::format("{} ({})", rule.requirement, rule.name),
          {std::string(rule.sentence)},
          fmt::format("packet {} at {}, {}: {}", found.packet, to_string(found.time), to_string(found.blamed), found.text)};
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
  if (result.verdict != Verdict::pass) return;
  const CaseInfo& info = *result.info;
  for (const monitors::Finding& found : findings) {
    const bool product = blames_product(found, info.role, embedded);
    if (!product && (info.options.malformed || on_purpose(info.name, found.rule))) continue;
    const Finding told = as_finding(found);
    if (result.verdict == Verdict::pass) result.reason = (product ? "" : "the bench itself broke a rule: ") + told.what + ": " + told.seen;
    result.verdict = worse(result.verdict, product ? Verdict::fail : Verdict::error);
    result.findings.push_back(told);
  }
}

}  // namespace fb::conformance
