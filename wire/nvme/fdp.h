// Flexible Data Placement: log pages 20h to 23h, features 1Dh and 1Eh, I/O Management Receive and Send, and what Namespace
// Management says of placement handles (base specification, Flexible Data Placement).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "wire/layout.h"
#include "wire/nvme/features.h"
#include "wire/nvme/sqe.h"

namespace fb::nvme {

/// RGIF of the bits of a placement identifier name a reclaim group, the lower ones a placement handle.
constexpr std::uint16_t placement_id(unsigned group, unsigned handle, unsigned group_bits) {
  const unsigned low = group_bits == 0 ? handle : (group << (16 - group_bits)) | (handle & ((1u << (16 - group_bits)) - 1));
  return static_cast<std::uint16_t>(low & 0xFFFF);
}
constexpr unsigned reclaim_group_of(std::uint16_t id, unsigned group_bits) {
  return group_bits == 0 ? 0u : unsigned{id} >> (16 - group_bits);
}
constexpr unsigned placement_handle_of(std::uint16_t id, unsigned group_bits) {
  return group_bits == 0 ? id : id & ((1u << (16 - group_bits)) - 1);
}

// ---- log page 20h: a header, then descriptors of different lengths ----

namespace fdp_configurations {
inline constexpr Le<"numfdpc", 0, std::uint16_t, ZeroBased<std::uint16_t>> numfdpc{};
inline constexpr Le<"ver", 2, std::uint8_t> ver{};
inline constexpr Le<"sze", 4, std::uint32_t> sze{};
}  // namespace fdp_configurations
using FdpConfigurationsHeader = Layout<16, fdp_configurations::numfdpc, fdp_configurations::ver, fdp_configurations::sze>;

/// Followed by `nruh` handle descriptors, vendor specific bytes, and padding up to 8 bytes.
namespace fdp_configuration {
inline constexpr Le<"dsze", 0, std::uint16_t> dsze{};
inline constexpr LeBits<"rgif", 2, std::uint8_t, 3, 0> rgif{};
inline constexpr LeBits<"fdpvwc", 2, std::uint8_t, 4, 4, bool> fdpvwc{};
inline constexpr LeBits<"fdpcv", 2, std::uint8_t, 7, 7, bool> fdpcv{};
inline constexpr Le<"vss", 3, std::uint8_t> vss{};
inline constexpr Le<"nrg", 4, std::uint32_t> nrg{};
inline constexpr Le<"nruh", 8, std::uint16_t> nruh{};
inline constexpr Le<"maxpids", 10, std::uint16_t, ZeroBased<std::uint16_t>> maxpids{};
inline constexpr Le<"nns", 12, std::uint32_t> nns{};
/// Bytes.
inline constexpr Le<"runs", 16, std::uint64_t> runs{};
/// Seconds; 0: not reported.
inline constexpr Le<"erutl", 24, std::uint32_t> erutl{};
}  // namespace fdp_configuration
using FdpConfigurationDescriptor =
    Layout<64, fdp_configuration::dsze, fdp_configuration::rgif, fdp_configuration::fdpvwc, fdp_configuration::fdpcv,
           fdp_configuration::vss, fdp_configuration::nrg, fdp_configuration::nruh, fdp_configuration::maxpids, fdp_configuration::nns,
           fdp_configuration::runs, fdp_configuration::erutl>;

enum class ReclaimUnitHandleType : std::uint8_t { initially_isolated = 1, persistently_isolated = 2 };

namespace reclaim_unit_handle {
inline constexpr Le<"ruht", 0, std::uint8_t, ReclaimUnitHandleType> ruht{};
}
using ReclaimUnitHandleDescriptor = Layout<4, reclaim_unit_handle::ruht>;

struct FdpConfigurationFacts {
  unsigned group_bits = 0;  ///< RGIF
  bool write_cache = false;
  bool valid = false;
  std::uint32_t reclaim_groups = 0;
  std::uint64_t identifiers_max = 1;  ///< MAXPIDS + 1
  std::uint32_t namespaces = 0;
  std::uint64_t unit_bytes = 0;
  std::uint32_t time_limit_s = 0;
  std::vector<ReclaimUnitHandleType> handles;
  std::size_t size = 0;  ///< DSZE
  std::size_t vendor_bytes = 0;
};
struct FdpConfigurationsLog {
  std::uint32_t size = 0;  ///< SZE
  std::uint8_t version = 0;
  std::vector<FdpConfigurationFacts> configurations;
  bool damaged = false;  ///< a descriptor leaves the bytes that there are, or says less than it holds
};
FdpConfigurationsLog read_fdp_configurations(ByteView log);
Bytes make_fdp_configurations(std::span<const FdpConfigurationFacts> configurations);

// ---- log page 21h ----

enum class ReclaimUnitHandleUse : std::uint8_t { unused = 0, host_specified = 1, controller_specified = 2 };

namespace handle_usage {
inline constexpr Le<"nruh", 0, std::uint16_t> nruh{};
}
using HandleUsageHeader = Layout<8, handle_usage::nruh>;
namespace handle_usage_descriptor {
inline constexpr Le<"ruha", 0, std::uint8_t, ReclaimUnitHandleUse> ruha{};
}
using HandleUsageDescriptor = Layout<8, handle_usage_descriptor::ruha>;

// ---- log page 22h ----

namespace fdp_statistics {
inline constexpr BytesField<"hbmw", 0, 16> hbmw{};
inline constexpr BytesField<"mbmw", 16, 16> mbmw{};
inline constexpr BytesField<"mbe", 32, 16> mbe{};
}  // namespace fdp_statistics
using FdpStatistics = Layout<64, fdp_statistics::hbmw, fdp_statistics::mbmw, fdp_statistics::mbe>;

// ---- log page 23h ----

enum class FdpEventType : std::uint8_t {
  not_fully_written = 0x00,
  time_limit_exceeded = 0x01,
  reset_modified = 0x02,
  invalid_placement_id = 0x03,
  media_reallocated = 0x80,
  implicitly_modified = 0x81,
};
/// Those from 80h on are events of the controller.
constexpr bool is_host_event(FdpEventType type) { return static_cast<unsigned>(type) < 0x80; }

/// Bit of the log specific parameter: the events of the host, not those of the controller.
inline constexpr unsigned kFdpHostEvents = 1;
inline constexpr std::size_t kFdpEventsSize = 4096;
inline constexpr std::size_t kFdpEventsMax = 63;

namespace fdp_events {
inline constexpr Le<"numfdpe", 0, std::uint32_t> numfdpe{};
}
using FdpEventsHeader = Layout<64, fdp_events::numfdpe>;

namespace fdp_event {
inline constexpr Le<"etyp", 0, std::uint8_t, FdpEventType> etyp{};
inline constexpr LeBits<"piv", 1, std::uint8_t, 0, 0, bool> piv{};
inline constexpr LeBits<"nsidv", 1, std::uint8_t, 1, 1, bool> nsidv{};
inline constexpr LeBits<"lv", 1, std::uint8_t, 2, 2, bool> lv{};
inline constexpr Le<"pid", 2, std::uint16_t> pid{};
inline constexpr BytesField<"etmsp", 4, 8> etmsp{};
inline constexpr Le<"nsid", 12, std::uint32_t> nsid{};
inline constexpr BytesField<"etsp", 16, 16> etsp{};
inline constexpr Le<"rgid", 32, std::uint16_t> rgid{};
inline constexpr Le<"ruhid", 34, std::uint16_t> ruhid{};
inline constexpr BytesField<"vs", 40, 24> vs{};
}  // namespace fdp_event
using FdpEvent = Layout<64, fdp_event::etyp, fdp_event::piv, fdp_event::nsidv, fdp_event::lv, fdp_event::pid, fdp_event::etmsp,
                        fdp_event::nsid, fdp_event::etsp, fdp_event::rgid, fdp_event::ruhid, fdp_event::vs>;

/// ETSP of Media Reallocated in the NVM command set.
namespace media_reallocated {
inline constexpr LeBits<"lbav", 0, std::uint8_t, 0, 0, bool> lbav{};
inline constexpr Le<"nlbam", 2, std::uint16_t> nlbam{};
inline constexpr Le<"lba", 4, std::uint64_t> lba{};
}  // namespace media_reallocated
using MediaReallocated = Layout<16, media_reallocated::lbav, media_reallocated::nlbam, media_reallocated::lba>;

// ---- features ----

/// 1Dh, CDW11 and CDW12; CDW12 is what Get Features returns.
namespace fdp_feature {
inline constexpr LeBits<"fdpe", 0, std::uint32_t, 0, 0, bool> fdpe{};
inline constexpr LeBits<"fdpcidx", 0, std::uint32_t, 15, 8> fdpcidx{};
}  // namespace fdp_feature
using FdpFeature = Layout<4, fdp_feature::fdpe, fdp_feature::fdpcidx>;

/// 1Eh, CDW11; bit 0 of CDW12 enables.
namespace fdp_events_feature {
inline constexpr Le<"phndl", 0, std::uint16_t> phndl{};
inline constexpr Le<"noet", 2, std::uint8_t> noet{};
}  // namespace fdp_events_feature
using FdpEventsFeature = Layout<4, fdp_events_feature::phndl, fdp_events_feature::noet>;

/// What Get Features 1Eh returns, one for each type that the product has.
namespace fdp_event_support {
inline constexpr Le<"fdpet", 0, std::uint8_t, FdpEventType> fdpet{};
inline constexpr LeBits<"fdpee", 1, std::uint8_t, 0, 0, bool> fdpee{};
}  // namespace fdp_event_support
using FdpEventSupport = Layout<2, fdp_event_support::fdpet, fdp_event_support::fdpee>;
inline constexpr std::size_t kFdpEventTypesMax = 255;

// ---- I/O Management Receive and Send ----

enum class IoManagementReceiveOperation : std::uint8_t { none = 0, reclaim_unit_handle_status = 1 };
enum class IoManagementSendOperation : std::uint8_t { none = 0, reclaim_unit_handle_update = 1 };

namespace io_management_sqe {
inline constexpr Le<"mo", 40, std::uint8_t> mo{};
inline constexpr Le<"mos", 42, std::uint16_t> mos{};
/// Receive.
inline constexpr Le<"numd", 44, std::uint32_t, ZeroBased<std::uint32_t>> numd{};
}  // namespace io_management_sqe
using IoManagementReceiveSqe = CommandSqe<io_management_sqe::mo, io_management_sqe::mos, io_management_sqe::numd>;
using IoManagementSendSqe = CommandSqe<io_management_sqe::mo, io_management_sqe::mos>;

namespace handle_status {
inline constexpr Le<"nruhsd", 14, std::uint16_t> nruhsd{};
}
using HandleStatusHeader = Layout<16, handle_status::nruhsd>;
namespace handle_status_descriptor {
inline constexpr Le<"pid", 0, std::uint16_t> pid{};
inline constexpr Le<"ruhid", 2, std::uint16_t> ruhid{};
/// Seconds; 0: not reported.
inline constexpr Le<"earutr", 4, std::uint32_t> earutr{};
/// Logical blocks.
inline constexpr Le<"ruamw", 8, std::uint64_t> ruamw{};
}  // namespace handle_status_descriptor
using HandleStatusDescriptor = Layout<32, handle_status_descriptor::pid, handle_status_descriptor::ruhid, handle_status_descriptor::earutr,
                                      handle_status_descriptor::ruamw>;

struct HandleStatus {
  std::uint16_t id = 0;
  std::uint16_t handle = 0;
  std::uint32_t time_left_s = 0;
  std::uint64_t blocks_left = 0;
};
/// The descriptors that the header counts, as far as there are bytes.
std::vector<HandleStatus> read_handle_statuses(ByteView data);
Bytes make_handle_statuses(std::span<const HandleStatus> statuses);

// ---- Namespace Management, Create: behind what Identify Namespace has ----

inline constexpr std::size_t kPlacementHandleCountAt = 392;
inline constexpr std::size_t kPlacementHandlesAt = 512;
inline constexpr std::size_t kPlacementHandlesMax = 128;
/// Writes NPHNDLS and the list into the data of a Namespace Management command.
void write_placement_handles(MutableBytes data, std::span<const std::uint16_t> handles);

}  // namespace fb::nvme
