#include "conformance/runner/embedded.h"

#include <atomic>

#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/managed_setup.h"
#include "model/transport/transfer_limit.h"
#include "sim/rdma/verbs/verbs_device.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

EmbeddedSetup::EmbeddedSetup() : managed(std::make_unique<ManagedSetup>()) {
  namespaces.resize(2);
  namespaces[0].blocks = 131072;
  namespaces[1].block_bytes = 4096;
  namespaces[1].blocks = 16384;
  connect.subnqn = subsystem.nqn;
  // Numbers that are told apart where one is returned in the place of another.
  managed->drive.device.device_id = 0x2A01;
  managed->drive.device.subsystem_id = 0x3B02;
}

EmbeddedSetup::EmbeddedSetup(EmbeddedSetup&&) noexcept = default;
EmbeddedSetup::~EmbeddedSetup() = default;

std::unique_ptr<softroce::SoftRoceDevice> open_device(World& world, net::DatagramHost& host, const DeviceOptions& options,
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

namespace {

std::unique_ptr<rdma::Device> open_kernel_device(World& world, const DeviceOptions& options) {
  auto device = verbs::open_device(world, {.name = options.kernel, .address = options.address});
  if (!device) throw UserError(device.error().text);
  return std::move(device).value();
}

/// A second ICResp, or a PDU before the first, ends no connection with a real product: a monitor rule names it, and every case
/// goes on with what it is about.
class TolerantOfOrder final : public transport::TransportHooks {
 public:
  bool departs(std::string_view point) override { return point == "tcp.host.sequence" && ++tolerated_ < kMost; }

 private:
  /// Of a whole run, whose cases meet a few each. A product that sends them without end ends its connections.
  static constexpr unsigned kMost = 100'000;
  std::atomic<unsigned> tolerated_ = 0;
};
transport::TransportHooks& tolerant_of_order() {
  static TolerantOfOrder hooks;
  return hooks;
}

}  // namespace

EmbeddedHostFabric::EmbeddedHostFabric(World& world, net::SimHost& host, const DeviceOptions& options, const EmbeddedSetup& setup,
                                       transport::TransportHooks* hooks)
    : streams_(&host) {
  if (setup.transport == fabrics::kRdma) device_ = std::make_unique<DeviceStack>(world, host, options, setup);
  make(world, options.address, setup, hooks);
}

EmbeddedHostFabric::EmbeddedHostFabric(World& world, const net::LocalHost& local, const DeviceOptions& options,
                                       const EmbeddedSetup& setup) {
  if (setup.transport == fabrics::kRdma && !options.kernel.empty()) {
    kernel_device_ = open_kernel_device(world, options);
  } else if (setup.transport == fabrics::kRdma) {
    auto machine = net::open_local_host(world, local);
    if (!machine) throw UserError(machine.error().text);
    machine_ = std::move(machine).value();
    device_ = std::make_unique<DeviceStack>(world, *machine_, options, setup);
  } else {
    auto machine = net::open_local_streams(world, local);
    if (!machine) throw UserError(machine.error().text);
    machine_streams_ = std::move(machine).value();
    streams_ = machine_streams_.get();
  }
  make(world, options.address, setup, &tolerant_of_order());
}

void EmbeddedHostFabric::make(World& world, const IpAddress& address, const EmbeddedSetup& setup, transport::TransportHooks* hooks) {
  if (setup.transport == fabrics::kRdma) {
    rdma::Device& device = kernel_device_ != nullptr ? *kernel_device_ : device_->top();
    fabric_ = std::make_unique<transport::RdmaHostFabric>(world, device, hooks);
  } else {
    auto fabric = std::make_unique<transport::TcpHostFabric>(world, *streams_, address, setup.tcp_host, hooks);
    if (!setup.host_keys.empty() || setup.connect.authentication.secure_channel) {
      keys_ = setup.host_keys;
      transport::TlsSideOptions options{.name = "host.tls", .identity_version = setup.identity_version};
      options.tls = setup.tls;
      if (hooks != nullptr) options.departs = [hooks](std::string_view at) { return hooks->departs(at); };
      tls_ = std::make_unique<transport::TlsSide>(world, *streams_, keys_, options);
      fabric->set_secure_streams(tls_.get());
    }
    fabric_ = std::move(fabric);
  }
}

rdma::Device& EmbeddedHostFabric::device() {
  if (kernel_device_ != nullptr) return *kernel_device_;
  BENCH_ASSERT(device_ != nullptr, "what needs an RDMA device runs over_rdma");
  return device_->soft();
}

net::StreamHost& EmbeddedHostFabric::streams() {
  BENCH_ASSERT(streams_ != nullptr && device_ == nullptr, "what needs streams runs over_tcp");
  return *streams_;
}

namespace {

std::unique_ptr<transport::TlsSide> controller_tls(World& world, net::StreamHost* host, EmbeddedSetup& setup, auth::PskStore& keys,
                                                   subsystem::SubsystemHooks* hooks) {
  if (setup.transport != fabrics::kTcp || setup.security == transport::ChannelSecurity::none) return nullptr;
  keys = setup.controller_keys;
  transport::TlsSideOptions options{.name = "controller.tls", .security = setup.security};
  options.tls = setup.tls;
  if (hooks != nullptr) options.departs = [hooks](std::string_view at) { return hooks->departs(at); };
  return std::make_unique<transport::TlsSide>(world, *host, keys, options);
}

subsystem::PortOptions port_at(const IpAddress& address) {
  subsystem::PortOptions port;
  port.traddr = to_string(address);
  port.family = address.is_v4() ? subsystem::AddressFamily::ipv4 : subsystem::AddressFamily::ipv6;
  return port;
}

}  // namespace

EmbeddedController::EmbeddedController(World& world, const ControllerPlace& place, EmbeddedSetup& setup, subsystem::SubsystemHooks* hooks)
    : world_(world),
      streams_(place.streams),
      address_(place.device.address),
      hooks_(hooks),
      tls_(controller_tls(world, streams_, setup, keys_, hooks)),
      target_(world, hooks, setup.discovery) {
  if (tls_ != nullptr) {
    setup.tcp.security = setup.security;
    setup.subsystem.authentication.on_psk = [side = tls_.get()](const auth::GeneratedPsk& made) { side->keep(made); };
  }
  target_.discovery().set_central(setup.central);
  subsystem_ = &target_.add_subsystem(setup.subsystem);
  for (subsystem::NamespaceOptions& options : setup.namespaces) {
    const auto added = subsystem_->add_namespace(std::move(options));
    BENCH_ASSERT(added.ok(), "the arranged namespaces are possible");
  }
  for (const auto& options : setup.more_subsystems) target_.add_subsystem(options);
  for (subsystem::Referral& referral : setup.referrals) {
    referral.trtype = static_cast<std::uint8_t>(fabrics::transport_named(setup.transport).type);
    target_.discovery().add_referral(referral);
  }
  target_.add_port(port_at(address_));
  fabric_options_ = setup.fabric;
  fabric_options_.admin_entries_max = setup.subsystem.admin_entries_max;
  fabric_options_.io_entries_max = setup.subsystem.io_entries_max;
  fabric_options_.io_queues_max = setup.subsystem.io_queues_max;
  tcp_options_ = setup.tcp;
  if (setup.transport == fabrics::kRdma) {
    if (!place.device.kernel.empty()) {
      kernel_device_ = open_kernel_device(world, place.device);
    } else {
      device_ = std::make_unique<DeviceStack>(world, *place.datagrams, place.device, setup);
    }
    rdma_ = device_ != nullptr ? &device_->top() : kernel_device_.get();
  }
  listener_ = listen(kNvmePort, target_.acceptor());
  target_.set_listener(1, *listener_);
}

std::unique_ptr<transport::ControllerFabric> EmbeddedController::listen(std::uint16_t port, transport::ControllerAcceptor& acceptor) {
  transport::ControllerFabricOptions options = fabric_options_;
  options.port = port;
  options.transfer_bytes_max = transport::kLargestTransfer;
  const auto listening = [](auto started) -> std::unique_ptr<transport::ControllerFabric> {
    if (!started) throw UserError(started.error().text);
    return std::move(started).value();
  };
  if (rdma_ != nullptr) {
    return listening(transport::RdmaControllerFabric::start(world_, *rdma_, options, acceptor, hooks_));
  }
  net::StreamHost& streams = tls_ != nullptr ? tls_->listening() : *streams_;
  return listening(transport::TcpControllerFabric::start(world_, streams, address_, options, tcp_options_, acceptor, hooks_));
}

Endpoint EmbeddedController::add_port(std::uint16_t portid) {
  subsystem::PortOptions port = port_at(address_);
  port.portid = portid;
  target_.add_port(port);
  const auto number = static_cast<std::uint16_t>(kNvmePort + portid - 1);
  more_listeners_.push_back(listen(number, target_.acceptor(portid)));
  target_.set_listener(portid, *more_listeners_.back());
  return more_listeners_.back()->local();
}

}  // namespace fb::conformance
