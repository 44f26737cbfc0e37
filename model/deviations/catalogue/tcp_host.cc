// NVMe/TCP, the host's side: checks that are left out, and PDUs that leave other than they should.
#include <optional>
#include <vector>

#include "model/deviations/deviation.h"
#include "wire/fabrics/transports.h"
#include "wire/tcp/pdu.h"

namespace fb::deviations {

namespace {

using tcp::PduType;
namespace flag = tcp::pdu_flags;

constexpr std::uint8_t kFlush = 0x00, kWrite = 0x01, kRead = 0x02;
constexpr std::size_t kSqe = 8, kSlba = kSqe + 40;

bool is(const Bytes& pdu, PduType type) { return pdu[0] == static_cast<std::uint8_t>(type); }
bool is_command(const Bytes& pdu, std::uint8_t opcode) { return is(pdu, PduType::capsule_cmd) && pdu[kSqe] == opcode; }
std::uint32_t word(const Bytes& pdu, std::size_t at) { return load_le<std::uint32_t>(&pdu[at]); }
void put_word(Bytes& pdu, std::size_t at, std::uint32_t value) { store_le<std::uint32_t>(&pdu[at], value); }

/// Changes PDUs on their way out.
class AlteringPdus final : public host::HostHooks {
 public:
  using Function = void (*)(std::uint16_t qid, std::vector<Bytes>&);
  explicit AlteringPdus(Function function) : function_(function) {}
  void pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) override { function_(qid, pdus); }

 private:
  Function function_;
};

template <PduType Type, std::size_t At, std::uint8_t Bits>
void flip(std::uint16_t, std::vector<Bytes>& pdus) {
  if (!is(pdus.front(), Type)) return;
  pdus.front()[At] ^= Bits;
  tcp::refresh_digests(pdus.front());
}

/// Changes the H2CData PDUs.
template <void (*Change)(Bytes&)>
void data(std::uint16_t, std::vector<Bytes>& pdus) {
  if (is(pdus.front(), PduType::h2c_data)) Change(pdus.front());
}
/// Changes the command capsules of I/O queues.
template <void (*Change)(Bytes&)>
void io_capsules(std::uint16_t qid, std::vector<Bytes>& pdus) {
  if (qid != 0 && is(pdus.front(), PduType::capsule_cmd)) Change(pdus.front());
}

void greets_again(std::uint16_t qid, std::vector<Bytes>& pdus) {
  if (qid == 0 || !is_command(pdus.front(), kFlush)) return;
  Record<tcp::IcReq> again;
  again.set(tcp::pdu::type, PduType::ic_req);
  pdus.push_back(tcp::build_pdu(again.bytes(), {}, false, false));
}

/// One more Connect, behind a read of a certain block.
void connects_again(std::uint16_t qid, std::vector<Bytes>& pdus) {
  constexpr std::uint32_t kBlock = 1000;
  if (qid == 0 || !is_command(pdus.front(), kRead) || word(pdus.front(), kSlba) != kBlock) return;
  Record<tcp::CapsuleCmd> again;
  again.set(tcp::pdu::type, PduType::capsule_cmd);
  Bytes pdu = tcp::build_pdu(again.bytes(), Bytes(1024), false, false);
  pdu[kSqe] = 0x7F;
  pdu[kSqe + 2] = 0x77;
  pdu[kSqe + 4] = 0x01;
  pdus.push_back(pdu);
}

/// Data that nobody asked for, behind a write to a certain block.
void sends_unasked(std::uint16_t qid, std::vector<Bytes>& pdus) {
  constexpr std::uint32_t kBlock = 2000;
  const Bytes& pdu = pdus.front();
  if (qid == 0 || !is_command(pdu, kWrite) || word(pdu, kSlba) != kBlock) return;
  Record<tcp::DataPdu> header;
  header.set(tcp::pdu::type, PduType::h2c_data)
      .set(tcp::pdu::flags, flag::last_pdu)
      .set(tcp::data_pdu::cccid, load_le<std::uint16_t>(&pdu[kSqe + 2]))
      .set(tcp::data_pdu::length, 512u);
  pdus.push_back(tcp::build_pdu(header.bytes(), Bytes(512), false, false));
}

void longer_than_its_data(Bytes& pdu) {
  if (!is_command(pdu, kWrite) || pdu.size() == tcp::CapsuleCmd::size) return;
  pdu.resize(pdu.size() + 4);
  put_word(pdu, 4, static_cast<std::uint32_t>(pdu.size()));
}

/// Data where it would be without the controller's alignment.
template <PduType Type>
void without_alignment(std::uint16_t, std::vector<Bytes>& pdus) {
  Bytes& pdu = pdus.front();
  const std::size_t hlen = pdu[2], pdo = pdu[3];
  if (!is(pdu, Type) || pdo <= hlen) return;
  const bool header_digest = (pdu[1] & flag::hdgstf) != 0, data_digest = (pdu[1] & flag::ddgstf) != 0;
  const std::size_t tail = data_digest ? tcp::kDigestBytes : 0;
  const Bytes header(pdu.begin(), pdu.begin() + static_cast<std::ptrdiff_t>(hlen));
  const Bytes body(pdu.begin() + static_cast<std::ptrdiff_t>(pdo), pdu.end() - static_cast<std::ptrdiff_t>(tail));
  pdu = tcp::build_pdu(header, body, header_digest, data_digest);
}

/// Descriptors of capsules on I/O queues.
class AlteringCapsules final : public host::HostHooks {
 public:
  using Function = void (*)(Bytes&);
  explicit AlteringCapsules(Function function) : function_(function) {}
  void capsule_out(std::uint16_t qid, Bytes& capsule) override {
    if (qid != 0) function_(capsule);
  }

