// Real sockets on loopback addresses, ports chosen by the kernel.
#include "sim/net/udp_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace fb::net {
namespace {

using namespace literals;

const IpAddress kHost = IpAddress::v4(127, 0, 0, 2);
const IpAddress kTarget = IpAddress::v4(127, 0, 0, 3);

struct Inbox final : DatagramReceiver {
  void on_datagram(const Arrival& arrival) override {
    payloads.emplace_back(arrival.payload.begin(), arrival.payload.end());
    last_source = arrival.source;
    last_destination = arrival.destination;
    last_ip = arrival.ip;
    if (echo != nullptr) {
      const Outgoing out = echo->begin(arrival.source, arrival.payload.size());
      std::copy(arrival.payload.begin(), arrival.payload.end(), out.payload.begin());
      echo->commit();
    }
  }
  void on_batch_end() override { ++batches; }
  std::vector<Bytes> payloads;
  int batches = 0;
  Endpoint last_source, last_destination;
  std::optional<IpFacts> last_ip;
  DatagramPort* echo = nullptr;
};

struct Sockets {
  explicit Sockets(const IpAddress& a = kHost, const IpAddress& b = kTarget, const RealHostOptions& options = {}, bool busy_poll = false)
      : world(World::make_real(1, busy_poll)), host(*world, options) {
    from = std::move(host.open({a, 0})).value();
    to = std::move(host.open({b, 0})).value();
    to->set_receiver(&inbox);
  }
  std::uint16_t send(std::size_t size, std::uint8_t fill) {
    const Outgoing out = from->begin(to->local(), size);
    std::fill(out.payload.begin(), out.payload.end(), fill);
    from->commit();
    return out.ip.id;
  }
  bool until(std::size_t received) {
    return world->run_until([&] { return inbox.payloads.size() >= received; }, 5_s);
  }
  std::unique_ptr<World> world;
  RealHost host;
  Inbox inbox;
  std::unique_ptr<DatagramPort> from, to;
};

TEST(RealHost, ExchangesBetweenLoopbackAddresses) {
  Sockets s;
  Inbox back;
  s.from->set_receiver(&back);
  s.inbox.echo = s.to.get();
  s.send(100, 0x5A);
  ASSERT_TRUE(s.world->run_until([&] { return !back.payloads.empty(); }, 5_s));
  EXPECT_EQ(back.payloads[0], Bytes(100, 0x5A));
  EXPECT_EQ(back.last_source, s.to->local());
  EXPECT_EQ(back.last_destination, s.from->local());
  EXPECT_FALSE(back.last_ip.has_value()) << "a socket does not see the identification";
  EXPECT_EQ(s.inbox.last_source.address, kHost);
  EXPECT_EQ(s.inbox.batches, 1);
  EXPECT_EQ(s.from->mtu(), 9000u);
  EXPECT_EQ(s.from->max_payload(), 8972u);
}

TEST(RealHost, BusyPollingReceivesOneByOneAndInBulk) {
  Sockets s(kHost, kTarget, {.segmentation = false}, true);
  std::size_t sent = 0;
  for (const std::size_t batch : {1u, 1u, 1u, 1u, 1u, 1u, 1u, 1u, 1u, 1u, 200u, 1u, 300u, 1u, 1u}) {
    for (std::size_t i = 0; i < batch; ++i) s.send(100, static_cast<std::uint8_t>(sent++));
    ASSERT_TRUE(s.until(sent));
  }
  for (std::size_t i = 0; i < sent; ++i) {
    ASSERT_EQ(s.inbox.payloads[i], Bytes(100, static_cast<std::uint8_t>(i)));
  }
}

TEST(RealHost, ExchangesOverIpv6) {
  const IpAddress loopback = *IpAddress::parse("::1");
  Sockets s(loopback, loopback);
  for (std::uint8_t i = 0; i < 4; ++i) EXPECT_EQ(s.send(200, i), 0);
  ASSERT_TRUE(s.until(4));
  EXPECT_EQ(s.inbox.payloads[3], Bytes(200, 3));
  ASSERT_TRUE(s.inbox.last_ip.has_value());
  EXPECT_EQ(s.inbox.last_ip->id, 0);
  EXPECT_EQ(s.inbox.last_source, s.from->local());
}

TEST(RealHost, TrainsCountTheIdentificationAndKeepTheOrder) {
  Sockets s;
  ASSERT_TRUE(s.host.segmentation()) << "Linux has had segmentation offload for UDP since 4.18";
  std::vector<std::uint16_t> ids;
  std::vector<Bytes> sent;
  const auto send = [&](std::size_t size, std::uint8_t fill) {
    ids.push_back(s.send(size, fill));
    sent.emplace_back(size, fill);
  };
  for (std::uint8_t i = 0; i < 3; ++i) send(1000, i);
  send(400, 3);   // ends the first train
  send(400, 4);   // a new one
  send(1000, 5);  // longer: a new one
  send(1000, 6);
  EXPECT_EQ(ids, (std::vector<std::uint16_t>{0, 1, 2, 3, 0, 0, 1}));
  ASSERT_TRUE(s.until(sent.size()));
  EXPECT_EQ(s.inbox.payloads, sent);
  EXPECT_EQ(s.host.counters().trains, 2u);
  EXPECT_EQ(s.host.counters().send_calls, 1u);
  EXPECT_EQ(s.host.counters().sent, 7u);
  EXPECT_EQ(s.host.counters().received, 7u);
}

TEST(RealHost, WithoutSegmentationEveryIdentificationIsZero) {
  Sockets s(kHost, kTarget, {.segmentation = false});
  for (std::uint8_t i = 0; i < 10; ++i) EXPECT_EQ(s.send(1000, i), 0);
  ASSERT_TRUE(s.until(10));
  EXPECT_EQ(s.host.counters().trains, 0u);
  for (std::uint8_t i = 0; i < 10; ++i) EXPECT_EQ(s.inbox.payloads[i], Bytes(1000, i));
}

TEST(RealHost, LongBatchesAreCutIntoTrains) {
  Sockets s;
  // 4 MiB: more than a train, and more than the port keeps back.
  constexpr std::size_t kCount = 1000;
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_LT(s.send(4112, static_cast<std::uint8_t>(i)), 64);
    if (i % 50 == 49) s.world->run_for(1_ms);
  }
  ASSERT_TRUE(s.until(kCount));
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(s.inbox.payloads[i], Bytes(4112, static_cast<std::uint8_t>(i)));
  }
  EXPECT_EQ(s.host.counters().sent, kCount);
  EXPECT_EQ(s.host.counters().dropped_backlog, 0u);
}

