// Health status polls that tell something else than they should.
#include <algorithm>

#include "model/deviations/catalogue/mi_shapes.h"
#include "model/drive/drive.h"

namespace fb::deviations {
namespace {

using mi::Opcode;
using mi::Status;
namespace departure = mi::departure;
namespace bits = mi::change_bits;

constexpr std::size_t kData = mi::kResponseMin;
constexpr std::size_t kEntry = mi::ControllerHealth::size;

bool of_subsystem(const MessageContext& message, ByteView body) { return answers(message, body, Opcode::subsystem_health_poll); }
bool of_controllers(const MessageContext& message, ByteView body) { return answers(message, body, Opcode::controller_health_poll); }

// ---- of the subsystem ----

void no_warning_bit_7(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body)) body[kData + 1] &= 0x7F;
}
void links_are_always_up(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body)) body[kData] |= 0x08;
}
void links_are_swapped(const MessageContext& message, Bytes& body) {
  if (!of_subsystem(message, body)) return;
  const unsigned status = body[kData], first = status >> 3 & 1, second = status >> 2 & 1;
  body[kData] = static_cast<std::uint8_t>((status & ~0x0Cu) | first << 2 | second << 3);
}
void always_functional(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body)) body[kData] |= 0x20;
}
void reset_is_never_required(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body)) body[kData] |= 0x10;
}
void read_only_is_good(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body)) body[kData + 1] |= 0x08;
}
void heat_wraps(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body) && body[kData + 2] == 0x7F) body[kData + 2] = 0x82;
}
void cold_is_positive(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body) && body[kData + 2] >= 0xC4) body[kData + 2] = static_cast<std::uint8_t>(-body[kData + 2]);
}
void last_reading(const MessageContext& message, Bytes& body) {
  const bool none = of_subsystem(message, body) && (body[kData + 2] == mi::kTemperatureStale || body[kData + 2] == mi::kTemperatureFailed);
  if (none) body[kData + 2] = 37;
}
void failed_sensors_are_stale(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body) && body[kData + 2] == mi::kTemperatureFailed) body[kData + 2] = mi::kTemperatureStale;
}
void life_ends_at_a_hundred(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body)) body[kData + 3] = std::min<std::uint8_t>(body[kData + 3], 100);
}
void life_left(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body)) body[kData + 3] = static_cast<std::uint8_t>(100 - body[kData + 3]);
}
template <std::uint16_t Bit>
void hides_change(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body)) store_le(&body[kData + 4], static_cast<std::uint16_t>(load_le<std::uint16_t>(&body[kData + 4]) & ~Bit));
}
void spare_for_life_used(const MessageContext& message, Bytes& body) {
  if (!of_subsystem(message, body)) return;
  const unsigned all = load_le<std::uint16_t>(&body[kData + 4]);
  const unsigned swapped = (all & ~unsigned{bits::pdlu | bits::spare}) | (all & bits::pdlu) << 1 | (all & bits::spare) >> 1;
  store_le(&body[kData + 4], static_cast<std::uint16_t>(swapped));
}
void cleared_before_told(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body) && (message.request[15] & 0x80) != 0) store_le(&body[kData + 4], std::uint16_t{0});
}

/// What is cleared at one endpoint is cleared at all.
class EndpointsShareChanges final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (body.size() <= kData || !of_subsystem(message, body)) return;
    if (cleared_) store_le(&body[kData + 4], std::uint16_t{0});
    cleared_ = (message.request[15] & 0x80) != 0 && told_++ >= 2;
  }

 private:
  bool cleared_ = false;
  unsigned told_ = 0;  // the first two polls with CS are those that clear both endpoints to begin with
};

bool is_controller_poll(ByteView body) {
  return body.size() >= mi::MiRequest::size && (body[1] & 0xFE) == 0x08 &&
         body[4] == static_cast<std::uint8_t>(Opcode::controller_health_poll);
}
/// What a poll of either kind clears is cleared in the other kind too, until something changes.
template <bool OfControllers>
class ClearsTheOther final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (body.size() < kData) return;
    const bool subsystem = of_subsystem(message, body), controllers = is_controller_poll(message.request);
    const bool clears = (subsystem || controllers) && (message.request[15] & 0x80) != 0;
    if (OfControllers ? controllers : subsystem) {
      if (cleared_ && !clears) hide(body);
      cleared_ = false;
    }
    if (clears && (OfControllers ? subsystem : controllers)) cleared_ = true;
  }

 private:
  static void hide(Bytes& body) {
    if (!OfControllers) {
      store_le(&body[kData + 4], std::uint16_t{0});
      return;
    }
    body.resize(kData);
    body[7] = 0;
  }
  bool cleared_ = false;
};

