// Writes to zones, and the commands that change them: Zone Append and Zone Management Send.
#include <algorithm>

#include "model/subsystem/command_fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "model/subsystem/zrwa_fault_points.h"
#include "wire/nvme/zones.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace rw = nvme::rw_sqe;
namespace zs = nvme::zone_send_sqe;
namespace append = nvme::zone_append_sqe;
using nvme::IoOpcode;
using nvme::ZoneSendAction;
using nvme::ZoneState;

namespace {

constexpr ZoneSendAction kSendActions[] = {ZoneSendAction::close,
                                           ZoneSendAction::finish,
                                           ZoneSendAction::open,
                                           ZoneSendAction::reset,
                                           ZoneSendAction::offline,
                                           ZoneSendAction::set_descriptor_extension,
                                           ZoneSendAction::flush_explicit_zrwa};

bool is_action(ZoneSendAction action) {
  return std::find(std::begin(kSendActions), std::end(kSendActions), action) != std::end(kSendActions);
}

}  // namespace

// ---- what any command meets that reads or writes ----

/// False: the command has been answered.
bool ZoneCommands::zone_has_resources(const Command& command, ZoneTable& zones, std::size_t index, bool opens, std::size_t waits) {
  Queue& queue = *command.queue;
  const Check* lacking = nullptr;
  if (zones.lacks_active(index, waits)) {
    lacking = &check::zone_active;
  } else if (opens && zones.lacks_open(index, waits)) {
    lacking = &check::zone_open;
  }
  if (lacking == nullptr || !queue.refuse(command, *lacking)) return true;
  if (departs(departure::zone_refused_opens)) zones.open_zone(index);
  return false;
}

/// The zone takes a write of these blocks. False: the command has been answered.
bool ZoneCommands::zone_takes(const Command& command, Namespace& ns, std::uint64_t slba, std::uint64_t blocks) {
  Queue& queue = *command.queue;
  ZoneTable& zones = *ns.zones();
  const std::size_t index = zones.index_of(slba);
  const ZoneState state = zones.state(index);
  if (state == ZoneState::offline && queue.refuse(command, check::zone_offline)) return false;
  if (state == ZoneState::read_only && queue.refuse(command, check::zone_read_only)) return false;
  if (state == ZoneState::full && queue.refuse(command, check::zone_full)) return false;
  if (zones.exceeds(slba, blocks) && queue.refuse(command, check::zone_boundary)) return false;
  const bool takes = state != ZoneState::offline && state != ZoneState::read_only && state != ZoneState::full;
  if (!takes) return true;
  if (zones.has_random(index)) {
    if (!random_takes(command, zones, index, slba, blocks)) return false;
  } else if (slba != zones.write_pointer(index) && queue.refuse(command, check::zone_write_pointer)) {
    return false;
  }
  return zone_has_resources(command, zones, index, true, 0);
}

/// The zones of the range can be read. False: the command has been answered.
bool ZoneCommands::zone_readable(const Command& command, const Namespace& ns, std::uint64_t slba, std::uint64_t blocks) {
  Queue& queue = *command.queue;
  const ZoneTable& zones = *ns.zones();
  if (zones.offline(slba, blocks) && queue.refuse(command, check::zone_read_offline)) return false;
  const bool crosses = zones.crosses(slba, blocks) && !zones.options().read_across;
  return !crosses || !queue.refuse(command, check::zone_read_boundary);
}

/// No zone of a range of Dataset Management is offline. False: the command has been answered.
bool ZoneCommands::zone_deallocates(const Command& command, const Namespace& ns, std::uint64_t slba, std::uint64_t blocks) {
  if (!ns.zoned() || blocks == 0 || !ns.in_range(slba, blocks) || !ns.zones()->offline(slba, blocks)) return true;
  return !command.queue->refuse(command, check::zone_deallocate_offline);
}

