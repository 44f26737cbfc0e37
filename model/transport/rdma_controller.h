// Controller side of NVMe over RDMA, on any rdma::Device: a listener that holds connection requests
// against its bounds, and what its connections share - staging memory, the receive buffers of the
// I/O queues where those of a queue's own would take too much, and contexts of responses on their way.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "model/transport/controller_channel.h"
#include "model/transport/hooks.h"
#include "model/transport/rdma_link.h"
#include "model/transport/rdma_rules.h"
#include "model/transport/registered_pool.h"
#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::transport {

class RdmaControllerChannel;

/// A response on its way, with the data ahead of it.
struct ResponseContext {
  std::uint32_t index = 0;  ///< its place among the fabric's contexts
  RegisteredPool::Buffer* capsule = nullptr;
  RegisteredPool::Buffer* staging = nullptr;
  std::uint32_t capsule_bytes = 0;
  std::uint32_t data_bytes = 0;
  std::uint32_t segments = 0;
  std::array<KeyedSegment, kSegmentsMax> segment;
  bool invalidates = false;
  std::uint32_t invalidated_key = 0;
  bool fence = false;
  bool data_last = false;   ///< departure: the data follows the response
  bool data_again = false;  ///< departure: the data is written once more after the response
  bool split = false;       ///< departure: two SENDs
  ResponseContext* next = nullptr;
};

/// Channels must be gone before the fabric, the fabric before the device.
class RdmaControllerFabric final : public ControllerFabric, rdma::ListenHandler {
 public:
  /// Listens on the device's address and the port of the options. Fails when that is taken.
  static Result<std::unique_ptr<RdmaControllerFabric>> start(World& world, rdma::Device& device, const ControllerFabricOptions& options,
                                                             ControllerAcceptor& acceptor, TransportHooks* hooks = nullptr);
  ~RdmaControllerFabric() override;

  ControllerFabricFacts facts() const override { return rdma_fabric_facts(options_); }
  Endpoint local() const override { return local_; }

  /// Connections that exist, accepted ones included.
  std::uint32_t connections() const { return connections_; }
  /// Memory that the fabric has taken for data and receive buffers, and what of it is in use.
  std::size_t memory_held() const;
  std::size_t staging_used() const { return pool_->bytes_used(); }
  /// Receive buffers of the shared queue that wait for a capsule, and all that there are.
  std::size_t shared_receives_posted() const { return shared_posted_; }
  std::size_t shared_receives() const { return shared_total_; }

 private:
  friend class RdmaControllerChannel;
  struct Grave;

  RdmaControllerFabric(World& world, rdma::Device& device, const ControllerFabricOptions& options, ControllerAcceptor& acceptor,
                       TransportHooks* hooks);
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override;
  void refuse(rdma::ConnectionRequest& request, const QueueRefusal& refusal);
  /// The channel is established: it goes to the acceptor.
  void adopt(RdmaControllerChannel& channel);
  /// The connection ended before anybody had the channel.
  void discard(RdmaControllerChannel& channel);

  std::size_t capsule_bytes() const { return 64 + std::size_t{options_.in_capsule_bytes}; }
  bool shares_receives() const { return shares_; }
  rdma::SharedReceiveQueue* shared_queue();
  void reserve_receives(std::uint32_t entries);
  rdma::Sge shared_buffer(std::uint32_t index) const;
  std::uint8_t* shared_memory(std::uint32_t index) const;
  void post_shared(std::uint32_t index);

  ResponseContext& acquire_context();
  void release_context(ResponseContext& context);

  World& world_;
  rdma::Device& device_;
  ControllerFabricOptions options_;
  ControllerAcceptor& acceptor_;
  TransportHooks* hooks_;
  rdma::DeviceLimits limits_;
  Endpoint local_;
  bool shares_ = false;
  std::uint32_t connections_ = 0;

  std::unique_ptr<rdma::ProtectionDomain> domain_;
  std::unique_ptr<RegisteredPool> pool_;
  std::vector<std::unique_ptr<ResponseContext>> contexts_;
  ResponseContext* free_contexts_ = nullptr;

  std::vector<RegisteredBlock> shared_blocks_;
  std::unique_ptr<rdma::SharedReceiveQueue> shared_queue_;
  std::size_t shared_total_ = 0;
  std::size_t shared_posted_ = 0;
  std::size_t shared_wanted_ = 0;  ///< entries of all I/O queues

  Graveyard graveyard_;
  std::vector<std::unique_ptr<RdmaControllerChannel>> accepting_;
  std::unique_ptr<rdma::Listener> listener_;
};

}  // namespace fb::transport
