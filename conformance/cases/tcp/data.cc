// Data: R2T and H2CData from the host, C2HData to it.
#include "conformance/cases/tcp/scene.h"
#include "conformance/runner/embedded.h"

namespace fb::conformance::tcp_cases {

namespace {

struct Write {
  IoQueue io;
  Bytes data;
  Transfer r2t;
};

/// A write that has got its first R2T.
Write begun_write(ControllerBench& bench, std::uint32_t bytes) {
  IoQueue io = open_io(bench);
  const std::uint32_t blocks = blocks_for(bench, bytes);
  Bytes data = pattern(std::size_t{blocks} * bench.declared().block_bytes, 3);
  io.raw->send_command(write_command(bench, blocks));
  const Transfer r2t = needed_r2t(*io.raw);
  return {std::move(io), std::move(data), r2t};
}

struct ReadData {
  Bytes data;
  std::vector<SeenPdu> pdus;
  bool response = false;
  bool success = false;
};

/// A read, with the PDUs that it brought.
ReadData read_all(Check& check, ControllerBench& bench, RawTcp& raw, std::uint32_t blocks) {
  ReadData read;
  const std::size_t bytes = std::size_t{blocks} * bench.declared().block_bytes;
  raw.send_command(read_command(bench, blocks));
  while (!read.response && !read.success) {
    const auto pdu = raw.next();
    check.require(pdu.has_value(), "a read is answered", raw.instead());
    if (pdu->is(PduType::capsule_resp)) {
      read.response = true;
      const nvme::Cqe cqe{ByteView(pdu->bytes).subspan(tcp::kCommonHeaderBytes)};
      check.require_success(cqe.get(nvme::cqe::status), "Read");
    } else if (pdu->is(PduType::c2h_data)) {
      read.pdus.push_back(*pdu);
      const ByteView part = pdu->data();
      read.data.insert(read.data.end(), part.begin(), part.end());
      read.success = pdu->has(flag::success);
      check.require(read.data.size() <= bytes, "no more data than was asked for", std::to_string(read.data.size()) + " bytes");
    }
  }
  return read;
}

void write_blocks(RawTcp& raw, ControllerBench& bench, const Bytes& data) {
  constexpr std::uint16_t kOther = kCid + 9;
  raw.send_command(write_command(bench, blocks_for(bench, static_cast<std::uint32_t>(data.size())), kOther));
  serve_r2ts(raw, data, kOther);
  (void)raw.needed_response(kOther, "Write");
}

/// R2Ts of one write, while nothing is sent for them.
std::vector<Transfer> unanswered_r2ts(ControllerBench& bench, std::uint32_t maxr2t) {
  auto request = RawTcp::ic_req();
  request.set(tcp::ic_req::maxr2t, maxr2t);
  IoQueue io = open_io(bench, request);
  io.raw->send_command(write_command(bench, blocks_for(bench, within_mdts(bench, 1u << 20))));
  std::vector<Transfer> found{needed_r2t(*io.raw)};
  while (io.raw->next(PduType::r2t, 500_ms)) found.emplace_back();
  return found;
}

/// Data that comes and goes in several PDUs; a real product is taken as it is.
const furnished in_pieces{[](EmbeddedSetup& setup) {
  setup.tcp.c2h_data_bytes = 16384;
  setup.tcp.r2t_bytes = 8192;
}};

}  // namespace

CONFORMANCE_CASE(r2ts_cover_the_write_in_order, "tcp.r2t.covers", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  const std::uint32_t blocks = blocks_for(bench, beyond_capsule(bench));
  const Bytes data = pattern(std::size_t{blocks} * bench.declared().block_bytes, 1);
  io.raw->send_command(write_command(bench, blocks));
  std::uint32_t expected = 0;
  while (expected < data.size()) {
    const auto pdu = io.raw->next(PduType::r2t);
    check.require(pdu.has_value(), "R2Ts ask for the whole write", "after " + std::to_string(expected) + " bytes: " + io.raw->instead());
    const auto view = pdu->as<tcp::DataPdu>();
    const Transfer r2t{view.get(tcp::data_pdu::ttag), view.get(tcp::data_pdu::offset), view.get(tcp::data_pdu::length)};
    check.equal("R2TO", r2t.offset, expected);
    check.that(r2t.length > 0, "R2TL is not 0");
    check.require(r2t.offset == expected && r2t.length > 0 && r2t.length <= data.size() - expected, "no R2T goes beyond the write",
                  pdu->text());
    serve_r2t(*io.raw, r2t, data, h2c_data_max(*io.raw));
    expected += r2t.length;
  }
  expect_status(check, *io.raw, one_of(nvme::Status{}), "Write");
}

CONFORMANCE_CASE(small_write_may_wait_for_an_r2t, "tcp.r2t.small", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  const Bytes data = pattern(bench.declared().block_bytes, 2);
  io.raw->send_command(write_command(bench, 1));
  check.require(io.raw->next(PduType::r2t).has_value(), "a write of one block is answered by an R2T", io.raw->instead());
}

CONFORMANCE_CASE(r2t_names_its_command, "tcp.r2t.cccid", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  io.raw->send_command(write_command(bench, blocks_for(bench, beyond_capsule(bench))));
  const auto pdu = io.raw->next(PduType::r2t);
  check.require(pdu.has_value(), "a write is answered by an R2T", io.raw->instead());
  check.equal("CCCID", pdu->as<tcp::DataPdu>().get(tcp::data_pdu::cccid), kCid);
  check.equal("PLEN", pdu->bytes.size(), tcp::DataPdu::size);
}

CONFORMANCE_CASE(one_r2t_at_a_time_where_maxr2t_is_0, "tcp.r2t.limit-one", roles::controller, needs{&a_namespace}) {
  check.equal("R2Ts of one command outstanding", unanswered_r2ts(bench, 0).size(), std::size_t{1});
}

CONFORMANCE_CASE(r2ts_keep_to_maxr2t, "tcp.r2t.limit", roles::controller, needs{&a_namespace}) {
  check.between("R2Ts of one command outstanding", unanswered_r2ts(bench, 1).size(), std::size_t{1}, std::size_t{2});
}

CONFORMANCE_CASE(h2cdata_in_pieces_is_what_is_written, "tcp.h2cdata.written", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  const std::uint32_t blocks = blocks_for(bench, beyond_capsule(bench));
  const Bytes data = pattern(std::size_t{blocks} * bench.declared().block_bytes, 7);
  io.raw->send_command(write_command(bench, blocks));
  for (std::size_t done = 0; done < data.size();) {
    const Transfer r2t = needed_r2t(*io.raw);
    check.require(r2t.offset == done && r2t.length > 0 && r2t.length <= data.size() - done, "R2Ts cover the write in order");
    const std::uint32_t third = std::max(r2t.length / 3 / 4 * 4, 4u);
    serve_r2t(*io.raw, r2t, data, std::min(third, h2c_data_max(*io.raw)));
    done += r2t.length;
  }
  expect_status(check, *io.raw, one_of(nvme::Status{}), "Write");
  check.bytes("what is read back", read_all(check, bench, *io.raw, blocks).data, data);
}

CONFORMANCE_CASE(h2cdata_beyond_maxh2cdata_is_fatal, "tcp.h2cdata.limit", roles::controller, needs{&a_namespace}) {
  Write write = begun_write(bench, within_mdts(bench, 1u << 20));
  RawTcp& raw = *write.io.raw;
  const std::uint32_t most = raw.greeting().get(tcp::ic_resp::maxh2cdata);
  check.precondition(write.r2t.length > most, "an R2T asks for more than MAXH2CDATA");
  raw.send(h2c_data(write.r2t, write.r2t.offset, most + 4, false), ByteView(write.data).subspan(write.r2t.offset, most + 4));
  expect_fatal(check, raw, "H2CData longer than MAXH2CDATA", {{FatalStatus::limit_exceeded}});
}

CONFORMANCE_CASE(h2cdata_beyond_its_r2t_is_fatal, "tcp.h2cdata.range", roles::controller, needs{&a_namespace}) {
  Write write = begun_write(bench, beyond_capsule(bench));
  RawTcp& raw = *write.io.raw;
  const Bytes data(write.r2t.length + 4);  // a dword is enough to be out of range
  raw.send(h2c_data(write.r2t, write.r2t.offset, write.r2t.length + 4, true), data);
  std::vector<Fatal> allowed{{FatalStatus::data_out_of_range}};
  // Then it is too long besides.
  if (data.size() > h2c_data_max(raw)) allowed.push_back({FatalStatus::limit_exceeded});
  expect_fatal(check, raw, "H2CData beyond the range of its R2T", allowed);
}

CONFORMANCE_CASE(h2cdata_below_its_r2t_is_fatal, "tcp.h2cdata.below", roles::controller, needs{&a_namespace}, in_pieces) {
  Write write = begun_write(bench, beyond_capsule(bench));
  RawTcp& raw = *write.io.raw;
  check.precondition(write.r2t.length < write.data.size(), "the write takes more than one R2T");
  serve_r2t(raw, write.r2t, write.data, h2c_data_max(raw));
  const Transfer second = needed_r2t(raw);
  check.precondition(second.offset >= 4, "the second R2T asks for what follows");
  raw.send(h2c_data(second, second.offset - 4, 4, false), ByteView(write.data).subspan(second.offset - 4, 4));
  expect_fatal(check, raw, "H2CData with an offset below that of its R2T",
               {{FatalStatus::data_out_of_range}, {FatalStatus::sequence_error}});
}

CONFORMANCE_CASE(h2cdata_with_an_early_last_is_not_all, "tcp.h2cdata.early-last", roles::controller, needs{&a_namespace}) {
  Write write = begun_write(bench, beyond_capsule(bench));
  RawTcp& raw = *write.io.raw;
  const std::uint32_t half = std::max(std::min(write.r2t.length, h2c_data_max(raw)) / 2 / 4 * 4, 4u);
  raw.send(h2c_data(write.r2t, write.r2t.offset, half, true), ByteView(write.data).subspan(write.r2t.offset, half));
  const auto answer = raw.next(1_s);
  if (!answer || answer->is(PduType::c2h_term_req)) {
    check.that(true, "the write is not done");
    return;
  }
  check.require(answer->is(PduType::capsule_resp), "no more is asked for while data lacks", answer->text());
  const nvme::Cqe cqe{ByteView(answer->bytes).subspan(tcp::kCommonHeaderBytes)};
  check.refused(cqe.get(nvme::cqe::status), "Write of which half has come, with LAST_PDU");
}

CONFORMANCE_CASE(h2cdata_with_a_gap_is_fatal, "tcp.h2cdata.gap", roles::controller, needs{&a_namespace}) {
  Write write = begun_write(bench, beyond_capsule(bench));
  RawTcp& raw = *write.io.raw;
  // Inside of what the R2T asked for, however little that is.
  raw.send(h2c_data(write.r2t, write.r2t.offset + 4, 4, false), ByteView(write.data).subspan(write.r2t.offset + 4, 4));
  expect_fatal(check, raw, "H2CData that leaves out bytes", {{FatalStatus::sequence_error}});
}

CONFORMANCE_CASE(h2cdata_of_another_length_is_fatal, "tcp.h2cdata.datal", roles::controller, needs{&a_namespace}, sends_malformed) {
  for (const auto& [says, has] : {std::pair{8u, 4u}, std::pair{4u, 8u}, std::pair{512u, 516u}}) {
    Write write = begun_write(bench, beyond_capsule(bench));
    RawTcp& raw = *write.io.raw;
    raw.send(h2c_data(write.r2t, write.r2t.offset, says, false), ByteView(write.data).first(has));
    expect_fatal(check, raw, "H2CData of " + std::to_string(has) + " bytes with DATAL " + std::to_string(says),
                 {{FatalStatus::invalid_header_field}, {FatalStatus::sequence_error}, {FatalStatus::data_out_of_range}});
    if (write.io.association.admin().connected()) write.io.association.admin().disconnect();
  }
}

CONFORMANCE_CASE(h2cdata_of_an_unknown_tag_is_fatal, "tcp.h2cdata.ttag", roles::controller, needs{&a_namespace}) {
  Write write = begun_write(bench, beyond_capsule(bench));
  RawTcp& raw = *write.io.raw;
  Transfer other = write.r2t;
  other.ttag = static_cast<std::uint16_t>(other.ttag ^ 0x7FF0);
  raw.send(h2c_data(other, other.offset, 512, false), ByteView(write.data).first(512));
  expect_fatal(check, raw, "H2CData with a transfer tag that no R2T gave", {{FatalStatus::invalid_header_field, 10}});
}

CONFORMANCE_CASE(h2cdata_of_another_command_is_fatal, "tcp.h2cdata.cccid", roles::controller, needs{&a_namespace}) {
  Write write = begun_write(bench, beyond_capsule(bench));
  RawTcp& raw = *write.io.raw;
  raw.send(h2c_data(write.r2t, write.r2t.offset, 512, false, kCid + 3), ByteView(write.data).first(512));
  expect_fatal(check, raw, "H2CData whose CCCID is not that of its R2T", {{FatalStatus::invalid_header_field, 8}});
  if (bench.declared().queue_entries_max() < 4) return;
  // The command is outstanding, and has an R2T of its own.
  if (write.io.association.admin().connected()) write.io.association.admin().disconnect();
  Write first = begun_write(bench, beyond_capsule(bench));
  first.io.raw->send_command(write_command(bench, blocks_for(bench, beyond_capsule(bench)), kCid + 1));
  const auto second = first.io.raw->next(PduType::r2t, 1_s);
  if (!second || second->as<tcp::DataPdu>().get(tcp::data_pdu::cccid) != kCid + 1) return;  // one after the other, as it may
  if (second->as<tcp::DataPdu>().get(tcp::data_pdu::ttag) == first.r2t.ttag) return;
  first.io.raw->send(h2c_data(first.r2t, first.r2t.offset, 512, false, kCid + 1), ByteView(first.data).first(512));
  expect_fatal(check, *first.io.raw, "H2CData with the CCCID of another outstanding write",
               {{FatalStatus::invalid_header_field, 8}, {FatalStatus::invalid_header_field, 10}});
}

CONFORMANCE_CASE(h2cdata_that_nobody_asked_for_is_fatal, "tcp.h2cdata.unsolicited", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  const Bytes data(512);
  io.raw->send(h2c_data({}, 0, 512, true), data);
  // No command is outstanding: CCCID is unknown as well as TTAG, and FEI is the lowest offset that is wrong.
  expect_fatal(check, *io.raw, "H2CData without an R2T",
               {{FatalStatus::sequence_error}, {FatalStatus::invalid_header_field, 8}, {FatalStatus::invalid_header_field, 10}});
}

CONFORMANCE_CASE(h2cdata_after_the_last_is_fatal, "tcp.h2cdata.after-last", roles::controller, needs{&a_namespace}) {
  Write write = begun_write(bench, beyond_capsule(bench));
  RawTcp& raw = *write.io.raw;
  check.precondition(write.r2t.length == write.data.size(), "one R2T asks for the whole write");
  const std::uint32_t again = std::min(write.r2t.length, h2c_data_max(raw));
  serve_r2t(raw, write.r2t, write.data, h2c_data_max(raw));
  raw.send(h2c_data(write.r2t, 0, again, true), ByteView(write.data).first(again));
  // The command may be complete by then, and its CCCID unknown as well as its TTAG.
  expect_fatal(check, raw, "H2CData after the one with LAST_PDU",
               {{FatalStatus::sequence_error}, {FatalStatus::invalid_header_field, 8}, {FatalStatus::invalid_header_field, 10}});
}

CONFORMANCE_CASE(c2hdata_is_contiguous_and_complete, "tcp.c2hdata.contiguous", roles::controller, needs{&a_namespace}, in_pieces) {
  IoQueue io = open_io(bench);
  const std::uint32_t blocks = blocks_for(bench, within_mdts(bench, 1u << 19));
  const Bytes data = pattern(std::size_t{blocks} * bench.declared().block_bytes, 11);
  write_blocks(*io.raw, bench, data);
  const ReadData read = read_all(check, bench, *io.raw, blocks);
  std::uint32_t expected = 0;
  for (const SeenPdu& pdu : read.pdus) {
    const auto view = pdu.as<tcp::DataPdu>();
    check.equal("CCCID", view.get(tcp::data_pdu::cccid), kCid);
    check.equal("DATAO", view.get(tcp::data_pdu::offset), expected);
    check.equal("DATAL", view.get(tcp::data_pdu::length), pdu.data().size());
    expected += static_cast<std::uint32_t>(pdu.data().size());
  }
  check.bytes("the data", read.data, data);
}

CONFORMANCE_CASE(c2hdata_last_pdu_is_on_the_last, "tcp.c2hdata.last", roles::controller, needs{&a_namespace}, in_pieces) {
  IoQueue io = open_io(bench);
  const ReadData read = read_all(check, bench, *io.raw, blocks_for(bench, beyond_capsule(bench)));
  for (std::size_t i = 0; i < read.pdus.size(); ++i) {
    const bool last = i + 1 == read.pdus.size();
    check.equal(last ? "LAST_PDU on the last C2HData" : "LAST_PDU before the last C2HData", read.pdus[i].has(flag::last_pdu), last);
  }
}

CONFORMANCE_CASE(c2hdata_keeps_to_hpda, "tcp.c2hdata.alignment", roles::controller, needs{&a_namespace}) {
  for (const std::uint8_t hpda : {std::uint8_t{1}, tcp::kAlignmentMax}) {
    auto request = with_digests(true, false);
    request.set(tcp::ic_req::hpda, hpda);
    expect_greeting(bench, check, request);
    IoQueue io = open_io(bench, request);
    const auto judge = [&](RawTcp& raw, const std::string& queue) {
      for (const SeenPdu& pdu : read_all(check, bench, raw, 1).pdus) {
        check.equal("PDO modulo the alignment of HPDA " + std::to_string(hpda) + queue, pdu.pdo() % tcp::alignment_of(hpda), 0u);
        check.that(pdu.pdo() + pdu.data().size() == pdu.bytes.size(), "PLEN ends with the data" + queue, pdu.text());
      }
    };
    judge(*io.raw, "");
    if (const auto second = open_second_io(bench, io.association, request)) judge(*second->raw, " on a second I/O queue");
    io.association.admin().disconnect();
  }
}

CONFORMANCE_CASE(padding_is_zero, "tcp.c2hdata.padding", roles::controller, needs{&a_namespace}) {
  auto request = RawTcp::ic_req();
  request.set(tcp::ic_req::hpda, tcp::kAlignmentMax);
  expect_greeting(bench, check, request);
  IoQueue io = open_io(bench, request);
  for (const SeenPdu& pdu : read_all(check, bench, *io.raw, 1).pdus) {
    const ByteView pad = ByteView(pdu.bytes).subspan(pdu.hlen(), pdu.pdo() - pdu.hlen());
    check.bytes("padding", pad, Bytes(pad.size()));
  }
}

CONFORMANCE_CASE(success_needs_flow_control_off, "tcp.success.flow-control", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench);
  const ReadData read = read_all(check, bench, *io.raw, 1);
  check.that(!read.success, "no SUCCESS flag while SQ flow control is used", "SUCCESS is set");
  const auto second = open_second_io(bench, io.association, RawTcp::ic_req());
  if (!second) return;
  const ReadData other = read_all(check, bench, *second->raw, 1);
  check.that(!other.success, "no SUCCESS flag while SQ flow control is used on a second I/O queue", "SUCCESS is set");
}

