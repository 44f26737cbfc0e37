// The connection manager inside real devices on a simulated network, through the interface that
// users see.
#include <gtest/gtest.h>

#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"
#include "wire/rdma/headers.h"

namespace fb::softroce {
namespace {

struct Log final : rdma::ConnectionHandler {
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts& facts) override {
    text += "established ";
    private_data.assign(facts.private_data.begin(), facts.private_data.end());
  }
  void on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView data) override {
    text += "rejected:" + std::to_string(reason) + " ";
    private_data.assign(data.begin(), data.end());
  }
  void on_unreachable(rdma::QueuePair&) override { text += "unreachable "; }
  void on_disconnected(rdma::QueuePair&) override { text += "disconnected "; }
  void on_queue_error(rdma::QueuePair&) override { text += "failed "; }
  std::string text;
  Bytes private_data;
};

/// A device with completion queues and one registered buffer.
struct Node : rdma::ListenHandler {
  Node(World& world, net::SimHost& host, const CmOptions& cm = {}) {
    SoftRoceOptions options;
    options.name = host.name();
    options.address = host.address();
    options.connections = cm;
    device = std::move(make_softroce(world, host, options)).value();
    domain = device->allocate_protection_domain();
    queue = device->create_completion_queue(256);
    region = domain->register_memory(memory, rdma::Access::local_write | rdma::Access::remote_write);
  }
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override {
    peer = request->facts().peer;
    if (!welcome.empty() || !refuse) {
      request->accept(make_qp(), {.private_data = welcome});
    } else {
      request->reject(28, Bytes{1, 2});
    }
  }
  rdma::QueuePair& make_qp() {
    rdma::QueuePairOptions options;
    options.send_queue = queue.get();
    options.receive_queue = queue.get();
    options.handler = &log;
    qps.push_back(device->create_queue_pair(*domain, options));
    return *qps.back();
  }
  bool post_receive(rdma::QueuePair& qp) {
    const rdma::Sge sge = region->sge(0, 64);
    return qp.post_receive({1, {&sge, 1}});
  }
  bool post_send(rdma::QueuePair& qp) {
    const rdma::Sge sge = region->sge(64, 64);
    rdma::SendRequest request;
    request.id = 2;
    request.sges = {&sge, 1};
    return qp.post_send(request);
  }
  std::vector<rdma::Completion> completions() {
    std::vector<rdma::Completion> all(64);
    all.resize(queue->poll(all));
    return all;
  }

  Bytes memory = Bytes(128);
  Log log;
  bool refuse = false;
  Endpoint peer;
  Bytes welcome;
  std::unique_ptr<SoftRoceDevice> device;
  std::unique_ptr<rdma::ProtectionDomain> domain;
  std::unique_ptr<rdma::CompletionQueue> queue;
  std::unique_ptr<rdma::MemoryRegion> region;
  std::unique_ptr<rdma::Listener> listener;
  std::vector<std::unique_ptr<rdma::QueuePair>> qps;
};

struct Lab {
  explicit Lab(const IpAddress& a = IpAddress::v4(10, 0, 0, 1), const IpAddress& b = IpAddress::v4(10, 0, 0, 2), std::uint64_t seed = 1)
      : world(World::make_virtual(seed)),
        network(*world),
        host_a(network.add_host("host", a)),
        host_b(network.add_host("target", b)),
        host(*world, host_a),
        target(*world, host_b) {
    target.listener = std::move(target.device->listen(4420, target)).value();
  }
  rdma::QueuePair& connect(const rdma::ConnectionParameters& parameters = {}) {
    rdma::QueuePair& qp = host.make_qp();
    qp.connect({host_b.address(), 4420}, parameters);
    return qp;
  }

  std::unique_ptr<World> world;
  net::SimNetwork network;
  net::SimHost& host_a;
  net::SimHost& host_b;
  Node host;
  Node target;
};

