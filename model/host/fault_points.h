// Where this host can be made to depart from what is required: the hooks are asked departs(name) at
// each of these points. One line a point: identifier, stable name, what it breaks.
#pragma once

#include <span>
#include <string_view>

#include "base/fault_point.h"

namespace fb::host {

// clang-format off
#define FB_HOST_FAULT_POINTS(X)                                                                        \
  X(connect_property_first, "host.connect.property_first", "Property Get is sent before Connect") \
  X(connect_admin_qid, "host.connect.admin.qid", "the first Connect asks for queue 1") \
  X(connect_recfmt, "host.connect.recfmt", "Connect carries a RECFMT other than 0") \
  X(connect_sqsize_zero, "host.connect.sqsize.zero", "Connect asks for a queue of one entry") \
  X(connect_sqsize_mismatch, "host.connect.sqsize.mismatch", \
    "SQSIZE differs from HSQSIZE of the connection") \
  X(connect_nqn_unterminated, "host.connect.nqn.unterminated", \
    "the NQN fields of Connect have no terminator") \
  X(connect_hostid_zero, "host.connect.hostid.zero", "Host Identifier 0 in the admin Connect") \
  X(connect_data_short, "host.connect.data.short", "Connect carries 512 bytes of data instead of 1024") \
  X(connect_twice, "host.connect.twice", "Connect is sent twice on one queue") \
  X(connect_unawaited, "host.connect.unawaited", "a property is read before Connect is answered") \
  X(connect_kato_zero, "host.connect.kato.zero", "KATO 0 on a transport that requires keep alive") \
  X(connect_refused_retried, "host.connect.refused.retried", \
    "a Connect refused for its parameters is repeated unchanged for ever") \
  X(connect_busy_hammered, "host.connect.busy.hammered", \
    "Connect is repeated without delay after Controller Busy") \
  X(connect_reject_retried, "host.connect.reject.retried", \
    "a rejected connection is tried again at once, for ever") \
  X(reconnect_omitted, "host.reconnect.omitted", \
    "a lost association is neither made again nor reported") \
  X(connect_cntlid_reserved, "host.connect.cntlid.reserved", \
    "a controller identifier of FFF0h or more is accepted") \
  X(connect_cntlid_mismatch, "host.connect.cntlid.mismatch", \
    "Identify may name another controller than Connect did") \
  X(connect_authreq_ignored, "host.connect.authreq.ignored", "a demand to authenticate is ignored") \
  X(io_connect_hostid, "host.io_connect.hostid", "an I/O queue connects with another Host Identifier") \
  X(io_connect_hostnqn, "host.io_connect.hostnqn", "an I/O queue connects with another host NQN") \
  X(io_connect_cntlid, "host.io_connect.cntlid", "an I/O queue connects with CNTLID FFFFh") \
  X(io_connect_kato, "host.io_connect.kato", "an I/O queue's Connect carries KATO") \
  X(io_connect_before_ready, "host.io_connect.before_ready", "an I/O queue connects before CSTS.RDY is 1") \
  X(io_connect_sqsize_above_mqes, "host.io_connect.sqsize.above_mqes", \
    "an I/O queue is larger than CAP.MQES allows") \
  X(number_of_queues_unasked, "host.queues.number.unasked", \
    "I/O queues connect without Set Features Number of Queues") \
  X(number_of_queues_ignored, "host.queues.number.ignored", "more I/O queues than were granted") \
  X(number_of_queues_reserved, "host.queues.number.reserved", "Number of Queues asks for FFFFh") \
  X(identify_before_ready, "host.identify.before_ready", "Identify is sent before CSTS.RDY is 1") \
  X(identify_before_enable, "host.identify.before_enable", "Identify is sent before CC.EN is 1") \
  X(identify_short, "host.identify.short", "Identify with a buffer of 512 bytes") \
  X(property_cap_size, "host.property.cap.size", "CAP is read as four bytes") \
  X(property_cap_reserved, "host.property.cap.reserved", \
    "a controller is refused for reserved bits of CAP and CSTS") \
  X(enable_css, "host.enable.css", "CC.CSS selects what CAP.CSS does not offer") \
  X(enable_mps, "host.enable.mps", "CC.MPS lies above CAP.MPSMAX") \
  X(enable_iosqes, "host.enable.iosqes", "CC.IOSQES is not 6") \
  X(enable_iocqes, "host.enable.iocqes", "CC.IOCQES is not 4") \
  X(ready_waited_for_ever, "host.ready.forever", \
    "CSTS.RDY is polled far beyond the time that CAP.TO allows") \
  X(ready_fatal_ignored, "host.ready.fatal.ignored", "CSTS.CFS is ignored while waiting for CSTS.RDY") \
  X(reset_unawaited, "host.reset.unawaited", "CC.EN is set again before CSTS.RDY is 0") \
  X(keep_alive_omitted, "host.keep_alive.omitted", "no Keep Alive is ever sent") \
  X(keep_alive_late, "host.keep_alive.late", "Keep Alive is sent after one and a half times KATO") \
  X(keep_alive_unwatched, "host.keep_alive.unwatched", \
    "a Keep Alive without an answer has no consequence") \
  X(aer_not_rearmed, "host.aer.not_rearmed", "no new Asynchronous Event Request after an event") \
  X(aer_first_only, "host.aer.first_only", "no Asynchronous Event Requests after a Controller Reset or a loss") \
  X(aer_too_many, "host.aer.too_many", "more Asynchronous Event Requests than AERL allows") \
  X(aer_config_unsupported, "host.aer.config.unsupported", "events are enabled that OAES does not claim") \
  X(event_log_unread, "host.event.log.unread", "the log page of an event is not read") \
  X(event_log_rae, "host.event.log.rae", "the log page of an event is read with RAE = 1") \
  X(event_rescan_omitted, "host.event.rescan.omitted", \
    "namespaces are not read again after an attribute event") \
  X(ana_state_ignored, "host.ana.state.ignored", "commands go to a path whatever its ANA state is") \
  X(dnr_ignored, "host.retry.dnr.ignored", "a command is repeated although DNR is set") \
  X(retry_unlimited, "host.retry.unlimited", "a command is repeated without limit") \
  X(crd_ignored, "host.retry.crd.ignored", "the retry delay that CRD names is not kept") \
  X(reservation_conflict_retried, "host.retry.reservation_conflict", "a reservation conflict is repeated") \
  X(path_error_reported, "host.path_error.reported", \
    "the error of one path is reported though there is another") \
  X(ready_impatient, "host.ready.impatient", "a controller gets half a second to become ready") \
  X(error_is_success, "host.status.ignored", "an error status is reported as success") \
  X(failover_early, "host.failover.early", \
    "writes go to another controller before the old one has stopped") \
  X(mdts_ignored, "host.io.mdts.ignored", "transfers are not split to MDTS") \
  X(timeout_resubmitted, "host.timeout.resubmitted", \
    "a command without an answer is sent again while the first still runs") \
  X(abort_limit_ignored, "host.abort.limit.ignored", "more Aborts outstanding than ACL allows") \
  X(queue_overfilled, "host.queue.overfilled", "as many commands outstanding as the SQ has entries") \
  X(queue_overfilled_without_flow_control, "host.queue.overfilled.no_flow_control", \
    "the same while SQ flow control is off") \
  X(queue_sqhd_always_used, "host.queue.sqhd.always_used", "SQHD is used although SQ flow control is off") \
  X(queue_flow_control_assumed_off, "host.queue.flow_control.assumed_off", \
    "SQHD is ignored although SQ flow control is on") \
  X(queue_cid_reused, "host.queue.cid.reused", "the CID of an outstanding command is used again") \
  X(queue_cid_reserved, "host.queue.cid.reserved", "CID FFFFh is used") \
  X(queue_any_cid_accepted, "host.queue.cid.any_accepted", \
    "a response for an unknown CID completes some other command") \
  X(queue_loss_is_success, "host.queue.loss.success", \
    "commands are reported as done when the connection is lost") \
  X(queue_loss_ignored, "host.queue.loss.ignored", "the loss of an I/O queue has no consequence") \
  X(sqe_psdt_admin, "host.sqe.psdt.admin", "admin commands say PRP in PSDT") \
  X(sqe_psdt_io, "host.sqe.psdt.io", "I/O commands say PRP in PSDT") \
  X(sqe_fuse, "host.sqe.fuse", "a single I/O command says it is the first of a fused pair") \
  X(sqe_nsid_unused, "host.sqe.nsid.unused", "NSID is set in commands that do not use it") \
  X(sqe_nsid_zero, "host.sqe.nsid.zero", "I/O commands with NSID 0") \
  X(sqe_reserved, "host.sqe.reserved", "reserved bytes of the entry are not 0") \
  X(sqe_mptr, "host.sqe.mptr", "MPTR is used over Fabrics") \
  X(capsule_oversized, "host.capsule.oversized", "in-capsule data beyond IOCCSZ") \
  X(capsule_unclaimed, "rdma.host.capsule.unclaimed", \
    "in-capsule data though SGLS claims no addresses that are offsets") \
  X(command_unclaimed, "host.command.unclaimed", \
    "optional commands are sent that ONCS and FUSES do not claim") \
  X(command_limits_ignored, "host.command.limits", "Write Zeroes and Verify beyond WZSL and VSL") \
  X(copy_limits_ignored, "host.copy.limits", "Copy beyond MSSRL, MCL and MSRC") \
  X(protection_reference, "host.protection.reference", \
    "ILBRT is not the LBA on a namespace with protection of type 1") \
  X(protection_not_announced, "host.protection.pract", \
    "PRACT is 0 though the data goes without protection information") \
  X(profile_first, "host.profile.first", \
    "the first combination with the NVM command set is selected, though there are zoned namespaces") \
  X(zone_write_unordered, "host.zone.write.unordered", "pieces of a write to a zone are sent all at once") \
  X(zone_boundary_crossed, "host.zone.boundary", "transfers are not split at the boundaries of zones") \
  X(zone_append_oversized, "host.zone.append.oversized", "Zone Append beyond ZASL") \
  X(zone_append_repeated, "host.zone.append.repeated", \
    "a Zone Append without an answer is sent again when the association is back") \
  X(shutdown_omitted, "host.shutdown.omitted", "the host leaves without setting CC.SHN") \
  X(shutdown_unawaited, "host.shutdown.unawaited", "the host leaves before CSTS.SHST says that the shutdown is complete") \
  X(shutdown_commands_after, "host.shutdown.commands_after", "admin commands after CC.SHN was set") \
  X(disconnect_on_admin, "host.disconnect.admin", "Disconnect is sent on the admin queue") \
  X(disconnect_unsupported, "host.disconnect.unsupported", "Disconnect is sent to a controller without it") \
  X(mdts_of_one_path, "host.paths.one_mdts", "MDTS of one path is used for all") \
  X(mdts_kept, "host.reset.mdts", "MDTS is what it was before a Controller Reset") \
  X(namespace_identity, "host.namespace.identity", \
    "a namespace is taken for the former one of its NSID, whatever its identifiers") \
  X(format_low_bits, "host.namespace.format", "FLBAS is read by its lower four bits alone") \
  X(aer_failed_repeated, "host.aer.failed_repeated", "an Asynchronous Event Request that failed is sent again at once") \
  X(rescan_again_omitted, "host.event.rescan.once", "a notice that comes while namespaces are read has no consequence") \
  X(shutdown_undrained, "host.shutdown.undrained", "CC.SHN is set while I/O commands are outstanding") \
  X(one_notification, "host.event.one_notification", "one reservation notification is read, however many there are") \
  X(protection_unchecked, "host.protection.unchecked", "the host does not check the protection information that it reads") \
  X(keep_alive_time_unrounded, "host.keep_alive.time", "KATO is not rounded up to the granularity that KAS names") \
  X(failure_unreported, "host.init.failure", "a command of the initialization that fails ends the attempt without a report") \
  X(step_unrepeated, "host.init.unrepeated", "a command of the initialization that failed for a moment is not sent again") \
  X(optional_required, "host.init.optional", "a controller is left when a command fails that the host can do without") \
  X(failed_read_forgotten, "host.event.failed_read", "what could not be read for a moment is never read") \
  X(kv_store_repeated, "host.kv.store.repeated", "a Store with a condition is sent again when the association is back") \
  X(discovery_genctr_ignored, "host.discovery.genctr.ignored", \
    "a discovery log that changed while it was read is used") \
  X(discovery_restart_ignored, "host.discovery.restart.ignored", \
    "Discover Restart is taken for an empty log") \
  X(discovery_referral_loop, "host.discovery.referral.loop", "referrals are followed in a circle") \
  X(discovery_trsvcid_any, "host.discovery.trsvcid.any", \
    "an entry whose TRSVCID is no decimal number is used") \
  X(discovery_trtype_any, "host.discovery.trtype.any", "an entry of another transport is used") \
  X(discovery_event_ignored, "host.discovery.event.ignored", \
    "the log is not read again after a change event") \
  X(discovery_left_connected, "host.discovery.left_connected", \
    "a connection without persistence is left open") \
  X(discovery_tls_ignored, "tcp.host.discovery.tls_ignored", \
    "an entry that requires a secure channel is connected to without") \
  X(tls_io_plain, "tcp.host.tls.io_plain", "I/O queues go without TLS although the admin queue has it") \
  X(concat_not_asked, "tcp.host.concat.not_asked", \
    "SC_C is 0 although the controller asks for a secure channel") \
  X(concat_stays, "tcp.host.concat.stays", \
    "the association goes on without TLS after a PSK was made for it")
// clang-format on

/// The points by identifier.
namespace point {
#define FB_HOST_POINT(id, name, breaks) inline constexpr std::string_view id = name;
FB_HOST_FAULT_POINTS(FB_HOST_POINT)
#undef FB_HOST_POINT
}  // namespace point

inline constexpr FaultPoint kHostFaultPoints[] = {
#define FB_HOST_POINT(id, name, breaks) {name, breaks},
    FB_HOST_FAULT_POINTS(FB_HOST_POINT)
#undef FB_HOST_POINT
};

}  // namespace fb::host
