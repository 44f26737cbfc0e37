// Blocks that may not be recoverable: Get LBA Status, and log page 0Eh that says where it is worth asking (NVM command
// set specification, Get LBA Status).
#pragma once

#include <span>
#include <vector>

#include "wire/layout.h"
#include "wire/nvme/sqe.h"

namespace fb::nvme {

enum class LbaStatusAction : std::uint8_t {
  scan = 0x10,     ///< looks for more, and tells what is known too
  tracked = 0x11,  ///< what is known
};

namespace lba_status_sqe {
inline constexpr Le<"slba", 40, std::uint64_t> slba{};
/// Dwords that the list may have.
inline constexpr Le<"mndw", 48, std::uint32_t, ZeroBased<std::uint32_t>> mndw{};
/// 0: up to the end of the namespace.
inline constexpr Le<"rl", 52, std::uint16_t> rl{};
inline constexpr Le<"atype", 55, std::uint8_t, LbaStatusAction> atype{};
}  // namespace lba_status_sqe
using GetLbaStatusSqe = CommandSqe<lba_status_sqe::slba, lba_status_sqe::mndw, lba_status_sqe::rl, lba_status_sqe::atype>;

enum class LbaStatusCondition : std::uint8_t {
  not_told = 0,
  incomplete = 1,  ///< there is more than the list had room for
  complete = 2,
};

/// Followed by `nlsd` entries.
namespace lba_status_list {
inline constexpr Le<"nlsd", 0, std::uint32_t> nlsd{};
inline constexpr Le<"cmpc", 4, std::uint8_t, LbaStatusCondition> cmpc{};
}  // namespace lba_status_list
using LbaStatusListHeader = Layout<8, lba_status_list::nlsd, lba_status_list::cmpc>;

/// What is known of the blocks of an entry.
enum class LbaRangeStatus : std::uint8_t {
  may_be_readable = 0,
  unrecoverable = 1,
  allocated = 2,
  marked = 3,  ///< each was spoilt by Write Uncorrectable
};

namespace lba_status_entry {
inline constexpr Le<"dslba", 0, std::uint64_t> dslba{};
inline constexpr Le<"nlb", 8, std::uint32_t, ZeroBased<std::uint32_t>> nlb{};
inline constexpr LeBits<"lbars", 13, std::uint8_t, 2, 0, LbaRangeStatus> lbars{};
}  // namespace lba_status_entry
using LbaStatusEntry = Layout<16, lba_status_entry::dslba, lba_status_entry::nlb, lba_status_entry::lbars>;

/// Blocks of an entry at most.
inline constexpr std::uint64_t kLbaRangeMax = std::uint64_t{1} << 32;

struct LbaStatus {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  LbaRangeStatus status = LbaRangeStatus::unrecoverable;
};

/// The entries that the header counts, as far as there are bytes.
std::vector<LbaStatus> read_lba_statuses(ByteView list);
/// As many of them as fit behind the header, which must; gives their number. The condition is left as it is.
std::size_t write_lba_statuses(MutableBytes list, std::span<const LbaStatus> entries);

// ---- log page 0Eh: a header, then elements of different lengths, one a namespace ----

namespace lba_status_log {
inline constexpr Le<"lslplen", 0, std::uint32_t> lslplen{};
inline constexpr Le<"nlslne", 4, std::uint32_t> nlslne{};
/// FFFFFFFFh: nobody knows.
inline constexpr Le<"estulb", 8, std::uint32_t> estulb{};
inline constexpr Le<"lsgc", 14, std::uint16_t> lsgc{};
}  // namespace lba_status_log
using LbaStatusLogHeader = Layout<16, lba_status_log::lslplen, lba_status_log::nlslne, lba_status_log::estulb, lba_status_log::lsgc>;

/// Followed by `nlrd` ranges.
namespace lba_status_element {
inline constexpr Le<"neid", 0, std::uint32_t> neid{};
inline constexpr Le<"nlrd", 4, std::uint32_t> nlrd{};
inline constexpr Le<"ratype", 8, std::uint8_t, LbaStatusAction> ratype{};
}  // namespace lba_status_element
using LbaStatusElement = Layout<16, lba_status_element::neid, lba_status_element::nlrd, lba_status_element::ratype>;
/// NLRD of an element without ranges: the whole namespace.
inline constexpr std::uint32_t kLbaRangesUnknown = 0xFFFFFFFF;

namespace lba_range {
inline constexpr Le<"rslba", 0, std::uint64_t> rslba{};
inline constexpr Le<"rnlb", 8, std::uint32_t, ZeroBased<std::uint32_t>> rnlb{};
}  // namespace lba_range
using LbaRange = Layout<16, lba_range::rslba, lba_range::rnlb>;

/// Of one namespace.
struct LbaStatusRanges {
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  std::uint32_t nsid = 0;
  LbaStatusAction action = LbaStatusAction::tracked;
  bool everywhere = false;  ///< no ranges are told
  std::vector<Range> ranges;
};

struct LbaStatusLog {
  std::uint32_t length = 0;  ///< as LSLPLEN says
  std::uint32_t estimate = 0;
  std::uint16_t generation = 0;
  std::vector<LbaStatusRanges> namespaces;
  bool damaged = false;  ///< an element leaves the bytes that there are
};
LbaStatusLog read_lba_status_log(ByteView log);
/// The page as bytes; its length is the one of the bytes.
Bytes make_lba_status_log(std::uint16_t generation, std::span<const LbaStatusRanges> namespaces);

/// Feature 15h: both in units of 100 ms.
namespace lba_status_attributes {
inline constexpr Le<"lsiri", 0, std::uint16_t> lsiri{};
inline constexpr Le<"lsipi", 2, std::uint16_t> lsipi{};
}  // namespace lba_status_attributes
using LbaStatusAttributes = Layout<4, lba_status_attributes::lsiri, lba_status_attributes::lsipi>;

}  // namespace fb::nvme
