#include "conformance/campaign/fabric_scene.h"

#include <fmt/format.h>

#include "base/or_throw.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "model/transport/tcp_controller.h"
#include "model/transport/tcp_host.h"
#include "sim/rdma/softroce/icrc.h"

namespace fb::conformance {

namespace {

constexpr std::uint16_t kPort = 4420;

IpAddress path_address(std::size_t path) { return IpAddress::v4(10, 0, 1, static_cast<std::uint8_t>(path + 1)); }

std::string numbered(const char* name, std::size_t index) { return index == 0 ? std::string(name) : fmt::format("{}{}", name, index + 1); }

net::LinkOptions link_options(const FabricShape& shape) {
  net::LinkOptions link;
  link.latency = Duration::us(5);
  // Large enough for the largest path MTU; smaller ones are the devices' own.
  if (shape.kind == WorldKind::tcp) link.mtu = 1500;
  return link;
}

}  // namespace

FabricScene::FabricScene(World& world, const FabricShape& shape, fault::Points& points, const deviations::DeviationSet& deviations)
    : world_(world),
      shape_(shape),
      points_(points),
      link_faults_(points, &softroce::reseal),
      network_(world, link_options(shape)),
      hooks_(world, points, "target", deviations.subsystem_hooks()) {
  network_.set_filter(&link_faults_);
  network_.set_stream_filter(&link_faults_);
  add_subsystem();
  for (std::size_t i = 0; i < shape_.paths; ++i) add_path(i, deviations);
  for (std::size_t i = 0; i < shape_.hosts; ++i) add_host(i, deviations);
}

FabricScene::~FabricScene() {
  hosts_.clear();
  target_.reset();
}

void FabricScene::add_subsystem() {
  target_ = std::make_unique<subsystem::Target>(world_, &hooks_);
  subsystem::SubsystemOptions options;
  options.io_queues_max = 4;
  options.io_latency = shape_.io_latency;
  options.power_loss_forgets = shape_.cache;
  options.flow_control_may_be_off = true;
  options.traffic_based_keep_alive = shape_.traffic_keep_alive;
  options.kas = 1;
  subsystem_ = &target_->add_subsystem(options);
  subsystem::NamespaceOptions space;
  space.nsid = kWatchedNsid;
  space.block_bytes = shape_.block_bytes;
  space.blocks = shape_.blocks;
  space.protection_type = shape_.protection_type;
  space.metadata_bytes = shape_.protection_type != 0 ? 8 : 0;
  const std::uint64_t bytes = (shape_.blocks + kSpareBlocks) * (space.block_bytes + space.metadata_bytes);
  space.store = faults::faulty_store(points_, "namespace", subsystem::make_memory_store(bytes));
  or_throw(subsystem_->add_namespace(std::move(space)));
}

std::unique_ptr<softroce::SoftRoceDevice> FabricScene::open_device(net::SimHost& machine, const std::string& name, const IpAddress& address,
                                                                   softroce::SoftHooks* hooks) {
  softroce::SoftRoceOptions options;
  options.name = name;
  options.address = address;
  options.mtu_code_max = shape_.mtu_code;
  options.hooks = hooks;
  return or_throw(softroce::make_softroce(world_, machine, options));
}

void FabricScene::add_path(std::size_t index, const deviations::DeviationSet& deviations) {
  auto path = std::make_unique<PathSide>();
  const std::string name = numbered("target", index);
  const IpAddress address = path_address(index);
  net::SimHost& machine = network_.add_host(name, address);
  const auto portid = static_cast<std::uint16_t>(index + 1);
  subsystem::PortOptions port;
  port.portid = portid;
  port.traddr = to_string(address);
  target_->add_port(port);
  transport::ControllerFabricOptions options;
  options.port = kPort;
  options.io_queues_max = 4;
  options.in_capsule_bytes = shape_.in_capsule_bytes;
  if (shape_.kind == WorldKind::rdma) {
    path->device_hooks = std::make_unique<faults::FaultyDevice>(points_, name, deviations.soft_hooks());
    path->device = open_device(machine, name, address, path->device_hooks.get());
    path->listener = or_throw(transport::RdmaControllerFabric::start(world_, *path->device, options, target_->acceptor(portid), &hooks_));
  } else {
    path->listener =
        or_throw(transport::TcpControllerFabric::start(world_, machine, address, options, {}, target_->acceptor(portid), &hooks_));
  }
  target_->set_listener(portid, *path->listener);
  paths_.push_back(std::move(path));
}

void FabricScene::add_host(std::size_t index, const deviations::DeviationSet& deviations) {
  auto side = std::make_unique<HostSide>();
  const std::string name = numbered("host", index);
  const IpAddress address = IpAddress::v4(10, 0, 0, static_cast<std::uint8_t>(index + 1));
  net::SimHost& machine = network_.add_host(name, address);
  side->hooks = std::make_unique<faults::FaultyHost>(points_, name, deviations.host_hooks());
  if (shape_.kind == WorldKind::rdma) {
    // A defect of the engine is one of both sides.
    side->device_hooks = std::make_unique<faults::FaultyDevice>(points_, name, deviations.soft_hooks());
    side->device = open_device(machine, name, address, side->device_hooks.get());
    side->fabric = std::make_unique<transport::RdmaHostFabric>(world_, *side->device, side->hooks.get());
  } else {
    transport::TcpHostOptions tcp;
    tcp.header_digest = shape_.header_digest;
    tcp.data_digest = shape_.data_digest;
    side->fabric = std::make_unique<transport::TcpHostFabric>(world_, machine, address, tcp, side->hooks.get());
  }
  host::HostOptions options;
  options.hooks = side->hooks.get();
  options.actor = name;
  options.hostid[15] = static_cast<std::uint8_t>(index + 1);
  options.hostnqn.back() = static_cast<char>('1' + index);
  side->host = std::make_unique<host::Host>(world_, *side->fabric, options, shape_.policy);
  hosts_.push_back(std::move(side));
}

host::ConnectOptions FabricScene::connect_options(std::size_t path) const {
  host::ConnectOptions options;
  options.to = {path_address(path), kPort};
  options.subnqn = subsystem_->options().nqn;
  options.io_queues = shape_.io_queues;
  options.queue_entries = shape_.entries;
  options.kato_ms = shape_.kato_ms;
  options.disable_sq_flow_control = !shape_.flow_control;
  options.protection = shape_.protection;
  options.in_capsule_max_bytes = shape_.in_capsule_bytes;
  return options;
}

host::Namespace* FabricScene::watched(std::size_t host) { return hosts_[host]->host->find(subsystem_->options().nqn, kWatchedNsid); }

}  // namespace fb::conformance
