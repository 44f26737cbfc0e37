// Real TCP sockets on loopback addresses, ports chosen by the kernel.
#include "sim/net/tcp_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sim/net/local_host.h"
#include "sim/net/udp_socket.h"
#include "tests/sim/net/stream_end.h"

namespace fb::net {
namespace {

using namespace literals;

const IpAddress kLoopback = IpAddress::v4(127, 0, 0, 1);
const IpAddress kLoopback6 = *IpAddress::parse("::1");

struct Sockets {
  explicit Sockets(const IpAddress& at = kLoopback, const RealHostOptions& options = {}, bool busy_poll = false)
      : world(World::make_real(1, busy_poll)), host(*world, options), address(at) {
    listener = std::move(host.listen({address, 0}, inbox)).value();
  }
  template <class Done>
  bool until(Done&& done) {
    return world->run_until(done, 10_s);
  }
  void establish() {
    ASSERT_TRUE(client.open(host, {address, 0}, listener->local()));
    EXPECT_FALSE(client.connected) << "never from inside connect()";
    ASSERT_TRUE(until([this] { return client.connected && !inbox.ends.empty(); }));
    server = inbox.ends.back().get();
  }
  /// No descriptor keeps the loop awake: what it sleeps for is the time itself.
  void expect_quiet() {
    const std::uint64_t before = host.stream_counters().receive_calls;
    int steps = 0;
    const Instant end = world->now() + 30_ms;
    while (world->now() < end) {
      world->step_towards(end);
      ++steps;
    }
    EXPECT_LT(steps, 20);
    EXPECT_LT(host.stream_counters().receive_calls - before, 5u);
  }
  std::unique_ptr<World> world;
  RealHost host;
  IpAddress address;
  test::StreamInbox inbox;
  std::unique_ptr<StreamListener> listener;
  test::StreamUser client;
  test::StreamUser* server = nullptr;
};

Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  Rng rng(seed);
  rng.fill(bytes);
  return bytes;
}

void transfer_both_ways(const IpAddress& address, int buffer, bool busy_poll) {
  RealHostOptions options;
  options.stream_buffer_bytes = buffer;
  Sockets s(address, options, busy_poll);
  s.establish();
  EXPECT_EQ(s.server->stream->peer(), s.client.stream->local());
  EXPECT_EQ(s.server->stream->local(), s.listener->local());
  EXPECT_NE(s.client.stream->local().port, 0);
  const Bytes up = random_bytes(8 << 20, 1), down = random_bytes(3 << 20, 2);
  s.client.queue(up);
  s.server->queue(down);
  ASSERT_TRUE(s.until([&] { return s.server->got.size() >= up.size() && s.client.got.size() >= down.size(); }));
  EXPECT_TRUE(s.server->got == up);
  EXPECT_TRUE(s.client.got == down);
  EXPECT_GT(s.host.stream_counters().blocked, 0u);
  EXPECT_EQ(s.host.stream_counters().sent_bytes, up.size() + down.size());
  EXPECT_EQ(s.host.stream_counters().received_bytes, up.size() + down.size());
  s.client.stream->finish();
  ASSERT_TRUE(s.until([&] { return s.server->stream->finished(); }));
  s.server->put(Bytes{1});
  s.server->stream->close();
  ASSERT_TRUE(s.until([&] { return s.client.stream->finished(); }));
  EXPECT_EQ(s.client.got.size(), down.size() + 1);
  EXPECT_FALSE(s.client.end.has_value());
  EXPECT_EQ(s.host.stream_counters().resets, 0u);
}

TEST(TcpSocket, BigTransferThroughSmallBuffers) { transfer_both_ways(kLoopback, 8192, false); }
TEST(TcpSocket, BigTransferOverIpv6) { transfer_both_ways(kLoopback6, 16384, false); }
TEST(TcpSocket, BigTransferBusyPolling) { transfer_both_ways(kLoopback, 65536, true); }

TEST(TcpSocket, ManyPartsLeaveInOneCall) {
  Sockets s;
  s.establish();
  const Bytes bytes = random_bytes(2000, 3);
  std::vector<ByteView> parts;
  for (std::size_t i = 0; i < 1000; ++i) parts.push_back(ByteView(bytes).subspan(i * 2, 2));
  EXPECT_EQ(s.client.stream->send(parts), 2000u);
  EXPECT_EQ(s.host.stream_counters().send_calls, 1u);
  ASSERT_TRUE(s.until([&] { return s.server->got.size() == 2000; }));
  EXPECT_EQ(s.server->got, bytes);
  parts.insert(parts.end(), parts.begin(), parts.end());
  EXPECT_EQ(s.client.stream->send(parts), 4000u);
  EXPECT_EQ(s.host.stream_counters().send_calls, 3u) << "the kernel takes 1024 at once";
  ASSERT_TRUE(s.until([&] { return s.server->got.size() == 6000; }));
}

TEST(TcpSocket, RefusedWhereNobodyListens) {
  Sockets s;
  const Endpoint dead = s.listener->local();
  s.listener.reset();
  ASSERT_TRUE(s.client.open(s.host, {kLoopback, 0}, dead));
  EXPECT_FALSE(s.client.end.has_value());
  ASSERT_TRUE(s.until([&] { return s.client.end.has_value(); }));
  EXPECT_EQ(s.client.end->kind, StreamEnd::Kind::refused);
  EXPECT_EQ(s.client.end->text, to_string(dead) + ": connection refused");
  EXPECT_EQ(s.client.readables, 0);
  EXPECT_EQ(s.host.stream_counters().refused, 1u);
}

TEST(TcpSocket, NoAnswerIsUnreachable) {
  // A listener whose queue is full does not answer.
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socket_detail::SocketAddress address(Endpoint{kLoopback, 0});
  ASSERT_EQ(bind(fd, address.get(), address.length()), 0);
  ASSERT_EQ(listen(fd, 0), 0);
  socklen_t length = sizeof address;
  getsockname(fd, address.get(), &length);
  RealHostOptions options;
  options.connect_timeout = 100_ms;
  Sockets s(kLoopback, options);
  std::vector<std::unique_ptr<test::StreamUser>> users;
  for (int i = 0; i < 4; ++i) {
    users.push_back(std::make_unique<test::StreamUser>());
    ASSERT_TRUE(users.back()->open(s.host, {kLoopback, 0}, *address.endpoint()));
  }
  test::StreamUser& last = *users.back();
  ASSERT_TRUE(s.until([&] { return last.end.has_value(); }));
  EXPECT_EQ(last.end->kind, StreamEnd::Kind::unreachable);
  EXPECT_NE(last.end->text.find("within 100.000 ms"), std::string::npos) << last.end->text;
  close(fd);
}

TEST(TcpSocket, ProblemsNameTheAddress) {
  Sockets s;
  auto taken = s.host.listen(s.listener->local(), s.inbox);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().text, "TCP " + to_string(s.listener->local()) + ": address already in use");
  auto foreign = s.host.connect({IpAddress::v4(192, 0, 2, 77), 0}, s.listener->local(), s.client);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().text, "TCP 192.0.2.77:0: cannot assign requested address (no interface of this machine has it)");
  auto mixed = s.host.connect({kLoopback, 0}, {kLoopback6, 1}, s.client);
  ASSERT_FALSE(mixed.ok());
  EXPECT_TRUE(s.host.connect({IpAddress{}, 0}, s.listener->local(), s.client).ok());
}

