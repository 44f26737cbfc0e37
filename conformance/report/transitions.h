// Coverage of state tables: which of the transitions that a table allows were gone through. The engines say
// each one in the trace as "NAME: from -> to".
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace fb::conformance {

struct StateMachine {
  std::string_view name;                                               ///< "Controller (CC and CSTS)"
  std::string_view what;                                               ///< what its states are, in a sentence
  std::string_view label;                                              ///< of its events in the trace
  std::vector<std::pair<std::string_view, std::string_view>> allowed;  ///< from, to; each once
};

/// Every machine whose transitions are in the trace.
std::vector<StateMachine> state_machines();

class TransitionCounts {
 public:
  /// A state event; what is no transition is let pass.
  void see(std::string_view label, std::string_view text);
  void add(const TransitionCounts& other);
  std::uint64_t of(std::string_view label, std::string_view from, std::string_view to) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // label, from, to
  std::map<Key, std::uint64_t, std::less<>> counts_;
};

}  // namespace fb::conformance
