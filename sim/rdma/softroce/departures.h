// The named points at which the device can be told to depart from the protocol: each breaks one
// requirement by a small step. Used to prove that a conformance case can fail, and to test peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/rdma/softroce/hooks.h"

namespace fb::softroce {

enum class Departure : std::uint8_t {
  // Packets.
  accept_bad_icrc,
  send_bad_icrc,
  send_wrong_pad_count,
  send_nonzero_pad,
  accept_bad_version,
  accept_bad_qkey,
  answer_too_short,
  number_compared_in_part,
  refuse_migreq_clear,
  icrc_covers_reserved_bits,
  accept_bad_pkey,
  accept_foreign_address,
  answer_unknown_opcode,
  solicited_on_every_packet,
  // Responder: sequence and acknowledgement.
  responder_no_sequence_nak,
  responder_nak_sequence_twice,
  responder_nak_wrong_psn,
  responder_nak_stays_armed,
  responder_duplicate_executed,
  responder_duplicate_not_acked,
  responder_duplicate_acks_own_psn,
  responder_duplicate_ends_message,
  responder_ack_missing,
  responder_msn_not_counted,
  responder_psn_wraps_to_one,
  responder_msn_read_late,
  responder_syndrome_reserved,
  // Responder: messages.
  responder_middle_without_first,
  responder_first_inside_message,
  responder_short_middle_accepted,
  responder_empty_last_accepted,
  responder_write_length_unchecked,
  responder_write_stray_byte,
  responder_send_overflow_cut,
  responder_length_counts_pad,
  responder_immediate_byte_swapped,
  responder_write_immediate_no_completion,
  responder_write_completes_receive,
  responder_zero_length_checks_key,
  responder_invalidate_ignored,
  responder_invalidate_not_reported,
  responder_wrong_read_opcode,
  responder_read_stale_data,
  // Responder: rights.
  responder_rkey_unchecked,
  responder_key_byte_unchecked,
  responder_pd_unchecked,
  responder_range_unchecked,
  responder_access_unchecked,
  responder_qp_rights_unchecked,
  responder_wrong_access_nak,
  responder_no_access_nak,
  responder_atomic_alignment_unchecked,
  responder_stays_usable_after_nak,
  responder_flush_missing,
  // Responder: RNR, replay, atomics.
  responder_no_rnr_nak,
  responder_rnr_wrong_timer,
  responder_rnr_then_sequence_nak,
  responder_no_read_replay,
  responder_partial_replay_refused,
  responder_replay_wrong_data,
  responder_late_duplicate_fatal,
  responder_atomic_executed_twice,
  responder_atomic_little_endian,
  responder_atomic_not_stored,
  // Requester.
  requester_ignores_sequence_nak,
  requester_resends_one_packet_only,
  requester_obeys_ghost_ack,
  requester_old_ack_resets_retries,
  requester_ack_completes_one,
  requester_rnr_timer_ignored,
  requester_rnr_timer_halved,
  requester_rnr_retry_one_more,
  requester_retry_one_more,
  requester_retry_one_less,
  requester_timeout_too_early,
  requester_never_times_out,
  requester_read_depth_ignored,
  requester_fence_ignored,
  requester_read_restarts_from_first,
  requester_no_implied_nak,
  requester_no_ack_request,
  requester_read_takes_one_psn,
  requester_wrong_opcode_sequence,
  requester_short_middle,
  requester_wrong_status,
  requester_stays_usable_after_nak,
  requester_flush_missing,
  requester_flush_out_of_order,
  requester_completes_twice,
};

struct DeparturePoint {
  Departure point;
  std::string_view name;
  std::string_view breaks;  ///< what the product then does wrong
};

/// Every point, in the order of the enumeration.
std::span<const DeparturePoint> soft_departure_points();
std::string_view name_of(Departure point);

/// Asks the hooks. Null hooks are the honest device.
inline bool departs(SoftHooks* hooks, Departure point) {
  return hooks != nullptr && hooks->departs(name_of(point));
}

}  // namespace fb::softroce
