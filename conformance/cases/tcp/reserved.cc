// What the PDUs of a controller reserve, and the header that a C2HTermReq brings back.
#include <fmt/format.h>

#include "conformance/cases/tcp/scene.h"

namespace fb::conformance::tcp_cases {

namespace {

// Bytes of C2HData and R2T.
constexpr std::size_t kTtag = tcp::data_pdu::ttag.offset, kTail = 20;

bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

void check_zero(Check& check, const SeenPdu& pdu, std::string_view what, std::size_t from, std::size_t to) {
  const ByteView range = ByteView(pdu.bytes).subspan(from, to - from + 1);
  check.that(all_zero(range), fmt::format("bytes {} to {} of {} are 0", from, to, what), words(range));
}

/// Header, digest and nothing else.
void check_flags(Check& check, const SeenPdu& pdu, std::string_view what, std::uint8_t defined) {
  check.equal(fmt::format("reserved flags of {}", what), pdu.flags() & ~defined, 0);
}

/// Several R2Ts for one write; a real product is taken as it is.
const furnished several_r2ts{[](EmbeddedSetup& setup) { setup.tcp.r2t_bytes = 8192; }};

/// An H2CData for an R2T that there was not; its header is as long as that of every H2CData.
Bytes stray_data(const RawTcp& raw, const Transfer& r2t) {
  Transfer wrong = r2t;
  wrong.ttag = static_cast<std::uint16_t>(wrong.ttag ^ 0x5555);
  const Bytes data(4);
  return raw.build(h2c_data(wrong, r2t.offset, 4, false), data);
}

struct Terminated {
  SeenPdu term;
  Bytes offending;
};

/// What is wrong with an H2CData, of which the write may have sent all that its first R2T asks for.
struct Wrong {
  std::string what;
  std::uint32_t from = 0, length = 4;  ///< counted from the R2T
  bool after_last = false;
};
std::vector<Wrong> wrong_data(const RawTcp& raw, const Transfer& r2t) {
  return {{"behind its R2T", r2t.length},
          {"that leaves out bytes", 4},
          {"after the last of its R2T", r2t.length - 4, 4, true},
          {"longer than MAXH2CDATA", 0, h2c_data_max(raw) + 4}};
}

/// FEI has a meaning with FES 1, 3 and 6 alone; what stands there with another is not judged.
void check_information(Check& check, const SeenPdu& term, const std::string& what) {
  const auto view = term.as<tcp::TermReq>();
  const auto status = view.get(tcp::term_req::fes);
  check.between("FES after " + what, static_cast<unsigned>(status), 1u, 6u);
  const std::uint32_t information = view.get(tcp::term_req::fei);
  const bool offset = status == FatalStatus::invalid_header_field || status == FatalStatus::unsupported_parameter;
  if (offset) check.between("FEI, an offset in the header, after " + what, information, 0u, static_cast<unsigned>(tcp::DataPdu::size) - 1);
}

/// A C2HTermReq in answer to data that nobody asked for.
Terminated terminated(ControllerBench& bench, Check& check) {
  IoQueue io = open_io(bench);
  io.raw->send_command(write_command(bench, blocks_for(bench, beyond_capsule(bench))));
  const Transfer r2t = needed_r2t(*io.raw);
  Bytes offending = stray_data(*io.raw, r2t);
  io.raw->send(ByteView(offending));
  auto term = io.raw->next(PduType::c2h_term_req);
  check.precondition(term.has_value(), "H2CData of an unknown tag is answered by a C2HTermReq");
  return {std::move(*term), std::move(offending)};
}

}  // namespace

CONFORMANCE_CASE(c2hdata_reserves_what_is_reserved, "tcp.c2hdata.reserved", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  io.raw->send_command(read_command(bench, blocks_for(bench, within_mdts(bench, 16384))));
  bool any = false;
  for (;;) {
    const auto pdu = io.raw->next();
    check.require(pdu.has_value(), "a read is answered", io.raw->closed() ? "the connection ended" : "silence");
    if (!pdu->is(PduType::c2h_data)) break;
    any = true;
    check_flags(check, *pdu, "C2HData", flag::hdgstf | flag::ddgstf | flag::last_pdu | flag::success);
    check_zero(check, *pdu, "C2HData", kTtag, kTtag + 1);
    check_zero(check, *pdu, "C2HData", kTail, tcp::DataPdu::size - 1);
    if (pdu->has(flag::success)) break;
  }
  check.require(any, "a read brings C2HData");
}

CONFORMANCE_CASE(r2t_reserves_what_is_reserved, "tcp.r2t.reserved", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  io.raw->send_command(write_command(bench, blocks_for(bench, beyond_capsule(bench))));
  const auto pdu = io.raw->next(PduType::r2t);
  check.require(pdu.has_value(), "a write is answered by an R2T", io.raw->closed() ? "the connection ended" : "silence");
  check_flags(check, *pdu, "R2T", flag::hdgstf);
  check.equal("PDO of R2T", pdu->pdo(), 0u);
  check_zero(check, *pdu, "R2T", kTail, tcp::DataPdu::size - 1);
}

CONFORMANCE_CASE(responses_reserve_what_is_reserved, "tcp.capsuleresp.reserved", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  const auto judge = [&](std::string_view what, const nvme::Sqe& command) {
    io.raw->send_command(command);
    const auto pdu = io.raw->next(PduType::capsule_resp);
    check.require(pdu.has_value(), fmt::format("{} is answered", what), io.raw->closed() ? "the connection ended" : "silence");
    check_flags(check, *pdu, "CapsuleResp", flag::hdgstf);
    check.equal("PDO of CapsuleResp", pdu->pdo(), 0u);
    const View<nvme::CqeLayout> cqe{ByteView(pdu->bytes).subspan(tcp::kCommonHeaderBytes)};
    check.equal(fmt::format("SQID of the response to {}", what), cqe.get(nvme::cqe::sqid), 0);
    check.equal(fmt::format("phase of the response to {}", what), cqe.get(nvme::cqe::phase), 0);
  };
  nvme::Sqe flush = host::flush(bench.nsid());
  flush.set(nvme::sqe::cid, kCid);
  judge("Flush", flush);
  judge("an unknown opcode", host::any_command(0x70, bench.nsid()).set(nvme::sqe::cid, kCid));
}

CONFORMANCE_CASE(termreq_reserves_what_is_reserved, "tcp.termreq.reserved", roles::controller, needs{&a_namespace}, several_r2ts) {
  const Terminated seen = terminated(bench, check);
  check.equal("flags of C2HTermReq", seen.term.flags(), 0);
  check.equal("HLEN of C2HTermReq", seen.term.hlen(), tcp::TermReq::size);
  check.equal("PDO of C2HTermReq", seen.term.pdo(), 0u);
  check_zero(check, seen.term, "C2HTermReq", 14, tcp::TermReq::size - 1);
  check_information(check, seen.term, "H2CData of an unknown tag");
  for (std::size_t row = 0;; ++row) {
    IoQueue io = open_io(bench);
    RawTcp& raw = *io.raw;
    const std::uint32_t blocks = blocks_for(bench, beyond_capsule(bench));
    const Bytes data = pattern(std::size_t{blocks} * bench.declared().block_bytes, 3);
    raw.send_command(write_command(bench, blocks));
    const Transfer r2t = needed_r2t(raw);
    const std::vector<Wrong> all = wrong_data(raw, r2t);
    if (row >= all.size()) return;
    const Wrong& wrong = all[row];
    if (wrong.after_last) serve_r2t(raw, r2t, data, h2c_data_max(raw));
    raw.send(h2c_data(r2t, r2t.offset + wrong.from, wrong.length, wrong.after_last), Bytes(wrong.length));
    const auto term = raw.next(PduType::c2h_term_req);
    if (!term) continue;  // which other cases judge
    check_zero(check, *term, "C2HTermReq", 14, tcp::TermReq::size - 1);
    check_information(check, *term, "H2CData " + wrong.what);
    if (io.association.admin().connected()) io.association.admin().disconnect();
  }
}

CONFORMANCE_CASE(termreq_brings_the_whole_header_back, "tcp.termreq.header-whole", roles::controller, needs{&a_namespace}) {
  const Terminated seen = terminated(bench, check);
  const ByteView copy = ByteView(seen.term.bytes).subspan(tcp::TermReq::size);
  check.require(copy.size() >= tcp::DataPdu::size, "a C2HTermReq holds the whole header of the H2CData that was wrong",
                fmt::format("{} bytes", copy.size()));
  check.bytes("header in the C2HTermReq", copy.first(tcp::DataPdu::size), ByteView(seen.offending).first(tcp::DataPdu::size));
}

CONFORMANCE_CASE(termreq_follows_whole_pdus, "tcp.termreq.header-whole", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench, with_digests(false, true));
  RawTcp& raw = *io.raw;
  const bool digests = raw.greeting().get(tcp::ic_resp::ddgst_enable);
  // More than a connection holds: of its data a part is on its way when the wrong PDU comes.
  raw.send_command(read_command(bench, blocks_for(bench, within_mdts(bench, 1u << 20))));
  const Bytes offending = stray_data(raw, {});
  raw.send(ByteView(offending));
  for (;;) {
    const auto pdu = raw.next();
    check.precondition(pdu.has_value(), "a C2HTermReq, which other cases judge");
    const bool known = pdu->is(PduType::c2h_data) || pdu->is(PduType::capsule_resp) || pdu->is(PduType::c2h_term_req);
    check.require(known, "data, a response or a C2HTermReq", pdu->text());
    if (pdu->is(PduType::c2h_data) && digests) check.that(pdu->data_digest_good(), "the data digest is right", pdu->text());
    if (!pdu->is(PduType::c2h_term_req)) continue;
    const ByteView copy = ByteView(pdu->bytes).subspan(tcp::TermReq::size);
    check.require(copy.size() >= tcp::DataPdu::size, "a C2HTermReq behind data holds the whole header that was wrong", pdu->text());
    check.bytes("header in the C2HTermReq behind data", copy.first(tcp::DataPdu::size), ByteView(offending).first(tcp::DataPdu::size));
    return;
  }
}

}  // namespace fb::conformance::tcp_cases