// ---- of the controllers ----

void keep_entries(Bytes& body, bool (*keeps)(ByteView entry)) {
  Bytes kept(body.begin(), body.begin() + kData);
  unsigned count = 0;
  for (std::size_t at = kData; at + kEntry <= body.size(); at += kEntry) {
    const ByteView entry = ByteView{body}.subspan(at, kEntry);
    if (!keeps(entry)) continue;
    kept.insert(kept.end(), entry.begin(), entry.end());
    ++count;
  }
  kept[7] = static_cast<std::uint8_t>(count);
  body = std::move(kept);
}
void only_changed_ones(const MessageContext& message, Bytes& body) {
  if (of_controllers(message, body)) keep_entries(body, [](ByteView entry) { return entry[9] != 0 || entry[10] != 0; });
}
void descending_entries(const MessageContext& message, Bytes& body) {
  if (!of_controllers(message, body)) return;
  for (std::size_t low = kData, high = body.size() - kEntry; low < high; low += kEntry, high -= kEntry) {
    std::swap_ranges(body.begin() + static_cast<std::ptrdiff_t>(low), body.begin() + static_cast<std::ptrdiff_t>(low + kEntry),
                     body.begin() + static_cast<std::ptrdiff_t>(high));
  }
}
void reserved_entry_byte(const MessageContext& message, Bytes& body) {
  if (of_controllers(message, body)) body[kData + 12] = 0x5A;
}
void rent_in_the_low_byte(const MessageContext& message, Bytes& body) {
  if (of_controllers(message, body)) std::swap(body[5], body[7]);
}
void no_changes_in_entries(const MessageContext& message, Bytes& body) {
  if (!of_controllers(message, body)) return;
  for (std::size_t at = kData; at + kEntry <= body.size(); at += kEntry) body[at + 9] = body[at + 10] = 0;
}
void no_namespace_changes_in_status(const MessageContext& message, Bytes& body) {
  if (!of_controllers(message, body)) return;
  for (std::size_t at = kData; at + kEntry <= body.size(); at += kEntry) body[at + 2] &= 0xBF;
}
/// Clears bits of the status in every entry.
template <std::uint8_t Bits>
void without_status(const MessageContext& message, Bytes& body) {
  if (!of_controllers(message, body)) return;
  for (std::size_t at = kData; at + kEntry <= body.size(); at += kEntry) body[at + 2] = static_cast<std::uint8_t>(body[at + 2] & ~Bits);
}
void status_of_the_first(const MessageContext& message, Bytes& body) {
  if (!of_controllers(message, body)) return;
  for (std::size_t at = kData + kEntry; at + kEntry <= body.size(); at += kEntry) body[at + 2] = body[kData + 2];
}
void inverted_warnings(const MessageContext& message, Bytes& body) {
  if (!of_controllers(message, body)) return;
  for (std::size_t at = kData; at + kEntry <= body.size(); at += kEntry) body[at + 8] ^= 0x7F;
}
void celsius_in_entries(const MessageContext& message, Bytes& body) {
  if (!of_controllers(message, body)) return;
  for (std::size_t at = kData; at + kEntry <= body.size(); at += kEntry) {
    store_le(&body[at + 4], static_cast<std::uint16_t>(load_le<std::uint16_t>(&body[at + 4]) - 273));
  }
}

void physical_for_virtual(Bytes& body) {
  if (!is_controller_poll(body)) return;
  const unsigned kinds = body[11], physical = kinds >> 1 & 1, virtual_ones = kinds >> 2 & 1;
  body[11] = static_cast<std::uint8_t>((kinds & ~6u) | physical << 2 | virtual_ones << 1);
}
void warnings_select_spare(Bytes& body) {
  if (is_controller_poll(body) && (body[12] & 0x10) != 0) body[12] |= 0x08;
}
void starts_at_zero(Bytes& body) {
  if (is_controller_poll(body)) body[8] = body[9] = 0;
}
void starts_behind(Bytes& body) {
  if (is_controller_poll(body) && (body[8] != 0 || body[9] != 0)) {
    store_le(&body[8], static_cast<std::uint16_t>(load_le<std::uint16_t>(&body[8]) + 1));
  }
}
void maximum_counts_from_one(Bytes& body) {
  if (is_controller_poll(body) && body[10] != 0 && body[10] != 255) --body[10];
}
void status_selects_all(Bytes& body) {
  if (is_controller_poll(body) && (body[12] & 0x01) != 0) body[11] |= 0x80;
}
void clears_unasked(Bytes& body) {
  if (is_controller_poll(body)) body[15] |= 0x80;
}

