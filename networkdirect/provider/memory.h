// Memory regions and windows. Local tokens are the device's keys; remote tokens are keys in network order, as the interface's
// documentation asks: what a program puts on the wire for a peer of another kind is ntohl(token).
#pragma once

#include "networkdirect/provider/adapter_core.h"
#include "networkdirect/provider/extension.h"
#include "networkdirect/provider/requests.h"

namespace fb::networkdirect {

class MemoryRegionCore final : public Core {
 public:
  static constexpr Kind kKind = Kind::memory_region;
  MemoryRegionCore(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file)
      : adapter_(std::move(adapter)), requests(std::move(file)) {}

  AdapterCore& adapter() { return *adapter_; }
  const std::shared_ptr<AdapterCore>& shared_adapter() const { return adapter_; }
  HRESULT register_memory(const void* buffer, SIZE_T bytes, std::optional<UINT64> at, ULONG flags, OVERLAPPED* overlapped);
  HRESULT deregister(OVERLAPPED* overlapped);
  /// Whose request the last one was.
  bool asked_last(const OVERLAPPED* overlapped) const { return last_ == overlapped; }
  bool covers(const void* buffer, SIZE_T bytes) const;
  /// What the peer calls the byte at `buffer`.
  UINT64 remote_address(const void* buffer) const {
    return remote_base_ + static_cast<UINT64>(static_cast<const std::uint8_t*>(buffer) - memory_.data());
  }
  bool allows_local_write() const { return (flags_ & ND_MR_FLAG_ALLOW_LOCAL_WRITE) != 0; }

  bool allows_remote() const { return (flags_ & (ND_MR_FLAG_ALLOW_REMOTE_READ | ND_MR_FLAG_ALLOW_REMOTE_WRITE)) > 1; }

 private:
  HRESULT registered(OVERLAPPED& overlapped);
  HRESULT refuse_empty(const void* buffer, OVERLAPPED* overlapped);

  std::shared_ptr<AdapterCore> adapter_;
  std::atomic<const OVERLAPPED*> last_{nullptr};
  bool used_ = false;
  MutableBytes memory_;
  ULONG flags_ = 0;
  UINT64 remote_base_ = 0;
  // The same memory under two names: by pointer for ourselves, by the address that peers use for them.
  std::unique_ptr<rdma::MemoryRegion> local_, remote_;

 public:
  Requests requests;
  unsigned windows = 0;  ///< bound in this region; on the device's thread
  std::atomic<UINT32> local_token{0}, remote_token{0};
};

class MemoryWindowCore final : public Core {
 public:
  static constexpr Kind kKind = Kind::memory_window;
  explicit MemoryWindowCore(std::shared_ptr<AdapterCore> adapter);
  ~MemoryWindowCore() override { unbind(); }

  AdapterCore& adapter() { return *adapter_; }
  rdma::MemoryRegion& region() { return *region_; }
  /// From any thread, before the Bind is posted: the key that it will have.
  std::uint8_t next_key_byte();
  /// The token is that of the newest key.
  void tell_token() { token = htonl(index_ | key_byte_); }
  // On the device's thread, as the requests reach the device.
  void bind_to(std::shared_ptr<MemoryRegionCore> region);
  void unbind();
  bool bound() const { return bound_to_ != nullptr; }
  /// The queue pair that it was bound on is gone, and the binding with it. On the device's thread.
  void renew();

  std::atomic<UINT32> token{0};

 private:
  std::shared_ptr<AdapterCore> adapter_;
  std::unique_ptr<rdma::MemoryRegion> region_;
  std::uint32_t index_ = 0;  // the key without its low byte
  std::atomic<std::uint8_t> key_byte_{0};
  std::shared_ptr<MemoryRegionCore> bound_to_;
};

class MemoryRegion final : public Object<IFabricbenchMemoryRegion> {
 public:
  /// On the device's thread.
  MemoryRegion(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file);

  HRESULT STDMETHODCALLTYPE CancelOverlappedRequests() override;
  HRESULT STDMETHODCALLTYPE GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) override;
  HRESULT STDMETHODCALLTYPE Register(const VOID* buffer, SIZE_T bytes, ULONG flags, OVERLAPPED* overlapped) override;
  HRESULT STDMETHODCALLTYPE Deregister(OVERLAPPED* overlapped) override;
  UINT32 STDMETHODCALLTYPE GetLocalToken() override { return core_->local_token; }
  UINT32 STDMETHODCALLTYPE GetRemoteToken() override { return core_->remote_token; }
  HRESULT STDMETHODCALLTYPE RegisterAt(const VOID* buffer, SIZE_T bytes, UINT64 at, ULONG flags, OVERLAPPED* overlapped) override;

 private:
  bool departs(std::string_view point) const override { return core_->adapter().departs(point); }
  bool answers(REFIID iid) const override {
    if (iid == IID_IFabricbenchMemoryRegion) return !departs(departure::kNoChosenAddress);
    return iid == IID_IND2MemoryRegion || iid == IID_IND2Overlapped;
  }
  void released() override;
  template <class Work>
  HRESULT request(OVERLAPPED* overlapped, Work&& work) {
    return on_device(core_->adapter(), [&] {
      Requests::Call call(core_->requests, overlapped, core_->adapter());
      return call.answer(work());
    });
  }
  std::shared_ptr<MemoryRegionCore> core_;
};

class MemoryWindow final : public Object<IND2MemoryWindow> {
 public:
  explicit MemoryWindow(std::shared_ptr<AdapterCore> adapter);
  UINT32 STDMETHODCALLTYPE GetRemoteToken() override { return core_->token; }

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2MemoryWindow; }
  void released() override;
  std::shared_ptr<AdapterCore> adapter_;
  std::shared_ptr<MemoryWindowCore> core_;
};

}  // namespace fb::networkdirect
