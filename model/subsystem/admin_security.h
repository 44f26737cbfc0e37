// Security Send and Security Receive.
#pragma once

#include "model/subsystem/controller_part.h"

namespace fb::subsystem {

class SecurityCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void security(const Command& command);
  void security_data(const Command& command);

 private:
  friend class Controller;
};

}  // namespace fb::subsystem