TEST(TcpSocket, ResetTellsOfWhatCameBeforeIt) {
  Sockets s;
  s.establish();
  s.client.put(Bytes(5, 5));
  s.client.stream->abort();
  ASSERT_TRUE(s.until([&] { return s.server->end.has_value(); }));
  EXPECT_EQ(s.server->end->kind, StreamEnd::Kind::reset);
  EXPECT_EQ(s.server->got.size(), 5u);
  EXPECT_EQ(s.server->ends, 1);
  EXPECT_FALSE(s.client.end.has_value());
  EXPECT_FALSE(s.server->put(Bytes{1}));
  s.expect_quiet();
}

TEST(TcpSocket, SendingToAResetPeerEndsToo) {
  Sockets s;
  s.establish();
  s.server->reading = false;
  s.server->put(Bytes(5, 5));
  s.client.stream->abort();
  for (int i = 0; i < 1000 && !s.server->end.has_value(); ++i) {
    s.server->put(Bytes(1000, 1));
    s.world->run_for(1_ms);
  }
  ASSERT_TRUE(s.server->end.has_value());
  EXPECT_EQ(s.server->end->kind, StreamEnd::Kind::reset);
}

TEST(TcpSocket, AReaderThatPausesIsLeftAloneAndGoesOnLater) {
  for (const bool busy_poll : {false, true}) {
    Sockets s(kLoopback, {}, busy_poll);
    s.establish();
    s.server->reading = false;
    s.client.put(Bytes(100, 1));
    ASSERT_TRUE(s.until([&] { return s.server->readables == 1; }));
    s.client.put(Bytes(100, 2));
    s.world->run_for(5_ms);
    if (!busy_poll) s.expect_quiet();
    EXPECT_EQ(s.server->readables, 1);
    s.server->reading = true;
    s.server->drain();
    EXPECT_EQ(s.server->got.size(), 200u);
    s.client.put(Bytes(100, 3));
    ASSERT_TRUE(s.until([&] { return s.server->got.size() == 300; }));
  }
}

