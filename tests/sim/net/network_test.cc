#include "sim/net/network.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace fb::net {
namespace {

using namespace literals;

const IpAddress kHostAddress = IpAddress::v4(10, 0, 0, 1);
const IpAddress kTargetAddress = IpAddress::v4(10, 0, 0, 2);

struct Inbox final : DatagramReceiver {
  explicit Inbox(World& w) : world(w) {}
  void on_datagram(const Arrival& arrival) override {
    payloads.emplace_back(arrival.payload.begin(), arrival.payload.end());
    times.push_back(world.now().count_ns());
    last_source = arrival.source;
    last_destination = arrival.destination;
    last_ip = arrival.ip;
  }
  void on_batch_end() override { batches.push_back(payloads.size()); }

  World& world;
  std::vector<Bytes> payloads;
  std::vector<std::int64_t> times;
  std::vector<std::size_t> batches;  // payloads so far at each batch end
  Endpoint last_source, last_destination;
  std::optional<IpFacts> last_ip;
};

struct Pair {
  explicit Pair(const LinkOptions& options = {}, std::uint64_t seed = 1)
      : world(World::make_virtual(seed)), network(*world, options), inbox(*world) {
    host = &network.add_host("host", kHostAddress);
    target = &network.add_host("target", kTargetAddress);
    from = std::move(host->open({kHostAddress, 4791})).value();
    to = std::move(target->open({kTargetAddress, 4791})).value();
    to->set_receiver(&inbox);
  }
  void send(std::size_t size, std::uint8_t fill = 0) {
    const Outgoing out = from->begin(to->local(), size);
    std::fill(out.payload.begin(), out.payload.end(), fill);
    from->commit();
  }
  const LinkCounters& counters() const { return network.counters(*host, *target); }

