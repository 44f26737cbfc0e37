// Wrappers of memory regions and windows.
#pragma once

#include "networkdirect/provider/extension.h"
#include "networkdirect/verifier/session.h"

namespace fb::networkdirect::verifier {

/// Answers for our own provider's extension too when the inner object does.
class MemoryRegion final : public OverlappedFacade<IFabricbenchMemoryRegion, IND2MemoryRegion> {
 public:
  /// `extended` is `inner` again, or null.
  MemoryRegion(Session& session, std::shared_ptr<AdapterState> adapter, IND2MemoryRegion& inner, IFabricbenchMemoryRegion* extended);
  std::shared_ptr<RegionState> state() const { return state_; }

  HRESULT STDMETHODCALLTYPE Register(const VOID* buffer, SIZE_T bytes, ULONG flags, OVERLAPPED* overlapped) override;
  HRESULT STDMETHODCALLTYPE Deregister(OVERLAPPED* overlapped) override;
  UINT32 STDMETHODCALLTYPE GetLocalToken() override;
  UINT32 STDMETHODCALLTYPE GetRemoteToken() override;
  HRESULT STDMETHODCALLTYPE RegisterAt(const VOID* buffer, SIZE_T bytes, UINT64 at, ULONG flags, OVERLAPPED* overlapped) override;

 private:
  bool answers(REFIID iid) const override {
    return iid == IID_IND2MemoryRegion || iid == IID_IND2Overlapped || (extended_ != nullptr && iid == IID_IFabricbenchMemoryRegion);
  }
  void last_release(Call& call) override;
  template <class Work>
  HRESULT register_memory(Call& call, const VOID* buffer, SIZE_T bytes, ULONG flags, OVERLAPPED* overlapped, Work&& work);
  bool usable();
  void judge_memory(Call& call);

  IFabricbenchMemoryRegion* const extended_;
  std::shared_ptr<RegionState> state_;
  OVERLAPPED* registering_ = nullptr;
};

class MemoryWindow final : public Facade<IND2MemoryWindow> {
 public:
  MemoryWindow(Session& session, std::shared_ptr<AdapterState> adapter, IND2MemoryWindow& inner);
  std::shared_ptr<WindowState> state() const { return state_; }

  UINT32 STDMETHODCALLTYPE GetRemoteToken() override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2MemoryWindow; }
  void last_release(Call&) override { state_->linger(); }
  std::shared_ptr<WindowState> state_;
};

}  // namespace fb::networkdirect::verifier
