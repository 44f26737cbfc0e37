// Identify Namespace: the NVM command set's structure (CNS 00h), its addition (CNS 05h), and the
// part that no command set owns (CNS 08h).
#pragma once

#include "wire/layout.h"
#include "wire/nvme/identify.h"

namespace fb::nvme {

namespace id_ns {
inline constexpr Le<"nsze", 0, std::uint64_t> nsze{};
inline constexpr Le<"ncap", 8, std::uint64_t> ncap{};
inline constexpr Le<"nuse", 16, std::uint64_t> nuse{};
inline constexpr Le<"nsfeat", 24, std::uint8_t> nsfeat{};
inline constexpr Le<"nlbaf", 25, std::uint8_t, ZeroBased<std::uint8_t>> nlbaf{};
inline constexpr LeBits<"flbas_low", 26, std::uint8_t, 3, 0> flbas_low{};
inline constexpr LeBits<"flbas_extended", 26, std::uint8_t, 4, 4, bool> flbas_extended{};
inline constexpr LeBits<"flbas_high", 26, std::uint8_t, 6, 5> flbas_high{};
inline constexpr Le<"mc", 27, std::uint8_t> mc{};
inline constexpr Le<"dpc", 28, std::uint8_t> dpc{};
inline constexpr Le<"dps", 29, std::uint8_t> dps{};
inline constexpr Le<"nmic", 30, std::uint8_t> nmic{};
inline constexpr Le<"rescap", 31, std::uint8_t> rescap{};
inline constexpr Le<"fpi", 32, std::uint8_t> fpi{};
inline constexpr Le<"dlfeat", 33, std::uint8_t> dlfeat{};
inline constexpr Le<"nawun", 34, std::uint16_t, ZeroBased<std::uint16_t>> nawun{};
inline constexpr Le<"nawupf", 36, std::uint16_t, ZeroBased<std::uint16_t>> nawupf{};
inline constexpr Le<"nacwu", 38, std::uint16_t, ZeroBased<std::uint16_t>> nacwu{};
inline constexpr Le<"nabsn", 40, std::uint16_t> nabsn{};
inline constexpr Le<"nabo", 42, std::uint16_t> nabo{};
inline constexpr Le<"nabspf", 44, std::uint16_t> nabspf{};
inline constexpr Le<"noiob", 46, std::uint16_t> noiob{};
inline constexpr BytesField<"nvmcap", 48, 16> nvmcap{};
inline constexpr Le<"npwg", 64, std::uint16_t> npwg{};
inline constexpr Le<"npwa", 66, std::uint16_t> npwa{};
inline constexpr Le<"npdg", 68, std::uint16_t> npdg{};
inline constexpr Le<"npda", 70, std::uint16_t> npda{};
inline constexpr Le<"nows", 72, std::uint16_t> nows{};
inline constexpr Le<"mssrl", 74, std::uint16_t> mssrl{};
inline constexpr Le<"mcl", 76, std::uint32_t> mcl{};
inline constexpr Le<"msrc", 80, std::uint8_t, ZeroBased<std::uint8_t>> msrc{};
inline constexpr Le<"nulbaf", 82, std::uint8_t> nulbaf{};
inline constexpr Le<"anagrpid", 92, std::uint32_t> anagrpid{};
inline constexpr Le<"nsattr", 99, std::uint8_t> nsattr{};
inline constexpr Le<"nvmsetid", 100, std::uint16_t> nvmsetid{};
inline constexpr Le<"endgid", 102, std::uint16_t> endgid{};
inline constexpr BytesField<"nguid", 104, 16> nguid{};
inline constexpr BytesField<"eui64", 120, 8> eui64{};
inline constexpr BytesField<"lbaf", 128, 256> lbaf{};
inline constexpr BytesField<"vs", 384, 3712> vs{};
}  // namespace id_ns

using IdentifyNamespace =
    Layout<kIdentifySize, id_ns::nsze, id_ns::ncap, id_ns::nuse, id_ns::nsfeat, id_ns::nlbaf, id_ns::flbas_low, id_ns::flbas_extended,
           id_ns::flbas_high, id_ns::mc, id_ns::dpc, id_ns::dps, id_ns::nmic, id_ns::rescap, id_ns::fpi, id_ns::dlfeat, id_ns::nawun,
           id_ns::nawupf, id_ns::nacwu, id_ns::nabsn, id_ns::nabo, id_ns::nabspf, id_ns::noiob, id_ns::nvmcap, id_ns::npwg, id_ns::npwa,
           id_ns::npdg, id_ns::npda, id_ns::nows, id_ns::mssrl, id_ns::mcl, id_ns::msrc, id_ns::nulbaf, id_ns::anagrpid, id_ns::nsattr,
           id_ns::nvmsetid, id_ns::endgid, id_ns::nguid, id_ns::eui64, id_ns::lbaf, id_ns::vs>;

/// One of the 64 formats in id_ns::lbaf.
namespace lba_format {
inline constexpr Le<"ms", 0, std::uint16_t> ms{};
inline constexpr Le<"lbads", 2, std::uint8_t> lbads{};
inline constexpr LeBits<"rp", 3, std::uint8_t, 1, 0> rp{};
}  // namespace lba_format
using LbaFormat = Layout<4, lba_format::ms, lba_format::lbads, lba_format::rp>;
inline constexpr unsigned kLbaFormatsMax = 64;

/// The format number in FLBAS: 0 to 63. `data` holds an Identify Namespace structure.
constexpr unsigned format_in_use(ByteView data) {
  const View<IdentifyNamespace> ns{data};
  return ns.get(id_ns::flbas_low) | static_cast<unsigned>(ns.get(id_ns::flbas_high)) << 4;
}
constexpr View<LbaFormat> lba_format_at(ByteView data, unsigned index) { return element<LbaFormat>(data, id_ns::lbaf, index); }
constexpr MutableView<LbaFormat> edit_lba_format(MutableBytes data, unsigned index) {
  return edit_element<LbaFormat>(data, id_ns::lbaf, index);
}

namespace nsfeat_bits {
inline constexpr std::uint8_t thin_provisioning = 1u << 0;
inline constexpr std::uint8_t atomic_fields = 1u << 1;
inline constexpr std::uint8_t deallocated_error = 1u << 2;
inline constexpr std::uint8_t ids_never_reused = 1u << 3;
inline constexpr std::uint8_t optimal_io_fields = 1u << 4;
}  // namespace nsfeat_bits

namespace mc_bits {
inline constexpr std::uint8_t extended = 1u << 0;
inline constexpr std::uint8_t separate = 1u << 1;
}  // namespace mc_bits

namespace dpc_bits {
inline constexpr std::uint8_t type_1 = 1u << 0;
inline constexpr std::uint8_t type_2 = 1u << 1;
inline constexpr std::uint8_t type_3 = 1u << 2;
inline constexpr std::uint8_t first_bytes = 1u << 3;
inline constexpr std::uint8_t last_bytes = 1u << 4;
}  // namespace dpc_bits

/// Bits 2:0 of DPS are the type, 0 without protection information.
namespace dps_bits {
inline constexpr std::uint8_t type_mask = 7u << 0;
inline constexpr std::uint8_t first_bytes = 1u << 3;
}  // namespace dps_bits

namespace nmic_bits {
inline constexpr std::uint8_t shared = 1u << 0;
inline constexpr std::uint8_t dispersed = 1u << 1;
}  // namespace nmic_bits

namespace dlfeat_bits {
inline constexpr std::uint8_t read_mask = 7u << 0;
inline constexpr std::uint8_t reads_zeroes = 1u;
inline constexpr std::uint8_t reads_ones = 2u;
inline constexpr std::uint8_t write_zeroes_deallocates = 1u << 3;
inline constexpr std::uint8_t guard_is_crc = 1u << 4;
}  // namespace dlfeat_bits

namespace nsattr_bits {
inline constexpr std::uint8_t write_protected = 1u << 0;
}  // namespace nsattr_bits

/// CNS 05h, NVM command set.
namespace id_ns_nvm {
inline constexpr Le<"lbstm", 0, std::uint64_t> lbstm{};
inline constexpr Le<"pic", 8, std::uint8_t> pic{};
inline constexpr Le<"pifa", 9, std::uint8_t> pifa{};
inline constexpr BytesField<"elbaf", 12, 256> elbaf{};
}  // namespace id_ns_nvm
using IdentifyNamespaceNvm = Layout<kIdentifySize, id_ns_nvm::lbstm, id_ns_nvm::pic, id_ns_nvm::pifa, id_ns_nvm::elbaf>;

namespace pic_bits {
/// Formats with 16-bit guards may have a storage tag.
inline constexpr std::uint8_t storage_tag_16 = 1u << 0;
/// Copy may check it while it reads.
inline constexpr std::uint8_t copy_checks_storage_tag = 1u << 2;
}  // namespace pic_bits

/// Guard width of a format's protection information.
enum class ProtectionFormat : std::uint8_t { guard_16 = 0, guard_32 = 1, guard_64 = 2, reserved = 3 };

/// One of the 64 entries in id_ns_nvm::elbaf.
namespace extended_lba_format {
/// Storage tag size in bits.
inline constexpr LeBits<"sts", 0, std::uint32_t, 6, 0> sts{};
inline constexpr LeBits<"pif", 0, std::uint32_t, 8, 7, ProtectionFormat> pif{};
}  // namespace extended_lba_format
using ExtendedLbaFormat = Layout<4, extended_lba_format::sts, extended_lba_format::pif>;

/// CNS 08h.
namespace id_ns_independent {
inline constexpr Le<"nsfeat", 0, std::uint8_t> nsfeat{};
inline constexpr Le<"nmic", 1, std::uint8_t> nmic{};
inline constexpr Le<"rescap", 2, std::uint8_t> rescap{};
inline constexpr Le<"fpi", 3, std::uint8_t> fpi{};
inline constexpr Le<"anagrpid", 4, std::uint32_t> anagrpid{};
inline constexpr Le<"nsattr", 8, std::uint8_t> nsattr{};
inline constexpr Le<"nvmsetid", 10, std::uint16_t> nvmsetid{};
inline constexpr Le<"endgid", 12, std::uint16_t> endgid{};
inline constexpr Le<"nstat", 14, std::uint8_t> nstat{};
}  // namespace id_ns_independent
using IdentifyNamespaceIndependent = Layout<kIdentifySize, id_ns_independent::nsfeat, id_ns_independent::nmic, id_ns_independent::rescap,
                                            id_ns_independent::fpi, id_ns_independent::anagrpid, id_ns_independent::nsattr,
                                            id_ns_independent::nvmsetid, id_ns_independent::endgid, id_ns_independent::nstat>;

/// Bit 0 of NSTAT: the namespace is ready.
inline constexpr std::uint8_t kNstatReady = 1u << 0;

}  // namespace fb::nvme
