// A controller reset in the middle of a case, as hosts do it.
#pragma once

#include "conformance/runner/controller_bench.h"

namespace fb::conformance {

/// Behind disable(): the connection of an I/O queue goes as well. The reset has deleted the queue, but there are
/// products that keep it as long as its connection lasts.
inline void let_go(ControllerBench& bench, host::RawQueue& io) {
  const Duration tear_down = Duration::ms(200);
  if (!io.has_ended()) io.disconnect();
  bench.world().run_until([&io] { return io.has_ended(); }, Duration::s(5));
  bench.world().run_for(tear_down);
}

/// Resets the controller and gives it an I/O queue again.
inline host::RawQueue& reset_controller(ControllerBench& bench, RawAssociation& association, host::RawQueue& io) {
  association.disable();
  let_go(bench, io);
  association.enable();
  return association.open_io();
}

}  // namespace fb::conformance
