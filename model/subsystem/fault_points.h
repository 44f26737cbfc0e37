// Misbehaviours that are not a missing refusal: the places where the model asks
// SubsystemHooks::departs(), each with what it breaks.
#pragma once

#include <string_view>

#include "base/fault_point.h"

namespace fb::subsystem {

// clang-format off

#define FB_SUBSYSTEM_FAULT_POINTS(X)                                                                 \
  X(cntlid_reused, "sub.cntlid.reused", "every association gets controller identifier 1, taken or not") \
  X(cntlid_reserved, "sub.cntlid.reserved", "Connect gives an identifier of the reserved range")   \
  X(cntlid_other_in_identify, "sub.cntlid.identify", "Identify names another controller than Connect did") \
  X(connect_authreq, "sub.connect.authreq", "reserved AUTHREQ bits are set in the Connect response") \
  X(connect_zero_hostid, "sub.connect.hostid", "a Host Identifier of 0 is refused although announced") \
  X(connect_flow_control, "sub.connect.sqhd", "SQHD FFFFh although the host did not ask for it")   \
  X(connect_failed_logged, "sub.connect.error_log", "a failed Connect makes an error log entry")   \
  X(sqhd_constant, "sub.sqhd.constant", "SQHD never moves")                                        \
  X(sqhd_ahead, "sub.sqhd.ahead", "SQHD runs past what was fetched")                               \
  X(sqhd_without_flow_control, "sub.sqhd.disabled", "SQHD is not 0 with flow control off")         \
  X(overfill_tolerated, "sub.sq.overfill", "a capsule into a full submission queue is taken")      \
  X(cid_other, "sub.cqe.cid", "completions carry the next command identifier")                     \
  X(sqid_set, "sub.cqe.sqid", "SQID is filled in")                                                 \
  X(dnr_missing, "sub.cqe.dnr", "DNR is not set on permanent errors")                              \
  X(more_without_entry, "sub.cqe.more", "M is set without an error log entry")                     \
  X(rdy_never, "sub.csts.rdy.never", "CC.EN = 1 never leads to CSTS.RDY")                          \
  X(rdy_without_enable, "sub.csts.rdy.early", "CSTS.RDY is 1 before CC.EN was set")                \
  X(rdy_stays, "sub.csts.rdy.stays", "CSTS.RDY stays 1 after CC.EN was cleared")                   \
  X(cfs_not_set, "sub.csts.cfs.missing", "a bad configuration becomes ready")                      \
  X(shst_never, "sub.csts.shst.never", "CSTS.SHST stays 0 after CC.SHN")                           \
  X(shst_not_cleared, "sub.csts.shst.stays", "a reset does not clear CSTS.SHST")                   \
  X(shutdown_ignored, "sub.shutdown.commands", "commands are executed after the shutdown")         \
  X(cc_not_cleared, "sub.cc.reads_zero", "CC always reads 0")                                      \
  X(cc_en_sticks, "sub.cc.en.sticks", "a controller reset is ignored")                             \
  X(nssr_ignored, "sub.nssr.ignored", "NSSR is written without effect")                            \
  X(nssr_any_value, "sub.nssr.any_value", "any value in NSSR resets the subsystem")                \
  X(reset_keeps_io_queues, "sub.reset.io_queues", "I/O queues outlive a controller reset")         \
  X(reset_drops_admin, "sub.reset.admin_queue", "a controller reset drops the admin queue")        \
  X(reset_answers_aer, "sub.reset.aer", "Async Event Requests are answered at a reset")            \
  X(reset_keeps_features, "sub.reset.features", "features outlive a controller reset")             \
  X(io_loss_tolerated, "sub.association.io_loss", "the loss of an I/O queue does not end the association") \
  X(admin_loss_tolerated, "sub.association.admin_loss", "I/O queues outlive the admin queue")      \
  X(disconnect_ends_all, "sub.disconnect.all", "Disconnect of one I/O queue ends the association") \
  X(disconnect_silent, "sub.disconnect.silent", "Disconnect is not answered")                      \
  X(disconnect_stays, "sub.disconnect.stays", "a disconnected queue goes on executing commands")   \
  X(kato_never, "sub.kato.never", "the keep alive timer never expires")                            \
  X(kato_early, "sub.kato.early", "the keep alive timer expires after half its time")              \
  X(kato_before_ready, "sub.kato.before_ready", "the keep alive timer runs while CC.EN is 0")      \
  X(kato_after_shutdown, "sub.kato.after_shutdown", "the keep alive timer runs on after a shutdown") \
  X(kato_zero, "sub.kato.zero", "a keep alive timeout of 0 is taken for 30 seconds")              \
  X(kato_set_ignored, "sub.kato.set", "the keep alive timer keeps its time when another is set")    \
  X(kato_not_rounded, "sub.kato.not_rounded", "KATO is not rounded up to KAS")                     \
  X(kato_keeps_connections, "sub.kato.connections", "connections stay open after the keep alive timeout") \
  X(kato_no_log, "sub.kato.no_log", "a keep alive timeout makes no error log entry")               \
  X(keep_alive_ineffective, "sub.keep_alive.ineffective", "Keep Alive does not restart the timer") \
  X(traffic_ignored, "sub.kato.traffic", "traffic does not restart a traffic based timer")         \
  X(aer_answered_at_once, "sub.aer.at_once", "Async Event Requests complete without an event")     \
  X(aer_wrong_log, "sub.aer.log_page", "events name another log page")                             \
  X(aer_wrong_type, "sub.aer.type", "events carry another type")                                   \
  X(event_mask_ignored, "sub.event.mask", "events are sent although feature 0Bh masks them")       \
  X(event_repeated, "sub.event.repeated", "an event is sent again before it was cleared")          \
  X(event_rae_clears, "sub.event.rae", "reading a log page with RAE = 1 clears the event")         \
  X(event_not_rearmed, "sub.event.not_rearmed", "reading a log page with RAE = 0 does not clear the event") \
  X(event_lost, "sub.event.lost", "events with no request outstanding are lost")                   \
  X(discovery_unannounced, "sub.discovery.unannounced", "changes of the discovery log are not announced") \
  X(genctr_stays, "sub.discovery.genctr.stays", "GENCTR does not count changes")                   \
  X(genctr_runs, "sub.discovery.genctr.runs", "GENCTR counts every read")                          \
  X(numrec_wrong, "sub.discovery.numrec", "NUMREC counts one entry too many")                      \
  X(discovery_cntlid, "sub.discovery.cntlid", "entries carry CNTLID 0")                            \
  X(discovery_asqsz, "sub.discovery.asqsz", "entries carry an ASQSZ below 32")                     \
  X(discovery_filter, "sub.discovery.filter", "entries are shown to hosts that are not allowed")   \
  X(discovery_trsvcid, "sub.discovery.trsvcid", "TRSVCID is not a decimal number")                 \
  X(discovery_trtype, "sub.discovery.trtype", "entries carry a reserved TRTYPE")                   \
  X(discovery_subtype, "sub.discovery.subtype", "NVM subsystems are listed as referrals")          \
  X(discovery_tls_treq, "tcp.discovery.tls.treq", "TREQ does not say that TLS is required")        \
  X(discovery_tls_sectype, "tcp.discovery.tls.sectype", "TSAS says that there is no TLS")          \
  X(connect_name_short, "sub.connect.name.short", "a HOSTNQN of the greatest length is refused")  \
  X(identify_short, "sub.identify.short", "Identify brings less than its page")                    \
  X(identify_subnqn, "sub.identify.subnqn", "Identify carries another SUBNQN")                     \
  X(identify_maxcmd, "sub.identify.maxcmd", "MAXCMD is 0")                                         \
  X(identify_ioccsz, "sub.identify.ioccsz", "IOCCSZ is below 4")                                   \
  X(identify_type, "sub.identify.cntrltype", "CNTRLTYPE does not fit the controller")              \
  X(identify_nn, "sub.identify.nn", "NN is below an active NSID")                                  \
  X(identify_list_order, "sub.identify.list.order", "the active namespace list does not ascend")   \
  X(identify_list_start, "sub.identify.list.start", "the active namespace list ignores its starting NSID") \
  X(identify_descriptors, "sub.identify.descriptors", "an identification descriptor has a wrong length") \
  X(identify_no_csi, "sub.identify.csi", "the command set descriptor is missing")                  \
  X(identify_nuse, "sub.identify.nuse", "NUSE exceeds NCAP")                                       \
  X(identify_inactive, "sub.identify.inactive", "an inactive NSID gets the first namespace's data") \
  X(identify_format_wrong, "sub.identify.format", "the page of an LBA format has another block size") \
  X(changed_list_kept, "sub.log.changed.kept", "the changed namespace list is not cleared by its read") \
  X(changed_list_empty, "sub.log.changed.empty", "the changed namespace list stays empty")         \
  X(error_log_oldest, "sub.log.error.order", "the error log begins with the oldest entry")         \
  X(error_log_cid, "sub.log.error.cid", "error log entries carry another CID")                     \
  X(error_log_status, "sub.log.error.status", "error log entries carry another status")            \
  X(effects_missing, "sub.log.effects.missing", "the commands supported log leaves out Identify")  \
  X(effects_too_many, "sub.log.effects.extra", "the commands supported log claims Virtualization Management") \
  X(log_offset_ignored, "sub.log.offset", "the log page offset is ignored")                        \
  X(ana_count_stays, "sub.ana.count", "the ANA change count does not move")                        \
  X(ana_group_count_stays, "sub.ana.group_count", "the change count of an ANA group does not move") \
  X(ana_notice_missing, "sub.ana.notice", "a group that becomes inaccessible is not announced")    \
  X(ana_non_optimized_refused, "sub.ana.non_optimized", "a group without optimized access refuses commands") \
  X(ana_whole_subsystem, "sub.ana.whole", "every ANA group has the state of the one that changed last") \
  X(ana_admin_refused, "sub.ana.admin", "log pages are refused while a group is inaccessible")     \
  X(ana_capacity_kept, "sub.ana.capacity", "Identify says what of an inaccessible namespace is in use") \
  X(ana_order, "sub.ana.order", "NSIDs in the ANA log descend")                                    \
  X(ana_rgo_ignored, "sub.ana.rgo", "NSIDs are returned although only groups were asked for")      \
  X(feature_default_wrong, "sub.feature.default", "SEL = 1 gives the current value")               \
  X(feature_not_kept, "sub.feature.not_kept", "Set Features succeeds without effect")              \
  X(feature_queues_excess, "sub.feature.queues", "Number of Queues grants more than the limit")      \
  X(firmware_never_runs, "sub.firmware.activation", "a reset activates no firmware")               \
  X(firmware_runs_at_once, "sub.firmware.early", "committed firmware runs before any reset")       \
  X(firmware_kept, "sub.firmware.download.kept", "a reset leaves what was downloaded")             \
  X(firmware_holes, "sub.firmware.holes", "an image with a hole is committed")                     \
  X(firmware_log_silent, "sub.firmware.log.next", "the firmware log does not name the next slot")  \
  X(firmware_fr_stays, "sub.firmware.fr", "Identify Controller keeps the first firmware revision") \
  X(firmware_silent, "sub.firmware.silent", "no activation of firmware is announced")              \
  X(format_keeps_data, "sub.format.data", "Format NVM leaves the data")                            \
  X(format_keeps_size, "sub.format.size", "Format NVM leaves the block size")                      \
  X(format_all, "sub.format.all", "Format NVM of one namespace erases all")                        \
  X(nsm_attached, "sub.namespace.create.attached", "a created namespace is attached to its creator at once") \
  X(nsm_nsid, "sub.namespace.create.nsid", "the completion of a creation names another NSID")      \
  X(nsm_size, "sub.namespace.create.size", "a created namespace is smaller than it was asked for") \
  X(nsm_names, "sub.namespace.create.names", "a namespace has the names of the one that had its NSID before") \
  X(nsm_granularity, "sub.namespace.granularity", "namespaces are made in whole steps of capacity alone") \
  X(nsm_capacity_stays, "sub.namespace.capacity", "UNVMCAP does not follow creations and deletions") \
  X(nsm_kept, "sub.namespace.delete.kept", "a deletion succeeds and deletes nothing")              \
  X(nsm_one, "sub.namespace.delete.one", "a deletion of all namespaces deletes the first")         \
  X(nsa_all, "sub.namespace.attach.all", "a namespace is attached to all controllers when told one") \
  X(nsa_ineffective, "sub.namespace.attach.nothing", "an attachment succeeds and does nothing")    \
  X(nsa_stays, "sub.namespace.detach.nothing", "a detachment succeeds and does nothing")           \
  X(nsa_erases, "sub.namespace.detach.erases", "a detachment erases the namespace")                \
  X(nsa_io, "sub.namespace.detach.io", "I/O reaches namespaces that are not attached")             \
  X(nsa_silent, "sub.namespace.attach.silent", "attachments are not announced")                    \
  X(nsa_reset, "sub.namespace.attach.reset", "a controller reset detaches what was attached by command") \
  X(nsa_listed, "sub.namespace.active.all", "the active namespace list holds all namespaces")      \
  X(nsa_active, "sub.namespace.allocated.active", "the allocated namespace list holds the attached ones alone") \
  X(nsa_controllers, "sub.namespace.controllers.all", "every controller is listed as attached")    \
  X(nsa_ana_log, "sub.namespace.ana", "the ANA log names namespaces that are not attached")        \
  X(changed_list_cut, "sub.log.changed.cut", "the changed namespace list ends after 1,024 entries") \
  X(sanitize_keeps_data, "sub.sanitize.data", "a sanitize operation leaves the data")              \
  X(sanitize_spares, "sub.sanitize.detached", "a sanitize operation leaves namespaces that are not attached") \
  X(sanitize_unprotects, "sub.sanitize.cache", "the first block of each namespace survives a sanitize operation") \
  X(sanitize_progress_stays, "sub.sanitize.progress", "SPROG stays 0")                             \
  X(sanitize_progress_end, "sub.sanitize.progress.end", "SPROG is not FFFFh after the end")        \
  X(sanitize_status_stays, "sub.sanitize.status", "the log does not name the result of the operation") \
  X(sanitize_idle, "sub.sanitize.status.idle", "the log does not say that an operation runs")      \
  X(sanitize_scdw10, "sub.sanitize.scdw10", "the log does not hold the command's dword 10")        \
  X(sanitize_passes, "sub.sanitize.passes", "completed overwrite passes are not counted")          \
  X(sanitize_erased, "sub.sanitize.gde", "Global Data Erased stays set after a write")             \
  X(sanitize_silent, "sub.sanitize.silent", "the end of an operation is not announced")            \
  X(sanitize_reset, "sub.sanitize.reset", "a controller reset ends the operation")                 \
  X(sanitize_power, "sub.sanitize.power", "an NVM subsystem reset ends the operation")             \
  X(sanitize_refused_logged, "sub.sanitize.refused", "a refused command changes the log")          \
  X(sanitize_error_lba, "sub.sanitize.error_log", "the error log tells LBAs while an operation runs") \
  X(sanitize_tells_all, "sub.sanitize.event.all", "every controller announces the end of an operation") \
  X(sanitize_unverified, "sub.sanitize.verification.skipped", "no operation leads to the verification of media") \
  X(sanitize_verification_untold, "sub.sanitize.verification.untold", "the verification of media is announced as an end") \
  X(sanitize_verification_closed, "sub.sanitize.verification.closed", "nothing can be read while media are verified") \
  X(sanitize_verification_plain, "sub.sanitize.verification.plain", "reads of media that are verified succeed plainly") \
  X(sanitize_verification_endless, "sub.sanitize.verification.endless", "the verification of media cannot be left") \
  X(sanitize_verification_kept, "sub.sanitize.verification.reset", "an NVM subsystem reset leaves media to be verified") \
  X(sanitize_phase_untold, "sub.sanitize.phase", "the log does not say where the operation is")     \
  X(self_test_endless, "sub.self_test.endless", "a self-test does not end")                        \
  X(self_test_percent, "sub.self_test.percent", "the completion of a self-test stays 0")           \
  X(self_test_order, "sub.self_test.order", "the results begin with the oldest")                   \
  X(self_test_unused, "sub.self_test.unused", "entries that were never filled claim success")      \
  X(self_test_namespace, "sub.self_test.nsid", "results name the next namespace")                  \
  X(self_test_hours, "sub.self_test.hours", "results do not name the power-on hours")              \
  X(self_test_code_lost, "sub.self_test.code", "results name another kind of self-test")           \
  X(self_test_survives, "sub.self_test.reset.short", "a short self-test goes on after a controller reset") \
  X(self_test_dies, "sub.self_test.reset.extended", "a controller reset ends an extended self-test") \
  X(self_test_goes_on, "sub.self_test.abort", "an aborted self-test goes on")                      \
  X(self_test_format, "sub.self_test.format", "Format NVM does not abort a self-test")             \
  X(self_test_sanitize, "sub.self_test.sanitize", "a sanitize operation does not abort a self-test") \
  X(self_test_removal, "sub.self_test.removal", "the self-test of a deleted namespace passes")       \
  X(security_list_descends, "sub.security.list", "the security protocols descend")                 \
  X(security_unlisted, "sub.security.unlisted", "the list of security protocols leaves out 00h")   \
  X(reservation_register_once, "sub.reservation.register.once", "who is registered cannot register again") \
  X(reservation_keys_unique, "sub.reservation.register.unique", "two hosts cannot have the same key") \
  X(reservation_iekey_ignored, "sub.reservation.iekey", "the key is checked whatever IEKEY says")    \
  X(reservation_acquire_once, "sub.reservation.acquire.once", "a holder cannot acquire again")       \
  X(reservation_acquire_lost, "sub.reservation.acquire", "Reservation Acquire succeeds without effect") \
  X(reservation_outlives_holder, "sub.reservation.unregister.holder", "a reservation outlives its holder") \
  X(reservation_dies_with_any, "sub.reservation.unregister.all", "a reservation ends with any registration") \
  X(reservation_preempt_lost, "sub.reservation.preempt.holder", "preempting leaves the reservation to its holder") \
  X(reservation_preempt_kept, "sub.reservation.preempt.registrants", "preempting leaves the registrations") \
  X(reservation_preempt_no_abort, "sub.reservation.preempt.abort", "Preempt and Abort aborts nothing") \
  X(reservation_clear_kept, "sub.reservation.clear", "clearing leaves the registrations")           \
  X(reservation_release_any, "sub.reservation.release.any", "any registrant releases the reservation") \
  X(reservation_release_lost, "sub.reservation.release", "Reservation Release succeeds without effect") \
  X(reservation_gen_stays, "sub.reservation.generation.stays", "the generation counts nothing")      \
  X(reservation_gen_runs, "sub.reservation.generation.runs", "the generation counts Acquire and Release too") \
  X(reservation_of_controller, "sub.reservation.identity", "registrations belong to a controller, not to a host") \
  X(reservation_reset_loses, "sub.reservation.reset", "a controller reset ends the host's registrations") \
  X(reservation_leave_loses, "sub.reservation.association", "the end of an association ends the host's registrations") \
  X(reservation_nssr_loses, "sub.reservation.nssr", "an NVM subsystem reset ends all registrations") \
  X(reservation_power_loses, "sub.reservation.power.lost", "a loss of power ends what persists") \
  X(reservation_power_keeps, "sub.reservation.power.kept", "a loss of power ends no registrations") \
  X(reservation_cptpl_ignored, "sub.reservation.cptpl", "CPTPL changes nothing")                    \
  X(reservation_registrants_refused, "sub.reservation.registrants", "registrants get no more than others") \
  X(reservation_reads_refused, "sub.reservation.reads", "write exclusive reservations keep readers out") \
  X(reservation_holder_refused, "sub.reservation.holder", "exclusive access keeps the holder from reading") \
  X(reservation_guards_all, "sub.reservation.guard", "reservations keep others from Report and Identify") \
  X(reservation_notice_silent, "sub.reservation.notice.silent", "no reservation notifications")     \
  X(reservation_notice_self, "sub.reservation.notice.self", "who causes a reservation notification is told too") \
  X(reservation_notice_all, "sub.reservation.notice.all", "all hosts get reservation notifications") \
  X(reservation_notice_one, "sub.reservation.notice.one", "one controller of a host is notified")    \
  X(reservation_notice_exclusive, "sub.reservation.notice.exclusive", "every release is told") \
  X(reservation_notice_type, "sub.reservation.notice.type", "reservation notifications are of another type") \
  X(reservation_mask_ignored, "sub.reservation.mask", "masked reservation notifications come all the same") \
  X(reservation_log_kept, "sub.reservation.log.kept", "a reservation notification is not taken out by its read") \
  X(reservation_log_count, "sub.reservation.log.count", "reservation notifications are not counted") \
  X(reservation_report_cut, "sub.reservation.report.cut", "REGSTRNT counts what fits into the transfer") \
  X(feature_save_lost, "sub.feature.save.lost", "what a host saves is not kept")                   \
  X(feature_save_always, "sub.feature.save.always", "every value that is set is saved")             \
  X(feature_save_leaves, "sub.feature.save.leaves", "saved values end with the association")         \
  X(persistent_timestamp_feature, "sub.persistent.timestamp.feature", "changes of the timestamp are recorded as Set Features too") \
  X(feature_saved_default, "sub.feature.saved", "the saved value is always the default")            \
  X(timestamp_origin, "sub.timestamp.origin", "the origin of the timestamp is always the reset")    \
  X(telemetry_generation, "sub.telemetry.generation", "captures of telemetry are not counted")      \
  X(telemetry_recaptures, "sub.telemetry.recaptures", "every read of log page 07h makes a capture") \
  X(telemetry_available_stays, "sub.telemetry.available", "controller-initiated data stays available once read") \
  X(telemetry_silent, "sub.telemetry.silent", "controller-initiated telemetry is not announced")    \
  X(telemetry_forgets, "sub.telemetry.reset", "an NVM subsystem reset loses controller-initiated telemetry") \
  X(persistent_forgets, "sub.persistent.reset", "an NVM subsystem reset empties the persistent event log") \
  X(persistent_live, "sub.persistent.live", "new events come into an open context")                \
  X(persistent_held, "sub.persistent.held", "a context cannot be released")                         \
  X(persistent_generation, "sub.persistent.generation", "the generation of the persistent event log stays") \
  X(persistent_count, "sub.persistent.count", "TNEV counts one event too many")                     \
  X(persistent_length, "sub.persistent.length", "TLL leaves out the last bytes")                    \
  X(persistent_no_snapshot, "sub.persistent.snapshot", "health is never recorded")                  \
  X(persistent_no_firmware, "sub.persistent.firmware", "Firmware Commit is not recorded")           \
  X(persistent_no_timestamp, "sub.persistent.timestamp", "changes of the timestamp are not recorded") \
  X(persistent_no_reset, "sub.persistent.resets", "resets are not recorded")                        \
  X(persistent_no_namespace, "sub.persistent.namespace", "namespace changes are not recorded")      \
  X(persistent_no_format_start, "sub.persistent.format.start", "the start of a format is not recorded") \
  X(persistent_no_format_end, "sub.persistent.format.end", "the end of a format is not recorded")   \
  X(persistent_no_sanitize_start, "sub.persistent.sanitize.start", "the start of a sanitize operation is not recorded") \
  X(persistent_no_sanitize_end, "sub.persistent.sanitize.end", "the end of a sanitize operation is not recorded") \
  X(persistent_no_feature, "sub.persistent.feature", "Set Features is not recorded")                \
  X(persistent_no_telemetry, "sub.persistent.telemetry", "captures of telemetry are not recorded")  \
  X(persistent_no_thermal, "sub.persistent.thermal", "thermal excursions are not recorded")         \
  X(lba_status_blind, "sub.lba_status.blind", "Get LBA Status finds nothing")                       \
  X(lba_status_no_scan, "sub.lba_status.scan", "Get LBA Status looks for nothing that is not known") \
  X(lba_status_kept, "sub.lba_status.kept", "blocks that were written again stay unrecoverable ones") \
  X(lba_status_from_zero, "sub.lba_status.start", "Get LBA Status begins with the first block whatever SLBA says") \
  X(lba_status_to_the_end, "sub.lba_status.range", "Get LBA Status goes to the end whatever RL says") \
  X(lba_status_order, "sub.lba_status.order", "entries of Get LBA Status descend")                  \
  X(lba_status_count, "sub.lba_status.count", "NLSD counts entries that are not there")             \
  X(lba_status_complete, "sub.lba_status.complete", "a list that was cut short is called complete") \
  X(lba_status_incomplete, "sub.lba_status.incomplete", "every list is called incomplete")          \
  X(lba_status_log_live, "sub.lba_status.log.live", "log page 0Eh changes while a host reads it")   \
  X(lba_status_generation, "sub.lba_status.log.generation", "the generation of log page 0Eh stays")  \
  X(lba_status_failure_stays, "sub.lba_status.log.failure", "log page 0Eh asks for a scan again and again") \
  X(lba_status_silent, "sub.lba_status.silent", "unrecoverable blocks are not announced")           \
  X(lba_status_early, "sub.lba_status.early", "unrecoverable blocks are announced before the report interval is over") \
  X(lba_status_poll_interval, "sub.lba_status.poll_interval", "a host can set the poll interval")   \
  X(endurance_orphans, "sub.endurance.orphans", "namespaces outlive their endurance group")         \
  X(endurance_apart, "sub.endurance.apart", "what all endurance groups warn of is no warning of the subsystem") \
  X(endurance_silent, "sub.endurance.silent", "warnings of endurance groups are not announced")     \
  X(endurance_counts, "sub.endurance.counts", "reads of an endurance group are not counted")        \
  X(capacity_kept, "sub.capacity.kept", "a deletion of capacity succeeds and deletes nothing")      \
  X(capacity_half, "sub.capacity.half", "half of the capacity asked for is given")                  \
  X(streams_available, "sub.streams.available", "NSSA does not follow allocations")                 \
  X(streams_allocated, "sub.streams.allocated", "NSA stays 0")                                      \
  X(streams_order, "sub.streams.order", "open streams descend")                                     \
  X(streams_stay_enabled, "sub.streams.disable", "streams cannot be disabled")                      \
  X(streams_stay_open, "sub.streams.release", "a released stream stays open")                       \
  X(streams_kept, "sub.streams.resources", "stream resources cannot be released")                   \
  X(streams_never_open, "sub.streams.write", "a write opens no stream")                             \
  X(streams_survive_reset, "sub.streams.reset", "streams stay enabled through a controller reset")  \
  X(streams_outlive_format, "sub.streams.format", "Format NVM closes no streams")                   \
  X(streams_outlive_namespace, "sub.streams.deletion", "streams of a deleted namespace stay")       \
  X(lockdown_nothing, "sub.lockdown.nothing", "Lockdown succeeds without effect")                   \
  X(lockdown_sticks, "sub.lockdown.sticks", "what was prohibited cannot be allowed again")          \
  X(lockdown_reset, "sub.lockdown.reset", "an NVM subsystem reset lifts what Lockdown prohibited")  \
  X(lockdown_power, "sub.lockdown.power", "what Lockdown prohibited outlives a power cycle")        \
  X(lockdown_order, "sub.lockdown.order", "the lists of log page 14h descend")                      \
  X(lockdown_hidden, "sub.lockdown.log", "log page 14h does not list what is prohibited")           \
  X(abort_claims, "sub.abort.claims", "Abort says it aborted a command that does not exist")       \
  X(abort_any_queue, "sub.abort.queue", "Abort looks on the admin queue whatever SQID says")       \
  X(abort_ineffective, "sub.abort.ineffective", "Abort says it aborted, and the command goes on")  \
  X(read_corrupted, "sub.io.read.data", "the first byte that is read is wrong")                    \
  X(write_lost, "sub.io.write.lost", "Write succeeds and stores nothing")                          \
  X(flush_skipped, "sub.io.flush.skipped", "Flush succeeds and flushes nothing")                   \
  X(fua_ignored, "sub.io.fua", "commands with FUA leave data in the volatile write cache")         \
  X(cache_stays_on, "sub.cache.stays_on", "writes are cached though the cache is off, or not there") \
  X(cache_lost_at_shutdown, "sub.cache.shutdown", "a shutdown completes without flushing")         \
  X(cache_lost_at_reset, "sub.cache.reset", "a controller reset loses what was not flushed")       \
  X(cache_lost_at_nssr, "sub.cache.nssr", "an NVM subsystem reset loses what was not flushed")     \
  X(power_tears, "sub.power.tears", "a loss of power tears writes of at most AWUPF")               \
  X(compare_equal, "sub.io.compare.equal", "Compare finds everything equal")                       \
  X(write_zeroes_nothing, "sub.io.write_zeroes", "Write Zeroes leaves the blocks as they are")     \
  X(deallocate_garbage, "sub.io.deallocate", "deallocated blocks read as FFh")                     \
  X(uncorrectable_forgotten, "sub.io.uncorrectable", "Write Uncorrectable does not spoil the blocks") \
  X(uncorrectable_stays, "sub.io.uncorrectable.stays", "a write does not mend spoilt blocks")      \
  X(fused_apart, "sub.io.fused.adjacent", "fused halves need not be adjacent")                     \
  X(short_transfer, "sub.io.short", "the last block of a read is not sent")                        \
  X(protection_insert_guard, "sub.protection.insert.guard", "inserted guards are wrong")           \
  X(protection_insert_application, "sub.protection.insert.app", "LBAT is not inserted")            \
  X(protection_reference_stays, "sub.protection.reference", "inserted reference tags do not count") \
  X(protection_type_3_checked, "sub.protection.type_3.checked", "reference tags of type 3 are compared") \
  X(protection_mask_ignored, "sub.protection.mask", "LBATM is ignored")                            \
  X(protection_escape_ignored, "sub.protection.escape", "application tags of FFFFh are checked")   \
  X(protection_guard_narrow, "sub.protection.guard", "the guard leaves out the metadata before it") \
  X(protection_replaced, "sub.protection.replaced", "tags that the host brings are replaced")      \
  X(protection_metadata_lost, "sub.protection.metadata", "metadata beside the tags is lost")       \
  X(protection_strip_unchecked, "sub.protection.strip.unchecked", "tags are stripped without a look") \
  X(protection_not_stripped, "sub.protection.strip", "tags are not stripped")                      \
  X(protection_compare_unchecked, "sub.protection.compare", "Compare looks at no tags on the medium") \
  X(protection_verify_unchecked, "sub.protection.verify", "Verify looks at no tags")               \
  X(protection_zeroes_deallocate, "sub.protection.zeroes", "Write Zeroes leaves tags as if deallocated") \
  X(protection_reference_saturates, "sub.protection.rollover", "a reference tag of ones stays")    \
  X(protection_insert_checked, "sub.protection.insert.checked", "tags are checked though they are replaced") \
  X(protection_always_checked, "sub.protection.always", "tags are checked whatever PRCHK says")    \
  X(protection_escape_wide, "sub.protection.type_3.escape", "one tag of ones is enough with type 3") \
  X(protection_compare_host_unchecked, "sub.protection.compare.host", "Compare looks at no tags of the host") \
  X(copy_nothing, "sub.copy.nothing", "Copy succeeds and moves nothing")                           \
  X(copy_reversed, "sub.copy.order", "Copy takes the last range first")                            \
  X(copy_short, "sub.copy.short", "Copy moves the first range alone")                              \
  X(copy_moves, "sub.copy.moves", "Copy erases its source")                                        \
  X(copy_progress, "sub.copy.progress", "a Copy that failed claims ranges that it did not move")   \
  X(copy_one_namespace, "sub.copy.namespace", "Copy reads the destination's namespace whatever the range says") \
  X(copy_tags_made, "sub.copy.tags.made", "Copy makes new tags where it is to pass them")          \
  X(copy_tags_kept, "sub.copy.tags.kept", "Copy makes no new tags")                                \
  X(copy_source_unchecked, "sub.copy.unchecked", "Copy looks at no tags of its source")            \
  X(zone_pointer_stays, "sub.zone.pointer.stays", "a write does not move the write pointer")       \
  X(zone_pointer_first, "sub.zone.pointer.first", "a write moves the write pointer by one block")  \
  X(zone_written_explicit, "sub.zone.write.explicit", "a write opens a zone explicitly")           \
  X(zone_never_full, "sub.zone.never_full", "a zone that is written to its end stays open")        \
  X(zone_append_result, "sub.zone.append.result", "Zone Append answers the start of the zone")     \
  X(zone_append_lost, "sub.zone.append.lost", "Zone Append writes nothing")                        \
  X(zone_append_tags, "sub.zone.append.tags", "Zone Append leaves the reference tags as they came") \
  X(zone_report_reversed, "sub.zone.report.order", "zones are reported in descending order")       \
  X(zone_report_start, "sub.zone.report.start", "zones are reported from the first, whatever SLBA says") \
  X(zone_report_all, "sub.zone.report.option", "all zones are reported, whatever the option says") \
  X(zone_report_count, "sub.zone.report.count", "the count is that of a partial report")           \
  X(zone_report_partial, "sub.zone.report.partial", "the count of a partial report is that of all") \
  X(zone_report_extension, "sub.zone.report.extension", "descriptor extensions are reported as zeroes") \
  X(zone_open_implicit, "sub.zone.open", "Open Zone opens implicitly")                             \
  X(zone_close_ineffective, "sub.zone.close", "Close Zone leaves the zone open")                   \
  X(zone_finish_ineffective, "sub.zone.finish", "Finish Zone leaves the zone as it is")            \
  X(zone_reset_ineffective, "sub.zone.reset", "Reset Zone leaves the zone as it is")               \
  X(zone_reset_keeps_data, "sub.zone.reset.data", "Reset Zone leaves the data")                    \
  X(zone_reset_extension, "sub.zone.reset.extension", "Reset Zone leaves the descriptor extension valid") \
  X(zone_offline_ineffective, "sub.zone.offline", "Offline Zone leaves the zone as it is")         \
  X(zone_all_first, "sub.zone.all.first", "Select All means the first zone that fits")             \
  X(zone_all_empty, "sub.zone.all.empty", "Finish Zone of all finishes empty zones too")           \
  X(zone_extension_state, "sub.zone.extension.state", "Set Zone Descriptor Extension leaves the zone empty") \
  X(zone_extension_lost, "sub.zone.extension.lost", "Set Zone Descriptor Extension keeps other data") \
  X(zone_refused_opens, "sub.zone.refused.opens", "a command that lacks resources opens a zone all the same") \
  X(zone_resources_leak, "sub.zone.resources", "zones that become full or empty keep their resources") \
  X(zone_created_plain, "sub.zone.create", "a namespace that is to be zoned is made without zones") \
  X(zone_deallocate_rewinds, "sub.zone.deallocate", "Dataset Management sets a write pointer back") \
  X(zone_format_keeps, "sub.zone.format", "Format NVM leaves the states of zones")                 \
  X(zone_sanitize_keeps, "sub.zone.sanitize", "a sanitize operation leaves the states of zones")   \
  X(zone_nssr_keeps_open, "sub.zone.nssr", "zones stay open through an NVM subsystem reset")       \
  X(zone_shutdown_keeps_open, "sub.zone.shutdown", "zones stay open through a shutdown")           \
  X(zone_power_rewinds, "sub.zone.power", "a loss of power sets write pointers back")              \
  X(zone_reset_controller_closes, "sub.zone.controller_reset", "a controller reset empties zones") \
  X(zone_protected_stays, "sub.zone.write_protected", "write protection leaves zones open")        \
  X(zone_silent, "sub.zone.events.silent", "changes of zones are not announced")                   \
  X(zone_event_unasked, "sub.zone.events.unasked", "changes of zones are announced to whom did not ask") \
  X(zone_event_commands, "sub.zone.events.commands", "changes by commands are announced")          \
  X(zone_event_nsid, "sub.zone.events.nsid", "the event names no namespace")                       \
  X(zone_list_empty, "sub.zone.events.list", "the changed zone list has no zones")                 \
  X(zone_csi_nvm, "sub.zone.identify.csi", "a zoned namespace says that it belongs to the NVM command set") \
  X(zone_list_all, "sub.zone.identify.list", "the list of zoned namespaces has all namespaces")    \
  X(zone_effects_missing, "sub.zone.effects", "the effects log of the command set lacks its commands") \
  X(zone_unselected, "sub.zone.unselected", "zoned commands work though their set is not selected") \
  X(zone_profile_ignored, "sub.zone.profile", "the profile of command sets is ignored")            \
  X(protection_not_identified, "sub.protection.dps", "Identify Namespace says nothing of protection") \
  X(subsystem_offline, "sub.events.silent", "namespace changes are not announced")

namespace departure {
#define FB_DEPARTURE(id, name, breaks) inline constexpr std::string_view id = name;
FB_SUBSYSTEM_FAULT_POINTS(FB_DEPARTURE)
#undef FB_DEPARTURE
}  // namespace departure

inline constexpr FaultPoint kSubsystemFaultPoints[] = {
#define FB_DEPARTURE(id, name, breaks) {name, breaks},
FB_SUBSYSTEM_FAULT_POINTS(FB_DEPARTURE)
#undef FB_DEPARTURE
};

// clang-format on

}  // namespace fb::subsystem
