#include "networkdirect/ndk/provider/memory.h"

#include <algorithm>
#include <cstring>

namespace fb::ndk::provider {

namespace {

constexpr ULONG kRegisterFlags =
    NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE | NDK_MR_FLAG_RDMA_READ_SINK;
constexpr UINT32 kKeyByte = 0xFF;
/// By how much a departure lets regions reach beyond their end.
constexpr std::size_t kTooLong = 64;

using rdma::Access;

bool remote_write(ULONG flags) { return (flags & NDK_MR_FLAG_ALLOW_REMOTE_WRITE) == NDK_MR_FLAG_ALLOW_REMOTE_WRITE; }

}  // namespace

// ---------------------------------------------------------------- protection domains

ProtectionDomain::ProtectionDomain(Adapter& adapter) : NDK_PD{}, Object(adapter, NdkObjectTypePd), device_(adapter.device_domain()) {
  begin_header(Header, adapter, NdkObjectTypePd);
  Dispatch = &adapter.tables().pd;
}

void ProtectionDomain::take_down() {
  adapter().logical().forget(*this);
  device_.reset();
}

NTSTATUS ProtectionDomain::create(NDK_ADAPTER* ndk, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_PD** place) {
  auto& adapter = of<Adapter>(ndk);
  return adapter.answer_creation(STATUS_SUCCESS, new ProtectionDomain(adapter), completion, context, place);
}

VOID ProtectionDomain::privileged_token(NDK_PD*, UINT32* token) { *token = kPrivilegedToken; }

// ---------------------------------------------------------------- regions

MemoryRegion::MemoryRegion(ProtectionDomain& domain, bool fast)
    : NDK_MR{}, Object(domain.adapter(), NdkObjectTypeMr), domain_(domain), fast_(fast) {
  begin_header(Header, adapter(), NdkObjectTypeMr);
  Dispatch = &adapter().tables().mr;
  stand_on(domain);
}

NTSTATUS MemoryRegion::create(NDK_PD* ndk, BOOLEAN fast, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_MR** place) {
  auto& domain = of<ProtectionDomain>(ndk);
  Adapter& adapter = domain.adapter();
  if (fast != 0 && !adapter.limits().fast_registration) {
    return adapter.answer_creation<MemoryRegion>(STATUS_NOT_SUPPORTED, nullptr, completion, context, place);
  }
  return adapter.answer_creation(STATUS_SUCCESS, new MemoryRegion(domain, fast != 0), completion, context, place);
}

void MemoryRegion::take_down() {
  remote_region_.reset();
  region_.reset();
  kept_.clear();
  if (!copies_.empty()) adapter().drop_copy(*this);
}

bool MemoryRegion::covers(const void* address, SIZE_T length) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto first = reinterpret_cast<std::uintptr_t>(memory_.data());
  return at >= first && length <= memory_.size() && at - first <= memory_.size() - length;
}

UINT32 MemoryRegion::remote_token() const {
  if (remote_region_ != nullptr) return remote_region_->rkey();
  // A fast region's is the same whether it is valid or not.
  return region_ == nullptr ? 0 : region_->rkey();
}

NTSTATUS MemoryRegion::register_mr(NDK_MR* ndk, MDL* mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  return of<MemoryRegion>(ndk).begin_register(mdl, length, nullptr, flags, completion, context);
}

NTSTATUS MemoryRegion::register_at(NDK_MR* ndk, MDL* mdl, SIZE_T length, UINT64 address, ULONG flags, NDK_FN_REQUEST_COMPLETION completion,
                                   PVOID context) {
  return of<MemoryRegion>(ndk).begin_register(mdl, length, &address, flags, completion, context);
}

NTSTATUS MemoryRegion::begin_register(MDL* mdl, SIZE_T length, const UINT64* address, ULONG flags, NDK_FN_REQUEST_COMPLETION completion,
                                      PVOID context) {
  Adapter& a = adapter();
  if (a.refuses()) return a.answer(*this, completion, context, [] { return STATUS_INSUFFICIENT_RESOURCES; });
  if (fast_) return a.departs(departure::kRegisterOfFast) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
  if ((flags & ~kRegisterFlags) != 0 && !a.departs(departure::kRegisterFlagsUnchecked)) return STATUS_INVALID_PARAMETER;
  if (ready() || busy_) return a.departs(departure::kRegisterTwice) ? STATUS_SUCCESS : STATUS_INVALID_DEVICE_REQUEST;
  // What was here before is still known.
  if (!memory_.empty() && a.departs(departure::kRegisterOnce)) return STATUS_INVALID_DEVICE_REQUEST;
  if (length > a.info().MaxRegistrationSize) return STATUS_INVALID_PARAMETER;
  Described what;
  const DescribedEnd end = describe(mdl, length, a.departs(departure::kRegisterChainUnchecked), what);
  if (end == DescribedEnd::not_contiguous) return STATUS_INVALID_PARAMETER;
  if (end == DescribedEnd::too_short) {
    if (!a.departs(departure::kRegisterLengthUnchecked) || mdl == nullptr) return STATUS_INVALID_PARAMETER;
    what.memory = what.memory.first(std::min<std::size_t>(length, MmGetMdlByteCount(mdl)));
  }
  busy_ = true;
  const std::optional<UINT64> at = address == nullptr ? std::nullopt : std::optional(*address);
  return a.answer(*this, completion, context, [this, memory = what.memory, at, flags] {
    busy_ = false;
    return do_register(memory, at, flags);
  });
}

