// The emulated target of the benches. In a header of its own: most cases never look inside a product.
#pragma once

#include <memory>
#include <vector>

#include "conformance/runner/embedded.h"
#include "model/subsystem/target.h"

namespace fb::mi {
class Device;
}

namespace fb::conformance {

/// Where a controller is: at a host of a simulated network, or of this machine.
struct ControllerPlace {
  ControllerPlace(net::SimHost& host, const IpAddress& address, softroce::SoftHooks* hooks = nullptr)
      : datagrams(&host), streams(&host), device{"product", address, hooks} {}
  /// Over RDMA the first is needed, unless the device is one of the kernel's; over TCP the second.
  ControllerPlace(net::DatagramHost* packets, net::StreamHost* connections, DeviceOptions on)
      : datagrams(packets), streams(connections), device(std::move(on)) {}
  net::DatagramHost* datagrams;
  net::StreamHost* streams;
  DeviceOptions device;
};

/// A controller at one address, over the setup's transport. `hooks` null is honest.
class EmbeddedController {
 public:
  EmbeddedController(World& world, const ControllerPlace& place, EmbeddedSetup& setup, subsystem::SubsystemHooks* hooks);

  subsystem::Target& target() { return target_; }
  subsystem::Subsystem& subsystem() { return *subsystem_; }
  transport::ControllerFabric& fabric() { return *listener_; }
  Endpoint at() const { return listener_->local(); }
  /// One more port of the target at the same address: with an ANA state, and a discovery log, of its own.
  Endpoint add_port(std::uint16_t portid);
  /// Null without TLS.
  transport::TlsSide* tls() { return tls_.get(); }
  /// From now on there are NVMe-MI Send and Receive. Hooks may be null.
  void manage(const ManagedSetup& setup, std::unique_ptr<mi::EndpointHooks> hooks);
  /// manage() has been called.
  mi::Device& managed();

 private:
  struct Management;
  std::unique_ptr<transport::ControllerFabric> listen(std::uint16_t port, transport::ControllerAcceptor& acceptor);

  World& world_;
  net::StreamHost* streams_;
  IpAddress address_;
  subsystem::SubsystemHooks* hooks_;
  transport::ControllerFabricOptions fabric_options_;
  transport::TcpControllerOptions tcp_options_;
  auth::PskStore keys_;
  std::unique_ptr<transport::TlsSide> tls_;
  std::unique_ptr<DeviceStack> device_;
  std::unique_ptr<rdma::Device> kernel_device_;
  rdma::Device* rdma_ = nullptr;
  std::unique_ptr<transport::ControllerFabric> listener_;  // outlives the target's channels
  std::vector<std::unique_ptr<transport::ControllerFabric>> more_listeners_;
  subsystem::Target target_;
  subsystem::Subsystem* subsystem_ = nullptr;
  std::shared_ptr<Management> management_;  // shared: its type is known to embedded_management.cc alone
};

}  // namespace fb::conformance
