// The bench of cases on bus owners: the product owns a bus and enumerates it; the bench plays the devices on
// it, which answer control requests by a script.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "conformance/runner/case.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/managed_setup.h"
#include "conformance/runner/raw_mctp.h"
#include "wire/mctp/control.h"

namespace fb::conformance {

using namespace fb::literals;

/// A device that the bench plays: a simple endpoint that answers well unless the case says otherwise.
class PlayedDevice {
 public:
  PlayedDevice(World& world, mctp::Binding& binding, const mctp::control::Uuid& uuid);

  RawMctp& raw() { return raw_; }
  /// The EID that it was given last; null before.
  mctp::Eid eid() const { return raw_.eid(); }
  const mctp::control::Uuid& uuid() const { return uuid_; }
  /// Control requests that have come, oldest first.
  const std::vector<SeenMessage>& requests() const { return requests_; }
  std::vector<const SeenMessage*> requests_of(mctp::control::Command command) const;
  /// The answer of a good device, from its first byte on; empty is silence.
  Bytes good_answer(const SeenMessage& request);

  /// Asked for every request: what to answer instead of the good answer, empty for silence.
  std::function<Bytes(const SeenMessage& request, Bytes good)> script;
  std::vector<std::uint8_t> types = {4};

 private:
  bool on_message(const SeenMessage& message);

  RawMctp raw_;
  mctp::control::Uuid uuid_;
  std::vector<SeenMessage> requests_;
  bool discovered_ = false;
};

class BusBench final : public Bench {
 public:
  static constexpr std::uint8_t kBridgePool = 6;

  BusBench(World& world, const Environment& environment);
  ~BusBench() override;

  /// The device at the first address; a further one at the next (not on a serial line).
  PlayedDevice& device() { return *devices_.front(); }
  PlayedDevice& add_device();
  /// A device at the first address of a second bus of the product, of the other kind.
  PlayedDevice& add_device_on_another_bus();
  /// A bridge of the product on the bus, which asks for so many EIDs, and a bus of the other kind behind it. Cases over_buses.
  mctp::Bridge& add_bridge(std::uint8_t pool = kBridgePool);
  mctp::PhysicalAddress bridge_address() const;
  /// A device that the bench plays on the bus behind the bridge.
  PlayedDevice& add_device_behind();
  std::string_view medium_behind() const { return medium_ == "smbus" ? "pcie" : "smbus"; }
  /// The product looks at all addresses.
  mctp::EnumerationReport enumerate();
  /// What the product then knows, by EID.
  const std::map<mctp::Eid, mctp::KnownEndpoint>& known() const { return network_->known(); }
  mctp::Network& product() { return *network_; }
  /// The part of the product that owns the bus of the case.
  mctp::BusOwner& bus_owner() { return network_->bus_owner(segment_); }
  std::string_view medium() const { return medium_; }

 private:
  PlayedDevice& play(std::string_view medium, std::size_t segment, unsigned number, std::uint8_t mark);

  std::string_view medium_;
  std::unique_ptr<mctp::EndpointHooks> hooks_;
  std::unique_ptr<mctp::Network> network_;
  std::size_t segment_ = 0;
  mctp::BridgeNode* bridge_ = nullptr;
  std::size_t behind_ = 0;
  unsigned devices_behind_ = 0;
  unsigned devices_here_ = 0;
  std::list<std::unique_ptr<PlayedDevice>> devices_;
};

}  // namespace fb::conformance
