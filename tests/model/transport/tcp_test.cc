// NVMe/TCP channels over simulated streams.
#include <gtest/gtest.h>

#include "model/transport/tcp_controller.h"
#include "model/transport/tcp_host.h"
#include "sim/net/network.h"
#include "tests/model/transport/channel_bench.h"

namespace fb::transport {
namespace {

using namespace fb::transport::testing;

const IpAddress kHost = IpAddress::v4(10, 0, 0, 1);
const IpAddress kTarget = IpAddress::v4(10, 0, 0, 2);

struct TcpBench {
  explicit TcpBench(TcpHostOptions host_options = {}, TcpControllerOptions tcp = {}, std::uint64_t seed = 1,
                    net::StreamFilter* filter = nullptr, const ControllerFabricOptions& options = {})
      : world(World::make_virtual(seed)) {
    network.set_stream_filter(filter);
    listener = TcpControllerFabric::start(*world, target_end, kTarget, options, tcp, target, &target_hooks).value();
    fabric = std::make_unique<TcpHostFabric>(*world, host_end, kHost, host_options, &host_hooks);
  }
  ~TcpBench() {
    queues.clear();
    target.queues.clear();
  }
  HostQueue& open(ChannelOptions options = {}) {
    queues.push_back(std::make_unique<HostQueue>(*fabric));
    queues.back()->channel->connect(listener->local(), options);
    world->run_until([&] { return queues.back()->connected || !queues.back()->ends.empty(); }, Duration::s(60));
    return *queues.back();
  }
  TargetQueue& served() { return *target.queues.back(); }
  void settle() { world->run_for(Duration::ms(50)); }

  std::unique_ptr<World> world;
  net::SimNetwork network{*world};
  net::SimHost& host_end = network.add_host("host", kHost);
  net::SimHost& target_end = network.add_host("target", kTarget);
  TestHooks target_hooks, host_hooks;
  Target target;
  std::unique_ptr<TcpControllerFabric> listener;
  std::unique_ptr<TcpHostFabric> fabric;
  std::vector<std::unique_ptr<HostQueue>> queues;
};

/// A write and a read of each size come through whole.
void exchange(TcpBench& bench, HostQueue& queue, std::size_t size, std::uint32_t seed) {
  Bytes out = pattern(seed, size);
  const std::size_t before = queue.answers.size();
  ASSERT_TRUE(queue.write(1, out));
  bench.world->run_until([&] { return queue.answers.size() > before || !queue.ends.empty(); }, Duration::s(60));
  ASSERT_EQ(queue.answers.size(), before + 1) << (queue.ends.empty() ? "" : queue.ends.back().text);
  EXPECT_TRUE(queue.answers.back().status.ok()) << nvme::to_string(queue.answers.back().status);
  EXPECT_EQ(bench.served().written, out);
  Bytes in(size);
  ASSERT_TRUE(queue.read(2, in, seed + 1));
  bench.world->run_until([&] { return queue.answers.size() > before + 1 || !queue.ends.empty(); }, Duration::s(60));
  ASSERT_EQ(queue.answers.size(), before + 2) << (queue.ends.empty() ? "" : queue.ends.back().text);
  EXPECT_TRUE(queue.answers.back().status.ok());
  EXPECT_EQ(in, pattern(seed + 1, size));
}

TEST(Tcp, ConnectsWritesAndReads) {
  TcpBench bench;
  HostQueue& queue = bench.open();
  ASSERT_TRUE(queue.connected);
  for (const std::size_t size : {4u, 512u, 4096u, 8192u, 8196u, 131072u, 1048576u}) {
    exchange(bench, queue, size, static_cast<std::uint32_t>(size));
  }
  queue.channel->disconnect();
  bench.settle();
  ASSERT_EQ(queue.ends.size(), 1u);
  EXPECT_EQ(queue.ends[0].kind, ChannelEnd::Kind::closed);
  EXPECT_EQ(bench.served().ended.size(), 1u);
  EXPECT_EQ(bench.listener->staging_used(), 0u);
}

TEST(Tcp, KeepsDigestsAlignmentAndSegmentation) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed, "tcp test");
    TcpHostOptions host;
    host.header_digest = rng.below(2) == 1;
    host.data_digest = rng.below(2) == 1;
    host.hpda = static_cast<std::uint8_t>(rng.below(32));
    host.maxr2t = static_cast<std::uint32_t>(rng.below(4));
    TcpControllerOptions tcp;
    tcp.header_digest = rng.below(4) != 0;
    tcp.cpda = static_cast<std::uint8_t>(rng.below(32));
    tcp.maxh2cdata = static_cast<std::uint32_t>(4096 + 4 * rng.below(4096));
    tcp.r2t_bytes = static_cast<std::uint32_t>(4 + 4 * rng.below(8192));
    tcp.c2h_data_bytes = static_cast<std::uint32_t>(1024 + 4 * rng.below(8192));
    auto world_for_filter = World::make_virtual(seed);
    net::RandomSegmentation filter(*world_for_filter, {});
    TcpBench bench(host, tcp, seed, rng.below(2) == 1 ? &filter : nullptr);
    HostQueue& queue = bench.open();
    ASSERT_TRUE(queue.connected) << seed;
    for (int i = 0; i < 4; ++i) {
      exchange(bench, queue, 4 + 4 * rng.below(16384), static_cast<std::uint32_t>(rng.below(1000)));
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    }
  }
}

