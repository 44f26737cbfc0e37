#include "networkdirect/consumer/port_events.h"

#include "base/result.h"

namespace fb::networkdirect::consumer {

PortEvents::~PortEvents() {
  if (descriptor_ >= 0) world_.real_loop()->unwatch(descriptor_);
}

void PortEvents::follow(win32::PortWatch& watch) {
  RealLoop* const loop = world_.real_loop();
  if (loop == nullptr) return;
  watch_ = &watch;
  descriptor_ = watch.descriptor();
  if (descriptor_ < 0) throw UserError("no descriptor for the completions of a NetworkDirect provider");
  loop->watch(descriptor_, *this);
}

void PortEvents::on_readable() {
  watch_->clear();
  answer();
}

bool PortEvents::poll() {
  if (!watch_->told()) return false;
  on_readable();
  return true;
}

}  // namespace fb::networkdirect::consumer
