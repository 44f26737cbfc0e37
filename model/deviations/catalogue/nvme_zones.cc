// Zoned namespaces.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/zones.h"

namespace fb::deviations {

namespace {

namespace departure = subsystem::departure;
namespace sc = nvme::sc;

/// An Identify of the command set's own page.
bool identifies_zones(const CommandContext& command, nvme::Cns cns) {
  return identifies(command, cns) && command.sqe[nvme::identify_sqe::csi.offset] == 2;
}
void odd_zone_size(const CommandContext& command, MutableBytes data) {
  if (!identifies_zones(command, nvme::Cns::command_set_namespace) || data.size() < nvme::kIdentifySize) return;
  for (unsigned i = 0; i < 64; ++i) {
    auto format = edit_element<nvme::LbaFormatExtension>(data, nvme::id_ns_zoned::lbafe, i);
    if (format.get(nvme::lba_format_extension::zsze) == 0) continue;
    format.set(nvme::lba_format_extension::zsze, format.get(nvme::lba_format_extension::zsze) - 4);
  }
}
void more_open_than_active(const CommandContext& command, MutableBytes data) {
  if (!identifies_zones(command, nvme::Cns::command_set_namespace) || data.size() < nvme::kIdentifySize) return;
  MutableView<nvme::IdentifyNamespaceZoned> page{data};
  if (page.get(nvme::id_ns_zoned::mar) == nvme::kNoZoneLimit) return;
  page.set(nvme::id_ns_zoned::mor, page.get(nvme::id_ns_zoned::mar) + 1);
}
void large_append_limit(const CommandContext& command, MutableBytes data) {
  if (!identifies_zones(command, nvme::Cns::command_set_controller) || data.size() < nvme::kIdentifySize) return;
  MutableView<nvme::IdentifyControllerZoned>{data}.set(nvme::id_ctrl_zoned::zasl, 20u);
}
void combinations_without_zones(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::command_set_combinations) || data.size() < nvme::kIdentifySize) return;
  nvme::set_command_set_combination(data, 0, 1);
  nvme::set_command_set_combination(data, 1, 0);
}
/// Reports of zones, changed a zone at a time.
template <auto Change>
void in_reports(const CommandContext& command, MutableBytes data) {
  if (!is_io(command, static_cast<std::uint8_t>(nvme::IoOpcode::zone_management_receive))) return;
  for (std::size_t at = nvme::ZoneReportHeader::size; at + nvme::ZoneDescriptor::size <= data.size(); at += nvme::ZoneDescriptor::size) {
    MutableView<nvme::ZoneDescriptor> zone{data.subspan(at, nvme::ZoneDescriptor::size)};
    if (zone.get(nvme::zone_descriptor::zt) != 0) Change(zone);
  }
}
void too_much_capacity(MutableView<nvme::ZoneDescriptor>& zone) { zone.set(nvme::zone_descriptor::zcap, std::uint64_t{1} << 40); }
void another_type(MutableView<nvme::ZoneDescriptor>& zone) { zone.set(nvme::zone_descriptor::zt, 1u); }
void pointer_behind(MutableView<nvme::ZoneDescriptor>& zone) {
  if (zone.get(nvme::zone_descriptor::zs) != nvme::ZoneState::empty) return;
  zone.set(nvme::zone_descriptor::wp, zone.get(nvme::zone_descriptor::zslba) + 1);
}

}  // namespace

#define CONTROLLER(name, requirement, what, ...) DEVIATION(name, "nvme.zones." requirement, Product::controller, what, __VA_ARGS__)

CONTROLLER(zones_are_of_another_set, "identify.csi", "names the NVM command set of a zoned namespace", Departs{departure::zone_csi_nvm});
CONTROLLER(zones_list_has_all, "identify.list", "lists all namespaces as zoned ones", Departs{departure::zone_list_all});
CONTROLLER(zones_in_no_combination, "identify.combination", "has no combination with zones",
           hooks<AlteringDataOut, &combinations_without_zones>());
