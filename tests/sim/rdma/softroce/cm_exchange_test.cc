// Two connection managers against each other over a wire that does what the test says.
#include <gtest/gtest.h>

#include "tests/sim/rdma/softroce/cm_fake.h"

namespace fb::softroce::test {
namespace {

using cm::Attribute;

struct Pair {
  explicit Pair(std::uint64_t seed = 1, const CmOptions& options = {})
      : world(World::make_virtual(seed)),
        wire(*world),
        host(*world, wire, "host", kHostAddress, options),
        target(*world, wire, "target", kTargetAddress, options) {
    target.listen();
  }
  FakeQp& target_qp(std::size_t index = 0) { return *target.qps.at(index); }
  bool both_gone() const { return host.cm->connections() == 0 && target.cm->connections() == 0; }

  std::unique_ptr<World> world;
  FakeWire wire;
  FakeNode host;
  FakeNode target;
};

TEST(CmExchange, ConnectSaysWhatLinuxSays) {
  Pair p;
  const Bytes hello = {1, 2, 3, 4};
  const Bytes welcome = {9, 8, 7};
  p.target.answer.private_data = welcome;
  FakeQp& qp = p.host.connect(kTargetAddress, {.private_data = hello});
  p.world->run_for(Duration::ms(1));

  EXPECT_EQ(p.wire.names(), "REQ REP RTU");
  EXPECT_EQ(qp.log, "rtr rts established");
  EXPECT_EQ(p.target_qp().log, "rtr rts established");
  const auto req = p.wire.log[0].as<cm::Req>();
  EXPECT_EQ(req.get(cm::req::service_id), 0x0000000001061144u);
  EXPECT_EQ(req.get(cm::req::local_ca_guid), p.host.ca_guid());
  EXPECT_EQ(req.get(cm::req::local_qpn), qp.number());
  EXPECT_EQ(req.get(cm::req::remote_cm_timeout), 20);
  EXPECT_EQ(req.get(cm::req::local_cm_timeout), 20);
  EXPECT_EQ(req.get(cm::req::transport), cm::Transport::rc);
  EXPECT_EQ(req.get(cm::req::flow_control), 1);
  EXPECT_EQ(req.get(cm::req::retry_count), 7);
  EXPECT_EQ(req.get(cm::req::rnr_retry_count), 7);
  EXPECT_EQ(req.get(cm::req::pkey), 0xFFFF);
  EXPECT_EQ(req.get(cm::req::path_mtu), 5);
  EXPECT_EQ(req.get(cm::req::max_cm_retries), 15);
  EXPECT_EQ(req.get(cm::req::primary_local_lid), 0xFFFF);
  EXPECT_EQ(req.get(cm::req::primary_remote_lid), 0xFFFF);
  EXPECT_EQ(cm::from_gid(req.get(cm::req::primary_local_gid)), kHostAddress);
  EXPECT_EQ(cm::from_gid(req.get(cm::req::primary_remote_gid)), kTargetAddress);
  EXPECT_EQ(req.get(cm::req::primary_hop_limit), 64);
  EXPECT_EQ(req.get(cm::req::primary_ack_timeout), 16);
  EXPECT_EQ(req.get(cm::req::alternate_local_lid), 0);
  const View<cm::IpHeader> ip{req.get(cm::req::private_data)};
  EXPECT_EQ(to_hex(ip.bytes()).substr(0, 4), "0040");
  EXPECT_EQ(to_hex(ip.get(cm::ip_header::source)), "0000000000000000000000000a000001");
  EXPECT_EQ(to_hex(ip.get(cm::ip_header::destination)), "0000000000000000000000000a000002");
  EXPECT_EQ((ip.get(cm::ip_header::source_port) * 31u + 4420u) & 0xFFFFF, req.get(cm::req::primary_flow_label));
  EXPECT_EQ(first_reserved_set<cm::Req>(req.bytes()), std::nullopt);

  EXPECT_EQ(p.wire.log[1].tid(), p.wire.log[0].tid());
  EXPECT_EQ(p.wire.log[2].tid(), p.wire.log[0].tid());
  ASSERT_EQ(p.target.request_data.size(), 56u);
  EXPECT_EQ(to_hex(ByteView{p.target.request_data}.first(6)), "010203040000");
  ASSERT_EQ(qp.private_data.size(), 196u);
  EXPECT_EQ(to_hex(ByteView{qp.private_data}.first(4)), "09080700");
  EXPECT_EQ(p.target.last_request.peer, (Endpoint{kHostAddress, ip.get(cm::ip_header::source_port)}));
  EXPECT_EQ(qp.facts.peer, (Endpoint{kTargetAddress, 4420}));
}

TEST(CmExchange, EachSideSendsFromThePsnThatTheOtherAnnounced) {
  Pair p;
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  const FakeQp& other = p.target_qp();
  EXPECT_EQ(qp.path.peer_qpn, other.number());
  EXPECT_EQ(other.path.peer_qpn, qp.number());
  EXPECT_EQ(qp.path.send_psn, other.path.receive_psn);
  EXPECT_EQ(other.path.send_psn, qp.path.receive_psn);
  EXPECT_NE(qp.path.send_psn, qp.path.receive_psn);
  EXPECT_EQ(p.wire.log[0].as<cm::Req>().get(cm::req::starting_psn), other.path.send_psn);
  EXPECT_EQ(p.wire.log[1].as<cm::Rep>().get(cm::rep::starting_psn), qp.path.send_psn);
  EXPECT_EQ(qp.path.peer, kTargetAddress);
  EXPECT_EQ(other.path.peer, kHostAddress);
}

TEST(CmExchange, DepthsAreExchangedAndClamped) {
  Pair p;
  p.target.device_limits.max_reads = 64;
  p.target.answer.responder_resources = 200;
  p.target.answer.initiator_depth = 200;
  FakeQp& qp = p.host.connect(kTargetAddress, {.private_data = {}, .responder_resources = 255, .initiator_depth = 8, .rnr_retry_count = 3});
  p.world->run_for(Duration::ms(1));
  const FakeQp& other = p.target_qp();
  EXPECT_EQ(p.target.last_request.responder_resources, 128) << "clamped to the host's device";
  EXPECT_EQ(p.target.last_request.initiator_depth, 8);
  EXPECT_EQ(other.path.responder_resources, 8);
  EXPECT_EQ(other.path.initiator_depth, 64);
  EXPECT_EQ(qp.path.initiator_depth, 8);
  EXPECT_EQ(qp.path.responder_resources, 64);
  EXPECT_EQ(qp.facts.responder_resources, 8);
  EXPECT_EQ(qp.facts.initiator_depth, 64);
  EXPECT_EQ(other.path.rnr_retry_count, 3) << "the REQ says how often we retry towards its sender";
  EXPECT_EQ(qp.path.rnr_retry_count, 7);
}

TEST(CmExchange, TheTimeoutsOfTheReqBindThePassiveSide) {
  Pair p(1, {.local_ack_timeout_code = 14, .target_ack_delay_code = 15});
  FakeQp& qp = p.host.connect(kTargetAddress, {.private_data = {}, .retry_count = 3});
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(p.target_qp().path.ack_timeout_code, 14);
  EXPECT_EQ(p.target_qp().path.retry_count, 3);
  EXPECT_EQ(qp.path.retry_count, 3);
  EXPECT_EQ(qp.path.ack_timeout_code, 16) << "outlasts the target's ACK delay";
}

TEST(CmExchange, ConsumerRejectCarriesItsData) {
  Pair p;
  p.target.manner = FakeNode::Manner::reject;
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(p.wire.names(), "REQ REJ");
  EXPECT_EQ(qp.log, "rejected:28");
  ASSERT_EQ(qp.private_data.size(), 148u);
  EXPECT_EQ(to_hex(ByteView{qp.private_data}.first(5)), "0000040000");
  EXPECT_EQ(p.wire.log[1].as<cm::Rej>().get(cm::rej::about), cm::About::req);
  EXPECT_EQ(p.wire.log[1].as<cm::Rej>().get(cm::rej::info_length), 0);
  EXPECT_TRUE(p.both_gone());
}

TEST(CmExchange, ADroppedRequestIsARejectedOne) {
  Pair p;
  p.target.manner = FakeNode::Manner::keep;
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  ASSERT_EQ(p.target.pending.size(), 1u);
  p.target.pending.clear();
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(qp.log, "rejected:28");
}

TEST(CmExchange, NobodyListens) {
  Pair p;
  FakeQp& qp = p.host.connect(kTargetAddress, {}, 4421);
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(qp.log, "rejected:8");
  p.target.listeners.clear();
  FakeQp& second = p.host.connect(kTargetAddress, {}, 4420);
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(second.log, "rejected:8");
}

TEST(CmExchange, APortIsTakenOnce) {
  Pair p;
  const auto again = p.target.cm->listen(4420, p.target);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().text, "RDMA port 10.0.0.2:4420 is taken");
  EXPECT_FALSE(p.target.cm->listen(0, p.target).ok());
  p.target.listeners.clear();
  EXPECT_TRUE(p.target.cm->listen(4420, p.target).ok());
}

TEST(CmExchange, DisconnectAndTimewait) {
  Pair p;
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  p.host.cm->disconnect(qp);
  p.host.cm->disconnect(qp);
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(p.wire.names(), "REQ REP RTU DREQ DREP");
  EXPECT_EQ(qp.log, "rtr rts established error disconnected");
  EXPECT_EQ(p.target_qp().log, "rtr rts established error disconnected");
  EXPECT_NE(p.wire.log[3].tid(), p.wire.log[0].tid());
  EXPECT_EQ(p.wire.log[4].tid(), p.wire.log[3].tid());
  EXPECT_EQ(p.wire.log[3].as<cm::Dreq>().get(cm::dreq::remote_qpn), p.target_qp().number());
  // 2^(16-8) ms of TIMEWAIT on both sides.
  EXPECT_TRUE(p.host.cm->qpn_lingers(qp.number()));
  EXPECT_TRUE(p.target.cm->qpn_lingers(p.target_qp().number()));
  p.world->run_for(Duration::ms(250));
  EXPECT_TRUE(p.host.cm->qpn_lingers(qp.number()));
  p.world->run_for(Duration::ms(10));
  EXPECT_FALSE(p.host.cm->qpn_lingers(qp.number()));
  EXPECT_FALSE(p.target.cm->qpn_lingers(p.target_qp().number()));
  EXPECT_TRUE(p.both_gone());
  EXPECT_TRUE(p.world->run_until_idle());
}

TEST(CmExchange, CrossingDisconnects) {
  Pair p;
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  p.host.cm->disconnect(qp);
  p.target.cm->disconnect(p.target_qp());
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(p.wire.names(), "REQ REP RTU DREQ DREQ DREP DREP");
  EXPECT_EQ(qp.log, "rtr rts established error error disconnected");
  EXPECT_EQ(p.target_qp().log, qp.log);
  EXPECT_EQ(p.world->trace().marks("cm.dreq.crossing"), 2u);
  EXPECT_TRUE(p.world->run_until_idle());
  EXPECT_TRUE(p.both_gone());
}

TEST(CmExchange, AForgottenQueuePairDisconnectsQuietly) {
  Pair p;
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  p.host.cm->forget(qp);
  EXPECT_TRUE(p.host.cm->qpn_lingers(qp.number()));
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(qp.log, "rtr rts established") << "it is not touched again";
  EXPECT_EQ(p.target_qp().log, "rtr rts established error disconnected");
  EXPECT_TRUE(p.world->run_until_idle());
  EXPECT_TRUE(p.both_gone());
}

TEST(CmExchange, ForgottenInTheMiddleOfTheHandshake) {
  for (int step = 0; step < 3; ++step) {
    Pair p;
    FakeQp& qp = p.host.connect(kTargetAddress);
    p.world->run_for(Duration::us(step * 10 + 5));
    if (step == 1) {
      p.target.cm->forget(p.target_qp());
      p.world->run_for(Duration::ms(1));
      EXPECT_EQ(p.target_qp().log, "rtr");
      EXPECT_TRUE(qp.was("disconnected")) << qp.log;
    } else {
      p.host.cm->forget(qp);
      p.world->run_for(Duration::ms(1));
      EXPECT_FALSE(qp.was("disconnected"));
    }
    EXPECT_TRUE(p.world->run_until_idle());
    EXPECT_TRUE(p.both_gone()) << step;
  }
}

TEST(CmExchange, AnUnreachablePeerGetsSixteenReqs) {
  Pair p;
  FakeQp& qp = p.host.connect(kRawAddress);
  EXPECT_TRUE(p.world->run_until_idle());
  EXPECT_EQ(qp.log, "unreachable");
  EXPECT_EQ(p.wire.count(Attribute::req), 16u);
  // 2 * 2^(18-8) + 2^(20-8) ms between them, and after the last.
  EXPECT_EQ(p.wire.log[1].time - p.wire.log[0].time, Duration::ms(6144));
  EXPECT_EQ(p.wire.log[15].time - p.wire.log[0].time, Duration::ms(6144 * 15));
  EXPECT_EQ(p.wire.log[15].mad, p.wire.log[0].mad) << "a resend is the same message";
  // The end is told to a peer that may have heard something: REJ 4 with our GUID.
  const SentMad& rej = p.wire.last();
  ASSERT_EQ(rej.attribute(), Attribute::rej);
  EXPECT_EQ(rej.time - p.wire.log[0].time, Duration::ms(6144 * 16));
  EXPECT_EQ(rej.as<cm::Rej>().get(cm::rej::reason), 4);
  EXPECT_EQ(rej.as<cm::Rej>().get(cm::rej::info_length), 8);
  EXPECT_EQ(load_be<std::uint64_t>(rej.as<cm::Rej>().get(cm::rej::info).data()), p.host.ca_guid());
}

TEST(CmExchange, DisconnectBeforeTheAnswerWithdraws) {
  Pair p;
  p.target.manner = FakeNode::Manner::keep;
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  p.host.cm->disconnect(qp);
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(qp.log, "error disconnected");
  EXPECT_EQ(p.target.cm->connections(), 0u) << "the REJ 4 named the connection by GUID";
  // The listener's late answer reaches nobody.
  FakeQp& late = p.target.new_qp();
  p.target.pending.front()->accept(late, {});
  EXPECT_EQ(late.log, "error disconnected");
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(p.wire.names(), "REQ REJ");
}

TEST(CmExchange, DataBeforeTheRtuEstablishes) {
  Pair p;
  p.wire.decide = [](std::size_t, const SentMad& sent) { return Fate{.copies = sent.attribute() == Attribute::rtu ? 0 : 1}; };
  p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(p.target_qp().log, "rtr");
  p.target.cm->data_before_rtu(p.target_qp().number());
  p.target.cm->data_before_rtu(p.target_qp().number());
  p.target.cm->data_before_rtu(0x99);
  EXPECT_EQ(p.target_qp().log, "rtr rts established");
  p.world->run_for(Duration::s(100));
  EXPECT_EQ(p.wire.count(Attribute::rep), 1u) << "the REP is confirmed";
}

TEST(CmExchange, ASlowListenerIsCoveredByAnMra) {
  Pair p;
  p.target.manner = FakeNode::Manner::keep;
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::s(60));
  // The first resend draws the MRA; its 65 s silence the active side.
  EXPECT_EQ(p.wire.names(), "REQ REQ MRA");
  EXPECT_EQ(p.target.requests, 1);
  p.target.pending.front()->accept(p.target.new_qp(), {});
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(qp.log, "rtr rts established");
  EXPECT_EQ(p.wire.names(), "REQ REQ MRA REP RTU");
}

