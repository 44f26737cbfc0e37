// Capacity Management.
#pragma once

#include "model/subsystem/controller_part.h"

namespace fb::subsystem {

class CapacityCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void capacity_management(const Command& command);

 private:
  friend class Controller;

  void create_capacity(const Command& command, std::uint64_t room, std::uint16_t group);
};

}  // namespace fb::subsystem
