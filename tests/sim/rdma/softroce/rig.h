// Two soft devices on a simulated link with one pair of connected queue pairs, without CM messages.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::softroce {

struct RigOptions {
  std::uint64_t seed = 1;
  std::uint8_t mtu_code = 3;
  std::uint32_t send_entries = 64;
  std::uint32_t receive_entries = 64;
  std::uint32_t completion_entries = 512;
  std::uint32_t psn_a = 0x100;  ///< first PSN that side a sends
  std::uint32_t psn_b = 0x200;
  std::uint8_t depth = 16;  ///< reads in flight, both sides
  std::uint8_t ack_timeout_code = 10;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry_count = 7;
  std::uint8_t min_rnr_timer_code = 1;
  bool shared_receive_queue = false;
  std::size_t memory = 1 << 16;
  rdma::Access access = rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read | rdma::Access::remote_atomic;
  EngineOptions engine;
  net::LinkOptions link;
  IpAddress address_a = IpAddress::v4(10, 0, 0, 1);
  IpAddress address_b = IpAddress::v4(10, 0, 0, 2);
  SoftHooks* hooks_a = nullptr;
  SoftHooks* hooks_b = nullptr;
};

/// One device with one queue pair and one region.
class Side final : public rdma::ConnectionHandler, public rdma::SharedReceiveHandler {
 public:
  Side(World& world, net::SimHost& host, const std::string& name, const RigOptions& options, SoftHooks* hooks) : memory(options.memory) {
    SoftRoceOptions device_options;
    device_options.name = name;
    device_options.address = host.address();
    device_options.engine = options.engine;
    device_options.hooks = hooks;
    device = std::move(make_softroce(world, host, device_options)).value();
    domain = device->allocate_protection_domain();
    send_cq = device->create_completion_queue(options.completion_entries);
    receive_cq = device->create_completion_queue(options.completion_entries);
    if (options.shared_receive_queue) {
      shared = device->create_shared_receive_queue(*domain, options.receive_entries, this);
    }
    region = domain->register_memory(memory, options.access);
    rdma::QueuePairOptions qpo;
    qpo.send_queue = send_cq.get();
    qpo.receive_queue = receive_cq.get();
    qpo.shared_receive_queue = shared.get();
    qpo.send_entries = options.send_entries;
    qpo.receive_entries = options.receive_entries;
    qpo.context = this;
    qpo.handler = this;
    qp = device->create_queue_pair(*domain, qpo);
  }

  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { ++established; }
  void on_rejected(rdma::QueuePair&, std::uint16_t, ByteView) override {}
  void on_unreachable(rdma::QueuePair&) override {}
  void on_disconnected(rdma::QueuePair&) override {}
  void on_queue_error(rdma::QueuePair&) override { ++errors; }
  void on_limit(rdma::SharedReceiveQueue&) override { ++limits; }

  /// All completions of a queue so far.
  static std::vector<rdma::Completion> take(rdma::CompletionQueue& queue) {
    std::vector<rdma::Completion> all;
    rdma::Completion one[8];
    for (std::size_t n = queue.poll(one); n > 0; n = queue.poll(one)) all.insert(all.end(), one, one + n);
    return all;
  }
  std::vector<rdma::Completion> sends() { return take(*send_cq); }
  std::vector<rdma::Completion> receives() { return take(*receive_cq); }

  bool post_receive(std::uint64_t id, std::uint64_t offset, std::uint32_t length) {
    const rdma::Sge sge = region->sge(offset, length);
    const rdma::ReceiveRequest request{id, {&sge, 1}};
    return shared ? shared->post_receive(request) : qp->post_receive(request);
  }
  /// A request over `length` bytes at `offset` of the own region.
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
  /// The same, towards `remote_offset` of the other side's region.
  bool post_to(Side& peer, rdma::SendOpcode opcode, std::uint64_t id, std::uint64_t offset, std::uint32_t length,
               std::uint64_t remote_offset, const std::function<void(rdma::SendRequest&)>& adjust = {}) {
    return post(opcode, id, offset, length, [&](rdma::SendRequest& request) {
      request.remote_address = peer.region->address() + remote_offset;
      request.rkey = peer.region->rkey();
      if (adjust) adjust(request);
    });
  }
  void fill(std::uint64_t seed) {
    Rng rng(seed);
    for (std::size_t at = 0; at + 8 <= memory.size(); at += 8) {
      store_le<std::uint64_t>(&memory[at], rng.next());
    }
  }
  ByteView bytes(std::size_t offset, std::size_t length) const { return ByteView{memory}.subspan(offset, length); }

  Bytes memory;
  int established = 0;
  int errors = 0;
  int limits = 0;
  std::unique_ptr<SoftRoceDevice> device;
  std::unique_ptr<rdma::ProtectionDomain> domain;
  std::unique_ptr<rdma::CompletionQueue> send_cq;
  std::unique_ptr<rdma::CompletionQueue> receive_cq;
  std::unique_ptr<rdma::SharedReceiveQueue> shared;
  std::unique_ptr<rdma::MemoryRegion> region;
  std::unique_ptr<rdma::QueuePair> qp;
};

inline bool same(ByteView a, ByteView b) { return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()); }

struct Rig {
  explicit Rig(const RigOptions& o = {})
      : options(o),
        world(World::make_virtual(o.seed)),
        network(*world, o.link),
        host_a(network.add_host("a", o.address_a)),
        host_b(network.add_host("b", o.address_b)),
        a(*world, host_a, "a", o, o.hooks_a),
        b(*world, host_b, "b", o, o.hooks_b) {
    connect(a, b, o.psn_a, o.psn_b);
    connect(b, a, o.psn_b, o.psn_a);
  }

  PathFacts facts(Side& peer, std::uint32_t send_psn, std::uint32_t receive_psn) const {
    PathFacts path;
    path.peer = peer.device->address();
    path.mtu_code = options.mtu_code;
    path.peer_qpn = peer.qp->number();
    path.send_psn = send_psn;
    path.receive_psn = receive_psn;
    path.responder_resources = options.depth;
    path.initiator_depth = options.depth;
    path.ack_timeout_code = options.ack_timeout_code;
    path.retry_count = options.retry_count;
    path.rnr_retry_count = options.rnr_retry_count;
    path.min_rnr_timer_code = options.min_rnr_timer_code;
    return path;
  }
  void connect(Side& side, Side& peer, std::uint32_t send_psn, std::uint32_t receive_psn) {
    const PathFacts path = facts(peer, send_psn, receive_psn);
    CmQueuePair& seam = side.device->seam_of(*side.qp);
    seam.to_ready_to_receive(path);
    seam.to_ready_to_send(path);
  }
  /// Runs until nothing can happen any more.
  bool settle() { return world->run_until_idle(); }

  RigOptions options;
  std::unique_ptr<World> world;
  net::SimNetwork network;
  net::SimHost& host_a;
  net::SimHost& host_b;
  Side a;
  Side b;
};

}  // namespace fb::softroce
