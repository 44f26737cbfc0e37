// Completion queues. The device's thread moves completions of the device's queue here, as results; consumers take them
// from any thread. Notifications follow the interface's rule against lost wake-ups: a request is answered at once when a
// result that matches it came after the last notification and has not been taken yet.
#pragma once

#include <array>
#include <vector>

#include "networkdirect/provider/adapter_core.h"
#include "networkdirect/provider/requests.h"

namespace fb::networkdirect {

class CompletionQueueCore final : public Core, rdma::CompletionHandler {
 public:
  static constexpr Kind kKind = Kind::completion_queue;
  /// On the device's thread.
  CompletionQueueCore(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file, ULONG depth);
  ~CompletionQueueCore() override;

  AdapterCore& adapter() { return *adapter_; }
  const std::shared_ptr<AdapterCore>& shared_adapter() const { return adapter_; }
  rdma::CompletionQueue& device_queue() { return *device_queue_; }

  HRESULT notify(ULONG type, OVERLAPPED* overlapped);
  ULONG take(ND2_RESULT* results, ULONG count);
  HRESULT resize(ULONG depth);
  HRESULT cancel();
  void close();
  Requests& requests() { return requests_; }
  ULONG depth() const {
    const std::lock_guard lock(lock_);
    return depth_;
  }

  // On the device's thread.
  /// Adds a result. Whoever adds several calls settle() after the last, so that one notification tells of all.
  /// False: the queue has overrun, and nothing on it can go on.
  bool add(const ND2_RESULT& result, bool solicited);
  void settle();
  /// Takes what the device has. To be called before a queue pair that feeds this goes.
  void drain();

 private:
  void on_completions() override;
  bool wakes(ULONG type) const;
  void fail();

  std::shared_ptr<AdapterCore> adapter_;
  std::unique_ptr<rdma::CompletionQueue> device_queue_;
  mutable std::mutex lock_;
  Requests requests_;
  std::vector<ND2_RESULT> ring_;
  // Results are counted from 0 for ever; the oldest that is still here is taken_, the newest added_ - 1.
  std::uint64_t taken_ = 0;
  std::uint64_t added_ = 0;
  std::uint64_t told_ = 0;       // all below have been part of a notification
  std::uint64_t solicited_ = 0;  // one more than the newest that counts as solicited
  ULONG depth_;                  // as asked for
  bool overrun_ = false;
};

class CompletionQueue final : public Object<IND2CompletionQueue> {
 public:
  CompletionQueue(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file, ULONG depth, USHORT group, KAFFINITY affinity);

  HRESULT STDMETHODCALLTYPE CancelOverlappedRequests() override { return core_->cancel(); }
  HRESULT STDMETHODCALLTYPE GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) override {
    return overlapped_result(core_->adapter(), overlapped, wait);
  }
  HRESULT STDMETHODCALLTYPE GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) override;
  HRESULT STDMETHODCALLTYPE Resize(ULONG depth) override { return core_->resize(depth); }
  HRESULT STDMETHODCALLTYPE Notify(ULONG type, OVERLAPPED* overlapped) override {
    Requests::Call call(core_->requests(), overlapped, core_->adapter());
    return call.answer(core_->notify(type, overlapped));
  }
  ULONG STDMETHODCALLTYPE GetResults(ND2_RESULT results[], ULONG count) override { return core_->take(results, count); }

 private:
  bool answers(REFIID iid) const override {
    return iid == IID_IND2CompletionQueue || (iid == IID_IND2Overlapped && !departs(departure::kOverlappedUnanswered));
  }
  bool departs(std::string_view point) const override { return core_->adapter().departs(point); }
  void released() override;
  std::shared_ptr<CompletionQueueCore> core_;
  USHORT group_;
  KAFFINITY affinity_;
};

}  // namespace fb::networkdirect
