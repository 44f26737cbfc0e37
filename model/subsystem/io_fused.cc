// Fused Compare and Write: two adjacent commands that succeed or fail together.
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace rw = nvme::rw_sqe;
using nvme::Fuse;
using nvme::IoOpcode;

/// The waiting first half has lost its partner.
void IoCommands::break_fused(Queue& queue) {
  if (queue.fused_first == nullptr) return;
  const Command first{&queue, queue.fused_first};
  if (queue.phase(first) != Phase::fused) return;
  queue.fused_first = nullptr;
  queue.hold(first, Phase::running);
  if (!queue.refuse(first, check::fused_missing)) start_io(first);
}

/// True: the command is part of a fused operation, and has been taken care of.
bool IoCommands::on_fuse(const Command& command) {
  Queue& queue = *command.queue;
  const Fuse fuse = command.as<nvme::SqeLayout>().get(nvme::sqe::fuse);
  const bool waiting = queue.fused_first != nullptr && queue.phase({&queue, queue.fused_first}) == Phase::fused;
  if (waiting && fuse != Fuse::second && !departs(departure::fused_apart)) break_fused(queue);
  if (!queue.alive()) return true;
  if (fuse == Fuse::normal) return false;
  if (fuse == Fuse::reserved) return queue.refuse(command, check::command_fuse);
  const auto opcode = static_cast<IoOpcode>(command.opcode());
  const auto wanted = fuse == Fuse::first ? IoOpcode::compare : IoOpcode::write;
  const bool offered = subsystem_.options().fused_compare_and_write && opcode == wanted;
  if (fuse == Fuse::first) {
    if (!offered) return queue.refuse(command, check::fused_operation);
    // A deviation keeps a first half behind which something else came.
    if (queue.fused_first != nullptr) return queue.refuse(command, check::fused_missing);
    queue.fused_first = command.arrived;
    queue.hold(command, Phase::fused);
    return true;
  }
  if (queue.fused_first == nullptr || queue.phase({&queue, queue.fused_first}) != Phase::fused) {
    return queue.refuse(command, check::fused_missing);
  }
  const Command first{&queue, queue.fused_first};
  if (!offered) {
    queue.fused_first = nullptr;
    queue.hold(first, Phase::running);
    if (!queue.refuse(first, check::fused_missing)) start_io(first);
    return !queue.alive() || queue.refuse(command, check::fused_operation);
  }
  start_fused(first, command);
  return true;
}

/// What one atomic compare and write may span.
bool IoCommands::compares_atomically(const Namespace* ns, std::uint64_t slba, std::uint64_t blocks) const {
  const NamespaceLimits limits = ns != nullptr ? ns->limits() : NamespaceLimits{};
  const std::uint32_t own = limits.atomic_compare_write;
  const AtomicUnit unit{.block_bytes = 1,
                        .blocks = own != 0 ? own : subsystem_.options().atomic_compare_write_blocks,
                        .boundary = limits.boundary,
                        .boundary_offset = limits.boundary_offset};
  return unit.holds(slba, blocks);
}

void IoCommands::start_fused(const Command& first, const Command& second) {
  Queue& queue = *first.queue;
  queue.hold(first, Phase::running);
  queue.fused_first = nullptr;
  const auto a = first.as<nvme::ReadWriteSqe>();
  const auto b = second.as<nvme::ReadWriteSqe>();
  const bool same = first.nsid() == second.nsid() && a.get(rw::slba) == b.get(rw::slba) && a.get(rw::nlb) == b.get(rw::nlb);
  if (!same && queue.refuse(first, check::fused_range)) {
    if (queue.alive() && !queue.refuse(second, check::fused_range)) start_io(second);
    return;
  }
  // The Zoned Namespace and the Key Value command sets have no fused operations.
  const Namespace* const ns = controller_.active_namespace(first.nsid());
  if (ns != nullptr && (ns->zoned() || ns->key_value()) && queue.refuse(first, check::zone_fused)) {
    if (queue.alive() && !queue.refuse(second, check::zone_fused)) start_io(second);
    return;
  }
  IoTarget target;
  IoTarget second_target;
  const auto fail_second = [&] {
    if (queue.alive() && !queue.refuse(second, check::fused_failed)) start_io(second);
  };
  const std::uint64_t blocks = a.get(rw::nlb).count();
  const bool fits = compares_atomically(controller_.active_namespace(first.nsid()), a.get(rw::slba), blocks);
  if (!fits && queue.refuse(first, check::fused_unit)) return fail_second();
  if (!check_io(first, target)) return fail_second();
  if (!queue.stage(first, target.bytes)) return fail_second();
  if (!check_io(second, second_target) || !queue.stage(second, second_target.bytes)) {
    if (queue.alive() && !queue.refuse(first, check::fused_failed)) {
      queue.complete(first, sc::success);
    }
    return;
  }
  queue.fuse(first, second);
  queue.pull(first);
  if (queue.alive()) queue.pull(second);
}

void IoCommands::on_fused_data(const Command& command) {
  Queue& queue = *command.queue;
  transport::ArrivedCommand* const partner = queue.partner(command);
  if (partner == nullptr) return queue.complete(command, sc::aborted_failed_fused);
  queue.hold(command, Phase::fused_data);
  const Command other{&queue, partner};
  if (queue.phase(other) != Phase::fused_data) return;
  const bool leads = queue.is_first_half(command);
  const Command first = leads ? command : other;
  const Command second = leads ? other : command;
  queue.hold(first, Phase::running);
  queue.hold(second, Phase::running);
  if (!first.arrived->fault.ok() || !second.arrived->fault.ok()) {
    // Neither is done when the data of one was damaged.
    const auto end = [&](const Command& one) {
      const nvme::Status fault = one.arrived->fault;
      queue.complete(one, fault.ok() ? sc::aborted_failed_fused : fault);
    };
    end(first);
    if (queue.alive()) end(second);
    return;
  }
  const auto end_second = [&] {
    if (queue.alive()) queue.complete(second, sc::aborted_failed_fused);
  };
  if (subsystem_.sanitizer().refuses() && !controller_.sanitize_.sanitize_permits(first, check::sanitize_io, check::sanitize_failed_io)) {
    return end_second();
  }
  IoTarget target;
  if (!find_target(first, target)) return end_second();
  const bool equal = compare_data(first, target);
  if (!queue.alive()) return;
  if (equal || !queue.refuse(second, check::fused_failed)) {
    write(second);
  }
}

}  // namespace fb::subsystem