TEST(CmExchange, ManyConnectionsHaveIdsOfTheirOwn) {
  Pair p;
  for (int i = 0; i < 1000; ++i) p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(p.host.cm->connections(), 1000u);
  for (const auto& qp : p.host.qps) ASSERT_EQ(qp->log, "rtr rts established");
  for (const auto& qp : p.target.qps) ASSERT_EQ(qp->log, "rtr rts established");
  for (const auto& qp : p.host.qps) p.host.cm->disconnect(*qp);
  EXPECT_TRUE(p.world->run_until_idle());
  EXPECT_TRUE(p.both_gone());
}

TEST(CmExchange, ADeviceConnectsToItself) {
  Pair p;
  p.target.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  ASSERT_EQ(p.target.qps.size(), 2u);
  EXPECT_EQ(p.target_qp(0).log, "rtr rts established");
  EXPECT_EQ(p.target_qp(1).log, "rtr rts established");
  p.target.cm->disconnect(p.target_qp(1));
  EXPECT_TRUE(p.world->run_until_idle());
  EXPECT_EQ(p.target.cm->connections(), 0u);
}

TEST(CmExchange, Ipv6) {
  const auto world = World::make_virtual(3);
  FakeWire wire(*world);
  const IpAddress a = *IpAddress::parse("fd00::1");
  const IpAddress b = *IpAddress::parse("fd00::2");
  FakeNode host(*world, wire, "host", a);
  FakeNode target(*world, wire, "target", b);
  target.listen();
  FakeQp& qp = host.connect(b);
  world->run_for(Duration::ms(1));
  EXPECT_EQ(qp.log, "rtr rts established");
  const auto req = wire.log[0].as<cm::Req>();
  const View<cm::IpHeader> ip{req.get(cm::req::private_data)};
  EXPECT_EQ(ip.get(cm::ip_header::ip_version), 6);
  EXPECT_EQ(to_hex(ip.get(cm::ip_header::source)), "fd000000000000000000000000000001");
  EXPECT_EQ(cm::from_gid(req.get(cm::req::primary_remote_gid)), b);
  // An address of the other version cannot be reached.
  FakeQp& wrong = host.connect(kTargetAddress);
  EXPECT_EQ(wrong.log, "unreachable");
}

