#include "networkdirect/verifier/memory.h"

#include <utility>

#include <fmt/format.h>

#include "networkdirect/verifier/buffers.h"
#include "networkdirect/verifier/probe.h"

namespace fb::networkdirect::verifier {

namespace {

using Phase = RegionState::Phase;

constexpr ULONG kKnownFlags = ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_ALLOW_REMOTE_READ | ND_MR_FLAG_ALLOW_REMOTE_WRITE |
                              ND_MR_FLAG_RDMA_READ_SINK | ND_MR_FLAG_DO_NOT_SECURE_VM;

}  // namespace

MemoryRegion::MemoryRegion(Session& session, std::shared_ptr<AdapterState> adapter, IND2MemoryRegion& inner,
                           IFabricbenchMemoryRegion* extended)
    : OverlappedFacade(session, Kind::memory_region, std::move(adapter), inner),
      extended_(extended),
      state_(std::make_shared<RegionState>()) {}

template <class Work>
HRESULT MemoryRegion::register_memory(Call& call, const VOID* buffer, SIZE_T bytes, ULONG flags, OVERLAPPED* overlapped, Work&& work) {
  const bool nothing = buffer == nullptr || bytes == 0;
  if (nothing) call.find(Rule::register_nothing, buffer == nullptr ? "there is no buffer" : fmt::format("{} bytes", bytes));
  judge_flags(call, flags, kKnownFlags);
  call.limit("the length", bytes, adapter()->info.MaxRegistrationSize);
  if (state_->phase != Phase::empty) call.find(Rule::register_twice);
  const RegionState before = *state_;
  state_->number = number();
  state_->phase = Phase::registering;
  state_->memory = static_cast<const std::uint8_t*>(buffer);
  state_->bytes = bytes;
  state_->flags = flags;
  state_->token_known = false;
  registering_ = overlapped;
  const HRESULT status = call.request(overlapped, Method::register_memory, work, [&](Request& request) { request.region = state_; });
  if (status == ND_SUCCESS && state_->phase == Phase::registering) state_->phase = Phase::registered;
  if (FAILED(status)) {
    const unsigned uses = state_->uses, windows = state_->windows, lingering = state_->lingering;
    *state_ = before;
    state_->uses = uses;
    state_->windows = windows;
    state_->lingering = lingering;
  }
  return status;
}

HRESULT MemoryRegion::Register(const VOID* buffer, SIZE_T bytes, ULONG flags, OVERLAPPED* overlapped) {
  Call call(*this, "Register");
  if (!call.alive()) return ND_INVALID_HANDLE;
  return register_memory(call, buffer, bytes, flags, overlapped, [&] { return inner().Register(buffer, bytes, flags, overlapped); });
}

HRESULT MemoryRegion::RegisterAt(const VOID* buffer, SIZE_T bytes, UINT64 at, ULONG flags, OVERLAPPED* overlapped) {
  Call call(*this, "RegisterAt");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (extended_ == nullptr) return ND_NOT_SUPPORTED;  // and never handed out
  return register_memory(call, buffer, bytes, flags, overlapped,
                         [&] { return extended_->RegisterAt(buffer, bytes, at, flags, overlapped); });
}

/// Registered, as far as is known: a completion may have gone to the consumer's port unseen.
bool MemoryRegion::usable() {
  if (state_->phase != Phase::registering) return state_->phase == Phase::registered;
  return !session().still_pending(registering_, Method::register_memory, state_.get());
}

void MemoryRegion::judge_memory(Call& call) {
  if (usable() && !mapped(state_->memory, state_->bytes)) {
    call.find(Rule::region_memory_unmapped, fmt::format("{} bytes at {}", state_->bytes, fmt::ptr(state_->memory)));
  }
}

HRESULT MemoryRegion::Deregister(OVERLAPPED* overlapped) {
  Call call(*this, "Deregister");
  if (!call.alive()) return ND_INVALID_HANDLE;
  if (!usable()) call.find(Rule::deregister_unregistered);
  judge_memory(call);
  if (state_->uses > 0) call.find(Rule::deregister_in_use, fmt::format("{} outstanding requests use it", state_->uses));
  const unsigned windows = state_->windows, lingering = state_->lingering;
  // Before the call: its completion may be another thread's before it returns.
  const Phase before = std::exchange(state_->phase, Phase::empty);
  const HRESULT status = call.request(overlapped, Method::deregister, [&] { return inner().Deregister(overlapped); });
  // What lingers is this provider's to count: others let it go with the window or the connection.
  if (windows > 0) {
    call.find(Rule::deregister_with_windows, fmt::format("{} are bound", windows));
  } else if (status == ND_DEVICE_BUSY) {
    call.find(Rule::deregister_with_windows, fmt::format("{} were not invalidated before they were released, or before their "
                                                         "connection ended",
                                                         lingering));
  }
  if (FAILED(status)) state_->phase = before;
  return status;
}

UINT32 MemoryRegion::GetLocalToken() {
  Call call(*this, "GetLocalToken");
  if (!call.alive()) return 0;
  if (!usable()) call.find(Rule::token_before_register);
  const UINT32 token = call.inner([&] { return inner().GetLocalToken(); });
  if (usable()) {
    state_->local_token = token;
    state_->token_known = true;
    adapter()->tokens[token] = state_;
  }
  return token;
}

UINT32 MemoryRegion::GetRemoteToken() {
  Call call(*this, "GetRemoteToken");
  if (!call.alive()) return 0;
  if (!usable()) call.find(Rule::token_before_register);
  return call.inner([&] { return inner().GetRemoteToken(); });
}

void MemoryRegion::last_release(Call& call) {
  judge_memory(call);
  if (usable()) call.find(Rule::region_released_registered, fmt::format("{} bytes", state_->bytes));
  state_->phase = Phase::empty;
}

MemoryWindow::MemoryWindow(Session& session, std::shared_ptr<AdapterState> adapter, IND2MemoryWindow& inner)
    : Facade(session, Kind::memory_window, std::move(adapter), inner), state_(std::make_shared<WindowState>()) {}

UINT32 MemoryWindow::GetRemoteToken() {
  Call call(*this, "GetRemoteToken");
  if (!call.alive()) return 0;
  if (!state_->bound()) call.find(Rule::window_token_invalid);
  return call.inner([&] { return inner().GetRemoteToken(); });
}

}  // namespace fb::networkdirect::verifier
