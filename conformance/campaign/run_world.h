// One world of a campaign from its beginning to its end.
#pragma once

#include "conformance/campaign/judge.h"
#include "conformance/campaign/recipe.h"
#include "sim/core/trace.h"

namespace fb::conformance {

class Interrupter;

/// The signature of a world whose product could not be used before any fault struck: it cannot be reached, or has no room.
inline constexpr char kProductUnusable[] = "the product cannot be used";

struct WorldOptions {
  /// Hears everything; the outcome is the same with it and without.
  TraceSink* sink = nullptr;
  Interrupter* interrupter = nullptr;
};

/// Throws WaitFailure(interrupted) only; everything else that goes wrong is the outcome. A deviation that there is
/// none of is a UserError.
WorldOutcome run_world(const Recipe& recipe, const WorldOptions& options = {});

}  // namespace fb::conformance
