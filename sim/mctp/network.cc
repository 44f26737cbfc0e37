#include "sim/mctp/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace fb::mctp {

namespace {

// How long bridges may take for the buses behind them.
constexpr int kBridgeRetries = 12;  // PN2 of SMBus
constexpr Duration kBridgesWithin = Duration::s(120);

EnumerationReport& operator+=(EnumerationReport& sum, const EnumerationReport& one) {
  sum.looked_at += one.looked_at;
  sum.found += one.found;
  sum.assigned += one.assigned;
  sum.rejected += one.rejected;
  sum.lost += one.lost;
  sum.no_eid_left += one.no_eid_left;
  sum.faulty += one.faulty;
  return sum;
}

}  // namespace

// --------------------------------------------------------------------------------------- segments

Segment::Segment(World& world, const SmbusOptions& options) : medium_(std::make_unique<SmbusSegment>(world, options)) {}
Segment::Segment(World& world, const PcieOptions& options) : medium_(std::make_unique<PcieFabric>(world, options)) {}
Segment::Segment(World& world, const SerialOptions& options) : medium_(std::make_unique<SerialLine>(world, options)) {}

SmbusSegment* Segment::smbus() {
  auto* const held = std::get_if<std::unique_ptr<SmbusSegment>>(&medium_);
  return held == nullptr ? nullptr : held->get();
}
PcieFabric* Segment::pcie() {
  auto* const held = std::get_if<std::unique_ptr<PcieFabric>>(&medium_);
  return held == nullptr ? nullptr : held->get();
}
SerialLine* Segment::serial() {
  auto* const held = std::get_if<std::unique_ptr<SerialLine>>(&medium_);
  return held == nullptr ? nullptr : held->get();
}

void Segment::set_filter(FrameFilter* filter) {
  std::visit([&](auto& medium) { medium->set_filter(filter); }, medium_);
}

Binding& Segment::attach(const std::string& name, const PhysicalAddress& address, bool owner) {
  if (!owner) addresses_.push_back(address);
  if (SerialLine* const line = serial()) {
    BENCH_ASSERT(owner || addresses_.size() == 1, "a line has two ends");
    return owner ? line->left() : line->right();
  }
  if (SmbusSegment* const bus = smbus()) {
    ports_.push_back(bus->attach(name, address.bytes[0]));
  } else {
    ports_.push_back(pcie()->attach(name, bdf_of(address), owner));
  }
  return *ports_.back();
}

Binding& Segment::attach_bridge(const std::string& name, const PhysicalAddress& address, bool owner) {
  Binding& made = attach(name, address, owner);
  if (smbus() != nullptr) static_cast<SmbusPort&>(made).set_retries(kBridgeRetries);
  return made;
}

SimpleDevice::SimpleDevice(World& world, Binding& binding, const DeviceOptions& device, const EndpointOptions& options)
    : device_(device), endpoint_(world, binding, options), control_(endpoint_, device_) {}

void SimpleDevice::reset() {
  endpoint_.reset();
  control_.requester().reset();
  control_.responder().reset();
  device_.reset();
}

// ---------------------------------------------------------------------------------------- network

Network::Network(World& world, const NetworkOptions& options) : world_(world), options_(options) {
  BridgeOptions bridge;
  bridge.name = options.name + ".owner";
  bridge.network = options.number;
  bridge.device = options.owner;
  bridge.topmost = true;
  bridge.eid = options.owner_eid;
  bridge.pool_first = options.pool_first;
  bridge.pool_size = options.pool_size;
  owner_ = std::make_unique<Bridge>(world, bridge);
  owner_->pool().mark(options.owner_eid);
}

// In the order of the members endpoints go before what they are on; media go last.
Network::~Network() = default;

PhysicalAddress Network::owner_address(Segment& segment) const {
  if (segment.smbus() != nullptr) return smbus_address(options_.owner_smbus_address);
  return segment.pcie() != nullptr ? pcie_address(options_.owner_bdf) : PhysicalAddress{};
}

template <class Options>
std::size_t Network::add_segment(Options options, const char* kind) {
  const std::size_t index = segments_.size();
  options.name = fmt::format("{}.{}{}", options_.name, kind, index);
  // Unique in the world as long as a network has fewer segments than this.
  options.bus = static_cast<std::uint32_t>(options_.number * 100 + index);
  options.timing = options.timing && options_.timing;
  segments_.push_back(std::make_unique<Segment>(world_, options));
  return index;
}

std::size_t Network::own(std::size_t segment) {
  BENCH_ASSERT(port_ == nullptr, "segments are added before port() is used");
  const std::string name = fmt::format("{}.owner{}", options_.name, segment);
  Segment& on = *segments_[segment];
  const std::size_t port = owner_->add_port(name, on.attach_bridge(name, owner_address(on), true));
  owned_.push_back(segment);
  owners_.push_back(std::make_unique<BusOwner>(world_, *owner_, port, options_.enumeration));
  return segment;
}

std::size_t Network::add_smbus(SmbusOptions options) { return own(add_segment(std::move(options), "smbus")); }
std::size_t Network::add_pcie(PcieOptions options) { return own(add_segment(std::move(options), "pcie")); }
std::size_t Network::add_serial(SerialOptions options) { return own(add_segment(std::move(options), "serial")); }

