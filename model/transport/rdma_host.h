// Host side of NVMe over RDMA, on any rdma::Device: one queue pair a queue, a fast-registration region a
// slot, keys invalidated by the controller or, where it did not, by the host. Where the device has no fast
// registration, or not for that much, memory is registered for each command and the controller is not asked to
// invalidate; nor is it by a host whose device cannot tell of it.
#pragma once

#include <memory>
#include <vector>

#include "model/transport/hooks.h"
#include "model/transport/host_channel.h"
#include "model/transport/rdma_link.h"
#include "model/transport/registered_pool.h"
#include "sim/core/world.h"
#include "sim/rdma/device.h"
#include "wire/fabrics/transports.h"

namespace fb::transport {

/// Channels must be gone before the fabric, the fabric before the device.
class RdmaHostFabric final : public HostFabric {
 public:
  RdmaHostFabric(World& world, rdma::Device& device, TransportHooks* hooks = nullptr);

  std::unique_ptr<HostChannel> make_channel(HostChannelHandler& handler) override;
  std::string_view name() const override { return fabrics::kRdma; }

 private:
  friend class RdmaHostChannel;

  World& world_;
  rdma::Device& device_;
  TransportHooks* hooks_;
  rdma::DeviceLimits limits_;
  std::unique_ptr<rdma::ProtectionDomain> domain_;
  RegisteredPool pool_;
  Graveyard graveyard_;
};

class RdmaHostChannel final : public HostChannel, LinkOwner {
 public:
  RdmaHostChannel(RdmaHostFabric& fabric, HostChannelHandler& handler);
  ~RdmaHostChannel() override;

  void connect(const Endpoint& to, const ChannelOptions& options) override;
  bool send(std::uint16_t slot, MutableBytes sqe, const HostTransfer& transfer) override;
  bool release(std::uint16_t slot, const ResponseFacts& facts) override;
  void disconnect() override;
  bool send_raw(ByteView capsule) override;
  RemoteBuffer expose(std::uint16_t slot, MutableBytes data) override;

 private:
  enum class State : std::uint8_t { idle, connecting, connected, disconnecting, ended };

  struct Slot {
    std::unique_ptr<rdma::MemoryRegion> region;
    std::unique_ptr<rdma::MemoryRegion> whole;  ///< instead, for one command: a registration without a work request
    RegisteredPool::Buffer* capsule = nullptr;  ///< while its SEND is not done, or not posted
    MutableBytes data;
    std::uint32_t capsule_bytes = 0;
    std::uint32_t key = 0;
    std::uint32_t stale_key = 0;  ///< what to_invalidate is about
    std::uint16_t cid = 0;
    std::uint8_t key_byte = 0;
    Direction direction = Direction::none;
    bool outstanding = false;  ///< sent, not answered
    bool raw_sgl = false;      ///< the caller wrote the SGL
    bool registered = false;   ///< the key is, or will be, valid
    bool to_register = false;  ///< waits for room: what is still to be posted
    bool to_send = false;
    bool to_invalidate = false;
    bool waiting = false;    ///< is in waiting_
    bool releasing = false;  ///< on_released() is owed
    bool invalidating = false;
  };

  void on_completion(WorkKind kind, std::uint32_t index, const rdma::Completion&) override;
  void on_established(const rdma::ConnectionFacts& facts) override;
  void on_rejected(std::uint16_t reason, ByteView private_data) override;
  void on_unreachable() override;
  void on_disconnected() override;
  void on_broken(std::string_view why) override;

  bool open_link();
  void post_receive(std::uint32_t index);
  void arrive(std::uint32_t index, const rdma::Completion& completion);
  bool take_invalidation(std::uint16_t cid, std::uint32_t key);
  void put_dptr(MutableBytes sqe, const Slot& slot, bool in_capsule) const;
  void register_slot(Slot& slot, MutableBytes data, Direction direction);
  std::uint64_t address_of(const Slot& slot) const;
  void emit(Slot& slot, ByteView sqe, ByteView data);
  void submit(Slot& slot);
  void progress(Slot& slot, ByteView capsule);
  void post_capsule(ByteView capsule, RegisteredPool::Buffer* buffer, WorkKind kind, std::uint32_t index);
  void drain_waiting();
  void settle(Slot& slot);
  ByteView hooked(ByteView capsule);
  void end(ChannelEnd::Kind kind, std::string text);
  void end(ChannelEnd end);
  void fail_soon();
  void bury();
  std::uint16_t index_of(const Slot& slot) const { return static_cast<std::uint16_t>(&slot - slots_.data()); }

  RdmaHostFabric& fabric_;
  HostChannelHandler& handler_;
  ChannelOptions options_;
  State state_ = State::idle;
  std::unique_ptr<RdmaLink> link_;
  std::vector<Slot> slots_;
  std::vector<std::uint16_t> waiting_;  ///< slots with work that found no room, oldest first
  std::vector<RegisteredPool::Buffer*> raw_;
  RegisteredPool::Buffer* receives_ = nullptr;
  RegisteredPool::Buffer* inline_ = nullptr;  ///< where inline capsules are copied from
  std::size_t inline_max_ = 0;
  Bytes scratch_;
  Timer<RdmaHostChannel, &RdmaHostChannel::fail_soon> fail_soon_{"transport.host.failed", *this};
};

}  // namespace fb::transport
