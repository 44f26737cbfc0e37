// A programming interface of Windows between programs and a device: a provider on the device, and the project's consumer on the
// provider.
#pragma once

#include <memory>

#include "conformance/runner/device_layer.h"
#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::conformance {

class DeviceLayers {
 public:
  /// `below` must outlive the layers. UserError when an interface does not open on it.
  DeviceLayers(World& world, rdma::Device& below, DeviceLayer layer);
  ~DeviceLayers();
  DeviceLayers(const DeviceLayers&) = delete;
  DeviceLayers& operator=(const DeviceLayers&) = delete;

  /// What programs see: without a layer the device itself.
  rdma::Device& top() { return *top_; }

 private:
  struct Interfaces;
  std::unique_ptr<Interfaces> interfaces_;
  rdma::Device* top_;
};

}  // namespace fb::conformance
