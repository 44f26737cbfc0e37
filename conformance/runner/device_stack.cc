// Devices of embedded products, behind programming interfaces of Windows where that is asked for.
#include "conformance/runner/device_layers.h"
#include "conformance/runner/embedded.h"

namespace fb::conformance {

struct DeviceStack::Layers : DeviceLayers {
  using DeviceLayers::DeviceLayers;
};

DeviceStack::DeviceStack(World& world, net::DatagramHost& host, const DeviceOptions& options, const EmbeddedSetup& setup)
    : soft_(open_device(world, host, options, setup)),
      layers_(std::make_unique<Layers>(world, *soft_, setup.layer)),
      top_(&layers_->top()) {}

DeviceStack::~DeviceStack() = default;

}  // namespace fb::conformance
