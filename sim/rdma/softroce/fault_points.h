// The named points at which the device can be told to depart from the protocol: each breaks one
// requirement by a small step. Used to prove that a conformance case can fail, and to test peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/fault_point.h"
#include "sim/rdma/softroce/hooks.h"

namespace fb::softroce {

// clang-format off

/// Every point: enumerator, name, what the product then does wrong.
#define FB_SOFT_FAULT_POINTS(X)                                                                                                           \
  /* Packets. */                                                                                                                          \
  X(accept_bad_icrc, "rc.packet.accept_bad_icrc", "executes packets whose ICRC is wrong")                                                 \
  X(send_bad_icrc, "rc.packet.send_bad_icrc", "sends packets with a wrong ICRC")                                                          \
  X(send_wrong_pad_count, "rc.packet.wrong_pad_count", "PadCnt does not make the payload a multiple of 4")                                \
  X(send_nonzero_pad, "rc.packet.nonzero_pad", "pad bytes are not zero")                                                                  \
  X(accept_bad_version, "rc.packet.accept_bad_version", "executes packets whose TVer is not 0")                                           \
  X(accept_bad_qkey, "rc.packet.accept_bad_qkey", "processes MADs with another Q_Key")                                                    \
  X(answer_too_short, "rc.packet.answer_too_short", "answers a packet that is too short for its opcode with a NAK")                       \
  X(number_compared_in_part, "rc.packet.number_compared_in_part", "finds queue pairs by the low bits of their number alone")              \
  X(refuse_migreq_clear, "rc.packet.refuse_migreq_clear", "drops packets with MigReq 0")                                                  \
  X(icrc_covers_reserved_bits, "rc.packet.icrc_covers_reserved_bits",                                                                     \
    "computes the ICRC over the reserved bits beside the congestion marks")                                                               \
  X(accept_bad_pkey, "rc.packet.accept_bad_pkey", "executes packets of a foreign partition")                                              \
  X(accept_foreign_address, "rc.packet.accept_foreign_address", "executes packets from an address that is not the peer's")                \
  X(answer_unknown_opcode, "rc.packet.answer_unknown_opcode", "answers an unknown opcode with a NAK instead of dropping it")              \
  X(solicited_on_every_packet, "rc.packet.solicited_always", "sets SE on every packet")                                                   \
  /* Responder: sequence and acknowledgement. */                                                                                          \
  X(responder_no_sequence_nak, "rc.responder.no_sequence_nak", "stays silent on a PSN gap")                                               \
  X(responder_nak_sequence_twice, "rc.responder.nak_sequence_twice", "sends a sequence NAK for every packet behind a gap")                \
  X(responder_nak_wrong_psn, "rc.responder.nak_wrong_psn", "the sequence NAK does not name the expected PSN")                             \
  X(responder_nak_stays_armed, "rc.responder.nak_stays_armed", "a second gap, after recovery from a first, is not reported")              \
  X(responder_duplicate_executed, "rc.responder.duplicate_executed", "executes a duplicate SEND or WRITE again")                          \
  X(responder_duplicate_not_acked, "rc.responder.duplicate_not_acked", "does not acknowledge duplicates")                                 \
  X(responder_duplicate_acks_own_psn, "rc.responder.duplicate_acks_own_psn",                                                              \
    "acknowledges a duplicate with its own PSN instead of the newest")                                                                    \
  X(responder_duplicate_ends_message, "rc.responder.duplicate_ends_message", "a duplicate inside a message makes it forget the message")  \
  X(responder_ack_missing, "rc.responder.ack_missing", "does not acknowledge requests with AckReq")                                       \
  X(responder_msn_not_counted, "rc.responder.msn_not_counted", "MSN stays 0")                                                             \
  X(responder_psn_wraps_to_one, "rc.responder.psn_wraps_to_one", "expects PSN 1 after PSN FFFFFFh")                                       \
  X(responder_msn_read_late, "rc.responder.msn_read_late", "counts a read in the MSN at its end instead of its start")                    \
  X(responder_syndrome_reserved, "rc.responder.syndrome_reserved", "acknowledges with a reserved AETH syndrome")                          \
  /* Responder: messages. */                                                                                                              \
  X(responder_middle_without_first, "rc.responder.middle_without_first", "accepts Middle and Last without First")                         \
  X(responder_first_inside_message, "rc.responder.first_inside_message", "accepts First and Only inside a message")                       \
  X(responder_short_middle_accepted, "rc.responder.short_middle_accepted",                                                                \
    "accepts SEND First and Middle packets that are not of path MTU size")                                                                \
  X(responder_empty_last_accepted, "rc.responder.empty_last_accepted", "accepts a SEND Last packet without payload")                      \
  X(responder_write_length_unchecked, "rc.responder.write_length_unchecked", "does not hold WRITE packets against the length in the RETH")\
  X(responder_write_stray_byte, "rc.responder.write_stray_byte", "RDMA WRITE stores a wrong byte")                                        \
  X(responder_send_overflow_cut, "rc.responder.send_overflow_cut", "a SEND longer than the receive is cut and acknowledged")              \
  X(responder_length_counts_pad, "rc.responder.length_counts_pad", "the length in a receive completion counts the pad")                   \
  X(responder_immediate_byte_swapped, "rc.responder.immediate_byte_swapped", "delivers immediate data in the wrong byte order")           \
  X(responder_write_immediate_no_completion, "rc.responder.write_immediate_no_completion", "no completion for RDMA WRITE with immediate") \
  X(responder_write_completes_receive, "rc.responder.write_completes_receive", "a plain RDMA WRITE takes a receive")                      \
  X(responder_zero_length_checks_key, "rc.responder.zero_length_checks_key", "checks the R_Key of a WRITE or READ of length 0")           \
  X(responder_invalidate_ignored, "rc.responder.invalidate_ignored", "SEND with invalidate leaves the key valid")                         \
  X(responder_invalidate_not_reported, "rc.responder.invalidate_not_reported", "the completion does not name the invalidated key")        \
  X(responder_wrong_read_opcode, "rc.responder.wrong_read_opcode", "a single read response is sent as Last instead of Only")              \
  X(responder_read_stale_data, "rc.responder.read_wrong_data", "read responses carry a wrong byte")                                       \
  /* Responder: rights. */                                                                                                                \
  X(responder_rkey_unchecked, "rc.responder.rkey_unchecked", "acknowledges RDMA WRITE under a key it does not know")                      \
  X(responder_key_byte_unchecked, "rc.responder.key_byte_unchecked", "does not look at the low byte of keys")                             \
  X(responder_pd_unchecked, "rc.responder.pd_unchecked", "accepts keys of another protection domain")                                     \
  X(responder_range_unchecked, "rc.responder.range_unchecked", "accepts addresses outside the region")                                    \
  X(responder_access_unchecked, "rc.responder.access_unchecked", "ignores the rights of a region")                                        \
  X(responder_qp_rights_unchecked, "rc.responder.qp_rights_unchecked", "ignores the rights of the queue pair")                            \
  X(responder_wrong_access_nak, "rc.responder.wrong_access_nak", "answers key violations with invalid request")                           \
  X(responder_no_access_nak, "rc.responder.no_access_nak", "goes into error without a NAK on key violations")                             \
  X(responder_atomic_alignment_unchecked, "rc.responder.atomic_alignment_unchecked", "executes atomics at unaligned addresses")           \
  X(responder_stays_usable_after_nak, "rc.responder.stays_usable_after_nak", "the queue pair goes on after a fatal NAK")                  \
  X(responder_flush_missing, "rc.responder.flush_missing", "posted receives vanish in the error state instead of being flushed")          \
  /* Responder: RNR, replay, atomics. */                                                                                                  \
  X(responder_no_rnr_nak, "rc.responder.no_rnr_nak", "drops silently what it has no receive for")                                         \
  X(responder_rnr_wrong_timer, "rc.responder.rnr_wrong_timer", "RNR NAK with another timer code than configured")                         \
  X(responder_rnr_then_sequence_nak, "rc.responder.rnr_then_sequence_nak", "sequence NAKs for packets behind an RNR NAK")                 \
  X(responder_no_read_replay, "rc.responder.no_read_replay", "ignores duplicate READ requests")                                           \
  X(responder_partial_replay_refused, "rc.responder.partial_replay_refused", "ignores READ requests for the rest of a read")              \
  X(responder_replay_wrong_data, "rc.responder.replay_wrong_data", "a replayed read carries a wrong byte")                                \
  X(responder_late_duplicate_fatal, "rc.responder.late_duplicate_fatal",                                                                  \
    "a duplicate of an answered READ whose region is gone ends the queue pair")                                                           \
  X(responder_atomic_executed_twice, "rc.responder.atomic_executed_twice", "executes a duplicate atomic again")                           \
  X(responder_atomic_little_endian, "rc.responder.atomic_little_endian", "the original value of an atomic is sent little-endian")         \
  X(responder_atomic_not_stored, "rc.responder.atomic_not_stored", "atomics do not change memory")                                        \
  /* Requester. */                                                                                                                        \
  X(requester_ignores_sequence_nak, "rc.requester.ignores_sequence_nak", "waits for the timer after a sequence NAK")                      \
  X(requester_resends_one_packet_only, "rc.requester.resends_one_packet_only", "after a sequence NAK sends only the missing packet again")\
  X(requester_obeys_ghost_ack, "rc.requester.obeys_ghost_ack", "takes an ACK beyond the last PSN sent as an ACK of everything")           \
  X(requester_old_ack_resets_retries, "rc.requester.old_ack_resets_retries", "an ACK of old PSNs reloads the retry counter")              \
  X(requester_ack_completes_one, "rc.requester.ack_completes_one", "an ACK of several requests completes the oldest alone")               \
  X(requester_rnr_timer_ignored, "rc.requester.rnr_timer_ignored", "sends again at once after an RNR NAK")                                \
  X(requester_rnr_timer_halved, "rc.requester.rnr_timer_halved", "waits half the time that an RNR NAK asks for")                          \
  X(requester_rnr_retry_one_more, "rc.requester.rnr_retry_one_more", "one RNR retry more than configured")                                \
  X(requester_retry_one_more, "rc.requester.retry_one_more", "one retry more than configured")                                            \
  X(requester_retry_one_less, "rc.requester.retry_one_less", "one retry less than configured")                                            \
  X(requester_timeout_too_early, "rc.requester.timeout_too_early", "sends again before the ACK timeout is over")                          \
  X(requester_never_times_out, "rc.requester.never_times_out", "never sends again for want of an answer")                                 \
  X(requester_read_depth_ignored, "rc.requester.read_depth_ignored", "more reads in flight than the peer serves")                         \
  X(requester_fence_ignored, "rc.requester.fence_ignored", "a fenced request does not wait for reads")                                    \
  X(requester_read_restarts_from_first, "rc.requester.read_restarts_wrong",                                                               \
    "asks for the rest of a read without advancing address and length")                                                                   \
  X(requester_no_implied_nak, "rc.requester.no_implied_nak", "a response behind a missing one does not start recovery")                   \
  X(requester_no_ack_request, "rc.requester.no_ack_request", "never sets AckReq")                                                         \
  X(requester_read_takes_one_psn, "rc.requester.read_takes_one_psn", "a READ takes one PSN whatever its length")                          \
  X(requester_wrong_opcode_sequence, "rc.requester.wrong_opcode_sequence", "messages of several packets begin with Middle")               \
  X(requester_short_middle, "rc.requester.short_middle", "First and Middle packets are shorter than the path MTU")                        \
  X(requester_wrong_status, "rc.requester.wrong_status", "a fatal NAK completes with general error")                                      \
  X(requester_stays_usable_after_nak, "rc.requester.stays_usable_after_nak", "goes on sending after a fatal NAK")                         \
  X(requester_flush_missing, "rc.requester.flush_missing", "posted sends vanish in the error state instead of being flushed")             \
  X(requester_flush_out_of_order, "rc.requester.flush_out_of_order", "flushes the newest request first")                                  \
  X(requester_completes_twice, "rc.requester.completes_twice", "every send completes twice")

// clang-format on

enum class Departure : std::uint8_t {
#define FB_SOFT_FAULT_POINT(id, name, breaks) id,
  FB_SOFT_FAULT_POINTS(FB_SOFT_FAULT_POINT)
#undef FB_SOFT_FAULT_POINT
};

/// Every point, in the order of the enumeration.
std::span<const FaultPoint> soft_fault_points();
std::string_view name_of(Departure point);

/// Asks the hooks. Null hooks are the honest device.
inline bool departs(SoftHooks* hooks, Departure point) { return hooks != nullptr && hooks->departs(name_of(point)); }

}  // namespace fb::softroce
