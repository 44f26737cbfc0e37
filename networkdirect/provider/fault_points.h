// The points at which the provider can be told to depart from the interface, for ProviderHooks::departs().
#pragma once

#include <string_view>

namespace fb::networkdirect::departure {

// Objects.
inline constexpr std::string_view kUnknownUnanswered = "nd.unknown_unanswered";
inline constexpr std::string_view kOverlappedUnanswered = "nd.overlapped_unanswered";
inline constexpr std::string_view kAnswersAnyInterface = "nd.answers_any_interface";
inline constexpr std::string_view kCreateIgnoresInterface = "nd.create_ignores_interface";
inline constexpr std::string_view kReleaseNotZero = "nd.release_not_zero";
inline constexpr std::string_view kAdapterReleaseEnds = "nd.adapter_release_ends";

// The provider.
inline constexpr std::string_view kShortListTouched = "nd.short_list_touched";
inline constexpr std::string_view kResolveMindsPort = "nd.resolve_minds_port";
inline constexpr std::string_view kResolveAnything = "nd.resolve_anything";
inline constexpr std::string_view kOpensAnyId = "nd.opens_any_id";

// The adapter.
inline constexpr std::string_view kInfoAdapterIdWrong = "nd.info_adapter_id_wrong";
inline constexpr std::string_view kInfoCallerDataSmall = "nd.info_caller_data_small";
inline constexpr std::string_view kInfoReadSgeTooLarge = "nd.info_read_sge_too_large";
inline constexpr std::string_view kInfoThresholdTooLarge = "nd.info_threshold_too_large";
inline constexpr std::string_view kInfoVersionUnchecked = "nd.info_version_unchecked";
inline constexpr std::string_view kDepthUnchecked = "nd.depth_unchecked";
inline constexpr std::string_view kReceiveDepthUnchecked = "nd.receive_depth_unchecked";
inline constexpr std::string_view kInitiatorDepthUnchecked = "nd.initiator_depth_unchecked";
inline constexpr std::string_view kReceiveSgesUnchecked = "nd.receive_sges_unchecked";
inline constexpr std::string_view kInitiatorSgesUnchecked = "nd.initiator_sges_unchecked";
inline constexpr std::string_view kInlineBytesUnchecked = "nd.inline_bytes_unchecked";
inline constexpr std::string_view kQueueNumberWrong = "nd.queue_number_wrong";
inline constexpr std::string_view kMaximaTogetherRefused = "nd.maxima_together_refused";
inline constexpr std::string_view kShallowQueueRefused = "nd.shallow_queue_refused";
inline constexpr std::string_view kSharedDepthUnchecked = "nd.shared_depth_unchecked";
inline constexpr std::string_view kSharedSgesUnchecked = "nd.shared_sges_unchecked";
inline constexpr std::string_view kAffinityRefused = "nd.affinity_refused";
inline constexpr std::string_view kInfoVersionChanged = "nd.info_version_changed";
inline constexpr std::string_view kInfoExactSizeRefused = "nd.info_exact_size_refused";
inline constexpr std::string_view kInfoCalleeDataSmall = "nd.info_callee_data_small";
inline constexpr std::string_view kInfoRegistrationSmall = "nd.info_registration_small";
inline constexpr std::string_view kInfoNotInOrder = "nd.info_not_in_order";
inline constexpr std::string_view kAdapterListEmpty = "nd.adapter_list_empty";
inline constexpr std::string_view kResultForgotten = "nd.result_forgotten";
inline constexpr std::string_view kResultPendingForgotten = "nd.result_pending_forgotten";
inline constexpr std::string_view kResultElsewhereUnknown = "nd.result_elsewhere_unknown";
inline constexpr std::string_view kWaitIgnored = "nd.wait_ignored";
inline constexpr std::string_view kInlineTold = "nd.inline_told";
inline constexpr std::string_view kIpv6Refused = "nd.ipv6_refused";
inline constexpr std::string_view kIpv6AddressCut = "nd.ipv6_address_cut";

// Memory.
inline constexpr std::string_view kRegisterGrantsLocalWrite = "nd.register_grants_local_write";
inline constexpr std::string_view kReadSinkIgnored = "nd.read_sink_ignored";
inline constexpr std::string_view kRegisterGrantsRemote = "nd.register_grants_remote";
inline constexpr std::string_view kRegisterLosesRemote = "nd.register_loses_remote";
inline constexpr std::string_view kRegisterNeverCompletes = "nd.register_never_completes";
inline constexpr std::string_view kRegisterUnchecked = "nd.register_unchecked";
inline constexpr std::string_view kRegisterTwice = "nd.register_twice";
inline constexpr std::string_view kRegisterOnce = "nd.register_once";
inline constexpr std::string_view kRegisterTooMuch = "nd.register_too_much";
inline constexpr std::string_view kRegisterUnlimited = "nd.register_unlimited";
inline constexpr std::string_view kEmptyRegistered = "nd.empty_registered";
inline constexpr std::string_view kRegisterFlagsUnchecked = "nd.register_flags_unchecked";
inline constexpr std::string_view kDeregisterOfNone = "nd.deregister_of_none";
inline constexpr std::string_view kFailureSendsPacket = "nd.failure_sends_packet";
inline constexpr std::string_view kPacketTwice = "nd.packet_twice";
inline constexpr std::string_view kSuccessWithPacket = "nd.success_with_packet";
inline constexpr std::string_view kEventNotSet = "nd.event_not_set";
inline constexpr std::string_view kLowBitIgnored = "nd.low_bit_ignored";
inline constexpr std::string_view kRegionZeroBased = "nd.region_zero_based";
inline constexpr std::string_view kTokenInHostOrder = "nd.token_in_host_order";
inline constexpr std::string_view kDeregisterFails = "nd.deregister_fails";
inline constexpr std::string_view kDeregisterKeepsKeys = "nd.deregister_keeps_keys";
inline constexpr std::string_view kDeregisterWithWindows = "nd.deregister_with_windows";
inline constexpr std::string_view kBindRangeUnchecked = "nd.bind_range_unchecked";
inline constexpr std::string_view kBindRightsUnchecked = "nd.bind_rights_unchecked";
inline constexpr std::string_view kWindowForAnyQueue = "nd.window_for_any_queue";
inline constexpr std::string_view kWindowGrantsAll = "nd.window_grants_all";
inline constexpr std::string_view kInvalidateIgnored = "nd.invalidate_ignored";
inline constexpr std::string_view kInvalidateUnboundTaken = "nd.invalidate_unbound_taken";
inline constexpr std::string_view kWindowNeedsRegionRights = "nd.window_needs_region_rights";
inline constexpr std::string_view kWindowTooWide = "nd.window_too_wide";
inline constexpr std::string_view kWindowTokenLate = "nd.window_token_late";
inline constexpr std::string_view kBindNeedsRight = "nd.bind_needs_right";
inline constexpr std::string_view kRebindRefused = "nd.rebind_refused";
inline constexpr std::string_view kOverlapRefused = "nd.overlap_refused";

// Completion queues.
inline constexpr std::string_view kNotifyIgnoresPresent = "nd.notify_ignores_present";
inline constexpr std::string_view kNotifyLost = "nd.notify_lost";
inline constexpr std::string_view kNotifyOneOfMany = "nd.notify_one_of_many";
inline constexpr std::string_view kSolicitedIsAny = "nd.solicited_is_any";
inline constexpr std::string_view kErrorsIsAny = "nd.errors_is_any";
inline constexpr std::string_view kErrorNotSolicited = "nd.error_not_solicited";
inline constexpr std::string_view kNotifyBackwards = "nd.notify_backwards";
inline constexpr std::string_view kNotifyNoUpgrade = "nd.notify_no_upgrade";
inline constexpr std::string_view kNotifyAgain = "nd.notify_again";
inline constexpr std::string_view kEventStaysSet = "nd.event_stays_set";
inline constexpr std::string_view kCancelBackwards = "nd.cancel_backwards";
inline constexpr std::string_view kCancelLooksGood = "nd.cancel_looks_good";
inline constexpr std::string_view kCancelOtherCode = "nd.cancel_other_code";
inline constexpr std::string_view kCancelNothingFails = "nd.cancel_nothing_fails";
inline constexpr std::string_view kReleaseForgetsRequests = "nd.release_forgets_requests";
inline constexpr std::string_view kAffinityFails = "nd.affinity_fails";
inline constexpr std::string_view kResultsTwice = "nd.results_twice";
inline constexpr std::string_view kInitiatorResultsBackwards = "nd.initiator_results_backwards";
inline constexpr std::string_view kReceiveResultsBackwards = "nd.receive_results_backwards";
inline constexpr std::string_view kResizeSaysYes = "nd.resize_says_yes";
inline constexpr std::string_view kResizeUnlimited = "nd.resize_unlimited";
inline constexpr std::string_view kResizeUnsupportedTaken = "nd.resize_unsupported_taken";
inline constexpr std::string_view kOverrunSilent = "nd.overrun_silent";
inline constexpr std::string_view kResizeDropsResults = "nd.resize_drops_results";
inline constexpr std::string_view kResultBytesMissing = "nd.result_bytes_missing";
inline constexpr std::string_view kResultContextLost = "nd.result_context_lost";
inline constexpr std::string_view kResultQueuePairContextLost = "nd.result_queue_pair_context_lost";
inline constexpr std::string_view kResultTypeWrong = "nd.result_type_wrong";
inline constexpr std::string_view kFailureLooksLikeSuccess = "nd.failure_looks_like_success";

// Queue pairs.
inline constexpr std::string_view kPostsUnconnected = "nd.posts_unconnected";
inline constexpr std::string_view kFlagsUnchecked = "nd.flags_unchecked";
inline constexpr std::string_view kFullQueueSwallows = "nd.full_queue_swallows";
inline constexpr std::string_view kFullReceivesSwallow = "nd.full_receives_swallow";
inline constexpr std::string_view kReceiveNeedsConnection = "nd.receive_needs_connection";
inline constexpr std::string_view kLocalTokenCut = "nd.local_token_cut";
inline constexpr std::string_view kBindFlagsUnchecked = "nd.bind_flags_unchecked";
inline constexpr std::string_view kReadWriteFlagsUnchecked = "nd.read_write_flags_unchecked";
inline constexpr std::string_view kManySgesSwallowed = "nd.many_sges_swallowed";
inline constexpr std::string_view kManyReceiveSgesSwallowed = "nd.many_receive_sges_swallowed";
inline constexpr std::string_view kManyBytesSwallowed = "nd.many_bytes_swallowed";
inline constexpr std::string_view kNoExtraSge = "nd.no_extra_sge";
inline constexpr std::string_view kNoChosenAddress = "nd.no_chosen_address";
inline constexpr std::string_view kZeroLengthRefused = "nd.zero_length_refused";
inline constexpr std::string_view kExcessReadsRefused = "nd.excess_reads_refused";
inline constexpr std::string_view kInlineStale = "nd.inline_stale";
inline constexpr std::string_view kInlineMindsTokens = "nd.inline_minds_tokens";
inline constexpr std::string_view kInlineCountsSges = "nd.inline_counts_sges";
inline constexpr std::string_view kInlineLimitSwallows = "nd.inline_limit_swallows";
inline constexpr std::string_view kSendCutShort = "nd.send_cut_short";
inline constexpr std::string_view kWriteElsewhere = "nd.write_elsewhere";
inline constexpr std::string_view kReadElsewhere = "nd.read_elsewhere";
inline constexpr std::string_view kLastBufferIgnored = "nd.last_buffer_ignored";
inline constexpr std::string_view kSendAfterEndSwallowed = "nd.send_after_end_swallowed";
inline constexpr std::string_view kReceiveAfterEndSwallowed = "nd.receive_after_end_swallowed";
inline constexpr std::string_view kSilentFailureSilent = "nd.silent_failure_silent";
inline constexpr std::string_view kLocalErrorCode = "nd.local_error_code";
inline constexpr std::string_view kRemoteErrorCode = "nd.remote_error_code";
inline constexpr std::string_view kShortReceiveCode = "nd.short_receive_code";
inline constexpr std::string_view kNoReceiveForEver = "nd.no_receive_for_ever";
inline constexpr std::string_view kFailureKeptFromPeer = "nd.failure_kept_from_peer";
inline constexpr std::string_view kFenceIgnored = "nd.fence_ignored";
inline constexpr std::string_view kSilentSpeaks = "nd.silent_speaks";
inline constexpr std::string_view kSolicitLost = "nd.solicit_lost";
inline constexpr std::string_view kFlushIgnored = "nd.flush_ignored";
inline constexpr std::string_view kFlushedAsError = "nd.flushed_as_error";
inline constexpr std::string_view kFlushedSilently = "nd.flushed_silently";

// Shared receive queues.
inline constexpr std::string_view kSrqShrinksBelowUse = "nd.srq_shrinks_below_use";
inline constexpr std::string_view kSrqThresholdIgnored = "nd.srq_threshold_ignored";
inline constexpr std::string_view kSrqContextLost = "nd.srq_context_lost";
inline constexpr std::string_view kSrqFullSwallows = "nd.srq_full_swallows";
inline constexpr std::string_view kSrqManySgesSwallowed = "nd.srq_many_sges_swallowed";
inline constexpr std::string_view kSrqManyBytesSwallowed = "nd.srq_many_bytes_swallowed";
inline constexpr std::string_view kSrqNotifyEager = "nd.srq_notify_eager";
inline constexpr std::string_view kSrqNotifyOne = "nd.srq_notify_one";
inline constexpr std::string_view kSrqCancelIgnored = "nd.srq_cancel_ignored";
inline constexpr std::string_view kSrqModifyUnlimited = "nd.srq_modify_unlimited";
inline constexpr std::string_view kSrqZeroIsZero = "nd.srq_zero_is_zero";
inline constexpr std::string_view kSrqThresholdStays = "nd.srq_threshold_stays";
inline constexpr std::string_view kSrqBreaks = "nd.srq_breaks";

// Connectors.
inline constexpr std::string_view kBindTwice = "nd.bind_twice";
inline constexpr std::string_view kConnectDataLost = "nd.connect_data_lost";
inline constexpr std::string_view kConnectNeverCompletes = "nd.connect_never_completes";
inline constexpr std::string_view kCompleteConnectNeverCompletes = "nd.complete_connect_never_completes";
inline constexpr std::string_view kAcceptDataLost = "nd.accept_data_lost";
inline constexpr std::string_view kAcceptCompletesEarly = "nd.accept_completes_early";
inline constexpr std::string_view kRejectDataLost = "nd.reject_data_lost";
inline constexpr std::string_view kRefusedIsTimeout = "nd.refused_is_timeout";
inline constexpr std::string_view kRefusedAcceptSucceeds = "nd.refused_accept_succeeds";
inline constexpr std::string_view kReadLimitsSwapped = "nd.read_limits_swapped";
inline constexpr std::string_view kReadLimitsUnclipped = "nd.read_limits_unclipped";
inline constexpr std::string_view kPrivateDataNotCut = "nd.private_data_not_cut";
inline constexpr std::string_view kPeerAddressWrong = "nd.peer_address_wrong";
inline constexpr std::string_view kDisconnectUnnoticed = "nd.disconnect_unnoticed";
inline constexpr std::string_view kNotifyDisconnectFails = "nd.notify_disconnect_fails";
inline constexpr std::string_view kConnectorCancelIgnored = "nd.connector_cancel_ignored";
inline constexpr std::string_view kIdleAccepted = "nd.idle_accepted";
inline constexpr std::string_view kBindAnywhere = "nd.bind_anywhere";
inline constexpr std::string_view kConnectUnbound = "nd.connect_unbound";
inline constexpr std::string_view kConnectTwiceCode = "nd.connect_twice_code";
inline constexpr std::string_view kPairBusyCode = "nd.pair_busy_code";
inline constexpr std::string_view kSpentPairTaken = "nd.spent_pair_taken";
inline constexpr std::string_view kDataSizeUnsaid = "nd.data_size_unsaid";
inline constexpr std::string_view kDataBeforeConnecting = "nd.data_before_connecting";
inline constexpr std::string_view kCallerDataUnchecked = "nd.caller_data_unchecked";
inline constexpr std::string_view kCalleeDataUnchecked = "nd.callee_data_unchecked";
inline constexpr std::string_view kLimitsBeforeConnecting = "nd.limits_before_connecting";
inline constexpr std::string_view kRefusalSpends = "nd.refusal_spends";
inline constexpr std::string_view kFailedConnectDropsReceives = "nd.failed_connect_drops_receives";
inline constexpr std::string_view kRejectTwice = "nd.reject_twice";
inline constexpr std::string_view kImpatientAccept = "nd.impatient_accept";
inline constexpr std::string_view kImpatientComplete = "nd.impatient_complete";
inline constexpr std::string_view kCompletesAfterEnd = "nd.completes_after_end";
inline constexpr std::string_view kLocalPortHidden = "nd.local_port_hidden";
inline constexpr std::string_view kEphemeralLow = "nd.ephemeral_low";
inline constexpr std::string_view kShortAddressTouched = "nd.short_address_touched";
inline constexpr std::string_view kAddressBeforeConnecting = "nd.address_before_connecting";
inline constexpr std::string_view kNotifyBeforeConnecting = "nd.notify_before_connecting";
inline constexpr std::string_view kDisconnectNeverCompletes = "nd.disconnect_never_completes";
inline constexpr std::string_view kLateNotifyLost = "nd.late_notify_lost";
inline constexpr std::string_view kPortsExhaustedCode = "nd.ports_exhausted_code";
inline constexpr std::string_view kDisconnectTwice = "nd.disconnect_twice";
inline constexpr std::string_view kDisconnectAfterPeerRefused = "nd.disconnect_after_peer_refused";
inline constexpr std::string_view kDisconnectsMeetBadly = "nd.disconnects_meet_badly";
inline constexpr std::string_view kNowhereReached = "nd.nowhere_reached";
inline constexpr std::string_view kLoopbackRefused = "nd.loopback_refused";
inline constexpr std::string_view kConnectorReleaseForgets = "nd.connector_release_forgets";

// Differences of real providers, for personalities (behaviour.h).
inline constexpr std::string_view kReadBytesReported = "nd.read_bytes_reported";
inline constexpr std::string_view kPortsShared = "nd.ports_shared";
inline constexpr std::string_view kLimitsLateRefused = "nd.limits_late_refused";
inline constexpr std::string_view kDataAnytime = "nd.data_anytime";
inline constexpr std::string_view kLocalViolationDataError = "nd.local_violation_data_error";
inline constexpr std::string_view kDeadPeerCancelled = "nd.dead_peer_cancelled";
inline constexpr std::string_view kUnreachablePatient = "nd.unreachable_patient";
inline constexpr std::string_view kExactQueue = "nd.exact_queue";
inline constexpr std::string_view kNoResize = "nd.no_resize";

// Listeners.
inline constexpr std::string_view kListenTwice = "nd.listen_twice";
inline constexpr std::string_view kListenerCancelIgnored = "nd.listener_cancel_ignored";
inline constexpr std::string_view kListenerPortHidden = "nd.listener_port_hidden";
inline constexpr std::string_view kListenerPortsExhaustedCode = "nd.listener_ports_exhausted_code";
inline constexpr std::string_view kListenerPortShared = "nd.listener_port_shared";
inline constexpr std::string_view kBacklogIgnored = "nd.backlog_ignored";
inline constexpr std::string_view kRequestsOutOfOrder = "nd.requests_out_of_order";
inline constexpr std::string_view kListenerBindTwice = "nd.listener_bind_twice";
inline constexpr std::string_view kListenerAddressEarly = "nd.listener_address_early";
inline constexpr std::string_view kListenerEphemeralLow = "nd.listener_ephemeral_low";
inline constexpr std::string_view kAnyAddressRefused = "nd.any_address_refused";
inline constexpr std::string_view kListenUnbound = "nd.listen_unbound";
inline constexpr std::string_view kRequestAnswersAll = "nd.request_answers_all";
inline constexpr std::string_view kRequestBeforeListen = "nd.request_before_listen";
inline constexpr std::string_view kUsedConnectorTaken = "nd.used_connector_taken";
inline constexpr std::string_view kListenerCloseForgets = "nd.listener_close_forgets";
inline constexpr std::string_view kListenerTakesConnections = "nd.listener_takes_connections";
inline constexpr std::string_view kPortStaysTaken = "nd.port_stays_taken";

}  // namespace fb::networkdirect::departure
