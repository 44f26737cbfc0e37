// Log pages of an I/O controller. The discovery log stands in wire/fabrics.
#pragma once

#include <span>
#include <vector>

#include "wire/layout.h"
#include "wire/nvme/status.h"

namespace fb::nvme {

enum class LogPage : std::uint8_t {
  supported_pages = 0x00,
  error_information = 0x01,
  smart = 0x02,
  firmware_slot = 0x03,
  changed_namespaces = 0x04,
  commands_effects = 0x05,
  self_test = 0x06,
  telemetry_host = 0x07,
  telemetry_controller = 0x08,
  endurance_group = 0x09,
  ana = 0x0C,
  persistent_event = 0x0D,
  lba_status = 0x0E,
  endurance_group_events = 0x0F,
  feature_effects = 0x12,
  mi_command_effects = 0x13,
  lockdown = 0x14,
  cross_controller_reset = 0x1E,
  lost_host = 0x1F,
  fdp_configurations = 0x20,
  reclaim_unit_handle_usage = 0x21,
  fdp_statistics = 0x22,
  fdp_events = 0x23,
  discovery = 0x70,
  host_discovery = 0x71,
  ave_discovery = 0x72,
  pull_model_request = 0x73,
  reservation_notification = 0x80,
  sanitize_status = 0x81,
  changed_zones = 0xBF,
};

/// "SMART / Health Information"; "Reserved" or "Vendor Specific" for others.
std::string_view log_page_name(std::uint8_t lid);

// ---- 00h: 256 entries, one a page ----

namespace supported_page {
inline constexpr LeBits<"lsupp", 0, std::uint32_t, 0, 0, bool> lsupp{};
inline constexpr LeBits<"ios", 0, std::uint32_t, 1, 1, bool> ios{};
inline constexpr LeBits<"lidsp", 0, std::uint32_t, 31, 16> lidsp{};
}  // namespace supported_page
using SupportedPage = Layout<4, supported_page::lsupp, supported_page::ios, supported_page::lidsp>;

namespace supported_pages {
inline constexpr BytesField<"lids", 0, 1024> lids{};
}
using SupportedPages = Layout<1024, supported_pages::lids>;

// ---- 01h: entries of 64 bytes, newest first ----

namespace error_entry {
inline constexpr Le<"error_count", 0, std::uint64_t> error_count{};
inline constexpr Le<"sqid", 8, std::uint16_t> sqid{};
inline constexpr Le<"cid", 10, std::uint16_t> cid{};
inline constexpr LeBits<"phase", 12, std::uint16_t, 0, 0> phase{};
inline constexpr LeBits<"status", 12, std::uint16_t, 15, 1, Status> status{};
/// Byte and bit of the command in which the fault stands; FFFFh when it is not in the command.
inline constexpr Le<"pel", 14, std::uint16_t> pel{};
inline constexpr Le<"lba", 16, std::uint64_t> lba{};
inline constexpr Le<"nsid", 24, std::uint32_t> nsid{};
inline constexpr Le<"vsia", 28, std::uint8_t> vsia{};
inline constexpr Le<"trtype", 29, std::uint8_t> trtype{};
inline constexpr Le<"csi", 30, std::uint8_t> csi{};
inline constexpr Le<"opc", 31, std::uint8_t> opc{};
inline constexpr Le<"csinfo", 32, std::uint64_t> csinfo{};
inline constexpr Le<"ttsi", 40, std::uint16_t> ttsi{};
inline constexpr Le<"lpver", 63, std::uint8_t> lpver{};
}  // namespace error_entry
using ErrorEntry = Layout<64, error_entry::error_count, error_entry::sqid, error_entry::cid, error_entry::phase, error_entry::status,
                          error_entry::pel, error_entry::lba, error_entry::nsid, error_entry::vsia, error_entry::trtype, error_entry::csi,
                          error_entry::opc, error_entry::csinfo, error_entry::ttsi, error_entry::lpver>;
inline constexpr std::uint16_t kErrorNotInCommand = 0xFFFF;

// ---- 02h ----

namespace smart {
inline constexpr Le<"cw", 0, std::uint8_t> cw{};
/// Kelvin.
inline constexpr Le<"ctemp", 1, std::uint16_t> ctemp{};
inline constexpr Le<"avsp", 3, std::uint8_t> avsp{};
inline constexpr Le<"avspt", 4, std::uint8_t> avspt{};
inline constexpr Le<"pused", 5, std::uint8_t> pused{};
inline constexpr Le<"egcws", 6, std::uint8_t> egcws{};
inline constexpr BytesField<"dur", 32, 16> dur{};
inline constexpr BytesField<"duw", 48, 16> duw{};
inline constexpr BytesField<"hrc", 64, 16> hrc{};
inline constexpr BytesField<"hwc", 80, 16> hwc{};
inline constexpr BytesField<"cbt", 96, 16> cbt{};
inline constexpr BytesField<"pwrc", 112, 16> pwrc{};
inline constexpr BytesField<"poh", 128, 16> poh{};
inline constexpr BytesField<"upl", 144, 16> upl{};
inline constexpr BytesField<"mdie", 160, 16> mdie{};
inline constexpr BytesField<"neile", 176, 16> neile{};
inline constexpr Le<"wctt", 192, std::uint32_t> wctt{};
inline constexpr Le<"cctt", 196, std::uint32_t> cctt{};
inline constexpr BytesField<"tsen", 200, 16> tsen{};
inline constexpr Le<"tmt1tc", 216, std::uint32_t> tmt1tc{};
inline constexpr Le<"tmt2tc", 220, std::uint32_t> tmt2tc{};
inline constexpr Le<"ttftmt1", 224, std::uint32_t> ttftmt1{};
inline constexpr Le<"ttftmt2", 228, std::uint32_t> ttftmt2{};
}  // namespace smart
using SmartLog = Layout<512, smart::cw, smart::ctemp, smart::avsp, smart::avspt, smart::pused, smart::egcws, smart::dur, smart::duw,
                        smart::hrc, smart::hwc, smart::cbt, smart::pwrc, smart::poh, smart::upl, smart::mdie, smart::neile, smart::wctt,
                        smart::cctt, smart::tsen, smart::tmt1tc, smart::tmt2tc, smart::ttftmt1, smart::ttftmt2>;

namespace smart_warning_bits {
inline constexpr std::uint8_t spare = 1u << 0;
inline constexpr std::uint8_t temperature = 1u << 1;
inline constexpr std::uint8_t reliability = 1u << 2;
inline constexpr std::uint8_t read_only = 1u << 3;
inline constexpr std::uint8_t volatile_backup = 1u << 4;
inline constexpr std::uint8_t persistent_memory = 1u << 5;
}  // namespace smart_warning_bits

/// A 16-byte counter of which the low half is kept.
template <class F>
requires(SmartLog::has<F>&& F::size == 16) constexpr void set_counter(Record<SmartLog>& log, const F&, std::uint64_t value) {
  store_le(log.mutable_bytes().data() + F::offset, value);
}

// ---- 03h ----

namespace firmware_slots {
inline constexpr LeBits<"cafsi", 0, std::uint8_t, 2, 0> cafsi{};
inline constexpr LeBits<"nrafsi", 0, std::uint8_t, 6, 4> nrafsi{};
/// Seven texts of eight bytes.
inline constexpr BytesField<"frs", 8, 56> frs{};
}  // namespace firmware_slots
using FirmwareSlots = Layout<512, firmware_slots::cafsi, firmware_slots::nrafsi, firmware_slots::frs>;

// ---- 04h: a namespace list; FFFFFFFFh alone says that there were more than 1,024 ----

inline constexpr std::uint32_t kTooManyChangedNamespaces = 0xFFFFFFFF;

// ---- 05h: 256 admin and 256 I/O opcodes ----

enum class SubmissionRule : std::uint8_t { none = 0, one_in_namespace = 1, alone = 2 };

namespace command_effect {
inline constexpr LeBits<"csupp", 0, std::uint32_t, 0, 0, bool> csupp{};
inline constexpr LeBits<"lbcc", 0, std::uint32_t, 1, 1, bool> lbcc{};
inline constexpr LeBits<"ncc", 0, std::uint32_t, 2, 2, bool> ncc{};
inline constexpr LeBits<"nic", 0, std::uint32_t, 3, 3, bool> nic{};
inline constexpr LeBits<"ccc", 0, std::uint32_t, 4, 4, bool> ccc{};
inline constexpr LeBits<"cse", 0, std::uint32_t, 18, 16, SubmissionRule> cse{};
inline constexpr LeBits<"uss", 0, std::uint32_t, 19, 19, bool> uss{};
inline constexpr LeBits<"csp", 0, std::uint32_t, 31, 20> csp{};
}  // namespace command_effect
using CommandEffect = Layout<4, command_effect::csupp, command_effect::lbcc, command_effect::ncc, command_effect::nic, command_effect::ccc,
                             command_effect::cse, command_effect::uss, command_effect::csp>;

namespace command_effects {
inline constexpr BytesField<"acs", 0, 1024> acs{};
inline constexpr BytesField<"iocs", 1024, 1024> iocs{};
}  // namespace command_effects
using CommandEffects = Layout<4096, command_effects::acs, command_effects::iocs>;

// ---- 06h ----

namespace self_test_result {
inline constexpr LeBits<"result", 0, std::uint8_t, 3, 0> result{};
inline constexpr LeBits<"code", 0, std::uint8_t, 7, 4> code{};
inline constexpr Le<"segment", 1, std::uint8_t> segment{};
inline constexpr Le<"valid", 2, std::uint8_t> valid{};
inline constexpr Le<"poh", 4, std::uint64_t> poh{};
inline constexpr Le<"nsid", 12, std::uint32_t> nsid{};
inline constexpr Le<"flba", 16, std::uint64_t> flba{};
inline constexpr Le<"sct", 24, std::uint8_t> sct{};
inline constexpr Le<"sc", 25, std::uint8_t> sc{};
inline constexpr BytesField<"vs", 26, 2> vs{};
}  // namespace self_test_result
using SelfTestResult =
    Layout<28, self_test_result::result, self_test_result::code, self_test_result::segment, self_test_result::valid, self_test_result::poh,
           self_test_result::nsid, self_test_result::flba, self_test_result::sct, self_test_result::sc, self_test_result::vs>;
/// How a self-test ended.
enum class SelfTestOutcome : std::uint8_t {
  passed = 0x0,
  aborted_by_command = 0x1,
  aborted_by_reset = 0x2,
  aborted_by_removal = 0x3,  ///< of a namespace
  aborted_by_format = 0x4,
  fatal_error = 0x5,
  failed_somewhere = 0x6,  ///< in a segment that is not known
  failed_segment = 0x7,
  aborted = 0x8,
  aborted_by_sanitize = 0x9,
  unused = 0xF,  ///< an entry that was never filled
};
/// Result of an entry that was never filled.
inline constexpr std::uint8_t kSelfTestUnused = 0xF;
namespace self_test_valid_bits {
inline constexpr std::uint8_t nsid = 1u << 0;
inline constexpr std::uint8_t flba = 1u << 1;
inline constexpr std::uint8_t sct = 1u << 2;
inline constexpr std::uint8_t sc = 1u << 3;
}  // namespace self_test_valid_bits
inline constexpr unsigned kSelfTestResults = 20;

namespace self_test_log {
inline constexpr LeBits<"operation", 0, std::uint8_t, 3, 0> operation{};
inline constexpr LeBits<"percent", 1, std::uint8_t, 6, 0> percent{};
inline constexpr BytesField<"results", 4, 560> results{};
}  // namespace self_test_log
using SelfTestLog = Layout<564, self_test_log::operation, self_test_log::percent, self_test_log::results>;

// ---- 0Ch: a header, then groups of different lengths ----

enum class AnaState : std::uint8_t {
  optimized = 0x1,
  non_optimized = 0x2,
  inaccessible = 0x3,
  persistent_loss = 0x4,
  change = 0xF,
};
std::string_view name_of(AnaState state);

namespace ana_header {
inline constexpr Le<"chgcnt", 0, std::uint64_t> chgcnt{};
inline constexpr Le<"nagd", 8, std::uint16_t> nagd{};
}  // namespace ana_header
using AnaHeader = Layout<16, ana_header::chgcnt, ana_header::nagd>;

namespace ana_group {
inline constexpr Le<"agid", 0, std::uint32_t> agid{};
inline constexpr Le<"nnv", 4, std::uint32_t> nnv{};
inline constexpr Le<"chgcnt", 8, std::uint64_t> chgcnt{};
inline constexpr LeBits<"state", 16, std::uint8_t, 3, 0, AnaState> state{};
}  // namespace ana_group
/// Followed by `nnv` namespace identifiers of four bytes.
using AnaGroupHeader = Layout<32, ana_group::agid, ana_group::nnv, ana_group::chgcnt, ana_group::state>;

/// Bit 0 of the log specific parameter: groups without their namespaces.
inline constexpr std::uint8_t kAnaGroupsOnly = 1u << 0;

struct AnaGroup {
  std::uint32_t id = 0;
  AnaState state = AnaState::optimized;
  std::uint64_t change_count = 0;
  std::vector<std::uint32_t> namespaces;
};

/// Walks the groups of an ANA log: as many as the header says and the data holds. A group that
/// leaves the data ends the walk and sets damaged().
class AnaWalk {
 public:
  explicit AnaWalk(ByteView log);
  bool next(AnaGroup& out);
  bool damaged() const { return damaged_; }
  std::uint64_t change_count() const { return change_count_; }