CONTROLLER(zones_page_for_all, "identify.other-set", "has a page about zones of every namespace", Tolerate{"identify.csi.namespace"});
CONTROLLER(zones_page_refused_as_field, "identify.other-set", "calls the wrong command set an invalid field",
           AnswerWith{"identify.csi.namespace", sc::invalid_field});
CONTROLLER(zones_of_odd_size, "identify.size", "claims a size of zones that the namespace is no multiple of",
           hooks<AlteringDataOut, &odd_zone_size>());
CONTROLLER(zones_open_but_not_active, "identify.resources", "lets more zones be open than active",
           hooks<AlteringDataOut, &more_open_than_active>());
CONTROLLER(zones_append_beyond_mdts, "identify.append-limit", "claims a ZASL above MDTS", hooks<AlteringDataOut, &large_append_limit>());
CONTROLLER(zones_without_effects, "effects", "leaves zone management out of the effects log", Departs{departure::zone_effects_missing});
CONTROLLER(zones_effects_of_any_set, "effects.unknown", "has an effects log of command sets that are not there", Tolerate{"log.csi"});
CONTROLLER(zones_everywhere, "commands.other-set", "says success to zone commands on any namespace", Tolerate{"zone.namespace"});
CONTROLLER(zones_unselected, "commands.unselected", "has zones though another command set is selected",
           Departs{departure::zone_unselected});
CONTROLLER(zones_out_of_profile, "commands.profile", "has zones though the profile leaves them out",
           Departs{departure::zone_profile_ignored});
CONTROLLER(zones_any_profile, "profile.rejected", "takes combinations that are not there", Tolerate{"feature.command_set"});
CONTROLLER(zones_profile_is_a_field, "profile.rejected", "calls a combination that is not there an invalid field",
           AnswerWith{"feature.command_set", sc::invalid_field});

CONTROLLER(zones_reported_backwards, "report.order", "reports zones in descending order", Departs{departure::zone_report_reversed});
CONTROLLER(zones_reported_from_the_first, "report.start", "reports from the first zone, whatever SLBA says",
           Departs{departure::zone_report_start});
CONTROLLER(zones_reported_in_any_state, "report.option", "reports all zones, whatever the option says",
           Departs{departure::zone_report_all});
CONTROLLER(zones_counted_as_shown, "report.count", "counts the zones that fit", Departs{departure::zone_report_count});
CONTROLLER(zones_counted_as_all, "report.partial", "counts all zones in a partial report", Departs{departure::zone_report_partial});
CONTROLLER(zones_of_another_type, "report.descriptor", "reports conventional zones", hooks<AlteringDataOut, &in_reports<&another_type>>());
CONTROLLER(zones_hold_more_than_their_size, "report.descriptor", "reports capacities beyond the size of a zone",
           hooks<AlteringDataOut, &in_reports<&too_much_capacity>>());
CONTROLLER(zones_empty_behind_their_start, "report.pointer", "reports a write pointer behind the start of empty zones",
           hooks<AlteringDataOut, &in_reports<&pointer_behind>>());
CONTROLLER(zones_any_report, "report.action", "takes reserved Zone Receive Actions", Tolerate{"zone.receive.action"});
CONTROLLER(zones_any_report_option, "report.option.reserved", "takes reserved reporting options", Tolerate{"zone.receive.option"});
CONTROLLER(zones_report_from_beyond, "report.range", "reports from beyond the namespace", Tolerate{"zone.receive.range"});
CONTROLLER(zones_extended_without_extensions, "report.extended.unsupported", "has extended reports without descriptor extensions",
           Tolerate{"zone.receive.extended"});

CONTROLLER(zones_pointer_stays, "write.pointer", "leaves the write pointer", Departs{departure::zone_pointer_stays});
CONTROLLER(zones_pointer_by_one, "write.pointer", "moves the write pointer by a block a write", Departs{departure::zone_pointer_first});
CONTROLLER(zones_writes_lost, "write.data", "says success and writes nothing", Departs{departure::write_lost});
CONTROLLER(zones_opened_explicitly, "write.opens", "opens zones explicitly by writes", Departs{departure::zone_written_explicit});
CONTROLLER(zones_reopened_explicitly, "write.reopens", "opens closed zones explicitly by writes",
           Departs{departure::zone_written_explicit});
