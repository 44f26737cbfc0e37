#include "conformance/campaign/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rng.h"
#include "base/suggest.h"
#include "conformance/campaign/recipe.h"
#include "model/proxy/faults.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

using fault::Place;
using fault::Site;

const std::vector<WorkloadFacts>& workloads() {
  static const std::vector<WorkloadFacts> known = {
      {"mixed", "each seed is one of those below"},
      {fabrics::kRdma, "hosts and a subsystem over RDMA: reads, writes and other commands of a block device"},
      {fabrics::kTcp, "the same over NVMe/TCP"},
      {"management", "drives on an MCTP bus, read and configured by NVMe-MI"},
  };
  return known;
}

Result<WorldKind> world_kind(std::string_view workload, std::uint64_t seed) {
  if (workload == fabrics::kRdma) return WorldKind::rdma;
  if (workload == fabrics::kTcp) return WorldKind::tcp;
  if (workload == "management") return WorldKind::management;
  if (workload == "mixed") {
    const std::uint64_t draw = Rng(seed, "kind").below(5);
    return draw < 2 ? WorldKind::rdma : draw < 4 ? WorldKind::tcp : WorldKind::management;
  }
  std::string known;
  std::vector<std::string_view> names;
  for (const WorkloadFacts& facts : workloads()) {
    names.push_back(facts.name);
    known += (known.empty() ? "" : ", ") + std::string(facts.name);
  }
  return Failure{Problem{fmt::format("no workload '{}'; known are: {}{}", workload, known, did_you_mean(workload, names))}};
}

FabricShape fabric_shape(WorldKind kind, std::uint64_t seed) {
  Rng rng(seed, "shape");
  FabricShape shape;
  shape.kind = kind;
  shape.paths = rng.chance(2, 5) ? 2 : 1;
  shape.hosts = rng.chance(1, 4) ? 2 : 1;
  shape.workers = static_cast<unsigned>(rng.between(1, 6));
  shape.io_queues = static_cast<std::uint16_t>(rng.between(1, 3));
  shape.entries = static_cast<std::uint16_t>(rng.chance(1, 3) ? rng.between(2, 6) : 32);
  shape.block_bytes = rng.chance(1, 3) ? 4096 : 512;
  shape.blocks = rng.between(16, 64);
  shape.protection_type = rng.chance(1, 4) ? 1 : 0;
  shape.protection = rng.chance(1, 2) ? host::ProtectionUse::host : host::ProtectionUse::controller;
  shape.policy = static_cast<host::PathPolicy>(rng.below(3));
  shape.cache = rng.chance(1, 2);
  shape.header_digest = rng.chance(1, 2);
  shape.data_digest = rng.chance(1, 2);
  shape.flow_control = !rng.chance(1, 3);
  shape.traffic_keep_alive = rng.chance(1, 3);
  shape.mtu_code = static_cast<std::uint8_t>(rng.between(1, 5));
  constexpr std::int64_t kLatencies[] = {0, 20, 500, 20'000};
  shape.io_latency = Duration::us(kLatencies[rng.below(4)]);
  constexpr std::uint32_t kInCapsule[] = {0, 512, 4096};
  shape.in_capsule_bytes = kInCapsule[rng.below(3)];
  shape.kato_ms = rng.chance(1, 3) ? 1000 : 5000;
  shape.reservations = shape.hosts > 1 && rng.chance(1, 2);
  return shape;
}

FabricShape product_shape(std::uint64_t seed) {
  Rng rng(seed, "shape");
  FabricShape shape;
  shape.kind = WorldKind::tcp;
  shape.hosts = rng.chance(1, 4) ? 2 : 1;
  shape.workers = static_cast<unsigned>(rng.between(1, 6));
  shape.io_queues = static_cast<std::uint16_t>(rng.between(1, 3));
  shape.entries = static_cast<std::uint16_t>(rng.chance(1, 3) ? rng.between(2, 6) : 32);
  shape.blocks = rng.between(16, 64);
  shape.header_digest = rng.chance(1, 2);
  shape.data_digest = rng.chance(1, 2);
  return shape;
}

ManagementShape management_shape(std::uint64_t seed) {
  Rng rng(seed, "shape");
  constexpr std::string_view kMedia[] = {"smbus", "serial", "pcie"};
  ManagementShape shape;
  shape.medium = kMedia[rng.below(3)];
  shape.drives = shape.medium == "serial" ? 1 : static_cast<unsigned>(rng.between(1, 2));
  shape.workers = static_cast<unsigned>(rng.between(1, 3));
  return shape;
}

std::vector<Place> places_of(const FabricShape& shape) {
  std::vector<std::string> hosts, targets;
  for (unsigned i = 0; i < shape.hosts; ++i) hosts.push_back(i == 0 ? "host" : fmt::format("host{}", i + 1));
  for (unsigned i = 0; i < shape.paths; ++i) targets.push_back(i == 0 ? "target" : fmt::format("target{}", i + 1));
  std::vector<Place> places;
  const Site site = shape.kind == WorldKind::rdma ? Site::packet : Site::segment;
  for (const std::string& host : hosts) {
    for (const std::string& target : targets) {
      places.push_back({site, host + "->" + target});
      places.push_back({site, target + "->" + host});
    }
  }
  for (const std::string& host : hosts) {
    if (shape.kind == WorldKind::tcp) places.push_back({Site::pdu, host});
    if (shape.kind == WorldKind::rdma) places.push_back({Site::key, host});
  }
  if (shape.kind == WorldKind::tcp) places.push_back({Site::pdu, "target"});
  if (shape.kind == WorldKind::rdma) {
    for (const std::string& target : targets) places.push_back({Site::receive, target});
  }
  for (const Site one : {Site::admission, Site::admin, Site::completion, Site::step}) places.push_back({one, {}});
  places.push_back({Site::media, "namespace"});
  return places;
}

std::vector<Place> places_before_product(std::string_view transport) {
  std::vector<Place> places = proxy::places_of_proxy(transport);
  places.push_back({Site::step, {}});
  return places;
}

std::vector<Place> places_of(const ManagementShape&) { return {{Site::frame, "bus"}, {Site::step, {}}}; }

Result<std::vector<Place>> places_of_workload(std::string_view workload) {
  if (const auto known = world_kind(workload, 1); !known) return Failure{known.error()};
  std::vector<Place> places;
  const auto add = [&](const std::vector<Place>& more) { places.insert(places.end(), more.begin(), more.end()); };
  FabricShape largest;
  largest.paths = largest.hosts = 2;
  for (const WorldKind kind : {WorldKind::rdma, WorldKind::tcp}) {
    largest.kind = kind;
    if (workload == "mixed" || workload == (kind == WorldKind::rdma ? fabrics::kRdma : fabrics::kTcp)) add(places_of(largest));
  }
  if (workload == "mixed" || workload == "management") add(places_of(ManagementShape{}));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace fb::conformance
