#include "sim/mctp/control_device.h"

namespace fb::mctp {

std::size_t ControlDevice::add_port(Endpoint& endpoint) {
  if (options_.static_eid != kNullEid) endpoint.set_eid(options_.static_eid);
  ports_.push_back(&endpoint);
  return ports_.size() - 1;
}

void ControlDevice::assign(std::size_t port, Eid eid) {
  if (!options_.one_eid) {
    ports_[port]->set_eid(eid);
    return;
  }
  for (Endpoint* one : ports_) one->set_eid(eid);
}

void ControlDevice::reset() {
  assigned_by_.reset();
  for (Endpoint* one : ports_) one->set_eid(options_.static_eid);
}

}  // namespace fb::mctp