NTSTATUS MemoryRegion::do_register(MutableBytes memory, std::optional<UINT64> address, ULONG flags) {
  Adapter& a = adapter();
  Access local = Access::none;
  Access remote = Access::none;
  if (a.departs(departure::kReadSinkIgnored)) flags &= ~ULONG{NDK_MR_FLAG_RDMA_READ_SINK};
  if ((flags & (NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK)) != 0 || a.departs(departure::kRegisterGrantsLocalWrite)) {
    local = Access::local_write;
  }
  if ((flags & NDK_MR_FLAG_ALLOW_REMOTE_READ) != 0) remote = remote | Access::remote_read;
  if (remote_write(flags)) remote = remote | Access::remote_write;
  if (a.departs(departure::kRegisterLosesRemote)) remote = Access::none;
  if (a.departs(departure::kRegisterGrantsRemote)) remote = Access::remote_read | Access::remote_write;
  if (a.departs(departure::kRegionTooLong)) memory = {memory.data(), memory.size() + kTooLong};
  const auto pointer = reinterpret_cast<std::uintptr_t>(memory.data());
  memory_ = memory;
  flags_ = flags;
  ProviderHooks* const hooks = a.miniport().options.hooks;
  remote_base_ = address ? *address : hooks == nullptr ? pointer : hooks->on_the_wire(pointer);
  if (a.departs(departure::kRegionZeroBased)) remote_base_ = 0;
  rdma::ProtectionDomain& domain = domain_.device_domain();
  if (remote_base_ == pointer) {
    region_ = domain.register_memory_at(pointer, memory, local | remote);
  } else {
    region_ = domain.register_memory_at(pointer, memory, local);
    remote_region_ = domain.register_memory_at(remote_base_, memory, remote);
  }
  return region_ == nullptr ? STATUS_INSUFFICIENT_RESOURCES : STATUS_SUCCESS;
}

NTSTATUS MemoryRegion::deregister(NDK_MR* ndk, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& region = of<MemoryRegion>(ndk);
  Adapter& a = region.adapter();
  if (region.fast_ || !region.ready() || region.busy_) return STATUS_INVALID_DEVICE_REQUEST;
  if (region.stood_on() && !a.departs(departure::kDeregisterWithWindows)) return STATUS_DEVICE_BUSY;
  region.busy_ = true;
  return a.answer(region, completion, context, [&region] {
    region.busy_ = false;
    if (region.adapter().departs(departure::kDeregisterKeepsKeys)) {
      region.kept_.push_back(std::move(region.region_));
      if (region.remote_region_ != nullptr) region.kept_.push_back(std::move(region.remote_region_));
    }
    region.remote_region_.reset();
    region.region_.reset();
    return STATUS_SUCCESS;
  });
}

