#include "conformance/runner/bench.h"

namespace fb::conformance {

void Bench::step(std::string_view text) {
  Trace& trace = world_.trace();
  if (!trace.on()) return;
  TraceEvent event;
  event.kind = TraceKind::note;
  event.time = world_.now();
  event.actor = "case";
  event.label = "case.step";
  event.text = text;
  trace.emit(event);
}

}  // namespace fb::conformance