 private:
  Function function_;
};
void data_elsewhere(Bytes& capsule) {
  if (capsule[0] == kWrite && capsule.size() > 64) put_word(capsule, 24, 512);
}
void twice_as_long(Bytes& capsule) {
  constexpr std::uint32_t kSome = 32768;
  if (capsule[0] == kRead && word(capsule, 32) == kSome) put_word(capsule, 32, 2 * kSome);
}

void shortens_datal(Bytes& pdu) { put_word(pdu, 16, word(pdu, 16) - 4); }
void renames_command(Bytes& pdu) { pdu[8] ^= 0x40; }
void renames_later_r2ts(Bytes& pdu) {
  if (word(pdu, 12) != 0) pdu[10] ^= 0x40;
}
void shifts_later_data(Bytes& pdu) {
  if (word(pdu, 12) != 0) put_word(pdu, 12, word(pdu, 12) + 4);
}
void spoils_small_data(Bytes& pdu) {
  if (word(pdu, 16) < 32768) pdu[pdu[3]] ^= 0x01;
}
void all_are_last(Bytes& pdu) { pdu[1] |= flag::last_pdu; }
void reserved_bytes(Bytes& pdu) { pdu[20] = 0x80; }
void spoils_data_digest(Bytes& pdu) {
  if ((pdu[1] & flag::ddgstf) != 0) pdu.back() ^= 0xFF;
}
void spoils_header_digest(Bytes& pdu) {
  if (is_command(pdu, kRead) && (pdu[1] & flag::hdgstf) != 0) pdu[pdu[2]] ^= 0xFF;
}

/// Behind the last block of an R2T comes one more.
void one_block_more(std::uint16_t, std::vector<Bytes>& pdus) {
  constexpr std::uint32_t kBlock = 512;
  const Bytes& pdu = pdus.front();
  if (!is(pdu, PduType::h2c_data) || word(pdu, 16) != kBlock || (pdu[1] & flag::last_pdu) == 0) return;
  Bytes more = pdu;
  put_word(more, 12, word(more, 12) + kBlock);
  pdus.push_back(more);
}

/// Data for R2Ts that come together all goes under the name of the first.
class ConfusesCommands final : public host::HostHooks {
 public:
  void pdus_out(std::uint16_t, std::vector<Bytes>& pdus) override {
    Bytes& pdu = pdus.front();
    if (is(pdu, PduType::capsule_cmd)) last_.reset();
    if (!is(pdu, PduType::h2c_data)) return;
    if (!last_) last_ = load_le<std::uint16_t>(&pdu[8]);
    store_le<std::uint16_t>(&pdu[8], *last_);
  }

