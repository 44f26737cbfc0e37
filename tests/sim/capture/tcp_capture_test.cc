// Captures of TCP: frame by frame, and whole connections as an independent reader sees them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "sim/capture/pcapng.h"
#include "sim/capture/reader.h"
#include "sim/net/network.h"
#include "sim/net/udp_port.h"
#include "tests/sim/net/stream_end.h"

namespace fb::capture {
namespace {

using namespace literals;

const Endpoint kHost{IpAddress::v4(10, 0, 0, 1), 0xC0DE};
const Endpoint kTarget{IpAddress::v4(10, 0, 0, 2), 4420};
const Endpoint kHost6{*IpAddress::parse("fd00::1"), 0xC0DE};
const Endpoint kTarget6{*IpAddress::parse("fd00::2"), 4420};

TraceEvent segment_event(const Endpoint& from, const Endpoint& to, const TcpFacts& tcp, ByteView payload) {
  TraceEvent event;
  event.kind = TraceKind::packet;
  event.actor = "host";
  event.label = "tcp";
  event.bytes = payload;
  event.source = from;
  event.destination = to;
  event.tcp = &tcp;
  return event;
}

std::vector<CapturedPacket> read_all(ByteView file) {
  std::vector<CapturedPacket> packets;
  CaptureReader reader(file);
  CapturedPacket packet;
  for (;;) {
    const Result<bool> got = reader.next(packet);
    EXPECT_TRUE(got.ok()) << got.error().text;
    if (!got || !*got) break;
    packets.push_back(packet);
  }
  return packets;
}

// What one run of Debian's tshark says of each packet.
class Tshark {
 public:
  explicit Tshark(const PcapngWriter& writer) {
    char name[] = "/tmp/tcp_capture_XXXXXX";
    const std::string folder = mkdtemp(name);
    EXPECT_TRUE(writer.write_file(folder + "/a.pcapng").ok());
    std::string command = "LC_ALL=C tshark -n -r '" + folder + "/a.pcapng' -T fields -E separator=, " +
                          "-o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE";
    for (const std::string_view field : kFields) command += " -e " + std::string(field);
    std::FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
    if (pipe == nullptr) return;
    char line[4096];
    while (std::fgets(line, sizeof line, pipe) != nullptr) rows_.push_back(split(line));
    EXPECT_EQ(pclose(pipe), 0);
    std::filesystem::remove_all(folder);
  }
  std::size_t packets() const { return rows_.size(); }
  /// Packets that have the field.
  int count(std::string_view field) const {
    const std::size_t at = index_of(field);
    return static_cast<int>(std::count_if(rows_.begin(), rows_.end(), [at](const auto& row) { return !row[at].empty(); }));
  }
  /// Packets with this flag.
  int flagged(std::uint8_t flag) const {
    const std::size_t at = index_of("tcp.flags");
    return static_cast<int>(
        std::count_if(rows_.begin(), rows_.end(), [&](const auto& row) { return (std::stoul(row[at], nullptr, 16) & flag) != 0; }));
  }
  std::uint64_t payload_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& row : rows_) sum += std::stoul(row[index_of("tcp.len")]);
    return sum;
  }
  /// Words of the packets that tshark's analysis objects to, but for the news of a live window.
  std::string objections() const {
    std::string text;
    for (const auto& row : rows_) {
      bool good = row[index_of("tcp.checksum.status")] == "1" && row[index_of("_ws.malformed")].empty() &&
                  (row[index_of("ip.checksum.status")] == "1" || row[index_of("ip.checksum.status")].empty());
      good = good && (row[index_of("tcp.analysis.flags")].empty() || !row[index_of("tcp.analysis.window_update")].empty());
      if (good) continue;
      for (const std::string& value : row) text += value + ",";
      text += "\n";
    }
    return text;
  }

 private:
  static constexpr std::string_view kFields[] = {"frame.number",
                                                 "tcp.flags",
                                                 "tcp.len",
                                                 "_ws.malformed",
                                                 "ip.checksum.status",
                                                 "tcp.checksum.status",
                                                 "tcp.analysis.flags",
                                                 "tcp.analysis.window_update",
                                                 "tcp.analysis.retransmission",
                                                 "tcp.analysis.zero_window",
                                                 "tcp.analysis.lost_segment",
                                                 "tcp.analysis.ack_lost_segment",
                                                 "tcp.analysis.out_of_order",
                                                 "tcp.analysis.duplicate_ack"};
  static std::size_t index_of(std::string_view field) {
    const auto* const found = std::find(std::begin(kFields), std::end(kFields), field);
    EXPECT_NE(found, std::end(kFields)) << field;
    return static_cast<std::size_t>(found - std::begin(kFields));
  }
  static std::vector<std::string> split(std::string_view line) {
    std::vector<std::string> values(std::size(kFields));
    std::size_t at = 0;
    for (const char c : line) {
      if (c == ',' && at + 1 < values.size()) {
        ++at;
      } else if (c != '\n') {
        values[at] += c;
      }
    }
    return values;
  }
  std::vector<std::vector<std::string>> rows_;
};

