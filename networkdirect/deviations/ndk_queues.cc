// What a careless provider of NDK does with queue pairs and shared receive queues.
#include "model/deviations/deviation.h"
#include "networkdirect/ndk/provider/fault_points.h"

namespace fb::deviations {

namespace departure = ndk::departure;

DEVIATION(ndk_qp_limits_unchecked, "ndk.qp.limits", Product::ndk_provider, "cuts queue pairs to its limits",
          Departs{departure::kQpLimitsUnchecked});
DEVIATION(ndk_send_cut_short, "ndk.qp.send", Product::ndk_provider, "sends half of the last buffer", Departs{departure::kSendCutShort});
DEVIATION(ndk_write_elsewhere, "ndk.qp.write", Product::ndk_provider, "writes one byte further on", Departs{departure::kWriteElsewhere});
DEVIATION(ndk_read_elsewhere, "ndk.qp.read", Product::ndk_provider, "reads one byte further on", Departs{departure::kReadElsewhere});
DEVIATION(ndk_last_sge_ignored, "ndk.qp.buffers", Product::ndk_provider, "leaves out the last of several buffers",
          Departs{departure::kLastSgeIgnored});
DEVIATION(ndk_zero_length_refused, "ndk.qp.zero-length", Product::ndk_provider, "refuses messages of no bytes",
          Departs{departure::kZeroLengthRefused});
DEVIATION(ndk_short_receive_succeeds, "ndk.qp.short-receive", Product::ndk_provider, "says that requests that have failed have succeeded",
          Departs{departure::kFailureLooksLikeSuccess});
DEVIATION(ndk_posts_unconnected, "ndk.qp.unconnected", Product::ndk_provider, "swallows requests without a connection",
          Departs{departure::kPostsUnconnected});
DEVIATION(ndk_receive_needs_connection, "ndk.qp.receive-unconnected", Product::ndk_provider, "takes receives on a connection alone",
          Departs{departure::kReceiveNeedsConnection});
DEVIATION(ndk_flags_unchecked, "ndk.qp.flags", Product::ndk_provider, "takes any flag", Departs{departure::kFlagsUnchecked});
DEVIATION(ndk_flags_of_later_versions, "ndk.qp.flags-version", Product::ndk_provider, "takes any flag",
          Departs{departure::kFlagsUnchecked});
DEVIATION(ndk_sges_unchecked, "ndk.qp.many-buffers", Product::ndk_provider, "leaves out the buffers that are too many",
          Departs{departure::kSgesUnchecked});
DEVIATION(ndk_inline_unchecked, "ndk.qp.inline-limit", Product::ndk_provider, "swallows requests with too much inline data",
          Departs{departure::kInlineUnchecked});
DEVIATION(ndk_inline_needs_token, "ndk.qp.inline-token", Product::ndk_provider, "wants registered memory for inline data",
          Departs{departure::kInlineNeedsToken});
DEVIATION(ndk_inline_stale, "ndk.qp.inline-copy", Product::ndk_provider, "sends other bytes than those of the call",
          Departs{departure::kInlineStale});
DEVIATION(ndk_full_queue_swallows, "ndk.qp.full-initiator", Product::ndk_provider, "swallows requests when its queue is full",
          Departs{departure::kFullQueueSwallows});
DEVIATION(ndk_full_receives_swallow, "ndk.qp.full-receives", Product::ndk_provider, "swallows requests when its queue is full",
          Departs{departure::kFullQueueSwallows});
DEVIATION(ndk_failed_post_completes, "ndk.qp.refused", Product::ndk_provider, "has results of requests that it refused",
          Departs{departure::kFailedPostCompletes});
DEVIATION(ndk_results_out_of_order, "ndk.qp.order", Product::ndk_provider, "changes the order of results",
          Departs{departure::kResultsOutOfOrder});
DEVIATION(ndk_fence_ignored, "ndk.qp.read-fence", Product::ndk_provider, "ignores the fence", Departs{departure::kFenceIgnored});
DEVIATION(ndk_silent_speaks, "ndk.qp.silent", Product::ndk_provider, "has results of silent requests", Departs{departure::kSilentSpeaks});
DEVIATION(ndk_silent_failure, "ndk.qp.silent-failure", Product::ndk_provider, "keeps silent of failures",
          Departs{departure::kSilentFailure});
DEVIATION(ndk_defer_dropped, "ndk.qp.defer", Product::ndk_provider, "loses deferred requests", Departs{departure::kDeferDropped});
DEVIATION(ndk_defer_stranded, "ndk.qp.defer-refused", Product::ndk_provider, "leaves deferred requests when a later one is refused",
          Departs{departure::kDeferStranded});
DEVIATION(ndk_read_invalidate_ignored, "ndk.qp.read-invalidate", Product::ndk_provider, "does not invalidate with a Read",
          Departs{departure::kReadInvalidateIgnored});
DEVIATION(ndk_send_invalidate_ignored, "ndk.qp.send-invalidate", Product::ndk_provider, "does not invalidate with a message",
          Departs{departure::kSendInvalidateIgnored});
DEVIATION(ndk_send_invalidate_plain_ignored, "ndk.qp.send-invalidate-plain", Product::ndk_provider, "does not invalidate with a message",
          Departs{departure::kSendInvalidateIgnored});
DEVIATION(ndk_send_invalidate_none_taken, "ndk.qp.send-invalidate-none", Product::ndk_provider, "does not invalidate with a message",
          Departs{departure::kSendInvalidateIgnored});
DEVIATION(ndk_invalidated_type_hidden, "ndk.qp.invalidate-type", Product::ndk_provider, "calls such results plain receives",
          Departs{departure::kInvalidatedTypeHidden});
DEVIATION(ndk_invalidated_token_wrong, "ndk.qp.invalidate-token", Product::ndk_provider, "tells another token",
          Departs{departure::kInvalidatedTokenWrong});
DEVIATION(ndk_flush_ignored, "ndk.qp.flush", Product::ndk_provider, "ignores a flush", Departs{departure::kFlushIgnored});
DEVIATION(ndk_flushed_as_error, "ndk.qp.flush-code", Product::ndk_provider, "says another failure for what is flushed",
          Departs{departure::kFlushedAsError});
DEVIATION(ndk_flushed_silently, "ndk.qp.flush-all", Product::ndk_provider, "loses what is flushed", Departs{departure::kFlushedSilently});
DEVIATION(ndk_flushed_out_of_order, "ndk.qp.flush-order", Product::ndk_provider, "flushes the last first",
          Departs{departure::kFlushedOutOfOrder});
DEVIATION(ndk_failure_flush_lost, "ndk.qp.failure-flushes", Product::ndk_provider, "loses what is flushed",
          Departs{departure::kFlushedSilently});
DEVIATION(ndk_post_after_end_swallowed, "ndk.qp.after-end", Product::ndk_provider, "swallows requests after the end of a connection",
          Departs{departure::kPostAfterEndSwallowed});
DEVIATION(ndk_receive_after_end_swallowed, "ndk.qp.receive-after-end", Product::ndk_provider,
          "swallows requests after the end of a connection", Departs{departure::kPostAfterEndSwallowed});
DEVIATION(ndk_srq_limits_unchecked, "ndk.srq.limits", Product::ndk_provider, "cuts shared receive queues to its limits",
          Departs{departure::kSrqLimitsUnchecked});
DEVIATION(ndk_srq_context_lost, "ndk.srq.context", Product::ndk_provider, "loses the contexts of requests",
          Departs{departure::kResultContextLost});
DEVIATION(ndk_srq_full_swallows, "ndk.srq.full", Product::ndk_provider, "swallows receives when a shared queue is full",
          Departs{departure::kSrqFullSwallows});
DEVIATION(ndk_receive_beside_shared, "ndk.srq.beside", Product::ndk_provider, "swallows receives beside a shared queue",
          Departs{departure::kReceiveBesideShared});
DEVIATION(ndk_srq_threshold_ignored, "ndk.srq.threshold", Product::ndk_provider, "does not tell that receives run low",
          Departs{departure::kSrqThresholdIgnored});
DEVIATION(ndk_srq_notifies_twice, "ndk.srq.threshold-once", Product::ndk_provider, "tells twice that receives run low",
          Departs{departure::kSrqNotifiesTwice});
DEVIATION(ndk_srq_modify_ignored, "ndk.srq.modify-depth", Product::ndk_provider, "ignores what should change in a shared queue",
          Departs{departure::kSrqModifyIgnored});
DEVIATION(ndk_srq_threshold_stays, "ndk.srq.modify-threshold", Product::ndk_provider, "ignores what should change in a shared queue",
          Departs{departure::kSrqModifyIgnored});
DEVIATION(ndk_srq_zero_is_zero, "ndk.srq.modify-keeps", Product::ndk_provider, "takes a depth of 0 for no room",
          Departs{departure::kSrqZeroIsZero});
DEVIATION(ndk_srq_shrinks_below_use, "ndk.srq.shrink", Product::ndk_provider, "makes shared queues shallower than what they hold",
          Departs{departure::kSrqShrinksBelowUse});

}  // namespace fb::deviations
