// What the two sides of NVMe/RDMA have in common: one queue pair with its completion queue, polled in
// batches, with an exact account of its send queue; and the place where links are put to rest.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/transport/registered_pool.h"
#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::transport {

/// What a work request was for; travels in its id.
enum class WorkKind : std::uint8_t { none, receive, send, read, local_invalidate, raw };

class LinkOwner {
 public:
  /// A completion, successful or not. `index` is what post() was given.
  virtual void on_completion(WorkKind kind, std::uint32_t index, const rdma::Completion& completion) = 0;
  virtual void on_established(const rdma::ConnectionFacts& facts) = 0;
  virtual void on_rejected(std::uint16_t reason, ByteView private_data) = 0;
  virtual void on_unreachable() = 0;
  virtual void on_disconnected() = 0;
  /// The queue pair failed, or break_off() was called.
  virtual void on_broken(std::string_view why) = 0;

 protected:
  ~LinkOwner() = default;
};

struct LinkOptions {
  std::uint32_t send_entries = 64;
  std::uint32_t receive_entries = 32;
  rdma::SharedReceiveQueue* shared = nullptr;
};

/// Owners may destroy themselves in any callback: they orphan the link then and bury it.
class RdmaLink final : rdma::CompletionHandler, rdma::ConnectionHandler {
 public:
  /// Nothing when the device has no resources left.
  static std::unique_ptr<RdmaLink> make(World& world, rdma::Device& device, rdma::ProtectionDomain& domain, const LinkOptions& options,
                                        LinkOwner& owner);
  ~RdmaLink();

  rdma::QueuePair& qp() { return *qp_; }
  /// No more callbacks.
  void orphan() { owner_ = nullptr; }
  /// Completions are held back until this is called.
  void start();

  /// Work requests that the send queue takes without waiting.
  std::uint32_t room() const { return capacity_ - (posted_ - retired_); }
  /// Posts; there must be room. Every sixteenth request at least is signaled, so that the account
  /// goes on.
  void post(rdma::SendRequest& request, WorkKind kind, std::uint32_t index);
  static std::uint64_t receive_id(std::uint32_t index);

  /// Fails the queue pair; the owner hears of it from the loop.
  void break_off(std::string_view why);
  /// Takes the queue pair down and tells the peer. Nothing of ours is touched by it any more.
  void take_down();

  /// Takes what is still in the completion queue; gives the indices of receives.
  template <class Receive>
  void drain(Receive&& on_receive) {
    rdma::Completion completion;
    while (cq_->poll({&completion, 1}) == 1) {
      const auto kind = static_cast<WorkKind>(completion.id >> 60);
      if (kind == WorkKind::receive) on_receive(static_cast<std::uint32_t>(completion.id >> 32) & kIndexMask);
    }
  }

 private:
  static constexpr std::uint32_t kIndexMask = 0x0FFFFFFF;

  explicit RdmaLink(World& world, LinkOwner& owner) : world_(world), owner_(&owner) {}
  void on_completions() override;
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts& facts) override;
  void on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView private_data) override;
  void on_unreachable(rdma::QueuePair&) override;
  void on_disconnected(rdma::QueuePair&) override;
  void on_queue_error(rdma::QueuePair&) override;
  void on_broken();

  World& world_;
  LinkOwner* owner_;
  std::unique_ptr<rdma::CompletionQueue> cq_;
  std::unique_ptr<rdma::QueuePair> qp_;
  std::uint32_t capacity_ = 0;
  std::uint32_t posted_ = 0;
  std::uint32_t retired_ = 0;
  std::uint32_t signaled_ = 0;  ///< value of posted_ at the last signaled request
  std::string why_broken_;
  Timer<RdmaLink, &RdmaLink::on_broken> broken_{"transport.link.broken", *this};
};

/// A block of memory with its registration.
struct RegisteredBlock {
  std::unique_ptr<std::uint8_t[]> memory;
  std::unique_ptr<rdma::MemoryRegion> region;
};
RegisteredBlock make_block(rdma::ProtectionDomain& domain, std::size_t bytes);

/// A link that nobody owns any more, with all that its work requests may still refer to. The queue
/// pair goes first.
class BuriedLink {
 public:
  BuriedLink() = default;
  virtual ~BuriedLink();

  RegisteredPool* pool = nullptr;
  std::vector<RegisteredPool::Buffer*> buffers;
  std::vector<std::unique_ptr<rdma::MemoryRegion>> regions;
  RegisteredBlock block;
  std::unique_ptr<RdmaLink> link;
};

/// Links are destroyed from an event of their own, never from inside one of their callbacks.
class Graveyard {
 public:
  explicit Graveyard(World& world) : world_(world) {}
  void bury(std::unique_ptr<BuriedLink> link);

 private:
  void on_timer() { buried_.clear(); }

  World& world_;
  std::vector<std::unique_ptr<BuriedLink>> buried_;
  Timer<Graveyard, &Graveyard::on_timer> timer_{"transport.link.bury", *this};
};

}  // namespace fb::transport
