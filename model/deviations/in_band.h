// Hooks of the in-band management of a controller: a header of its own, since few look at it.
#pragma once

#include <memory>

#include "model/deviations/deviation.h"

namespace fb::deviations {

/// What the deviations of controllers among the chosen ones do to NVMe-MI Send and Receive; null where there is none.
std::unique_ptr<mi::EndpointHooks> in_band_hooks(const DeviationSet& set);

}  // namespace fb::deviations
