#include "networkdirect/provider/memory.h"

#include "networkdirect/provider/fault_points.h"

namespace fb::networkdirect {

namespace {

enum : unsigned { kRegister, kDeregister };

constexpr ULONG kRegionFlags = ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_ALLOW_REMOTE_READ | ND_MR_FLAG_ALLOW_REMOTE_WRITE |
                               ND_MR_FLAG_RDMA_READ_SINK | ND_MR_FLAG_DO_NOT_SECURE_VM;

rdma::Access local_access(ULONG flags) {
  // On RoCE the data of a Read needs no more than local write; a flag that is for Reads alone grants it too.
  const bool write = (flags & (ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_RDMA_READ_SINK)) != 0;
  return write ? rdma::Access::local_write : rdma::Access::none;
}

rdma::Access remote_access(ULONG flags) {
  rdma::Access access = rdma::Access::none;
  if ((flags & ND_MR_FLAG_ALLOW_REMOTE_READ) != 0) access = access | rdma::Access::remote_read;
  if ((flags & ND_MR_FLAG_ALLOW_REMOTE_WRITE) == ND_MR_FLAG_ALLOW_REMOTE_WRITE) access = access | rdma::Access::remote_write;
  return access;
}

}  // namespace

HRESULT MemoryRegionCore::register_memory(const void* buffer, SIZE_T bytes, std::optional<UINT64> at, ULONG flags, OVERLAPPED* overlapped) {
  if (adapter_->closed) return ND_DEVICE_REMOVED;
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  if (bytes == 0) return refuse_empty(buffer, overlapped);
  if (bytes > adapter_->info().MaxRegistrationSize) {
    if (!adapter_->departs(departure::kRegisterUnlimited)) return ND_INVALID_PARAMETER;
    bytes = 1;
  }
  if ((flags & ~kRegionFlags) != 0 && !adapter_->departs(departure::kRegisterFlagsUnchecked)) return ND_INVALID_PARAMETER_3;
  if (!is_mapped(buffer, bytes) && !adapter_->departs(departure::kRegisterUnchecked)) return ND_ACCESS_VIOLATION;
  if (local_ != nullptr && !adapter_->departs(departure::kRegisterTwice)) return ND_INVALID_DEVICE_STATE;
  if (std::exchange(used_, true) && adapter_->departs(departure::kRegisterOnce)) return ND_INVALID_DEVICE_STATE;
  if (!requests.begin(overlapped, kRegister)) return ND_INVALID_PARAMETER_4;
  last_ = overlapped;
  memory_ = {static_cast<std::uint8_t*>(const_cast<void*>(buffer)), bytes};
  flags_ = flags;
  if (adapter_->departs(departure::kReadSinkIgnored)) flags_ &= ~ULONG{ND_MR_FLAG_RDMA_READ_SINK};
  if (adapter_->departs(departure::kRegisterGrantsLocalWrite)) flags_ |= ND_MR_FLAG_ALLOW_LOCAL_WRITE;
  rdma::Access remote = remote_access(flags_);
  if (adapter_->departs(departure::kRegisterGrantsRemote)) remote = remote | rdma::Access::remote_read | rdma::Access::remote_write;
  if (adapter_->departs(departure::kRegisterLosesRemote)) remote = rdma::Access::none;
  const auto pointer = reinterpret_cast<std::uintptr_t>(buffer);
  remote_base_ = at ? *at : adapter_->hooks() == nullptr ? pointer : adapter_->hooks()->on_the_wire(pointer);
  if (adapter_->departs(departure::kRegionZeroBased)) remote_base_ = 0;
  MutableBytes reach = memory_;
  if (adapter_->departs(departure::kRegisterTooMuch)) reach = {memory_.data(), bytes + 64};
  local_ = adapter_->domain().register_memory_at(pointer, reach, local_access(flags_));
  remote_ = adapter_->domain().register_memory_at(remote_base_, reach, remote);
  local_token = local_->lkey();
  remote_token = adapter_->departs(departure::kTokenInHostOrder) ? remote_->rkey() : htonl(remote_->rkey());
  return registered(*overlapped);
}

/// The end of a registration, and all that can be wrong about the end of an overlapped request.
HRESULT MemoryRegionCore::registered(OVERLAPPED& overlapped) {
  if (adapter_->departs(departure::kRegisterNeverCompletes)) return ND_PENDING;
  const bool unset = adapter_->departs(departure::kEventNotSet);
  if (unset || adapter_->departs(departure::kLowBitIgnored)) {
    const auto bits = reinterpret_cast<std::uintptr_t>(overlapped.hEvent);
    const HANDLE event = std::exchange(overlapped.hEvent, reinterpret_cast<HANDLE>(unset ? 0 : bits & ~std::uintptr_t{1}));
    requests.complete(kRegister, ND_SUCCESS);
    overlapped.hEvent = event;
    return ND_PENDING;
  }
  requests.complete(kRegister, ND_SUCCESS);
  if (adapter_->departs(departure::kPacketTwice)) requests.file().complete(overlapped, ND_SUCCESS, 0);
  return adapter_->departs(departure::kSuccessWithPacket) ? ND_SUCCESS : ND_PENDING;
}

HRESULT MemoryRegionCore::refuse_empty(const void* buffer, OVERLAPPED* overlapped) {
  const bool taken = adapter_->departs(departure::kEmptyRegistered);
  if ((taken || adapter_->departs(departure::kFailureSendsPacket)) && requests.begin(overlapped, kRegister)) {
    requests.complete(kRegister, ND_SUCCESS);
  }
  if (taken) return ND_PENDING;
  return buffer == nullptr ? ND_INVALID_PARAMETER : ND_INVALID_BUFFER_SIZE;
}

HRESULT MemoryRegionCore::deregister(OVERLAPPED* overlapped) {
  if (local_ == nullptr && !adapter_->departs(departure::kDeregisterOfNone)) return ND_INVALID_DEVICE_STATE;
  if (windows != 0 && !adapter_->departs(departure::kDeregisterWithWindows)) return ND_DEVICE_BUSY;
  if (!requests.begin(overlapped, kDeregister)) return ND_INVALID_PARAMETER_1;
  last_ = overlapped;
  if (!adapter_->departs(departure::kDeregisterKeepsKeys)) {
    local_.reset();
    remote_.reset();
  }
  memory_ = {};
  requests.complete(kDeregister, adapter_->departs(departure::kDeregisterFails) ? ND_UNSUCCESSFUL : ND_SUCCESS);
  return ND_PENDING;
}

bool MemoryRegionCore::covers(const void* buffer, SIZE_T bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(memory_.data());
  const auto at = reinterpret_cast<std::uintptr_t>(buffer);
  return local_ != nullptr && at >= first && bytes <= memory_.size() && at - first <= memory_.size() - bytes;
}

MemoryWindowCore::MemoryWindowCore(std::shared_ptr<AdapterCore> adapter) : adapter_(std::move(adapter)) { renew(); }

void MemoryWindowCore::renew() {
  unbind();
  region_.reset();
  region_ = adapter_->domain().allocate_fast_region(adapter_->device().limits().max_fast_register_bytes);
  index_ = region_->rkey() & ~0xFFu;
  key_byte_ = static_cast<std::uint8_t>(region_->rkey());
}

std::uint8_t MemoryWindowCore::next_key_byte() {
  const auto byte = static_cast<std::uint8_t>(++key_byte_);
  if (!adapter_->departs(departure::kWindowTokenLate)) tell_token();
  return byte;
}

void MemoryWindowCore::bind_to(std::shared_ptr<MemoryRegionCore> region) {
  unbind();
  ++region->windows;
  bound_to_ = std::move(region);
}

void MemoryWindowCore::unbind() {
  if (bound_to_ == nullptr) return;
  --bound_to_->windows;
  bound_to_.reset();
}

MemoryRegion::MemoryRegion(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file)
    : core_(std::make_shared<MemoryRegionCore>(std::move(adapter), std::move(file))) {
  live(Kind::memory_region, core_);
}

HRESULT MemoryRegion::CancelOverlappedRequests() {
  core_->requests.cancel_all();
  return ND_SUCCESS;
}

HRESULT MemoryRegion::GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) {
  const bool others = !core_->asked_last(overlapped);
  if (others && core_->adapter().departs(departure::kResultElsewhereUnknown)) return ND_INVALID_HANDLE;
  return overlapped_result(core_->adapter(), overlapped, wait);
}

HRESULT MemoryRegion::Register(const VOID* buffer, SIZE_T bytes, ULONG flags, OVERLAPPED* overlapped) {
  return request(overlapped, [&] { return core_->register_memory(buffer, bytes, std::nullopt, flags, overlapped); });
}

HRESULT MemoryRegion::RegisterAt(const VOID* buffer, SIZE_T bytes, UINT64 at, ULONG flags, OVERLAPPED* overlapped) {
  return request(overlapped, [&] { return core_->register_memory(buffer, bytes, at, flags, overlapped); });
}

HRESULT MemoryRegion::Deregister(OVERLAPPED* overlapped) {
  return request(overlapped, [&] { return core_->deregister(overlapped); });
}

void MemoryRegion::released() {
  core_->requests.cancel_all();
  drop_on_device(core_->shared_adapter(), core_);
}

MemoryWindow::MemoryWindow(std::shared_ptr<AdapterCore> adapter)
    : adapter_(adapter), core_(std::make_shared<MemoryWindowCore>(std::move(adapter))) {
  live(Kind::memory_window, core_);
}

void MemoryWindow::released() { drop_on_device(std::move(adapter_), core_); }

}  // namespace fb::networkdirect
