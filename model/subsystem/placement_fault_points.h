// More of what fault_points.h lists: Flexible Data Placement. The self-test of the suite shows that each of these is asked for.
#pragma once

#include "model/subsystem/fault_points.h"

namespace fb::subsystem {

// clang-format off

#define FB_PLACEMENT_FAULT_POINTS(X)                                                                                     \
  X(fdp_unclaimed, "sub.fdp.unclaimed", "CTRATT does not claim Flexible Data Placement")                                 \
  X(fdp_log_missing, "sub.fdp.log_missing", "log page 22h is not in the list of supported pages")                        \
  X(fdp_feature_missing, "sub.fdp.feature_missing", "feature 1Eh is not in the list of supported features")              \
  X(fdp_command_missing, "sub.fdp.command_missing", "I/O Management Send is not in the effects log")                     \
  X(fdp_config_size, "sub.fdp.config.size", "SZE of log page 20h counts no header")                                      \
  X(fdp_config_descriptor, "sub.fdp.config.descriptor", "DSZE counts the fixed part of a configuration alone")           \
  X(fdp_config_version, "sub.fdp.config.version", "the version of log page 20h is 1")                                    \
  X(fdp_config_type, "sub.fdp.config.type", "the types of reclaim unit handles are 0")                                   \
  X(fdp_config_identifiers, "sub.fdp.config.identifiers", "MAXPIDS is the product of NRG and NRUH")                      \
  X(fdp_config_groups, "sub.fdp.config.groups", "RGIF is 0 with several reclaim groups")                                 \
  X(fdp_config_namespaces, "sub.fdp.config.namespaces", "NNS is above MNAN")                                             \
  X(fdp_config_count, "sub.fdp.config.count", "NUMFDPC is a count, not 0's based")                                       \
  X(fdp_config_empty, "sub.fdp.config.empty", "a configuration has no reclaim unit handles")                            \
  X(fdp_config_cache, "sub.fdp.config.cache", "FDPVWC is set where Identify has no volatile write cache")                \
  X(fdp_not_enabled, "sub.fdp.not_enabled", "Set Features 1Dh succeeds without effect")                                  \
  X(fdp_index_lost, "sub.fdp.index_lost", "Get Features 1Dh does not return the index of the configuration")             \
  X(fdp_default, "sub.fdp.default", "the default value of feature 1Dh is what is enabled")                               \
  X(fdp_not_saved, "sub.fdp.not_saved", "the saved value of feature 1Dh is 0")                                           \
  X(fdp_lost_at_reset, "sub.fdp.lost_at_reset", "Get Features 1Dh returns 0 after a controller reset")                   \
  X(fdp_capability, "sub.fdp.capability", "feature 1Dh is not saveable")                                                 \
  X(fdp_scope, "sub.fdp.scope", "feature 1Dh has the scope of a controller")                                             \
  X(fdp_stays_enabled, "sub.fdp.stays_enabled", "Flexible Data Placement cannot be disabled")                            \
  X(fdp_first_group, "sub.fdp.first_group", "Get Features 1Dh tells of the first endurance group")                       \
  X(fdp_same_value, "sub.fdp.same_value", "the value that is set already is refused while there are namespaces")         \
  X(fdp_usage_count, "sub.fdp.usage.count", "NRUH of log page 21h counts the handles in use")                            \
  X(fdp_usage_host, "sub.fdp.usage.host", "handles that a host named are reported as those of the controller")           \
  X(fdp_usage_controller, "sub.fdp.usage.controller", "the handle that the controller chose is told as the host's")      \
  X(fdp_usage_unused, "sub.fdp.usage.unused", "handles that nobody uses are told as in use")                             \
  X(fdp_usage_kept, "sub.fdp.usage.kept", "handles stay in use when their namespace is deleted")                         \
  X(fdp_statistics_host, "sub.fdp.statistics.host", "HBMW does not grow")                                                \
  X(fdp_statistics_media, "sub.fdp.statistics.media", "MBMW does not grow")                                              \
  X(fdp_statistics_kept, "sub.fdp.statistics.kept", "the statistics outlive a change of feature 1Dh")                    \
  X(fdp_statistics_zeroes, "sub.fdp.statistics.zeroes", "Write Zeroes is not counted")                                   \
  X(fdp_statistics_gone, "sub.fdp.statistics.gone", "the statistics begin anew when a namespace is deleted")             \
  X(fdp_statistics_reset, "sub.fdp.statistics.reset", "the statistics begin anew at a controller reset")                 \
  X(fdp_events_kept, "sub.fdp.events.kept", "events outlive a change of feature 1Dh")                                    \
  X(fdp_events_unasked, "sub.fdp.events.unasked", "events are recorded that are not enabled")                            \
  X(fdp_events_order, "sub.fdp.events.order", "log page 23h begins with the most recent event")                          \
  X(fdp_events_mixed, "sub.fdp.events.mixed", "log page 23h has events of the host where those of the controller are asked for") \
  X(fdp_events_count, "sub.fdp.events.count", "NUMFDPE is 0's based")                                                    \
  X(fdp_events_newest, "sub.fdp.events.newest", "a full log of events drops the new one")                                \
  X(fdp_events_types_order, "sub.fdp.events.types_order", "Get Features 1Eh lists the types in descending order")        \
  X(fdp_events_types_count, "sub.fdp.events.types_count", "DW0 of Get Features 1Eh is 0")                                \
  X(fdp_events_not_enabled, "sub.fdp.events.not_enabled", "Set Features 1Eh succeeds without effect")                    \
  X(fdp_events_stay, "sub.fdp.events.stay", "events cannot be disabled")                                                 \
  X(fdp_events_all, "sub.fdp.events.all_handles", "events are enabled on all handles")                                   \
  X(fdp_event_pid, "sub.fdp.event.pid", "an event does not have the placement identifier of the write")                  \
  X(fdp_event_nsid, "sub.fdp.event.nsid", "an event names namespace 1")                                                  \
  X(fdp_event_location, "sub.fdp.event.location", "an event has a location where LV is clear")                           \
  X(fdp_event_update_missing, "sub.fdp.event.update", "an update of a unit that is not full makes no event")             \
  X(fdp_event_invalid_missing, "sub.fdp.event.invalid", "an invalid placement identifier makes no event")                \
  X(fdp_receive_order, "sub.fdp.receive.order", "Reclaim Unit Handle Status is in the order of reclaim groups")          \
  X(fdp_receive_groups, "sub.fdp.receive.groups", "Reclaim Unit Handle Status has the first reclaim group alone")        \
  X(fdp_receive_handles, "sub.fdp.receive.handles", "Reclaim Unit Handle Status has the first placement handle alone")   \
  X(fdp_receive_ruhid, "sub.fdp.receive.ruhid", "RUHID is the placement handle")                                         \
  X(fdp_receive_room, "sub.fdp.receive.room", "RUAMW does not shrink with writes")                                       \
  X(fdp_receive_bytes, "sub.fdp.receive.bytes", "RUAMW is in bytes")                                                     \
  X(fdp_receive_rest, "sub.fdp.receive.rest", "what lies beyond the status data is not zero")                            \
  X(fdp_receive_cut, "sub.fdp.receive.cut", "NRUHSD counts what there was room for")                                     \
  X(fdp_receive_reserved, "sub.fdp.receive.reserved", "reserved bytes of the status are set")                            \
  X(fdp_update_ignored, "sub.fdp.update.ignored", "Reclaim Unit Handle Update has no effect")                            \
  X(fdp_update_first, "sub.fdp.update.first", "Reclaim Unit Handle Update takes the first identifier alone")             \
  X(fdp_update_all, "sub.fdp.update.all", "Reclaim Unit Handle Update changes all handles of the namespace")             \
  X(fdp_update_group, "sub.fdp.update.group", "Reclaim Unit Handle Update ignores the reclaim group")                    \
  X(fdp_directive_missing, "sub.fdp.directive.missing", "Return Parameters does not have the Data Placement directive")  \
  X(fdp_directive_lost, "sub.fdp.directive.lost", "a controller reset disables the Data Placement directive")            \
  X(fdp_directive_volatile, "sub.fdp.directive.volatile", "the Data Placement directive is not said to persist")         \
  X(fdp_directive_off, "sub.fdp.directive.off", "Enable Directive of Data Placement succeeds without effect")            \
  X(fdp_directive_stays, "sub.fdp.directive.stays", "the Data Placement directive cannot be disabled")                   \
  X(fdp_write_handle, "sub.fdp.write.handle", "writes go to placement handle 0 whatever they say")                       \
  X(fdp_write_group, "sub.fdp.write.group", "writes go to reclaim group 0 whatever they say")                            \
  X(fdp_write_undirected, "sub.fdp.write.undirected", "writes without the directive go to the last placement handle")    \
  X(fdp_write_disabled, "sub.fdp.write.disabled", "DSPEC counts although the directive is not enabled")                  \
  X(fdp_write_refused, "sub.fdp.write.refused", "a write with an invalid placement identifier is refused")               \
  X(fdp_write_lost, "sub.fdp.write.lost", "the data of a write with an invalid placement identifier is lost")            \
  X(fdp_events_split, "sub.fdp.events.split", "events are enabled for one namespace of a shared handle alone")           \
  X(fdp_update_short, "sub.fdp.update.short", "Reclaim Unit Handle Update takes one identifier less than MAXPIDS allows")\
  X(fdp_unshared, "sub.fdp.unshared", "a reclaim unit handle cannot be shared by namespaces")                            \
  X(fdp_list_counts, "sub.fdp.list.counts", "a Placement Handle List is checked where Flexible Data Placement is disabled")\
  X(fdp_list_short, "sub.fdp.list.short", "a Placement Handle List of every reclaim unit handle is refused")             \
  X(fdp_fixed_capacity, "sub.fdp.fixed_capacity", "CTRATT claims Fixed Capacity Management beside Flexible Data Placement")\
  X(fdp_handle_zero, "sub.fdp.handle.zero", "the controller chooses handle 0 although a host has it")                    \
  X(fdp_handle_each, "sub.fdp.handle.each", "namespaces that name no handle get one each")                               \
  X(fdp_handles_swapped, "sub.fdp.handles.swapped", "placement handles are in the order of the reclaim unit handles")

// clang-format on

namespace departure {
#define FB_POINT(id, name, text) inline constexpr std::string_view id = name;
FB_PLACEMENT_FAULT_POINTS(FB_POINT)
#undef FB_POINT
}  // namespace departure

inline constexpr FaultPoint kPlacementFaultPoints[] = {
#define FB_POINT(id, name, text) {departure::id, text},
    FB_PLACEMENT_FAULT_POINTS(FB_POINT)
#undef FB_POINT
};

}  // namespace fb::subsystem
