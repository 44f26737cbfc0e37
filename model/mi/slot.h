// The life of a command slot as a table: event, allowed sources, target (NVMe-MI, section 4.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/mi/control.h"

namespace fb::mi {

enum class SlotEvent : std::uint8_t {
  start,    ///< the first of several packets of a command
  give_up,  ///< its assembly came to nothing, or its check was wrong
  accept,   ///< a command is complete and good
  respond,  ///< its response begins to leave
  sent,     ///< the last packet has left
  replay,   ///< an earlier response leaves again
  clear,    ///< Abort, or a reset
};

constexpr std::string_view name_of(SlotEvent event) {
  constexpr std::string_view kNames[] = {"start", "give up", "accept", "respond", "sent", "replay", "clear"};
  return kNames[static_cast<std::size_t>(event)];
}

struct SlotTransition {
  SlotEvent event;
  std::uint8_t from;  ///< one bit a state
  SlotState to;
};

template <class... States>
constexpr std::uint8_t any_of_slot_states(States... states) {
  return static_cast<std::uint8_t>(((1u << static_cast<unsigned>(states)) | ...));
}

inline constexpr SlotTransition kSlotTransitions[] = {
    {SlotEvent::start, any_of_slot_states(SlotState::idle), SlotState::receive},
    {SlotEvent::give_up, any_of_slot_states(SlotState::receive), SlotState::idle},
    {SlotEvent::accept, any_of_slot_states(SlotState::idle, SlotState::receive), SlotState::process},
    {SlotEvent::respond, any_of_slot_states(SlotState::process), SlotState::transmit},
    {SlotEvent::sent, any_of_slot_states(SlotState::transmit), SlotState::idle},
    {SlotEvent::replay, any_of_slot_states(SlotState::idle, SlotState::transmit), SlotState::transmit},
    {SlotEvent::clear, any_of_slot_states(SlotState::idle, SlotState::receive, SlotState::process, SlotState::transmit), SlotState::idle},
};

/// Where `event` leads from `state`; nothing when it is not allowed there.
constexpr std::optional<SlotState> next_state(SlotState state, SlotEvent event) {
  for (const SlotTransition& row : kSlotTransitions) {
    if (row.event == event && (row.from >> static_cast<unsigned>(state) & 1) != 0) return row.to;
  }
  return std::nullopt;
}

}  // namespace fb::mi