// R2Ts follow each other while more data waits than the connection takes at once: no more are outstanding than MAXR2T allows.
TEST(Tcp, ALongWriteTakesManyR2Ts) {
  for (const std::uint32_t maxr2t : {0u, 1u, 3u}) {
    TcpBench bench({.header_digest = true, .data_digest = true, .maxr2t = maxr2t}, {}, 1, nullptr, {.transfer_bytes_max = 8 << 20});
    HostQueue& queue = bench.open();
    ASSERT_TRUE(queue.connected);
    exchange(bench, queue, (4 << 20) + 4096, maxr2t);
  }
}

TEST(Tcp, ManyCommandsAtOnceAreAllAnswered) {
  TcpBench bench;
  HostQueue& queue = bench.open({.entries = 128});
  std::vector<Bytes> buffers(100, Bytes(16384));
  for (std::uint16_t i = 0; i < 100; ++i) {
    if (i % 2 == 0) {
      ASSERT_TRUE(queue.read(i, buffers[i], i));
    } else {
      buffers[i] = pattern(i, 16384);
      ASSERT_TRUE(queue.write(i, buffers[i]));
    }
  }
  bench.settle();
  EXPECT_EQ(queue.answers.size(), 100u);
  for (std::uint16_t i = 0; i < 100; i += 2) EXPECT_EQ(buffers[i], pattern(i, 16384)) << i;
}

TEST(Tcp, ControllerGoneIsAnEnd) {
  TcpBench bench;
  HostQueue& queue = bench.open();
  ASSERT_TRUE(queue.hold(3));
  bench.settle();
  bench.served().channel->close();
  bench.settle();
  ASSERT_EQ(queue.ends.size(), 1u);
  EXPECT_EQ(queue.ends[0].kind, ChannelEnd::Kind::lost);
}

TEST(Tcp, NobodyListens) {
  TcpBench bench;
  bench.queues.push_back(std::make_unique<HostQueue>(*bench.fabric));
  bench.queues.back()->channel->connect({kTarget, 4421}, {});
  bench.settle();
  ASSERT_EQ(bench.queues.back()->ends.size(), 1u);
  EXPECT_EQ(bench.queues.back()->ends[0].kind, ChannelEnd::Kind::refused);
}

TEST(Tcp, DigestsThatAreDeclinedAreNotUsed) {
  TcpControllerOptions tcp;
  tcp.header_digest = tcp.data_digest = false;
  TcpBench bench({.header_digest = true, .data_digest = true}, tcp);
  HostQueue& queue = bench.open();
  ASSERT_TRUE(queue.connected);
  exchange(bench, queue, 4096, 3);
  TcpBench strict({.header_digest = true, .digest_required = true}, tcp);
  HostQueue& refused = strict.open();
  EXPECT_FALSE(refused.connected);
  ASSERT_EQ(refused.ends.size(), 1u);
}

}  // namespace
}  // namespace fb::transport
