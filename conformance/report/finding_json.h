// A finding of the monitors as programs read it: in `check --json`, and in the results of a proxy.
#pragma once

#include <nlohmann/json.hpp>

#include "conformance/monitors/finding.h"

namespace fb::conformance {

nlohmann::ordered_json finding_json(const monitors::Finding& found);

}  // namespace fb::conformance
