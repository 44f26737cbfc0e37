#include "conformance/campaign/product_scene.h"

#include <fmt/format.h>

#include <chrono>

#include "base/or_throw.h"
#include "base/rng.h"
#include "model/proxy/tcp_proxy.h"
#include "model/transport/rdma_host.h"
#include "model/transport/tcp_host.h"
#include "sim/fault/network_faults.h"
#include "sim/net/filtered_host.h"
#include "sim/net/resolve.h"
#include "sim/net/udp_port.h"
#include "sim/rdma/softroce/icrc.h"
#include "sim/rdma/softroce/softroce.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

namespace {

constexpr std::uint16_t kCompare = 1u << 0, kWriteZeroes = 1u << 3, kVerify = 1u << 7;

/// The lines show what passes.
net::RealHostOptions untraced() {
  net::RealHostOptions options;
  options.streams_traced = options.datagrams_traced = false;
  options.segmentation = false;  // every datagram has the same IP header, which a filter relies on
  return options;
}

FabricUrl product_of(const std::string& text) {
  FabricUrl url = or_throw(parse_fabric_url(text));
  if (url.nqn.empty()) throw UserError(text + ": the NQN of the subsystem is missing");
  return url;
}

class TcpLine final : public ProductLine {
 public:
  TcpLine(World& world, FabricUrl product, fault::Points& points) : ProductLine(world, std::move(product)), streams_(world, untraced()) {
    proxy::ProxyOptions options;
    options.routes = {{{IpAddress::v4(127, 0, 0, 1), 0}, product_.to}};
    options.faults = &points;
    proxy_ = or_throw(proxy::TcpProxy::start(world, streams_, options));
  }
  std::unique_ptr<transport::HostFabric> quiet_fabric() override {
    return std::make_unique<transport::TcpHostFabric>(world_, streams_, IpAddress{});
  }
  std::unique_ptr<transport::HostFabric> fabric(const FabricShape& shape) override {
    transport::TcpHostOptions tcp;
    tcp.header_digest = shape.header_digest;
    tcp.data_digest = shape.data_digest;
    return std::make_unique<transport::TcpHostFabric>(world_, streams_, IpAddress{}, tcp);
  }
  Endpoint entrance() const override { return proxy_->at(0); }
  live::LiveJudgeOptions judging() const override {
    return {.both_connections = true, .tcp_ports = {entrance().port, product_.to.port}, .transport = fabrics::kTcp};
  }
  void close() override { proxy_->close(); }

 private:
  net::RealHost streams_;
  std::unique_ptr<proxy::TcpProxy> proxy_;
};

class RdmaLine final : public ProductLine {
 public:
  RdmaLine(World& world, FabricUrl product, fault::Points& points)
      : ProductLine(world, std::move(product)),
        machine_(world, untraced()),
        filtered_(world, machine_,
                  {"host->target", "target->host", std::string(proxy::actors::towards_controller), std::string(proxy::actors::controller)}),
        faults_(points, &softroce::reseal) {
    softroce::SoftRoceOptions options;
    options.name = "campaign";
    options.address = or_throw(net::local_address_towards(product_.to));
    // A peer takes equal ones for one device that has restarted, and each world has a device of its own.
    options.ca_guid = mix64(static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())) | 1;
    auto device = softroce::make_softroce(world, filtered_, options);
    if (!device) throw UserError(device.error().text);
    device_ = std::move(device).value();
  }
  std::unique_ptr<transport::HostFabric> quiet_fabric() override { return std::make_unique<transport::RdmaHostFabric>(world_, *device_); }
  std::unique_ptr<transport::HostFabric> fabric(const FabricShape&) override {
    filtered_.set_filter(&faults_);
    return quiet_fabric();
  }
  Endpoint entrance() const override { return product_.to; }
  live::LiveJudgeOptions judging() const override { return {.both_connections = true, .tcp_ports = {}, .transport = fabrics::kRdma}; }
  void close() override {}

 private:
  net::RealHost machine_;
  net::FilteredHost filtered_;
  fault::NetworkFaults faults_;
  std::unique_ptr<softroce::SoftRoceDevice> device_;
};

}  // namespace

std::unique_ptr<ProductLine> ProductLine::open(World& world, const std::string& url, fault::Points& points) {
  FabricUrl product = product_of(url);
  if (product.transport == fabrics::kRdma) return std::make_unique<RdmaLine>(world, std::move(product), points);
  return std::make_unique<TcpLine>(world, std::move(product), points);
}

ProductScene::ProductScene(ProductLine& line, FabricShape shape) : line_(line), shape_(shape) {}

ProductScene::~ProductScene() = default;

host::ConnectOptions ProductScene::connect_options(std::size_t) const {
  host::ConnectOptions options;
  options.to = line_.entrance();
  options.subnqn = line_.product().nqn;
  options.io_queues = shape_.io_queues;
  options.queue_entries = shape_.entries;
  options.kato_ms = shape_.kato_ms;
  return options;
}

void ProductScene::prepare() {
  const std::string name = url_text(line_.product().transport, line_.product().to);
  const auto fabric = line_.quiet_fabric();
  host::Host host(line_.world(), *fabric, host::HostOptions{});
  host::ConnectOptions options = connect_options(0);
  options.to = line_.product().to;
  const auto connected = host.connect(options).wait();
  if (!connected) throw UserError(name + ": " + connected.error().text);
  oncs_ = (*connected)->facts().oncs;
  host::Namespace* space = nullptr;
  for (host::Namespace* one : host.namespaces()) {
    if (one->facts().zoned() || one->facts().layout.metadata_bytes != 0) continue;
    if (space == nullptr || one->nsid() < space->nsid()) space = one;
  }
  if (space == nullptr) throw UserError(name + ": it has no namespace without zones and metadata, which a campaign needs");
  if (space->blocks() < shape_.blocks)
    throw UserError(fmt::format("{}: namespace {} is smaller than {} blocks", name, space->nsid(), shape_.blocks));
  nsid_ = space->nsid();
  shape_.block_bytes = space->block_bytes();
  const Bytes zeroes(shape_.blocks * shape_.block_bytes);
  Bytes sent = zeroes;
  const nvme::Status written = space->write(0, sent).wait();
  if (!written.ok()) throw UserError(fmt::format("{}: namespace {} cannot be written: {}", name, nsid_, nvme::to_string(written)));
  host.shutdown_all().wait();
  fabric_ = line_.fabric(shape_);
  host_ = std::make_unique<host::Host>(line_.world(), *fabric_, host::HostOptions{}, shape_.policy);
}

host::Namespace* ProductScene::watched(std::size_t) { return host_->find(line_.product().nqn, nsid_); }

bool ProductScene::can(Deed deed) const {
  switch (deed) {
    case Deed::compare:
      return (oncs_ & kCompare) != 0;
    case Deed::write_zeroes:
      return (oncs_ & kWriteZeroes) != 0;
    case Deed::verify:
      return (oncs_ & kVerify) != 0;
    // How much may be fused, and what deallocated blocks read as, are products' own.
    case Deed::compare_and_write:
    case Deed::deallocate:
      return false;
    default:
      return true;
  }
}

}  // namespace fb::conformance
