// One port for TLS and plain connections.
#include "sim/tls/either_host.h"
#include "tests/sim/tls/tls_net.h"

namespace fb::tls {
namespace {

using namespace fb::tls::test;

struct EitherTest : ::testing::Test {
  TlsNet net;
  EitherHost either{*net.world, *net.target, net.keys, {.name = "either"}};
  std::unique_ptr<net::StreamListener> listener = std::move(either.listen(kServer, net.inbox)).value();
  net::test::StreamUser plain;
  void settle() { net.world->run_for(Duration::ms(100)); }
};

TEST_F(EitherTest, ServesTls) {
  net.connect();
  settle();
  ASSERT_TRUE(net.client.connected) << net.why();
  ASSERT_EQ(net.inbox.ends.size(), 1u);
  EXPECT_EQ(net.inbox.ends[0]->stream->identity(), "NVMe0R01 host subsystem");
  ASSERT_TRUE(net.client.put(Bytes(100, 5)));
  settle();
  EXPECT_EQ(net.inbox.ends[0]->got, Bytes(100, 5));
}

TEST_F(EitherTest, ServesPlainWhateverTheFirstSegmentHolds) {
  for (const std::size_t first : {1u, 2u, 128u}) {
    net::test::StreamUser user;
    ASSERT_TRUE(user.open(*net.host, {kHostAddress, 0}, kServer));
    settle();
    const std::size_t before = net.inbox.ends.size();
    Bytes said(128);
    for (std::size_t i = 0; i < said.size(); ++i) said[i] = static_cast<std::uint8_t>(i);
    ASSERT_TRUE(user.put(ByteView(said).first(first)));
    settle();
    ASSERT_EQ(net.inbox.ends.size(), before + 1);
    net::test::StreamUser& served = *net.inbox.ends.back();
    if (first < said.size()) {
      ASSERT_TRUE(user.put(ByteView(said).subspan(first)));
    }
    settle();
    EXPECT_EQ(served.got, said);
    EXPECT_TRUE(served.stream->identity().empty());
    ASSERT_TRUE(served.put(Bytes(3, 9)));
    settle();
    EXPECT_EQ(user.got, Bytes(3, 9));
    user.stream->close();
    served.stream->close();
    settle();
  }
  EXPECT_EQ(net.network.connections(), 0u);
}

TEST_F(EitherTest, WhoSaysNothingIsDropped) {
  ASSERT_TRUE(plain.open(*net.host, {kHostAddress, 0}, kServer));
  net.world->run_for(Duration::s(9));
  EXPECT_FALSE(plain.end.has_value());
  net.world->run_for(Duration::s(2));
  EXPECT_TRUE(plain.end.has_value() || plain.stream->finished());
  EXPECT_EQ(net.inbox.accepted, 0);
}

TEST_F(EitherTest, OfTooManyWhoSayNothingTheOldestGiveWay) {
  const std::size_t most = Options().handshakes_max;
  std::vector<std::unique_ptr<net::test::StreamUser>> idlers;
  for (std::size_t i = 0; i < most + 2; ++i) {
    idlers.push_back(std::make_unique<net::test::StreamUser>());
    ASSERT_TRUE(idlers.back()->open(*net.host, {kHostAddress, 0}, kServer));
  }
  settle();
  for (std::size_t i = 0; i < idlers.size(); ++i) ASSERT_EQ(idlers[i]->end.has_value(), i < 2) << i;
  ASSERT_TRUE(plain.open(*net.host, {kHostAddress, 0}, kServer));
  ASSERT_TRUE(plain.put(Bytes(3, 1)));
  settle();
  EXPECT_EQ(net.inbox.accepted, 1) << "who speaks is not shut out by those who do not";
}

TEST_F(EitherTest, WhoLeavesAtOnceIsForgotten) {
  ASSERT_TRUE(plain.open(*net.host, {kHostAddress, 0}, kServer));
  settle();
  plain.stream->close();
  settle();
  EXPECT_EQ(net.inbox.accepted, 0);
  EXPECT_EQ(net.network.connections(), 0u);
}

}  // namespace
}  // namespace fb::tls
