// Completion queues and shared receive queues.
#pragma once

#include "networkdirect/consumer/shared.h"

namespace fb::networkdirect::consumer {

class CompletionQueue final : public rdma::CompletionQueue, RequestOwner {
 public:
  CompletionQueue(Shared& shared, Com<IND2CompletionQueue> object) : s_(shared), object_(std::move(object)) {}
  ~CompletionQueue() override;

  std::size_t poll(std::span<rdma::Completion> completions) override;
  void request_notify(rdma::CompletionHandler& handler, bool solicited_only) override;
  void cancel_notify() override;

  IND2CompletionQueue* object() { return object_.get(); }
  bool belongs_to(const Shared& shared) const { return &s_ == &shared; }
  /// Takes what the provider has, to be polled before all that comes later.
  void pull();
  /// A completion of a request that the provider never had.
  void push(const rdma::Completion& completion);
  /// Queue pairs whose requests end here: they hear when the queue is dead.
  void attach(QueuePair& qp) { users_.push_back(&qp); }
  void detach(QueuePair& qp) { std::erase(users_, &qp); }

 private:
  void on_done(unsigned what, HRESULT status) override;
  std::size_t take(std::span<rdma::Completion> completions);
  void arm(ULONG type);
  void notify();

  Shared& s_;
  Com<IND2CompletionQueue> object_;
  rdma::CompletionHandler* handler_ = nullptr;
  bool any_pending_ = false, solicited_pending_ = false;
  // A notification has told of results that may still be there: the provider will not tell of them again.
  bool left_ = false;
  std::deque<rdma::Completion> own_;  // older than all that the provider has
  std::vector<QueuePair*> users_;
  Timer<CompletionQueue, &CompletionQueue::notify> event_{"networkdirect.cq", *this};
};

class SharedQueue final : public rdma::SharedReceiveQueue, RequestOwner {
 public:
  SharedQueue(Shared& shared, Com<IND2SharedReceiveQueue> object, std::uint32_t entries, rdma::SharedReceiveHandler* handler)
      : s_(shared), object_(std::move(object)), entries_(entries), handler_(handler) {}
  ~SharedQueue() override;

  bool post_receive(const rdma::ReceiveRequest& request) override;
  void arm_limit(std::uint32_t entries) override;
  IND2SharedReceiveQueue* object() { return object_.get(); }

 private:
  void on_done(unsigned what, HRESULT status) override;
  void report();

  Shared& s_;
  Com<IND2SharedReceiveQueue> object_;
  std::uint32_t entries_;
  rdma::SharedReceiveHandler* handler_;
  bool armed_ = false;
  bool pending_ = false;
  Timer<SharedQueue, &SharedQueue::report> event_{"networkdirect.srq", *this};
};

/// The buffers of a request as the provider wants them.
class SgeList {
 public:
  static constexpr std::size_t kMost = 64;
  /// `copied`: the provider takes the data in the call.
  SgeList(const Shared& shared, std::span<const rdma::Sge> sges, bool copied = false);
  const ND2_SGE* data() const { return list_; }
  ULONG size() const { return size_; }

 private:
  ND2_SGE list_[kMost + 2];
  ULONG size_;
};

}  // namespace fb::networkdirect::consumer
