// Judges MCTP and NVMe-MI while they pass a proxy between two lines: each side by what it says on its own line, so that what the
// proxy makes of it by faults is held against nobody.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "conformance/live/live_findings.h"

namespace fb::live {

/// The lines of such a proxy, by the number that their packets have in the trace.
inline constexpr std::uint32_t kRequesterLine = 1, kEndpointLine = 2;

class BusJudge final : public TraceSink {
 public:
  BusJudge();

  /// Somebody on this line speaks as `eid`.
  void speaks(std::uint32_t line, std::uint8_t eid) { speakers_[line - 1].insert(eid); }
  void on_event(const TraceEvent& event) override;
  /// No more comes. Further findings may be told.
  void finish();

  std::function<void(const conformance::LiveFinding&)> on_finding;
  /// Side::host is the requester's line, Side::controller the endpoint's.
  const std::vector<conformance::LiveFinding>& findings() const { return findings_.all(); }
  std::uint64_t left_out() const { return judges_[0].findings_left_out() + judges_[1].findings_left_out(); }
  std::uint64_t packets() const { return packets_; }
  /// A result for each rule that had something to judge.
  conformance::RunResult result() const;

 private:
  void tell_new(std::size_t line);
  std::array<monitors::Monitors, 2> judges_;
  std::array<std::set<std::uint8_t>, 2> speakers_;
  std::array<std::size_t, 2> told_ = {};
  std::uint64_t packets_ = 0;
  LiveFindings findings_;
};

}  // namespace fb::live
