// Header and data digests: that they are right where they were negotiated, and what a wrong one does.
#include "conformance/cases/tcp/scene.h"

namespace fb::conformance::tcp_cases {

namespace {

/// An admin queue with digests; a product may decline them.
std::unique_ptr<RawTcp> admin_with(ControllerBench& bench, Check& check, bool header, bool data) {
  auto raw = open_admin(bench, with_digests(header, data));
  check.precondition(!header || raw->greeting().get(tcp::ic_resp::hdgst_enable), "the controller grants header digests");
  check.precondition(!data || raw->greeting().get(tcp::ic_resp::ddgst_enable), "the controller grants data digests");
  return raw;
}

/// An I/O queue likewise.
IoQueue io_with(ControllerBench& bench, Check& check, bool header, bool data) {
  IoQueue io = open_io(bench, with_digests(header, data));
  check.precondition(!header || io.raw->greeting().get(tcp::ic_resp::hdgst_enable), "the controller grants header digests");
  check.precondition(!data || io.raw->greeting().get(tcp::ic_resp::ddgst_enable), "the controller grants data digests");
  return io;
}

/// The PDUs of a queue that has read and written.
std::vector<SeenPdu> after_read_and_write(ControllerBench& bench, Check& check, RawTcp& raw) {
  const std::uint32_t blocks = blocks_for(bench, beyond_capsule(bench));
  raw.send_command(write_command(bench, blocks));
  serve_r2ts(raw, pattern(std::size_t{blocks} * bench.declared().block_bytes, 3));
  (void)response(check, raw, "Write");
  // As usual, and as long as MDTS allows: a digest may cover more than a product has in one piece.
  const std::uint32_t longest = within_mdts(bench, 1u << 18) / bench.declared().block_bytes;
  for (const std::uint32_t count : {blocks, std::max(longest, blocks)}) {
    raw.send_command(read_command(bench, count));
    (void)response(check, raw, "Read");
  }
  return raw.seen();
}

nvme::Sqe identify_command() { return with_sgl(host::identify(nvme::Cns::controller), SglDescriptor::transport(4096)); }

}  // namespace

CONFORMANCE_CASE(header_digest_is_on_every_pdu, "tcp.digest.header.used", roles::controller, needs{&a_namespace}) {
  IoQueue io = io_with(bench, check, true, false);
  for (const SeenPdu& pdu : after_read_and_write(bench, check, *io.raw)) {
    if (pdu.is(PduType::ic_resp)) continue;
    check.that(pdu.has(flag::hdgstf), "HDGSTF is set where header digests were negotiated", pdu.text());
    check.that(pdu.header_digest_good(), "the header digest is the CRC32C of the header", pdu.text());
  }
}

CONFORMANCE_CASE(data_digest_is_on_all_data, "tcp.digest.data.used", roles::controller, needs{&a_namespace}) {
  IoQueue io = io_with(bench, check, false, true);
  std::size_t with_data = 0;
  for (const SeenPdu& pdu : after_read_and_write(bench, check, *io.raw)) {
    if (!pdu.is(PduType::c2h_data)) continue;
    ++with_data;
    check.that(pdu.has(flag::ddgstf), "DDGSTF is set where data digests were negotiated", pdu.text());
    check.that(pdu.data_digest_good(), "the data digest is the CRC32C of the data", pdu.text());
  }
  check.that(with_data > 0, "data arrives");
}

CONFORMANCE_CASE(digests_are_absent_where_not_negotiated, "tcp.digest.absent", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  for (const SeenPdu& pdu : after_read_and_write(bench, check, *io.raw)) {
    check.that(!pdu.has(flag::hdgstf) && (pdu.is(PduType::c2h_term_req) || !pdu.has(flag::ddgstf)), "no digest flag without digests",
               pdu.text());
  }
}

CONFORMANCE_CASE(wrong_header_digest_is_fatal, "tcp.digest.header.wrong", roles::controller, sends_malformed) {
  auto raw = admin_with(bench, check, true, false);
  Bytes pdu = raw->build(RawTcp::capsule(identify_command().bytes()));
  const std::size_t at = tcp::CapsuleCmd::size;
  pdu[at] ^= 0x5A;
  raw->send(ByteView(pdu));
  expect_fatal(check, *raw, "a wrong header digest", {{FatalStatus::header_digest_error, load_le<std::uint32_t>(&pdu[at])}}, pdu);
}

CONFORMANCE_CASE(wrong_header_digest_of_h2cdata_is_fatal, "tcp.digest.header.wrong", roles::controller, needs{&a_namespace},
                 sends_malformed) {
  const std::uint32_t blocks = blocks_for(bench, beyond_capsule(bench));
  for (const bool data : {false, true}) {
    IoQueue io = io_with(bench, check, true, data);
    RawTcp& raw = *io.raw;
    raw.send_command(write_command(bench, blocks));
    const Transfer r2t = needed_r2t(raw);
    const std::uint32_t length = std::min({r2t.length, h2c_data_max(raw), 4096u});
    Bytes pdu = raw.build(h2c_data(r2t, r2t.offset, length, length == r2t.length), pattern(length, 1));
    pdu[tcp::DataPdu::size + 2] ^= 0x5A;
    raw.send(ByteView(pdu));
    expect_fatal(check, raw, "a wrong header digest of H2CData",
                 {{FatalStatus::header_digest_error, load_le<std::uint32_t>(&pdu[tcp::DataPdu::size])}}, pdu);
    if (io.association.admin().connected()) io.association.admin().disconnect();
  }
}

CONFORMANCE_CASE(wrong_data_digest_of_a_capsule_fails_the_command, "tcp.digest.data.wrong-capsule", roles::controller, sends_malformed) {
  auto raw = greeted(bench, with_digests(false, true));
  check.precondition(raw->greeting().get(tcp::ic_resp::ddgst_enable), "the controller grants data digests");
  const host::ConnectCommand connect = bench.connect_command();
  const auto command = with_sgl(connect.sqe, SglDescriptor::in_capsule(0, fabrics::ConnectData::size));
  Bytes pdu = raw->build(RawTcp::capsule(command.bytes()), connect.data.bytes());
  pdu.back() ^= 0x5A;
  raw->send(ByteView(pdu));
  expect_status(check, *raw, one_of(sc::transient_transport_error), "Connect with a wrong data digest");
  raw->send_connect(connect, kCid + 1);
  check.success(response(check, *raw, "Connect afterwards", kCid + 1).get(nvme::cqe::status), "Connect afterwards");
}

CONFORMANCE_CASE(wrong_data_digest_of_any_capsule_fails_the_command, "tcp.digest.data.wrong-capsule", roles::controller,
                 needs{&io_data_in_capsules}, sends_malformed) {
  const std::uint32_t block = bench.declared().block_bytes, most = bench.declared().in_capsule_bytes / block;
  const auto judge = [&](RawTcp& raw, const std::string& queue) {
    std::uint16_t cid = kCid;
    for (const std::uint32_t blocks : {std::uint32_t{1}, std::max(most / 2, 1u), most}) {
      const Bytes data = pattern(std::size_t{blocks} * block, 4);
      const auto write = host::write(bench.nsid(), bench.first_lba(), blocks);
      const auto command = with_sgl(write, SglDescriptor::in_capsule(0, static_cast<std::uint32_t>(data.size())), ++cid);
      Bytes pdu = raw.build(RawTcp::capsule(command.bytes()), data);
      pdu.back() ^= 0x5A;
      raw.send(ByteView(pdu));
      expect_status(check, raw, one_of(sc::transient_transport_error),
                    "Write of " + std::to_string(blocks) + " blocks with a wrong data digest of its capsule" + queue, cid);
    }
    expect_alive(check, raw);
  };
  IoQueue io = io_with(bench, check, false, true);
  judge(*io.raw, "");
  const auto second = open_second_io(bench, io.association, with_digests(false, true));
  if (second && second->raw->greeting().get(tcp::ic_resp::ddgst_enable)) judge(*second->raw, " on a second I/O queue");
}

CONFORMANCE_CASE(wrong_data_digest_of_h2cdata_fails_the_command, "tcp.digest.data.wrong-h2cdata", roles::controller, needs{&a_namespace},
                 sends_malformed) {
  IoQueue io = io_with(bench, check, false, true);
  RawTcp& raw = *io.raw;
  const std::uint32_t blocks = blocks_for(bench, beyond_capsule(bench));
  const Bytes data = pattern(std::size_t{blocks} * bench.declared().block_bytes, 3);
  // The last bytes may come later than the others.
  const auto write = [&](std::uint32_t step, std::size_t wrong, const std::string& what, std::size_t behind = 0) {
    raw.send_command(write_command(bench, blocks));
    const Transfer r2t = needed_r2t(raw);
    check.precondition(r2t.offset == 0 && r2t.length == data.size(), "one R2T asks for the whole write");
    check.precondition(r2t.length <= h2c_data_max(raw), "one H2CData has room for it");
    Bytes all;
    for (std::uint32_t at = 0, i = 0; at < r2t.length; at += step, ++i) {
      const std::uint32_t part = std::min(step, r2t.length - at);
      Bytes pdu = raw.build(h2c_data(r2t, at, part, at + part == r2t.length), ByteView(data).subspan(at, part));
      if (i == wrong) pdu.back() ^= 0x5A;
      all.insert(all.end(), pdu.begin(), pdu.end());
    }
    raw.send(ByteView(all).first(all.size() - behind));
    if (behind != 0) {
      bench.world().run_for(Duration::ms(50));
      raw.send(ByteView(all).last(behind));
    }
    expect_status(check, raw, one_of(sc::transient_transport_error), "Write with a wrong data digest of " + what);
    expect_alive(check, raw);
  };
  write(static_cast<std::uint32_t>(data.size()), 0, "its H2CData");
  const std::uint32_t half = static_cast<std::uint32_t>(data.size()) / 2 / 4 * 4;
  write(half, 0, "the first H2CData");
  write(half, 1, "the second H2CData");
  for (const std::size_t behind : {std::size_t{1}, std::size_t{3}}) {
    write(half, 1, "the second H2CData, of which the last " + std::to_string(behind) + " bytes come later", behind);
  }
}

}  // namespace fb::conformance::tcp_cases
