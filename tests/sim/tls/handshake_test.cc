// What a handshake agrees on, and how it fails.
#include <algorithm>

#include "tests/sim/tls/tls_net.h"

namespace fb::tls {
namespace {

using namespace literals;
using test::key_of;
using test::kServer;
using test::TlsNet;

TEST(TlsHandshake, AgreesOnTheSuiteOfTheKey) {
  for (const Suite suite : {Suite::aes_128_gcm_sha256, Suite::aes_256_gcm_sha384}) {
    TlsNet net;
    net.keys.own = key_of(suite);
    net.keys.known = {*net.keys.own};
    ASSERT_NO_FATAL_FAILURE(net.establish());
    for (const net::Stream* stream : {net.client.stream.get(), net.server->stream.get()}) {
      const auto session = session_of(*stream);
      ASSERT_TRUE(session.has_value());
      EXPECT_EQ(session->suite, suite);
      EXPECT_EQ(session->group, "ffdhe3072");
      EXPECT_EQ(session->identity, "NVMe0R01 host subsystem");
    }
    EXPECT_EQ(net.tls_host->counters().connected, 1u);
    EXPECT_EQ(net.tls_target->counters().accepted, 1u);
    EXPECT_EQ(net.tls_host->counters().failed + net.tls_target->counters().failed, 0u);
  }
}

TEST(TlsHandshake, EachGroupWorks) {
  for (const Group group : {Group::ffdhe2048, Group::ffdhe3072, Group::ffdhe4096, Group::secp256r1, Group::secp384r1, Group::x25519}) {
    Options options;
    options.groups = {group};
    TlsNet net(options, options);
    ASSERT_NO_FATAL_FAILURE(net.establish());
    const std::string name = session_of(*net.server->stream)->group;
    EXPECT_EQ(name, name_of(group));
  }
}

TEST(TlsHandshake, TheServerAsksAgainForAGroupThatBothKnow) {
  Options server;
  server.groups = {Group::secp384r1};
  TlsNet net({}, server);
  ASSERT_NO_FATAL_FAILURE(net.establish());
  EXPECT_EQ(session_of(*net.client.stream)->group, "secp384r1");
  EXPECT_GE(net.keys.asked.size(), 1u);
}

TEST(TlsHandshake, EachKeyExchangeModeCanBeSwitchedOff) {
  Options ke_only;
  ke_only.psk_dhe_ke = false;
  Options dhe_only;
  dhe_only.psk_ke = false;
  {
    TlsNet net({}, ke_only);
    ASSERT_NO_FATAL_FAILURE(net.establish());
    EXPECT_EQ(session_of(*net.client.stream)->group, "");
    EXPECT_EQ(session_of(*net.server->stream)->group, "");
    net.client.put(Bytes{1, 2, 3});
    net.settle();
    EXPECT_EQ(net.server->got, (Bytes{1, 2, 3}));
  }
  {
    TlsNet net(dhe_only, dhe_only);
    ASSERT_NO_FATAL_FAILURE(net.establish());
    EXPECT_EQ(session_of(*net.client.stream)->group, "ffdhe3072");
  }
  {
    TlsNet net(dhe_only, ke_only);
    net.listen();
    net.connect();
    net.settle();
    EXPECT_EQ(net.why(), "TLS handshake failed: the peer sent alert 40 (handshake failure)");
    EXPECT_EQ(net.refused,
              "TLS handshake failed: the client does not offer psk_ke; "
              "sent alert 40 (handshake failure)");
  }
  {
    TlsNet net(ke_only, dhe_only);
    net.listen();
    net.connect();
    net.settle();
    EXPECT_EQ(net.why(),
              "TLS handshake failed: the peer chose psk_dhe_ke, which is "
              "switched off");
  }
}

TEST(TlsHandshake, NoGroupInCommonLeavesThePskAlone) {
  Options server;
  server.groups = {Group::x25519};
  {
    TlsNet net({}, server);
    ASSERT_NO_FATAL_FAILURE(net.establish());
    EXPECT_EQ(session_of(*net.client.stream)->group, "");
  }
  server.psk_ke = false;
  TlsNet net({}, server);
  net.listen();
  net.connect();
  net.settle();
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.why(), "TLS handshake failed: the peer sent alert 40 (handshake failure)");
}

TEST(TlsHandshake, UnknownIdentityIsRefusedWithItsAlert) {
  TlsNet net;
  net.keys.known.clear();
  net.listen();
  net.connect();
  net.settle();
  EXPECT_FALSE(net.client.connected);
  EXPECT_EQ(net.client.ends, 1);
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, net::StreamEnd::Kind::failed);
  EXPECT_EQ(net.why(), "TLS handshake failed: the peer sent alert 115 (unknown PSK identity)");
  EXPECT_EQ(net.refused,
            "TLS handshake failed: no key for the identity \"NVMe0R01 host "
            "subsystem\"; sent alert 115 (unknown PSK identity)");
  EXPECT_EQ(net.inbox.accepted, 0);
  EXPECT_EQ(net.tls_target->counters().failed, 1u);
  net.client.stream.reset();
  net.settle();
  EXPECT_EQ(net.network.connections(), 0u) << "nothing lingers";
}

