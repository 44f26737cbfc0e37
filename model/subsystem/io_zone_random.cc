// Zone Random Write Areas: which writes they take, how their write pointers move, and Flush Explicit ZRWA Range.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "model/subsystem/zrwa_fault_points.h"
#include "wire/nvme/zones.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace zs = nvme::zone_send_sqe;
using nvme::IoOpcode;

/// The area of the zone, or the region behind it, takes a write of these blocks. False: the command has been answered.
bool ZoneCommands::random_takes(const Command& command, const ZoneTable& zones, std::size_t index, std::uint64_t slba,
                                std::uint64_t blocks) {
  Queue& queue = *command.queue;
  const std::uint64_t pointer = zones.write_pointer(index);
  const std::uint64_t most = pointer + 2u * zones.options().zrwa_blocks - (departs(departure::zrwa_short) ? 1 : 0);
  if (slba < pointer && queue.refuse(command, check::zone_zrwa_behind)) return false;
  if (slba + blocks > most && queue.refuse(command, check::zone_zrwa_beyond)) return false;
  const bool zeroes = static_cast<IoOpcode>(command.opcode()) == IoOpcode::write_zeroes;
  const bool in_order = departs(zeroes ? departure::zrwa_zeroes_in_order : departure::zrwa_in_order);
  const bool other_queue = queue.qid() != 1 && departs(departure::zrwa_first_queue);
  const bool wrong = (in_order && slba != pointer) || other_queue;
  return !wrong || !queue.refuse(command, check::zone_zrwa_beyond);
}

/// Blocks up to `end` have been written into the area, or into the region behind it.
void ZoneCommands::random_written(ZoneTable& zones, std::size_t index, std::uint64_t end) {
  const std::uint64_t granularity = zones.options().zrwa_granularity;
  std::uint64_t blocks = zones.slide_of(index, end, departs(departure::zrwa_slides_by_blocks) ? 1 : granularity);
  if (blocks == 0 && departs(departure::zrwa_pointer_moves)) blocks = 1;
  if (blocks != 0 && departs(departure::zrwa_slides_too_far)) blocks += granularity;
  if (departs(departure::zrwa_never_slides)) blocks = 0;
  const bool closed = zones.state(index) == nvme::ZoneState::closed;
  zones.commit(index, blocks);
  if (closed && departs(departure::zrwa_stays_closed)) zones.close(index);
}

bool ZoneCommands::overwrite_lost(Namespace& ns, std::uint64_t slba) const {
  if (!departs(departure::zrwa_overwrite_lost) || !ns.zoned() || !ns.zones()->has_random(ns.zones()->index_of(slba))) return false;
  Bytes block(ns.layout().bytes());
  if (!ns.read(slba, block).ok()) return false;
  return std::any_of(block.begin(), block.end(), [](std::uint8_t byte) { return byte != 0; });
}

/// Areas that count against those of the namespace.
std::size_t ZoneCommands::random_areas(const Namespace& ns) const {
  std::size_t areas = departs(departure::zrwa_two_less) ? 2 : 0;
  if (!departs(departure::zrwa_counted_together)) return areas;
  for (const auto& [nsid, other] : subsystem_.namespaces()) {
    if (other.get() != &ns && other->zoned()) areas += other->zones()->random();
  }
  return areas;
}

/// The zone gets an area. False: the command has been answered.
bool ZoneCommands::random_allocates(const Command& command, const Namespace& ns, std::size_t index) {
  Queue& queue = *command.queue;
  const ZoneTable& zones = *ns.zones();
  if (zones.options().zrwa_blocks == 0) return !queue.refuse(command, check::zone_zrwa_supported);
  if (zones.state(index) != nvme::ZoneState::empty) return !queue.refuse(command, check::zone_zrwa_state);
  const std::size_t others = random_areas(ns);
  const bool lacks = zones.lacks_random(others);
  if (!lacks || !queue.refuse(command, check::zone_zrwa_resources)) return true;
  return false;
}

void ZoneCommands::random_flush(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  ZoneTable& zones = *ns.zones();
  const std::uint64_t last = command.as<nvme::ZoneSendSqe>().get(zs::slba);
  const bool supported = zones.options().zrwa_blocks != 0 && zones.options().zrwa_flush;
  if (!supported && queue.refuse(command, check::zone_zrwa_flush_supported)) return;
  if (last >= ns.blocks()) {
    if (!queue.refuse(command, check::zone_zrwa_flush_range)) queue.complete(command, sc::success);
    return;
  }
  const std::size_t index = zones.index_of(last);
  if (!zones.has_random(index)) {
    if (!queue.refuse(command, check::zone_zrwa_flush_none)) queue.complete(command, sc::success);
    return;
  }
  const std::uint64_t pointer = zones.write_pointer(index), end = zones.start_of(index) + zones.capacity(index);
  const std::uint64_t granularity = zones.options().zrwa_granularity;
  const bool inside = last >= pointer && last < std::min(pointer + zones.options().zrwa_blocks, end);
  if (!inside && queue.refuse(command, check::zone_zrwa_flush_range)) return;
  std::uint64_t blocks = last < pointer ? 0 : last + 1 - pointer;
  const bool whole = blocks % granularity == 0 || last + 1 == end;
  if (inside && !whole && queue.refuse(command, check::zone_zrwa_flush_granularity)) return;
  if (!zone_has_resources(command, zones, index, true, 0)) return;
  if (blocks == zones.options().zrwa_blocks && departs(departure::zrwa_flush_part)) blocks -= granularity;
  if (departs(departure::zrwa_flush_erases)) (void)ns.write_zeroes(pointer, static_cast<std::uint32_t>(blocks));
  if (departs(departure::zrwa_flush_nothing)) blocks = 0;
  if (departs(departure::zrwa_flush_stays) && pointer + blocks >= end) blocks = end - pointer - 1;
  zones.commit(index, blocks);
  for (std::size_t i = 0; i < zones.count() && departs(departure::zrwa_flush_all); ++i) {
    if (i != index && zones.has_random(i)) zones.commit(i, blocks);
  }
  queue.complete(command, sc::success);
}

}  // namespace fb::subsystem
