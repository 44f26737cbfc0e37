#include "conformance/runner/verbs_user.h"

#include <algorithm>

#include "conformance/runner/real_time.h"

namespace fb::conformance {

std::string_view name_of(ConnectionEvent event) {
  constexpr std::string_view kNames[] = {"established", "rejected", "unreachable", "disconnected", "queue error"};
  return kNames[static_cast<std::size_t>(event)];
}

// ---- VerbsQueue ----

VerbsQueue::VerbsQueue(World& world, rdma::Device& device, rdma::ProtectionDomain& domain, const QueueTerms& terms,
                       rdma::SharedReceiveQueue* shared)
    : world_(world),
      send_queue_(device.create_completion_queue(terms.send_entries + 8)),
      receive_queue_(
          device.create_completion_queue(terms.receive_completions != 0 ? terms.receive_completions : terms.receive_entries + 8)),
      shared_(terms.shared_receives ? shared : nullptr) {
  rdma::QueuePairOptions options;
  options.send_queue = send_queue_.get();
  options.receive_queue = receive_queue_.get();
  options.shared_receive_queue = shared_;
  options.send_entries = terms.send_entries;
  options.receive_entries = terms.receive_entries;
  options.handler = this;
  qp_ = device.create_queue_pair(domain, options);
}

bool VerbsQueue::post_receive(VerbsMemory& memory, std::uint64_t id, std::uint64_t offset, std::uint32_t length) {
  const rdma::Sge sge = memory.region->sge(offset, length);
  const rdma::ReceiveRequest request{id, {&sge, length > 0 ? 1u : 0u}};
  return shared_ != nullptr ? shared_->post_receive(request) : qp_->post_receive(request);
}

bool VerbsQueue::post_send(rdma::SendRequest request, VerbsMemory& memory, std::uint64_t offset, std::uint32_t length) {
  const rdma::Sge sge = memory.region->sge(offset, length);
  request.sges = {&sge, length > 0 ? 1u : 0u};
  return qp_->post_send(request);
}

std::optional<rdma::Completion> VerbsQueue::wait(rdma::CompletionQueue& queue, std::deque<rdma::Completion>& kept, Duration limit) {
  const auto ready = [&] {
    rdma::Completion one[8];
    for (std::size_t n = queue.poll(one); n > 0; n = queue.poll(one)) {
      kept.insert(kept.end(), one, one + n);
    }
    // A real device does its work behind the loop's back.
    if (kept.empty() && world_.real_loop() != nullptr) queue.request_notify(*this);
    return !kept.empty();
  };
  if (!world_.run_until(ready, wait_limit(world_, limit))) return std::nullopt;
  const rdma::Completion first = kept.front();
  kept.pop_front();
  return first;
}

bool VerbsQueue::quiet_for(Duration span) {
  const Instant end = world_.now() + span;
  if (wait_send(span)) return false;
  return !wait_receive(end > world_.now() ? end - world_.now() : Duration{});
}

bool VerbsQueue::wait_state(rdma::QpState wanted, Duration limit) {
  return world_.run_until([&] { return qp_->state() == wanted; }, wait_limit(world_, limit));
}

bool VerbsQueue::happened(ConnectionEvent event) const { return std::find(events_.begin(), events_.end(), event) != events_.end(); }

bool VerbsQueue::wait_event(ConnectionEvent event, Duration limit) {
  return world_.run_until([&] { return happened(event); }, wait_limit(world_, limit));
}

void VerbsQueue::on_established(rdma::QueuePair&, const rdma::ConnectionFacts& facts) {
  facts_ = facts;
  private_data_.assign(facts.private_data.begin(), facts.private_data.end());
  facts_.private_data = {};
  events_.push_back(ConnectionEvent::established);
}

void VerbsQueue::on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView private_data) {
  reject_reason_ = reason;
  private_data_.assign(private_data.begin(), private_data.end());
  events_.push_back(ConnectionEvent::rejected);
}

