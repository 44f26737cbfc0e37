// A device with several ports that hands packets on by EID: an MCTP bridge, or, without a port upstream,
// the topmost bus owner of a network. It keeps the routing table and the table of known endpoints; the
// owners of its buses (sim/mctp/bus_owner.h) fill both.
//
// Null and broadcast EIDs are never handed on, and nothing goes back to the bus that it came from.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/mctp/control_requester.h"
#include "sim/mctp/control_responder.h"
#include "sim/mctp/eid_pool.h"

namespace fb::mctp {

struct BridgeOptions {
  std::string name = "bridge";
  std::uint32_t network = 1;  ///< number of the network, for the table
  DeviceOptions device = {};  ///< `bridge` and `one_eid` are set here
  /// The topmost owner: its EID and the EIDs that it gives away. Otherwise both come from upstream, and
  /// pool_size is what the bridge asks for.
  bool topmost = false;
  Eid eid = kNullEid;
  Eid pool_first = 9;
  std::uint8_t pool_size = 16;
  std::size_t routes_max = 256;
};

struct BridgeCounters {
  std::uint64_t forwarded = 0;
  std::uint64_t no_route = 0;
  std::uint64_t not_bridged = 0;  ///< from the null EID, or back to where it came from
};

/// What a bus owner has learned of an endpoint.
struct KnownEndpoint {
  Eid eid = kNullEid;
  std::uint32_t network = 1;
  std::size_t port = 0;     ///< of the owner that knows it
  std::string bus;          ///< name of that port
  PhysicalAddress address;  ///< on that bus: its own, or that of the bridge in front of it
  Eid behind = kNullEid;    ///< the bridge in front of it
  bool is_bridge = false;
  Eid pool_first = kNullEid;  ///< EIDs that a bridge was given
  std::uint8_t pool_size = 0;
  std::optional<control::Uuid> uuid;
  std::vector<std::uint8_t> types;
  std::vector<control::Version> versions;  ///< of the base specification
  std::vector<VendorSupport> vendors;
};

class Bridge final : public Forwarder, public RoutingFunctions {
 public:
  static constexpr std::size_t kPortsMax = 32;

  Bridge(World& world, const BridgeOptions& options);
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  /// Adds a port on a binding that outlives the bridge; numbers count from 0. The first port of a bridge
  /// that is not the topmost is its upstream port.
  std::size_t add_port(std::string name, Binding& binding);
  std::size_t ports() const { return ports_.size(); }
  Endpoint& endpoint(std::size_t port) { return *ports_[port]->endpoint; }
  Control& control(std::size_t port) { return *ports_[port]->control; }
  /// The port that leads to an EID; nothing when there is no route.
  std::optional<std::size_t> port_to(Eid eid) const;

  Eid eid() const;
  World& world() { return world_; }
  const BridgeOptions& options() const { return options_; }
  ControlDevice& device() { return device_; }
  const BridgeCounters& counters() const { return counters_; }

  /// Replaces what the table has for exactly these EIDs. False when the table is full.
  bool add_route(const RoutingEntry& entry);
  void remove_routes(Eid first, std::size_t size);
  const RoutingEntry* route_to(Eid eid) const;
  std::vector<RoutingEntry> routes() const override { return routes_; }

  EidPool& pool() { return pool_; }
  const EidPool& pool() const { return pool_; }
  bool pool_given() const override { return pool_given_; }
  /// Called, from an event, when the bridge has been given its EIDs.
  void on_pool(std::function<void()> call) { on_pool_.push_back(std::move(call)); }
  /// Called, from an event, when the owner upstream has told of routes.
  void on_routes(std::function<void()> call) { on_routes_.push_back(std::move(call)); }
  /// Called when an endpoint on a port asks to be discovered.
  void on_notify(std::function<void(std::size_t port, const PhysicalAddress& from)> call) { on_notify_ = std::move(call); }

  std::map<Eid, KnownEndpoint>& known() { return known_; }
  const std::map<Eid, KnownEndpoint>& known() const { return known_; }

 private:
  struct BridgePort {
    std::unique_ptr<Endpoint> endpoint;
    std::unique_ptr<Control> control;
  };

  Belongs forward(Endpoint& arrived_at, Eid destination, ByteView packet) override;
  std::optional<Resolved> resolve(std::size_t by_port, Eid eid) override;
  Allocated allocate(std::size_t by_port, control::AllocateOperation operation, std::uint8_t count, Eid first) override;
  std::uint8_t pool_size() const override;
  bool update_routes(std::size_t by_port, const std::vector<RoutingEntry>& entries) override;
  std::optional<Hop> hop(std::size_t by_port, Eid target) override;
  std::vector<RoutingEntry> resolve_uuid(const control::Uuid& uuid) override;
  void on_discovery_notify(std::size_t port, const PhysicalAddress& from) override;
  bool departs(std::size_t port, std::string_view point) { return endpoint(port).departs(point); }
  void flood(Endpoint& arrived_at, ByteView packet);
  void tell_pool();
  void tell_routes();
  void index_routes();

  World& world_;
  BridgeOptions options_;
  ControlDevice device_;
  std::vector<std::unique_ptr<BridgePort>> ports_;
  std::vector<RoutingEntry> routes_;
  std::array<std::int16_t, 256> route_of_{};  // index into routes_, -1 for none
  EidPool pool_;
  bool pool_given_ = false;
  std::vector<std::function<void()>> on_pool_;
  std::vector<std::function<void()>> on_routes_;
  std::function<void(std::size_t, const PhysicalAddress&)> on_notify_;
  std::map<Eid, KnownEndpoint> known_;
  BridgeCounters counters_;
  Timer<Bridge, &Bridge::tell_pool> pool_timer_{"mctp.bridge.pool", *this};
  Timer<Bridge, &Bridge::tell_routes> routes_timer_{"mctp.bridge.routes", *this};
};

}  // namespace fb::mctp