TEST(TcpFrame, HeadersAndOptionsByTheByte) {
  const TcpFacts syn{.seq = 0x01020304, .ack = 0, .flags = tcp_flag::syn, .window = 0xFFFF, .mss = 4960, .window_shift = 3};
  Bytes frame;
  append_frame(frame, kHost, kTarget, {}, syn, {});
  EXPECT_EQ(to_hex(ByteView(frame).first(14)), "02fb0a00000202fb0a0000010800");
  std::string ip = to_hex(ByteView(frame).subspan(14, 20)), tcp = to_hex(ByteView(frame).subspan(34));
  EXPECT_EQ(ip, "4500003000004000400626c60a0000010a000002");
  EXPECT_EQ(tcp,
            "c0de1144"
            "01020304"
            "00000000"
            "7002ffff" +
                tcp.substr(32, 4) +
                "0000"
                "02041360"
                "01030303");
  CarriedPacket packet;
  ASSERT_EQ(parse_frame(link_type::ethernet, frame, packet), FrameFault::none);
  EXPECT_EQ(packet.source, kHost);
  EXPECT_EQ(packet.destination, kTarget);
  ASSERT_TRUE(packet.tcp.has_value());
  EXPECT_EQ(packet.tcp->seq, 0x01020304u);
  EXPECT_EQ(packet.tcp->mss, 4960);
  EXPECT_EQ(packet.tcp->window_shift, 3);
  EXPECT_TRUE(packet.payload.empty());
}

TEST(TcpFrame, RoundTripOfBothFamilies) {
  PcapngWriter writer;
  Rng rng(5);
  std::vector<Bytes> payloads;
  std::vector<TcpFacts> facts;
  for (std::uint32_t i = 0; i < 40; ++i) {
    payloads.emplace_back(i * 13);
    rng.fill(payloads.back());
    const auto flags = static_cast<std::uint8_t>(rng.below(32) & ~std::uint64_t{tcp_flag::syn});
    facts.push_back(
        {static_cast<std::uint32_t>(rng.next()), static_cast<std::uint32_t>(rng.next()), flags, static_cast<std::uint16_t>(rng.next())});
    writer.on_event(segment_event(i % 2 == 0 ? kHost : kHost6, i % 2 == 0 ? kTarget : kTarget6, facts.back(), payloads.back()));
  }
  const Bytes file = writer.bytes();
  const auto packets = read_all(file);
  ASSERT_EQ(packets.size(), 40u);
  for (std::size_t i = 0; i < 40; ++i) {
    const TraceEvent event = packets[i].as_event(0);
    ASSERT_NE(event.tcp, nullptr);
    EXPECT_EQ(event.label, "tcp");
    EXPECT_EQ(event.tcp->seq, facts[i].seq);
    EXPECT_EQ(event.tcp->ack, facts[i].ack);
    EXPECT_EQ(event.tcp->flags, facts[i].flags);
    EXPECT_EQ(event.tcp->window, facts[i].window);
    EXPECT_EQ(Bytes(event.bytes.begin(), event.bytes.end()), payloads[i]);
    EXPECT_EQ(event.source, i % 2 == 0 ? kHost : kHost6);
  }
}

