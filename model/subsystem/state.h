// The life of a controller between CC and CSTS, as a table: event, allowed sources, target.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fb::subsystem {

enum class ControllerState : std::uint8_t {
  disabled,
  enabling,       ///< CC.EN = 1, CSTS.RDY = 0
  ready,          ///< CSTS.RDY = 1
  resetting,      ///< CC.EN was cleared
  shutting_down,  ///< CSTS.SHST = 01b
  shut_down,      ///< CSTS.SHST = 10b
  failed,         ///< CSTS.CFS = 1
};

enum class ControllerEvent : std::uint8_t {
  enable,
  enabled,
  reset,
  reset_done,
  shutdown,
  shutdown_done,
  fail,
};

constexpr std::string_view name_of(ControllerState state) {
  constexpr std::string_view kNames[] = {"disabled", "enabling", "ready", "resetting", "shutting down", "shut down", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

constexpr std::string_view name_of(ControllerEvent event) {
  constexpr std::string_view kNames[] = {"enable", "enabled", "reset", "reset done", "shutdown", "shutdown done", "fail"};
  return kNames[static_cast<std::size_t>(event)];
}

struct ControllerTransition {
  ControllerEvent event;
  std::uint8_t from;  ///< one bit a state
  ControllerState to;
};

template <class... States>
constexpr std::uint8_t any_of_states(States... states) {
  return static_cast<std::uint8_t>(((1u << static_cast<unsigned>(states)) | ...));
}

inline constexpr ControllerTransition kControllerTransitions[] = {
    {ControllerEvent::enable, any_of_states(ControllerState::disabled, ControllerState::shut_down), ControllerState::enabling},
    {ControllerEvent::enabled, any_of_states(ControllerState::enabling), ControllerState::ready},
    {ControllerEvent::reset,
     any_of_states(ControllerState::enabling, ControllerState::ready, ControllerState::shutting_down, ControllerState::shut_down,
                   ControllerState::failed),
     ControllerState::resetting},
    {ControllerEvent::reset_done, any_of_states(ControllerState::resetting), ControllerState::disabled},
    {ControllerEvent::shutdown,
     any_of_states(ControllerState::disabled, ControllerState::enabling, ControllerState::ready, ControllerState::failed),
     ControllerState::shutting_down},
    {ControllerEvent::shutdown_done, any_of_states(ControllerState::shutting_down), ControllerState::shut_down},
    {ControllerEvent::fail,
     any_of_states(ControllerState::disabled, ControllerState::enabling, ControllerState::ready, ControllerState::resetting,
                   ControllerState::shutting_down, ControllerState::shut_down),
     ControllerState::failed},
};

/// Where `event` leads from `state`; nothing when it is not allowed there.
constexpr std::optional<ControllerState> next_state(ControllerState state, ControllerEvent event) {
  for (const ControllerTransition& row : kControllerTransitions) {
    if (row.event == event && (row.from >> static_cast<unsigned>(state) & 1) != 0) return row.to;
  }
  return std::nullopt;
}

}  // namespace fb::subsystem
