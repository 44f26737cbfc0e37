// One end of a connection on any rdma::Device: a domain, a completion queue, a region, a queue pair; what its callbacks
// told.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::ndk::testing {

inline Bytes pattern(std::uint32_t seed, std::size_t size) {
  Bytes made(size);
  Rng rng(seed, "pattern");
  rng.fill(made);
  return made;
}

struct End final : rdma::ConnectionHandler, rdma::ListenHandler, rdma::CompletionHandler, rdma::SharedReceiveHandler {
  static constexpr auto kAll = rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read;

  explicit End(rdma::Device& d, bool with_shared_queue = false) : device(d), memory(1 << 16) {
    parameters.responder_resources = 4;
    parameters.initiator_depth = 8;
    domain = device.allocate_protection_domain();
    cq = device.create_completion_queue(256);
    if (with_shared_queue) shared = device.create_shared_receive_queue(*domain, 64, this);
    region = domain->register_memory(memory, kAll);
  }
  void make_qp() {
    rdma::QueuePairOptions options;
    options.send_queue = options.receive_queue = cq.get();
    options.shared_receive_queue = shared.get();
    options.send_entries = options.receive_entries = 32;
    options.context = this;
    options.handler = this;
    qp = device.create_queue_pair(*domain, options);
  }
  bool post_receive(std::uint64_t id, std::uint64_t offset = 0, std::uint32_t length = 4096) {
    const rdma::Sge sge = region->sge(offset, length);
    const rdma::ReceiveRequest request{id, {&sge, 1}};
    return shared != nullptr ? shared->post_receive(request) : qp->post_receive(request);
  }
  bool post(rdma::SendOpcode opcode, std::uint64_t id, std::uint64_t offset, std::uint32_t length,
            const std::function<void(rdma::SendRequest&)>& adjust = {}) {
    const rdma::Sge sge = region->sge(offset, length);
    rdma::SendRequest request;
    request.id = id;
    request.opcode = opcode;
    request.sges = {&sge, length > 0 ? 1u : 0u};
    if (adjust) adjust(request);
    return qp->post_send(request);
  }
  /// In place: the memory is registered.
  void fill(std::uint32_t seed) {
    const Bytes made = pattern(seed, memory.size());
    std::copy(made.begin(), made.end(), memory.begin());
  }
  void listen() { listener = std::move(device.listen(4420, *this)).value(); }
  void connect(const Endpoint& to) {
    parameters.private_data = request_data;
    qp->connect(to, parameters);
  }

  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override {
    asked.assign(request->facts().private_data.begin(), request->facts().private_data.end());
    asked_by = request->facts().peer;
    asked_reads = {request->facts().responder_resources, request->facts().initiator_depth};
    if (keep_request) {
      kept = std::move(request);
      return;
    }
    if (refuse) return request->reject(rdma::reject_reason::consumer_defined, reply_data);
    make_qp();
    if (qp == nullptr) return;
    for (int i = 0; i < receives; ++i) {
      const bool posted = post_receive(100u + static_cast<unsigned>(i));
      EXPECT_TRUE(posted || lenient);
    }
    parameters.private_data = reply_data;
    request->accept(*qp, parameters);
  }
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts& f) override {
    ++established;
    facts = f;
    told.assign(f.private_data.begin(), f.private_data.end());
    cq->request_notify(*this);
    if (then) then();
  }
  void on_accepted(rdma::QueuePair&, const rdma::ConnectionFacts& f) override {
    ++accepted;
    told.assign(f.private_data.begin(), f.private_data.end());
  }
  void on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView data) override {
    rejected = reason;
    told.assign(data.begin(), data.end());
  }
  void on_unreachable(rdma::QueuePair&) override { ++unreachable; }
  void on_disconnected(rdma::QueuePair&) override { ++disconnected; }
  void on_queue_error(rdma::QueuePair&) override { ++errors; }
  void on_limit(rdma::SharedReceiveQueue&) override { ++limits; }
  void on_completions() override {
    ++notified;
    take();
    cq->request_notify(*this);
  }
  void take() {
    rdma::Completion one[4];
    for (std::size_t n = cq->poll(one); n > 0; n = cq->poll(one)) all.insert(all.end(), one, one + n);
  }
  std::size_t count(rdma::CompletionStatus status) const {
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& c) { return c.status == status; }));
  }
  const rdma::Completion* find(std::uint64_t id) const {
    for (const rdma::Completion& completion : all) {
      if (completion.id == id) return &completion;
    }
    return nullptr;
  }

  rdma::Device& device;
  Bytes memory;
  rdma::ConnectionParameters parameters;
  Bytes request_data, reply_data, asked, told;
  Endpoint asked_by;
  std::pair<int, int> asked_reads;
  rdma::ConnectionFacts facts;
  std::function<void()> then;
  bool refuse = false, keep_request = false;
  bool lenient = false;  ///< the consumer departs: not everything works
  int receives = 4;
  int established = 0, accepted = 0, rejected = 0, unreachable = 0, disconnected = 0, errors = 0, notified = 0, limits = 0;
  std::vector<rdma::Completion> all;
  std::unique_ptr<rdma::ProtectionDomain> domain;
  std::unique_ptr<rdma::CompletionQueue> cq;
  std::unique_ptr<rdma::SharedReceiveQueue> shared;
  std::unique_ptr<rdma::MemoryRegion> region;
  std::unique_ptr<rdma::Listener> listener;
  std::unique_ptr<rdma::QueuePair> qp;
  std::unique_ptr<rdma::ConnectionRequest> kept;
};

}  // namespace fb::ndk::testing
