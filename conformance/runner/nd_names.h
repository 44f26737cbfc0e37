// NetworkDirect's status codes by name.
#pragma once

#include <string_view>

#include <ndspi.h>

namespace fb::conformance {

/// Empty for a code that the interface does not have.
std::string_view nd_status_name(HRESULT status);

}  // namespace fb::conformance
