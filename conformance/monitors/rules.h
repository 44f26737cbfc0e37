// The catalogue of what is held against every exchange: one line a rule. A rule speaks only when it is sure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fb::monitors {

enum class Layer : std::uint8_t { rdma, cm, nvme, tcp, mctp, mi, oracle };
std::string_view name_of(Layer layer);

/// name, requirement, layer, what is held.
#define FB_MONITOR_RULES(X)                                                                                                                \
  X(rdma_icrc, "rdma.icrc.sent", rdma, "the ICRC of a packet is right")                                                                    \
  X(rdma_version, "rdma.wire.version", rdma, "the transport version of a packet is 0")                                                     \
  X(rdma_pad_zero, "rdma.bth.pad", rdma, "pad bytes are zero")                                                                             \
  X(rdma_pad_count, "rdma.bth.pad", rdma, "payload and pad make up whole words, and only a last packet is padded")                         \
  X(rdma_order, "rdma.wire.order", rdma, "First, Middle and Last follow each other, or a packet is an Only")                               \
  X(rdma_size, "rdma.wire.sizes", rdma, "First and Middle packets are full, no packet is above the path MTU")                              \
  X(rdma_dma_length, "rdma.wire.dma-length", rdma, "a WRITE carries the bytes that its DMA length says")                                   \
  X(rdma_psn_first, "rdma.wire.psn-first", rdma, "the first request has the announced PSN")                                                \
  X(rdma_psn_next, "rdma.wire.psn", rdma, "each new request has the next PSN")                                                             \
  X(rdma_psn_of_read, "rdma.wire.psn", rdma, "the PSNs of a READ's response are not used for another request")                             \
  X(rdma_ack_beyond, "rdma.wire.ack", rdma, "nothing is acknowledged that was not sent")                                                   \
  X(rdma_msn, "rdma.ack.msn", rdma, "the MSN counts the requests that are complete")                                                       \
  X(rdma_read_asked, "rdma.wire.read-asked", rdma, "a READ response answers a READ")                                                       \
  X(rdma_read_form, "rdma.wire.read-form", rdma, "READ responses have the opcode and the length of their place")                           \
  X(cm_mad, "cm.wire.mad", cm, "a CM message has the versions and the method of its class")                                                \
  X(cm_request, "cm.active.req-fields", cm, "a REQ asks for RC with a possible path MTU and an IP header in its form")                     \
  X(cm_rep_transaction, "cm.wire.transaction", cm, "a REP carries the transaction of its REQ")                                             \
  X(cm_rep_depth, "cm.rep.depths", cm, "a REP asks for no more reads than the REQ serves")                                                 \
  X(cm_rep_again, "cm.rep.repeated", cm, "a repeated REP says the same")                                                                   \
  X(cm_rtu, "cm.wire.rtu", cm, "an RTU follows a REP")                                                                                     \
  X(cm_drep, "cm.dreq.answered", cm, "a DREP mirrors the IDs of its DREQ")                                                                 \
  X(cm_drep_transaction, "cm.wire.transaction", cm, "a DREP carries the transaction of its DREQ")                                          \
  X(rdma_accept_data, "fabrics.rdma.accept.private-data", cm, "the private data of an accept is NVMe's, the rest 0")                       \
  X(rdma_key_unknown, "fabrics.wire.key", nvme, "a controller uses keys of outstanding commands")                                          \
  X(rdma_key_range, "fabrics.wire.key", nvme, "a key is used within its descriptor")                                                       \
  X(rdma_key_direction, "fabrics.wire.key", nvme, "data moves in the direction of the command")                                            \
  X(rdma_key_late, "fabrics.rdma.read-data.order", nvme, "no key is used after the response of its command")                               \
  X(rdma_invalidate, "fabrics.rdma.invalidate.only-asked", nvme, "only the key that asks for it is invalidated")                           \
  X(nvme_connect_first, "fabrics.wire.connect-first", nvme, "Connect is a queue's first command, and is waited for")                       \
  X(nvme_connect_once, "fabrics.wire.connect-once", nvme, "a queue is connected once")                                                     \
  X(nvme_cid_reuse, "nvme.host.cid-unique", nvme, "no outstanding command's identifier is used again")                                     \
  X(nvme_completion_unknown, "nvme.completion.identity", nvme, "a completion answers a command")                                           \
  X(nvme_completion_twice, "nvme.completion.identity", nvme, "a command is completed once")                                                \
  X(nvme_completion_phase, "nvme.completion.reserved", nvme, "the phase bit of a response is clear")                                       \
  X(nvme_completion_dwords, "nvme.completion.admin-dwords", nvme, "dwords that a command does not use are 0")                              \
  X(nvme_sqhd, "fabrics.flow-control.on", nvme, "SQHD moves on, and only over commands that were sent")                                    \
  X(nvme_sqhd_off, "fabrics.flow-control.off", nvme, "without flow control SQHD is 0")                                                     \
  X(nvme_queue_full, "fabrics.host.flow-control.bound", nvme, "no command is sent into a full queue")                                      \
  X(nvme_fused, "nvme.wire.fused", nvme, "the second of a fused pair follows the first at once")                                           \
  X(nvme_psdt, "nvme.host.psdt", nvme, "commands with data use SGLs")                                                                      \
  X(nvme_psdt_no_data, "fabrics.wire.psdt", nvme, "PSDT of Admin and I/O commands without data is 01b or 10b too")                         \
  X(nvme_psdt_fabrics, "fabrics.wire.fabrics-psdt", nvme, "PSDT of Fabrics commands is not 00b")                                           \
  X(nvme_no_data_descriptor, "fabrics.wire.no-data-descriptor", nvme,                                                                      \
    "commands without data have an empty descriptor of the transport's type")                                                              \
  X(nvme_hostnqn_uuid, "fabrics.wire.hostnqn-uuid", nvme, "a HOSTNQN of the UUID form ends in a UUID")                                     \
  X(rdma_connect_sqsize, "fabrics.wire.connect-hsqsize", nvme, "SQSIZE of Connect is not above the HSQSIZE of its REQ")                    \
  X(nvme_keep_alive, "fabrics.wire.keep-alive", nvme, "a host lets itself be heard within the keep alive time")                            \
  X(nvme_io_before_ready, "fabrics.host.init.io-after-ready", nvme, "I/O queues come after CSTS.RDY")                                      \
  X(nvme_property_queue, "fabrics.wire.property-queue", nvme, "property commands go to the admin queue")                                   \
  X(nvme_property_read_only, "fabrics.wire.property-read-only", nvme, "read-only properties are not written")                              \
  X(nvme_property_stable, "fabrics.wire.property-stable", nvme, "CAP and VS do not change")                                                \
  X(nvme_ready_early, "fabrics.wire.ready", nvme, "CSTS.RDY is not set before CC.EN")                                                      \
  X(nvme_event_masked, "nvme.aer.masked-until-read", nvme, "an event is not repeated before its log was read")                             \
  X(tcp_type, "tcp.wire.type", tcp, "a PDU has a type of its direction")                                                                   \
  X(tcp_hlen, "tcp.wire.hlen", tcp, "HLEN is that of the type")                                                                            \
  X(tcp_plen, "tcp.wire.plen", tcp, "PLEN is the sum of the parts")                                                                        \
  X(tcp_pdo, "tcp.wire.pdo", tcp, "data begins where the alignment asks for it")                                                           \
  X(tcp_flags, "tcp.wire.flags", tcp, "flags belong to the type, digest flags to what was agreed")                                         \
  X(tcp_hdgst, "tcp.wire.hdgst", tcp, "the header digest is right")                                                                        \
  X(tcp_ddgst, "tcp.wire.ddgst", tcp, "the data digest is right")                                                                          \
  X(tcp_padding, "tcp.wire.padding", tcp, "padding is zero")                                                                               \
  X(tcp_icreq_first, "tcp.host.icreq.first", tcp, "ICReq comes first, and ICResp is waited for")                                           \
  X(tcp_icreq_once, "tcp.host.icreq.once", tcp, "ICReq comes once")                                                                        \
  X(tcp_icreq_fields, "tcp.host.icreq.shape", tcp, "ICReq has PFV 0, HPDA up to 31 and its reserved bytes 0")                              \
  X(tcp_icresp_fields, "tcp.icresp.shape", tcp, "ICResp has PFV 0, CPDA up to 31 and its reserved bytes 0")                                \
  X(tcp_icresp_maxh2cdata, "tcp.icresp.maxh2cdata", tcp, "MAXH2CDATA is at least 4096 and whole dwords")                                   \
  X(tcp_icresp_digests, "tcp.icresp.digest-unasked", tcp, "only digests that were asked for are on")                                       \
  X(tcp_icresp_order, "tcp.icresp.shape", tcp, "ICResp answers ICReq, comes once and before anything else")                                \
  X(tcp_after_termreq, "tcp.wire.termreq-last", tcp, "nothing follows a TermReq")                                                          \
  X(tcp_r2t_command, "tcp.r2t.cccid", tcp, "an R2T is for an outstanding command that writes")                                             \
  X(tcp_r2t_range, "tcp.r2t.covers", tcp, "R2Ts ask for the command's data, in order")                                                     \
  X(tcp_r2t_limit, "tcp.r2t.limit", tcp, "no more R2Ts of a command are open than the host takes")                                         \
  X(tcp_r2t_reserved, "tcp.r2t.reserved", tcp, "the reserved bytes of an R2T are 0")                                                       \
  X(tcp_h2c_reserved, "tcp.host.h2cdata.reserved", tcp, "the reserved bytes of H2CData are 0")                                             \
  X(tcp_c2h_reserved, "tcp.c2hdata.reserved", tcp, "the reserved bytes of C2HData are 0")                                                  \
  X(tcp_h2c_unasked, "tcp.host.h2cdata.after-r2t", tcp, "H2CData answers an R2T, with its tags")                                           \
  X(tcp_h2c_range, "tcp.host.h2cdata.r2tl", tcp, "H2CData stays within its R2T")                                                           \
  X(tcp_h2c_order, "tcp.host.h2cdata.contiguous", tcp, "DATAO of H2CData goes on where the last one ended")                                \
  X(tcp_h2c_last, "tcp.host.h2cdata.last", tcp, "LAST_PDU ends the data of an R2T, and nothing else does")                                 \
  X(tcp_h2c_limit, "tcp.host.h2cdata.maxh2cdata", tcp, "an H2CData has no more data than MAXH2CDATA")                                      \
  X(tcp_c2h_command, "tcp.c2hdata.contiguous", tcp, "C2HData is for an outstanding command that reads")                                    \
  X(tcp_c2h_order, "tcp.c2hdata.contiguous", tcp, "DATAO of C2HData goes on where the last one ended")                                     \
  X(tcp_c2h_range, "tcp.c2hdata.contiguous", tcp, "C2HData stays within the command's data")                                               \
  X(tcp_c2h_last, "tcp.c2hdata.last", tcp, "LAST_PDU is set once, on the last C2HData")                                                    \
  X(tcp_success_alone, "tcp.success.alone", tcp, "SUCCESS comes with LAST_PDU and without a response")                                     \
  X(tcp_success_flow, "tcp.success.flow-control", tcp, "SUCCESS is for queues without flow control")                                       \
  X(tcp_capsule_data, "tcp.host.sgl.in-capsule", tcp, "a capsule carries the data that its SGL says")                                      \
  X(tcp_answers_header_digest, "tcp.digest.header.wrong", tcp, "a connection ends with a C2HTermReq after a wrong header digest")          \
  X(tcp_answers_capsule_digest, "tcp.digest.data.wrong-capsule", tcp,                                                                      \
    "a wrong data digest of a capsule fails its command, and nothing else")                                                                \
  X(tcp_answers_h2c_digest, "tcp.digest.data.wrong-h2cdata", tcp, "a wrong data digest of an H2CData fails its command, and nothing else") \
  X(tcp_answers_transfer_tag, "tcp.h2cdata.ttag", tcp, "a connection ends with a C2HTermReq after a transfer tag that no R2T gave")        \
  X(mctp_version, "mctp.packet.version", mctp, "the header version is 1")                                                                  \
  X(mctp_reserved, "mctp.packet.reserved", mctp, "reserved bits of the header are 0")                                                      \
  X(mctp_eid, "mctp.wire.eid", mctp, "the source of a packet is no broadcast EID")                                                         \
  X(mctp_assigned_eid, "mctp.bus.eid.range", mctp, "an EID that is assigned is from 8 to 254")                                             \
  X(mctp_start, "mctp.packet.start-end", mctp, "a message begins with SOM and is ended before another begins")                             \
  X(mctp_sequence, "mctp.packet.sequence", mctp, "the sequence number goes up by one")                                                     \
  X(mctp_unit, "mctp.packet.unit.sent", mctp, "all packets but the last are of one size, none is empty")                                   \
  X(mctp_answer, "mctp.wire.request", mctp, "an answer has the tag of an open request")                                                    \
  X(mctp_control_one, "mctp.control.packet", mctp, "a control message is one packet without integrity bit")                                \
  X(mctp_control_bits, "mctp.control.response-bits", mctp, "Rq says what the tag owner bit says")                                          \
  X(mctp_control_instance, "mctp.control.instance", mctp, "a control answer has the instance of its request")                              \
  X(mctp_control_command, "mctp.control.command", mctp, "a control answer has the command of its request")                                 \
  X(mi_integrity, "mi.message.mic.sent", mi, "a message ends with its check, and says so")                                                 \
  X(mi_direction, "mi.message.ror", mi, "ROR says what the tag owner bit says")                                                            \
  X(mi_kind, "mi.message.nmimt", mi, "an answer is of the kind of its request")                                                            \
  X(mi_slot, "mi.message.csi", mi, "an answer names the slot of its request")                                                              \
  X(mi_size, "mi.message.size", mi, "a message has its header, and an answer eight bytes")                                                 \
  X(mi_reserved, "mi.message.reserved", mi, "reserved bits of an answer's header are 0")                                                   \
  X(mi_status, "mi.error.status", mi, "a status is one that exists")                                                                       \
  X(mi_one_command, "mi.requester.slot.one-command", mi, "a slot gets no command before its last one is answered")                         \
  X(mi_more_once, "mi.mpr.once", mi, "More Processing Required comes once")                                                                \
  X(mi_more_form, "mi.mpr.form", mi, "More Processing Required has eight bytes and is no answer to a primitive")                           \
  X(mi_primitive_tag, "mi.primitive.tag", mi, "a primitive's answer has the tag of its request")                                           \
  X(oracle_smart, "oracle.smart.counters", oracle,                                                                                         \
    "the counters of the SMART log grow by the commands and the data that crossed the wire")                                               \
  X(oracle_data, "oracle.data.read-back", oracle, "a Read returns what was written last")                                                  \
  X(oracle_compare, "oracle.data.compare", oracle, "Compare succeeds where the data is the same, and there alone")                         \
  X(oracle_error_order, "oracle.error-log.order", oracle, "error log entries are newest first")                                            \
  X(oracle_error_entry, "oracle.error-log.entry", oracle, "an error log entry is about a command that failed")                             \
  X(oracle_error_missing, "oracle.error-log.missing", oracle, "a command that fails with More has an error log entry")                     \
  X(oracle_error_count, "oracle.error-log.count", oracle, "the SMART log counts the error log entries")                                    \
  X(oracle_dwords, "oracle.completion.dwords", oracle, "dwords that a command does not use are 0")                                         \
  X(oracle_identify_agrees, "oracle.identify.agrees", oracle, "Identify structures about one thing agree")                                 \
  X(oracle_identify_controller, "oracle.identify.controller", oracle, "Identify Controller is that of the controller")                     \
  X(oracle_identify_namespace, "oracle.identify.namespace", oracle, "the fields of Identify Namespace fit each other")                     \
  X(oracle_identify_active, "oracle.identify.active", oracle, "Identify Namespace is filled in for active namespaces")                     \
  X(oracle_identify_list, "oracle.identify.list", oracle, "identifiers of a list ascend from behind its start")                            \
  X(oracle_mdts, "oracle.claims.mdts", oracle, "no transfer above MDTS succeeds")                                                          \
  X(oracle_namespace_exists, "oracle.claims.namespace", oracle, "active namespaces are served, and no others")                             \
  X(oracle_lba_range, "oracle.claims.lba-range", oracle, "blocks up to NSZE are served, and no others")                                    \
  X(oracle_block_size, "oracle.claims.block-size", oracle, "Read returns blocks of the size of the format")                                \
  X(oracle_features, "oracle.features.value", oracle, "Get Features returns what was set")                                                 \
  X(oracle_features_default, "oracle.features.default", oracle, "the default of a feature does not change")                                \
  X(oracle_features_saved, "oracle.features.saved", oracle, "the saved value of a feature is the one that was saved")                      \
  X(oracle_features_reset, "oracle.features.reset", oracle, "a Controller Reset restores the saved value, or else the default")            \
  X(oracle_event_enabled, "oracle.events.enabled", oracle, "only events that are enabled are reported")                                    \
  X(oracle_event_limit, "oracle.events.limit", oracle, "as many event requests as AERL allows are held, and no more")                      \
  X(oracle_ana, "oracle.logs.ana", oracle, "change counts of the ANA log grow where a group has changed")                                  \
  X(oracle_discovery, "oracle.logs.discovery", oracle, "records of the discovery log change with GENCTR alone")                            \
  X(oracle_log_supported, "oracle.logs.supported", oracle, "log pages are answered as Supported Log Pages says")                           \
  X(oracle_effects, "oracle.logs.effects", oracle, "opcodes are taken as Commands Supported and Effects says")                             \
  X(oracle_abort, "oracle.abort.result", oracle, "Abort says that a command was aborted where it was, and there alone")                    \
  X(oracle_nuse, "oracle.capacity.nuse", oracle, "NUSE counts at least the blocks that were written")                                      \
  X(oracle_reservation_report, "oracle.reservations.report", oracle,                                                                       \
    "Reservation Report has the registrants and holder that commands made")                                                                \
  X(oracle_reservation_generation, "oracle.reservations.generation", oracle, "GEN changes with the registrants, and with them alone")      \
  X(oracle_reservation_keys, "oracle.reservations.keys", oracle, "reservation commands succeed or conflict by registrants and holder")     \
  X(oracle_reservation_access, "oracle.reservations.access", oracle, "hosts have the access that the reservation leaves them")             \
  X(oracle_zone_state, "oracle.zones.state", oracle, "zones have the states and write pointers that commands made")                        \
  X(oracle_zone_write, "oracle.zones.write", oracle, "writes to a zone succeed at its write pointer, and there alone")                     \
  X(oracle_zone_report, "oracle.zones.report", oracle, "a report of zones has those that were asked for")                                  \
  X(oracle_zone_resources, "oracle.zones.resources", oracle, "as many zones are open and active as is claimed")                            \
  X(oracle_firmware_slots, "oracle.firmware.slots", oracle, "firmware slots change by commits and activations alone")                      \
  X(oracle_firmware_running, "oracle.firmware.running", oracle, "the running firmware changes by activations alone")                       \
  X(oracle_self_test, "oracle.self-tests.results", oracle, "each self-test adds one result, in front of those before")                     \
  X(oracle_sanitize, "oracle.sanitize.log", oracle, "the sanitize log follows the operations")                                             \
  X(oracle_host_identity, "fabrics.host.connect.io-identity", oracle, "I/O queues connect with the names of their admin queue")            \
  X(oracle_host_cntlid, "fabrics.host.connect.io-cntlid", oracle, "I/O queues connect to the controller of their admin queue")             \
  X(oracle_host_io_kato, "fabrics.host.connect.io-kato", oracle, "KATO is 0 in Connect of an I/O queue")                                   \
  X(oracle_host_queue_size, "fabrics.host.init.queue-size", oracle, "SQSIZE of an I/O queue is at most CAP.MQES")                          \
  X(oracle_host_queue_count, "fabrics.host.init.number-of-queues", oracle, "QIDs of I/O queues are at most the number that was granted")   \
  X(oracle_host_queues_value, "nvme.host.number-of-queues.value", oracle, "Number of Queues does not ask for 65,536 queues")               \
  X(oracle_host_queues_time, "nvme.host.number-of-queues.time", oracle, "Number of Queues is set before the first I/O queue is connected") \
  X(oracle_host_same, "fabrics.host.paths.identity", oracle, "a host has one Host Identifier for all its controllers")                     \
  X(oracle_host_cc, "fabrics.host.init.cc", oracle, "CC selects what CAP offers, and the entry sizes of the NVM command set")              \
  X(oracle_host_cc_rest, "fabrics.host.init.cc-rest", oracle, "CC selects an arbitration that CAP offers, and its reserved bits are 0")    \
  X(oracle_host_ready, "fabrics.host.init.admin-after-ready", oracle, "admin commands follow CSTS.RDY = 1")                                \
  X(oracle_host_reset_order, "fabrics.host.init.reset-order", oracle, "CC.EN is set again after CSTS.RDY = 0")                             \
  X(oracle_host_shutdown, "fabrics.host.shutdown.quiet", oracle, "no command but those of the shutdown follows CC.SHN")                    \
  X(oracle_host_disconnect, "fabrics.host.disconnect.io-only", oracle, "Disconnect is sent on I/O queues of controllers that support it")  \
  X(oracle_host_authenticates, "auth.host.demand.first", oracle, "a queue whose Connect asks for authentication authenticates first")      \
  X(oracle_host_keep_alive, "fabrics.host.keep-alive.sent", oracle, "Keep Alive, or traffic that counts, comes within KATT")               \
  X(oracle_host_reserved, "nvme.host.reserved", oracle, "reserved fields of commands are 0")                                               \
  X(oracle_host_nsid_unused, "nvme.host.nsid.unused", oracle, "NSID is 0 in commands that do not use it")                                  \
  X(oracle_host_nsid, "nvme.host.nsid.active", oracle, "I/O commands have NSIDs of the active namespace list")                             \
  X(oracle_host_lba_range, "nvme.host.lba-range", oracle, "I/O commands stay within NSZE")                                                 \
  X(oracle_host_mdts, "nvme.host.mdts", oracle, "no command transfers more than MDTS allows")                                              \
  X(oracle_host_limits, "nvme.host.command-limits", oracle, "commands keep to WZSL, VSL, WUSL and the limits of Dataset Management")       \
  X(oracle_host_copy_limits, "nvme.host.copy-limits", oracle, "Copy keeps to MSSRL, MCL and MSRC")                                         \
  X(oracle_host_length, "nvme.host.sgl-length", oracle, "descriptors are as long as the data of their command")                            \
  X(oracle_host_no_data, "nvme.host.no-data", oracle, "commands without data describe none")                                               \
  X(oracle_host_optional, "nvme.host.optional-commands", oracle, "optional I/O commands are claimed by the controller")                    \
  X(oracle_host_event_requests, "nvme.host.aer.limit", oracle, "at most AERL + 1 Asynchronous Event Requests are outstanding")             \
  X(oracle_host_events, "nvme.host.aer.claimed", oracle, "notices are enabled that OAES claims")                                           \
  X(oracle_host_abort_names, "nvme.host.abort.names", oracle, "Abort names a command that was sent on a queue of the association")         \
  X(oracle_host_aborts, "nvme.host.abort.limit", oracle, "at most ACL + 1 Aborts are outstanding")                                         \
  X(oracle_host_log_range, "nvme.host.log.extended", oracle, "long logs and log offsets are for controllers with extended data")           \
  X(oracle_host_save, "nvme.host.features.save", oracle, "features are saved on controllers that support it")                              \
  X(oracle_host_capsule_tcp, "tcp.host.capsule.room", oracle, "in-capsule data over TCP fits IOCCSZ, and 8,192 bytes on admin queues")     \
  X(oracle_host_capsule_rdma, "fabrics.host.capsule-size", oracle, "capsules over RDMA fit IOCCSZ, and 64 bytes on admin queues")          \
  X(oracle_host_in_capsule, "fabrics.host.rdma.in-capsule-claimed", oracle, "in-capsule data over RDMA goes to controllers that claim it") \
  X(oracle_host_sgl_tcp, "tcp.host.sgl.transport", oracle, "data over TCP is in the capsule at offset 0, or in a Transport Data Block")    \
  X(oracle_host_sgl_rdma, "fabrics.host.rdma.descriptor", oracle, "data over RDMA has keyed descriptors, or is in the capsule")            \
  X(oracle_host_reference_tag, "nvme.host.protection.reference", oracle, "checked reference tags begin with the LBA for type 1")           \
  X(oracle_host_zones, "nvme.host.zones.boundary", oracle, "no write goes beyond the end of a zone")                                       \
  X(oracle_host_append, "nvme.host.zones.append-limit", oracle, "Zone Append transfers at most ZASL")                                      \
  X(oracle_mctp_identity, "oracle.mctp.identity", oracle, "an MCTP endpoint keeps its EID, UUID, versions and types")                      \
  X(oracle_mi_configuration, "oracle.mi.configuration", oracle, "Configuration Get returns what was set")                                  \
  X(oracle_mi_structures, "oracle.mi.structures", oracle, "NVMe-MI data structures stay as they are")                                      \
  X(oracle_mi_vpd, "oracle.mi.vpd", oracle, "VPD Read returns what was read and written before")                                           \
  X(oracle_mi_buffer, "oracle.mi.buffer", oracle, "Management Endpoint Buffer Read returns what was written")                              \
  X(oracle_mi_flags, "oracle.mi.flags", oracle, "flags and states of an endpoint change as commands and primitives say")                   \
  X(oracle_mi_lengths, "oracle.mi.lengths", oracle, "responses have the length that request and response state")                           \
  X(oracle_mi_limits, "oracle.mi.limits", oracle, "parameters are taken up to the stated limits, and no further")

enum class Rule : std::uint8_t {
#define FB_MONITOR_ENUM(id, requirement, layer, sentence) id,
  FB_MONITOR_RULES(FB_MONITOR_ENUM)
#undef FB_MONITOR_ENUM
};
#define FB_MONITOR_ONE(id, requirement, layer, sentence) +1
inline constexpr std::size_t kRules = 0 FB_MONITOR_RULES(FB_MONITOR_ONE);
#undef FB_MONITOR_ONE

struct RuleFacts {
  std::string_view name;
  std::string_view requirement;
  Layer layer;
  std::string_view sentence;
};

/// By Rule.
std::span<const RuleFacts> catalogue();
const RuleFacts& facts_of(Rule rule);
/// The requirement only recommends: who does not keep to it is told, and breaks nothing.
bool only_advises(Rule rule);
/// Its subject is a fault on the way, and what a controller answers to it.
bool is_answer_to_fault(Rule rule);
/// The oracle's rules on what hosts send.
bool judges_hosts(Rule rule);

}  // namespace fb::monitors
