// The proxy in virtual time: what passes, what is rewritten, what faults make of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "model/proxy/faults.h"
#include "model/proxy/pdu_stream.h"
#include "model/proxy/tcp_proxy.h"
#include "sim/net/network.h"
#include "tests/sim/net/stream_end.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sqe.h"

namespace fb::proxy {
namespace {

using net::test::StreamUser;
namespace de = fabrics::discovery_entry;

const IpAddress kHost = IpAddress::v4(10, 0, 0, 1), kBetween = IpAddress::v4(10, 0, 0, 2), kTarget = IpAddress::v4(10, 0, 0, 3);
constexpr std::uint16_t kPort = 4420;

Bytes numbered(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  return bytes;
}

Bytes capsule(ByteView sqe) {
  Record<tcp::CapsuleCmd> header;
  header.set(tcp::pdu::type, tcp::PduType::capsule_cmd).set(tcp::capsule_cmd::sqe, sqe);
  return tcp::build_pdu(header.bytes(), {}, false, false);
}

Bytes log_page_command(std::uint16_t cid, std::uint64_t length) {
  Record<nvme::GetLogPageSqe> command;
  nvme::set_log_range(command, 0, length);
  command.set(nvme::get_log_sqe::lid, 0x70u).set(nvme::sqe::cid, cid);
  Bytes sqe(command.bytes().begin(), command.bytes().end());
  sqe[0] = 0x02;
  return capsule(sqe);
}

Bytes connect_command(std::uint16_t qid) {
  Record<fabrics::ConnectSqe> command;
  command.set(fabrics::connect_sqe::qid, qid);
  Bytes sqe(command.bytes().begin(), command.bytes().end());
  sqe[0] = nvme::kFabricsOpcode;
  sqe[4] = 0x01;
  return capsule(sqe);
}

Bytes io_command(std::uint16_t cid) {
  Bytes sqe(64);
  sqe[0] = static_cast<std::uint8_t>(nvme::IoOpcode::read);
  store_le<std::uint16_t>(&sqe[2], cid);
  return capsule(sqe);
}

Bytes data_pdu(std::uint16_t cid, std::uint32_t offset, ByteView data, bool last, bool digest) {
  Record<tcp::DataPdu> header;
  const std::uint8_t flags = last ? tcp::pdu_flags::last_pdu : std::uint8_t{0};
  header.set(tcp::pdu::type, tcp::PduType::c2h_data).set(tcp::pdu::flags, flags);
  header.set(tcp::data_pdu::cccid, cid).set(tcp::data_pdu::offset, offset);
  header.set(tcp::data_pdu::length, static_cast<std::uint32_t>(data.size()));
  return tcp::build_pdu(header.bytes(), data, digest, digest);
}

Bytes response(std::uint16_t cid) {
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::cid, cid);
  Record<tcp::CapsuleResp> header;
  header.set(tcp::pdu::type, tcp::PduType::capsule_resp).set(tcp::capsule_resp::cqe, cqe.bytes());
  return tcp::build_pdu(header.bytes(), {}, false, false);
}

Bytes log_page(const Endpoint& first, const Endpoint& second) {
  Bytes page(3 * fabrics::DiscoveryEntry::size);
  std::size_t at = 0;
  for (const Endpoint& one : {first, second}) {
    Record<fabrics::TcpDiscoveryEntry> entry;
    entry.set(de::trtype, fabrics::TransportType::tcp).set(de::adrfam, fabrics::AddressFamily::ipv4);
    set_text(entry, de::traddr, to_string(one.address), ' ');
    set_text(entry, de::trsvcid, std::to_string(one.port), ' ');
    std::ranges::copy(entry.bytes(), page.begin() + static_cast<std::ptrdiff_t>(at += fabrics::DiscoveryEntry::size));
  }
  return page;
}

std::string address_in(ByteView page, std::size_t index) {
  const ByteView entry = fabrics::discovery_entry_at(page, index);
  return text_of(entry.subspan(512, 256)) + ":" + text_of(entry.subspan(32, 32));
}

struct Acceptor final : net::StreamAcceptor {
  void on_stream(std::unique_ptr<net::Stream> stream) override {
    users.push_back(std::make_unique<StreamUser>());
    users.back()->stream = std::move(stream);
    users.back()->stream->set_handler(users.back().get());
  }
  std::vector<std::unique_ptr<StreamUser>> users;
};

class ProxyTest : public testing::Test {
 protected:
  void begin(const std::vector<std::string>& decisions = {}, bool keep = false) {
    fault::Schedule schedule;
    for (const std::string& one : decisions) schedule.decisions.push_back(*fault::parse_decision(one));
    if (!decisions.empty()) points_.emplace(*world_, schedule);
    listener_ = target_.listen({kTarget, kPort}, acceptor_).value();
    ProxyOptions options;
    options.routes = {{{kBetween, kPort}, {kTarget, kPort}}};
    options.from = kBetween;
    options.keep_discovery = keep;
    options.faults = points_ ? &*points_ : nullptr;
    proxy_ = TcpProxy::start(*world_, between_, options).value();
    ASSERT_TRUE(host_user_.open(host_, {kHost, 0}, {kBetween, kPort}));
    world_->run_for(Duration::ms(50));
    ASSERT_EQ(acceptor_.users.size(), 1u);
  }
  StreamUser& controller() { return *acceptor_.users.front(); }
  void run(Duration span = Duration::ms(100)) { world_->run_for(span); }

