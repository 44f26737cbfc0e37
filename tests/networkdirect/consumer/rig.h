// Two ends of a connection in virtual time, on plain softroce or on NetworkDirect over it: what they do is the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "sim/net/network.h"
#include "networkdirect/consumer/networkdirect_device.h"
#include "networkdirect/provider/provider.h"
#include "networkdirect/verifier/verifier.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::networkdirect::testing {

enum class Kind { plain, stacked };
inline std::string name_of(Kind kind) { return kind == Kind::plain ? "Softroce" : "NetworkDirect"; }

inline Bytes pattern(std::uint64_t seed, std::size_t size) {
  Bytes made(size);
  Rng rng(seed, "pattern");
  rng.fill(made);
  return made;
}

/// Departs at the points that it was given, and remembers which were asked.
struct Hooks final : ConsumerHooks {
  std::set<std::string, std::less<>> points, asked;
  bool departs(std::string_view point) override {
    asked.emplace(point);
    return points.contains(point);
  }
};

/// What the verifier finds, which is nothing while a consumer is honest, and its user too.
struct Complaints final : verifier::FindingSink {
  std::string text;
  std::optional<verifier::Rule> but;  ///< that the user breaks, and the consumer leaves for the provider to find
  void found(const verifier::Finding& finding) override {
    if (but == finding.rule->rule) return;
    text += std::string(finding.rule->name) + ": " + finding.object + ": " + finding.text + "\n";
  }
};

/// A device at one address, and what lies under it. An honest consumer is watched.
struct Station {
  Station(World& world, net::SimHost& host, Kind kind, ConsumerHooks* hooks = nullptr) {
    softroce::SoftRoceOptions options;
    options.name = host.name();
    options.address = host.address();
    soft = softroce::make_softroce(world, host, options).value();
    if (kind == Kind::plain) return;
    IND2Provider* provider = nullptr;
    std::vector<std::shared_ptr<Place>> places = {make_inline_place(world, *soft)};
    EXPECT_EQ(make_provider(make_fixed_fabric(std::move(places)), IID_IND2Provider, reinterpret_cast<void**>(&provider)), ND_SUCCESS);
    if (hooks == nullptr) {
      // When Receives are posted is the user's choice, not the consumer's.
      watch = std::make_unique<verifier::Verifier>(verifier::VerifierOptions{.without = {verifier::Rule::receives_late}}, complaints);
      IND2Provider* const inner = std::exchange(provider, nullptr);
      EXPECT_EQ(watch->wrap_provider(*inner, IID_IND2Provider, reinterpret_cast<void**>(&provider)), ND_SUCCESS);
      inner->Release();
    }
    constexpr UINT64 kFirstId = 0xFAB0000000000001;
    EXPECT_EQ(provider->OpenAdapter(IID_IND2Adapter, kFirstId, reinterpret_cast<void**>(&adapter)), ND_SUCCESS);
    provider->Release();
    ConsumerOptions consumer;
    consumer.hooks = hooks;
    stacked = make_networkdirect_device(world, *adapter, consumer);
  }
  ~Station() {
    stacked.reset();
    if (adapter != nullptr) adapter->Release();
    if (watch != nullptr) watch->finish();
    EXPECT_EQ(complaints.text, "");
  }
  rdma::Device& device() { return stacked != nullptr ? *stacked : *soft; }

  std::unique_ptr<softroce::SoftRoceDevice> soft;
  Complaints complaints;
  std::unique_ptr<verifier::Verifier> watch;
  IND2Adapter* adapter = nullptr;
  std::unique_ptr<rdma::Device> stacked;
};

struct EndOptions {
  bool shared_queue = false;
  std::uint32_t entries = 32;
};

/// A domain, a completion queue, a region, a queue pair; what its callbacks told.
struct End final : rdma::ConnectionHandler, rdma::ListenHandler, rdma::CompletionHandler, rdma::SharedReceiveHandler {
  static constexpr auto kAll = rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read;

