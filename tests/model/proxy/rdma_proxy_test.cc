// The proxy for RoCEv2 in virtual time: who hears what, with which numbers, and what faults make of it.
#include "model/proxy/rdma_proxy.h"

#include <gtest/gtest.h>

#include <deque>

#include "model/proxy/rdma_connections.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/icrc.h"
#include "sim/rdma/softroce/softroce.h"
#include "wire/rdma/cm_messages.h"
#include "wire/rdma/headers.h"

namespace fb::proxy {
namespace {

const IpAddress kFirst = IpAddress::v4(10, 0, 0, 1), kSecond = IpAddress::v4(10, 0, 0, 2), kBetween = IpAddress::v4(10, 0, 0, 3),
                kTarget = IpAddress::v4(10, 0, 0, 4);
constexpr std::uint16_t kListen = 4420, kBehind = 4421;

/// A device that connects, or takes every connection; its queue pairs share one buffer.
struct Node final : rdma::ListenHandler, rdma::ConnectionHandler {
  Node(World& world, net::SimHost& host, const std::string& name) {
    softroce::SoftRoceOptions options;
    options.name = name;  // equal names draw equal numbers
    options.address = host.address();
    options.ca_guid = 1 + host.address().bytes()[15];
    device = std::move(softroce::make_softroce(world, host, options)).value();
    domain = device->allocate_protection_domain();
    queue = device->create_completion_queue(256);
    region = domain->register_memory(
        memory, rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read | rdma::Access::remote_atomic);
  }
  rdma::QueuePair& make_qp() {
    rdma::QueuePairOptions options;
    options.send_queue = options.receive_queue = queue.get();
    options.handler = this;
    qps.push_back(device->create_queue_pair(*domain, options));
    return *qps.back();
  }
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override {
    peers.push_back(request->facts().peer.address);
    rdma::QueuePair& qp = make_qp();
    post_receive(qp);
    request->accept(qp, {.private_data = {}, .responder_resources = 4, .initiator_depth = 4});
  }
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { ++established; }
  void on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView) override { rejected = reason; }
  void on_unreachable(rdma::QueuePair&) override { ++unreachable; }
  void on_disconnected(rdma::QueuePair&) override { ++disconnected; }
  void on_queue_error(rdma::QueuePair&) override { ++errors; }

  void post_receive(rdma::QueuePair& qp) {
    const rdma::Sge sge = region->sge(4096, 4096);
    qp.post_receive({1, {&sge, 1}});
  }
  void send(rdma::QueuePair& qp, std::uint8_t fill, std::uint32_t length) {
    std::fill_n(memory.begin(), length, fill);
    const rdma::Sge sge = region->sge(0, length);
    rdma::SendRequest request;
    request.id = 2;
    request.sges = {&sge, 1};
    qp.post_send(request);
  }
  Bytes memory = Bytes(8192);
  std::vector<IpAddress> peers;
  int established = 0, disconnected = 0, unreachable = 0, errors = 0, rejected = 0;
  std::unique_ptr<softroce::SoftRoceDevice> device;
  std::unique_ptr<rdma::ProtectionDomain> domain;
  std::unique_ptr<rdma::CompletionQueue> queue;
  std::unique_ptr<rdma::MemoryRegion> region;
  std::deque<std::unique_ptr<rdma::QueuePair>> qps;
};

struct Rig {
  explicit Rig(fault::Points::Decide decide = nullptr) {
    if (decide) points.emplace(*world, std::move(decide));
    RdmaProxyOptions options;
    options.routes = {{{kBetween, kListen}, {kTarget, kBehind}}};
    options.faults = points ? &*points : nullptr;
    between = std::move(RdmaProxy::start(*world, network.add_host("between", kBetween), options)).value();
    listener = std::move(target.device->listen(kBehind, target)).value();
  }
  rdma::QueuePair& connect(Node& node, std::uint16_t port = kListen) {
    rdma::QueuePair& qp = node.make_qp();
    node.post_receive(qp);
    qp.connect({kBetween, port}, {.private_data = Bytes(32), .responder_resources = 4, .initiator_depth = 4});
    world->run_for(Duration::ms(50));
    return qp;
  }

