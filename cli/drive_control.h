// What running drives can be told: the methods of `mctp serve --control`.
#pragma once

#include <string>
#include <vector>

#include "cli/control/rpc.h"
#include "cli/mctp_bus.h"

namespace fb::cli {

class DriveControl {
 public:
  /// All drives outlive it.
  DriveControl(World& world, std::vector<MctpDrive*> drives);

  const Rpc& rpc() const { return rpc_; }

 private:
  using Json = nlohmann::ordered_json;

  void add_drive_methods();
  void add_health_methods();
  void add_pace_methods();
  void add_deviation_methods();

  /// The drive that a call names by its number, EID or serial number; the only one where none is named.
  MctpDrive& drive_of(const RpcArguments& arguments) const;
  Json drive_json(std::size_t index) const;
  Json statistics() const;

  World& world_;
  Instant started_ = world_.now();
  std::vector<MctpDrive*> drives_;
  Rpc rpc_{"fabricbench mctp"};
};

}  // namespace fb::cli
