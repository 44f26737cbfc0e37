// What the TCP cases share: connections by hand, and an I/O queue on one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/runner/controller_bench.h"
#include "conformance/runner/raw_tcp.h"
#include "wire/nvme/sgl.h"

namespace fb::conformance::tcp_cases {

namespace flag = tcp::pdu_flags;
using nvme::SglDescriptor;
using tcp::FatalStatus;
using tcp::PduType;

inline constexpr std::uint16_t kCid = 0x21;

inline std::optional<std::string> a_namespace(const Declared& declared) {
  if (!declared.known || declared.nsid != 0) return std::nullopt;
  return "no active namespace";
}

inline std::optional<std::string> io_data_in_capsules(const Declared& declared) {
  if (!declared.known) return std::nullopt;
  if (declared.nsid == 0) return "no active namespace";
  if (declared.in_capsule_bytes >= declared.block_bytes) return std::nullopt;
  return "IOCCSZ leaves no room for a block";
}

inline Bytes pattern(std::size_t bytes, std::uint8_t seed) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::uint8_t>(i * 7 + i / 256 + seed);
  return made;
}

/// A connection on which nothing has been said, to a product of which it is not yet known whether it answers.
inline std::unique_ptr<RawTcp> fresh(ControllerBench& bench) {
  auto raw = std::make_unique<RawTcp>(bench.world(), bench.streams(), bench.local());
  raw->connect(bench.at());
  return raw;
}

/// A connection on which nothing has been said.
inline std::unique_ptr<RawTcp> connected(ControllerBench& bench) {
  bench.needs_transport();
  return fresh(bench);
}

/// A connection after ICReq and ICResp.
inline std::unique_ptr<RawTcp> greeted(ControllerBench& bench, const Record<tcp::IcReq>& request = RawTcp::ic_req()) {
  bench.needs_transport();
  auto raw = std::make_unique<RawTcp>(bench.world(), bench.streams(), bench.local());
  raw->greet(bench.at(), request);
  return raw;
}

/// This ICReq, which is a good one, is answered.
inline void expect_greeting(ControllerBench& bench, Check& check, const Record<tcp::IcReq>& request) {
  const auto raw = connected(bench);
  raw->send(request);
  check.require(raw->next(PduType::ic_resp).has_value(), "an ICResp to HPDA " + std::to_string(request.get(tcp::ic_req::hpda)),
                raw->instead());
  raw->close();
}

inline Record<tcp::IcReq> with_digests(bool header, bool data) {
  auto request = RawTcp::ic_req();
  request.set(tcp::ic_req::hdgst_enable, header).set(tcp::ic_req::ddgst_enable, data);
  return request;
}

/// An admin queue by hand, connected.
inline std::unique_ptr<RawTcp> open_admin(ControllerBench& bench, const Record<tcp::IcReq>& request = RawTcp::ic_req()) {
  auto raw = greeted(bench, request);
  raw->send_connect(bench.connect_command(), kCid);
  (void)raw->needed_response(kCid, "Connect");
  return raw;
}

/// An enabled controller with an I/O queue by hand.
struct IoQueue {
  RawAssociation& association;
  std::unique_ptr<RawTcp> raw;
};
inline IoQueue open_io(ControllerBench& bench, const Record<tcp::IcReq>& request = RawTcp::ic_req(), std::uint8_t cattr = 0) {
  RawAssociation& association = bench.associate();
  auto raw = greeted(bench, request);
  host::ConnectCommand connect = association.io_connect();
  connect.sqe.set(fabrics::connect_sqe::cattr, cattr);
  raw->send_connect(connect, kCid);
  (void)raw->needed_response(kCid, "Connect of the I/O queue");
  return {association, std::move(raw)};
}

/// A second I/O queue of this association, where the controller takes one.
inline std::optional<IoQueue> open_second_io(ControllerBench& bench, RawAssociation& association, const Record<tcp::IcReq>& request) {
  auto raw = greeted(bench, request);
  raw->send_connect(association.io_connect(bench.io_qid(1)), kCid);
  const auto reply = raw->needed_response(kCid, "Connect of a second I/O queue");
  if (!reply.get(nvme::cqe::status).ok()) return std::nullopt;
  return IoQueue{association, std::move(raw)};
}

/// The entry with a descriptor and a CID.
template <class L>
nvme::Sqe with_sgl(const Record<L>& command, const SglDescriptor& sgl, std::uint16_t cid = kCid) {
  nvme::Sqe sqe = host::as_sqe(command);
  sqe.set(nvme::sqe::cid, cid).set(nvme::sqe::psdt, nvme::Psdt::sgl).set(nvme::sqe::sgl1, ByteView{sgl.bytes()});
  return sqe;
}

