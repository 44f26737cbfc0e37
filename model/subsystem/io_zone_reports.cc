// What hosts are told of zones: Zone Management Receive, and the list of zones that have changed.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/zones.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace zr = nvme::zone_receive_sqe;
namespace za = nvme::zone_attribute_bits;
using nvme::ZoneReceiveAction;
using nvme::ZoneReporting;
using nvme::ZoneState;

namespace {

bool is_option(ZoneReporting option) { return option <= ZoneReporting::offline || option == ZoneReporting::attributes; }

bool reported(const nvme::ZoneFacts& zone, ZoneReporting option) {
  switch (option) {
    case ZoneReporting::empty:
      return zone.state == ZoneState::empty;
    case ZoneReporting::implicitly_opened:
      return zone.state == ZoneState::implicitly_opened;
    case ZoneReporting::explicitly_opened:
      return zone.state == ZoneState::explicitly_opened;
    case ZoneReporting::closed:
      return zone.state == ZoneState::closed;
    case ZoneReporting::full:
      return zone.state == ZoneState::full;
    case ZoneReporting::read_only:
      return zone.state == ZoneState::read_only;
    case ZoneReporting::offline:
      return zone.state == ZoneState::offline;
    case ZoneReporting::attributes:
      return (zone.attributes & (za::reset_recommended | za::finish_recommended | za::finished_by_controller)) != 0;
    default:
      return true;
  }
}

}  // namespace

std::vector<std::size_t> ZoneCommands::zones_to_report(const Command& command, const ZoneTable& zones) const {
  const auto sqe = command.as<nvme::ZoneReceiveSqe>();
  const std::uint64_t slba = departs(departure::zone_report_start) ? 0 : sqe.get(zr::slba);
  const bool every = departs(departure::zone_report_all);
  std::vector<std::size_t> found;
  for (std::size_t i = zones.index_of(slba); i < zones.count(); ++i) {
    if (every || reported(zones.facts(i), sqe.get(zr::zrasf))) found.push_back(i);
  }
  if (departs(departure::zone_report_reversed)) std::reverse(found.begin(), found.end());
  return found;
}

void ZoneCommands::zone_receive(const Command& command, Namespace& ns) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::ZoneReceiveSqe>();
  const ZoneTable& zones = *ns.zones();
  const std::uint64_t length = sqe.get(zr::numd).count() * 4;
  if (!controller_.transfer_fits(length) && queue.refuse(command, check::io_mdts)) return;
  const ZoneReceiveAction action = sqe.get(zr::zra);
  const bool extended = action == ZoneReceiveAction::extended_report;
  if (!extended && action != ZoneReceiveAction::report && queue.refuse(command, check::zone_receive_action)) return;
  if (extended && zones.extension_bytes() == 0 && queue.refuse(command, check::zone_receive_extended)) return;
  if (!is_option(sqe.get(zr::zrasf)) && queue.refuse(command, check::zone_receive_option)) return;
  if (sqe.get(zr::slba) >= ns.blocks() && queue.refuse(command, check::zone_receive_range)) return;
  if (!queue.stage(command, static_cast<std::size_t>(length))) return;
  const MutableBytes out = command.data().first(static_cast<std::size_t>(length));
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  const std::vector<std::size_t> found = zones_to_report(command, zones);
  const std::size_t each = nvme::ZoneDescriptor::size + (extended ? zones.extension_bytes() : 0);
  std::size_t at = nvme::ZoneReportHeader::size;
  std::uint64_t shown = 0;
  for (; shown < found.size() && at + each <= out.size(); ++shown, at += each) {
    nvme::ZoneFacts zone = zones.facts(found[static_cast<std::size_t>(shown)]);
    if (!extended || departs(departure::zone_report_extension)) zone.extension.clear();
    nvme::write_zone(out.subspan(at, each), zone);
  }
  const bool partial = sqe.get(zr::partial) && !departs(departure::zone_report_partial);
  const std::uint64_t count = partial || departs(departure::zone_report_count) ? shown : found.size();
  if (out.size() >= 8) store_le(out.data() + nvme::zone_report::nzones.offset, count);
  queue.complete_with_data(command, out.size());
}

Bytes LogPages::log_changed_zones(std::uint32_t nsid) const {
  nvme::ChangedZones zones;
  const auto found = controller_.changed_zones_.find(nsid);
  if (found != controller_.changed_zones_.end() && !departs(departure::zone_list_empty)) zones.starts = found->second;
  return nvme::write_changed_zones(zones);
}

}  // namespace fb::subsystem
