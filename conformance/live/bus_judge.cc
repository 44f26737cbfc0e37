#include "conformance/live/bus_judge.h"

#include <algorithm>

#include "conformance/runner/watched.h"

namespace fb::live {

using conformance::CaseResult;
using conformance::LiveFinding;
using conformance::Role;
using conformance::Side;
using conformance::Verdict;

namespace {

evidence::DissectorOptions dissector_options() { return {.complete = false, .capture = true, .tcp_ports = {}, .tls_keys = nullptr}; }

Side side_of(std::size_t line) { return line == 0 ? Side::host : Side::controller; }

}  // namespace

BusJudge::BusJudge() : judges_{monitors::Monitors(dissector_options()), monitors::Monitors(dissector_options())} {}

void BusJudge::on_event(const TraceEvent& event) {
  const bool packet = event.kind == TraceKind::packet && event.mctp != nullptr;
  if (packet) ++packets_;
  for (std::size_t line = 0; line < judges_.size(); ++line) {
    // A frame that came to nothing may have been of either line: after it neither is sure of what it has missed.
    if (packet && event.mctp->bus != line + 1) continue;
    if (packet) judges_[line].dissector().number_next(packets_);
    judges_[line].on_event(event);
    judges_[line].settle();
    tell_new(line);
  }
}

void BusJudge::tell_new(std::size_t line) {
  const auto& all = judges_[line].findings();
  for (; told_[line] < all.size(); ++told_[line]) {
    const monitors::Finding& found = all[told_[line]];
    // What the others say here is what the proxy has let through.
    if (!speakers_[line].contains(static_cast<std::uint8_t>(found.blamed.number))) continue;
    const bool known = std::ranges::any_of(findings_, [&](const LiveFinding& one) {
      return one.side == side_of(line) && one.finding.rule == found.rule && one.finding.packet == found.packet &&
             one.finding.text == found.text;
    });
    if (known) continue;
    findings_.push_back({found, side_of(line)});
    if (on_finding) on_finding(findings_.back());
  }
}

void BusJudge::finish() {
  for (std::size_t line = 0; line < judges_.size(); ++line) {
    judges_[line].finish();
    told_[line] = 0;
    tell_new(line);
  }
  std::ranges::stable_sort(findings_, {}, [](const LiveFinding& one) { return one.finding.packet; });
}

conformance::RunResult BusJudge::result() const {
  conformance::RunResult run;
  run.live = findings_;
  std::set<monitors::Rule> judged;
  for (const monitors::Monitors& judge : judges_) {
    for (const monitors::Rule rule : judge.judged()) judged.insert(rule);
  }
  const auto add = [&](monitors::Rule rule, Role role) -> CaseResult& {
    CaseResult& result = run.cases.emplace_back();
    result.info = &conformance::rule_case(rule, role);
    result.transport = "serial";
    result.verdict = Verdict::pass;
    result.finished = true;
    return result;
  };
  for (const monitors::Rule rule : judged) {
    bool broken = false;
    for (const Side side : {Side::host, Side::controller}) {
      const auto first =
          std::ranges::find_if(findings_, [&](const LiveFinding& one) { return one.side == side && one.finding.rule == rule; });
      if (first == findings_.end()) continue;
      broken = true;
      CaseResult& result = add(rule, side == Side::host ? Role::management_requester : Role::endpoint);
      result.verdict = Verdict::fail;
      const monitors::RuleFacts& facts = monitors::facts_of(rule);
      result.findings = {{std::string(facts.name), {std::string(facts.sentence)}, first->finding.text}};
      result.reason = first->finding.text + " (packet " + std::to_string(first->finding.packet) + ")";
    }
    if (!broken) add(rule, Role::endpoint);
  }
  return run;
}

}  // namespace fb::live
