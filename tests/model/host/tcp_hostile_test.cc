// NVMe/TCP and peers that stop halfway, send nonsense, or never read: they are told goodbye in time, cost
// bounded memory, and nobody else notices.
#include <gtest/gtest.h>

#include "tests/model/host/tcp_rig.h"

namespace fb::host {
namespace {

using transport::testing::capsule_header;
using transport::testing::ic_req_bytes;
using transport::testing::ic_resp_bytes;

/// An association that reads every 50 ms and has to be answered at once.
class Undisturbed final : private ControllerListener {
 public:
  explicit Undisturbed(TcpRig& rig) : rig_(rig), written_(4096), read_(4096) {
    rig.world->stream("undisturbed").fill(written_);
    rig.host->add_listener(*this);
    BENCH_ASSERT(rig.connect() != nullptr, "the first association comes about");
    BENCH_ASSERT(rig.ns().write(8, written_).wait().ok(), "and works");
  }
  ~Undisturbed() { rig_.host->remove_listener(*this); }
  void run_for(Duration span) {
    for (const Instant end = rig_.world->now() + span; rig_.world->now() < end;) {
      std::fill(read_.begin(), read_.end(), std::uint8_t{0});
      const Instant before = rig_.world->now();
      EXPECT_TRUE(rig_.ns().read(8, read_).wait().ok());
      EXPECT_EQ(read_, written_);
      slowest = std::max(slowest, rig_.world->now() - before);
      rig_.world->run_for(Duration::ms(50));
    }
  }
  unsigned losses = 0;
  Duration slowest;

 private:
  void on_state(Controller&, ControllerState state) override { losses += state == ControllerState::recovering; }
  TcpRig& rig_;
  Bytes written_, read_;
};

struct Flood {
  enum Kind : std::uint8_t { silent, half_greeting, greeted, half_capsule };
  explicit Flood(TcpRig& rig) : rig_(rig) {}
  void add(unsigned many) {
    const Bytes greeting = ic_req_bytes();
    const Bytes capsule = TcpRig::connect_capsule(0, 0xFFFF);
    for (unsigned i = 0; i < many; ++i) {
      TcpPeer& peer = rig_.stranger();
      const unsigned kind = i % 4;
      if (kind == half_greeting) peer.send(ByteView(greeting).first(64));
      if (kind >= greeted) peer.send(greeting);
      if (kind == half_capsule) peer.send(ByteView(capsule).first(500));
    }
  }
  /// How many of a kind the controller has ended.
  unsigned over(unsigned kind) const {
    unsigned n = 0;
    for (std::size_t i = kind; i < rig_.peers.size(); i += 4) {
      n += rig_.peers[i]->ended || rig_.peers[i]->peer_finished;
    }
    return n;
  }

