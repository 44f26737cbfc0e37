// Streams between simulated hosts.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "sim/net/network.h"
#include "sim/net/vanish.h"
#include "tests/sim/net/stream_end.h"

namespace fb::net {
namespace {

using namespace literals;

const IpAddress kHostAddress = IpAddress::v4(10, 0, 0, 1);
const IpAddress kTargetAddress = IpAddress::v4(10, 0, 0, 2);
const Endpoint kServer{kTargetAddress, 4420};

struct Net {
  explicit Net(const LinkOptions& options = {}, std::uint64_t seed = 1) : world(World::make_virtual(seed)), network(*world, options) {
    host = &network.add_host("host", kHostAddress);
    target = &network.add_host("target", kTargetAddress);
  }
  void listen() { listener = std::move(target->listen(kServer, inbox)).value(); }
  void connect() { client.open(*host, {kHostAddress, 0}, kServer); }
  /// Both ends, connected.
  void establish() {
    listen();
    connect();
    ASSERT_TRUE(world->run_until([this] { return client.connected && !inbox.ends.empty(); }, 1_s));
    server = inbox.ends[0].get();
  }
  void idle() { ASSERT_TRUE(world->run_until_idle()); }

  std::unique_ptr<World> world;
  SimNetwork network;
  SimHost* host = nullptr;
  SimHost* target = nullptr;
  test::StreamInbox inbox;
  std::unique_ptr<StreamListener> listener;
  test::StreamUser client;
  test::StreamUser* server = nullptr;
};

TEST(SimStream, ConnectsInOneRoundTripAndCarriesBytes) {
  Net net({.latency = 7_us});
  net.listen();
  net.connect();
  EXPECT_FALSE(net.client.connected) << "never from inside connect()";
  net.world->run_for(13_us);
  EXPECT_FALSE(net.client.connected);
  net.world->run_for(1_us);
  EXPECT_TRUE(net.client.connected);
  net.world->run_for(7_us);
  ASSERT_EQ(net.inbox.ends.size(), 1u);
  test::StreamUser& server = *net.inbox.ends[0];
  EXPECT_EQ(server.stream->peer(), net.client.stream->local());
  EXPECT_EQ(server.stream->local(), kServer);
  EXPECT_EQ(net.client.stream->local(), (Endpoint{kHostAddress, 49152}));
  net.client.put(Bytes{1, 2, 3});
  net.world->run_for(7_us);
  EXPECT_EQ(server.got, (Bytes{1, 2, 3}));
  server.put(Bytes{4, 5});
  net.idle();
  EXPECT_EQ(net.client.got, (Bytes{4, 5}));
  EXPECT_EQ(net.host->stream_counters().connections, 1u);
  EXPECT_EQ(net.target->stream_counters().accepted, 1u);
  EXPECT_EQ(net.network.stream_counters().bytes, 5u);
  EXPECT_EQ(net.network.stream_counters().segments, 2u);
}

TEST(SimStream, RefusedWhereNobodyListens) {
  Net net({.latency = 5_us});
  net.connect();
  net.idle();
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, StreamEnd::Kind::refused);
  EXPECT_EQ(net.client.end->text, "10.0.0.2:4420 refused the connection");
  EXPECT_EQ(net.client.ends, 1);
  EXPECT_EQ(net.world->now().count_ns(), 10'000);
  EXPECT_EQ(net.network.stream_counters().refused, 1u);
  EXPECT_EQ(net.network.connections(), 1u) << "the user still holds it";
  net.client.stream.reset();
  net.idle();
  EXPECT_EQ(net.network.connections(), 0u);
}

TEST(SimStream, NoRouteIsUnreachableAfterATime) {
  Net net;
  StreamOptions options;
  options.connect_timeout = 250_ms;
  net.host->set_stream_options(options);
  net.client.open(*net.host, {kHostAddress, 0}, {IpAddress::v4(10, 9, 9, 9), 4420});
  net.idle();
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, StreamEnd::Kind::unreachable);
  EXPECT_EQ(net.client.end->text, "no answer from 10.9.9.9:4420 within 250.000 ms");
  EXPECT_EQ(net.world->now().count_ns(), 250'000'000);
}

TEST(SimStream, PortsAreRefusedWhenTakenOrForeign) {
  Net net;
  net.listen();
  test::StreamInbox other;
  auto taken = net.target->listen(kServer, other);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().text, "TCP 10.0.0.2:4420: address already in use");
  auto foreign = net.host->listen(kServer, other);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().text, "TCP 10.0.0.2:4420: host host does not have this address");
  EXPECT_TRUE(net.target->open(kServer).ok()) << "UDP ports are a space of their own";
  net.listener.reset();
  EXPECT_TRUE(net.target->listen(kServer, other).ok());
  EXPECT_EQ((*net.target->listen({kTargetAddress, 0}, other))->local().port, 49152);
  auto mixed = net.host->connect({kHostAddress, 0}, {*IpAddress::parse("fd00::2"), 1}, net.client);
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.error().text, "TCP 10.0.0.1:0: cannot connect to [fd00::2]:1");
}

