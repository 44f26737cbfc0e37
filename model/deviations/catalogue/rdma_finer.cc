// What a device does wrong that serves its peers well nearly always: the departures that break the finer rules.
#include "model/deviations/deviation.h"
#include "sim/rdma/softroce/finer_fault_points.h"
#include "wire/rdma/headers.h"

namespace fb::deviations {

namespace point = softroce::finer;

namespace {

/// Atomic acknowledges go out with another syndrome.
struct AtomicsAreNotAcks final : softroce::SoftHooks {
  void packet_out(MutableBytes packet) override {
    if (View<roce::Bth>{packet}.get(roce::bth::opcode) != roce::Opcode::atomic_acknowledge) return;
    MutableView<roce::Aeth>{packet.subspan(roce::Bth::size)}.set(roce::aeth::syndrome, 0x40u);
  }
};
struct AtomicsDoNotCount final : softroce::SoftHooks {
  void packet_out(MutableBytes packet) override {
    if (View<roce::Bth>{packet}.get(roce::bth::opcode) != roce::Opcode::atomic_acknowledge) return;
    MutableView<roce::Aeth> aeth{packet.subspan(roce::Bth::size)};
    aeth.set(roce::aeth::msn, aeth.get(roce::aeth::msn) - 1);
  }
};
/// What an atomic compares with, and what it swaps in, change places.
struct OperandsChangePlaces final : softroce::SoftHooks {
  void packet_out(MutableBytes packet) override {
    const roce::Opcode opcode = View<roce::Bth>{packet}.get(roce::bth::opcode);
    if (opcode != roce::Opcode::compare_and_swap) return;
    MutableView<roce::AtomicEth> eth{packet.subspan(roce::Bth::size)};
    const std::uint64_t swap = eth.get(roce::atomiceth::swapdt);
    eth.set(roce::atomiceth::swapdt, eth.get(roce::atomiceth::cmpdt)).set(roce::atomiceth::cmpdt, swap);
  }
};

}  // namespace

// Packets and receives.
DEVIATION(rdma_answers_datagrams, "rdma.bth.other-transport", Product::rdma, "answers a datagram on a reliable connection",
          Departs{point::kAnswerOtherTransport});
DEVIATION(rdma_deaf_to_gaps_after_rnr, "rdma.rnr.then-gap", Product::rdma, "says nothing on gaps once it had no receive",
          Departs{point::kResponderRnrWaitStays});
DEVIATION(rdma_too_short_is_flushed, "rdma.message.too-long.status", Product::rdma, "a receive that is too short completes as flushed",
          Departs{point::kCompletionTooShortFlushed});
DEVIATION(rdma_fills_last_piece_first, "rdma.message.scatter", Product::rdma, "fills the last piece of a receive first",
          Departs{point::kSgesInReverse});
DEVIATION(rdma_receives_mixed_up, "rdma.completion.receive", Product::rdma, "tells a SEND from a WRITE with immediate the wrong way round",
          Departs{point::kCompletionReceivesMixedUp});
DEVIATION(rdma_receives_of_other_queue, "rdma.completion.receive", Product::rdma, "completions of receives name another queue pair",
          Departs{point::kCompletionOtherQueuePair});
DEVIATION(rdma_receives_end_after_a_round, "rdma.receive.goes-round", Product::rdma, "loses a receive when its queue begins again",
          Departs{point::kCompletionReceivesEndAfterRound});
DEVIATION(rdma_held_receive_is_lost, "rdma.error.receive-held", Product::rdma, "the receive of an unfinished message never comes back",
          Departs{point::kResponderHeldReceiveLost});
DEVIATION(rdma_late_sends_vanish, "rdma.error.posted-later", Product::rdma, "requests that are posted in the error state never complete",
          Departs{point::kCompletionFlushedSendsVanish});
DEVIATION(rdma_late_receives_vanish, "rdma.error.posted-later", Product::rdma, "receives that are posted in the error state never complete",
          Departs{point::kCompletionFlushedReceivesVanish});

// Keys, reads and atomics.
DEVIATION(rdma_region_ends_late, "rdma.key.range.end", Product::rdma, "a region ends a byte late", Departs{point::kResponderRangeOneMore});
DEVIATION(rdma_checks_range_by_packet, "rdma.key.range.whole", Product::rdma, "answers a READ up to the end of the region",
          Departs{point::kResponderRangeByPacket});
DEVIATION(rdma_serves_deregistered, "rdma.key.deregistered", Product::rdma, "serves the key of a region that was deregistered",
          Departs{point::kResponderServesDeregistered});
DEVIATION(rdma_replays_anything, "rdma.read.replay-bounds", Product::rdma, "a duplicate READ may ask for more, and under another key",
          Departs{point::kResponderReplayUnbounded});
DEVIATION(rdma_answers_read_as_atomic, "rdma.read.among-atomics", Product::rdma,
          "answers a READ as an atomic when it remembers it in the place of one", Departs{point::kResponderSlotStaysAtomic});
DEVIATION(rdma_atomic_without_key, "rdma.atomic.key", Product::rdma, "does not check the key of an atomic",
          Departs{point::kResponderAtomicKeyUnchecked});
DEVIATION(rdma_atomic_other_syndrome, "rdma.atomic.response", Product::rdma, "atomic acknowledges have a reserved syndrome",
          hooks<AtomicsAreNotAcks>());
DEVIATION(rdma_atomic_not_counted, "rdma.atomic.response", Product::rdma, "atomics are not counted in the MSN", hooks<AtomicsDoNotCount>());

// The requester.
DEVIATION(rdma_sends_last_piece_first, "rdma.requester.gather", Product::rdma, "sends the last piece of a request first",
          Departs{point::kSgesInReverse});
DEVIATION(rdma_reads_last_piece_first, "rdma.requester.read-scatter", Product::rdma, "fills the last piece of a READ first",
          Departs{point::kSgesInReverse});
DEVIATION(rdma_inline_by_reference, "rdma.requester.inline", Product::rdma, "reads inline data when it sends it",
          Departs{point::kRequesterInlineByReference});
DEVIATION(rdma_atomic_result_swapped, "rdma.requester.atomic", Product::rdma, "stores the original value in the other byte order",
          Departs{point::kRequesterAtomicResultSwapped});
DEVIATION(rdma_atomic_operands_swapped, "rdma.requester.atomic", Product::rdma, "compares with what it should swap in",
          hooks<OperandsChangePlaces>());
DEVIATION(rdma_completes_all_as_sends, "rdma.requester.completion", Product::rdma, "every completion is that of a SEND",
          Departs{point::kCompletionAllSends});
DEVIATION(rdma_completes_for_other_queue, "rdma.requester.completion", Product::rdma, "completions name another queue pair",
          Departs{point::kCompletionOtherQueuePair});
DEVIATION(rdma_reads_are_told_longer, "rdma.requester.completion", Product::rdma, "the completion of a READ tells another length",
          Departs{point::kCompletionReadLonger});
DEVIATION(rdma_requests_end_after_a_round, "rdma.requester.goes-round", Product::rdma, "loses a completion when its queue begins again",
          Departs{point::kCompletionSendsEndAfterRound});
DEVIATION(rdma_partial_ack_skips, "rdma.requester.partial-ack", Product::rdma, "an ACK inside a message acknowledges a packet more",
          Departs{point::kRequesterPartialAckSkips});
DEVIATION(rdma_resends_on_partial_ack, "rdma.requester.early-resend", Product::rdma, "sends the rest again when a part is acknowledged",
          Departs{point::kRequesterResendsOnPartialAck});
DEVIATION(rdma_timer_not_restarted, "rdma.requester.early-resend", Product::rdma, "progress does not restart the timeout",
          Departs{point::kRequesterTimerNotRestarted});
DEVIATION(rdma_retries_not_reloaded, "rdma.requester.retries-reloaded", Product::rdma, "all requests share one count of retries",
          Departs{point::kRequesterRetriesNotReloaded});
DEVIATION(rdma_rnr_retries_not_reloaded, "rdma.requester.rnr-retries-reloaded", Product::rdma,
          "all requests share one count of RNR retries", Departs{point::kRequesterRnrRetriesNotReloaded});
DEVIATION(rdma_seven_is_seven, "rdma.requester.rnr-retry-endless", Product::rdma, "seven RNR retries are seven",
          Departs{point::kRequesterRnrSevenIsFinite});
DEVIATION(rdma_obeys_one_nak, "rdma.requester.sequence-nak-again", Product::rdma, "obeys the first sequence NAK alone",
          Departs{point::kRequesterObeysOneSequenceNak});
DEVIATION(rdma_takes_any_response, "rdma.requester.other-response", Product::rdma, "takes a READ response for an ACK",
          Departs{point::kRequesterTakesAnyResponse});
DEVIATION(rdma_requests_of_any_domain, "rdma.key.local", Product::rdma, "sends from memory of another protection domain",
          Departs{point::kSgesOfAnyDomain});
DEVIATION(rdma_receives_of_any_domain, "rdma.key.local-receive", Product::rdma, "receives into memory of another protection domain",
          Departs{point::kSgesOfAnyDomain});
DEVIATION(rdma_invalidates_by_index, "rdma.key.invalidate-near", Product::rdma,
          "does not compare the low byte of a key that is invalidated", Departs{point::kResponderInvalidatesByIndex});
DEVIATION(rdma_invalidates_any_domain, "rdma.key.invalidate-domain", Product::rdma, "invalidates keys of other protection domains",
          Departs{point::kResponderInvalidatesAnyDomain});

}  // namespace fb::deviations
