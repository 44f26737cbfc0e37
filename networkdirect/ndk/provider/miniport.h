// One card: what all adapters that are open on it share.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "networkdirect/ndk/provider/fault_points.h"
#include "networkdirect/ndk/provider/ports.h"
#include "networkdirect/ndk/provider/provider.h"

namespace fb::ndk {

namespace provider {
class Adapter;
}

/// Where the options have lower limits.
void lower(NDK_ADAPTER_INFO& info, const ProviderOptions& options);

class Miniport {
 public:
  Miniport(World& w, Kernel& k, rdma::Device& d, const ProviderOptions& o);
  ~Miniport();

  /// Whether it may depart at all.
  bool hooked() const { return options.hooks != nullptr || !options.points.empty(); }
  bool departs(std::string_view point) const {
    return options.points.contains(point) || (options.hooks != nullptr && options.hooks->departs(point));
  }

  /// How the next call that may pend is answered.
  enum class Way : std::uint8_t { at_once, before_return, later };
  /// `by_card`: naturally it takes the card some time.
  Way next_way(bool by_card);

  /// Runs `what` from an event of its own, after what was asked for earlier with the same delay.
  void later(std::function<void()> what, Duration delay = {});
  std::size_t coming() const { return coming_.size(); }

  World& world;
  Kernel& kernel;
  rdma::Device& device;
  const ProviderOptions options;
  NDK_ADAPTER_INFO info = {};  ///< of the provider's own version
  provider::Ports ports;
  std::vector<std::unique_ptr<provider::Adapter>> adapters;  ///< open, or closed with objects left

 private:
  class Coming;
  std::list<std::unique_ptr<Coming>> coming_;
  Rng random_;
};

}  // namespace fb::ndk
