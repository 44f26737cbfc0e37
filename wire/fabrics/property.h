// Property Get and Set, and the controller's properties.
#pragma once

#include "wire/fabrics/sqe.h"
#include "wire/nvme/cqe.h"

namespace fb::fabrics {

enum class PropertySize : std::uint8_t { four = 0, eight = 1 };

namespace property_sqe {
inline constexpr LeBits<"size", 40, std::uint8_t, 2, 0, PropertySize> size{};
inline constexpr Le<"ofst", 44, std::uint32_t> ofst{};
inline constexpr Le<"value", 48, std::uint64_t> value{};
}  // namespace property_sqe
using PropertyGetSqe = FabricsSqe<property_sqe::size, property_sqe::ofst>;
using PropertySetSqe = FabricsSqe<property_sqe::size, property_sqe::ofst, property_sqe::value>;

namespace property_reply {
inline constexpr Le<"value", 0, std::uint64_t> value{};
}  // namespace property_reply
using PropertyGetReply = nvme::CommandCqe<property_reply::value>;

/// Offsets of the properties that exist over Fabrics.
namespace property {
inline constexpr std::uint32_t cap = 0x00;
inline constexpr std::uint32_t vs = 0x08;
inline constexpr std::uint32_t cc = 0x14;
inline constexpr std::uint32_t csts = 0x1C;
inline constexpr std::uint32_t nssr = 0x20;
inline constexpr std::uint32_t nssd = 0x64;
inline constexpr std::uint32_t crto = 0x68;
}  // namespace property

/// What is written to NSSR for a reset: "NVMe".
inline constexpr std::uint32_t kNssrValue = 0x4E564D65;
inline constexpr std::uint32_t kNssdNormal = 0x4E726D6C;
inline constexpr std::uint32_t kNssdAbrupt = 0x41627074;

// Values of properties: record_from_integer<Cap>(value), integer_of(record).

namespace cap {
inline constexpr Le<"mqes", 0, std::uint16_t, ZeroBased<std::uint16_t>> mqes{};
inline constexpr LeBits<"cqr", 0, std::uint64_t, 16, 16, bool> cqr{};
inline constexpr LeBits<"ams", 0, std::uint64_t, 18, 17> ams{};
/// In units of 500 ms.
inline constexpr Le<"to", 3, std::uint8_t> to{};
inline constexpr LeBits<"dstrd", 0, std::uint64_t, 35, 32> dstrd{};
inline constexpr LeBits<"nssrs", 0, std::uint64_t, 36, 36, bool> nssrs{};
inline constexpr LeBits<"css", 0, std::uint64_t, 44, 37> css{};
inline constexpr LeBits<"bps", 0, std::uint64_t, 45, 45, bool> bps{};
inline constexpr LeBits<"cps", 0, std::uint64_t, 47, 46> cps{};
inline constexpr LeBits<"mpsmin", 0, std::uint64_t, 51, 48> mpsmin{};
inline constexpr LeBits<"mpsmax", 0, std::uint64_t, 55, 52> mpsmax{};
inline constexpr LeBits<"pmrs", 0, std::uint64_t, 56, 56, bool> pmrs{};
inline constexpr LeBits<"cmbs", 0, std::uint64_t, 57, 57, bool> cmbs{};
inline constexpr LeBits<"nsss", 0, std::uint64_t, 58, 58, bool> nsss{};
inline constexpr LeBits<"crwms", 0, std::uint64_t, 59, 59, bool> crwms{};
inline constexpr LeBits<"crims", 0, std::uint64_t, 60, 60, bool> crims{};
inline constexpr LeBits<"nsses", 0, std::uint64_t, 61, 61, bool> nsses{};
}  // namespace cap
using Cap = Layout<8, cap::mqes, cap::cqr, cap::ams, cap::to, cap::dstrd, cap::nssrs, cap::css, cap::bps, cap::cps, cap::mpsmin,
                   cap::mpsmax, cap::pmrs, cap::cmbs, cap::nsss, cap::crwms, cap::crims, cap::nsses>;

/// CAP.CSS as a mask.
namespace cap_css_bits {
inline constexpr std::uint8_t nvm = 1u << 0;
inline constexpr std::uint8_t io_command_sets = 1u << 6;
inline constexpr std::uint8_t no_io_command_set = 1u << 7;
}  // namespace cap_css_bits

namespace vs {
inline constexpr Le<"ter", 0, std::uint8_t> ter{};
inline constexpr Le<"mnr", 1, std::uint8_t> mnr{};
inline constexpr Le<"mjr", 2, std::uint16_t> mjr{};
}  // namespace vs
using Vs = Layout<4, vs::ter, vs::mnr, vs::mjr>;

constexpr std::uint32_t version(unsigned mjr, unsigned mnr, unsigned ter) {
  return (mjr & 0xFFFF) << 16 | (mnr & 0xFF) << 8 | (ter & 0xFF);
}

enum class ShutdownNotification : std::uint8_t { none = 0, normal = 1, abrupt = 2, reserved = 3 };
enum class ShutdownStatus : std::uint8_t { none = 0, in_progress = 1, complete = 2, reserved = 3 };
enum class CommandSetSelected : std::uint8_t { nvm = 0, all = 6, admin_only = 7 };

namespace cc {
inline constexpr LeBits<"en", 0, std::uint32_t, 0, 0, bool> en{};
inline constexpr LeBits<"css", 0, std::uint32_t, 6, 4, CommandSetSelected> css{};
inline constexpr LeBits<"mps", 0, std::uint32_t, 10, 7> mps{};
inline constexpr LeBits<"ams", 0, std::uint32_t, 13, 11> ams{};
inline constexpr LeBits<"shn", 0, std::uint32_t, 15, 14, ShutdownNotification> shn{};
inline constexpr LeBits<"iosqes", 0, std::uint32_t, 19, 16> iosqes{};
inline constexpr LeBits<"iocqes", 0, std::uint32_t, 23, 20> iocqes{};
inline constexpr LeBits<"crime", 0, std::uint32_t, 24, 24, bool> crime{};
}  // namespace cc
using Cc = Layout<4, cc::en, cc::css, cc::mps, cc::ams, cc::shn, cc::iosqes, cc::iocqes, cc::crime>;

/// Powers of two that CC.IOSQES and CC.IOCQES carry for the entries of the NVM command set.
inline constexpr unsigned kIoSqEntrySizeLog2 = 6;
inline constexpr unsigned kIoCqEntrySizeLog2 = 4;

namespace csts {
inline constexpr LeBits<"rdy", 0, std::uint32_t, 0, 0, bool> rdy{};
inline constexpr LeBits<"cfs", 0, std::uint32_t, 1, 1, bool> cfs{};
inline constexpr LeBits<"shst", 0, std::uint32_t, 3, 2, ShutdownStatus> shst{};
inline constexpr LeBits<"nssro", 0, std::uint32_t, 4, 4, bool> nssro{};
inline constexpr LeBits<"pp", 0, std::uint32_t, 5, 5, bool> pp{};
inline constexpr LeBits<"st", 0, std::uint32_t, 6, 6, bool> st{};
}  // namespace csts
using Csts = Layout<4, csts::rdy, csts::cfs, csts::shst, csts::nssro, csts::pp, csts::st>;

/// Both in units of 500 ms.
namespace crto {
inline constexpr Le<"crwmt", 0, std::uint16_t> crwmt{};
inline constexpr Le<"crimt", 2, std::uint16_t> crimt{};
}  // namespace crto
using Crto = Layout<4, crto::crwmt, crto::crimt>;

}  // namespace fb::fabrics
