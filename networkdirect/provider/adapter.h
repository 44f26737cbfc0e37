// The adapter, the provider and its class factory.
#pragma once

#include "networkdirect/provider/adapter_core.h"
#include "networkdirect/provider/requests.h"

namespace fb::networkdirect {

class Adapter final : public Object<IND2Adapter> {
 public:
  /// On the device's thread.
  explicit Adapter(std::shared_ptr<AdapterCore> core) : core_(std::move(core)) { live(Kind::adapter, core_); }

  HRESULT STDMETHODCALLTYPE CreateOverlappedFile(HANDLE* file) override;
  HRESULT STDMETHODCALLTYPE Query(ND2_ADAPTER_INFO* info, ULONG* bytes) override;
  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST* list, ULONG* bytes) override;
  HRESULT STDMETHODCALLTYPE CreateCompletionQueue(REFIID iid, HANDLE file, ULONG depth, USHORT group, KAFFINITY affinity,
                                                  VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateMemoryRegion(REFIID iid, HANDLE file, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateMemoryWindow(REFIID iid, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateSharedReceiveQueue(REFIID iid, HANDLE file, ULONG depth, ULONG max_sges, ULONG threshold, USHORT group,
                                                     KAFFINITY affinity, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateQueuePair(REFIID iid, IUnknown* receive_queue, IUnknown* initiator_queue, VOID* context,
                                            ULONG receive_depth, ULONG initiator_depth, ULONG max_receive_sges, ULONG max_initiator_sges,
                                            ULONG inline_bytes, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateQueuePairWithSrq(REFIID iid, IUnknown* receive_queue, IUnknown* initiator_queue, IUnknown* shared,
                                                   VOID* context, ULONG initiator_depth, ULONG max_initiator_sges, ULONG inline_bytes,
                                                   VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateConnector(REFIID iid, HANDLE file, VOID** out) override;
  HRESULT STDMETHODCALLTYPE CreateListener(REFIID iid, HANDLE file, VOID** out) override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2Adapter; }
  bool departs(std::string_view point) const override { return core_->departs(point); }
  void released() override { core_->closed = departs(departure::kAdapterReleaseEnds); }
  /// The status for numbers of queue pairs that are over the limits.
  HRESULT judge(ULONG receive_depth, ULONG initiator_depth, ULONG max_receive_sges, ULONG max_initiator_sges, ULONG inline_bytes) const;
  template <class Make>
  HRESULT create(REFIID iid, VOID** out, Make&& make);
  std::shared_ptr<AdapterCore> core_;
};

}  // namespace fb::networkdirect
