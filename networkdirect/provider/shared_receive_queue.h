// Shared receive queues: receives for many queue pairs, which take them in order and finish them in any.
#pragma once

#include <vector>

#include "networkdirect/provider/adapter_core.h"
#include "networkdirect/provider/requests.h"

namespace fb::networkdirect {

class SharedReceiveQueueCore final : public Core, Doorbell {
 public:
  static constexpr Kind kKind = Kind::shared_receive_queue;
  /// On the device's thread.
  SharedReceiveQueueCore(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file, ULONG depth, ULONG max_sges, ULONG threshold);
  ~SharedReceiveQueueCore() override;

  AdapterCore& adapter() { return *adapter_; }
  const std::shared_ptr<AdapterCore>& shared_adapter() const { return adapter_; }
  rdma::SharedReceiveQueue& device_queue() { return *device_queue_; }

  HRESULT receive(void* context, const ND2_SGE* sges, ULONG count);
  HRESULT modify(ULONG depth, ULONG threshold);
  HRESULT notify(OVERLAPPED* overlapped);
  HRESULT cancel();
  Requests& requests() { return requests_; }
  /// A receive was taken and is done: the context that it was posted with. On the device's thread.
  void* finish(std::uint64_t id);

 private:
  struct Slot {
    void* context = nullptr;
    ULONG sges = 0;
  };
  void answer() override;
  void judge(bool eager = false);
  rdma::Sge* sges_of(std::size_t slot) { return &sges_[slot * max_sges_]; }

  std::shared_ptr<AdapterCore> adapter_;
  std::unique_ptr<rdma::SharedReceiveQueue> device_queue_;
  Requests requests_;
  mutable std::mutex lock_;
  ULONG depth_, max_sges_, threshold_;
  std::vector<Slot> slots_;
  std::vector<rdma::Sge> sges_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> posted_;  // for the device, in order
  ULONG outstanding_ = 0;
};

class SharedReceiveQueue final : public Object<IND2SharedReceiveQueue> {
 public:
  SharedReceiveQueue(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file, ULONG depth, ULONG max_sges, ULONG threshold,
                     USHORT group, KAFFINITY affinity);

  HRESULT STDMETHODCALLTYPE CancelOverlappedRequests() override;
  HRESULT STDMETHODCALLTYPE GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) override {
    return overlapped_result(core_->adapter(), overlapped, wait);
  }
  HRESULT STDMETHODCALLTYPE GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) override;
  HRESULT STDMETHODCALLTYPE Modify(ULONG depth, ULONG threshold) override { return core_->modify(depth, threshold); }
  HRESULT STDMETHODCALLTYPE Notify(OVERLAPPED* overlapped) override {
    Requests::Call call(core_->requests(), overlapped, core_->adapter());
    return call.answer(core_->notify(overlapped));
  }
  HRESULT STDMETHODCALLTYPE Receive(VOID* context, const ND2_SGE sges[], ULONG count) override {
    return core_->receive(context, sges, count);
  }

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2SharedReceiveQueue || iid == IID_IND2Overlapped; }
  void released() override;
  std::shared_ptr<SharedReceiveQueueCore> core_;
  USHORT group_;
  KAFFINITY affinity_;
};

}  // namespace fb::networkdirect
