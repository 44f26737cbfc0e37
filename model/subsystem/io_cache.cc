// What commands promise about the volatile write cache: FUA, and the feature that switches it off.
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace rw = nvme::rw_sqe;

/// A command has changed these blocks: with FUA, or without a cache that is on, they are on the medium before it is
/// answered.
nvme::Status IoCommands::after_write(Namespace& ns, std::uint64_t slba, std::uint64_t count, bool fua) {
  const bool cached = controller_.features_.write_cache != 0;
  if (cached && !fua) return sc::success;
  const bool through = !cached && !departs(departure::cache_stays_on);
  const bool forced = fua && !departs(departure::fua_ignored);
  return through || forced ? ns.flush(slba, count) : nvme::Status(sc::success);
}

/// Of commands that read, FUA says that what they read is on the medium before. False: the command has been answered.
bool IoCommands::commit_before(const Command& command, const IoTarget& target) {
  if (!command.as<nvme::ReadWriteSqe>().get(rw::fua) || !target.in_range) return true;
  if (departs(departure::fua_ignored)) return true;
  const nvme::Status status = target.ns->flush(target.slba, target.blocks);
  if (!status.ok()) command.queue->complete(command, status);
  return status.ok();
}

/// Feature 06h. What is in the cache when it is switched off goes to the medium.
nvme::Status IoCommands::set_write_cache(bool on) {
  nvme::Status status = sc::success;
  if (!on && controller_.features_.write_cache != 0 && !departs(departure::cache_stays_on)) {
    for (const auto& [nsid, ns] : subsystem_.namespaces()) {
      const nvme::Status one = ns->flush();
      if (!one.ok()) status = one;
    }
  }
  controller_.features_.write_cache = on ? 1 : 0;
  return status;
}

}  // namespace fb::subsystem
