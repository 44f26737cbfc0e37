// The fabric of this machine: a software RoCE device for each of its addresses, on a thread of its own.
#pragma once

#include <memory>

#include "networkdirect/provider/fabric.h"

namespace fb::networkdirect {

struct MachineOptions {
  /// Empty: all addresses of interfaces that are up.
  std::vector<IpAddress> addresses;
  /// UDP ports in place of RoCEv2's, at our own addresses and at peers'; own_ports.h.
  std::vector<Endpoint> own_ports = {};
  bool busy_poll = false;
  Behaviour behaviour = {};
};

/// What the environment says: FABRICBENCH_ND_ADDRESSES, a list of ADDRESS or ADDRESS:PORT (IPv6 in brackets) with commas, and
/// FABRICBENCH_ND_BUSY_POLL=1; what is neither is left out. FABRICBENCH_ND_BEHAVIOUR is for parse_behaviour(): a Problem where it
/// is wrong.
Result<MachineOptions> options_of_environment();

/// Devices are opened when they are first asked for, and stay until the fabric goes.
std::shared_ptr<Fabric> make_machine_fabric(const MachineOptions& options);

}  // namespace fb::networkdirect