CONFORMANCE_CASE(success_stands_for_the_response, "tcp.success.alone", roles::controller, needs{&a_namespace}, in_pieces) {
  IoQueue io = open_io(bench, RawTcp::ic_req(), fabrics::cattr_bits::disable_sq_flow_control);
  const ReadData read = read_all(check, bench, *io.raw, blocks_for(bench, beyond_capsule(bench)));
  for (const SeenPdu& pdu : read.pdus) {
    check.that(!pdu.has(flag::success) || pdu.has(flag::last_pdu), "SUCCESS comes with LAST_PDU", pdu.text());
  }
  if (!read.success) {
    check.that(read.response, "the read has a response");
    return;
  }
  const auto more = io.raw->next(PduType::capsule_resp, 500_ms);
  check.that(!more.has_value(), "no response capsule follows SUCCESS", more ? more->text() : "");
}

CONFORMANCE_CASE(failed_read_has_no_success_flag, "tcp.success.error", roles::controller, needs{&a_namespace}) {
  IoQueue io = open_io(bench, RawTcp::ic_req(), fabrics::cattr_bits::disable_sq_flow_control);
  const std::uint32_t block = bench.declared().block_bytes;
  const auto beyond = host::read(bench.nsid(), bench.declared().blocks, 1);
  io.raw->send_command(with_sgl(beyond, SglDescriptor::transport(block)));
  const auto answer = io.raw->next();
  check.require(answer.has_value(), "a read beyond the namespace is answered");
  check.that(!answer->is(PduType::c2h_data) || !answer->has(flag::success), "no SUCCESS for a command that failed", answer->text());
  if (answer->is(PduType::capsule_resp)) {
    const nvme::Cqe cqe{ByteView(answer->bytes).subspan(tcp::kCommonHeaderBytes)};
    check.refused(cqe.get(nvme::cqe::status), "Read beyond the namespace");
  }
}

}  // namespace fb::conformance::tcp_cases