TEST(TlsHandshake, WrongKeyIsRefused) {
  TlsNet net;
  net.keys.known = {key_of(Suite::aes_128_gcm_sha256, 8)};
  net.listen();
  net.connect();
  net.settle();
  EXPECT_EQ(net.inbox.accepted, 0);
  EXPECT_EQ(net.why(), "TLS handshake failed: the peer sent alert 47 (illegal parameter)");
  EXPECT_EQ(net.refused,
            "TLS handshake failed: binder does not verify; sent alert 47 "
            "(illegal parameter)");
}

TEST(TlsHandshake, TheKeysSuiteMustBeOn) {
  Options off;
  off.aes_256_gcm_sha384 = false;
  {
    TlsNet net(off);
    net.keys.own = key_of(Suite::aes_256_gcm_sha384);
    net.listen();
    auto refused = net.tls_host->connect({test::kHostAddress, 0}, kServer, net.client);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().text, "TLS to 10.0.0.2:4420: the key goes with TLS_AES_256_GCM_SHA384, which is switched off");
  }
  TlsNet net({}, off);
  net.keys.own = key_of(Suite::aes_256_gcm_sha384);
  net.keys.known = {*net.keys.own};
  net.listen();
  net.connect();
  net.settle();
  EXPECT_EQ(net.why(), "TLS handshake failed: the peer sent alert 40 (handshake failure)");
  EXPECT_EQ(net.refused,
            "TLS handshake failed: the key goes with "
            "TLS_AES_256_GCM_SHA384, which is switched off; sent alert 40 (handshake failure)");
}

TEST(TlsHandshake, WithoutAKeyThereIsNoConnection) {
  TlsNet net;
  net.keys.own.reset();
  auto refused = net.tls_host->connect({test::kHostAddress, 0}, kServer, net.client);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text, "no TLS key");
}

// The first bytes of an ICReq, as a host without TLS sends them.
TEST(TlsHandshake, PlainBytesAtAListenerAreRefused) {
  TlsNet net;
  net.listen();
  ASSERT_TRUE(net.client.open(*net.host, {test::kHostAddress, 0}, kServer));
  ASSERT_TRUE(net.world->run_until([&] { return net.client.connected; }, 1_s));
  Bytes icreq(128);
  icreq[2] = icreq[4] = 0x80;
  net.client.put(icreq);
  net.world->run_for(100_ms);
  EXPECT_EQ(net.refused,
            "TLS handshake failed: the peer does not speak TLS: its first "
            "byte is 00h");
  EXPECT_TRUE(net.client.stream->finished()) << "closed in order";
  EXPECT_EQ(net.client.got, Bytes{}) << "and without a word of TLS";
  net.client.stream->close();
  net.settle();
  EXPECT_EQ(net.network.connections(), 0u);
}

TEST(TlsHandshake, AListenerThatAnswersInPlainIsLeft) {
  TlsNet net;
  net.listener = std::move(net.target->listen(kServer, net.inbox)).value();
  net.connect();
  ASSERT_TRUE(net.world->run_until([&] { return !net.inbox.ends.empty(); }, 1_s));
  net.inbox.ends[0]->put(Bytes{3, 0, 24, 0, 24, 0, 0, 0});
  net.settle();
  EXPECT_EQ(net.why(),
            "TLS handshake failed: the peer does not speak TLS: its first byte "
            "is 03h");
}

