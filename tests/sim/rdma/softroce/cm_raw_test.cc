// One connection manager against raw messages: what it checks, what it answers, what it drops.
#include <functional>

#include <gtest/gtest.h>

#include "tests/sim/rdma/softroce/cm_fake.h"

namespace fb::softroce::test {
namespace {

using cm::Attribute;
namespace req = cm::req;
namespace ip = cm::ip_header;

struct Bench {
  explicit Bench(const CmOptions& options = {}, SoftHooks* hooks = nullptr)
      : world(World::make_virtual(1)), wire(*world), target(*world, wire, "target", kTargetAddress, options, hooks) {
    target.mtu = 4;
    target.listen();
  }
  void deliver(const cm::Mad& mad) { test::deliver(target, mad); }
  void deliver(const RawReq& raw) { test::deliver(target, raw.mad); }
  std::uint64_t marks(std::string_view name) const { return world->trace().marks(name); }
  View<cm::Rej> reject() const {
    BENCH_ASSERT(wire.last().attribute() == Attribute::rej, "the last message is a REJ");
    return wire.last().as<cm::Rej>();
  }
  /// Through REQ, REP and RTU. Returns our (the target's) communication ID.
  std::uint32_t connect(std::uint32_t comm_id = 0x5000, std::uint32_t qpn = 0x700) {
    deliver(RawReq(kTargetAddress, kRawAddress, comm_id, qpn));
    const std::uint32_t own = wire.last().as<cm::Rep>().get(cm::rep::local_comm_id);
    deliver(with_ids(Attribute::rtu, comm_id, own));
    return own;
  }
  static cm::Mad with_ids(Attribute attribute, std::uint32_t local, std::uint32_t remote) {
    cm::Mad mad{attribute, 0x4242};
    mad.message<cm::Ids>().set(cm::ids::local_comm_id, local).set(cm::ids::remote_comm_id, remote);
    return mad;
  }
  static cm::Mad dreq(std::uint32_t local, std::uint32_t remote, std::uint32_t qpn) {
    cm::Mad mad = with_ids(Attribute::dreq, local, remote);
    mad.message<cm::Dreq>().set(cm::dreq::remote_qpn, qpn);
    return mad;
  }

