#include "networkdirect/provider/adapter_core.h"

#include <algorithm>

#if defined(_WIN32)
#include <memoryapi.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "base/rng.h"
#include "networkdirect/provider/fault_points.h"
#include "networkdirect/win32/overlapped_file.h"

namespace fb::networkdirect {

namespace {

// A caller's data goes into the CM messages: a REQ has room for 56 bytes, a REP for 196. A refusal has less.
constexpr ULONG kCallerData = 56;
constexpr ULONG kCalleeData = 196;
constexpr ULONG kInlineThreshold = 128;
constexpr ULONG kLargeRequest = 64 * 1024;

ND2_ADAPTER_INFO info_of(const rdma::DeviceLimits& limits, UINT64 id) {
  ND2_ADAPTER_INFO info = {};
  info.InfoVersion = ND_VERSION_2;
  info.VendorId = 0xFABB;
  info.DeviceId = 1;
  info.AdapterId = id;
  info.MaxRegistrationSize = std::size_t{1} << 40;
  info.MaxWindowSize = limits.max_fast_register_bytes;
  // One is kept back: a request may have one buffer more than its queue pair was made for.
  info.MaxInitiatorSge = limits.max_sges - 1;
  info.MaxReceiveSge = limits.max_sges - 1;
  info.MaxReadSge = limits.max_sges - 1;
  info.MaxTransferLength = limits.max_message_bytes;
  info.MaxInlineDataSize = limits.max_inline_bytes;
  info.MaxInboundReadLimit = std::min<ULONG>(limits.max_reads, 255);
  info.MaxOutboundReadLimit = info.MaxInboundReadLimit;
  info.MaxReceiveQueueDepth = limits.max_queue_entries;
  info.MaxInitiatorQueueDepth = limits.max_queue_entries;
  info.MaxSharedReceiveQueueDepth = limits.max_queue_entries;
  info.MaxCompletionQueueDepth = 4 * limits.max_queue_entries;
  info.InlineRequestThreshold = std::min<ULONG>(kInlineThreshold, limits.max_inline_bytes);
  info.LargeRequestThreshold = kLargeRequest;
  info.MaxCallerData = kCallerData;
  info.MaxCalleeData = kCalleeData;
  info.AdapterFlags =
      ND_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED | ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED | ND_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED;
  return info;
}

}  // namespace

std::optional<std::uint16_t> PortSpace::take_for_listener(std::uint16_t port) {
  if (port != 0) return listeners_.insert(port).second ? std::optional(port) : std::nullopt;
  for (unsigned tries = 0; tries < kEphemerals; ++tries) {
    port = static_cast<std::uint16_t>(kFirstEphemeral + next_++ % kEphemerals);
    if (!connectors_.contains(port) && listeners_.insert(port).second) return port;
  }
  return std::nullopt;
}

std::optional<std::uint16_t> PortSpace::take_for_connector(std::uint16_t port) {
  if (port == 0) {
    unsigned tries = 0;
    do {
      if (tries++ == kEphemerals) return std::nullopt;
      port = static_cast<std::uint16_t>(kFirstEphemeral + next_++ % kEphemerals);
    } while (connectors_.contains(port) || listeners_.contains(port));
  }
  connectors_.insert(port);
  return port;
}

void PortSpace::free_connector(std::uint16_t port) {
  const auto at = connectors_.find(port);
  if (at != connectors_.end()) connectors_.erase(at);
}

AdapterCore::AdapterCore(std::shared_ptr<Place> place, UINT64 id)
    : place_(std::move(place)),
      hooks_(place_->hooks()),
      behaviour_(hooks_ == nullptr ? Behaviour() : hooks_->behaviour()),
      seed_(place_->world().stream("networkdirect.behaviour").next()),
      address_(place_->device().address()),
      domain_(place_->device().allocate_protection_domain()),
      info_(info_of(place_->device().limits(), id)) {
  behaviour_.lower(info_);
  if (behaviour_.departs(departure::kNoResize)) info_.AdapterFlags &= ~ULONG{ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED};
}

AdapterCore::~AdapterCore() = default;

/// The n-th of a row is always the same, whoever asks.
bool AdapterCore::draw(std::uint64_t salt, std::atomic<std::uint64_t>& drawn) const {
  return (mix64(seed_ ^ salt ^ mix64(drawn.fetch_add(1, std::memory_order_relaxed))) & 1) != 0;
}

bool AdapterCore::answers_at_once() {
  if (behaviour_.answers != Answers::drawn) return behaviour_.answers == Answers::at_once;
  return draw(0x616E73, answers_drawn_);
}

bool AdapterCore::completes_after_response() {
  if (behaviour_.order != Order::drawn) return behaviour_.order == Order::after_response;
  return draw(0x6F7264, orders_drawn_);
}

void AdapterCore::bury(std::unique_ptr<rdma::QueuePair> qp) {
  if (qp == nullptr) return;
  graves_.push_back(std::move(qp));
  if (!dig_.scheduled()) world().loop().schedule_after(dig_, {});
}

void AdapterCore::dig() { const auto graves = std::exchange(graves_, {}); }

bool is_mapped(const void* memory, std::size_t length) {
  if (memory == nullptr) return length == 0;
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  if (first + length < first) return false;
#if defined(_WIN32)
  for (std::uintptr_t at = first; at < first + length;) {
    MEMORY_BASIC_INFORMATION found = {};
    if (VirtualQuery(reinterpret_cast<const void*>(at), &found, sizeof found) == 0 || found.State != MEM_COMMIT) return false;
    at = reinterpret_cast<std::uintptr_t>(found.BaseAddress) + found.RegionSize;
  }
  return true;
#else
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char residency[256];
  const std::uintptr_t end = first + length;
  for (std::uintptr_t at = first & ~(page - 1); at < end; at += page * std::size(residency)) {
    const std::size_t piece = std::min<std::uintptr_t>(end - at, page * std::size(residency));
    if (mincore(reinterpret_cast<void*>(at), piece, residency) != 0) return false;
  }
  return true;
#endif
}

HRESULT overlapped_result(AdapterCore& adapter, OVERLAPPED* overlapped, BOOL wait) {
  if (overlapped == nullptr) return ND_INVALID_PARAMETER_1;
  HRESULT status = win32::overlapped_status(*overlapped);
  if (status != ND_PENDING) {
    return FAILED(status) && adapter.departs(departure::kResultForgotten) ? ND_SUCCESS : status;
  }
  if (!wait) return adapter.departs(departure::kResultPendingForgotten) ? ND_SUCCESS : ND_PENDING;
  if (adapter.departs(departure::kWaitIgnored)) return ND_PENDING;
  if (adapter.strand().runs_by_itself()) {
    win32::wait_until_complete(*overlapped);
  } else {
    while (win32::overlapped_status(*overlapped) == ND_PENDING && adapter.strand().step()) {
    }
  }
  return win32::overlapped_status(*overlapped);
}

}  // namespace fb::networkdirect
