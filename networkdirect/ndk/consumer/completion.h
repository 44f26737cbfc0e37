// Completion queues and shared receive queues.
#pragma once

#include <array>
#include <deque>

#include "networkdirect/ndk/consumer/memory.h"

namespace fb::ndk::consumer {

class CompletionCore final : public Object {
 public:
  explicit CompletionCore(std::shared_ptr<Shared> shared) : Object(std::move(shared)) {}
  void open(std::uint32_t entries);
  NDK_CQ& cq() { return *cq_; }

  std::size_t poll(std::span<rdma::Completion> completions);
  void request_notify(rdma::CompletionHandler& handler, bool solicited_only);
  void cancel_notify();
  /// A completion of a request that the provider never saw.
  void push(const rdma::Completion& completion);
  /// Queue pairs whose requests end here: they hear when the queue is dead.
  void attach(QueuePairCore& qp) { users_.push_back(&qp); }
  void detach(QueuePairCore& qp) { std::erase(users_, &qp); }

 private:
  static VOID on_event(PVOID context, NTSTATUS status);
  void begin_close() override;
  void arm();
  void notify();
  void wake() {
    if (handler_ != nullptr && !event_.scheduled()) s.world.loop().schedule(event_, s.world.now());
  }
  std::size_t poll_provider(std::span<rdma::Completion> completions);

  NDK_CQ* cq_ = nullptr;
  rdma::CompletionHandler* handler_ = nullptr;
  bool solicited_only_ = false;
  bool armed_ = false;
  bool armed_for_all_ = false;
  bool polling_ = false;
  std::deque<rdma::Completion> own_;
  std::vector<QueuePairCore*> users_;
  Timer<CompletionCore, &CompletionCore::notify> event_{"ndk.cq.notify", *this};
};

class CompletionQueue final : public rdma::CompletionQueue {
 public:
  explicit CompletionQueue(std::shared_ptr<CompletionCore> core) : core_(std::move(core)) {}
  ~CompletionQueue() override { core_->cancel_notify(); }
  std::size_t poll(std::span<rdma::Completion> completions) override { return core_->poll(completions); }
  void request_notify(rdma::CompletionHandler& handler, bool solicited_only) override { core_->request_notify(handler, solicited_only); }
  void cancel_notify() override { core_->cancel_notify(); }
  const std::shared_ptr<CompletionCore>& core() const { return core_; }

 private:
  std::shared_ptr<CompletionCore> core_;
};

/// Names of receives: NDK gives back one word per request, whose lowest bit here tells a receive.
class ReceiveNames {
 public:
  PVOID add(std::uint64_t id);
  std::uint64_t take(PVOID context);
  static bool is_receive(PVOID context) { return (reinterpret_cast<std::uintptr_t>(context) & 1) != 0; }

 private:
  std::vector<std::uint64_t> ids_;
  std::vector<std::size_t> free_;
};

/// A receive that waits for the queue or its memory to come to be.
struct LateReceive {
  std::uint64_t id = 0;
  std::vector<rdma::Sge> sges;
};

/// SGEs as NDK wants them. What no region knows becomes an SGE whose completion will say so.
class SgeList {
 public:
  SgeList(Shared& shared, std::span<const rdma::Sge> sges);
  SgeList(const SgeList&) = delete;
  SgeList& operator=(const SgeList&) = delete;
  const NDK_SGE* data() const { return many_.empty() ? few_.data() : many_.data(); }
  ULONG size() const { return size_; }
  /// A region whose token is still to come; null when all are there.
  RegionCore* missing = nullptr;

 private:
  std::array<NDK_SGE, 2> few_;  // most have one
  std::vector<NDK_SGE> many_;
  ULONG size_;
};

class SharedQueue;

class SharedQueueCore final : public Object {
 public:
  SharedQueueCore(std::shared_ptr<DomainCore> domain, std::shared_ptr<Shared> shared, rdma::SharedReceiveHandler* handler)
      : Object(std::move(shared)), domain_(std::move(domain)), handler_(handler) {}
  void open(std::uint32_t entries);
  NDK_SRQ& srq() { return *srq_; }
  bool post(const rdma::ReceiveRequest& request);
  void arm_limit(std::uint32_t entries);
  /// Its user destroys it: what waits is never posted, since its memory is the user's again.
  void abandon() {
    owner = nullptr;
    late_.clear();
  }

  ReceiveNames names;
  SharedQueue* owner = nullptr;  ///< null when its user has destroyed it

 private:
  static VOID on_event(PVOID context, NTSTATUS status);
  void begin_close() override;
  void go_on();
  void set_limit();
  bool issue(std::uint64_t id, const SgeList& sges);
  void report();

  std::shared_ptr<DomainCore> domain_;
  rdma::SharedReceiveHandler* handler_;
  NDK_SRQ* srq_ = nullptr;
  std::uint32_t entries_ = 0;
  std::uint32_t limit_ = 0;
  std::deque<LateReceive> late_;
  Timer<SharedQueueCore, &SharedQueueCore::report> event_{"ndk.srq.limit", *this};
};

class SharedQueue final : public rdma::SharedReceiveQueue {
 public:
  explicit SharedQueue(std::shared_ptr<SharedQueueCore> core) : core_(std::move(core)) { core_->owner = this; }
  ~SharedQueue() override { core_->abandon(); }
  bool post_receive(const rdma::ReceiveRequest& request) override { return core_->post(request); }
  void arm_limit(std::uint32_t entries) override { core_->arm_limit(entries); }
  const std::shared_ptr<SharedQueueCore>& core() const { return core_; }

 private:
  std::shared_ptr<SharedQueueCore> core_;
};

}  // namespace fb::ndk::consumer