  std::unique_ptr<World> world = World::make_virtual(1);
  net::SimNetwork network{*world};
  Node first{*world, network.add_host("first", kFirst), "host"};
  Node second{*world, network.add_host("second", kSecond), "host"};
  Node target{*world, network.add_host("target", kTarget), "target"};
  std::optional<fault::Points> points;
  std::unique_ptr<RdmaProxy> between;
  std::unique_ptr<rdma::Listener> listener;
};

TEST(RdmaProxy, TwoHostsEachHearTheirOwnAnswers) {
  Rig rig;
  rig.connect(rig.first);
  rdma::QueuePair& two = rig.connect(rig.second);
  EXPECT_EQ(rig.first.established, 1);
  EXPECT_EQ(rig.second.established, 1);
  EXPECT_EQ(rig.target.peers, (std::vector{kBetween, kBetween}));
  EXPECT_EQ(rig.between->open(), 2u);
  rig.target.send(*rig.target.qps[0], 0x11, 3000);
  rig.world->run_for(Duration::ms(5));
  EXPECT_EQ(rig.first.memory[4096 + 2999], 0x11);
  EXPECT_EQ(rig.second.memory[4096], 0);
  rig.target.send(*rig.target.qps[1], 0x22, 3000);
  rig.second.send(two, 0x33, 4096);
  rig.world->run_for(Duration::ms(5));
  EXPECT_EQ(rig.second.memory[4096 + 2999], 0x22);
  EXPECT_EQ(rig.first.memory[4096], 0x11);
  EXPECT_EQ(rig.target.memory[4096 + 4095], 0x33);
  EXPECT_EQ(rig.between->counters().connections, 2u);
  EXPECT_EQ(rig.between->counters().damaged + rig.between->counters().strangers, 0u);
}

/// An end that writes its packets itself.
struct RawEnd final : net::DatagramReceiver {
  explicit RawEnd(net::SimHost& host) : port(std::move(host.open({host.address(), roce::kUdpPort})).value()) { port->set_receiver(this); }
  void on_datagram(const net::Arrival& arrival) override { heard.emplace_back(arrival.payload.begin(), arrival.payload.end()); }
  void send(const Bytes& packet) {
    const Endpoint to{kBetween, roce::kUdpPort};
    const net::Outgoing out = port->begin(to, packet.size());
    std::ranges::copy(packet, out.payload.begin());
    softroce::seal_icrc({port->local(), to}, out.payload, out.ip);
    port->commit();
  }
  static Bytes mad(cm::Attribute attribute, std::uint32_t local, std::uint32_t remote) {
    Bytes packet(20 + cm::kMadBytes + roce::kIcrcBytes);
    MutableView<roce::Bth>{packet}.set(roce::bth::opcode, roce::Opcode::ud_send_only).set(roce::bth::destqp, roce::kGsiQpn);
    MutableView<cm::MadHeader>{MutableBytes(packet).subspan(20)}.set(cm::mad::attribute, attribute);
    MutableView<cm::Ids>{message(packet)}.set(cm::ids::local_comm_id, local).set(cm::ids::remote_comm_id, remote);
    return packet;
  }
  static MutableBytes message(Bytes& packet) { return MutableBytes(packet).subspan(44, cm::kMessageBytes); }

  std::unique_ptr<net::DatagramPort> port;
  std::vector<Bytes> heard;
};

TEST(RdmaProxy, TheSameNumbersOfTwoHostsAreTwoNumbersForTheController) {
  const auto world = World::make_virtual(1);
  net::SimNetwork network(*world);
  RawEnd hosts[] = {RawEnd(network.add_host("first", kFirst)), RawEnd(network.add_host("second", kSecond))};
  RawEnd target(network.add_host("target", kTarget));
  RdmaProxyOptions options;
  options.routes = {{{kBetween, kListen}, {kTarget, kBehind}}};
  const auto between = std::move(RdmaProxy::start(*world, network.add_host("between", kBetween), options)).value();
  Bytes request = RawEnd::mad(cm::Attribute::req, 7, 0);
  MutableView<cm::Req>{RawEnd::message(request)}.set(cm::req::local_qpn, 0x55).set(cm::req::service_id, cm::service_id_of(kListen));
  for (RawEnd& host : hosts) host.send(request);
  world->run_for(Duration::ms(1));
  ASSERT_EQ(target.heard.size(), 2u);
  std::uint32_t qpn[2] = {};
  for (std::uint32_t i = 0; i < 2; ++i) {
    const View<cm::Req> seen{RawEnd::message(target.heard[i])};
    qpn[i] = seen.get(cm::req::local_qpn);
    EXPECT_EQ(seen.get(cm::req::service_id), cm::service_id_of(kBehind));
    EXPECT_TRUE(std::ranges::equal(seen.get(cm::req::primary_local_gid), kBetween.bytes()));
    EXPECT_TRUE(std::ranges::equal(seen.get(cm::req::primary_remote_gid), kTarget.bytes()));
    Bytes reply = RawEnd::mad(cm::Attribute::rep, 100 + i, seen.get(cm::req::local_comm_id));
    MutableView<cm::Rep>{RawEnd::message(reply)}.set(cm::rep::local_qpn, 0x900 + i);
    target.send(reply);
  }
  EXPECT_NE(qpn[0], qpn[1]);
  for (const std::uint32_t number : qpn) {
    Bytes message(roce::Bth::size + 8 + roce::kIcrcBytes, static_cast<std::uint8_t>(number));
    MutableView<roce::Bth>{message}.set(roce::bth::opcode, roce::Opcode::send_only).set(roce::bth::destqp, number);
    target.send(message);
  }
  world->run_for(Duration::ms(1));
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_EQ(hosts[i].heard.size(), 2u);
    EXPECT_EQ(View<cm::Rep>{RawEnd::message(hosts[i].heard[0])}.get(cm::rep::remote_comm_id), 7u);
    EXPECT_EQ(View<cm::Rep>{RawEnd::message(hosts[i].heard[0])}.get(cm::rep::local_qpn), 0x900 + i);
    EXPECT_EQ(View<roce::Bth>{hosts[i].heard[1]}.get(roce::bth::destqp), 0x55u);
    EXPECT_EQ(hosts[i].heard[1][roce::Bth::size], static_cast<std::uint8_t>(qpn[i]));
  }
  target.send(RawEnd::mad(cm::Attribute::rej, 1, 0x7777));
  world->run_for(Duration::ms(1));
  EXPECT_EQ(between->counters().strangers, 1u);
}