CONTROLLER(zones_never_full, "write.fills", "leaves a zone open that was written to its end", Departs{departure::zone_never_full});
CONTROLLER(zones_written_anywhere, "write.sequential", "takes writes anywhere in a zone", Tolerate{"zone.write_pointer"});
CONTROLLER(zones_wrong_place_is_a_boundary, "write.sequential", "calls a write elsewhere a boundary error",
           AnswerWith{"zone.write_pointer", sc::zone_boundary_error});
CONTROLLER(zones_written_beyond, "write.boundary", "takes writes beyond the end of a zone", Tolerate{"zone.boundary"});
CONTROLLER(zones_boundary_is_a_range, "write.boundary", "calls the end of a zone the end of the namespace",
           AnswerWith{"zone.boundary", sc::lba_out_of_range});
CONTROLLER(zones_full_written, "write.full", "takes writes to full zones", Tolerate{"zone.full"});
CONTROLLER(zones_full_is_a_boundary, "write.full", "calls a full zone a boundary error", AnswerWith{"zone.full", sc::zone_boundary_error});
CONTROLLER(zones_read_only_written, "write.read-only", "takes writes to read only zones", Tolerate{"zone.read_only"});
CONTROLLER(zones_offline_written, "write.offline", "takes writes to offline zones", Tolerate{"zone.offline"});
CONTROLLER(zones_zeroed_anywhere, "write.zeroes", "takes Write Zeroes anywhere in a zone", Tolerate{"zone.write_pointer"});
CONTROLLER(zones_spoilt_anywhere, "write.uncorrectable", "takes Write Uncorrectable anywhere in a zone", Tolerate{"zone.write_pointer"});
CONTROLLER(zones_copied_anywhere, "write.copy", "copies to anywhere in a zone", Tolerate{"zone.write_pointer"});

CONTROLLER(zones_read_across, "read.boundary", "reads across the boundaries of zones", Tolerate{"zone.read.boundary"});
CONTROLLER(zones_never_read_across, "read.across", "claims reads across boundaries and refuses them",
           hooks<Answering, +[](const CommandContext& command) -> std::optional<nvme::Status> {
             const bool crosses = is_io(command, 0x02) && slba_of(command) % 64 == 63;
             return crosses ? std::optional<nvme::Status>(sc::zone_boundary_error) : std::nullopt;
           }>());
CONTROLLER(zones_offline_read, "read.offline", "reads from offline zones", Tolerate{"zone.read.offline"});
CONTROLLER(zones_read_only_garbled, "read.read-only", "garbles what it reads", Departs{departure::read_corrupted});
CONTROLLER(zones_unwritten_refused, "read.unwritten", "refuses reads behind the write pointer",
           hooks<Answering, +[](const CommandContext& command) -> std::optional<nvme::Status> {
             const bool behind = is_io(command, 0x02) && slba_of(command) % 64 == 4;
             return behind ? std::optional<nvme::Status>(sc::zone_boundary_error) : std::nullopt;
           }>());
CONTROLLER(zones_offline_deallocated, "deallocate.offline", "deallocates blocks of offline zones", Tolerate{"zone.deallocate.offline"});
CONTROLLER(zones_deallocated_rewind, "deallocate.pointer", "sets write pointers back when blocks are deallocated",
           Departs{departure::zone_deallocate_rewinds});
CONTROLLER(zones_fused, "fused", "carries fused commands out in zones", Tolerate{"zone.fused"});

CONTROLLER(zones_append_at_start, "append.address", "answers Zone Append with the start of the zone",
           Departs{departure::zone_append_result});
CONTROLLER(zones_append_nothing, "append.data", "says success to Zone Append and writes nothing", Departs{departure::zone_append_lost});
CONTROLLER(zones_append_anywhere, "append.start", "takes Zone Append that names any block", Tolerate{"zone.append.start"});
CONTROLLER(zones_append_elsewhere_is_invalid_write, "append.start", "calls a wrong start an invalid write",
           AnswerWith{"zone.append.start", sc::zone_invalid_write});