TEST(SimStream, SegmentsOfTheMtuAndTheirTimeOnTheWire) {
  // 1500 bytes of IP at 1 Gb/s: 12 us each.
  Net net({.latency = 1_us, .bandwidth = 1'000'000'000, .mtu = 1500});
  net.establish();
  const Instant start = net.world->now();
  net.client.put(Bytes(1460 * 3, 9));
  ASSERT_TRUE(net.world->run_until([&] { return net.server->got.size() == 1460 * 3; }, 1_s));
  EXPECT_EQ((net.world->now() - start).count_ns(), 3 * 12'000 + 1000);
  EXPECT_EQ(net.host->stream_counters().segments, 3u);
}

TEST(SimStream, OneReadableForAllThatArrivesAtOnce) {
  Net net({.mtu = 1500});
  net.establish();
  net.client.put(Bytes(20'000, 1));
  net.idle();
  EXPECT_EQ(net.server->got.size(), 20'000u);
  EXPECT_EQ(net.server->readables, 1);
}

TEST(SimStream, HalfCloseLetsTheOtherSideGoOn) {
  Net net;
  net.establish();
  net.client.put(Bytes(10'000, 7));
  net.client.stream->finish();
  EXPECT_EQ(net.client.stream->send(std::vector<ByteView>{ByteView(Bytes{1})}), 0u);
  net.idle();
  EXPECT_EQ(net.server->got.size(), 10'000u);
  EXPECT_TRUE(net.server->stream->finished());
  EXPECT_FALSE(net.client.stream->finished());
  net.server->put(Bytes(30'000, 8));
  net.server->stream->finish();
  net.idle();
  EXPECT_EQ(net.client.got, Bytes(30'000, 8));
  EXPECT_TRUE(net.client.stream->finished());
  EXPECT_FALSE(net.client.end.has_value());
  net.client.stream->close();
  net.server->stream->close();
  net.idle();
  EXPECT_EQ(net.network.connections(), 0u);
  EXPECT_EQ(net.network.stream_counters().resets, 0u);
}

TEST(SimStream, TheEndIsToldOfEvenWhenItCameWhileBytesWaited) {
  Net net;
  net.establish();
  net.server->reading = false;
  net.client.put(Bytes(100, 1));
  net.client.stream->finish();
  net.idle();
  EXPECT_EQ(net.server->readables, 1);
  EXPECT_FALSE(net.server->stream->finished());
  net.server->reading = true;
  net.server->drain();
  net.idle();
  EXPECT_TRUE(net.server->stream->finished());
  EXPECT_EQ(net.server->readables, 2);
}

TEST(SimStream, ZeroWindowStopsTheSenderUntilTheReceiverReads) {
  Net net;
  StreamOptions small;
  small.send_buffer = 10'000;
  small.receive_window = 20'000;
  net.host->set_stream_options(small);
  net.target->set_stream_options(small);
  net.establish();
  net.server->reading = false;
  net.client.queue(Bytes(100'000, 5));
  net.idle();
  EXPECT_EQ(net.client.unsent(), 70'000u) << "20,000 lie there, 10,000 here";
  EXPECT_EQ(net.server->readables, 1);
  net.server->reading = true;
  net.server->drain();
  net.idle();
  EXPECT_EQ(net.client.unsent(), 0u);
  EXPECT_EQ(net.server->got, Bytes(100'000, 5));
  EXPECT_GT(net.client.writables, 1);
}

TEST(SimStream, AbortResetsThePeer) {
  Net net;
  net.establish();
  net.client.stream->abort();
  net.idle();
  ASSERT_TRUE(net.server->end.has_value());
  EXPECT_EQ(net.server->end->kind, StreamEnd::Kind::reset);
  EXPECT_FALSE(net.client.end.has_value()) << "on_end() does not follow";
  EXPECT_EQ(net.server->stream->send(std::vector<ByteView>{ByteView(Bytes{1})}), 0u);
  net.server->stream.reset();
  net.idle();
  EXPECT_EQ(net.network.connections(), 0u);
}

TEST(SimStream, CloseDeliversWhatWasTakenAndDestroyingTheStreamThenIsHarmless) {
  Net net;
  net.establish();
  net.client.put(Bytes(200'000, 3));
  net.client.stream->close();
  net.client.stream.reset();
  net.idle();
  EXPECT_EQ(net.server->got, Bytes(200'000, 3));
  EXPECT_TRUE(net.server->stream->finished());
  EXPECT_FALSE(net.server->end.has_value());
  net.server->stream->close();
  net.idle();
  EXPECT_EQ(net.network.connections(), 0u);
}

TEST(SimStream, CloseWithUnreadBytesResets) {
  Net net;
  net.establish();
  net.server->reading = false;
  net.client.put(Bytes(10, 1));
  net.idle();
  net.server->stream->close();
  net.idle();
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, StreamEnd::Kind::reset);
}

TEST(SimStream, BytesForAClosedStreamReset) {
  Net net;
  net.establish();
  net.server->stream->close();
  net.idle();
  EXPECT_TRUE(net.client.stream->finished());
  net.client.put(Bytes(10, 1));
  net.idle();
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, StreamEnd::Kind::reset);
}

TEST(SimStream, WhatCameBeforeAResetIsRead) {
  Net net;
  net.establish();
  net.client.put(Bytes(10, 6));
  net.client.stream->abort();
  net.idle();
  EXPECT_EQ(net.server->got, Bytes(10, 6));
  EXPECT_TRUE(net.server->end.has_value());
}

TEST(SimStream, AListenerGoneRefusesButItsStreamsLiveOn) {
  Net net;
  net.establish();
  net.listener.reset();
  test::StreamUser late;
  late.open(*net.host, {kHostAddress, 0}, kServer);
  net.client.put(Bytes(5, 5));
  net.idle();
  ASSERT_TRUE(late.end.has_value());
  EXPECT_EQ(late.end->kind, StreamEnd::Kind::refused);
  EXPECT_EQ(net.server->got.size(), 5u);
}

TEST(SimStream, AnAcceptorThatDropsTheStreamResetsIt) {
  Net net;
  net.inbox.drop = true;
  net.listen();
  net.connect();
  net.idle();
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, StreamEnd::Kind::reset);
  net.client.stream.reset();
  net.idle();
  EXPECT_EQ(net.network.connections(), 0u);
}

TEST(SimStream, FlushComesOnceBehindTheTurn) {
  Net net;
  net.establish();
  net.client.stream->request_flush();
  net.client.stream->request_flush();
  EXPECT_EQ(net.client.flushes, 0);
  net.idle();
  EXPECT_EQ(net.client.flushes, 1);
  net.client.stream->request_flush();
  net.client.stream->close();
  net.idle();
  EXPECT_EQ(net.client.flushes, 1) << "no handler is called after close()";
}

TEST(SimStream, AHandlerMayDestroyItsStreamInAnyCall) {
  for (int where = 0; where < 4; ++where) {
    Net net;
    net.establish();
    net.server->destroy_in = where;
    if (where == 0) net.client.put(Bytes(10, 1));
    if (where == 1) net.server->queue(Bytes(1 << 20, 1));
    if (where == 2) net.server->stream->request_flush();
    if (where == 3) net.client.stream->abort();
    net.idle();
    EXPECT_EQ(net.server->stream, nullptr) << where;
    net.client.stream.reset();
    net.idle();
    EXPECT_EQ(net.network.connections(), 0u);
  }
}

// ---------------------------------------------------------------------------------------- faults

struct Script final : StreamFilter {
  SegmentVerdict on_segment(const SegmentContext& segment) override {
    seen.push_back({segment.flags, segment.size});
    return segment.ordinal == at ? verdict : SegmentVerdict{};
  }
  std::uint64_t at = 0;
  SegmentVerdict verdict;
  std::vector<std::pair<std::uint8_t, std::size_t>> seen;
};

TEST(SimStreamFilter, CutsDelaysLosesHoldsAndResets) {
  Script script;
  script.at = 1;  // the SYN is 0
  script.verdict.size = 3;
  {
    Net net;
    net.network.set_stream_filter(*net.host, *net.target, &script);
    net.establish();
    net.client.put(Bytes(10, 1));
    net.idle();
    EXPECT_EQ(net.server->got.size(), 10u);
    using Seen = std::vector<std::pair<std::uint8_t, std::size_t>>;
    EXPECT_EQ(script.seen, (Seen{{tcp_flag::syn, 0}, {tcp_flag::ack, 10}, {tcp_flag::ack, 7}}));
  }
  const auto arrival_of_20 = [&script](SegmentVerdict verdict) {
    script.verdict = verdict;
    Net net({.latency = 1_us});
    net.network.set_stream_filter(*net.host, *net.target, &script);
    net.establish();
    const Instant start = net.world->now();
    net.client.put(Bytes(10, 1));
    net.client.put(Bytes(10, 2));
    EXPECT_TRUE(net.world->run_until([&] { return net.server->got.size() == 20; }, 10_s));
    return (net.world->now() - start).count_ns();
  };
  EXPECT_EQ(arrival_of_20({}), 1000);
  EXPECT_EQ(arrival_of_20({.delay = 50_us}), 51'000) << "what is behind it waits too";
  EXPECT_EQ(arrival_of_20({.lost = 1}), 200'001'001);
  EXPECT_EQ(arrival_of_20({.lost = 2}), 600'001'001);
  EXPECT_EQ(arrival_of_20({.hold = 3_ms}), 3'001'000);
  script.verdict = {.reset = true};
  Net net;
  net.network.set_stream_filter(*net.host, *net.target, &script);
  net.establish();
  net.client.put(Bytes(10, 1));
  EXPECT_FALSE(net.client.end.has_value()) << "never from inside send()";
  net.idle();
  ASSERT_TRUE(net.client.end.has_value());
  ASSERT_TRUE(net.server->end.has_value());
  EXPECT_EQ(net.client.end->kind, StreamEnd::Kind::reset);
  EXPECT_EQ(net.server->end->kind, StreamEnd::Kind::reset);
  EXPECT_TRUE(net.server->got.empty());
}

/// Segments with more bytes than that vanish, as long as `armed`.
struct SmallPath final : StreamFilter {
  SegmentVerdict on_segment(const SegmentContext& segment) override {
    SegmentVerdict verdict;
    if (armed && segment.size > most) verdict.lost = kVanishes;
    asked += segment.size > most ? 1 : 0;
    return verdict;
  }
  std::size_t most = 1000;
  unsigned asked = 0;
  bool armed = true;
};

TEST(SimStreamFilter, WhatVanishesIsRepeatedAndWhatIsBehindItWaits) {
  Net net;
  SmallPath path;
  net.network.set_stream_filter(*net.host, *net.target, &path);
  net.establish();
  ASSERT_TRUE(net.client.put(Bytes(100, 1)));
  net.world->run_for(1_s);
  EXPECT_EQ(net.server->got.size(), 100u);
  ASSERT_TRUE(net.client.put(Bytes(1200, 2)));
  ASSERT_TRUE(net.client.put(Bytes(50, 3)));
  net.world->run_for(10_s);
  EXPECT_EQ(net.server->got.size(), 100u) << "the small one waits too";
  EXPECT_GE(path.asked, 5u);
  ASSERT_TRUE(net.server->put(Bytes(5000, 4)));
  net.world->run_for(1_s);
  EXPECT_EQ(net.client.got.size(), 5000u) << "the other direction works";
  path.armed = false;
  net.world->run_for(20_s);
  EXPECT_EQ(net.server->got.size(), 1350u);
  EXPECT_EQ(net.server->got.back(), 3);
  EXPECT_FALSE(net.client.end);
}

TEST(SimStreamFilter, TcpGivesUpOnAPathThatIsTooSmallAndLeavesNothing) {
  Net net;
  SmallPath path;
  net.network.set_stream_filter(*net.host, *net.target, &path);
  net.establish();
  ASSERT_TRUE(net.client.put(Bytes(1200, 2)));
  net.world->run_for(60_s);
  EXPECT_FALSE(net.client.end);
  net.world->run_for(Duration::s(600));
  ASSERT_TRUE(net.client.end);
  EXPECT_EQ(net.client.end->kind, StreamEnd::Kind::unreachable);
  EXPECT_EQ(path.asked, 16u);
  EXPECT_FALSE(net.server->end) << "it hears nothing";
  net.client.stream.reset();
  net.inbox.ends.clear();
  net.idle();
}

TEST(SimStreamFilter, AStreamMayGoWhileItsSegmentVanishes) {
  for (const bool gently : {false, true}) {
    Net net;
    SmallPath path;
    net.network.set_stream_filter(*net.host, *net.target, &path);
    net.establish();
    ASSERT_TRUE(net.client.put(Bytes(1200, 2)));
    net.world->run_for(1_s);
    if (gently) net.client.stream->close();
    net.client.stream.reset();
    net.world->run_for(10_s);
    net.inbox.ends.clear();
    net.idle();
  }
}

TEST(SimStreamFilter, ALinkHeldForEverMakesConnectingTimeOut) {
  Script script;
  script.verdict.hold = Duration::forever();
  Net net;
  net.network.set_stream_filter(&script);
  net.listen();
  net.connect();
  net.idle();
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, StreamEnd::Kind::unreachable);
}

// -------------------------------------------------------------------------------------- property

struct Outcome {
  std::uint64_t digest = 0;
  std::uint64_t segments = 0;
  std::size_t pool = 0;
};

// Random bytes in both directions in random pieces through random buffers, cut, delayed and lost at
// random, read at random moments; each side half-closes when it has sent all.
Outcome exchange(std::uint64_t seed) {
  Rng rng(seed, "test/exchange");
  LinkOptions link;
  link.latency = Duration::ns(static_cast<std::int64_t>(rng.between(100, 50'000)));
  if (rng.chance(1, 2)) link.bandwidth = static_cast<std::int64_t>(rng.between(100'000'000, 100'000'000'000));
  link.mtu = rng.between(1280, 9000);
  Net net(link, seed);
  const auto options = [&rng] {
    StreamOptions made;
    made.retransmission = 2_ms;
    made.send_buffer = rng.between(1, std::uint64_t{1} << rng.between(6, 17));
    made.receive_window = rng.between(1, std::uint64_t{1} << rng.between(6, 17));
    return made;
  };
  net.host->set_stream_options(options());
  net.target->set_stream_options(options());
  RandomSegmentationOptions faults;
  faults.split = {static_cast<std::uint32_t>(rng.below(3)), 3};
  faults.delay = {static_cast<std::uint32_t>(rng.below(3)), 20};
  faults.lose = {static_cast<std::uint32_t>(rng.below(2)), 50};
  RandomSegmentation filter(*net.world, faults);
  net.network.set_stream_filter(&filter);
  net.establish();
  Bytes up(rng.below(6000)), down(rng.below(6000));
  rng.fill(up);
  rng.fill(down);
  struct Side {
    test::StreamUser* user;
    Bytes* bytes;
    std::size_t at = 0;
    bool done = false;
  } sides[] = {{&net.client, &up}, {net.server, &down}};
  for (Side& side : sides) side.user->reading = false;
  for (int rounds = 0; rounds < 100'000; ++rounds) {
    for (Side& side : sides) {
      if (rng.chance(1, 2)) {
        const std::size_t size = std::min<std::size_t>(rng.between(1, 2000), side.bytes->size() - side.at);
        const std::size_t cut = rng.below(size + 1);
        const ByteView piece = ByteView(*side.bytes).subspan(side.at, size);
        side.at += side.user->stream->send(std::vector<ByteView>{piece.first(cut), piece.subspan(cut)});
        if (side.at == side.bytes->size() && !side.done) {
          side.done = true;
          side.user->stream->finish();
        }
      }
      if (rng.chance(1, 2)) side.user->read_some(rng.between(1, 4000));
    }
    net.world->run_for(Duration::ns(static_cast<std::int64_t>(rng.below(200'000))));
    if (sides[0].done && sides[1].done && net.client.stream->finished() && net.server->stream->finished()) break;
  }
  EXPECT_TRUE(net.client.stream->finished() && net.server->stream->finished()) << "seed " << seed;
  EXPECT_EQ(net.server->got, up) << "seed " << seed;
  EXPECT_EQ(net.client.got, down) << "seed " << seed;
  net.client.stream->close();
  net.server->stream->close();
  net.idle();
  EXPECT_EQ(net.network.connections(), 0u) << "seed " << seed;
  EXPECT_EQ(net.network.stream_counters().resets, 0u) << "seed " << seed;
  return {net.world->digest(), net.network.stream_counters().segments, net.network.segment_pool_size()};
}

TEST(SimStreamProperty, EveryByteInOrder) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    (void)exchange(seed);
    if (testing::Test::HasFailure()) return;
  }
}

// Cuts, delays and loses like RandomSegmentation; now and then holds the link or breaks a connection.
struct Vandal final : StreamFilter {
  Vandal(World& world, std::uint64_t seed) : cut(world, {.split = {1, 2}, .delay = {1, 20}, .lose = {1, 100}}), rng(seed, "test/vandal") {}
  SegmentVerdict on_segment(const SegmentContext& segment) override {
    SegmentVerdict verdict = cut.on_segment(segment);
    if (rng.chance(1, 200)) verdict.hold = 300_us;
    verdict.reset = rng.chance(1, 150);
    return verdict;
  }
  RandomSegmentation cut;
  Rng rng;
};

// Connections that anybody may end in any way at any moment. What arrived is what was sent so far, ends
// are told of once, and nothing is left over.
void live_dangerously(std::uint64_t seed) {
  Rng rng(seed, "test/danger");
  Net net({.latency = 10_us, .mtu = 1500}, seed);
  StreamOptions options;
  options.retransmission = 500_us;
  options.connect_timeout = 5_ms;
  options.send_buffer = rng.between(100, 5000);
  options.receive_window = rng.between(100, 5000);
  net.host->set_stream_options(options);
  net.target->set_stream_options(options);
  Vandal vandal(*net.world, seed);
  net.network.set_stream_filter(&vandal);
  net.listen();
  // Every byte says where in its stream it stands.
  const auto piece = [](std::size_t from, std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>((from + i) * 7);
    return bytes;
  };
  std::vector<std::unique_ptr<test::StreamUser>> clients;
  std::vector<std::pair<test::StreamUser*, std::size_t>> users;  // with what they have sent
  const auto act = [&](test::StreamUser& user, std::size_t& sent) {
    if (user.stream == nullptr) return;
    const Bytes bytes = piece(sent, rng.between(1, 3000));
    switch (rng.below(24)) {
      case 0:
        user.stream->finish();
        break;
      case 1:
        user.stream->close();
        break;
      case 2:
        user.stream->abort();
        break;
      case 3:
        user.stream.reset();
        break;
      case 4:
        user.stream->request_flush();
        break;
      case 5:
        user.destroy_in = static_cast<int>(rng.below(4));
        break;
      case 6:
        user.reading = !user.reading;
        break;
      case 7:
        user.drain();
        break;
      default:
        sent += user.stream->send(std::vector<ByteView>{ByteView(bytes)});
    }
  };
  for (int round = 0; round < 60; ++round) {
    if (rng.chance(1, 8)) {
      clients.push_back(std::make_unique<test::StreamUser>());
      ASSERT_TRUE(clients.back()->open(*net.host, {kHostAddress, 0}, kServer));
      users.emplace_back(clients.back().get(), 0);
    }
    if (rng.chance(1, 40)) net.listener.reset();
    if (net.listener == nullptr && rng.chance(1, 4)) net.listen();
    while (users.size() < clients.size() + net.inbox.ends.size()) {
      users.emplace_back(net.inbox.ends[users.size() - clients.size()].get(), 0);
    }
    if (!users.empty()) {
      auto& [user, sent] = users[rng.below(users.size())];
      act(*user, sent);
    }
    net.world->run_for(Duration::us(static_cast<std::int64_t>(rng.below(60))));
  }
  net.idle();
  for (const auto& [user, sent] : users) {
    EXPECT_LE(user->ends, 1) << "seed " << seed;
    EXPECT_TRUE(user->got == piece(0, user->got.size())) << "seed " << seed;
    user->stream.reset();
  }
  for (auto& user : net.inbox.ends) user->stream.reset();
  net.idle();
  EXPECT_EQ(net.network.connections(), 0u) << "seed " << seed;
  // All ports are free again.
  test::StreamInbox other;
  for (std::uint16_t port = 49152; port < 49152 + clients.size(); ++port) {
    EXPECT_TRUE(net.host->listen({kHostAddress, port}, other).ok()) << "seed " << seed;
  }
}

TEST(SimStreamProperty, NothingIsLeftOfConnectionsThatEndInAnyWay) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    live_dangerously(seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(SimStreamProperty, OneSeedOneDigest) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Outcome one = exchange(seed), two = exchange(seed), other = exchange(seed + 1000);
    EXPECT_EQ(one.digest, two.digest);
    EXPECT_NE(one.digest, other.digest);
  }
}

TEST(SimStream, TheSegmentPoolDoesNotGrowInSteadyState) {
  Net net;
  net.establish();
  std::size_t pool = 0;
  for (int i = 0; i < 100; ++i) {
    net.client.put(Bytes(100'000, 1));
    net.idle();
    if (i == 1) pool = net.network.segment_pool_size();
  }
  EXPECT_EQ(net.network.segment_pool_size(), pool);
  EXPECT_LT(pool, 100u);
}

}  // namespace
}  // namespace fb::net
