// What finer cases find of Copy, of the effects log, of notifications and of zones.
#include <algorithm>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/command_fault_points.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/zones.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;
namespace departure = subsystem::departure;

bool reads_log(const CommandContext& command, nvme::LogPage page) {
  return is_admin(command, static_cast<std::uint8_t>(AdminOpcode::get_log_page)) &&
         (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(page);
}

/// A bit of the effects of a command is another one.
template <auto Opcode, auto Bit>
void other_effect(const CommandContext& command, MutableBytes data) {
  if (!reads_log(command, nvme::LogPage::commands_effects) || data.size() < nvme::CommandEffects::size) return;
  const std::size_t entry = (std::is_same_v<decltype(Opcode), IoOpcode> ? 256u : 0u) + static_cast<unsigned>(Opcode);
  data[entry * 4] ^= Bit;
}
constexpr std::uint8_t kLbcc = 1u << 1, kNcc = 1u << 2, kNic = 1u << 3;

void descending_list(const CommandContext& command, MutableBytes data) {
  if (!reads_log(command, nvme::LogPage::changed_namespaces) || data.size() < 8) return;
  const auto first = load_le<std::uint32_t>(data.data()), second = load_le<std::uint32_t>(data.data() + 4);
  if (second == 0) return;
  store_le(data.data(), second);
  store_le(data.data() + 4, first);
}

bool copies(const CommandContext& command) { return is_io(command, static_cast<std::uint8_t>(IoOpcode::copy)); }
bool copies_to_anything(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "reservation.access" || !copies(command);
}

/// Zones that the controller has closed by itself are reported as open still.
void closed_are_open(const CommandContext& command, MutableBytes data) {
  if (!is_io(command, static_cast<std::uint8_t>(IoOpcode::zone_management_receive))) return;
  for (std::size_t at = nvme::ZoneReportHeader::size; at + nvme::ZoneDescriptor::size <= data.size(); at += nvme::ZoneDescriptor::size) {
    MutableView<nvme::ZoneDescriptor> zone{data.subspan(at, nvme::ZoneDescriptor::size)};
    if (zone.get(nvme::zone_descriptor::zs) != nvme::ZoneState::closed) continue;
    zone.set(nvme::zone_descriptor::zs, nvme::ZoneState::implicitly_opened);
  }
}

template <nvme::ZoneReporting Option>
bool reports(const CommandContext& command) {
  return is_io(command, static_cast<std::uint8_t>(IoOpcode::zone_management_receive)) &&
         View<nvme::ZoneReceiveSqe>{command.sqe}.get(nvme::zone_receive_sqe::zrasf) == Option;
}
/// Reports that are asked for one state have zones of another.
template <nvme::ZoneReporting Option, nvme::ZoneState State>
void of_another_state(const CommandContext& command, MutableBytes data) {
  if (!reports<Option>(command) || data.size() < nvme::ZoneReportHeader::size + nvme::ZoneDescriptor::size) return;
  if (load_le<std::uint64_t>(data.data()) == 0) return;
  MutableView<nvme::ZoneDescriptor> zone{data.subspan(nvme::ZoneReportHeader::size, nvme::ZoneDescriptor::size)};
  zone.set(nvme::zone_descriptor::zs, State);
}
template <nvme::ZoneReporting Option>
void of_none(const CommandContext& command, MutableBytes data) {
  if (reports<Option>(command)) std::fill(data.begin(), data.end(), std::uint8_t{0});
}

}  // namespace

#define CONTROLLER(name, requirement, what, ...) DEVIATION(name, "nvme." requirement, Product::controller, what, __VA_ARGS__)

CONTROLLER(events_hold_all_types_back, "aer.types-apart", "holds events of every type back behind one",
           Departs{departure::event_types_shared});
CONTROLLER(changed_namespaces_descend, "log.changed-namespaces-order", "lists changed namespaces in another order",
           hooks<AlteringDataOut, &descending_list>());
CONTROLLER(writes_change_no_blocks, "log.effects-content", "says that Write changes no blocks",
           hooks<AlteringDataOut, &other_effect<IoOpcode::write, kLbcc>>());
CONTROLLER(copies_change_no_blocks, "log.effects-content", "says that Copy changes no blocks",
           hooks<AlteringDataOut, &other_effect<IoOpcode::copy, kLbcc>>());
CONTROLLER(reads_change_blocks, "log.effects-content", "says that Read changes blocks",
           hooks<AlteringDataOut, &other_effect<IoOpcode::read, kLbcc>>());