TEST(RealHost, SmallDatagramsFillATrainOf64) {
  Sockets s;
  std::uint16_t highest = 0;
  for (int i = 0; i < 130; ++i) highest = std::max(highest, s.send(8, static_cast<std::uint8_t>(i)));
  EXPECT_EQ(highest, 63);
  ASSERT_TRUE(s.until(130));
  EXPECT_EQ(s.inbox.payloads[129], Bytes(8, 129));
}

TEST(RealHost, TakenPortIsOneLine) {
  Sockets s;
  const auto again = s.host.open(s.to->local());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().text, "UDP " + to_string(s.to->local()) + ": address already in use");
  const auto foreign = s.host.open({IpAddress::v4(192, 0, 2, 77), 0});
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().text, "UDP 192.0.2.77:0: cannot assign requested address (no interface of this machine has it)");
  const auto wildcard = s.host.open({IpAddress::v4(0, 0, 0, 0), 4791});
  ASSERT_FALSE(wildcard.ok());
  EXPECT_NE(wildcard.error().text.find("name one address"), std::string::npos);
}

TEST(RealHost, UnsendableDatagramsAreCountedAndTheRestLeaves) {
  Sockets s;
  (void)s.from->begin({*IpAddress::parse("::1"), 1}, 8);
  s.from->commit();
  (void)s.from->begin({kTarget, 0}, 8);
  s.from->commit();
  // A broadcast address needs an option that the port does not set: the kernel refuses the train.
  for (int i = 0; i < 3; ++i) {
    (void)s.from->begin({IpAddress::v4(255, 255, 255, 255), 9}, 8);
    s.from->commit();
  }
  s.send(8, 1);
  s.send(8, 2);
  ASSERT_TRUE(s.until(2));
  EXPECT_EQ(s.host.counters().dropped_unsendable, 5u);
  EXPECT_TRUE(s.host.segmentation()) << "it was the destination that was refused";
}

TEST(RealHost, EmptyAndLongestDatagrams) {
  Sockets s;
  s.send(0, 0);
  s.send(0, 0);
  s.send(s.from->max_payload(), 7);
  ASSERT_TRUE(s.until(3));
  EXPECT_TRUE(s.inbox.payloads[0].empty());
  EXPECT_TRUE(s.inbox.payloads[1].empty());
  EXPECT_EQ(s.inbox.payloads[2], Bytes(8972, 7));
  EXPECT_THROW((void)s.from->begin(s.to->local(), 8973), AssertionFailure);
}

TEST(RealHost, AnyProgramMaySendAnything) {
  Sockets s;
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(s.to->local().port);
  to.sin_addr.s_addr = htonl(0x7F000003);
  Rng rng(5);
  std::size_t count = 0;
  for (int i = 0; i < 200; ++i) {
    Bytes bytes(rng.below(i % 10 == 0 ? 60'000 : 300));
    rng.fill(bytes);
    count += sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to) >= 0;
    s.world->run_for(Duration::us(10));
  }
  close(fd);
  EXPECT_EQ(count, 200u);
  EXPECT_TRUE(s.until(count));
}

TEST(RealHost, ReceiverMayCloseItsPortAndAnother) {
  Sockets s;
  auto second = std::move(s.host.open({kTarget, 0})).value();
  struct Closer final : DatagramReceiver {
    std::vector<std::unique_ptr<DatagramPort>*> ports;
    int seen = 0;
    void on_datagram(const Arrival&) override {
      ++seen;
      for (auto* port : ports) port->reset();
    }
  } closer;
  closer.ports = {&s.to, &second};
  const Endpoint first_to = s.to->local(), second_to = second->local();
  s.to->set_receiver(&closer);
  second->set_receiver(&closer);
  // Both are readable in the same turn of the loop; whoever comes first closes both.
  for (const Endpoint& to : {first_to, second_to, first_to, second_to}) {
    (void)s.from->begin(to, 8);
    s.from->commit();
  }
  s.from->flush();
  s.world->run_for(20_ms);
  EXPECT_EQ(closer.seen, 1);
}

TEST(RealHost, TracesBothDirections) {
  Sockets s;
  struct Sink final : TraceSink {
    std::vector<std::string> lines;
    void on_event(const TraceEvent& event) override {
      lines.push_back(std::string(event.actor) + " " + std::to_string(event.bytes.size()) + " id " + std::to_string(event.ip.id));
    }
  } sink;
  s.world->trace().add_sink(sink);
  s.send(10, 0);
  s.send(10, 0);
  ASSERT_TRUE(s.until(2));
  EXPECT_EQ(sink.lines, (std::vector<std::string>{"local 10 id 0", "local 10 id 1", "peer 10 id 0", "peer 10 id 0"}));
  s.world->trace().remove_sink(sink);
}

}  // namespace
}  // namespace fb::net
