// A whole managed drive: an NVM subsystem with its namespaces, its management, and one management endpoint.
// Its MCTP side is a node that the caller has attached to a medium.
//
//   mctp::SimpleDevice node(world, binding, options.node, options.end);
//   mi::Drive drive(world, node, std::move(options));
#pragma once

#include "model/drive/options.h"
#include "model/mi/endpoint.h"
#include "model/subsystem/subsystem.h"

namespace fb::mi {

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
