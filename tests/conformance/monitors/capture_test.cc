// Captures hold everybody's traffic, from anywhere in the middle on, and their packets may stand in a wrong order by a little:
// what is no NVMe is no finding, and what is NVMe is found wherever it is.
#include "tests/conformance/monitors/wire.h"
#include "wire/tcp/kickstart.h"

namespace fb::monitors {
namespace {

using tcp::PduType;
namespace flag = tcp::pdu_flags;

#define EXPECT_HEARD(wire, rule, host) EXPECT_TRUE((wire).heard(rule, host)) << (wire).all()
#define EXPECT_SILENT(wire) EXPECT_TRUE((wire).monitors.findings().empty()) << (wire).all()

constexpr std::uint8_t kFlush = 0, kRead = 2;
constexpr std::uint16_t kPorts[] = {4420, 8009, 5000};

evidence::DissectorOptions a_capture(std::vector<std::uint16_t> ports = {}) { return {.capture = true, .tcp_ports = std::move(ports)}; }

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

/// A connection that was captured from its beginning, with a queue that is connected.
struct Captured : TcpWire {
  explicit Captured(std::uint16_t port = 4420) : TcpWire(a_capture()) {
    controller_port = port;
    open();
    capsule(true, connect_command().bytes());
    capsule(false, completion(0, 1).bytes());
  }
  void exchange(std::uint16_t cid) {
    capsule(true, command(kRead, cid, nvme::SglDescriptor::transport(512)).bytes());
    data(false, PduType::c2h_data, cid, 0, 0, 512, flag::last_pdu);
    capsule(false, completion(cid, static_cast<std::uint16_t>((cid + 1) % 8)).bytes());
  }
};

// ---------------------------------------------------------------------------------------- other protocols

const std::vector<Bytes>& beginnings_of_others() {
  static const std::vector<Bytes> kAll = {
      bytes_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
      from_hex("123400020a0b474554202f65"),  // AJP
      bytes_of("SSH-2.0-OpenSSH_9.2p1\r\n"),
      from_hex("101e00044d5154540402003c0012"),  // MQTT
      from_hex("0000002fff534d4272000000"),
      from_hex("0000000804d2162f"),  // NetBIOS, PostgreSQL
      from_hex("00000000000000000000000000000000"),
      from_hex("0000008000000000ffff"),
      from_hex("00"),
      from_hex("0f"),
      from_hex("0400480048000000"),
      from_hex("0700181818020000"),  // in the middle they would be PDUs
  };
  return kAll;
}

TEST(Capture, OtherProtocolsOnThePortsOfNvmeAreNoFinding) {
  for (const std::uint16_t port : kPorts) {
    for (const bool by_host : {true, false}) {
      for (const Bytes& first : beginnings_of_others()) {
        TcpWire wire(a_capture());
        wire.controller_port = port;
        wire.handshake();
        wire.segment(by_host, first);
        wire.segment(!by_host, bytes_of("220 ready\r\n"));
        wire.segment(by_host, Bytes(300, 0x41));
        wire.monitors.finish();
        EXPECT_SILENT(wire) << port << to_hex(first);
        EXPECT_EQ(wire.monitors.dissector().counts().pdus, 0u);
        EXPECT_EQ(wire.monitors.dissector().unread_connections().other, 1u) << port << " " << to_hex(first);
        EXPECT_TRUE(wire.monitors.judged().empty());
      }
    }
  }
}

TEST(Capture, ABeginningInSmallPiecesIsRecognised) {
  for (const bool nvme : {true, false}) {
    TcpWire wire(a_capture());
    wire.controller_port = 5000;
    wire.handshake();
    auto request = TcpWire::head<tcp::IcReq>(PduType::ic_req);
    Bytes bytes = tcp::build_pdu(request.bytes(), {}, false, false);
    if (!nvme) bytes[6] = 1;
    for (const std::uint8_t byte : bytes) wire.segment(true, ByteView(&byte, 1));
    EXPECT_EQ(wire.monitors.dissector().counts().pdus, nvme ? 1u : 0u);
    EXPECT_EQ(wire.monitors.dissector().unread_connections().other, nvme ? 0u : 1u);
  }
}

TEST(Capture, AWrongLengthOfIcreqIsAFindingOnThePortAlone) {
  for (const std::uint16_t port : {std::uint16_t{4420}, std::uint16_t{5000}, std::uint16_t{6000}}) {
    TcpWire wire(a_capture({6000}));
    wire.controller_port = port;
    wire.handshake();
    Bytes bytes = tcp::build_pdu(TcpWire::head<tcp::IcReq>(PduType::ic_req).bytes(), {}, false, false);
    bytes[4] = 132;
    bytes.resize(132);
    wire.segment(true, bytes);
    EXPECT_EQ(wire.heard(Rule::tcp_plen, true), port != 5000) << port << wire.all();
  }
}

// ---------------------------------------------------------------------------------------- the middle

TEST(Capture, AChainOfPdusIsRecognisedOnAnyPort) {
  for (const std::uint16_t port : {std::uint16_t{4420}, std::uint16_t{5000}}) {
    TcpWire wire(a_capture());
    wire.controller_port = port;
    for (std::uint16_t cid = 1; cid < 6; ++cid) {
      wire.capsule(true, command(kRead, cid, nvme::SglDescriptor::transport(512)).bytes());
      wire.data(false, PduType::c2h_data, cid, 0, 0, 512, flag::last_pdu);
      wire.capsule(false, completion(cid, cid).bytes());
    }
    EXPECT_SILENT(wire);
    const evidence::Counts& counts = wire.monitors.dissector().counts();
    EXPECT_EQ(counts.tcp_connections, 1u) << port;
    EXPECT_EQ(counts.commands, 5u) << port;
    EXPECT_EQ(counts.completions, 5u) << port;
    EXPECT_EQ(wire.monitors.dissector().unread_connections().unknown, 0u);
    EXPECT_EQ(wire.monitors.dissector().remarks().size(), 1u) << "the beginning is missing";
  }
}

TEST(Capture, AChainIsFoundWhereNoSegmentBegins) {
  TcpWire wire(a_capture());
  wire.controller_port = 5000;
  // The end of some data, then PDUs, cut anywhere.
  Bytes stream(1000, 0x5A);
  for (std::uint16_t cid = 1; cid < 6; ++cid) {
    Bytes header(tcp::CapsuleResp::size);
    header[0] = static_cast<std::uint8_t>(PduType::capsule_resp);
    const nvme::Cqe cqe = completion(cid, cid);
    std::copy(cqe.bytes().begin(), cqe.bytes().end(), header.begin() + 8);
    const Bytes pdu = tcp::build_pdu(header, {}, false, false);
    stream.insert(stream.end(), pdu.begin(), pdu.end());
  }
  for (std::size_t at = 0; at < stream.size(); at += 37) {
    wire.segment(false, ByteView(stream).subspan(at, std::min<std::size_t>(37, stream.size() - at)));
  }
  EXPECT_SILENT(wire);
  EXPECT_EQ(wire.monitors.dissector().counts().completions, 5u);
}

TEST(Capture, WhatIsNoChainIsNotRecognised) {
  for (const std::uint16_t port : {std::uint16_t{4420}, std::uint16_t{5000}}) {
    for (const Bytes& bytes : {bytes_of("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"), Bytes(2000), Bytes(2000, 0x07)}) {
      TcpWire wire(a_capture());
      wire.controller_port = port;
      for (int i = 0; i < 4; ++i) wire.segment(i % 2 == 0, bytes);
      wire.monitors.finish();
      EXPECT_SILENT(wire);
      EXPECT_EQ(wire.monitors.dissector().counts().tcp_connections, 0u);
      EXPECT_EQ(wire.monitors.dissector().unread_connections().unknown, 1u);
    }
  }
}

TEST(Capture, ABrokenChainOnThePortIsNone) {
  TcpWire wire(a_capture());
  Bytes bytes = from_hex("040048004800000000");
  bytes.resize(72);
  bytes.resize(200, 0xEE);  // what follows is no PDU
  wire.segment(true, bytes);
  EXPECT_SILENT(wire);
  EXPECT_EQ(wire.monitors.dissector().counts().tcp_connections, 0u);
}

// ---------------------------------------------------------------------------------------- order

TEST(Capture, AResponseInFrontOfItsCommandIsNoFinding) {
  // Each segment of an exchange moves in front of the one before it, and of the one before that.
  for (std::size_t moved = 1; moved < 12; ++moved) {
    for (const std::size_t by : {std::size_t{1}, std::size_t{2}}) {
      Captured wire;
      wire.exchange(1);
      wire.holds = true;
      for (std::uint16_t cid = 2; cid < 6; ++cid) wire.exchange(cid);
      wire.holds = false;
      const std::size_t early = moved - std::min(by, moved);
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < 12; ++i) {
        if (i == early) order.push_back(moved);
        if (i != moved) order.push_back(i);
      }
      std::vector<std::size_t> gone;
      for (const std::size_t one : order) {
        wire.let_go(one - static_cast<std::size_t>(std::count_if(gone.begin(), gone.end(), [&](std::size_t g) { return g < one; })));
        gone.push_back(one);
      }
      EXPECT_SILENT(wire) << moved << " by " << by;
      EXPECT_EQ(wire.monitors.dissector().counts().completions, 6u);
      // And it is judged as before.
      wire.capsule(false, completion(9, 7).bytes());
      EXPECT_HEARD(wire, Rule::nvme_completion_unknown, false);
    }
  }
}

TEST(Capture, WhatIsMissingIsNotWaitedForForEver) {
  Captured wire;
  wire.skip(true, 72);  // a command that the capture lacks
  wire.capsule(false, completion(1, 2).bytes());
  for (std::uint16_t i = 0; i < 200; ++i) wire.segment(i % 2 == 0, {});
  EXPECT_SILENT(wire);
  EXPECT_EQ(wire.monitors.dissector().counts().completions, 2u) << "read all the same, and not judged";
}

struct CapturedRdma : RdmaWire {
  CapturedRdma() : RdmaWire(a_capture()) {
    connect();
    capsule(true, connect_command().bytes());
    capsule(false, completion(0, 1).bytes());
  }
  static constexpr std::uint32_t kKey = 0x77;
  void ask(std::uint16_t cid, std::uint8_t opcode) {
    capsule(true, command(opcode, cid, nvme::SglDescriptor::keyed(0x1000, 256, kKey + cid)).bytes());
  }
  void reply(std::uint16_t cid) { capsule(false, completion(cid, static_cast<std::uint16_t>((cid + 1) % 8)).bytes()); }
  void let_all_go(const std::vector<std::size_t>& order) {
    holds = false;
    std::vector<std::size_t> gone;
    for (const std::size_t one : order) {
      let_go(one - static_cast<std::size_t>(std::count_if(gone.begin(), gone.end(), [&](std::size_t g) { return g < one; })));
      gone.push_back(one);
    }
  }
};

TEST(Capture, ARoceResponseInFrontOfItsCommandIsNoFinding) {
  const std::vector<std::vector<std::size_t>> orders = {{1, 0, 2, 3, 4, 5, 6}, {0, 2, 1, 3, 4, 5, 6}, {2, 0, 1, 3, 4, 5, 6},
                                                        {0, 1, 2, 4, 3, 5, 6}, {0, 1, 2, 3, 4, 6, 5}, {1, 2, 0, 4, 3, 6, 5}};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    CapturedRdma wire;
    wire.holds = true;
    wire.ask(1, kRead);                                                                                     // 0
    wire.request(false, roce::Opcode::write_only, Bytes(256), RdmaWire::reth(0x1000, wire.kKey + 1, 256));  // 1
    wire.reply(1);                                                                                          // 2
    wire.ask(2, kRead);                                                                                     // 3
    wire.reply(2);                                                                                          // 4
    wire.ask(2, kFlush);                                                                                    // 5, the identifier again
    wire.capsule(false, completion(2, 4).bytes());                                                          // 6
    wire.let_all_go(orders[i]);
    EXPECT_TRUE(wire.monitors.dissector().remarks().empty()) << i;
    // What is never asked is found all the same, when both have gone on.
    wire.capsule(false, completion(900, 4).bytes());
    for (std::uint16_t cid = 3; cid < 40; ++cid) {
      wire.ask(cid, kRead);
      wire.capsule(false, completion(cid, static_cast<std::uint16_t>((cid + 2) % 8)).bytes());
    }
    wire.monitors.finish();
    EXPECT_EQ(wire.monitors.findings().size(), 1u) << i << wire.all();
    EXPECT_HEARD(wire, Rule::nvme_completion_unknown, false);
  }
}

