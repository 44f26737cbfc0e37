// Common headers, digests, TermReqs and the end of connections, as a host meets them.
#include "conformance/cases/tcp/host_scene.h"

namespace fb::conformance {

namespace {

using namespace tcp_host_cases;

/// With one byte of the header changed, and a digest that is right all the same.
Bytes changed(const Connection& c, Bytes pdu, std::size_t at, std::uint8_t value) {
  const std::size_t header = pdu[2];
  pdu[at] = value;
  if (c.ic_resp().get(tcp::ic_resp::hdgst_enable)) {
    store_le<std::uint32_t>(&pdu[header], tcp::crc32c(ByteView(pdu).first(header)));
  }
  return pdu;
}

Bytes response_with(const Connection& c, std::uint16_t cid, std::size_t at, std::uint8_t value) {
  return changed(c, c.response(cid), at, value);
}

/// A read is answered by a response with one byte changed.
void response_ends(HostBench& bench, Check& check, std::string_view after, std::size_t at, std::uint8_t value,
                   const std::vector<Fatal>& allowed) {
  expect_end_of_command(
      bench, check, kRead, 4096, after,
      [=, &check](Connection& c, std::uint16_t cid) {
        check.precondition(at != 1 || !c.ic_resp().get(tcp::ic_resp::hdgst_enable), "there are no header digests");
        c.say(response_with(c, cid, at, value));
      },
      allowed);
}

/// A read is answered by a C2HData with one byte changed.
void data_ends(HostBench& bench, Check& check, std::string_view after, std::size_t at, std::uint8_t value,
               const std::vector<Fatal>& allowed) {
  expect_end_of_command(
      bench, check, kRead, 4096, after,
      [=, &check](Connection& c, std::uint16_t cid) {
        check.precondition(at != 1 || !c.ic_resp().get(tcp::ic_resp::ddgst_enable), "there are no data digests");
        c.say(changed(c, c.build(data_header(PduType::c2h_data, cid, 0, 4096, flag::last_pdu), pattern(4096)), at, value));
      },
      allowed);
}

/// Provokes an H2CTermReq, and returns the PDU that was wrong. A host may take a reserved type for no fatal error; one
/// that goes on is given C2HData for a command that does not exist, which is one by the text.
Bytes provoke(HostBench& bench, Connection& c) {
  const auto over = [&] { return c.ended() || c.count(PduType::h2c_term_req) > 0; };
  const Bytes reserved = response_with(c, 7, 0, 0x08);
  c.say(reserved);
  bench.run_until(over, 10_s);
  if (over()) return reserved;
  const Bytes unknown = c.build(data_header(PduType::c2h_data, 0x7777, 0, 512, flag::last_pdu), pattern(512));
  c.say(unknown);
  bench.run_until(over, 10_s);
  return unknown;
}

/// The H2CTermReq of the host, and what it answers. INCONCLUSIVE where the host sends none.
struct Farewell {
  Bytes wrong;
  SeenPdu term;
  std::size_t behind;
};
Farewell needed_term_req(HostBench& bench, Check& check) {
  Scene scene(bench);
  Connection& c = scene.connect();
  c.cut_off();
  const Bytes wrong = provoke(bench, c);
  const auto& said = c.said();
  const auto found = [&] {
    return std::find_if(said.begin(), said.end(), [](const SeenPdu& pdu) { return pdu.is(PduType::h2c_term_req); });
  };
  bench.run_until([&] { return c.ended(); }, 2_s);
  check.precondition(found() != said.end(), "the host sends an H2CTermReq");
  Farewell farewell{wrong, *found(), static_cast<std::size_t>(said.end() - found()) - 1};
  c.reset();
  return farewell;
}

/// The controller says goodbye like this; the host must go.
void expect_parting(HostBench& bench, Check& check, std::string_view after, std::uint32_t plen, std::size_t bytes) {
  Scene scene(bench);
  Connection& c = scene.connect();
  c.cut_off();
  Record<tcp::TermReq> header;
  header.set(tcp::pdu::type, PduType::c2h_term_req)
      .set(tcp::pdu::hlen, tcp::TermReq::size)
      .set(tcp::pdu::plen, plen)
      .set(tcp::term_req::fes, FatalStatus::sequence_error);
  Bytes term(header.bytes().begin(), header.bytes().end());
  term.resize(bytes);
  const std::size_t before = c.said().size();
  c.say(term);
  bench.run_until([&] { return c.ended(); }, 20_s);
  check.that(c.ended(), "the host closes after " + std::string(after), "the connection stays open");
  for (std::size_t i = before; i < c.said().size(); ++i) {
    check.that(!c.said()[i].is(PduType::h2c_term_req), "no H2CTermReq in answer to a TermReq", "there is one");
  }
  c.reset();
}

/// The digests of everything that the host has said after ICReq on connections with digests.
template <class See>
std::size_t each_pdu(Scene& scene, See&& see) {
  std::size_t seen = 0;
  for (const auto& c : scene.middle.connections()) {
    for (const SeenPdu& pdu : c->said()) {
      if (pdu.is(PduType::ic_req) || pdu.is(PduType::h2c_term_req)) continue;
      ++seen;
      see(*c, pdu);
    }
  }
  return seen;
}

void some_io(Scene& scene) {
  HostBench& bench = scene.bench;
  // Also more than 32 KiB and 64 KiB in one PDU, where the controller takes it, and an odd rest.
  for (const std::uint32_t bytes : {4096u, kLarge, 4 * kLarge, 4 * kLarge + 512}) {
    Bytes& data = bench.keep(pattern(bytes));
    bench.product().write(bench.nsid(), 0, data).wait_for(kLong);
    bench.product().read(bench.nsid(), 0, data).wait_for(kLong);
  }
}

constexpr host_with kAsksForDigests{"digests", &with_digests};

}  // namespace

// ---- common headers ----

CONFORMANCE_CASE(tcp_host_refuses_reserved_types, "tcp.host.pdu.type", roles::host, sends_malformed) {
  response_ends(bench, check, "a PDU of type 08h", 0, 0x08, {{FatalStatus::invalid_header_field, 0}, {FatalStatus::sequence_error}});
}

CONFORMANCE_CASE(tcp_host_refuses_pdus_of_hosts, "tcp.host.pdu.direction", roles::host, sends_malformed) {
  expect_end_of_command(
      bench, check, kRead, 4096, "H2CData from the controller",
      [](Connection& c, std::uint16_t cid) { c.say(data_header(PduType::h2c_data, cid, 0, 512, flag::last_pdu), pattern(512)); },
      {{FatalStatus::invalid_header_field, 0}, {FatalStatus::sequence_error}, {FatalStatus::unsupported_parameter}});
}

CONFORMANCE_CASE(tcp_host_refuses_a_wrong_hlen, "tcp.host.pdu.hlen", roles::host, sends_malformed) {
  response_ends(bench, check, "a response with HLEN 20", 2, 20, {{FatalStatus::invalid_header_field, 2}});
}

CONFORMANCE_CASE(tcp_host_refuses_a_plen_below_hlen, "tcp.host.pdu.plen", roles::host, sends_malformed) {
  response_ends(bench, check, "a response with PLEN 16", 4, 16, {{FatalStatus::invalid_header_field, 4}});
}

CONFORMANCE_CASE(tcp_host_refuses_a_pdo_inside_the_header, "tcp.host.pdu.pdo", roles::host, sends_malformed) {
  data_ends(bench, check, "C2HData with PDO 8", 3, 8,
            {{FatalStatus::invalid_header_field, 3}, {FatalStatus::invalid_header_field, 16}, {FatalStatus::invalid_header_field, 4}});
}

CONFORMANCE_CASE(tcp_host_refuses_hdgstf_without_digests, "tcp.host.pdu.hdgstf", roles::host, sends_malformed) {
  response_ends(bench, check, "a response with HDGSTF", 1, flag::hdgstf,
                {{FatalStatus::invalid_header_field, 1}, {FatalStatus::invalid_header_field, 4}});
}

CONFORMANCE_CASE(tcp_host_refuses_ddgstf_without_digests, "tcp.host.pdu.ddgstf", roles::host, sends_malformed) {
  data_ends(bench, check, "C2HData with DDGSTF", 1, flag::ddgstf | flag::last_pdu,
            {{FatalStatus::invalid_header_field, 1}, {FatalStatus::invalid_header_field, 16}, {FatalStatus::invalid_header_field, 4}});
}

CONFORMANCE_CASE(tcp_host_takes_pdus_in_any_pieces, "tcp.host.stream.split", roles::host) {
  Scene scene(bench);
  scene.middle.to_host = [](Connection& c, std::vector<Bytes>&) { c.dribble(); };
  const auto connected = bench.product().connect({}).wait_for(kLong);
  check.require(connected.has_value() && connected->ok, "the host connects, byte by byte", connected ? connected->text : "it does not end");
  Bytes& data = bench.keep(Bytes(4096));
  const Bytes sent = pattern(data.size(), 3);
  bench.script.data_out = [&](const CommandContext& command, MutableBytes out) {
    if (command.qid != 0 && command.sqe[0] == kRead) std::copy_n(sent.begin(), out.size(), out.begin());
  };
  const auto status = bench.product().read(bench.nsid(), 0, data).wait_for(kLong);
  check.require(status.has_value(), "the read ends", "it still waits");
  check.success(*status, "read");
  check.bytes("data of the read", data, sent);
  check.equal("connections", scene.middle.connections().size(), 2u);
}

// ---- digests ----

CONFORMANCE_CASE(tcp_host_uses_no_digest_that_was_declined, "tcp.host.digest.declined", roles::host, kAsksForDigests) {
  std::uint8_t granted = 0;
  Scene scene(bench);
  scene.middle.to_controller = [&granted](Connection&, std::vector<Bytes>& pdus) {
    if (is(pdus.front(), PduType::ic_req)) pdus.front()[11] &= granted;
  };
  // None, and each without the other: Connect has a header and data.
  for (; granted < 3; ++granted) {
    const auto connected = bench.product().connect({}).wait_for(kLong);
    check.require(connected.has_value(), "connecting ends", "it still goes on");
  }
  each_pdu(scene, [&](Connection& c, const SeenPdu& pdu) {
    const bool header = c.ic_resp().get(tcp::ic_resp::hdgst_enable);
    check.equal("HDGSTF", pdu.has(flag::hdgstf), header);
    const std::size_t head = pdu.hlen() + (header ? tcp::kDigestBytes : 0);
    const bool data = c.ic_resp().get(tcp::ic_resp::ddgst_enable) && pdu.bytes.size() > head;
    check.equal("DDGSTF", pdu.has(flag::ddgstf), data);
  });
  check.that(!scene.middle.connections().empty(), "the host has tried to connect");
}

CONFORMANCE_CASE(tcp_host_header_digests_are_right, "tcp.host.digest.header", roles::host, kAsksForDigests) {
  Scene scene(bench);
  const auto connected = bench.product().connect({}).wait_for(60_s);
  if (connected && connected->ok) some_io(scene);
  std::size_t with_digest = 0;
  each_pdu(scene, [&](Connection& c, const SeenPdu& pdu) {
    if (!c.ic_resp().get(tcp::ic_resp::hdgst_enable)) return;
    ++with_digest;
    check.that(pdu.has(flag::hdgstf), "HDGSTF is set", pdu.text());
    check.that(pdu.header_digest_good(), "a right header digest", pdu.text());
  });
  check.precondition(with_digest > 0, "the host sends commands where header digests were agreed on");
}

CONFORMANCE_CASE(tcp_host_data_digests_are_right, "tcp.host.digest.data", roles::host, kAsksForDigests) {
  Scene scene(bench);
  const auto connected = bench.product().connect({}).wait_for(60_s);
  if (connected && connected->ok) some_io(scene);
  std::size_t with_data = 0;
  each_pdu(scene, [&](Connection& c, const SeenPdu& pdu) {
    if (!c.ic_resp().get(tcp::ic_resp::ddgst_enable)) return;
    const std::size_t head = pdu.hlen() + (pdu.has(flag::hdgstf) ? tcp::kDigestBytes : 0);
    if (pdu.bytes.size() <= head) return;
    ++with_data;
    check.that(pdu.has(flag::ddgstf), "DDGSTF is set", pdu.text());
    check.that(pdu.data_digest_good(), "a right data digest", pdu.text());
  });
  check.precondition(with_data > 0, "the host sends data");
}

CONFORMANCE_CASE(tcp_host_notices_a_wrong_header_digest, "tcp.host.digest.header-wrong", roles::host, kAsksForDigests, sends_malformed) {
  Scene scene(bench);
  Connection& io = scene.connect();
  check.precondition(io.ic_resp().get(tcp::ic_resp::hdgst_enable), "header digests are in use");
  scene.catch_command(kRead);
  Bytes& data = bench.keep(Bytes(4096));
  auto reading = bench.product().read(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host reads");
  Bytes pdu = c.build(data_header(PduType::c2h_data, scene.cid, 0, 4096, flag::last_pdu), pattern(4096));
  pdu[24] ^= 0x10;
  c.say(pdu);
  expect_host_ends(check, c, bench.world(), "a wrong header digest", {{FatalStatus::header_digest_error, load_le<std::uint32_t>(&pdu[24])}},
                   Silence::forbidden);
  c.reset();
  reading.wait_for(kLong);
}

CONFORMANCE_CASE(tcp_host_notices_a_wrong_header_digest_of_an_r2t, "tcp.host.digest.header-wrong", roles::host, kAsksForDigests,
                 sends_malformed) {
  Scene scene(bench);
  Connection& io = scene.connect();
  check.precondition(io.ic_resp().get(tcp::ic_resp::hdgst_enable), "header digests are in use");
  scene.catch_command(kWrite);
  Bytes& data = bench.keep(pattern(kLarge));
  auto writing = bench.product().write(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host writes");
  Bytes pdu = c.build(r2t(scene.cid, 1, 0, kLarge));
  pdu[24] ^= 0x10;
  c.say(pdu);
  expect_host_ends(check, c, bench.world(), "a wrong header digest", {{FatalStatus::header_digest_error, load_le<std::uint32_t>(&pdu[24])}},
                   Silence::forbidden);
  c.reset();
  writing.wait_for(kLong);
}

CONFORMANCE_CASE(tcp_host_reports_a_wrong_data_digest, "tcp.host.digest.data-wrong", roles::host, kAsksForDigests, sends_malformed) {
  Scene scene(bench);
  Connection& io = scene.connect();
  check.precondition(io.ic_resp().get(tcp::ic_resp::ddgst_enable), "data digests are in use");
  bool damaged = false;
  scene.middle.to_host = [&](Connection& c, std::vector<Bytes>& pdus) {
    if (c.qid().value_or(0) == 0 || !is(pdus.front(), PduType::c2h_data)) return;
    pdus.front().back() ^= 0x01;
    damaged = true;
  };
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{kLarge}}) {
    damaged = false;
    const auto status = bench.product().read(bench.nsid(), 0, bench.keep(Bytes(bytes))).wait_for(kLong);
    check.precondition(damaged, "C2HData reaches the host");
    const std::string what = "a read of " + std::to_string(bytes) + " bytes with wrong data digests";
    check.require(status.has_value(), what + " ends", "it still waits");
    check.that(!status->ok(), "the host reports that " + what + " failed", "it reports success");
    check.precondition(*status != HostUnderTest::kUntold, "the host tells the status");
    check.status(*status, one_of(sc::transient_transport_error), what);
  }
}

CONFORMANCE_CASE(tcp_host_checks_the_digest_of_each_pdu, "tcp.host.digest.data-wrong", roles::host, kAsksForDigests, sends_malformed) {
  constexpr std::size_t kPiece = 1024, kPieces = 4;
  Scene scene(bench);
  Connection& io = scene.connect();
  check.precondition(io.ic_resp().get(tcp::ic_resp::ddgst_enable), "data digests are in use");
  std::size_t bad = 0;
  bool damaged = false;
  // The data of a read come in four PDUs, of which one is damaged.
  scene.middle.to_host = [&](Connection& c, std::vector<Bytes>& pdus) {
    if (c.qid().value_or(0) == 0 || !is(pdus.front(), PduType::c2h_data)) return;
    const Bytes whole = pdus.front();
    const View<tcp::DataPdu> head{whole};
    if (head.get(dp::length) != kPiece * kPieces || head.get(dp::offset) != 0) return;
    const ByteView data = ByteView(whole).last(kPiece * kPieces + tcp::kDigestBytes);
    pdus.clear();
    for (std::size_t i = 0; i < kPieces; ++i) {
      const std::uint8_t flags = i + 1 == kPieces ? head.get(tcp::pdu::flags) & (flag::last_pdu | flag::success) : std::uint8_t{0};
      const auto offset = static_cast<std::uint32_t>(i * kPiece);
      pdus.push_back(c.build(data_header(PduType::c2h_data, head.get(dp::cccid), offset, kPiece, flags), data.subspan(offset, kPiece)));
      if (i == bad) pdus.back().back() ^= 0x01;
    }
    damaged = true;
  };
  for (bad = 0; bad < kPieces; ++bad) {
    damaged = false;
    const auto status = bench.product().read(bench.nsid(), 0, bench.keep(Bytes(kPiece * kPieces))).wait_for(kLong);
    check.precondition(damaged, "C2HData of 4096 bytes reaches the host");
    const std::string what = "a read of four PDUs whose number " + std::to_string(bad) + " has a wrong data digest";
    check.require(status.has_value(), what + " ends", "it still waits");
    check.that(!status->ok(), what + " fails", "it is reported as a success");
  }
}

CONFORMANCE_CASE(tcp_host_checks_the_digest_of_data_with_success, "tcp.host.digest.data-wrong", roles::host,
                 arranged("digests, and no SQ flow control",
                          [](EmbeddedSetup& setup) {
                            with_digests(setup);
                            setup.connect.disable_sq_flow_control = true;
                          }),
                 sends_malformed) {
  Scene scene(bench);
  scene.connect();
  bool damaged = false;
  // Each try of the read is answered in this way.
  scene.middle.to_host = [&](Connection& c, std::vector<Bytes>& pdus) {
    if (c.qid().value_or(0) == 0) return;
    for (Bytes& pdu : pdus) {
      if (!is(pdu, PduType::c2h_data) || (View<tcp::CommonHeader>{pdu}.get(tcp::pdu::flags) & flag::success) == 0) continue;
      pdu.back() ^= 0x01;
      damaged = true;
    }
  };
  const auto status = bench.product().read(bench.nsid(), 0, bench.keep(Bytes(4096))).wait_for(kLong);
  check.precondition(damaged, "C2HData with SUCCESS reaches the host");
  check.require(status.has_value(), "the read ends", "it still waits");
  check.that(!status->ok(), "a read fails whose C2HData with SUCCESS has a wrong data digest", "it is reported as a success");
}

CONFORMANCE_CASE(tcp_host_checks_the_digests_of_its_admin_queue, "tcp.host.digest.data-wrong", roles::host, kAsksForDigests,
                 sends_malformed) {
  Scene scene(bench);
  bool damaged = false, in_use = false;
  scene.middle.to_host = [&](Connection& c, std::vector<Bytes>& pdus) {
    if (c.qid().value_or(1) != 0 || !is(pdus.front(), PduType::c2h_data)) return;
    in_use = c.ic_resp().get(tcp::ic_resp::ddgst_enable);
    pdus.front().back() ^= 0x01;
    damaged = true;
  };
  const auto outcome = bench.product().connect({}).wait_for(kLong);
  check.precondition(damaged && in_use, "C2HData with digests reaches the host on its admin queue");
  check.that(!outcome || !outcome->ok, "a host does not use Identify data with a wrong digest", "it is connected");
}

CONFORMANCE_CASE(tcp_host_stays_after_a_wrong_data_digest, "tcp.host.digest.data-not-fatal", roles::host, kAsksForDigests,
                 sends_malformed) {
  Scene scene(bench);
  Connection& io = scene.connect();
  check.precondition(io.ic_resp().get(tcp::ic_resp::ddgst_enable), "data digests are in use");
  bool damaged = false;
  scene.middle.to_host = [&](Connection& c, std::vector<Bytes>& pdus) {
    if (damaged || c.qid().value_or(0) == 0 || !is(pdus.front(), PduType::c2h_data)) return;
    pdus.front().back() ^= 0x01;
    damaged = true;
  };
  Bytes& data = bench.keep(Bytes(4096));
  bench.product().read(bench.nsid(), 0, data).wait_for(kLong);
  check.precondition(damaged, "C2HData reaches the host");
  check.that(!io.ended(), "the connection goes on after a wrong data digest", "it ended");
  const auto again = bench.product().read(bench.nsid(), 8, data).wait_for(kLong);
  check.that(again.has_value() && again->ok(), "the next read succeeds");
  check.equal("connections", scene.middle.connections().size(), 2u);
}

// ---- the end ----

CONFORMANCE_CASE(tcp_host_says_why_it_goes, "tcp.host.termreq.sent", roles::host, sends_malformed) {
  Scene scene(bench);
  Connection& c = scene.connect();
  c.cut_off();
  provoke(bench, c);
  check.equal("H2CTermReqs after a fatal error", c.count(PduType::h2c_term_req), 1u);
  c.reset();
}

CONFORMANCE_CASE(tcp_host_sends_back_what_was_wrong, "tcp.host.termreq.header", roles::host, sends_malformed) {
  const Farewell farewell = needed_term_req(bench, check);
  const ByteView bytes = farewell.term.bytes;
  check.equal("HLEN", farewell.term.hlen(), tcp::TermReq::size);
  check.between<std::size_t>("PLEN", bytes.size(), tcp::TermReq::size, tcp::kTermReqMax);
  if (bytes.size() < tcp::TermReq::size) return;
  const auto fes = static_cast<unsigned>(farewell.term.as<tcp::TermReq>().get(tcp::term_req::fes));
  check.between<unsigned>("FES", fes, 1, 6);
  check.bytes("reserved bytes", bytes.subspan(14, 10), Bytes(10));
  const ByteView copy = bytes.subspan(tcp::TermReq::size);
  check.require(copy.size() >= tcp::kCommonHeaderBytes, "the header of the PDU that was wrong", std::to_string(copy.size()) + " bytes");
  const std::size_t least = std::min(copy.size(), farewell.wrong.size());
  check.bytes("header of the PDU that was wrong", copy.first(least), ByteView(farewell.wrong).first(least));
}

CONFORMANCE_CASE(tcp_host_says_nothing_after_a_termreq, "tcp.host.termreq.last", roles::host, sends_malformed) {
  check.equal("PDUs behind an H2CTermReq", needed_term_req(bench, check).behind, 0u);
}

CONFORMANCE_CASE(tcp_host_closes_after_a_termreq, "tcp.host.termreq.received", roles::host) {
  expect_parting(bench, check, "C2HTermReq", 24 + 72, 24 + 72);
}

CONFORMANCE_CASE(tcp_host_closes_after_a_termreq_of_4_bytes, "tcp.host.termreq.length", roles::host, sends_malformed) {
  expect_parting(bench, check, "a C2HTermReq with PLEN 4", 4, 24);
}

CONFORMANCE_CASE(tcp_host_closes_after_a_termreq_of_300_bytes, "tcp.host.termreq.length", roles::host, sends_malformed) {
  expect_parting(bench, check, "a C2HTermReq with PLEN 300", 300, 300);
}

CONFORMANCE_CASE(tcp_host_does_not_take_half_a_pdu_for_data, "tcp.host.connection.lost", roles::host) {
  Scene scene(bench);
  scene.connect();
  const Bytes stored = pattern(8192, 42);
  bench.script.data_out = [&](const CommandContext& command, MutableBytes out) {
    if (command.qid != 0 && command.sqe[0] == kRead) std::copy_n(stored.begin(), out.size(), out.begin());
  };
  scene.catch_command(kRead);
  Bytes& data = bench.keep(Bytes(8192));
  auto reading = bench.product().read(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host reads");
  // The first half arrives, and of the second a part; then the connection is gone.
  c.say(data_header(PduType::c2h_data, scene.cid, 0, 4096), ByteView(stored).first(4096));
  const Bytes rest = c.build(data_header(PduType::c2h_data, scene.cid, 4096, 4096, flag::last_pdu), ByteView(stored).subspan(4096));
  c.say(ByteView(rest).first(1000));
  bench.run_until([] { return false; }, 10_ms);
  c.finish();
  const auto status = reading.wait_for(kLong);
  check.require(status.has_value(), "the read ends", "it still waits");
  if (status->ok()) check.bytes("data of a read that succeeded", data, stored);
  check.that(c.ended() || !status->ok(), "the host gives the connection up", "it keeps it");
}

}  // namespace fb::conformance
