// What the parts of a controller have in common. A part is one group of commands, with what only these need to remember; what
// several parts need stands in Controller, which declares them its friends.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/subsystem/namespace.h"
#include "model/subsystem/queue.h"

namespace fb::subsystem {

class Controller;
class Subsystem;
class ZoneTable;
struct ControllerFeatures;

class ControllerPart {
 public:
  explicit ControllerPart(Controller& controller);
  ControllerPart(const ControllerPart&) = delete;
  ControllerPart& operator=(const ControllerPart&) = delete;

 protected:
  ~ControllerPart() = default;

  bool departs(std::string_view point) const;
  SubsystemHooks& hooks() const;

  Controller& controller_;
  Subsystem& subsystem_;
};

}  // namespace fb::subsystem
