// The packets of a completion port as events of a world.
#pragma once

#include <functional>

#include "sim/core/world.h"
#include "networkdirect/win32/port_watch.h"

namespace fb::networkdirect::consumer {

/// A virtual world hears of requests that end on its own thread; a real one of all.
class PortEvents final : FdHandler {
 public:
  /// `answer` is called from the loop when there may be packets to take from the watch, which was made with `heard` and
  /// this as its context.
  PortEvents(World& world, std::function<void()> answer) : world_(world), answer_(std::move(answer)) {}
  ~PortEvents();
  /// Throws UserError when the system has no descriptor left.
  void follow(win32::PortWatch& watch);
  static void heard(void* self) { static_cast<PortEvents*>(self)->ring(); }
  /// Has the answer called soon.
  void ring() {
    if (!event_.scheduled()) world_.loop().schedule(event_, world_.now());
  }

 private:
  void answer() { answer_(); }
  void on_readable() override;
  bool pollable() const override { return true; }
  bool poll() override;

  World& world_;
  std::function<void()> answer_;
  win32::PortWatch* watch_ = nullptr;
  int descriptor_ = -1;
  Timer<PortEvents, &PortEvents::answer> event_{"networkdirect.port", *this};
};

}  // namespace fb::networkdirect::consumer
