// Wrappers of completion queues and shared receive queues.
#pragma once

#include "networkdirect/verifier/session.h"

namespace fb::networkdirect::verifier {

class CompletionQueue final : public OverlappedFacade<IND2CompletionQueue> {
 public:
  CompletionQueue(Session& session, std::shared_ptr<AdapterState> adapter, IND2CompletionQueue& inner, ULONG depth);
  std::shared_ptr<QueueState> state() const { return state_; }

  HRESULT STDMETHODCALLTYPE GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) override;
  HRESULT STDMETHODCALLTYPE Resize(ULONG depth) override;
  HRESULT STDMETHODCALLTYPE Notify(ULONG type, OVERLAPPED* overlapped) override;
  ULONG STDMETHODCALLTYPE GetResults(ND2_RESULT results[], ULONG count) override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2CompletionQueue || iid == IID_IND2Overlapped; }
  void last_release(Call& call) override;
  void take(ND2_RESULT& result);
  std::shared_ptr<QueueState> state_;
};

class SharedReceiveQueue final : public OverlappedFacade<IND2SharedReceiveQueue> {
 public:
  SharedReceiveQueue(Session& session, std::shared_ptr<AdapterState> adapter, IND2SharedReceiveQueue& inner, ULONG depth, ULONG sges);
  std::shared_ptr<ReceiveState> state() const { return state_; }

  HRESULT STDMETHODCALLTYPE GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) override;
  HRESULT STDMETHODCALLTYPE Modify(ULONG depth, ULONG threshold) override;
  HRESULT STDMETHODCALLTYPE Notify(OVERLAPPED* overlapped) override;
  HRESULT STDMETHODCALLTYPE Receive(VOID* context, const ND2_SGE sges[], ULONG count) override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2SharedReceiveQueue || iid == IID_IND2Overlapped; }
  void last_release(Call& call) override;
  std::shared_ptr<ReceiveState> state_;
};

}  // namespace fb::networkdirect::verifier
