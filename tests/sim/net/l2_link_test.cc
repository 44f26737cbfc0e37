#include "sim/net/l2_link.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "sim/net/l2_host.h"
#include "sim/net/local_host.h"

namespace fb::net {
namespace {

const IpAddress kA4 = IpAddress::v4(192, 168, 78, 1), kB4 = IpAddress::v4(192, 168, 78, 2);
const IpAddress kA6 = *IpAddress::parse("fd78::1"), kB6 = *IpAddress::parse("fd78::2");

struct Pair {
  Pair(const IpAddress& one, const IpAddress& two) : a(one, mac_for(one)), b(two, mac_for(two)) {}

  /// Carries frames both ways until none is left; datagrams that came out, in order.
  std::vector<std::string> carry() {
    std::vector<std::string> got;
    while (a.has_output() || b.has_output()) {
      L2Link& from = a.has_output() ? a : b;
      L2Link& to = a.has_output() ? b : a;
      frames.push_back(from.output());
      if (const auto datagram = to.on_frame(now, from.output())) {
        last = *datagram;
        got.emplace_back(datagram->payload.begin(), datagram->payload.end());
      }
      from.pop_output();
    }
    return got;
  }
  void send(L2Link& from, const IpAddress& to, const std::string& text) {
    Bytes frame = from.take(text.size());
    std::copy(text.begin(), text.end(), frame.begin() + static_cast<std::ptrdiff_t>(from.headroom()));
    from.send(now, std::move(frame), 1000, {to, 4791});
  }

  L2Link a, b;
  Instant now;
  L2Datagram last;
  std::vector<Bytes> frames;
};

struct BothFamilies : testing::TestWithParam<bool> {
  Pair pair{GetParam() ? kA4 : kA6, GetParam() ? kB4 : kB6};
};
INSTANTIATE_TEST_SUITE_P(L2, BothFamilies, testing::Bool());

TEST_P(BothFamilies, FindsItsNeighbourAndSendsInOrder) {
  pair.send(pair.a, pair.b.address(), "one");
  pair.send(pair.a, pair.b.address(), "two, odd");
  EXPECT_EQ(pair.carry(), (std::vector<std::string>{"one", "two, odd"}));
  EXPECT_EQ(pair.last.source, (Endpoint{pair.a.address(), 1000}));
  EXPECT_EQ(pair.last.destination, (Endpoint{pair.b.address(), 4791}));
  EXPECT_TRUE(pair.last.ip.dont_fragment);
  EXPECT_EQ(pair.last.ip.ttl, 64);
  EXPECT_EQ(pair.b.counters().questions_in, 1u);
  // The other side has learned from the question.
  pair.send(pair.b, pair.a.address(), "back");
  EXPECT_EQ(pair.carry(), std::vector<std::string>{"back"});
  EXPECT_EQ(pair.a.counters().questions_in, 0u);
  EXPECT_EQ(pair.a.counters().malformed + pair.b.counters().malformed, 0u);
}

TEST_P(BothFamilies, AsksAgainAndGivesUp) {
  pair.send(pair.a, pair.b.address(), "lost");
  int questions = 0;
  for (int i = 0; i < 100 && pair.a.deadline(); ++i) {
    for (; pair.a.has_output(); pair.a.pop_output()) ++questions;
    pair.now = *pair.a.deadline();
    pair.a.on_deadline(pair.now);
  }
  EXPECT_EQ(questions, 12);
  EXPECT_EQ(pair.a.counters().unresolved, 1u);
  EXPECT_FALSE(pair.a.deadline());
  // A later datagram starts over.
  pair.send(pair.a, pair.b.address(), "found");
  EXPECT_EQ(pair.carry(), std::vector<std::string>{"found"});
}

TEST_P(BothFamilies, NoShorterFrameAndNoFlippedBitGetsThrough) {
  pair.send(pair.a, pair.b.address(), "payload!");
  pair.carry();
  const Bytes frame = pair.frames.back();
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(pair.b.on_frame(pair.now, ByteView(frame).first(size))) << size;
  }
  // Without a UDP checksum (IPv4) the headers alone are covered.
  const std::size_t end = GetParam() ? 34 : frame.size();
  for (std::size_t bit = 14 * 8; bit < end * 8; ++bit) {
    const std::size_t at = bit / 8;
    const bool free = !GetParam() && (at < 18 || at == 21);  // class, flow label, hop limit
    if (free) continue;
    Bytes changed = frame;
    changed[at] = static_cast<std::uint8_t>(changed[at] ^ (1u << (bit % 8)));
    EXPECT_FALSE(pair.b.on_frame(pair.now, changed)) << bit;
  }
}

TEST(L2, AnswersPing) {
  Pair pair(kA4, kB4);
  pair.send(pair.a, kB4, "x");
  pair.carry();
  // 192.168.78.1 -> .2, ICMP echo request, identifier 1, sequence 2, data "abcd".
  Bytes ping = pair.frames.back();
  ping.resize(14 + 20 + 12);
  const MutableBytes ip = MutableBytes(ping).subspan(14);
  store_be<std::uint16_t>(&ip[2], 32);
  ip[9] = 1;
  store_be<std::uint16_t>(&ip[10], 0);
  store_be<std::uint16_t>(&ip[10], internet_checksum(internet_sum(ip.first(20))));
  const Bytes icmp = from_hex("0800 0000 0001 0002 61626364");
  std::copy(icmp.begin(), icmp.end(), ip.begin() + 20);
  store_be<std::uint16_t>(&ip[22], internet_checksum(internet_sum(ip.subspan(20))));
  EXPECT_FALSE(pair.b.on_frame(pair.now, ping));
  ASSERT_TRUE(pair.b.has_output());
  const Bytes& answer = pair.b.output();
  ASSERT_EQ(answer.size(), ping.size());
  EXPECT_EQ(answer[34], 0) << "echo reply";
  EXPECT_EQ(internet_checksum(internet_sum(ByteView(answer).subspan(34))), 0);
  EXPECT_EQ(to_hex(ByteView(answer).subspan(42)), "61626364");
}

TEST(L2, AnswersLinuxArp) {
  L2Link link(kA4, {2, 0, 0, 0, 0, 1});
  const Bytes request = from_hex("ffffffffffff 525400123456 0806 0001 0800 06 04 0001 525400123456 c0a84e02 000000000000 c0a84e01");
  EXPECT_FALSE(link.on_frame(Instant{}, request));
  ASSERT_TRUE(link.has_output());
  EXPECT_EQ(to_hex(link.output()),
            "525400123456"
            "020000000001"
            "0806"
            "0001"
            "0800"
            "06"
            "04"
            "0002"
            "020000000001"
            "c0a84e01"
            "525400123456"
            "c0a84e02");
  link.pop_output();
  EXPECT_FALSE(link.on_frame(Instant{},
                             from_hex("ffffffffffff 525400123456 0806 0001 0800 06 04 0001 525400123456 c0a84e02 000000000000 c0a84e09")));
  EXPECT_FALSE(link.has_output()) << "asked for somebody else";
}

TEST(LocalHost, SaysWhatIsWrong) {
  EXPECT_EQ(parse_local_host("192.0.2.1")->address, IpAddress::v4(192, 0, 2, 1));
  const auto l2 = parse_local_host("l2:/tmp/a,/tmp/b,fd78::1,mtu=1500");
  ASSERT_TRUE(l2);
  EXPECT_EQ(l2->path, "/tmp/a");
  EXPECT_EQ(l2->peer, "/tmp/b");
  EXPECT_EQ(l2->address, kA6);
  EXPECT_EQ(l2->mtu, 1500u);
  for (const char* text :
       {"", "somewhere", "l2:", "l2:/tmp/a,192.0.2.1", "l2:/tmp/a,/tmp/b,", "l2:,/b,::1", "l2:/tmp/a,/tmp/a,::1", "l2:/a,/b,::1,1500",
        "l2:/a,/b,::1,mtu=100", "l2:/a,/b,::1,mtu=1500x", "l2:/a,/b,::1,mtu=1500,more", "packet:", "packet:veth1", "packet:,192.0.2.1",
        "packet:veth1,", "packet:veth1,192.0.2.1,1500", "packet:veth1,192.0.2.1,mtu=1", "packet:veth1,192.0.2.1,mtu=1500,more"}) {
    EXPECT_FALSE(parse_local_host(text)) << text;
  }
}

struct Receiver final : DatagramReceiver {
  void on_datagram(const Arrival& arrival) override {
    texts.emplace_back(arrival.payload.begin(), arrival.payload.end());
    facts = arrival.ip;
  }
  void on_batch_end() override { ++batches; }
  std::vector<std::string> texts;
  std::optional<IpFacts> facts;
  int batches = 0;
};

struct L2Sockets : testing::Test {
  L2Sockets() { EXPECT_NE(mkdtemp(folder.data()), nullptr); }
  ~L2Sockets() override { rmdir(folder.c_str()); }
  std::string at(const char* name) const { return folder + "/" + name; }

