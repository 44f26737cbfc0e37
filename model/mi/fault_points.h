// Misbehaviours that are not a missing refusal: the places where the models ask their hooks' departs(),
// each with what it breaks.
#pragma once

#include <string_view>

#include "base/fault_point.h"

namespace fb::mi {

// clang-format off

#define FB_MI_ENDPOINT_FAULT_POINTS(X)                                                               \
  X(reply_direction, "mi.reply.ror", "responses say that they are requests")                       \
  X(reply_slot, "mi.reply.csi", "responses name the other command slot")                           \
  X(reply_kind, "mi.reply.nmimt", "responses carry another NMIMT than the request")                \
  X(reply_reserved, "mi.reply.reserved", "reserved bits of the message header are set")            \
  X(reply_type, "mi.reply.type", "responses carry another message type")                           \
  X(error_reserved, "mi.reply.error.reserved", "the reserved bytes of a generic error are set")    \
  X(error_data, "mi.reply.error.data", "an error response carries data")                           \
  X(pel_bit, "mi.reply.pel.bit", "the parameter error location names another bit")                 \
  X(pel_byte, "mi.reply.pel.byte", "the parameter error location names another byte")              \
  X(mic_wrong, "mi.mic.wrong", "a bit of the integrity check is wrong")                            \
  X(mic_zero, "mi.mic.zero", "the integrity check is 0")                                           \
  X(mic_big_endian, "mi.mic.big_endian", "the integrity check is sent high byte first")            \
  X(mic_missing, "mi.mic.missing", "there is no integrity check")                                  \
  X(mic_short_range, "mi.mic.range", "the integrity check leaves out the message header")          \
  X(mpr_missing, "mi.mpr.missing", "a slow command has no More Processing Required")               \
  X(mpr_late, "mi.mpr.late", "More Processing Required comes after three times its limit")         \
  X(mpr_repeated, "mi.mpr.repeated", "More Processing Required is sent again and again")           \
  X(mpr_long, "mi.mpr.size", "More Processing Required is as long as an Admin response")           \
  X(mpr_time_zero, "mi.mpr.time.zero", "More Processing Required gives no time")                   \
  X(mpr_time_short, "mi.mpr.time.short", "More Processing Required gives too short a time")        \
  X(mpr_paused, "mi.mpr.paused", "More Processing Required is sent while paused")                  \
  X(slot_one_ignored, "mi.slot.one", "command slot 1 is not served")                               \
  X(slots_serial, "mi.slot.serial", "a command in one slot keeps the other one waiting")           \
  X(slot_busy_answered, "mi.slot.busy", "a command to a busy slot is answered with an error")      \
  X(slot_stuck, "mi.slot.stuck", "an abandoned message leaves its slot in Receive")                \
  X(gap_needed, "mi.slot.gap", "a command within 1 ms after a response is lost")                   \
  X(state_wrong, "mi.state.idle", "Get State always says Idle")                                    \
  X(flags_never, "mi.state.flags.never", "no error flag is ever set")                              \
  X(flags_not_cleared, "mi.state.flags.stay", "CESF does not clear the error flags")               \
  X(flags_forgotten, "mi.state.flags.lost", "error flags are cleared by being read")               \
  X(pause_ignored, "mi.pause.ignored", "Pause succeeds without effect")                            \
  X(pause_one_slot, "mi.pause.one_slot", "Pause acts on one slot alone")                           \
  X(pause_drops, "mi.pause.drops", "a response that was paused is lost")                           \
  X(pause_silences, "mi.pause.silences", "primitives are not answered while paused")               \
  X(primitive_tag, "mi.primitive.tag", "the answer of a primitive has another TAG")                \
  X(resume_not_paused, "mi.resume.not_paused", "Resume fails when nothing is paused")              \
  X(abort_answers, "mi.abort.answers", "an aborted command is answered all the same")              \
  X(abort_both, "mi.abort.both", "Abort empties both slots")                                       \
  X(abort_result, "mi.abort.result", "Abort says that it had nothing to do")                       \
  X(abort_keeps_replay, "mi.abort.replay", "a response can be replayed after Abort")               \
  X(abort_keeps_pause, "mi.abort.pause", "the pause flag outlives Abort")                          \
  X(replay_nothing, "mi.replay.nothing", "Replay promises a response and sends none")              \
  X(replay_tag, "mi.replay.tag", "replayed packets carry the tag of the first request")            \
  X(replay_whole, "mi.replay.whole", "Replay begins at the first packet whatever RRO says")        \
  X(replay_headless, "mi.replay.header", "a replay from the middle has no message header")         \
  X(replay_other_slot, "mi.replay.slot", "Replay sends the other slot's response")                 \
  X(replay_altered, "mi.replay.altered", "replayed bytes differ from those first sent")            \
  X(replay_keeps_pause, "mi.replay.pause", "the pause flag outlives Replay")                       \
  X(unit_ignored, "mi.unit.ignored", "responses stay at 64 bytes a packet whatever was set")       \
  X(reset_keeps_unit, "mi.reset.unit", "the transmission unit outlives a reset")                   \
  X(reset_keeps_pause, "mi.reset.pause", "the pause flag outlives a reset")                        \
  X(reset_keeps_buffer, "mi.reset.buffer", "the endpoint buffer outlives a reset")                 \
  X(reset_no_flag, "mi.reset.nssro", "a subsystem reset does not set NSSRO")                       \
  X(reset_answers, "mi.reset.answers", "Reset is answered")                                        \
  X(reset_ignored, "mi.reset.ignored", "Reset does nothing")                                       \
  X(link_silences, "mi.link.silences", "nothing is served while PCI Express is down")              \
  X(ds_length, "mi.ds.length", "RDL differs from the data")                                        \
  X(ds_reserved, "mi.ds.reserved", "reserved bytes of data structures are set")                    \
  X(ds_order, "mi.ds.order", "the controller list descends")                                       \
  X(ds_start, "mi.ds.start", "the controller list ignores where it is to begin")                   \
  X(ds_count, "mi.ds.count", "the controller list counts more than it holds")                      \
  X(ds_optional_lies, "mi.ds.optional", "the optional command list names what is not supported")   \
  X(ds_ports, "mi.ds.ports", "one port more is announced than there is")                           \
  X(ds_vendor, "mi.ds.vendor", "Controller Information names another vendor than Identify")        \
  X(health_warning_polarity, "mi.health.sw", "the SMART warnings are not inverted")                \
  X(health_temperature, "mi.health.ctemp", "the temperature is given in kelvins")                  \
  X(health_no_changes, "mi.health.ccs.never", "nothing ever counts as changed")                    \
  X(health_not_cleared, "mi.health.ccs.stays", "CS does not clear the composite status")           \
  X(health_cleared_unasked, "mi.health.ccs.unasked", "the composite status clears itself when read") \
  X(health_clears_wrong_bit, "mi.health.clear.position", "Health Status Change clears by the positions of CCS") \
  X(health_reserved, "mi.health.reserved", "reserved bytes of the polls are set")                  \
  X(poll_filter_ignored, "mi.poll.filter", "INCF, INCPF and INCVF are ignored")                    \
  X(poll_selection_ignored, "mi.poll.selection", "the error selection is ignored")                 \
  X(poll_count, "mi.poll.rent", "RENT is one less than the entries returned")                      \
  X(poll_maximum_ignored, "mi.poll.maxrent.ignored", "more entries than MAXRENT allows")           \
  X(poll_not_cleared, "mi.poll.ccf", "CCF does not clear the changed flags")                       \
  X(poll_smart, "mi.poll.smart", "the poll differs from the SMART log")                            \
  X(config_not_kept, "mi.config.not_kept", "Configuration Set succeeds without effect")            \
  X(vpd_checksum, "mi.vpd.checksum", "the VPD's common header has a wrong checksum")               \
  X(vpd_chunk_shift, "mi.vpd.chunk", "VPD reads behind an odd offset are one byte off")            \
  X(vpd_write_lost, "mi.vpd.write.lost", "VPD Write succeeds and stores nothing")                  \
  X(buffer_not_zeroed, "mi.buffer.rest", "what a response leaves of the buffer is not zeroed")     \
  X(buffer_offset_ignored, "mi.buffer.offset", "buffer reads begin at 0")                          \
  X(admin_offset_ignored, "mi.admin.dofst.ignored", "DOFST is ignored")                            \
  X(admin_offset_refused, "mi.admin.dofst.refused", "any DOFST but 0 is refused")                  \
  X(admin_error_data, "mi.admin.error.data", "a failed Admin command returns data")                \
  X(admin_status_shift, "mi.admin.status", "the NVMe status stands one bit too low")               \
  X(admin_other_controller, "mi.admin.controller", "Admin commands go to the first controller")    \
  X(admin_write_answers, "mi.admin.write.data", "a command with request data returns it")          \
  X(admin_features_open, "mi.admin.features", "prohibited features can be read")                   \
  X(admin_flags_checked, "mi.admin.cflgs", "data without DLENV is refused")                        \
  X(admin_nsid_low, "mi.admin.nsid", "only the low byte of NSID reaches the controller")           \
  X(admin_offset_low, "mi.admin.cdw13", "CDW13 does not reach the controller")                     \
  X(pcie_padding, "mi.pcie.padding", "the padding of PCIe data is not zero")                       \
  X(pcie_offset, "mi.pcie.offset.ignored", "configuration reads begin at 0")                       \
  X(basic_arbitration_stays, "mi.basic.arbitration.stays", "Send Byte FFh does not clear the arbitration bit") \
  X(basic_arbitration_inverted, "mi.basic.arbitration.inverted", "the arbitration bit says that there was contention") \
  X(event_not_sent, "mi.event.never", "events are not reported")                                   \
  X(event_not_repeated, "mi.event.retry.never", "an event without an ACK is not sent again")       \
  X(event_generation, "mi.event.generation", "a repeated event has another generation number")     \
  X(event_after_ack, "mi.event.ack", "events are sent again after their ACK")                      \
  X(event_disabled_sent, "mi.event.disabled", "events are reported that were not enabled")         \
  X(event_paused, "mi.event.paused", "events are sent while paused")                               \
  X(event_tag, "mi.event.tag", "events go out without the tag owner bit")                          \
  X(event_integrity, "mi.event.mic", "events have a wrong integrity check")

#define FB_MI_REQUESTER_FAULT_POINTS(X)                                                              \
  X(requester_tag_shared, "mi.requester.tag", "two requests to an endpoint share a tag")           \
  X(requester_slot_busy, "mi.requester.slot", "a command is sent to a slot that is in use")        \
  X(requester_mic_wrong, "mi.requester.mic", "requests carry a wrong integrity check")             \
  X(requester_reserved, "mi.requester.reserved", "reserved bits of requests are set")              \
  X(requester_mpr_final, "mi.requester.mpr", "More Processing Required is taken for the answer")   \
  X(requester_mpr_impatient, "mi.requester.mpr.time", "the time that More Processing Required gives is not waited") \
  X(requester_mpr_zero, "mi.requester.mpr.zero", "More Processing Required without a time is not waited for") \
  X(requester_mpr_endless, "mi.requester.mpr.endless", "More Processing Required may come for ever")          \
  X(requester_patient, "mi.requester.timeout.never", "a request without an answer is waited for without end")   \
  X(requester_any_mic, "mi.requester.check.mic", "responses with a wrong integrity check are believed")       \
  X(requester_any_type, "mi.requester.check.type", "responses of another message type are believed")          \
  X(requester_any_direction, "mi.requester.check.ror", "requests are taken for responses")                    \
  X(requester_any_kind, "mi.requester.check.nmimt", "responses to another kind of message are believed")      \
  X(requester_any_slot, "mi.requester.check.csi", "responses of the other slot are believed")                 \
  X(requester_any_size, "mi.requester.check.size", "responses that are cut short are believed")               \
  X(requester_any_primitive, "mi.requester.check.tag", "answers to other primitives are believed")            \
  X(requester_any_source, "mi.requester.check.source", "responses of other endpoints are believed")           \
  X(requester_dwords_only, "mi.requester.check.dword", "responses that are no whole number of dwords are refused") \
  X(requester_any_status, "mi.requester.status", "errors are taken for success")                              \
  X(requester_tag_leaks, "mi.requester.tag.leak", "a tag whose answer stayed away is never free again")       \
  X(requester_event_any_mic, "mi.requester.event.mic", "events with a wrong integrity check are believed")    \
  X(requester_event_twice, "mi.requester.event.twice", "an event that is sent again is told again")           \
  X(requester_length, "mi.requester.dlen", "DLEN is not a multiple of 4")                          \
  X(requester_no_ack, "mi.requester.ack", "events are never acknowledged")

namespace departure {
#define FB_DEPARTURE(id, name, breaks) inline constexpr std::string_view id = name;
FB_MI_ENDPOINT_FAULT_POINTS(FB_DEPARTURE)
FB_MI_REQUESTER_FAULT_POINTS(FB_DEPARTURE)
#undef FB_DEPARTURE
}  // namespace departure

inline constexpr FaultPoint kEndpointFaultPoints[] = {
#define FB_DEPARTURE(id, name, breaks) {name, breaks},
FB_MI_ENDPOINT_FAULT_POINTS(FB_DEPARTURE)
#undef FB_DEPARTURE
};
inline constexpr FaultPoint kRequesterFaultPoints[] = {
#define FB_DEPARTURE(id, name, breaks) {name, breaks},
FB_MI_REQUESTER_FAULT_POINTS(FB_DEPARTURE)
#undef FB_DEPARTURE
};

// clang-format on

}  // namespace fb::mi