void expect_life(Lab& lab) {
  lab.target.welcome = {5, 6, 7};
  rdma::QueuePair& qp = lab.connect();
  EXPECT_EQ(lab.host.log.text, "") << "reports come from the loop, never from inside a call";
  lab.world->run_for(Duration::ms(1));
  ASSERT_EQ(lab.host.log.text, "established ");
  ASSERT_EQ(lab.target.log.text, "established ");
  EXPECT_EQ(to_hex(ByteView{lab.host.log.private_data}.first(4)), "05060700");
  rdma::QueuePair& other = *lab.target.qps[0];
  EXPECT_EQ(qp.state(), rdma::QpState::ready_to_send);
  EXPECT_EQ(other.state(), rdma::QpState::ready_to_send);

  // Data both ways: the starting PSNs fit.
  ASSERT_TRUE(lab.host.post_receive(qp));
  ASSERT_TRUE(lab.target.post_receive(other));
  ASSERT_TRUE(lab.host.post_send(qp));
  ASSERT_TRUE(lab.target.post_send(other));
  lab.world->run_for(Duration::ms(1));
  const auto done = lab.host.completions();
  ASSERT_EQ(done.size(), 2u);
  for (const auto& completion : done) EXPECT_EQ(completion.status, rdma::CompletionStatus::success);
  EXPECT_EQ(lab.target.completions().size(), 2u);

  qp.disconnect();
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(lab.host.log.text, "established disconnected ");
  EXPECT_EQ(lab.target.log.text, "established disconnected ");
  EXPECT_EQ(other.state(), rdma::QpState::error);
  EXPECT_TRUE(lab.world->run_until_idle()) << "nothing lingers for ever";
}

TEST(CmDevice, ConnectTalkDisconnect) {
  Lab lab;
  expect_life(lab);
}

TEST(CmDevice, ConnectTalkDisconnectOnIpv6) {
  Lab lab(*IpAddress::parse("fd00::1"), *IpAddress::parse("fd00::2"));
  expect_life(lab);
}

TEST(CmDevice, LoopbackAddressesAreAddressesToo) {
  Lab lab(IpAddress::v4(127, 0, 0, 1), IpAddress::v4(127, 0, 0, 2));
  expect_life(lab);
}

// A passive port that carries less is found out by its REJ 26, and asked again.
TEST(CmDevice, TheSmallerPathMtuWins) {
  Lab lab;
  net::SimHost& sim_host = lab.network.add_host("narrow", IpAddress::v4(10, 0, 0, 3));
  net::LinkOptions narrow;
  narrow.mtu = 1500;
  lab.network.set_link(sim_host, lab.host_a, narrow);
  Node small(*lab.world, sim_host);
  small.listener = std::move(small.device->listen(4420, small)).value();
  ASSERT_EQ(small.device->mtu_code(), 3);
  ASSERT_EQ(lab.host.device->mtu_code(), 5);
  lab.host.make_qp().connect({sim_host.address(), 4420}, {});
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(lab.host.log.text, "established ");
  EXPECT_EQ(small.log.text, "established ");
  EXPECT_EQ(lab.world->trace().marks("cm.req.smaller_mtu"), 1u);
  // The other way round the REQ asks for little from the start.
  small.make_qp().connect({lab.host_b.address(), 4420}, {});
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(small.log.text, "established established ");
  EXPECT_EQ(lab.world->trace().marks("cm.req.smaller_mtu"), 1u);
}

TEST(CmDevice, Rejected) {
  Lab lab;
  lab.target.refuse = true;
  lab.connect();
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(lab.host.log.text, "rejected:28 ");
  EXPECT_EQ(to_hex(ByteView{lab.host.log.private_data}.first(3)), "010200");
}

TEST(CmDevice, NobodyThere) {
  Lab lab;
  rdma::QueuePair& qp = lab.host.make_qp();
  qp.connect({IpAddress::v4(10, 0, 0, 99), 4420}, {});
  EXPECT_TRUE(lab.world->run_until_idle());
  EXPECT_EQ(lab.host.log.text, "unreachable ");
  EXPECT_EQ(lab.world->now(), Instant{} + Duration::ms(16 * 6144 + 256));
}

TEST(CmDevice, ADestroyedQueuePairDisconnects) {
  Lab lab;
  lab.connect();
  lab.world->run_for(Duration::ms(1));
  lab.host.qps.clear();
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(lab.host.log.text, "established ");
  EXPECT_EQ(lab.target.log.text, "established disconnected ");
  EXPECT_TRUE(lab.world->run_until_idle());
}