 private:
  std::optional<std::uint16_t> last_;
};

/// Takes a MAXH2CDATA that is too small, and does not keep to it.
class IgnoresSmallLimits final : public host::HostHooks {
 public:
  void pdu_in(std::uint16_t, ByteView header) override {
    if (header[0] != static_cast<std::uint8_t>(PduType::ic_resp)) return;
    const auto most = load_le<std::uint32_t>(&header[12]);
    small_ = most > 0 && most < 4096;
  }
  bool departs(std::string_view point) override {
    return small_ && (point == "tcp.host.ic_resp.maxh2cdata" || point == "tcp.host.h2c_data.too_long");
  }

 private:
  bool small_ = false;
};

void empties_term_req(std::uint16_t, std::vector<Bytes>& pdus) {
  Bytes& pdu = pdus.front();
  if (!is(pdu, PduType::h2c_term_req)) return;
  pdu.resize(tcp::TermReq::size);
  put_word(pdu, 4, tcp::TermReq::size);
}
void speaks_after_term_req(std::uint16_t, std::vector<Bytes>& pdus) {
  if (!is(pdus.front(), PduType::h2c_term_req)) return;
  Record<tcp::CapsuleCmd> late;
  late.set(tcp::pdu::type, PduType::capsule_cmd);
  pdus.push_back(tcp::build_pdu(late.bytes(), {}, false, false));
}

}  // namespace

#define TCP(name, requirement, what, point) DEVIATION(name, "tcp.host." requirement, Product::host, what, Departs{"tcp." point})
#define TCP_HOOKS(name, requirement, what, ...) \
  DEVIATION(name, "tcp.host." requirement, Product::host, what, hooks<__VA_ARGS__>(), fabrics::kTcp)

// The greeting.
TCP(tcp_host_speaks_before_icresp, "icreq.first", "sends a capsule right behind ICReq", "host.early_capsule");
TCP_HOOKS(tcp_host_greets_twice, "icreq.once", "says ICReq again after a Flush", AlteringPdus, &greets_again);
TCP(tcp_host_icreq_of_another_format, "icreq.shape", "says PFV 1 in ICReq", "host.ic_req.pfv");
TCP(tcp_host_icreq_hpda_beyond_range, "icreq.hpda", "asks for an alignment above 31", "host.ic_req.hpda");
TCP_HOOKS(tcp_host_icreq_with_reserved_bits, "icreq.reserved", "sets a reserved byte of ICReq", AlteringPdus,
          &flip<PduType::ic_req, 100, 0x80>);
TCP(tcp_host_waits_for_ever, "icresp.timeout", "waits for ICResp without end", "host.ic_resp.timeout");
TCP(tcp_host_takes_any_format, "icresp.pfv", "does not look at PFV", "host.ic_resp.pfv");
TCP(tcp_host_takes_any_cpda, "icresp.cpda", "does not look at CPDA", "host.ic_resp.cpda");
TCP(tcp_host_takes_any_digests, "icresp.digest-unasked", "lets the controller enable digests", "host.ic_resp.digest");
TCP(tcp_host_takes_any_maxh2cdata, "icresp.maxh2cdata", "does not look at MAXH2CDATA", "host.ic_resp.maxh2cdata");
TCP_HOOKS(tcp_host_ignores_small_maxh2cdata, "icresp.maxh2cdata-small", "does not keep to a MAXH2CDATA below 4096", IgnoresSmallLimits);
TCP(tcp_host_takes_icresp_of_any_length, "icresp.length", "does not look at PLEN of ICResp", "host.ic.plen");
TCP(tcp_host_takes_any_sequence, "sequence", "passes over PDUs that come at the wrong time", "host.sequence");
TCP_HOOKS(tcp_host_connects_twice, "connection.per-queue", "sends a second Connect on a connection", AlteringPdus, &connects_again);
TCP(tcp_host_takes_the_end_for_success, "connection.lost", "completes what is under way when the connection ends", "host.lost.completes");

