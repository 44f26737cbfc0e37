// Completion queues, each with a completion channel on the loop, and shared receive queues.
#pragma once

#include <deque>

#include "sim/rdma/device.h"
#include "sim/rdma/verbs/shared.h"

namespace fb::verbs {

class CompletionQueue final : public rdma::CompletionQueue, FdHandler {
 public:
  /// Null when the device has no resources for one.
  static std::unique_ptr<CompletionQueue> make(Shared& shared, std::uint32_t entries);
  ~CompletionQueue() override;

  std::size_t poll(std::span<rdma::Completion> completions) override;
  void request_notify(rdma::CompletionHandler& handler, bool solicited_only) override;
  void cancel_notify() override;

  ibv_cq* object() { return object_.get(); }
  /// The driver lost completions.
  void overrun();

 private:
  CompletionQueue(Shared& shared, Owned<ibv_comp_channel> channel) : s_(shared), channel_(std::move(channel)) {}
  /// What the armed queue waits for.
  enum class Armed : std::uint8_t { no, solicited, any };

  void on_readable() override;
  bool pollable() const override { return true; }
  bool poll() override;
  /// Asks for an event, unless one is owed already.
  void arm(Armed wanted);
  /// Takes what the driver has, to be polled before all that comes later. False when there is nothing.
  bool pull();
  std::size_t take(std::span<rdma::Completion> completions);
  void notify();

  Shared& s_;
  Owned<ibv_comp_channel> channel_;
  Owned<ibv_cq> object_;
  rdma::CompletionHandler* handler_ = nullptr;
  bool solicited_only_ = false;
  Armed armed_ = Armed::no;
  std::deque<rdma::Completion> own_;  // older than all that the driver has
  Timer<CompletionQueue, &CompletionQueue::notify> event_{"verbs.cq", *this};
};

class SharedQueue final : public rdma::SharedReceiveQueue {
 public:
  SharedQueue(Shared& shared, Owned<ibv_srq> object, std::uint32_t entries, rdma::SharedReceiveHandler* handler)
      : s_(shared), object_(std::move(object)), entries_(entries), handler_(handler) {
    object_->srq_context = this;
  }
  ~SharedQueue() override { s_.loop.cancel(event_); }

  bool post_receive(const rdma::ReceiveRequest& request) override;
  void arm_limit(std::uint32_t entries) override;
  ibv_srq* object() { return object_.get(); }
  /// The driver says that the limit is reached.
  void limit_reached();

 private:
  void report();

  Shared& s_;
  Owned<ibv_srq> object_;
  std::uint32_t entries_;
  rdma::SharedReceiveHandler* handler_;
  bool armed_ = false;
  Timer<SharedQueue, &SharedQueue::report> event_{"verbs.srq", *this};
};

/// The buffers of a request as the driver wants them.
class SgeList {
 public:
  static constexpr std::size_t kMost = 32;
  explicit SgeList(std::span<const rdma::Sge> sges);
  ibv_sge* data() { return list_; }
  int size() const { return size_; }

 private:
  ibv_sge list_[kMost];
  int size_;
};

}  // namespace fb::verbs
