#include "model/subsystem/target.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fb::subsystem {

Target::Target(World& world, SubsystemHooks* hooks, DiscoveryOptions discovery)
    : world_(world), hooks_(hooks != nullptr ? hooks : &no_hooks()), discovery_(world, std::move(discovery), hooks_) {}

Target::~Target() {
  // Queues belong to the ports and know the controllers: they go first.
  for (const auto& subsystem : subsystems_) subsystem->end_associations("the target stops");
  discovery_.subsystem().end_associations("the target stops");
  ports_.clear();
}

Subsystem& Target::add_subsystem(SubsystemOptions options) {
  subsystems_.push_back(std::make_unique<Subsystem>(world_, std::move(options), hooks_));
  Subsystem& made = *subsystems_.back();
  made.set_watcher(&discovery_);
  for (const auto& port : ports_) port->expose(made);
  discovery_.changed();
  return made;
}

void Target::remove_subsystem(Subsystem& subsystem) {
  subsystem.end_associations("the subsystem is gone");
  for (const auto& port : ports_) port->hide(subsystem);
  std::erase_if(subsystems_, [&](const auto& held) { return held.get() == &subsystem; });
  discovery_.changed();
}

Subsystem* Target::find_subsystem(std::string_view nqn) {
  for (const auto& subsystem : subsystems_) {
    if (subsystem->options().nqn == nqn) return subsystem.get();
  }
  return nullptr;
}

Port& Target::add_port(PortOptions options) {
  ports_.push_back(std::make_unique<Port>(world_, *hooks_, std::move(options)));
  Port& made = *ports_.back();
  made.expose(discovery_.subsystem());
  for (const auto& subsystem : subsystems_) made.expose(*subsystem);
  discovery_.add_port(made);
  discovery_.changed();
  return made;
}

void Target::remove_port(Port& port) {
  for (const auto& queue : port.connections()) {
    if (!queue->alive()) continue;
    Controller* const controller = queue->controller();
    if (controller != nullptr) {
      controller->end_association("the port is gone");
    } else {
      queue->close("the port is gone");
    }
  }
  discovery_.remove_port(port);
  std::erase_if(ports_, [&](const auto& held) { return held.get() == &port; });
}

Port& Target::port(std::uint16_t portid) {
  for (const auto& port : ports_) {
    if (port->options().portid == portid) return *port;
  }
  BENCH_ASSERT(false, "a port that was added");
}

void Target::set_listener(std::uint16_t portid, const transport::ControllerFabric& fabric) {
  Port& at = port(portid);
  const Endpoint local = fabric.local();
  at.set_facts(fabric.facts());
  at.set_address(to_string(local.address), std::to_string(local.port), local.address.is_v4() ? AddressFamily::ipv4 : AddressFamily::ipv6);
  discovery_.changed();
}

namespace {

bool is_exposed(const Port& port, const Subsystem& subsystem) {
  return std::find(port.subsystems().begin(), port.subsystems().end(), &subsystem) != port.subsystems().end();
}

}  // namespace

void Target::expose(Port& port, Subsystem& subsystem) {
  if (is_exposed(port, subsystem)) return;
  port.expose(subsystem);
  discovery_.changed();
}

void Target::hide(Port& port, Subsystem& subsystem) {
  if (!is_exposed(port, subsystem)) return;
  port.hide(subsystem);
  discovery_.changed();
}

}  // namespace fb::subsystem
