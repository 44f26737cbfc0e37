// A RoCEv2 device in user space on any datagram port: the RC transport, memory keys, completion and
// shared receive queues, and the connection manager on QP1.
//
// All packets leave from the port that is bound to UDP 4791. The convention of one source port from
// 0xC000-0xFFFF per queue pair (entropy for routers) is not followed; receivers must not depend on
// it.
#pragma once

#include <memory>
#include <string>

#include "sim/net/datagram.h"
#include "sim/rdma/device.h"
#include "sim/rdma/softroce/cm_seam.h"
#include "sim/rdma/softroce/counters.h"
#include "sim/rdma/softroce/qp_core.h"

namespace fb::softroce {

struct SoftRoceOptions {
  /// Names the random streams of the device and its events in the trace.
  std::string name = "rdma";
  IpAddress address;
  std::uint16_t port = roce::kUdpPort;
  EngineOptions engine;
  CmOptions connections;
  rdma::DeviceLimits limits;
  /// Upper bound of the path MTU; the port's MTU bounds it as well.
  std::uint8_t mtu_code_max = 5;
  /// 0 draws one from the world's seed. Peers take two devices with one GUID for one that
  /// restarted.
  std::uint64_t ca_guid = 0;
  /// Deliberate departures; null is honest. Must outlive the device.
  SoftHooks* hooks = nullptr;
};

class SoftRoceDevice : public rdma::Device {
 public:
  virtual const SoftCounters& counters() const = 0;
  /// A queue pair of this device from the connection manager's side: for raw peers and tests that
  /// connect without CM messages.
  virtual CmQueuePair& seam_of(rdma::QueuePair& qp) = 0;
  /// Largest path MTU code that the port can carry.
  virtual std::uint8_t mtu_code() const = 0;
};

/// Opens address:port on `host`. Fails when the port is taken.
Result<std::unique_ptr<SoftRoceDevice>> make_softroce(World& world, net::DatagramHost& host, const SoftRoceOptions& options);

}  // namespace fb::softroce
