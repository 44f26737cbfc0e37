// Completion queues and shared receive queues of the soft device: rings of fixed size.
#pragma once

#include <array>
#include <vector>

#include "sim/core/world.h"
#include "sim/rdma/device.h"
#include "sim/rdma/softroce/hooks.h"

namespace fb::softroce {

class SoftCompletionQueue final : public rdma::CompletionQueue {
 public:
  SoftCompletionQueue(World& world, std::uint32_t entries) : world_(world), ring_(std::max<std::uint32_t>(entries, 1)) {}

  std::size_t poll(std::span<rdma::Completion> completions) override;
  void request_notify(rdma::CompletionHandler& handler, bool solicited_only) override;
  void cancel_notify() override;

  /// False when the queue is full: the completion is lost and the queue has overrun.
  bool push(const rdma::Completion& completion);
  std::size_t size() const { return count_; }

 private:
  static bool wakes(const rdma::Completion& completion) {
    return completion.solicited || completion.status != rdma::CompletionStatus::success;
  }
  void notify();

  World& world_;
  std::vector<rdma::Completion> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t waking_ = 0;  // entries that count for solicited_only
  rdma::CompletionHandler* handler_ = nullptr;
  bool solicited_only_ = false;
  Timer<SoftCompletionQueue, &SoftCompletionQueue::notify> event_{"softroce.cq", *this};
};

/// One posted receive, with its SGEs at sges[0 .. sge_count).
struct ReceiveEntry {
  std::uint64_t id = 0;
  std::uint32_t length = 0;
  std::uint32_t sge_count = 0;
};

/// A ring of posted receives with room for `max_sges` each.
class ReceiveRing {
 public:
  ReceiveRing(std::uint32_t entries, std::uint32_t max_sges)
      : max_sges_(max_sges), entries_(entries), sges_(std::size_t{entries} * max_sges) {}
  /// False when full or with too many SGEs.
  bool push(const rdma::ReceiveRequest& request);
  /// Moves the oldest receive out. False when empty.
  bool pop(ReceiveEntry& entry, std::span<rdma::Sge> sges);
  std::uint32_t size() const { return count_; }
  std::uint32_t max_sges() const { return max_sges_; }

 private:
  std::uint32_t max_sges_;
  std::vector<ReceiveEntry> entries_;
  std::vector<rdma::Sge> sges_;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

class SoftSharedReceiveQueue final : public rdma::SharedReceiveQueue {
 public:
  SoftSharedReceiveQueue(World& world, std::uint32_t domain, std::uint32_t entries, std::uint32_t max_sges,
                         rdma::SharedReceiveHandler* handler, SoftHooks* hooks)
      : world_(world), domain_(domain), ring_(entries, max_sges), handler_(handler), hooks_(hooks) {}
  bool post_receive(const rdma::ReceiveRequest& request) override { return ring_.push(request); }
  void arm_limit(std::uint32_t entries) override;

  bool pop(ReceiveEntry& entry, std::span<rdma::Sge> sges);
  std::uint32_t domain() const { return domain_; }
  std::uint32_t max_sges() const { return ring_.max_sges(); }

 private:
  void check_limit();
  void report();

  World& world_;
  std::uint32_t domain_;
  ReceiveRing ring_;
  rdma::SharedReceiveHandler* handler_;
  SoftHooks* hooks_;
  std::uint32_t limit_ = 0;
  Timer<SoftSharedReceiveQueue, &SoftSharedReceiveQueue::report> event_{"softroce.srq", *this};
};

}  // namespace fb::softroce
