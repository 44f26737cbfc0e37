// What a careless responder makes of requests.
#include "model/deviations/deviation.h"

namespace fb::deviations {

using softroce::Departure;

namespace {
/// Asked once for every request with AckReq: the first few are acknowledged.
class StopsAcknowledging final : public softroce::SoftHooks {
 public:
  bool departs(std::string_view point) override {
    return point == softroce::name_of(Departure::responder_ack_missing) && ++asked_ > kFirst;
  }

 private:
  static constexpr unsigned kFirst = 6;
  unsigned asked_ = 0;
};
}  // namespace

// Sequence and acknowledgement.
DEVIATION(rdma_silent_on_gap, "rdma.psn.gap", Product::rdma, "stays silent on a PSN gap", departs(Departure::responder_no_sequence_nak));
DEVIATION(rdma_sequence_nak_each_time, "rdma.psn.gap", Product::rdma, "a sequence NAK for every packet behind a gap",
          departs(Departure::responder_nak_sequence_twice));
DEVIATION(rdma_sequence_nak_wrong_psn, "rdma.psn.gap", Product::rdma, "the sequence NAK does not name the expected PSN",
          departs(Departure::responder_nak_wrong_psn));
DEVIATION(rdma_reports_one_gap_only, "rdma.psn.gap-rearmed", Product::rdma, "a second gap is not reported",
          departs(Departure::responder_nak_stays_armed));
DEVIATION(rdma_duplicate_acks_old_psn, "rdma.psn.duplicate-send", Product::rdma, "acknowledges a duplicate with its own PSN",
          departs(Departure::responder_duplicate_acks_own_psn));
DEVIATION(rdma_executes_duplicates, "rdma.psn.duplicate-write", Product::rdma, "executes a duplicate SEND or WRITE again",
          departs(Departure::responder_duplicate_executed));
DEVIATION(rdma_psn_wraps_to_one, "rdma.psn.wrap", Product::rdma, "expects PSN 1 after PSN FFFFFFh",
          departs(Departure::responder_psn_wraps_to_one));
DEVIATION(rdma_never_acknowledges, "rdma.ack.requested", Product::rdma, "does not acknowledge requests with AckReq, after the first few",
          hooks<StopsAcknowledging>());
DEVIATION(rdma_msn_stays_zero, "rdma.ack.msn", Product::rdma, "the MSN stays 0", departs(Departure::responder_msn_not_counted));

// Messages.
DEVIATION(rdma_length_counts_pad, "rdma.message.sizes", Product::rdma, "the length of a receive counts the pad",
          departs(Departure::responder_length_counts_pad));
DEVIATION(rdma_takes_middle_without_first, "rdma.message.middle-without-first", Product::rdma, "accepts Middle and Last without a First",
          departs(Departure::responder_middle_without_first));
DEVIATION(rdma_takes_first_inside_message, "rdma.message.first-inside", Product::rdma, "accepts First and Only inside a message",
          departs(Departure::responder_first_inside_message));
DEVIATION(rdma_takes_short_first, "rdma.message.first-short", Product::rdma, "accepts First and Middle packets that are not full",
          departs(Departure::responder_short_middle_accepted));
DEVIATION(rdma_cuts_long_sends, "rdma.message.too-long", Product::rdma, "cuts a SEND that is longer than the receive, and acknowledges it",
          departs(Departure::responder_send_overflow_cut));
DEVIATION(rdma_write_length_unchecked, "rdma.write.length-mismatch", Product::rdma,
          "does not hold WRITE packets against the announced length", departs(Departure::responder_write_length_unchecked));
DEVIATION(rdma_empty_write_needs_key, "rdma.write.zero-length", Product::rdma, "checks the key of a WRITE of no bytes",
          departs(Departure::responder_zero_length_checks_key));

// Keys.
DEVIATION(rdma_takes_unknown_keys, "rdma.key.unknown", Product::rdma, "acknowledges a WRITE under a key that it does not know",
          departs(Departure::responder_rkey_unchecked));
DEVIATION(rdma_ignores_key_byte, "rdma.key.unknown", Product::rdma, "does not look at the low byte of keys",
          departs(Departure::responder_key_byte_unchecked));
DEVIATION(rdma_range_unchecked, "rdma.key.range", Product::rdma, "accesses outside of a region",
          departs(Departure::responder_range_unchecked));
DEVIATION(rdma_rights_unchecked, "rdma.key.permission", Product::rdma, "ignores the rights of a region",
          departs(Departure::responder_access_unchecked));
DEVIATION(rdma_domain_unchecked, "rdma.key.protection-domain", Product::rdma, "takes keys of another protection domain",
          departs(Departure::responder_pd_unchecked));
DEVIATION(rdma_ignores_invalidate, "rdma.key.invalidated", Product::rdma, "SEND with invalidate leaves the key valid",
          departs(Departure::responder_invalidate_ignored));

// Reads and atomics.
DEVIATION(rdma_single_response_is_last, "rdma.read.response", Product::rdma, "a single read response is sent as Last",
          departs(Departure::responder_wrong_read_opcode));
DEVIATION(rdma_read_wrong_data, "rdma.read.response", Product::rdma, "read responses carry a wrong byte",
          departs(Departure::responder_read_stale_data));
DEVIATION(rdma_never_replays_reads, "rdma.read.replay", Product::rdma, "ignores a READ that is asked again",
          departs(Departure::responder_no_read_replay));
DEVIATION(rdma_replays_whole_reads_only, "rdma.read.replay", Product::rdma, "ignores a READ for the rest of an earlier one",
          departs(Departure::responder_partial_replay_refused));
DEVIATION(rdma_replays_wrong_data, "rdma.read.replay", Product::rdma, "a replayed READ carries a wrong byte",
          departs(Departure::responder_replay_wrong_data));
DEVIATION(rdma_ends_on_late_duplicate, "rdma.read.late-duplicate", Product::rdma,
          "a late duplicate of a READ whose region is gone ends the queue pair", departs(Departure::responder_late_duplicate_fatal));
DEVIATION(rdma_repeats_atomics, "rdma.atomic.once", Product::rdma, "executes a repeated atomic again",
          departs(Departure::responder_atomic_executed_twice));
DEVIATION(rdma_atomic_wrong_byte_order, "rdma.atomic.once", Product::rdma, "the value of an atomic is sent little-endian",
          departs(Departure::responder_atomic_little_endian));
DEVIATION(rdma_unaligned_atomics, "rdma.atomic.alignment", Product::rdma, "executes atomics at unaligned addresses",
          departs(Departure::responder_atomic_alignment_unchecked));

// No receive, and the end.
DEVIATION(rdma_silent_without_receive, "rdma.rnr.no-receive", Product::rdma, "drops what it has no receive for",
          departs(Departure::responder_no_rnr_nak));
DEVIATION(rdma_rnr_wrong_timer, "rdma.rnr.no-receive", Product::rdma, "an RNR NAK with another timer than configured",
          departs(Departure::responder_rnr_wrong_timer));
DEVIATION(rdma_lives_after_fatal_nak, "rdma.error.qp-dead", Product::rdma, "the queue pair goes on after a fatal NAK",
          departs(Departure::responder_stays_usable_after_nak));

}  // namespace fb::deviations
