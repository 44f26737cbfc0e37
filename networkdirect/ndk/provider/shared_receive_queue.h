// Shared receive queues. The device's is as deep as was asked for at first and then some; what NdkModifySrq makes room for
// beyond waits in line until the device has used some.
#pragma once

#include "networkdirect/ndk/provider/adapter.h"

namespace fb::ndk::provider {

class ProtectionDomain;

class SharedReceiveQueue final : public NDK_SRQ, public Object, public rdma::SharedReceiveHandler {
 public:
  struct Terms {
    ULONG depth = 0;
    ULONG max_sges = 0;
    ULONG threshold = 0;
    NDK_FN_SRQ_NOTIFICATION_CALLBACK callback = nullptr;
    PVOID context = nullptr;
  };
  SharedReceiveQueue(ProtectionDomain& domain, const Terms& terms);
  rdma::SharedReceiveQueue& device_queue() { return *device_; }
  ProtectionDomain& domain() const { return domain_; }

  /// A receive has been used: its context.
  PVOID finish(std::uint64_t slot);

  static NTSTATUS create(NDK_PD* domain, ULONG depth, ULONG max_sges, ULONG threshold, NDK_FN_SRQ_NOTIFICATION_CALLBACK callback,
                         PVOID callback_context, GROUP_AFFINITY* affinity, NDK_FN_CREATE_COMPLETION completion, PVOID context,
                         NDK_SRQ** place);
  static NTSTATUS modify(NDK_SRQ* srq, ULONG depth, ULONG threshold, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS receive(NDK_SRQ* srq, PVOID context, const NDK_SGE* sges, ULONG count);

 private:
  ~SharedReceiveQueue() override;
  void on_limit(rdma::SharedReceiveQueue& queue) override;
  void begin_close() override;
  void take_down() override;
  NTSTATUS do_modify(ULONG depth, ULONG threshold);
  void arm();
  void feed();
  void notify();

  ProtectionDomain& domain_;
  Terms terms_;
  std::uint32_t capacity_;
  std::unique_ptr<rdma::SharedReceiveQueue> device_;
  struct Slot {
    PVOID context = nullptr;
    ULONG sges = 0;
  };
  std::vector<Slot> slots_;
  std::vector<rdma::Sge> sges_;  // max_sges for each slot
  std::vector<std::uint32_t> free_;
  std::deque<std::uint32_t> line_;  // posted, and not yet the device's
  ULONG outstanding_ = 0;
  bool threshold_armed_ = false;  // and the device not: there have never been so many receives
  Timer<SharedReceiveQueue, &SharedReceiveQueue::notify> notify_event_{"ndk.srq.notify", *this};
};

}  // namespace fb::ndk::provider
