// Deviations that would have no effect where they are switched on.
#pragma once

#include <string>
#include <vector>

#include "model/deviations/deviation.h"

namespace fb::deviations {

/// Whether a program with these products, over these transports, can show every chosen deviation. The Problem names the first
/// that it cannot.
Result<void> can_be_shown(const DeviationSet& chosen, const std::vector<Product>& products, const std::vector<std::string>& transports);

}  // namespace fb::deviations
