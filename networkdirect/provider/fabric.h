// Where a provider's adapters come from: one rdma::Device for each local address.
#pragma once

#include <memory>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "networkdirect/provider/hooks.h"
#include "networkdirect/provider/strand.h"
#include "sim/rdma/device.h"

namespace fb::networkdirect {

/// An open device and the thread it lives on. Destroyed on any thread once nobody uses the device.
class Place {
 public:
  virtual ~Place() = default;
  virtual World& world() = 0;
  virtual rdma::Device& device() = 0;
  virtual Strand& strand() = 0;
  /// Null is honest.
  virtual ProviderHooks* hooks() { return nullptr; }
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  /// The addresses that adapters can be opened on, in a fixed order. From any thread.
  virtual std::vector<IpAddress> addresses() = 0;
  /// The device of one of these addresses; all adapters of an address share it. From any thread.
  virtual Result<std::shared_ptr<Place>> open(const IpAddress& address) = 0;
  /// Of the provider itself, which has no device. Null is honest.
  virtual ProviderHooks* hooks() { return nullptr; }
};

/// A device in a world of the caller's own. All of them must outlive the place and what is opened on it.
std::shared_ptr<Place> make_inline_place(World& world, rdma::Device& device, ProviderHooks* hooks = nullptr);

/// A fabric of places that are open already, one for each address.
std::unique_ptr<Fabric> make_fixed_fabric(std::vector<std::shared_ptr<Place>> places);

}  // namespace fb::networkdirect
