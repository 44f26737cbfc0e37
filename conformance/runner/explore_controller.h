// What a controller declares: asked by a host that behaves, or by hand where the product does not let one work.
#pragma once

#include <optional>
#include <string>

#include "conformance/runner/environment.h"

namespace fb::conformance {

class ControllerBench;

/// Fills `found`. Throws CannotArrange or WaitFailure where the product goes no further; what was found stays.
void explore_controller(World& world, const Environment& environment, Declared& found);

/// Why nothing comes of a connection: nobody listens, or (with `greets`) whoever does says nothing to the first message. Nothing:
/// the product is there, whatever it answers.
std::optional<std::string> why_unanswered(ControllerBench& bench, bool greets);

/// The first NVM subsystem in the log of the product's discovery service, or "".
std::string discover_by_hand(ControllerBench& bench);

}  // namespace fb::conformance