CONTROLLER(zones_append_beyond, "append.boundary", "appends beyond the end of a zone", Tolerate{"zone.boundary"});
CONTROLLER(zones_append_to_full, "append.full", "appends to full zones", Tolerate{"zone.full"});
CONTROLLER(zones_append_to_offline, "append.offline", "appends to offline zones", Tolerate{"zone.offline"});
CONTROLLER(zones_append_of_any_size, "append.size", "appends more than ZASL", Tolerate{"zone.append.size"});
CONTROLLER(zones_append_without_remap, "append.remap", "appends with reference tags as they come", Tolerate{"zone.append.remap"});
CONTROLLER(zones_append_keeps_tags, "append.tags", "leaves reference tags as they came", Departs{departure::zone_append_tags});

CONTROLLER(zones_open_implicitly, "send.open", "opens zones implicitly by Open Zone", Departs{departure::zone_open_implicit});
CONTROLLER(zones_stay_implicit, "send.open.implicit", "leaves implicitly opened zones so", Departs{departure::zone_open_implicit});
CONTROLLER(zones_full_opened, "send.open.full", "opens full zones", Tolerate{"zone.send.transition"});
CONTROLLER(zones_stay_open, "send.close", "says success to Close Zone and leaves the zone open",
           Departs{departure::zone_close_ineffective});
CONTROLLER(zones_anything_closed, "send.close.state", "closes empty and full zones", Tolerate{"zone.send.transition"});
CONTROLLER(zones_not_finished, "send.finish", "says success to Finish Zone and leaves the zone",
           Departs{departure::zone_finish_ineffective});
CONTROLLER(zones_not_reset, "send.reset", "says success to Reset Zone and leaves the zone", Departs{departure::zone_reset_ineffective});
CONTROLLER(zones_reset_with_data, "send.reset.data", "leaves the data of zones that were reset", Departs{departure::zone_reset_keeps_data});
CONTROLLER(zones_not_offline, "send.offline", "says success to Offline Zone and leaves the zone",
           Departs{departure::zone_offline_ineffective});
CONTROLLER(zones_anything_offline, "send.offline.state", "takes any zone offline", Tolerate{"zone.send.transition"});
CONTROLLER(zones_dead_revived, "send.dead", "revives offline zones", Tolerate{"zone.send.transition"});
CONTROLLER(zones_named_by_any_block, "send.start", "takes any block for its zone", Tolerate{"zone.send.start"});
CONTROLLER(zones_any_action, "send.action", "says success to reserved Zone Send Actions", Tolerate{"zone.send.action"});
CONTROLLER(zones_all_is_one, "send.all.reset", "resets one zone where it is to reset all", Departs{departure::zone_all_first});
CONTROLLER(zones_close_all_is_one, "send.all.close", "closes one zone where it is to close all", Departs{departure::zone_all_first});
CONTROLLER(zones_finish_all_of_all, "send.all.finish", "finishes empty zones too", Departs{departure::zone_all_empty});

CONTROLLER(zones_extension_lost, "extension.set", "keeps other data than it was given", Departs{departure::zone_extension_lost});
CONTROLLER(zones_extension_unreported, "extension.set", "reports extensions as zeroes", Departs{departure::zone_report_extension});
CONTROLLER(zones_extension_leaves_empty, "extension.set", "leaves the zone empty", Departs{departure::zone_extension_state});
CONTROLLER(zones_extension_of_any_state, "extension.state", "takes extensions of any zone", Tolerate{"zone.send.transition"});
CONTROLLER(zones_extension_of_all, "extension.all", "takes an extension of all zones", Tolerate{"zone.send.extension.all"});
CONTROLLER(zones_extension_without_room, "extension.unsupported", "takes extensions where there are none", Tolerate{"zone.send.extension"});
CONTROLLER(zones_extension_stays, "extension.reset", "leaves the extension of a zone that was reset",
           Departs{departure::zone_reset_extension});

