#include "conformance/monitors/monitors.h"

#include <algorithm>

#include "conformance/monitors/judge.h"
#include "conformance/oracle/management.h"
#include "conformance/oracle/oracle.h"

namespace fb::monitors {

namespace {

constexpr std::uint32_t kFindingsOfOneRule = 100;

}  // namespace

bool Findings::count(Rule rule) {
  if (++by_rule_[static_cast<std::size_t>(rule)] <= kFindingsOfOneRule) return true;
  ++left_out_;
  return false;
}

void Findings::add(Rule rule, const Sight& at, std::string text) {
  if (count(rule)) all_.push_back({rule, at.packet, at.time, at.from, std::string(at.actor()), std::move(text)});
}

void Findings::hold(Rule rule, const Sight& at, const Queue& queue, std::string text) {
  held_.push_back(
      {{rule, at.packet, at.time, at.from, std::string(at.actor()), std::move(text)}, &queue, {queue.requests[0], queue.requests[1]}});
}

void Findings::settle() {
  std::erase_if(held_, [this](Held& held) {
    if (!held.queue->whole) return true;
    if (!went_on(held)) return false;
    if (count(held.finding.rule)) all_.push_back(std::move(held.finding));
    return true;
  });
}

void Findings::finish() {
  settle();
  held_.clear();
  std::stable_sort(all_.begin(), all_.end(), [](const Finding& a, const Finding& b) { return a.packet < b.packet; });
}

Monitors::Monitors(const evidence::DissectorOptions& options, bool with_oracle, oracle::Declaration declared) : dissector_(options) {
  // Those who watch the form of what is said go first: a queue that they suspect is not judged further.
  for (const auto make : {&judge_of_rdma_packets, &judge_of_rdma_answers, &judge_of_connections, &judge_of_pdus, &judge_of_tcp_data,
                          &judge_of_keys, &judge_of_associations, &judge_of_queues, &judge_of_mctp, &judge_of_management}) {
    judges_.push_back(make(findings_, options.complete));
  }
  if (with_oracle) {
    judges_.push_back(oracle::judge_by_oracle(findings_, options.complete, std::move(declared)));
    judges_.push_back(oracle::judge_management_by_oracle(findings_, options.complete));
  }
  for (const auto& judge : judges_) dissector_.add(*judge);
}

Monitors::~Monitors() = default;

void Monitors::judge_answers_to_faults() {
  judges_.push_back(judge_of_tcp_answers(findings_, dissector_.options().complete));
  dissector_.add(*judges_.back());
}

std::vector<Rule> Monitors::judged() const {
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < kRules; ++i) {
    if (findings_.was_judged(static_cast<Rule>(i))) rules.push_back(static_cast<Rule>(i));
  }
  return rules;
}

}  // namespace fb::monitors
