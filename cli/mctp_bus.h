// A bus of emulated drives for other programs: networks, segments, endpoints and what they manage, in real
// time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/mi/endpoint.h"
#include "model/subsystem/subsystem.h"
#include "sim/mctp/network.h"

namespace fb::cli {

struct MctpBusOptions {
  std::uint32_t network = 1;
  unsigned endpoints = 2;        ///< from EID 9 on, each a drive of its own
  unsigned controllers = 2;      ///< of each, from 1 on
  std::uint64_t namespace_bytes = 64ull << 20;  ///< NSID 1 of each
  bool timing = false;           ///< SMBus at 100 kHz takes its time
  /// Commands that name controller 0 mean the first: `nvme` sends 0 unless it is told a controller.
  bool controller_zero = true;
};

/// One drive: a subsystem, its management, and where that is on the bus.
struct MctpDrive {
  std::unique_ptr<subsystem::Subsystem> disk;
  std::unique_ptr<mi::Device> device;
  std::unique_ptr<mi::Endpoint> endpoint;
  mctp::SimpleDevice* node = nullptr;
};

class MctpBus {
 public:
  /// Puts it together and enumerates it. Throws UserError for numbers that do not fit on one segment.
  MctpBus(World& world, const MctpBusOptions& options);

  mctp::Bus& bus() { return bus_; }
  const std::vector<MctpDrive>& drives() const { return drives_; }
  std::uint32_t network() const { return options_.network; }

 private:
  void add_drive(mctp::Network& network, std::size_t segment, unsigned number);

  World& world_;
  MctpBusOptions options_;
  mctp::Bus bus_;
  std::vector<MctpDrive> drives_;
};

}  // namespace fb::cli