CONTROLLER(zones_any_number_active, "limits.active", "lets any number of zones be active", Tolerate{"zone.active_limit"});
CONTROLLER(zones_active_is_open, "limits.active", "says open for active", AnswerWith{"zone.active_limit", sc::too_many_open_zones});
CONTROLLER(zones_any_number_open, "limits.open", "lets any number of zones be open", Tolerate{"zone.open_limit"});
CONTROLLER(zones_open_is_active, "limits.open", "says active for open", AnswerWith{"zone.open_limit", sc::too_many_active_zones});
CONTROLLER(zones_refused_and_opened, "limits.refused", "opens a zone that it refuses to open", Departs{departure::zone_refused_opens});
CONTROLLER(zones_resources_leak, "limits.freed", "takes no resources back from zones that end", Departs{departure::zone_resources_leak});

CONTROLLER(zones_change_silently, "events.changed", "does not announce zones that change", Departs{departure::zone_silent});
CONTROLLER(zones_event_of_nobody, "events.changed", "announces a zone without its namespace", Departs{departure::zone_event_nsid});
CONTROLLER(zones_list_empty, "events.list", "has no zones in the changed zone list", Departs{departure::zone_list_empty});
CONTROLLER(zones_event_unasked, "events.asked", "announces zones to whom did not ask", Departs{departure::zone_event_unasked});
CONTROLLER(zones_event_of_commands, "events.commands", "announces what commands do", Departs{departure::zone_event_commands});

CONTROLLER(zones_unguarded, "reservation.write", "lets any host write zones under a reservation", Tolerate{"reservation.access"});
CONTROLLER(zones_reports_guarded, "reservation.read", "refuses reports under a write exclusive reservation",
           hooks<Answering, +[](const CommandContext& command) -> std::optional<nvme::Status> {
             return is_io(command, 0x7A) && load_le<std::uint32_t>(command.sqe.data() + 48) == 63
                        ? std::optional<nvme::Status>(sc::reservation_conflict)
                        : std::nullopt;
           }>());
CONTROLLER(zones_unprotected, "write-protected.send", "changes zones of a write protected namespace", Tolerate{"io.write_protected"});
CONTROLLER(zones_protected_and_open, "write-protected.zones", "leaves zones open when it protects their namespace",
           Departs{departure::zone_protected_stays});
CONTROLLER(zones_emptied_by_resets, "reset.controller", "empties zones by controller resets",
           Departs{departure::zone_reset_controller_closes});
CONTROLLER(zones_open_after_resets, "reset.subsystem", "leaves zones open through an NVM subsystem reset",
           Departs{departure::zone_nssr_keeps_open});
CONTROLLER(zones_open_after_shutdowns, "reset.shutdown", "leaves zones open through a shutdown",
           Departs{departure::zone_shutdown_keeps_open});
CONTROLLER(zones_rewound_by_power, "power.pointer", "sets write pointers back when power is lost", Departs{departure::zone_power_rewinds});
CONTROLLER(zones_formatted_and_open, "format", "leaves the states of zones that it formats", Departs{departure::zone_format_keeps});
CONTROLLER(zones_sanitized_and_open, "sanitize", "leaves the states of zones that it sanitizes", Departs{departure::zone_sanitize_keeps});
CONTROLLER(zones_created_plain, "create", "makes a plain namespace where a zoned one is asked for", Departs{departure::zone_created_plain});

#undef CONTROLLER

#define HOST(name, requirement, what, point) DEVIATION(name, "nvme.host.zones." requirement, Product::host, what, Departs{point})

HOST(host_selects_the_first_profile, "profile", "selects the first combination with the NVM command set", "host.profile.first");
HOST(host_writes_zones_at_once, "sequential", "sends all pieces of a write to a zone at once", "host.zone.write.unordered");
HOST(host_crosses_zones, "boundary", "sends writes over the boundaries of zones", "host.zone.boundary");
HOST(host_appends_too_much, "append-limit", "appends more than ZASL at once", "host.zone.append.oversized");
HOST(host_appends_again, "append-once", "repeats a Zone Append whose answer was lost", "host.zone.append.repeated");
HOST(host_ignores_changed_zones, "changed", "does not read the list of changed zones", "host.event.log.unread");

#undef HOST

}  // namespace fb::deviations
