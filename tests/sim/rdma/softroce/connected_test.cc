// The whole device: connect, accept, data, disconnect with CM messages on the wire.
#include "tests/sim/rdma/softroce/rig.h"

namespace fb::softroce {
namespace {

using rdma::CompletionStatus;
using rdma::QpState;
using rdma::SendOpcode;

struct End final : rdma::ConnectionHandler, rdma::ListenHandler, rdma::CompletionHandler {
  End(World& world, net::SimHost& host, const std::string& name) : memory(1 << 16) {
    SoftRoceOptions options;
    options.name = name;
    options.address = host.address();
    device = std::move(make_softroce(world, host, options)).value();
    domain = device->allocate_protection_domain();
    cq = device->create_completion_queue(256);
    region = domain->register_memory(memory, rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read);
  }
  std::unique_ptr<rdma::QueuePair> make_qp() {
    rdma::QueuePairOptions options;
    options.send_queue = options.receive_queue = cq.get();
    options.handler = this;
    return device->create_queue_pair(*domain, options);
  }
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override {
    asked = bytes_of_text(request->facts().private_data);
    if (refuse) {
      request->reject(rdma::reject_reason::consumer_defined, ByteView{});
      return;
    }
    qp = make_qp();
    const rdma::Sge sge = region->sge(0, 4096);
    qp->post_receive({1, {&sge, 1}});
    rdma::ConnectionParameters parameters;
    parameters.responder_resources = 4;
    parameters.initiator_depth = 4;
    request->accept(*qp, parameters);
  }
  static std::string bytes_of_text(ByteView bytes) { return {bytes.begin(), bytes.end()}; }
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { ++established; }
  void on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView) override { rejected = reason; }
  void on_unreachable(rdma::QueuePair&) override { ++unreachable; }
  void on_disconnected(rdma::QueuePair&) override { ++disconnected; }
  void on_queue_error(rdma::QueuePair&) override { ++errors; }
  void on_completions() override {
    ++notified;
    rdma::Completion one[4];
    for (std::size_t n = cq->poll(one); n > 0; n = cq->poll(one)) all.insert(all.end(), one, one + n);
    cq->request_notify(*this);
  }

  Bytes memory;
  bool refuse = false;
  std::string asked;
  int established = 0, rejected = 0, unreachable = 0, disconnected = 0, errors = 0, notified = 0;
  std::vector<rdma::Completion> all;
  std::unique_ptr<SoftRoceDevice> device;
  std::unique_ptr<rdma::ProtectionDomain> domain;
  std::unique_ptr<rdma::CompletionQueue> cq;
  std::unique_ptr<rdma::MemoryRegion> region;
  std::unique_ptr<rdma::Listener> listener;
  std::unique_ptr<rdma::QueuePair> qp;
};

struct Connected : testing::Test {
  Connected()
      : world(World::make_virtual(1)),
        network(*world),
        host(network.add_host("host", IpAddress::v4(10, 0, 0, 1))),
        target(network.add_host("target", IpAddress::v4(10, 0, 0, 2))),
        a(*world, host, "host"),
        b(*world, target, "target") {
    b.listener = std::move(b.device->listen(4420, b)).value();
    a.qp = a.make_qp();
  }
  void connect() {
    static constexpr std::uint8_t kHello[] = {'h', 'e', 'l', 'l', 'o'};
    rdma::ConnectionParameters parameters;
    parameters.private_data = kHello;
    parameters.responder_resources = 4;
    parameters.initiator_depth = 4;
    a.qp->connect({target.address(), 4420}, parameters);
    world->run_for(Duration::ms(5));
  }
  std::unique_ptr<World> world;
  net::SimNetwork network;
  net::SimHost& host;
  net::SimHost& target;
  End a;
  End b;
};

TEST_F(Connected, DataBothWaysAndDisconnect) {
  connect();
  EXPECT_EQ(a.established, 1);
  EXPECT_EQ(b.established, 1);
  EXPECT_EQ(b.asked.substr(0, 5), "hello");
  a.cq->request_notify(a);
  b.cq->request_notify(b);
  const rdma::Sge sge = a.region->sge(100, 5000);
  a.memory[100] = 42;
  rdma::SendRequest write;
  write.id = 1;
  write.opcode = SendOpcode::rdma_write;
  write.sges = {&sge, 1};
  write.remote_address = b.region->address() + 8192;
  write.rkey = b.region->rkey();
  ASSERT_TRUE(a.qp->post_send(write));
  const rdma::Sge small = a.region->sge(100, 10);
  rdma::SendRequest send;
  send.id = 2;
  send.sges = {&small, 1};
  ASSERT_TRUE(a.qp->post_send(send));
  rdma::SendRequest read = write;
  read.id = 3;
  read.opcode = SendOpcode::rdma_read;
  ASSERT_TRUE(a.qp->post_send(read));
  world->run_for(Duration::ms(1));
  ASSERT_EQ(a.all.size(), 3u);
  for (const auto& c : a.all) EXPECT_EQ(c.status, CompletionStatus::success);
  ASSERT_EQ(b.all.size(), 1u);
  EXPECT_EQ(b.memory[0], 42);
  EXPECT_EQ(b.memory[8192], 42);
  a.qp->disconnect();
  EXPECT_TRUE(world->run_until_idle());
  EXPECT_EQ(a.disconnected, 1);
  EXPECT_EQ(b.disconnected, 1);
  EXPECT_EQ(a.qp->state(), QpState::error);
  EXPECT_EQ(b.qp->state(), QpState::error);
  EXPECT_EQ(a.errors + b.errors, 0);
}

TEST_F(Connected, RefusedAndNobodyThere) {
  b.refuse = true;
  connect();
  EXPECT_EQ(a.rejected, 28);
  a.qp = a.make_qp();
  a.rejected = 0;
  a.qp->connect({target.address(), 4421}, {});
  world->run_for(Duration::ms(5));
  EXPECT_EQ(a.rejected, 8);
}

TEST_F(Connected, DestroyedQueuePairTellsThePeer) {
  connect();
  a.qp.reset();
  EXPECT_TRUE(world->run_until_idle());
  EXPECT_EQ(b.disconnected, 1);
}

TEST_F(Connected, ManyConnectionsFillTheTable) {
  std::vector<std::unique_ptr<rdma::QueuePair>> mine;
  std::vector<std::unique_ptr<rdma::QueuePair>> theirs;
  for (int i = 0; i < 100; ++i) {
    connect();
    mine.push_back(std::move(a.qp));
    theirs.push_back(std::move(b.qp));
    ASSERT_EQ(mine.back()->state(), QpState::ready_to_send);
    a.qp = a.make_qp();
  }
  EXPECT_EQ(a.established, 100);
  for (const auto& qp : mine) {
    rdma::SendRequest send;
    ASSERT_TRUE(qp->post_send(send));
  }
  world->run_for(Duration::ms(1));
  b.on_completions();
  EXPECT_EQ(b.all.size(), 100u);
}

}  // namespace
}  // namespace fb::softroce
