// The life of an association, as a table: event, states in which it may happen, state after it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace fb::host {

enum class ControllerState : std::uint8_t {
  idle,           ///< made, nothing sent
  connecting,     ///< admin queue: transport and Connect
  enabling,       ///< properties, CC.EN, waiting for CSTS.RDY
  configuring,    ///< Identify, features, I/O queues, events, namespaces
  live,           ///< I/O
  resetting,      ///< CC.EN = 0, waiting for CSTS.RDY = 0
  recovering,     ///< lost; waiting for the next attempt
  shutting_down,  ///< CC.SHN, waiting for CSTS.SHST
  closing,        ///< connections are being taken down
  gone            ///< the end
};

enum class ControllerEvent : std::uint8_t {
  attempt,    ///< the first connection, or another after a loss
  connected,  ///< Connect was accepted
  ready,      ///< CSTS.RDY = 1
  configured,
  reset,     ///< a controller reset begins
  disabled,  ///< CSTS.RDY = 0; back to the properties
  lost,      ///< any failure after which we try again
  leave,     ///< an orderly shutdown begins
  close,     ///< connections go down for good
  ended
};

struct ControllerTransition {
  ControllerEvent event;
  std::uint16_t sources;  ///< a bit for each state
  ControllerState target;
};

namespace controller_table {
using S = ControllerState;
using E = ControllerEvent;

constexpr std::uint16_t in(std::initializer_list<S> states) {
  unsigned mask = 0;
  for (const S state : states) mask |= 1u << static_cast<unsigned>(state);
  return static_cast<std::uint16_t>(mask);
}

inline constexpr ControllerTransition kTransitions[] = {
    {E::attempt, in({S::idle, S::recovering}), S::connecting},
    {E::connected, in({S::connecting}), S::enabling},
    {E::ready, in({S::enabling}), S::configuring},
    {E::configured, in({S::configuring}), S::live},
    {E::reset, in({S::live}), S::resetting},
    {E::disabled, in({S::resetting}), S::enabling},
    {E::lost, in({S::connecting, S::enabling, S::configuring, S::live, S::resetting}), S::recovering},
    {E::leave, in({S::live}), S::shutting_down},
    {E::close, in({S::idle, S::connecting, S::enabling, S::configuring, S::live, S::resetting, S::recovering, S::shutting_down}),
     S::closing},
    {E::ended, in({S::closing}), S::gone},
};
}  // namespace controller_table

/// The state after `event`, or nothing when it may not happen in `from`.
constexpr std::optional<ControllerState> next_state(ControllerState from, ControllerEvent event) {
  for (const ControllerTransition& row : controller_table::kTransitions) {
    if (row.event == event && (row.sources >> static_cast<unsigned>(from) & 1) != 0) {
      return row.target;
    }
  }
  return std::nullopt;
}

constexpr std::string_view name_of(ControllerState state) {
  constexpr std::string_view names[] = {"idle",      "connecting", "enabling",      "configuring", "live",
                                        "resetting", "recovering", "shutting_down", "closing",     "gone"};
  return names[static_cast<std::size_t>(state)];
}
constexpr std::string_view name_of(ControllerEvent event) {
  constexpr std::string_view names[] = {"attempt",  "connected", "ready", "configured", "reset",
                                        "disabled", "lost",      "leave", "close",      "ended"};
  return names[static_cast<std::size_t>(event)];
}

}  // namespace fb::host
