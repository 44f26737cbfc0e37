// What a world of a workload consists of, drawn by its seed.
#pragma once

#include <string_view>
#include <vector>

#include "model/host/multipath.h"
#include "model/host/types.h"
#include "sim/fault/schedule.h"

namespace fb::conformance {

enum class WorldKind : std::uint8_t { rdma, tcp, management };

/// "mixed" is one of the others for each seed. The Problem names an unknown workload.
Result<WorldKind> world_kind(std::string_view workload, std::uint64_t seed);

/// Hosts and a subsystem with one namespace that is watched.
struct FabricShape {
  WorldKind kind = WorldKind::rdma;
  unsigned paths = 1;  ///< ports of the subsystem; each host has an association through each
  unsigned hosts = 1;
  unsigned workers = 4;  ///< of each host
  std::uint16_t io_queues = 1;
  std::uint16_t entries = 32;
  std::uint32_t block_bytes = 512;
  std::uint64_t blocks = 64;
  std::uint8_t protection_type = 0;
  host::ProtectionUse protection = host::ProtectionUse::controller;
  host::PathPolicy policy = host::PathPolicy::round_robin;
  bool reservations = false;  ///< hosts reserve the namespace and release it
  bool cache = false;         ///< losses of power forget what was not flushed
  bool header_digest = false, data_digest = false;
  bool flow_control = true;
  bool traffic_keep_alive = false;
  std::uint8_t mtu_code = 5;
  std::uint32_t in_capsule_bytes = 4096;
  Duration io_latency;
  std::uint32_t kato_ms = 5000;
};
FabricShape fabric_shape(WorldKind kind, std::uint64_t seed);
/// Of a world with somebody's product in it, over TCP: one path, and blocks as the product has them.
FabricShape product_shape(std::uint64_t seed);

/// Drives on one MCTP medium and a management requester.
struct ManagementShape {
  std::string_view medium = "smbus";  ///< or "serial", "pcie"
  unsigned drives = 1;
  unsigned workers = 2;
};
ManagementShape management_shape(std::uint64_t seed);

/// Where faults may strike.
std::vector<fault::Place> places_of(const FabricShape& shape);
std::vector<fault::Place> places_of(const ManagementShape& shape);
/// Where faults may strike on the way to somebody's product, and what its host does.
std::vector<fault::Place> places_before_product(std::string_view transport);
/// Of any world of the workload. The Problem names an unknown workload.
Result<std::vector<fault::Place>> places_of_workload(std::string_view workload);

}  // namespace fb::conformance
