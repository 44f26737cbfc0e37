#include "model/mi/device.h"

#include <algorithm>
#include <utility>

#include "model/subsystem/subsystem.h"
#include "wire/mi/health.h"

namespace fb::mi {

subsystem::SubsystemOptions drive_options() {
  subsystem::SubsystemOptions made;
  made.controllers = subsystem::ControllerModel::static_controllers;
  made.static_cntlids = {1, 2};
  made.model = "fabricbench emulated drive";
  made.vid = 0xFB0E;
  made.ssvid = 0xFB0E;
  return made;
}

Device::Device(subsystem::Subsystem& subsystem, DeviceOptions options)
    : subsystem_(subsystem), options_(std::move(options)), port_states_(options_.ports.size()) {
  BENCH_ASSERT(!options_.ports.empty(), "a managed device has a port");
  power_on_ports();
  VpdFacts facts = options_.vpd;
  if (facts.serial.empty()) facts.serial = subsystem.options().serial;
  if (facts.capacity_bytes == 0) {
    for (const auto& [nsid, ns] : subsystem.namespaces()) {
      facts.capacity_bytes += ns->blocks() * ns->block_bytes();
    }
  }
  // The first record is of the first PCI Express port; each further one has its own.
  for (std::size_t i = 0, nth = 0; i < options_.ports.size() && !facts.ports.empty(); ++i) {
    if (options_.ports[i].type != PortType::pcie || nth++ < facts.ports.size()) continue;
    facts.ports.push_back({.port = static_cast<std::uint8_t>(i), .identifier = static_cast<std::uint8_t>(i)});
  }
  vpd_ = make_vpd(facts);
  tell_identify();
  subsystem_.add_observer(*this);
}

Device::~Device() {
  subsystem_.management_facts() = {};
  subsystem_.remove_observer(*this);
}

void Device::reset_subsystem() { subsystem_.reset_subsystem(); }

/// What Identify Controller has of it: the kind of device, and the VPD updates that are left.
void Device::tell_identify() {
  constexpr std::uint8_t kStorageDevice = 1u << 0, kEnclosure = 1u << 1;
  constexpr std::uint8_t kCyclesValid = 1u << 7;
  constexpr unsigned kCyclesMax = 127;
  subsystem::ManagementFacts& facts = subsystem_.management_facts();
  facts.nvmsr = options_.enclosure ? kStorageDevice | kEnclosure : kStorageDevice;
  const unsigned left = std::min(options_.vpd_updates_max - vpd_updates_, kCyclesMax);
  facts.vwci = static_cast<std::uint8_t>(kCyclesValid | left);
}

void Device::add_endpoint_at(std::uint8_t port) {
  constexpr std::uint8_t kTwoWire = 1u << 0, kPcie = 1u << 1;
  subsystem::ManagementFacts& facts = subsystem_.management_facts();
  const PortType type = options_.ports[port].type;
  facts.mec = static_cast<std::uint8_t>(facts.mec | (type == PortType::pcie ? kPcie : kTwoWire));
}

void Device::power_on_ports() {
  for (PortState& state : port_states_) state = {.link_active = state.link_active};
}

void Device::set_link(std::uint8_t port, bool active) {
  BENCH_ASSERT(has_port(port), "a link belongs to a port");
  if (std::exchange(port_states_[port].link_active, active) == active) return;
  for (DeviceListener* listener : listeners_) listener->on_link_changed(port);
}

bool Device::link_active(unsigned nth) const {
  for (std::size_t i = 0; i < ports(); ++i) {
    if (options_.ports[i].type != PortType::pcie) continue;
    if (nth-- == 0) return port_states_[i].link_active;
  }
  return false;
}

subsystem::Controller* Device::find_controller(std::uint16_t cntlid) {
  if (subsystem::Controller* const found = subsystem_.find_controller(cntlid)) return found;
  const auto& all = subsystem_.controllers();
  if (cntlid != 0 || !options_.controller_zero_is_lowest || all.empty()) return nullptr;
  return all.begin()->second.get();
}

FunctionKind Device::function_kind(std::uint16_t cntlid) const {
  const auto found = options_.functions.find(cntlid);
  return found == options_.functions.end() ? FunctionKind::plain : found->second;
}

PcieFunction* Device::function(std::uint16_t cntlid) {
  subsystem::Controller* const controller = find_controller(cntlid);
  if (controller == nullptr) return nullptr;
  auto& made = functions_[controller->cntlid()];
  if (made == nullptr) {
    const subsystem::SubsystemOptions& facts = subsystem_.options();
    made = std::make_unique<PcieFunction>(
        PcieIds{.vid = facts.vid, .did = options_.device_id, .ssvid = facts.ssvid, .ssid = options_.subsystem_id});
    made->set_locked(options_.pcie_locked);
  }
  return made.get();
}

std::uint8_t Device::temperature_code() const {
  switch (sensor_) {
    case Sensor::stale:
      return kTemperatureStale;
    case Sensor::failed:
      return kTemperatureFailed;
    default:
      return celsius_code(subsystem_.temperature());
  }
}

std::uint8_t Device::warnings() const {
  std::uint8_t warnings = subsystem_.critical_warning();
  for (const auto& [id, controller] : subsystem_.controllers()) {
    warnings = static_cast<std::uint8_t>(warnings | controller->smart_warning());
  }
  return warnings;
}

bool Device::write_vpd(std::size_t offset, ByteView data) {
  if (vpd_updates_ >= options_.vpd_updates_max) return false;
  BENCH_ASSERT(offset <= vpd_.size() && data.size() <= vpd_.size() - offset, "a write beyond the VPD");
  ++vpd_updates_;
  tell_identify();
  std::copy(data.begin(), data.end(), vpd_.begin() + static_cast<std::ptrdiff_t>(offset));
  return true;
}

void Device::on_change(subsystem::Change what, std::uint16_t cntlid) {
  (void)cntlid;
  if (what == subsystem::Change::controller_list) {
    std::erase_if(functions_, [&](const auto& entry) { return subsystem_.find_controller(entry.first) == nullptr; });
  }
  if (what == subsystem::Change::sanitize) {
    const subsystem::Sanitizer& sanitizer = subsystem_.sanitizer();
    if (sanitizer.running()) sanitized();
    set_sanitize_failed(sanitizer.failure_mode());
  }
  if (what != subsystem::Change::subsystem_reset) return;
  power_on_ports();
  reset_required_ = false;
  functions_.clear();
  const std::vector<DeviceListener*> listeners = listeners_;
  for (DeviceListener* listener : listeners) listener->on_subsystem_reset();
}

}  // namespace fb::mi