  End(rdma::Device& d, const EndOptions& o) : device(d), options(o), memory(1 << 16) {
    domain = device.allocate_protection_domain();
    cq = device.create_completion_queue(256);
    if (options.shared_queue) shared = device.create_shared_receive_queue(*domain, 64, this);
    region = domain->register_memory(memory, kAll);
  }
  void make_qp() {
    rdma::QueuePairOptions made;
    made.send_queue = made.receive_queue = cq.get();
    made.shared_receive_queue = shared.get();
    made.send_entries = made.receive_entries = options.entries;
    made.context = this;
    made.handler = this;
    qp = device.create_queue_pair(*domain, made);
  }
  void fill(std::uint64_t seed) { std::ranges::copy(pattern(seed, memory.size()), memory.begin()); }
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
  /// Towards the other end's region.
  bool post_to(End& peer, rdma::SendOpcode opcode, std::uint64_t id, std::uint64_t offset, std::uint32_t length,
               std::uint64_t remote_offset, const std::function<void(rdma::SendRequest&)>& adjust = {}) {
    return post(opcode, id, offset, length, [&](rdma::SendRequest& request) {
      request.remote_address = peer.region->address() + remote_offset;
      request.rkey = peer.region->rkey();
      if (adjust) adjust(request);
    });
  }

  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override {
    asked.assign(request->facts().private_data.begin(), request->facts().private_data.end());
    asked_by = request->facts().peer;
    asked_reads = {request->facts().responder_resources, request->facts().initiator_depth};
    if (keep_request) {
      kept.push_back(std::move(request));
      return;
    }
    if (refuse) return request->reject(rdma::reject_reason::consumer_defined, reply_data);
    accept(*request);
  }
  void accept(rdma::ConnectionRequest& request) {
    make_qp();
    for (int i = 0; i < receives; ++i) {
      const auto number = static_cast<unsigned>(i);
      EXPECT_TRUE(post_receive(100u + number, number * 4096u));
    }
    parameters.private_data = reply_data;
    request.accept(*qp, parameters);
  }
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts& f) override {
    ++established;
    facts = f;
    told.assign(f.private_data.begin(), f.private_data.end());
    if (notifies) cq->request_notify(*this);
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
    if (!polls) return;
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
  EndOptions options;
  Bytes memory;
  rdma::ConnectionParameters parameters{.private_data = {}, .responder_resources = 4, .initiator_depth = 8};
  Bytes request_data, reply_data, asked, told;
  Endpoint asked_by;
  std::pair<int, int> asked_reads;
  rdma::ConnectionFacts facts;
  std::function<void()> then;
  bool refuse = false, keep_request = false, notifies = true, polls = true;
  int receives = 4;
  int established = 0, accepted = 0, rejected = 0, unreachable = 0, disconnected = 0, errors = 0, notified = 0, limits = 0;
  std::vector<rdma::Completion> all;
  std::unique_ptr<rdma::ProtectionDomain> domain;
  std::unique_ptr<rdma::MemoryRegion> region;  // outlives what refers to it
  std::unique_ptr<rdma::CompletionQueue> cq;
  std::unique_ptr<rdma::SharedReceiveQueue> shared;
  std::unique_ptr<rdma::Listener> listener;
  std::unique_ptr<rdma::QueuePair> qp;
  std::vector<std::unique_ptr<rdma::ConnectionRequest>> kept;
};

struct RigOptions {
  Kind a = Kind::stacked, b = Kind::stacked;
  std::uint64_t seed = 1;
  EndOptions ends;
  ConsumerHooks* hooks_a = nullptr;
  ConsumerHooks* hooks_b = nullptr;
};

/// a is the active side, b listens.
struct Rig {
  static constexpr std::uint16_t kPort = 4420;

  explicit Rig(const RigOptions& o = {})
      : world(World::make_virtual(o.seed)),
        network(*world),
        host_a(network.add_host("a", IpAddress::v4(10, 0, 0, 1))),
        host_b(network.add_host("b", IpAddress::v4(10, 0, 0, 2))),
        station_a(*world, host_a, o.a, o.hooks_a),
        station_b(*world, host_b, o.b, o.hooks_b),
        a(std::make_unique<End>(station_a.device(), o.ends)),
        b(std::make_unique<End>(station_b.device(), o.ends)) {
    auto listener = station_b.device().listen(kPort, *b);
    if (listener.ok()) b->listener = std::move(listener).value();
  }
  void ask() {
    if (a->qp == nullptr) a->make_qp();
    a->parameters.private_data = a->request_data;
    a->qp->connect({host_b.address(), kPort}, a->parameters);
    run();
  }
  void connect() {
    ask();
    ASSERT_EQ(a->established, 1);
    ASSERT_EQ(b->established, 1);
  }
  void run(Duration span = Duration::ms(5)) { world->run_for(span); }
  bool settle() { return world->run_until_idle(); }

  std::unique_ptr<World> world;
  net::SimNetwork network;
  net::SimHost& host_a;
  net::SimHost& host_b;
  Station station_a, station_b;
  std::unique_ptr<End> a, b;
};

}  // namespace fb::networkdirect::testing