TEST(TcpSocket, HalfClosedStreamsKeepTheLoopAsleep) {
  Sockets s;
  s.establish();
  s.client.stream->finish();
  ASSERT_TRUE(s.until([&] { return s.server->stream->finished(); }));
  s.expect_quiet();
  s.server->put(Bytes(10, 1));
  s.server->stream->finish();
  ASSERT_TRUE(s.until([&] { return s.client.stream->finished(); }));
  EXPECT_EQ(s.client.got.size(), 10u);
  s.expect_quiet();
  EXPECT_EQ(s.server->stream->send(std::vector<ByteView>{ByteView(Bytes{1})}), 0u);
}

TEST(TcpSocket, CloseDeliversWhatWasTaken) {
  Sockets s;
  s.establish();
  s.server->reading = false;
  s.client.queue(Bytes(1 << 20, 4));
  const std::size_t taken = (1 << 20) - s.client.unsent();
  s.client.stream->close();
  s.client.stream.reset();
  s.world->run_for(5_ms);
  s.server->reading = true;
  s.server->drain();
  ASSERT_TRUE(s.until([&] { return s.server->stream->finished(); }));
  EXPECT_EQ(s.server->got.size(), taken);
}

TEST(TcpSocket, FlushComesOnceATurn) {
  Sockets s;
  s.establish();
  s.client.stream->request_flush();
  s.client.stream->request_flush();
  EXPECT_EQ(s.client.flushes, 0);
  ASSERT_TRUE(s.until([&] { return s.client.flushes > 0; }));
  s.world->run_for(1_ms);
  EXPECT_EQ(s.client.flushes, 1);
  s.client.stream->request_flush();
  s.client.stream.reset();
  s.world->run_for(1_ms);
  EXPECT_EQ(s.client.flushes, 1);
}

TEST(TcpSocket, AHandlerMayDestroyItsStreamInAnyCall) {
  for (const bool busy_poll : {false, true}) {
    for (int where = 0; where < 4; ++where) {
      Sockets s(kLoopback, {}, busy_poll);
      s.establish();
      s.server->destroy_in = where;
      if (where == 0) s.client.put(Bytes(10, 1));
      if (where == 1) s.server->queue(Bytes(64 << 20, 1));
      if (where == 2) s.server->stream->request_flush();
      if (where == 3) s.client.stream->abort();
      EXPECT_TRUE(s.until([&] { return s.server->stream == nullptr; })) << where;
      s.world->run_for(1_ms);
    }
  }
}

TEST(TcpSocket, AThousandSilentConnectionsComeAndGo) {
  Sockets s;
  s.inbox.drop = false;
  std::vector<int> fds;
  socket_detail::SocketAddress address(s.listener->local());
  for (int i = 0; i < 1000; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) break;  // a small limit of descriptors
    (void)connect(fd, address.get(), address.length());
    fds.push_back(fd);
    if (i % 100 == 99) s.world->run_for(1_ms);
  }
  const auto count = static_cast<int>(fds.size());
  ASSERT_GE(count, 200);
  s.until([&] { return s.inbox.accepted >= count || s.host.stream_counters().accept_pauses > 0; });
  s.inbox.ends.clear();
  ASSERT_TRUE(s.until([&] { return s.inbox.accepted >= count; }));
  for (const int fd : fds) close(fd);
  s.establish();
  s.client.put(Bytes(10, 1));
  EXPECT_TRUE(s.until([&] { return s.server->got.size() == 10; }));
}