// What it sends.
TCP_HOOKS(tcp_host_capsule_longer_than_its_data, "capsule.shape", "capsules with data have 4 bytes more", AlteringPdus,
          &io_capsules<&longer_than_its_data>);
TCP(tcp_host_capsule_of_any_length, "capsule.room", "puts any amount of data into a capsule", "host.capsule.too_long");
TCP_HOOKS(tcp_host_ignores_cpda_in_capsules, "capsule.alignment", "does not align in-capsule data", AlteringPdus,
          &without_alignment<PduType::capsule_cmd>);
TCP(tcp_host_aligns_nothing, "capsule.alignment", "takes every CPDA for 0", "host.capsule.alignment");
TCP_HOOKS(tcp_host_in_capsule_offset, "sgl.in-capsule", "describes in-capsule data at offset 512", AlteringCapsules, &data_elsewhere);
TCP_HOOKS(tcp_host_sgl_too_long, "sgl.transport", "describes twice the data", AlteringCapsules, &twice_as_long);
TCP_HOOKS(tcp_host_does_not_wait_for_r2t, "h2cdata.after-r2t", "sends data that nobody asked for", AlteringPdus, &sends_unasked);
TCP_HOOKS(tcp_host_datal_too_short, "h2cdata.shape", "DATAL is 4 bytes short", AlteringPdus, &data<&shortens_datal>);
TCP_HOOKS(tcp_host_data_of_another_command, "h2cdata.cccid", "H2CData names another command", AlteringPdus, &data<&renames_command>);
TCP_HOOKS(tcp_host_data_of_another_r2t, "h2cdata.ttag", "later H2CData names another R2T", AlteringPdus, &data<&renames_later_r2ts>);
TCP_HOOKS(tcp_host_data_with_holes, "h2cdata.contiguous", "later H2CData is 4 bytes off", AlteringPdus, &data<&shifts_later_data>);
TCP_HOOKS(tcp_host_sends_a_block_more, "h2cdata.r2tl", "sends a block more than was asked for", AlteringPdus, &one_block_more);
TCP_HOOKS(tcp_host_spoils_data, "h2cdata.data", "sends other data than the buffer holds", AlteringPdus, &data<&spoils_small_data>);
TCP_HOOKS(tcp_host_all_data_is_last, "h2cdata.last", "sets LAST_PDU in every H2CData", AlteringPdus, &data<&all_are_last>);
TCP(tcp_host_ignores_maxh2cdata, "h2cdata.maxh2cdata", "does not keep to MAXH2CDATA", "host.h2c_data.too_long");
TCP_HOOKS(tcp_host_ignores_cpda_in_data, "h2cdata.alignment", "does not align H2CData", AlteringPdus,
          &without_alignment<PduType::h2c_data>);
TCP_HOOKS(tcp_host_data_with_reserved_bits, "h2cdata.reserved", "sets a reserved byte of H2CData", AlteringPdus, &data<&reserved_bytes>);
TCP_HOOKS(tcp_host_confuses_commands, "r2t.commands", "sends the data of one write as that of another", ConfusesCommands);

// R2Ts that it should not take.
TCP(tcp_host_r2t_of_any_cccid, "r2t.cccid", "passes over R2Ts of unknown commands", "host.r2t.cccid");
TCP(tcp_host_r2t_of_any_range, "r2t.range", "passes over R2Ts beyond the buffer", "host.r2t.range");
TCP(tcp_host_r2t_of_any_offset, "r2t.offset", "serves R2Ts in any order", "host.r2t.offset");
TCP(tcp_host_r2t_without_bound, "r2t.limit", "serves any number of R2Ts", "host.r2t.limit");
TCP(tcp_host_r2t_for_any_command, "r2t.direction", "passes over R2Ts for reads", "host.r2t.direction");
TCP(tcp_host_r2t_for_nothing, "r2t.length", "passes over R2Ts of no bytes", "host.r2t.length");

