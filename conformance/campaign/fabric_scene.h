// Hosts, links and a subsystem as a shape has them, with faults at every decision point.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/campaign/scene.h"
#include "model/deviations/deviation.h"
#include "model/faults/hooks.h"
#include "model/host/host.h"
#include "model/subsystem/target.h"
#include "sim/fault/network_faults.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::conformance {

class FabricScene final : public Scene {
 public:
  FabricScene(World& world, const FabricShape& shape, fault::Points& points, const deviations::DeviationSet& deviations);
  ~FabricScene() override;

  const FabricShape& shape() const override { return shape_; }
  host::Host& host(std::size_t index) override { return *hosts_[index]->host; }
  std::size_t hosts() const override { return hosts_.size(); }
  subsystem::Subsystem* subsystem() override { return subsystem_; }
  std::size_t connections() override { return network_.connections(); }
  host::ConnectOptions connect_options(std::size_t path) const override;
  host::Namespace* watched(std::size_t host) override;

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
  std::unique_ptr<softroce::SoftRoceDevice> open_device(net::SimHost& machine, const std::string& name, const IpAddress& address,
                                                        softroce::SoftHooks* hooks);

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

}  // namespace fb::conformance
