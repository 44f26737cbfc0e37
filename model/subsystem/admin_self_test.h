// Device Self-test and its log page.
#pragma once

#include "model/subsystem/controller_part.h"

namespace fb::subsystem {

class SelfTestCommand : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void self_test(const Command& command);
  Bytes log_self_test() const;

 private:
  friend class Controller;
};

}  // namespace fb::subsystem
