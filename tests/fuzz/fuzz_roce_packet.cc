// Any UDP payload may reach a RoCEv2 device with connected queue pairs: it must neither crash nor
// stall.
//
// The input is a list of packets: a length byte, a flag byte, the bytes. Flags let a mutated packet
// get past the first checks: 1 seals a right ICRC, 2 puts in the number of a queue pair, 4 makes
// the PSN one that is expected soon, 8 puts in a good address and key, 16 lets time pass first.
#include <algorithm>

#include "sim/net/network.h"
#include "sim/rdma/softroce/icrc.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::softroce {
namespace {

constexpr std::uint32_t kReceivePsn = 0x100;
constexpr std::uint32_t kSendPsn = 0x200;

struct Quiet final : rdma::ConnectionHandler, rdma::ListenHandler {
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override {}
  void on_rejected(rdma::QueuePair&, std::uint16_t, ByteView) override {}
  void on_unreachable(rdma::QueuePair&) override {}
  void on_disconnected(rdma::QueuePair&) override {}
  void on_queue_error(rdma::QueuePair&) override {}
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest>) override {}
};

class Target {
 public:
  Target()
      : world_(World::make_virtual(1)),
        network_(*world_),
        peer_host_(network_.add_host("peer", IpAddress::v4(10, 0, 0, 1))),
        host_(network_.add_host("device", IpAddress::v4(10, 0, 0, 2))),
        peer_(std::move(peer_host_.open({peer_host_.address(), roce::kUdpPort})).value()),
        memory_(8192) {
    SoftRoceOptions options;
    options.address = host_.address();
    options.engine.window_packets = 16;
    device_ = std::move(make_softroce(*world_, host_, options)).value();
    listener_ = std::move(device_->listen(4420, quiet_)).value();
    domain_ = device_->allocate_protection_domain();
    cq_ = device_->create_completion_queue(64);
    region_ = domain_->register_memory(
        memory_, rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read | rdma::Access::remote_atomic);
    for (auto& qp : qps_) qp = connected();
  }

  void send(ByteView bytes, std::uint8_t flags) {
    if ((flags & 16) != 0) world_->run_for(Duration::us(700));
    const Endpoint to{host_.address(), roce::kUdpPort};
    const net::Outgoing out = peer_->begin(to, bytes.size() + ((flags & 1) != 0 ? 4u : 0u));
    std::copy(bytes.begin(), bytes.end(), out.payload.begin());
    if (bytes.size() >= roce::Bth::size) repair(out.payload, flags);
    if ((flags & 1) != 0 && bytes.size() >= roce::Bth::size) {
      seal_icrc(IcrcPath(peer_->local(), to), out.payload, out.ip);
    }
    peer_->commit();
    world_->run_for(Duration::us(20));
    rdma::Completion completions[16];
    cq_->poll(completions);
  }

  /// Whatever came, every timer runs out in the end.
  void finish() {
    for (const auto& qp : qps_) qp->fail();
    world_->run_for(Duration::s(1));
  }

 private:
  std::unique_ptr<rdma::QueuePair> connected() {
    rdma::QueuePairOptions options;
    options.send_queue = options.receive_queue = cq_.get();
    options.send_entries = options.receive_entries = 8;
    options.handler = &quiet_;
    auto qp = device_->create_queue_pair(*domain_, options);
    PathFacts path;
    path.peer = peer_host_.address();
    path.mtu_code = 1;
    path.peer_qpn = 0x33;
    path.receive_psn = kReceivePsn;
    path.send_psn = kSendPsn;
    path.responder_resources = path.initiator_depth = 4;
    path.ack_timeout_code = 6;
    path.min_rnr_timer_code = 1;
    CmQueuePair& seam = device_->seam_of(*qp);
    seam.to_ready_to_receive(path);
    seam.to_ready_to_send(path);
    const rdma::Sge room = region_->sge(0, 1000);
    for (std::uint64_t i = 0; i < 4; ++i) qp->post_receive({i, {&room, 1}});
    // Something of each kind under way, so that responses have a request.
    for (const auto opcode :
         {rdma::SendOpcode::send, rdma::SendOpcode::rdma_read, rdma::SendOpcode::fetch_and_add, rdma::SendOpcode::rdma_write}) {
      const rdma::Sge sge = region_->sge(2000, opcode == rdma::SendOpcode::fetch_and_add ? 8 : 700);
      rdma::SendRequest request;
      request.opcode = opcode;
      request.sges = {&sge, 1};
      qp->post_send(request);
    }
    return qp;
  }

  void repair(MutableBytes packet, std::uint8_t flags) const {
    MutableView<roce::Bth> header{packet};
    const roce::OpcodeFacts& facts = roce::facts_of(packet[0]);
    if ((flags & 2) != 0) header.set(roce::bth::destqp, qps_[packet[7] & 1]->number());
    if ((flags & 4) != 0) {
      const std::uint32_t base = facts.is_response() ? kSendPsn : kReceivePsn;
      header.set(roce::bth::psn, base + (packet[11] & 15u));
    }
    // RETH and AtomicETH begin alike.
    if ((flags & 8) != 0 && (facts.reth || facts.atomic_eth) && packet.size() >= roce::Bth::size + roce::Reth::size) {
      MutableView<roce::Reth> reth{packet.subspan(roce::Bth::size)};
      reth.set(roce::reth::va, region_->address() + (reth.get(roce::reth::va) & 0xFF8));
      reth.set(roce::reth::rkey, region_->rkey());
      if (facts.reth) reth.set(roce::reth::dmalen, reth.get(roce::reth::dmalen) & 0xFFF);
    }
  }

  Quiet quiet_;
  std::unique_ptr<World> world_;
  net::SimNetwork network_;
  net::SimHost& peer_host_;
  net::SimHost& host_;
  std::unique_ptr<net::DatagramPort> peer_;
  Bytes memory_;
  std::unique_ptr<SoftRoceDevice> device_;
  std::unique_ptr<rdma::Listener> listener_;
  std::unique_ptr<rdma::ProtectionDomain> domain_;
  std::unique_ptr<rdma::CompletionQueue> cq_;
  std::unique_ptr<rdma::MemoryRegion> region_;
  std::unique_ptr<rdma::QueuePair> qps_[2];
};

}  // namespace
}  // namespace fb::softroce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fb::softroce::Target target;
  fb::ByteView rest{data, size};
  while (rest.size() >= 2) {
    const std::size_t length = std::min<std::size_t>(std::size_t{rest[0]} * 2, rest.size() - 2);
    target.send(rest.subspan(2, length), rest[1]);
    rest = rest.subspan(2 + length);
  }
  target.finish();
  return 0;
}
