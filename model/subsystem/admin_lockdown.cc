// Lockdown.
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/lockdown.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace ld = nvme::lockdown_sqe;
using nvme::LockdownInterface;
using nvme::LockdownScope;

void LockdownCommand::lockdown(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::LockdownSqe>();
  const LockdownScope scope = sqe.get(ld::scp);
  const LockdownInterface where = sqe.get(ld::ifc);
  const auto code = static_cast<std::uint8_t>(sqe.get(ld::ofi));
  const bool scope_ok = scope == LockdownScope::admin_command || scope == LockdownScope::set_features ||
                        scope == LockdownScope::management_command || scope == LockdownScope::pcie_command;
  if (!scope_ok && queue.refuse(command, check::lockdown_scope)) return;
  if (where > LockdownInterface::out_of_band && queue.refuse(command, check::lockdown_interface)) return;
  const bool endpoint = subsystem_.management_facts().mec != 0;
  const bool binds_endpoint = where == LockdownInterface::both || where == LockdownInterface::out_of_band;
  if (binds_endpoint && !endpoint && queue.refuse(command, check::lockdown_no_endpoint)) return;
  const bool pcie = scope == LockdownScope::pcie_command && where != LockdownInterface::out_of_band;
  if (pcie && queue.refuse(command, check::lockdown_scope)) return;
  if (!prohibitable(scope, code) && queue.refuse(command, check::lockdown_code)) return;
  const bool prohibit = sqe.get(ld::prhbt);
  const bool sticks = !prohibit && departs(departure::lockdown_sticks);
  if (!departs(departure::lockdown_nothing) && !sticks) subsystem_.lockdown().set(scope, code, where, prohibit);
  queue.complete(command, sc::success);
}

/// Of what the product has.
bool LockdownCommand::prohibitable(LockdownScope scope, std::uint8_t code) const {
  if (!subsystem_.lockdown().prohibitable(scope, code)) return false;
  return scope == LockdownScope::set_features ? controller_.feature_supported(code) : controller_.admin_supported(code);
}

/// The command, or the feature that it sets, is prohibited. False: it has been answered.
bool LockdownCommand::lockdown_permits(const Command& command, LockdownScope scope, std::uint8_t code) {
  if (!subsystem_.lockdown().prohibits(scope, code, command.queue->out_of_band())) return true;
  const bool command_scope = scope == LockdownScope::admin_command;
  return !command.queue->refuse(command, command_scope ? check::locked_command : check::locked_feature);
}

}  // namespace fb::subsystem
