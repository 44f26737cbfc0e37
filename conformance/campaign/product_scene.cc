#include "conformance/campaign/product_scene.h"

#include <fmt/format.h>

#include "base/or_throw.h"
#include "model/transport/tcp_host.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

namespace {

constexpr std::uint16_t kCompare = 1u << 0, kWriteZeroes = 1u << 3, kVerify = 1u << 7;

net::RealHostOptions untraced() {
  net::RealHostOptions options;
  options.streams_traced = false;  // the proxy shows what passes
  return options;
}

FabricUrl product_of(const std::string& text) {
  FabricUrl url = or_throw(parse_fabric_url(text));
  if (url.transport != fabrics::kTcp) throw UserError(text + ": campaigns on a product go over tcp://");
  if (url.nqn.empty()) throw UserError(text + ": the NQN of the subsystem is missing");
  return url;
}

}  // namespace

ProductLine::ProductLine(World& world, const std::string& url, fault::Points& points)
    : world_(world), product_(product_of(url)), streams_(world, untraced()) {
  proxy::ProxyOptions options;
  options.routes = {{{IpAddress::v4(127, 0, 0, 1), 0}, product_.to}};
  options.faults = &points;
  proxy_ = or_throw(proxy::TcpProxy::start(world, streams_, options));
}

std::vector<std::uint16_t> ProductLine::ports() const { return {entrance().port, product_.to.port}; }

ProductScene::ProductScene(ProductLine& line, FabricShape shape) : line_(line), shape_(shape) {
  transport::TcpHostOptions tcp;
  tcp.header_digest = shape_.header_digest;
  tcp.data_digest = shape_.data_digest;
  fabric_ = std::make_unique<transport::TcpHostFabric>(line.world(), line.streams(), IpAddress{}, tcp);
  host_ = std::make_unique<host::Host>(line.world(), *fabric_, host::HostOptions{}, shape_.policy);
}

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
  const std::string name = url_text(fabrics::kTcp, line_.product().to);
  transport::TcpHostFabric fabric(line_.world(), line_.streams(), IpAddress{});
  host::Host host(line_.world(), fabric, host::HostOptions{});
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
