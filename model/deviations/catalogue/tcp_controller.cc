// NVMe/TCP, the controller's side: checks that are left out, and PDUs that leave other than they should.
#include <vector>

#include "model/deviations/deviation.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/cqe.h"
#include "wire/tcp/pdu.h"

namespace fb::deviations {

namespace {

using tcp::PduType;
namespace flag = tcp::pdu_flags;

/// Changes PDUs on their way out.
class AlteringPdus final : public subsystem::SubsystemHooks {
 public:
  using Function = void (*)(std::vector<Bytes>&);
  explicit AlteringPdus(Function function) : function_(function) {}
  void pdus_out(std::uint16_t, std::vector<Bytes>& pdus) override { function_(pdus); }

 private:
  Function function_;
};

/// Answers no ICReq whose HPDA is not 0.
class AnswersNoHpda final : public subsystem::SubsystemHooks {
 public:
  void pdu_in(std::uint16_t, ByteView header) override {
    if (header[0] == static_cast<std::uint8_t>(PduType::ic_req))
      asked_ = header.size() > tcp::ic_req::hpda.offset && header[tcp::ic_req::hpda.offset] != 0;
  }
  void pdus_out(std::uint16_t, std::vector<Bytes>& pdus) override {
    if (asked_) std::erase_if(pdus, [](const Bytes& pdu) { return pdu[0] == static_cast<std::uint8_t>(PduType::ic_resp); });
  }

 private:
  bool asked_ = false;
};

bool is(const Bytes& pdu, PduType type) { return pdu[0] == static_cast<std::uint8_t>(type); }

/// Calls `change` for a PDU of a type.
template <PduType Type, auto Change>
void alter(std::vector<Bytes>& pdus) {
  for (Bytes& pdu : pdus) {
    if (is(pdu, Type)) Change(pdu);
  }
}

template <PduType Type, std::size_t At, std::uint8_t Bits>
void flip(std::vector<Bytes>& pdus) {
  for (Bytes& pdu : pdus) {
    if (is(pdu, Type) && pdu.size() > At) pdu[At] ^= Bits;
  }
  for (Bytes& pdu : pdus) tcp::refresh_digests(pdu);
}

void maxh2cdata(Bytes& pdu, std::uint32_t value) { store_le<std::uint32_t>(&pdu[12], value); }
void odd_maxh2cdata(Bytes& pdu) { maxh2cdata(pdu, 8193); }
void small_maxh2cdata(Bytes& pdu) { maxh2cdata(pdu, 512); }
void enables_digests(Bytes& pdu) { pdu[11] = 3; }

void spoils_header_digest(Bytes& pdu) {
  if ((pdu[1] & flag::hdgstf) != 0) pdu[pdu[2]] ^= 0xFF;
}
void spoils_data_digest(Bytes& pdu) {
  if ((pdu[1] & flag::ddgstf) != 0) pdu.back() ^= 0xFF;
}
void claims_a_header_digest(Bytes& pdu) { pdu[1] |= flag::hdgstf; }

/// A header digest after all, where none was negotiated.
void adds_to_the_response(Bytes& pdu) {
  pdu.resize(pdu.size() + 4);
  store_le<std::uint32_t>(&pdu[4], static_cast<std::uint32_t>(pdu.size()));
}

void empties_term_req(Bytes& pdu) {
  pdu.resize(tcp::TermReq::size);
  store_le<std::uint32_t>(&pdu[4], static_cast<std::uint32_t>(pdu.size()));
}

void speaks_after_term_req(std::vector<Bytes>& pdus) {
  if (!is(pdus.front(), PduType::c2h_term_req)) return;
  Record<tcp::CapsuleResp> late;
  late.set(tcp::pdu::type, PduType::capsule_resp);
  pdus.push_back(tcp::build_pdu(late.bytes(), {}, false, false));
}

void shifts_offset(Bytes& pdu) { store_le<std::uint32_t>(&pdu[12], load_le<std::uint32_t>(&pdu[12]) + 512); }
void shifts_later_offsets(Bytes& pdu) {
  if (load_le<std::uint32_t>(&pdu[16]) >= 16384) shifts_offset(pdu);
}
/// LAST_PDU in every PDU, or SUCCESS in every one but the last.
void last_in_all(Bytes& pdu) { pdu[1] |= flag::last_pdu; }
void success_before_the_end(Bytes& pdu) {
  if ((pdu[1] & flag::last_pdu) == 0) pdu[1] |= flag::success;
}
/// Offsets that begin anew with every PDU.
void offsets_of_zero(Bytes& pdu) { store_le<std::uint32_t>(&pdu[12], 0); }
void pads_with_noise(Bytes& pdu) {
  for (std::size_t at = pdu[2]; at < pdu[3]; ++at) pdu[at] = 0xA5;
}

void responds_after_success(std::vector<Bytes>& pdus) {
  const Bytes& pdu = pdus.front();
  if (!is(pdu, PduType::c2h_data) || (pdu[1] & flag::success) == 0) return;
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::cid, load_le<std::uint16_t>(&pdu[8]));
  Record<tcp::CapsuleResp> response;
  response.set(tcp::pdu::type, PduType::capsule_resp).set(tcp::capsule_resp::cqe, cqe.bytes());
  pdus.push_back(tcp::build_pdu(response.bytes(), {}, false, false));
}

/// A failed command of an I/O queue looks like a good read without data.
void success_for_failures(std::vector<Bytes>& pdus) {
  Bytes& pdu = pdus.front();
  if (!is(pdu, PduType::capsule_resp)) return;
  const nvme::Cqe cqe{ByteView(pdu).subspan(8)};
  if (!nvme::same_code(cqe.get(nvme::cqe::status), nvme::sc::lba_out_of_range)) return;
  Record<tcp::DataPdu> data;
  data.set(tcp::pdu::type, PduType::c2h_data)
      .set(tcp::pdu::flags, flag::last_pdu | flag::success)
      .set(tcp::data_pdu::cccid, cqe.get(nvme::cqe::cid))
      .set(tcp::data_pdu::length, 512u);
  pdu = tcp::build_pdu(data.bytes(), Bytes(512), false, false);
}

/// Data of a write on an I/O queue is not what the host sent.
class WritesOtherData final : public subsystem::SubsystemHooks {
 public:
  explicit WritesOtherData(std::size_t at) : at_(at) {}
  void data_in(const subsystem::CommandContext& command, MutableBytes data) override {
    if (command.qid != 0 && command.sqe[0] == 0x01 && data.size() > at_) data[at_] ^= 1;
  }