/// Blocks have been written.
void ZoneCommands::zone_written(Namespace& ns, std::uint64_t slba, std::uint64_t blocks) {
  if (departs(departure::zone_pointer_stays)) return;
  ZoneTable& zones = *ns.zones();
  const std::size_t index = zones.index_of(slba);
  if (zones.has_random(index)) return random_written(zones, index, slba + blocks);
  const bool fills = slba + blocks - zones.start_of(index) >= zones.capacity(index);
  if (departs(departure::zone_pointer_first)) blocks = 1;
  if (departs(departure::zone_never_full) && fills) --blocks;
  const bool opens = zones.state(index) == ZoneState::empty || zones.state(index) == ZoneState::closed;
  if (blocks != 0) zones.write(slba, blocks);
  if (opens && departs(departure::zone_written_explicit) && zones.state(index) == ZoneState::implicitly_opened) {
    zones.open_zone(index);
  }
  if (departs(departure::zone_event_commands)) subsystem_.zone_changed(ns, index);
}

// ---- the commands of the set ----

void ZoneCommands::zone_command(const Command& command) {
  Queue& queue = *command.queue;
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;
  if (ns == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  if (!ns->zoned()) {
    if (!queue.refuse(command, check::zone_namespace)) queue.complete(command, sc::success);
    return;
  }
  const auto opcode = static_cast<IoOpcode>(command.opcode());
  const Access access = opcode == IoOpcode::zone_management_receive ? Access::read : Access::write;
  if (!controller_.io_.check_path(command, *ns) || !controller_.reservations_.reservation_allows(command, *ns, access)) return;
  if (opcode == IoOpcode::zone_management_receive) return zone_receive(command, *ns);
  if (!controller_.io_.writable(command, ns)) return;
  opcode == IoOpcode::zone_append ? zone_append(command, *ns) : zone_send(command, *ns);
}

void ZoneCommands::zone_append(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  const IoTarget target = controller_.io_.target_of(command, &ns);
  const SubsystemOptions& options = subsystem_.options();
  const unsigned limit = options.zoned.append_limit != 0 ? options.zoned.append_limit : options.mdts;
  if (limit != 0 && target.bytes > std::uint64_t{4096} << limit && queue.refuse(command, check::zone_append_size)) {
    return;
  }
  if (!ns.zones()->is_start(target.slba) && queue.refuse(command, check::zone_append_start)) return;
  const nvme::BlockLayout& layout = ns.layout();
  if (layout.is_protected()) {
    const bool remaps = command.as<nvme::ZoneAppendSqe>().get(append::piremap);
    const bool wrong = (layout.protection_type == 1 && !remaps) || (layout.protection_type == 3 && remaps);
    if (wrong && queue.refuse(command, check::zone_append_remap)) return;
    if (!controller_.io_.check_protection_order(command, target)) return;
  }
  if (subsystem_.directives().any() && !controller_.directives_.directive_ok(command)) return;
  if (queue.stage(command, target.bytes)) queue.pull(command);
}

void ZoneCommands::zone_append_data(const Command& command) {
  Queue& queue = *command.queue;
  IoTarget target;
  if (!controller_.io_.find_target(command, target)) return;
  // Meanwhile it has become another one.
  if (target.ns == nullptr || !target.ns->zoned() || command.data().size() != target.bytes) {
    return queue.complete(command, sc::format_in_progress);
  }
  Namespace& ns = *target.ns;
  ZoneTable& zones = *ns.zones();
  if (zones.index_of(target.slba) >= zones.count()) return queue.complete(command, sc::success);
  const std::uint64_t start = zones.start_of(zones.index_of(target.slba));
  target.slba = zones.write_pointer(zones.index_of(target.slba));
  target.in_range = ns.in_range(target.slba, target.blocks);
  target.remaps = ns.layout().is_protected() && command.as<nvme::ZoneAppendSqe>().get(append::piremap);
  if (zones.has_random(zones.index_of(start)) && queue.refuse(command, check::zone_zrwa_append)) {
    if (departs(departure::zrwa_append_moves)) zones.commit(zones.index_of(start), 1);
    return;
  }
  const std::uint64_t first = std::min(target.slba, ns.blocks() - 1);
  if (!controller_.io_.writable(command, &ns) || !zone_takes(command, ns, first, target.blocks)) return;
  if (!target.in_range) return queue.complete(command, sc::success);
  MutableBytes whole = command.data().first(target.bytes);
  if (ns.layout().is_protected() && !controller_.io_.take_protected(command, target, whole)) return;
  controller_.io_.store(command, target, whole, departs(departure::zone_append_result) ? start : target.slba);
}

void ZoneCommands::zone_send(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::ZoneSendSqe>();
  const ZoneSendAction action = sqe.get(zs::zsa);
  if (!is_action(action)) {
    if (!queue.refuse(command, check::zone_action)) queue.complete(command, sc::success);
    return;
  }
  if (action == ZoneSendAction::flush_explicit_zrwa) return random_flush(command, ns);
  const bool all = sqe.get(zs::select_all);
  const ZoneTable& zones = *ns.zones();
  const std::uint64_t slba = sqe.get(zs::slba);
  const bool extends = action == ZoneSendAction::set_descriptor_extension;
  if (extends && zones.extension_bytes() == 0 && queue.refuse(command, check::zone_extension)) return;
  if (extends && all && queue.refuse(command, check::zone_extension_all)) return;
  const bool one = extends || !all;
  if (one && !zones.is_start(slba) && queue.refuse(command, check::zone_start)) return;
  // What a deviation let through may still mean no zone at all.
  if (one && zones.index_of(slba) >= zones.count()) return queue.complete(command, sc::success);
  if (extends) {
    if (zones.extension_bytes() == 0) return queue.complete(command, sc::success);
    if (queue.stage(command, zones.extension_bytes())) queue.pull(command);
    return;
  }
  std::vector<std::size_t> chosen;
  if (one) chosen.push_back(zones.index_of(slba));
  for (std::size_t i = 0; i < zones.count() && !one; ++i) {
    const bool empty = zones.state(i) == ZoneState::empty && action == ZoneSendAction::finish;
    const bool opened = zones.state(i) == ZoneState::empty || zones.state(i) == ZoneState::implicitly_opened;
    const bool opens = opened && action == ZoneSendAction::open && departs(departure::zone_all_opens);
    const bool closed = zones.state(i) == ZoneState::closed && action == ZoneSendAction::reset;
    if (closed && departs(departure::zone_all_closed)) continue;
    if (opens || all_takes(zones.state(i), action) || (empty && departs(departure::zone_all_empty))) chosen.push_back(i);
  }
  if (!one && departs(departure::zone_all_first) && chosen.size() > 1) chosen.resize(1);
  zone_act(command, ns, chosen);
}

void ZoneCommands::zone_send_data(const Command& command) {
  Queue& queue = *command.queue;
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;  // it went away
  if (ns == nullptr || !ns->zoned() || command.data().size() != ns->zones()->extension_bytes()) {
    return queue.complete(command, sc::format_in_progress);
  }
  const std::size_t index = ns->zones()->index_of(command.as<nvme::ZoneSendSqe>().get(zs::slba));
  if (index >= ns->zones()->count()) return queue.complete(command, sc::format_in_progress);
  if (controller_.io_.writable(command, ns)) zone_act(command, *ns, {index});
}

/// All of them, or none where one of them stands in the way.
void ZoneCommands::zone_act(const Command& command, Namespace& ns, const std::vector<std::size_t>& chosen) {
  Queue& queue = *command.queue;
  ZoneTable& zones = *ns.zones();
  const ZoneSendAction action = command.as<nvme::ZoneSendSqe>().get(zs::zsa);
  const bool opens = action == ZoneSendAction::open;
  const bool extends = action == ZoneSendAction::set_descriptor_extension;
  const bool allocates = (opens || extends) && command.as<nvme::ZoneSendSqe>().get(zs::zrwaa);
  std::vector<std::size_t> changing;
  std::size_t waits = 0;
  for (const std::size_t index : chosen) {
    ZoneStep step = step_of(zones.state(index), action);
    if (step == ZoneStep::refused) {
      if (queue.refuse(command, check::zone_transition)) return;
      step = ZoneStep::change;
    }
    if (allocates && !random_allocates(command, ns, index)) {
      if (departs(departure::zrwa_refused_opens) && step == ZoneStep::change) zones.open_zone(index);
      return;
    }
    if (step != ZoneStep::change) continue;
    if ((opens || extends) && !zone_has_resources(command, zones, index, opens, waits++)) return;
    changing.push_back(index);
  }
  nvme::Status status = sc::success;
  std::uint64_t result = 0;
  for (const std::size_t index : changing) {
    const std::size_t before = zones.active(), areas = zones.random();
    const nvme::Status one = zone_step(command, ns, index, result);
    if (allocates && !departs(extends ? departure::zrwa_extension_plain : departure::zrwa_open_plain)) {
      zones.allocate_random(index);
      if (departs(departure::zrwa_open_writes)) zones.commit(index, 1);
    }
    const bool leaks = departs(action == ZoneSendAction::finish ? departure::zrwa_finish_leaks : departure::zrwa_reset_leaks);
    if (zones.random() < areas && leaks) zones.leak_random();
    if (zones.active() < before && departs(departure::zone_resources_leak)) zones.leak();
    if (!one.ok()) status = one;
    if (departs(departure::zone_event_commands)) subsystem_.zone_changed(ns, index);
  }
  queue.complete(command, status, result);
}

nvme::Status ZoneCommands::zone_step(const Command& command, Namespace& ns, std::size_t index, std::uint64_t& result) {
  ZoneTable& zones = *ns.zones();
  switch (command.as<nvme::ZoneSendSqe>().get(zs::zsa)) {
    case ZoneSendAction::close:
      if (!departs(departure::zone_close_ineffective)) zones.close(index);
      if (departs(departure::zrwa_close_releases)) zones.release_random(index);
      break;
    case ZoneSendAction::finish:
      if (zones.has_random(index) && departs(departure::zrwa_finish_erases)) {
        const std::uint64_t from = zones.write_pointer(index), to = zones.start_of(index) + zones.capacity(index);
        (void)ns.write_zeroes(from, static_cast<std::uint32_t>(to - from));
      }
      if (!departs(departure::zone_finish_ineffective)) zones.finish(index);
      break;
    case ZoneSendAction::open:
      zones.open_zone(index);
      if (departs(departure::zone_open_implicit)) zones.open_implicitly(index);
      if (zones.options().zrwa_blocks != 0 && departs(departure::zrwa_unasked)) zones.allocate_random(index);
      break;
    case ZoneSendAction::reset: {
      if (departs(departure::zone_reset_ineffective)) break;
      const nvme::Status erased = departs(departure::zone_reset_keeps_data) ? sc::success : ns.erase_zone(index);
      if (!erased.ok()) return erased;
      const nvme::ZoneFacts before = zones.facts(index);
      if (zones.reset(index)) result |= nvme::kZoneCapacityChanged;
      if (departs(departure::zone_reset_extension) && !before.extension.empty()) {
        zones.set_extension(index, before.extension);
        zones.close(index);
      }
      break;
    }
    case ZoneSendAction::offline:
      if (!departs(departure::zone_offline_ineffective)) zones.take_offline(index);
      break;
    case ZoneSendAction::set_descriptor_extension: {
      Bytes data(command.data().begin(), command.data().end());
      if (departs(departure::zone_extension_lost)) std::fill(data.begin(), data.end(), std::uint8_t{0});
      if (!departs(departure::zone_extension_state)) zones.set_extension(index, data);
      break;
    }
    case ZoneSendAction::flush_explicit_zrwa:  // it names a block, and no zone
      break;
  }
  return sc::success;
}

}  // namespace fb::subsystem
