// Listens to the trace of a world and keeps what was said in it, for a ladder.
#pragma once

#include <string>
#include <vector>

#include "conformance/evidence/dissector.h"
#include "conformance/evidence/said.h"
#include "conformance/report/ladder.h"

namespace fb::conformance {

class ExchangeRecorder final : public TraceSink {
 public:
  /// `complete`: nothing can be missing between the packets, as in a simulated world.
  explicit ExchangeRecorder(bool complete) : dissector_({.complete = complete}) { dissector_.add(said_); }
  /// Hears what the dissector tells; before the first event.
  void add(evidence::Observer& observer) { dissector_.add(observer); }

  /// Never throws: whatever reading the exchange comes to, a verdict does not depend on it.
  void on_event(const TraceEvent& event) override;
  /// Ends the recording.
  Ladder ladder(const LadderLimits& limits);

 private:
  evidence::Dissector dissector_;
  evidence::SaidList said_;
  std::string broken_;  // why the rest was not read
};

}  // namespace fb::conformance
