#include "networkdirect/ndk/consumer/queue_pair.h"

#include <algorithm>

#include "networkdirect/ndk/consumer/misdeeds.h"
#include "networkdirect/ndk/consumer/translate.h"

namespace fb::ndk::consumer {

using rdma::CompletionOpcode;
using rdma::QpState;

namespace {

template <class Wrapper, class Base>
auto core_of(Base* object) {
  return object == nullptr ? nullptr : static_cast<Wrapper*>(object)->core();
}

}  // namespace

QueuePairCore::QueuePairCore(std::shared_ptr<DomainCore> domain, std::shared_ptr<Shared> shared, const rdma::QueuePairOptions& options)
    : Object(std::move(shared)),
      domain_(std::move(domain)),
      send_queue_(core_of<CompletionQueue>(options.send_queue)),
      receive_queue_(core_of<CompletionQueue>(options.receive_queue)),
      shared_queue_(core_of<SharedQueue>(options.shared_receive_queue)),
      options_(options),
      number_(s.next_number++) {
  options_.send_entries = std::clamp(options.send_entries, 1u, std::max(s.info.MaxInitiatorQueueDepth, 1u));
  options_.receive_entries = std::clamp(options.receive_entries, 1u, std::max(s.info.MaxReceiveQueueDepth, 1u));
  options_.max_send_sges = std::clamp(options.max_send_sges, 1u, s.limits.max_sges);
  options_.max_receive_sges = std::clamp(options.max_receive_sges, 1u, s.limits.max_sges);
  s.by_number[number_] = this;
  if (send_queue_ != nullptr) send_queue_->attach(*this);
  if (receive_queue_ != nullptr && receive_queue_ != send_queue_) receive_queue_->attach(*this);
}

void QueuePairCore::open() {
  if (send_queue_ == nullptr || receive_queue_ == nullptr) return settle(STATUS_INVALID_PARAMETER);
  domain_->when_settled([this] {
    send_queue_->when_settled([this] {
      receive_queue_->when_settled([this] {
        if (shared_queue_ == nullptr) return create_queue_pair();
        shared_queue_->when_settled([this] { create_queue_pair(); });
      });
    });
  });
}

void QueuePairCore::create_queue_pair() {
  if (closing()) return settle(STATUS_CANCELLED);
  if (!domain_->ready() || !send_queue_->ready() || !receive_queue_->ready()) return settle(STATUS_INSUFFICIENT_RESOURCES);
  if (shared_queue_ != nullptr && !shared_queue_->ready()) return settle(STATUS_INSUFFICIENT_RESOURCES);
  NDK_PD& pd = domain_->pd();
  const auto context_of_results = reinterpret_cast<PVOID>(std::uintptr_t{number_});
  const ULONG sends = s.departs("qp.too_deep") ? s.info.MaxInitiatorQueueDepth + 1 : options_.send_entries;
  // Before Accept and Connect, which wait for the queue pair too: the peer may send as soon as they are called.
  when_settled([this] {
    if (closing()) return;
    if (!ready()) return broken();
    go_on_receiving();
  });
  create<NDK_QP>(
      [&](auto completion, PVOID context, NDK_QP** place) {
        if (shared_queue_ != nullptr) {
          return pd.Dispatch->NdkCreateQpWithSrq(&pd, &receive_queue_->cq(), &send_queue_->cq(), &shared_queue_->srq(), context_of_results,
                                                 sends, options_.max_send_sges, s.limits.max_inline_bytes, completion, context, place);
        }
        return pd.Dispatch->NdkCreateQp(&pd, &receive_queue_->cq(), &send_queue_->cq(), context_of_results, options_.receive_entries, sends,
                                        options_.max_receive_sges, options_.max_send_sges, s.limits.max_inline_bytes, completion, context,
                                        place);
      },
      [this](NTSTATUS status, NDK_OBJECT_HEADER* object) {
        qp_ = reinterpret_cast<NDK_QP*>(object);
        settle(status);
      });
}

void QueuePairCore::abandon() {
  owner = nullptr;
  s.world.loop().cancel(event_);
  s.by_number.erase(number_);
  if (send_queue_ != nullptr) send_queue_->detach(*this);
  if (receive_queue_ != nullptr) receive_queue_->detach(*this);
  late_sends_.clear();
  late_receives_.clear();
  // Memory is the user's again from now on.
  if (qp_ != nullptr && state_ != QpState::error && (!works_.empty() || receives_posted_ > 0 || connector_ != nullptr)) {
    state_ = QpState::error;
    flush();
  }
}

void QueuePairCore::begin_close() {
  if (phase_ == Phase::disconnecting) return;  // its end comes back here
  if (phase_ == Phase::connected && connector_ != nullptr && !s.departs("qp.closed_connected")) {
    phase_ = Phase::disconnecting;
    request([this](auto completion, PVOID context) { return connector_->Dispatch->NdkDisconnect(connector_, completion, context); },
            [this](NTSTATUS, NDK_OBJECT_HEADER*) {
              phase_ = Phase::over;
              begin_close();
            });
    return;
  }
  phase_ = Phase::over;
  may_close_ = true;
  hold();
  if (connector_ != nullptr) give_up_connector();
  unhold();
}

void QueuePairCore::unhold() {
  if (--holds_ == 0 && may_close_) close_queue_pair();
}

void QueuePairCore::close_queue_pair() {
  may_close_ = false;
  if (qp_ == nullptr || s.departs("qp.leaked")) return gone();
  NDK_QP& qp = *qp_;
  const bool later = s.departs("qp.used_after_close");
  close_object(s, "qp", qp.Dispatch->NdkCloseQp, qp.Header, [this] { gone(); });
  if (later) qp.Dispatch->NdkFlush(&qp);
}

// ---- receives ----

bool QueuePairCore::post_receive(const rdma::ReceiveRequest& request) {
  if (settled() && !ready()) return false;
  if (shared_queue_ != nullptr) return false;
  if (request.sges.size() > options_.max_receive_sges) return false;
  if (state_ == QpState::error) return push_flushed(request.id, CompletionOpcode::receive), true;
  if (late_receives_.size() + receives_posted_ >= options_.receive_entries) return false;
  const SgeList sges(s, request.sges);
  const bool kept_back = phase_ != Phase::connected && s.departs("receive.late");
  if (ready() && sges.missing == nullptr && late_receives_.empty() && !kept_back) return issue_receive(request.id, sges);
  late_receives_.push_back({request.id, {request.sges.begin(), request.sges.end()}});
  if (ready()) go_on_receiving();
  return true;
}

bool QueuePairCore::issue_receive(std::uint64_t id, const SgeList& sges) {
  const PVOID context = receives_.add(id);
  const NTSTATUS status = qp_->Dispatch->NdkReceive(qp_, context, sges.data(), sges.size());
  if (status != STATUS_SUCCESS) {
    receives_.take(context);
    return false;
  }
  ++receives_posted_;
  return true;
}

void QueuePairCore::go_on_receiving() {
  if (phase_ != Phase::connected && s.departs("receive.late")) return;
  while (!late_receives_.empty() && ready() && state_ != QpState::error) {
    const SgeList sges(s, late_receives_.front().sges);
    if (sges.missing != nullptr) {
      sges.missing->when_settled([weak = weak_from_this()] {
        if (const auto self = std::static_pointer_cast<QueuePairCore>(weak.lock())) self->go_on_receiving();
      });
      return;
    }
    const std::uint64_t id = late_receives_.front().id;
    late_receives_.pop_front();
    if (issue_receive(id, sges)) continue;
    // Promised before: it cannot be taken back, so that the queue pair ends.
    push_flushed(id, CompletionOpcode::receive);
    return broken();
  }
}

// ---- completions ----

bool QueuePairCore::convert(const NDK_RESULT_EX& result, bool extended, rdma::Completion& completion) {
  completion = {};
  completion.qp_number = number_;
  completion.qp_context = options_.context;
  if (ReceiveNames::is_receive(result.RequestContext)) {
    completion.opcode = CompletionOpcode::receive;
    completion.byte_length = result.BytesTransferred;
    if (shared_queue_ == nullptr) --receives_posted_;
    completion.id = (shared_queue_ != nullptr ? shared_queue_->names : receives_).take(result.RequestContext);
    if (extended && result.Status == STATUS_SUCCESS && result.Type == NdkOperationTypeReceiveAndInvalidate) {
      completion.has_invalidate = true;
      completion.invalidated_rkey = static_cast<std::uint32_t>(result.TypeSpecificCompletionOutput);
      // The region is free: so is what it was mapped by.
      if (RegionCore* const region = s.fast_region(completion.invalidated_rkey)) region->lam.reset();
    }
  } else {
    Work work;
    retire(reinterpret_cast<std::uintptr_t>(result.RequestContext) >> 1, work);
    completion.id = work.id;
    completion.opcode = work.opcode;
    completion.byte_length = work.opcode == CompletionOpcode::rdma_read ? result.BytesTransferred : 0;
  }
  completion.status = completion_status(result.Status, completion.opcode);
  // NDK has no other word for it.
  if (completion.status != rdma::CompletionStatus::success && state_ != QpState::error) {
    broken(completion.status == rdma::CompletionStatus::flushed);
  }
  return true;
}

/// Everything up to the one that completed is done: requests of one queue end in their order.
void QueuePairCore::retire(std::uint64_t sequence, Work& work) {
  BENCH_ASSERT(sequence >= first_work_ && sequence < first_work_ + works_.size(), "a completion belongs to a request in progress");
  while (first_work_ <= sequence) {
    work = std::move(works_.front());
    works_.pop_front();
    ++first_work_;
  }
}

void QueuePairCore::push_own(std::uint64_t id, CompletionOpcode opcode, rdma::CompletionStatus status) {
  rdma::Completion completion;
  completion.id = id;
  completion.status = status;
  completion.opcode = opcode;
  completion.qp_number = number_;
  completion.qp_context = options_.context;
  (opcode == CompletionOpcode::receive ? receive_queue_ : send_queue_)->push(completion);
}

void QueuePairCore::flush_late() {
  for (const LateSend& late : std::exchange(late_sends_, {})) push_flushed(late.request.id, completion_opcode(late.request.opcode));
  for (const LateReceive& late : std::exchange(late_receives_, {})) push_flushed(late.id, CompletionOpcode::receive);
}

void QueuePairCore::flush() {
  if (ready() && !s.departs("qp.not_flushed")) qp_->Dispatch->NdkFlush(qp_);
}

void QueuePairCore::to_error() {
  if (state_ == QpState::error) return;
  state_ = QpState::error;
  flush();
  flush_late();
}

void QueuePairCore::fail() { to_error(); }

void QueuePairCore::broken(bool flushed) {
  if (state_ == QpState::error) return;
  to_error();
  report({.kind = flushed ? Report::Kind::flushed : Report::Kind::failed});
}

}  // namespace fb::ndk::consumer