void VerbsQueue::on_unreachable(rdma::QueuePair&) { events_.push_back(ConnectionEvent::unreachable); }
void VerbsQueue::on_disconnected(rdma::QueuePair&) { events_.push_back(ConnectionEvent::disconnected); }
void VerbsQueue::on_queue_error(rdma::QueuePair&) { events_.push_back(ConnectionEvent::queue_error); }

// ---- VerbsUser ----

namespace {

Bytes counting_bytes(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  return bytes;
}

}  // namespace

VerbsUser::VerbsUser(World& world, rdma::Device& device) : world_(world), device_(device), domain_(device.allocate_protection_domain()) {}

VerbsUser::~VerbsUser() {
  listeners_.clear();
  requests_.clear();
  queues_.clear();
  shared_.reset();
  memories_.clear();
}

VerbsMemory& VerbsUser::memory(std::size_t bytes, rdma::Access access) {
  VerbsMemory& made = memories_.emplace_back();
  made.bytes = counting_bytes(bytes);
  made.region = domain_->register_memory(made.bytes, access);
  return made;
}

VerbsMemory& VerbsUser::foreign_memory(std::size_t bytes, rdma::Access access) {
  if (!foreign_) foreign_ = device_.allocate_protection_domain();
  VerbsMemory& made = memories_.emplace_back();
  made.bytes = counting_bytes(bytes);
  made.region = foreign_->register_memory(made.bytes, access);
  return made;
}

VerbsMemory& VerbsUser::fast_memory(std::size_t bytes) {
  VerbsMemory& made = memories_.emplace_back();
  made.bytes = counting_bytes(bytes);
  made.region = domain_->allocate_fast_region(bytes);
  return made;
}

rdma::SharedReceiveQueue& VerbsUser::shared_receives(std::uint32_t entries) {
  if (!shared_) shared_ = device_.create_shared_receive_queue(*domain_, entries, this);
  return *shared_;
}

VerbsQueue& VerbsUser::make_queue(const QueueTerms& terms) {
  if (terms.shared_receives) shared_receives(terms.receive_entries);
  return *queues_.emplace_back(std::make_unique<VerbsQueue>(world_, device_, *domain_, terms, shared_.get()));
}

void VerbsUser::listen(std::uint16_t port, const ListenTerms& terms) {
  terms_ = terms;
  auto made = device_.listen(port, *this);
  if (!made) throw UserError(made.error().text);
  listeners_.push_back(std::move(made).value());
}

VerbsQueue& VerbsUser::accept(rdma::ConnectionRequest& request) {
  VerbsQueue& queue = make_queue(terms_.queue);
  if (terms_.receives > 0) {
    receive_memory_ = &memory(std::size_t{terms_.receives} * terms_.receive_bytes);
    for (std::uint32_t i = 0; i < terms_.receives; ++i) {
      queue.post_receive(*receive_memory_, i, std::uint64_t{i} * terms_.receive_bytes, terms_.receive_bytes);
    }
  }
  rdma::ConnectionParameters parameters;
  parameters.private_data = terms_.private_data;
  parameters.responder_resources = terms_.responder_resources;
  parameters.initiator_depth = terms_.initiator_depth;
  parameters.rnr_retry_count = terms_.rnr_retry_count;
  accepted_ = &queue;
  request.accept(queue.qp(), parameters);
  return queue;
}

ByteView VerbsUser::received(std::uint64_t id, std::size_t bytes) const {
  BENCH_ASSERT(receive_memory_ != nullptr, "no connection with receive buffers was accepted");
  return ByteView(receive_memory_->bytes).subspan(static_cast<std::size_t>(id) * terms_.receive_bytes, bytes);
}

VerbsQueue& VerbsUser::connect(const Endpoint& to, const rdma::ConnectionParameters& parameters, const QueueTerms& terms) {
  VerbsQueue& queue = make_queue(terms);
  queue.qp().connect(to, parameters);
  return queue;
}

void VerbsUser::on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) {
  ++requests_seen_;
  if (terms_.hold) {
    requests_.push_back(std::move(request));
  } else if (terms_.accept) {
    accept(*request);
  } else {
    request->reject(terms_.reject_reason, terms_.private_data);
  }
}

}  // namespace fb::conformance
