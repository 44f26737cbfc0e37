// Wrappers of providers and adapters: where all other wrappers are made.
#pragma once

#include "networkdirect/verifier/session.h"

namespace fb::networkdirect::verifier {

class Provider final : public Facade<IND2Provider> {
 public:
  Provider(Session& session, IND2Provider& inner) : Facade(session, Kind::provider, nullptr, inner) {}

  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST* list, ULONG* bytes) override;
  HRESULT STDMETHODCALLTYPE ResolveAddress(const struct sockaddr* address, ULONG length, UINT64* id) override;
  HRESULT STDMETHODCALLTYPE OpenAdapter(REFIID iid, UINT64 id, VOID** out) override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2Provider; }
};

class Adapter final : public Facade<IND2Adapter> {
 public:
  Adapter(Session& session, std::shared_ptr<AdapterState> state, IND2Adapter& inner)
      : Facade(session, Kind::adapter, std::move(state), inner) {}

  HRESULT STDMETHODCALLTYPE CreateOverlappedFile(HANDLE* file) override;
  HRESULT STDMETHODCALLTYPE Query(ND2_ADAPTER_INFO* info, ULONG* bytes) override;
  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST* list, ULONG* bytes) override;
  HRESULT STDMETHODCALLTYPE CreateCompletionQueue(REFIID iid, HANDLE file, ULONG depth, USHORT group, KAFFINITY affinity,
                                                  VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateMemoryRegion(REFIID iid, HANDLE file, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateMemoryWindow(REFIID iid, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateSharedReceiveQueue(REFIID iid, HANDLE file, ULONG depth, ULONG sges, ULONG threshold, USHORT group,
                                                     KAFFINITY affinity, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateQueuePair(REFIID iid, IUnknown* receive_queue, IUnknown* initiator_queue, VOID* context,
                                            ULONG receive_depth, ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges,
                                            ULONG inline_bytes, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateQueuePairWithSrq(REFIID iid, IUnknown* receive_queue, IUnknown* initiator_queue, IUnknown* shared,
                                                   VOID* context, ULONG initiator_depth, ULONG initiator_sges, ULONG inline_bytes,
                                                   VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateConnector(REFIID iid, HANDLE file, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateListener(REFIID iid, HANDLE file, VOID** out) override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2Adapter; }
  void last_release(Call& call) override;
  void judge_file(Call& call, HANDLE file);
  template <class Ask>
  HRESULT create_queue_pair(Call& call, const std::shared_ptr<QueuePairState>& state, REFIID iid, VOID** out, Ask&& ask);
};

}  // namespace fb::networkdirect::verifier
