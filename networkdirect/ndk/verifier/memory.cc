#include "networkdirect/ndk/verifier/memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/peek.h"
#include "networkdirect/ndk/verifier/queues.h"

namespace fb::ndk::verifier {

namespace {

constexpr ULONG kRegisterFlags =
    NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE | NDK_MR_FLAG_RDMA_READ_SINK;

/// A consumer may have freed it.
bool peek(const MDL* at, MDL& copy) { return peek_memory(at, {reinterpret_cast<std::uint8_t*>(&copy), sizeof copy}); }

bool same(const MDL& left, const MDL& right) {
  return left.Next == right.Next && left.StartVa == right.StartVa && left.ByteCount == right.ByteCount &&
         left.ByteOffset == right.ByteOffset;
}

}  // namespace

// ---------------------------------------------------------------- described memory

MdlCopy::MdlCopy(MDL* first) {
  for (const MDL* mdl = first; mdl != nullptr; mdl = mdl->Next) {
    const auto* const at = static_cast<const std::uint8_t*>(MmGetMdlVirtualAddress(mdl));
    if (originals_.empty()) memory_ = at;
    if (contiguous_bytes_ == bytes_ && at == memory_ + bytes_) contiguous_bytes_ += MmGetMdlByteCount(mdl);
    bytes_ += MmGetMdlByteCount(mdl);
    originals_.push_back(mdl);
    seen_.push_back(*mdl);
  }
  copies_ = seen_;
  for (std::size_t i = 1; i < copies_.size(); ++i) copies_[i - 1].Next = &copies_[i];
}

bool MdlCopy::changed() const {
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    MDL now = {};
    if (!peek(originals_[i], now) || !same(now, seen_[i])) return true;
  }
  return false;
}

bool judge_mdl(Call& call, const MdlCopy& copy, std::uint64_t length) {
  if (copy.bytes() == 0 || length == 0) {
    call.find(Rule::mdl_empty, fmt::format("{} bytes of {}", length, copy.bytes()));
  } else if (length > copy.bytes()) {
    call.find(Rule::mdl_too_short, fmt::format("{} bytes of {}", length, copy.bytes()));
  } else if (length > copy.contiguous_bytes()) {
    call.find(Rule::mdl_not_contiguous, fmt::format("{} bytes; the first {} lie side by side", length, copy.contiguous_bytes()));
  }
  return copy.bytes() > 0;
}

// ---------------------------------------------------------------- protection domains

NTSTATUS ProtectionDomain::create_mr(NDK_PD* ndk, BOOLEAN fast, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_MR** place) {
  auto& pd = of<ProtectionDomain>(ndk);
  Call call(pd, "NdkCreateMr");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto& made = pd.session().make<MemoryRegion>(pd, fast != 0);
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_MR** inner) {
    return pd.inner().Dispatch->NdkCreateMr(&pd.inner(), fast, done, ours, inner);
  });
}

NTSTATUS ProtectionDomain::create_mw(NDK_PD* ndk, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_MW** place) {
  auto& pd = of<ProtectionDomain>(ndk);
  Call call(pd, "NdkCreateMw");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  auto& made = pd.session().make<MemoryWindow>(pd);
  pd.windows.push_back(&made);
  return call.create(completion, context, place, made, [&](auto done, PVOID ours, NDK_MW** inner) {
    return pd.inner().Dispatch->NdkCreateMw(&pd.inner(), done, ours, inner);
  });
}

VOID ProtectionDomain::get_privileged_token(NDK_PD* ndk, UINT32* token) {
  auto& pd = of<ProtectionDomain>(ndk);
  Call call(pd, "NdkGetPrivilegedMemoryRegionToken");
  if (!call.alive() || !call.given(token, "the place for the token")) return;
  pd.inner().Dispatch->NdkGetPrivilegedMemoryRegionToken(&pd.inner(), token);
  pd.privileged_token_ = *token;
}

// ---------------------------------------------------------------- regions

/// What a fast region is mapped by from now on; null: nothing that is known.
void MemoryRegion::use(Mapping* used) {
  Adapter::let_go(mapping);
  mapping = used;
  if (used != nullptr) ++used->uses;
}

void MemoryRegion::note_tokens() {
  const UINT32 local = inner().Dispatch->NdkGetLocalTokenFromMr(&inner());
  domain_.local_tokens[local] = this;
  const UINT32 remote = inner().Dispatch->NdkGetRemoteTokenFromMr(&inner());
  domain_.remote_tokens[remote] = this;
}

NTSTATUS MemoryRegion::register_mr(NDK_MR* ndk, MDL* mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& region = of<MemoryRegion>(ndk);
  Call call(region, "NdkRegisterMr");
  return region.begin_register(call, mdl, length, nullptr, flags, completion, context);
}

NTSTATUS MemoryRegion::register_at(NDK_MR* ndk, MDL* mdl, SIZE_T length, UINT64 address, ULONG flags, NDK_FN_REQUEST_COMPLETION completion,
                                   PVOID context) {
  auto& region = of<MemoryRegion>(ndk);
  Call call(region, "RegisterMrAt");
  return region.begin_register(call, mdl, length, &address, flags, completion, context);
}