 private:
  ByteView rest_;
  std::uint64_t change_count_ = 0;
  unsigned left_ = 0;
  bool damaged_ = false;
};

/// The log as bytes.
Bytes make_ana_log(std::uint64_t change_count, std::span<const AnaGroup> groups, bool groups_only = false);

// ---- 12h: 256 feature identifiers ----

namespace feature_effect {
inline constexpr LeBits<"fsupp", 0, std::uint32_t, 0, 0, bool> fsupp{};
inline constexpr LeBits<"udcc", 0, std::uint32_t, 1, 1, bool> udcc{};
inline constexpr LeBits<"ncc", 0, std::uint32_t, 2, 2, bool> ncc{};
inline constexpr LeBits<"nic", 0, std::uint32_t, 3, 3, bool> nic{};
inline constexpr LeBits<"ccc", 0, std::uint32_t, 4, 4, bool> ccc{};
inline constexpr LeBits<"uss", 0, std::uint32_t, 19, 19, bool> uss{};
inline constexpr LeBits<"fsp", 0, std::uint32_t, 31, 20> fsp{};
}  // namespace feature_effect
using FeatureEffect = Layout<4, feature_effect::fsupp, feature_effect::udcc, feature_effect::ncc, feature_effect::nic, feature_effect::ccc,
                             feature_effect::uss, feature_effect::fsp>;

/// What csp and fsp say about whom a command or feature touches.
namespace scope_bits {
inline constexpr std::uint16_t namespace_scope = 1u << 0;
inline constexpr std::uint16_t controller = 1u << 1;
inline constexpr std::uint16_t nvm_set = 1u << 2;
inline constexpr std::uint16_t endurance_group = 1u << 3;
inline constexpr std::uint16_t domain = 1u << 4;
inline constexpr std::uint16_t nvm_subsystem = 1u << 5;
}  // namespace scope_bits

namespace feature_effects {
inline constexpr BytesField<"fids", 0, 1024> fids{};
}
using FeatureEffects = Layout<1024, feature_effects::fids>;

// ---- 80h, 81h ----

enum class ReservationNotice : std::uint8_t {
  empty = 0,
  registration_preempted = 1,
  reservation_released = 2,
  reservation_preempted = 3,
};

namespace reservation_notification {
inline constexpr Le<"lpc", 0, std::uint64_t> lpc{};
inline constexpr Le<"rnlpt", 8, std::uint8_t, ReservationNotice> rnlpt{};
inline constexpr Le<"nalp", 9, std::uint8_t> nalp{};
inline constexpr Le<"nsid", 12, std::uint32_t> nsid{};
}  // namespace reservation_notification
using ReservationNotification = Layout<64, reservation_notification::lpc, reservation_notification::rnlpt, reservation_notification::nalp,
                                       reservation_notification::nsid>;

/// Bits 2:0 of the sanitize log's status.
enum class SanitizeState : std::uint8_t {
  never = 0,
  completed = 1,
  in_progress = 2,
  failed = 3,
  completed_deallocated = 4,  ///< though the command said otherwise
};
/// Where the operation is (SANS), and where it failed (FAILS).
enum class SanitizePhase : std::uint8_t {
  idle = 0,
  restricted_processing = 1,
  restricted_failure = 2,
  unrestricted_processing = 3,
  unrestricted_failure = 4,
  media_verification = 5,
  post_verification_deallocation = 6,
};
inline constexpr std::uint16_t kSanitizeNoProgress = 0xFFFF;
inline constexpr std::uint32_t kSanitizeNoEstimate = 0xFFFFFFFF;

namespace sanitize_log {
inline constexpr Le<"sprog", 0, std::uint16_t> sprog{};
inline constexpr LeBits<"sos", 2, std::uint16_t, 2, 0, SanitizeState> sos{};
inline constexpr LeBits<"passes", 2, std::uint16_t, 7, 3> passes{};
inline constexpr LeBits<"gde", 2, std::uint16_t, 8, 8, bool> gde{};
inline constexpr LeBits<"mvcncld", 2, std::uint16_t, 9, 9, bool> mvcncld{};
inline constexpr Le<"scdw10", 4, std::uint32_t> scdw10{};
inline constexpr Le<"eto", 8, std::uint32_t> eto{};
inline constexpr Le<"etbe", 12, std::uint32_t> etbe{};
inline constexpr Le<"etce", 16, std::uint32_t> etce{};
inline constexpr Le<"etond", 20, std::uint32_t> etond{};
inline constexpr Le<"etbend", 24, std::uint32_t> etbend{};
inline constexpr Le<"etcend", 28, std::uint32_t> etcend{};
inline constexpr Le<"etpvds", 32, std::uint32_t> etpvds{};
inline constexpr LeBits<"sans", 36, std::uint8_t, 3, 0, SanitizePhase> sans{};
inline constexpr LeBits<"fails", 36, std::uint8_t, 7, 4, SanitizePhase> fails{};
}  // namespace sanitize_log
using SanitizeLog = Layout<512, sanitize_log::sprog, sanitize_log::sos, sanitize_log::passes, sanitize_log::gde, sanitize_log::scdw10,
                           sanitize_log::eto, sanitize_log::etbe, sanitize_log::etce, sanitize_log::etond, sanitize_log::etbend,
                           sanitize_log::etcend, sanitize_log::mvcncld, sanitize_log::etpvds, sanitize_log::sans, sanitize_log::fails>;

}  // namespace fb::nvme
