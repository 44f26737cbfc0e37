// What a careless requester sends, and makes of the answers.
#include "model/deviations/deviation.h"

namespace fb::deviations {

using softroce::Departure;

DEVIATION(rdma_read_takes_one_psn, "rdma.requester.psn-start", Product::rdma, "a READ takes one PSN whatever its length",
          departs(Departure::requester_read_takes_one_psn));
DEVIATION(rdma_resends_too_early, "rdma.requester.timeout", Product::rdma, "sends again before the timeout is over",
          departs(Departure::requester_timeout_too_early));
DEVIATION(rdma_never_resends, "rdma.requester.timeout", Product::rdma, "never sends again for want of an answer",
          departs(Departure::requester_never_times_out));
DEVIATION(rdma_one_retry_too_many, "rdma.requester.retry-count", Product::rdma, "one retry more than configured",
          departs(Departure::requester_retry_one_more));
DEVIATION(rdma_one_retry_too_few, "rdma.requester.retry-count", Product::rdma, "one retry less than configured",
          departs(Departure::requester_retry_one_less));
DEVIATION(rdma_ignores_sequence_nak, "rdma.requester.sequence-nak", Product::rdma, "waits for its timer after a sequence NAK",
          departs(Departure::requester_ignores_sequence_nak));
DEVIATION(rdma_resends_one_packet, "rdma.requester.sequence-nak", Product::rdma, "sends only the missing packet again after a sequence NAK",
          departs(Departure::requester_resends_one_packet_only));
DEVIATION(rdma_ignores_rnr_timer, "rdma.requester.rnr-wait", Product::rdma, "sends again at once after an RNR NAK",
          departs(Departure::requester_rnr_timer_ignored));
DEVIATION(rdma_halves_rnr_timer, "rdma.requester.rnr-wait", Product::rdma, "waits half the time that an RNR NAK asks for",
          departs(Departure::requester_rnr_timer_halved));
DEVIATION(rdma_one_rnr_retry_too_many, "rdma.requester.rnr-retry", Product::rdma, "one RNR retry more than configured",
          departs(Departure::requester_rnr_retry_one_more));
DEVIATION(rdma_obeys_ghost_acks, "rdma.requester.ghost-ack", Product::rdma, "takes an ACK of what was never sent as an ACK of everything",
          departs(Departure::requester_obeys_ghost_ack));
DEVIATION(rdma_read_restarts_wrong, "rdma.requester.read-lost", Product::rdma, "asks for the rest of a READ under the address of its start",
          departs(Departure::requester_read_restarts_from_first));
DEVIATION(rdma_hides_nak_status, "rdma.requester.nak-status", Product::rdma, "a fatal NAK completes with general error",
          departs(Departure::requester_wrong_status));
DEVIATION(rdma_does_not_flush, "rdma.requester.nak-status", Product::rdma, "posted requests vanish instead of being flushed",
          departs(Departure::requester_flush_missing));
DEVIATION(rdma_flushes_backwards, "rdma.requester.nak-status", Product::rdma, "flushes the newest request first",
          departs(Departure::requester_flush_out_of_order));

}  // namespace fb::deviations
