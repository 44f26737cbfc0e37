// The Zoned Namespace command set (CSI 02h): commands, what a controller says of itself and of its zones, and the
// log page of zones that have changed.
#pragma once

#include <vector>

#include "wire/nvme/identify.h"
#include "wire/nvme/sqe.h"

namespace fb::nvme {

/// As a zone descriptor has them.
enum class ZoneState : std::uint8_t {
  empty = 0x1,
  implicitly_opened = 0x2,
  explicitly_opened = 0x3,
  closed = 0x4,
  read_only = 0xD,
  full = 0xE,
  offline = 0xF,
};
/// "implicitly opened"; "reserved" for others.
std::string_view name_of(ZoneState state);

// ---- Zone Management Send ----

enum class ZoneSendAction : std::uint8_t {
  close = 0x01,
  finish = 0x02,
  open = 0x03,
  reset = 0x04,
  offline = 0x05,
  set_descriptor_extension = 0x10,
  flush_explicit_zrwa = 0x11,  ///< SLBA is the last block that is committed
};

namespace zone_send_sqe {
inline constexpr Le<"slba", 40, std::uint64_t> slba{};
inline constexpr Le<"zsa", 52, std::uint8_t, ZoneSendAction> zsa{};
inline constexpr LeBits<"select_all", 52, std::uint32_t, 8, 8, bool> select_all{};
/// Allocate a Zone Random Write Area; of Open Zone and Set Zone Descriptor Extension.
inline constexpr LeBits<"zrwaa", 52, std::uint32_t, 9, 9, bool> zrwaa{};
}  // namespace zone_send_sqe
using ZoneSendSqe = CommandSqe<zone_send_sqe::slba, zone_send_sqe::zsa, zone_send_sqe::select_all, zone_send_sqe::zrwaa>;

/// Bit 0 of DW0 in the completion: the capacity of a zone has changed.
inline constexpr std::uint32_t kZoneCapacityChanged = 1;

// ---- Zone Management Receive ----

enum class ZoneReceiveAction : std::uint8_t { report = 0x00, extended_report = 0x01 };

/// Which zones are reported.
enum class ZoneReporting : std::uint8_t {
  all = 0x0,
  empty = 0x1,
  implicitly_opened = 0x2,
  explicitly_opened = 0x3,
  closed = 0x4,
  full = 0x5,
  read_only = 0x6,
  offline = 0x7,
  attributes = 0x9,  ///< with one of the attributes RZR, FZR and ZFC
};

namespace zone_receive_sqe {
inline constexpr Le<"slba", 40, std::uint64_t> slba{};
inline constexpr Le<"numd", 48, std::uint32_t, ZeroBased<std::uint32_t>> numd{};
inline constexpr Le<"zra", 52, std::uint8_t, ZoneReceiveAction> zra{};
inline constexpr Le<"zrasf", 53, std::uint8_t, ZoneReporting> zrasf{};
/// The count is of the zones that were transferred, not of all that match.
inline constexpr LeBits<"partial", 52, std::uint32_t, 16, 16, bool> partial{};
}  // namespace zone_receive_sqe
using ZoneReceiveSqe =
    CommandSqe<zone_receive_sqe::slba, zone_receive_sqe::numd, zone_receive_sqe::zra, zone_receive_sqe::zrasf, zone_receive_sqe::partial>;

// ---- Zone Append: as Write, but for these; the LBA comes back in DW0 and DW1 ----

namespace zone_append_sqe {
inline constexpr Le<"zslba", 40, std::uint64_t> zslba{};
inline constexpr LeBits<"piremap", 48, std::uint32_t, 25, 25, bool> piremap{};
}  // namespace zone_append_sqe
using ZoneAppendSqe = CommandSqe<zone_append_sqe::zslba, rw_sqe::nlb, rw_sqe::dtype, rw_sqe::stc, zone_append_sqe::piremap,
                                 rw_sqe::prchk_ref, rw_sqe::prchk_app, rw_sqe::prchk_guard, rw_sqe::pract, rw_sqe::fua, rw_sqe::lr,
                                 rw_sqe::dspec, rw_sqe::ilbrt, rw_sqe::lbat, rw_sqe::lbatm>;

// ---- the report ----

namespace zone_report {
inline constexpr Le<"nzones", 0, std::uint64_t> nzones{};
}
using ZoneReportHeader = Layout<64, zone_report::nzones>;

namespace zone_descriptor {
inline constexpr LeBits<"zt", 0, std::uint8_t, 3, 0> zt{};
inline constexpr LeBits<"zs", 1, std::uint8_t, 7, 4, ZoneState> zs{};
inline constexpr Le<"za", 2, std::uint8_t> za{};
inline constexpr LeBits<"fzrtl", 3, std::uint8_t, 1, 0> fzrtl{};
inline constexpr LeBits<"rzrtl", 3, std::uint8_t, 3, 2> rzrtl{};
inline constexpr Le<"zcap", 8, std::uint64_t> zcap{};
inline constexpr Le<"zslba", 16, std::uint64_t> zslba{};
inline constexpr Le<"wp", 24, std::uint64_t> wp{};
}  // namespace zone_descriptor
using ZoneDescriptor = Layout<64, zone_descriptor::zt, zone_descriptor::zs, zone_descriptor::za, zone_descriptor::fzrtl,
                              zone_descriptor::rzrtl, zone_descriptor::zcap, zone_descriptor::zslba, zone_descriptor::wp>;

inline constexpr unsigned kSequentialWriteRequired = 2;
/// What stands for a write pointer that is not valid.
inline constexpr std::uint64_t kNoWritePointer = ~std::uint64_t{0};

namespace zone_attribute_bits {
inline constexpr std::uint8_t finished_by_controller = 1u << 0;
inline constexpr std::uint8_t finish_recommended = 1u << 1;
inline constexpr std::uint8_t reset_recommended = 1u << 2;
inline constexpr std::uint8_t zrwa_valid = 1u << 3;
inline constexpr std::uint8_t descriptor_extension = 1u << 7;
}  // namespace zone_attribute_bits

/// One zone as a report tells it.
struct ZoneFacts {
  std::uint64_t start = 0;
  std::uint64_t capacity = 0;
  std::uint64_t write_pointer = 0;
  unsigned type = kSequentialWriteRequired;
  ZoneState state = ZoneState::empty;
  std::uint8_t attributes = 0;
  Bytes extension = {};  ///< of an extended report
};

/// Zones of a report up to its count or the end of the data, whichever comes first.
/// `extension_bytes` stand behind each descriptor.
std::vector<ZoneFacts> read_zone_report(ByteView report, std::size_t extension_bytes = 0);
void write_zone(MutableBytes place, const ZoneFacts& zone);

// ---- Identify ----

/// CNS 05h, CSI 02h.
namespace id_ns_zoned {
inline constexpr Le<"zoc", 0, std::uint16_t> zoc{};
inline constexpr Le<"ozcs", 2, std::uint16_t> ozcs{};
/// One less than there may be; FFFFFFFFh: no limit.
inline constexpr Le<"mar", 4, std::uint32_t> mar{};
inline constexpr Le<"mor", 8, std::uint32_t> mor{};
/// Seconds; 0: nothing is said.
inline constexpr Le<"rrl", 12, std::uint32_t> rrl{};
inline constexpr Le<"frl", 16, std::uint32_t> frl{};
inline constexpr Le<"rrl1", 20, std::uint32_t> rrl1{};
inline constexpr Le<"rrl2", 24, std::uint32_t> rrl2{};
inline constexpr Le<"rrl3", 28, std::uint32_t> rrl3{};
inline constexpr Le<"frl1", 32, std::uint32_t> frl1{};
inline constexpr Le<"frl2", 36, std::uint32_t> frl2{};
inline constexpr Le<"frl3", 40, std::uint32_t> frl3{};
/// Zone Random Write Areas that there may be at once, one less; their size and what they are committed in, both in blocks.
inline constexpr Le<"numzrwa", 44, std::uint32_t> numzrwa{};
inline constexpr Le<"zrwafg", 48, std::uint16_t> zrwafg{};
inline constexpr Le<"zrwasz", 50, std::uint16_t> zrwasz{};
inline constexpr Le<"zrwacap", 52, std::uint8_t> zrwacap{};
/// Sixty-four, one for each LBA format.
inline constexpr BytesField<"lbafe", 2816, 1024> lbafe{};
}  // namespace id_ns_zoned
using IdentifyNamespaceZoned =
    Layout<kIdentifySize, id_ns_zoned::zoc, id_ns_zoned::ozcs, id_ns_zoned::mar, id_ns_zoned::mor, id_ns_zoned::rrl, id_ns_zoned::frl,
           id_ns_zoned::rrl1, id_ns_zoned::rrl2, id_ns_zoned::rrl3, id_ns_zoned::frl1, id_ns_zoned::frl2, id_ns_zoned::frl3,
           id_ns_zoned::numzrwa, id_ns_zoned::zrwafg, id_ns_zoned::zrwasz, id_ns_zoned::zrwacap, id_ns_zoned::lbafe>;

namespace zoc_bits {
inline constexpr std::uint16_t variable_capacity = 1u << 0;
inline constexpr std::uint16_t active_excursions = 1u << 1;
}  // namespace zoc_bits
namespace ozcs_bits {
inline constexpr std::uint16_t read_across = 1u << 0;
inline constexpr std::uint16_t random_write_area = 1u << 1;
}  // namespace ozcs_bits
namespace zrwacap_bits {
inline constexpr std::uint8_t explicit_flush = 1u << 0;
}
inline constexpr std::uint32_t kNoZoneLimit = 0xFFFFFFFF;

namespace lba_format_extension {
/// Blocks of a zone.
inline constexpr Le<"zsze", 0, std::uint64_t> zsze{};
/// Units of 64 bytes.
inline constexpr Le<"zdes", 8, std::uint8_t> zdes{};
}  // namespace lba_format_extension
using LbaFormatExtension = Layout<16, lba_format_extension::zsze, lba_format_extension::zdes>;
inline constexpr std::size_t kZoneExtensionUnit = 64;

/// CNS 06h, CSI 02h.
namespace id_ctrl_zoned {
/// A power of two in units of the smallest page; 0: as MDTS.
inline constexpr Le<"zasl", 0, std::uint8_t> zasl{};
}  // namespace id_ctrl_zoned
using IdentifyControllerZoned = Layout<kIdentifySize, id_ctrl_zoned::zasl>;

// ---- log page BFh ----

namespace changed_zones {
inline constexpr Le<"nrzid", 0, std::uint16_t> nrzid{};
}
using ChangedZonesHeader = Layout<8, changed_zones::nrzid>;
inline constexpr std::size_t kChangedZonesMax = 511;
inline constexpr std::size_t kChangedZonesBytes = 4096;
/// There were more than the list holds, and it holds none.
inline constexpr std::uint16_t kTooManyChangedZones = 0xFFFF;

struct ChangedZones {
  bool too_many = false;
  std::vector<std::uint64_t> starts;
};
/// A count beyond the data is cut.
ChangedZones read_changed_zones(ByteView log);
Bytes write_changed_zones(const ChangedZones& zones);

}  // namespace fb::nvme
