#include "sim/mctp/bridge.h"

#include <algorithm>
#include <utility>

#include "sim/mctp/fault_points.h"

namespace fb::mctp {

using control::AllocateOperation;
using control::Assignment;
using control::Completion;

namespace {

DeviceOptions device_options(const BridgeOptions& options) {
  DeviceOptions device = options.device;
  device.bridge = true;
  device.one_eid = true;
  return device;
}

}  // namespace

Bridge::Bridge(World& world, const BridgeOptions& options) : world_(world), options_(options), device_(device_options(options)) {
  device_.set_routing(this);
  route_of_.fill(-1);
  if (options_.topmost) {
    pool_ = EidPool(options_.pool_first, options_.pool_size);
    pool_given_ = true;
  }
}

Bridge::~Bridge() = default;

std::size_t Bridge::add_port(std::string name, Binding& binding) {
  BENCH_ASSERT(ports_.size() < kPortsMax, "a routing table has five bits for the port");
  auto port = std::make_unique<BridgePort>();
  EndpointOptions options;
  options.name = std::move(name);
  options.eid = options_.topmost ? options_.eid : Eid{kNullEid};
  options.forwards_max = 256;
  port->endpoint = std::make_unique<Endpoint>(world_, binding, options);
  port->endpoint->set_forwarder(this);
  port->control = std::make_unique<Control>(*port->endpoint, device_);
  ports_.push_back(std::move(port));
  return ports_.size() - 1;
}

Eid Bridge::eid() const { return ports_.empty() ? options_.eid : ports_.front()->endpoint->eid(); }

// ----------------------------------------------------------------------------------------- routes

void Bridge::index_routes() {
  route_of_.fill(-1);
  // A route to the endpoint itself goes before the range that it is in.
  for (const bool exact : {false, true}) {
    for (std::size_t at = 0; at < routes_.size(); ++at) {
      const RoutingEntry& one = routes_[at];
      if ((one.size == 1) != exact) continue;
      for (unsigned eid = one.first; eid < unsigned{one.first} + one.size && eid < 256; ++eid) {
        route_of_[eid] = static_cast<std::int16_t>(at);
      }
    }
  }
}

bool Bridge::add_route(const RoutingEntry& entry) {
  const auto same = std::find_if(routes_.begin(), routes_.end(),
                                 [&](const RoutingEntry& one) { return one.first == entry.first && one.size == entry.size; });
  if (same != routes_.end()) {
    *same = entry;
  } else if (routes_.size() >= options_.routes_max) {
    return false;
  } else {
    routes_.push_back(entry);
  }
  index_routes();
  if (entry.port < ports_.size()) {
    const unsigned last = std::min(unsigned{entry.first} + entry.size - 1, 254u);
    endpoint(entry.port).set_route(entry.first, static_cast<Eid>(last), entry.address);
  }
  return true;
}

void Bridge::remove_routes(Eid first, std::size_t size) {
  const auto inside = [&](const RoutingEntry& one) { return one.first >= first && one.first + std::size_t{one.size} <= first + size; };
  for (const RoutingEntry& one : routes_) {
    if (inside(one) && one.port < ports_.size()) {
      endpoint(one.port).clear_route(one.first, static_cast<Eid>(one.first + one.size - 1));
    }
  }
  std::erase_if(routes_, inside);
  index_routes();
}

const RoutingEntry* Bridge::route_to(Eid eid) const {
  const std::int16_t at = route_of_[eid];
  return at < 0 ? nullptr : &routes_[static_cast<std::size_t>(at)];
}

std::optional<std::size_t> Bridge::port_to(Eid eid) const {
  const RoutingEntry* const route = route_to(eid);
  if (route != nullptr) return route->port;
  // The owner upstream is known from its Set Endpoint ID.
  if (!options_.topmost && !ports_.empty()) {
    const auto& owner = ports_[0]->control->responder().owner();
    if (owner && owner->eid == eid) return 0;
  }
  return std::nullopt;
}

Belongs Bridge::forward(Endpoint& arrived_at, Eid destination, ByteView packet) {
  for (const auto& port : ports_) {
    if (port->endpoint->eid() == destination && destination != kNullEid) return Belongs::here;
  }
  const auto port = port_to(destination);
  if (!port) {
    ++counters_.no_route;
    if (arrived_at.departs(departure::kBridgeFloods)) flood(arrived_at, packet);
    return Belongs::no_route;
  }
  Endpoint& out = endpoint(*port);
  const bool from_nobody = packet[2] == kNullEid && !arrived_at.departs(departure::kBridgeNull);
  if (&out == &arrived_at || from_nobody) {
    ++counters_.not_bridged;
    return Belongs::no_route;
  }
  Bytes sent(packet.begin(), packet.end());
  if (arrived_at.departs(departure::kBridgeAlters)) sent[3] ^= 0x01;
  if (out.forward(out.route_of(destination), sent)) ++counters_.forwarded;
  return Belongs::elsewhere;
}

/// A deviation: to somebody on every other bus.
void Bridge::flood(Endpoint& arrived_at, ByteView packet) {
  for (const RoutingEntry& one : routes_) {
    Endpoint& out = endpoint(one.port);
    if (&out != &arrived_at) out.forward(one.address, packet);
  }
}

// --------------------------------------------------------------------------------------- commands

std::optional<RoutingFunctions::Resolved> Bridge::resolve(std::size_t by_port, Eid eid) {
  const RoutingEntry* const route = route_to(eid);
  if (route == nullptr) return std::nullopt;
  // From another bus the way is through us.
  if (route->port != by_port && !departs(by_port, departure::kBridgeResolvesElsewhere)) {
    return Resolved{this->eid(), endpoint(by_port).binding().address()};
  }
  // Behind another bridge: that bridge's own EID.
  const auto found = known_.find(eid);
  const bool behind = found != known_.end() && found->second.behind != kNullEid;
  return Resolved{behind ? found->second.behind : eid, route->address};
}

RoutingFunctions::Allocated Bridge::allocate(std::size_t by_port, AllocateOperation operation, std::uint8_t count, Eid first) {
  Allocated made;
  made.pool_size = options_.pool_size;
  made.first = pool_.size() > 0 ? pool_.first() : Eid{kNullEid};
  if (operation == AllocateOperation::query) return made;
  const bool from_anybody = departs(by_port, departure::kBridgePoolOtherBus);
  if (options_.topmost || (by_port != 0 && !from_anybody)) {
    made.status = Assignment::rejected;
    return made;
  }
  const bool fits = first >= kFirstEid && unsigned{first} + count <= kBroadcastEid;
  const bool excess = count > options_.pool_size && !departs(by_port, departure::kBridgePoolExcess);
  if (excess || (count > 0 && !fits)) {
    made.completion = Completion::invalid_data;
    return made;
  }
  if (pool_given_ && operation != AllocateOperation::force && !from_anybody) {
    // A repeated request is a retry, and no second allocation.
    const bool same = pool_.first() == first && pool_.size() == count;
    made.status = same ? Assignment::accepted : Assignment::rejected;
    return made;
  }
  if (pool_given_ && departs(by_port, departure::kBridgePoolKept)) return made;
  // Who was given EIDs before is given others.
  remove_routes(pool_.first(), pool_.size());
  std::erase_if(known_, [&](const auto& one) { return pool_.holds(one.first); });
  pool_ = EidPool(first, count);
  pool_given_ = true;
  made.first = count > 0 ? first : Eid{kNullEid};
  world_.loop().schedule(pool_timer_, world_.now());
  return made;
}

std::uint8_t Bridge::pool_size() const { return options_.topmost ? 0 : options_.pool_size; }

void Bridge::tell_pool() {
  for (const auto& call : on_pool_) call();
}

void Bridge::tell_routes() {
  for (const auto& call : on_routes_) call();
}

bool Bridge::update_routes(std::size_t by_port, const std::vector<RoutingEntry>& entries) {
  if (routes_.size() + entries.size() > options_.routes_max) return false;
  for (RoutingEntry entry : entries) {
    entry.port = static_cast<std::uint8_t>(by_port);
    // An owner tells of its own bus: what is behind another port stays as it is.
    const RoutingEntry* const other = route_to(entry.first);
    const bool foreign = other != nullptr && other->port != by_port;
    if (foreign && !departs(by_port, departure::kBridgeUpdatesForeign)) continue;
    if (departs(by_port, departure::kBridgeUpdatesLost)) continue;
    if (!add_route(entry)) return false;
  }
  world_.loop().schedule(routes_timer_, world_.now());
  return true;
}

std::optional<RoutingFunctions::Hop> Bridge::hop(std::size_t by_port, Eid target) {
  Hop hop;
  if (target == eid()) return hop;
  const auto port = port_to(target);
  if (!port) return std::nullopt;
  if (*port == by_port && !departs(by_port, departure::kBridgeHopsLocally)) return hop;
  const auto found = known_.find(target);
  const bool behind = found != known_.end() && found->second.behind != kNullEid;
  hop.next = behind ? found->second.behind : target;
  return hop;
}

std::vector<RoutingEntry> Bridge::resolve_uuid(const control::Uuid& uuid) {
  std::vector<RoutingEntry> found;
  for (const auto& [eid, one] : known_) {
    if (one.uuid != uuid || one.port >= ports_.size()) continue;
    const BindingFacts& facts = endpoint(one.port).binding().facts();
    RoutingEntry entry;
    entry.first = eid;
    entry.port = static_cast<std::uint8_t>(one.port);
    entry.binding = facts.binding;
    entry.medium = facts.medium;
    entry.address = one.address;
    found.push_back(entry);
  }
  return found;
}

void Bridge::on_discovery_notify(std::size_t port, const PhysicalAddress& from) {
  if (on_notify_) on_notify_(port, from);
}

}  // namespace fb::mctp