TEST(CmExchange, ThingsMayBeDestroyedInAnyOrder) {
  const auto world = World::make_virtual(3);
  FakeWire wire(*world);
  auto host = std::make_unique<FakeNode>(*world, wire, "host", kHostAddress);
  auto target = std::make_unique<FakeNode>(*world, wire, "target", kTargetAddress);
  target->listen();
  target->manner = FakeNode::Manner::keep;
  host->connect(kTargetAddress);
  world->run_for(Duration::ms(1));
  auto request = std::move(target->pending.front());
  auto listener = std::move(target->listeners.front());
  target->listeners.clear();
  target->pending.clear();
  target->cm.reset();
  request->reject(28, {});
  request.reset();
  listener.reset();
  host.reset();
  EXPECT_TRUE(world->run_until_idle());
}

// ---------------------------------------------------------------- loss

// The whole life of a connection, with the n-th message lost. Nothing may be left over, and both
// sides must have agreed at some point.
TEST(CmExchange, AnyOneMessageMayBeLost) {
  for (std::size_t lost = 0; lost < 6; ++lost) {
    for (const bool target_ends : {false, true}) {
      Pair p(7);
      p.wire.decide = [&](std::size_t n, const SentMad&) { return Fate{.copies = n == lost ? 0 : 1}; };
      FakeQp& qp = p.host.connect(kTargetAddress);
      p.world->run_for(Duration::s(20));
      ASSERT_EQ(qp.log, "rtr rts established") << lost;
      ASSERT_EQ(p.target_qp().log, "rtr rts established") << lost;
      ASSERT_EQ(p.target.qps.size(), 1u) << lost;
      EXPECT_EQ(qp.path.send_psn, p.target_qp().path.receive_psn);
      if (target_ends) {
        p.target.cm->disconnect(p.target_qp());
      } else {
        p.host.cm->disconnect(qp);
      }
      ASSERT_TRUE(p.world->run_until_idle());
      EXPECT_EQ(qp.log, "rtr rts established error disconnected") << lost;
      EXPECT_EQ(p.target_qp().log, "rtr rts established error disconnected") << lost;
      EXPECT_TRUE(p.both_gone()) << lost;
    }
  }
}

