// NVMe/TCP PDUs: an 8-byte common header, a header of the type's own, then header digest, padding, data
// and data digest as the flags and PDO say. All little endian (TCP transport specification, section 3).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/layout.h"

namespace fb::tcp {

enum class PduType : std::uint8_t {
  ic_req = 0x00,
  ic_resp = 0x01,
  h2c_term_req = 0x02,
  c2h_term_req = 0x03,
  capsule_cmd = 0x04,
  capsule_resp = 0x05,
  h2c_data = 0x06,
  c2h_data = 0x07,
  r2t = 0x09,
};

namespace pdu_flags {
inline constexpr std::uint8_t hdgstf = 1u << 0;
inline constexpr std::uint8_t ddgstf = 1u << 1;
inline constexpr std::uint8_t last_pdu = 1u << 2;
inline constexpr std::uint8_t success = 1u << 3;
}  // namespace pdu_flags

namespace pdu {
inline constexpr Le<"type", 0, std::uint8_t, PduType> type{};
inline constexpr Le<"flags", 1, std::uint8_t> flags{};
/// Bytes of the header, without its digest.
inline constexpr Le<"hlen", 2, std::uint8_t> hlen{};
/// Where the data begins, from the first byte of the PDU.
inline constexpr Le<"pdo", 3, std::uint8_t> pdo{};
/// Header, header digest, padding, data and data digest.
inline constexpr Le<"plen", 4, std::uint32_t> plen{};
}  // namespace pdu
template <std::size_t Size, auto... Fields>
using PduLayout = Layout<Size, pdu::type, pdu::flags, pdu::hlen, pdu::pdo, pdu::plen, Fields...>;
using CommonHeader = PduLayout<8>;

namespace ic_req {
inline constexpr Le<"pfv", 8, std::uint16_t> pfv{};
/// Alignment of C2HData, in dwords minus one, at most 31.
inline constexpr Le<"hpda", 10, std::uint8_t> hpda{};
inline constexpr LeBits<"hdgst_enable", 11, std::uint8_t, 0, 0, bool> hdgst_enable{};
inline constexpr LeBits<"ddgst_enable", 11, std::uint8_t, 1, 1, bool> ddgst_enable{};
/// R2Ts of one command that may be outstanding, minus one.
inline constexpr Le<"maxr2t", 12, std::uint32_t> maxr2t{};
}  // namespace ic_req
using IcReq = PduLayout<128, ic_req::pfv, ic_req::hpda, ic_req::hdgst_enable, ic_req::ddgst_enable, ic_req::maxr2t>;

namespace ic_resp {
inline constexpr Le<"pfv", 8, std::uint16_t> pfv{};
/// Alignment of in-capsule data and H2CData, in dwords minus one, at most 31.
inline constexpr Le<"cpda", 10, std::uint8_t> cpda{};
inline constexpr LeBits<"hdgst_enable", 11, std::uint8_t, 0, 0, bool> hdgst_enable{};
inline constexpr LeBits<"ddgst_enable", 11, std::uint8_t, 1, 1, bool> ddgst_enable{};
/// Most bytes of data in one H2CData, a multiple of 4.
inline constexpr Le<"maxh2cdata", 12, std::uint32_t> maxh2cdata{};
}  // namespace ic_resp
using IcResp = PduLayout<128, ic_resp::pfv, ic_resp::cpda, ic_resp::hdgst_enable, ic_resp::ddgst_enable, ic_resp::maxh2cdata>;

/// Fatal error status of a TermReq. Codes 4 and 5 read differently on the two sides.
enum class FatalStatus : std::uint16_t {
  invalid_header_field = 1,
  sequence_error = 2,
  header_digest_error = 3,
  data_out_of_range = 4,
  limit_exceeded = 5,  ///< H2CTermReq: R2T limit; C2HTermReq: data transfer limit
  unsupported_parameter = 6,
};

namespace term_req {
inline constexpr Le<"fes", 8, std::uint16_t, FatalStatus> fes{};
inline constexpr Le<"fei", 10, std::uint32_t> fei{};
}  // namespace term_req
/// Followed by the header of the PDU that was wrong.
using TermReq = PduLayout<24, term_req::fes, term_req::fei>;
inline constexpr std::size_t kTermReqMax = 152;

namespace capsule_cmd {
inline constexpr BytesField<"sqe", 8, 64> sqe{};
}  // namespace capsule_cmd
using CapsuleCmd = PduLayout<72, capsule_cmd::sqe>;

namespace capsule_resp {
inline constexpr BytesField<"cqe", 8, 16> cqe{};
}  // namespace capsule_resp
using CapsuleResp = PduLayout<24, capsule_resp::cqe>;

/// H2CData, C2HData (whose TTAG is reserved) and R2T share their shape.
namespace data_pdu {
/// Command capsule CID: the command that the data belongs to.
inline constexpr Le<"cccid", 8, std::uint16_t> cccid{};
/// Transfer tag: the controller's name for one R2T.
inline constexpr Le<"ttag", 10, std::uint16_t> ttag{};
/// DATAO, R2TO: offset in the command's data.
inline constexpr Le<"offset", 12, std::uint32_t> offset{};
/// DATAL, R2TL.
inline constexpr Le<"length", 16, std::uint32_t> length{};
}  // namespace data_pdu
using DataPdu = PduLayout<24, data_pdu::cccid, data_pdu::ttag, data_pdu::offset, data_pdu::length>;

inline constexpr std::size_t kCommonHeaderBytes = 8;
inline constexpr std::size_t kHeaderMax = 128;
inline constexpr std::size_t kDigestBytes = 4;
/// HPDA and CPDA at most; data begins at a multiple of (value + 1) * 4 bytes.
inline constexpr std::uint8_t kAlignmentMax = 31;
constexpr std::size_t alignment_of(std::uint8_t pda) { return (std::size_t{pda} + 1) * 4; }
/// In-capsule data that every controller takes with admin and Fabrics commands.
inline constexpr std::size_t kAdminInCapsuleMax = 8192;

/// What a type of PDU looks like.
struct PduShape {
  PduType type;
  std::string_view name;
  bool to_controller;
  std::uint8_t hlen;
  std::uint8_t flags;  ///< that it may carry
  bool data;
  bool digests;  ///< carries digests where they are negotiated
};
/// By type: those up to 07h, then 09h.
inline constexpr PduShape kPduShapes[] = {
    {PduType::ic_req, "ICReq", true, 128, 0, false, false},
    {PduType::ic_resp, "ICResp", false, 128, 0, false, false},
    {PduType::h2c_term_req, "H2CTermReq", true, 24, 0, true, false},
    {PduType::c2h_term_req, "C2HTermReq", false, 24, 0, true, false},
    {PduType::capsule_cmd, "CapsuleCmd", true, 72, pdu_flags::hdgstf | pdu_flags::ddgstf, true, true},
    {PduType::capsule_resp, "CapsuleResp", false, 24, pdu_flags::hdgstf, false, true},
    {PduType::h2c_data, "H2CData", true, 24, pdu_flags::hdgstf | pdu_flags::ddgstf | pdu_flags::last_pdu, true, true},
    {PduType::c2h_data, "C2HData", false, 24, pdu_flags::hdgstf | pdu_flags::ddgstf | pdu_flags::last_pdu | pdu_flags::success, true, true},
    {PduType::r2t, "R2T", false, 24, pdu_flags::hdgstf, false, true},
};
/// Nothing for reserved types.
constexpr const PduShape* shape_of(std::uint8_t type) {
  if (type < 8) return &kPduShapes[type];
  return type == static_cast<std::uint8_t>(PduType::r2t) ? &kPduShapes[8] : nullptr;
}

/// "ICReq"; "reserved" for others.
std::string_view name_of(PduType type);
/// "PDU Sequence Error"; `by_host` chooses the meaning of 4 and 5.
std::string name_of(FatalStatus status, bool by_host);

/// CRC32C of bytes that continue those that gave `crc`.
std::uint32_t crc32c(ByteView bytes, std::uint32_t crc = 0);

/// Where the data of a PDU begins for a header of `hlen`, a digest or none, and the peer's alignment.
constexpr std::size_t data_offset(std::size_t hlen, bool header_digest, std::size_t alignment) {
  const std::size_t end = hlen + (header_digest ? kDigestBytes : 0);
  return (end + alignment - 1) / alignment * alignment;
}

/// Builds a whole PDU from its header (type and flags set) and data: HLEN, PDO, PLEN, digest flags and
/// digests are filled in. For raw PDUs and tests; the engine builds in place.
Bytes build_pdu(ByteView header, ByteView data, bool header_digest, bool data_digest, std::size_t alignment = 4);
/// Computes the digests of a PDU again, where its flags say that it has them and they fit.
void refresh_digests(MutableBytes pdu);

/// One line: "R2T cccid=3 ttag=0 offset=0 length=16384". Any bytes can be described.
std::string describe_pdu(ByteView header);

}  // namespace fb::tcp