void second_link_is_the_first(const MessageContext& message, Bytes& body) {
  if (!of_subsystem(message, body)) return;
  const unsigned status = body[kData], first = status >> 3 & 1;
  body[kData] = static_cast<std::uint8_t>((status & ~0x04u) | first << 2);
}
void speed_of_a_link_that_is_down(const MessageContext& message, Bytes& body) {
  if (reads(message, body, mi::DataType::port_information) && body.size() > kData + 12 && body[kData] == 1 &&
      body[kData + mi::port_info::cls.offset] == 0) {
    body[kData + mi::port_info::cls.offset] = 3;
  }
}
void sanitize_never_fails(const MessageContext& message, Bytes& body) {
  if (of_subsystem(message, body)) body[kData] &= 0xBF;
}
void warnings_of_all(const MessageContext& message, Bytes& body) {
  if (!of_controllers(message, body)) return;
  std::uint8_t all = 0;
  for (std::size_t at = kData; at + kEntry <= body.size(); at += kEntry) all = static_cast<std::uint8_t>(all | body[at + 8]);
  for (std::size_t at = kData; at + kEntry <= body.size(); at += kEntry) body[at + 8] = all;
}

}  // namespace

// The subsystem.
DEVIATION(health_with_a_reserved_byte, "mi.health.form", Product::endpoint, "sets a reserved byte of the polls",
          Departs{departure::health_reserved});
DEVIATION(health_without_warning_bit_7, "mi.health.form", Product::endpoint, "clears bit 7 of the inverted warnings",
          alters_answers<&no_warning_bit_7>());
DEVIATION(links_always_say_active, "mi.health.links.down", Product::endpoint, "says that the first link is active when it is not",
          alters_answers<&links_are_always_up>());
DEVIATION(links_are_taken_for_each_other, "mi.health.links", Product::endpoint, "tells of the first link in the bit of the second",
          alters_answers<&links_are_swapped>());
DEVIATION(failed_drives_say_functional, "mi.health.functional", Product::endpoint, "says that the drive works when it does not",
          alters_answers<&always_functional>());
DEVIATION(resets_are_never_required, "mi.health.functional", Product::endpoint, "says that no reset is needed when one is",
          alters_answers<&reset_is_never_required>());
DEVIATION(warnings_are_not_inverted, "mi.health.warnings", Product::endpoint, "does not invert the SMART warnings",
          Departs{departure::health_warning_polarity});
DEVIATION(read_only_is_no_warning, "mi.health.warnings.each", Product::endpoint, "does not tell that the media are read only",
          alters_answers<&read_only_is_good>());
DEVIATION(temperature_in_kelvins, "mi.health.temperature", Product::endpoint, "gives CTEMP in kelvins",
          Departs{departure::health_temperature});
DEVIATION(heat_is_a_reserved_value, "mi.health.temperature.range", Product::endpoint, "gives a reserved value for 127 degrees and more",
          alters_answers<&heat_wraps>());
DEVIATION(frost_has_no_sign, "mi.health.temperature.range", Product::endpoint, "loses the sign of temperatures below zero",
          alters_answers<&cold_is_positive>());
DEVIATION(stale_temperatures_are_told, "mi.health.sensor", Product::endpoint, "tells its last reading when the sensor fails (F36)",
          alters_answers<&last_reading>());
DEVIATION(failed_sensors_say_stale, "mi.health.sensor", Product::endpoint, "calls a failed sensor one without a recent reading (F36)",
          alters_answers<&failed_sensors_are_stale>());
DEVIATION(life_left_is_told, "mi.health.life-used", Product::endpoint, "tells the percentage that is left", alters_answers<&life_left>());
DEVIATION(life_used_ends_at_a_hundred, "mi.health.life-used.range", Product::endpoint, "tells no more than 100 percent of life used",
          alters_answers<&life_ends_at_a_hundred>());
