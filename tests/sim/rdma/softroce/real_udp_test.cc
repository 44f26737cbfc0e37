// The device on real UDP sockets of this machine: packets of every kind between two loopback
// addresses, with the identification of the received IP headers unknown.
#include <unistd.h>

#include "sim/net/udp_port.h"
#include "tests/sim/rdma/softroce/rig.h"

namespace fb::softroce {
namespace {

using rdma::SendOpcode;

struct RealEnd {
  RealEnd(World& world, net::RealHost& host, const IpAddress& address) : memory(4 << 20) {
    SoftRoceOptions options;
    options.name = to_string(address);
    options.address = address;
    device = std::move(make_softroce(world, host, options)).value();
    domain = device->allocate_protection_domain();
    cq = device->create_completion_queue(256);
    region = domain->register_memory(memory, rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read);
    rdma::QueuePairOptions qpo;
    qpo.send_queue = qpo.receive_queue = cq.get();
    qp = device->create_queue_pair(*domain, qpo);
  }
  Bytes memory;
  std::unique_ptr<SoftRoceDevice> device;
  std::unique_ptr<rdma::ProtectionDomain> domain;
  std::unique_ptr<rdma::CompletionQueue> cq;
  std::unique_ptr<rdma::MemoryRegion> region;
  std::unique_ptr<rdma::QueuePair> qp;
};

void connect(RealEnd& end, RealEnd& peer, std::uint8_t mtu_code) {
  PathFacts path;
  path.peer = peer.device->address();
  path.mtu_code = mtu_code;
  path.peer_qpn = peer.qp->number();
  path.responder_resources = path.initiator_depth = 8;
  path.ack_timeout_code = 14;
  path.min_rnr_timer_code = 12;
  CmQueuePair& seam = end.device->seam_of(*end.qp);
  seam.to_ready_to_receive(path);
  seam.to_ready_to_send(path);
}

void exchange(const IpAddress& first, const IpAddress& second, std::uint8_t mtu_code) {
  auto world = World::make_real(1);
  net::RealHost host(*world);
  RealEnd a(*world, host, first), b(*world, host, second);
  connect(a, b, mtu_code);
  connect(b, a, mtu_code);
  Rng(7).fill(MutableBytes{a.memory}.first(1 << 20));
  constexpr std::uint32_t kBytes = 1 << 20;
  const auto request = [&](SendOpcode opcode, const rdma::Sge& sge, std::uint64_t remote) {
    rdma::SendRequest r;
    r.opcode = opcode;
    r.sges = {&sge, 1};
    r.remote_address = b.region->address() + remote;
    r.rkey = b.region->rkey();
    ASSERT_TRUE(a.qp->post_send(r));
  };
  const rdma::Sge room = b.region->sge(2 << 20, kBytes);
  ASSERT_TRUE(b.qp->post_receive({1, {&room, 1}}));
  request(SendOpcode::rdma_write, a.region->sge(0, kBytes), 0);
  request(SendOpcode::send, a.region->sge(3, kBytes - 10), 0);
  request(SendOpcode::rdma_read, a.region->sge(2 << 20, kBytes), 0);
  std::size_t done = 0;
  rdma::Completion c[8];
  world->run_until(
      [&] {
        const std::size_t n = a.cq->poll(c);
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(c[i].status, rdma::CompletionStatus::success);
        return (done += n) == 3;
      },
      Duration::s(20));
  EXPECT_EQ(done, 3u);
  EXPECT_EQ(b.cq->poll(c), 1u);
  EXPECT_TRUE(same(ByteView{a.memory}.first(kBytes), ByteView{b.memory}.first(kBytes)));
  EXPECT_TRUE(same(ByteView{a.memory}.subspan(3, kBytes - 10), ByteView{b.memory}.subspan(2 << 20, kBytes - 10)));
  EXPECT_TRUE(same(ByteView{a.memory}.first(kBytes), ByteView{a.memory}.subspan(2 << 20, kBytes)));
  EXPECT_EQ(a.device->counters().drop_bad_icrc + b.device->counters().drop_bad_icrc, 0u);
}

/// Loopback addresses of this process alone: every device needs UDP port 4791.
IpAddress own_address(std::uint8_t last) {
  const auto pid = static_cast<std::uint32_t>(getpid());
  return IpAddress::v4(127, static_cast<std::uint8_t>(pid >> 8 & 0x7F), static_cast<std::uint8_t>(pid), last);
}

TEST(RealUdp, Ipv4LargeAndSmallMtu) {
  exchange(own_address(101), own_address(102), 5);
  exchange(own_address(101), own_address(102), 1);
}

}  // namespace
}  // namespace fb::softroce
