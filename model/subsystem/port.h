// One subsystem port: the place where connections arrive, and the subsystems that can be reached
// through it. A Connect's SUBNQN chooses among them.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "model/subsystem/leniency.h"
#include "model/subsystem/options.h"
#include "model/subsystem/queue.h"
#include "sim/core/world.h"

namespace fb::subsystem {

class Subsystem;

class Port final : public transport::ControllerAcceptor {
 public:
  Port(World& world, SubsystemHooks& hooks, PortOptions options);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  const PortOptions& options() const { return options_; }
  /// Where the listener really is, and what its transport can do: known only after listening.
  void set_address(std::string traddr, std::string trsvcid, AddressFamily family);
  void set_facts(const transport::ControllerFabricFacts& facts) { options_.facts = facts; }

  /// Makes a subsystem reachable here. It must outlive the port, or be hidden first.
  void expose(Subsystem& subsystem);
  void hide(Subsystem& subsystem);
  const std::vector<Subsystem*>& subsystems() const { return subsystems_; }
  Subsystem* find(std::string_view nqn) const;

  /// Leaves out these checks of checks.h.
  void set_leniency(std::vector<std::string_view> checks) { lenient_ = std::move(checks); }
  bool is_lenient(std::string_view check) const { return std::find(lenient_.begin(), lenient_.end(), check) != lenient_.end(); }
  /// `listener` hears of every command that a check refuses, or that leniency lets pass.
  void on_refused(std::function<void(const RefusedCommand&)> listener) { listener_ = std::move(listener); }
  void report(const RefusedCommand& refused) const {
    if (listener_) listener_(refused);
  }

  World& world() { return world_; }
  SubsystemHooks& hooks() { return hooks_; }
  std::size_t queues() const { return queues_.size(); }
  /// Every connection, those included that have ended and wait for their destruction.
  const std::vector<std::unique_ptr<Queue>>& connections() const { return queues_; }

  /// Queues that are no longer alive are destroyed in an event of their own.
  void reap_later();

  void on_channel(std::unique_ptr<transport::ControllerChannel> channel) override;

 private:
  void reap();

  World& world_;
  SubsystemHooks& hooks_;
  PortOptions options_;
  std::vector<Subsystem*> subsystems_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<std::string_view> lenient_;
  std::function<void(const RefusedCommand&)> listener_;
  Timer<Port, &Port::reap> reaper_{"subsystem.port.reap", *this};
};

}  // namespace fb::subsystem