TEST(TcpSocket, RunningOutOfDescriptorsPausesTheListener) {
  Sockets s;
  ASSERT_TRUE(s.client.open(s.host, {kLoopback, 0}, s.listener->local()));
  // Every descriptor below the limit is taken, so that the kernel has none for accept().
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int last = open("/dev/null", O_RDONLY | O_CLOEXEC);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(last);
  close(last);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  s.world->run_for(70_ms);
  EXPECT_EQ(s.inbox.accepted, 0);
  const std::uint64_t pauses = s.host.stream_counters().accept_pauses;
  EXPECT_GE(pauses, 1u);
  EXPECT_LE(pauses, 6u) << "it does not spin";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(s.until([&] { return s.inbox.accepted == 1; }));
}

TEST(TcpSocket, BusyPollingFindsBytesWithoutTheKernelsReport) {
  Sockets s(kLoopback, {}, true);
  s.establish();
  s.inbox.ends.back()->chunk = 100;
  for (int i = 0; i < 200; ++i) {
    s.client.put(Bytes(64, 1));
    ASSERT_TRUE(s.until([&] { return s.server->got.size() == static_cast<std::size_t>(i + 1) * 64; }));
  }
  EXPECT_EQ(s.host.stream_counters().send_calls, 200u);
}

// Sequence numbers, flags and bytes of all that the trace shows of one connection.
TEST(TcpSocket, TheTraceShowsAConnection) {
  struct Sink final : TraceSink {
    void on_event(const TraceEvent& event) override {
      ASSERT_NE(event.tcp, nullptr);
      EXPECT_EQ(event.label, "tcp");
      std::string line(event.actor);
      const TcpFacts& tcp = *event.tcp;
      const bool local = event.actor == "local";
      if ((tcp.flags & tcp_flag::syn) != 0) (local ? ours : theirs) = tcp.seq;
      line += " " + std::to_string(tcp.flags) + " " + std::to_string(tcp.seq - (local ? ours : theirs));
      if ((tcp.flags & tcp_flag::ack) != 0) line += " " + std::to_string(tcp.ack - (local ? theirs : ours));
      lines.push_back(line + " " + std::to_string(event.bytes.size()));
    }
    std::uint32_t ours = 0, theirs = 0;
    std::vector<std::string> lines;
  } sink;
  Sockets s;
  auto other = World::make_real(1);
  RealHost there(*other);
  test::StreamUser user;
  other->trace().add_sink(sink);
  ASSERT_TRUE(user.open(there, {kLoopback, 0}, s.listener->local()));
  const auto both = [&](auto&& done) {
    for (int i = 0; i < 10'000 && !done(); ++i) {
      other->run_for(100_us);
      s.world->run_for(100_us);
    }
    return done();
  };
  ASSERT_TRUE(both([&] { return user.connected && !s.inbox.ends.empty(); }));
  const Bytes bytes(100, 1);
  const std::vector<ByteView> parts{ByteView(bytes).first(60), ByteView(bytes).subspan(60)};
  ASSERT_EQ(user.stream->send(parts), 100u);
  ASSERT_TRUE(both([&] { return s.inbox.ends[0]->got.size() == 100; }));
  s.inbox.ends[0]->put(Bytes(7, 2));
  ASSERT_TRUE(both([&] { return user.got.size() == 7; }));
  s.inbox.ends[0]->stream->close();
  ASSERT_TRUE(both([&] { return user.stream->finished(); }));
  user.stream->close();
  const std::vector<std::string> expected = {"local 2 0 0",      "peer 18 0 1 0",    "local 16 1 1 0",
                                             "local 24 1 1 100", "peer 24 1 101 7",  "peer 17 8 101 0",
                                             "local 16 101 9 0", "local 17 101 9 0", "peer 16 9 102 0"};
  EXPECT_EQ(sink.lines, expected);
}

TEST(LocalStreams, ThisMachineHasTcpAndAnEthernetLinkHasNot) {
  auto world = World::make_real(1);
  auto streams = open_local_streams(*world, {.address = kLoopback});
  ASSERT_TRUE(streams.ok());
  test::StreamInbox inbox;
  EXPECT_TRUE((*streams)->listen({kLoopback, 0}, inbox).ok());
  auto none = open_local_streams(*world, {.address = kLoopback, .path = "/tmp/a", .peer = "/tmp/b"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().text, "'l2:/tmp/a': a raw Ethernet link has no TCP; use an IP address");
}

}  // namespace
}  // namespace fb::net
