// ICReq and ICResp: the first two PDUs of a connection.
#include <fmt/format.h>

#include "conformance/cases/tcp/scene.h"

namespace fb::conformance::tcp_cases {

namespace {

constexpr std::uint32_t kConnections = 11;

Bytes bytes_of(const Record<tcp::IcReq>& request) { return tcp::build_pdu(request.bytes(), {}, false, false); }

}  // namespace

CONFORMANCE_CASE(icresp_has_its_shape, "tcp.icresp.shape", roles::controller) {
  auto raw = fresh(bench);
  raw->send(RawTcp::ic_req());
  const auto answer = raw->next();
  check.require(answer.has_value(), "ICReq is answered", raw->instead());
  check.equal("type", answer->type(), static_cast<std::uint8_t>(PduType::ic_resp));
  check.require(answer->bytes.size() == tcp::IcResp::size, "ICResp has 128 bytes", std::to_string(answer->bytes.size()) + " bytes");
  check.equal("HLEN", answer->hlen(), tcp::IcResp::size);
  check.equal("PFV", answer->as<tcp::IcResp>().get(tcp::ic_resp::pfv), 0);
}

CONFORMANCE_CASE(icresp_reserves_what_is_reserved, "tcp.icresp.reserved", roles::controller) {
  auto raw = greeted(bench);
  const SeenPdu& answer = raw->seen().front();
  check.equal("flags", answer.flags(), 0);
  check.equal("PDO", answer.pdo(), 0u);
  const auto reserved = first_reserved_set<tcp::IcResp>(answer.bytes);
  check.that(!reserved, "reserved bits of ICResp are zero", "byte " + std::to_string(reserved.value_or(0)) + " is not");
}

CONFORMANCE_CASE(icresp_cpda_is_in_range, "tcp.icresp.cpda", roles::controller) {
  auto raw = greeted(bench);
  check.between("CPDA", raw->greeting().get(tcp::ic_resp::cpda), std::uint8_t{0}, tcp::kAlignmentMax);
}

CONFORMANCE_CASE(icresp_maxh2cdata_is_in_dwords, "tcp.icresp.maxh2cdata", roles::controller) {
  auto raw = greeted(bench);
  const std::uint32_t most = raw->greeting().get(tcp::ic_resp::maxh2cdata);
  check.equal("MAXH2CDATA modulo 4", most % 4, 0u);
}

CONFORMANCE_CASE(icresp_maxh2cdata_is_enough, "tcp.icresp.maxh2cdata-least", roles::controller) {
  auto raw = greeted(bench);
  const std::uint32_t most = raw->greeting().get(tcp::ic_resp::maxh2cdata);
  check.that(most >= 4096, "MAXH2CDATA is at least 4096", std::to_string(most));
}

CONFORMANCE_CASE(icresp_enables_no_digest_unasked, "tcp.icresp.digest-unasked", roles::controller) {
  auto raw = greeted(bench);
  check.equal("HDGST_ENABLE", raw->greeting().get(tcp::ic_resp::hdgst_enable), false);
  check.equal("DDGST_ENABLE", raw->greeting().get(tcp::ic_resp::ddgst_enable), false);
}

CONFORMANCE_CASE(icreq_of_unknown_format_is_fatal, "tcp.icreq.pfv", roles::controller) {
  auto raw = connected(bench);
  auto request = RawTcp::ic_req();
  request.set(tcp::ic_req::pfv, 1);
  raw->send(request);
  expect_fatal(check, *raw, "ICReq with PFV 1", {{FatalStatus::invalid_header_field, 8}, {FatalStatus::unsupported_parameter, 8}});
}

CONFORMANCE_CASE(icreq_with_hpda_out_of_range_is_fatal, "tcp.icreq.hpda", roles::controller) {
  auto raw = connected(bench);
  auto request = RawTcp::ic_req();
  request.set(tcp::ic_req::hpda, tcp::kAlignmentMax + 1);
  raw->send(request);
  expect_fatal(check, *raw, "ICReq with HPDA 32", {{FatalStatus::invalid_header_field, 10}, {FatalStatus::unsupported_parameter, 10}});
}

CONFORMANCE_CASE(icreq_of_wrong_length_is_fatal, "tcp.icreq.plen", roles::controller, sends_malformed) {
  auto raw = connected(bench);
  Bytes request = bytes_of(RawTcp::ic_req());
  store_le<std::uint32_t>(&request[4], 132);
  request.resize(132);
  raw->send(ByteView(request));
  expect_fatal(check, *raw, "ICReq with PLEN 132", {{FatalStatus::invalid_header_field, 4}}, request);
}

CONFORMANCE_CASE(icreq_of_wrong_header_length_is_fatal, "tcp.icreq.hlen", roles::controller, sends_malformed) {
  auto raw = connected(bench);
  Bytes request = bytes_of(RawTcp::ic_req());
  request[2] = 64;
  raw->send(ByteView(request));
  expect_fatal(check, *raw, "ICReq with HLEN 64", {{FatalStatus::invalid_header_field, 2}}, request);
}

CONFORMANCE_CASE(second_icreq_is_fatal, "tcp.icreq.second", roles::controller) {
  auto raw = greeted(bench);
  raw->send(RawTcp::ic_req());
  expect_fatal(check, *raw, "a second ICReq", {{FatalStatus::sequence_error}});
}

CONFORMANCE_CASE(capsule_before_icreq_is_not_served, "tcp.icreq.first", roles::controller) {
  auto raw = connected(bench);
  raw->send_connect(bench.connect_command());
  const auto answer = raw->next();
  if (!answer) {
    check.that(raw->wait_closed(Duration()), "the connection ends", "silence");
    return;
  }
  check.equal("answer to a capsule before ICReq", answer->type(), static_cast<std::uint8_t>(PduType::c2h_term_req));
  if (!answer->is(PduType::c2h_term_req)) return;
  check.equal("FES", answer->as<tcp::TermReq>().get(tcp::term_req::fes), FatalStatus::sequence_error);
}

CONFORMANCE_CASE(greeting_may_come_in_pieces, "tcp.stream.split", roles::controller) {
  auto raw = connected(bench);
  const Bytes request = bytes_of(RawTcp::ic_req());
  for (std::size_t at = 0; at < request.size(); at += 5) {
    const std::size_t part = std::min<std::size_t>(5, request.size() - at);
    raw->send(ByteView(request).subspan(at, part));
    bench.world().run_for(1_ms);
  }
  check.require(raw->next(PduType::ic_resp).has_value(), "an ICReq in pieces is answered", raw->instead());
  // Each behind one of its kind that came whole.
  auto admin = open_admin(bench);
  std::uint16_t cid = kCid;
  const auto command = [&] {
    const auto sqe = with_sgl(host::property_get(fabrics::property::vs), SglDescriptor::transport(0), ++cid);
    return admin->build(RawTcp::capsule(sqe.bytes()));
  };
  for (const std::size_t cut : {1u, 7u, 8u, 9u, 16u, 40u, 71u}) {
    admin->send(ByteView(command()));
    check.require(admin->completion(cid).has_value(), "a whole capsule is answered", admin->instead());
    const Bytes parts = command();
    admin->send(ByteView(parts).first(cut));
    bench.world().run_for(1_ms);
    admin->send(ByteView(parts).subspan(cut));
    const std::string what = fmt::format("a capsule whose first {} bytes come alone is answered", cut);
    check.require(admin->completion(cid).has_value(), what, admin->instead());
  }
}

CONFORMANCE_CASE(stray_bytes_end_their_own_connection_alone, "tcp.stream.garbage", roles::controller, sends_malformed,
                 furnished([](EmbeddedSetup& setup) { setup.fabric.connections_max = kConnections; })) {
  RawAssociation& other = bench.associate();
  auto raw = connected(bench);
  Bytes garbage(4096);
  bench.random("garbage").fill(garbage);
  garbage[0] = 0xE7;  // no PDU begins like this
  raw->send(ByteView(garbage));
  const bool ends = raw->next(PduType::c2h_term_req, Duration::s(35)).has_value() || raw->closed();
  check.that(ends, "the connection ends", "it stays open");
  const auto reply = other.admin().send(host::property_get(fabrics::property::vs)).wait();
  check.success(reply, "Property Get of another association");
  // Behind a Connect, and as often as there is room for connections: none of them goes on taking its place.
  for (unsigned i = 1; i < kConnections; ++i) {
    auto admin = open_admin(bench);
    admin->send(ByteView(garbage));
    const bool over = admin->next(PduType::c2h_term_req, Duration::s(35)).has_value() || admin->closed();
    check.require(over, "the connection of an admin queue ends", "it stays open");
  }
  expect_greeting(bench, check, RawTcp::ic_req());
}

}  // namespace fb::conformance::tcp_cases
