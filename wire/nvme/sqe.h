// Submission queue entries: the common form, and the admin and NVM commands' own fields.
#pragma once

#include "wire/layout.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sgl.h"

namespace fb::nvme {

enum class Fuse : std::uint8_t { normal = 0, first = 1, second = 2, reserved = 3 };

/// Data pointer form. Over Fabrics: sgl for Admin and I/O commands. Hosts say it in Fabrics
/// commands too.
enum class Psdt : std::uint8_t { prp = 0, sgl = 1, sgl_metadata_sgl = 2, reserved = 3 };

inline constexpr std::uint32_t kAllNamespaces = 0xFFFFFFFF;

namespace sqe {
inline constexpr Le<"opcode", 0, std::uint8_t> opcode{};
inline constexpr LeBits<"fuse", 1, std::uint8_t, 1, 0, Fuse> fuse{};
inline constexpr LeBits<"psdt", 1, std::uint8_t, 7, 6, Psdt> psdt{};
inline constexpr Le<"cid", 2, std::uint16_t> cid{};
inline constexpr Le<"nsid", 4, std::uint32_t> nsid{};
inline constexpr Le<"cdw2", 8, std::uint32_t> cdw2{};
inline constexpr Le<"cdw3", 12, std::uint32_t> cdw3{};
inline constexpr Le<"mptr", 16, std::uint64_t> mptr{};
inline constexpr BytesField<"sgl1", 24, 16> sgl1{};
inline constexpr Le<"cdw10", 40, std::uint32_t> cdw10{};
inline constexpr Le<"cdw11", 44, std::uint32_t> cdw11{};
inline constexpr Le<"cdw12", 48, std::uint32_t> cdw12{};
inline constexpr Le<"cdw13", 52, std::uint32_t> cdw13{};
inline constexpr Le<"cdw14", 56, std::uint32_t> cdw14{};
inline constexpr Le<"cdw15", 60, std::uint32_t> cdw15{};
}  // namespace sqe

inline constexpr std::size_t kSqeSize = 64;

/// The common first 40 bytes and a command's own fields in the last 24.
template <auto... Fields>
using CommandSqe =
    Layout<kSqeSize, sqe::opcode, sqe::fuse, sqe::psdt, sqe::cid, sqe::nsid, sqe::cdw2, sqe::cdw3, sqe::mptr, sqe::sgl1, Fields...>;

using SqeLayout = CommandSqe<sqe::cdw10, sqe::cdw11, sqe::cdw12, sqe::cdw13, sqe::cdw14, sqe::cdw15>;
/// Any command. Its own fields: sqe.as<ReadWriteSqe>().get(rw_sqe::slba), or
/// sqe.edit<ReadWriteSqe>().set(rw_sqe::slba, 7).
using Sqe = Record<SqeLayout>;

// ---- NVM command set ----

/// Read, Write, Compare, Write Zeroes, Verify and Write Uncorrectable.
namespace rw_sqe {
inline constexpr Le<"slba", 40, std::uint64_t> slba{};
inline constexpr Le<"nlb", 48, std::uint16_t, ZeroBased<std::uint16_t>> nlb{};
inline constexpr LeBits<"dtype", 48, std::uint32_t, 23, 20> dtype{};
inline constexpr LeBits<"stc", 48, std::uint32_t, 24, 24, bool> stc{};
inline constexpr LeBits<"deac", 48, std::uint32_t, 25, 25, bool> deac{};
inline constexpr LeBits<"prchk_ref", 48, std::uint32_t, 26, 26, bool> prchk_ref{};
inline constexpr LeBits<"prchk_app", 48, std::uint32_t, 27, 27, bool> prchk_app{};
inline constexpr LeBits<"prchk_guard", 48, std::uint32_t, 28, 28, bool> prchk_guard{};
inline constexpr LeBits<"pract", 48, std::uint32_t, 29, 29, bool> pract{};
inline constexpr LeBits<"fua", 48, std::uint32_t, 30, 30, bool> fua{};
inline constexpr LeBits<"lr", 48, std::uint32_t, 31, 31, bool> lr{};
inline constexpr Le<"dsm", 52, std::uint8_t> dsm{};
inline constexpr LeBits<"dspec", 52, std::uint32_t, 31, 16> dspec{};
inline constexpr Le<"ilbrt", 56, std::uint32_t> ilbrt{};
inline constexpr Le<"lbat", 60, std::uint16_t> lbat{};
inline constexpr Le<"lbatm", 62, std::uint16_t> lbatm{};
}  // namespace rw_sqe

using ReadWriteSqe = CommandSqe<rw_sqe::slba, rw_sqe::nlb, rw_sqe::dtype, rw_sqe::stc, rw_sqe::deac, rw_sqe::prchk_ref, rw_sqe::prchk_app,
                                rw_sqe::prchk_guard, rw_sqe::pract, rw_sqe::fua, rw_sqe::lr, rw_sqe::dsm, rw_sqe::dspec, rw_sqe::ilbrt,
                                rw_sqe::lbat, rw_sqe::lbatm>;

namespace dsm_sqe {
inline constexpr Le<"nr", 40, std::uint8_t, ZeroBased<std::uint8_t>> nr{};
inline constexpr LeBits<"idr", 44, std::uint32_t, 0, 0, bool> idr{};
inline constexpr LeBits<"idw", 44, std::uint32_t, 1, 1, bool> idw{};
inline constexpr LeBits<"ad", 44, std::uint32_t, 2, 2, bool> ad{};
}  // namespace dsm_sqe
using DatasetManagementSqe = CommandSqe<dsm_sqe::nr, dsm_sqe::idr, dsm_sqe::idw, dsm_sqe::ad>;

/// One of up to 256 ranges that Dataset Management carries as data.
namespace dsm_range {
inline constexpr Le<"cattr", 0, std::uint32_t> cattr{};
inline constexpr Le<"length", 4, std::uint32_t> length{};
inline constexpr Le<"slba", 8, std::uint64_t> slba{};
}  // namespace dsm_range
using DsmRange = Layout<16, dsm_range::cattr, dsm_range::length, dsm_range::slba>;
inline constexpr std::size_t kDsmRangesMax = 256;

/// Reservation Register, Acquire and Release; Report has its own form.
namespace reservation_sqe {
inline constexpr LeBits<"action", 40, std::uint32_t, 2, 0> action{};
inline constexpr LeBits<"iekey", 40, std::uint32_t, 3, 3, bool> iekey{};
inline constexpr LeBits<"dispersed", 40, std::uint32_t, 4, 4, bool> dispersed{};
inline constexpr LeBits<"rtype", 40, std::uint32_t, 15, 8> rtype{};
inline constexpr LeBits<"cptpl", 40, std::uint32_t, 31, 30> cptpl{};
inline constexpr Le<"numd", 40, std::uint32_t, ZeroBased<std::uint32_t>> numd{};
inline constexpr LeBits<"eds", 44, std::uint32_t, 0, 0, bool> eds{};
}  // namespace reservation_sqe
using ReservationSqe =
    CommandSqe<reservation_sqe::action, reservation_sqe::iekey, reservation_sqe::dispersed, reservation_sqe::rtype, reservation_sqe::cptpl>;
using ReservationReportSqe = CommandSqe<reservation_sqe::numd, reservation_sqe::eds>;

// ---- Admin commands ----

namespace identify_sqe {
inline constexpr Le<"cns", 40, std::uint8_t> cns{};
inline constexpr Le<"cntid", 42, std::uint16_t> cntid{};
inline constexpr Le<"cnssid", 44, std::uint16_t> cnssid{};
inline constexpr Le<"csi", 47, std::uint8_t> csi{};
inline constexpr LeBits<"uidx", 56, std::uint32_t, 6, 0> uidx{};
}  // namespace identify_sqe
using IdentifySqe = CommandSqe<identify_sqe::cns, identify_sqe::cntid, identify_sqe::cnssid, identify_sqe::csi, identify_sqe::uidx>;

namespace get_log_sqe {
inline constexpr Le<"lid", 40, std::uint8_t> lid{};
inline constexpr LeBits<"lsp", 41, std::uint8_t, 6, 0> lsp{};
inline constexpr LeBits<"rae", 41, std::uint8_t, 7, 7, bool> rae{};
inline constexpr Le<"numdl", 42, std::uint16_t> numdl{};
inline constexpr Le<"numdu", 44, std::uint16_t> numdu{};
inline constexpr Le<"lsi", 46, std::uint16_t> lsi{};
inline constexpr Le<"lpol", 48, std::uint32_t> lpol{};
inline constexpr Le<"lpou", 52, std::uint32_t> lpou{};
inline constexpr LeBits<"uidx", 56, std::uint32_t, 6, 0> uidx{};
inline constexpr LeBits<"ot", 56, std::uint32_t, 23, 23, bool> ot{};
inline constexpr Le<"csi", 59, std::uint8_t> csi{};
}  // namespace get_log_sqe
using GetLogPageSqe =
    CommandSqe<get_log_sqe::lid, get_log_sqe::lsp, get_log_sqe::rae, get_log_sqe::numdl, get_log_sqe::numdu, get_log_sqe::lsi,
               get_log_sqe::lpol, get_log_sqe::lpou, get_log_sqe::uidx, get_log_sqe::ot, get_log_sqe::csi>;

/// Bytes that a Get Log Page command asks for, from the two halves of NUMD. Up to 16 GiB.
template <class AnyView>
constexpr std::uint64_t log_length(const AnyView& command) {
  const std::uint64_t numd = std::uint64_t{command.get(get_log_sqe::numdu)} << 16 | command.get(get_log_sqe::numdl);
  return (numd + 1) * 4;
}
/// The log page offset, or index, from its two halves.
template <class AnyView>
constexpr std::uint64_t log_offset(const AnyView& command) {
  return std::uint64_t{command.get(get_log_sqe::lpou)} << 32 | command.get(get_log_sqe::lpol);
}
/// Sets NUMD and the offset; `length` is a multiple of 4 and not 0.
constexpr void set_log_range(Record<GetLogPageSqe>& command, std::uint64_t offset, std::uint64_t length) {
  BENCH_ASSERT(length > 0 && length % 4 == 0, "a log page is read in dwords");
  const std::uint64_t numd = length / 4 - 1;
  command.set(get_log_sqe::numdl, numd & 0xFFFF)
      .set(get_log_sqe::numdu, numd >> 16)
      .set(get_log_sqe::lpol, offset & 0xFFFFFFFF)
      .set(get_log_sqe::lpou, offset >> 32);
}

enum class FeatureSelect : std::uint8_t {
  current = 0,
  default_value = 1,
  saved = 2,
  capabilities = 3,
};

/// Get Features and Set Features.
namespace features_sqe {
inline constexpr Le<"fid", 40, std::uint8_t> fid{};
inline constexpr LeBits<"sel", 40, std::uint32_t, 10, 8, FeatureSelect> sel{};
inline constexpr LeBits<"sv", 40, std::uint32_t, 31, 31, bool> sv{};
inline constexpr Le<"cdw11", 44, std::uint32_t> cdw11{};
inline constexpr Le<"cdw12", 48, std::uint32_t> cdw12{};
inline constexpr Le<"cdw13", 52, std::uint32_t> cdw13{};
inline constexpr LeBits<"uidx", 56, std::uint32_t, 6, 0> uidx{};
inline constexpr Le<"cdw15", 60, std::uint32_t> cdw15{};
}  // namespace features_sqe
using GetFeaturesSqe = CommandSqe<features_sqe::fid, features_sqe::sel, features_sqe::cdw11, features_sqe::uidx>;
using SetFeaturesSqe = CommandSqe<features_sqe::fid, features_sqe::sv, features_sqe::cdw11, features_sqe::cdw12, features_sqe::cdw13,
                                  features_sqe::uidx, features_sqe::cdw15>;

/// DW0 of Get Features with SEL = capabilities.
namespace feature_capability_bits {
inline constexpr std::uint32_t saveable = 1u << 0;
inline constexpr std::uint32_t namespace_specific = 1u << 1;
inline constexpr std::uint32_t changeable = 1u << 2;
}  // namespace feature_capability_bits

namespace abort_sqe {
inline constexpr Le<"sqid", 40, std::uint16_t> sqid{};
inline constexpr Le<"abort_cid", 42, std::uint16_t> abort_cid{};
}  // namespace abort_sqe
using AbortSqe = CommandSqe<abort_sqe::sqid, abort_sqe::abort_cid>;
/// Bit 0 of DW0 in the completion of Abort: the command was not aborted at once.
inline constexpr std::uint32_t kAbortNotDone = 1;
namespace firmware_download_sqe {
inline constexpr Le<"numd", 40, std::uint32_t, ZeroBased<std::uint32_t>> numd{};
inline constexpr Le<"ofst", 44, std::uint32_t> ofst{};  ///< in dwords
}  // namespace firmware_download_sqe
using FirmwareDownloadSqe = CommandSqe<firmware_download_sqe::numd, firmware_download_sqe::ofst>;

enum class CommitAction : std::uint8_t {
  replace = 0,               ///< the slot's image by what was downloaded
  replace_and_activate = 1,  ///< at the next reset
  activate = 2,              ///< what the slot holds, at the next reset
  activate_at_once = 3,      ///< without one; what was downloaded replaces the slot's image first
  replace_boot_partition = 6,
  activate_boot_partition = 7,
};

namespace firmware_commit_sqe {
inline constexpr LeBits<"fs", 40, std::uint32_t, 2, 0> fs{};
inline constexpr LeBits<"ca", 40, std::uint32_t, 5, 3, CommitAction> ca{};
inline constexpr LeBits<"bpid", 40, std::uint32_t, 31, 31, bool> bpid{};
}  // namespace firmware_commit_sqe
using FirmwareCommitSqe = CommandSqe<firmware_commit_sqe::fs, firmware_commit_sqe::ca, firmware_commit_sqe::bpid>;

namespace format_sqe {
inline constexpr LeBits<"lbafl", 40, std::uint32_t, 3, 0> lbafl{};
inline constexpr LeBits<"mset", 40, std::uint32_t, 4, 4, bool> mset{};
inline constexpr LeBits<"pi", 40, std::uint32_t, 7, 5> pi{};
inline constexpr LeBits<"pil", 40, std::uint32_t, 8, 8, bool> pil{};
/// 0 none, 1 user data, 2 cryptographic.
inline constexpr LeBits<"ses", 40, std::uint32_t, 11, 9> ses{};
inline constexpr LeBits<"lbafu", 40, std::uint32_t, 13, 12> lbafu{};
}  // namespace format_sqe
using FormatSqe = CommandSqe<format_sqe::lbafl, format_sqe::mset, format_sqe::pi, format_sqe::pil, format_sqe::ses, format_sqe::lbafu>;

namespace namespace_management_sqe {
/// 0 create, 1 delete.
inline constexpr LeBits<"sel", 40, std::uint32_t, 3, 0> sel{};
inline constexpr Le<"csi", 47, std::uint8_t> csi{};
}  // namespace namespace_management_sqe
using NamespaceManagementSqe = CommandSqe<namespace_management_sqe::sel, namespace_management_sqe::csi>;

namespace namespace_attachment_sqe {
/// 0 attach, 1 detach.
inline constexpr LeBits<"sel", 40, std::uint32_t, 3, 0> sel{};
}  // namespace namespace_attachment_sqe
using NamespaceAttachmentSqe = CommandSqe<namespace_attachment_sqe::sel>;

enum class SanitizeAction : std::uint8_t {
  exit_failure_mode = 1,
  block_erase = 2,
  overwrite = 3,
  crypto_erase = 4,
  exit_media_verification = 5,
};

namespace sanitize_sqe {
inline constexpr LeBits<"sanact", 40, std::uint32_t, 2, 0, SanitizeAction> sanact{};
/// A failed operation may be left without another one that succeeds.
inline constexpr LeBits<"ause", 40, std::uint32_t, 3, 3, bool> ause{};
/// 0: sixteen passes.
inline constexpr LeBits<"owpass", 40, std::uint32_t, 7, 4> owpass{};
inline constexpr LeBits<"oipbp", 40, std::uint32_t, 8, 8, bool> oipbp{};
/// The blocks are not to be deallocated afterwards.
inline constexpr LeBits<"ndas", 40, std::uint32_t, 9, 9, bool> ndas{};
inline constexpr LeBits<"emvs", 40, std::uint32_t, 10, 10, bool> emvs{};
inline constexpr Le<"ovrpat", 44, std::uint32_t> ovrpat{};
}  // namespace sanitize_sqe
using SanitizeSqe = CommandSqe<sanitize_sqe::sanact, sanitize_sqe::ause, sanitize_sqe::owpass, sanitize_sqe::oipbp, sanitize_sqe::ndas,
                               sanitize_sqe::emvs, sanitize_sqe::ovrpat>;
inline constexpr unsigned kOverwritePassesMax = 16;

enum class SelfTestCode : std::uint8_t {
  none = 0,
  short_test = 1,
  extended_test = 2,
  vendor = 0xE,
  abort = 0xF,
};

namespace self_test_sqe {
inline constexpr LeBits<"stc", 40, std::uint32_t, 3, 0, SelfTestCode> stc{};
}  // namespace self_test_sqe
using SelfTestSqe = CommandSqe<self_test_sqe::stc>;

/// Security Send and Security Receive.
namespace security_sqe {
inline constexpr Le<"nssf", 40, std::uint8_t> nssf{};
inline constexpr Le<"spsp", 41, std::uint16_t> spsp{};
inline constexpr Le<"secp", 43, std::uint8_t> secp{};
inline constexpr Le<"length", 44, std::uint32_t> length{};
}  // namespace security_sqe
using SecuritySqe = CommandSqe<security_sqe::nssf, security_sqe::spsp, security_sqe::secp, security_sqe::length>;

}  // namespace fb::nvme
