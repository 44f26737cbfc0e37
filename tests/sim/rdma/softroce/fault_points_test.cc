// Every fault point changes what a device does: a tour of small scenes, written down byte by
// byte and to the nanosecond, differs from the honest one.
#include "sim/rdma/softroce/fault_points.h"
#include "sim/rdma/softroce/finer_fault_points.h"

#include <set>

#include "tests/sim/rdma/softroce/raw_peer.h"
#include "wire/rdma/mad.h"

namespace fb::softroce {
namespace {

using rdma::Access;
using rdma::SendOpcode;
using roce::Opcode;

constexpr std::uint32_t kIn = 0x100;   // first PSN that the device accepts
constexpr std::uint32_t kOut = 0x200;  // first PSN that it sends
constexpr std::uint32_t kMtu = 256;

RawPacket packet(Opcode opcode, std::uint32_t psn, Bytes headers = {}, std::size_t payload = 0) {
  RawPacket p;
  p.opcode = opcode;
  p.psn = psn;
  p.headers = std::move(headers);
  p.payload = Bytes(payload, 0x5A);
  return p;
}
RawPacket only(std::uint32_t psn) { return packet(Opcode::send_only, psn, {}, 5); }
RawPacket answer(std::uint32_t psn, std::uint8_t syndrome) { return packet(Opcode::acknowledge, psn, aeth(syndrome)); }

/// One scene: a fresh device, something that happens, and all that can be seen of it.
class Scene {
 public:
  explicit Scene(SoftHooks* hooks, std::function<void(RigOptions&)> adjust = {}) : rig(options(hooks, adjust)) {
    rig.peer.strict = false;
    rig.dut.fill(1);
    va = rig.dut.region->address();
    rkey = rig.dut.region->rkey();
    for (std::uint64_t i = 0; i < 6; ++i) rig.dut.post_receive(i, 0x1000 * i, 300);
  }
  Scene& in(const std::vector<RawPacket>& packets) {
    for (const RawPacket& p : packets) {
      rig.peer.send(p);
      rig.world->run_for(Duration::us(50));
      note();
    }
    return *this;
  }
  Scene& post(SendOpcode opcode, std::uint32_t length, const std::function<void(rdma::SendRequest&)>& adjust = {}) {
    rig.dut.post(opcode, id++, 0x100, length, adjust);
    return *this;
  }
  Scene& run(Duration time = Duration::us(50)) {
    rig.world->run_for(time);
    note();
    return *this;
  }
  std::string text() {
    note();
    return log + to_hex(rig.dut.bytes(0, 0x800));
  }

  RawRig rig;
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;

