// Headers of PDUs that a controller must not take, what it sends back, and TermReqs.
// Where the text says no more than "fatal", any FEI of FES 1 will do.
#include "conformance/cases/tcp/scene.h"

namespace fb::conformance::tcp_cases {

namespace {

/// A command capsule whose header can be spoilt.
Bytes a_capsule(const RawTcp& raw) {
  nvme::Sqe sqe = host::as_sqe(host::property_get(fabrics::property::vs));
  sqe.set(nvme::sqe::cid, kCid + 1);
  return raw.build(RawTcp::capsule(sqe.bytes()));
}

/// The capsule of a Connect, with its data.
Bytes a_connect(const RawTcp& raw, ControllerBench& bench) {
  const host::ConnectCommand connect = bench.connect_command();
  const auto command = with_sgl(connect.sqe, SglDescriptor::in_capsule(0, fabrics::ConnectData::size));
  return raw.build(RawTcp::capsule(command.bytes()), connect.data.bytes());
}

void expect_header_fatal(Check& check, RawTcp& raw, const Bytes& spoilt, std::string_view what) {
  raw.send(ByteView(spoilt));
  expect_fatal(check, raw, what, {{FatalStatus::invalid_header_field}}, spoilt);
}

Bytes term_req(std::uint32_t plen, std::size_t bytes) {
  Record<tcp::TermReq> header;
  header.set(tcp::pdu::type, PduType::h2c_term_req)
      .set(tcp::pdu::hlen, tcp::TermReq::size)
      .set(tcp::pdu::plen, plen)
      .set(tcp::term_req::fes, FatalStatus::sequence_error);
  Bytes made(header.bytes().begin(), header.bytes().end());
  made.resize(bytes);
  return made;
}

/// The PDU that was wrong, and the C2HTermReq that answered it. A controller may take a wrong HLEN for no fatal error;
/// one that goes on is given H2CData with a transfer tag that no R2T gave, which is one by the text.
struct Fatally {
  std::unique_ptr<RawTcp> raw;
  Bytes wrong;
  SeenPdu term;
};
Fatally needed_term_req(ControllerBench& bench, Check& check, bool followed = false) {
  auto raw = open_admin(bench);
  const auto term_after = [&](const Bytes& wrong) {
    raw->send(ByteView(wrong));
    if (followed) raw->send(ByteView(a_capsule(*raw)));
    return raw->next(PduType::c2h_term_req);
  };
  Bytes wrong = a_capsule(*raw);
  wrong[2] = 68;
  auto term = term_after(wrong);
  std::string_view what = "a C2HTermReq after a wrong HLEN";
  if (!term && !raw->closed()) {
    raw = open_admin(bench);
    wrong = raw->build(h2c_data({0x5A5A, 0, 4}, 0, 4, true), Bytes(4));
    term = term_after(wrong);
    what = "a C2HTermReq after H2CData with a transfer tag that no R2T gave";
  }
  check.require(term.has_value(), what, raw->closed() ? "connection closed without C2HTermReq" : "silence");
  return {std::move(raw), std::move(wrong), *term};
}

/// The connection ends at once, without an answer.
void expect_silent_end(Check& check, RawTcp& raw, std::string_view after) {
  const auto answer = raw.next(Duration::s(5));
  check.that(!answer.has_value(), "no PDU in answer to " + std::string(after), answer ? answer->text() : "");
  check.that(raw.wait_closed(Duration::s(5)), "the connection ends after " + std::string(after), "it stays open");
}

}  // namespace

CONFORMANCE_CASE(pdu_of_the_other_direction_is_fatal, "tcp.pdu.direction", roles::controller) {
  auto raw = open_admin(bench);
  Record<tcp::DataPdu> stray;
  stray.set(tcp::pdu::type, PduType::c2h_data)
      .set(tcp::pdu::flags, flag::last_pdu)
      .set(tcp::data_pdu::cccid, kCid)
      .set(tcp::data_pdu::length, 4);
  const Bytes data(4);
  raw->send(stray, data);
  // The text calls it fatal, and does not say which FES is appropriate.
  expect_fatal(check, *raw, "C2HData from the host",
               {{FatalStatus::invalid_header_field}, {FatalStatus::sequence_error}, {FatalStatus::unsupported_parameter}});
}

CONFORMANCE_CASE(pdu_of_a_reserved_type_is_fatal, "tcp.pdu.reserved-type", roles::controller, sends_malformed) {
  auto raw = open_admin(bench);
  Bytes pdu = a_capsule(*raw);
  pdu[0] = 0x0E;
  expect_header_fatal(check, *raw, pdu, "a PDU of type 0Eh");
}

CONFORMANCE_CASE(capsule_of_wrong_header_length_is_fatal, "tcp.capsule.hlen", roles::controller, sends_malformed) {
  auto raw = open_admin(bench);
  Bytes pdu = a_capsule(*raw);
  pdu[2] = 68;
  expect_header_fatal(check, *raw, pdu, "a CapsuleCmd with HLEN 68");
}

CONFORMANCE_CASE(capsule_shorter_than_its_header_is_fatal, "tcp.capsule.plen", roles::controller, sends_malformed) {
  auto raw = open_admin(bench);
  Bytes pdu = a_capsule(*raw);
  store_le<std::uint32_t>(&pdu[4], 60);
  expect_header_fatal(check, *raw, pdu, "a CapsuleCmd with PLEN 60");
}

CONFORMANCE_CASE(capsule_with_misaligned_data_is_fatal, "tcp.capsule.pdo", roles::controller, sends_malformed) {
  auto raw = greeted(bench);
  // No alignment that a controller may ask for has a data offset that is no multiple of 4.
  Bytes pdu = a_connect(*raw, bench);
  pdu.insert(pdu.begin() + pdu[3], 1, 0);
  ++pdu[3];
  store_le<std::uint32_t>(&pdu[4], static_cast<std::uint32_t>(pdu.size()));
  raw->send(ByteView(pdu));
  expect_fatal(check, *raw, "a CapsuleCmd with a PDO that is no multiple of 4", {{FatalStatus::invalid_header_field, 3}}, pdu);
}

CONFORMANCE_CASE(capsule_with_an_unasked_header_digest_is_fatal, "tcp.pdu.hdgstf", roles::controller, sends_malformed) {
  auto raw = open_admin(bench);
  Bytes pdu = a_capsule(*raw);
  pdu[1] |= flag::hdgstf;
  expect_header_fatal(check, *raw, pdu, "HDGSTF where no header digest was negotiated");
}

CONFORMANCE_CASE(capsule_with_an_unasked_data_digest_is_fatal, "tcp.pdu.ddgstf", roles::controller, sends_malformed) {
  auto raw = greeted(bench);
  Bytes pdu = a_connect(*raw, bench);
  pdu[1] |= flag::ddgstf;
  expect_header_fatal(check, *raw, pdu, "DDGSTF where no data digest was negotiated");
}

CONFORMANCE_CASE(termreq_of_the_host_ends_the_connection, "tcp.termreq.received", roles::controller) {
  auto raw = open_admin(bench);
  raw->send(ByteView(term_req(tcp::TermReq::size, tcp::TermReq::size)));
  check.that(raw->wait_closed(Duration::s(35)), "the connection ends after an H2CTermReq", "it stays open");
}

CONFORMANCE_CASE(termreq_that_is_too_long_ends_the_connection, "tcp.termreq.too-long", roles::controller, sends_malformed) {
  auto raw = open_admin(bench);
  raw->send(ByteView(term_req(300, 300)));
  expect_silent_end(check, *raw, "an H2CTermReq with PLEN 300");
}

CONFORMANCE_CASE(termreq_that_is_too_short_ends_the_connection, "tcp.termreq.too-short", roles::controller, sends_malformed) {
  auto raw = open_admin(bench);
  raw->send(ByteView(term_req(20, 24)));
  expect_silent_end(check, *raw, "an H2CTermReq with PLEN 20");
}

CONFORMANCE_CASE(termreq_carries_the_header_that_was_wrong, "tcp.termreq.header", roles::controller, sends_malformed) {
  const Fatally fatally = needed_term_req(bench, check);
  check.that(fatally.term.bytes.size() <= tcp::kTermReqMax, "a C2HTermReq has at most 152 bytes",
             std::to_string(fatally.term.bytes.size()) + " bytes");
  const ByteView copy = ByteView(fatally.term.bytes).subspan(tcp::TermReq::size);
  check.require(copy.size() >= tcp::kCommonHeaderBytes, "the header that was wrong is in the C2HTermReq",
                std::to_string(copy.size()) + " bytes of it");
  check.bytes("the header in the C2HTermReq", copy.first(tcp::kCommonHeaderBytes), ByteView(fatally.wrong).first(tcp::kCommonHeaderBytes));
}

CONFORMANCE_CASE(nothing_follows_a_termreq, "tcp.termreq.last", roles::controller, sends_malformed) {
  // A command behind the PDU that was wrong: it must not be served any more.
  const Fatally fatally = needed_term_req(bench, check, true);
  const auto after = fatally.raw->next(Duration::s(2));
  check.that(!after.has_value(), "nothing is sent after a C2HTermReq", after ? after->text() : "");
}

CONFORMANCE_CASE(response_capsule_has_its_shape, "tcp.capsuleresp.shape", roles::controller) {
  auto raw = open_admin(bench);
  raw->send(ByteView(a_capsule(*raw)));
  const auto answer = raw->next(PduType::capsule_resp);
  check.require(answer.has_value(), "a command is answered", raw->instead());
  check.equal("flags", answer->flags(), 0);
  check.equal("HLEN", answer->hlen(), tcp::CapsuleResp::size);
  check.equal("PDO", answer->pdo(), 0u);
  check.equal("PLEN", answer->bytes.size(), tcp::CapsuleResp::size);
}

}  // namespace fb::conformance::tcp_cases
