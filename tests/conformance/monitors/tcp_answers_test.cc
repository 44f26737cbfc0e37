// What a controller answers to PDUs that a fault changed on the way to it.
#include "tests/conformance/monitors/wire.h"

namespace fb::monitors {
namespace {

using tcp::PduType;
namespace flag = tcp::pdu_flags;

constexpr std::uint8_t kWrite = 1;

/// A connection with both digests and a queue that is connected, seen by a proxy with faults.
struct Faulty : TcpWire {
  explicit Faulty(bool judged = true) {
    if (judged) monitors.judge_answers_to_faults();
    open(0, 3);
    capsule(true, connect_command().bytes());
    capsule(false, completion(0, 1).bytes());
  }
  /// A Write whose data is in its capsule, with one bit changed behind the digests.
  void write(std::uint16_t cid, std::size_t changed) {
    Bytes header(tcp::CapsuleCmd::size);
    header[0] = static_cast<std::uint8_t>(PduType::capsule_cmd);
    const nvme::Sqe sqe = command(kWrite, cid, nvme::SglDescriptor::in_capsule(0, 16));
    std::copy(sqe.bytes().begin(), sqe.bytes().end(), header.begin() + tcp::kCommonHeaderBytes);
    send(header, Bytes(16), changed);
  }
  void h2c(std::uint16_t cid, std::uint16_t ttag, std::size_t changed) {
    auto header = head<tcp::DataPdu>(PduType::h2c_data, flag::last_pdu);
    header.set(tcp::data_pdu::cccid, cid).set(tcp::data_pdu::ttag, ttag).set(tcp::data_pdu::length, 512);
    send(header.bytes(), Bytes(512), changed);
  }
  void asked(std::uint16_t cid, std::uint16_t ttag) {
    capsule(true, command(kWrite, cid, nvme::SglDescriptor::transport(512)).bytes());
    data(false, PduType::r2t, cid, ttag, 0, 512);
  }
  void send(ByteView header, ByteView bytes, std::size_t changed) {
    Bytes pdu = tcp::build_pdu(header, bytes, true, true);
    if (changed < pdu.size()) pdu[changed] ^= 1;
    segment(true, pdu);
  }
  void fail(std::uint16_t cid) {
    auto response = completion(cid, 2);
    response.set(nvme::cqe::status, nvme::sc::transient_transport_error);
    capsule(false, response.bytes());
  }
  void terminate() { segment(false, tcp::build_pdu(head<tcp::TermReq>(PduType::c2h_term_req).bytes(), {}, false, false)); }
  void end(bool by_host = false, std::uint8_t how = tcp_flag::fin) { segment(by_host, {}, static_cast<std::uint8_t>(how | tcp_flag::ack)); }
  /// The rule that spoke against the controller, or none.
  std::optional<Rule> blamed() const {
    for (const Finding& found : monitors.findings()) {
      if (found.actor == "controller") return found.rule;
    }
    return {};
  }
};

constexpr std::size_t kNone = SIZE_MAX, kInSqe = 20, kInCapsuleData = 80, kInH2cHeader = 23, kInH2cData = 40;

TEST(TcpAnswers, AFatalErrorEndsWithATermReq) {
  for (const std::uint8_t how : {tcp_flag::fin, tcp_flag::rst}) {
    Faulty good;
    good.write(1, kInSqe);
    good.terminate();
    good.end(false, how);
    EXPECT_EQ(good.blamed(), std::nullopt) << good.all();

    Faulty bad;
    bad.write(1, kInSqe);
    bad.end(false, how);
    EXPECT_EQ(bad.blamed(), Rule::tcp_answers_header_digest) << bad.all();
  }
  Faulty data;
  data.asked(1, 5);
  data.h2c(1, 5, kInH2cHeader);
  data.end();
  EXPECT_EQ(data.blamed(), Rule::tcp_answers_header_digest) << data.all();
}

TEST(TcpAnswers, AnUnknownTransferTagIsFatal) {
  Faulty good;
  good.asked(1, 5);
  good.h2c(1, 6, kNone);
  good.terminate();
  good.end();
  EXPECT_EQ(good.blamed(), std::nullopt) << good.all();

  Faulty bad;
  bad.asked(1, 5);
  bad.h2c(1, 6, kNone);
  bad.end();
  EXPECT_EQ(bad.blamed(), Rule::tcp_answers_transfer_tag) << bad.all();

  Faulty right;
  right.asked(1, 5);
  right.h2c(1, 5, kNone);
  right.end();
  EXPECT_EQ(right.blamed(), std::nullopt) << right.all();
}

TEST(TcpAnswers, AWrongDataDigestFailsOneCommand) {
  for (const bool in_capsule : {true, false}) {
    const Rule rule = in_capsule ? Rule::tcp_answers_capsule_digest : Rule::tcp_answers_h2c_digest;
    const auto damaged = [&](Faulty& wire) {
      if (in_capsule) return wire.write(1, kInCapsuleData);
      wire.asked(1, 5);
      wire.h2c(1, 5, kInH2cData);
    };
    Faulty good;
    damaged(good);
    good.fail(1);
    good.end();
    EXPECT_EQ(good.blamed(), std::nullopt) << good.all();

    Faulty succeeds;
    damaged(succeeds);
    succeeds.capsule(false, completion(1, 2).bytes());
    EXPECT_EQ(succeeds.blamed(), rule) << succeeds.all();

    Faulty ends;
    damaged(ends);
    ends.end();
    EXPECT_EQ(ends.blamed(), rule) << ends.all();

    Faulty fatal;
    damaged(fatal);
    fatal.terminate();
    EXPECT_EQ(fatal.blamed(), rule) << fatal.all();

    Faulty another;
    damaged(another);
    another.capsule(false, completion(2, 2).bytes());
    another.fail(1);
    EXPECT_NE(another.blamed(), rule) << another.all();
  }
}

TEST(TcpAnswers, WhatMayHaveAnotherReasonIsSilent) {
  Faulty host_ends;
  host_ends.write(1, kInSqe);
  host_ends.end(true);
  host_ends.end(false);
  EXPECT_EQ(host_ends.blamed(), std::nullopt) << host_ends.all();

  Faulty late;
  late.write(1, kInSqe);
  late.wait(Duration::s(2));
  late.end();
  EXPECT_EQ(late.blamed(), std::nullopt) << late.all();

  Faulty twice;
  twice.write(1, kInCapsuleData);
  twice.write(2, kInSqe);
  twice.end();
  EXPECT_EQ(twice.blamed(), std::nullopt) << twice.all();

  // In a case of the suite the case judges the answer.
  Faulty unasked(false);
  unasked.write(1, kInSqe);
  unasked.end();
  EXPECT_EQ(unasked.blamed(), std::nullopt) << unasked.all();
}

}  // namespace
}  // namespace fb::monitors
