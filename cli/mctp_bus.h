// A bus of emulated drives for other programs: networks, segments, endpoints and what they manage, in real
// time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/control/told_endpoint.h"
#include "model/deviations/deviation.h"
#include "model/drive/drive.h"
#include "model/drive/smbus_slaves.h"
#include "model/drive/variants.h"
#include "sim/mctp/i2c_adapter.h"
#include "sim/mctp/network.h"
#include "sim/mctp/serial_fd.h"

namespace fb::cli {

struct MctpBusOptions {
  std::vector<std::uint32_t> networks = {1};    ///< their numbers
  unsigned endpoints = 2;                       ///< of each network, from EID 9 on, each a drive of its own
  unsigned controllers = 2;                     ///< of each, from 1 on
  std::uint64_t namespace_bytes = 64ull << 20;  ///< NSID 1 of each
  bool timing = false;                          ///< SMBus at 100 kHz takes its time
  bool i2c = false;                             ///< each drive is on an I2C adapter, too
  /// Commands that name controller 0 mean the first: `nvme` sends 0 unless it is told a controller.
  bool controller_zero = true;
  /// What kind of drive each is; null: the usual one.
  const mi::DriveVariant* variant = nullptr;
  /// How long each command takes; nothing: as the kind of drive has it.
  std::optional<Duration> latency = {};
  /// What is said while it takes that long.
  mi::MoreProcessingOptions more_processing = {};
  /// How every drive misbehaves.
  deviations::DeviationSet deviations = {};
};

/// A drive and the hooks that make it misbehave.
class MctpDrive {
 public:
  /// `number` counts from 1, over all networks; `address` is its own on SMBus, 8-bit form.
  MctpDrive(World& world, const MctpBusOptions& options, unsigned number, std::uint8_t address);

  /// What its node is made with, then the node.
  const mi::DriveOptions& options() const { return options_; }
  void put_on(mctp::SimpleDevice& node);

  /// Where it is; 0 on a line of its own.
  std::uint32_t network() const { return network_; }
  void set_network(std::uint32_t network) { network_ = network; }
  /// Pulled out of its slot of the SMBus, or put in again, which is a power-on.
  void set_present(bool present);
  bool present() const { return present_; }

  /// Puts its basic management command and the memory of its vital product data on an adapter of its own, as behind a
  /// multiplexer: all drives have the same addresses there.
  mctp::I2cAdapter& add_adapter(const std::string& name, bool timing);

  /// False on a line of its own.
  bool removable() const { return removable_; }
  void set_removable(bool removable) { removable_ = removable; }

  /// Deviations that are switched on. UserError for a name that is none of an endpoint's, or that makes the drive another one
  /// from the start.
  const std::vector<std::string>& deviations() const { return deviations_; }
  void set_deviations(const std::vector<std::string>& names);

  subsystem::Subsystem& disk() { return drive_->subsystem(); }
  mctp::SimpleDevice& node() { return drive_->node(); }
  mi::Endpoint& endpoint() { return drive_->endpoint(); }
  mi::Device& device() { return drive_->device(); }
  const std::string& serial() { return drive_->subsystem().options().serial; }

 private:
  World& world_;
  void use(const deviations::DeviationSet& deviations);

  ToldEndpoint endpoint_hooks_;
  ToldMctp mctp_hooks_;
  std::vector<std::string> deviations_;
  mi::DriveOptions options_;
  std::unique_ptr<mi::Drive> drive_;
  std::unique_ptr<mctp::I2cAdapter> adapter_;
  std::unique_ptr<mi::SmbusSlaves> slaves_;
  std::uint32_t network_ = 0;
  bool present_ = true;
  bool removable_ = true;
};

class MctpBus {
 public:
  /// Puts it together and enumerates it: as many segments a network as its drives need. Throws UserError for numbers
  /// that no network has room for.
  MctpBus(World& world, const MctpBusOptions& options);

  mctp::Bus& bus() { return bus_; }
  const std::vector<std::unique_ptr<MctpDrive>>& drives() const { return drives_; }
  /// One for each drive, in their order; none without MctpBusOptions::i2c.
  const std::vector<mctp::I2cAdapter*>& adapters() const { return adapters_; }

 private:
  mctp::Bus bus_;
  std::vector<std::unique_ptr<MctpDrive>> drives_;
  std::vector<mctp::I2cAdapter*> adapters_;
};

/// A drive at the other end of a serial line: of a port, a unix stream socket, or ("pty") a pseudo-terminal that
/// is made for it. Whoever has the line owns the bus.
class SerialDrive {
 public:
  SerialDrive(World& world, const MctpBusOptions& options, const std::string& path);

  /// What the peer opens.
  const std::string& peer_path() const { return peer_path_; }
  MctpDrive& drive() { return drive_; }

 private:
  std::unique_ptr<mctp::SerialFd> line_;
  std::string peer_path_;
  MctpDrive drive_;
  std::unique_ptr<mctp::SimpleDevice> node_;
};

}  // namespace fb::cli
