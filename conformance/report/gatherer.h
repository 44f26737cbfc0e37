// Gathers, while a run goes on, what its page shows beside the results: the exchange of each case, which
// transitions the state tables went through, which edges of fields were on the wire.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "conformance/report/edges.h"
#include "conformance/report/ladder.h"
#include "conformance/report/transitions.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

class Gatherer {
 public:
  /// `complete`: the worlds are simulated, nothing is missing in their traces.
  explicit Gatherer(bool complete) : complete_(complete) {}
  /// For RunOptions::watch; from any thread. The gatherer outlives the watchers.
  std::unique_ptr<CaseWatcher> watch(const CaseInfo& info, std::string_view transport, std::string_view lane);

  // After the run.
  const Ladder* ladder_of(const CaseResult& result) const;
  const TransitionCounts& transitions() const { return transitions_; }
  const EdgeCounts& edges() const { return edges_; }

 private:
  class Watcher;
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;  // the names of the case, the transport and the lane
  bool complete_;
  std::mutex mutex_;
  std::map<Key, Ladder> ladders_;
  TransitionCounts transitions_;
  EdgeCounts edges_;
};

}  // namespace fb::conformance
