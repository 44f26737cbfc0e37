// More of what fault_points.h lists: Cross-Controller Reset, and the log of lost hosts. The self-test of the suite shows that
// each of these is asked for.
#pragma once

#include "model/subsystem/fault_points.h"

namespace fb::subsystem {

// clang-format off

#define FB_CROSS_RESET_FAULT_POINTS(X)                                                                                   \
  X(ccr_ciu_zero, "sub.ccr.ciu.zero", "CIU is 0")                                                                        \
  X(ccr_cirn_zero, "sub.ccr.cirn.zero", "CIRN is 0")                                                                     \
  X(ccr_cqt_zero, "sub.ccr.cqt.zero", "CQT is 0 although there are Cross-Controller Resets")                             \
  X(ccr_limit_one, "sub.ccr.limit.one", "CCRL is 1")                                                                     \
  X(ccr_effects_missing, "sub.ccr.effects", "Cross-Controller Reset is not in the effects log")                          \
  X(ccr_log_missing, "sub.ccr.log.missing", "log page 1Eh is not in the list of supported pages")                        \
  X(ccr_event_unclaimed, "sub.ccr.event.unclaimed", "OAES bit 20 is clear")                                              \
  X(ccr_lost_missing, "sub.ccr.lost.missing", "log page 1Fh is not in the list of supported pages")                      \
  X(ccr_lost_unclaimed, "sub.ccr.lost.unclaimed", "OAES bit 21 is clear")                                                \
  X(ccr_in_discovery, "sub.ccr.discovery", "the discovery controller claims Cross-Controller Reset")                     \
  X(ccr_ciu_stays, "sub.ccr.ciu.stays", "CIU does not change when the controller becomes ready")                         \
  X(ccr_ciu_twice, "sub.ccr.ciu.twice", "CIU grows by two when the controller becomes ready")                            \
  X(ccr_cirn_stays, "sub.ccr.cirn.stays", "CIRN does not change when the controller becomes ready")                      \
  X(ccr_cirn_counts, "sub.ccr.cirn.counts", "CIRN is a counter")                                                         \
  X(ccr_cirn_shared, "sub.ccr.cirn.shared", "two controllers have the same CIRN")                                        \
  X(ccr_cirn_each, "sub.ccr.cirn.each", "each Identify has another CIRN")                                                \
  X(ccr_no_reset, "sub.ccr.no_reset", "success is reported, and nothing is reset")                                       \
  X(ccr_io_survives, "sub.ccr.io_survives", "the I/O queues of the impacted controller go on executing")                 \
  X(ccr_all_reset, "sub.ccr.all_reset", "every controller of the host but the source is reset")                          \
  X(ccr_source_reset, "sub.ccr.source_reset", "the source loses its I/O queues")                                         \
  X(ccr_reply_v, "sub.ccr.reply.v", "V is clear in the completion of a validated operation")                             \
  X(ccr_reply_clri, "sub.ccr.reply.clri", "CLRI is clear in the completion though a reset was initiated")                \
  X(ccr_reply_reserved, "sub.ccr.reply.reserved", "a reserved bit of the completion is set")                             \
  X(ccr_reply_swapped, "sub.ccr.reply.swapped", "an operation that is over reports IRS 0, and has no entry")             \
  X(ccr_entry_too, "sub.ccr.entry_too", "an operation with IRS has an entry in the log as well")                         \
  X(ccr_event_too, "sub.ccr.event_too", "an operation with IRS raises an event as well")                                 \
  X(ccr_any_ciu, "sub.ccr.any_ciu", "CIU is not compared")                                                               \
  X(ccr_any_cirn, "sub.ccr.any_cirn", "CIRN is not compared")                                                            \
  X(ccr_low_cirn, "sub.ccr.low_cirn", "the lower half of CIRN is compared alone")                                        \
  X(ccr_any_host, "sub.ccr.any_host", "controllers of other hosts are reset")                                            \
  X(ccr_any_instance, "sub.ccr.any_instance", "neither CIU nor CIRN is compared")                                        \
  X(ccr_mismatch_v, "sub.ccr.mismatch.v", "V is set though the instance is another")                                     \
  X(ccr_mismatch_clri, "sub.ccr.mismatch.clri", "CLRI is set though nothing was reset")                                  \
  X(ccr_mismatch_fails, "sub.ccr.mismatch.fails", "a command for another instance is refused")                           \
  X(ccr_unknown_refused, "sub.ccr.unknown.refused", "an ICID without a controller is refused")                           \
  X(ccr_gone_refused, "sub.ccr.gone.refused", "an ICID whose association is over is refused")                            \
  X(ccr_entry_icid, "sub.ccr.entry.icid", "an entry names the source")                                                   \
  X(ccr_entry_ciu, "sub.ccr.entry.ciu", "an entry has the CIU of the source")                                            \
  X(ccr_entry_missing, "sub.ccr.entry.missing", "an operation in progress has no entry")                                 \
  X(ccr_progress_removed, "sub.ccr.progress.removed", "Remove Completed removes operations in progress")                 \
  X(ccr_limit_less, "sub.ccr.limit.less", "one operation less than CCRL is taken")                                       \
  X(ccr_limit_completed, "sub.ccr.limit.completed", "completed operations count for CCRL")                               \
  X(ccr_never_completes, "sub.ccr.never_completes", "an entry stays In Progress")                                        \
  X(ccr_entry_v, "sub.ccr.entry.v", "V is clear in the entry of a validated operation")                                  \
  X(ccr_entry_clri, "sub.ccr.entry.clri", "CLRI is clear in the entry though a reset was initiated")                     \
  X(ccr_entry_retry, "sub.ccr.entry.retry", "RETRY is not 0 in the entry of a successful operation")                     \
  X(ccr_event_missing, "sub.ccr.event.missing", "the end of an operation raises no event")                               \
  X(ccr_event_unasked, "sub.ccr.event.unasked", "the end of an operation raises an event that is not enabled")           \
  X(ccr_event_log, "sub.ccr.event.log", "the event of an operation names log page 1Fh")                                  \
  X(ccr_event_once, "sub.ccr.event.once", "only the first operation raises an event")                                    \
  X(ccr_not_removed, "sub.ccr.not_removed", "Remove Completed has no effect")                                            \
  X(ccr_removed_first, "sub.ccr.removed_first", "Remove Completed removes entries before they are reported")             \
  X(ccr_read_removes, "sub.ccr.read_removes", "every read of the log removes completed operations")                      \
  X(ccr_replaced_kept, "sub.ccr.replaced_kept", "another command for a controller leaves its completed entry")           \
  X(ccr_reset_kept, "sub.ccr.reset_kept", "a reset of the source leaves completed entries")                              \
  X(ccr_log_count, "sub.ccr.log.count", "NE is one less than there are entries")                                         \
  X(ccr_log_rest, "sub.ccr.log.rest", "entries that are not valid are not zero")                                         \
  X(ccr_log_shared, "sub.ccr.log.shared", "the log has the operations of other controllers")                             \
  X(ccr_failed_v, "sub.ccr.failed.v", "V is set where nothing could be validated")                                       \
  X(ccr_failed_alternate, "sub.ccr.failed.alternate", "a failed entry has an ACID, and RETRY is not 1")                  \
  X(ccr_failed_success, "sub.ccr.failed.success", "an operation that failed is reported as successful")                  \
  X(lost_host_silent, "sub.lost.silent", "the loss of a host makes no entry in log page 1Fh")                            \
  X(lost_host_ciu, "sub.lost.ciu", "an entry of log page 1Fh has the CIU of the controller that is asked")               \
  X(lost_host_itself, "sub.lost.itself", "log page 1Fh lists the controller that is asked")                              \
  X(lost_host_others, "sub.lost.others", "log page 1Fh has entries about controllers of other hosts")                    \
  X(lost_host_event_missing, "sub.lost.event.missing", "an entry of log page 1Fh raises no event")                       \
  X(lost_host_event_unasked, "sub.lost.event.unasked", "an entry of log page 1Fh raises an event that is not enabled")   \
  X(lost_host_kept, "sub.lost.kept", "a read of log page 1Fh with RAE 0 leaves the entries")                             \
  X(lost_host_rae, "sub.lost.rae", "a read of log page 1Fh with RAE 1 removes the entries")                              \
  X(lost_host_reset, "sub.lost.reset", "a controller reset leaves the entries of log page 1Fh")                          \
  X(lost_host_orderly, "sub.lost.orderly", "a shutdown counts as the loss of a host")                                    \
  X(lost_host_ccr, "sub.lost.ccr", "a Cross-Controller Reset counts as the loss of a host")                              \
  X(lost_host_count, "sub.lost.count", "the loss count stays 1")                                                         \
  X(lost_host_twice, "sub.lost.twice", "a controller that was lost twice has two entries")                               \
  X(lost_host_order, "sub.lost.order", "log page 1Fh begins with the newest entry")                                      \
  X(lost_host_keep_alive, "sub.lost.keep_alive", "a keep alive timeout is not the loss of a host")

// clang-format on

namespace departure {
#define FB_POINT(id, name, text) inline constexpr std::string_view id = name;
FB_CROSS_RESET_FAULT_POINTS(FB_POINT)
#undef FB_POINT
}  // namespace departure

inline constexpr FaultPoint kCrossResetFaultPoints[] = {
#define FB_POINT(id, name, text) {departure::id, text},
    FB_CROSS_RESET_FAULT_POINTS(FB_POINT)
#undef FB_POINT
};

}  // namespace fb::subsystem
