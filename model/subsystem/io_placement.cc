// I/O Management Receive and Send, and where writes go.
#include "model/subsystem/io_placement.h"

#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace io = nvme::io_management_sqe;
using nvme::IoManagementReceiveOperation;
using nvme::IoManagementSendOperation;

PlacementTime PlacementCommands::time() const { return {subsystem_.world().now(), controller_.timestamp()}; }

bool PlacementCommands::placed(const Namespace& ns) const { return subsystem_.placement().handles_of(ns.nsid()) != nullptr; }

void PlacementCommands::io_management_receive(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::IoManagementReceiveSqe>();
  const std::uint8_t operation = sqe.get(io::mo);
  if (operation == static_cast<std::uint8_t>(IoManagementReceiveOperation::none)) return queue.complete(command, sc::success);
  const bool known = operation == static_cast<std::uint8_t>(IoManagementReceiveOperation::reclaim_unit_handle_status);
  if (!known && queue.refuse(command, check::io_receive_operation)) return;
  const bool one = command.nsid() != 0 && command.nsid() != nvme::kAllNamespaces;
  if (!one && queue.refuse(command, check::io_receive_nsid)) return;
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;
  if (ns == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  if (!controller_.io_.check_path(command, *ns)) return;
  if (!placed(*ns) && queue.refuse(command, check::io_receive_disabled)) return;
  const std::uint64_t length = sqe.get(io::numd).count() * 4;
  if (!controller_.transfer_fits(length)) {
    if (!queue.refuse(command, check::io_mdts)) queue.complete(command, sc::success);
    return;
  }
  if (!queue.stage(command, static_cast<std::size_t>(length))) return;
  std::vector<nvme::HandleStatus> all = subsystem_.placement().statuses(ns->nsid(), ns->block_bytes(), time());
  if (departs(departure::fdp_receive_order)) {
    const unsigned bits = placed(*ns) ? subsystem_.placement().configuration(ns->endurance_group()).group_bits : 0;
    std::stable_sort(all.begin(), all.end(), [bits](const auto& a, const auto& b) {
      return nvme::reclaim_group_of(a.id, bits) < nvme::reclaim_group_of(b.id, bits);
    });
  }
  if (departs(departure::fdp_receive_groups) || departs(departure::fdp_receive_handles)) {
    const bool groups = departs(departure::fdp_receive_groups);
    const unsigned bits = placed(*ns) ? subsystem_.placement().configuration(ns->endurance_group()).group_bits : 0;
    std::erase_if(all, [&](const nvme::HandleStatus& status) {
      return (groups ? nvme::reclaim_group_of(status.id, bits) : nvme::placement_handle_of(status.id, bits)) != 0;
    });
  }
  Bytes data = nvme::make_handle_statuses(all);
  if (departs(departure::fdp_receive_reserved)) data[0] = 1;
  if (departs(departure::fdp_receive_cut)) {
    const std::size_t room =
        length < nvme::HandleStatusHeader::size ? 0 : (length - nvme::HandleStatusHeader::size) / nvme::HandleStatusDescriptor::size;
    store_le(data.data() + nvme::handle_status::nruhsd.offset, static_cast<std::uint16_t>(std::min(room, all.size())));
  }
  const MutableBytes out = command.data().first(static_cast<std::size_t>(length));
  std::fill(out.begin(), out.end(), departs(departure::fdp_receive_rest) ? std::uint8_t{0xFF} : std::uint8_t{0});
  std::copy_n(data.begin(), std::min(data.size(), out.size()), out.begin());
  queue.complete_with_data(command, out.size());
}

void PlacementCommands::io_management_send(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::IoManagementSendSqe>();
  const std::uint8_t operation = sqe.get(io::mo);
  if (operation == static_cast<std::uint8_t>(IoManagementSendOperation::none)) return queue.complete(command, sc::success);
  const bool known = operation == static_cast<std::uint8_t>(IoManagementSendOperation::reclaim_unit_handle_update);
  if (!known && queue.refuse(command, check::io_send_operation)) return;
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;
  if (ns == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  if (!controller_.io_.check_path(command, *ns)) return;
  if (!placed(*ns)) {
    if (!queue.refuse(command, check::io_send_disabled)) queue.complete(command, sc::success);
    return;
  }
  const std::uint64_t count = std::uint64_t{sqe.get(io::mos)} + 1;
  const std::uint64_t less = departs(departure::fdp_update_short) ? 1 : 0;
  const std::uint64_t most = subsystem_.placement().configuration(ns->endurance_group()).identifiers_max - less;
  if (count > most && queue.refuse(command, check::io_send_count)) return;
  if (queue.stage(command, static_cast<std::size_t>(count * 2))) queue.pull(command);
}

/// All identifiers of the list are the namespace's.
bool PlacementCommands::update_fits(const Command& command, const Placement::Handles& handles) {
  Queue& queue = *command.queue;
  for (std::size_t at = 0; at + 1 < command.data().size(); at += 2) {
    const auto id = load_le<std::uint16_t>(command.data().data() + at);
    if (!subsystem_.placement().group_valid(handles, id) && queue.refuse(command, check::io_send_group)) return false;
    if (!subsystem_.placement().handle_valid(handles, id) && queue.refuse(command, check::io_send_handle)) return false;
  }
  return true;
}

void PlacementCommands::io_management_send_data(const Command& command) {
  Queue& queue = *command.queue;
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;  // it went away
  const Placement::Handles* const handles = ns == nullptr ? nullptr : subsystem_.placement().handles_of(ns->nsid());
  if (handles == nullptr) return queue.complete(command, sc::fdp_disabled);
  if (!update_fits(command, *handles)) return;
  const bool first = departs(departure::fdp_update_first);
  for (std::size_t at = 0; at + 1 < command.data().size() && (at == 0 || !first); at += 2) {
    subsystem_.placement().update(ns->nsid(), load_le<std::uint16_t>(command.data().data() + at), time());
  }
  queue.complete(command, sc::success);
}

void PlacementCommands::written(const Command& command, const Namespace& ns, std::uint64_t slba, std::uint64_t blocks) {
  if (!subsystem_.placement().any()) return;
  const auto sqe = command.as<nvme::ReadWriteSqe>();
  const auto opcode = static_cast<nvme::IoOpcode>(command.opcode());
  if (opcode == nvme::IoOpcode::write_zeroes && departs(departure::fdp_statistics_zeroes)) return;
  const bool enabled = subsystem_.directives().placement_enabled(controller_.host_.hostid, ns.nsid());
  Placement::Write write{ns.nsid(), slba, blocks, ns.block_bytes()};
  // Of Copy the fields stand elsewhere: it is as a write that says nothing.
  write.directed = (enabled || departs(departure::fdp_write_disabled)) && opcode != nvme::IoOpcode::copy &&
                   sqe.get(nvme::rw_sqe::dtype) == static_cast<unsigned>(nvme::DirectiveType::data_placement);
  write.id = static_cast<std::uint16_t>(sqe.get(nvme::rw_sqe::dspec));
  subsystem_.placement().write(write, time());
}

/// For a deviation.
bool PlacementCommands::refuses_identifier(const Command& command) {
  if (!departs(departure::fdp_write_refused)) return false;
  const Placement& placement = subsystem_.placement();
  const Placement::Handles* const handles = placement.handles_of(command.nsid());
  const auto id = static_cast<std::uint16_t>(command.as<nvme::ReadWriteSqe>().get(nvme::rw_sqe::dspec));
  if (handles == nullptr || (placement.group_valid(*handles, id) && placement.handle_valid(*handles, id))) return false;
  command.queue->complete(command, sc::invalid_field);
  return true;
}

void PlacementCommands::on_reset() {
  Placement& placement = subsystem_.placement();
  if (!placement.any()) return;
  for (const auto& [group, facts] : subsystem_.endurance().groups()) {
    if (!placement.enabled(group)) continue;
    if (departs(departure::fdp_statistics_reset)) placement.forget_counters(group);
    if (departs(departure::fdp_lost_at_reset)) placement.set(group, false, 0);
  }
}

void PlacementCommands::deallocated(const Namespace& ns, std::uint64_t slba, std::uint64_t blocks) {
  if (subsystem_.placement().any()) subsystem_.placement().deallocate(ns.nsid(), slba, blocks);
}

}  // namespace fb::subsystem
