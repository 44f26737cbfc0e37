// The points at which the provider can be told to depart from the interface, for ProviderHooks::departs().
#pragma once

#include <string_view>

namespace fb::ndk::departure {

// The adapter.
inline constexpr std::string_view kOpenMajorUnchecked = "ndk.open_major_unchecked";
inline constexpr std::string_view kOpenMinorUnchecked = "ndk.open_minor_unchecked";
inline constexpr std::string_view kHeaderVersionWrong = "ndk.header_version_wrong";
inline constexpr std::string_view kHeaderTypeWrong = "ndk.header_type_wrong";
inline constexpr std::string_view kHeaderReservedDirty = "ndk.header_reserved_dirty";
inline constexpr std::string_view kInfoSmallBufferAccepted = "ndk.info_small_buffer_accepted";
inline constexpr std::string_view kInfoSizeNotTold = "ndk.info_size_not_told";
inline constexpr std::string_view kInfoFewFastPages = "ndk.info_few_fast_pages";
inline constexpr std::string_view kInfoVersionWrong = "ndk.info_version_wrong";
inline constexpr std::string_view kInfoLimitMissing = "ndk.info_limit_missing";
inline constexpr std::string_view kInfoTechnologyMissing = "ndk.info_technology_missing";
inline constexpr std::string_view kInfoLongForOld = "ndk.info_long_for_old";
inline constexpr std::string_view kTableShort = "ndk.table_short";
inline constexpr std::string_view kExtensionAnswered = "ndk.extension_answered";
inline constexpr std::string_view kAdapterClosesEarly = "ndk.adapter_closes_early";
inline constexpr std::string_view kInfoCalleeDataSmall = "ndk.info_callee_data_small";
inline constexpr std::string_view kDispatchChanges = "ndk.dispatch_changes";
inline constexpr std::string_view kIpv6Refused = "ndk.ipv6_refused";
inline constexpr std::string_view kIpv6AddressWrong = "ndk.ipv6_address_wrong";
inline constexpr std::string_view kListenAddressCode = "ndk.listen_address_code";
inline constexpr std::string_view kPortsExhaustedCode = "ndk.ports_exhausted_code";

// Answers and callbacks.
inline constexpr std::string_view kNeedsPassive = "ndk.needs_passive";
inline constexpr std::string_view kCreateTouchesPlace = "ndk.create_touches_place";
inline constexpr std::string_view kCreateCompletesTwice = "ndk.create_completes_twice";
inline constexpr std::string_view kCreateCompletesInline = "ndk.create_completes_inline";
inline constexpr std::string_view kCreateNeverCompletes = "ndk.create_never_completes";
inline constexpr std::string_view kRequestCompletesTwice = "ndk.request_completes_twice";
inline constexpr std::string_view kRequestCompletesInline = "ndk.request_completes_inline";
inline constexpr std::string_view kRequestNeverCompletes = "ndk.request_never_completes";
inline constexpr std::string_view kCallbackTooHigh = "ndk.callback_too_high";

// Closing.
inline constexpr std::string_view kCloseFails = "ndk.close_fails";
inline constexpr std::string_view kCloseCompletesEarly = "ndk.close_completes_early";
inline constexpr std::string_view kCloseCompletesTwice = "ndk.close_completes_twice";
inline constexpr std::string_view kCloseCompletesInline = "ndk.close_completes_inline";
inline constexpr std::string_view kCloseNeverCompletes = "ndk.close_never_completes";
inline constexpr std::string_view kCloseForgetsRequests = "ndk.close_forgets_requests";
inline constexpr std::string_view kCallsAfterClose = "ndk.calls_after_close";
inline constexpr std::string_view kCloseQpSilently = "ndk.close_qp_silently";

// Completion queues.
inline constexpr std::string_view kCqDepthUnchecked = "ndk.cq_depth_unchecked";
inline constexpr std::string_view kNotifyLost = "ndk.notify_lost";
inline constexpr std::string_view kNotifyTwice = "ndk.notify_twice";
inline constexpr std::string_view kNotifyUnarmed = "ndk.notify_unarmed";
inline constexpr std::string_view kArmIgnoresPresent = "ndk.arm_ignores_present";
inline constexpr std::string_view kArmSolicitedIsAny = "ndk.arm_solicited_is_any";
inline constexpr std::string_view kArmErrorsIsAny = "ndk.arm_errors_is_any";
inline constexpr std::string_view kArmSolicitedMissesErrors = "ndk.arm_solicited_misses_errors";
inline constexpr std::string_view kArmInsideLost = "ndk.arm_inside_lost";
inline constexpr std::string_view kArmWeakerWins = "ndk.arm_weaker_wins";
inline constexpr std::string_view kOverrunSilent = "ndk.overrun_silent";
inline constexpr std::string_view kOverrunStatusWrong = "ndk.overrun_status_wrong";
inline constexpr std::string_view kOverrunLeavesQueuePairs = "ndk.overrun_leaves_queue_pairs";
inline constexpr std::string_view kResizeDropsResults = "ndk.resize_drops_results";
inline constexpr std::string_view kResizeBelowContents = "ndk.resize_below_contents";
inline constexpr std::string_view kModerationMixAccepted = "ndk.moderation_mix_accepted";
inline constexpr std::string_view kModerationIgnored = "ndk.moderation_ignored";
inline constexpr std::string_view kModerationReplacedLate = "ndk.moderation_replaced_late";
inline constexpr std::string_view kResultsOutOfOrder = "ndk.results_out_of_order";
inline constexpr std::string_view kResultBytesMissing = "ndk.result_bytes_missing";
inline constexpr std::string_view kResultContextLost = "ndk.result_context_lost";
inline constexpr std::string_view kResultQueuePairContextLost = "ndk.result_queue_pair_context_lost";
inline constexpr std::string_view kResultTypeWrong = "ndk.result_type_wrong";
inline constexpr std::string_view kFailureLooksLikeSuccess = "ndk.failure_looks_like_success";

// Memory regions.
inline constexpr std::string_view kReadSinkIgnored = "ndk.read_sink_ignored";
inline constexpr std::string_view kRegisterGrantsRemote = "ndk.register_grants_remote";
inline constexpr std::string_view kRegisterGrantsLocalWrite = "ndk.register_grants_local_write";
inline constexpr std::string_view kLocalTokenCut = "ndk.local_token_cut";
inline constexpr std::string_view kDomainsShared = "ndk.domains_shared";
inline constexpr std::string_view kDomainsMixed = "ndk.domains_mixed";
inline constexpr std::string_view kRegisterLosesRemote = "ndk.register_loses_remote";
inline constexpr std::string_view kRegisterTwice = "ndk.register_twice";
inline constexpr std::string_view kRegisterOnce = "ndk.register_once";
inline constexpr std::string_view kRegisterOfFast = "ndk.register_of_fast";
inline constexpr std::string_view kRegisterFlagsUnchecked = "ndk.register_flags_unchecked";
inline constexpr std::string_view kRegisterLengthUnchecked = "ndk.register_length_unchecked";
inline constexpr std::string_view kRegisterChainUnchecked = "ndk.register_chain_unchecked";
inline constexpr std::string_view kRegionTooLong = "ndk.region_too_long";
inline constexpr std::string_view kRegionZeroBased = "ndk.region_zero_based";
inline constexpr std::string_view kDeregisterKeepsKeys = "ndk.deregister_keeps_keys";
inline constexpr std::string_view kDeregisterWithWindows = "ndk.deregister_with_windows";
inline constexpr std::string_view kFastLimitUnchecked = "ndk.fast_limit_unchecked";
inline constexpr std::string_view kFastPagesUnchecked = "ndk.fast_pages_unchecked";
inline constexpr std::string_view kFastOffsetUnchecked = "ndk.fast_offset_unchecked";
inline constexpr std::string_view kFastLengthUnchecked = "ndk.fast_length_unchecked";
inline constexpr std::string_view kFastRemoteUnchecked = "ndk.fast_remote_unchecked";
inline constexpr std::string_view kFastGrantsAll = "ndk.fast_grants_all";
inline constexpr std::string_view kFastOfPlain = "ndk.fast_of_plain";
inline constexpr std::string_view kFastUninitialized = "ndk.fast_uninitialized";
inline constexpr std::string_view kFastInitializedTwice = "ndk.fast_initialized_twice";
inline constexpr std::string_view kFastTokenChanges = "ndk.fast_token_changes";
inline constexpr std::string_view kInvalidateIgnored = "ndk.invalidate_ignored";
inline constexpr std::string_view kInvalidateOfPlain = "ndk.invalidate_of_plain";

// Logical addresses.
inline constexpr std::string_view kLamSizeNotTold = "ndk.lam_size_not_told";
inline constexpr std::string_view kLamSizeQuerySucceeds = "ndk.lam_size_query_succeeds";
inline constexpr std::string_view kLamOffsetWrong = "ndk.lam_offset_wrong";
inline constexpr std::string_view kLamPagesUnaligned = "ndk.lam_pages_unaligned";
inline constexpr std::string_view kLamChainUnchecked = "ndk.lam_chain_unchecked";
inline constexpr std::string_view kLamReleaseKeeps = "ndk.lam_release_keeps";
inline constexpr std::string_view kLamLengthUnchecked = "ndk.lam_length_unchecked";
inline constexpr std::string_view kPrivilegedRefused = "ndk.privileged_refused";

// Memory windows.
inline constexpr std::string_view kBindRangeUnchecked = "ndk.bind_range_unchecked";
inline constexpr std::string_view kBindRightsUnchecked = "ndk.bind_rights_unchecked";
inline constexpr std::string_view kWindowForAnyQueue = "ndk.window_for_any_queue";
inline constexpr std::string_view kWindowGrantsAll = "ndk.window_grants_all";

// Queue pairs.
inline constexpr std::string_view kQpLimitsUnchecked = "ndk.qp_limits_unchecked";
inline constexpr std::string_view kPostsUnconnected = "ndk.posts_unconnected";
inline constexpr std::string_view kReceiveNeedsConnection = "ndk.receive_needs_connection";
inline constexpr std::string_view kZeroLengthRefused = "ndk.zero_length_refused";
inline constexpr std::string_view kFlagsUnchecked = "ndk.flags_unchecked";
inline constexpr std::string_view kSgesUnchecked = "ndk.sges_unchecked";
inline constexpr std::string_view kInlineUnchecked = "ndk.inline_unchecked";
inline constexpr std::string_view kInlineNeedsToken = "ndk.inline_needs_token";
inline constexpr std::string_view kInlineStale = "ndk.inline_stale";
inline constexpr std::string_view kSendCutShort = "ndk.send_cut_short";
inline constexpr std::string_view kWriteElsewhere = "ndk.write_elsewhere";
inline constexpr std::string_view kReadElsewhere = "ndk.read_elsewhere";
inline constexpr std::string_view kLastSgeIgnored = "ndk.last_sge_ignored";
inline constexpr std::string_view kFullQueueSwallows = "ndk.full_queue_swallows";
inline constexpr std::string_view kFailedPostCompletes = "ndk.failed_post_completes";
inline constexpr std::string_view kFenceIgnored = "ndk.fence_ignored";
inline constexpr std::string_view kSilentSpeaks = "ndk.silent_speaks";
inline constexpr std::string_view kSilentFailure = "ndk.silent_failure";
inline constexpr std::string_view kSolicitLost = "ndk.solicit_lost";
inline constexpr std::string_view kDeferDropped = "ndk.defer_dropped";
inline constexpr std::string_view kDeferStranded = "ndk.defer_stranded";
inline constexpr std::string_view kReadInvalidateIgnored = "ndk.read_invalidate_ignored";
inline constexpr std::string_view kSendInvalidateIgnored = "ndk.send_invalidate_ignored";
inline constexpr std::string_view kInvalidatedTypeHidden = "ndk.invalidated_type_hidden";
inline constexpr std::string_view kInvalidatedTokenWrong = "ndk.invalidated_token_wrong";
inline constexpr std::string_view kFlushIgnored = "ndk.flush_ignored";
inline constexpr std::string_view kFlushedAsError = "ndk.flushed_as_error";
inline constexpr std::string_view kFlushedSilently = "ndk.flushed_silently";
inline constexpr std::string_view kFlushedOutOfOrder = "ndk.flushed_out_of_order";
inline constexpr std::string_view kPostAfterEndSwallowed = "ndk.post_after_end_swallowed";
inline constexpr std::string_view kReceiveBesideShared = "ndk.receive_beside_shared";

// Shared receive queues.
inline constexpr std::string_view kSrqLimitsUnchecked = "ndk.srq_limits_unchecked";
inline constexpr std::string_view kSrqFullSwallows = "ndk.srq_full_swallows";
inline constexpr std::string_view kSrqThresholdIgnored = "ndk.srq_threshold_ignored";
inline constexpr std::string_view kSrqNotifiesTwice = "ndk.srq_notifies_twice";
inline constexpr std::string_view kSrqModifyIgnored = "ndk.srq_modify_ignored";
inline constexpr std::string_view kSrqZeroIsZero = "ndk.srq_zero_is_zero";
inline constexpr std::string_view kSrqShrinksBelowUse = "ndk.srq_shrinks_below_use";

// Connectors.
inline constexpr std::string_view kConnectSourceUnchecked = "ndk.connect_source_unchecked";
inline constexpr std::string_view kConnectDataUnchecked = "ndk.connect_data_unchecked";
inline constexpr std::string_view kConnectDataLost = "ndk.connect_data_lost";
inline constexpr std::string_view kConnectNeverCompletes = "ndk.connect_never_completes";
inline constexpr std::string_view kRefusedIsTimeout = "ndk.refused_is_timeout";
inline constexpr std::string_view kRefusedSpendsQueuePair = "ndk.refused_spends_queue_pair";
inline constexpr std::string_view kCompleteConnectNeverCompletes = "ndk.complete_connect_never_completes";
inline constexpr std::string_view kCompleteWithoutReply = "ndk.complete_without_reply";
inline constexpr std::string_view kAcceptDataLost = "ndk.accept_data_lost";
inline constexpr std::string_view kAcceptCompletesEarly = "ndk.accept_completes_early";
inline constexpr std::string_view kAbortedAcceptSucceeds = "ndk.aborted_accept_succeeds";
inline constexpr std::string_view kRejectDataLost = "ndk.reject_data_lost";
inline constexpr std::string_view kRejectTwice = "ndk.reject_twice";
inline constexpr std::string_view kReadLimitsSwapped = "ndk.read_limits_swapped";
inline constexpr std::string_view kReadLimitsUnclipped = "ndk.read_limits_unclipped";
inline constexpr std::string_view kDataQueryFails = "ndk.data_query_fails";
inline constexpr std::string_view kDataCutSucceeds = "ndk.data_cut_succeeds";
inline constexpr std::string_view kDataAfterAccept = "ndk.data_after_accept";
inline constexpr std::string_view kPeerAddressWrong = "ndk.peer_address_wrong";
inline constexpr std::string_view kLocalAddressWrong = "ndk.local_address_wrong";
inline constexpr std::string_view kAddressCutSucceeds = "ndk.address_cut_succeeds";
inline constexpr std::string_view kDisconnectDoesNotFlush = "ndk.disconnect_does_not_flush";
inline constexpr std::string_view kDisconnectEventLost = "ndk.disconnect_event_lost";
inline constexpr std::string_view kDisconnectEventTwice = "ndk.disconnect_event_twice";
inline constexpr std::string_view kExtendedEventLost = "ndk.extended_event_lost";
inline constexpr std::string_view kOwnDisconnectTold = "ndk.own_disconnect_told";
inline constexpr std::string_view kPeerDisconnectFlushes = "ndk.peer_disconnect_flushes";
inline constexpr std::string_view kQueuePairServesTwo = "ndk.queue_pair_serves_two";

// Listeners, shared endpoints, ports.
inline constexpr std::string_view kListenPortHidden = "ndk.listen_port_hidden";
inline constexpr std::string_view kListenPortShared = "ndk.listen_port_shared";
inline constexpr std::string_view kListenAddressUnchecked = "ndk.listen_address_unchecked";
inline constexpr std::string_view kRequestLost = "ndk.request_lost";
inline constexpr std::string_view kListenTwice = "ndk.listen_twice";
inline constexpr std::string_view kListenerFreedEarly = "ndk.listener_freed_early";
inline constexpr std::string_view kPauseIgnored = "ndk.pause_ignored";
inline constexpr std::string_view kPauseForEver = "ndk.pause_for_ever";
inline constexpr std::string_view kEphemeralOutOfRange = "ndk.ephemeral_out_of_range";
inline constexpr std::string_view kSourcePortShared = "ndk.source_port_shared";
inline constexpr std::string_view kEndpointFreedEarly = "ndk.endpoint_freed_early";
inline constexpr std::string_view kTupleShared = "ndk.tuple_shared";

// Differences of real providers, for personalities (behaviour.h).
inline constexpr std::string_view kReadBytesReported = "ndk.read_bytes_reported";
inline constexpr std::string_view kPortsShared = "ndk.ports_shared";
inline constexpr std::string_view kRefusalSpends = "ndk.refusal_spends";
inline constexpr std::string_view kDataLengthZero = "ndk.data_length_zero";
inline constexpr std::string_view kLocalViolationDataError = "ndk.local_violation_data_error";
inline constexpr std::string_view kDeadPeerCancelled = "ndk.dead_peer_cancelled";
inline constexpr std::string_view kUnreachablePatient = "ndk.unreachable_patient";
inline constexpr std::string_view kNoResize = "ndk.no_resize";
inline constexpr std::string_view kNoModeration = "ndk.no_moderation";
inline constexpr std::string_view kNoReadInvalidate = "ndk.no_read_invalidate";
inline constexpr std::string_view kQueuesFail = "ndk.queues_fail";
inline constexpr std::string_view kNoChosenAddress = "ndk.no_chosen_address";

}  // namespace fb::ndk::departure
