#include "networkdirect/provider/completion_queue.h"

#include <algorithm>

#include "networkdirect/provider/fault_points.h"
#include "networkdirect/provider/queue_pair.h"

namespace fb::networkdirect {

namespace {

// Programs make queues that are shallower than the queue pairs on them, and flush all of those at once.
constexpr ULONG kLeastCapacity = 256;
ULONG capacity_for(ULONG depth) { return std::max(2 * depth, kLeastCapacity); }
ULONG capacity_for(const AdapterCore& adapter, ULONG depth) {
  return adapter.departs(departure::kExactQueue) ? depth : capacity_for(depth);
}

}  // namespace

CompletionQueueCore::CompletionQueueCore(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file, ULONG depth)
    : adapter_(std::move(adapter)),
      // Deeper than any ring of ours: what overruns is the ring.
      device_queue_(adapter_->device().create_completion_queue(capacity_for(adapter_->info().MaxCompletionQueueDepth))),
      requests_(std::move(file)),
      ring_(capacity_for(*adapter_, depth)),
      depth_(depth) {
  device_queue_->request_notify(*this);
}

CompletionQueueCore::~CompletionQueueCore() { device_queue_->cancel_notify(); }

bool CompletionQueueCore::wakes(ULONG type) const {
  const std::uint64_t from = adapter_->departs(departure::kNotifyAgain) ? taken_ : std::max(told_, taken_);
  if (type == ND_CQ_NOTIFY_ANY) return added_ > from;
  return type == ND_CQ_NOTIFY_SOLICITED && solicited_ > from;
}

HRESULT CompletionQueueCore::notify(ULONG type, OVERLAPPED* overlapped) {
  if (type > ND_CQ_NOTIFY_SOLICITED) return ND_INVALID_PARAMETER_1;
  const std::lock_guard lock(lock_);
  if (overrun_) return ND_BUFFER_OVERFLOW;
  if (!requests_.begin(overlapped, type)) return ND_INVALID_PARAMETER_2;
  if (overlapped->hEvent != nullptr && adapter_->departs(departure::kEventStaysSet)) SetEvent(overlapped->hEvent);
  if (wakes(type) && !adapter_->departs(departure::kNotifyIgnoresPresent)) {
    told_ = added_;
    requests_.complete_all(ND_SUCCESS);
  }
  return ND_PENDING;
}

void CompletionQueueCore::settle() {
  const std::lock_guard lock(lock_);
  const bool any = requests_.pending(ND_CQ_NOTIFY_ANY) && wakes(ND_CQ_NOTIFY_ANY);
  const bool solicited = requests_.pending(ND_CQ_NOTIFY_SOLICITED) &&
                         wakes(adapter_->departs(departure::kSolicitedIsAny) ? ND_CQ_NOTIFY_ANY : ND_CQ_NOTIFY_SOLICITED);
  const bool errors = requests_.pending(ND_CQ_NOTIFY_ERRORS) && wakes(ND_CQ_NOTIFY_ANY) && adapter_->departs(departure::kErrorsIsAny);
  if (!any && !solicited && !errors) return;
  told_ = added_;
  if (adapter_->departs(departure::kNotifyLost)) return;
  if (adapter_->departs(departure::kNotifyBackwards)) return requests_.complete_newest_first(ND_SUCCESS);
  if (adapter_->departs(departure::kNotifyNoUpgrade)) return requests_.complete_each(ND_CQ_NOTIFY_ANY, ND_SUCCESS);
  requests_.complete_all(ND_SUCCESS, adapter_->departs(departure::kNotifyOneOfMany) ? 1 : SIZE_MAX);
}

bool CompletionQueueCore::add(const ND2_RESULT& result, bool solicited) {
  const std::lock_guard lock(lock_);
  if (!overrun_ && added_ - taken_ == ring_.size()) fail();
  if (overrun_) return false;
  if (added_ - taken_ == ring_.size()) return true;  // a departure: lost without a word
  ring_[added_++ % ring_.size()] = result;
  if (solicited) solicited_ = added_;
  return true;
}

/// The queue is dead, and so are its queue pairs: their work can no longer be reported.
void CompletionQueueCore::fail() {
  overrun_ = true;
  adapter_->world().trace().mark("networkdirect.cq.overrun");
  if (adapter_->departs(departure::kOverrunSilent)) {
    overrun_ = false;
    return;
  }
  requests_.complete_all(ND_BUFFER_OVERFLOW);
}

ULONG CompletionQueueCore::take(ND2_RESULT* results, ULONG count) {
  if (results == nullptr) return 0;
  const std::lock_guard lock(lock_);
  const auto taken = static_cast<ULONG>(std::min<std::uint64_t>(count, added_ - taken_));
  for (ULONG i = 0; i < taken; ++i) results[i] = ring_[taken_++ % ring_.size()];
  if (taken == 0) return 0;
  const bool receives = results[0].RequestType == Nd2RequestTypeReceive;
  if (adapter_->departs(receives ? departure::kReceiveResultsBackwards : departure::kInitiatorResultsBackwards)) {
    std::reverse(results, results + taken);
  }
  if (adapter_->departs(departure::kResultsTwice)) taken_ -= taken;
  return taken;
}

HRESULT CompletionQueueCore::resize(ULONG depth) {
  if ((adapter_->info().AdapterFlags & ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) == 0) {
    return adapter_->departs(departure::kResizeUnsupportedTaken) ? ND_SUCCESS : ND_NOT_SUPPORTED;
  }
  const bool limited = depth == 0 || depth > adapter_->info().MaxCompletionQueueDepth;
  if (limited) return adapter_->departs(departure::kResizeUnlimited) ? ND_SUCCESS : ND_INVALID_PARAMETER;
  const std::lock_guard lock(lock_);
  if (added_ - taken_ > depth && !adapter_->departs(departure::kResizeDropsResults)) {
    return adapter_->departs(departure::kResizeSaysYes) ? ND_SUCCESS : ND_BUFFER_OVERFLOW;
  }
  std::vector<ND2_RESULT> ring(capacity_for(*adapter_, depth));
  if (adapter_->departs(departure::kResizeDropsResults)) taken_ = added_;
  for (std::uint64_t at = taken_; at < added_; ++at) ring[at % ring.size()] = ring_[at % ring_.size()];
  ring_ = std::move(ring);
  depth_ = depth;
  return ND_SUCCESS;
}

HRESULT CompletionQueueCore::cancel() {
  if (adapter_->departs(departure::kCancelBackwards)) requests_.complete_newest_first(ND_CANCELED);
  if (adapter_->departs(departure::kCancelLooksGood)) requests_.complete_all(ND_SUCCESS);
  if (adapter_->departs(departure::kCancelOtherCode)) requests_.complete_all(ND_UNSUCCESSFUL);
  requests_.cancel_all();
  return adapter_->departs(departure::kCancelNothingFails) ? ND_UNSUCCESSFUL : ND_SUCCESS;
}

void CompletionQueueCore::close() {
  if (adapter_->departs(departure::kReleaseForgetsRequests)) requests_.forget();
  requests_.cancel_all();
}

void CompletionQueueCore::drain() {
  std::array<rdma::Completion, 32> batch;
  std::size_t count = 0;
  do {
    count = device_queue_->poll(batch);
    for (std::size_t i = 0; i < count; ++i) {
      static_cast<QueuePairCore*>(batch[i].qp_context)->on_completion(*this, batch[i]);
    }
  } while (count == batch.size());
}

void CompletionQueueCore::on_completions() {
  drain();
  settle();
  device_queue_->request_notify(*this);
}

CompletionQueue::CompletionQueue(std::shared_ptr<AdapterCore> adapter, win32::OverlappedFile file, ULONG depth, USHORT group,
                                 KAFFINITY affinity)
    : core_(std::make_shared<CompletionQueueCore>(std::move(adapter), std::move(file), depth)), group_(group), affinity_(affinity) {
  live(Kind::completion_queue, core_);
}

HRESULT CompletionQueue::GetNotifyAffinity(USHORT* group, KAFFINITY* affinity) {
  if (group == nullptr || affinity == nullptr) return ND_INVALID_PARAMETER;
  if (departs(departure::kAffinityFails)) return ND_UNSUCCESSFUL;
  *group = group_;
  *affinity = affinity_;
  return ND_SUCCESS;
}

void CompletionQueue::released() {
  core_->close();
  drop_on_device(core_->shared_adapter(), core_);
}

}  // namespace fb::networkdirect
