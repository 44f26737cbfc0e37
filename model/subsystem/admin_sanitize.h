// Sanitize, and what other commands may do meanwhile.
#pragma once

#include "model/subsystem/controller_part.h"

namespace fb::subsystem {

class SanitizeCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void sanitize(const Command& command);
  bool permitted_while_sanitizing(const Command& command) const;
  bool verifies_sanitized_media() const;
  void verification_read(const Command& command);
  bool sanitize_permits(const Command& command, const Check& running, const Check& failed);
  Bytes log_sanitize() const;

 private:
  friend class Controller;

  bool sanitize_allowed(const Command& command);
};

}  // namespace fb::subsystem
