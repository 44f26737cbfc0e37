// What stands between a software device and those who use it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace fb::conformance {

/// Nothing; a NetworkDirect provider and an rdma::Device on it; or the same with NDK.
enum class DeviceLayer : std::uint8_t { none, networkdirect, ndk };

/// "softroce", "ND:default" or "NDK:default".
Result<DeviceLayer> parse_device_layer(std::string_view text);

}  // namespace fb::conformance
