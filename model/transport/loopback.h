// A fabric inside one world without RDMA: capsules and data move by copying, in events without delay.
// It keeps the rules of NVMe/RDMA (private data, capsule sizes, keyed SGLs with keys that are really
// checked and invalidated), so that a host and a subsystem behave on it as on RDMA, only faster.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/transport/controller_channel.h"
#include "model/transport/hooks.h"
#include "model/transport/host_channel.h"
#include "sim/core/world.h"
#include "wire/fabrics/transports.h"

namespace fb::transport {

class LoopbackFabric final : public HostFabric {
 public:
  /// `host_hooks` are those of the host side. Channels and listeners must be gone before the fabric.
  explicit LoopbackFabric(World& world, ControllerFabricOptions options = {}, TransportHooks* host_hooks = nullptr);
  ~LoopbackFabric() override;

  /// Listens at an address that need not exist anywhere else. Fails when it is taken.
  Result<std::unique_ptr<ControllerFabric>> listen(const Endpoint& at, ControllerAcceptor& acceptor, TransportHooks* hooks = nullptr);
  /// The same with bounds of its own. A port of 0 in `at` takes that of the options.
  Result<std::unique_ptr<ControllerFabric>> listen(const Endpoint& at, ControllerAcceptor& acceptor, const ControllerFabricOptions& options,
                                                   TransportHooks* hooks = nullptr);

  std::unique_ptr<HostChannel> make_channel(HostChannelHandler& handler) override;
  std::string_view name() const override { return fabrics::kRdma; }

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace fb::transport