 private:
  std::size_t at_;
};

/// ICDOFF 16 bytes in Identify Controller.
class AnnouncesIcdoff final : public subsystem::SubsystemHooks {
 public:
  void data_out(const subsystem::CommandContext& command, MutableBytes data) override {
    constexpr std::size_t kIcdoff = 1800;
    if (command.qid == 0 && command.sqe[0] == 0x06 && data.size() == 4096) data[kIcdoff] = 1;
  }
};

/// An error on one connection silences them all.
class FallsSilent final : public subsystem::SubsystemHooks {
 public:
  void pdus_out(std::uint16_t, std::vector<Bytes>& pdus) override {
    if (silent_) return pdus.clear();
    silent_ = is(pdus.front(), PduType::c2h_term_req);
  }

 private:
  bool silent_ = false;
};

/// Takes an H2CTermReq, of whatever length, for nothing.
class IgnoresTermReqs final : public subsystem::SubsystemHooks {
 public:
  bool departs(std::string_view point) override { return point == "tcp.term_req.length" || point == "tcp.term_req.received"; }
};

}  // namespace

#define TCP(name, requirement, what, point) DEVIATION(name, requirement, Product::controller, what, Departs{point})
#define TCP_PDUS(name, requirement, what, ...) \
  DEVIATION(name, requirement, Product::controller, what, hooks<AlteringPdus, __VA_ARGS__>(), fabrics::kTcp)

