// Wrapper of queue pairs. The provider is given numbers of ours as contexts, so that each result tells which request it is of;
// completion queues give the consumer its own contexts back.
#pragma once

#include "networkdirect/verifier/session.h"

namespace fb::networkdirect::verifier {

class QueuePair final : public Facade<IND2QueuePair> {
 public:
  QueuePair(Session& session, std::shared_ptr<AdapterState> adapter, IND2QueuePair& inner, std::shared_ptr<QueuePairState> state);
  std::shared_ptr<QueuePairState> state() const { return state_; }

  HRESULT STDMETHODCALLTYPE Flush() override;
  HRESULT STDMETHODCALLTYPE Send(VOID* context, const ND2_SGE sges[], ULONG count, ULONG flags) override;
  HRESULT STDMETHODCALLTYPE Receive(VOID* context, const ND2_SGE sges[], ULONG count) override;
  HRESULT STDMETHODCALLTYPE Bind(VOID* context, IUnknown* region, IUnknown* window, const VOID* buffer, SIZE_T bytes, ULONG flags) override;
  HRESULT STDMETHODCALLTYPE Invalidate(VOID* context, IUnknown* window, ULONG flags) override;
  HRESULT STDMETHODCALLTYPE Read(VOID* context, const ND2_SGE sges[], ULONG count, UINT64 address, UINT32 token, ULONG flags) override;
  HRESULT STDMETHODCALLTYPE Write(VOID* context, const ND2_SGE sges[], ULONG count, UINT64 address, UINT32 token, ULONG flags) override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2QueuePair; }
  void last_release(Call& call) override;
  bool judge_list(Call& call, const ND2_SGE* sges, ULONG count, ULONG flags);
  /// `give` passes the request on with the context that it is given.
  template <class Give>
  HRESULT post(Call& call, Posted posted, ULONG flags, Give&& give);
  template <class Give>
  HRESULT transfer(Call& call, ND2_REQUEST_TYPE type, VOID* context, const ND2_SGE* sges, ULONG count, ULONG flags, Give&& give);

  std::shared_ptr<QueuePairState> state_;
};

}  // namespace fb::networkdirect::verifier
