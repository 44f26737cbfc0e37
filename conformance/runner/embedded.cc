#include "conformance/runner/embedded.h"

namespace fb::conformance {

EmbeddedSetup::EmbeddedSetup() {
  namespaces.resize(2);
  namespaces[0].blocks = 131072;
  namespaces[1].block_bytes = 4096;
  namespaces[1].blocks = 16384;
  connect.subnqn = subsystem.nqn;
}

std::unique_ptr<softroce::SoftRoceDevice> open_device(World& world, net::DatagramHost& host,
                                                      const DeviceOptions& options,
                                                      const EmbeddedSetup& setup) {
  softroce::SoftRoceOptions device;
  device.name = options.name;
  device.address = options.address;
  device.engine = setup.engine;
  device.connections = setup.connections;
  device.limits = setup.limits;
  device.mtu_code_max = setup.mtu_code_max;
  device.hooks = options.hooks;
  device.ca_guid = options.ca_guid;
  auto made = softroce::make_softroce(world, host, device);
  if (!made) throw UserError(made.error().text);
  return std::move(made).value();
}

EmbeddedController::EmbeddedController(World& world, net::DatagramHost& host, const IpAddress& address,
                                       EmbeddedSetup& setup, subsystem::SubsystemHooks* hooks,
                                       softroce::SoftHooks* device_hooks)
    : device_(open_device(world, host, {"product", address, device_hooks}, setup)),
      target_(world, hooks, setup.discovery) {
  subsystem_ = &target_.add_subsystem(setup.subsystem);
  for (subsystem::NamespaceOptions& options : setup.namespaces) {
    const auto added = subsystem_->add_namespace(std::move(options));
    BENCH_ASSERT(added.ok(), "the arranged namespaces are possible");
  }
  for (const auto& options : setup.more_subsystems) target_.add_subsystem(options);
  for (const auto& referral : setup.referrals) target_.discovery().add_referral(referral);
  subsystem::PortOptions port;
  port.traddr = to_string(address);
  target_.add_port(port);
  transport::ControllerFabricOptions options = setup.fabric;
  options.port = kNvmePort;
  options.admin_entries_max = setup.subsystem.admin_entries_max;
  options.io_entries_max = setup.subsystem.io_entries_max;
  options.io_queues_max = setup.subsystem.io_queues_max;
  auto started =
      transport::RdmaControllerFabric::start(world, *device_, options, target_.acceptor(), hooks);
  if (!started) throw UserError(started.error().text);
  listener_ = std::move(started).value();
  target_.set_listener(1, *listener_);
}

}  // namespace fb::conformance
