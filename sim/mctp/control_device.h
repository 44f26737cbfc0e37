// What a device is behind its ports: identity, what it supports, its EID. Shared by the responders of all
// its ports.
#pragma once

#include <optional>
#include <vector>

#include "sim/mctp/endpoint.h"

namespace fb::mctp {

struct TypeSupport {
  std::uint8_t type = 0;
  std::vector<control::Version> versions = {};
};

struct VendorSupport {
  control::VendorFormat format = control::VendorFormat::pci;
  std::uint32_t vendor = 0;
  std::uint16_t command_set = 0;
};

/// What Query Rate Limit says: the buffer in bytes, rates in packets of the baseline unit a second, bursts in packets.
struct RateLimits {
  std::uint32_t buffer = 4096;
  std::uint32_t receive_max = 1 << 20;
  std::uint32_t limit_max = 1 << 20;
  std::uint32_t limit_min = 1 << 10;
  std::uint32_t burst_max = 4096;  ///< 24 bits
  std::uint32_t burst = 4096;      ///< 24 bits
  std::uint32_t rate = 1 << 20;
};

/// Where DSP0236 leaves a choice, or its text could not be consulted. The defaults are nearest to it.
struct ControlPolicy {
  /// EIDs 01h to 07h are refused by Set Endpoint ID, as 00h and FFh are.
  bool refuses_reserved_eids = true;
  /// A response to Set Endpoint ID that was sent to our old EID comes from that; otherwise from the new one.
  bool answers_from_old_eid = true;
  /// A request while another is worked on: NOT_READY, or silence.
  bool busy_is_answered = true;
  /// Between a request and its response.
  Duration answer_after{};
  /// Vendor support, rate limits and interfaces are optional: unsupported where there is nothing to say.
  bool supports_interfaces = true;
};

struct DeviceOptions {
  std::optional<control::Uuid> uuid = {};
  /// Of the base specification and the control protocol.
  std::vector<control::Version> base_versions = {
      {0xF1, 0xF0, 0xFF, 0}, {0xF1, 0xF1, 0xFF, 0}, {0xF1, 0xF2, 0xFF, 0}, {0xF1, 0xF3, 0xF1, 0}};
  std::vector<TypeSupport> types = {};  ///< beyond control
  std::vector<VendorSupport> vendors = {};
  std::optional<control::Uuid> network = {};  ///< what Get Network ID says
  Eid static_eid = kNullEid;
  bool bridge = false;
  /// One EID for all ports, so that only one bus owner may assign it; otherwise each port has its own.
  bool one_eid = false;
  std::optional<RateLimits> rates = {};
  ControlPolicy policy = {};
};

struct RoutingEntry {
  control::RouteType type = control::RouteType::endpoint;
  Eid first = 0;
  std::uint8_t size = 1;
  bool is_static = false;
  std::uint8_t port = 0;  ///< number of the port that it is behind
  control::BindingId binding = control::BindingId::vendor;
  control::MediumId medium = control::MediumId::unspecified;
  PhysicalAddress address;

  bool covers(Eid eid) const { return eid >= first && eid - first < size; }
};

/// The commands that only a bridge or a bus owner has. Each says what the response says.
class RoutingFunctions {
 public:
  struct Resolved {
    Eid bridge = 0;
    PhysicalAddress address;
  };
  /// `by_port` is where the request came from: the answer is for who is on that bus.
  virtual std::optional<Resolved> resolve(std::size_t by_port, Eid eid) = 0;

  struct Allocated {
    control::Completion completion = control::Completion::success;
    control::Assignment status = control::Assignment::accepted;
    std::uint8_t pool_size = 0;
    Eid first = 0;
  };
  virtual Allocated allocate(std::size_t by_port, control::AllocateOperation operation, std::uint8_t count, Eid first) = 0;
  /// EIDs that may be handed out further, and whether they have been given.
  virtual std::uint8_t pool_size() const = 0;
  virtual bool pool_given() const = 0;

  /// False when there is no space for all of them.
  virtual bool update_routes(std::size_t by_port, const std::vector<RoutingEntry>& entries) = 0;
  virtual std::vector<RoutingEntry> routes() const = 0;

  struct Hop {
    Eid next = 0;  ///< null: the way from that port does not lead through here
    std::size_t incoming = kBaselineUnit;
    std::size_t outgoing = kBaselineUnit;
  };
  /// Nothing when the target is not routed.
  virtual std::optional<Hop> hop(std::size_t by_port, Eid target) = 0;
  virtual std::vector<RoutingEntry> resolve_uuid(const control::Uuid& uuid) = 0;
  /// An endpoint on this port wants to be discovered.
  virtual void on_discovery_notify(std::size_t port, const PhysicalAddress& from) = 0;

 protected:
  ~RoutingFunctions() = default;
};

class ControlDevice {
 public:
  explicit ControlDevice(const DeviceOptions& options = {}) : options_(options) {}
  ControlDevice(const ControlDevice&) = delete;
  ControlDevice& operator=(const ControlDevice&) = delete;

  DeviceOptions& options() { return options_; }
  const DeviceOptions& options() const { return options_; }
  void set_routing(RoutingFunctions* routing) { routing_ = routing; }
  RoutingFunctions* routing() const { return routing_; }

  /// Numbers the ports from 0 in the order of adding. A static EID is the port's from the start.
  std::size_t add_port(Endpoint& endpoint);
  const std::vector<Endpoint*>& ports() const { return ports_; }
  /// Gives the port, or with one_eid all of them, this EID.
  void assign(std::size_t port, Eid eid);
  /// The port whose bus owner has assigned the EID; nothing while nobody has.
  std::optional<std::size_t> assigned_by() const { return assigned_by_; }
  /// Somebody assigned it: others are refused from now on.
  void remember_owner(std::size_t port) { assigned_by_ = port; }
  /// As after power-on: no EID but the static one, nobody's.
  void reset();

 private:
  DeviceOptions options_;
  RoutingFunctions* routing_ = nullptr;
  std::vector<Endpoint*> ports_;
  std::optional<std::size_t> assigned_by_;
};

}  // namespace fb::mctp