DEVIATION(nothing_ever_changes, "mi.health.changes.temperature", Product::endpoint, "keeps no changed flags",
          Departs{departure::health_no_changes});
DEVIATION(temperature_never_changes, "mi.health.changes.temperature", Product::endpoint, "does not tell that the temperature changed",
          alters_answers<&hides_change<bits::ctemp>>());
DEVIATION(life_used_never_changes, "mi.health.changes.life-used", Product::endpoint, "does not tell that the life used changed",
          alters_answers<&hides_change<bits::pdlu>>());
DEVIATION(life_used_is_told_as_spare, "mi.health.changes.life-used", Product::endpoint,
          "tells a change of the life used in the bit of the spare", alters_answers<&spare_for_life_used>());
DEVIATION(spare_never_changes, "mi.health.changes.spare", Product::endpoint, "does not tell that the spare changed",
          alters_answers<&hides_change<bits::spare>>());
DEVIATION(warnings_never_change, "mi.health.changes.warning", Product::endpoint, "does not tell that a warning came",
          alters_answers<&hides_change<bits::cwarn>>());
DEVIATION(namespaces_never_change, "mi.health.changes.namespace", Product::endpoint, "does not tell that a namespace came",
          alters_answers<&hides_change<bits::nac>>());
DEVIATION(changes_are_cleared_unasked, "mi.health.clear.kept", Product::endpoint, "clears the composite status when it is read",
          Departs{departure::health_cleared_unasked});
DEVIATION(changes_are_never_cleared, "mi.health.clear", Product::endpoint, "does not clear the composite status with CS",
          Departs{departure::health_not_cleared});
DEVIATION(changes_are_cleared_before_they_are_told, "mi.health.clear", Product::endpoint, "tells no changes in a poll with CS",
          alters_answers<&cleared_before_told>());
DEVIATION(endpoints_share_their_changes, "mi.health.endpoints", Product::endpoint, "clears the composite status of all endpoints at once",
          hooks<EndpointsShareChanges>());

// The controllers.
DEVIATION(all_means_all_that_changed, "mi.chsp.all", Product::endpoint, "leaves out controllers that have not changed, ALL or not",
          alters_answers<&only_changed_ones>());
DEVIATION(entries_are_counted_from_zero, "mi.chsp.count", Product::endpoint, "gives RENT as one less than the entries",
          Departs{departure::poll_count});
DEVIATION(entries_are_counted_in_another_byte, "mi.chsp.count", Product::endpoint, "gives RENT in the low byte",
          alters_answers<&rent_in_the_low_byte>());
DEVIATION(entries_have_a_reserved_byte, "mi.chsp.form", Product::endpoint, "sets a reserved byte of an entry",
          alters_answers<&reserved_entry_byte>());
DEVIATION(entries_descend, "mi.chsp.form", Product::endpoint, "tells of controllers in descending order",
          alters_answers<&descending_entries>());
DEVIATION(kinds_of_functions_are_ignored, "mi.chsp.functions.none", Product::endpoint, "tells of every kind of function",
          Departs{departure::poll_filter_ignored});
DEVIATION(kinds_of_functions_do_not_matter, "mi.chsp.functions", Product::endpoint, "tells of physical and virtual functions alike",
          Departs{departure::poll_filter_ignored});
DEVIATION(kinds_of_functions_are_swapped, "mi.chsp.functions", Product::endpoint, "takes INCPF for INCVF",
          misreads_requests<&physical_for_virtual>());
DEVIATION(selections_are_ignored, "mi.chsp.selection", Product::endpoint, "tells of controllers that have not changed",
          Departs{departure::poll_selection_ignored});
DEVIATION(selections_overlap, "mi.chsp.selection", Product::endpoint, "takes a change of the spare for a warning",
          misreads_requests<&warnings_select_spare>());
DEVIATION(any_number_of_entries_may_be_asked_for, "mi.chsp.maxrent.range", Product::endpoint, "takes MAXRENT 255",
          Tolerate{"mi.controller_poll.maxrent"});
DEVIATION(too_many_entries_are_located_elsewhere, "mi.chsp.maxrent.range", Product::endpoint, "locates MAXRENT 255 at the first controller",
          AnswerMi{"mi.controller_poll.maxrent", Status::invalid_parameter, {8, 0}});
