#include "sim/rdma/verbs/completion.h"

#include <algorithm>
#include <array>

#include "sim/rdma/verbs/queue_pair.h"
#include "sim/rdma/verbs/translate.h"

namespace fb::verbs {

namespace {
constexpr std::size_t kBatch = 16;
}  // namespace

// ---------------------------------------------------------------- completion queues

std::unique_ptr<CompletionQueue> CompletionQueue::make(Shared& shared, std::uint32_t entries) {
  Owned<ibv_comp_channel> channel(ibv_create_comp_channel(shared.context.get()));
  if (channel == nullptr) return nullptr;
  set_nonblocking(channel->fd);
  std::unique_ptr<CompletionQueue> made(new CompletionQueue(shared, std::move(channel)));
  const int depth = static_cast<int>(std::clamp<std::uint32_t>(entries, 1, 2 * shared.limits.max_queue_entries));
  made->object_.reset(ibv_create_cq(shared.context.get(), depth, made.get(), made->channel_.get(), 0));
  if (made->object_ == nullptr) return nullptr;
  shared.loop.watch(made->channel_->fd, *made);
  return made;
}

CompletionQueue::~CompletionQueue() {
  s_.loop.cancel(event_);
  if (object_ != nullptr) s_.loop.unwatch(channel_->fd);
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
  std::array<ibv_wc, kBatch> found;
  std::size_t taken = 0;
  while (taken < completions.size()) {
    const int wanted = static_cast<int>(std::min(kBatch, completions.size() - taken));
    const int count = ibv_poll_cq(object_.get(), wanted, found.data());
    if (count <= 0) break;
    for (const ibv_wc& one : std::span(found).first(static_cast<std::size_t>(count))) {
      QueuePair* const qp = s_.queue_pair(one.qp_num);
      if (qp != nullptr) completions[taken++] = qp->convert(one);
    }
    if (count < wanted) break;
  }
  return taken;
}

bool CompletionQueue::pull() {
  std::array<rdma::Completion, kBatch> batch;
  const std::size_t count = take(batch);
  own_.insert(own_.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
  return !own_.empty();
}

void CompletionQueue::arm(Armed wanted) {
  if (armed_ >= wanted) return;
  armed_ = wanted;
  const int error = ibv_req_notify_cq(object_.get(), wanted == Armed::solicited ? 1 : 0);
  if (error != 0) throw_problem(s_, "a completion queue gives no events", error);
}

void CompletionQueue::request_notify(rdma::CompletionHandler& handler, bool solicited_only) {
  handler_ = &handler;
  solicited_only_ = solicited_only;
  arm(solicited_only ? Armed::solicited : Armed::any);
  // What came before the queue was armed gives no event.
  if (pull()) s_.loop.schedule(event_, s_.world.now());
}

void CompletionQueue::cancel_notify() {
  handler_ = nullptr;
  s_.loop.cancel(event_);
}

void CompletionQueue::on_readable() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) {
    ibv_ack_cq_events(queue, 1);
    armed_ = Armed::no;
  }
  if (handler_ == nullptr) return;
  if (pull()) return notify();
  // It told of something that was polled meanwhile.
  arm(solicited_only_ ? Armed::solicited : Armed::any);
  if (pull()) notify();
}

bool CompletionQueue::poll() {
  if (handler_ == nullptr || !pull()) return false;
  notify();
  return true;
}

void CompletionQueue::notify() {
  s_.loop.cancel(event_);
  if (rdma::CompletionHandler* handler = std::exchange(handler_, nullptr)) handler->on_completions();
}

void CompletionQueue::overrun() {
  for (const auto& [number, qp] : s_.queue_pairs) {
    if (qp->uses(*this)) qp->broken();
  }
}

// ---------------------------------------------------------------- shared receive queues

SgeList::SgeList(std::span<const rdma::Sge> sges) : size_(static_cast<int>(sges.size())) {
  BENCH_ASSERT(sges.size() <= kMost, "no more pieces than the limits say");
  std::ranges::transform(sges, list_, [](const rdma::Sge& sge) { return ibv_sge{sge.address, sge.length, sge.lkey}; });
}

bool SharedQueue::post_receive(const rdma::ReceiveRequest& request) {
  if (request.sges.size() > s_.limits.max_sges) return false;
  SgeList sges(request.sges);
  ibv_recv_wr work = {};
  work.wr_id = request.id;
  work.sg_list = sges.data();
  work.num_sge = sges.size();
  ibv_recv_wr* bad = nullptr;
  return ibv_post_srq_recv(object_.get(), &work, &bad) == 0;
}

void SharedQueue::arm_limit(std::uint32_t entries) {
  armed_ = entries > 0;
  if (entries > entries_) {
    // There cannot be that many: they are fewer now.
    s_.loop.schedule(event_, s_.world.now());
    return;
  }
  ibv_srq_attr attributes = {};
  attributes.srq_limit = entries;
  const int error = ibv_modify_srq(object_.get(), &attributes, IBV_SRQ_LIMIT);
  if (error != 0) throw_problem(s_, "a shared receive queue takes no limit", error);
}

void SharedQueue::limit_reached() {
  if (!event_.scheduled()) s_.loop.schedule(event_, s_.world.now());
}

void SharedQueue::report() {
  if (std::exchange(armed_, false) && handler_ != nullptr) handler_->on_limit(*this);
}

}  // namespace fb::verbs
