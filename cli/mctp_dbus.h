// The endpoints of a bus as the system's MCTP daemon publishes them, on a D-Bus daemon of our own: what
// libnvme's scan and OpenBMC's services look for. Both generations of the daemon's names are there:
//
//   xyz.openbmc_project.MCTP       /xyz/openbmc_project/mctp/NET/EID
//   au.com.codeconstruct.MCTP1     /au/com/codeconstruct/mctp1/networks/NET/endpoints/EID
//
// with xyz.openbmc_project.MCTP.Endpoint (EID y, NetworkId i with the older name and u with the newer,
// SupportedMessageTypes ay), xyz.openbmc_project.Common.UUID (UUID s) and, with the newer,
// au.com.codeconstruct.MCTP.Endpoint1 (Connectivity s, SetMTU u).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/world.h"
#include "sim/mctp/network.h"

struct sd_bus;

namespace fb::cli {

class MctpDbus final : private FdHandler {
 public:
  /// Called when somebody sets the unit (the largest packet with its header) of an endpoint.
  using SetMtu = std::function<void(std::uint32_t network, mctp::Eid eid, std::uint32_t mtu)>;

  /// Starts dbus-daemon with its socket in `directory` and publishes what is known of the bus now. Throws
  /// UserError when the daemon is missing or does not start.
  MctpDbus(World& world, mctp::Bus& bus, const std::filesystem::path& directory, SetMtu set_mtu);
  ~MctpDbus();
  MctpDbus(const MctpDbus&) = delete;
  MctpDbus& operator=(const MctpDbus&) = delete;

  /// For DBUS_SYSTEM_BUS_ADDRESS.
  const std::string& address() const { return address_; }

  struct Published {
    std::uint32_t network;
    mctp::Eid eid;
    std::vector<std::uint8_t> types;
    std::string uuid;
    const SetMtu* set_mtu;
  };

 private:
  void start_daemon(const std::filesystem::path& directory);
  void connect();
  void end();
  void publish(const Published& endpoint);
  void on_readable() override;

  World& world_;
  std::string address_;
  pid_t daemon_ = 0;
  sd_bus* connection_ = nullptr;
  SetMtu set_mtu_;
  std::vector<std::unique_ptr<Published>> published_;
};

}  // namespace fb::cli
