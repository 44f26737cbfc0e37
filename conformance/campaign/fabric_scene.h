// Hosts, links and a subsystem as a shape has them, with faults at every decision point.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/campaign/shapes.h"
#include "model/deviations/deviation.h"
#include "model/faults/hooks.h"
#include "model/host/host.h"
#include "model/subsystem/target.h"
#include "sim/fault/network_faults.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::conformance {

class FabricScene {
 public:
  FabricScene(World& world, const FabricShape& shape, fault::Points& points, const deviations::DeviationSet& deviations);
  ~FabricScene();

  const FabricShape& shape() const { return shape_; }
  host::Host& host(std::size_t index) { return *hosts_[index]->host; }
  std::size_t hosts() const { return hosts_.size(); }
  subsystem::Subsystem& subsystem() { return *subsystem_; }
  net::SimNetwork& network() { return network_; }
  /// How a host connects through a path.
  host::ConnectOptions connect_options(std::size_t path) const;
  /// The namespace that is watched, as a host sees it; null where it does not see it.
  host::Namespace* watched(std::size_t host);

 private:
  struct HostSide {
    std::unique_ptr<softroce::SoftHooks> device_hooks;
    std::unique_ptr<softroce::SoftRoceDevice> device;
    std::unique_ptr<faults::FaultyHost> hooks;
    std::unique_ptr<transport::HostFabric> fabric;
    std::unique_ptr<host::Host> host;
  };
  struct PathSide {
    std::unique_ptr<softroce::SoftHooks> device_hooks;
    std::unique_ptr<softroce::SoftRoceDevice> device;
    std::unique_ptr<transport::ControllerFabric> listener;
  };

  void add_subsystem();
  void add_path(std::size_t index, const deviations::DeviationSet& deviations);
  void add_host(std::size_t index, const deviations::DeviationSet& deviations);
  std::unique_ptr<softroce::SoftRoceDevice> open_device(net::SimHost& machine, const std::string& name,
                                                        const IpAddress& address, softroce::SoftHooks* hooks);

  World& world_;
  const FabricShape shape_;
  fault::Points& points_;
  fault::NetworkFaults link_faults_;
  net::SimNetwork network_;
  faults::FaultySubsystem hooks_;
  std::vector<std::unique_ptr<PathSide>> paths_;
  std::unique_ptr<subsystem::Target> target_;
  subsystem::Subsystem* subsystem_ = nullptr;
  std::vector<std::unique_ptr<HostSide>> hosts_;
};

/// Room behind the blocks that are watched: the namespace may grow.
inline constexpr std::uint64_t kSpareBlocks = 64;
inline constexpr std::uint32_t kWatchedNsid = 1;
inline constexpr std::uint32_t kSpareNsid = 2;

}  // namespace fb::conformance