TEST(CmExchange, AnyOneMessageMayComeTwice) {
  for (std::size_t doubled = 0; doubled < 5; ++doubled) {
    Pair p(7);
    p.wire.decide = [&](std::size_t n, const SentMad&) { return Fate{.copies = n == doubled ? 3 : 1, .delay = Duration::us(7)}; };
    FakeQp& qp = p.host.connect(kTargetAddress);
    p.world->run_for(Duration::ms(10));
    ASSERT_EQ(qp.log, "rtr rts established") << doubled;
    ASSERT_EQ(p.target.qps.size(), 1u) << doubled;
    ASSERT_EQ(p.target_qp().log, "rtr rts established") << doubled;
    p.host.cm->disconnect(qp);
    ASSERT_TRUE(p.world->run_until_idle());
    EXPECT_EQ(p.target_qp().log, "rtr rts established error disconnected") << doubled;
    EXPECT_TRUE(p.both_gone()) << doubled;
  }
}

TEST(CmExchange, ALostRepIsReplacedAtTheRepeatedReq) {
  Pair p;
  p.wire.decide = [](std::size_t n, const SentMad&) { return Fate{.copies = n == 1 ? 0 : 1}; };
  p.host.connect(kTargetAddress);
  p.world->run_for(Duration::s(10));
  // REP timer: 4096 ms; it runs out before the REQ's 6144 ms.
  EXPECT_EQ(p.wire.names(), "REQ REP REP RTU");
  EXPECT_EQ(p.wire.log[2].time - p.wire.log[1].time, Duration::ms(4096));
  EXPECT_EQ(p.wire.log[1].mad, p.wire.log[2].mad);
}