// C2HData.
TCP(tcp_host_takes_the_first_data_alone, "c2hdata.taken", "throws away all but the first C2HData", "host.c2h_data.first_only");
TCP(tcp_host_ignores_success, "c2hdata.success", "waits for a response after SUCCESS", "host.c2h_data.success_ignored");
TCP(tcp_host_hangs_on_success, "c2hdata.success-flow-control", "waits for a response after SUCCESS", "host.c2h_data.success_ignored");
TCP(tcp_host_takes_success_anywhere, "c2hdata.success-without-last", "takes SUCCESS without LAST_PDU", "host.c2h_data.success");
TCP(tcp_host_takes_success_early, "c2hdata.success-short", "takes SUCCESS before all data is there", "host.c2h_data.short_success");
TCP(tcp_host_data_of_any_cccid, "c2hdata.cccid", "passes over C2HData of unknown commands", "host.c2h_data.cccid");
TCP(tcp_host_data_of_any_range, "c2hdata.range", "passes over C2HData beyond the buffer", "host.c2h_data.range");
TCP(tcp_host_data_of_any_offset, "c2hdata.offset", "takes C2HData with holes", "host.c2h_data.offset");
TCP(tcp_host_data_after_last, "c2hdata.after-last", "takes C2HData after the last", "host.c2h_data.after_last");
TCP(tcp_host_data_for_any_command, "c2hdata.direction", "passes over C2HData for writes", "host.c2h_data.direction");
TCP(tcp_host_data_of_any_datal, "c2hdata.datal", "does not look at DATAL", "host.c2h_data.datal");

// Headers and digests.
TCP(tcp_host_pdu_of_any_type, "pdu.type", "passes over PDUs of reserved types", "host.pdu.type");
TCP(tcp_host_pdu_of_any_direction, "pdu.direction", "passes over PDUs of hosts", "host.pdu.direction");
TCP(tcp_host_pdu_of_any_hlen, "pdu.hlen", "does not look at HLEN", "host.pdu.hlen");
TCP(tcp_host_pdu_of_any_plen, "pdu.plen", "does not look at PLEN", "host.pdu.plen");
TCP(tcp_host_pdu_of_any_pdo, "pdu.pdo", "does not look at PDO", "host.pdu.pdo");
TCP(tcp_host_any_hdgstf, "pdu.hdgstf", "does not look at HDGSTF", "host.pdu.hdgstf");
TCP(tcp_host_any_ddgstf, "pdu.ddgstf", "does not look at DDGSTF", "host.pdu.ddgstf");
TCP(tcp_host_stream_must_come_whole, "stream.split", "ends the connection on a PDU in pieces", "stream.split");
TCP(tcp_host_digests_after_all, "digest.declined", "uses header digests that were declined", "host.digest.always");
TCP(tcp_host_digests_go_together, "digest.declined", "uses data digests where header digests were granted", "host.digest.together");
TCP_HOOKS(tcp_host_header_digest_is_wrong, "digest.header", "header digests of reads are wrong", AlteringPdus,
          &io_capsules<&spoils_header_digest>);
TCP_HOOKS(tcp_host_data_digest_is_wrong, "digest.data", "data digests of H2CData are wrong", AlteringPdus, &data<&spoils_data_digest>);
TCP(tcp_host_any_header_digest, "digest.header-wrong", "does not check header digests", "host.pdu.hdgst");
TCP(tcp_host_any_data_digest, "digest.data-wrong", "does not check data digests", "host.ddgst.ignored");
TCP(tcp_host_data_digest_is_fatal, "digest.data-not-fatal", "ends the connection on a wrong data digest", "host.ddgst.fatal");

// The end.
TCP(tcp_host_goes_without_a_word, "termreq.sent", "closes without H2CTermReq", "term_req.never");
TCP_HOOKS(tcp_host_termreq_without_header, "termreq.header", "sends H2CTermReq without the header that was wrong", AlteringPdus,
          &empties_term_req);
TCP_HOOKS(tcp_host_termreq_is_not_the_last, "termreq.last", "sends a capsule after H2CTermReq", AlteringPdus, &speaks_after_term_req);
TCP(tcp_host_stays_after_termreq, "termreq.received", "goes on after C2HTermReq", "host.term_req.ignored");
TCP(tcp_host_termreq_of_any_length, "termreq.length", "goes on after C2HTermReq of an impossible length", "host.term_req.length");

#undef TCP
#undef TCP_HOOKS

}  // namespace fb::deviations
