// Stands between two Ethernet links and passes every frame on as it is: hosts are on one, controllers on the other, and neither
// sees that somebody is between them. RoCEv2 packets are shown in the world's trace, as RdmaProxy shows them, and may be struck
// by faults.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "model/proxy/tcp_proxy.h"
#include "sim/fault/network_faults.h"
#include "sim/net/l2_socket.h"

namespace fb::proxy {

struct RdmaBridgeCounters {
  std::uint64_t frames = 0;  ///< passed on
  std::uint64_t to_controller_bytes = 0;
  std::uint64_t to_host_bytes = 0;
  std::uint64_t roce = 0;    ///< of those frames
  std::uint64_t unsent = 0;  ///< the other link takes no more, or the frame is too long for it
};

/// Needs a world in real time, which it must not outlive.
class RdmaBridge {
 public:
  /// `faults`: null for a quiet bridge; it outlives the bridge.
  RdmaBridge(World& world, std::unique_ptr<net::L2Socket> hosts, std::unique_ptr<net::L2Socket> controllers, fault::Points* faults);
  ~RdmaBridge();

  const RdmaBridgeCounters& counters() const { return counters_; }

 private:
  class Side;
  struct Late {
    Side* to;
    Bytes frame;
  };
  void pass(Side& from, Bytes& frame);
  void pass_roce(Side& from, Bytes& frame, std::size_t payload_at, std::size_t payload_bytes);
  void send_late();
  void show(bool by_host, bool passed, ByteView frame);

  World& world_;
  std::optional<fault::NetworkFaults> network_;  // under faults
  IpFacts at_hand_;                              // of the packet that may be struck
  RdmaBridgeCounters counters_;
  std::unique_ptr<Side> hosts_, controllers_;
  std::multimap<Instant, Late> late_;
  Timer<RdmaBridge, &RdmaBridge::send_late> late_timer_{"proxy.bridge.late", *this};
};

}  // namespace fb::proxy
