// Format NVM.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/identify_controller.h"
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
  if (Namespace* const addressed = active_namespace(command.nsid()); addressed != nullptr && addressed->key_value()) {
    return key_values_.format_one(command, *addressed);
  }
  const unsigned index = sqe.get(fq::lbafl) | static_cast<unsigned>(sqe.get(fq::lbafu)) << 4;
  const std::size_t formats = subsystem_.block_formats();
  if (index >= formats && queue.refuse(command, check::format_lbaf)) return;
  const BlockFormat& format = kBlockFormats[index < formats ? index : 0];
  unsigned type = sqe.get(fq::pi);
  if (type > 3 || (type != 0 && format.metadata_bytes < format.layout(1).tuple_bytes())) {
    if (queue.refuse(command, check::format_protection)) return;
    type = 0;
  }
  const nvme::BlockLayout layout = format.layout(static_cast<std::uint8_t>(type), sqe.get(fq::pil));
  // Fabrics carry no metadata but with the data.
  if (format.metadata_bytes != 0 && !sqe.get(fq::mset) && queue.refuse(command, check::format_metadata)) return;
  const bool enabled = features_.extended_formats != 0;
  if (index >= kExtendedFormats && !enabled && queue.refuse(command, check::format_extended)) return;
  if (sqe.get(fq::ses) > kEraseMax && queue.refuse(command, check::format_erase)) return;
  const std::uint32_t nsid = command.nsid();
  const bool all = nsid == nvme::kAllNamespaces;
  Namespace* const one = all ? nullptr : active_namespace(nsid);
  if (!all && one == nullptr) {
    const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
    if (queue.refuse(command, valid ? check::format_inactive : check::format_nsid)) return;
    return queue.complete(command, sc::success);
  }
  std::vector<Namespace*> chosen;
  for (const auto& [id, ns] : subsystem_.namespaces()) {
    if (all ? !sees(*ns) : ns.get() != one && !departs(departure::format_all)) continue;
    if (ns->write_protection() != 0 && queue.refuse(command, check::format_write_protected)) return;
    if (!io_.check_path(command, *ns)) return;
    if (!reservations_.reservation_allows(command, *ns, Access::write)) return;
    if (ns->layout().extended() && !enabled && queue.refuse(command, check::format_extended)) return;
    if (ns->key_value()) {
      if (!key_values_.format_fits(command, index)) return;
      chosen.push_back(ns.get());
      continue;
    }
    // There is no room for a single block of that size.
    if (ns->blocks_as(layout) == 0 && queue.refuse(command, check::format_lbaf)) return;
    if (!placement_.format_fits(command, *ns, layout)) return;
    chosen.push_back(ns.get());
  }
  Record<nvme::FormatStartEvent> began;
  began.set(nvme::format_start_event::nsid, nsid)
      .set(nvme::format_start_event::fna, nvme::fna_bits::crypto_erase)
      .set(nvme::format_start_event::cdw10, command.as<nvme::SqeLayout>().get(nvme::sqe::cdw10));
  logs_.record(nvme::PersistentEventType::format_start, began.bytes());
  subsystem_.self_tests().on_format(nsid);
  nvme::Status status = sc::success;
  for (Namespace* const ns : chosen) {
    if (ns->key_value()) {
      key_values_.format(*ns, index);
      continue;
    }
    const bool resize = (all || ns == one) && !departs(departure::format_keeps_size);
    // What a deviation let through must still leave a zone.
    if (resize && (!ns->zoned() || ns->blocks_as(layout) != 0)) {
      const bool keeps = ns->zoned() && departs(departure::zone_format_keeps) && layout == ns->layout();
      if (!keeps) ns->set_layout(layout);
    }
    if (!departs(departure::streams_outlive_format)) subsystem_.directives().close_all(ns->nsid());
    if (!departs(departure::format_keeps_data)) {
      nvme::Status erased = ns->write_zeroes(0, ns->blocks());
      subsystem_.placement().discard(ns->nsid());
      if (erased.ok()) erased = ns->flush();
      if (!erased.ok()) status = erased;
    }
  }
  Record<nvme::FormatEndEvent> ended;
  ended.set(nvme::format_end_event::nsid, nsid).set(nvme::format_end_event::status, status);
  logs_.record(nvme::PersistentEventType::format_completion, ended.bytes());
  queue.complete(command, status);
  for (Namespace* const ns : chosen) subsystem_.namespace_changed(ns->nsid());
}

}  // namespace fb::subsystem
