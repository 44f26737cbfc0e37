// Asynchronous events: what the completion of an Asynchronous Event Request says.
#pragma once

#include "wire/nvme/cqe.h"

namespace fb::nvme {

enum class EventType : std::uint8_t {
  error = 0,
  smart = 1,
  notice = 2,
  immediate = 3,
  one_shot = 4,
  command_set = 6,
  vendor = 7,
};

namespace event_info {
inline constexpr std::uint8_t error_invalid_doorbell_register = 0x00;
inline constexpr std::uint8_t error_invalid_doorbell_value = 0x01;
inline constexpr std::uint8_t error_diagnostic_failure = 0x02;
inline constexpr std::uint8_t error_persistent_internal = 0x03;
inline constexpr std::uint8_t error_transient_internal = 0x04;
inline constexpr std::uint8_t error_firmware_image_load = 0x05;
inline constexpr std::uint8_t smart_reliability = 0x00;
inline constexpr std::uint8_t smart_temperature = 0x01;
inline constexpr std::uint8_t smart_spare = 0x02;
inline constexpr std::uint8_t notice_namespace_attribute = 0x00;
inline constexpr std::uint8_t notice_firmware_activation = 0x01;
inline constexpr std::uint8_t notice_telemetry = 0x02;
inline constexpr std::uint8_t notice_ana_change = 0x03;
inline constexpr std::uint8_t notice_predictable_latency = 0x04;
inline constexpr std::uint8_t notice_lba_status = 0x05;
inline constexpr std::uint8_t notice_endurance_group = 0x06;
inline constexpr std::uint8_t notice_zone_descriptor = 0xEF;
inline constexpr std::uint8_t notice_discovery_log = 0xF0;
inline constexpr std::uint8_t notice_host_discovery_log = 0xF1;
inline constexpr std::uint8_t notice_ave_discovery_log = 0xF2;
inline constexpr std::uint8_t notice_pull_discovery = 0xF3;
inline constexpr std::uint8_t notice_cross_controller_reset = 0xF4;
inline constexpr std::uint8_t notice_lost_host = 0xF5;
inline constexpr std::uint8_t immediate_normal_shutdown = 0x00;
inline constexpr std::uint8_t command_set_reservation = 0x00;
inline constexpr std::uint8_t command_set_sanitize_completed = 0x01;
inline constexpr std::uint8_t command_set_sanitize_unexpected = 0x02;
inline constexpr std::uint8_t command_set_sanitize_media_verification = 0x03;
}  // namespace event_info

namespace event_reply {
inline constexpr LeBits<"type", 0, std::uint32_t, 2, 0, EventType> type{};
inline constexpr Le<"info", 1, std::uint8_t> info{};
inline constexpr Le<"lid", 2, std::uint8_t> lid{};
/// Event specific parameter.
inline constexpr Le<"evntsp", 4, std::uint32_t> evntsp{};
}  // namespace event_reply
using EventReply = CommandCqe<event_reply::type, event_reply::info, event_reply::lid, event_reply::evntsp>;

struct Event {
  EventType type = EventType::error;
  std::uint8_t info = 0;
  std::uint8_t lid = 0;
  /// What the event is about, of those that say so: an NSID.
  std::uint32_t parameter = 0;

  constexpr std::uint32_t dw0() const { return static_cast<std::uint32_t>(type) | std::uint32_t{info} << 8 | std::uint32_t{lid} << 16; }
  /// DW0, and DW1 above it.
  constexpr std::uint64_t dwords() const { return std::uint64_t{parameter} << 32 | dw0(); }
  static constexpr Event from_dw0(std::uint32_t dw0) {
    return {static_cast<EventType>(dw0 & 7), static_cast<std::uint8_t>(dw0 >> 8 & 0xFF), static_cast<std::uint8_t>(dw0 >> 16 & 0xFF)};
  }
  static constexpr Event from_dwords(std::uint64_t dwords) {
    Event event = from_dw0(static_cast<std::uint32_t>(dwords));
    event.parameter = static_cast<std::uint32_t>(dwords >> 32);
    return event;
  }
  constexpr bool operator==(const Event&) const = default;
};

/// "ANA change (2/03h, log 0Ch)".
std::string to_string(const Event& event);

}  // namespace fb::nvme
