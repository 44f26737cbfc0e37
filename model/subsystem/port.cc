#include "model/subsystem/port.h"

#include <algorithm>
#include <utility>

#include "model/subsystem/discovery.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

Port::Port(World& world, SubsystemHooks& hooks, PortOptions options) : world_(world), hooks_(hooks), options_(std::move(options)) {}

Port::~Port() = default;

void Port::set_address(std::string traddr, std::string trsvcid, AddressFamily family) {
  options_.traddr = std::move(traddr);
  options_.trsvcid = std::move(trsvcid);
  options_.family = family;
}

void Port::expose(Subsystem& subsystem) {
  if (std::find(subsystems_.begin(), subsystems_.end(), &subsystem) == subsystems_.end()) {
    subsystems_.push_back(&subsystem);
  }
}

void Port::hide(Subsystem& subsystem) { std::erase(subsystems_, &subsystem); }

Subsystem* Port::find(std::string_view nqn) const {
  for (Subsystem* subsystem : subsystems_) {
    if (subsystem->options().nqn == nqn) return subsystem;
    DiscoveryService* const discovery = subsystem->discovery();
    if (discovery != nullptr && discovery->answers_to(nqn)) return subsystem;
  }
  return nullptr;
}

void Port::on_channel(std::unique_ptr<transport::ControllerChannel> channel) {
  queues_.push_back(std::make_unique<Queue>(*this, std::move(channel)));
}

void Port::reap_later() {
  if (!reaper_.scheduled()) world_.loop().schedule(reaper_, world_.now());
}

void Port::reap() {
  std::erase_if(queues_, [](const std::unique_ptr<Queue>& queue) { return !queue->alive(); });
}

}  // namespace fb::subsystem
