// What a device and its connection manager do wrong somewhere among all requests, lengths, bits and codes.
#include "model/deviations/deviation.h"
#include "sim/rdma/softroce/cm_fault_points.h"
#include "sim/rdma/softroce/finer_fault_points.h"

namespace fb::deviations {

namespace point = softroce::finer;
using softroce::Departure;

// Requests.
DEVIATION(rdma_any_length_counts_pad, "rdma.request.effect", Product::rdma, "reports the length of a message with its pad",
          departs(Departure::responder_length_counts_pad));
DEVIATION(rdma_any_msn_stays, "rdma.request.effect", Product::rdma, "never counts a message",
          departs(Departure::responder_msn_not_counted));
DEVIATION(rdma_any_stale_read, "rdma.request.pipelined", Product::rdma, "responses carry a wrong byte",
          departs(Departure::responder_read_stale_data));
DEVIATION(rdma_any_duplicate_executed, "rdma.request.repeated", Product::rdma, "executes duplicates",
          departs(Departure::responder_duplicate_executed));
DEVIATION(rdma_any_completion_of_other, "rdma.request.several-connections", Product::rdma, "completions name another queue pair",
          Departs{point::kCompletionOtherQueuePair});
DEVIATION(rdma_any_read_forgotten, "rdma.request.depth", Product::rdma, "does not repeat READ responses",
          departs(Departure::responder_no_read_replay));
DEVIATION(rdma_any_middle_taken, "rdma.message.every-opcode", Product::rdma, "takes a Middle or Last without its First",
          departs(Departure::responder_middle_without_first));
DEVIATION(rdma_any_first_taken, "rdma.message.every-opcode", Product::rdma, "takes a First inside a message",
          departs(Departure::responder_first_inside_message));
DEVIATION(rdma_any_length_taken, "rdma.message.every-length", Product::rdma, "takes SENDs in packets of any length",
          departs(Departure::responder_short_middle_accepted));
DEVIATION(rdma_any_write_length_taken, "rdma.message.every-length", Product::rdma, "takes WRITEs of any length",
          departs(Departure::responder_write_length_unchecked));
DEVIATION(rdma_lives_after_longest, "rdma.message.longest", Product::rdma, "goes on after a message that is too long",
          departs(Departure::responder_stays_usable_after_nak));
DEVIATION(rdma_any_receive_overflows, "rdma.message.receive-border", Product::rdma, "cuts what does not fit into a receive",
          departs(Departure::responder_send_overflow_cut));
DEVIATION(rdma_some_key_bits_count, "rdma.key.every-bit", Product::rdma, "does not compare the low byte of keys",
          departs(Departure::responder_key_byte_unchecked));
DEVIATION(rdma_region_end_open, "rdma.key.both-ends", Product::rdma, "a region ends one byte late", Departs{point::kResponderRangeOneMore});
DEVIATION(rdma_no_right_counts, "rdma.key.every-right", Product::rdma, "ignores the rights of a region",
          departs(Departure::responder_access_unchecked));
DEVIATION(rdma_old_keys_count, "rdma.key.generations", Product::rdma, "takes keys of earlier registrations",
          departs(Departure::responder_key_byte_unchecked));
DEVIATION(rdma_invalidated_keys_count, "rdma.key.generations", Product::rdma, "a SEND with invalidate leaves the key valid",
          departs(Departure::responder_invalidate_ignored));
DEVIATION(rdma_some_number_bits_count, "rdma.bth.every-bit", Product::rdma, "compares queue pair numbers in part",
          departs(Departure::number_compared_in_part));
DEVIATION(rdma_no_partition_bits_count, "rdma.bth.every-bit", Product::rdma, "takes packets of any partition",
          departs(Departure::accept_bad_pkey));
DEVIATION(rdma_no_gap_noticed, "rdma.psn.halves", Product::rdma, "stays silent on gaps", departs(Departure::responder_no_sequence_nak));
DEVIATION(rdma_duplicates_ack_own_psn, "rdma.psn.halves", Product::rdma, "acknowledges the PSN of a duplicate",
          departs(Departure::responder_duplicate_acks_own_psn));

// Work requests.
DEVIATION(rdma_asks_pieces_in_reverse, "rdma.requester.every-request", Product::rdma,
          "takes the pieces of a request from the last to the first", Departs{point::kSgesInReverse});
DEVIATION(rdma_asks_solicit_always, "rdma.requester.every-request", Product::rdma, "every packet solicits an event",
          departs(Departure::solicited_on_every_packet));
DEVIATION(rdma_asks_complete_one, "rdma.requester.pipelined", Product::rdma, "an ACK completes one request",
          departs(Departure::requester_ack_completes_one));
DEVIATION(rdma_asks_reads_anew, "rdma.requester.every-loss", Product::rdma, "asks for the whole READ again when a part is missing",
          departs(Departure::requester_read_restarts_from_first));
DEVIATION(rdma_asks_one_status, "rdma.requester.every-nak", Product::rdma, "every NAK completes alike",
          departs(Departure::requester_wrong_status));
DEVIATION(rdma_asks_complete_twice, "rdma.requester.every-credit", Product::rdma, "requests complete twice",
          departs(Departure::requester_completes_twice));
DEVIATION(rdma_asks_half_rnr_timer, "rdma.requester.every-rnr-timer", Product::rdma, "waits half of the RNR timer",
          departs(Departure::requester_rnr_timer_halved));
DEVIATION(rdma_asks_early, "rdma.requester.every-timeout", Product::rdma, "repeats requests too early",
          departs(Departure::requester_timeout_too_early));
DEVIATION(rdma_asks_once_more, "rdma.requester.every-timeout", Product::rdma, "retries once more than it may",
          departs(Departure::requester_retry_one_more));
DEVIATION(rdma_asks_once_more_after_rnr, "rdma.requester.every-rnr-count", Product::rdma, "retries once more than it may after RNR NAKs",
          departs(Departure::requester_rnr_retry_one_more));
DEVIATION(rdma_asks_takes_any_place, "rdma.requester.every-wrong-response", Product::rdma, "takes READ responses of any place and length",
          Departs{point::kRequesterTakesAnyLength});
DEVIATION(rdma_asks_believes_ghosts, "rdma.requester.every-ghost", Product::rdma, "believes acknowledgements of what it has not sent",
          departs(Departure::requester_obeys_ghost_ack));
DEVIATION(rdma_asks_any_depth, "rdma.requester.every-depth", Product::rdma, "has any number of READs in flight",
          departs(Departure::requester_read_depth_ignored));
DEVIATION(rdma_asks_no_fence, "rdma.requester.every-fence", Product::rdma, "ignores fences", departs(Departure::requester_fence_ignored));
DEVIATION(rdma_asks_completion_of_other, "rdma.requester.several-connections", Product::rdma, "completions name another queue pair",
          Departs{point::kCompletionOtherQueuePair});

// Queues and keys of their own.
DEVIATION(rdma_queue_one_shorter, "rdma.queue.depth", Product::rdma, "takes one request less than a queue was created for",
          Departs{point::kQueueOneShorter});
DEVIATION(rdma_solicited_by_first_packet, "rdma.completion.solicited", Product::rdma, "a message of several packets solicits no event",
          Departs{point::kSolicitedByFirstPacket});
DEVIATION(rdma_overrun_unnoticed, "rdma.completion.overrun", Product::rdma, "loses completions and goes on when a completion queue is full",
          Departs{point::kOverrunUnnoticed});
DEVIATION(rdma_shared_limit_early, "rdma.receive.shared-limit", Product::rdma,
          "reports the limit of a shared receive queue one receive too early", Departs{point::kLimitOneEarly});
DEVIATION(rdma_fast_region_unbounded, "rdma.key.fast-limit", Product::rdma, "registers more memory than a fast region was allocated for",
          Departs{point::kFastRegionUnbounded});
DEVIATION(rdma_timeout_zero_ends, "rdma.requester.timeout-none", Product::rdma, "takes an ACK timeout of 0 for a short one",
          Departs{point::kTimeoutZeroEnds});
DEVIATION(rdma_key_of_any_queue, "rdma.key.one-queue", Product::rdma, "the key of one queue pair is good on all",
          Departs{point::kKeyOfAnyQueue});
DEVIATION(rdma_invalidates_at_once, "rdma.key.invalidate-order", Product::rdma,
          "a local invalidation does not wait for the requests before it", Departs{point::kInvalidatesAtOnce});
DEVIATION(rdma_replay_at_any_address, "rdma.read.replay-bounds", Product::rdma, "answers a duplicate READ whatever address it names",
          Departs{point::kReplayUnderAnyAddress});
DEVIATION(rdma_replay_under_any_key, "rdma.read.replay-bounds", Product::rdma, "answers a duplicate READ whatever key it names",
          Departs{point::kReplayUnderAnyKey});
DEVIATION(rdma_address_in_part, "rdma.bth.address", Product::rdma, "compares the last byte of the peer's address alone",
          Departs{point::kAddressInPart});

// Connection manager.
DEVIATION(cm_any_version, "cm.mad.every-value", Product::cm, "takes MADs of any base version",
          Departs{softroce::cm_departure::kBaseVersionUnchecked});
DEVIATION(cm_any_class, "cm.mad.every-value", Product::cm, "takes MADs of any class", Departs{softroce::cm_departure::kClassUnchecked});
DEVIATION(cm_any_method, "cm.mad.every-value", Product::cm, "takes MADs of any method", Departs{softroce::cm_departure::kMethodUnchecked});
DEVIATION(cm_any_service, "cm.req.every-name", Product::cm, "looks at the port of a service ID alone",
          Departs{softroce::cm_departure::kServiceIdUnchecked});
DEVIATION(cm_any_gid, "cm.req.every-name", Product::cm, "takes REQs for any GID", Departs{softroce::cm_departure::kForeignGidAccepted});
DEVIATION(cm_any_ip_header, "cm.req.every-name", Product::cm, "takes any IP addressing header",
          Departs{softroce::cm_departure::kIpHeaderUnchecked});
DEVIATION(cm_any_transport, "cm.req.every-name", Product::cm, "takes REQs for any transport service",
          Departs{softroce::cm_departure::kTransportUnchecked});
DEVIATION(cm_any_mtu, "cm.req.every-name", Product::cm, "takes any path MTU", Departs{softroce::cm_departure::kMtuUnchecked});
DEVIATION(cm_mtu_one_more, "cm.req.mtu", Product::cm, "takes a path MTU one step beyond the port's",
          Departs{softroce::cm_departure::kMtuOneMore});
DEVIATION(cm_rej_data_cut, "cm.rej.consumer-length", Product::cm, "a REJ carries 140 bytes of private data at most",
          Departs{softroce::cm_departure::kRejectDataCut});
DEVIATION(cm_unanswered_dreq_silent, "cm.dreq.sent.given-up", Product::cm, "does not tell of the end when nobody answers its DREQ",
          Departs{softroce::cm_departure::kUnansweredDreqSilent});
DEVIATION(cm_give_up_keeps_queue_pair, "cm.attempt.flushes", Product::cm, "the queue pair of a REP that nobody answers stays usable",
          Departs{softroce::cm_departure::kGiveUpKeepsQueuePair});
DEVIATION(cm_takes_psns_for_each_other, "cm.req.every-value", Product::cm, "takes the announced starting PSN as its own",
          Departs{softroce::cm_departure::kPsnSwapped});
DEVIATION(cm_any_depth, "cm.req.every-value", Product::cm, "serves more READs than it was asked for",
          Departs{softroce::cm_departure::kDepthNotClamped});
DEVIATION(cm_other_id_in_rep, "cm.req.same-ids", Product::cm, "a REP names another REQ", Departs{softroce::cm_departure::kRepWrongCommId});
DEVIATION(cm_other_transaction_in_rep, "cm.req.several", Product::cm, "REPs have transactions of their own",
          Departs{softroce::cm_departure::kRepTidFresh});
DEVIATION(cm_any_rtu, "cm.ids.every-bit", Product::cm, "takes an RTU of any sender", Departs{softroce::cm_departure::kRtuIdsUnchecked});
DEVIATION(cm_any_dreq, "cm.ids.every-bit", Product::cm, "takes a DREQ of any sender", Departs{softroce::cm_departure::kUnknownDreqObeyed});
DEVIATION(cm_any_dreq_number, "cm.ids.every-bit", Product::cm, "takes a DREQ for any queue pair",
          Departs{softroce::cm_departure::kDreqWrongQpnAccepted});
DEVIATION(cm_any_drep, "cm.drep.ids", Product::cm, "takes a DREP of any sender", Departs{softroce::cm_departure::kDrepIdsUnchecked});
DEVIATION(cm_repeats_early, "cm.rep.every-timeout", Product::cm, "repeats the REP in a quarter of the time",
          Departs{softroce::cm_departure::kResendEarly});
DEVIATION(cm_repeats_once_more, "cm.rep.every-timeout", Product::cm, "repeats the REP once more than it may",
          Departs{softroce::cm_departure::kOneResendTooMany});
DEVIATION(cm_no_mra_delays, "cm.mra.every-timeout", Product::cm, "ignores MRAs", Departs{softroce::cm_departure::kMraIgnored});
DEVIATION(cm_no_rej_ends, "cm.active.every-reason", Product::cm, "ignores REJs of its REQ", Departs{softroce::cm_departure::kRejIgnored});
DEVIATION(cm_takes_own_psn, "cm.active.every-value", Product::cm, "starts with the PSN of its own REQ",
          Departs{softroce::cm_departure::kPsnSwapped});
DEVIATION(cm_any_depth_of_rep, "cm.active.every-value", Product::cm, "has more READs in flight than the REP allows",
          Departs{softroce::cm_departure::kDepthNotClamped});
DEVIATION(cm_any_rep, "cm.active.rep-every-bit", Product::cm, "takes a REP to any REQ", Departs{softroce::cm_departure::kRepIdsUnchecked});
DEVIATION(cm_no_class_port_info, "cm.services.fields", Product::cm, "does not answer Get(ClassPortInfo)",
          Departs{softroce::cm_departure::kClassPortInfoSilent});
// Long messages, shared receives, packets of the connection manager.
DEVIATION(rdma_long_counts_pad, "rdma.message.long", Product::rdma, "reports the length of a message with its pad",
          departs(Departure::responder_length_counts_pad));
DEVIATION(rdma_long_replay_wrong, "rdma.read.long-replay", Product::rdma, "repeats a READ with other bytes",
          departs(Departure::responder_replay_wrong_data));
DEVIATION(rdma_long_resends_one, "rdma.requester.long", Product::rdma, "sends the lost packet again, and none behind it",
          departs(Departure::requester_resends_one_packet_only));
DEVIATION(rdma_shared_no_rnr, "rdma.receive.shared", Product::rdma, "is silent without a receive",
          departs(Departure::responder_no_rnr_nak));
DEVIATION(cm_any_transport_version, "cm.mad.packet", Product::cm, "takes packets of any transport version",
          departs(Departure::accept_bad_version));
DEVIATION(cm_retries_once_more, "cm.req.own-numbers", Product::cm, "sends a request once more than its retries",
          departs(Departure::requester_retry_one_more));

}  // namespace fb::deviations