  std::unique_ptr<World> world_ = World::make_virtual(1);
  net::SimNetwork network_{*world_};
  net::SimHost& host_ = network_.add_host("host", kHost);
  net::SimHost& between_ = network_.add_host("between", kBetween);
  net::SimHost& target_ = network_.add_host("target", kTarget);
  Acceptor acceptor_;
  std::optional<fault::Points> points_;
  std::unique_ptr<net::StreamListener> listener_;
  std::unique_ptr<TcpProxy> proxy_;
  StreamUser host_user_;
};

TEST_F(ProxyTest, BytesPassBothWaysWithBackPressure) {
  begin();
  const Bytes bytes = numbered(3 << 20);
  controller().reading = false;
  host_user_.queue(bytes);
  run(Duration::s(2));
  EXPECT_GT(host_user_.unsent(), 0u);  // nobody takes them in between without end
  controller().reading = true;
  controller().drain();
  run(Duration::s(5));
  EXPECT_EQ(controller().got, bytes);
  controller().queue(bytes);
  run(Duration::s(5));
  EXPECT_EQ(host_user_.got, bytes);
}

TEST_F(ProxyTest, AHalfCloseAndAResetPassOn) {
  begin();
  host_user_.queue(numbered(100));
  run();
  host_user_.stream->finish();
  run();
  EXPECT_TRUE(controller().stream->finished());
  controller().queue(numbered(200));
  run();
  EXPECT_EQ(host_user_.got, numbered(200));
  controller().stream->abort();
  run();
  ASSERT_TRUE(host_user_.end.has_value());
  EXPECT_EQ(host_user_.end->kind, net::StreamEnd::Kind::reset);
  EXPECT_EQ(proxy_->open(), 0u);
}

TEST_F(ProxyTest, NobodyBehindItIsAReset) {
  begin();
  listener_.reset();
  StreamUser second;
  ASSERT_TRUE(second.open(host_, {kHost, 0}, {kBetween, kPort}));
  run(Duration::s(1));
  EXPECT_TRUE(second.end.has_value());
  EXPECT_EQ(proxy_->counters().unreachable, 1u);
}

TEST_F(ProxyTest, DiscoveryLeadsThroughIt) {
  for (const bool digest : {false, true}) {
    SCOPED_TRACE(digest);
    acceptor_.users.clear();
    proxy_.reset();
    listener_.reset();
    host_user_.got.clear();
    begin();
    const Bytes page = log_page({kTarget, kPort}, {kTarget, 4421});
    host_user_.queue(log_page_command(7, page.size()));
    run();
    // In three parts that know no entries, with another command's answer among them.
    const Bytes first = data_pdu(7, 0, ByteView(page).first(1500), false, digest);
    const Bytes second = data_pdu(7, 1500, ByteView(page).subspan(1500, 300), false, digest);
    const Bytes third = data_pdu(7, 1800, ByteView(page).subspan(1800), true, digest);
    Bytes all;
    for (const Bytes& one : {first, response(3), second, third, response(7)}) all.insert(all.end(), one.begin(), one.end());
    controller().queue(all);
    run();
    PduCutter cutter;
    cutter.feed(host_user_.got);
    std::vector<Bytes> pdus;
    while (auto pdu = cutter.next()) pdus.push_back(*pdu);
    ASSERT_EQ(pdus.size(), 5u);
    EXPECT_EQ(pdus[1], response(3));
    EXPECT_EQ(pdus[4], response(7));
    Bytes got;
    for (const std::size_t i : {0u, 2u, 3u}) {
      Bytes again = pdus[i];
      tcp::refresh_digests(again);
      EXPECT_EQ(again, pdus[i]);
      const std::size_t begin_at = pdus[i][3];
      got.insert(got.end(), pdus[i].begin() + static_cast<std::ptrdiff_t>(begin_at), pdus[i].end() - (digest ? 4 : 0));
    }
    ASSERT_EQ(got.size(), page.size());
    EXPECT_EQ(address_in(got, 0), "10.0.0.2:4420");
    EXPECT_EQ(address_in(got, 1), "10.0.0.3:4421");
    EXPECT_EQ(proxy_->counters().renamed_entries, 1u);
    host_user_.stream.reset();
  }
}

TEST_F(ProxyTest, DiscoveryPassesAsItIsWhereThatIsAskedFor) {
  begin({}, true);
  const Bytes page = log_page({kTarget, kPort}, {kTarget, 4421});
  host_user_.queue(log_page_command(7, page.size()));
  run();
  const Bytes pdu = data_pdu(7, 0, page, true, true);
  controller().queue(pdu);
  run();
  EXPECT_EQ(host_user_.got, pdu);
}

TEST_F(ProxyTest, OtherProtocolsPass) {
  begin();
  const Bytes request = {'G', 'E', 'T', ' ', '/', '\r', '\n', '\r', '\n'};
  host_user_.queue(request);
  run();
  EXPECT_EQ(controller().got, request);
}

TEST_F(ProxyTest, AStatusTakesThePlaceOfTheControllers) {
  begin({"admission#1 status 6", "completion#2 twice", "completion#3 withhold"});
  Bytes all = connect_command(1);
  for (std::uint16_t cid = 10; cid < 14; ++cid) {
    const Bytes one = io_command(cid);
    all.insert(all.end(), one.begin(), one.end());
  }
  host_user_.queue(all);
  run();
  EXPECT_EQ(controller().got, all);
  Bytes answers;
  for (std::uint16_t cid = 10; cid < 14; ++cid) {
    const Bytes one = response(cid);
    answers.insert(answers.end(), one.begin(), one.end());
  }
  controller().queue(answers);
  run();
  std::vector<std::pair<std::uint16_t, unsigned>> seen;
  PduCutter cutter;
  cutter.feed(host_user_.got);
  while (auto pdu = cutter.next()) {
    const View<nvme::CqeLayout> cqe{ByteView(*pdu).subspan(8)};
    seen.emplace_back(cqe.get(nvme::cqe::cid), cqe.get(nvme::cqe::status).sc());
  }
  const std::vector<std::pair<std::uint16_t, unsigned>> expected = {{10, 0}, {11, 6}, {12, 0}, {12, 0}};
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(points_->strikes().size(), 3u);
}

TEST_F(ProxyTest, SegmentsAreSplitDelayedAndReset) {
  begin(
      {"segment:host->target#0 segment_split 3", "segment:host->target#2 segment_delay 30000000", "segment:target->host#1 segment_reset"});
  host_user_.queue(io_command(1));
  run(Duration::ms(10));
  EXPECT_EQ(controller().got.size(), 72u);
  host_user_.queue(io_command(2));
  run(Duration::ms(20));
  EXPECT_EQ(controller().got.size(), 72u);
  run(Duration::ms(30));
  EXPECT_EQ(controller().got.size(), 144u);
  controller().queue(response(1));
  run();
  EXPECT_EQ(host_user_.got, response(1));
  controller().queue(response(2));
  run();
  EXPECT_TRUE(host_user_.end.has_value());
  EXPECT_GT(controller().ends, 0);
}

TEST_F(ProxyTest, PdusAreDroppedAndForged) {
  begin({"pdu:host#1 pdu_drop", "pdu:target#0 pdu_forge 0"});
  Bytes all = io_command(1), third = io_command(3);
  const Bytes second = io_command(2);
  all.insert(all.end(), second.begin(), second.end());
  all.insert(all.end(), third.begin(), third.end());
  host_user_.queue(all);
  run();
  Bytes expected = io_command(1);
  expected.insert(expected.end(), third.begin(), third.end());
  EXPECT_EQ(controller().got, expected);
  controller().queue(response(1));
  run();
  EXPECT_EQ(host_user_.got.size(), response(1).size());
  EXPECT_NE(host_user_.got, response(1));
}

TEST_F(ProxyTest, PdusAreLateAndInAnotherOrder) {
  begin({"passage:host#0 pdu_swap", "passage:host#2 pdu_late 30000000", "passage:target#0 response_late 40000000"});
  Bytes all, expected;
  for (const std::uint16_t cid : std::vector<std::uint16_t>{1, 2, 3, 4}) {
    const Bytes one = io_command(cid);
    all.insert(all.end(), one.begin(), one.end());
  }
  for (const std::uint16_t cid : std::vector<std::uint16_t>{2, 1, 4, 3}) {
    const Bytes one = io_command(cid);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  host_user_.queue(all);
  run(Duration::ms(20));
  EXPECT_EQ(controller().got, Bytes(expected.begin(), expected.begin() + 3 * 72));
  run(Duration::ms(20));
  EXPECT_EQ(controller().got, expected);
  // The next response, whatever passes before it, and nothing behind it.
  const Bytes data = data_pdu(1, 0, numbered(512), true, false);
  Bytes answers = data;
  for (const std::uint16_t cid : std::vector<std::uint16_t>{1, 2}) {
    const Bytes one = response(cid);
    answers.insert(answers.end(), one.begin(), one.end());
  }
  controller().queue(answers);
  run(Duration::ms(20));
  Bytes before = data;
  const Bytes first = response(1), second = response(2);
  before.insert(before.end(), second.begin(), second.end());
  EXPECT_EQ(host_user_.got, before);
  run(Duration::ms(40));
  before.insert(before.end(), first.begin(), first.end());
  EXPECT_EQ(host_user_.got, before);
  EXPECT_EQ(points_->strikes().size(), 3u);
}

TEST_F(ProxyTest, AFieldIsChangedInTheNextPduThatHasIt) {
  begin({"passage:host#0 change_nsid 5", "passage:target#0 change_cid 3"});
  Bytes all = connect_command(1);
  const Bytes command = io_command(1);
  all.insert(all.end(), command.begin(), command.end());
  host_user_.queue(all);
  run();
  Bytes expected = all;
  store_le<std::uint32_t>(&expected[72 + 8 + 4], load_le<std::uint32_t>(&all[72 + 8 + 4]) + 5);
  EXPECT_EQ(controller().got, expected);
  controller().queue(response(1));
  run();
  EXPECT_EQ(host_user_.got, response(4));
}

TEST_F(ProxyTest, OneHalfIsClosedAndTheOtherGoesOn) {
  begin({"passage:host#0 half_close"});
  Bytes all = io_command(1);
  const Bytes second = io_command(2);
  all.insert(all.end(), second.begin(), second.end());
  host_user_.queue(all);
  run();
  EXPECT_EQ(controller().got, io_command(1));
  controller().queue(response(1));
  run();
  EXPECT_EQ(host_user_.got, response(1));
}

TEST_F(ProxyTest, KeepAliveStarvesForATime) {
  begin({"passage:host#0 keep_alive_lost 50000000"});
  Bytes sqe(64);
  sqe[0] = static_cast<std::uint8_t>(nvme::AdminOpcode::keep_alive);
  const Bytes keep_alive = capsule(sqe);
  host_user_.queue(keep_alive);
  run(Duration::ms(20));
  host_user_.queue(keep_alive);
  run(Duration::ms(20));
  EXPECT_TRUE(controller().got.empty());
  run(Duration::ms(20));
  host_user_.queue(keep_alive);
  run(Duration::ms(20));
  EXPECT_EQ(controller().got, keep_alive);
}

TEST(ProxyPlan, OnlyWhatItReachesIsTaken) {
  const auto reach = [](const char* kind) {
    return reaches(*fault::parse_plan(std::string("name: a\nfaults:\n  - kind: ") + kind + "\n", "plan.yaml"));
  };
  for (const char* kind : {"segment_reset", "pdu_forge", "status", "admin_withhold", "twice", "media_error", "half_close", "change_ttag"}) {
    EXPECT_TRUE(reach(kind)) << kind;
  }
  for (const char* kind : {"drop", "fatal", "key_invalidate", "frame_drop", "power_cycle"}) EXPECT_FALSE(reach(kind)) << kind;
  EXPECT_TRUE(reach("drop").error().text.starts_with("plan.yaml:3: a proxy for NVMe/TCP cannot reach 'drop': it"));
}

TEST(HeaderWalk, FindsHeadersHoweverTheStreamIsCut) {
  Bytes stream;
  for (std::uint16_t cid = 0; cid < 5; ++cid) {
    for (const Bytes& one : {io_command(cid), data_pdu(cid, 0, numbered(300), true, true), response(cid)}) {
      stream.insert(stream.end(), one.begin(), one.end());
    }
  }
  for (std::size_t step = 1; step < 100; step += 7) {
    HeaderWalk walk;
    std::size_t headers = 0;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      ByteView part = ByteView(stream).subspan(at, std::min(step, stream.size() - at));
      while (!part.empty()) {
        part = part.subspan(walk.advance(part));
        headers += walk.header().empty() ? 0 : 1;
      }
    }
    EXPECT_EQ(headers, 15u);
    EXPECT_FALSE(walk.lost());
  }
}

TEST(HeaderWalk, IsLostAtALengthThatNoHeaderHas) {
  for (unsigned hlen = 0; hlen < 256; ++hlen) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{600}}) {
      Bytes stream(600, 0xA5);
      stream[2] = static_cast<std::uint8_t>(hlen);
      store_le<std::uint32_t>(stream.data() + 4, 600);
      // Room of its own, so that a sanitizer sees what is written behind it.
      const auto walk = std::make_unique<HeaderWalk>();
      for (ByteView left = stream; !left.empty();) left = left.subspan(walk->advance(left.first(std::min(step, left.size()))));
      EXPECT_EQ(walk->lost(), hlen < tcp::kCommonHeaderBytes || hlen > tcp::kHeaderMax) << hlen;
    }
  }
}

}  // namespace
}  // namespace fb::proxy
