// What stands between a software device and those who use it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace fb {
class World;
}
namespace fb::rdma {
class Device;
}

namespace fb::conformance {

/// Nothing; a NetworkDirect provider and an rdma::Device on it; the same with NDK; or, against a real product, rdma-core
/// on the bench's own side in place of a software device.
enum class DeviceLayer : std::uint8_t { none, networkdirect, ndk, verbs };

/// Opens a device in a world of real time; throws UserError when it cannot be had.
using DeviceOpener = std::function<std::unique_ptr<rdma::Device>(World&)>;

/// "softroce", "ND:default" or "NDK:default".
Result<DeviceLayer> parse_device_layer(std::string_view text);

}  // namespace fb::conformance
