// Capacity Management: endurance groups and NVM sets made and deleted by command.
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/endurance.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace cs = nvme::capacity_sqe;
using nvme::CapacityOperation;

void CapacityCommands::capacity_management(const Command& command) {
  Queue& queue = *command.queue;
  EnduranceGroups& groups = subsystem_.endurance();
  const auto sqe = command.as<nvme::CapacityManagementSqe>();
  const CapacityOperation operation = sqe.get(cs::oper);
  const auto element = static_cast<std::uint16_t>(sqe.get(cs::elid));
  const std::uint64_t bytes = sqe.get(cs::cap);
  const bool sets = subsystem_.options().endurance.nvm_sets;
  switch (operation) {
    case CapacityOperation::create_endurance_group:
      // There are no domains to choose from.
      if (element != 0 && queue.refuse(command, check::capacity_element)) return;
      return create_capacity(command, groups.unallocated(), 0);
    case CapacityOperation::delete_endurance_group:
      if (!groups.has(element) && queue.refuse(command, check::capacity_element)) return;
      for (const auto& [nsid, ns] : subsystem_.namespaces()) {
        if (ns->endurance_group() == element && !controller_.reservations_.reservation_allows(command, *ns, Access::write)) return;
      }
      queue.complete(command, sc::success);
      if (!departs(departure::capacity_kept)) groups.remove_group(element);
      return;
    case CapacityOperation::create_nvm_set: {
      if (!sets) break;
      if (element != 0 && !groups.has(element) && queue.refuse(command, check::capacity_element)) return;
      std::uint16_t group = element;
      for (const auto& [id, one] : groups.groups()) {
        if (group == 0 && groups.unallocated_of(id) >= bytes) group = id;
      }
      if (group == 0) group = groups.first_group();
      return create_capacity(command, groups.unallocated_of(group), group);
    }
    case CapacityOperation::delete_nvm_set:
      if (!sets) break;
      if (!groups.has_set(element) && queue.refuse(command, check::capacity_element)) return;
      for (const auto& [nsid, ns] : subsystem_.namespaces()) {
        if (ns->nvm_set() == element && !controller_.reservations_.reservation_allows(command, *ns, Access::write)) return;
      }
      queue.complete(command, sc::success);
      if (!departs(departure::capacity_kept)) groups.remove_set(element);
      return;
    default:
      break;
  }
  if (!queue.refuse(command, check::capacity_operation)) queue.complete(command, sc::success);
}

/// An endurance group, or an NVM set in `group`.
void CapacityCommands::create_capacity(const Command& command, std::uint64_t room, std::uint16_t group) {
  Queue& queue = *command.queue;
  EnduranceGroups& groups = subsystem_.endurance();
  const std::uint64_t bytes = command.as<nvme::CapacityManagementSqe>().get(cs::cap);
  if (bytes == 0 && queue.refuse(command, check::capacity_size)) return;
  if (bytes > room) {
    if (!queue.refuse(command, check::capacity_room)) queue.complete(command, sc::success);
    return;
  }
  const std::uint64_t given = departs(departure::capacity_half) ? bytes / 2 : bytes;
  const std::uint16_t made = group == 0 ? groups.make_group(given) : groups.make_set(group, given);
  if (made == 0 && queue.refuse(command, check::capacity_identifier)) return;
  queue.complete(command, sc::success, made);
}

}  // namespace fb::subsystem
