// Every rule of the catalogue over one stream of evidence. A sink of a world's trace, or fed from a file:
//
//   monitors::Monitors monitors({.complete = true});
//   world.trace().add_sink(monitors);
//   ...
//   for (const monitors::Finding& finding : monitors.findings()) ...
#pragma once

#include <memory>
#include <vector>

#include "conformance/evidence/dissector.h"
#include "conformance/monitors/finding.h"
#include "conformance/oracle/declaration.h"

namespace fb::monitors {

class Judge;

class Monitors final : public TraceSink {
 public:
  /// `complete` in simulated worlds: what was not seen was not said. Without the oracle where products are changed by other means
  /// than those that are traced.
  explicit Monitors(const evidence::DissectorOptions& options = {}, bool with_oracle = true, oracle::Declaration declared = {});
  ~Monitors() override;

  /// Before the first event: what the controller answers to PDUs that faults changed on the way is judged too.
  void judge_answers_to_faults();

  void on_event(const TraceEvent& event) override { dissector_.on_event(event); }
  void on_packet(const capture::CapturedPacket& packet) {
    dissector_.on_packet(packet);
    if (findings_.holds()) findings_.settle();
  }

  /// After on_event() of traffic that others exchange: tells what has become certain.
  void settle() {
    if (findings_.holds()) findings_.settle();
  }

  /// No more comes: what was held back for want of certainty is told or dropped.
  void finish() {
    dissector_.finish();
    findings_.finish();
  }

  /// In the order of the packets once finished; before, as they come.
  const std::vector<Finding>& findings() const { return findings_.all(); }
  /// Further ones of rules that have spoken often.
  std::uint64_t findings_left_out() const { return findings_.left_out(); }
  /// The rules that had something to judge.
  std::vector<Rule> judged() const;
  evidence::Dissector& dissector() { return dissector_; }
  const evidence::Dissector& dissector() const { return dissector_; }

 private:
  Findings findings_;
  evidence::Dissector dissector_;
  std::vector<std::unique_ptr<Judge>> judges_;
};

}  // namespace fb::monitors