/// Loses the packets whose ordinal in the whole network is in the list; opcode 0x64 only or all.
struct LoseOne final : net::LinkFilter {
  explicit LoseOne(std::size_t index) : lost(index) {}
  net::Verdict on_packet(net::PacketContext&) override { return seen++ == lost ? net::Verdict::dropped() : net::Verdict::pass(); }
  std::size_t lost;
  std::size_t seen = 0;
};

// The RTU is lost and the active side's first request comes instead: the passive side is established
// by it, and nothing of the data is lost.
TEST(CmDevice, TheFirstRequestStandsInForALostRtu) {
  LoseOne lose(2);  // the network looks through it to the end
  Lab lab;
  lab.network.set_filter(&lose);
  rdma::QueuePair& qp = lab.connect();
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(lab.host.log.text, "established ");
  EXPECT_EQ(lab.target.log.text, "");
  rdma::QueuePair& other = *lab.target.qps[0];
  ASSERT_TRUE(lab.target.post_receive(other));
  ASSERT_TRUE(lab.host.post_send(qp));
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(lab.target.log.text, "established ");
  ASSERT_EQ(lab.target.completions().size(), 1u);
  EXPECT_EQ(lab.world->trace().marks("cm.data_before_rtu"), 1u);
}

TEST(CmDevice, AnyLostPacketOfTheLifeIsMadeGood) {
  for (std::size_t lost = 0; lost < 7; ++lost) {
    LoseOne lose(lost);
    Lab lab;
    lab.network.set_filter(&lose);
    rdma::QueuePair& qp = lab.connect();
    lab.world->run_for(Duration::s(20));
    ASSERT_EQ(lab.host.log.text, "established ") << lost;
    ASSERT_EQ(lab.target.log.text, "established ") << lost;
    rdma::QueuePair& other = *lab.target.qps[0];
    ASSERT_TRUE(lab.target.post_receive(other));
    ASSERT_TRUE(lab.host.post_send(qp));
    lab.world->run_for(Duration::s(5));
    ASSERT_EQ(lab.target.completions().size(), 1u) << lost;
    qp.disconnect();
    EXPECT_TRUE(lab.world->run_until_idle());
    EXPECT_EQ(lab.host.log.text, "established disconnected ") << lost;
    EXPECT_EQ(lab.target.log.text, "established disconnected ") << lost;
  }
}

TEST(CmDevice, WildWeather) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Lab lab(IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 0, 2), seed);
    net::RandomLoss weather(
        *lab.world, {.drop = {15, 100}, .duplicate = {10, 100}, .delay = {10, 100}, .corrupt = {5, 100}, .max_delay = Duration::ms(20)});
    lab.network.set_filter(&weather);
    for (int i = 0; i < 5; ++i) lab.connect();
    lab.world->run_for(Duration::s(200));
    for (const auto& qp : lab.host.qps) qp->disconnect();
    lab.world->run_for(Duration::s(400));
    for (const auto& qp : lab.target.qps) qp->disconnect();
    ASSERT_TRUE(lab.world->run_until_idle()) << seed;
    for (const auto& qp : lab.host.qps) {
      EXPECT_NE(qp->state(), rdma::QpState::ready_to_send) << seed;
    }
    for (const auto& qp : lab.target.qps) EXPECT_EQ(qp->state(), rdma::QpState::error) << seed;
  }
}

// A number in TIMEWAIT is not given out, even when the device has come round to it.
TEST(CmDevice, LingeringNumbersAreNotReused) {
  Lab lab;
  lab.connect();
  lab.world->run_for(Duration::ms(1));
  const std::uint32_t number = lab.host.qps[0]->number();
  lab.host.qps.clear();
  lab.world->run_for(Duration::ms(1));
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(lab.host.make_qp().number(), number);
  }
}

TEST(CmDevice, AThousandQueuesAtOnce) {
  Lab lab;
  for (int i = 0; i < 1000; ++i) lab.connect();
  lab.world->run_for(Duration::ms(50));
  for (const auto& qp : lab.host.qps) ASSERT_EQ(qp->state(), rdma::QpState::ready_to_send);
  for (const auto& qp : lab.host.qps) qp->disconnect();
  EXPECT_TRUE(lab.world->run_until_idle());
}

