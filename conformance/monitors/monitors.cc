#include "conformance/monitors/monitors.h"

#include "conformance/monitors/judge.h"

namespace fb::monitors {

namespace {

constexpr std::uint32_t kFindingsOfOneRule = 100;

}  // namespace

void Findings::add(Rule rule, const Sight& at, std::string text) {
  if (++by_rule_[static_cast<std::size_t>(rule)] > kFindingsOfOneRule) {
    ++left_out_;
    return;
  }
  all_.push_back({rule, at.packet, at.time, at.from, std::string(at.actor), std::move(text)});
}

Monitors::Monitors(const evidence::DissectorOptions& options) : dissector_(options) {
  // Those who watch the form of what is said go first: a queue that they suspect is not judged further.
  for (const auto make : {&judge_of_rdma_packets, &judge_of_rdma_answers, &judge_of_connections, &judge_of_pdus,
                          &judge_of_tcp_data, &judge_of_keys, &judge_of_associations, &judge_of_queues, &judge_of_mctp,
                          &judge_of_management}) {
    judges_.push_back(make(findings_, options.complete));
    dissector_.add(*judges_.back());
  }
}

Monitors::~Monitors() = default;

}  // namespace fb::monitors
