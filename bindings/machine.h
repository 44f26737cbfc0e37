// A machine of a world: an address with what the transports need there. In virtual time a host of the simulated
// network, in real time an address of this computer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/box.h"
#include "bindings/link_control.h"
#include "conformance/runner/device_layers.h"
#include "model/faults/hooks.h"
#include "model/tls/tls_side.h"
#include "sim/fault/network_faults.h"
#include "sim/fault/plan.h"
#include "sim/net/filtered_host.h"
#include "sim/net/local_host.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::python {

/// The faults of a world, and where it could have had some.
struct Faults {
  std::unique_ptr<fault::Points> points;
  fault::Plan plan;                  ///< either this
  fault::Schedule schedule;          ///< or this: in order
  std::vector<fault::Place> places;  ///< those that the world came to
};

/// `plan`: YAML of a plan, a list of decisions as text, or None: null.
std::unique_ptr<Faults> make_faults(World& world, const py::object& plan, std::uint64_t seed);

/// The simulated network of a world with its faults; made with the world.
class Fabric {
 public:
  Fabric(Box& box, const net::LinkOptions& links, std::unique_ptr<Faults> faults);

  net::SimNetwork& network() { return network_; }
  LinkControl& control() { return control_; }
  /// Null in a world without a plan.
  fault::Points* points() { return faults_ == nullptr ? nullptr : faults_->points.get(); }
  Faults* faults() { return faults_.get(); }

 private:
  net::SimNetwork network_;
  LinkControl control_;
  std::unique_ptr<Faults> faults_;
  std::unique_ptr<fault::NetworkFaults> network_faults_;
};

class Machine {
 public:
  Machine(Box& box, Fabric& fabric, std::string name, const IpAddress& address);
  /// `hidden`: the trace does not show its streams and packets: a proxy or a filter shows what passes.
  Machine(Box& box, std::string name, const net::LocalHost& local, bool hidden);

  const std::string& name() const { return name_; }
  const IpAddress& address() const { return address_; }
  /// Opened when it is first asked for; `hooks` count then. UserError when UDP port 4791 is taken.
  softroce::SoftRoceDevice& device(std::unique_ptr<softroce::SoftHooks> hooks = nullptr);
  /// What programs on it use: the device, or what is in front of it.
  rdma::Device& rdma(std::unique_ptr<softroce::SoftHooks> hooks = nullptr);
  bool has_device() const { return device_ != nullptr; }
  net::StreamHost& streams();
  net::DatagramHost& datagrams();
  /// Of a hidden machine: from now on its packets pass the faults. They outlive it.
  void set_packet_faults(net::LinkFilter& faults);
  /// Null in real time.
  Fabric* fabric() { return fabric_; }
  /// Of programs that have not asked for the device yet.
  void set_layer(conformance::DeviceLayer layer) { layer_ = layer; }
  void set_mtu_code_max(std::uint8_t code) { mtu_code_max_ = code; }
  World& world() { return world_; }

 private:
  World& world_;
  Fabric* fabric_ = nullptr;
  std::string name_;
  IpAddress address_;
  net::LocalHost local_;
  bool hidden_ = false;
  net::SimHost* sim_ = nullptr;
  std::unique_ptr<net::DatagramHost> unfiltered_;  // of a hidden machine
  std::unique_ptr<net::DatagramHost> datagrams_;
  net::FilteredHost* filtered_ = nullptr;
  std::unique_ptr<net::StreamHost> streams_;
  std::uint8_t mtu_code_max_ = 5;
  std::unique_ptr<softroce::SoftHooks> hooks_;
  std::unique_ptr<softroce::SoftRoceDevice> device_;
  conformance::DeviceLayer layer_ = conformance::DeviceLayer::none;
  std::unique_ptr<conformance::DeviceLayers> layers_;
};

/// TLS around a machine's streams, with keys of its own.
struct TlsEnd {
  /// `psks`: the text of a key file. UserError where it is none.
  TlsEnd(Machine& machine, const std::string& psks, const std::string& name, transport::ChannelSecurity security);
  auth::PskStore keys;
  std::unique_ptr<transport::TlsSide> side;
};

}  // namespace fb::python
