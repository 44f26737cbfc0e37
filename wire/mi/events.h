// Asynchronous event messages and their lists (NVMe-MI 2.0).
#pragma once

#include <vector>

#include "wire/mi/message.h"

namespace fb::mi {

enum class EventId : std::uint8_t {
  controller_ready = 0x00,
  controller_fatal = 0x01,
  shutdown_status = 0x02,
  controller_enable = 0x03,
  namespace_attribute = 0x04,
  firmware_activated = 0x05,
  composite_temperature = 0x06,
  drive_life_used = 0x07,
  available_spare = 0x08,
  smart_warnings = 0x09,
  telemetry_controller = 0x0A,
  pcie_link_active = 0x0B,
  sanitize_failure_mode = 0x0C,
  namespace_sanitize_failure = 0x0D,
  power_threshold = 0x0E,
};
inline constexpr std::uint8_t kEventIdLast = 0x0E;
std::string_view name_of(EventId id);

/// The header of the enable and the supported list.
namespace event_list {
inline constexpr Le<"numae", 0, std::uint8_t> numae{};
inline constexpr Le<"version", 1, std::uint8_t> version{};
inline constexpr Le<"total_length", 2, std::uint16_t> total_length{};
inline constexpr Le<"header_length", 4, std::uint8_t> header_length{};
}  // namespace event_list
using EventListHeader = Layout<5, event_list::numae, event_list::version, event_list::total_length, event_list::header_length>;

namespace event_item {
inline constexpr Le<"length", 0, std::uint8_t> length{};
inline constexpr LeBits<"id", 1, std::uint16_t, 7, 0> id{};
inline constexpr LeBits<"enabled", 1, std::uint16_t, 15, 15, bool> enabled{};
}  // namespace event_item
using EventItem = Layout<3, event_item::length, event_item::id, event_item::enabled>;

struct EventState {
  std::uint8_t id = 0;
  bool enabled = false;
  bool operator==(const EventState&) const = default;
};
Bytes make_event_list(const std::vector<EventState>& events);
/// Where a list is wrong: the offset of the field in the list.
struct ListFault {
  std::size_t offset = 0;
  std::string_view what;
};
/// Nothing in `fault` when the list is good.
std::vector<EventState> parse_event_list(ByteView bytes, std::optional<ListFault>& fault);

/// The header of the occurrence list.
namespace occurrence_list {
inline constexpr Le<"numaeo", 0, std::uint8_t> numaeo{};
inline constexpr Le<"version", 1, std::uint8_t> version{};
/// With this header.
inline constexpr LeBits<"total_length", 2, U24, 22, 0> total_length{};
inline constexpr LeBits<"overflow", 2, U24, 23, 23, bool> overflow{};
inline constexpr Le<"header_length", 5, std::uint8_t> header_length{};
inline constexpr LeBits<"retry", 6, std::uint8_t, 2, 0> retry{};
inline constexpr LeBits<"generation", 6, std::uint8_t, 7, 3> generation{};
}  // namespace occurrence_list
using OccurrenceListHeader =
    Layout<7, occurrence_list::numaeo, occurrence_list::version, occurrence_list::total_length, occurrence_list::overflow,
           occurrence_list::header_length, occurrence_list::retry, occurrence_list::generation>;

namespace occurrence {
inline constexpr Le<"header_length", 0, std::uint8_t> header_length{};
inline constexpr Le<"specific_length", 1, std::uint8_t> specific_length{};
inline constexpr Le<"vendor_length", 2, std::uint8_t> vendor_length{};
inline constexpr Le<"id", 3, std::uint8_t> id{};
/// Controller identifier, port ...
inline constexpr Le<"context", 4, std::uint32_t> context{};
inline constexpr Le<"scope", 8, std::uint8_t> scope{};
}  // namespace occurrence
using OccurrenceItem = Layout<9, occurrence::header_length, occurrence::specific_length, occurrence::vendor_length, occurrence::id,
                              occurrence::context, occurrence::scope>;

/// Whom an occurrence is about (AESSI).
enum class EventScope : std::uint8_t { subsystem = 0, controller = 1, port = 2 };

struct Occurrence {
  std::uint8_t id = 0;
  std::uint32_t context = 0;
  EventScope scope = EventScope::subsystem;
  Bytes specific;
  bool operator==(const Occurrence&) const = default;
};
struct OccurrenceList {
  std::uint8_t generation = 0;
  std::uint8_t retry = 0;
  bool overflow = false;
  std::vector<Occurrence> items;
};
Bytes make_occurrence_list(const OccurrenceList& list);
OccurrenceList parse_occurrence_list(ByteView bytes, std::optional<ListFault>& fault);

}  // namespace fb::mi