CONTROLLER(formats_change_no_blocks, "log.effects-content", "says that Format NVM changes no blocks",
           hooks<AlteringDataOut, &other_effect<AdminOpcode::format_nvm, kLbcc>>());
CONTROLLER(management_changes_no_namespaces, "log.effects-inventory", "says that Namespace Management changes no inventory",
           hooks<AlteringDataOut, &other_effect<AdminOpcode::namespace_management, kNic>>());
CONTROLLER(attachment_changes_no_namespaces, "log.effects-inventory", "says that Namespace Attachment changes no inventory",
           hooks<AlteringDataOut, &other_effect<AdminOpcode::namespace_attachment, kNic>>());
CONTROLLER(formats_change_no_capabilities, "log.effects-capabilities", "says that Format NVM changes no capabilities",
           hooks<AlteringDataOut, &other_effect<AdminOpcode::format_nvm, kNcc>>());
CONTROLLER(reservation_report_unlisted, "log.effects", "leaves Reservation Report out of the effects log",
           hooks<AlteringDataOut, &other_effect<IoOpcode::reservation_report, std::uint8_t{1}>>());
CONTROLLER(copy_stops_short_of_its_limits, "copy.limits-reached", "refuses what MSSRL and MCL allow",
           Departs{departure::copy_limits_short});
CONTROLLER(copy_leaves_fua_to_the_cache, "copy.fua", "takes Copy with FUA into the cache", Departs{departure::copy_cached});
CONTROLLER(copy_past_reservations, "copy.reservation", "copies to what another host has reserved", hooks<Refusing, &copies_to_anything>());
CONTROLLER(copy_out_of_reservations, "copy.across.reservation", "copies from what is exclusive to another host",
           hooks<Refusing, &copies_to_anything>());
CONTROLLER(reservation_of_all_ends_in_silence, "reservation.notice.released-all",
           "does not tell that a reservation of all registrants was released", Departs{departure::reservation_release_all});
CONTROLLER(reservation_changes_type_in_silence, "reservation.notice.type", "does not tell that a reservation has got another type",
           Departs{departure::reservation_type_silent});
CONTROLLER(reservation_masks_one_kind, "reservation.notice.masks", "masks preempted registrations alone",
           Departs{departure::reservation_mask_first});
CONTROLLER(reservation_masks_everywhere, "reservation.notice.mask-namespace", "sets the mask of every namespace, whichever is named",
           Departs{departure::reservation_mask_wide});
CONTROLLER(reservation_masks_the_first, "reservation.notice.mask-all", "sets the mask of the first namespace where all are meant",
           Departs{departure::reservation_mask_narrow});
CONTROLLER(zones_all_opened, "zones.send.all.open", "Open Zone of all opens zones of every state", Departs{departure::zone_all_opens});
CONTROLLER(zones_first_opened, "zones.send.all.open", "Open Zone of all opens one", Departs{departure::zone_all_first});
CONTROLLER(zones_closed_stay_at_reset, "zones.send.all.reset-closed", "Reset Zone of all leaves closed zones",
           Departs{departure::zone_all_closed});
CONTROLLER(zones_first_taken_offline, "zones.send.all.offline", "Offline Zone of all takes one", Departs{departure::zone_all_first});
CONTROLLER(zones_read_only_change, "zones.send.read-only", "lets read only zones be changed", Tolerate{"zone.send.transition"});
CONTROLLER(zones_empty_report_has_others, "zones.report.option.each", "reports another zone for an empty one",
           hooks<AlteringDataOut, &of_another_state<nvme::ZoneReporting::empty, nvme::ZoneState::full>>());
CONTROLLER(zones_offline_report_has_none, "zones.report.option.each", "reports no zone that is offline",
           hooks<AlteringDataOut, &of_none<nvme::ZoneReporting::offline>>());
CONTROLLER(zones_implicit_report_is_explicit, "zones.report.option.each", "reports explicitly opened zones for implicitly opened ones",
           hooks<AlteringDataOut, &of_another_state<nvme::ZoneReporting::implicitly_opened, nvme::ZoneState::explicitly_opened>>());
CONTROLLER(zones_open_without_bound, "zones.limits.counted", "lets more zones be open than MOR says",
           hooks<AlteringDataOut, &closed_are_open>());

#undef CONTROLLER

}  // namespace fb::deviations