  std::unique_ptr<World> world;
  SimNetwork network;
  Inbox inbox;
  SimHost* host = nullptr;
  SimHost* target = nullptr;
  std::unique_ptr<DatagramPort> from, to;
};

TEST(SimNetwork, DeliversAfterTheLatencyInOrder) {
  Pair pair({.latency = 7_us});
  for (std::uint8_t i = 0; i < 5; ++i) pair.send(100, i);
  EXPECT_TRUE(pair.world->run_until_idle());
  ASSERT_EQ(pair.inbox.payloads.size(), 5u);
  for (std::uint8_t i = 0; i < 5; ++i) EXPECT_EQ(pair.inbox.payloads[i], Bytes(100, i));
  EXPECT_EQ(pair.inbox.times, std::vector<std::int64_t>(5, 7000));
  EXPECT_EQ(pair.inbox.batches, std::vector<std::size_t>{5});
  EXPECT_EQ(pair.inbox.last_source, (Endpoint{kHostAddress, 4791}));
  EXPECT_EQ(pair.inbox.last_destination, (Endpoint{kTargetAddress, 4791}));
  ASSERT_TRUE(pair.inbox.last_ip.has_value());
  EXPECT_EQ(pair.inbox.last_ip->id, 0);
  EXPECT_TRUE(pair.inbox.last_ip->dont_fragment);
  EXPECT_EQ(pair.inbox.last_ip->ttl, 64);
}

TEST(SimNetwork, BatchesEndOncePerInstant) {
  Pair pair({.latency = 1_us});
  pair.send(10);
  pair.send(10);
  pair.world->run_for(500_ns);
  pair.send(10);
  pair.world->run_until_idle();
  EXPECT_EQ(pair.inbox.batches, (std::vector<std::size_t>{2, 3}));
}

TEST(SimNetwork, BandwidthSpacesPackets) {
  // 972 + 28 bytes at 1 Gb/s: 8 us each.
  Pair pair({.latency = 1_us, .bandwidth = 1'000'000'000});
  for (int i = 0; i < 3; ++i) pair.send(972);
  pair.world->run_until_idle();
  EXPECT_EQ(pair.inbox.times, (std::vector<std::int64_t>{9000, 17000, 25000}));
}

TEST(SimNetwork, FullQueueDropsTheTail) {
  // Room for four packets of 1000 bytes, the one on the wire included.
  Pair pair({.latency = 1_us, .bandwidth = 1'000'000'000, .queue_bytes = 4000});
  for (std::uint8_t i = 0; i < 6; ++i) pair.send(972, i);
  pair.world->run_until_idle();
  ASSERT_EQ(pair.inbox.payloads.size(), 4u);
  EXPECT_EQ(pair.inbox.payloads.back()[0], 3);
  EXPECT_EQ(pair.counters().dropped_queue_full, 2u);
  pair.send(972, 9);
  pair.world->run_until_idle();
  EXPECT_EQ(pair.inbox.payloads.back()[0], 9);
}

TEST(SimNetwork, IdleWireTakesAPacketBiggerThanItsQueue) {
  Pair pair({.bandwidth = 1'000'000'000, .queue_bytes = 100});
  pair.send(972);
  pair.world->run_until_idle();
  EXPECT_EQ(pair.inbox.payloads.size(), 1u);
}

TEST(SimNetwork, MtuBoundsThePayload) {
  Pair pair;
  EXPECT_EQ(pair.from->mtu(), 5000u);
  EXPECT_EQ(pair.from->max_payload(), 4972u);
  pair.send(4972, 1);
  EXPECT_THROW((void)pair.from->begin(pair.to->local(), 4973), AssertionFailure);
  pair.network.set_links(*pair.host, *pair.target, {.mtu = 1500});
  EXPECT_EQ(pair.from->mtu(), 1500u);
  EXPECT_THROW((void)pair.from->begin(pair.to->local(), 1473), AssertionFailure);
  pair.network.set_link(*pair.host, *pair.target, {.mtu = 9000});
  pair.send(8972, 2);
  pair.world->run_until_idle();
  ASSERT_EQ(pair.inbox.payloads.size(), 2u);
  EXPECT_EQ(pair.inbox.payloads[1], Bytes(8972, 2));
}

TEST(SimNetwork, EphemeralPortsAreDeterministicAndTakenOnesRefused) {
  Pair pair;
  auto a = pair.host->open({kHostAddress, 0});
  auto b = pair.host->open({kHostAddress, 0});
  EXPECT_EQ((*a)->local().port, 49152);
  EXPECT_EQ((*b)->local().port, 49153);
  const auto taken = pair.host->open({kHostAddress, 4791});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().text, "UDP 10.0.0.1:4791: address already in use");
  const auto foreign = pair.host->open({kTargetAddress, 1});
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().text, "UDP 10.0.0.2:1: host host does not have this address");
  pair.from.reset();
  EXPECT_TRUE(pair.host->open({kHostAddress, 4791}).ok());
}

TEST(SimNetwork, SeveralAddressesAndIpv6) {
  Pair pair;
  const IpAddress v6 = *IpAddress::parse("fd00::2");
  const IpAddress v6_host = *IpAddress::parse("fd00::1");
  pair.target->add_address(v6);
  pair.host->add_address(v6_host);
  auto to = std::move(pair.target->open({v6, 4791})).value();
  auto from = std::move(pair.host->open({v6_host, 0})).value();
  to->set_receiver(&pair.inbox);
  EXPECT_EQ(from->max_payload(), 4952u);
  from->begin(to->local(), 4).payload[0] = 0x42;
  from->commit();
  pair.world->run_until_idle();
  ASSERT_EQ(pair.inbox.payloads.size(), 1u);
  EXPECT_EQ(pair.inbox.payloads[0][0], 0x42);
  EXPECT_EQ(pair.inbox.last_destination, to->local());
}

TEST(SimNetwork, CountsWhatNobodyReceives) {
  Pair pair;
  (void)pair.from->begin({kTargetAddress, 9}, 10);
  pair.from->commit();
  (void)pair.from->begin({IpAddress::v4(10, 9, 9, 9), 9}, 10);
  pair.from->commit();
  pair.send(10);
  pair.to.reset();  // closes while a packet is on its way
  pair.world->run_until_idle();
  EXPECT_EQ(pair.counters().dropped_no_receiver, 2u);
  EXPECT_EQ(pair.network.counters().dropped_no_route, 1u);
  EXPECT_EQ(pair.network.counters().sent, 3u);
}

TEST(SimNetwork, ReceiverMayCloseItsPort) {
  Pair pair;
  struct Closer final : DatagramReceiver {
    std::unique_ptr<DatagramPort>& port;
    int seen = 0;
    explicit Closer(std::unique_ptr<DatagramPort>& p) : port(p) {}
    void on_datagram(const Arrival&) override {
      ++seen;
      port.reset();
    }
  } closer(pair.to);
  pair.to->set_receiver(&closer);
  pair.send(10);
  const Endpoint there{kTargetAddress, 4791};
  (void)pair.from->begin(there, 10);
  pair.from->commit();
  pair.world->run_until_idle();
  EXPECT_EQ(closer.seen, 1);
  EXPECT_EQ(pair.counters().dropped_no_receiver, 1u);
}

TEST(SimNetwork, PoolStopsGrowing) {
  Pair pair;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 16; ++i) pair.send(4096);
    pair.world->run_until_idle();
  }
  EXPECT_EQ(pair.network.pool_size(), 16u);
  EXPECT_EQ(pair.counters().delivered, 1600u);
}

struct Scripted final : LinkFilter {
  Verdict on_packet(PacketContext& packet) override {
    links.insert(std::string(packet.link));
    switch (packet.ordinal) {
      case 0:
        return Verdict::dropped();
      case 1:
        return Verdict::duplicated();
      case 2:
        return Verdict::delayed(3_us);
      case 4:
        packet.payload[0] ^= 0xFF;
        return Verdict::mutated();
      default:
        return Verdict::pass();
    }
  }
  std::set<std::string> links;
};

TEST(LinkFilter, DropsDuplicatesDelaysAndCorrupts) {
  Pair pair({.latency = 1_us});
  Scripted filter;
  pair.network.set_filter(&filter);
  for (std::uint8_t i = 0; i < 5; ++i) pair.send(8, i);
  pair.world->run_until_idle();
  std::string order;
  for (const auto& payload : pair.inbox.payloads) order += to_hex(ByteView(payload).first(1)) + " ";
  EXPECT_EQ(order, "01 01 03 fb 02 ");
  const LinkCounters& counters = pair.counters();
  EXPECT_EQ(counters.sent, 6u);
  EXPECT_EQ(counters.dropped_by_filter, 1u);
  EXPECT_EQ(counters.duplicated, 1u);
  EXPECT_EQ(counters.delayed, 1u);
  EXPECT_EQ(counters.corrupted, 1u);
  EXPECT_EQ(counters.delivered, 5u);
  EXPECT_EQ(filter.links, std::set<std::string>{"host->target"});
}

TEST(LinkFilter, OneDirectionHasItsOwn) {
  Pair pair;
  struct DropAll final : LinkFilter {
    Verdict on_packet(PacketContext&) override { return Verdict::dropped(); }
  } drop;
  Inbox back(*pair.world);
  pair.from->set_receiver(&back);
  pair.network.set_filter(*pair.target, *pair.host, &drop);
  pair.send(8);
  (void)pair.to->begin(pair.from->local(), 8);
  pair.to->commit();
  pair.world->run_until_idle();
  EXPECT_EQ(pair.inbox.payloads.size(), 1u);
  EXPECT_TRUE(back.payloads.empty());
}

struct LossRun {
  std::uint64_t digest;
  LinkCounters counters;
  std::vector<Bytes> payloads;
};

LossRun lossy_run(std::uint64_t seed, std::uint8_t fill) {
  Pair pair({}, seed);
  RandomLoss loss(*pair.world, {.drop = {1, 10}, .duplicate = {1, 20}, .delay = {1, 20}, .corrupt = {1, 50}});
  pair.network.set_filter(&loss);
  for (int i = 0; i < 2000; ++i) {
    pair.send(64, static_cast<std::uint8_t>(i + fill));
    pair.world->run_for(1_us);
  }
  pair.world->run_until_idle();
  return {pair.world->digest(), pair.counters(), pair.inbox.payloads};
}

TEST(LinkFilter, RandomLossIsAFunctionOfTheSeed) {
  const LossRun a = lossy_run(7, 0), again = lossy_run(7, 0);
  EXPECT_EQ(a.digest, again.digest);
  EXPECT_EQ(a.payloads, again.payloads);
  EXPECT_NE(a.digest, lossy_run(8, 0).digest);
  EXPECT_NE(a.digest, lossy_run(7, 1).digest) << "the digest covers the payload";
  EXPECT_NEAR(static_cast<double>(a.counters.dropped_by_filter), 200, 60);
  EXPECT_NEAR(static_cast<double>(a.counters.duplicated), 90, 40);
  EXPECT_NEAR(static_cast<double>(a.counters.delayed), 90, 40);
  EXPECT_GT(a.counters.corrupted, 10u);
  EXPECT_EQ(a.counters.sent, a.counters.delivered + a.counters.dropped_by_filter);
}

TEST(SimNetwork, TracesEveryPacketAtSendTime) {
  Pair pair;
  struct Sink final : TraceSink {
    std::vector<std::string> lines;
    void on_event(const TraceEvent& event) override {
      lines.push_back(std::string(event.actor) + " " + std::string(event.label) + " " +
                      (event.kind == TraceKind::packet ? "packet " : "fault ") + to_string(event.source) + " " +
                      to_string(event.destination) + " " + to_hex(event.bytes) + " " + std::string(event.text));
    }
  } sink;
  Scripted filter;
  pair.network.set_filter(&filter);
  pair.world->trace().add_sink(sink);
  for (std::uint8_t i = 0; i < 2; ++i) pair.send(2, i);
  const std::string start = "host udp packet 10.0.0.1:4791 10.0.0.2:4791 ";
  EXPECT_EQ(sink.lines, (std::vector<std::string>{"host udp fault 10.0.0.1:4791 10.0.0.2:4791 0000 dropped by filter", start + "0101 ",
                                                  start + "0101 duplicated by filter"}));
  pair.world->trace().remove_sink(sink);
}

}  // namespace
}  // namespace fb::net