DEVIATION(more_entries_come_than_asked_for, "mi.chsp.maxrent", Product::endpoint, "ignores MAXRENT",
          Departs{departure::poll_maximum_ignored});
DEVIATION(fewer_entries_come_than_asked_for, "mi.chsp.maxrent.limit", Product::endpoint, "reads MAXRENT as the number of entries",
          misreads_requests<&maximum_counts_from_one>());
DEVIATION(polls_begin_at_the_first_controller, "mi.chsp.maxrent", Product::endpoint, "ignores where the poll is to begin",
          misreads_requests<&starts_at_zero>());
DEVIATION(polls_begin_behind_their_start, "mi.chsp.maxrent", Product::endpoint, "leaves out the controller at which the poll is to begin",
          misreads_requests<&starts_behind>());
DEVIATION(changed_flags_stay, "mi.chsp.clear", Product::endpoint, "does not clear the changed flags with CCF",
          Departs{departure::poll_not_cleared});
DEVIATION(changed_flags_are_cleared_unasked, "mi.chsp.clear", Product::endpoint, "clears the changed flags in every poll",
          misreads_requests<&clears_unasked>());
DEVIATION(entries_have_no_changed_flags, "mi.chsp.changes", Product::endpoint, "tells no changed flags in entries",
          alters_answers<&no_changes_in_entries>());
DEVIATION(entries_have_no_namespace_changes, "mi.chsp.changes", Product::endpoint, "leaves NAC out of the status of controllers",
          alters_answers<&no_namespace_changes_in_status>());
DEVIATION(entries_are_never_ready, "mi.chsp.status", Product::endpoint, "leaves RDY out of the status of controllers",
          alters_answers<&without_status<0x01>>());
DEVIATION(entries_are_never_shut_down, "mi.chsp.status", Product::endpoint, "leaves SHST out of the status of controllers",
          alters_answers<&without_status<0x0C>>());
DEVIATION(entries_have_one_status, "mi.chsp.status", Product::endpoint, "tells the status of the first controller for all",
          alters_answers<&status_of_the_first>());
DEVIATION(one_change_is_of_all, "mi.chsp.status.own", Product::endpoint,
          "tells of all controllers where those whose status changed are asked for", misreads_requests<&status_selects_all>());
DEVIATION(ready_never_changes, "mi.health.changes.status", Product::endpoint, "does not tell that a controller became ready",
          alters_answers<&hides_change<bits::rdy>>());
DEVIATION(shutdown_never_changes, "mi.health.changes.status", Product::endpoint, "does not tell that a controller was shut down",
          alters_answers<&hides_change<bits::shst>>());
DEVIATION(polls_of_controllers_clear_the_composite, "mi.health.clear.composite", Product::endpoint, "clears the composite status with CCF",
          hooks<ClearsTheOther<false>>());
DEVIATION(polls_of_the_subsystem_clear_controllers, "mi.health.clear.composite", Product::endpoint,
          "clears the changed flags of controllers with CS", hooks<ClearsTheOther<true>>());
DEVIATION(controller_health_differs_from_smart, "mi.chsp.smart", Product::endpoint, "tells another temperature than the SMART log",
          Departs{departure::poll_smart});
DEVIATION(controller_warnings_are_inverted, "mi.chsp.smart", Product::endpoint, "inverts the warnings of controllers",
          alters_answers<&inverted_warnings>());
DEVIATION(controller_temperature_in_celsius, "mi.chsp.smart", Product::endpoint, "gives the temperature of controllers in degrees Celsius",
          alters_answers<&celsius_in_entries>());
DEVIATION(second_link_told_as_the_first, "mi.health.links.second", Product::endpoint,
          "tells of the second port's link what the first one's is", alters_answers<&second_link_is_the_first>());
DEVIATION(links_that_are_down_have_a_speed, "mi.health.links.second", Product::endpoint, "gives a link that is down a speed",
          alters_answers<&speed_of_a_link_that_is_down>());
DEVIATION(failed_sanitize_not_told, "mi.health.sanitize", Product::endpoint, "does not tell that a sanitize operation failed",
          alters_answers<&sanitize_never_fails>());
DEVIATION(controllers_share_warnings, "mi.chsp.warning.own", Product::endpoint, "tells of every controller the warnings of all",
          alters_answers<&warnings_of_all>());

}  // namespace fb::deviations
