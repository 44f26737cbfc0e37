#include "networkdirect/consumer/completion.h"

#include <algorithm>
#include <array>

#include "networkdirect/consumer/queue_pair.h"

namespace fb::networkdirect::consumer {

namespace {
constexpr std::size_t kBatch = 16;
}  // namespace

// ---------------------------------------------------------------- completion queues

CompletionQueue::~CompletionQueue() {
  forget_requests();
  if (object_) {
    // Of queue pairs that are gone.
    std::array<ND2_RESULT, kBatch> results;
    while (object_->GetResults(results.data(), kBatch) == kBatch) {
    }
  }
  s_.release(object_, "completion_queue.leaked", "completion_queue.used_after_release", [](IND2CompletionQueue& stale) {
    ND2_RESULT result;
    stale.GetResults(&result, 1);
  });
}

std::size_t CompletionQueue::poll(std::span<rdma::Completion> completions) {
  if (own_.empty()) return take(completions);
  const std::size_t count = std::min(own_.size(), completions.size());
  const auto end = own_.begin() + static_cast<std::ptrdiff_t>(count);
  std::copy(own_.begin(), end, completions.begin());
  own_.erase(own_.begin(), end);
  return count + take(completions.subspan(count));
}

std::size_t CompletionQueue::take(std::span<rdma::Completion> completions) {
  std::array<ND2_RESULT, kBatch> results;
  std::size_t taken = 0;
  if (s_.departs("completion_queue.results_untaken")) return 0;
  while (taken < completions.size()) {
    const auto wanted = static_cast<ULONG>(std::min(completions.size() - taken, kBatch));
    const ULONG count = object_->GetResults(results.data(), wanted);
    for (ULONG i = 0; i < count; ++i) {
      QueuePair* const qp = s_.queue_pairs.find(results[i].QueuePairContext);
      if (qp != nullptr && qp->convert(results[i], completions[taken])) ++taken;
    }
    if (count == wanted) continue;
    left_ = false;
    break;
  }
  return taken;
}

void CompletionQueue::pull() {
  std::array<rdma::Completion, kBatch> batch;
  std::size_t count = 0;
  do {
    count = take(batch);
    own_.insert(own_.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
  } while (count == batch.size());
}

void CompletionQueue::push(const rdma::Completion& completion) {
  pull();
  own_.push_back(completion);
  if (handler_ != nullptr && !event_.scheduled()) s_.world.loop().schedule(event_, s_.world.now());
}

void CompletionQueue::request_notify(rdma::CompletionHandler& handler, bool solicited_only) {
  handler_ = &handler;
  if (left_) pull();
  if (!own_.empty()) {
    if (!event_.scheduled()) s_.world.loop().schedule(event_, s_.world.now());
    return;
  }
  if (s_.departs("completion_queue.notify_type")) {
    s_.mailbox->start_unheard([&](OVERLAPPED* overlapped) { return object_->Notify(3, overlapped); });
  }
  if (!solicited_only) return arm(ND_CQ_NOTIFY_ANY);
  if (any_pending_) {
    // It would tell of too much.
    forget_requests();
    any_pending_ = solicited_pending_ = false;
    object_->CancelOverlappedRequests();
  }
  arm(ND_CQ_NOTIFY_SOLICITED);
}

void CompletionQueue::arm(ULONG type) {
  bool& pending = type == ND_CQ_NOTIFY_ANY ? any_pending_ : solicited_pending_;
  if (std::exchange(pending, true)) return;
  s_.mailbox->start(*this, *object_, type, [&](OVERLAPPED* overlapped) { return object_->Notify(type, overlapped); });
}

void CompletionQueue::cancel_notify() {
  handler_ = nullptr;
  s_.world.loop().cancel(event_);
}

void CompletionQueue::on_done(unsigned what, HRESULT status) {
  (what == ND_CQ_NOTIFY_ANY ? any_pending_ : solicited_pending_) = false;
  if (status == ND_CANCELED) return;
  left_ = true;
  if (FAILED(status)) {
    // The queue is dead, and so are all that end in it.
    for (QueuePair* qp : std::vector<QueuePair*>(users_)) qp->broken();
  }
  notify();
}

void CompletionQueue::notify() {
  s_.world.loop().cancel(event_);
  if (rdma::CompletionHandler* handler = std::exchange(handler_, nullptr)) handler->on_completions();
}

// ---------------------------------------------------------------- shared receive queues

SgeList::SgeList(const Shared& shared, std::span<const rdma::Sge> sges, bool copied) : size_(static_cast<ULONG>(sges.size())) {
  std::ranges::transform(sges, list_, [&](const rdma::Sge& sge) { return shared.regions.translate(sge); });
  if (shared.options.hooks == nullptr) return;
  if (size_ > 0 && shared.departs("post.bad_token")) list_[0].MemoryRegionToken ^= 0x5A5A00;
  if (size_ > 0 && shared.stale_token != 0 && shared.departs("post.stale_token")) list_[0].MemoryRegionToken = shared.stale_token;
  const RegionTable::Entry* const entry = size_ > 0 ? shared.regions.find(sges[0].lkey) : nullptr;
  // Inline data are read in the call, whatever lies there.
  if (entry != nullptr && !copied && shared.departs("post.beyond_region")) list_[0].Buffer = entry->data + entry->length;
  if (shared.departs("post.too_many_sges")) {
    // Beyond what adapters have in reserve, too.
    const ULONG most = std::min(std::max(shared.info.MaxInitiatorSge, shared.info.MaxReceiveSge) + 2, ULONG{kMost + 2});
    while (size_ < most) list_[size_++] = {nullptr, 0, 0};
  }
}

SharedQueue::~SharedQueue() {
  forget_requests();
  s_.release(object_, "shared_queue.leaked", "shared_queue.used_after_release",
             [](IND2SharedReceiveQueue& stale) { stale.Receive(nullptr, nullptr, 0); });
}

bool SharedQueue::post_receive(const rdma::ReceiveRequest& request) {
  if (request.sges.size() > s_.limits.max_sges) return false;
  const SgeList sges(s_, request.sges);
  return object_->Receive(reinterpret_cast<void*>(request.id), sges.data(), sges.size()) == ND_SUCCESS;
}

void SharedQueue::arm_limit(std::uint32_t entries) {
  armed_ = entries > 0;
  if (!armed_) return;
  if (entries > entries_) {
    // There cannot be that many: they are fewer now.
    if (!event_.scheduled()) s_.world.loop().schedule(event_, s_.world.now());
    return;
  }
  if (s_.departs("shared_queue.threshold_too_large")) entries = s_.info.MaxSharedReceiveQueueDepth + 1;
  object_->Modify(0, entries);
  if (std::exchange(pending_, true)) return;
  s_.mailbox->start(*this, *object_, 0, [&](OVERLAPPED* overlapped) { return object_->Notify(overlapped); });
}

void SharedQueue::on_done(unsigned, HRESULT status) {
  pending_ = false;
  if (status == ND_SUCCESS) report();
}

void SharedQueue::report() {
  s_.world.loop().cancel(event_);
  if (std::exchange(armed_, false) && handler_ != nullptr) handler_->on_limit(*this);
}

}  // namespace fb::networkdirect::consumer