TCP_PDUS(icresp_of_another_format, "tcp.icresp.shape", "says PFV 1 in ICResp", &flip<PduType::ic_resp, 8, 1>);
TCP_PDUS(icresp_with_reserved_bits, "tcp.icresp.reserved", "sets a reserved byte of ICResp", &flip<PduType::ic_resp, 100, 0x80>);
TCP_PDUS(icresp_cpda_beyond_range, "tcp.icresp.cpda", "asks for an alignment above 31", &flip<PduType::ic_resp, 10, 0x28>);
TCP_PDUS(icresp_maxh2cdata_odd, "tcp.icresp.maxh2cdata", "MAXH2CDATA is no number of dwords", &alter<PduType::ic_resp, &odd_maxh2cdata>);
TCP_PDUS(icresp_maxh2cdata_small, "tcp.icresp.maxh2cdata-least", "MAXH2CDATA is 512", &alter<PduType::ic_resp, &small_maxh2cdata>);
TCP_PDUS(icresp_enables_digests_unasked, "tcp.icresp.digest-unasked", "enables digests that nobody asked for",
         &alter<PduType::ic_resp, &enables_digests>);
TCP(icreq_of_any_format_taken, "tcp.icreq.pfv", "answers an ICReq of another format", "tcp.ic_req.pfv");
TCP(icreq_of_any_hpda_taken, "tcp.icreq.hpda", "answers an ICReq with HPDA 32", "tcp.ic_req.hpda");
TCP(icreq_of_any_length_taken, "tcp.icreq.plen", "answers an ICReq of another length", "tcp.ic.plen");
TCP(icreq_of_any_hlen_taken, "tcp.icreq.hlen", "answers an ICReq of another header length", "tcp.pdu.hlen");
TCP(icreq_taken_twice, "tcp.icreq.second", "answers a second ICReq", "tcp.ic_req.second");
TCP(icreq_not_needed, "tcp.icreq.first", "passes over PDUs before ICReq", "tcp.ic_req.first");
TCP(stream_must_come_whole, "tcp.stream.split", "ends the connection on a PDU in pieces", "tcp.stream.split");
DEVIATION(stream_garbage_silences_all, "tcp.stream.garbage", Product::controller,
          "answers nobody any more after an error on one connection", hooks<FallsSilent>(), fabrics::kTcp);
TCP(pdu_of_any_direction_taken, "tcp.pdu.direction", "passes over PDUs that go the other way", "tcp.pdu.direction");
TCP(pdu_of_any_type_taken, "tcp.pdu.reserved-type", "passes over PDUs of reserved types", "tcp.pdu.type");
TCP(hdgstf_not_looked_at, "tcp.pdu.hdgstf", "does not look at HDGSTF", "tcp.pdu.hdgstf");
TCP(ddgstf_not_looked_at, "tcp.pdu.ddgstf", "does not look at DDGSTF", "tcp.pdu.ddgstf");
TCP(capsule_of_any_hlen_taken, "tcp.capsule.hlen", "does not look at HLEN", "tcp.pdu.hlen");
TCP(capsule_of_any_plen_taken, "tcp.capsule.plen", "does not look at PLEN", "tcp.pdu.plen");
TCP(capsule_of_any_pdo_taken, "tcp.capsule.pdo", "does not look at PDO", "tcp.pdu.pdo");
TCP(admin_capsule_of_4096_bytes, "tcp.capsule.admin-room", "takes 4096 bytes in an admin capsule", "tcp.capsule.admin_room");
TCP(io_capsule_without_bound, "tcp.capsule.io-room", "takes any amount of data in a capsule", "tcp.capsule.room");
DEVIATION(in_capsule_data_is_spoilt, "tcp.capsule.data", Product::controller, "writes other data than the capsule holds",
          hooks<WritesOtherData, std::size_t{100}>(), fabrics::kTcp);
TCP(in_capsule_offset_not_looked_at, "tcp.capsule.offset", "does not hold the descriptor against the capsule", "tcp.sgl.offset");
TCP(termreq_ignored, "tcp.termreq.received", "goes on after an H2CTermReq", "tcp.term_req.received");
DEVIATION(termreq_of_any_length_taken, "tcp.termreq.too-long", Product::controller, "goes on after an H2CTermReq of 300 bytes",
          hooks<IgnoresTermReqs>(), fabrics::kTcp);
