// NVMe/TCP: each rule hears what breaks it, from whoever breaks it; gaps and missing beginnings are silent.
#include "tests/conformance/monitors/wire.h"

namespace fb::monitors {
namespace {

using tcp::PduType;
namespace flag = tcp::pdu_flags;

#define EXPECT_HEARD(wire, rule, host) EXPECT_TRUE((wire).heard(rule, host)) << (wire).all()
#define EXPECT_SILENT(wire) EXPECT_TRUE((wire).monitors.findings().empty()) << (wire).all()

constexpr std::uint8_t kWrite = 1, kRead = 2;

/// A connection with a queue that is connected.
struct Connected : TcpWire {
  explicit Connected(bool no_flow_control = false, std::uint32_t maxr2t = 0, std::uint8_t digests = 0) {
    open(maxr2t, digests);
    capsule(true, connect_command(0, no_flow_control).bytes());
    capsule(false, completion(0, no_flow_control ? nvme::kSqFlowControlDisabled : 1).bytes());
  }
  void write(std::uint16_t cid, std::uint32_t length) {
    capsule(true, command(kWrite, cid, nvme::SglDescriptor::transport(length)).bytes());
  }
  void read(std::uint16_t cid, std::uint32_t length) { capsule(true, command(kRead, cid, nvme::SglDescriptor::transport(length)).bytes()); }
  void r2t(std::uint16_t cid, std::uint32_t offset, std::uint32_t length, std::uint16_t ttag = 5) {
    data(false, PduType::r2t, cid, ttag, offset, length);
  }
  void h2c(std::uint16_t cid, std::uint32_t offset, std::uint32_t length, bool last, std::uint16_t ttag = 5) {
    data(true, PduType::h2c_data, cid, ttag, offset, length, last ? flag::last_pdu : std::uint8_t{0});
  }
  void c2h(std::uint16_t cid, std::uint32_t offset, std::uint32_t length, std::uint8_t flags = 0) {
    data(false, PduType::c2h_data, cid, 0, offset, length, flags);
  }
};

TEST(TcpRules, AGoodExchangeIsSilent) {
  for (std::uint8_t digests = 0; digests < 4; ++digests) {
    Connected wire(false, 1, digests);
    wire.write(1, 6000);
    wire.r2t(1, 0, 4096, 5);
    wire.r2t(1, 4096, 1904, 6);
    wire.h2c(1, 0, 2048, false);
    wire.h2c(1, 2048, 2048, true);
    wire.h2c(1, 4096, 1904, true, 6);
    wire.capsule(false, completion(1, 2).bytes());
    wire.read(2, 512);
    wire.c2h(2, 0, 256);
    wire.c2h(2, 256, 256, flag::last_pdu);
    wire.capsule(false, completion(2, 3).bytes());
    wire.capsule(true, command(kWrite, 3, nvme::SglDescriptor::in_capsule(0, 16)).bytes(), Bytes(16));
    wire.capsule(false, completion(3, 4).bytes());
    EXPECT_SILENT(wire);
    EXPECT_EQ(wire.monitors.dissector().counts().commands, 4u);
  }
}

TEST(TcpRules, SuccessStandsForAResponse) {
  Connected wire(true);
  wire.read(1, 512);
  wire.c2h(1, 0, 512, flag::last_pdu | flag::success);
  wire.read(1, 512);
  EXPECT_SILENT(wire);
  wire.c2h(1, 0, 512, flag::last_pdu | flag::success);
  wire.capsule(false, completion(1, 0).bytes());
  EXPECT_HEARD(wire, Rule::tcp_success_alone, false);
}

// Three rounds of the queue without an SQHD, and then one: the controller alone is to blame, and for SUCCESS alone.
TEST(TcpRules, SuccessWithFlowControlLeavesTheQueueToBothSides) {
  Connected wire;
  for (std::uint16_t cid = 1; cid <= 100; ++cid) {
    wire.read(cid, 512);
    wire.c2h(cid, 0, 512, flag::last_pdu | flag::success);
  }
  wire.read(101, 512);
  wire.c2h(101, 0, 512, flag::last_pdu);
  wire.capsule(false, completion(101, 102 % 8).bytes());
  wire.monitors.finish();
  ASSERT_FALSE(wire.monitors.findings().empty());
  for (const Finding& found : wire.monitors.findings()) {
    EXPECT_EQ(found.rule, Rule::tcp_success_flow) << facts_of(found.rule).name << ": " << found.text;
  }
}

TEST(TcpRules, AGapIsSaidAndSilent) {
  Connected wire;
  wire.write(1, 512);
  wire.skip(false, 24);  // an R2T that the capture lacks
  wire.h2c(1, 0, 512, true);
  wire.capsule(false, completion(1, 2).bytes());
  wire.segment(true, {});
  EXPECT_SILENT(wire);
}

TEST(TcpRules, AMissingBeginningIsSaidAndSilent) {
  TcpWire wire;
  wire.capsule(false, completion(9, 2).bytes());
  wire.capsule(true, command(kRead, 1, nvme::SglDescriptor::transport(512)).bytes());
  wire.data(false, PduType::c2h_data, 1, 0, 0, 512, flag::last_pdu);
  EXPECT_SILENT(wire);
  EXPECT_FALSE(wire.monitors.dissector().remarks().empty());
  EXPECT_EQ(wire.monitors.dissector().counts().pdus, 3u);
}

TEST(TcpRules, SegmentsOutOfOrderAreSilent) {
  Connected wire;
  const Bytes one = tcp::build_pdu(
      [] {
        Bytes header(tcp::CapsuleCmd::size);
        header[0] = static_cast<std::uint8_t>(PduType::capsule_cmd);
        const nvme::Sqe sqe = command(kRead, 1, nvme::SglDescriptor::transport(512));
        std::copy(sqe.bytes().begin(), sqe.bytes().end(), header.begin() + 8);
        return header;
      }(),
      {}, false, false);
  // The second half comes first.
  wire.skip(true, 30);
  wire.segment(true, ByteView(one).subspan(30));
  wire.skip(true, 0u - static_cast<std::uint32_t>(one.size()));
  wire.segment(true, ByteView(one).first(40));
  wire.skip(true, static_cast<std::uint32_t>(one.size()) - 40);
  wire.c2h(1, 0, 512, flag::last_pdu);
  wire.capsule(false, completion(1, 2).bytes());
  EXPECT_SILENT(wire);
  EXPECT_EQ(wire.monitors.dissector().counts().commands, 2u);
}

TEST(TcpRules, Types) {
  Connected wire;
  Bytes odd(8);
  odd[0] = 0x0F;
  odd[2] = odd[4] = 8;
  wire.segment(true, odd);
  EXPECT_HEARD(wire, Rule::tcp_type, true);
  Connected turned;
  turned.data(true, PduType::r2t, 1, 1, 0, 512);
  EXPECT_HEARD(turned, Rule::tcp_type, true);
}

TEST(TcpRules, Lengths) {
  Connected hlen;
  Bytes response = tcp::build_pdu(Bytes(24, 0), {}, false, false);
  response[0] = static_cast<std::uint8_t>(PduType::capsule_resp);
  response[2] = 20;
  hlen.segment(false, response);
  EXPECT_HEARD(hlen, Rule::tcp_hlen, false);

  Connected plen;
  response[2] = 24;
  response[4] = 26;
  response.resize(26);
  plen.segment(false, response);
  EXPECT_HEARD(plen, Rule::tcp_plen, false);

  Connected broken;
  response[4] = 4;
  broken.segment(false, response);
  EXPECT_HEARD(broken, Rule::tcp_plen, false);
}

TEST(TcpRules, OffsetsFlagsAndPadding) {
  Connected pdo;
  Bytes data = tcp::build_pdu(TcpWire::head<tcp::DataPdu>(PduType::c2h_data).bytes(), Bytes(16), false, false);
  store_le<std::uint32_t>(&data[16], 18);
  data[3] = 22;
  pdo.segment(false, data);
  EXPECT_HEARD(pdo, Rule::tcp_pdo, false);

  Connected flags;
  data = tcp::build_pdu(TcpWire::head<tcp::DataPdu>(PduType::r2t, flag::success).bytes(), {}, false, false);
  flags.segment(false, data);
  EXPECT_HEARD(flags, Rule::tcp_flags, false);

  Connected padding;
  data = tcp::build_pdu(TcpWire::head<tcp::DataPdu>(PduType::c2h_data, flag::last_pdu).bytes(), Bytes(16), false, false, 32);
  store_le<std::uint32_t>(&data[16], 16);
  data[28] = 1;
  padding.segment(false, data);
  EXPECT_HEARD(padding, Rule::tcp_padding, false);
}

TEST(TcpRules, Digests) {
  Connected header(false, 0, 1);
  Bytes response = tcp::build_pdu(TcpWire::head<tcp::CapsuleResp>(PduType::capsule_resp).bytes(), {}, true, false);
  response[26] ^= 1;
  header.segment(false, response);
  EXPECT_HEARD(header, Rule::tcp_hdgst, false);

  Connected missing(false, 0, 1);
  missing.header_digest = false;
  missing.read(1, 512);
  EXPECT_HEARD(missing, Rule::tcp_flags, true);

  Connected data(false, 0, 2);
  Bytes pdu = tcp::build_pdu(TcpWire::head<tcp::DataPdu>(PduType::c2h_data, flag::last_pdu).bytes(), Bytes(16), false, true);
  store_le<std::uint32_t>(&pdu[16], 16);
  pdu[26] = 1;
  data.segment(false, pdu);
  EXPECT_HEARD(data, Rule::tcp_ddgst, false);
}

TEST(TcpRules, Opening) {
  TcpWire impatient;
  impatient.handshake();
  impatient.capsule(true, connect_command().bytes());
  EXPECT_HEARD(impatient, Rule::tcp_icreq_first, true);

  Connected twice;
  twice.pdu(true, TcpWire::head<tcp::IcReq>(PduType::ic_req).bytes());
  EXPECT_HEARD(twice, Rule::tcp_icreq_once, true);

  TcpWire version;
  version.handshake();
  version.pdu(true, TcpWire::head<tcp::IcReq>(PduType::ic_req).set(tcp::ic_req::pfv, 1).bytes());
  EXPECT_HEARD(version, Rule::tcp_icreq_fields, true);

  const auto answered = [](auto&& change) {
    TcpWire wire;
    wire.handshake();
    wire.pdu(true, TcpWire::head<tcp::IcReq>(PduType::ic_req).bytes());
    auto response = TcpWire::head<tcp::IcResp>(PduType::ic_resp);
    response.set(tcp::ic_resp::maxh2cdata, 4096);
    change(response);
    wire.pdu(false, response.bytes());
    return wire.monitors.findings().empty() ? Rule{} : wire.monitors.findings()[0].rule;
  };
  EXPECT_EQ(answered([](auto& r) { r.set(tcp::ic_resp::cpda, 32); }), Rule::tcp_icresp_fields);
  EXPECT_EQ(answered([](auto& r) { r.set(tcp::ic_resp::maxh2cdata, 4094); }), Rule::tcp_icresp_maxh2cdata);
  EXPECT_EQ(answered([](auto& r) { r.set(tcp::ic_resp::ddgst_enable, true); }), Rule::tcp_icresp_digests);

  Connected again;
  again.pdu(false, TcpWire::head<tcp::IcResp>(PduType::ic_resp).bytes());
  EXPECT_HEARD(again, Rule::tcp_icresp_order, false);
}

TEST(TcpRules, NothingFollowsATermReq) {
  Connected wire;
  Bytes term = tcp::build_pdu(TcpWire::head<tcp::TermReq>(PduType::c2h_term_req).bytes(), {}, false, false);
  wire.segment(false, term);
  wire.capsule(false, completion(0, 1).bytes());
  EXPECT_HEARD(wire, Rule::tcp_after_termreq, false);
}

TEST(TcpRules, R2ts) {
  Connected unknown;
  unknown.r2t(1, 0, 512);
  EXPECT_HEARD(unknown, Rule::tcp_r2t_command, false);
  Connected reads;
  reads.read(1, 512);
  reads.r2t(1, 0, 512);
  EXPECT_HEARD(reads, Rule::tcp_r2t_command, false);
  Connected range;
  range.write(1, 512);
  range.r2t(1, 0, 516);
  EXPECT_HEARD(range, Rule::tcp_r2t_range, false);
  Connected limit;
  limit.write(1, 1024);
  limit.r2t(1, 0, 512, 5);
  limit.r2t(1, 512, 512, 6);
  EXPECT_HEARD(limit, Rule::tcp_r2t_limit, false);
}

TEST(TcpRules, H2cData) {
  const auto asked = [](auto&& answer) {
    Connected wire;
    wire.write(1, 8192);
    wire.r2t(1, 0, 8000);
    answer(wire);
    return wire.monitors.findings().empty() ? Rule{} : wire.monitors.findings()[0].rule;
  };
  EXPECT_EQ(asked([](Connected& wire) { wire.h2c(1, 0, 512, false, 6); }), Rule::tcp_h2c_unasked);
  EXPECT_EQ(asked([](Connected& wire) { wire.h2c(1, 7900, 200, false); }), Rule::tcp_h2c_range);
  EXPECT_EQ(asked([](Connected& wire) { wire.h2c(1, 512, 512, false); }), Rule::tcp_h2c_order);
  EXPECT_EQ(asked([](Connected& wire) { wire.h2c(1, 0, 512, true); }), Rule::tcp_h2c_last);
  EXPECT_EQ(asked([](Connected& wire) { wire.h2c(1, 0, 4100, false); }), Rule::tcp_h2c_limit);
}

TEST(TcpRules, ReservedBytesOfData) {
  // The last four bytes of the header, and the transfer tag of C2HData.
  const auto said = [](bool by_host, PduType type, std::size_t at) {
    Connected wire;
    wire.write(1, 512);
    wire.read(2, 512);
    if (by_host) wire.r2t(1, 0, 512);
    Record<tcp::DataPdu> header;
    const bool reads = type == PduType::c2h_data;
    header.set(tcp::pdu::type, type)
        .set(tcp::pdu::flags, type == PduType::r2t ? std::uint8_t{0} : flag::last_pdu)
        .set(tcp::data_pdu::cccid, reads ? 2u : 1u)
        .set(tcp::data_pdu::ttag, reads ? 0u : 5u)
        .set(tcp::data_pdu::length, 512u);
    if (at != 0) header.mutable_bytes()[at] = 1;
    wire.pdu(by_host, header.bytes(), type == PduType::r2t ? Bytes{} : Bytes(512));
    return wire.monitors.findings().empty() ? std::optional<Rule>{} : wire.monitors.findings()[0].rule;
  };
  EXPECT_EQ(said(false, PduType::r2t, 20), Rule::tcp_r2t_reserved);
  EXPECT_EQ(said(true, PduType::h2c_data, 23), Rule::tcp_h2c_reserved);
  EXPECT_EQ(said(false, PduType::c2h_data, 22), Rule::tcp_c2h_reserved);
  EXPECT_EQ(said(false, PduType::c2h_data, 10), Rule::tcp_c2h_reserved);
  EXPECT_EQ(said(false, PduType::r2t, 0), std::nullopt);
  EXPECT_EQ(said(true, PduType::h2c_data, 0), std::nullopt);
  EXPECT_EQ(said(false, PduType::c2h_data, 0), std::nullopt);
}

TEST(TcpRules, C2hData) {
  const auto read = [](auto&& answer, bool no_flow_control = false) {
    Connected wire(no_flow_control);
    wire.read(1, 512);
    answer(wire);
    return wire.monitors.findings().empty() ? Rule{} : wire.monitors.findings()[0].rule;
  };
  EXPECT_EQ(read([](Connected& wire) { wire.c2h(2, 0, 512); }), Rule::tcp_c2h_command);
  EXPECT_EQ(read([](Connected& wire) { wire.c2h(1, 4, 508); }), Rule::tcp_c2h_order);
  EXPECT_EQ(read([](Connected& wire) { wire.c2h(1, 0, 516); }), Rule::tcp_c2h_range);
  EXPECT_EQ(read([](Connected& wire) { wire.c2h(1, 0, 512); }), Rule::tcp_c2h_last);
  EXPECT_EQ(read([](Connected& wire) { wire.c2h(1, 0, 256, flag::success); }, true), Rule::tcp_success_alone);
  EXPECT_EQ(read([](Connected& wire) { wire.c2h(1, 0, 512, flag::success | flag::last_pdu); }), Rule::tcp_success_flow);
}

TEST(TcpRules, ASuccessfulReadHasItsData) {
  const auto said = [](std::uint8_t opcode, std::uint32_t arrives, nvme::Status status) {
    Connected wire;
    wire.capsule(true, command(opcode, 1, nvme::SglDescriptor::transport(4096)).bytes());
    if (arrives != 0) wire.c2h(1, 0, arrives);
    nvme::Cqe entry = completion(1, 2);
    entry.set(nvme::cqe::status, status);
    wire.capsule(false, entry.bytes());
    return wire.monitors.findings().empty() ? Rule{} : wire.monitors.findings()[0].rule;
  };
  constexpr std::uint8_t kIdentify = 0x06, kGetLogPage = 0x02;
  EXPECT_EQ(said(kIdentify, 0, nvme::sc::success), Rule::tcp_c2h_last);
  EXPECT_EQ(said(kIdentify, 512, nvme::sc::success), Rule::tcp_c2h_last);
  EXPECT_EQ(said(kIdentify, 0, nvme::sc::invalid_field), Rule{}) << "an error needs no data";
  EXPECT_EQ(said(kGetLogPage, 0, nvme::sc::success), Rule{}) << "an action on a log may bring none";
}

TEST(TcpRules, DataInCapsules) {
  Connected wire;
  wire.capsule(true, command(kWrite, 1, nvme::SglDescriptor::in_capsule(0, 32)).bytes(), Bytes(16));
  EXPECT_HEARD(wire, Rule::tcp_capsule_data, true);
}

}  // namespace
}  // namespace fb::monitors