TEST(TcpFrame, SegmentsTooLongForIpAreSplit) {
  for (const bool v6 : {false, true}) {
    PcapngWriter writer;
    Bytes payload(200'000);
    Rng rng(6);
    rng.fill(payload);
    const TcpFacts tcp{.seq = 0xFFFFFF00, .ack = 7, .flags = tcp_flag::ack | tcp_flag::psh | tcp_flag::fin, .window = 1000};
    writer.on_event(segment_event(v6 ? kHost6 : kHost, v6 ? kTarget6 : kTarget, tcp, payload));
    const Bytes file = writer.bytes();
    const auto packets = read_all(file);
    ASSERT_EQ(packets.size(), 4u);
    Bytes joined;
    for (const CapturedPacket& packet : packets) {
      EXPECT_EQ(packet.carried.tcp->seq, static_cast<std::uint32_t>(0xFFFFFF00 + joined.size()));
      joined.insert(joined.end(), packet.carried.payload.begin(), packet.carried.payload.end());
      const bool last = joined.size() == payload.size();
      EXPECT_EQ(packet.carried.tcp->flags, last ? tcp.flags : tcp_flag::ack);
    }
    EXPECT_TRUE(joined == payload);
    EXPECT_EQ(Tshark(writer).objections(), "");
  }
}

TEST(TcpFrame, BrokenHeadersAreNotRead) {
  Bytes frame;
  append_frame(frame, kHost, kTarget, {}, TcpFacts{.flags = tcp_flag::ack}, Bytes(10));
  CarriedPacket packet;
  for (const int words : {0, 4, 8, 15}) {  // 30 bytes are there
    Bytes broken = frame;
    broken[34 + 12] = static_cast<std::uint8_t>(words << 4);
    EXPECT_EQ(parse_frame(link_type::ethernet, broken, packet), FrameFault::malformed) << words;
  }
  Bytes syn;
  append_frame(syn, kHost, kTarget, {}, TcpFacts{.flags = tcp_flag::syn, .mss = 1460, .window_shift = 2}, {});
  for (const int length : {0, 1, 3, 5, 200}) {
    Bytes broken = syn;
    broken[34 + 21] = static_cast<std::uint8_t>(length);
    packet = {};
    EXPECT_EQ(parse_frame(link_type::ethernet, broken, packet), FrameFault::none);
    EXPECT_EQ(packet.tcp->mss, 0) << length;
  }
}

TEST(Pcapng, TlsKeysStandInFrontOfThePackets) {
  PcapngWriter writer;
  const TcpFacts tcp{.flags = tcp_flag::ack};
  writer.on_event(segment_event(kHost, kTarget, tcp, Bytes(3, 9)));
  const Bytes without = writer.bytes();
  writer.add_tls_keys("CLIENT_TRAFFIC_SECRET_0 00 11");
  writer.add_tls_keys("SERVER_TRAFFIC_SECRET_0 00 2\n");
  writer.comment("the end");
  const Bytes file = writer.bytes();
  const std::string keys = "CLIENT_TRAFFIC_SECRET_0 00 11\nSERVER_TRAFFIC_SECRET_0 00 2\n";
  const std::string hex = to_hex(file), key_hex = to_hex({reinterpret_cast<const std::uint8_t*>(keys.data()), keys.size()});
  // Type 10, 84 bytes, "TLSK", 59 bytes of keys.
  const std::string block =
      "0a00000054000000"
      "4b534c54"
      "3b000000" +
      key_hex + "00" + "00000000" + "54000000";
  const auto at = hex.find(block);
  ASSERT_NE(at, std::string::npos) << hex;
  EXPECT_EQ(hex.substr(0, at), to_hex(without).substr(0, at));
  EXPECT_EQ(hex.substr(at + block.size(), 8), "06000000");
  const auto packets = read_all(file);
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].comment, "afterwards: the end");
  EXPECT_EQ(Tshark(writer).packets(), 1u);
}

// --------------------------------------------------------------------------- whole connections

struct Simulated {
  explicit Simulated(const net::LinkOptions& link, std::uint64_t seed, bool v6) : world(World::make_virtual(seed)), network(*world, link) {
    world->trace().add_sink(writer);
    local = v6 ? kHost6 : kHost;
    there = v6 ? kTarget6 : kTarget;
    local.port = 0;
    host = &network.add_host("host", local.address);
    target = &network.add_host("target", there.address);
    listener = std::move(target->listen(there, inbox)).value();
  }
  void establish() {
    ASSERT_TRUE(client.open(*host, local, there));
    world->run_until_idle();
    ASSERT_TRUE(client.connected);
    server = inbox.ends.back().get();
  }
  std::unique_ptr<World> world;
  PcapngWriter writer;
  net::SimNetwork network;
  Endpoint local, there;
  net::SimHost* host = nullptr;
  net::SimHost* target = nullptr;
  net::test::StreamInbox inbox;
  std::unique_ptr<net::StreamListener> listener;
  net::test::StreamUser client;
  net::test::StreamUser* server = nullptr;
};

