// The stream seam's contract, kept by TLS on top of another stream.
#include <algorithm>

#include "base/rng.h"
#include "sim/net/stream_filter.h"
#include "tests/sim/tls/tls_net.h"

namespace fb::tls {
namespace {

using namespace literals;
using test::key_of;
using test::kServer;
using test::TlsNet;

Bytes pattern(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  Bytes made(size);
  rng.fill(made);
  return made;
}

/// Groups that cost little: these tests are not about them.
Options quick() {
  Options options;
  options.groups.assign(1, Group::x25519);  // g++ 12 warns of a list's bytes
  options.psk_ke = true;
  return options;
}

struct QuickNet : TlsNet {
  explicit QuickNet(std::uint64_t seed = 1, const net::LinkOptions& link = {}) : TlsNet(quick(), quick(), seed, link) {}
};

TEST(TlsStream, CarriesBytesBothWays) {
  QuickNet net;
  ASSERT_NO_FATAL_FAILURE(net.establish());
  EXPECT_EQ(net.server->stream->local(), kServer);
  EXPECT_EQ(net.server->stream->peer(), net.client.stream->local());
  net.client.put(Bytes{1, 2, 3});
  net.server->put(Bytes{4, 5});
  net.settle();
  EXPECT_EQ(net.server->got, (Bytes{1, 2, 3}));
  EXPECT_EQ(net.client.got, (Bytes{4, 5}));
}

TEST(TlsStream, LargeTransferWithSmallWindows) {
  QuickNet net(1, {.bandwidth = 10'000'000'000, .mtu = 1500});
  net::StreamOptions small;
  small.send_buffer = 20'000;
  small.receive_window = 9'000;
  net.host->set_stream_options(small);
  net.target->set_stream_options(small);
  ASSERT_NO_FATAL_FAILURE(net.establish());
  const Bytes up = pattern(3 << 20, 1), down = pattern(2 << 20, 2);
  net.client.queue(up);
  net.server->queue(down);
  net.settle();
  EXPECT_TRUE(net.server->got == up);
  EXPECT_TRUE(net.client.got == down);
  EXPECT_GT(net.client.writables, 10) << "there was never room for all";
}

TEST(TlsStream, SmallPartsShareARecord) {
  QuickNet net;
  ASSERT_NO_FATAL_FAILURE(net.establish());
  const std::uint64_t before = net.network.stream_counters().bytes;
  const Bytes one(10, 1);
  const std::vector<ByteView> parts(100, ByteView(one));
  EXPECT_EQ(net.client.stream->send(parts), 1000u);
  net.settle();
  EXPECT_EQ(net.server->got.size(), 1000u);
  EXPECT_EQ(net.network.stream_counters().bytes - before, 1000u + 22u) << "one header, type and tag";
}

TEST(TlsStream, ALargePartGoesInWholeRecords) {
  QuickNet net;
  ASSERT_NO_FATAL_FAILURE(net.establish());
  const std::uint64_t before = net.network.stream_counters().bytes;
  const Bytes header(24, 1), body = pattern(131072, 4);
  const std::vector<ByteView> parts{header, body};
  EXPECT_EQ(net.client.stream->send(parts), 24u + 131072u);
  net.settle();
  Bytes all = header;
  all.insert(all.end(), body.begin(), body.end());
  EXPECT_TRUE(net.server->got == all);
  EXPECT_EQ(net.network.stream_counters().bytes - before, all.size() + 9 * 22u) << "nine records";
}

TEST(TlsStream, HalfCloseLeavesTheOtherDirectionOpen) {
  QuickNet net;
  ASSERT_NO_FATAL_FAILURE(net.establish());
  net.client.put(Bytes{1});
  net.client.stream->finish();
  EXPECT_FALSE(net.client.put(Bytes{2})) << "nothing is taken after finish()";
  net.settle();
  EXPECT_EQ(net.server->got, Bytes{1});
  EXPECT_TRUE(net.server->stream->finished());
  EXPECT_FALSE(net.client.stream->finished());
  EXPECT_EQ(net.server->ends, 0);
  net.server->put(Bytes(50'000, 3));
  net.settle();
  EXPECT_EQ(net.client.got, Bytes(50'000, 3));
  net.server->stream->finish();
  net.settle();
  EXPECT_TRUE(net.client.stream->finished());
  net.client.stream->close();
  net.server->stream->close();
  net.settle();
  EXPECT_EQ(net.network.connections(), 0u);
  EXPECT_EQ(net.network.stream_counters().resets, 0u);
}

TEST(TlsStream, CloseDeliversWhatWasTaken) {
  QuickNet net;
  net::StreamOptions small;
  small.send_buffer = 4'000;
  net.host->set_stream_options(small);
  ASSERT_NO_FATAL_FAILURE(net.establish());
  const Bytes sent = pattern(60'000, 3);
  const std::vector<ByteView> parts{sent};
  const std::size_t taken = net.client.stream->send(parts);
  EXPECT_GT(taken, 4'000u) << "more than the inner stream had room for";
  net.client.stream->close();
  net.client.stream.reset();
  net.settle();
  ASSERT_EQ(net.server->got.size(), taken);
  EXPECT_TRUE(std::equal(net.server->got.begin(), net.server->got.end(), sent.begin()));
  EXPECT_TRUE(net.server->stream->finished());
  net.server->stream->close();
  net.settle();
  EXPECT_EQ(net.network.connections(), 0u);
}

TEST(TlsStream, CloseWithUnreadBytesIsAReset) {
  QuickNet net;
  ASSERT_NO_FATAL_FAILURE(net.establish());
  net.server->reading = false;
  net.client.put(Bytes(10, 1));
  net.settle();
  EXPECT_EQ(net.server->read_some(3), 3u) << "the rest is decrypted and waits";
  net.server->stream->close();
  net.settle();
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, net::StreamEnd::Kind::reset);
}

TEST(TlsStream, AbortResetsAtOnce) {
  QuickNet net;
  ASSERT_NO_FATAL_FAILURE(net.establish());
  net.client.stream->abort();
  EXPECT_FALSE(net.client.put(Bytes{1}));
  net.settle();
  EXPECT_EQ(net.client.ends, 0);
  ASSERT_TRUE(net.server->end.has_value());
  EXPECT_EQ(net.server->end->kind, net::StreamEnd::Kind::reset);
  EXPECT_EQ(net.server->end->text, "10.0.0.1:49152 reset the connection");
}

TEST(TlsStream, ANewHandlerHearsOfWhatWaits) {
  QuickNet net;
  ASSERT_NO_FATAL_FAILURE(net.establish());
  net.server->reading = false;
  net.client.put(Bytes(10, 1));
  net.settle();
  EXPECT_EQ(net.server->read_some(4), 4u);
  net::test::StreamUser second;
  second.stream = std::move(net.server->stream);
  second.stream->set_handler(&second);
  EXPECT_EQ(second.readables, 0) << "never from inside the call";
  net.settle();
  EXPECT_EQ(second.got, Bytes(6, 1));
}

TEST(TlsStream, FlushComesAtTheEndOfTheTurn) {
  QuickNet net;
  ASSERT_NO_FATAL_FAILURE(net.establish());
  net.client.stream->request_flush();
  EXPECT_EQ(net.client.flushes, 0);
  net.settle();
  EXPECT_EQ(net.client.flushes, 1);
}

TEST(TlsStream, BytesBeforeTheHandshakeWaitForRoom) {
  QuickNet net;
  net.listen();
  net.connect();
  net.client.queue(Bytes(100, 9));
  EXPECT_EQ(net.client.unsent(), 100u);
  net.settle();
  ASSERT_EQ(net.inbox.ends.size(), 1u);
  EXPECT_EQ(net.inbox.ends[0]->got, Bytes(100, 9));
}

TEST(TlsStream, HandlersMayDestroyTheStream) {
  for (int when = 0; when < 4; ++when) {
    for (const bool buffered : {false, true}) {
      QuickNet net;
      net::StreamOptions small;
      small.send_buffer = 4'000;
      net.target->set_stream_options(small);
      ASSERT_NO_FATAL_FAILURE(net.establish());
      net.server->reading = !buffered;
      if (when == 1) net.server->queue(Bytes(100'000, 1));
      net.server->destroy_in = when;
      if (when == 2) net.server->stream->request_flush();
      net.client.put(Bytes(10, 1));
      if (when == 3) net.client.stream->abort();
      if (buffered && when == 0) {
        net.server->stream->set_handler(net.server);
      }
      net.settle();
      EXPECT_EQ(net.server->stream, nullptr) << when;
      EXPECT_EQ(net.client.ends, when == 3 ? 0 : 1);
    }
  }
}

/// Carries bytes between two streams and may change them.
struct Relay final : net::StreamAcceptor {
  Relay(TlsNet& n, Endpoint to) : net(n) {
    listener = std::move(net.host->listen({test::kHostAddress, 9}, *this)).value();
    EXPECT_TRUE(far.open(*net.host, {test::kHostAddress, 0}, to));
  }
  void on_stream(std::unique_ptr<net::Stream> stream) override {
    near.stream = std::move(stream);
    near.stream->set_handler(&near);
  }
  /// Moves what has arrived, with one byte changed when `flip` is inside it.
  void carry() {
    for (auto* pair : {&up, &down}) {
      net::test::StreamUser& from = pair == &up ? near : far;
      net::test::StreamUser& to = pair == &up ? far : near;
      if (from.got.empty()) continue;
      Bytes bytes = std::move(from.got);
      from.got.clear();
      if (pair == &down && flip < bytes.size()) bytes[flip] ^= 1;
      to.put(bytes);
      *pair += bytes.size();
    }
  }
  void run() {
    for (int i = 0; i < 30; ++i) {
      net.world->run_for(1_ms);
      carry();
    }
  }
  TlsNet& net;
  std::unique_ptr<net::StreamListener> listener;
  net::test::StreamUser near, far;
  std::size_t up = 0, down = 0;
  std::size_t flip = ~std::size_t{0};
};

struct RelayedNet : QuickNet {
  RelayedNet() : relay((listen(), *this), kServer) {
    EXPECT_TRUE(client.open(*tls_host, {test::kHostAddress, 0}, {test::kHostAddress, 9}));
    relay.run();
    EXPECT_TRUE(client.connected) << why();
    if (!inbox.ends.empty()) server = inbox.ends[0].get();
  }
  Relay relay;
};

TEST(TlsStream, AnEndWithoutCloseNotifyIsAFailure) {
  RelayedNet net;
  ASSERT_NE(net.server, nullptr);
  net.server->put(Bytes(10, 1));
  net.relay.run();
  net.relay.near.stream->finish();
  net.relay.run();
  EXPECT_EQ(net.client.got, Bytes(10, 1)) << "what came before it counts";
  EXPECT_FALSE(net.client.stream->finished());
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, net::StreamEnd::Kind::failed);
  EXPECT_EQ(net.why(), "TLS ended: the peer closed the connection without a close_notify; sent alert 50 (decode error)");
}

TEST(TlsStream, AChangedRecordEndsTheStream) {
  RelayedNet net;
  ASSERT_NE(net.server, nullptr);
  net.relay.flip = 20;
  net.server->put(Bytes(100, 1));
  net.relay.run();
  EXPECT_TRUE(net.client.got.empty());
  EXPECT_EQ(net.client.ends, 1);
  EXPECT_EQ(net.why(),
            "TLS ended: decryption failed or bad record mac; sent alert 20 (bad "
            "record mac)");
  ASSERT_TRUE(net.server->end.has_value()) << "the alert arrives";
  EXPECT_EQ(net.server->end->text, "TLS ended: the peer sent alert 20 (bad record mac)");
  EXPECT_EQ(net.client.stream->send(std::vector<ByteView>{ByteView(net.client.got)}), 0u);
}

// Segments of any size, late and lost; buffers, reads and writes of any size.
TEST(TlsStream, AnySegmentationCarriesTheSameBytes) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    QuickNet net(seed, {.mtu = 1500});
    net::RandomSegmentation shredder(*net.world, {.split = {3, 4}, .delay = {1, 20}, .lose = {1, 200}});
    net.network.set_stream_filter(&shredder);
    Rng rng(seed, "sizes");
    net::StreamOptions buffers;
    buffers.send_buffer = 2'000 + rng.below(60'000);
    buffers.receive_window = 2'000 + rng.below(60'000);
    net.host->set_stream_options(buffers);
    net.target->set_stream_options(buffers);
    ASSERT_NO_FATAL_FAILURE(net.establish());
    net.client.chunk = 1 + rng.below(20'000);
    net.server->chunk = 1 + rng.below(20'000);
    const std::size_t up_size = rng.below(200'000);
    const std::size_t down_size = rng.below(200'000);
    const Bytes up = pattern(up_size, seed), down = pattern(down_size, seed + 1);
    net.client.queue(up);
    net.server->queue(down);
    net.settle();
    ASSERT_TRUE(net.server->got == up);
    ASSERT_TRUE(net.client.got == down);
    net.client.stream->finish();
    net.server->stream->finish();
    net.settle();
    EXPECT_TRUE(net.client.stream->finished());
    EXPECT_TRUE(net.server->stream->finished());
    net.network.set_stream_filter(nullptr);
  }
}

}  // namespace
}  // namespace fb::tls
