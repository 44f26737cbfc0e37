// What a running target can be told: the methods of `target --control`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/control/rpc.h"
#include "cli/control/told_subsystem.h"
#include "model/subsystem/target.h"

namespace fb::cli {

/// The sockets of a target, which its ports know nothing of.
class TargetListeners {
 public:
  struct Listener {
    std::string url;
    std::uint16_t portid = 0;
    bool discovery_only = false;
  };

  virtual ~TargetListeners() = default;
  virtual std::vector<Listener> list() const = 0;
  /// Listens, with a port of the subsystem that is made for it. UserError where that cannot be.
  virtual void add(const std::string& url, bool discovery_only) = 0;
  /// Ends what came through it. UserError where nothing listens there.
  virtual void remove(const std::string& url) = 0;
};

class TargetControl {
 public:
  struct Parts {
    subsystem::Target& target;
    ToldSubsystem& told;
    ToldDevice* device;  ///< null: no software RDMA device
    TargetListeners& listeners;
    std::vector<std::string> deviations = {};         ///< those that are on at the start
    std::vector<subsystem::Referral> referrals = {};  ///< those that the discovery service has
  };

  /// All parts outlive it.
  explicit TargetControl(Parts parts);
  ~TargetControl();

  const Rpc& rpc() const { return rpc_; }

 private:
  using Json = nlohmann::ordered_json;

  // Registration, a file for each subject.
  void add_subsystem_methods();
  void add_controller_methods();
  void add_namespace_methods();
  void add_health_methods();
  void add_discovery_methods();
  void add_host_methods();
  void add_listener_methods();
  void add_command_methods();
  void add_deviation_methods();
  void add_fault_methods();
  void add_statistics_methods();

  // What calls name. RpcError where it is not there.
  subsystem::Subsystem& subsystem_of(const RpcArguments& arguments) const;
  subsystem::Namespace& namespace_of(const RpcArguments& arguments) const;
  subsystem::Controller& controller_of(const RpcArguments& arguments) const;
  subsystem::Queue& connection_of(const RpcArguments& arguments) const;

  void switch_deviations(std::vector<std::string> names);
  void apply();
  void power_off();
  void power_on();

  Json subsystem_json(subsystem::Subsystem& subsystem) const;
  Json statistics() const;

  World& world_;
  Instant started_ = world_.now();
  subsystem::Target& target_;
  ToldSubsystem& told_;
  ToldDevice* device_;
  TargetListeners& listeners_;
  std::vector<std::string> deviations_;
  std::unique_ptr<PlanInForce> plan_;
  std::vector<subsystem::Referral> referrals_;
  std::vector<TargetListeners::Listener> switched_off_;  ///< come back with the power
  Timer<TargetControl, &TargetControl::power_on> power_{"target.power", *this};
  Rpc rpc_{"fabricbench target"};
};

}  // namespace fb::cli
