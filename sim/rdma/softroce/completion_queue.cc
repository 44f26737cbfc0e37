#include "sim/rdma/softroce/completion_queue.h"

#include <algorithm>

#include "sim/rdma/softroce/finer_fault_points.h"

namespace fb::softroce {

std::size_t SoftCompletionQueue::poll(std::span<rdma::Completion> completions) {
  std::size_t taken = 0;
  while (taken < completions.size() && count_ > 0) {
    completions[taken] = ring_[first_];
    waking_ -= wakes(ring_[first_]) ? 1u : 0u;
    first_ = first_ + 1 == ring_.size() ? 0 : first_ + 1;
    --count_;
    ++taken;
  }
  return taken;
}

void SoftCompletionQueue::request_notify(rdma::CompletionHandler& handler, bool solicited_only) {
  handler_ = &handler;
  solicited_only_ = solicited_only;
  if ((solicited_only ? waking_ : count_) > 0) world_.loop().schedule(event_, world_.now());
}

void SoftCompletionQueue::cancel_notify() {
  handler_ = nullptr;
  world_.loop().cancel(event_);
}

bool SoftCompletionQueue::push(const rdma::Completion& completion) {
  if (count_ == ring_.size()) return false;
  std::size_t at = first_ + count_;
  if (at >= ring_.size()) at -= ring_.size();
  ring_[at] = completion;
  ++count_;
  const bool waking = wakes(completion);
  waking_ += waking ? 1u : 0u;
  if (handler_ != nullptr && (waking || !solicited_only_) && !event_.scheduled()) {
    world_.loop().schedule(event_, world_.now());
  }
  return true;
}

void SoftCompletionQueue::notify() {
  if (handler_ == nullptr) return;
  rdma::CompletionHandler* handler = handler_;
  handler_ = nullptr;
  handler->on_completions();
}

bool ReceiveRing::push(const rdma::ReceiveRequest& request) {
  if (count_ == entries_.size() || request.sges.size() > max_sges_) return false;
  std::uint64_t length = 0;
  for (const rdma::Sge& sge : request.sges) length += sge.length;
  if (length > 1u << 31) return false;
  std::size_t at = std::size_t{first_} + count_;
  if (at >= entries_.size()) at -= entries_.size();
  entries_[at] = {request.id, static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(request.sges.size())};
  std::copy(request.sges.begin(), request.sges.end(), sges_.begin() + static_cast<std::ptrdiff_t>(at * max_sges_));
  ++count_;
  return true;
}

bool ReceiveRing::pop(ReceiveEntry& entry, std::span<rdma::Sge> sges) {
  if (count_ == 0) return false;
  entry = entries_[first_];
  BENCH_ASSERT(sges.size() >= entry.sge_count, "the place for SGEs is as large as the ring's");
  std::copy_n(sges_.begin() + static_cast<std::ptrdiff_t>(std::size_t{first_} * max_sges_), entry.sge_count, sges.begin());
  first_ = first_ + 1 == entries_.size() ? 0 : first_ + 1;
  --count_;
  return true;
}

void SoftSharedReceiveQueue::arm_limit(std::uint32_t entries) {
  limit_ = entries;
  check_limit();
}

bool SoftSharedReceiveQueue::pop(ReceiveEntry& entry, std::span<rdma::Sge> sges) {
  if (!ring_.pop(entry, sges)) return false;
  check_limit();
  return true;
}

void SoftSharedReceiveQueue::check_limit() {
  const bool early = limit_ > 0 && departs(hooks_, finer::kLimitOneEarly);
  if (ring_.size() >= limit_ + (early ? 1 : 0)) return;
  limit_ = 0;  // one-shot
  if (handler_ != nullptr) world_.loop().schedule(event_, world_.now());
}

void SoftSharedReceiveQueue::report() { handler_->on_limit(*this); }

}  // namespace fb::softroce