TEST(RdmaProxy, EitherEndDisconnectsTheOther) {
  for (const bool by_host : {true, false}) {
    Rig rig;
    rdma::QueuePair& qp = rig.connect(rig.first);
    (by_host ? qp : *rig.target.qps[0]).disconnect();
    rig.world->run_for(Duration::ms(50));
    EXPECT_EQ(rig.first.disconnected, 1) << by_host;
    EXPECT_EQ(rig.target.disconnected, 1) << by_host;
    EXPECT_EQ(rig.between->open(), 0u) << by_host;
  }
}

TEST(RdmaProxy, ItsEndDisconnectsBoth) {
  Rig rig;
  rig.connect(rig.first);
  rig.between->close();
  rig.world->run_for(Duration::ms(50));
  EXPECT_EQ(rig.first.disconnected, 1);
  EXPECT_EQ(rig.target.disconnected, 1);
}

TEST(RdmaProxy, APortThatNobodyListensAtIsRefusedByTheController) {
  Rig rig;
  rig.connect(rig.first, 9);
  EXPECT_EQ(rig.first.rejected, 8);
  EXPECT_EQ(rig.first.established, 0);
}

TEST(RdmaProxy, ANumberIsFreeAgainForItsOwnHost) {
  Rig rig;
  for (int round = 1; round <= 3; ++round) {
    rdma::QueuePair& qp = rig.connect(rig.first);
    EXPECT_EQ(rig.first.established, round);
    qp.disconnect();
    rig.world->run_for(Duration::s(10));
  }
  EXPECT_EQ(rig.between->counters().connections, 3u);
}

TEST(RdmaProxy, PacketsUnderFaultsArriveAllTheSame) {
  const auto kinds = {fault::Kind::drop, fault::Kind::duplicate, fault::Kind::corrupt, fault::Kind::delay, fault::Kind::truncate};
  for (const fault::Kind kind : kinds) {
    Rig rig([&](const fault::Place& place) {
      std::vector<fault::Decision> made;
      const std::uint64_t amount = kind == fault::Kind::delay ? 1'000'000 : 7;
      if (place.site == fault::Site::packet) made = {{place, 0, kind, amount}, {place, 2, kind, amount}};
      return made;
    });
    rdma::QueuePair& qp = rig.connect(rig.first);
    rig.world->run_for(Duration::s(20));
    ASSERT_EQ(rig.first.established, 1) << static_cast<int>(kind);
    rig.first.send(qp, 0x44, 4096);
    rig.world->run_for(Duration::s(20));
    EXPECT_EQ(rig.target.memory[4096 + 4095], 0x44) << static_cast<int>(kind);
    EXPECT_GE(rig.points->strikes().size(), 2u) << static_cast<int>(kind);
  }
}

TEST(RdmaProxy, AnAddressLeadsToOneControllerOnly) {
  Rig rig;
  RdmaProxyOptions options;
  options.routes = {{{kBetween, 1}, {kTarget, 1}}, {{kBetween, 2}, {kFirst, 2}}};
  const auto started = RdmaProxy::start(*rig.world, rig.network.add_host("other", IpAddress::v4(10, 0, 0, 9)), options);
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().text.find("one controller only"), std::string::npos);
}

TEST(RdmaConnections, NumbersStayUniqueAndMemoryBounded) {
  RdmaConnections connections;
  for (std::uint32_t i = 0; i < 40'000; ++i) {
    const IpAddress host = IpAddress::v4(10, 1, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i));
    const auto [made, is_new] = connections.begin(host, 0xFFFFFFFF, 0xFFFFFF);
    ASSERT_TRUE(is_new);
    ASSERT_EQ(connections.by_qpn(made->qpn), made);
    ASSERT_EQ(connections.by_comm_id(made->comm_id), made);
    ASSERT_GT(made->qpn, 1u);
    connections.accepted(*made, i, i & 0xFFFFFF);
    EXPECT_EQ(connections.begin(host, 0xFFFFFFFF, 0xFFFFFF).first, made);
  }
  EXPECT_EQ(connections.all().size(), 16384u);
}

}  // namespace
}  // namespace fb::proxy
