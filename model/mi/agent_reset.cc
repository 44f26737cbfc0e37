// Reset and Shutdown.
#include "model/mi/agent.h"
#include "model/mi/fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"

namespace fb::mi {

namespace {
constexpr std::uint8_t kSubsystemReset = 0;
constexpr std::uint8_t kShutdownAbrupt = 1;
}  // namespace

void Agent::reset_command(Exchange& exchange) {
  const std::uint8_t type = exchange.as<ResetRequest>().get(reset_request::type);
  if (type != kSubsystemReset && refuse(exchange, check::reset_type)) return;
  if (departs(departure::reset_ignored)) return finish(exchange, 0, {});
  if (departs(departure::reset_answers)) {
    finish(exchange, 0, {});
  } else {
    exchange.done = true;
  }
  exchange.resets_subsystem = true;
}

void Agent::shutdown(Exchange& exchange) {
  const std::uint8_t type = exchange.as<ResetRequest>().get(reset_request::type);
  if (type > kShutdownAbrupt && refuse(exchange, check::shutdown_type)) return;
  // What is held in caches is written either way here, so that abrupt is as good as normal.
  for (const auto& [id, controller] : device_.subsystem().controllers()) controller->shut_down();
  finish(exchange, 0, {});
}

}  // namespace fb::mi