TEST(Capture, AnAcknowledgementInFrontOfItsRequestIsNoGap) {
  CapturedRdma wire;
  wire.holds = true;
  wire.ask(1, kRead);
  wire.answer(false, roce::Opcode::acknowledge, wire.host_psn - 1, 2);
  wire.let_all_go({1, 0});
  wire.reply(1);
  wire.monitors.finish();
  EXPECT_SILENT(wire);
  EXPECT_TRUE(wire.monitors.dissector().remarks().empty());
}

// ---------------------------------------------------------------------------------------- kickstart, RDMA's sizes

TEST(Capture, KickstartDiscoveryIsNotBlamed) {
  TcpWire wire(a_capture());
  wire.controller_port = 8009;
  wire.handshake();
  auto request = TcpWire::head<tcp::IcReq>(PduType::ic_req, 1);
  wire.pdu(true, request.bytes());
  auto response = TcpWire::head<tcp::IcResp>(PduType::ic_resp);
  response.set(tcp::ic_resp::maxh2cdata, 4096);
  wire.pdu(false, response.bytes());
  for (const std::uint8_t type : {tcp::kKickstartRequest, tcp::kKickstartResponse}) {
    Bytes bytes(1032);
    bytes[0] = type;
    bytes[2] = 16;
    store_le<std::uint32_t>(&bytes[4], static_cast<std::uint32_t>(bytes.size()));
    wire.segment(tcp::is_kickstart_request(type), bytes);
  }
  EXPECT_SILENT(wire);
  EXPECT_EQ(wire.monitors.dissector().counts().pdus, 4u);
  // In the wrong direction it is one of them after all.
  Bytes bytes(16);
  bytes[0] = tcp::kKickstartRequest;
  bytes[2] = bytes[4] = 16;
  wire.segment(false, bytes);
  EXPECT_HEARD(wire, Rule::tcp_type, false);
}

