// What a managed drive is made of.
#pragma once

#include <vector>

#include "model/mi/options.h"
#include "model/subsystem/options.h"
#include "sim/mctp/network.h"

namespace fb::mi {

/// What a drive's node says in the control protocol: it has NVMe-MI, and an identity.
mctp::DeviceOptions drive_node_options();

struct DriveOptions {
  subsystem::SubsystemOptions subsystem = drive_options();
  /// In the order of their NSIDs.
  std::vector<subsystem::NamespaceOptions> namespaces = std::vector<subsystem::NamespaceOptions>(1);
  DeviceOptions device = {};
  EndpointOptions endpoint = {};
  mctp::DeviceOptions node = drive_node_options();
  mctp::EndpointOptions end = {};
  /// An endpoint reset leaves a dynamic EID, as a power cycle does not.
  bool reset_keeps_eid = false;
};

}  // namespace fb::mi
