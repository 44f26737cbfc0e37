// Flexible Data Placement.
#include "model/deviations/deviation.h"
#include "model/subsystem/placement_fault_points.h"
#include "wire/nvme/status.h"

namespace fb::deviations {

namespace {

namespace departure = subsystem::departure;

}  // namespace

DEVIATION(fdp_ignores_handles, "nvme.fdp.write.handle", Product::controller, "places writes with placement handle 0",
          Departs{departure::fdp_write_handle});
DEVIATION(fdp_ignores_groups, "nvme.fdp.write.group", Product::controller, "places writes in reclaim group 0",
          Departs{departure::fdp_write_group});
DEVIATION(fdp_default_is_the_last_handle, "nvme.fdp.write.undirected", Product::controller,
          "places writes without the directive with the last placement handle", Departs{departure::fdp_write_undirected});
DEVIATION(fdp_identifier_always_counts, "nvme.fdp.write.disabled", Product::controller,
          "places writes by DSPEC without the directive enabled", Departs{departure::fdp_write_disabled});
DEVIATION(fdp_refuses_identifiers, "nvme.fdp.write.invalid", Product::controller, "refuses writes with an invalid placement identifier",
          Departs{departure::fdp_write_refused});
DEVIATION(fdp_loses_data, "nvme.fdp.write.invalid.data", Product::controller,
          "loses the data of writes with an invalid placement identifier", Departs{departure::fdp_write_lost});
DEVIATION(fdp_status_of_one_group, "nvme.fdp.status.groups", Product::controller, "reports reclaim group 0 alone",
          Departs{departure::fdp_receive_groups});
DEVIATION(fdp_status_of_one_handle, "nvme.fdp.status.handles", Product::controller, "reports placement handle 0 alone",
          Departs{departure::fdp_receive_handles});
DEVIATION(fdp_status_by_group, "nvme.fdp.status.order", Product::controller, "lists descriptors by reclaim group",
          Departs{departure::fdp_receive_order});
DEVIATION(fdp_status_with_placement_handles, "nvme.fdp.status.handle-id", Product::controller, "reports the placement handle as RUHID",
          Departs{departure::fdp_receive_ruhid});
DEVIATION(fdp_room_does_not_shrink, "nvme.fdp.status.room", Product::controller, "reports RUAMW as if nothing were written",
          Departs{departure::fdp_receive_room});
DEVIATION(fdp_room_in_bytes, "nvme.fdp.status.nominal", Product::controller, "reports RUAMW in bytes",
          Departs{departure::fdp_receive_bytes});
DEVIATION(fdp_status_garbage, "nvme.fdp.status.rest", Product::controller, "sends garbage behind the status",
          Departs{departure::fdp_receive_rest});
DEVIATION(fdp_status_counts_room, "nvme.fdp.status.short", Product::controller, "counts the descriptors that it had room for",
          Departs{departure::fdp_receive_cut});
DEVIATION(fdp_status_reserved, "nvme.fdp.status.reserved", Product::controller, "sets reserved bytes of the status",
          Departs{departure::fdp_receive_reserved});
DEVIATION(fdp_status_of_all, "nvme.fdp.status.namespace", Product::controller, "refuses NSID FFFFFFFFh with another status",
          Tolerate{"io_management.receive.nsid"});
DEVIATION(fdp_receives_anything, "nvme.fdp.status.operation", Product::controller, "executes reserved operations of I/O Management Receive",
          Tolerate{"io_management.receive.operation"});
DEVIATION(fdp_update_does_nothing, "nvme.fdp.update.empty", Product::controller, "ignores Reclaim Unit Handle Update",
          Departs{departure::fdp_update_ignored});
DEVIATION(fdp_update_of_the_first, "nvme.fdp.update.list", Product::controller, "takes the first placement identifier alone",
          Departs{departure::fdp_update_first});
DEVIATION(fdp_update_of_all, "nvme.fdp.update.alone", Product::controller, "changes all placement handles of the namespace",
          Departs{departure::fdp_update_all});
DEVIATION(fdp_update_of_group_zero, "nvme.fdp.update.group", Product::controller, "updates reclaim group 0",
          Departs{departure::fdp_update_group});
DEVIATION(fdp_update_of_any_length, "nvme.fdp.update.count", Product::controller, "takes any number of placement identifiers",
          Tolerate{"io_management.send.count"});
DEVIATION(fdp_update_one_less, "nvme.fdp.update.most", Product::controller, "takes one placement identifier less than MAXPIDS allows",
          Departs{departure::fdp_update_short});
DEVIATION(fdp_update_of_any_group, "nvme.fdp.update.unknown-group", Product::controller, "takes reclaim groups that do not exist",
          Tolerate{"io_management.send.group"});
DEVIATION(fdp_update_of_any_handle, "nvme.fdp.update.unknown-handle", Product::controller,
          "takes placement handles that the namespace does not have", Tolerate{"io_management.send.handle"});
DEVIATION(fdp_sends_anything, "nvme.fdp.update.operation", Product::controller, "executes reserved operations of I/O Management Send",
          Tolerate{"io_management.send.operation"});
DEVIATION(fdp_counts_no_host_bytes, "nvme.fdp.statistics.host", Product::controller, "does not count HBMW",
          Departs{departure::fdp_statistics_host});
DEVIATION(fdp_counts_no_zeroes, "nvme.fdp.statistics.zeroes", Product::controller, "does not count Write Zeroes in HBMW",
          Departs{departure::fdp_statistics_zeroes});
DEVIATION(fdp_counts_no_media_bytes, "nvme.fdp.statistics.media", Product::controller, "does not count MBMW",
          Departs{departure::fdp_statistics_media});
DEVIATION(fdp_keeps_statistics, "nvme.fdp.statistics.cleared", Product::controller, "keeps the statistics when feature 1Dh changes",
          Departs{departure::fdp_statistics_kept});
DEVIATION(fdp_forgets_namespaces, "nvme.fdp.statistics.deleted", Product::controller, "clears the statistics when a namespace is deleted",
          Departs{departure::fdp_statistics_gone});
DEVIATION(fdp_forgets_at_reset, "nvme.fdp.statistics.reset", Product::controller, "clears the statistics at a controller reset",
          Departs{departure::fdp_statistics_reset});
DEVIATION(fdp_types_descend, "nvme.fdp.events.types.order", Product::controller, "lists the types of events in descending order",
          Departs{departure::fdp_events_types_order});
DEVIATION(fdp_types_not_counted, "nvme.fdp.events.types.count", Product::controller, "returns 0 in DW0 of Get Features 1Eh",
          Departs{departure::fdp_events_types_count});
DEVIATION(fdp_events_are_not_enabled, "nvme.fdp.events.enable", Product::controller, "does not enable events",
          Departs{departure::fdp_events_not_enabled});
DEVIATION(fdp_events_stay_enabled, "nvme.fdp.events.disable", Product::controller, "does not disable events",
          Departs{departure::fdp_events_stay});
DEVIATION(fdp_events_of_all_handles, "nvme.fdp.events.handle", Product::controller, "enables events on all handles",
          Departs{departure::fdp_events_all});
DEVIATION(fdp_events_of_one_namespace, "nvme.fdp.events.shared", Product::controller, "enables events of a shared handle for one namespace",
          Departs{departure::fdp_events_split});
DEVIATION(fdp_events_of_all_namespaces, "nvme.fdp.events.broadcast", Product::controller,
          "takes NSID FFFFFFFFh for an unknown namespace in feature 1Eh", Tolerate{"feature.fdp_events.nsid"});
DEVIATION(fdp_events_of_any_handle, "nvme.fdp.events.unknown-handle", Product::controller,
          "takes placement handles that the namespace does not have", Tolerate{"feature.fdp_events.handle"});
DEVIATION(fdp_no_event_of_identifiers, "nvme.fdp.event.invalid", Product::controller, "does not report invalid placement identifiers",
          Departs{departure::fdp_event_invalid_missing});
DEVIATION(fdp_event_without_identifier, "nvme.fdp.event.invalid.identifier", Product::controller, "reports placement identifier 0",
          Departs{departure::fdp_event_pid});
DEVIATION(fdp_event_of_another_namespace, "nvme.fdp.event.namespace", Product::controller, "names namespace 1 in events",
          Departs{departure::fdp_event_nsid});
DEVIATION(fdp_event_without_lv, "nvme.fdp.event.location", Product::controller, "reports a location with LV cleared",
          Departs{departure::fdp_event_location});
DEVIATION(fdp_no_event_of_updates, "nvme.fdp.event.update", Product::controller, "does not report reclaim units that are not fully written",
          Departs{departure::fdp_event_update_missing});
DEVIATION(fdp_events_always, "nvme.fdp.event.disabled", Product::controller, "reports events that are not enabled",
          Departs{departure::fdp_events_unasked});
DEVIATION(fdp_events_newest_first, "nvme.fdp.event.order", Product::controller, "lists the most recent event first",
          Departs{departure::fdp_events_order});
DEVIATION(fdp_events_of_both, "nvme.fdp.event.kinds", Product::controller, "reports events of the host among those of the controller",
          Departs{departure::fdp_events_mixed});
DEVIATION(fdp_keeps_events, "nvme.fdp.event.cleared", Product::controller, "keeps events when feature 1Dh changes",
          Departs{departure::fdp_events_kept});
DEVIATION(fdp_drops_new_events, "nvme.fdp.event.full", Product::controller, "drops new events where the log is full",
          Departs{departure::fdp_events_newest});
DEVIATION(fdp_counts_one_event_less, "nvme.fdp.event.full", Product::controller, "reports one event less than there is",
          Departs{departure::fdp_events_count});
DEVIATION(fdp_sorts_handles, "nvme.fdp.namespace.handles", Product::controller, "sorts the handles of a namespace",
          Departs{departure::fdp_handles_swapped});
DEVIATION(fdp_list_of_any_length, "nvme.fdp.namespace.count", Product::controller, "takes Placement Handle Lists of any length",
          Tolerate{"namespace.create.placement.count"});
DEVIATION(fdp_list_of_any_handle, "nvme.fdp.namespace.range", Product::controller, "takes reclaim unit handles that do not exist",
          Tolerate{"namespace.create.placement.range"});
DEVIATION(fdp_list_with_repeats, "nvme.fdp.namespace.twice", Product::controller, "takes a reclaim unit handle twice",
          Tolerate{"namespace.create.placement.twice"});
DEVIATION(fdp_refuses_whole_lists, "nvme.fdp.namespace.whole", Product::controller,
          "refuses a Placement Handle List of every reclaim unit handle", Departs{departure::fdp_list_short});
DEVIATION(fdp_chooses_handle_zero, "nvme.fdp.namespace.chosen", Product::controller, "chooses reclaim unit handle 0 although a host has it",
          Departs{departure::fdp_handle_zero});
DEVIATION(fdp_chooses_again, "nvme.fdp.namespace.chosen.shared", Product::controller,
          "chooses another reclaim unit handle for each namespace", Departs{departure::fdp_handle_each});
DEVIATION(fdp_gives_its_handle_away, "nvme.fdp.namespace.taken", Product::controller,
          "lets hosts have the reclaim unit handle that it chose", Tolerate{"namespace.create.placement.taken"});
DEVIATION(fdp_chooses_where_none_is, "nvme.fdp.namespace.none", Product::controller, "chooses a reclaim unit handle where none is left",
          Tolerate{"namespace.create.placement.none"});
DEVIATION(fdp_shares_across_formats, "nvme.fdp.namespace.format", Product::controller, "shares reclaim unit handles between formats",
          Tolerate{"namespace.create.placement.format"});
DEVIATION(fdp_formats_shared_handles, "nvme.fdp.namespace.reformat", Product::controller,
          "formats one of the namespaces that share a reclaim unit handle", Tolerate{"format.placement"});
DEVIATION(fdp_does_not_share, "nvme.fdp.namespace.shared", Product::controller, "refuses reclaim unit handles that another namespace has",
          Departs{departure::fdp_unshared});
DEVIATION(fdp_checks_lists_without_it, "nvme.fdp.namespace.ignored", Product::controller,
          "checks Placement Handle Lists while Flexible Data Placement is disabled", Departs{departure::fdp_list_counts});
DEVIATION(fdp_usage_of_used_handles, "nvme.fdp.usage.count", Product::controller, "counts the handles in use in log page 21h",
          Departs{departure::fdp_usage_count});
DEVIATION(fdp_usage_host_as_controller, "nvme.fdp.usage.host", Product::controller, "reports handles of hosts as controller specified",
          Departs{departure::fdp_usage_host});
DEVIATION(fdp_usage_controller_as_host, "nvme.fdp.usage.controller", Product::controller,
          "reports the handle that it chose as host specified", Departs{departure::fdp_usage_controller});
DEVIATION(fdp_usage_of_the_unused, "nvme.fdp.usage.unused", Product::controller, "reports unused handles as in use",
          Departs{departure::fdp_usage_unused});
DEVIATION(fdp_usage_outlives_namespaces, "nvme.fdp.usage.deleted", Product::controller, "keeps handles of deleted namespaces in use",
          Departs{departure::fdp_usage_kept});
DEVIATION(fdp_lacks_the_directive, "nvme.fdp.directive.claim", Product::controller, "does not support the Data Placement directive",
          Departs{departure::fdp_directive_missing});
DEVIATION(fdp_directive_not_persistent, "nvme.fdp.directive.persists", Product::controller,
          "does not report the Data Placement directive as persistent", Departs{departure::fdp_directive_volatile});
DEVIATION(fdp_directive_is_not_enabled, "nvme.fdp.directive.enable", Product::controller, "does not enable the Data Placement directive",
          Departs{departure::fdp_directive_off});
DEVIATION(fdp_directive_stays_enabled, "nvme.fdp.directive.disable", Product::controller, "does not disable the Data Placement directive",
          Departs{departure::fdp_directive_stays});
DEVIATION(fdp_directive_ends_with_a_reset, "nvme.fdp.directive.reset", Product::controller,
          "disables the Data Placement directive at a controller reset", Departs{departure::fdp_directive_lost});
DEVIATION(fdp_directive_for_all, "nvme.fdp.directive.broadcast", Product::controller,
          "enables the Data Placement directive for NSID FFFFFFFFh", Tolerate{"directive.placement.broadcast"});
DEVIATION(fdp_directive_with_operations, "nvme.fdp.directive.operations", Product::controller,
          "executes operations of the Data Placement directive", Tolerate{"directive.placement.operation"});
DEVIATION(fdp_with_streams, "nvme.fdp.directive.streams", Product::controller, "enables streams beside Flexible Data Placement",
          Tolerate{"directive.streams.placed"});
DEVIATION(fdp_is_not_claimed, "nvme.fdp.claim", Product::controller, "does not claim Flexible Data Placement",
          Departs{departure::fdp_unclaimed});
DEVIATION(fdp_with_fixed_capacity, "nvme.fdp.claim.fixed-capacity", Product::controller,
          "claims Fixed Capacity Management beside Flexible Data Placement", Departs{departure::fdp_fixed_capacity});
DEVIATION(fdp_lacks_a_log_page, "nvme.fdp.claim.log-pages", Product::controller, "does not support the FDP Statistics log page",
          Departs{departure::fdp_log_missing});
DEVIATION(fdp_lacks_a_feature, "nvme.fdp.claim.features", Product::controller, "does not support the FDP Events feature",
          Departs{departure::fdp_feature_missing});
DEVIATION(fdp_feature_of_the_controller, "nvme.fdp.feature.scope", Product::controller, "reports the scope of a controller for feature 1Dh",
          Departs{departure::fdp_scope});
DEVIATION(fdp_lacks_a_command, "nvme.fdp.claim.commands", Product::controller, "does not support I/O Management Send",
          Departs{departure::fdp_command_missing});
DEVIATION(fdp_size_without_header, "nvme.fdp.configurations.size", Product::controller, "does not count the header in SZE",
          Departs{departure::fdp_config_size});
DEVIATION(fdp_one_configuration_too_many, "nvme.fdp.configurations.size", Product::controller,
          "reports one configuration more than there is", Departs{departure::fdp_config_count});
DEVIATION(fdp_descriptor_too_small, "nvme.fdp.configurations.descriptor", Product::controller,
          "counts the fixed part of a configuration alone in DSZE", Departs{departure::fdp_config_descriptor});
DEVIATION(fdp_configurations_version, "nvme.fdp.configurations.version", Product::controller, "reports version 1 of log page 20h",
          Departs{departure::fdp_config_version});
DEVIATION(fdp_configuration_without_handles, "nvme.fdp.configurations.handles", Product::controller,
          "reports configurations without reclaim unit handles", Departs{departure::fdp_config_empty});
DEVIATION(fdp_handles_without_type, "nvme.fdp.configurations.type", Product::controller, "reports reclaim unit handles of type 0",
          Departs{departure::fdp_config_type});
DEVIATION(fdp_too_many_identifiers, "nvme.fdp.configurations.identifiers", Product::controller, "reports a MAXPIDS of NRG times NRUH",
          Departs{departure::fdp_config_identifiers});
DEVIATION(fdp_groups_without_bits, "nvme.fdp.configurations.groups", Product::controller, "reports RGIF 0 with several reclaim groups",
          Departs{departure::fdp_config_groups});
DEVIATION(fdp_too_many_namespaces, "nvme.fdp.configurations.namespaces", Product::controller,
          "reports more namespaces of a configuration than there may be", Departs{departure::fdp_config_namespaces});
DEVIATION(fdp_cache_not_identified, "nvme.fdp.configurations.write-cache", Product::controller,
          "reports FDPVWC without a volatile write cache", Departs{departure::fdp_config_cache});
DEVIATION(fdp_log_of_any_group, "nvme.fdp.configurations.unknown-group", Product::controller,
          "returns log page 20h of endurance groups that do not exist", Tolerate{"log.fdp.group"});
DEVIATION(fdp_is_not_enabled, "nvme.fdp.enable", Product::controller, "does not enable Flexible Data Placement",
          Departs{departure::fdp_not_enabled});
DEVIATION(fdp_index_is_lost, "nvme.fdp.enable.index", Product::controller, "returns FDPCIDX 0", Departs{departure::fdp_index_lost});
DEVIATION(fdp_of_the_first_group, "nvme.fdp.enable.group", Product::controller, "returns feature 1Dh of the first endurance group",
          Departs{departure::fdp_first_group});
DEVIATION(fdp_enabled_by_default, "nvme.fdp.feature.default", Product::controller,
          "returns the current value as the default of feature 1Dh", Departs{departure::fdp_default});
DEVIATION(fdp_value_is_not_saved, "nvme.fdp.feature.saved", Product::controller, "returns 0 as the saved value of feature 1Dh",
          Departs{departure::fdp_not_saved});
DEVIATION(fdp_is_not_saveable, "nvme.fdp.feature.saveable", Product::controller, "reports feature 1Dh as not saveable",
          Departs{departure::fdp_capability});
DEVIATION(fdp_changes_without_save, "nvme.fdp.feature.save-bit", Product::controller, "changes feature 1Dh without SV",
          Tolerate{"feature.fdp.save"});
DEVIATION(fdp_ends_with_a_reset, "nvme.fdp.feature.persistent", Product::controller,
          "disables Flexible Data Placement at a controller reset", Departs{departure::fdp_lost_at_reset});
DEVIATION(fdp_enabled_beside_namespaces, "nvme.fdp.enable.namespaces", Product::controller, "takes feature 1Dh of a group with namespaces",
          Tolerate{"feature.fdp.namespaces"});
DEVIATION(fdp_disabled_under_namespaces, "nvme.fdp.disable.namespaces", Product::controller,
          "takes the end of feature 1Dh in a group with namespaces", Tolerate{"feature.fdp.namespaces"});
DEVIATION(fdp_same_value_refused, "nvme.fdp.enable.same", Product::controller,
          "refuses the current value of feature 1Dh while there are namespaces", Departs{departure::fdp_same_value});
DEVIATION(fdp_cannot_be_disabled, "nvme.fdp.disable", Product::controller, "does not disable Flexible Data Placement",
          Departs{departure::fdp_stays_enabled});
DEVIATION(fdp_any_index, "nvme.fdp.enable.unknown-index", Product::controller, "takes any index of a configuration",
          Tolerate{"feature.fdp.index"});
DEVIATION(fdp_any_group, "nvme.fdp.enable.unknown-group", Product::controller, "takes feature 1Dh of endurance groups that do not exist",
          Tolerate{"feature.fdp.group"});
DEVIATION(fdp_usage_without_it, "nvme.fdp.disabled.usage", Product::controller,
          "executes Get Log Page 21h while Flexible Data Placement is disabled", Tolerate{"log.fdp.usage.disabled"});
DEVIATION(fdp_statistics_without_it, "nvme.fdp.disabled.statistics", Product::controller,
          "executes Get Log Page 22h while Flexible Data Placement is disabled", Tolerate{"log.fdp.statistics.disabled"});
DEVIATION(fdp_events_without_it, "nvme.fdp.disabled.events", Product::controller,
          "executes Get Log Page 23h while Flexible Data Placement is disabled", Tolerate{"log.fdp.events.disabled"});
DEVIATION(fdp_event_types_without_it, "nvme.fdp.disabled.get-events", Product::controller,
          "executes Get Features 1Eh while Flexible Data Placement is disabled", Tolerate{"feature.fdp_events.get.disabled"});
DEVIATION(fdp_events_enabled_without_it, "nvme.fdp.disabled.set-events", Product::controller,
          "executes Set Features 1Eh while Flexible Data Placement is disabled", Tolerate{"feature.fdp_events.set.disabled"});
DEVIATION(fdp_status_without_it, "nvme.fdp.disabled.status", Product::controller,
          "executes Reclaim Unit Handle Status while Flexible Data Placement is disabled", Tolerate{"io_management.receive.disabled"});
DEVIATION(fdp_update_without_it, "nvme.fdp.disabled.update", Product::controller,
          "executes Reclaim Unit Handle Update while Flexible Data Placement is disabled", Tolerate{"io_management.send.disabled"});
DEVIATION(fdp_directive_without_it, "nvme.fdp.disabled.directive", Product::controller,
          "executes Enable Directive of Data Placement while Flexible Data Placement is disabled",
          Tolerate{"directive.placement.disabled"});
DEVIATION(fdp_moves_uncounted, "nvme.fdp.statistics.moved", Product::controller, "does not count MBMW of writes",
          Departs{departure::fdp_statistics_media});
DEVIATION(fdp_time_limit_of_another_namespace, "nvme.fdp.time-limit", Product::controller, "names namespace 1 in events of the time limit",
          Departs{departure::fdp_event_nsid});

}  // namespace fb::deviations