constexpr std::uint16_t kSizes[] = {30, 31, 32, 1023};

TEST(Capture, ConnectAsksForNoMoreThanTheRequestSaid) {
  for (const std::uint16_t sqsize : kSizes) {
    RdmaWire wire(a_capture());
    wire.connect();  // its HSQSIZE is 31
    auto sqe = connect_command();
    sqe.edit<fabrics::ConnectSqe>().set(fabrics::connect_sqe::sqsize, ZeroBased<std::uint16_t>::from_raw(sqsize));
    wire.capsule(true, sqe.bytes());
    EXPECT_EQ(wire.heard(Rule::rdma_connect_sqsize, true), sqsize > 31) << sqsize << wire.all();
  }
}

TEST(Capture, RulesThatHadSomethingToJudgeAreNamed) {
  Captured wire;
  wire.exchange(1);
  const std::vector<Rule> judged = wire.monitors.judged();
  const auto has = [&](Rule rule) { return std::find(judged.begin(), judged.end(), rule) != judged.end(); };
  for (const Rule rule : {Rule::tcp_plen, Rule::tcp_c2h_order, Rule::nvme_sqhd, Rule::nvme_completion_unknown, Rule::tcp_icreq_first}) {
    EXPECT_TRUE(has(rule)) << facts_of(rule).name;
  }
  for (const Rule rule :
       {Rule::rdma_icrc, Rule::tcp_r2t_range, Rule::tcp_hdgst, Rule::nvme_sqhd_off, Rule::mi_integrity, Rule::nvme_io_before_ready}) {
    EXPECT_FALSE(has(rule)) << facts_of(rule).name;
  }
}

}  // namespace
}  // namespace fb::monitors
