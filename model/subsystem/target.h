// A whole target: subsystems, ports, a discovery service, and who owns what.
//
//   Target target(world);
//   Subsystem& disk = target.add_subsystem({});
//   disk.add_namespace({.blocks = 2048});
//   Port& port = target.add_port({.traddr = "192.0.2.1"});
//   auto listener = fabric.listen(at, target.acceptor(1));
//   port.set_facts(listener->facts());
#pragma once

#include <memory>
#include <vector>

#include "model/subsystem/discovery.h"
#include "model/subsystem/port.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

class Target {
 public:
  /// The channels that it was given belong to it: the target goes before its listeners do, and nothing
  /// runs in between.
  explicit Target(World& world, SubsystemHooks* hooks = nullptr, DiscoveryOptions discovery = {});
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  World& world() { return world_; }
  SubsystemHooks& hooks() { return *hooks_; }

  /// Reachable through every port that is there or comes later; hide it where it should not be.
  Subsystem& add_subsystem(SubsystemOptions options);
  /// Ends its associations.
  void remove_subsystem(Subsystem& subsystem);
  Subsystem* find_subsystem(std::string_view nqn);
  const std::vector<std::unique_ptr<Subsystem>>& subsystems() const { return subsystems_; }

  Port& add_port(PortOptions options);
  /// Ends what came through it. Its fabric goes right afterwards. Not to be called from inside an event.
  void remove_port(Port& port);
  Port& port(std::uint16_t portid = 1);
  const std::vector<std::unique_ptr<Port>>& ports() const { return ports_; }
  /// What a fabric is to give its connections to.
  transport::ControllerAcceptor& acceptor(std::uint16_t portid = 1) { return port(portid); }
  /// Tells port `portid` where it is reached and what the transport can do: once it listens.
  void set_listener(std::uint16_t portid, const transport::ControllerFabric& fabric);

  void expose(Port& port, Subsystem& subsystem);
  void hide(Port& port, Subsystem& subsystem);

  DiscoveryService& discovery() { return discovery_; }

 private:
  World& world_;
  SubsystemHooks* hooks_;
  DiscoveryService discovery_;
  std::vector<std::unique_ptr<Subsystem>> subsystems_;
  std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace fb::subsystem