DEVIATION(termreq_of_20_bytes_taken, "tcp.termreq.too-short", Product::controller, "goes on after an H2CTermReq of 20 bytes",
          hooks<IgnoresTermReqs>(), fabrics::kTcp);
DEVIATION(capsules_are_announced_wrong, "tcp.identify.capsules", Product::controller, "announces an in-capsule data offset",
          hooks<AnnouncesIcdoff>(), fabrics::kTcp);
TCP_PDUS(termreq_without_header, "tcp.termreq.header", "sends C2HTermReq without the header that was wrong",
         &alter<PduType::c2h_term_req, &empties_term_req>);
DEVIATION(hpda_is_not_answered, "tcp.c2hdata.alignment", Product::controller, "answers no ICReq with an HPDA", hooks<AnswersNoHpda>(),
          fabrics::kTcp);
TCP(fatal_errors_without_termreq, "tcp.termreq.header", "closes without C2HTermReq", "tcp.term_req.never");
TCP_PDUS(termreq_is_not_the_last, "tcp.termreq.last", "sends a response after C2HTermReq", &speaks_after_term_req);
TCP_PDUS(response_longer_than_itself, "tcp.capsuleresp.shape", "response capsules have 28 bytes",
         &alter<PduType::capsule_resp, &adds_to_the_response>);
TCP_PDUS(header_digest_is_wrong, "tcp.digest.header.used", "header digests of data are wrong",
         &alter<PduType::c2h_data, &spoils_header_digest>);
TCP_PDUS(data_digest_is_wrong, "tcp.digest.data.used", "data digests are wrong", &alter<PduType::c2h_data, &spoils_data_digest>);
TCP_PDUS(digest_flag_without_digests, "tcp.digest.absent", "sets HDGSTF without being asked",
         &alter<PduType::c2h_data, &claims_a_header_digest>);
TCP(header_digest_not_looked_at, "tcp.digest.header.wrong", "does not check header digests", "tcp.pdu.hdgst");
TCP(capsule_digest_not_looked_at, "tcp.digest.data.wrong-capsule", "does not check data digests", "tcp.pdu.ddgst");
TCP(h2cdata_digest_not_looked_at, "tcp.digest.data.wrong-h2cdata", "does not check data digests", "tcp.pdu.ddgst");
TCP(address_sgl_taken, "tcp.sgl.address", "takes any descriptor", "tcp.sgl.type");
TCP(transport_sgl_of_any_subtype_taken, "tcp.sgl.subtype", "takes any descriptor", "tcp.sgl.type");
TCP(keyed_sgl_taken, "tcp.sgl.keyed", "takes any descriptor", "tcp.sgl.type");
TCP(short_tcp_sgl_taken, "tcp.sgl.too-short", "takes a descriptor that is too short", "tcp.sgl.length");
TCP_PDUS(r2t_leaves_out_the_start, "tcp.r2t.covers", "R2Ts begin at 512", &alter<PduType::r2t, &shifts_offset>);
TCP_PDUS(r2t_of_another_command, "tcp.r2t.cccid", "R2Ts name another command", &flip<PduType::r2t, 8, 0x40>);
TCP(r2t_for_large_writes_alone, "tcp.r2t.small", "waits for small data that is in no capsule", "tcp.r2t.small");
TCP(r2t_without_bound, "tcp.r2t.limit-one", "does not look at MAXR2T", "tcp.r2t.limit");
TCP(r2ts_beyond_maxr2t, "tcp.r2t.limit", "does not look at MAXR2T", "tcp.r2t.limit");
DEVIATION(h2cdata_is_spoilt, "tcp.h2cdata.written", Product::controller, "writes other data than H2CData brings",
          hooks<WritesOtherData, std::size_t{9000}>(), fabrics::kTcp);
