// The keep alive timer of an association, and the command.
#pragma once

#include "model/subsystem/controller_part.h"

namespace fb::subsystem {

class KeepAlive : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  std::uint32_t rounded_kato(std::uint32_t kato_ms) const;
  void restart_keep_alive();
  void keep_alive(const Command& command);

 private:
  friend class Controller;

  bool keep_alive_runs() const;
  void on_keep_alive_due();

  Timer<KeepAlive, &KeepAlive::on_keep_alive_due> kato_timer_{"subsystem.keep_alive", *this};
};

}  // namespace fb::subsystem
