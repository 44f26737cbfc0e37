#include "model/transport/rdma_link.h"

#include <array>

#include "base/assert.h"

namespace fb::transport {

namespace {

constexpr std::size_t kPollBatch = 16;
constexpr std::uint32_t kSignalEvery = 16;

}  // namespace

std::unique_ptr<RdmaLink> RdmaLink::make(World& world, rdma::Device& device, rdma::ProtectionDomain& domain, const LinkOptions& options,
                                         LinkOwner& owner) {
  std::unique_ptr<RdmaLink> link(new RdmaLink(world, owner));
  link->capacity_ = options.send_entries;
  // A shared receive queue bounds the receives of a queue pair only together with the others'. A
  // host that sends more than twice its queue within one instant overruns itself alone.
  const std::uint32_t receives = options.receive_entries * (options.shared != nullptr ? 2 : 1);
  link->cq_ = device.create_completion_queue(options.send_entries + receives + 2);
  if (link->cq_ == nullptr) return nullptr;
  rdma::QueuePairOptions qp;
  qp.send_queue = qp.receive_queue = link->cq_.get();
  qp.shared_receive_queue = options.shared;
  qp.send_entries = options.send_entries;
  qp.receive_entries = options.shared != nullptr ? 0 : options.receive_entries;
  qp.max_send_sges = qp.max_receive_sges = 1;
  qp.handler = link.get();
  link->qp_ = device.create_queue_pair(domain, qp);
  if (link->qp_ == nullptr) return nullptr;
  return link;
}

RdmaLink::~RdmaLink() {
  if (cq_ != nullptr) cq_->cancel_notify();
}

void RdmaLink::start() { cq_->request_notify(*this); }

std::uint64_t RdmaLink::receive_id(std::uint32_t index) {
  return std::uint64_t{static_cast<std::uint8_t>(WorkKind::receive)} << 60 | std::uint64_t{index & kIndexMask} << 32;
}

void RdmaLink::post(rdma::SendRequest& request, WorkKind kind, std::uint32_t index) {
  BENCH_ASSERT(room() > 0, "a work request without room for it");
  ++posted_;
  request.id = std::uint64_t{static_cast<std::uint8_t>(kind)} << 60 | std::uint64_t{index & kIndexMask} << 32 | posted_;
  if (posted_ - signaled_ >= kSignalEvery) request.signaled = true;
  if (request.signaled) signaled_ = posted_;
  if (!qp_->post_send(request)) break_off("the queue pair takes no work");
}

void RdmaLink::break_off(std::string_view why) {
  if (why_broken_.empty()) why_broken_ = why;
  qp_->fail();
  if (!broken_.scheduled()) world_.loop().schedule_after(broken_, Duration::ns(0));
}

void RdmaLink::take_down() {
  qp_->fail();
  qp_->disconnect();
}

void RdmaLink::on_completions() {
  std::array<rdma::Completion, kPollBatch> batch;
  std::size_t count = kPollBatch;
  while (count == kPollBatch && owner_ != nullptr) {
    count = cq_->poll(batch);
    for (std::size_t i = 0; i < count && owner_ != nullptr; ++i) {
      const rdma::Completion& completion = batch[i];
      const auto kind = static_cast<WorkKind>(completion.id >> 60);
      if (kind != WorkKind::receive) retired_ = static_cast<std::uint32_t>(completion.id);
      owner_->on_completion(kind, static_cast<std::uint32_t>(completion.id >> 32) & kIndexMask, completion);
    }
  }
  if (owner_ != nullptr) cq_->request_notify(*this);
}

void RdmaLink::on_established(rdma::QueuePair&, const rdma::ConnectionFacts& facts) {
  if (owner_ != nullptr) owner_->on_established(facts);
}
void RdmaLink::on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView private_data) {
  if (owner_ != nullptr) owner_->on_rejected(reason, private_data);
}
void RdmaLink::on_unreachable(rdma::QueuePair&) {
  if (owner_ != nullptr) owner_->on_unreachable();
}
void RdmaLink::on_disconnected(rdma::QueuePair&) {
  if (owner_ != nullptr) owner_->on_disconnected();
}
void RdmaLink::on_queue_error(rdma::QueuePair&) {
  if (owner_ != nullptr) owner_->on_broken("the queue pair went into the error state");
}
void RdmaLink::on_broken() {
  if (owner_ != nullptr) owner_->on_broken(why_broken_);
}

RegisteredBlock make_block(rdma::ProtectionDomain& domain, std::size_t bytes) {
  RegisteredBlock block;
  block.memory = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
  block.region = domain.register_memory({block.memory.get(), bytes}, rdma::Access::local_write);
  return block;
}

BuriedLink::~BuriedLink() {
  link.reset();
  for (RegisteredPool::Buffer* buffer : buffers) pool->release(buffer);
}

void Graveyard::bury(std::unique_ptr<BuriedLink> link) {
  buried_.push_back(std::move(link));
  if (!timer_.scheduled()) world_.loop().schedule_after(timer_, Duration::ns(0));
}

}  // namespace fb::transport