 private:
  static RigOptions options(SoftHooks* hooks, const std::function<void(RigOptions&)>& adjust) {
    RigOptions o;
    o.mtu_code = 1;
    o.memory = 0x6000;
    o.hooks_b = hooks;
    o.retry_count = 2;
    o.rnr_retry_count = 2;
    o.ack_timeout_code = 8;
    o.min_rnr_timer_code = 5;
    o.engine.window_packets = 4;
    if (adjust) adjust(o);
    return o;
  }
  void note() {
    for (const Bytes& d : rig.peer.datagrams) log += to_hex(d) + "\n";
    rig.peer.datagrams.clear();
    for (auto* side : {rig.dut.send_cq.get(), rig.dut.receive_cq.get()}) {
      for (const rdma::Completion& c : Side::take(*side)) {
        log += "completion " + std::to_string(c.id) + " " + std::to_string(static_cast<int>(c.status)) + " " +
               std::to_string(c.byte_length) + " " + std::to_string(static_cast<int>(c.opcode)) + " " + std::to_string(c.qp_number) + " " +
               std::to_string(c.immediate) + " " + std::to_string(c.invalidated_rkey) + "\n";
      }
    }
    log += std::string(rdma::name_of(rig.dut.qp->state())) + "\n";
  }
  std::string log;
  std::uint64_t id = 100;
};

using SceneFunction = std::function<void(Scene&)>;

void responder_scenes(SoftHooks* hooks, std::string& text) {
  const auto scene = [&](const SceneFunction& play, const std::function<void(RigOptions&)>& adjust = {}) {
    Scene s(hooks, adjust);
    play(s);
    text += s.text() + "---\n";
  };
  scene([](Scene& s) {  // what must be dropped
    for (int i = 0; i < 4; ++i) {
      RawPacket p = only(kIn + static_cast<std::uint32_t>(i));
      p.bad_icrc = i == 0;
      p.tver = i == 1 ? 1 : 0;
      p.pkey = i == 2 ? 0x1234 : 0xFFFF;
      if (i == 3) p.opcode = static_cast<Opcode>(0x15);
      s.in({p});
    }
  });
  scene([](Scene& s) {
    RawPacket marked = only(kIn), elsewhere = only(kIn + 1);
    marked.beside_marks = 0x15;
    elsewhere.qpn = s.rig.peer.device_qpn ^ 0x800000;
    s.in({marked, elsewhere, packet(Opcode::write_only, kIn + 1)});
  });
  scene([](Scene& s) {  // a MAD with a Q_Key of its own
    Record<roce::Deth> deth;
    deth.set(roce::deth::qkey, 0x11111111).set(roce::deth::srcqp, roce::kGsiQpn);
    cm::Mad mad(cm::Attribute::class_port_info, 1);
    mad.header().set(cm::mad::method, cm::Method::get);
    RawPacket p = packet(Opcode::ud_send_only, 0, bytes_of(deth.bytes()));
    p.payload = bytes_of(mad.bytes());
    p.qpn = roce::kGsiQpn;
    s.in({p});
  });
  scene([](Scene& s) { s.in({only(0xFFFFFF), only(0)}); }, [](RigOptions& o) { o.psn_a = 0xFFFFFF; });
  scene([](Scene& s) {
    auto& third = s.rig.network.add_host("third", IpAddress::v4(10, 0, 0, 3));
    RawPeer stranger(*s.rig.world, third);
    stranger.device_address = s.rig.peer.device_address;
    stranger.device_qpn = s.rig.peer.device_qpn;
    stranger.send(only(kIn));
    s.run();
  });
  scene([](Scene& s) {  // order, gaps, duplicates
    RawPacket quiet = only(kIn + 1);
    quiet.ack_request = false;
    s.in({only(kIn), quiet, only(kIn + 3), only(kIn + 4), only(kIn + 2), only(kIn + 5), only(kIn)});
  });
  scene([](Scene& s) {  // a duplicate inside a message
    const RawPacket first = packet(Opcode::send_first, kIn, {}, kMtu);
    s.in({first, first, packet(Opcode::send_last, kIn + 1, {}, 4)});
  });
  scene([](Scene& s) {  // RNR
    for (std::uint32_t i = 0; i < 8; ++i) s.in({only(kIn + i)});
  });
  for (int i = 0; i < 12; ++i) {
    scene([i](Scene& s) {
      const Bytes two = reth(s.va, s.rkey, kMtu + 8);
      const std::vector<std::vector<RawPacket>> kBroken = {
          {packet(Opcode::send_middle, kIn, {}, kMtu), packet(Opcode::send_last, kIn + 1, {}, 4)},
          {packet(Opcode::send_first, kIn, {}, kMtu), only(kIn + 1)},
          {packet(Opcode::send_first, kIn, {}, kMtu - 8), packet(Opcode::send_last, kIn + 1, {}, 4)},
          {packet(Opcode::send_first, kIn, {}, kMtu), packet(Opcode::send_last, kIn + 1)},
          {packet(Opcode::write_first, kIn, two, kMtu), packet(Opcode::write_last, kIn + 1, {}, 4)},
          {packet(Opcode::send_first, kIn, {}, kMtu), packet(Opcode::send_last, kIn + 1, {}, kMtu)},
          {packet(Opcode::write_only, kIn, reth(s.va, s.rkey + 0x100000, 8), 8)},
          {packet(Opcode::write_only, kIn, reth(s.va, s.rkey ^ 1, 8), 8)},
          {packet(Opcode::write_only, kIn, reth(s.va - 4, s.rkey, 8), 8), only(kIn + 1)},
          {packet(Opcode::fetch_and_add, kIn, atomic_eth(s.va + 4, s.rkey, 1, 0))},
          {packet(Opcode::write_only, kIn, reth(0, 0, 0)), packet(Opcode::read_request, kIn + 1, reth(0, 0, 0))},
          {packet(Opcode::write_only, kIn, reth(s.va, s.rkey, 8), 8),
           packet(Opcode::write_only_with_immediate, kIn + 1, reth(s.va, s.rkey, 8) + word(7), 8)}};
      s.in(kBroken[static_cast<std::size_t>(i)]);
    });
  }
  scene([](Scene& s) {
    auto domain = s.rig.dut.device->allocate_protection_domain();
    auto other = domain->register_memory(s.rig.dut.memory, s.rig.options.access);
    s.in({packet(Opcode::write_only, kIn, reth(other->address(), other->rkey(), 8), 8)});
  });
  scene([](Scene& s) {
    auto less = s.rig.dut.domain->register_memory(s.rig.dut.memory, Access::remote_read);
    s.in({packet(Opcode::write_only, kIn, reth(less->address(), less->rkey(), 8), 8)});
  });
  scene([](Scene& s) { s.in({packet(Opcode::read_request, kIn, reth(s.va, s.rkey, 8))}); }, [](RigOptions& o) { o.depth = 0; });
  scene(
      [](Scene& s) {
        s.rig.peer.send(packet(Opcode::read_request, kIn, reth(s.va, s.rkey, 10 * kMtu)));
        s.in({packet(Opcode::read_request, kIn + 10, reth(s.va, s.rkey, 8))});
      },
      [](RigOptions& o) {
        o.depth = 1;
        o.engine.read_burst_packets = 1;
      });
  scene([](Scene& s) {  // reads and their replay
    s.in({packet(Opcode::read_request, kIn, reth(s.va, s.rkey, 8)), packet(Opcode::read_request, kIn + 1, reth(s.va, s.rkey, 3 * kMtu)),
          packet(Opcode::read_request, kIn + 1, reth(s.va, s.rkey, 3 * kMtu)),
          packet(Opcode::read_request, kIn + 2, reth(s.va + kMtu, s.rkey, 2 * kMtu))});
  });
  scene([](Scene& s) {  // atomics
    const RawPacket add = packet(Opcode::fetch_and_add, kIn, atomic_eth(s.va, s.rkey, 3, 0));
    s.in({add, add});
  });
  scene([](Scene& s) {  // invalidate, and a late duplicate of a read from before
    auto fast = s.rig.dut.domain->allocate_fast_region(64);
    rdma::SendRequest r;
    r.opcode = SendOpcode::fast_register;
    r.region = fast.get();
    r.memory = MutableBytes{s.rig.dut.memory}.first(64);
    r.access = s.rig.options.access;
    s.rig.dut.qp->post_send(r);
    s.run();
    s.in({packet(Opcode::read_request, kIn, reth(0, fast->rkey(), 8)),
          packet(Opcode::send_only_with_invalidate, kIn + 1, word(fast->rkey()), 4),
          packet(Opcode::read_request, kIn, reth(0, fast->rkey(), 8)), packet(Opcode::write_only, kIn + 2, reth(0, fast->rkey(), 8), 8)});
  });
  scene([](Scene& s) {  // invalidate, and nothing before it
    auto fast = s.rig.dut.domain->allocate_fast_region(64);
    rdma::SendRequest r;
    r.opcode = SendOpcode::fast_register;
    r.region = fast.get();
    r.memory = MutableBytes{s.rig.dut.memory}.first(64);
    r.access = s.rig.options.access;
    s.rig.dut.qp->post_send(r);
    s.run();
    s.in({packet(Opcode::send_only_with_invalidate, kIn, word(fast->rkey()), 4),
          packet(Opcode::write_only, kIn + 1, reth(0, fast->rkey(), 8), 8)});
  });
  scene([](Scene& s) {  // of another transport service
    Record<roce::Deth> deth;
    s.in({packet(Opcode::ud_send_only, kIn, bytes_of(deth.bytes()), 4)});
  });
  scene([](Scene& s) {  // a gap behind an RNR NAK that was made good
    for (std::uint32_t i = 0; i < 7; ++i) s.in({only(kIn + i)});
    s.rig.dut.post_receive(9, 0, 300);
    s.in({only(kIn + 6), only(kIn + 8)});
  });
  scene([](Scene& s) {  // a receive of two pieces
    for (std::uint32_t i = 0; i < 6; ++i) s.in({only(kIn + i)});
    const rdma::Sge pieces[] = {s.rig.dut.region->sge(0x40, 3), s.rig.dut.region->sge(0x80, 40)};
    s.rig.dut.qp->post_receive({9, pieces});
    s.in({only(kIn + 6)});
  });
  for (int i = 0; i < 4; ++i) {
    scene([i](Scene& s) {  // the end of a region
      const std::uint64_t end = s.va + s.rig.dut.region->length();
      const std::vector<RawPacket> kBeyond = {packet(Opcode::write_only, kIn, reth(end - 7, s.rkey, 8), 8),
                                              packet(Opcode::read_request, kIn, reth(end - kMtu, s.rkey, 2 * kMtu)),
                                              packet(Opcode::write_first, kIn, reth(end - kMtu, s.rkey, 2 * kMtu), kMtu),
                                              packet(Opcode::fetch_and_add, kIn, atomic_eth(end, s.rkey, 1, 0))};
      s.in({kBeyond[static_cast<std::size_t>(i)]});
    });
  }
  scene([](Scene& s) {
    auto region = s.rig.dut.domain->register_memory(s.rig.dut.memory, s.rig.options.access);
    const Bytes there = reth(region->address(), region->rkey(), 8);
    region.reset();
    s.in({packet(Opcode::write_only, kIn, there, 8)});
  });
  scene([](Scene& s) {  // a duplicate that asks for more
    s.in({packet(Opcode::read_request, kIn, reth(s.va, s.rkey, 8)), packet(Opcode::read_request, kIn, reth(s.va, s.rkey, 16))});
  });
  scene(
      [](Scene& s) {  // a READ that is remembered in the place of an atomic
        s.in({packet(Opcode::fetch_and_add, kIn, atomic_eth(s.va, s.rkey, 3, 0)),
              packet(Opcode::read_request, kIn + 1, reth(s.va, s.rkey, 8))});
      },
      [](RigOptions& o) { o.depth = 1; });
}

void requester_scenes(SoftHooks* hooks, std::string& text) {
  const auto scene = [&](const SceneFunction& play, const std::function<void(RigOptions&)>& adjust = {}) {
    Scene s(hooks, adjust);
    play(s);
    text += s.text() + "---\n";
  };
  scene([](Scene& s) { s.post(SendOpcode::send, 2 * kMtu + 5).run().in({answer(kOut + 2, 0x1F)}); });
  scene([](Scene& s) {  // go-back-N
    for (int i = 0; i < 3; ++i) s.post(SendOpcode::send, 4);
    s.run().in({answer(kOut + 1, 0x60)}).in({answer(kOut + 2, 0x1F)});
  });
  scene([](Scene& s) { s.post(SendOpcode::send, 4).run().in({answer(kOut + 9, 0x1F)}); });
  scene([](Scene& s) {  // timeouts, with old acknowledgements between
    s.post(SendOpcode::send, 4).run().in({answer(kOut, 0x1F)}).post(SendOpcode::send, 4);
    for (int i = 0; i < 60; ++i) s.run(Duration::us(100)).in({answer(kOut, 0x1F)});
  });
  scene([](Scene& s) {
    s.post(SendOpcode::send, 4);
    for (int i = 0; i < 60; ++i) s.run(Duration::us(100));
  });
  scene([](Scene& s) {  // RNR
    s.post(SendOpcode::send, 4).run();
    for (int i = 0; i < 5; ++i) s.in({answer(kOut, 0x2C)}).run(Duration::us(320)).run(Duration::us(400));
  });
  scene([](Scene& s) {  // window
    for (int i = 0; i < 8; ++i) s.post(SendOpcode::rdma_write, 4);
    s.run();
  });
  scene(
      [](Scene& s) {  // read depth and fence
        s.post(SendOpcode::rdma_read, 8).post(SendOpcode::rdma_read, 8);
        s.post(SendOpcode::send, 4, [](auto& r) { r.fence = true; }).run();
      },
      [](RigOptions& o) { o.depth = 1; });
  scene([](Scene& s) { s.post(SendOpcode::rdma_read, 8).post(SendOpcode::send, 4, [](auto& r) { r.fence = true; }).run(); });
  scene([](Scene& s) {  // a lost read response
    s.post(SendOpcode::rdma_read, 3 * kMtu).run();
    s.in({packet(Opcode::read_response_first, kOut, aeth(0x1F), kMtu), packet(Opcode::read_response_last, kOut + 2, aeth(0x1F), kMtu)});
  });
  scene([](Scene& s) {  // a fatal NAK
    for (int i = 0; i < 4; ++i) s.post(SendOpcode::send, 4);
    s.run().in({answer(kOut, 0x62)}).run();
  });
  scene([](Scene& s) {  // inline data that changes behind the post
    s.post(SendOpcode::send, 8, [](auto& r) { r.inline_data = true; });
    s.rig.dut.fill(77);
    s.run();
  });
  scene([](Scene& s) {
    s.post(SendOpcode::fetch_and_add, 8).run();
    Record<roce::AtomicAckEth> original;
    original.set(roce::atomicacketh::origremdt, 0x0102030405060708);
    s.in({packet(Opcode::atomic_acknowledge, kOut, aeth(0x1F) + bytes_of(original.bytes()))});
  });
  scene([](Scene& s) {  // an ACK inside a message, and silence
    s.post(SendOpcode::send, 4 * kMtu).run().in({answer(kOut + 1, 0x1F)});
    for (int i = 0; i < 30; ++i) s.run(Duration::us(100));
  });
  scene([](Scene& s) {  // progress in time
    s.post(SendOpcode::send, 4).post(SendOpcode::send, 4).run();
    s.run(Duration::us(700)).in({answer(kOut, 0x1F)}).run(Duration::us(700));
    s.in({answer(kOut + 1, 0x1F)}).run();
  });
  scene([](Scene& s) {  // progress between timeouts, and between RNR NAKs
    for (std::uint32_t i = 0; i < 4; ++i) {
      s.post(SendOpcode::send, 4).run(Duration::us(1200)).in({answer(kOut + i, 0x1F)});
    }
    for (std::uint32_t i = 4; i < 8; ++i) {
      s.post(SendOpcode::send, 4).run().in({answer(kOut + i, 0x21)}).run();
      s.in({answer(kOut + i, 0x1F)});
    }
  });
  scene(
      [](Scene& s) {
        s.post(SendOpcode::send, 4).run();
        for (int i = 0; i < 9; ++i) s.in({answer(kOut, 0x21)}).run();
      },
      [](RigOptions& o) { o.rnr_retry_count = 7; });
  scene([](Scene& s) {  // two NAKs, with progress between them
    for (std::uint32_t i = 0; i < 4; i += 2) {
      s.post(SendOpcode::send, 4).post(SendOpcode::send, 4).run();
      s.in({answer(kOut + i, 0x60)}).in({answer(kOut + i + 1, 0x1F)});
    }
  });
  scene([](Scene& s) {  // more than go into a queue at a time
    for (std::uint32_t i = 0; i < 70; ++i) {
      s.post(SendOpcode::send, 4).run().in({answer(kOut + i, 0x1F)});
      s.rig.dut.post_receive(10 + i, 0, 300);
      s.in({only(kIn + i)});
    }
  });
  scene([](Scene& s) {
    s.post(SendOpcode::rdma_read, 8).run();
    s.in({packet(Opcode::read_response_only, kOut, aeth(0x1F), 8)});
  });
  scene([](Scene& s) {  // a read response that is too short
    s.post(SendOpcode::rdma_read, 8).run();
    s.in({packet(Opcode::read_response_only, kOut, aeth(0x1F), 4)});
  });
  scene([](Scene& s) {
    s.post(SendOpcode::send, 4).run();
    s.in({packet(Opcode::read_response_only, kOut, aeth(0x1F), 4)});
  });
}

std::string tour(SoftHooks* hooks) {
  std::string text;
  responder_scenes(hooks, text);
  requester_scenes(hooks, text);
  return text;
}

struct OneDeparture final : SoftHooks {
  explicit OneDeparture(std::string_view n) : name(n) {}
  bool departs(std::string_view point) override {
    asked = asked || point == name;
    return point == name;
  }
  std::string_view name;
  bool asked = false;
};

TEST(Departures, NamesAreDifferentAndExplained) {
  std::set<std::string_view> names;
  for (const FaultPoint& p : soft_fault_points()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_FALSE(p.breaks.empty());
  }
  EXPECT_GE(names.size(), 40u);
}

TEST(Departures, HooksThatSayNoChangeNothing) {
  OneDeparture hooks{"nothing"};
  EXPECT_EQ(tour(&hooks), tour(nullptr));
}

TEST(Departures, EachChangesWhatTheDeviceDoes) {
  const std::string honest = tour(nullptr);
  for (const FaultPoint& p : soft_fault_points()) {
    OneDeparture hooks{p.name};
    EXPECT_NE(tour(&hooks), honest) << p.name << (hooks.asked ? "" : " was never asked for");
  }
  // They need what the tour has not: a second protection domain or peer, a key of the same index, full queues, notifications,
  // fast registrations, duplicates that ask for something else. Cases of the suite have it.
  const std::set<std::string_view> elsewhere = {"rc.memory.sges_of_any_domain",
                                                "rc.responder.invalidates_any_domain",
                                                "rc.responder.invalidates_by_index",
                                                "rc.responder.solicited_by_first_packet",
                                                "rc.packet.address_in_part",
                                                "rc.queue.one_shorter",
                                                "rc.requester.invalidates_at_once",
                                                "rc.memory.fast_region_unbounded",
                                                "rc.receive.limit_one_early",
                                                "rc.memory.key_of_any_queue",
                                                "rc.requester.timeout_zero_ends",
                                                "rc.completion.overrun_unnoticed",
                                                "rc.responder.replay_under_any_address",
                                                "rc.responder.replay_under_any_key"};
  for (const FaultPoint& p : kFinerFaultPoints) {
    if (elsewhere.contains(p.name)) continue;
    OneDeparture hooks{p.name};
    EXPECT_NE(tour(&hooks), honest) << p.name << (hooks.asked ? "" : " was never asked for");
  }
}

}  // namespace
}  // namespace fb::softroce