TEST(CmDevice, TwoDevicesOfOneNameAreTwoDevices) {
  Lab lab;
  SoftRoceOptions options;
  options.name = "rdma";
  std::vector<std::unique_ptr<SoftRoceDevice>> devices;
  Log log;
  std::vector<std::unique_ptr<rdma::QueuePair>> qps;
  for (std::uint8_t last = 11; last < 14; ++last) {
    options.address = IpAddress::v4(10, 0, 0, last);
    net::SimHost& host = lab.network.add_host("n" + std::to_string(last), options.address);
    devices.push_back(std::move(make_softroce(*lab.world, host, options)).value());
    const auto domain = devices.back()->allocate_protection_domain();
    const auto queue = devices.back()->create_completion_queue(8);
    rdma::QueuePairOptions qp_options;
    qp_options.handler = &log;
    qps.push_back(devices.back()->create_queue_pair(*domain, qp_options));
    qps.back()->connect({lab.host_b.address(), 4420}, {});
  }
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(log.text, "established established established ");
  qps.clear();
}

/// An active side that decides on the reply by hand.
struct HeldLog final : rdma::ConnectionHandler {
  void on_accepted(rdma::QueuePair&, const rdma::ConnectionFacts& facts) override {
    text += "accepted ";
    first = facts.private_data.empty() ? 0 : facts.private_data[0];
  }
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { text += "established "; }
  void on_rejected(rdma::QueuePair&, std::uint16_t, ByteView) override { text += "rejected "; }
  void on_unreachable(rdma::QueuePair&) override { text += "unreachable "; }
  void on_disconnected(rdma::QueuePair&) override { text += "disconnected "; }
  void on_queue_error(rdma::QueuePair&) override { text += "failed "; }
  std::string text;
  std::uint8_t first = 0;
};

struct HeldLab : Lab {
  explicit HeldLab(std::uint64_t seed = 1) : Lab(IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 0, 2), seed) {
    target.welcome = {5};
    rdma::QueuePairOptions options;
    options.send_queue = options.receive_queue = host.queue.get();
    options.handler = &log;
    qp = host.device->create_queue_pair(*host.domain, options);
  }
  void connect_held() {
    rdma::ConnectionParameters parameters;
    parameters.hold_reply = true;
    parameters.source_port = 50123;
    qp->connect({host_b.address(), 4420}, parameters);
  }
  HeldLog log;
  std::unique_ptr<rdma::QueuePair> qp;
};

TEST(CmDevice, AHeldReplyWaitsForItsConfirmationHoweverLong) {
  HeldLab lab;
  lab.connect_held();
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(lab.log.text, "accepted ");
  EXPECT_EQ(lab.log.first, 5);
  EXPECT_EQ(lab.target.log.text, "");
  EXPECT_EQ(lab.target.peer.port, 50123);
  lab.world->run_for(Duration::s(300));
  ASSERT_TRUE(lab.host.post_receive(*lab.qp));
  lab.qp->confirm();
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(lab.log.text, "accepted established ");
  EXPECT_EQ(lab.target.log.text, "established ");
  ASSERT_TRUE(lab.target.post_send(*lab.target.qps[0]));
  lab.world->run_for(Duration::ms(1));
  EXPECT_EQ(lab.host.completions().size(), 1u);
  lab.qp->disconnect();
  EXPECT_TRUE(lab.world->run_until_idle());
  EXPECT_EQ(lab.target.log.text, "established disconnected ");
}

TEST(CmDevice, AHeldReplyIsRefusedByWordOrByLeaving) {
  for (const std::string how : {"refuse", "disconnect", "destroy"}) {
    HeldLab lab;
    lab.connect_held();
    lab.world->run_for(Duration::ms(1));
    if (how == "refuse") lab.qp->refuse(28, Bytes{9});
    if (how == "disconnect") lab.qp->disconnect();
    if (how == "destroy") lab.qp.reset();
    EXPECT_TRUE(lab.world->run_until_idle()) << how;
    EXPECT_EQ(lab.target.log.text, "rejected:28 ") << how;
    EXPECT_EQ(lab.log.text, how == "disconnect" ? "accepted disconnected " : "accepted ") << how;
    if (how == "refuse") {
      EXPECT_EQ(lab.target.log.private_data[0], 9);
    }
  }
}