  std::unique_ptr<World> world;
  FakeWire wire;
  FakeNode target;
};

TEST(CmRaw, AGoodReqGetsARep) {
  Bench b;
  b.target.answer.responder_resources = 200;
  b.target.answer.initiator_depth = 200;
  b.deliver(RawReq(kTargetAddress));
  ASSERT_EQ(b.wire.names(), "REP");
  const SentMad& sent = b.wire.last();
  EXPECT_EQ(sent.to, kRawAddress);
  EXPECT_EQ(sent.tid(), 0xABCD000000005000u);
  const auto rep = sent.as<cm::Rep>();
  EXPECT_NE(rep.get(cm::rep::local_comm_id), 0u);
  EXPECT_EQ(rep.get(cm::rep::remote_comm_id), 0x5000u);
  EXPECT_EQ(rep.get(cm::rep::local_qpn), 0x11u);
  EXPECT_EQ(rep.get(cm::rep::responder_resources), 4);
  EXPECT_EQ(rep.get(cm::rep::initiator_depth), 16);
  EXPECT_EQ(rep.get(cm::rep::target_ack_delay), 10);
  EXPECT_EQ(rep.get(cm::rep::failover), cm::Failover::accepted);
  EXPECT_EQ(rep.get(cm::rep::flow_control), 1);
  EXPECT_EQ(rep.get(cm::rep::rnr_retry_count), 7);
  EXPECT_EQ(rep.get(cm::rep::srq), 0);
  EXPECT_EQ(rep.get(cm::rep::local_ca_guid), b.target.ca_guid());
  const PathFacts& path = b.target.qps[0]->path;
  EXPECT_EQ(path.mtu_code, 3);
  EXPECT_EQ(path.peer_qpn, 0x700u);
  EXPECT_EQ(path.send_psn, 0xFFFFF0u);
  EXPECT_EQ(path.receive_psn, rep.get(cm::rep::starting_psn));
  EXPECT_EQ(path.ack_timeout_code, 14);
  EXPECT_EQ(path.retry_count, 5);
  EXPECT_EQ(path.rnr_retry_count, 6);
  EXPECT_EQ(path.min_rnr_timer_code, 12);
}

struct BadReq {
  std::string_view what;
  std::function<void(RawReq&)> spoil;
  std::uint16_t reason;
};

TEST(CmRaw, EachFaultOfAReqHasItsReason) {
  const BadReq kCases[] = {
      {"no listener", [](RawReq& r) { r.set(req::service_id, cm::service_id_of(4421)); }, 8},
      {"UDP port space", [](RawReq& r) { r.set(req::service_id, cm::service_id_of(4420, 0x11)); }, 8},
      {"other prefix", [](RawReq& r) { r.set(req::service_id, cm::service_id_of(4420) | 1ull << 63); }, 8},
      {"foreign GID", [](RawReq& r) { r.set(req::primary_remote_gid, kHostAddress.bytes()); }, 12},
      {"major version", [](RawReq& r) { r.ip_byte(0, 0x10); }, 28},
      {"minor version", [](RawReq& r) { r.ip_byte(0, 0x01); }, 28},
      {"IP version 5", [](RawReq& r) { r.ip_byte(1, 0x50); }, 28},
      {"IP version 6 on an IPv4 device", [](RawReq& r) { r.ip_byte(1, 0x60); }, 28},
      {"source 127.0.0.9", [](RawReq& r) { r.ip_byte(4 + 12, 127); }, 28},
      {"source 0.0.0.9", [](RawReq& r) { r.ip_byte(4 + 12, 0); }, 28},
      {"source multicast", [](RawReq& r) { r.ip_byte(4 + 12, 224); }, 28},
      {"source broadcast",
       [](RawReq& r) {
         for (std::size_t i = 16; i < 20; ++i) r.ip_byte(i, 255);
       },
       28},
      {"destination of somebody else", [](RawReq& r) { r.ip_byte(20 + 15, 77); }, 28},
      {"UC", [](RawReq& r) { r.set(req::transport, cm::Transport::uc); }, 9},
      {"RD", [](RawReq& r) { r.set(req::transport, cm::Transport::rd); }, 9},
      {"XRC", [](RawReq& r) { r.set(req::transport, cm::Transport::extended); }, 9},
      {"QPN 0", [](RawReq& r) { r.set(req::local_qpn, 0); }, 5},
      {"QPN 1", [](RawReq& r) { r.set(req::local_qpn, 1); }, 5},
      {"MTU beyond the port's", [](RawReq& r) { r.set(req::path_mtu, 5); }, 26},
      {"MTU code 0", [](RawReq& r) { r.set(req::path_mtu, 0); }, 26},
      {"MTU code 15", [](RawReq& r) { r.set(req::path_mtu, 15); }, 26},
  };
  for (const BadReq& bad : kCases) {
    Bench b;
    RawReq raw(kTargetAddress);
    bad.spoil(raw);
    b.deliver(raw);
    ASSERT_EQ(b.wire.names(), "REJ") << bad.what;
    EXPECT_EQ(b.wire.last().to, kRawAddress) << bad.what;
    EXPECT_EQ(b.wire.last().tid(), 0xABCD000000005000u) << bad.what;
    const auto rej = b.reject();
    EXPECT_EQ(rej.get(cm::rej::reason), bad.reason) << bad.what;
    EXPECT_EQ(rej.get(cm::rej::local_comm_id), 0u) << bad.what;
    EXPECT_EQ(rej.get(cm::rej::remote_comm_id), 0x5000u) << bad.what;
    EXPECT_EQ(rej.get(cm::rej::about), cm::About::req) << bad.what;
    const auto data = rej.get(cm::rej::private_data);
    EXPECT_TRUE(std::all_of(data.begin(), data.end(), [](auto x) { return x == 0; })) << bad.what;
    EXPECT_EQ(b.target.requests, 0) << bad.what;
    EXPECT_EQ(b.target.cm->connections(), 0u) << bad.what;
    if (bad.reason == 12) {
      EXPECT_EQ(rej.get(cm::rej::info_length), 16);
      EXPECT_EQ(to_hex(rej.get(cm::rej::info).first<16>()), to_hex(kTargetAddress.bytes()));
    } else if (bad.reason == 26) {
      EXPECT_EQ(rej.get(cm::rej::info_length), 1);
      EXPECT_EQ(rej.get(cm::rej::info)[0], 4);
    } else {
      EXPECT_EQ(rej.get(cm::rej::info_length), 0) << bad.what;
    }
    // The same peer is welcome with a good REQ.
    b.deliver(RawReq(kTargetAddress));
    EXPECT_EQ(b.wire.names(), "REJ REP") << bad.what;
  }
}

TEST(CmRaw, WhatIsNotCheckedIsNotRefused) {
  const std::pair<std::string_view, std::function<void(RawReq&)>> kCases[] = {
      {"ACK timeout 0", [](RawReq& r) { r.set(req::primary_ack_timeout, 0); }},
      {"retry counts 0", [](RawReq& r) { r.set(req::retry_count, 0).set(req::rnr_retry_count, 0); }},
      {"P_Key", [](RawReq& r) { r.set(req::pkey, 0x7FFF); }},
      {"depths", [](RawReq& r) { r.set(req::responder_resources, 255).set(req::initiator_depth, 255); }},
      {"SRQ, flow control", [](RawReq& r) { r.set(req::srq, 1).set(req::flow_control, 0); }},
      {"LIDs", [](RawReq& r) { r.set(req::primary_local_lid, 0).set(req::primary_remote_lid, 7); }},
      {"hop limit 0", [](RawReq& r) { r.set(req::primary_hop_limit, 0); }},
      {"comm ID 0", [](RawReq& r) { r.set(req::local_comm_id, 0); }},
      {"another source IP that could be", [](RawReq& r) { r.ip_byte(4 + 15, 200); }},
      {"a mapped source", [](RawReq& r) { r.ip_byte(4 + 10, 0xFF).ip_byte(4 + 11, 0xFF); }},
      {"reserved bits", [](RawReq& r) { r.mad.mutable_bytes()[24 + 4] = 0xFF; }},
  };
  for (const auto& [what, change] : kCases) {
    Bench b;
    RawReq raw(kTargetAddress);
    change(raw);
    b.deliver(raw);
    EXPECT_EQ(b.wire.names(), "REP") << what;
  }
}

TEST(CmRaw, AnAlternatePathIsDeclinedInTheRep) {
  Bench b;
  RawReq raw(kTargetAddress);
  raw.set(req::alternate_local_lid, 1).set(req::alternate_remote_gid, kHostAddress.bytes());
  b.deliver(raw);
  ASSERT_EQ(b.wire.names(), "REP");
  EXPECT_EQ(b.wire.last().as<cm::Rep>().get(cm::rep::failover), cm::Failover::not_supported);
}

TEST(CmRaw, AnswersGoToThePrimaryLocalGid) {
  Bench b;
  const IpAddress elsewhere = IpAddress::v4(10, 0, 0, 77);
  RawReq raw(kTargetAddress);
  raw.set(req::primary_local_gid, elsewhere.bytes());
  b.deliver(raw);
  ASSERT_EQ(b.wire.names(), "REP");
  EXPECT_EQ(b.wire.last().to, elsewhere);
  EXPECT_EQ(b.target.qps[0]->path.peer, elsewhere);
  // Nowhere to answer to: not a word.
  for (const IpAddress bad : {IpAddress{}, IpAddress::v4(255, 255, 255, 255), IpAddress::v4(239, 0, 0, 1), IpAddress::v4(0, 0, 0, 0),
                              *IpAddress::parse("fd00::9")}) {
    RawReq lost(kTargetAddress, kRawAddress, 0x5001, 0x701);
    lost.set(req::primary_local_gid, bad.bytes());
    b.deliver(lost);
  }
  EXPECT_EQ(b.wire.names(), "REP");
  EXPECT_EQ(b.marks("cm.drop.req_without_return_path"), 5u);
}

TEST(CmRaw, ARepeatedReqGetsTheSameRepAtOnce) {
  Bench b;
  b.deliver(RawReq(kTargetAddress));
  for (int i = 0; i < 20; ++i) b.deliver(RawReq(kTargetAddress));
  EXPECT_EQ(b.wire.count(Attribute::rep), 21u);
  EXPECT_EQ(b.target.requests, 1);
  EXPECT_EQ(b.target.cm->connections(), 1u);
  for (const SentMad& sent : b.wire.log) EXPECT_EQ(sent.mad, b.wire.log[0].mad);
  EXPECT_EQ(b.world->now(), Instant{});
  // After the RTU the REQ is a late copy: silence.
  const std::uint32_t own = b.wire.last().as<cm::Rep>().get(cm::rep::local_comm_id);
  b.deliver(Bench::with_ids(Attribute::rtu, 0x5000, own));
  b.deliver(RawReq(kTargetAddress));
  EXPECT_EQ(b.wire.count(Attribute::rep), 21u);
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established");
}

TEST(CmRaw, AnotherReqOfTheSameQueuePairIsStale) {
  Bench b;
  const std::uint32_t own = b.connect();
  b.deliver(RawReq(kTargetAddress, kRawAddress, 0x6000, 0x700));
  // REJ 10 for the new one, DREQ for the old one.
  ASSERT_EQ(b.wire.names(), "REP REJ DREQ");
  const auto rej = b.wire.log[1].as<cm::Rej>();
  EXPECT_EQ(rej.get(cm::rej::reason), 10);
  EXPECT_EQ(rej.get(cm::rej::remote_comm_id), 0x6000u);
  EXPECT_EQ(b.wire.log[2].as<cm::Dreq>().get(cm::dreq::remote_comm_id), 0x5000u);
  b.deliver(Bench::with_ids(Attribute::drep, 0x5000, own));
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established error disconnected");
  // In TIMEWAIT it is still stale, afterwards no more. 2^(14-8) ms.
  b.deliver(RawReq(kTargetAddress, kRawAddress, 0x6001, 0x700));
  EXPECT_EQ(b.reject().get(cm::rej::reason), 10);
  b.world->run_for(Duration::ms(65));
  b.deliver(RawReq(kTargetAddress, kRawAddress, 0x6001, 0x700));
  EXPECT_EQ(b.wire.last().attribute(), Attribute::rep);
  // Another GUID with the same QPN is another queue pair.
  RawReq other(kTargetAddress, kRawAddress, 0x6002, 0x700);
  b.deliver(other.set(req::local_ca_guid, 99));
  EXPECT_EQ(b.wire.last().attribute(), Attribute::rep);
}

TEST(CmRaw, StaleWhileStillHalfOpen) {
  Bench b;
  b.deliver(RawReq(kTargetAddress));
  b.deliver(RawReq(kTargetAddress, kRawAddress, 0x6000, 0x700));
  EXPECT_EQ(b.wire.names(), "REP REJ REJ");
  EXPECT_EQ(b.target.qps[0]->log, "rtr error disconnected");

  Bench undecided;
  undecided.target.manner = FakeNode::Manner::keep;
  undecided.deliver(RawReq(kTargetAddress));
  undecided.deliver(RawReq(kTargetAddress, kRawAddress, 0x6000, 0x700));
  EXPECT_EQ(undecided.wire.names(), "REJ");
  EXPECT_EQ(undecided.target.cm->connections(), 0u);
}

TEST(CmRaw, ThePeersIdsUsedAfreshAreStaleToo) {
  Bench b;
  b.connect();
  RawReq again(kTargetAddress);
  b.deliver(again.set(req::starting_psn, 1));
  EXPECT_EQ(b.wire.names(), "REP REJ DREQ");
}

TEST(CmRaw, DreqRules) {
  Bench b;
  const std::uint32_t own = b.connect();
  const std::uint32_t qpn = b.target.qps[0]->number();
  b.deliver(Bench::dreq(0x5000, own, qpn + 1));
  EXPECT_EQ(b.wire.names(), "REP") << "another QPN is ignored";
  b.deliver(Bench::dreq(0x5001, own, qpn));
  b.deliver(Bench::dreq(0x5000, own + 1, qpn));
  EXPECT_EQ(b.wire.names(), "REP DREP DREP") << "unknown connections are confirmed gone";
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established");
  EXPECT_EQ(b.wire.last().as<cm::Drep>().get(cm::drep::local_comm_id), own + 1);
  EXPECT_EQ(b.wire.last().as<cm::Drep>().get(cm::drep::remote_comm_id), 0x5000u);
  EXPECT_EQ(b.wire.last().tid(), 0x4242u);
  b.deliver(Bench::dreq(0x5000, own, qpn));
  EXPECT_EQ(b.wire.names(), "REP DREP DREP DREP");
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established error disconnected");
  // The DREP was lost: again, in TIMEWAIT and after it.
  b.deliver(Bench::dreq(0x5000, own, qpn));
  EXPECT_EQ(b.marks("cm.dreq.repeated"), 1u);
  b.world->run_for(Duration::s(1));
  b.deliver(Bench::dreq(0x5000, own, qpn));
  EXPECT_EQ(b.wire.count(Attribute::drep), 5u);
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established error disconnected");
}

TEST(CmRaw, ADreqBeforeTheRtuCounts) {
  Bench b;
  b.deliver(RawReq(kTargetAddress));
  const std::uint32_t own = b.wire.last().as<cm::Rep>().get(cm::rep::local_comm_id);
  b.deliver(Bench::dreq(0x5000, own, b.target.qps[0]->number()));
  EXPECT_EQ(b.wire.names(), "REP DREP");
  EXPECT_EQ(b.target.qps[0]->log, "rtr error disconnected");
}

TEST(CmRaw, TimeoutRejectFindsTheConnectionByGuid) {
  const auto timeout_reject = [](std::uint64_t guid, std::uint8_t length) {
    cm::Mad mad{Attribute::rej, 1};
    std::array<std::uint8_t, 8> info = {};
    store_be(info.data(), guid);
    mad.message<cm::Rej>()
        .set(cm::rej::local_comm_id, 0x5000)
        .set(cm::rej::about, cm::About::other)
        .set(cm::rej::reason, 4)
        .set(cm::rej::info_length, length)
        .set(cm::rej::info, info);
    return mad;
  };
  Bench b;
  b.deliver(RawReq(kTargetAddress));
  b.deliver(timeout_reject(0x99, 8));
  b.deliver(timeout_reject(0x1122334455667788, 7));
  EXPECT_EQ(b.target.qps[0]->log, "rtr");
  b.deliver(timeout_reject(0x1122334455667788, 8));
  EXPECT_EQ(b.target.qps[0]->log, "rtr error rejected:4");
  EXPECT_EQ(b.marks("cm.drop.rej_unknown"), 2u);
}

TEST(CmRaw, ARejectInAnEstablishedConnectionEndsIt) {
  Bench b;
  const std::uint32_t own = b.connect();
  cm::Mad mad = Bench::with_ids(Attribute::rej, 0x5000, own);
  mad.message<cm::Rej>().set(cm::rej::about, cm::About::rep).set(cm::rej::reason, 28);
  cm::Mad foreign = Bench::with_ids(Attribute::rej, 0x5055, own);
  b.deliver(foreign);
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established");
  b.deliver(mad);
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established error disconnected");
}

TEST(CmRaw, RtuOfAStrangerIsDropped) {
  Bench b;
  b.deliver(RawReq(kTargetAddress));
  const std::uint32_t own = b.wire.last().as<cm::Rep>().get(cm::rep::local_comm_id);
  b.deliver(Bench::with_ids(Attribute::rtu, 0x5001, own));
  b.deliver(Bench::with_ids(Attribute::rtu, 0, own));
  b.deliver(Bench::with_ids(Attribute::rtu, 0x5000, own + 1));
  EXPECT_EQ(b.target.qps[0]->log, "rtr");
  EXPECT_EQ(b.marks("cm.drop.rtu_unknown"), 3u);
  b.deliver(Bench::with_ids(Attribute::rtu, 0x5000, own));
  b.deliver(Bench::with_ids(Attribute::rtu, 0x5000, own));
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established");
}

TEST(CmRaw, AnMraExtendsTheWaitForTheRtu) {
  Bench b;
  b.deliver(RawReq(kTargetAddress));
  const std::uint32_t own = b.wire.last().as<cm::Rep>().get(cm::rep::local_comm_id);
  b.world->run_for(Duration::ms(1000));
  cm::Mad mra = Bench::with_ids(Attribute::mra, 0x5000, own);
  mra.message<cm::Mra>().set(cm::mra::about, cm::About::rep).set(cm::mra::service_timeout, 22);
  b.deliver(mra);
  // 2^(22-8) ms of service and 2 * 2^(18-8) ms of way; the REP timer alone would be 1024 ms.
  b.world->run_for(Duration::ms(16384 + 2048 - 1));
  EXPECT_EQ(b.wire.count(Attribute::rep), 1u);
  b.world->run_for(Duration::ms(2));
  EXPECT_EQ(b.wire.count(Attribute::rep), 2u);
  b.deliver(Bench::with_ids(Attribute::rtu, 0x5000, own));
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established");
}

TEST(CmRaw, RepResendsAreCountedByTheReq) {
  Bench b;
  b.deliver(RawReq(kTargetAddress));
  EXPECT_TRUE(b.world->run_until_idle());
  // Local CM response timeout 18: 1024 ms; max CM retries 3.
  EXPECT_EQ(b.wire.names(), "REP REP REP REP REJ");
  EXPECT_EQ(b.wire.log[1].time - b.wire.log[0].time, Duration::ms(1024));
  EXPECT_EQ(b.wire.log[4].time - b.wire.log[0].time, Duration::ms(4096));
  EXPECT_EQ(b.target.cm->connections(), 0u);
}

TEST(CmRaw, UnexpectedRepsAreRejectedSoThatThePeerNeedNotWait) {
  Bench b;
  cm::Mad rep = Bench::with_ids(Attribute::rep, 0x5000, 0x1234);
  b.deliver(rep);
  ASSERT_EQ(b.wire.names(), "REJ");
  EXPECT_EQ(b.reject().get(cm::rej::reason), 6);
  EXPECT_EQ(b.reject().get(cm::rej::about), cm::About::rep);
  EXPECT_EQ(b.reject().get(cm::rej::remote_comm_id), 0x5000u);
  EXPECT_EQ(b.reject().get(cm::rej::local_comm_id), 0x1234u);
}

/// The active side against a raw passive peer.
struct ActiveBench : Bench {
  explicit ActiveBench(bool hold_reply = false) {
    rdma::ConnectionParameters parameters;
    parameters.responder_resources = parameters.initiator_depth = 8;
    parameters.hold_reply = hold_reply;
    qp = &target.connect(kRawAddress, parameters);
    own = wire.last().as<cm::Req>().get(req::local_comm_id);
  }
  cm::Mad rep(std::uint32_t comm_id = 0x5000, std::uint32_t qpn = 0x700) const {
    cm::Mad mad{Attribute::rep, wire.log[0].tid()};
    mad.message<cm::Rep>()
        .set(cm::rep::local_comm_id, comm_id)
        .set(cm::rep::remote_comm_id, own)
        .set(cm::rep::local_qpn, qpn)
        .set(cm::rep::starting_psn, 0x123)
        .set(cm::rep::responder_resources, 100)
        .set(cm::rep::initiator_depth, 100)
        .set(cm::rep::target_ack_delay, 20)
        .set(cm::rep::rnr_retry_count, 2)
        .set(cm::rep::local_ca_guid, 0x77);
    return mad;
  }
  FakeQp* qp;
  std::uint32_t own;
};

TEST(CmRaw, RepeatedRepsGetTheRtuAgain) {
  ActiveBench b;
  b.deliver(b.rep());
  EXPECT_EQ(b.qp->log, "rtr rts established");
  EXPECT_EQ(b.qp->path.send_psn, 0x123u);
  EXPECT_EQ(b.qp->path.initiator_depth, 8) << "no more than we offered";
  EXPECT_EQ(b.qp->path.responder_resources, 8);
  EXPECT_EQ(b.qp->path.rnr_retry_count, 2);
  EXPECT_EQ(b.qp->path.ack_timeout_code, 21);
  b.deliver(b.rep());
  EXPECT_EQ(b.wire.names(), "REQ RTU RTU");
  EXPECT_EQ(b.wire.log[1].mad, b.wire.log[2].mad);
  EXPECT_EQ(b.qp->log, "rtr rts established");
  // Another connection's REP for our REQ: a late copy of the REQ has opened it. It is told off.
  b.deliver(b.rep(0x6000));
  EXPECT_EQ(b.reject().get(cm::rej::reason), 6);
  EXPECT_EQ(b.reject().get(cm::rej::remote_comm_id), 0x6000u);
}

TEST(CmRaw, ARepWithoutAQueuePairIsDropped) {
  ActiveBench b;
  b.deliver(b.rep(0x5000, 0));
  b.deliver(b.rep(0x5000, 1));
  EXPECT_EQ(b.qp->log, "");
  EXPECT_EQ(b.wire.names(), "REQ");
}

TEST(CmRaw, ARepOfAConnectedQueuePairIsStale) {
  ActiveBench b;
  b.deliver(b.rep());
  FakeQp& second = b.target.connect(kRawAddress);
  const std::uint32_t own = b.wire.last().as<cm::Req>().get(req::local_comm_id);
  cm::Mad rep = b.rep(0x6000, 0x700);
  rep.message<cm::Rep>().set(cm::rep::remote_comm_id, own);
  b.deliver(rep);
  EXPECT_EQ(b.wire.names(), "REQ RTU REQ REJ DREQ");
  EXPECT_EQ(b.wire.log[3].as<cm::Rej>().get(cm::rej::reason), 10);
  EXPECT_EQ(second.log, "") << "its attempt goes on";
}

TEST(CmRaw, AQueuePairThatFailedMeanwhileIsNotConnected) {
  ActiveBench b;
  b.qp->fail();
  b.deliver(b.rep());
  EXPECT_EQ(b.wire.names(), "REQ REJ");
  EXPECT_EQ(b.qp->log, "error disconnected");
  Bench passive;
  passive.target.manner = FakeNode::Manner::keep;
  passive.deliver(RawReq(kTargetAddress));
  FakeQp& failed = passive.target.new_qp();
  failed.fail();
  passive.target.pending[0]->accept(failed, {});
  EXPECT_EQ(passive.reject().get(cm::rej::reason), 1);

  Bench late;
  late.deliver(RawReq(kTargetAddress));
  const std::uint32_t own = late.wire.last().as<cm::Rep>().get(cm::rep::local_comm_id);
  late.target.qps[0]->fail();
  late.deliver(Bench::with_ids(Attribute::rtu, 0x5000, own));
  EXPECT_EQ(late.wire.names(), "REP DREQ");
  late.deliver(Bench::with_ids(Attribute::drep, 0x5000, own));
  EXPECT_EQ(late.target.qps[0]->log, "rtr error disconnected");
}

TEST(CmRaw, AnMraExtendsTheWaitForTheRep) {
  ActiveBench b;
  cm::Mad mra = Bench::with_ids(Attribute::mra, 0x5000, b.own);
  mra.message<cm::Mra>().set(cm::mra::about, cm::About::req).set(cm::mra::service_timeout, 24);
  b.deliver(mra);
  b.world->run_for(Duration::ms(65536 + 2048 - 1));
  EXPECT_EQ(b.wire.count(Attribute::req), 1u);
  b.world->run_for(Duration::ms(2));
  EXPECT_EQ(b.wire.count(Attribute::req), 2u);
  b.deliver(b.rep());
  EXPECT_EQ(b.qp->log, "rtr rts established");
}

TEST(CmRaw, RejectsOfAReqNeedOnlyOurId) {
  ActiveBench b;
  cm::Mad rej = Bench::with_ids(Attribute::rej, 0, b.own);
  rej.message<cm::Rej>().set(cm::rej::reason, 12).set(cm::rej::private_data, Bytes{5, 6});
  b.deliver(rej);
  EXPECT_EQ(b.qp->log, "rejected:12");
  EXPECT_EQ(to_hex(ByteView{b.qp->private_data}.first(3)), "050600");
  b.deliver(rej);
  EXPECT_EQ(b.marks("cm.drop.rej_unknown"), 1u);
}

TEST(CmRaw, ARejectForItsMtuIsAskedAgainForLess) {
  ActiveBench b;
  cm::Mad rej = Bench::with_ids(Attribute::rej, 0, b.own);
  rej.message<cm::Rej>().set(cm::rej::reason, 26).set(cm::rej::info_length, 1).set(cm::rej::info, Bytes{2});
  b.deliver(rej);
  ASSERT_EQ(b.wire.names(), "REQ REQ");
  const auto first = b.wire.log[0].as<cm::Req>();
  const auto second = b.wire.log[1].as<cm::Req>();
  EXPECT_EQ(first.get(req::path_mtu), 4);
  EXPECT_EQ(second.get(req::path_mtu), 2);
  EXPECT_NE(second.get(req::local_comm_id), first.get(req::local_comm_id));
  EXPECT_NE(b.wire.log[1].tid(), b.wire.log[0].tid());
  EXPECT_EQ(to_hex(b.wire.log[1].mad.bytes().subspan(74)), to_hex(b.wire.log[0].mad.bytes().subspan(74)).replace(0, 2, "27"));
  EXPECT_EQ(b.qp->log, "");
  // The same again, or more, or nothing said: that is the end of it.
  b.own = second.get(req::local_comm_id);
  cm::Mad again = Bench::with_ids(Attribute::rej, 0, b.own);
  again.message<cm::Rej>().set(cm::rej::reason, 26).set(cm::rej::info_length, 1).set(cm::rej::info, Bytes{2});
  b.deliver(again);
  EXPECT_EQ(b.qp->log, "rejected:26");
  EXPECT_EQ(b.target.cm->connections(), 0u);
}

TEST(CmRaw, AHeldReplyIsAnsweredWithMras) {
  ActiveBench b(true);
  cm::Mad rep = b.rep();
  rep.message<cm::Rep>().set(cm::rep::private_data, Bytes{5, 6});
  b.deliver(rep);
  ASSERT_EQ(b.wire.names(), "REQ MRA");
  const auto mra = b.wire.last().as<cm::Mra>();
  EXPECT_EQ(b.wire.last().tid(), b.wire.log[0].tid());
  EXPECT_EQ(mra.get(cm::mra::about), cm::About::rep);
  EXPECT_EQ(mra.get(cm::mra::local_comm_id), b.own);
  EXPECT_EQ(mra.get(cm::mra::remote_comm_id), 0x5000u);
  EXPECT_EQ(b.qp->log, "rtr accepted");
  EXPECT_EQ(to_hex(ByteView{b.qp->private_data}.first(3)), "050600");
  EXPECT_EQ(b.qp->facts.responder_resources, 100);
  // No word of ours without one of the peer's, and no end of the wait.
  b.world->run_for(Duration::s(10000));
  EXPECT_EQ(b.wire.names(), "REQ MRA");
  b.deliver(rep);
  ASSERT_EQ(b.wire.names(), "REQ MRA MRA");
  EXPECT_EQ(b.wire.log[1].mad, b.wire.log[2].mad);
  b.deliver(b.rep(0x6000));  // a late copy of the REQ has opened another
  EXPECT_EQ(b.reject().get(cm::rej::reason), 6);
  EXPECT_EQ(b.qp->log, "rtr accepted");
  b.target.cm->confirm(*b.qp);
  EXPECT_EQ(b.qp->log, "rtr accepted rts established");
  EXPECT_EQ(b.qp->path.send_psn, 0x123u);
  EXPECT_EQ(b.qp->path.initiator_depth, 8);
  EXPECT_EQ(b.qp->facts.responder_resources, 100);
  // Both answers count once; from now on it is a connection like any other.
  b.target.cm->confirm(*b.qp);
  b.target.cm->refuse(*b.qp, 28, {});
  b.deliver(rep);
  EXPECT_EQ(b.wire.names(), "REQ MRA MRA REJ RTU RTU");
  b.target.cm->disconnect(*b.qp);
  EXPECT_EQ(b.wire.last().attribute(), Attribute::dreq);
  EXPECT_EQ(b.qp->log, "rtr accepted rts established error");
}

TEST(CmRaw, AnswersWithoutAHeldReplyAreNone) {
  ActiveBench b;
  b.target.cm->confirm(*b.qp);
  b.target.cm->refuse(*b.qp, 28, {});
  b.deliver(b.rep());
  b.target.cm->confirm(*b.qp);
  b.target.cm->refuse(*b.qp, 28, {});
  EXPECT_EQ(b.wire.names(), "REQ RTU");
  EXPECT_EQ(b.qp->log, "rtr rts established");
}

// Each way in which the wait for the user may end without a connection.
TEST(CmRaw, EveryEndOfAHeldReply) {
  const auto peers_reject = [](ActiveBench& b, std::uint16_t why) {
    cm::Mad mad = Bench::with_ids(Attribute::rej, 0x5000, b.own);
    mad.message<cm::Rej>().set(cm::rej::about, cm::About::other).set(cm::rej::reason, why);
    return mad;
  };
  const auto gives_up = [](ActiveBench& b) {  // named by its GUID alone
    cm::Mad mad = Bench::with_ids(Attribute::rej, 0x5000, 0);
    std::array<std::uint8_t, 8> guid = {};
    store_be(guid.data(), std::uint64_t{0x77});
    mad.message<cm::Rej>().set(cm::rej::reason, 4).set(cm::rej::info_length, 8).set(cm::rej::info, guid);
    b.deliver(mad);
  };
  const auto starts_afresh = [](ActiveBench& b, std::uint32_t comm_id, std::uint32_t qpn) {
    RawReq request(kTargetAddress, kRawAddress, comm_id, qpn);
    b.deliver(request.set(req::local_ca_guid, std::uint64_t{0x77}));
  };
  struct Case {
    const char* name;
    std::function<void(ActiveBench&)> what;
    const char* sent;  // after REQ MRA
    int reason;        // of our REJ in answer to the REP; -1: there is none
    const char* told;  // after rtr accepted
  };
  const std::vector<Case> cases = {
      {"refuse",
       [](auto& b) {
         b.target.cm->refuse(*b.qp, 28, Bytes{9, 8});
       },
       " REJ", 28, " error"},
      {"refuse for a reason", [](auto& b) { b.target.cm->refuse(*b.qp, 3, {}); }, " REJ", 3, " error"},
      {"disconnect", [](auto& b) { b.target.cm->disconnect(*b.qp); }, " REJ", 28, " error disconnected"},
      {"destroyed", [](auto& b) { b.target.cm->forget(*b.qp); }, " REJ", 28, ""},
      // fail() itself is silent, as ever: the user's next word is what the peer hears.
      {"fail", [](auto& b) { b.qp->fail(); }, "", -1, ""},
      {"fail, confirm", [](auto& b) { b.qp->fail(), b.target.cm->confirm(*b.qp); }, " REJ", 28, " error disconnected"},
      {"fail, refuse", [](auto& b) { b.qp->fail(), b.target.cm->refuse(*b.qp, 5, {}); }, " REJ", 5, " error"},
      {"fail, disconnect", [](auto& b) { b.qp->fail(), b.target.cm->disconnect(*b.qp); }, " REJ", 28, " error disconnected"},
      {"fail, destroyed", [](auto& b) { b.qp->fail(), b.target.cm->forget(*b.qp); }, " REJ", 28, ""},
      {"peer rejects", [&](auto& b) { b.deliver(peers_reject(b, 28)); }, "", -1, " error rejected:28"},
      {"peer gives up", gives_up, "", -1, " error rejected:4"},
      {"peer disconnects", [](auto& b) { b.deliver(Bench::dreq(0x5000, b.own, b.qp->number())); }, " DREP", -1, " error disconnected"},
      {"peer's queue pair anew", [&](auto& b) { starts_afresh(b, 0x6000, 0x700); }, " REJ REJ", 10, " error disconnected"},
      {"peer's ID anew", [&](auto& b) { starts_afresh(b, 0x5000, 0x900); }, " REJ REJ", 10, " error disconnected"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ActiveBench b(true);
    b.deliver(b.rep());
    c.what(b);
    EXPECT_EQ(b.wire.names(), std::string("REQ MRA") + c.sent);
    EXPECT_EQ(b.qp->log, std::string("rtr accepted") + c.told);
    if (c.reason >= 0) {
      EXPECT_EQ(b.reject().get(cm::rej::reason), c.reason);
      EXPECT_EQ(b.reject().get(cm::rej::about), cm::About::rep);
      EXPECT_EQ(b.reject().get(cm::rej::local_comm_id), b.own);
      EXPECT_EQ(b.reject().get(cm::rej::remote_comm_id), 0x5000u);
    }
    if (std::string_view(c.name) == "refuse") {
      EXPECT_EQ(to_hex(ByteView{b.reject().get(cm::rej::private_data)}.first(3)), "090800");
    }
    if (std::string_view(c.name) == "fail") continue;
    // It is over: an answer comes too late, and in the end nothing is left.
    const std::string told = b.qp->log;
    const std::string sent = b.wire.names();
    b.target.cm->confirm(*b.qp);
    b.target.cm->refuse(*b.qp, 28, {});
    EXPECT_EQ(b.wire.names(), sent);
    EXPECT_EQ(b.qp->log, told);
    EXPECT_TRUE(b.world->run_until_idle());
    EXPECT_EQ(b.target.cm->connections(), 0u);
  }
}

TEST(CmRaw, AReplyIsStillHeldAfterTheRequestForASmallerMtu) {
  ActiveBench b(true);
  cm::Mad rej = Bench::with_ids(Attribute::rej, 0, b.own);
  rej.message<cm::Rej>().set(cm::rej::reason, 26).set(cm::rej::info_length, 1).set(cm::rej::info, Bytes{2});
  b.deliver(rej);
  ASSERT_EQ(b.wire.names(), "REQ REQ");
  b.own = b.wire.last().as<cm::Req>().get(req::local_comm_id);
  b.deliver(b.rep());
  EXPECT_EQ(b.wire.names(), "REQ REQ MRA");
  EXPECT_EQ(b.qp->log, "rtr accepted");
  b.target.cm->confirm(*b.qp);
  EXPECT_EQ(b.wire.names(), "REQ REQ MRA RTU");
  EXPECT_EQ(b.qp->log, "rtr accepted rts established");
}

// What a REJ of the active side means depends on whether it comes before the connection or in it.
TEST(CmRaw, ARejectedReplyIsNotADisconnect) {
  struct Case {
    const char* before;
    std::uint16_t reason;
    const char* told;
  };
  for (const Case& c :
       {Case{"", 28, "rtr error rejected:28"}, Case{"", 3, "rtr error rejected:3"}, Case{"mra", 28, "rtr error rejected:28"},
        Case{"mra", 10, "rtr error rejected:10"}, Case{"rtu", 28, "rtr rts established error disconnected"},
        Case{"data", 28, "rtr rts established error disconnected"}}) {
    SCOPED_TRACE(c.told + std::string(" after ") + c.before);
    Bench b;
    b.deliver(RawReq(kTargetAddress));
    FakeQp& qp = *b.target.qps[0];
    const std::uint32_t own = b.wire.last().as<cm::Rep>().get(cm::rep::local_comm_id);
    const std::string_view before = c.before;
    if (before == "mra") {
      cm::Mad mra = Bench::with_ids(Attribute::mra, 0x5000, own);
      mra.message<cm::Mra>().set(cm::mra::about, cm::About::rep).set(cm::mra::service_timeout, 20);
      b.deliver(mra);
    }
    if (before == "rtu") b.deliver(Bench::with_ids(Attribute::rtu, 0x5000, own));
    if (before == "data") b.target.cm->data_before_rtu(qp.number());
    cm::Mad rej = Bench::with_ids(Attribute::rej, 0x5000, own);
    rej.message<cm::Rej>().set(cm::rej::about, cm::About::rep).set(cm::rej::reason, c.reason);
    rej.message<cm::Rej>().set(cm::rej::private_data, Bytes{7, 8});
    b.deliver(rej);
    EXPECT_EQ(qp.log, c.told);
    if (qp.was("rejected:" + std::to_string(c.reason))) {
      EXPECT_EQ(to_hex(ByteView{qp.private_data}.first(3)), "070800");
    }
    b.deliver(rej);
    EXPECT_EQ(qp.log, c.told) << "told once";
    EXPECT_TRUE(b.world->run_until_idle());
    EXPECT_EQ(b.target.cm->connections(), 0u);
  }
}

TEST(CmRaw, AReplyThatIsNeverAnsweredIsUnreachable) {
  for (const bool asked_for_time : {false, true}) {
    Bench b;
    b.deliver(RawReq(kTargetAddress));
    const std::uint32_t own = b.wire.last().as<cm::Rep>().get(cm::rep::local_comm_id);
    if (asked_for_time) {
      cm::Mad mra = Bench::with_ids(Attribute::mra, 0x5000, own);
      mra.message<cm::Mra>().set(cm::mra::about, cm::About::rep).set(cm::mra::service_timeout, 20);
      b.deliver(mra);
    }
    EXPECT_TRUE(b.world->run_until_idle());
    EXPECT_EQ(b.wire.names(), "REP REP REP REP REJ") << "as often as the REQ says";
    EXPECT_EQ(b.target.qps[0]->log, "rtr error unreachable");
  }
}

// The source port of the IP addressing header; choosing it changes nothing else that is drawn.
TEST(CmRaw, TheUsersSourcePortIsWhatThePeerIsTold) {
  const auto requests = [](std::uint16_t port) {
    Bench b;
    rdma::ConnectionParameters parameters;
    parameters.source_port = port;
    b.target.connect(kRawAddress, parameters);
    b.target.connect(kRawAddress);
    return b.wire.log;
  };
  const auto port_of = [](const SentMad& sent) {
    const auto data = sent.as<cm::Req>().get(req::private_data);
    return View<cm::IpHeader>{data}.get(ip::source_port);
  };
  const std::vector<SentMad> plain = requests(0);
  EXPECT_GE(port_of(plain[0]), 32768);
  EXPECT_LE(port_of(plain[0]), 60999);
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{1, 1023, 4420, 32768, 50123, 65535}) {
    std::vector<SentMad> chosen = requests(port);
    EXPECT_EQ(port_of(chosen[0]), port);
    EXPECT_EQ(chosen[0].as<cm::Req>().get(req::primary_flow_label), (port * 31u + 4420u) & 0xFFFFF);
    EXPECT_EQ(chosen[1].mad, plain[1].mad);
    // With the port and what is made of it set back, it is the same REQ.
    chosen[0]
        .mad.message<cm::Req>()
        .set(req::primary_flow_label, plain[0].as<cm::Req>().get(req::primary_flow_label))
        .set(req::private_data, plain[0].as<cm::Req>().get(req::private_data));
    EXPECT_EQ(chosen[0].mad, plain[0].mad);
  }
}

TEST(CmRaw, OtherServicesAreRefusedPolitely) {
  Bench b;
  cm::Mad sidr{Attribute::sidr_req, 0x99};
  sidr.message<cm::SidrReq>().set(cm::sidr_req::request_id, 7).set(cm::sidr_req::service_id, cm::service_id_of(4420, 0x11));
  b.deliver(sidr);
  ASSERT_EQ(b.wire.names(), "SIDR_REP");
  EXPECT_EQ(b.wire.last().tid(), 0x99u);
  EXPECT_EQ(b.wire.last().as<cm::SidrRep>().get(cm::sidr_rep::status), cm::SidrStatus::unsupported);
  EXPECT_EQ(b.wire.last().as<cm::SidrRep>().get(cm::sidr_rep::request_id), 7u);
  EXPECT_EQ(b.wire.last().as<cm::SidrRep>().get(cm::sidr_rep::service_id), cm::service_id_of(4420, 0x11));

  const std::uint32_t own = b.connect();
  b.deliver(Bench::with_ids(Attribute::lap, 0x5000, own));
  EXPECT_EQ(b.wire.last().as<cm::Apr>().get(cm::apr::status), cm::AprStatus::unsupported);
  EXPECT_EQ(b.wire.last().as<cm::Apr>().get(cm::apr::local_comm_id), own);
  b.deliver(Bench::with_ids(Attribute::lap, 0x5000, own + 1));
  EXPECT_EQ(b.wire.last().as<cm::Apr>().get(cm::apr::status), cm::AprStatus::invalid_comm_id);
  EXPECT_EQ(b.target.qps[0]->log, "rtr rts established");

  cm::Mad get{Attribute::class_port_info, 0x1234};
  get.header().set(cm::mad::method, cm::Method::get);
  b.deliver(get);
  const View<cm::MadHeader> header{b.wire.last().mad.bytes()};
  EXPECT_EQ(header.get(cm::mad::method), cm::Method::get_response);
  EXPECT_EQ(header.get(cm::mad::status), 0);
  EXPECT_EQ(header.get(cm::mad::tid), 0x1234u);
  EXPECT_EQ(b.wire.last().as<cm::ClassPortInfo>().get(cm::class_port_info::class_version), 2);
  EXPECT_EQ(b.wire.last().as<cm::ClassPortInfo>().get(cm::class_port_info::capability_mask), 0x0200);
  get.header().set(cm::mad::attribute, 0x0002);
  b.deliver(get);
  EXPECT_EQ(View<cm::MadHeader>{b.wire.last().mad.bytes()}.get(cm::mad::status), 0x000C);
}

TEST(CmRaw, ForeignMadsAreDroppedAndCounted) {
  Bench b;
  const auto spoiled = [](auto&& field, int value) {
    RawReq raw(kTargetAddress);
    raw.mad.header().set(field, value);
    return raw;
  };
  b.deliver(spoiled(cm::mad::base_version, 2));
  b.deliver(spoiled(cm::mad::base_version, 0));
  b.deliver(spoiled(cm::mad::management_class, 0x03));
  b.deliver(spoiled(cm::mad::class_version, 1));
  b.deliver(spoiled(cm::mad::method, 0x02));
  b.deliver(spoiled(cm::mad::method, 0x81));
  b.deliver(spoiled(cm::mad::attribute, 0x000F));
  b.deliver(spoiled(cm::mad::attribute, 0x001B));
  b.target.cm->on_mad({kRawAddress, kRocePort}, kTargetAddress, RawReq(kTargetAddress).mad.bytes().first(255));
  b.target.cm->on_mad({kRawAddress, kRocePort}, kTargetAddress, Bytes(257));
  b.target.cm->on_mad({kRawAddress, kRocePort}, kTargetAddress, {});
  EXPECT_EQ(b.wire.names(), "");
  EXPECT_EQ(b.target.requests, 0);
  EXPECT_EQ(b.marks("cm.drop.base_version"), 2u);
  EXPECT_EQ(b.marks("cm.drop.class"), 2u);
  EXPECT_EQ(b.marks("cm.drop.method"), 2u);
  EXPECT_EQ(b.marks("cm.drop.attribute"), 2u);
  EXPECT_EQ(b.marks("cm.drop.length"), 3u);
}

TEST(CmRaw, AFloodOfReqsIsBounded) {
  Bench b({.half_open_max = 100});
  b.target.manner = FakeNode::Manner::keep;
  b.wire.keep_log = false;
  for (std::uint32_t i = 0; i < 10000; ++i) {
    b.deliver(RawReq(kTargetAddress, kRawAddress, 0x10000 + i, 0x100 + i));
    ASSERT_LE(b.target.cm->connections(), 100u);
  }
  EXPECT_EQ(b.target.requests, 100);
  EXPECT_EQ(b.marks("cm.half_open_limit"), 9900u);
  b.wire.keep_log = true;
  b.deliver(RawReq(kTargetAddress, kRawAddress, 1, 0x99));
  EXPECT_EQ(b.reject().get(cm::rej::reason), 3);
  // Another listener is not affected, and room comes back with each answer.
  b.target.listen(4421);
  b.deliver(RawReq(kTargetAddress, kRawAddress, 2, 0x9A, 4421));
  EXPECT_EQ(b.target.requests, 101);
  b.target.pending.front()->reject(28, {});
  b.target.pending.erase(b.target.pending.begin());
  b.deliver(RawReq(kTargetAddress, kRawAddress, 3, 0x9B));
  EXPECT_EQ(b.target.requests, 102);
}

TEST(CmRaw, AFloodOfUnconfirmedConnectionsIsBoundedAndPasses) {
  Bench b({.half_open_max = 100});
  b.wire.keep_log = false;
  for (std::uint32_t i = 0; i < 10000; ++i) {
    b.deliver(RawReq(kTargetAddress, kRawAddress, 0x10000 + i, 0x100 + i));
    ASSERT_LE(b.target.cm->connections(), 100u);
  }
  EXPECT_EQ(b.target.requests, 100);
  EXPECT_TRUE(b.world->run_until_idle());
  EXPECT_EQ(b.target.cm->connections(), 0u);
  b.wire.keep_log = true;
  b.connect();
  EXPECT_EQ(b.target.qps.back()->log, "rtr rts established");
}

TEST(CmRaw, AllConnectionsTogetherAreBounded) {
  Bench b({.connections_max = 5});
  for (std::uint32_t i = 0; i < 5; ++i) b.connect(0x5000 + i, 0x700 + i);
  b.deliver(RawReq(kTargetAddress, kRawAddress, 0x6000, 0x800));
  EXPECT_EQ(b.reject().get(cm::rej::reason), 3);
  EXPECT_EQ(b.target.connect(kRawAddress).log, "unreachable");
}

// Every single-byte corruption of a REQ is answered or dropped, and leaves a manager that works.
TEST(CmRaw, AnyByteMayBeWrong) {
  Bench b;
  std::uint32_t id = 0x100;
  for (std::size_t at = 0; at < cm::kMadBytes; ++at) {
    for (int round = 0; round < 8; ++round) {
      RawReq raw(kTargetAddress, kRawAddress, id, id);
      ++id;
      raw.mad.mutable_bytes()[at] ^= static_cast<std::uint8_t>(1u << round);
      b.deliver(raw);
    }
  }
  EXPECT_GT(b.wire.count(Attribute::rep), 1000u);
  EXPECT_GT(b.wire.count(Attribute::rej), 100u);
  EXPECT_TRUE(b.world->run_until_idle());
  EXPECT_EQ(b.target.cm->connections(), 0u);
}

TEST(CmRaw, TheTraceTellsTheStory) {
  struct Sink final : TraceSink {
    void on_event(const TraceEvent& event) override {
      lines.push_back(std::string(event.label) + " " + std::string(event.text.substr(0, 30)));
      if (event.label == "cm") bytes.push_back(event.bytes.size());
    }
    std::vector<std::string> lines;
    std::vector<std::size_t> bytes;
  };
  Bench b;
  Sink sink;
  b.world->trace().add_sink(sink);
  b.connect();
  b.world->trace().remove_sink(sink);
  ASSERT_EQ(sink.lines.size(), 6u);
  EXPECT_EQ(sink.lines[0], "cm from 10.0.0.9: REQ tid=0xabcd0");
  EXPECT_TRUE(sink.lines[1].starts_with("cm.state connection ")) << sink.lines[1];
  EXPECT_TRUE(sink.lines[3].starts_with("cm to 10.0.0.9: REP")) << sink.lines[3];
  EXPECT_EQ(sink.bytes, (std::vector<std::size_t>{256, 256, 256}));
}

}  // namespace
}  // namespace fb::softroce::test
