// Format NVM.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/departures.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace fq = nvme::format_sqe;

namespace {

/// Cryptographic erase, the last of the secure erase settings.
constexpr unsigned kEraseMax = 2;

}  // namespace

void Controller::format(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::FormatSqe>();
  const unsigned index = sqe.get(fq::lbafl) | static_cast<unsigned>(sqe.get(fq::lbafu)) << 4;
  if (index >= kBlockFormats.size() && queue.refuse(command, check::format_lbaf)) return;
  if (sqe.get(fq::pi) != 0 && queue.refuse(command, check::format_protection)) return;
  if (sqe.get(fq::ses) > kEraseMax && queue.refuse(command, check::format_erase)) return;
  const std::uint32_t nsid = command.nsid();
  const bool all = nsid == nvme::kAllNamespaces;
  Namespace* const one = all ? nullptr : subsystem_.find_namespace(nsid);
  if (!all && one == nullptr) {
    const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
    if (queue.refuse(command, valid ? check::format_inactive : check::format_nsid)) return;
    return queue.complete(command, sc::success);
  }
  const std::uint32_t block_bytes = kBlockFormats[std::min<std::size_t>(index, kBlockFormats.size() - 1)];
  std::vector<Namespace*> chosen;
  for (const auto& [id, ns] : subsystem_.namespaces()) {
    if (!all && ns.get() != one && !departs(departure::format_all)) continue;
    if (ns->write_protection() != 0 && queue.refuse(command, check::format_write_protected)) return;
    if (!check_path(command, *ns)) return;
    if (!reservation_allows(command, *ns, Access::write)) return;
    // There is no room for a single block of that size.
    const bool room = ns->blocks() << ns->block_shift() >= block_bytes;
    if (!room && queue.refuse(command, check::format_lbaf)) return;
    chosen.push_back(ns.get());
  }
  nvme::Status status = sc::success;
  for (Namespace* const ns : chosen) {
    const bool resize = (all || ns == one) && !departs(departure::format_keeps_size);
    if (resize) ns->set_block_bytes(block_bytes);
    if (!departs(departure::format_keeps_data)) {
      const nvme::Status erased = ns->write_zeroes(0, ns->blocks());
      if (!erased.ok()) status = erased;
    }
  }
  queue.complete(command, status);
  for (Namespace* const ns : chosen) subsystem_.namespace_changed(ns->nsid());
}

}  // namespace fb::subsystem
