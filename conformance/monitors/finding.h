// A rule that was broken: by whom, in which packet, with the numbers.
#pragma once

#include <string>
#include <vector>

#include "conformance/evidence/sight.h"
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
  const std::vector<Finding>& all() const { return all_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  std::vector<Finding> all_;
  std::vector<std::uint32_t> by_rule_ = std::vector<std::uint32_t>(catalogue().size());
  std::uint64_t left_out_ = 0;
};

}  // namespace fb::monitors