  std::string folder = testing::TempDir() + "l2XXXXXX";
  std::unique_ptr<World> world = World::make_real(1);
};

TEST_F(L2Sockets, CarriesManyDatagramsInOrder) {
  auto a = std::move(L2Host::start(*world, {at("a"), at("b"), kA4})).value();
  auto b = std::move(L2Host::start(*world, {at("b"), at("a"), kB4})).value();
  auto from = std::move(a->open({kA4, 4791})).value();
  auto to = std::move(b->open({kB4, 4791})).value();
  EXPECT_FALSE(a->open({kA4, 4791})) << "taken";
  EXPECT_FALSE(a->open({kB4, 4791})) << "not its address";
  Receiver receiver;
  to->set_receiver(&receiver);
  for (int i = 0; i < 600; ++i) {  // more than a socket's queue holds
    const std::string text = std::to_string(i);
    const Outgoing out = from->begin(to->local(), text.size());
    std::copy(text.begin(), text.end(), out.payload.begin());
    from->commit();
    if (i == 0) world->run_until([&] { return !receiver.texts.empty(); }, Duration::s(5));
  }
  world->run_until([&] { return receiver.texts.size() == 600; }, Duration::s(20));
  ASSERT_EQ(receiver.texts.size(), 600u);
  for (int i = 0; i < 600; ++i) ASSERT_EQ(receiver.texts[static_cast<std::size_t>(i)], std::to_string(i));
  EXPECT_TRUE(receiver.facts) << "the IP header is in our hands";
  EXPECT_GT(receiver.batches, 0);
}

TEST_F(L2Sockets, TakesOverWhatADeadProcessLeftAndNothingElse) {
  { std::ofstream file(at("a")); }
  EXPECT_FALSE(L2Host::start(*world, {at("a"), at("b"), kA4})) << "a file";
  unlink(at("a").c_str());
  auto first = L2Host::start(*world, {at("a"), at("b"), kA4});
  ASSERT_TRUE(first);
  EXPECT_FALSE(L2Host::start(*world, {at("a"), at("b"), kA4})) << "in use";
  first->reset();
  EXPECT_TRUE(L2Host::start(*world, {at("a"), at("b"), kA4}));
  EXPECT_FALSE(L2Host::start(*world, {std::string(200, 'x'), at("b"), kA4}));
}

}  // namespace
}  // namespace fb::net
