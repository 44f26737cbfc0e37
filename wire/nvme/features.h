// Features: identifiers, the dwords of Get and Set Features, data structures. A dword is taken
// apart with record_from_integer<NumberOfQueues>(cdw11) and made with integer_of(record).
#pragma once

#include "wire/layout.h"

namespace fb::nvme {

enum class FeatureId : std::uint8_t {
  arbitration = 0x01,
  power_management = 0x02,
  lba_range_type = 0x03,
  temperature_threshold = 0x04,
  error_recovery = 0x05,
  volatile_write_cache = 0x06,
  number_of_queues = 0x07,
  interrupt_coalescing = 0x08,
  interrupt_vector_configuration = 0x09,
  write_atomicity = 0x0A,
  async_event_configuration = 0x0B,
  autonomous_power_state_transition = 0x0C,
  host_memory_buffer = 0x0D,
  timestamp = 0x0E,
  keep_alive_timer = 0x0F,
  host_controlled_thermal_management = 0x10,
  non_operational_power_state = 0x11,
  read_recovery_level = 0x12,
  predictable_latency_mode = 0x13,
  predictable_latency_window = 0x14,
  lba_status_information = 0x15,
  host_behavior_support = 0x16,
  sanitize_configuration = 0x17,
  endurance_group_event = 0x18,
  io_command_set_profile = 0x19,
  spinup_control = 0x1A,
  flexible_data_placement = 0x1D,
  fdp_events = 0x1E,
  key_value_configuration = 0x20,
  enhanced_controller_metadata = 0x7D,
  controller_metadata = 0x7E,
  namespace_metadata = 0x7F,
  software_progress_marker = 0x80,
  host_identifier = 0x81,
  reservation_notification_mask = 0x82,
  reservation_persistence = 0x83,
  namespace_write_protection = 0x84,
};

/// Features that a namespace has, not a controller.
constexpr bool is_namespace_feature(FeatureId id) {
  return id == FeatureId::namespace_write_protection || id == FeatureId::reservation_notification_mask ||
         id == FeatureId::reservation_persistence || id == FeatureId::key_value_configuration;
}

/// Features that an endurance group or something in it has.
constexpr bool is_endurance_group_feature(FeatureId id) { return id == FeatureId::flexible_data_placement || id == FeatureId::fdp_events; }

/// "Number of Queues"; "Reserved" or "Vendor Specific" for others.
std::string_view feature_name(std::uint8_t fid);

namespace arbitration {
inline constexpr LeBits<"ab", 0, std::uint32_t, 2, 0> ab{};
inline constexpr LeBits<"lpw", 0, std::uint32_t, 15, 8> lpw{};
inline constexpr LeBits<"mpw", 0, std::uint32_t, 23, 16> mpw{};
inline constexpr LeBits<"hpw", 0, std::uint32_t, 31, 24> hpw{};
}  // namespace arbitration
using Arbitration = Layout<4, arbitration::ab, arbitration::lpw, arbitration::mpw, arbitration::hpw>;

namespace power_management {
inline constexpr LeBits<"ps", 0, std::uint32_t, 4, 0> ps{};
inline constexpr LeBits<"wh", 0, std::uint32_t, 7, 5> wh{};
}  // namespace power_management
using PowerManagement = Layout<4, power_management::ps, power_management::wh>;

namespace temperature_threshold {
/// Kelvin.
inline constexpr LeBits<"tmpth", 0, std::uint32_t, 15, 0> tmpth{};
/// 0 composite, 1 to 8 a sensor, Fh all.
inline constexpr LeBits<"tmpsel", 0, std::uint32_t, 19, 16> tmpsel{};
/// 0 over, 1 under.
inline constexpr LeBits<"thsel", 0, std::uint32_t, 21, 20> thsel{};
inline constexpr LeBits<"tmpthh", 0, std::uint32_t, 24, 22> tmpthh{};
}  // namespace temperature_threshold
using TemperatureThreshold =
    Layout<4, temperature_threshold::tmpth, temperature_threshold::tmpsel, temperature_threshold::thsel, temperature_threshold::tmpthh>;

namespace error_recovery {
/// In units of 100 ms.
inline constexpr LeBits<"tler", 0, std::uint32_t, 15, 0> tler{};
inline constexpr LeBits<"dulbe", 0, std::uint32_t, 16, 16, bool> dulbe{};
}  // namespace error_recovery
using ErrorRecovery = Layout<4, error_recovery::tler, error_recovery::dulbe>;

namespace volatile_write_cache {
inline constexpr LeBits<"wce", 0, std::uint32_t, 0, 0, bool> wce{};
}
using VolatileWriteCache = Layout<4, volatile_write_cache::wce>;

/// CDW11 of Set Features asks (NSQR, NCQR), DW0 of the completion grants; same places.
namespace number_of_queues {
inline constexpr Le<"nsqr", 0, std::uint16_t, ZeroBased<std::uint16_t>> nsqr{};
inline constexpr Le<"ncqr", 2, std::uint16_t, ZeroBased<std::uint16_t>> ncqr{};
}  // namespace number_of_queues
using NumberOfQueues = Layout<4, number_of_queues::nsqr, number_of_queues::ncqr>;

namespace write_atomicity {
inline constexpr LeBits<"dn", 0, std::uint32_t, 0, 0, bool> dn{};
}
using WriteAtomicity = Layout<4, write_atomicity::dn>;

/// Bits of feature 0Bh above the SMART warnings; the same places in Identify's OAES.
namespace event_config_bits {
inline constexpr std::uint32_t smart_mask = 0xFF;
inline constexpr std::uint32_t namespace_attribute = 1u << 8;
inline constexpr std::uint32_t firmware_activation = 1u << 9;
inline constexpr std::uint32_t telemetry = 1u << 10;
inline constexpr std::uint32_t ana_change = 1u << 11;
inline constexpr std::uint32_t predictable_latency = 1u << 12;
inline constexpr std::uint32_t lba_status = 1u << 13;
inline constexpr std::uint32_t endurance_group = 1u << 14;
inline constexpr std::uint32_t normal_shutdown = 1u << 15;
inline constexpr std::uint32_t cross_controller_reset = 1u << 20;
inline constexpr std::uint32_t lost_host = 1u << 21;
inline constexpr std::uint32_t zone_descriptor = 1u << 27;
inline constexpr std::uint32_t pull_discovery = 1u << 28;
inline constexpr std::uint32_t ave_discovery = 1u << 29;
inline constexpr std::uint32_t host_discovery = 1u << 30;
inline constexpr std::uint32_t discovery_log = 1u << 31;
}  // namespace event_config_bits

namespace keep_alive_timer {
/// Milliseconds.
inline constexpr Le<"kato", 0, std::uint32_t> kato{};
}  // namespace keep_alive_timer
using KeepAliveTimer = Layout<4, keep_alive_timer::kato>;

namespace io_command_set_profile {
inline constexpr LeBits<"iocsci", 0, std::uint32_t, 8, 0> iocsci{};
}
using IoCommandSetProfile = Layout<4, io_command_set_profile::iocsci>;

namespace sanitize_configuration {
/// A Sanitize command that asks for what is inhibited: 0 is refused, 1 goes on and says so in its result.
inline constexpr LeBits<"nodrm", 0, std::uint32_t, 0, 0, bool> nodrm{};
}  // namespace sanitize_configuration
using SanitizeConfiguration = Layout<4, sanitize_configuration::nodrm>;

namespace host_identifier {
inline constexpr LeBits<"exhid", 0, std::uint32_t, 0, 0, bool> exhid{};
}
using HostIdentifier = Layout<4, host_identifier::exhid>;
inline constexpr std::size_t kHostIdentifierSize = 16;
inline constexpr std::size_t kShortHostIdentifierSize = 8;

namespace reservation_mask {
inline constexpr LeBits<"regpre", 0, std::uint32_t, 1, 1, bool> regpre{};
inline constexpr LeBits<"resrel", 0, std::uint32_t, 2, 2, bool> resrel{};
inline constexpr LeBits<"respre", 0, std::uint32_t, 3, 3, bool> respre{};
}  // namespace reservation_mask
using ReservationMask = Layout<4, reservation_mask::regpre, reservation_mask::resrel, reservation_mask::respre>;

/// Its bits; they stand where the types of notification have their numbers.
inline constexpr std::uint32_t kReservationNoticeMask = 0xE;

namespace reservation_persistence {
inline constexpr LeBits<"ptpl", 0, std::uint32_t, 0, 0, bool> ptpl{};
}
using ReservationPersistence = Layout<4, reservation_persistence::ptpl>;

enum class WriteProtection : std::uint8_t {
  none = 0,
  write_protected = 1,
  until_power_cycle = 2,
  permanent = 3,
};
namespace namespace_write_protection {
inline constexpr LeBits<"wps", 0, std::uint32_t, 2, 0, WriteProtection> wps{};
}
using NamespaceWriteProtection = Layout<4, namespace_write_protection::wps>;

// ---- Data structures ----

/// 0Eh: milliseconds since 1970 in six bytes, low first.
namespace timestamp {
inline constexpr Le<"low", 0, std::uint32_t> low{};
inline constexpr Le<"high", 4, std::uint16_t> high{};
inline constexpr LeBits<"synch", 6, std::uint8_t, 0, 0, bool> synch{};
inline constexpr LeBits<"to", 6, std::uint8_t, 3, 1> to{};
}  // namespace timestamp
inline constexpr unsigned kTimestampSinceReset = 0;
inline constexpr unsigned kTimestampOfHost = 1;
using Timestamp = Layout<8, timestamp::low, timestamp::high, timestamp::synch, timestamp::to>;

/// 16h.
namespace host_behavior {
inline constexpr Le<"acre", 0, std::uint8_t> acre{};
inline constexpr Le<"etdas", 1, std::uint8_t> etdas{};
inline constexpr Le<"lbafee", 2, std::uint8_t> lbafee{};
inline constexpr Le<"hdisns", 3, std::uint8_t> hdisns{};
inline constexpr Le<"cdfe", 4, std::uint16_t> cdfe{};
}  // namespace host_behavior
using HostBehavior =
    Layout<512, host_behavior::acre, host_behavior::etdas, host_behavior::lbafee, host_behavior::hdisns, host_behavior::cdfe>;

}  // namespace fb::nvme
