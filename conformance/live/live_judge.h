// Judges traffic while it passes a proxy: the rules of conformance/monitors on what each side said and heard. What the proxy
// makes of it by faults is held against nobody: a side is judged by its own connection alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/live/live_findings.h"
#include "wire/fabrics/transports.h"

namespace fb::live {

struct LiveJudgeOptions {
  /// The connections to the controllers are shown beside those of the hosts (a proxy with faults).
  bool both_connections = false;
  std::vector<std::uint16_t> tcp_ports = {};  ///< of NVMe/TCP, beside 4420 and 8009
  std::string_view transport = fabrics::kTcp;
};

/// A sink for the trace of a world with a proxy::TcpProxy or a proxy::RdmaProxy.
class LiveJudge final : public TraceSink {
 public:
  explicit LiveJudge(const LiveJudgeOptions& options);
  ~LiveJudge() override;

  void on_event(const TraceEvent& event) override;
  /// No more comes. Further findings may be told.
  void finish();

  /// Told once each, as they come; from inside on_event() and finish().
  std::function<void(const conformance::LiveFinding&)> on_finding;
  const std::vector<conformance::LiveFinding>& findings() const { return findings_.all(); }
  std::uint64_t left_out() const;
  /// Of the trace: the frames of a capture that listens beside.
  std::uint64_t packets() const { return packets_; }
  /// What was read, of the hosts' connections.
  const evidence::Counts& counts() const { return hosts_.dissector().counts(); }
  evidence::UnreadConnections unread() const { return hosts_.dissector().unread_connections(); }
  std::vector<std::string> remarks() const { return hosts_.dissector().remarks(); }
  /// A result for each rule that had something to judge: failed for each side that broke it, else passed.
  conformance::RunResult result() const;

 private:
  conformance::Side side_of(const monitors::Finding& found, bool of_hosts) const;
  void tell_new(const monitors::Monitors& judges, std::size_t& told, bool of_hosts);

  LiveJudgeOptions options_;
  monitors::Monitors hosts_;
  monitors::Monitors controllers_;
  std::size_t hosts_told_ = 0, controllers_told_ = 0;
  std::uint64_t packets_ = 0;
  std::set<Endpoint> served_;                                ///< the controllers' ends of TCP connections
  std::set<IpAddress> rdma_of_hosts_, rdma_of_controllers_;  ///< likewise, of RDMA: the proxy is one end in each view
  LiveFindings findings_;
};

}  // namespace fb::live
