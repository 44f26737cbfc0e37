#include "cli/mctp_bus.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/or_throw.h"
#include "wire/mctp/smbus.h"

namespace fb::cli {

namespace {

/// From that of a management endpoint on, in the 8-bit form.
constexpr unsigned kFirstAddress = 0x3A;
/// Where other devices usually are: the owner, VPD, basic management.
constexpr unsigned kTaken[] = {0x40, 0xA6, 0xD4};

std::vector<std::uint8_t> free_addresses() {
  std::vector<std::uint8_t> found;
  for (unsigned at = kFirstAddress; at <= 0xFF; at += 2) {
    const bool taken = std::find(std::begin(kTaken), std::end(kTaken), at) != std::end(kTaken);
    const auto address = static_cast<std::uint8_t>(at);
    if (!taken && mctp::smbus::assignable(address)) found.push_back(address);
  }
  return found;
}

mctp::control::Uuid uuid_of(World& world, unsigned number) {
  mctp::control::Uuid made;
  Rng draws = world.stream("mctp.uuid/" + std::to_string(number));
  for (auto& byte : made) byte = static_cast<std::uint8_t>(draws.next());
  made[6] = static_cast<std::uint8_t>((made[6] & 0x0F) | 0x40);  // version 4
  made[8] = static_cast<std::uint8_t>((made[8] & 0x3F) | 0x80);
  return made;
}

}  // namespace

namespace {

/// EIDs that a network has to give: 9 to 254, since its owner is 8.
constexpr unsigned kEndpointsMax = 246;

void check_numbers(const MctpBusOptions& options) {
  if (options.endpoints == 0 || options.endpoints > kEndpointsMax) {
    throw UserError(fmt::format("--endpoints {}: a network has EIDs for 1 to {}", options.endpoints, kEndpointsMax));
  }
  if (options.controllers == 0 || options.controllers > 127) {
    throw UserError(fmt::format("--controllers {}: a drive has 1 to 127", options.controllers));
  }
  if (options.networks.empty()) throw UserError("--network: the number of a network is missing");
  for (auto at = options.networks.begin(); at != options.networks.end(); ++at) {
    // A program's address with network 0 means the default network.
    if (*at == 0 || *at > 0x7FFFFFFF) {
      throw UserError(fmt::format("--network {}: networks are numbered 1 to {}", *at, 0x7FFFFFFF));
    }
    if (std::find(options.networks.begin(), at, *at) != at) {
      throw UserError(fmt::format("--network {}: it is given twice", *at));
    }
  }
}

}  // namespace

MctpBus::MctpBus(World& world, const MctpBusOptions& options) : bus_(world) {
  check_numbers(options);
  const std::vector<std::uint8_t> places = free_addresses();
  unsigned drive_number = 0;
  for (const std::uint32_t number : options.networks) {
    mctp::NetworkOptions made{.number = number, .timing = options.timing};
    made.owner.uuid = uuid_of(world, 0);
    // One that is alone has no number in the names of what is on it.
    if (options.networks.size() > 1) made.name = fmt::format("network{}", number);
    mctp::Network& network = bus_.add_network(made);
    for (unsigned i = 0; i < options.endpoints; i += static_cast<unsigned>(places.size())) {
      network.add_smbus({.timing = options.timing});
    }
    for (unsigned i = 0; i < options.endpoints; ++i) {
      const std::uint8_t address = places[i % places.size()];
      MctpDrive& drive = *drives_.emplace_back(std::make_unique<MctpDrive>(world, options, ++drive_number, address));
      drive.set_network(number);
      mctp::EndpointOptions end = drive.options().end;
      end.name = fmt::format("drive {}", drive_number);
      drive.put_on(network.add_endpoint(i / places.size(), mctp::smbus_address(address), drive.options().node, end));
      if (options.i2c) adapters_.push_back(&drive.add_adapter(fmt::format("i2c-{}", drive_number), options.timing));
    }
  }
  // One segment after the other, so that EIDs are in the order of the drives.
  for (const auto& network : bus_.networks()) {
    for (std::size_t at = 0; at < network->segments(); ++at) {
      network->bus_owner(at).enumerate(network->segment(at).addresses()).wait();
    }
  }
}

MctpDrive::MctpDrive(World& world, const MctpBusOptions& options, unsigned number, std::uint8_t address) : world_(world) {
  use(options.deviations);
  subsystem::SubsystemOptions& disk = options_.subsystem;
  disk.nqn = fmt::format("nqn.2026-11.org.fabricbench:drive.{}", number);
  disk.serial = fmt::format("FB{:010}", number);
  disk.static_cntlids.clear();
  for (unsigned id = 1; id <= options.controllers; ++id) disk.static_cntlids.push_back(static_cast<std::uint16_t>(id));
  options_.namespaces[0].blocks = options.namespace_bytes / 512;
  options_.device.controller_zero_is_lowest = options.controller_zero;
  for (mi::DevicePort& port : options_.device.ports) port.endpoint_address = address;
  options_.node.uuid = uuid_of(world, number);
  // Nobody enumerates this bus again.
  options_.reset_keeps_eid = true;
  if (options.variant != nullptr) options.variant->vary(options_);
  options_.endpoint.more_processing = options.more_processing;
  if (options.latency) options_.endpoint.latency = *options.latency;
  options.deviations.alter(options_);
}

void MctpDrive::use(const deviations::DeviationSet& deviations) {
  deviations_ = deviations.names();
  endpoint_hooks_.set(deviations.endpoint_hooks());
  mctp_hooks_.set(deviations.mctp_hooks(deviations::Product::endpoint));
}

void MctpDrive::set_deviations(const std::vector<std::string>& names) {
  const auto chosen = or_throw(deviations::DeviationSet::of_names(names, deviations::Product::endpoint));
  for (const deviations::Deviation* one : chosen.chosen()) {
    if (one->product != deviations::Product::endpoint) {
      throw UserError(fmt::format("{} is a deviation of a {}, not of an endpoint", one->name, name_of(one->product)));
    }
    const bool is_on = std::find(deviations_.begin(), deviations_.end(), one->name) != deviations_.end();
    if (!is_on && std::holds_alternative<deviations::AlterDrive>(one->effect)) {
      throw UserError(fmt::format("{} makes another drive of it: start with --deviation {}", one->name, one->name));
    }
  }
  use(chosen);
}

void MctpDrive::set_present(bool present) {
  if (present == present_) return;
  present_ = present;
  static_cast<mctp::SmbusPort&>(drive_->node().binding()).set_present(present);
  if (adapter_ != nullptr) adapter_->set_present(present);
  if (!present) return;
  // What was on its way is lost with the power.
  drive_->endpoint().reset();
  drive_->node().reset();
}

mctp::I2cAdapter& MctpDrive::add_adapter(const std::string& name, bool timing) {
  const std::vector<mi::DevicePort>& ports = device().options().ports;
  const auto two_wire = std::find_if(ports.begin(), ports.end(), [](const auto& port) { return port.type == mi::PortType::two_wire; });
  adapter_ = std::make_unique<mctp::I2cAdapter>(world_, mctp::SmbusOptions{.name = name, .timing = timing});
  if (two_wire != ports.end()) {
    slaves_ =
        std::make_unique<mi::SmbusSlaves>(adapter_->bus(), device(), static_cast<std::uint8_t>(two_wire - ports.begin()), &endpoint_hooks_);
  }
  return *adapter_;
}

void MctpDrive::put_on(mctp::SimpleDevice& node) {
  drive_ = std::make_unique<mi::Drive>(world_, node, std::move(options_), mi::DriveHooks{nullptr, &endpoint_hooks_, &mctp_hooks_});
}

namespace {

std::unique_ptr<mctp::SerialFd> open_line(World& world, const std::string& path, bool timing) {
  const mctp::SerialFdOptions options{.paced = timing, .unit_max = mctp::serial::kUnitMax};
  auto opened = path == "pty" ? mctp::SerialFd::open_pty(world, options) : mctp::SerialFd::open(world, path, options);
  if (!opened) throw UserError("--serial " + opened.error().text);
  return std::move(opened).value();
}

}  // namespace

SerialDrive::SerialDrive(World& world, const MctpBusOptions& options, const std::string& path)
    : line_(open_line(world, path, options.timing)),
      peer_path_(path == "pty" ? line_->peer_path() : path),
      drive_(world, options, 1, 0x3A) {
  mctp::EndpointOptions end = drive_.options().end;
  end.name = "drive";
  node_ = std::make_unique<mctp::SimpleDevice>(world, *line_, drive_.options().node, end);
  drive_.put_on(*node_);
  drive_.set_removable(false);
}

}  // namespace fb::cli
