#include "cli/mctp_bus.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/result.h"
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

MctpBus::MctpBus(World& world, const MctpBusOptions& options)
    : options_(options), bus_(world) {
  if (options.endpoints == 0 || options.endpoints > free_addresses().size()) {
    throw UserError(fmt::format("--endpoints {}: one segment has room for 1 to {}", options.endpoints,
                                free_addresses().size()));
  }
  if (options.controllers == 0 || options.controllers > 127) {
    throw UserError(fmt::format("--controllers {}: a drive has 1 to 127", options.controllers));
  }
  mctp::Network& network = bus_.add_network({.number = options.network, .timing = options.timing});
  const std::size_t segment = network.add_smbus({.timing = options.timing});
  for (unsigned i = 0; i < options.endpoints; ++i) {
    const std::uint8_t address = free_addresses()[i];
    MctpDrive& drive = *drives_.emplace_back(std::make_unique<MctpDrive>(world, options, i + 1, address));
    mctp::EndpointOptions end = drive.options().end;
    end.name = fmt::format("drive {}", i + 1);
    drive.put_on(network.add_endpoint(segment, mctp::smbus_address(address), drive.options().node, end));
  }
  network.enumerate();
}

MctpDrive::MctpDrive(World& world, const MctpBusOptions& options, unsigned number, std::uint8_t address)
    : world_(world),
      endpoint_hooks_(options.deviations.endpoint_hooks()),
      mctp_hooks_(options.deviations.mctp_hooks(deviations::Product::endpoint)) {
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
  options.deviations.alter(options_);
}

void MctpDrive::put_on(mctp::SimpleDevice& node) {
  drive_ = std::make_unique<mi::Drive>(world_, node, std::move(options_),
                                       mi::DriveHooks{nullptr, endpoint_hooks_.get(), mctp_hooks_.get()});
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
}

}  // namespace fb::cli
