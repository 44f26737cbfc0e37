// The admin commands that the emulated controller knows, one row each: a new command begins here.
#pragma once

#include <cstdint>

#include "wire/nvme/opcodes.h"

namespace fb::subsystem {

class Controller;
struct Command;

/// What the Commands Supported and Effects log says of an admin command beside CSUPP (Base 2.1, 5.1.12.1.6).
struct AdminEffects {
  bool content = false;     ///< LBCC: it changes blocks
  bool capability = false;  ///< NCC: it changes what namespaces are able to do
  bool inventory = false;   ///< NIC: it changes which namespaces there are
  bool controller = false;  ///< CCC: it changes what the controller is able to do
  bool alone = false;       ///< CSE: no other command for the namespace meanwhile
};

struct AdminCommand {
  nvme::AdminOpcode opcode;
  bool (*supported)(const Controller& controller);
  void (*execute)(Controller& controller, const Command& command);
  /// The data that the host sends with it has arrived. Null: it sends none.
  void (*on_data)(Controller& controller, const Command& command) = nullptr;
  /// It is executed during a sanitize operation too (Base 2.1, 8.1.24). Get Log Page depends on the page.
  bool while_sanitizing = false;
  AdminEffects effects = {};

  /// Null: no such command.
  static const AdminCommand* find(std::uint8_t opcode);
};

}  // namespace fb::subsystem
