#include "networkdirect/provider/shared_receive_queue.h"

#include "networkdirect/provider/fault_points.h"
#include "networkdirect/provider/queue_pair.h"

namespace fb::networkdirect {

namespace {

constexpr unsigned kNotify = 0;

}  // namespace

SharedReceiveQueueCore::SharedReceiveQueueCore(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file, ULONG depth,
                                               ULONG max_sges, ULONG threshold)
    : adapter_(std::move(adapter)),
      // As deep as it may ever become.
      device_queue_(
          adapter_->device().create_shared_receive_queue(adapter_->domain(), adapter_->info().MaxSharedReceiveQueueDepth, nullptr)),
      requests_(std::move(file)),
      depth_(depth),
      max_sges_(max_sges + 1),
      threshold_(threshold) {}

SharedReceiveQueueCore::~SharedReceiveQueueCore() { adapter_->strand().silence(*this); }

HRESULT SharedReceiveQueueCore::receive(void* context, const ND2_SGE* sges, ULONG count) {
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  if (count > max_sges_) return adapter_->departs(departure::kSrqManySgesSwallowed) ? ND_SUCCESS : ND_DATA_OVERRUN;
  if (count > 0 && sges == nullptr) return ND_INVALID_PARAMETER_2;
  if (total_length(sges, count) > adapter_->info().MaxTransferLength) {
    return adapter_->departs(departure::kSrqManyBytesSwallowed) ? ND_SUCCESS : ND_BUFFER_OVERFLOW;
  }
  {
    const std::lock_guard lock(lock_);
    if (outstanding_ >= depth_) return adapter_->departs(departure::kSrqFullSwallows) ? ND_SUCCESS : ND_NO_MORE_ENTRIES;
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
      sges_.resize(slots_.size() * max_sges_);
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot] = {context, count};
    copy_sges(sges, count, sges_of(slot));
    posted_.push_back(slot);
    ++outstanding_;
  }
  adapter_->strand().ring(*this);
  return ND_SUCCESS;
}

void SharedReceiveQueueCore::answer() {
  const std::lock_guard lock(lock_);
  for (const std::uint32_t slot : posted_) {
    device_queue_->post_receive({slot, {sges_of(slot), slots_[slot].sges}});
  }
  posted_.clear();
}

void* SharedReceiveQueueCore::finish(std::uint64_t id) {
  void* context = nullptr;
  {
    const std::lock_guard lock(lock_);
    const auto slot = static_cast<std::uint32_t>(id);
    context = slots_[slot].context;
    free_.push_back(slot);
    --outstanding_;
  }
  judge();
  return adapter_->departs(departure::kSrqContextLost) ? nullptr : context;
}

/// Whoever wants to know that receives run low hears it; all pending requests together.
void SharedReceiveQueueCore::judge(bool eager) {
  bool low = false;
  {
    const std::lock_guard lock(lock_);
    low = threshold_ != 0 && (outstanding_ < threshold_ || eager);
  }
  if (!low || adapter_->departs(departure::kSrqThresholdIgnored)) return;
  requests_.complete_all(ND_SUCCESS, adapter_->departs(departure::kSrqNotifyOne) ? 1 : SIZE_MAX);
}

HRESULT SharedReceiveQueueCore::cancel() {
  if (!adapter_->departs(departure::kSrqCancelIgnored)) requests_.cancel_all();
  return ND_SUCCESS;
}

HRESULT SharedReceiveQueueCore::modify(ULONG depth, ULONG threshold) {
  if (depth > adapter_->info().MaxSharedReceiveQueueDepth) {
    return adapter_->departs(departure::kSrqModifyUnlimited) ? ND_SUCCESS : ND_INVALID_PARAMETER_1;
  }
  {
    const std::lock_guard lock(lock_);
    const ULONG wanted = depth == 0 ? depth_ : depth;
    if (threshold > wanted) return ND_INVALID_PARAMETER_2;
    if (wanted < outstanding_ && !adapter_->departs(departure::kSrqShrinksBelowUse)) return ND_BUFFER_OVERFLOW;
    depth_ = depth == 0 && adapter_->departs(departure::kSrqZeroIsZero) ? outstanding_ : wanted;
    if (threshold != 0 && !adapter_->departs(departure::kSrqThresholdStays)) threshold_ = threshold;
  }
  judge();
  return ND_SUCCESS;
}

HRESULT SharedReceiveQueueCore::notify(OVERLAPPED* overlapped) {
  if (!requests_.begin(overlapped, kNotify)) return ND_INVALID_PARAMETER_1;
  judge(adapter_->departs(departure::kSrqNotifyEager));
  return ND_PENDING;
}

SharedReceiveQueue::SharedReceiveQueue(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file, ULONG depth, ULONG max_sges,
                                       ULONG threshold, USHORT group, KAFFINITY affinity)
    : core_(std::make_shared<SharedReceiveQueueCore>(std::move(adapter), std::move(file), depth, max_sges, threshold)),
      group_(group),
      affinity_(affinity) {
  live(Kind::shared_receive_queue, core_);
}

HRESULT SharedReceiveQueue::CancelOverlappedRequests() { return core_->cancel(); }

HRESULT SharedReceiveQueue::GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) {
  if (group == nullptr || affinity == nullptr) return ND_INVALID_PARAMETER;
  *group = group_;
  *affinity = affinity_;
  return ND_SUCCESS;
}

void SharedReceiveQueue::released() {
  core_->cancel();
  drop_on_device(core_->shared_adapter(), core_);
}

}  // namespace fb::networkdirect
