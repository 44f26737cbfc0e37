// The owner of one bus: looks at physical addresses, gives EIDs and pools, asks what endpoints are, and
// keeps the bridge's tables. Steps of several addresses run side by side.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "sim/core/op.h"
#include "sim/mctp/bridge.h"

namespace fb::mctp {

struct BusOwnerOptions {
  std::size_t parallel = 4;  ///< addresses that are looked at side by side; tags allow eight
  bool force = false;        ///< Set Endpoint ID by force: takes endpoints from another owner
  bool keeps_static = true;  ///< an endpoint's static EID stays, where it is free
  bool asks_uuid = true;
  bool asks_versions = true;
  bool updates_bridges = true;                    ///< sends Routing Information Update when the tables have changed
  Duration discovery_window = Duration::ms(130);  ///< for answers to a broadcast
};

struct EnumerationReport {
  std::size_t looked_at = 0;
  std::size_t found = 0;     ///< answered
  std::size_t assigned = 0;  ///< have got an EID, new or again
  std::size_t rejected = 0;  ///< kept what another owner gave them
  std::size_t lost = 0;      ///< were known and are gone
  std::size_t no_eid_left = 0;
  std::size_t faulty = 0;  ///< answered, but not so that they could be used
};

/// What becomes of an EID that a device has when it is looked at.
enum class Assigning : std::uint8_t {
  always,   ///< it gets one from the pool, or that which it is known by
  missing,  ///< it keeps what it has, where that is nobody else's
  never,    ///< the same, and one without is not taken
};

class BusOwner {
 public:
  BusOwner(World& world, Bridge& bridge, std::size_t port, const BusOwnerOptions& options = {});
  ~BusOwner();
  BusOwner(const BusOwner&) = delete;
  BusOwner& operator=(const BusOwner&) = delete;

  using Then = std::function<void(const EnumerationReport&)>;
  /// Looks at these addresses; known endpoints at them that do not answer any more are forgotten, and their
  /// EIDs free after TRECLAIM. Runs after what has been started before.
  void enumerate(std::vector<PhysicalAddress> addresses, Then then);
  Op<EnumerationReport> enumerate(std::vector<PhysicalAddress> addresses);
  /// Looks at one address. `wanted` is the EID that it is to get; null: any.
  void look_at(const PhysicalAddress& address, Assigning assigning, Eid wanted, Then then);
  /// Forgets an endpoint on this bus; its EID is free at once.
  void remove(Eid eid);
  /// On media with discovery: Prepare and Endpoint Discovery to all, then whoever answers.
  void discover(Then then);
  Op<EnumerationReport> discover();
  /// Reads the routing table of a bridge on this bus, and asks who is behind it.
  void learn_behind(Eid bridge, Then then);
  Op<EnumerationReport> learn_behind(Eid bridge);
  /// Tells every bridge on this bus about all others in the table.
  void update_bridges(Then then);
  Op<EnumerationReport> update_bridges();

  bool busy() const { return current_ != nullptr; }
  ControlRequester& requester() { return bridge_.control(port_).requester(); }
  Bridge& bridge() { return bridge_; }
  std::size_t port() const { return port_; }

 private:
  struct Job;
  struct Visit;

  void start(std::unique_ptr<Job> job);
  Op<EnumerationReport> as_op(std::string_view what, const std::function<void(Then)>& start);
  void begin_next();
  void proceed();
  void finish();
  void prepare();
  void discover_more();
  void read_table(Eid bridge, std::uint8_t handle);
  void take_table(Eid bridge, const ControlReply& reply);
  void visit(const PhysicalAddress& address);
  void visit_behind(Eid eid, Eid bridge);
  void on_eid(Visit& visit, const ControlReply& reply);
  bool may_keep(const Visit& visit, Eid has) const;
  void refuse(Visit& visit);
  void give_eid(Visit& visit, Eid eid);
  void on_assigned(Visit& visit, const ControlReply& reply);
  void give_pool(Visit& visit);
  void ask_types(Visit& visit);
  void ask_uuid(Visit& visit);
  void ask_versions(Visit& visit);
  void ask_vendors(Visit& visit, std::uint8_t selector);
  void record(Visit& visit);
  void end_visit(Visit& visit);
  void forget_unseen();
  void forget_at(const PhysicalAddress& address);
  void forget(Eid eid, Instant usable);
  Eid known_at(const PhysicalAddress& address) const;
  const KnownEndpoint* outermost(Eid eid) const;
  std::vector<RoutingEntry> routes_for(const KnownEndpoint& bridge);
  void queue_updates();
  void send_update();
  /// A callback that does nothing once the owner has gone.
  template <class Call>
  auto while_alive(Call call) {
    return [alive = std::weak_ptr<int>(alive_), call = std::move(call)](const auto& result) {
      if (!alive.expired()) call(result);
    };
  }
  bool departs(std::string_view point) const { return bridge_.endpoint(port_).departs(point); }
  static ControlPeer peer_of(const Visit& visit);

  World& world_;
  Bridge& bridge_;
  std::size_t port_;
  BusOwnerOptions options_;
  std::deque<std::unique_ptr<Job>> jobs_;
  std::unique_ptr<Job> current_;
  std::vector<std::unique_ptr<Visit>> visits_;
  // Held weakly by the callbacks that the requester keeps.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace fb::mctp
