// The state of a product was changed by other means than those that are traced: by a case that arranges something inside it, by
// a script. Who concludes from the traffic what that state is forgets it.
#pragma once

#include "sim/core/world.h"

namespace fb::evidence {

/// Label of the note.
inline constexpr std::string_view kBehindTheWireLabel = "behind.the.wire";

inline void behind_the_wire(World& world) {
  if (!world.trace().hears_wire()) return;
  TraceEvent event;
  event.kind = TraceKind::note;
  event.time = world.now();
  event.label = kBehindTheWireLabel;
  event.text = "the product is changed from inside";
  world.trace().emit(event);
}

}  // namespace fb::evidence
