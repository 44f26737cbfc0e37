// Cross-Controller Reset, and the log of lost hosts.
#include "model/deviations/deviation.h"
#include "model/host/recovery_fault_points.h"
#include "model/subsystem/cross_reset_fault_points.h"
#include "wire/nvme/status.h"

namespace fb::deviations {

namespace {

namespace departure = subsystem::departure;

}  // namespace

DEVIATION(ccr_without_ciu, "nvme.ccr.identify.ciu", Product::controller, "reports CIU 0", Departs{departure::ccr_ciu_zero});
DEVIATION(ccr_without_cirn, "nvme.ccr.identify.cirn", Product::controller, "reports CIRN 0", Departs{departure::ccr_cirn_zero});
DEVIATION(ccr_without_cqt, "nvme.ccr.identify.cqt", Product::controller, "reports CQT 0", Departs{departure::ccr_cqt_zero});
DEVIATION(ccr_one_at_a_time, "nvme.ccr.identify.limit", Product::controller, "reports CCRL 1", Departs{departure::ccr_limit_one});
DEVIATION(ccr_not_in_effects, "nvme.ccr.support.command", Product::controller, "leaves Cross-Controller Reset out of the effects log",
          Departs{departure::ccr_effects_missing});
DEVIATION(ccr_log_not_listed, "nvme.ccr.support.log", Product::controller, "leaves log page 1Eh out of the list of supported pages",
          Departs{departure::ccr_log_missing});
DEVIATION(ccr_event_not_claimed, "nvme.ccr.support.event", Product::controller, "clears OAES bit 20",
          Departs{departure::ccr_event_unclaimed});
DEVIATION(lost_host_log_not_listed, "nvme.ccr.support.lost-log", Product::controller,
          "leaves log page 1Fh out of the list of supported pages", Departs{departure::ccr_lost_missing});
DEVIATION(lost_host_event_not_claimed, "nvme.ccr.support.lost-event", Product::controller, "clears OAES bit 21",
          Departs{departure::ccr_lost_unclaimed});
DEVIATION(ccr_in_the_discovery_service, "nvme.ccr.support.discovery", Product::controller,
          "claims Cross-Controller Reset in its discovery service", Departs{departure::ccr_in_discovery});
DEVIATION(ccr_ciu_does_not_change, "nvme.ccr.instance.ciu", Product::controller, "keeps CIU when it becomes ready again",
          Departs{departure::ccr_ciu_stays});
DEVIATION(ccr_ciu_grows_by_two, "nvme.ccr.instance.ciu", Product::controller, "increments CIU twice when it becomes ready",
          Departs{departure::ccr_ciu_twice});
DEVIATION(ccr_cirn_does_not_change, "nvme.ccr.instance.cirn", Product::controller, "keeps CIRN when it becomes ready again",
          Departs{departure::ccr_cirn_stays});
DEVIATION(ccr_cirn_is_a_counter, "nvme.ccr.instance.unpredictable", Product::controller, "counts CIRN up",
          Departs{departure::ccr_cirn_counts});
DEVIATION(ccr_cirn_of_all, "nvme.ccr.instance.apart", Product::controller, "has one CIRN for all controllers",
          Departs{departure::ccr_cirn_shared});
DEVIATION(ccr_cirn_of_each_identify, "nvme.ccr.instance.lasts", Product::controller, "generates CIRN with each Identify",
          Departs{departure::ccr_cirn_each});
DEVIATION(ccr_resets_nothing, "nvme.ccr.reset.association", Product::controller, "reports success, and resets nothing",
          Departs{departure::ccr_no_reset});
DEVIATION(ccr_leaves_io_queues, "nvme.ccr.reset.commands", Product::controller, "goes on executing I/O commands on the impacted controller",
          Departs{departure::ccr_io_survives});
DEVIATION(ccr_resets_all, "nvme.ccr.reset.others", Product::controller, "resets every controller of the host but the source",
          Departs{departure::ccr_all_reset});
DEVIATION(ccr_disturbs_the_source, "nvme.ccr.reset.source", Product::controller, "drops the I/O queues of the source",
          Departs{departure::ccr_source_reset});
DEVIATION(ccr_cirn_after_reset, "nvme.ccr.reset.again", Product::controller, "has the same CIRN in the next association",
          Departs{departure::ccr_cirn_shared});
DEVIATION(ccr_reply_without_v, "nvme.ccr.result.validated", Product::controller, "clears V in the completion",
          Departs{departure::ccr_reply_v});
DEVIATION(ccr_reply_without_clri, "nvme.ccr.result.initiated", Product::controller, "clears CLRI in the completion",
          Departs{departure::ccr_reply_clri});
DEVIATION(ccr_reply_reserved, "nvme.ccr.result.reserved", Product::controller, "sets a reserved bit of the completion",
          Departs{departure::ccr_reply_reserved});
DEVIATION(ccr_reply_without_irs, "nvme.ccr.result.complete", Product::controller, "clears IRS, and has no entry",
          Departs{departure::ccr_reply_swapped});
DEVIATION(ccr_entry_in_spite_of_irs, "nvme.ccr.result.no-entry", Product::controller, "adds an entry although IRS is set",
          Departs{departure::ccr_entry_too});
DEVIATION(ccr_event_in_spite_of_irs, "nvme.ccr.result.no-event", Product::controller, "raises an event although IRS is set",
          Departs{departure::ccr_event_too});
DEVIATION(ccr_takes_itself, "nvme.ccr.itself", Product::controller, "accepts its own identifier as ICID",
          Tolerate{"cross_controller_reset.itself"});
DEVIATION(ccr_itself_status, "nvme.ccr.itself", Product::controller, "refuses its own identifier with another status",
          AnswerWith{"cross_controller_reset.itself", nvme::sc::ccr_in_progress});
DEVIATION(ccr_ignores_ciu, "nvme.ccr.mismatch.ciu", Product::controller, "does not compare CIU", Departs{departure::ccr_any_ciu});
DEVIATION(ccr_ignores_cirn, "nvme.ccr.mismatch.cirn", Product::controller, "does not compare CIRN", Departs{departure::ccr_any_cirn});
DEVIATION(ccr_compares_half, "nvme.ccr.mismatch.cirn-upper", Product::controller, "compares the lower half of CIRN alone",
          Departs{departure::ccr_low_cirn});
DEVIATION(ccr_resets_other_hosts, "nvme.ccr.mismatch.host", Product::controller, "resets controllers of other hosts",
          Departs{departure::ccr_any_host});
DEVIATION(ccr_ignores_cirn_of_earlier, "nvme.ccr.mismatch.earlier", Product::controller, "does not tell instances apart",
          Departs{departure::ccr_any_instance});
DEVIATION(ccr_validates_anything, "nvme.ccr.mismatch.validated", Product::controller, "sets V for another instance",
          Departs{departure::ccr_mismatch_v});
DEVIATION(ccr_claims_a_reset, "nvme.ccr.mismatch.initiated", Product::controller, "sets CLRI for another instance",
          Departs{departure::ccr_mismatch_clri});
DEVIATION(ccr_refuses_other_instances, "nvme.ccr.mismatch.success", Product::controller, "refuses a command for another instance",
          Departs{departure::ccr_mismatch_fails});
DEVIATION(ccr_refuses_unknown, "nvme.ccr.absent.unknown", Product::controller, "refuses an ICID without a controller",
          Departs{departure::ccr_unknown_refused});
DEVIATION(ccr_refuses_gone, "nvme.ccr.absent.gone", Product::controller, "refuses an ICID whose association is over",
          Departs{departure::ccr_gone_refused});
DEVIATION(ccr_without_entry, "nvme.ccr.progress.entry", Product::controller, "has no entry for an operation in progress",
          Departs{departure::ccr_entry_missing});
DEVIATION(ccr_entry_of_the_source, "nvme.ccr.progress.icid", Product::controller, "names the source in the entry",
          Departs{departure::ccr_entry_icid});
DEVIATION(ccr_entry_with_another_ciu, "nvme.ccr.progress.ciu", Product::controller, "has another CIU in the entry",
          Departs{departure::ccr_entry_ciu});
DEVIATION(ccr_begins_twice, "nvme.ccr.progress.again", Product::controller, "begins a second operation for one controller",
          Tolerate{"cross_controller_reset.in_progress"});
DEVIATION(ccr_removes_in_progress, "nvme.ccr.progress.stays", Product::controller, "removes entries of operations in progress",
          Departs{departure::ccr_progress_removed});
DEVIATION(ccr_without_limit, "nvme.ccr.limit.exceeded", Product::controller, "begins more operations than CCRL says",
          Tolerate{"cross_controller_reset.limit"});
DEVIATION(ccr_limit_less_one, "nvme.ccr.limit.reached", Product::controller, "takes one operation less than CCRL says",
          Departs{departure::ccr_limit_less});
DEVIATION(ccr_limit_counts_all, "nvme.ccr.limit.free", Product::controller, "counts operations that have ended for CCRL",
          Departs{departure::ccr_limit_completed});
DEVIATION(ccr_for_ever, "nvme.ccr.completed.ends", Product::controller, "leaves an operation in progress",
          Departs{departure::ccr_never_completes});
DEVIATION(ccr_entry_without_v, "nvme.ccr.completed.validated", Product::controller, "clears V in the entry",
          Departs{departure::ccr_entry_v});
DEVIATION(ccr_entry_without_clri, "nvme.ccr.completed.initiated", Product::controller, "clears CLRI in the entry",
          Departs{departure::ccr_entry_clri});
DEVIATION(ccr_entry_with_retry, "nvme.ccr.completed.retry", Product::controller, "sets RETRY in the entry of a successful operation",
          Departs{departure::ccr_entry_retry});
DEVIATION(ccr_ends_silently, "nvme.ccr.event.sent", Product::controller, "raises no event when an operation ends",
          Departs{departure::ccr_event_missing});
DEVIATION(ccr_event_with_another_log, "nvme.ccr.event.log", Product::controller, "names log page 1Fh in the event",
          Departs{departure::ccr_event_log});
DEVIATION(ccr_event_unasked, "nvme.ccr.event.disabled", Product::controller, "raises an event that is not enabled",
          Departs{departure::ccr_event_unasked});
DEVIATION(ccr_one_event, "nvme.ccr.event.again", Product::controller, "raises an event for the first operation alone",
          Departs{departure::ccr_event_once});
DEVIATION(ccr_removes_nothing, "nvme.ccr.remove.gone", Product::controller, "ignores Remove Completed",
          Departs{departure::ccr_not_removed});
DEVIATION(ccr_removes_first, "nvme.ccr.remove.reported", Product::controller, "removes entries before it reports them",
          Departs{departure::ccr_removed_first});
DEVIATION(ccr_removes_always, "nvme.ccr.remove.unasked", Product::controller, "removes entries with every read",
          Departs{departure::ccr_read_removes});
DEVIATION(ccr_keeps_earlier, "nvme.ccr.remove.replaced", Product::controller, "leaves the entry of an earlier operation",
          Departs{departure::ccr_replaced_kept});
DEVIATION(ccr_keeps_after_reset, "nvme.ccr.remove.reset", Product::controller, "leaves entries after a reset of the source",
          Departs{departure::ccr_reset_kept});
DEVIATION(ccr_counts_one_less, "nvme.ccr.log.count", Product::controller, "counts one entry less", Departs{departure::ccr_log_count});
DEVIATION(ccr_log_garbage, "nvme.ccr.log.rest", Product::controller, "sends garbage behind the entries", Departs{departure::ccr_log_rest});
DEVIATION(ccr_log_of_all, "nvme.ccr.log.source", Product::controller, "reports the operations of other sources",
          Departs{departure::ccr_log_shared});
DEVIATION(ccr_failure_is_success, "nvme.ccr.failed.entry", Product::controller, "reports a failed operation as successful",
          Departs{departure::ccr_failed_success});
DEVIATION(ccr_failure_with_v, "nvme.ccr.failed.validated", Product::controller, "sets V where nothing could be validated",
          Departs{departure::ccr_failed_v});
DEVIATION(ccr_alternate_without_retry, "nvme.ccr.failed.alternate", Product::controller, "names an alternate controller without RETRY 1",
          Departs{departure::ccr_failed_alternate});
DEVIATION(lost_host_unreported, "nvme.ccr.lost.entry", Product::controller, "does not report that a controller has lost its host",
          Departs{departure::lost_host_silent});
DEVIATION(lost_host_with_another_ciu, "nvme.ccr.lost.ciu", Product::controller, "has another CIU in an entry of log page 1Fh",
          Departs{departure::lost_host_ciu});
DEVIATION(lost_host_lists_itself, "nvme.ccr.lost.itself", Product::controller, "lists itself in log page 1Fh",
          Departs{departure::lost_host_itself});
DEVIATION(lost_host_told_to_all, "nvme.ccr.lost.host", Product::controller, "tells controllers of other hosts",
          Departs{departure::lost_host_others});
DEVIATION(lost_host_without_event, "nvme.ccr.lost.event", Product::controller, "raises no event with an entry of log page 1Fh",
          Departs{departure::lost_host_event_missing});
DEVIATION(lost_host_event_unasked, "nvme.ccr.lost.disabled", Product::controller,
          "raises a Lost Host Communication event that is not enabled", Departs{departure::lost_host_event_unasked});
DEVIATION(lost_host_entries_kept, "nvme.ccr.lost.cleared", Product::controller, "leaves the entries of log page 1Fh when they are read",
          Departs{departure::lost_host_kept});
DEVIATION(lost_host_rae_ignored, "nvme.ccr.lost.retained", Product::controller, "removes entries of log page 1Fh in spite of RAE",
          Departs{departure::lost_host_rae});
DEVIATION(lost_host_survives_reset, "nvme.ccr.lost.reset", Product::controller, "leaves the entries of log page 1Fh at a reset",
          Departs{departure::lost_host_reset});
DEVIATION(lost_host_after_shutdown, "nvme.ccr.lost.orderly", Product::controller, "reports a shutdown as a loss",
          Departs{departure::lost_host_orderly});
DEVIATION(lost_host_after_ccr, "nvme.ccr.lost.by-reset", Product::controller, "reports a Cross-Controller Reset as a loss",
          Departs{departure::lost_host_ccr});
DEVIATION(lost_host_not_counted, "nvme.ccr.lost.count", Product::controller, "does not count losses", Departs{departure::lost_host_count});
DEVIATION(lost_host_two_entries, "nvme.ccr.lost.once", Product::controller, "keeps the older entry beside the new one",
          Departs{departure::lost_host_twice});
DEVIATION(lost_host_newest_first, "nvme.ccr.lost.order", Product::controller, "begins log page 1Fh with the newest entry",
          Departs{departure::lost_host_order});
DEVIATION(lost_host_not_by_silence, "nvme.ccr.lost.keep-alive", Product::controller, "does not report hosts whose keep alive timer expired",
          Departs{departure::lost_host_keep_alive});
DEVIATION(host_exchanges_cirn, "nvme.ccr.host.instance", Product::host, "exchanges the halves of CIRN",
          Departs{host::point::reset_instance_wrong});
DEVIATION(host_leaves_ciu_out, "nvme.ccr.host.instance", Product::host, "has CIU 0 in Cross-Controller Reset",
          Departs{host::point::reset_ciu_wrong});
DEVIATION(host_asks_for_no_reset, "nvme.ccr.host.asks", Product::host, "never asks for a Cross-Controller Reset",
          Departs{host::point::reset_not_asked});
DEVIATION(host_asks_anybody, "nvme.ccr.host.unclaimed", Product::host, "sends Cross-Controller Reset to a controller with CCRL 0",
          Departs{host::point::reset_unclaimed});
DEVIATION(host_takes_completion_for_success, "nvme.ccr.host.waits", Product::host, "takes a completion without IRS for a success",
          Departs{host::point::reset_completion_enough});
DEVIATION(host_takes_failure_for_success, "nvme.ccr.host.failed", Product::host, "takes a failed operation for a success",
          Departs{host::point::reset_failure_enough});
DEVIATION(host_reads_no_reset_log, "nvme.ccr.host.reads", Product::host, "does not read log page 1Eh",
          Departs{host::point::reset_log_unread});
DEVIATION(host_takes_any_entry, "nvme.ccr.host.other-entries", Product::host, "takes the entry of another controller",
          Departs{host::point::reset_any_entry});
DEVIATION(host_repeats_reset, "nvme.ccr.host.no-retry", Product::host, "sends a failed Cross-Controller Reset again",
          Departs{host::point::reset_again_anywhere});
DEVIATION(host_waits_in_spite_of_success, "nvme.ccr.host.proceeds", Product::host, "waits though the Cross-Controller Reset has succeeded",
          Departs{host::point::reset_success_ignored});

}  // namespace fb::deviations
