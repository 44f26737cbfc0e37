// RDMA on soft devices themselves, for benchmarks of what stands between a program and its device.
#pragma once

#include <chrono>
#include <memory>

#include <benchmark/benchmark.h>

#include "base/or_throw.h"
#include "sim/net/network.h"
#include "sim/net/udp_port.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::bench {

inline constexpr std::uint32_t kBatch = 16;
inline constexpr std::uint32_t kBytes = 64;

struct QuietHandler final : rdma::ConnectionHandler, rdma::ListenHandler {
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { established = true; }
  void on_rejected(rdma::QueuePair&, std::uint16_t, ByteView) override {}
  void on_unreachable(rdma::QueuePair&) override {}
  void on_disconnected(rdma::QueuePair&) override {}
  void on_queue_error(rdma::QueuePair&) override {}
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override { request->accept(*passive, {}); }
  bool established = false;
  rdma::QueuePair* passive = nullptr;
};

/// Two devices on a simulated link.
struct Network {
  Network()
      : world(World::make_virtual(1)),
        network(*world),
        a(open(network.add_host("a", IpAddress::v4(10, 0, 0, 1)))),
        b(open(network.add_host("b", IpAddress::v4(10, 0, 0, 2)))) {}
  std::unique_ptr<softroce::SoftRoceDevice> open(net::SimHost& host) const {
    softroce::SoftRoceOptions options;
    options.name = host.name();
    options.address = host.address();
    return std::move(softroce::make_softroce(*world, host, options)).value();
  }
  std::unique_ptr<World> world;
  net::SimNetwork network;
  std::unique_ptr<softroce::SoftRoceDevice> a, b;
};

/// Two devices on two loopback addresses, in one thread that does not sleep.
template <std::uint8_t kFirst>
struct Loopback {
  Loopback() : world(World::make_real(1, true)), host(*world), a(open(kFirst)), b(open(kFirst + 1)) {}
  std::unique_ptr<softroce::SoftRoceDevice> open(std::uint8_t last) {
    softroce::SoftRoceOptions options;
    options.address = IpAddress::v4(127, 0, 0, last);
    options.name = to_string(options.address);
    return or_throw(softroce::make_softroce(*world, host, options));
  }
  std::unique_ptr<World> world;
  net::RealHost host;
  std::unique_ptr<softroce::SoftRoceDevice> a, b;
};

/// A program on the devices themselves, both ends of it.
template <class Net>
struct Direct {
  Direct() {
    for (End* end : {&a, &b}) {
      rdma::Device& device = end == &a ? *network.a : *network.b;
      end->domain = device.allocate_protection_domain();
      end->queue = device.create_completion_queue(1024);
      end->region = end->domain->register_memory(end->memory, rdma::Access::local_write | rdma::Access::remote_write);
      rdma::QueuePairOptions options;
      options.send_queue = options.receive_queue = end->queue.get();
      options.handler = &quiet;
      end->qp = device.create_queue_pair(*end->domain, options);
    }
    quiet.passive = b.qp.get();
    listener = std::move(network.b->listen(7000, quiet)).value();
    a.qp->connect({network.b->address(), 7000}, {});
    network.world->run_until([&] { return quiet.established; }, Duration::s(10));
    network.world->run_for(Duration::ms(1));
  }
  void batch() {
    const rdma::Sge sge = a.region->sge(0, kBytes);
    rdma::SendRequest request;
    request.opcode = rdma::SendOpcode::rdma_write;
    request.sges = {&sge, 1};
    request.remote_address = b.region->address();
    request.rkey = b.region->rkey();
    for (std::uint32_t i = 0; i < kBatch; ++i) a.qp->post_send(request);
    rdma::Completion completions[kBatch];
    for (std::size_t done = 0; done < kBatch; done += a.queue->poll(completions)) network.world->loop().step(Instant::never());
  }
  /// 64 bytes there and back, received and polled.
  void round_trip() {
    message(a, b);
    message(b, a);
  }
  struct End {
    Bytes memory = Bytes(4096);
    std::unique_ptr<rdma::ProtectionDomain> domain;
    std::unique_ptr<rdma::CompletionQueue> queue;
    std::unique_ptr<rdma::MemoryRegion> region;
    std::unique_ptr<rdma::QueuePair> qp;
  };
  void message(End& from, End& to) {
    const rdma::Sge out = from.region->sge(0, kBytes), into = to.region->sge(kBytes, kBytes);
    to.qp->post_receive({.id = 2, .sges = {&into, 1}});
    rdma::SendRequest request;
    request.sges = {&out, 1};
    from.qp->post_send(request);
    rdma::Completion taken[1];
    for (bool received = false; !received; network.world->step_towards(network.world->now())) {
      while (to.queue->poll(taken) != 0) received |= taken[0].opcode == rdma::CompletionOpcode::receive;
    }
  }
  Net network;
  QuietHandler quiet;
  End a, b;
  std::unique_ptr<rdma::Listener> listener;
};

inline double nanoseconds(std::chrono::steady_clock::duration spent) {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
}

/// A WRITE of 64 bytes, posted and polled: directly, and through `Provided`, by turns. extra_ns is what an operation costs more.
template <class Provided>
void compare_writes(benchmark::State& state) {
  Direct<Network> direct;
  Provided provided;
  double direct_ns = 0, provided_ns = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    direct.batch();
    const auto middle = std::chrono::steady_clock::now();
    provided.batch();
    const auto end = std::chrono::steady_clock::now();
    direct_ns += nanoseconds(middle - start);
    provided_ns += nanoseconds(end - middle);
  }
  const double operations = static_cast<double>(state.iterations()) * kBatch;
  state.counters["direct_ns"] = direct_ns / operations;
  state.counters["provided_ns"] = provided_ns / operations;
  state.counters["extra_ns"] = (provided_ns - direct_ns) / operations;
}

}  // namespace fb::bench