 private:
  TcpRig& rig_;
};

TEST(TcpHostile, TenThousandHalfOpenConnectionsEachEndInTheirTime) {
  TcpRigOptions options;
  options.bounds.connections_max = 20'000;
  options.controller.greetings_max = 20'000;
  TcpRig rig(options);
  Undisturbed other(rig);
  Flood flood(rig);
  flood.add(10'000);
  other.run_for(Duration::s(9));
  EXPECT_EQ(rig.listener->connections(), 10'002u);
  for (const unsigned kind : {0u, 1u, 2u, 3u}) EXPECT_EQ(flood.over(kind), 0u) << kind;
  other.run_for(Duration::s(2));  // 10 s for an ICReq
  EXPECT_EQ(flood.over(Flood::silent), 2500u);
  EXPECT_EQ(flood.over(Flood::half_greeting), 2500u);
  EXPECT_EQ(flood.over(Flood::half_capsule), 0u);
  EXPECT_EQ(rig.listener->connections(), 5'002u);
  other.run_for(Duration::s(20));  // 30 s for a PDU
  EXPECT_EQ(flood.over(Flood::half_capsule), 2500u);
  EXPECT_EQ(flood.over(Flood::greeted), 0u);
  other.run_for(Duration::s(30));  // 60 s for Connect
  EXPECT_EQ(flood.over(Flood::greeted), 2500u);
  EXPECT_EQ(rig.listener->connections(), 2u);
  EXPECT_EQ(rig.listener->staging_used(), 0u);
  EXPECT_EQ(other.losses, 0u);
  EXPECT_LT(other.slowest, Duration::ms(5));
}

// However many come: the bound holds, associations stay, and a new one gets through.
TEST(TcpHostile, TenThousandHalfOpenConnectionsStayWithinTheBounds) {
  TcpRig rig;
  Undisturbed other(rig);
  Flood flood(rig);
  for (int wave = 0; wave < 20; ++wave) {
    flood.add(500);
    other.run_for(Duration::ms(100));
    EXPECT_LE(rig.listener->connections(), 4096u);
  }
  EXPECT_EQ(rig.listener->connections(), 4096u);
  const auto before = rig.target->port().queues();
  ConnectOptions second = rig.to();
  second.connect_timeout = Duration::s(2);
  EXPECT_NE(rig.connect(second), nullptr);
  EXPECT_LE(rig.target->port().queues(), before + 2);
  other.run_for(Duration::s(95));  // 60 s for Connect, 30 s for their own close
  EXPECT_EQ(rig.listener->connections(), 4u);
  EXPECT_EQ(rig.listener->lingering(), 0u);
  EXPECT_EQ(rig.listener->staging_used(), 0u);
  EXPECT_EQ(other.losses, 0u);
  EXPECT_LT(other.slowest, Duration::ms(5));
}

/// A header of this type whose PLEN says 4 GiB.
Bytes endless(std::uint8_t type, std::uint32_t plen) {
  const tcp::PduShape* shape = tcp::shape_of(type);
  Bytes header(shape != nullptr ? shape->hlen : 8);
  header[0] = type;
  header[2] = static_cast<std::uint8_t>(header.size());
  header[3] = shape != nullptr && shape->data && shape->digests ? header[2] : std::uint8_t{0};
  store_le(&header[4], plen);
  return header;
}

TEST(TcpHostile, FourGibibytesOfAnyPduAreRefusedByAController) {
  for (const std::uint32_t plen : {0xFFFFFFFFu, 0xFFFFFFFCu, 0x80000000u}) {
    for (std::uint8_t type = 0; type < 16; ++type) {
      for (const int stage : {0, 1, 2}) {
        TcpRig rig;
        TcpPeer& peer = stage == 2 ? rig.guest() : rig.stranger();
        if (stage == 1) peer.send(ic_req_bytes());
        rig.world->run_for(Duration::ms(1));
        peer.send(endless(type, plen));
        rig.world->run_for(Duration::ms(1));
        EXPECT_TRUE(peer.ended || peer.peer_finished) << int{type} << " stage " << stage;
        EXPECT_EQ(rig.listener->connections(), 0u);
        EXPECT_EQ(rig.listener->staging_used(), 0u);
      }
    }
  }
}

/// A controller of bytes alone, and a host that wants to connect to it.
struct RawController final : net::StreamAcceptor {
  explicit RawController(std::uint64_t seed = 1)
      : rig({.seed = seed}), listener(rig.target_end.listen({TcpRig::address(2), 9000}, *this).value()) {
    options = rig.to();
    options.to.port = 9000;
    options.controller_loss_timeout = Duration::s(15);
    options.admin_timeout = Duration::s(5);
  }
  ~RawController() {
    rig.host.reset();
    peers.clear();
  }
  void on_stream(std::unique_ptr<net::Stream> stream) override {
    peers.push_back(std::make_unique<TcpPeer>());
    peers.back()->start(std::move(stream));
  }
  bool host_left(std::size_t i) const { return peers[i]->ended || peers[i]->peer_finished; }
  TcpRig rig;
  std::unique_ptr<net::StreamListener> listener;
  std::vector<std::unique_ptr<TcpPeer>> peers;
  ConnectOptions options;
};

TEST(TcpHostile, FourGibibytesOfAnyPduAreRefusedByAHost) {
  for (std::uint8_t type = 0; type < 16; ++type) {
    for (const bool greeted : {false, true}) {
      RawController raw;
      auto op = raw.rig.host->connect(raw.options);
      raw.rig.world->run_for(Duration::ms(1));
      ASSERT_EQ(raw.peers.size(), 1u);
      TcpPeer& peer = *raw.peers[0];
      if (greeted) peer.send(ic_resp_bytes());
      raw.rig.world->run_for(Duration::ms(1));
      Bytes pdu = endless(type, 0xFFFFFFFC);
      if (greeted && type == 7) store_le<std::uint16_t>(&pdu[8], load_le<std::uint16_t>(&peer.last[4][10]));
      peer.send(pdu);
      raw.rig.world->run_for(Duration::ms(1));
      EXPECT_TRUE(raw.host_left(0)) << int{type} << (greeted ? " greeted" : "");
      raw.listener.reset();
      raw.rig.world->run_for(Duration::s(60));
      EXPECT_TRUE(op.settled());
    }
  }
}

TEST(TcpHostile, RandomBytesEndTheConnectionToAController) {
  TcpRig rig;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Rng rng(seed, "hostile bytes");
    TcpPeer& peer = seed % 3 == 0 ? rig.guest() : rig.stranger();
    if (seed % 3 == 1) peer.send(ic_req_bytes());
    Bytes bytes(1 + rng.below(600));
    rng.fill(bytes);
    // Half of them begin as a PDU does.
    if (seed % 2 == 0 && bytes.size() > 8) {
      bytes[0] = static_cast<std::uint8_t>(rng.below(10));
      const tcp::PduShape* shape = tcp::shape_of(bytes[0]);
      if (shape != nullptr) bytes[2] = shape->hlen;
      store_le(&bytes[4], static_cast<std::uint32_t>(rng.below(700)));
      bytes[1] &= 12;
    }
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t n = std::min<std::size_t>(1 + rng.below(200), bytes.size() - at);
      peer.send(ByteView(bytes).subspan(at, n));
      rig.world->run_for(Duration::us(20));
      at += n;
    }
    if (rig.peers.size() >= 200) rig.peers.clear();
    EXPECT_LE(rig.listener->staging_used(), 1u << 20);
  }
  rig.peers.clear();
  rig.world->run_for(Duration::s(70));
  EXPECT_EQ(rig.listener->connections(), 0u);
  EXPECT_EQ(rig.listener->staging_used(), 0u);
  EXPECT_NE(rig.connect(), nullptr);
}

TEST(TcpHostile, RandomBytesEndTheConnectionToAHost) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng rng(seed, "hostile bytes");
    RawController raw(seed);
    auto op = raw.rig.host->connect(raw.options);
    for (int attempt = 0; attempt < 4; ++attempt) {
      raw.rig.world->run_for(Duration::ms(1));
      if (raw.peers.empty()) break;
      TcpPeer& peer = *raw.peers.back();
      if (seed % 2 == 0) peer.send(ic_resp_bytes());
      Bytes bytes(1 + rng.below(400));
      rng.fill(bytes);
      if (seed % 4 < 2 && bytes.size() > 8) {
        constexpr std::uint8_t kTypes[] = {1, 3, 5, 7, 9};
        bytes[0] = kTypes[rng.below(5)];
        bytes[1] &= 12;
        bytes[2] = tcp::shape_of(bytes[0])->hlen;
        store_le(&bytes[4], static_cast<std::uint32_t>(rng.below(300)));
      }
      peer.send(bytes);
      raw.rig.world->run_for(Duration::s(2));
    }
    raw.listener.reset();
    raw.peers.clear();
    raw.rig.world->run_for(Duration::s(60));
    ASSERT_TRUE(op.settled()) << seed;
    EXPECT_FALSE(op.wait().ok());
  }
}

/// Sends `count` Property Gets on an admin queue without waiting.
void ask(TcpPeer& peer, unsigned count) {
  const Bytes header = capsule_header(subsystem::test::property_get(8, 0));
  for (unsigned i = 0; i < count; ++i) peer.send_pdu(header);
}

TEST(TcpHostile, AHostThatNeverReadsIsNotReadEither) {
  TcpRig rig;
  net::StreamOptions small;
  small.send_buffer = small.receive_window = 16 * 1024;
  rig.stranger_end.set_stream_options(small);
  rig.target_end.set_stream_options(small);
  Undisturbed other(rig);
  TcpPeer& peer = rig.guest();
  const std::uint64_t before = peer.pdus;
  peer.deaf = true;
  unsigned asked = 0;
  std::size_t stuck = 0;
  while (asked < 200'000 && stuck < 100) {
    const std::size_t room = peer.room() / 72;
    stuck = room < 100 ? stuck + 1 : 0;
    ask(peer, static_cast<unsigned>(room));
    asked += static_cast<unsigned>(room);
    rig.world->run_for(Duration::ms(1));
  }
  // What the controller took is bounded: the rest is with the peer, or in the windows between them.
  EXPECT_LT(asked, 40'000u);
  other.run_for(Duration::s(2));
  peer.listen_again();
  rig.world->run_for(Duration::s(2));
  EXPECT_FALSE(peer.ended);
  EXPECT_EQ(peer.pdus - before, asked);  // nothing was lost
  EXPECT_EQ(other.losses, 0u);
}

TEST(TcpHostile, AHostThatNeverReadsItsDataHoldsNoMoreThanAQueueOfIt) {
  TcpRig rig;
  net::StreamOptions small;
  small.send_buffer = small.receive_window = 16 * 1024;
  rig.stranger_end.set_stream_options(small);
  rig.target_end.set_stream_options(small);
  Undisturbed other(rig);
  TcpPeer& admin = rig.guest();
  const auto cntlid = load_le<std::uint16_t>(&admin.last[5][8]);
  admin.send_pdu(capsule_header(subsystem::test::property_set(0x14, 0x00460001)));
  rig.world->run_for(Duration::ms(5));
  TcpPeer& io = rig.guest(1, cntlid);
  ASSERT_EQ(load_le<std::uint16_t>(&io.last[5][22]) >> 1, 0) << "Connect";
  io.deaf = true;
  nvme::Sqe sqe = subsystem::test::rw(nvme::IoOpcode::read, 0, 32);
  TcpRig::put_sgl(sqe.mutable_bytes(), nvme::SglDescriptor::transport(16384));
  std::size_t most = 0;
  for (std::uint16_t cid = 0; cid < 4000 && io.open(); ++cid) {
    sqe.set(nvme::sqe::cid, cid);
    io.send_pdu(capsule_header(sqe.bytes()));
    rig.world->run_for(Duration::us(50));
    most = std::max(most, rig.listener->staging_used());
  }
  EXPECT_LE(most, std::size_t{2 * 128 * 16384});
  EXPECT_GE(most, std::size_t{64 * 16384});
  io.close();
  admin.close();
  other.run_for(Duration::s(35));
  EXPECT_EQ(rig.listener->connections(), 2u);
  EXPECT_EQ(rig.listener->staging_used(), 0u);
  EXPECT_EQ(other.losses, 0u);
}

TEST(TcpHostile, APeerMayGoAtAnyByte) {
  TcpRig rig;
  Bytes stream = ic_req_bytes();
  const Bytes capsule = TcpRig::connect_capsule(0, 0xFFFF);
  stream.insert(stream.end(), capsule.begin(), capsule.end());
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    TcpPeer& peer = rig.stranger();
    peer.send(ByteView(stream).first(cut));
    rig.world->run_for(Duration::us(cut % 2 == 0 ? 5 : 50));
    switch (cut % 3) {
      case 0:
        peer.finish();
        break;
      case 1:
        peer.close();
        break;
      default:
        peer.abort();
    }
    rig.world->run_for(Duration::ms(1));
    EXPECT_EQ(rig.listener->connections(), 0u) << cut;
    if (cut % 100 == 0) rig.peers.clear();
  }
  rig.peers.clear();
  rig.world->run_for(Duration::s(40));
  EXPECT_EQ(rig.listener->lingering(), 0u);
  EXPECT_EQ(rig.network.connections(), 0u);
}

/// Spoils the data of some C2HData.
class Spoiler final : public transport::TransportHooks {
 public:
  void pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) override {
    if (qid == 0 || pdus[0][0] != 7 || left == 0) return;
    --left;
    ++spoiled;
    pdus[0][pdus[0].size() - 20] ^= 0x40;
  }
  unsigned left = 0;
  unsigned spoiled = 0;
};

TEST(TcpHostile, DamagedDataIsFetchedAgain) {
  Spoiler spoiler;
  TcpRigOptions options;
  options.host.data_digest = true;
  options.controller_hooks = &spoiler;
  TcpRig rig(options);
  ASSERT_NE(rig.connect(), nullptr);
  Bytes data(8192), back(8192);
  rig.world->stream("data").fill(data);
  ASSERT_TRUE(rig.ns().write(0, data).wait().ok());
  for (int round = 0; round < 50; ++round) {
    spoiler.left = static_cast<unsigned>(round % 3);
    std::fill(back.begin(), back.end(), std::uint8_t{0});
    ASSERT_TRUE(rig.ns().read(0, back).wait().ok()) << round;
    EXPECT_EQ(back, data) << round;
  }
  EXPECT_EQ(spoiler.spoiled, 49u);
  spoiler.left = 1000;  // always: the read fails, the association stays
  EXPECT_FALSE(rig.ns().read(0, back).wait().ok());
  spoiler.left = 0;
  EXPECT_TRUE(rig.ns().read(0, back).wait().ok());
  EXPECT_EQ(rig.listener->connections(), 2u);
}

}  // namespace
}  // namespace fb::host
