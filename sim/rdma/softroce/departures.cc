#include "sim/rdma/softroce/departures.h"

#include <iterator>

namespace fb::softroce {

namespace {

using D = Departure;

constexpr DeparturePoint kSoftDeparturePoints[] = {
    {D::accept_bad_icrc, "rc.packet.accept_bad_icrc", "executes packets whose ICRC is wrong"},
    {D::send_bad_icrc, "rc.packet.send_bad_icrc", "sends packets with a wrong ICRC"},
    {D::send_wrong_pad_count, "rc.packet.wrong_pad_count", "PadCnt does not make the payload a multiple of 4"},
    {D::send_nonzero_pad, "rc.packet.nonzero_pad", "pad bytes are not zero"},
    {D::accept_bad_version, "rc.packet.accept_bad_version", "executes packets whose TVer is not 0"},
    {D::accept_bad_pkey, "rc.packet.accept_bad_pkey", "executes packets of a foreign partition"},
    {D::accept_foreign_address, "rc.packet.accept_foreign_address", "executes packets from an address that is not the peer's"},
    {D::answer_unknown_opcode, "rc.packet.answer_unknown_opcode", "answers an unknown opcode with a NAK instead of dropping it"},
    {D::solicited_on_every_packet, "rc.packet.solicited_always", "sets SE on every packet"},

    {D::responder_no_sequence_nak, "rc.responder.no_sequence_nak", "stays silent on a PSN gap"},
    {D::responder_nak_sequence_twice, "rc.responder.nak_sequence_twice", "sends a sequence NAK for every packet behind a gap"},
    {D::responder_nak_wrong_psn, "rc.responder.nak_wrong_psn", "the sequence NAK does not name the expected PSN"},
    {D::responder_nak_stays_armed, "rc.responder.nak_stays_armed", "a second gap, after recovery from a first, is not reported"},
    {D::responder_duplicate_executed, "rc.responder.duplicate_executed", "executes a duplicate SEND or WRITE again"},
    {D::responder_duplicate_not_acked, "rc.responder.duplicate_not_acked", "does not acknowledge duplicates"},
    {D::responder_duplicate_acks_own_psn, "rc.responder.duplicate_acks_own_psn", "acknowledges a duplicate with its own PSN instead of the newest"},
    {D::responder_ack_unasked, "rc.responder.ack_unasked", "acknowledges requests without AckReq"},
    {D::responder_ack_missing, "rc.responder.ack_missing", "does not acknowledge requests with AckReq"},
    {D::responder_msn_not_counted, "rc.responder.msn_not_counted", "MSN stays 0"},
    {D::responder_msn_read_late, "rc.responder.msn_read_late", "counts a read in the MSN at its end instead of its start"},
    {D::responder_syndrome_reserved, "rc.responder.syndrome_reserved", "acknowledges with a reserved AETH syndrome"},

    {D::responder_middle_without_first, "rc.responder.middle_without_first", "accepts Middle and Last without First"},
    {D::responder_first_inside_message, "rc.responder.first_inside_message", "accepts First and Only inside a message"},
    {D::responder_short_middle_accepted, "rc.responder.short_middle_accepted", "accepts SEND First and Middle packets that are not of path MTU size"},
    {D::responder_empty_last_accepted, "rc.responder.empty_last_accepted", "accepts a SEND Last packet without payload"},
    {D::responder_write_length_unchecked, "rc.responder.write_length_unchecked", "does not hold WRITE packets against the length in the RETH"},
    {D::responder_write_stray_byte, "rc.responder.write_stray_byte", "RDMA WRITE stores a wrong byte"},
    {D::responder_send_overflow_wrong_nak, "rc.responder.send_overflow_wrong_nak", "a SEND longer than the receive gets remote operational error"},
    {D::responder_immediate_byte_swapped, "rc.responder.immediate_byte_swapped", "delivers immediate data in the wrong byte order"},
    {D::responder_write_immediate_no_completion, "rc.responder.write_immediate_no_completion", "no completion for RDMA WRITE with immediate"},
    {D::responder_write_completes_receive, "rc.responder.write_completes_receive", "a plain RDMA WRITE takes a receive"},
    {D::responder_zero_length_checks_key, "rc.responder.zero_length_checks_key", "checks the R_Key of a WRITE or READ of length 0"},
    {D::responder_invalidate_ignored, "rc.responder.invalidate_ignored", "SEND with invalidate leaves the key valid"},
    {D::responder_invalidate_not_reported, "rc.responder.invalidate_not_reported", "the completion does not name the invalidated key"},
    {D::responder_wrong_read_opcode, "rc.responder.wrong_read_opcode", "a single read response is sent as Last instead of Only"},
    {D::responder_read_stale_data, "rc.responder.read_wrong_data", "read responses carry a wrong byte"},

    {D::responder_rkey_unchecked, "rc.responder.rkey_unchecked", "acknowledges RDMA WRITE under a key it does not know"},
    {D::responder_key_byte_unchecked, "rc.responder.key_byte_unchecked", "does not look at the low byte of keys"},
    {D::responder_pd_unchecked, "rc.responder.pd_unchecked", "accepts keys of another protection domain"},
    {D::responder_range_unchecked, "rc.responder.range_unchecked", "accepts addresses outside the region"},
    {D::responder_access_unchecked, "rc.responder.access_unchecked", "ignores the rights of a region"},
    {D::responder_qp_rights_unchecked, "rc.responder.qp_rights_unchecked", "ignores the rights of the queue pair"},
    {D::responder_wrong_access_nak, "rc.responder.wrong_access_nak", "answers key violations with invalid request"},
    {D::responder_no_access_nak, "rc.responder.no_access_nak", "goes into error without a NAK on key violations"},
    {D::responder_read_limit_unchecked, "rc.responder.read_limit_unchecked", "serves more reads at a time than were agreed"},
    {D::responder_atomic_alignment_unchecked, "rc.responder.atomic_alignment_unchecked", "executes atomics at unaligned addresses"},
    {D::responder_stays_usable_after_nak, "rc.responder.stays_usable_after_nak", "the queue pair goes on after a fatal NAK"},
    {D::responder_flush_missing, "rc.responder.flush_missing", "posted receives vanish in the error state instead of being flushed"},

    {D::responder_no_rnr_nak, "rc.responder.no_rnr_nak", "drops silently what it has no receive for"},
    {D::responder_rnr_wrong_timer, "rc.responder.rnr_wrong_timer", "RNR NAK with another timer code than configured"},
    {D::responder_rnr_then_sequence_nak, "rc.responder.rnr_then_sequence_nak", "sequence NAKs for packets behind an RNR NAK"},
    {D::responder_no_read_replay, "rc.responder.no_read_replay", "ignores duplicate READ requests"},
    {D::responder_partial_replay_refused, "rc.responder.partial_replay_refused", "ignores READ requests for the rest of a read"},
    {D::responder_replay_wrong_data, "rc.responder.replay_wrong_data", "a replayed read carries a wrong byte"},
    {D::responder_atomic_executed_twice, "rc.responder.atomic_executed_twice", "executes a duplicate atomic again"},
    {D::responder_atomic_little_endian, "rc.responder.atomic_little_endian", "the original value of an atomic is sent little-endian"},
    {D::responder_atomic_not_stored, "rc.responder.atomic_not_stored", "atomics do not change memory"},

    {D::requester_ignores_sequence_nak, "rc.requester.ignores_sequence_nak", "waits for the timer after a sequence NAK"},
    {D::requester_resends_one_packet_only, "rc.requester.resends_one_packet_only", "after a sequence NAK sends only the missing packet again"},
    {D::requester_obeys_ghost_ack, "rc.requester.obeys_ghost_ack", "takes an ACK beyond the last PSN sent as an ACK of everything"},
    {D::requester_old_ack_resets_retries, "rc.requester.old_ack_resets_retries", "an ACK of old PSNs reloads the retry counter"},
    {D::requester_rnr_timer_ignored, "rc.requester.rnr_timer_ignored", "sends again at once after an RNR NAK"},
    {D::requester_rnr_timer_halved, "rc.requester.rnr_timer_halved", "waits half the time that an RNR NAK asks for"},
    {D::requester_rnr_retry_one_more, "rc.requester.rnr_retry_one_more", "one RNR retry more than configured"},
    {D::requester_retry_one_more, "rc.requester.retry_one_more", "one retry more than configured"},
    {D::requester_retry_one_less, "rc.requester.retry_one_less", "one retry less than configured"},
    {D::requester_timeout_too_early, "rc.requester.timeout_too_early", "sends again before the ACK timeout is over"},
    {D::requester_never_times_out, "rc.requester.never_times_out", "never sends again for want of an answer"},
    {D::requester_window_ignored, "rc.requester.window_ignored", "sends beyond its window"},
    {D::requester_read_depth_ignored, "rc.requester.read_depth_ignored", "more reads in flight than the peer serves"},
    {D::requester_fence_ignored, "rc.requester.fence_ignored", "a fenced request does not wait for reads"},
    {D::requester_read_restarts_from_first, "rc.requester.read_restarts_wrong", "asks for the rest of a read without advancing address and length"},
    {D::requester_no_implied_nak, "rc.requester.no_implied_nak", "a response behind a missing one does not start recovery"},
    {D::requester_no_ack_request, "rc.requester.no_ack_request", "never sets AckReq"},
    {D::requester_read_takes_one_psn, "rc.requester.read_takes_one_psn", "a READ takes one PSN whatever its length"},
    {D::requester_wrong_opcode_sequence, "rc.requester.wrong_opcode_sequence", "messages of several packets begin with Middle"},
    {D::requester_short_middle, "rc.requester.short_middle", "First and Middle packets are shorter than the path MTU"},
    {D::requester_wrong_status, "rc.requester.wrong_status", "a fatal NAK completes with general error"},
    {D::requester_stays_usable_after_nak, "rc.requester.stays_usable_after_nak", "goes on sending after a fatal NAK"},
    {D::requester_flush_missing, "rc.requester.flush_missing", "posted sends vanish in the error state instead of being flushed"},
    {D::requester_flush_out_of_order, "rc.requester.flush_out_of_order", "flushes the newest request first"},
    {D::requester_completes_twice, "rc.requester.completes_twice", "every send completes twice"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kSoftDeparturePoints); ++i) {
    if (static_cast<std::size_t>(kSoftDeparturePoints[i].point) != i) return false;
  }
  return std::size(kSoftDeparturePoints) == static_cast<std::size_t>(D::requester_completes_twice) + 1;
}
static_assert(in_order(), "the table follows the enumeration");

}  // namespace

std::span<const DeparturePoint> soft_departure_points() { return kSoftDeparturePoints; }

std::string_view name_of(Departure point) {
  return kSoftDeparturePoints[static_cast<std::size_t>(point)].name;
}

}  // namespace fb::softroce