TEST(CmExchange, ThePassiveSideGivesUpAfterTheRetriesOfTheReq) {
  Pair p;
  p.wire.decide = [](std::size_t, const SentMad& sent) { return Fate{.copies = sent.attribute() == Attribute::req ? 1 : 0}; };
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  p.host.cm->forget(qp);
  p.host.cm.reset();
  p.wire.remove(p.host);
  EXPECT_TRUE(p.world->run_until_idle());
  EXPECT_EQ(p.wire.count(Attribute::rep), 16u);
  EXPECT_EQ(p.target_qp().log, "rtr error unreachable");
  EXPECT_EQ(p.wire.last().attribute(), Attribute::rej);
  EXPECT_EQ(p.wire.last().as<cm::Rej>().get(cm::rej::reason), 4);
  EXPECT_EQ(p.target.cm->connections(), 0u);
  p.host.cm = std::make_unique<ConnectionManager>(p.host, CmOptions{});
}

TEST(CmExchange, AnUnansweredDreqEndsAsWell) {
  Pair p;
  FakeQp& qp = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  p.wire.decide = [](std::size_t, const SentMad&) { return Fate{.copies = 0}; };
  p.host.cm->disconnect(qp);
  EXPECT_TRUE(p.world->run_until_idle());
  EXPECT_EQ(p.wire.count(Attribute::dreq), 16u);
  EXPECT_EQ(qp.log, "rtr rts established error disconnected");
  EXPECT_EQ(p.host.cm->connections(), 0u);
  EXPECT_EQ(p.target.cm->connections(), 1u) << "nobody has told the target";
}

