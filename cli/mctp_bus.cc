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
    : world_(world), options_(options), bus_(world) {
  if (options.endpoints == 0 || options.endpoints > free_addresses().size()) {
    throw UserError(fmt::format("--endpoints {}: one segment has room for 1 to {}", options.endpoints,
                                free_addresses().size()));
  }
  if (options.controllers == 0 || options.controllers > 127) {
    throw UserError(fmt::format("--controllers {}: a drive has 1 to 127", options.controllers));
  }
  mctp::Network& network = bus_.add_network({.number = options.network, .timing = options.timing});
  const std::size_t segment = network.add_smbus({.timing = options.timing});
  for (unsigned i = 0; i < options.endpoints; ++i) add_drive(network, segment, i);
  network.enumerate();
}

void MctpBus::add_drive(mctp::Network& network, std::size_t segment, unsigned number) {
  MctpDrive drive;
  subsystem::SubsystemOptions disk = mi::drive_options();
  disk.nqn = fmt::format("nqn.2026-11.org.fabricbench:drive.{}", number + 1);
  disk.serial = fmt::format("FB{:010}", number + 1);
  disk.static_cntlids.clear();
  for (unsigned id = 1; id <= options_.controllers; ++id) disk.static_cntlids.push_back(static_cast<std::uint16_t>(id));
  drive.disk = std::make_unique<subsystem::Subsystem>(world_, disk);
  const auto added = drive.disk->add_namespace({.blocks = options_.namespace_bytes / 512});
  if (!added) throw UserError("--namespace: " + added.error().text);
  const std::uint8_t address = free_addresses()[number];
  mi::DeviceOptions device;
  device.controller_zero_is_lowest = options_.controller_zero;
  for (mi::DevicePort& port : device.ports) port.endpoint_address = address;
  drive.device = std::make_unique<mi::Device>(*drive.disk, device);
  const mctp::DeviceOptions node{
      .uuid = uuid_of(world_, number),
      .types = {{.type = static_cast<std::uint8_t>(mctp::MessageType::nvme_mi), .versions = {{0xF1, 0xF2, 0xFF, 0}}}}};
  drive.node = &network.add_endpoint(segment, mctp::smbus_address(address), node,
                                     {.name = fmt::format("drive {}", number + 1)});
  drive.endpoint = std::make_unique<mi::Endpoint>(world_, *drive.device, drive.node->endpoint(), mi::EndpointOptions{});
  drives_.push_back(std::move(drive));
}

}  // namespace fb::cli
