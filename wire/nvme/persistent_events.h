// The persistent event log (log page 0Dh): a header of 512 bytes, then events of different lengths.
#pragma once

#include "wire/layout.h"
#include "wire/nvme/status.h"

namespace fb::nvme {

/// Bits 1:0 of the log specific parameter.
enum class PersistentLogAction : std::uint8_t {
  read = 0,
  establish_and_read = 1,
  release = 2,
  establish_and_read_header = 3,  ///< since 2.0
};

namespace persistent_log {
inline constexpr Le<"lid", 0, std::uint8_t> lid{};
/// Number of events.
inline constexpr Le<"tnev", 4, std::uint32_t> tnev{};
/// Bytes of the whole log, the header included.
inline constexpr Le<"tll", 8, std::uint64_t> tll{};
inline constexpr Le<"rv", 16, std::uint8_t> rv{};
/// Bytes of the header behind this field.
inline constexpr Le<"lhl", 18, std::uint16_t> lhl{};
inline constexpr BytesField<"timestamp", 20, 8> timestamp{};
inline constexpr BytesField<"poh", 28, 16> poh{};
inline constexpr Le<"pcc", 44, std::uint64_t> pcc{};
inline constexpr Le<"vid", 52, std::uint16_t> vid{};
inline constexpr Le<"ssvid", 54, std::uint16_t> ssvid{};
inline constexpr BytesField<"sn", 56, 20> sn{};
inline constexpr BytesField<"mn", 76, 40> mn{};
inline constexpr BytesField<"subnqn", 116, 256> subnqn{};
/// Changes with every context (since 2.0).
inline constexpr Le<"gnum", 372, std::uint16_t> gnum{};
/// Who holds the context: port in 15:0, 17:16 how it was established, 18 whether it exists.
inline constexpr Le<"rci", 374, std::uint32_t> rci{};
/// A bit for each type of event that the subsystem records.
inline constexpr BytesField<"seb", 480, 32> seb{};
}  // namespace persistent_log
using PersistentLogHeader =
    Layout<512, persistent_log::lid, persistent_log::tnev, persistent_log::tll, persistent_log::rv, persistent_log::lhl,
           persistent_log::timestamp, persistent_log::poh, persistent_log::pcc, persistent_log::vid, persistent_log::ssvid,
           persistent_log::sn, persistent_log::mn, persistent_log::subnqn, persistent_log::gnum, persistent_log::rci, persistent_log::seb>;
inline constexpr std::size_t kPersistentLogUncounted = 20;  ///< bytes of the header that LHL leaves out

enum class PersistentEventType : std::uint8_t {
  smart_snapshot = 0x01,
  firmware_commit = 0x02,
  timestamp_change = 0x03,
  power_on_or_reset = 0x04,
  hardware_error = 0x05,
  change_namespace = 0x06,
  format_start = 0x07,
  format_completion = 0x08,
  sanitize_start = 0x09,
  sanitize_completion = 0x0A,
  set_feature = 0x0B,
  telemetry_created = 0x0C,
  thermal_excursion = 0x0D,
  vendor = 0xDE,
  tcg = 0xDF,
};

namespace persistent_event {
inline constexpr Le<"type", 0, std::uint8_t, PersistentEventType> type{};
inline constexpr Le<"revision", 1, std::uint8_t> revision{};
/// Bytes of this header behind the field.
inline constexpr Le<"ehl", 2, std::uint8_t> ehl{};
inline constexpr Le<"ehai", 3, std::uint8_t> ehai{};
inline constexpr Le<"cntlid", 4, std::uint16_t> cntlid{};
inline constexpr BytesField<"timestamp", 6, 8> timestamp{};
inline constexpr Le<"pelpid", 14, std::uint16_t> pelpid{};
/// Vendor specific bytes before the event's data.
inline constexpr Le<"vsil", 20, std::uint16_t> vsil{};
/// Bytes behind this header, the vendor specific ones included.
inline constexpr Le<"el", 22, std::uint16_t> el{};
}  // namespace persistent_event
using PersistentEventHeader =
    Layout<24, persistent_event::type, persistent_event::revision, persistent_event::ehl, persistent_event::ehai, persistent_event::cntlid,
           persistent_event::timestamp, persistent_event::pelpid, persistent_event::vsil, persistent_event::el>;
inline constexpr std::size_t kPersistentEventUncounted = 3;  ///< bytes of the header that EHL leaves out
/// EHAI 1:0: how the port is to be read. The event concerns no port, or an NVM subsystem port.
inline constexpr std::uint8_t kEventOfNoPort = 2;

/// An event as it stands in the log.
struct PersistentEvent {
  PersistentEventType type{};
  std::uint8_t revision = 0;
  std::uint16_t cntlid = 0;
  ByteView timestamp;  ///< eight bytes
  ByteView data;       ///< without vendor specific information
};

/// Walks the events of a log: as many as the header says and the data holds. One that leaves the data ends the walk
/// and sets damaged().
class PersistentEventWalk {
 public:
  explicit PersistentEventWalk(ByteView log);
  bool next(PersistentEvent& out);
  bool damaged() const { return damaged_; }