NTSTATUS MemoryRegion::initialize_fast(NDK_MR* ndk, ULONG pages, BOOLEAN remote, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& region = of<MemoryRegion>(ndk);
  Adapter& a = region.adapter();
  if (a.refuses()) return a.answer(region, completion, context, [] { return STATUS_INSUFFICIENT_RESOURCES; });
  if (!region.fast_) return a.departs(departure::kFastOfPlain) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
  if (pages == 0) return STATUS_INVALID_PARAMETER;
  const bool again = region.ready() && !a.departs(departure::kFastInitializedTwice);
  if (again || region.busy_) return STATUS_INVALID_DEVICE_REQUEST;
  if (pages > a.info().FRMRPageCount) {
    if (!a.departs(departure::kFastLimitUnchecked)) return STATUS_IMPLEMENTATION_LIMIT;
    pages = a.info().FRMRPageCount;
  }
  region.busy_ = true;
  return a.answer(region, completion, context, [&region, pages, remote] {
    region.busy_ = false;
    region.region_ = region.domain_.device_domain().allocate_fast_region(std::size_t{pages} << PAGE_SHIFT);
    if (region.region_ == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    region.pages_ = pages;
    region.remote_allowed_ = remote != 0;
    region.key_byte_ = static_cast<std::uint8_t>(region.region_->rkey() & kKeyByte);
    return STATUS_SUCCESS;
  });
}

UINT32 MemoryRegion::get_remote_token(NDK_MR* ndk) {
  auto& region = of<MemoryRegion>(ndk);
  return region.remote_token();
}

UINT32 MemoryRegion::get_local_token(NDK_MR* ndk) {
  auto& region = of<MemoryRegion>(ndk);
  return region.ready() ? region.region_->lkey() : 0;
}

// ---------------------------------------------------------------- fast registration

MutableBytes MemoryRegion::mapped(const std::vector<MutableBytes>& pieces, std::size_t most) {
  if (adapter().departs(departure::kFastTokenChanges)) ++key_byte_;
  if (pieces.size() <= 1) return pieces.empty() ? MutableBytes{} : pieces[0];
  if (copies_.empty()) adapter().keep_copy(*this);
  while (copies_.size() > most) {
    bring_up_to_date(copies_.front());
    copies_.pop_front();
  }
  Copy& made = copies_.emplace_back();
  made.pieces = pieces;
  for (const MutableBytes piece : pieces) made.copy.insert(made.copy.end(), piece.begin(), piece.end());
  made.before = made.copy;
  return made.copy;
}

void MemoryRegion::bring_up_to_date() {
  for (Copy& copy : copies_) bring_up_to_date(copy);
}

void MemoryRegion::bring_up_to_date(Copy& what) {
  std::size_t at = 0;
  for (const MutableBytes piece : what.pieces) {
    std::uint8_t* const copy = what.copy.data() + at;
    std::uint8_t* const before = what.before.data() + at;
    at += piece.size();
    if (std::memcmp(piece.data(), before, piece.size()) == 0 && std::memcmp(copy, before, piece.size()) == 0) continue;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      // Written on both sides at once is a race of theirs; the peer wins.
      if (copy[i] != before[i]) {
        piece[i] = before[i] = copy[i];
      } else if (piece[i] != before[i]) {
        copy[i] = before[i] = piece[i];
      }
    }
  }
}

void MemoryRegion::stop_copying(MutableBytes memory) {
  for (Copy& copy : copies_) {
    const bool touched = std::ranges::any_of(
        copy.pieces, [&](MutableBytes piece) { return piece.data() >= memory.data() && piece.data() < memory.data() + memory.size(); });
    if (!touched) continue;
    bring_up_to_date(copy);
    copy.pieces.clear();
  }
}

// ---------------------------------------------------------------- windows

MemoryWindow::MemoryWindow(ProtectionDomain& domain) : NDK_MW{}, Object(domain.adapter(), NdkObjectTypeMw), domain_(domain) {
  begin_header(Header, adapter(), NdkObjectTypeMw);
  Dispatch = &adapter().tables().mw;
  stand_on(domain);
  renew();
}

NTSTATUS MemoryWindow::create(NDK_PD* ndk, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_MW** place) {
  auto& domain = of<ProtectionDomain>(ndk);
  Adapter& adapter = domain.adapter();
  if (!adapter.limits().fast_registration) {
    return adapter.answer_creation<MemoryWindow>(STATUS_NOT_SUPPORTED, nullptr, completion, context, place);
  }
  return adapter.answer_creation(STATUS_SUCCESS, new MemoryWindow(domain), completion, context, place);
}

std::uint8_t MemoryWindow::bind_to(MemoryRegion& region, std::vector<MemoryWindow*>& among) {
  region_of_ = &region;
  among_ = &among;
  among.push_back(this);
  stand_on(region);
  // Another key for each binding: who still has the last one finds nothing.
  if (adapter().limits().chosen_key_bytes) token_ = (token_ & ~kKeyByte) | ((token_ + 1) & kKeyByte);
  return static_cast<std::uint8_t>(token_ & kKeyByte);
}

void MemoryWindow::unbind() {
  MemoryRegion* const region = std::exchange(region_of_, nullptr);
  if (region == nullptr) return;
  std::erase(*among_, this);
  let_go(*region);
}

void MemoryWindow::renew() {
  unbind();
  region_.reset();
  region_ = domain_.device_domain().allocate_fast_region(adapter().info().MaxWindowSize);
  token_ = region_->rkey();
}

void MemoryWindow::take_down() {
  region_.reset();
  unbind();
}

UINT32 MemoryWindow::get_remote_token(NDK_MW* ndk) {
  auto& window = of<MemoryWindow>(ndk);
  return window.token_;
}

}  // namespace fb::ndk::provider
