// The emulated products as benches set them up: one network with two hosts, a controller (device,
// target, listener) on one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/runner/device_layer.h"
#include "model/tls/tls_side.h"
#include "model/deviations/deviation.h"
#include "model/host/types.h"
#include "model/subsystem/centralized_options.h"
#include "model/subsystem/options.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "model/transport/tcp_controller.h"
#include "model/transport/tcp_host.h"
#include "sim/net/local_host.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

struct ManagedSetup;

inline constexpr IpAddress kBenchAddress = IpAddress::v4(10, 0, 0, 1);
inline constexpr IpAddress kProductAddress = IpAddress::v4(10, 0, 0, 2);

/// Everything about an emulated product that arranged{} may change.
struct EmbeddedSetup {
  EmbeddedSetup();
  EmbeddedSetup(EmbeddedSetup&&) noexcept;
  ~EmbeddedSetup();
  subsystem::SubsystemOptions subsystem;
  /// In the order of their NSIDs. By default NSID 1 with blocks of 512 bytes and NSID 2 of 4096.
  std::vector<subsystem::NamespaceOptions> namespaces;
  /// Further subsystems on the same port, without namespaces.
  std::vector<subsystem::SubsystemOptions> more_subsystems;
  subsystem::DiscoveryOptions discovery;
  std::vector<subsystem::Referral> referrals;
  /// Queue bounds follow those of the subsystem.
  transport::ControllerFabricOptions fabric;
  /// What host and controller speak, a name of transports.h; what a management bus is, "smbus", "serial" or "pcie".
  /// Set before arranged{} sees it.
  std::string_view transport = fabrics::kRdma;
  transport::TcpControllerOptions tcp;
  /// The side that plays the host over TCP, be it the product or the bench.
  transport::TcpHostOptions tcp_host;
  /// TLS over TCP: what the controller's listener takes, and the keys of the two sides. A side that plays
  /// the host speaks TLS where it has keys; whether it does is in `connect` and RawQueueOptions.
  transport::ChannelSecurity security = transport::ChannelSecurity::none;
  auth::PskStore controller_keys, host_keys;
  /// The cheaper group first: a key exchange over ffdhe3072 costs more than the rest of most cases.
  tls::Options tls{.groups = {tls::Group::secp384r1, tls::Group::ffdhe3072}};
  int identity_version = 1;
  /// The device of the product under test.
  softroce::EngineOptions engine;
  softroce::CmOptions connections;
  rdma::DeviceLimits limits;
  std::uint8_t mtu_code_max = 5;
  /// What transports and programs see of devices; parse_device_layer().
  DeviceLayer layer = DeviceLayer::none;
  net::LinkOptions link;
  /// Where the bench and the product are on it.
  IpAddress bench_address = kBenchAddress, product_address = kProductAddress;
  /// Role host: how the emulated host is told to connect.
  host::ConnectOptions connect;

  /// The management roles; managed_setup.h.
  std::unique_ptr<ManagedSetup> managed;

  /// What the discovery service has of centralized discovery.
  subsystem::CentralizedOptions central;
};

inline constexpr std::uint16_t kNvmePort = 4420;
inline constexpr std::string_view kBenchHostNqn = "nqn.2014-08.org.nvmexpress:uuid:5f0c9e52-7a7c-4be0-9d5e-2f3b8a5d6e01";
inline constexpr host::HostId kBenchHostId = {0x5f, 0x0c, 0x9e, 0x52, 0x7a, 0x7c, 0x4b, 0xe0,
                                              0x9d, 0x5e, 0x2f, 0x3b, 0x8a, 0x5d, 0x6e, 0x01};

struct DeviceOptions {
  std::string name;
  IpAddress address;
  softroce::SoftHooks* hooks = nullptr;
  std::uint64_t ca_guid = 0;
  std::string kernel = {};  ///< on this machine: a device of its kernel in place of a soft one; Product::own_device
};
/// A device, and what is between it and those who use it.
class DeviceStack {
 public:
  DeviceStack(World& world, net::DatagramHost& host, const DeviceOptions& options, const EmbeddedSetup& setup);
  ~DeviceStack();
  softroce::SoftRoceDevice& soft() { return *soft_; }
  rdma::Device& top() { return *top_; }

 private:
  struct Layers;
  std::unique_ptr<softroce::SoftRoceDevice> soft_;
  std::unique_ptr<Layers> layers_;
  rdma::Device* top_;
};

/// A soft device; a Problem with its address becomes a UserError.
std::unique_ptr<softroce::SoftRoceDevice> open_device(World& world, net::DatagramHost& host, const DeviceOptions& options,
                                                      const EmbeddedSetup& setup);

/// The host side of the setup's transport at one address.
class EmbeddedHostFabric {
 public:
  /// At a host of the network. Hooks may be null.
  EmbeddedHostFabric(World& world, net::SimHost& host, const DeviceOptions& options, const EmbeddedSetup& setup,
                     transport::TransportHooks* hooks = nullptr);
  /// On this machine, or where `local` says.
  EmbeddedHostFabric(World& world, const net::LocalHost& local, const DeviceOptions& options, const EmbeddedSetup& setup);

  transport::HostFabric& fabric() { return *fabric_; }
  /// Over RDMA: the device, whatever is on top of it.
  rdma::Device& device();
  /// Over TCP: where streams come from, without TLS.
  net::StreamHost& streams();
  /// Null where the side has no keys.
  transport::TlsSide* tls() { return tls_.get(); }

 private:
  void make(World& world, const IpAddress& address, const EmbeddedSetup& setup, transport::TransportHooks* hooks);
  std::unique_ptr<net::DatagramHost> machine_;
  std::unique_ptr<net::StreamHost> machine_streams_;
  net::StreamHost* streams_ = nullptr;
  auth::PskStore keys_;
  std::unique_ptr<transport::TlsSide> tls_;
  std::unique_ptr<DeviceStack> device_;
  std::unique_ptr<rdma::Device> kernel_device_;
  std::unique_ptr<transport::HostFabric> fabric_;
};

/// Two hosts and the link between them.
struct EmbeddedNetwork {
  EmbeddedNetwork(World& world, const EmbeddedSetup& setup)
      : network(world, setup.link),
        bench(network.add_host("bench", setup.bench_address)),
        product(network.add_host("product", setup.product_address)) {}
  net::SimNetwork network;
  net::SimHost& bench;
  net::SimHost& product;
};

}  // namespace fb::conformance
