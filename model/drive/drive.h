// A whole managed drive: an NVM subsystem with its namespaces, its management, and one management endpoint.
// Its MCTP side is a node that the caller has attached to a medium.
//
//   mctp::SimpleDevice node(world, binding, options.node, options.end);
//   mi::Drive drive(world, node, std::move(options));
#pragma once

#include <vector>

#include "model/mi/endpoint.h"
#include "model/subsystem/subsystem.h"
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

/// Null is honest. They outlive the drive.
struct DriveHooks {
  subsystem::SubsystemHooks* subsystem = nullptr;
  EndpointHooks* endpoint = nullptr;
  mctp::EndpointHooks* mctp = nullptr;
};

class Drive {
 public:
  /// `node` was made with the node and end of the same options, and outlives the drive. Throws UserError for
  /// namespaces that cannot be.
  Drive(World& world, mctp::SimpleDevice& node, DriveOptions options, const DriveHooks& hooks = {});
  Drive(const Drive&) = delete;
  Drive& operator=(const Drive&) = delete;

  subsystem::Subsystem& subsystem() { return subsystem_; }
  Device& device() { return device_; }
  Endpoint& endpoint() { return endpoint_; }
  mctp::SimpleDevice& node() { return node_; }

 private:
  mctp::SimpleDevice& node_;
  subsystem::Subsystem subsystem_;
  Device device_;
  Endpoint endpoint_;
};

}  // namespace fb::mi
