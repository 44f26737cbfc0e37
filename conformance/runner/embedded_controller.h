// The emulated target of the benches. In a header of its own: most cases never look inside a product.
#pragma once

#include <memory>
#include <vector>

#include "conformance/runner/embedded.h"
#include "model/subsystem/target.h"

namespace fb::conformance {

/// A controller at one address, over the setup's transport. `hooks` null is honest.
class EmbeddedController {
 public:
  EmbeddedController(World& world, net::SimHost& host, const IpAddress& address,
                     EmbeddedSetup& setup, subsystem::SubsystemHooks* hooks,
                     softroce::SoftHooks* device_hooks);

  subsystem::Target& target() { return target_; }
  subsystem::Subsystem& subsystem() { return *subsystem_; }
  transport::ControllerFabric& fabric() { return *listener_; }
  Endpoint at() const { return listener_->local(); }
  /// One more port of the target at the same address: with an ANA state, and a discovery log, of its own.
  Endpoint add_port(std::uint16_t portid);
  /// Null without TLS.
  transport::TlsSide* tls() { return tls_.get(); }

 private:
  std::unique_ptr<transport::ControllerFabric> listen(std::uint16_t port, transport::ControllerAcceptor& acceptor);

  World& world_;
  net::SimHost& host_;
  IpAddress address_;
  subsystem::SubsystemHooks* hooks_;
  transport::ControllerFabricOptions fabric_options_;
  transport::TcpControllerOptions tcp_options_;
  auth::PskStore keys_;
  std::unique_ptr<transport::TlsSide> tls_;
  std::unique_ptr<DeviceStack> device_;
  std::unique_ptr<transport::ControllerFabric> listener_;  // outlives the target's channels
  std::vector<std::unique_ptr<transport::ControllerFabric>> more_listeners_;
  subsystem::Target target_;
  subsystem::Subsystem* subsystem_ = nullptr;
};

}  // namespace fb::conformance
