// Where the host speaks. The honest host calls these and goes on as the specification says; host
// deviations override them.
#pragma once

#include "base/bytes.h"
#include "model/transport/hooks.h"

namespace fb::host {

class HostHooks : public transport::TransportHooks {
 public:
  /// A command on its way out, before the transport writes its SGL: `sqe` (64 bytes) and `data`
  /// (to the controller) may be changed.
  virtual void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes data) {
    (void)qid;
    (void)sqe;
    (void)data;
  }
};

}  // namespace fb::host