 private:
  ByteView rest_;
  std::uint32_t left_ = 0;
  bool damaged_ = false;
};

// ---- the data of events ----

namespace firmware_event {
inline constexpr BytesField<"old_revision", 0, 8> old_revision{};
inline constexpr BytesField<"new_revision", 8, 8> new_revision{};
inline constexpr Le<"action", 16, std::uint8_t> action{};
inline constexpr Le<"slot", 17, std::uint8_t> slot{};
inline constexpr Le<"sct", 18, std::uint8_t> sct{};
inline constexpr Le<"sc", 19, std::uint8_t> sc{};
}  // namespace firmware_event
using FirmwareEvent = Layout<22, firmware_event::old_revision, firmware_event::new_revision, firmware_event::action, firmware_event::slot,
                             firmware_event::sct, firmware_event::sc>;

namespace timestamp_event {
inline constexpr BytesField<"previous", 0, 8> previous{};
inline constexpr Le<"since_reset_ms", 8, std::uint64_t> since_reset_ms{};
}  // namespace timestamp_event
using TimestampEvent = Layout<16, timestamp_event::previous, timestamp_event::since_reset_ms>;

namespace reset_event {
inline constexpr BytesField<"revision", 0, 8> revision{};
}
/// Followed by a descriptor for each controller that was reset.
using ResetEvent = Layout<8, reset_event::revision>;

namespace controller_reset {
inline constexpr Le<"cntlid", 0, std::uint16_t> cntlid{};
/// 1: the reset activated firmware.
inline constexpr Le<"activated", 2, std::uint8_t> activated{};
/// Bit 0: a format, bit 1: a sanitize operation was under way.
inline constexpr Le<"in_progress", 3, std::uint8_t> in_progress{};
inline constexpr Le<"power_cycles", 16, std::uint32_t> power_cycles{};
inline constexpr Le<"since_power_on_ms", 20, std::uint64_t> since_power_on_ms{};
inline constexpr BytesField<"timestamp", 28, 8> timestamp{};
}  // namespace controller_reset
using ControllerResetDescriptor = Layout<36, controller_reset::cntlid, controller_reset::activated, controller_reset::in_progress,
                                         controller_reset::power_cycles, controller_reset::since_power_on_ms, controller_reset::timestamp>;

namespace namespace_event {
inline constexpr Le<"cdw10", 0, std::uint32_t> cdw10{};
inline constexpr Le<"nsze", 8, std::uint64_t> nsze{};
inline constexpr Le<"ncap", 24, std::uint64_t> ncap{};
inline constexpr Le<"flbas", 32, std::uint8_t> flbas{};
inline constexpr Le<"dps", 33, std::uint8_t> dps{};
inline constexpr Le<"nmic", 34, std::uint8_t> nmic{};
inline constexpr Le<"anagrpid", 36, std::uint32_t> anagrpid{};
inline constexpr Le<"nvmsetid", 40, std::uint16_t> nvmsetid{};
inline constexpr Le<"endgid", 42, std::uint16_t> endgid{};
inline constexpr Le<"nsid", 44, std::uint32_t> nsid{};
}  // namespace namespace_event
using NamespaceEvent =
    Layout<48, namespace_event::cdw10, namespace_event::nsze, namespace_event::ncap, namespace_event::flbas, namespace_event::dps,
           namespace_event::nmic, namespace_event::anagrpid, namespace_event::nvmsetid, namespace_event::endgid, namespace_event::nsid>;

namespace format_start_event {
inline constexpr Le<"nsid", 0, std::uint32_t> nsid{};
inline constexpr Le<"fna", 4, std::uint8_t> fna{};
inline constexpr Le<"cdw10", 8, std::uint32_t> cdw10{};
}  // namespace format_start_event
using FormatStartEvent = Layout<12, format_start_event::nsid, format_start_event::fna, format_start_event::cdw10>;

namespace format_end_event {
inline constexpr Le<"nsid", 0, std::uint32_t> nsid{};
inline constexpr Le<"fpi", 4, std::uint8_t> fpi{};
inline constexpr Le<"outcome", 5, std::uint8_t> outcome{};
inline constexpr LeBits<"status", 8, std::uint16_t, 15, 1, Status> status{};
}  // namespace format_end_event
using FormatEndEvent = Layout<12, format_end_event::nsid, format_end_event::fpi, format_end_event::outcome, format_end_event::status>;

namespace sanitize_start_event {
inline constexpr Le<"sanicap", 0, std::uint32_t> sanicap{};
inline constexpr Le<"cdw10", 4, std::uint32_t> cdw10{};
inline constexpr Le<"cdw11", 8, std::uint32_t> cdw11{};
}  // namespace sanitize_start_event
using SanitizeStartEvent = Layout<12, sanitize_start_event::sanicap, sanitize_start_event::cdw10, sanitize_start_event::cdw11>;

namespace sanitize_end_event {
inline constexpr Le<"sprog", 0, std::uint16_t> sprog{};
inline constexpr Le<"sstat", 2, std::uint16_t> sstat{};
}  // namespace sanitize_end_event
using SanitizeEndEvent = Layout<8, sanitize_end_event::sprog, sanitize_end_event::sstat>;

namespace set_feature_event {
/// Command dwords that follow, beginning with CDW10.
inline constexpr LeBits<"dwords", 0, std::uint32_t, 2, 0> dwords{};
/// Dword 0 of the completion follows them.
inline constexpr LeBits<"completion", 0, std::uint32_t, 3, 3, bool> completion{};
/// Bytes of the feature's data that follow at the end.
inline constexpr LeBits<"bytes", 0, std::uint32_t, 31, 16> bytes{};
}  // namespace set_feature_event
using SetFeatureEvent = Layout<4, set_feature_event::dwords, set_feature_event::completion, set_feature_event::bytes>;

namespace thermal_event {
/// Kelvins above the threshold.
inline constexpr Le<"over", 0, std::uint8_t> over{};
/// 1: the warning, 2: the critical composite temperature.
inline constexpr Le<"threshold", 1, std::uint8_t> threshold{};
}  // namespace thermal_event
using ThermalEvent = Layout<2, thermal_event::over, thermal_event::threshold>;

}  // namespace fb::nvme