NTSTATUS MemoryRegion::begin_register(Call& call, MDL* mdl, SIZE_T length, const UINT64* address, ULONG rights,
                                      NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  const auto copy = std::make_shared<MdlCopy>(mdl);
  const bool described = judge_mdl(call, *copy, length);
  if (fast_) {
    call.find(Rule::register_of_fast_region);
  } else if (phase != Phase::empty) {
    call.find(Rule::registered_twice);
  }
  call.limit(Rule::registration_too_long, "the length", length, adapter()->info().MaxRegistrationSize);
  if ((rights & ~kRegisterFlags) != 0) call.find(Rule::register_flags_unknown, fmt::format("flags 0x{:x}", rights));
  if (!described) return STATUS_INVALID_PARAMETER;
  const bool mine = !fast_ && phase == Phase::empty;
  if (mine) {
    phase = Phase::beginning;
    first = reinterpret_cast<std::uintptr_t>(copy->memory());
    bytes = length;
    flags = rights;
  }
  return call.request(
      completion, context,
      [&](auto done, PVOID ours) {
        if (address != nullptr) return adapter()->extension.RegisterMrAt(&inner(), copy->get(), length, *address, rights, done, ours);
        return inner().Dispatch->NdkRegisterMr(&inner(), copy->get(), length, rights, done, ours);
      },
      [this, copy, mine](NTSTATUS status) {
        if (copy->changed()) session().add(Rule::mdl_changed_in_flight, name(), session().calls(), "before the registration was over");
        if (!mine) return;
        phase = status == STATUS_SUCCESS ? Phase::ready : Phase::empty;
        if (status == STATUS_SUCCESS && life() == Life::open) note_tokens();
      });
}

NTSTATUS MemoryRegion::deregister(NDK_MR* ndk, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& region = of<MemoryRegion>(ndk);
  Call call(region, "NdkDeregisterMr");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  const bool mine = !region.fast_ && region.phase == Phase::ready;
  if (region.fast_) {
    call.find(Rule::deregister_of_fast_region);
  } else if (!mine) {
    call.find(Rule::deregister_unregistered);
  } else {
    if (region.uses > 0) call.find(Rule::deregister_in_use, fmt::format("{} outstanding requests use it", region.uses));
    if (region.windows > 0) call.find(Rule::deregister_with_windows, fmt::format("{} windows are bound in it", region.windows));
    region.phase = Phase::ending;
  }
  return call.request(
      completion, context, [&](auto done, PVOID ours) { return region.inner().Dispatch->NdkDeregisterMr(&region.inner(), done, ours); },
      [&region, mine](NTSTATUS status) {
        if (mine) region.phase = status == STATUS_SUCCESS ? Phase::empty : Phase::ready;
      });
}

NTSTATUS MemoryRegion::initialize(NDK_MR* ndk, ULONG count, BOOLEAN remote, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& region = of<MemoryRegion>(ndk);
  Call call(region, "NdkInitializeFastRegisterMr");
  if (!call.alive()) return STATUS_INVALID_HANDLE;
  const bool mine = region.fast_ && region.phase == Phase::empty;
  if (!region.fast_) {
    call.find(Rule::initialize_of_plain_region);
  } else if (!mine) {
    call.find(Rule::initialized_twice);
  }
  if (count == 0) call.find(Rule::initialize_pages_wrong, "no page");
  call.limit(Rule::initialize_pages_wrong, "the number of pages", count, region.adapter()->info().FRMRPageCount);
  if (mine) {
    region.phase = Phase::beginning;
    region.pages = count;
    region.remote_access = remote != 0;
  }
  return call.request(
      completion, context,
      [&](auto done, PVOID ours) {
        return region.inner().Dispatch->NdkInitializeFastRegisterMr(&region.inner(), count, remote, done, ours);
      },
      [&region, mine](NTSTATUS status) {
        if (!mine) return;
        region.phase = status == STATUS_SUCCESS ? Phase::ready : Phase::empty;
        if (status == STATUS_SUCCESS && region.life() == Life::open) region.note_tokens();
      });
}

UINT32 MemoryRegion::get_local_token(NDK_MR* ndk) {
  auto& region = of<MemoryRegion>(ndk);
  Call call(region, "NdkGetLocalTokenFromMr");
  if (!call.alive()) return 0;
  if (region.phase == Phase::empty || region.phase == Phase::beginning) call.find(Rule::token_before_registration);
  return region.inner().Dispatch->NdkGetLocalTokenFromMr(&region.inner());
}

UINT32 MemoryRegion::get_remote_token(NDK_MR* ndk) {
  auto& region = of<MemoryRegion>(ndk);
  Call call(region, "NdkGetRemoteTokenFromMr");
  if (!call.alive()) return 0;
  if (region.phase == Phase::empty || region.phase == Phase::beginning) call.find(Rule::token_before_registration);
  return region.inner().Dispatch->NdkGetRemoteTokenFromMr(&region.inner());
}

void MemoryRegion::closing(Call& call) {
  if (!fast_ && phase == Phase::ready) call.find(Rule::region_closed_registered);
}

void MemoryRegion::closed() {
  phase = Phase::empty;
  use(nullptr);
}

// ---------------------------------------------------------------- windows

void MemoryWindow::bind(MemoryRegion& to, const QueuePair& on) {
  unbind(Binding::bound);
  region = &to;
  queue_pair = &on;
  ++to.windows;
}

void MemoryWindow::unbind(Binding now) {
  binding = now;
  if (MemoryRegion* const from = std::exchange(region, nullptr)) --from->windows;
}

UINT32 MemoryWindow::get_remote_token(NDK_MW* ndk) {
  auto& window = of<MemoryWindow>(ndk);
  Call call(window, "NdkGetRemoteTokenFromMw");
  return call.alive() ? window.inner().Dispatch->NdkGetRemoteTokenFromMw(&window.inner()) : 0;
}

}  // namespace fb::ndk::verifier
