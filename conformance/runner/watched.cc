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

// Simulated hosts and endpoints are named; sockets call the other side the peer.
bool blames_product(const monitors::Finding& finding, bool embedded) {
  if (!embedded) return finding.actor == "peer";
  return finding.actor.starts_with("product");
}

void judge_by_monitors(const monitors::Monitors& watch, bool embedded, CaseResult& result) {
  if (result.verdict != Verdict::pass) return;
  for (const monitors::Finding& found : watch.findings()) {
    const bool product = blames_product(found, embedded);
    fprintf(stderr, "MON %s %s %s [%s] %s p%lu\n", std::string(result.info->name).c_str(), std::string(monitors::facts_of(found.rule).name).c_str(), product?"PRODUCT":"TESTER", found.actor.c_str(), found.text.c_str(), found.packet);
    if (!product) continue;
    if (result.verdict == Verdict::pass) {
      result.verdict = Verdict::fail;
      const Finding told = as_finding(found);
      result.reason = told.what + ": " + told.seen;
    }
    result.findings.push_back(as_finding(found));
  }
}

}  // namespace fb::conformance
