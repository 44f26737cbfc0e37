// Lockdown, and what it prohibits.
#pragma once

#include "model/subsystem/controller_part.h"
#include "wire/nvme/lockdown.h"

namespace fb::subsystem {

class LockdownCommand : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void lockdown(const Command& command);
  bool prohibitable(nvme::LockdownScope scope, std::uint8_t code) const;
  bool lockdown_permits(const Command& command, nvme::LockdownScope scope, std::uint8_t code);

 private:
  friend class Controller;
};

}  // namespace fb::subsystem
