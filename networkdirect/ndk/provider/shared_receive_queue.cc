#include "networkdirect/ndk/provider/shared_receive_queue.h"

#include <algorithm>

#include "networkdirect/ndk/provider/queue_pair.h"

namespace fb::ndk::provider {

namespace {

// Most queues are never made deeper; those that are may become so twice without a line.
std::uint32_t capacity_for(ULONG depth, ULONG most) { return std::min<ULONG>(std::max<ULONG>(2 * depth, 256), most); }

}  // namespace

SharedReceiveQueue::SharedReceiveQueue(ProtectionDomain& domain, const Terms& terms)
    : NDK_SRQ{},
      Object(domain.adapter(), NdkObjectTypeSrq),
      domain_(domain),
      terms_(terms),
      capacity_(capacity_for(terms.depth, adapter().info().MaxSrqDepth)),
      device_(adapter().device().create_shared_receive_queue(domain.device_domain(), capacity_, this)) {
  begin_header(Header, adapter(), NdkObjectTypeSrq);
  Dispatch = &adapter().tables().srq;
  stand_on(domain);
  threshold_armed_ = terms.threshold > 0;
}

SharedReceiveQueue::~SharedReceiveQueue() = default;

NTSTATUS SharedReceiveQueue::create(NDK_PD* ndk, ULONG depth, ULONG max_sges, ULONG threshold, NDK_FN_SRQ_NOTIFICATION_CALLBACK callback,
                                    PVOID callback_context, GROUP_AFFINITY*, NDK_FN_CREATE_COMPLETION completion, PVOID context,
                                    NDK_SRQ** place) {
  auto& domain = of<ProtectionDomain>(ndk);
  Adapter& a = domain.adapter();
  const bool good = depth > 0 && depth <= a.info().MaxSrqDepth && max_sges <= a.info().MaxReceiveRequestSge && threshold <= depth;
  if (!good) {
    if (!a.departs(departure::kSrqLimitsUnchecked)) return STATUS_INVALID_PARAMETER;
    depth = std::clamp<ULONG>(depth, 1, a.info().MaxSrqDepth);
    max_sges = std::min(max_sges, a.info().MaxReceiveRequestSge);
  }
  auto* const made = new SharedReceiveQueue(domain, {depth, max_sges, threshold, callback, callback_context});
  return a.answer_creation(STATUS_SUCCESS, made, completion, context, place);
}

void SharedReceiveQueue::begin_close() { adapter().world().loop().cancel(notify_event_); }

void SharedReceiveQueue::take_down() { device_.reset(); }

NTSTATUS SharedReceiveQueue::receive(NDK_SRQ* ndk, PVOID context, const NDK_SGE* sges, ULONG count) {
  auto& queue = of<SharedReceiveQueue>(ndk);
  Adapter& a = queue.adapter();
  if (a.refuses()) return STATUS_INSUFFICIENT_RESOURCES;
  if (count > 0 && sges == nullptr) return STATUS_INVALID_PARAMETER;
  if (count > queue.terms_.max_sges) return STATUS_DATA_OVERRUN;
  if (total_length(sges, count) > a.info().MaxTransferLength) return STATUS_BUFFER_OVERFLOW;
  if (queue.outstanding_ >= queue.terms_.depth) {
    return a.departs(departure::kSrqFullSwallows) ? STATUS_SUCCESS : STATUS_NO_MORE_ENTRIES;
  }
  std::uint32_t slot = 0;
  if (queue.free_.empty()) {
    slot = static_cast<std::uint32_t>(queue.slots_.size());
    queue.slots_.emplace_back();
    queue.sges_.resize(queue.slots_.size() * queue.terms_.max_sges);
  } else {
    slot = queue.free_.back();
    queue.free_.pop_back();
  }
  queue.slots_[slot] = {context, count};
  rdma::Sge* const own = queue.sges_.data() + std::size_t{slot} * queue.terms_.max_sges;
  translate(queue.domain_, sges, count, own);
  ++queue.outstanding_;
  if (!queue.line_.empty() || !queue.device_->post_receive({slot, {own, count}})) queue.line_.push_back(slot);
  if (queue.threshold_armed_) queue.arm();
  return STATUS_SUCCESS;
}

PVOID SharedReceiveQueue::finish(std::uint64_t slot) {
  --outstanding_;
  free_.push_back(static_cast<std::uint32_t>(slot));
  if (!line_.empty()) feed();
  return slots_[slot].context;
}

void SharedReceiveQueue::feed() {
  while (!line_.empty()) {
    const std::uint32_t slot = line_.front();
    if (!device_->post_receive({slot, {sges_.data() + std::size_t{slot} * terms_.max_sges, slots_[slot].sges}})) return;
    line_.pop_front();
  }
}

/// "Falls below" needs a time when it was not: the device, asked too early, would tell at once.
void SharedReceiveQueue::arm() {
  if (outstanding_ < terms_.threshold) return;
  threshold_armed_ = false;
  device_->arm_limit(std::min(terms_.threshold, capacity_));
}

void SharedReceiveQueue::on_limit(rdma::SharedReceiveQueue&) {
  if (closing()) return;
  feed();
  if (adapter().departs(departure::kSrqThresholdIgnored)) return;
  if (!notify_event_.scheduled()) adapter().world().loop().schedule(notify_event_, adapter().world().now());
}

void SharedReceiveQueue::notify() {
  if (terms_.callback == nullptr) return;
  const Pin pin(*this);
  Adapter& a = adapter();
  a.call_back([&] { terms_.callback(terms_.context, STATUS_SUCCESS); });
  if (a.departs(departure::kSrqNotifiesTwice)) a.call_back([&] { terms_.callback(terms_.context, STATUS_SUCCESS); });
}

NTSTATUS SharedReceiveQueue::modify(NDK_SRQ* ndk, ULONG depth, ULONG threshold, NDK_FN_REQUEST_COMPLETION completion, PVOID context) {
  auto& queue = of<SharedReceiveQueue>(ndk);
  Adapter& a = queue.adapter();
  if (depth > a.info().MaxSrqDepth) return STATUS_INVALID_PARAMETER;
  if (threshold > (depth == 0 ? queue.terms_.depth : depth)) return STATUS_INVALID_PARAMETER;
  return a.answer(queue, completion, context, [&queue, depth, threshold] { return queue.do_modify(depth, threshold); });
}

NTSTATUS SharedReceiveQueue::do_modify(ULONG depth, ULONG threshold) {
  if (adapter().departs(departure::kSrqModifyIgnored)) return STATUS_SUCCESS;
  const ULONG wanted = depth == 0 && !adapter().departs(departure::kSrqZeroIsZero) ? terms_.depth : depth;
  if (wanted < outstanding_ && !adapter().departs(departure::kSrqShrinksBelowUse)) return STATUS_BUFFER_OVERFLOW;
  terms_.depth = wanted;
  if (threshold == 0) return STATUS_SUCCESS;
  terms_.threshold = threshold;
  threshold_armed_ = false;
  // Whoever sets it again wants to know at once when there are fewer already.
  device_->arm_limit(std::min(threshold, capacity_));
  return STATUS_SUCCESS;
}

}  // namespace fb::ndk::provider
