// A whole MCTP network put together in one world: segments of any medium, a topmost bus owner with a port on
// each of its own, endpoints, bridges with segments behind them.
//
//   Network network(world);
//   const auto bus = network.add_smbus();
//   auto& drive = network.add_endpoint(bus, smbus_address(0x3A), {.types = {{0x04, {...}}}});
//   network.enumerate();                       // everybody has an EID now
//   network.port().send({.destination = drive.endpoint().eid(), ...});
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sim/mctp/bus_owner.h"
#include "sim/mctp/multi_port.h"
#include "sim/mctp/pcie_fabric.h"
#include "sim/mctp/serial_line.h"
#include "sim/mctp/smbus_segment.h"

namespace fb::mctp {

/// A medium of any kind, with the attachments to it.
class Segment {
 public:
  Segment(World& world, const SmbusOptions& options);
  Segment(World& world, const PcieOptions& options);
  Segment(World& world, const SerialOptions& options);

  /// Attaches a device; on a serial line, which has two ends, the owner is on the left. `owner` is the root
  /// complex on PCI Express.
  Binding& attach(const std::string& name, const PhysicalAddress& address, bool owner = false);
  /// The same for a bridge, which tries a packet more often where the medium has tries.
  Binding& attach_bridge(const std::string& name, const PhysicalAddress& address, bool owner = false);
  /// Where devices are that are not the owner, in the order of attaching.
  const std::vector<PhysicalAddress>& addresses() const { return addresses_; }
  bool has_discovery() const { return std::holds_alternative<std::unique_ptr<PcieFabric>>(medium_); }
  void set_filter(FrameFilter* filter);

  SmbusSegment* smbus();
  PcieFabric* pcie();
  SerialLine* serial();

 private:
  std::variant<std::unique_ptr<SmbusSegment>, std::unique_ptr<PcieFabric>, std::unique_ptr<SerialLine>> medium_;
  std::vector<std::unique_ptr<Binding>> ports_;
  std::vector<PhysicalAddress> addresses_;
};

/// An endpoint that is no bridge, with its side of the control protocol.
class SimpleDevice {
 public:
  SimpleDevice(World& world, Binding& binding, const DeviceOptions& device, const EndpointOptions& options);

  Binding& binding() { return endpoint_.binding(); }
  Endpoint& endpoint() { return endpoint_; }
  ControlDevice& device() { return device_; }
  Control& control() { return control_; }
  /// As after power-on: what was on its way is forgotten, and the EID but for a static one.
  void reset();

 private:
  ControlDevice device_;
  Endpoint endpoint_;
  Control control_;
};

/// A bridge and the owners of the buses behind it.
struct BridgeNode {
  std::unique_ptr<Bridge> bridge;
  std::vector<std::size_t> segments;  ///< by downstream port, from port 1 on
  std::vector<std::unique_ptr<BusOwner>> owners;
  bool looked = false;  ///< at its buses, since the last enumeration began
};

struct NetworkOptions {
  std::uint32_t number = 1;
  std::string name = "network";
  Eid owner_eid = 8;
  Eid pool_first = 9;
  std::uint8_t pool_size = 246;
  std::uint8_t owner_smbus_address = 0x20;
  std::uint16_t owner_bdf = 0x0000;
  DeviceOptions owner = {};
  BusOwnerOptions enumeration = {};
  bool timing = true;  ///< of every medium that is added
};

class Network {
 public:
  explicit Network(World& world, const NetworkOptions& options = {});
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// A segment with the network's owner on it; its number.
  std::size_t add_smbus(SmbusOptions options = {});
  std::size_t add_pcie(PcieOptions options = {});
  std::size_t add_serial(SerialOptions options = {});

  SimpleDevice& add_endpoint(std::size_t segment, const PhysicalAddress& address, const DeviceOptions& device = {},
                             EndpointOptions options = {});
  /// A bridge on `segment`, without buses behind it.
  BridgeNode& add_bridge(std::size_t segment, const PhysicalAddress& address, BridgeOptions options = {});
  /// A bus behind a bridge; its number.
  std::size_t add_smbus_behind(BridgeNode& node, SmbusOptions options = {});
  std::size_t add_pcie_behind(BridgeNode& node, PcieOptions options = {});

  /// Enumerates every bus from the top, waits for the bridges to do theirs (those too that have their EIDs
  /// already), and learns who is behind them.
  /// The sum of all reports. Not to be called from inside an event.
  EnumerationReport enumerate();

  /// The owner's own port into the whole network. Valid once a segment is there; segments are added before.
  Port& port();
  Bridge& owner() { return *owner_; }
  BusOwner& bus_owner(std::size_t port) { return *owners_[port]; }
  Segment& segment(std::size_t index) { return *segments_[index]; }
  std::size_t segments() const { return segments_.size(); }
  const std::vector<std::unique_ptr<SimpleDevice>>& endpoints() const { return endpoints_; }
  const std::map<Eid, KnownEndpoint>& known() const { return owner_->known(); }
  /// The endpoint that has this EID now; nullptr when none has.
  SimpleDevice* find(Eid eid);
  std::uint32_t number() const { return options_.number; }
  World& world() { return world_; }

 private:
  template <class Options>
  std::size_t add_segment(Options options, const char* kind);
  std::size_t own(std::size_t segment);
  template <class Options>
  std::size_t add_behind(BridgeNode& node, Options options, const char* kind);
  PhysicalAddress owner_address(Segment& segment) const;
  void look_behind(BridgeNode& node);
  bool bridges_idle() const;

  World& world_;
  NetworkOptions options_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::unique_ptr<Bridge> owner_;
  std::vector<std::size_t> owned_;  // segments, by the owner's port
  std::vector<std::unique_ptr<BusOwner>> owners_;
  std::vector<std::unique_ptr<BridgeNode>> bridges_;
  std::vector<std::unique_ptr<SimpleDevice>> endpoints_;
  std::unique_ptr<MultiPort> port_;
};

/// Several networks in one world, each with its number.
class Bus {
 public:
  explicit Bus(World& world) : world_(world) {}
  /// A new network; numbers are given once.
  Network& add_network(NetworkOptions options = {});
  Network* find(std::uint32_t number);
  const std::vector<std::unique_ptr<Network>>& networks() const { return networks_; }

 private:
  World& world_;
  std::vector<std::unique_ptr<Network>> networks_;
};

}  // namespace fb::mctp