// A peer that died and came back at the same address with a fresh GUID connects at once; one that
// came back with the same GUID and QPN is told so, and gets in when the old connection is gone.
TEST(CmExchange, ARestartedPeerGetsIn) {
  Pair p;
  p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  p.host.qps.clear();
  p.host.next_qpn = 0x11;
  p.host.cm = std::make_unique<ConnectionManager>(p.host, CmOptions{});
  FakeQp& again = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(again.log, "rejected:10");
  EXPECT_EQ(p.target_qp(0).log, "rtr rts established error disconnected");
  p.world->run_for(Duration::ms(300));
  FakeQp& third = p.host.connect(kTargetAddress);
  p.world->run_for(Duration::ms(1));
  EXPECT_EQ(third.log, "rtr rts established");
}

// Random loss, duplication and delay (hence reordering), several connections, ends from either side:
// every queue pair that was established is told of the end, and everything is forgotten.
TEST(CmExchange, AnyWeatherLeavesNothingBehind) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Pair p(seed);
    Rng rng(seed, "weather");
    const std::uint64_t loss = rng.below(40);
    p.wire.decide = [&](std::size_t, const SentMad&) {
      Fate fate;
      fate.copies = rng.chance(loss, 100) ? 0 : rng.chance(10, 100) ? 2 : 1;
      fate.delay = Duration::us(static_cast<std::int64_t>(rng.between(1, 100)));
      if (rng.chance(1, 20)) fate.delay = Duration::ms(static_cast<std::int64_t>(rng.between(1, 8000)));
      return fate;
    };
    for (int i = 0; i < 4; ++i) {
      p.host.connect(kTargetAddress, {.private_data = {}, .responder_resources = 4, .initiator_depth = 4});
    }
    p.world->run_for(Duration::ms(static_cast<std::int64_t>(rng.between(0, 30000))));
    for (const auto& qp : p.host.qps) {
      if (rng.chance(1, 2)) p.host.cm->disconnect(*qp);
    }
    for (const auto& qp : p.target.qps) {
      if (rng.chance(1, 2)) p.target.cm->disconnect(*qp);
    }
    p.world->run_for(Duration::s(400));
    // Pairs that both believe in their connection must mean the same one.
    for (const auto& qp : p.host.qps) {
      if (!qp->was("established") || qp->was("disconnected")) continue;
      for (const auto& other : p.target.qps) {
        if (other->number() != qp->path.peer_qpn || !other->was("established")) continue;
        ASSERT_EQ(other->path.peer_qpn, qp->number()) << seed;
        ASSERT_EQ(other->path.receive_psn, qp->path.send_psn) << seed;
        ASSERT_EQ(other->path.send_psn, qp->path.receive_psn) << seed;
      }
    }
    for (const auto& qp : p.host.qps) p.host.cm->disconnect(*qp);
    p.world->run_for(Duration::s(400));
    for (const auto& qp : p.target.qps) p.target.cm->disconnect(*qp);
    ASSERT_TRUE(p.world->run_until_idle()) << seed;
    ASSERT_TRUE(p.both_gone()) << seed;
    for (const auto* node : {&p.host, &p.target}) {
      for (const auto& qp : node->qps) {
        const bool ended = qp->was("disconnected") || qp->was("unreachable") || qp->log.find("rejected") != std::string::npos;
        ASSERT_TRUE(ended) << seed << " " << qp->log;
        ASSERT_EQ(qp->log.find("disconnected"), qp->log.rfind("disconnected")) << seed << qp->log;
      }
    }
  }
}

TEST(CmExchange, EqualSeedsEqualBytes) {
  const auto run = [](std::uint64_t seed) {
    Pair p(seed);
    p.host.connect(kTargetAddress);
    p.world->run_for(Duration::ms(1));
    Bytes all;
    for (const SentMad& sent : p.wire.log) {
      all.insert(all.end(), sent.mad.bytes().begin(), sent.mad.bytes().end());
    }
    return std::pair{all, p.world->digest()};
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5).first, run(6).first);
}

}  // namespace
}  // namespace fb::softroce::test
