// A rule that was broken: by whom, in which packet, with the numbers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "conformance/evidence/flows.h"
#include "conformance/monitors/rules.h"

namespace fb::monitors {

struct Finding {
  Rule rule{};
  std::uint64_t packet = 0;
  Instant time;
  evidence::Party blamed;  ///< who said what should not have been said
  std::string actor;       ///< its name, where the trace has one
  std::string text;
};

/// Collects findings; of one rule against one party only so many are kept.
class Findings {
 public:
  void add(Rule rule, const evidence::Sight& at, std::string text);
  /// Counts only if nothing turns out to be missing in this queue: a packet that a capture lacks shows when
  /// the next one of its direction comes.
  void hold(Rule rule, const evidence::Sight& at, const evidence::Queue& queue, std::string text);
  /// Tells what was held and has become certain since.
  void settle();
  /// No more will be seen.
  void finish();
  /// This rule had something to judge.
  void judged(Rule rule) { judged_[static_cast<std::size_t>(rule)] = true; }
  bool holds() const { return !held_.empty(); }
  bool was_judged(Rule rule) const { return judged_[static_cast<std::size_t>(rule)]; }
  const std::vector<Finding>& all() const { return all_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Held {
    Finding finding;
    const evidence::Queue* queue;
    std::uint32_t requests[2];
  };
  bool count(Rule rule);
  static bool went_on(const Held& held) { return held.queue->requests[0] > held.requests[0] && held.queue->requests[1] > held.requests[1]; }
  std::vector<Finding> all_;
  std::vector<Held> held_;
  std::array<std::uint32_t, kRules> by_rule_ = {};
  std::array<bool, kRules> judged_ = {};
  std::uint64_t left_out_ = 0;
};

}  // namespace fb::monitors
