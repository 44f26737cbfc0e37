// Whether options describe a product that can exist. Those who let people choose options ask before they make one.
#pragma once

#include "base/result.h"
#include "model/subsystem/options.h"

namespace fb::subsystem {

/// The Problem names the first field that is wrong, its value and what it may be: "mdts: 99 is outside 0 to 19".
Result<void> check_options(const SubsystemOptions& options);
Result<void> check_options(const NamespaceOptions& options);

}  // namespace fb::subsystem
