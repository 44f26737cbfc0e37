// Cross-Controller Reset: the command, its log page 1Eh, and log page 1Fh of hosts that were lost (base specification 2.3,
// Cross-Controller Reset Recovery).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "wire/layout.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::nvme {

namespace ccr_sqe {
/// Impacted Controller ID, and what tells its instance from earlier ones.
inline constexpr Le<"icid", 40, std::uint16_t> icid{};
inline constexpr Le<"ciu", 42, std::uint8_t> ciu{};
inline constexpr Le<"cirn", 48, std::uint64_t> cirn{};
}  // namespace ccr_sqe
using CrossControllerResetSqe = CommandSqe<ccr_sqe::icid, ccr_sqe::ciu, ccr_sqe::cirn>;

namespace ccr_reply {
/// Immediate Reset Successful; only then the others are defined.
inline constexpr LeBits<"irs", 0, std::uint32_t, 0, 0, bool> irs{};
inline constexpr LeBits<"v", 0, std::uint32_t, 1, 1, bool> v{};
inline constexpr LeBits<"clri", 0, std::uint32_t, 2, 2, bool> clri{};
}  // namespace ccr_reply
using CrossControllerResetReply = CommandCqe<ccr_reply::irs, ccr_reply::v, ccr_reply::clri>;
inline constexpr std::uint32_t kCcrReplyReserved = ~std::uint32_t{7};

enum class CcrStatus : std::uint8_t { in_progress = 0, success = 1, failed = 2 };

/// What the host is told about another attempt.
enum class CcrRetry : std::uint8_t { no = 0, alternate = 1, elsewhere = 2, anywhere = 3 };

namespace ccr_entry {
inline constexpr Le<"icid", 0, std::uint16_t> icid{};
inline constexpr Le<"ciu", 2, std::uint8_t> ciu{};
/// Alternate Controller ID; FFFFh: none in particular.
inline constexpr Le<"acid", 4, std::uint16_t> acid{};
inline constexpr Le<"ccrs", 6, std::uint8_t, CcrStatus> ccrs{};
inline constexpr LeBits<"v", 7, std::uint8_t, 0, 0, bool> v{};
inline constexpr LeBits<"clri", 7, std::uint8_t, 1, 1, bool> clri{};
inline constexpr LeBits<"retry", 7, std::uint8_t, 3, 2, CcrRetry> retry{};
}  // namespace ccr_entry
using CcrEntryLayout =
    Layout<8, ccr_entry::icid, ccr_entry::ciu, ccr_entry::acid, ccr_entry::ccrs, ccr_entry::v, ccr_entry::clri, ccr_entry::retry>;

inline constexpr std::uint16_t kNoAlternateController = 0xFFFF;

struct CcrEntry {
  std::uint16_t icid = 0;
  std::uint8_t ciu = 0;
  std::uint16_t acid = kNoAlternateController;
  CcrStatus status = CcrStatus::in_progress;
  bool validated = false;
  bool reset_initiated = false;
  CcrRetry retry = CcrRetry::no;
  bool operator==(const CcrEntry&) const = default;
};

namespace lost_host_entry {
inline constexpr Le<"cntlid", 0, std::uint16_t> cntlid{};
inline constexpr Le<"lc", 2, std::uint8_t> lc{};
inline constexpr Le<"ciu", 3, std::uint8_t> ciu{};
}  // namespace lost_host_entry
using LostHostEntryLayout = Layout<8, lost_host_entry::cntlid, lost_host_entry::lc, lost_host_entry::ciu>;

struct LostHostEntry {
  std::uint16_t cntlid = 0;
  std::uint8_t losses = 1;
  std::uint8_t ciu = 0;
  bool operator==(const LostHostEntry&) const = default;
};

/// Both pages: a header with the number of entries, then so many of 8 bytes.
namespace controller_entries {
inline constexpr Le<"ne", 0, std::uint16_t> ne{};
}
using ControllerEntriesHeader = Layout<8, controller_entries::ne>;
inline constexpr std::size_t kControllerEntriesMax = 511;
inline constexpr std::size_t kControllerEntriesBytes = 4096;

/// Bit 0 of the log specific parameter of page 1Eh: entries of completed operations go away.
inline constexpr std::uint8_t kRemoveCompleted = 1;

Bytes make_ccr_log(std::span<const CcrEntry> entries);
Bytes make_lost_host_log(std::span<const LostHostEntry> entries);
/// As many as NE says and the page has room for.
std::vector<CcrEntry> read_ccr_log(ByteView page);
std::vector<LostHostEntry> read_lost_host_log(ByteView page);

}  // namespace fb::nvme
