// What a world may change in a provider. Deliberate departures: each point, in fault_points.h, breaks one rule by a small step,
// and conformance cases prove with them that they can fail. Addresses: peers name memory by its address, so packets would
// depend on where memory lies; a world that wants the same packets each time gives other addresses on the wire, one table for
// all its providers.
#pragma once

#include <cstdint>
#include <string_view>

#include "networkdirect/provider/behaviour.h"

namespace fb::networkdirect {

class ProviderHooks {
 public:
  virtual ~ProviderHooks() = default;
  /// Whether to depart at that point. Asked on the device's thread and on callers' threads.
  virtual bool departs(std::string_view point) {
    (void)point;
    return false;
  }
  /// Asked once, when an adapter is opened.
  virtual Behaviour behaviour() { return {}; }
  /// Whether a request that takes something of the provider is refused for want of it. Asked at each; on the device's thread and on
  /// callers' threads.
  virtual bool refuses() { return false; }
  /// How an address in memory that is registered, or that a Read or a Write names, stands on the wire. On the device's thread.
  virtual std::uint64_t on_the_wire(std::uint64_t address) { return address; }
};

/// A behaviour, and nothing else.
class Behaves final : public ProviderHooks {
 public:
  explicit Behaves(Behaviour behaviour) : behaviour_(std::move(behaviour)) {}
  bool departs(std::string_view point) override { return behaviour_.departs(point); }
  Behaviour behaviour() override { return behaviour_; }

 private:
  const Behaviour behaviour_;
};

}  // namespace fb::networkdirect
