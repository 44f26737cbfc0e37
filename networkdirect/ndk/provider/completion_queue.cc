#include "networkdirect/ndk/provider/completion_queue.h"

#include <algorithm>

#include "networkdirect/ndk/provider/queue_pair.h"

namespace fb::ndk::provider {

namespace {

constexpr ULONG kInfinite = ~ULONG{0};
constexpr std::size_t kBatch = 16;
constexpr std::uint64_t kResultsUntilFailure = 4;  // of a card that breaks

}  // namespace

CompletionQueue::CompletionQueue(Adapter& adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK callback, PVOID context)
    : NDK_CQ{},
      Object(adapter, NdkObjectTypeCq),
      // Deeper than any ring of ours: what overruns is the ring.
      device_(adapter.device().create_completion_queue(adapter.info().MaxCqDepth + 1)),
      callback_(callback),
      context_(context),
      depth_(depth),
      ring_(depth) {
  begin_header(Header, adapter, NdkObjectTypeCq);
  Dispatch = &adapter.tables().cq;
}

CompletionQueue::~CompletionQueue() = default;

NTSTATUS CompletionQueue::create(NDK_ADAPTER* ndk, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK callback, PVOID callback_context,
                                 GROUP_AFFINITY*, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_CQ** place) {
  auto& adapter = of<Adapter>(ndk);
  if (depth == 0 || depth > adapter.info().MaxCqDepth) {
    if (!adapter.departs(departure::kCqDepthUnchecked)) return STATUS_INVALID_PARAMETER;
    depth = adapter.info().MaxCqDepth;
  }
  return adapter.answer_creation(STATUS_SUCCESS, new CompletionQueue(adapter, depth, callback, callback_context), completion, context,
                                 place);
}

void CompletionQueue::begin_close() {
  armed_ = kUnarmed;
  adapter().world().loop().cancel(call_event_);
  adapter().world().loop().cancel(moderation_event_);
  device_->cancel_notify();
}

void CompletionQueue::take_down() {
  device_.reset();
  if (!adapter().departs(departure::kCallsAfterClose)) return;
  adapter().call_back_later([callback = callback_, context = context_] { callback(context, STATUS_CANCELLED); });
}

// ---------------------------------------------------------------- results

void CompletionQueue::add(const NDK_RESULT_EX& result, bool wakes_solicited) {
  if (adapter().hooked() && added_ >= kResultsUntilFailure && adapter().departs(departure::kQueuesFail)) {
    status_ = STATUS_INTERNAL_ERROR;
    return;
  }
  if (added_ - taken_ >= ring_.size()) {
    if (status_ == STATUS_SUCCESS && !adapter().departs(departure::kOverrunSilent)) fail();
    return;
  }
  ring_[added_++ % ring_.size()] = result;
  if (!wakes_solicited) return;
  if (adapter().hooked() && result.Status != STATUS_SUCCESS && adapter().departs(departure::kArmSolicitedMissesErrors)) return;
  solicited_ = added_;
}

/// Results are lost: the queue is dead, and so are its queue pairs, whose work can no longer be reported.
void CompletionQueue::fail() {
  status_ = adapter().departs(departure::kOverrunStatusWrong) ? STATUS_INTERNAL_ERROR : STATUS_BUFFER_OVERFLOW;
  adapter().world().trace().mark("ndk.cq.overrun");
  if (adapter().departs(departure::kOverrunLeavesQueuePairs)) return;
  for (QueuePair* const qp : users_) adapter().note_broken(*qp);
}

void CompletionQueue::drain() {
  std::array<rdma::Completion, kBatch> batch;
  std::size_t count = 0;
  do {
    count = device_->poll(batch);
    for (std::size_t i = 0; i < count; ++i) {
      NDK_RESULT_EX result;
      if (static_cast<QueuePair*>(batch[i].qp_context)->convert(batch[i], result)) {
        add(result, batch[i].solicited || result.Status != STATUS_SUCCESS);
      }
    }
  } while (count == batch.size());
}

template <class Take>
ULONG CompletionQueue::take(ULONG count, Take&& take_one) {
  ULONG taken = 0;
  while (taken < count) {
    while (taken < count && taken_ != added_) take_one(taken++, ring_[taken_++ % ring_.size()]);
    if (taken == count) break;
    std::array<rdma::Completion, kBatch> batch;
    const std::size_t room = std::min<std::size_t>(batch.size(), count - taken);
    const std::size_t found = device_->poll({batch.data(), room});
    for (std::size_t i = 0; i < found; ++i) {
      NDK_RESULT_EX result;
      if (!static_cast<QueuePair*>(batch[i].qp_context)->convert(batch[i], result)) continue;
      // Entered and taken at once.
      ++added_;
      ++taken_;
      if (batch[i].solicited || result.Status != STATUS_SUCCESS) solicited_ = added_;
      take_one(taken++, result);
    }
    if (adapter().any_broken()) [[unlikely]] {
      // Adds to the ring what was outstanding: taken in the next turn.
      adapter().end_broken();
      continue;
    }
    if (found < room) break;
  }
  return taken;
}

ULONG CompletionQueue::get_results(NDK_CQ* ndk, NDK_RESULT results[], ULONG count) {
  auto& queue = of<CompletionQueue>(ndk);
  return queue.take(count, [&](ULONG at, const NDK_RESULT_EX& result) {
    results[at] = {result.Status, result.BytesTransferred, result.QPContext, result.RequestContext};
  });
}

ULONG CompletionQueue::get_results_ex(NDK_CQ* ndk, NDK_RESULT_EX results[], ULONG count) {
  auto& queue = of<CompletionQueue>(ndk);
  const ULONG taken = queue.take(count, [&](ULONG at, const NDK_RESULT_EX& result) { results[at] = result; });
  if (taken > 1 && queue.adapter().departs(departure::kResultsOutOfOrder)) std::swap(results[0], results[taken - 1]);
  return taken;
}

NTSTATUS CompletionQueue::resize(NDK_CQ* ndk, ULONG depth, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& queue = of<CompletionQueue>(ndk);
  if (queue.adapter().departs(departure::kNoResize)) return STATUS_NOT_SUPPORTED;
  if (depth == 0 || depth > queue.adapter().info().MaxCqDepth) {
    if (!queue.adapter().departs(departure::kCqDepthUnchecked)) return STATUS_INVALID_PARAMETER;
    depth = queue.adapter().info().MaxCqDepth;
  }
  return queue.adapter().answer(queue, completion, context, [&queue, depth] { return queue.do_resize(depth); });
}

NTSTATUS CompletionQueue::do_resize(ULONG depth) {
  drain();
  adapter().end_broken();
  if (added_ - taken_ > depth) {
    if (!adapter().departs(departure::kResizeBelowContents)) return STATUS_BUFFER_OVERFLOW;
    taken_ = added_ - depth;
  }
  if (adapter().departs(departure::kResizeDropsResults)) taken_ = added_;
  std::vector<NDK_RESULT_EX> ring(depth);
  for (std::uint64_t at = taken_; at < added_; ++at) ring[at % depth] = ring_[at % ring_.size()];
  ring_ = std::move(ring);
  depth_ = depth;
  settle();
  return STATUS_SUCCESS;
}

// ---------------------------------------------------------------- notification

VOID CompletionQueue::arm(NDK_CQ* ndk, ULONG type) {
  auto& queue = of<CompletionQueue>(ndk);
  Adapter& a = queue.adapter();
  if (type > NDK_CQ_NOTIFY_SOLICITED) return;
  if (queue.calling_ && a.departs(departure::kArmInsideLost)) return;
  // ANY wins over all, SOLICITED over ERRORS.
  const auto rank = [](ULONG of_type) { return of_type == NDK_CQ_NOTIFY_ANY ? 2 : of_type == NDK_CQ_NOTIFY_SOLICITED ? 1 : 0; };
  if (queue.armed_ == kUnarmed || rank(type) > rank(queue.armed_) || a.departs(departure::kArmWeakerWins)) queue.armed_ = type;
  queue.drain();
  if (a.any_broken()) a.end_broken();
  if (a.departs(departure::kArmIgnoresPresent)) queue.told_ = queue.added_;
  if (a.miniport().options.notify_inside_arm && !queue.calling_ && !queue.call_event_.scheduled() && queue.due()) {
    queue.call();
    return;
  }
  queue.settle();
  queue.watch();
}

/// Whether there is something new that the armed type waits for, moderation aside.
bool CompletionQueue::due() const {
  if (armed_ == kUnarmed) return false;
  if (status_ != STATUS_SUCCESS && !status_told_) return true;
  const std::uint64_t from = std::max(told_, taken_);
  const Adapter& a = adapter();
  switch (armed_) {
    case NDK_CQ_NOTIFY_ANY:
      break;
    case NDK_CQ_NOTIFY_SOLICITED:
      if (solicited_ > from) return true;
      if (!a.hooked() || !a.departs(departure::kArmSolicitedIsAny)) return false;
      break;
    default:
      if (!a.hooked() || !a.departs(departure::kArmErrorsIsAny)) return false;
      break;
  }
  return added_ > from;
}

void CompletionQueue::settle() {
  if (calling_ || call_event_.scheduled() || !due()) return;
  Loop& loop = adapter().world().loop();
  const bool moderated = moderation_us_ > 0 && moderation_count_ > 1 && status_ == STATUS_SUCCESS && !moderation_over_;
  if (moderated && added_ - std::max(told_, taken_) < moderation_count_) {
    if (!moderation_event_.scheduled() && moderation_us_ != kInfinite) {
      loop.schedule_after(moderation_event_, Duration::us(moderation_us_));
    }
    return;
  }
  loop.schedule(call_event_, adapter().world().now());
}

void CompletionQueue::on_moderation_over() {
  moderation_over_ = true;
  settle();
}

void CompletionQueue::call() {
  Adapter& a = adapter();
  if (armed_ == kUnarmed) return;
  a.world().loop().cancel(call_event_);
  a.world().loop().cancel(moderation_event_);
  moderation_over_ = false;
  told_ = added_;
  status_told_ = status_ != STATUS_SUCCESS;
  armed_ = kUnarmed;
  const bool hooked = a.hooked();
  if (hooked && a.departs(departure::kNotifyUnarmed)) armed_ = NDK_CQ_NOTIFY_ANY;
  if (hooked && a.departs(departure::kNotifyLost)) return;
  const NTSTATUS status = status_;
  const Pin pin(*this);
  calling_ = true;
  a.bring_copies_up_to_date();
  a.call_back([&] { callback_(context_, status); });
  if (hooked && a.departs(departure::kNotifyTwice)) a.call_back([&] { callback_(context_, status); });
  calling_ = false;
  if (closing()) return;
  settle();
  watch();
}

/// The device tells as long as somebody waits.
void CompletionQueue::watch() {
  if (armed_ != kUnarmed && !call_event_.scheduled()) device_->request_notify(*this);
}

void CompletionQueue::on_completions() {
  drain();
  if (adapter().any_broken()) adapter().end_broken();
  settle();
  watch();
}

NTSTATUS CompletionQueue::control_moderation(NDK_CQ* ndk, ULONG interval_us, ULONG count) {
  auto& queue = of<CompletionQueue>(ndk);
  Adapter& a = queue.adapter();
  if (a.departs(departure::kNoModeration)) return STATUS_NOT_SUPPORTED;
  if (interval_us == kInfinite && count == kInfinite && !a.departs(departure::kModerationMixAccepted)) {
    return STATUS_INVALID_PARAMETER_MIX;
  }
  if (a.departs(departure::kModerationIgnored)) return STATUS_SUCCESS;
  queue.moderation_us_ = interval_us;
  queue.moderation_count_ = count;
  if (a.departs(departure::kModerationReplacedLate)) return STATUS_SUCCESS;
  queue.moderation_over_ = false;
  a.world().loop().cancel(queue.moderation_event_);
  queue.settle();
  return STATUS_SUCCESS;
}

}  // namespace fb::ndk::provider