// REQ, REP, MRA, RTU, data and what the peer answers: whichever is lost, at whatever length of the wait. The peer's
// own time is 4 s for each of 16 REPs.
TEST(CmDevice, AnyLostPacketOfAHeldReplyIsMadeGood) {
  for (const Duration wait : {Duration::ms(1), Duration::s(5), Duration::s(90), Duration::s(600)}) {
    for (std::size_t lost = 0; lost < 8; ++lost) {
      SCOPED_TRACE(std::to_string(lost) + " lost, " + std::to_string(wait.count_ns()) + " ns");
      LoseOne lose(lost);
      HeldLab lab;
      lab.network.set_filter(&lose);
      ASSERT_TRUE(lab.host.post_receive(*lab.qp));  // before there is a connection
      lab.connect_held();
      ASSERT_TRUE(lab.world->run_until([&] { return lab.log.text == "accepted "; }, Duration::s(20)));
      lab.world->run_for(wait);
      ASSERT_EQ(lab.log.text, "accepted ");
      ASSERT_EQ(lab.target.log.text, "");
      EXPECT_EQ(lab.qp->state(), rdma::QpState::ready_to_receive);
      lab.qp->confirm();
      lab.world->run_for(Duration::s(100));
      ASSERT_EQ(lab.log.text, "accepted established ");
      ASSERT_EQ(lab.target.log.text, "established ");
      ASSERT_TRUE(lab.target.post_receive(*lab.target.qps[0]));
      ASSERT_TRUE(lab.target.post_send(*lab.target.qps[0]));
      ASSERT_TRUE(lab.host.post_send(*lab.qp));
      lab.world->run_for(Duration::s(5));
      for (Node* node : {&lab.host, &lab.target}) {
        const auto done = node->completions();
        EXPECT_EQ(done.size(), 2u);
        for (const auto& c : done) EXPECT_EQ(c.status, rdma::CompletionStatus::success);
      }
      lab.qp->disconnect();
      EXPECT_TRUE(lab.world->run_until_idle());
      EXPECT_EQ(lab.log.text, "accepted established disconnected ");
      EXPECT_EQ(lab.target.log.text, "established disconnected ");
    }
  }
}

// The peer has been told to wait; when the refusal does not reach it, its next REP finds nobody.
TEST(CmDevice, ALostRefusalIsHeardAtTheNextReply) {
  LoseOne lose(3);
  HeldLab lab;
  lab.network.set_filter(&lose);
  ASSERT_TRUE(lab.host.post_receive(*lab.qp));
  lab.connect_held();
  lab.world->run_for(Duration::ms(1));
  lab.qp->refuse(28, Bytes{9});
  EXPECT_EQ(lab.qp->state(), rdma::QpState::error);
  const auto flushed = lab.host.completions();
  ASSERT_EQ(flushed.size(), 1u);
  EXPECT_EQ(flushed[0].status, rdma::CompletionStatus::flushed);
  lab.world->run_for(Duration::s(60));
  EXPECT_EQ(lab.target.log.text, "");
  EXPECT_TRUE(lab.world->run_until_idle());
  EXPECT_EQ(lab.target.log.text, "rejected:6 ");
  EXPECT_EQ(lab.target.qps[0]->state(), rdma::QpState::error);
  EXPECT_EQ(lab.log.text, "accepted ");
}

/// Loses a third of everything.
struct Lossy final : net::LinkFilter {
  explicit Lossy(std::uint64_t seed) : rng(seed, "loss") {}
  net::Verdict on_packet(net::PacketContext&) override { return rng.below(3) == 0 ? net::Verdict::dropped() : net::Verdict::pass(); }
  Rng rng;
};

TEST(CmDevice, HeldRepliesSurviveTheLossOfAnyMessage) {
  int confirmed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Lossy lossy(seed);
    HeldLab lab(seed);
    lab.network.set_filter(&lossy);
    lab.connect_held();
    lab.world->run_for(Duration::s(100));
    if (lab.log.text != "accepted ") continue;  // as unlucky as that
    ++confirmed;
    lab.qp->confirm();
    lab.world->run_for(Duration::s(200));
    EXPECT_EQ(lab.log.text.substr(0, 21), "accepted established ") << seed;
    EXPECT_EQ(lab.target.log.text.substr(0, 12), "established ") << seed;
  }
  EXPECT_GT(confirmed, 150);
}

}  // namespace
}  // namespace fb::softroce
