// The connection manager under any sequence of messages, calls and passing time. The input is a
// little script: one byte says what happens, the bytes behind it fill it in. MADs are raw bytes, or
// well-formed ones with some bytes changed and the IDs of a live connection put in, so that the
// fuzzer gets past the first checks.
#include <algorithm>

#include "tests/sim/rdma/softroce/cm_fake.h"

namespace fb::softroce::test {
namespace {

class Script {
 public:
  explicit Script(ByteView bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t value = rest_[0];
    rest_ = rest_.subspan(1);
    return value;
  }
  ByteView take(std::size_t size) {
    const ByteView taken = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  ByteView rest_;
};

struct Stage {
  Stage()
      : world(World::make_virtual(1)),
        wire(*world),
        dut(*world, wire, "dut", kTargetAddress, {.half_open_max = 20, .connections_max = 40}) {
    dut.listen();
  }

  void deliver_raw(Script& script) {
    const std::size_t size = script.byte() < 0xF0 ? cm::kMadBytes : script.byte();
    Bytes mad(size);
    const ByteView filling = script.take(size);
    std::copy(filling.begin(), filling.end(), mad.begin());
    cm::describe_mad(mad);
    dut.cm->on_mad({kRawAddress, kRocePort}, kTargetAddress, mad);
  }

  /// A message of any kind that names the connection of the `which`-th message we have seen.
  void deliver_shaped(Script& script) {
    const auto attribute = static_cast<cm::Attribute>(0x10 + script.byte() % 12);
    cm::Mad mad{attribute, script.byte()};
    if (attribute == cm::Attribute::req) {
      const std::uint8_t id = script.byte();
      mad = RawReq(kTargetAddress, kRawAddress, 0x100u + id, 0x100u + script.byte()).mad;
    } else if (!wire.log.empty()) {
      const SentMad& seen = wire.log[wire.log.size() - 1 - script.byte() % wire.log.size()];
      const auto ids = seen.as<cm::Ids>();
      const bool from_req = seen.attribute() == cm::Attribute::req;
      mad.message<cm::Ids>()
          .set(cm::ids::local_comm_id, from_req ? 0x777 : ids.get(cm::ids::remote_comm_id))
          .set(cm::ids::remote_comm_id, ids.get(cm::ids::local_comm_id));
      if (attribute == cm::Attribute::rep) {
        mad.message<cm::Rep>().set(cm::rep::local_qpn, script.byte()).set(cm::rep::local_ca_guid, 5);
      } else if (attribute == cm::Attribute::dreq) {
        mad.message<cm::Dreq>().set(cm::dreq::remote_qpn, 0x11 + script.byte() % 8);
      }
    }
    for (int changes = script.byte() % 4; changes > 0; --changes) {
      const std::uint8_t at = script.byte();
      mad.mutable_bytes()[at] = script.byte();
    }
    cm::describe_mad(mad.bytes());
    deliver(dut, mad);
  }

  FakeQp* some_qp(Script& script) { return dut.qps.empty() ? nullptr : dut.qps[script.byte() % dut.qps.size()].get(); }

  void step(Script& script) {
    switch (script.byte() % 12) {
      case 0:
        return deliver_raw(script);
      case 1:
      case 2:
      case 3:
        return deliver_shaped(script);
      case 4:
        return world->run_for(Duration::ms(script.byte() * 64));
      case 5:
        dut.manner = static_cast<FakeNode::Manner>(script.byte() % 3);
        return;
      case 6:
        if (dut.qps.size() < 200) dut.connect(kRawAddress, {.private_data = script.take(20)});
        return;
      case 7:
        if (FakeQp* qp = some_qp(script)) dut.cm->disconnect(*qp);
        return;
      case 8:
        if (FakeQp* qp = some_qp(script)) dut.cm->forget(*qp);
        return;
      case 9:
        if (FakeQp* qp = some_qp(script)) dut.cm->data_before_rtu(qp->number());
        return;
      case 10:
        if (dut.pending.empty()) return;
        if (script.byte() % 2 == 0) {
          dut.pending.back()->accept(dut.new_qp(), {});
        } else {
          dut.pending.back()->reject(script.byte(), script.take(10));
        }
        dut.pending.pop_back();
        return;
      default:
        if (FakeQp* qp = some_qp(script)) qp->fail();
        return;
    }
  }

  std::unique_ptr<World> world;
  FakeWire wire;
  FakeNode dut;
};

}  // namespace
}  // namespace fb::softroce::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fb::softroce::test;
  Script script{{data, size}};
  Stage stage;
  for (int steps = 0; steps < 300 && !script.empty(); ++steps) {
    stage.step(script);
    BENCH_ASSERT(stage.dut.cm->connections() <= 40, "the number of connections is bounded");
  }
  // Whatever happened: without the user's connections, time clears everything away.
  stage.dut.pending.clear();
  for (const auto& qp : stage.dut.qps) stage.dut.cm->disconnect(*qp);
  BENCH_ASSERT(stage.world->run_until_idle(fb::Duration::s(100'000'000)), "the manager falls silent");
  BENCH_ASSERT(stage.dut.cm->connections() == 0, "no connection is left over");
  for (const auto& qp : stage.dut.qps) {
    const std::size_t first = qp->log.find("disconnected");
    BENCH_ASSERT(first == qp->log.rfind("disconnected"), "the end is told once");
  }
  return 0;
}
