// The soft RDMA device in virtual time: both sides and the simulated link on one core.
#include <benchmark/benchmark.h>

#include "sim/net/network.h"
#include "sim/rdma/softroce/icrc.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::softroce {
namespace {

struct Side {
  Side(World& world, net::SimHost& host) : memory(1 << 20) {
    SoftRoceOptions options;
    options.name = host.name();
    options.address = host.address();
    device = std::move(make_softroce(world, host, options)).value();
    domain = device->allocate_protection_domain();
    cq = device->create_completion_queue(1024);
    region = domain->register_memory(memory, rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read);
    rdma::QueuePairOptions qpo;
    qpo.send_queue = qpo.receive_queue = cq.get();
    qp = device->create_queue_pair(*domain, qpo);
  }
  std::size_t poll() {
    rdma::Completion completions[16];
    std::size_t all = 0;
    for (std::size_t n = cq->poll(completions); n > 0; n = cq->poll(completions)) all += n;
    return all;
  }
  Bytes memory;
  std::unique_ptr<SoftRoceDevice> device;
  std::unique_ptr<rdma::ProtectionDomain> domain;
  std::unique_ptr<rdma::CompletionQueue> cq;
  std::unique_ptr<rdma::MemoryRegion> region;
  std::unique_ptr<rdma::QueuePair> qp;
};

struct Pair {
  Pair()
      : world(World::make_virtual(1)),
        network(*world),
        a(*world, network.add_host("a", IpAddress::v4(10, 0, 0, 1))),
        b(*world, network.add_host("b", IpAddress::v4(10, 0, 0, 2))) {
    connect(a, b);
    connect(b, a);
  }
  static void connect(Side& side, Side& peer) {
    PathFacts path;
    path.peer = peer.device->address();
    path.mtu_code = 5;
    path.peer_qpn = peer.qp->number();
    path.responder_resources = path.initiator_depth = 16;
    path.ack_timeout_code = 16;
    CmQueuePair& seam = side.device->seam_of(*side.qp);
    seam.to_ready_to_receive(path);
    seam.to_ready_to_send(path);
  }
  rdma::SendRequest remote(rdma::SendOpcode opcode, const rdma::Sge& sge) const {
    rdma::SendRequest request;
    request.opcode = opcode;
    request.sges = {&sge, 1};
    request.remote_address = b.region->address();
    request.rkey = b.region->rkey();
    return request;
  }
  std::unique_ptr<World> world;
  net::SimNetwork network;
  Side a;
  Side b;
};

// What a target does for a 4 KiB read: RDMA WRITE, then a 16-byte SEND; one acknowledgement.
void write_and_send(benchmark::State& state) {
  Pair pair;
  const rdma::Sge data = pair.a.region->sge(0, 4096);
  const rdma::Sge reply = pair.a.region->sge(8192, 16);
  const rdma::Sge room = pair.b.region->sge(8192, 64);
  std::size_t done = 0;
  for (auto _ : state) {
    pair.b.qp->post_receive({1, {&room, 1}});
    rdma::SendRequest write = pair.remote(rdma::SendOpcode::rdma_write, data);
    write.signaled = false;
    pair.a.qp->post_send(write);
    rdma::SendRequest send;
    send.sges = {&reply, 1};
    pair.a.qp->post_send(send);
    pair.world->run_until_idle();
    done += pair.a.poll() + pair.b.poll();
  }
  if (done != 2 * static_cast<std::size_t>(state.iterations())) state.SkipWithError("lost completions");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(write_and_send);

void stream(benchmark::State& state, rdma::SendOpcode opcode) {
  Pair pair;
  const auto bytes = static_cast<std::uint32_t>(state.range(0));
  const rdma::Sge data = pair.a.region->sge(0, bytes);
  std::size_t done = 0;
  for (auto _ : state) {
    for (int i = 0; i < 8; ++i) pair.a.qp->post_send(pair.remote(opcode, data));
    pair.world->run_until_idle();
    done += pair.a.poll();
  }
  if (done != 8 * static_cast<std::size_t>(state.iterations())) state.SkipWithError("lost completions");
  state.SetBytesProcessed(state.iterations() * 8 * bytes);
}
BENCHMARK_CAPTURE(stream, write, rdma::SendOpcode::rdma_write)->Arg(4096)->Arg(128 << 10);
BENCHMARK_CAPTURE(stream, read, rdma::SendOpcode::rdma_read)->Arg(4096)->Arg(128 << 10);

void icrc(benchmark::State& state) {
  const IcrcPath path({IpAddress::v4(10, 0, 0, 1), 4791}, {IpAddress::v4(10, 0, 0, 2), 4791});
  Bytes packet(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(path.compute(packet, {}));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(icrc)->Arg(16)->Arg(4112);

void icrc_unknown_identification(benchmark::State& state) {
  const Endpoint a{IpAddress::v4(10, 0, 0, 1), 4791}, b{IpAddress::v4(10, 0, 0, 2), 4791};
  Bytes packet(4116);
  IpFacts ip;
  ip.id = 0x1234;
  seal_icrc(IcrcPath(a, b), packet, ip);
  IcrcChecker checker;
  for (auto _ : state) benchmark::DoNotOptimize(checker.check(a, b, packet, std::nullopt));
}
BENCHMARK(icrc_unknown_identification);

}  // namespace
}  // namespace fb::softroce