TEST(TlsHandshake, SilenceEndsAfterATime) {
  {
    TlsNet net;
    net.listener = std::move(net.target->listen(kServer, net.inbox)).value();
    net.connect();
    net.world->run_for(Duration::ms(10'001));
    EXPECT_EQ(net.why(), "TLS handshake failed: not complete within 10.000 s");
  }
  TlsNet net;
  net.listen();
  ASSERT_TRUE(net.client.open(*net.host, {test::kHostAddress, 0}, kServer));
  net.world->run_for(Duration::s(13));
  EXPECT_EQ(net.refused, "TLS handshake failed: not complete within 10.000 s");
  EXPECT_TRUE(net.client.end.has_value()) << "and reset, since it does not close itself";
}

TEST(TlsHandshake, RefusedTcpIsToldAsItIs) {
  TlsNet net;
  net.connect();
  net.settle();
  ASSERT_TRUE(net.client.end.has_value());
  EXPECT_EQ(net.client.end->kind, net::StreamEnd::Kind::refused);
  EXPECT_EQ(net.client.end->text, "10.0.0.2:4420 refused the connection");
}

TEST(TlsHandshake, OfTooManyHalfOpenOnesTheOldestGiveWay) {
  Options server;
  server.handshakes_max = 4;
  TlsNet net({}, server);
  net.listen();
  std::vector<std::unique_ptr<net::test::StreamUser>> idlers;
  for (int i = 0; i < 6; ++i) {
    idlers.push_back(std::make_unique<net::test::StreamUser>());
    ASSERT_TRUE(idlers.back()->open(*net.host, {test::kHostAddress, 0}, kServer));
  }
  net.world->run_for(1_s);
  EXPECT_EQ(net.tls_target->counters().turned_away, 2u);
  for (std::size_t i = 0; i < idlers.size(); ++i) EXPECT_EQ(idlers[i]->end.has_value(), i < 2) << i;
  net.connect();
  net.settle();
  EXPECT_TRUE(net.client.connected) << "who shows a key is not shut out by those who show none";
}

TEST(TlsHandshake, ListenerMayGoInTheMiddle) {
  TlsNet net;
  net.listen();
  net.connect();
  net.world->run_for(Duration::us(1));
  net.listener.reset();
  net.settle();
  EXPECT_FALSE(net.client.connected);
  EXPECT_TRUE(net.client.end.has_value());
}

TEST(TlsHandshake, AcceptorMayDestroyTheStream) {
  TlsNet net;
  net.inbox.drop = true;
  net.listen();
  net.connect();
  net.settle();
  EXPECT_EQ(net.inbox.accepted, 1);
  EXPECT_TRUE(net.client.end.has_value());
}

/// Every byte of every segment, and every keylog line.
struct Wire final : TraceSink {
  explicit Wire(World& w) : world(w) { world.trace().add_sink(*this); }
  ~Wire() override { world.trace().remove_sink(*this); }
  void on_event(const TraceEvent& event) override {
    if (event.kind == TraceKind::packet) all.insert(all.end(), event.bytes.begin(), event.bytes.end());
    if (event.label == kTlsKeylogLabel) keylog.emplace_back(event.text);
  }
  World& world;
  Bytes all;
  std::vector<std::string> keylog;
};

struct Observed {
  Bytes wire;
  std::vector<std::string> keylog;
  std::uint64_t digest;
};

Observed observe(std::uint64_t seed, Group group) {
  Options options;
  options.groups = {group};
  TlsNet net(options, options, seed);
  Wire wire(*net.world);
  net.establish();
  net.client.put(Bytes(1000, 5));
  net.settle();
  return {wire.all, wire.keylog, net.world->digest()};
}

TEST(TlsHandshake, TheSameSeedGivesTheSameBytes) {
  for (const Group group : {Group::ffdhe3072, Group::secp384r1, Group::x25519}) {
    const Observed first = observe(5, group), second = observe(5, group), other = observe(6, group);
    EXPECT_EQ(first.wire, second.wire) << name_of(group);
    EXPECT_EQ(first.digest, second.digest);
    EXPECT_EQ(first.keylog, second.keylog);
    EXPECT_NE(first.wire, other.wire);
  }
}

TEST(TlsHandshake, KeylogHasSessionSecretsAndNoPsk) {
  const Observed one = observe(5, Group::x25519);
  EXPECT_EQ(one.keylog.size(), 10u) << "five secrets, told by each side";
  for (const std::string& line : one.keylog) {
    EXPECT_EQ(line.find(to_hex(Bytes(32, 7))), std::string::npos);
    EXPECT_TRUE(line.starts_with("CLIENT_") || line.starts_with("SERVER_") || line.starts_with("EXPORTER_")) << line;
  }
}

}  // namespace
}  // namespace fb::tls
