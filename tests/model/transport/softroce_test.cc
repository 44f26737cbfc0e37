// NVMe/RDMA over softroce where the link does not behave; and what the trace says.
#include <gtest/gtest.h>

#include <set>

#include "model/transport/fault_points.h"
#include "model/transport/rdma_rules.h"
#include "tests/model/transport/rdma_bench.h"

namespace fb::transport {
namespace {

using testing::HostQueue;
using testing::pattern;
using testing::RdmaBench;
using testing::SoftDevices;

/// Lets `packets` through, then none.
struct Cut final : net::LinkFilter {
  net::Verdict on_packet(net::PacketContext&) override {
    if (left == 0) return net::Verdict::dropped();
    --left;
    return net::Verdict::pass();
  }
  std::uint64_t left = ~std::uint64_t{0};
};

net::SimNetwork& network_of(RdmaBench& bench) { return static_cast<SoftDevices&>(*bench.devices).sim(); }

TEST(RdmaSoft, EveryByteArrivesOverALossyLink) {
  RdmaBench bench(testing::make_soft);
  auto host = bench.connect(1, 16);
  net::RandomLossOptions chances;
  chances.drop = {1, 100};
  chances.duplicate = {1, 100};
  chances.delay = {1, 50};
  net::RandomLoss loss(*bench.world, chances);
  network_of(bench).set_filter(&loss);
  std::vector<Bytes> buffers(16);
  int left = 300;
  bool good = true;
  Rng rng(3, "sizes");
  const auto start = [&](std::uint16_t slot) {
    if (left-- <= 0) return;
    buffers[slot].assign(rng.below(40000), 0);
    if (slot % 2 == 0) {
      host->read(slot, buffers[slot], slot);
    } else {
      rng.fill(buffers[slot]);
      host->write(slot, buffers[slot]);
    }
  };
  host->on_free = [&](std::uint16_t slot) {
    if (slot % 2 == 0) good = good && buffers[slot] == pattern(slot, buffers[slot].size());
    start(slot);
  };
  for (std::uint16_t slot = 0; slot < 16; ++slot) start(slot);
  bench.world->run_until_idle(Duration::s(3000));
  EXPECT_TRUE(host->ends.empty());
  EXPECT_EQ(host->answers.size(), 300u);
  EXPECT_TRUE(good);
  EXPECT_GT(network_of(bench).counters().dropped_by_filter, 10u);
  network_of(bench).set_filter(nullptr);
}

/// The link dies after each number of packets in turn. Each end that is left alone must notice when it
/// has something to say, and leave nothing behind.
TEST(RdmaSoft, LinkDiesAtEveryPacket) {
  bool survived = false;
  for (std::uint64_t packets = 0; !survived; ++packets) {
    ASSERT_LT(packets, 200u);
    RdmaBench bench(testing::make_soft);
    Cut cut;
    auto host = bench.connect(1);
    network_of(bench).set_filter(&cut);
    cut.left = packets;
    Bytes out = pattern(1, 9000), in(9000), small = pattern(2, 100);
    host->write(0, out);
    host->read(1, in, 5);
    host->write(2, small);
    bench.world->run_until_idle(Duration::s(3600));
    survived = host->ends.empty() && host->answers.size() == 3;
    if (!survived && packets < 2) {
      ASSERT_EQ(host->ends.size(), 1u) << packets;
      EXPECT_EQ(host->ends[0].kind, ChannelEnd::Kind::lost);
    }
    EXPECT_LE(host->ends.size(), 1u);
    EXPECT_LE(bench.last_queue().ended.size(), 1u);
    host.reset();
    bench.target.queues.clear();
    bench.world->run_until_idle(Duration::s(3600));
    EXPECT_EQ(bench.controller->staging_used(), 0u) << packets;
    network_of(bench).set_filter(nullptr);
  }
}

TEST(RdmaSoft, SameSeedSameDigest) {
  const auto digest = [] {
    RdmaBench bench(testing::make_soft);
    auto host = bench.connect(1);
    Bytes out = pattern(1, 9000), in(9000);
    host->write(0, out);
    host->read(1, in, 5);
    bench.run();
    return bench.world->digest();
  };
  EXPECT_EQ(digest(), digest());
}

TEST(RdmaSoft, CapsulesAreInTheTrace) {
  struct Sink final : TraceSink {
    void on_event(const TraceEvent& event) override {
      if (event.kind != TraceKind::capsule) return;
      lines.push_back(std::string(event.actor) + " " + std::string(event.label) + " " + std::string(event.text) + " " +
                      std::to_string(event.bytes.size()));
    }
    std::vector<std::string> lines;
  } sink;
  RdmaBench bench(testing::make_soft);
  auto host = bench.connect(1);
  bench.world->trace().add_sink(sink);
  Bytes out = pattern(1, 100);
  host->write(0, out);
  bench.run();
  bench.world->trace().remove_sink(sink);
  const std::vector<std::string> expected = {
      "host nvme.command out qid 1 164",
      "target nvme.command in qid 1 164",
      "target nvme.completion out qid 1 16",
      "host nvme.completion in qid 1 16",
  };
  EXPECT_EQ(sink.lines, expected);
}

/// The table of fault points and the questions that the code asks are the same set.
TEST(FaultPoints, EachIsAskedFor) {
  struct Recorder final : TransportHooks {
    explicit Recorder(std::set<std::string, std::less<>>& a) : asked(a) {}
    bool departs(std::string_view point) override {
      asked.insert(std::string(point));
      return false;
    }
    std::set<std::string, std::less<>>& asked;
  };
  std::set<std::string, std::less<>> asked;
  Recorder recorder(asked);
  ControllerFabricOptions options;
  for (int wrong = 0; wrong < 8; ++wrong) {
    namespace f = fabrics::rdma_request;
    Record<fabrics::RdmaRequest> request;
    request.set(f::hrqsize, wrong == 1 ? 0u : 32u);
    request.set(f::hsqsize, wrong == 2 ? 0u : wrong == 3 ? 99u : 31u);
    request.set(f::recfmt, wrong == 4 ? 1u : 0u);
    request.set(f::qid, wrong == 5 ? 999u : 0u);
    check_queue_request(request.bytes().first(wrong == 6 ? 31 : 32), wrong == 7 ? 0 : 16, options, wrong == 0 ? 100000 : 0, &recorder);
  }
  const Bytes behind(512);
  for (int type = 0; type < 256; ++type) {
    for (const std::uint32_t length : {0u, 16u, 24u, 80u, 320u, 5000u}) {
      Bytes sqe(64);
      sqe[39] = static_cast<std::uint8_t>(type);
      store_le<std::uint32_t>(&sqe[32], length);
      SglPlan plan;
      read_sgl(sqe, behind, {512, 4}, 100, &recorder, plan);
      read_sgl(sqe, {}, {0, 4}, 100, &recorder, plan);
    }
  }
  auto world = World::make_virtual(1);
  auto devices = testing::make_soft(*world);
  testing::Target target;
  RdmaHostFabric host_fabric(*world, devices->host(), &recorder);
  options.io_queues_max = 2;
  auto controller = RdmaControllerFabric::start(*world, devices->target(), options, target, &recorder).value();
  const auto connect = [&](std::uint16_t qid) {
    auto host = std::make_unique<HostQueue>(host_fabric);
    ChannelOptions channel;
    channel.qid = qid;
    channel.remote_invalidate = qid != 2;
    host->channel->connect(controller->local(), channel);
    world->run_until_idle(Duration::s(10));
    return host;
  };
  Bytes data(5000);
  connect(3);
  auto admin = connect(0);
  auto host = connect(1);
  host->read(0, data, 1);
  world->run_until_idle(Duration::s(10));
  host->channel->send_raw(Bytes(10));
  auto other = connect(2);
  other->write(0, data);
  world->run_until_idle(Duration::s(10));
  // A response with a wrong key, for the question that only its receiver asks.
  struct Wrong final : TransportHooks {
    bool departs(std::string_view point) override { return point == "rdma.invalidate.wrong_key"; }
  } wrong;
  options.port = 4421;
  auto liar = RdmaControllerFabric::start(*world, devices->target(), options, target, &wrong).value();
  HostQueue victim(host_fabric);
  ChannelOptions channel;
  channel.qid = 1;
  victim.channel->connect(liar->local(), channel);
  world->run_until_idle(Duration::s(10));
  target.queues.back()->hold_pushed = true;
  Bytes held(5000);
  victim.read(1, held, 1);
  world->run_until_idle(Duration::s(10));
  target.queues.back()->hold_pushed = false;
  victim.read(0, data, 1);
  world->run_until_idle(Duration::s(10));
  std::set<std::string, std::less<>> listed;
  for (const FaultPoint& point : kTransportFaultPoints) listed.emplace(point.name);
  // Asked where a peer ends a connection early, or sends a response of another length: the self-test of the suite does.
  asked.insert({"rdma.connection.abandoned", "rdma.host.response.length"});
  for (const auto& name : asked) EXPECT_TRUE(listed.contains(name)) << name << " is not listed";
  for (const auto& name : listed) EXPECT_TRUE(asked.contains(name)) << name << " is not asked for";
  victim.channel.reset();
  other.reset();
  host.reset();
  admin.reset();
  target.queues.clear();
}

}  // namespace
}  // namespace fb::transport