SimpleDevice& Network::add_endpoint(std::size_t segment, const PhysicalAddress& address, const DeviceOptions& device,
                                    EndpointOptions options) {
  if (options.name == EndpointOptions{}.name) {
    options.name = fmt::format("{}.{}.{}", options_.name, segment, to_string(address));
  }
  Binding& binding = segments_[segment]->attach(options.name, address);
  endpoints_.push_back(std::make_unique<SimpleDevice>(world_, binding, device, options));
  return *endpoints_.back();
}

// ---------------------------------------------------------------------------------------- bridges

BridgeNode& Network::add_bridge(std::size_t segment, const PhysicalAddress& address, BridgeOptions options) {
  options.network = options_.number;
  auto node = std::make_unique<BridgeNode>();
  node->bridge = std::make_unique<Bridge>(world_, options);
  const std::string name = fmt::format("{}.{}.{}", options_.name, options.name, to_string(address));
  node->bridge->add_port(name, segments_[segment]->attach_bridge(name, address));
  bridges_.push_back(std::move(node));
  BridgeNode& made = *bridges_.back();
  // With its EIDs a bridge goes to work, and what it is told it tells on.
  made.bridge->on_pool([this, &made] { look_behind(made); });
  made.bridge->on_routes([&made] {
    for (const auto& owner : made.owners) owner->update_bridges(BusOwner::Then{});
  });
  return made;
}

template <class Options>
std::size_t Network::add_behind(BridgeNode& node, Options options, const char* kind) {
  const std::size_t index = add_segment(std::move(options), kind);
  const std::string name = fmt::format("{}.{}.{}", options_.name, node.bridge->options().name, index);
  Segment& on = *segments_[index];
  const std::size_t port = node.bridge->add_port(name, on.attach_bridge(name, owner_address(on), true));
  node.segments.push_back(index);
  node.owners.push_back(std::make_unique<BusOwner>(world_, *node.bridge, port, options_.enumeration));
  return index;
}

std::size_t Network::add_smbus_behind(BridgeNode& node, SmbusOptions options) { return add_behind(node, std::move(options), "smbus"); }
std::size_t Network::add_pcie_behind(BridgeNode& node, PcieOptions options) { return add_behind(node, std::move(options), "pcie"); }

void Network::look_behind(BridgeNode& node) {
  node.looked = true;
  for (std::size_t at = 0; at < node.owners.size(); ++at) {
    Segment& behind = *segments_[node.segments[at]];
    if (behind.has_discovery()) {
      node.owners[at]->discover(BusOwner::Then{});
    } else {
      node.owners[at]->enumerate(behind.addresses(), BusOwner::Then{});
    }
  }
}

bool Network::bridges_idle() const {
  for (const auto& node : bridges_) {
    for (const auto& owner : node->owners) {
      if (owner->busy()) return false;
    }
  }
  return true;
}

// ------------------------------------------------------------------------------------ enumeration

EnumerationReport Network::enumerate() {
  EnumerationReport sum;
  for (const auto& node : bridges_) node->looked = false;
  std::vector<Op<EnumerationReport>> ops;
  for (std::size_t at = 0; at < owners_.size(); ++at) {
    Segment& segment = *segments_[owned_[at]];
    ops.push_back(segment.has_discovery() ? owners_[at]->discover() : owners_[at]->enumerate(segment.addresses()));
  }
  for (auto& op : ops) sum += op.wait();
  world_.run_until([&] { return bridges_idle(); }, kBridgesWithin);
  // Those that were not given EIDs just now have some, and what is behind them may be other than it was.
  for (const auto& node : bridges_) {
    if (!node->looked && node->bridge->pool_given()) look_behind(*node);
  }
  world_.run_until([&] { return bridges_idle(); }, kBridgesWithin);
  // Reading one bridge's table may show another behind it.
  std::set<Eid> read;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [eid, one] : owner_->known()) {
      if (!one.is_bridge || !read.insert(eid).second) continue;
      BusOwner& owner = *owners_[one.port];
      const Eid bridge = eid;
      sum += owner.learn_behind(bridge).wait();
      more = true;
      break;
    }
  }
  world_.run_until([&] { return bridges_idle(); }, kBridgesWithin);
  return sum;
}

Port& Network::port() {
  if (port_ == nullptr) {
    std::vector<Endpoint*> all;
    for (std::size_t at = 0; at < owner_->ports(); ++at) all.push_back(&owner_->endpoint(at));
    port_ = std::make_unique<MultiPort>(std::move(all), [this](Eid eid) { return owner_->port_to(eid).value_or(0); });
  }
  return *port_;
}

SimpleDevice* Network::find(Eid eid) {
  for (const auto& one : endpoints_) {
    if (eid != kNullEid && one->endpoint().eid() == eid) return one.get();
  }
  return nullptr;
}

Network& Bus::add_network(NetworkOptions options) {
  BENCH_ASSERT(find(options.number) == nullptr, "a network's number is its own");
  networks_.push_back(std::make_unique<Network>(world_, options));
  return *networks_.back();
}

Network* Bus::find(std::uint32_t number) {
  for (const auto& one : networks_) {
    if (one->number() == number) return one.get();
  }
  return nullptr;
}

}  // namespace fb::mctp
