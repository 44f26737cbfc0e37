// A managed device: an emulated NVM subsystem, and what only its management knows of: ports, vital product
// data, PCI Express functions, an enclosure. Management endpoints and the in-band tunnel share it.
//
//   Subsystem disk(world, mi::drive_options());
//   mi::Device device(disk, {});
//   mi::Endpoint endpoint(world, device, bus_endpoint.port(), {.port = 1});
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "model/mi/enclosure.h"
#include "model/mi/options.h"
#include "model/mi/pcie_function.h"
#include "model/subsystem/observer.h"

namespace fb::subsystem {
class Controller;
class Subsystem;
}  // namespace fb::subsystem

namespace fb::mi {

/// The composite temperature sensor.
enum class Sensor : std::uint8_t { good, stale, failed };

/// Told of what happens to the device beyond what the subsystem tells; endpoints are.
class DeviceListener {
 public:
  virtual void on_subsystem_reset() = 0;
  virtual void on_link_changed(std::uint8_t port) { (void)port; }

 protected:
  ~DeviceListener() = default;
};

class Device final : private subsystem::SubsystemObserver {
 public:
  /// `subsystem` must outlive the device.
  Device(subsystem::Subsystem& subsystem, DeviceOptions options);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  subsystem::Subsystem& subsystem() { return subsystem_; }
  const subsystem::Subsystem& subsystem() const { return subsystem_; }
  const DeviceOptions& options() const { return options_; }
  bool has(Revision revision) const { return options_.revision >= revision; }

  // ---- ports ----

  struct PortState {
    std::uint8_t frequency = kFrequency100k;
    std::uint16_t unit = 64;
    bool link_active = true;  ///< PCI Express
  };
  std::size_t ports() const { return options_.ports.size(); }
  bool has_port(std::uint8_t port) const { return port < ports(); }
  const DevicePort& port(std::uint8_t port) const { return options_.ports[port]; }
  PortState& port_state(std::uint8_t port) { return port_states_[port]; }
  void set_link(std::uint8_t port, bool active);
  /// The link of the nth PCI Express port is up; false where there is none.
  bool link_active(unsigned nth) const;

  // ---- controllers ----

  /// There is an endpoint at that port: Identify Controller says so.
  void add_endpoint_at(std::uint8_t port);
  /// By identifier, with controller 0 taken as the options say; nullptr when unknown.
  subsystem::Controller* find_controller(std::uint16_t cntlid);
  FunctionKind function_kind(std::uint16_t cntlid) const;
  PcieFunction* function(std::uint16_t cntlid);

  // ---- health ----

  Sensor sensor() const { return sensor_; }
  void set_sensor(Sensor sensor) { sensor_ = sensor; }
  bool functional() const { return functional_; }
  void set_functional(bool functional) { functional_ = functional; }
  bool reset_required() const { return reset_required_; }
  void set_reset_required(bool required) { reset_required_ = required; }
  bool sanitize_failed() const { return sanitize_failed_; }
  void set_sanitize_failed(bool failed) { sanitize_failed_ = failed; }
  /// Buffers of the endpoints were cleared by a sanitize operation: they say so until written again.
  void sanitized() { ++sanitize_count_; }
  unsigned sanitize_count() const { return sanitize_count_; }
  /// CTEMP as the subsystem poll gives it.
  std::uint8_t temperature_code() const;
  /// SMART warnings of all controllers together, 1 is bad.
  std::uint8_t warnings() const;

  // ---- vital product data ----

  const Bytes& vpd() const { return vpd_; }
  /// False when the endurance is used up.
  bool write_vpd(std::size_t offset, ByteView data);
  unsigned vpd_updates() const { return vpd_updates_; }
  void set_vpd_locked(bool locked) { vpd_locked_ = locked; }
  bool vpd_locked() const { return vpd_locked_ || !options_.vpd_writable; }

  Enclosure* enclosure() { return options_.enclosure ? &enclosure_ : nullptr; }

  /// The whole NVM subsystem, and with it every endpoint.
  void reset_subsystem();
  void add_listener(DeviceListener& listener) { listeners_.push_back(&listener); }
  void remove_listener(DeviceListener& listener) { std::erase(listeners_, &listener); }

 private:
  void on_change(subsystem::Change what, std::uint16_t cntlid) override;
  void power_on_ports();
  void tell_identify();

  subsystem::Subsystem& subsystem_;
  DeviceOptions options_;
  std::vector<PortState> port_states_;
  std::map<std::uint16_t, std::unique_ptr<PcieFunction>> functions_;
  Sensor sensor_ = Sensor::good;
  bool functional_ = true;
  bool reset_required_ = false;
  bool sanitize_failed_ = false;
  unsigned sanitize_count_ = 0;
  Bytes vpd_;
  unsigned vpd_updates_ = 0;
  bool vpd_locked_ = false;
  Enclosure enclosure_;
  std::vector<DeviceListener*> listeners_;
};

}  // namespace fb::mi