TCP(h2cdata_of_any_length_taken, "tcp.h2cdata.limit", "takes more than MAXH2CDATA", "tcp.h2c_data.limit");
TCP(h2cdata_beyond_r2t_taken, "tcp.h2cdata.range", "takes data beyond the R2T", "tcp.h2c_data.range");
TCP(h2cdata_gap_taken, "tcp.h2cdata.gap", "does not look at DATAO", "tcp.h2c_data.offset");
TCP(h2cdata_of_another_length_taken, "tcp.h2cdata.datal", "does not hold DATAL against the data", "tcp.h2c_data.datal");
TCP(h2cdata_of_any_ttag_taken, "tcp.h2cdata.ttag", "passes over unknown transfer tags", "tcp.h2c_data.ttag");
TCP(h2cdata_of_any_cccid_taken, "tcp.h2cdata.cccid", "does not look at CCCID", "tcp.h2c_data.cccid");
TCP(h2cdata_unasked_taken, "tcp.h2cdata.unsolicited", "passes over data that nobody asked for", "tcp.h2c_data.ttag");
TCP(h2cdata_after_last_taken, "tcp.h2cdata.after-last", "passes over data after the last", "tcp.h2c_data.ttag");
TCP_PDUS(c2hdata_at_other_offsets, "tcp.c2hdata.contiguous", "DATAO of large data is shifted",
         &alter<PduType::c2h_data, &shifts_later_offsets>);
TCP_PDUS(c2hdata_never_last, "tcp.c2hdata.last", "LAST_PDU is not set", &flip<PduType::c2h_data, 1, flag::last_pdu>);
TCP_PDUS(c2hdata_always_last, "tcp.c2hdata.last", "LAST_PDU is set in every PDU", &alter<PduType::c2h_data, &last_in_all>);
TCP_PDUS(c2hdata_from_the_start_again, "tcp.c2hdata.contiguous", "each PDU begins at 0", &alter<PduType::c2h_data, &offsets_of_zero>);
TCP_PDUS(success_before_the_last, "tcp.success.alone", "sets SUCCESS before the last data",
         &alter<PduType::c2h_data, &success_before_the_end>);
TCP(h2cdata_below_r2t_taken, "tcp.h2cdata.below", "takes data below the range of its R2T", "tcp.h2c_data.below");
TCP(h2cdata_early_last_is_all, "tcp.h2cdata.early-last", "takes LAST_PDU for the end of the data", "tcp.h2c_data.last_ends");
TCP(read_into_a_capsule_taken, "tcp.sgl.read-in-capsule", "says success to a read whose data goes nowhere", "tcp.sgl.read_inside");
TCP(c2hdata_not_aligned, "tcp.c2hdata.alignment", "does not look at HPDA", "tcp.c2h_data.alignment");
TCP_PDUS(c2hdata_padded_with_noise, "tcp.c2hdata.padding", "padding is not zero", &alter<PduType::c2h_data, &pads_with_noise>);
TCP(success_with_flow_control, "tcp.success.flow-control", "sets SUCCESS although SQHD is used", "tcp.success.always");
TCP_PDUS(success_and_a_response, "tcp.success.alone", "sends a response capsule after SUCCESS", &responds_after_success);
TCP_PDUS(success_for_a_failed_read, "tcp.success.error", "reports a failed read as a good one", &success_for_failures);

TCP_PDUS(c2hdata_tag_reserved, "tcp.c2hdata.reserved", "C2HData has the tag of the last R2T", &flip<PduType::c2h_data, 10, 5>);
TCP_PDUS(c2hdata_tail_reserved, "tcp.c2hdata.reserved", "C2HData leaves its last four bytes set", &flip<PduType::c2h_data, 22, 0x80>);
TCP_PDUS(r2t_tail_reserved, "tcp.r2t.reserved", "an R2T leaves its last four bytes set", &flip<PduType::r2t, 20, 1>);
TCP_PDUS(response_sqid_reserved, "tcp.capsuleresp.reserved", "responses name their queue", &flip<PduType::capsule_resp, 18, 1>);
TCP_PDUS(termreq_bytes_reserved, "tcp.termreq.reserved", "a C2HTermReq leaves its reserved bytes set", &flip<PduType::c2h_term_req, 16, 1>);
TCP_PDUS(termreq_header_damaged, "tcp.termreq.header-whole", "a C2HTermReq brings a header back that is damaged",
         &flip<PduType::c2h_term_req, 24 + 12, 0x10>);

#undef TCP
#undef TCP_PDUS

}  // namespace fb::deviations
