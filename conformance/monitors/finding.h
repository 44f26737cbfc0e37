// A rule that was broken: by whom, in which packet, with the numbers.
#pragma once

#include <string>
#include <vector>

#include "conformance/evidence/flows.h"
#include "conformance/monitors/rules.h"

namespace fb::monitors {

struct Finding {
  Rule rule{};
  std::uint64_t packet = 0;
  Instant time;
  evidence::Party blamed;    ///< who said what should not have been said
  std::string actor;         ///< its name, where the trace has one
  std::string text;
};

/// Collects findings; of one rule against one party only so many are kept.
class Findings {
 public:
  void add(Rule rule, const evidence::Sight& at, std::string text);
  /// Counts only if nothing turns out to be missing in this queue: a packet that a capture lacks shows when
  /// the next one of its direction comes.
  void hold(Rule rule, const evidence::Sight& at, const evidence::Queue& queue, std::string text);
  /// No more will be seen.
  void finish();
  const std::vector<Finding>& all() const { return all_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Held {
    Finding finding;
    const evidence::Queue* queue;
    std::uint32_t requests[2];
  };
  bool count(Rule rule);
  std::vector<Finding> all_;
  std::vector<Held> held_;
  std::vector<std::uint32_t> by_rule_ = std::vector<std::uint32_t>(catalogue().size());
  std::uint64_t left_out_ = 0;
};

}  // namespace fb::monitors