TEST(TcpCapture, SimulatedConnectionsAreCleanForTshark) {
  for (const bool v6 : {false, true}) {
    Simulated s({.latency = 20_us, .bandwidth = 10'000'000'000, .mtu = 1500}, 3, v6);
    net::RandomSegmentation cut(*s.world, {.split = {1, 3}, .delay = {1, 10}});
    s.network.set_stream_filter(&cut);
    s.establish();
    Rng rng(8);
    for (int i = 0; i < 40; ++i) {
      s.client.put(Bytes(rng.below(5000), 1));
      s.world->run_for(Duration::us(static_cast<std::int64_t>(rng.below(60))));
      s.server->put(Bytes(rng.below(9000), 2));
      s.world->run_for(Duration::us(static_cast<std::int64_t>(rng.below(60))));
    }
    s.client.queue(Bytes(600'000, 3));
    s.world->run_until_idle();
    s.client.stream->finish();
    s.world->run_until_idle();
    s.server->put(Bytes(30'000, 4));
    s.server->stream->close();
    s.world->run_until_idle();
    s.client.stream->close();
    s.world->run_until_idle();
    ASSERT_GT(s.server->got.size(), 600'000u);
    const Tshark tshark(s.writer);
    EXPECT_EQ(tshark.objections(), "");
    EXPECT_EQ(tshark.packets(), s.writer.packets());
    EXPECT_EQ(tshark.flagged(tcp_flag::syn), 2);
    EXPECT_EQ(tshark.flagged(tcp_flag::fin), 2);
    EXPECT_EQ(tshark.flagged(tcp_flag::rst), 0);
    EXPECT_EQ(tshark.payload_bytes(), s.server->got.size() + s.client.got.size());
  }
}

TEST(TcpCapture, RefusalResetLossAndZeroWindowAreWhatTheyAre) {
  Simulated s({}, 4, false);
  net::StreamOptions small;
  small.receive_window = 8192;
  s.target->set_stream_options(small);
  net::test::StreamUser refused;
  ASSERT_TRUE(refused.open(*s.host, s.local, {s.there.address, 9}));
  s.world->run_until_idle();
  s.establish();
  s.server->reading = false;
  s.client.queue(Bytes(50'000, 1));
  s.world->run_until_idle();
  s.server->reading = true;
  s.server->drain();
  s.world->run_until_idle();
  struct LoseOne final : net::StreamFilter {
    net::SegmentVerdict on_segment(const net::SegmentContext&) override { return {.lost = lose-- > 0 ? 1u : 0u}; }
    int lose = 1;
  } lose_one;
  s.network.set_stream_filter(&lose_one);
  s.client.put(Bytes(100, 2));
  s.world->run_until_idle();
  s.server->stream->abort();
  s.world->run_until_idle();
  const Tshark tshark(s.writer);
  EXPECT_EQ(tshark.flagged(tcp_flag::rst), 2);
  EXPECT_EQ(tshark.count("tcp.analysis.retransmission"), 1);
  EXPECT_GE(tshark.count("tcp.analysis.zero_window"), 1);
  for (const std::string_view wrong : {"tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment", "tcp.analysis.out_of_order",
                                       "tcp.analysis.duplicate_ack", "_ws.malformed"}) {
    EXPECT_EQ(tshark.count(wrong), 0) << wrong;
  }
}

TEST(TcpCapture, RealSocketsAreCleanForTshark) {
  auto world = World::make_real(1), other = World::make_real(2);
  net::RealHost host(*world), there(*other);
  PcapngWriter writer;
  world->trace().add_sink(writer);
  net::test::StreamInbox inbox;
  const IpAddress loopback = IpAddress::v4(127, 0, 0, 1);
  auto listener = std::move(there.listen({loopback, 0}, inbox)).value();
  net::test::StreamUser client;
  ASSERT_TRUE(client.open(host, {loopback, 0}, listener->local()));
  const auto both = [&](auto&& done) {
    for (int i = 0; i < 20'000 && !done(); ++i) {
      other->run_for(100_us);
      world->run_for(100_us);
    }
    return done();
  };
  ASSERT_TRUE(both([&] { return client.connected && !inbox.ends.empty(); }));
  client.queue(Bytes(5 << 20, 1));
  ASSERT_TRUE(both([&] { return inbox.ends[0]->got.size() == 5 << 20; }));
  inbox.ends[0]->queue(Bytes(3 << 20, 2));
  ASSERT_TRUE(both([&] { return client.got.size() == 3 << 20; }));
  inbox.ends[0]->stream->close();
  ASSERT_TRUE(both([&] { return client.stream->finished(); }));
  client.stream->close();
  const Tshark tshark(writer);
  EXPECT_EQ(tshark.objections(), "");
  EXPECT_EQ(tshark.payload_bytes(), std::uint64_t{8} << 20);
  EXPECT_EQ(tshark.flagged(tcp_flag::fin), 2);
}

}  // namespace
}  // namespace fb::capture
