#include "conformance/live/live_findings.h"

#include <algorithm>

#include "conformance/runner/watched.h"

namespace fb::live {

using conformance::CaseResult;
using conformance::LiveFinding;
using conformance::Role;
using conformance::Side;
using conformance::Verdict;

void LiveFindings::add(const monitors::Finding& found, Side side, const std::function<void(const LiveFinding&)>& on_finding) {
  const bool known = std::ranges::any_of(all_, [&](const LiveFinding& one) {
    return one.side == side && one.finding.rule == found.rule && one.finding.packet == found.packet && one.finding.text == found.text;
  });
  if (known) return;
  all_.push_back({found, side});
  if (on_finding) on_finding(all_.back());
}

void LiveFindings::sort() {
  std::ranges::stable_sort(all_, {}, [](const LiveFinding& one) { return one.finding.packet; });
}

conformance::RunResult LiveFindings::result(const std::set<monitors::Rule>& judged, std::string_view transport, Role (*role_of_side)(Side),
                                            Role (*unbroken)(monitors::Rule)) const {
  conformance::RunResult run;
  run.live = all_;
  const auto add = [&](monitors::Rule rule, Role role) -> CaseResult& {
    CaseResult& result = run.cases.emplace_back();
    result.info = &conformance::rule_case(rule, role);
    result.transport = transport;
    result.verdict = Verdict::pass;
    result.finished = true;
    return result;
  };
  for (const monitors::Rule rule : judged) {
    bool broken = false;
    for (const Side side : {Side::host, Side::controller}) {
      const auto first = std::ranges::find_if(all_, [&](const LiveFinding& one) { return one.side == side && one.finding.rule == rule; });
      if (first == all_.end()) continue;
      broken = true;
      CaseResult& result = add(rule, role_of_side(side));
      result.verdict = Verdict::fail;
      const monitors::RuleFacts& facts = monitors::facts_of(rule);
      result.findings = {{std::string(facts.name), {std::string(facts.sentence)}, first->finding.text}};
      result.reason = first->finding.text + " (packet " + std::to_string(first->finding.packet) + ")";
    }
    if (!broken) add(rule, unbroken(rule));
  }
  return run;
}

std::set<monitors::Rule> judged_by(std::initializer_list<const monitors::Monitors*> judges) {
  std::set<monitors::Rule> rules;
  for (const monitors::Monitors* judge : judges) {
    for (const monitors::Rule rule : judge->judged()) rules.insert(rule);
  }
  return rules;
}

}  // namespace fb::live
