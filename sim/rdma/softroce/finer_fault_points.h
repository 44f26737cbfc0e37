// Further named points at which the device can be told to depart from the protocol: see fault_points.h. Those that few
// sources ask for stand here.
#pragma once

#include <string_view>

#include "base/fault_point.h"
#include "sim/rdma/softroce/qp_core.h"

namespace fb::softroce {

namespace finer {
inline constexpr std::string_view kAnswerOtherTransport = "rc.packet.answer_other_transport";
inline constexpr std::string_view kSgesInReverse = "rc.memory.sges_in_reverse";
inline constexpr std::string_view kResponderRangeOneMore = "rc.responder.range_one_more";
inline constexpr std::string_view kResponderRangeByPacket = "rc.responder.range_by_packet";
inline constexpr std::string_view kResponderServesDeregistered = "rc.responder.serves_deregistered";
inline constexpr std::string_view kResponderAtomicKeyUnchecked = "rc.responder.atomic_key_unchecked";
inline constexpr std::string_view kResponderRnrWaitStays = "rc.responder.rnr_wait_stays";
inline constexpr std::string_view kResponderReplayUnbounded = "rc.responder.replay_unbounded";
inline constexpr std::string_view kResponderSlotStaysAtomic = "rc.responder.slot_stays_atomic";
inline constexpr std::string_view kRequesterObeysOneSequenceNak = "rc.requester.obeys_one_sequence_nak";
inline constexpr std::string_view kRequesterPartialAckSkips = "rc.requester.partial_ack_skips";
inline constexpr std::string_view kRequesterResendsOnPartialAck = "rc.requester.resends_on_partial_ack";
inline constexpr std::string_view kRequesterTakesAnyResponse = "rc.requester.takes_any_response";
inline constexpr std::string_view kRequesterTakesAnyLength = "rc.requester.takes_any_length";
inline constexpr std::string_view kRequesterRnrSevenIsFinite = "rc.requester.rnr_seven_is_finite";
inline constexpr std::string_view kRequesterRnrRetriesNotReloaded = "rc.requester.rnr_retries_not_reloaded";
inline constexpr std::string_view kRequesterRetriesNotReloaded = "rc.requester.retries_not_reloaded";
inline constexpr std::string_view kRequesterTimerNotRestarted = "rc.requester.timer_not_restarted";
inline constexpr std::string_view kRequesterInlineByReference = "rc.requester.inline_by_reference";
inline constexpr std::string_view kRequesterAtomicResultSwapped = "rc.requester.atomic_result_swapped";
inline constexpr std::string_view kCompletionTooShortFlushed = "rc.completion.too_short_flushed";
inline constexpr std::string_view kCompletionReceivesMixedUp = "rc.completion.receives_mixed_up";
inline constexpr std::string_view kCompletionOtherQueuePair = "rc.completion.other_queue_pair";
inline constexpr std::string_view kCompletionAllSends = "rc.completion.all_sends";
inline constexpr std::string_view kCompletionReadLonger = "rc.completion.read_longer";
inline constexpr std::string_view kCompletionFlushedSendsVanish = "rc.completion.flushed_sends_vanish";
inline constexpr std::string_view kCompletionFlushedReceivesVanish = "rc.completion.flushed_receives_vanish";
inline constexpr std::string_view kCompletionSendsEndAfterRound = "rc.completion.sends_end_after_round";
inline constexpr std::string_view kCompletionReceivesEndAfterRound = "rc.completion.receives_end_after_round";
inline constexpr std::string_view kSgesOfAnyDomain = "rc.memory.sges_of_any_domain";
inline constexpr std::string_view kResponderInvalidatesAnyDomain = "rc.responder.invalidates_any_domain";
inline constexpr std::string_view kResponderInvalidatesByIndex = "rc.responder.invalidates_by_index";
inline constexpr std::string_view kResponderHeldReceiveLost = "rc.responder.held_receive_lost";
inline constexpr std::string_view kSolicitedByFirstPacket = "rc.responder.solicited_by_first_packet";
inline constexpr std::string_view kAddressInPart = "rc.packet.address_in_part";
inline constexpr std::string_view kQueueOneShorter = "rc.queue.one_shorter";
inline constexpr std::string_view kInvalidatesAtOnce = "rc.requester.invalidates_at_once";
inline constexpr std::string_view kFastRegionUnbounded = "rc.memory.fast_region_unbounded";
inline constexpr std::string_view kLimitOneEarly = "rc.receive.limit_one_early";
inline constexpr std::string_view kTimeoutZeroEnds = "rc.requester.timeout_zero_ends";
inline constexpr std::string_view kKeyOfAnyQueue = "rc.memory.key_of_any_queue";
inline constexpr std::string_view kOverrunUnnoticed = "rc.completion.overrun_unnoticed";
inline constexpr std::string_view kReplayUnderAnyAddress = "rc.responder.replay_under_any_address";
inline constexpr std::string_view kReplayUnderAnyKey = "rc.responder.replay_under_any_key";
}  // namespace finer

inline constexpr FaultPoint kFinerFaultPoints[] = {
    {finer::kAnswerOtherTransport, "answers a packet of another transport service"},
    {finer::kSgesInReverse, "goes through the pieces of a work request from the last to the first"},
    {finer::kResponderRangeOneMore, "a region ends a byte late"},
    {finer::kResponderRangeByPacket, "checks the range of a message packet by packet"},
    {finer::kResponderServesDeregistered, "serves the key of a region that is not registered any more"},
    {finer::kResponderAtomicKeyUnchecked, "does not check the key of an atomic"},
    {finer::kResponderRnrWaitStays, "is silent on gaps after an RNR NAK, also when the request has come again"},
    {finer::kResponderReplayUnbounded, "repeats a READ under any key and of any length"},
    {finer::kResponderSlotStaysAtomic, "answers a READ as an atomic whose place it takes"},
    {finer::kRequesterObeysOneSequenceNak, "waits for the timer after every sequence NAK but the first"},
    {finer::kRequesterPartialAckSkips, "an ACK inside a message acknowledges one packet more"},
    {finer::kRequesterResendsOnPartialAck, "an ACK of some requests has the others sent again"},
    {finer::kRequesterTakesAnyResponse, "takes a response of another kind for an ACK"},
    {finer::kRequesterTakesAnyLength, "takes READ responses of any place and length"},
    {finer::kRequesterRnrSevenIsFinite, "seven RNR retries are seven"},
    {finer::kRequesterRnrRetriesNotReloaded, "progress does not reload the RNR retry counter"},
    {finer::kRequesterRetriesNotReloaded, "progress does not reload the retry counter"},
    {finer::kRequesterTimerNotRestarted, "progress does not restart the ACK timeout"},
    {finer::kRequesterInlineByReference, "reads inline data when it is sent"},
    {finer::kRequesterAtomicResultSwapped, "stores the result of an atomic in the other byte order"},
    {finer::kCompletionTooShortFlushed, "a receive that is too short completes as flushed"},
    {finer::kCompletionReceivesMixedUp, "receives of SENDs and of WRITEs are taken for each other"},
    {finer::kCompletionOtherQueuePair, "completions name another queue pair"},
    {finer::kCompletionAllSends, "every completion of a request is that of a SEND"},
    {finer::kCompletionReadLonger, "the completion of a READ tells another length"},
    {finer::kCompletionFlushedSendsVanish, "flushed requests do not complete"},
    {finer::kCompletionFlushedReceivesVanish, "flushed receives do not complete"},
    {finer::kCompletionSendsEndAfterRound, "the 65th request does not complete"},
    {finer::kCompletionReceivesEndAfterRound, "the 65th receive does not complete"},
    {finer::kSgesOfAnyDomain, "uses local memory under keys of other protection domains"},
    {finer::kResponderInvalidatesAnyDomain, "a SEND invalidates keys of other protection domains"},
    {finer::kResponderInvalidatesByIndex, "a SEND invalidates a region whatever the low byte of the key"},
    {finer::kResponderHeldReceiveLost, "the receive of an unfinished message does not come back"},
    {finer::kSolicitedByFirstPacket, "a message of several packets solicits no event"},
    {finer::kAddressInPart, "compares the last byte of the peer's address alone"},
    {finer::kQueueOneShorter, "a queue takes one request less than it was created for"},
    {finer::kInvalidatesAtOnce, "a local invalidation does not wait for the requests before it"},
    {finer::kFastRegionUnbounded, "a fast registration may be larger than its region"},
    {finer::kLimitOneEarly, "a shared receive queue reports its limit one receive too early"},
    {finer::kTimeoutZeroEnds, "an ACK timeout of 0 is a short one"},
    {finer::kKeyOfAnyQueue, "the key of one queue pair is good for all"},
    {finer::kOverrunUnnoticed, "completions that a full queue does not take are lost"},
    {finer::kReplayUnderAnyAddress, "a duplicate READ is answered whatever address it names"},
    {finer::kReplayUnderAnyKey, "a duplicate READ is answered whatever key it names"},
};

inline bool departs(SoftHooks* hooks, std::string_view point) { return hooks != nullptr && hooks->departs(point); }
inline bool departs(const QpCore& core, std::string_view point) { return departs(core.s.hooks, point); }

}  // namespace fb::softroce
