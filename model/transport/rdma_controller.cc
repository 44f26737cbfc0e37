#include "model/transport/rdma_controller.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "model/transport/rdma_controller_channel.h"

namespace fb::transport {

namespace {

constexpr std::size_t kBlockBuffers = 128;

}  // namespace

Result<std::unique_ptr<RdmaControllerFabric>> RdmaControllerFabric::start(World& world, rdma::Device& device,
                                                                          const ControllerFabricOptions& options,
                                                                          ControllerAcceptor& acceptor, TransportHooks* hooks) {
  std::unique_ptr<RdmaControllerFabric> fabric(new RdmaControllerFabric(world, device, options, acceptor, hooks));
  auto listener = device.listen(options.port, *fabric);
  if (!listener.ok()) return Failure{listener.error()};
  fabric->listener_ = std::move(listener).value();
  fabric->local_ = fabric->listener_->local();
  return fabric;
}

RdmaControllerFabric::RdmaControllerFabric(World& world, rdma::Device& device, const ControllerFabricOptions& options,
                                           ControllerAcceptor& acceptor, TransportHooks* hooks)
    : world_(world),
      device_(device),
      options_(options),
      acceptor_(acceptor),
      hooks_(hooks),
      limits_(device.limits()),
      domain_(device.allocate_protection_domain()),
      pool_(std::make_unique<RegisteredPool>(*domain_, std::max<std::size_t>(options.transfer_bytes_max, capsule_bytes()) + 64)),
      graveyard_(world) {
  options_.msdbd = static_cast<std::uint8_t>(std::clamp<std::size_t>(options.msdbd, 1, kSegmentsMax));
  const std::size_t own = std::size_t{options.io_queues_max} * options.io_entries_max * capsule_bytes();
  shares_ = own > options.receive_memory_max;
}

RdmaControllerFabric::~RdmaControllerFabric() = default;

std::size_t RdmaControllerFabric::memory_held() const {
  return pool_->bytes_held() + shared_total_ * capsule_bytes() + contexts_.size() * sizeof(ResponseContext);
}

// ---- connections ----

void RdmaControllerFabric::refuse(rdma::ConnectionRequest& request, const QueueRefusal& refusal) {
  world_.trace().mark(refusal.check);
  const Bytes private_data = make_queue_reject(refusal.status, hooks_);
  const bool other_reason = departs(hooks_, "rdma.reject.reason");
  request.reject(other_reason ? rdma::reject_reason::no_resources : rdma::reject_reason::consumer_defined, private_data);
}

void RdmaControllerFabric::on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) {
  const rdma::ConnectionFacts& facts = request->facts();
  if (hooks_ != nullptr) hooks_->private_data_in("req", facts.private_data);
  const auto refusal = check_queue_request(facts.private_data, facts.responder_resources, options_, connections_, hooks_);
  if (refusal) return refuse(*request, *refusal);
  auto channel = std::make_unique<RdmaControllerChannel>(*this, read_queue_request(facts.private_data), facts);
  if (!channel->open()) {
    return refuse(*request, {"rdma.reject.resources", fabrics::RdmaRejectStatus::no_resources});
  }
  channel->accept(*request);
  accepting_.push_back(std::move(channel));
}

void RdmaControllerFabric::adopt(RdmaControllerChannel& channel) {
  const auto found = std::find_if(accepting_.begin(), accepting_.end(), [&](const auto& c) { return c.get() == &channel; });
  BENCH_ASSERT(found != accepting_.end(), "an established channel was accepted before");
  std::unique_ptr<RdmaControllerChannel> owned = std::move(*found);
  accepting_.erase(found);
  acceptor_.on_channel(std::move(owned));
}

void RdmaControllerFabric::discard(RdmaControllerChannel& channel) {
  std::erase_if(accepting_, [&](const auto& c) { return c.get() == &channel; });
}

// ---- receive buffers of the I/O queues together ----

rdma::SharedReceiveQueue* RdmaControllerFabric::shared_queue() {
  if (shared_queue_ == nullptr) {
    const std::size_t most = std::min<std::size_t>(options_.receive_memory_max / capsule_bytes(), limits_.max_queue_entries);
    const auto entries = static_cast<std::uint32_t>(std::max(most, kBlockBuffers));
    shared_queue_ = device_.create_shared_receive_queue(*domain_, entries, nullptr);
  }
  return shared_queue_.get();
}

/// One buffer for each entry of each queue, up to the bound: beyond it the queues take turns.
void RdmaControllerFabric::reserve_receives(std::uint32_t entries) {
  shared_wanted_ += entries;
  const std::size_t most =
      std::max(kBlockBuffers, std::min<std::size_t>(options_.receive_memory_max / capsule_bytes(), limits_.max_queue_entries) /
                                  kBlockBuffers * kBlockBuffers);
  while (shared_total_ < std::min(shared_wanted_, most)) {
    shared_blocks_.push_back(make_block(*domain_, kBlockBuffers * capsule_bytes()));
    for (std::size_t i = 0; i < kBlockBuffers; ++i) {
      post_shared(static_cast<std::uint32_t>(shared_total_++));
    }
  }
}

rdma::Sge RdmaControllerFabric::shared_buffer(std::uint32_t index) const {
  const rdma::MemoryRegion& region = *shared_blocks_[index / kBlockBuffers].region;
  return region.sge(index % kBlockBuffers * capsule_bytes(), static_cast<std::uint32_t>(capsule_bytes()));
}

std::uint8_t* RdmaControllerFabric::shared_memory(std::uint32_t index) const {
  return shared_blocks_[index / kBlockBuffers].memory.get() + index % kBlockBuffers * capsule_bytes();
}

void RdmaControllerFabric::post_shared(std::uint32_t index) {
  const rdma::Sge sge = shared_buffer(index);
  rdma::ReceiveRequest request;
  request.id = RdmaLink::receive_id(index);
  request.sges = {&sge, 1};
  const bool posted = shared_queue_->post_receive(request);
  BENCH_ASSERT(posted, "the shared receive queue holds every buffer there is");
  ++shared_posted_;
}

// ---- contexts of responses ----

ResponseContext& RdmaControllerFabric::acquire_context() {
  if (free_contexts_ == nullptr) {
    contexts_.push_back(std::make_unique<ResponseContext>());
    contexts_.back()->index = static_cast<std::uint32_t>(contexts_.size() - 1);
    return *contexts_.back();
  }
  ResponseContext& context = *free_contexts_;
  free_contexts_ = context.next;
  context.next = nullptr;
  return context;
}

void RdmaControllerFabric::release_context(ResponseContext& context) {
  if (context.capsule != nullptr) pool_->release(std::exchange(context.capsule, nullptr));
  if (context.staging != nullptr) pool_->release(std::exchange(context.staging, nullptr));
  context.next = free_contexts_;
  free_contexts_ = &context;
}

}  // namespace fb::transport
