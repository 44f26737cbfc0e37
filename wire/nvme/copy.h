// Copy: its submission queue entry and the source ranges that come as data.
#pragma once

#include <vector>

#include "wire/nvme/protection.h"
#include "wire/nvme/sqe.h"

namespace fb::nvme {

namespace copy_sqe {
inline constexpr Le<"sdlba", 40, std::uint64_t> sdlba{};
inline constexpr Le<"nr", 48, std::uint8_t, ZeroBased<std::uint8_t>> nr{};
inline constexpr LeBits<"desfmt", 48, std::uint32_t, 11, 8> desfmt{};
// PRINFOR and PRINFOW, bit by bit.
inline constexpr LeBits<"read_prchk_ref", 48, std::uint32_t, 12, 12, bool> read_prchk_ref{};
inline constexpr LeBits<"read_prchk_app", 48, std::uint32_t, 13, 13, bool> read_prchk_app{};
inline constexpr LeBits<"read_prchk_guard", 48, std::uint32_t, 14, 14, bool> read_prchk_guard{};
inline constexpr LeBits<"read_pract", 48, std::uint32_t, 15, 15, bool> read_pract{};
inline constexpr LeBits<"dtype", 48, std::uint32_t, 23, 20> dtype{};
inline constexpr LeBits<"stcw", 48, std::uint32_t, 24, 24, bool> stcw{};
inline constexpr LeBits<"stcr", 48, std::uint32_t, 25, 25, bool> stcr{};
inline constexpr LeBits<"prchk_ref", 48, std::uint32_t, 26, 26, bool> prchk_ref{};
inline constexpr LeBits<"prchk_app", 48, std::uint32_t, 27, 27, bool> prchk_app{};
inline constexpr LeBits<"prchk_guard", 48, std::uint32_t, 28, 28, bool> prchk_guard{};
inline constexpr LeBits<"pract", 48, std::uint32_t, 29, 29, bool> pract{};
inline constexpr LeBits<"fua", 48, std::uint32_t, 30, 30, bool> fua{};
inline constexpr LeBits<"lr", 48, std::uint32_t, 31, 31, bool> lr{};
}  // namespace copy_sqe
using CopySqe = CommandSqe<copy_sqe::sdlba, copy_sqe::nr, copy_sqe::desfmt, copy_sqe::read_prchk_ref, copy_sqe::read_prchk_app,
                           copy_sqe::read_prchk_guard, copy_sqe::read_pract, copy_sqe::dtype, copy_sqe::stcw, copy_sqe::stcr,
                           copy_sqe::prchk_ref, copy_sqe::prchk_app, copy_sqe::prchk_guard, copy_sqe::pract, copy_sqe::fua, copy_sqe::lr>;

/// Descriptor formats 0h and 2h (16-bit guards); snsid in 2h alone.
namespace copy_range {
inline constexpr Le<"snsid", 0, std::uint32_t> snsid{};
inline constexpr Le<"slba", 8, std::uint64_t> slba{};
inline constexpr Le<"nlb", 16, std::uint16_t, ZeroBased<std::uint16_t>> nlb{};
inline constexpr LeBits<"fco", 22, std::uint16_t, 15, 15, bool> fco{};
inline constexpr Le<"elbt", 24, std::uint32_t> elbt{};
inline constexpr Le<"elbat", 28, std::uint16_t> elbat{};
inline constexpr Le<"elbatm", 30, std::uint16_t> elbatm{};
}  // namespace copy_range
using CopyRange = Layout<32, copy_range::snsid, copy_range::slba, copy_range::nlb, copy_range::fco, copy_range::elbt, copy_range::elbat,
                         copy_range::elbatm>;

/// Descriptor formats 1h and 3h (wide guards); the tags are 80 bits, big-endian.
namespace copy_wide_range {
inline constexpr BytesField<"elbt", 26, 10> elbt{};
inline constexpr Le<"elbat", 36, std::uint16_t> elbat{};
inline constexpr Le<"elbatm", 38, std::uint16_t> elbatm{};
}  // namespace copy_wide_range
using CopyWideRange = Layout<40, copy_range::snsid, copy_range::slba, copy_range::nlb, copy_range::fco, copy_wide_range::elbt,
                             copy_wide_range::elbat, copy_wide_range::elbatm>;

inline constexpr unsigned kCopyFormats = 4;
constexpr bool is_wide_copy_format(unsigned format) { return (format & 1) != 0; }
constexpr bool names_sources(unsigned format) { return (format & 2) != 0; }
constexpr std::size_t copy_range_bytes(unsigned format) { return is_wide_copy_format(format) ? CopyWideRange::size : CopyRange::size; }

/// One source range, whatever its format.
struct CopySource {
  std::uint32_t nsid = 0;  ///< formats 2h and 3h
  std::uint64_t slba = 0;
  std::uint32_t blocks = 1;
  ProtectionTags tags = {};  ///< expected; as wide as `layout` of the source says
};
/// `layout` is that of the source namespace.
CopySource read_copy_source(ByteView range, unsigned format, const BlockLayout& layout);
/// copy_range_bytes(format) bytes.
Bytes write_copy_source(const CopySource& source, unsigned format, const BlockLayout& layout);

}  // namespace fb::nvme