/// `bytes`, or as many as MDTS allows, in whole blocks: with metadata they are no power of two.
inline std::uint32_t within_mdts(ControllerBench& bench, std::uint32_t bytes) {
  const std::uint64_t most = bench.declared().transfer_max();
  if (most == 0 || bytes <= most) return bytes;
  const std::uint32_t block = std::max(bench.declared().block_bytes, 1u);
  return std::max(static_cast<std::uint32_t>(most) / block, 1u) * block;
}
/// Bytes of a write that fits into no capsule: some products know no other way for those that do.
inline std::uint32_t beyond_capsule(ControllerBench& bench) {
  const std::uint32_t usual = within_mdts(bench, std::max(bench.declared().in_capsule_bytes, 16384u) * 2);
  const std::uint32_t block = std::max(bench.declared().block_bytes, 1u);
  return std::max(usual, bench.blocks(1) * block);
}

/// Blocks that make up at least `bytes`.
inline std::uint32_t blocks_for(ControllerBench& bench, std::uint32_t bytes) {
  const std::uint32_t block = bench.declared().block_bytes;
  return (bytes + block - 1) / block;
}

inline nvme::Sqe write_command(ControllerBench& bench, std::uint32_t blocks, std::uint16_t cid = kCid) {
  const std::uint32_t bytes = blocks * bench.declared().block_bytes;
  return with_sgl(host::write(bench.nsid(), bench.first_lba(), blocks), SglDescriptor::transport(bytes), cid);
}
inline nvme::Sqe read_command(ControllerBench& bench, std::uint32_t blocks, std::uint16_t cid = kCid) {
  const std::uint32_t bytes = blocks * bench.declared().block_bytes;
  return with_sgl(host::read(bench.nsid(), bench.first_lba(), blocks), SglDescriptor::transport(bytes), cid);
}

/// The response to a command, judged: there must be one.
inline nvme::Cqe response(Check& check, RawTcp& raw, std::string_view what, std::uint16_t cid = kCid) {
  if (const auto cqe = raw.completion(cid)) return *cqe;
  check.fails(what, {"a response"}, raw.instead());
  throw LeaveCase{};
}

/// The response's status, judged.
inline void expect_status(Check& check, RawTcp& raw, const OneOf<nvme::Status>& expected, std::string_view what, std::uint16_t cid = kCid) {
  check.status(response(check, raw, what, cid).get(nvme::cqe::status), expected, what);
}

/// The connection still answers a command.
inline void expect_alive(Check& check, RawTcp& raw, std::string_view what = "the connection goes on") {
  constexpr std::uint16_t kLater = 0x7E;
  nvme::Sqe flush = host::flush(1);
  flush.set(nvme::sqe::cid, kLater);
  raw.send_command(flush);
  const bool answered = raw.completion(kLater).has_value();
  check.that(answered, what, answered ? "" : "a Flush: " + raw.instead());
}

/// An R2T that the case needs.
struct Transfer {
  std::uint16_t ttag = 0;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};
inline Transfer needed_r2t(RawTcp& raw) {
  const auto pdu = raw.next(PduType::r2t);
  if (!pdu) throw CannotArrange{"no R2T for a write: " + raw.instead()};
  const auto view = pdu->as<tcp::DataPdu>();
  return {view.get(tcp::data_pdu::ttag), view.get(tcp::data_pdu::offset), view.get(tcp::data_pdu::length)};
}

inline Record<tcp::DataPdu> h2c_data(const Transfer& transfer, std::uint32_t offset, std::uint32_t length, bool last,
                                     std::uint16_t cid = kCid) {
  Record<tcp::DataPdu> header;
  header.set(tcp::pdu::type, PduType::h2c_data)
      .set(tcp::pdu::flags, last ? flag::last_pdu : std::uint8_t{0})
      .set(tcp::data_pdu::cccid, cid)
      .set(tcp::data_pdu::ttag, transfer.ttag)
      .set(tcp::data_pdu::offset, offset)
      .set(tcp::data_pdu::length, length);
  return header;
}

/// Most data of an H2CData that the controller has to take.
inline std::uint32_t h2c_data_max(const RawTcp& raw) { return std::max(raw.greeting().get(tcp::ic_resp::maxh2cdata) / 4 * 4, 4u); }
/// All that one R2T asks for, out of the data of the command, in H2CData of `step` bytes.
inline void serve_r2t(RawTcp& raw, const Transfer& r2t, ByteView data, std::uint32_t step, std::uint16_t cid = kCid) {
  for (std::uint32_t at = 0; at < r2t.length;) {
    const std::uint32_t part = std::min(step, r2t.length - at);
    const bool last = at + part == r2t.length;
    raw.send(h2c_data(r2t, r2t.offset + at, part, last, cid), data.subspan(r2t.offset + at, part));
    at += part;
  }
}
/// Answers R2Ts with `data` until the command is done; what a good host does.
inline void serve_r2ts(RawTcp& raw, ByteView data, std::uint16_t cid = kCid) {
  for (std::size_t done = 0; done < data.size();) {
    const Transfer r2t = needed_r2t(raw);
    if (r2t.offset > data.size() || r2t.length > data.size() - r2t.offset || r2t.length == 0) {
      throw CannotArrange{"an R2T beyond the data"};
    }
    serve_r2t(raw, r2t, data, h2c_data_max(raw), cid);
    done += r2t.length;
  }
}

}  // namespace fb::conformance::tcp_cases
