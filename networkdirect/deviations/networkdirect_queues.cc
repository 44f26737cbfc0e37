// What a careless provider of NetworkDirect does with queue pairs and shared receive queues.
#include "model/deviations/deviation.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::deviations {

namespace departure = networkdirect::departure;

DEVIATION(nd_send_cut_short, "networkdirect.queue.send", Product::nd_provider, "sends half of the last buffer",
          Departs{departure::kSendCutShort});
DEVIATION(nd_write_elsewhere, "networkdirect.queue.write", Product::nd_provider, "writes one byte further on",
          Departs{departure::kWriteElsewhere});
DEVIATION(nd_read_elsewhere, "networkdirect.queue.read", Product::nd_provider, "reads one byte further on",
          Departs{departure::kReadElsewhere});
DEVIATION(nd_last_buffer_ignored, "networkdirect.queue.buffers", Product::nd_provider, "leaves out the last of several buffers",
          Departs{departure::kLastBufferIgnored});
DEVIATION(nd_posts_unconnected, "networkdirect.queue.unconnected", Product::nd_provider, "takes requests without a connection",
          Departs{departure::kPostsUnconnected});
DEVIATION(nd_receive_needs_connection, "networkdirect.queue.receive-unconnected", Product::nd_provider,
          "takes Receives on a connection alone", Departs{departure::kReceiveNeedsConnection});
DEVIATION(nd_send_flags_unchecked, "networkdirect.queue.send-flags", Product::nd_provider, "takes any flag with a Send",
          Departs{departure::kFlagsUnchecked});
DEVIATION(nd_access_flags_unchecked, "networkdirect.queue.access-flags", Product::nd_provider, "takes any flag with a Read or a Write",
          Departs{departure::kReadWriteFlagsUnchecked});
DEVIATION(nd_full_queue_swallows, "networkdirect.queue.full-initiator", Product::nd_provider, "swallows requests when its queue is full",
          Departs{departure::kFullQueueSwallows});
DEVIATION(nd_full_receives_swallow, "networkdirect.queue.full-receives", Product::nd_provider, "swallows Receives when its queue is full",
          Departs{departure::kFullReceivesSwallow});
DEVIATION(nd_many_sges_swallowed, "networkdirect.queue.many-buffers", Product::nd_provider, "swallows requests with too many buffers",
          Departs{departure::kManySgesSwallowed});
DEVIATION(nd_many_receive_sges_swallowed, "networkdirect.queue.receive-many-buffers", Product::nd_provider,
          "swallows Receives with too many buffers", Departs{departure::kManyReceiveSgesSwallowed});
DEVIATION(nd_many_bytes_swallowed, "networkdirect.queue.many-bytes", Product::nd_provider, "swallows requests with too many bytes",
          Departs{departure::kManyBytesSwallowed});
DEVIATION(nd_no_extra_sge, "networkdirect.queue.extra-buffer", Product::nd_provider, "takes no more buffers than were asked for",
          Departs{departure::kNoExtraSge});
DEVIATION(nd_zero_length_refused, "networkdirect.queue.zero-length", Product::nd_provider, "refuses requests of no bytes",
          Departs{departure::kZeroLengthRefused});
DEVIATION(nd_inline_stale, "networkdirect.queue.inline-copy", Product::nd_provider, "sends other bytes than those of the call",
          Departs{departure::kInlineStale});
DEVIATION(nd_inline_minds_tokens, "networkdirect.queue.inline-token", Product::nd_provider, "wants registered memory for inline data",
          Departs{departure::kInlineMindsTokens});
DEVIATION(nd_inline_counts_sges, "networkdirect.queue.inline-buffers", Product::nd_provider, "counts the buffers of inline data",
          Departs{departure::kInlineCountsSges});
DEVIATION(nd_inline_limit_swallows, "networkdirect.queue.inline-limit", Product::nd_provider, "swallows requests with too much inline data",
          Departs{departure::kInlineLimitSwallows});
DEVIATION(nd_fence_ignored, "networkdirect.queue.read-fence", Product::nd_provider, "ignores the fence", Departs{departure::kFenceIgnored});
DEVIATION(nd_excess_reads_refused, "networkdirect.queue.read-limit", Product::nd_provider, "refuses Reads that are over its limit",
          Departs{departure::kExcessReadsRefused});
DEVIATION(nd_flush_ignored, "networkdirect.queue.flush-receives", Product::nd_provider, "ignores Flush", Departs{departure::kFlushIgnored});
DEVIATION(nd_flushed_as_error, "networkdirect.queue.flush-code", Product::nd_provider, "says another failure for what is flushed",
          Departs{departure::kFlushedAsError});
DEVIATION(nd_flushed_silently, "networkdirect.queue.flush-all", Product::nd_provider, "loses what is flushed",
          Departs{departure::kFlushedSilently});
DEVIATION(nd_local_error_code, "networkdirect.queue.local-error", Product::nd_provider, "says an internal error for a bad local token",
          Departs{departure::kLocalErrorCode});
DEVIATION(nd_remote_error_code, "networkdirect.queue.remote-error", Product::nd_provider, "says an internal error for a bad remote token",
          Departs{departure::kRemoteErrorCode});
DEVIATION(nd_short_receive_code, "networkdirect.queue.short-receive", Product::nd_provider,
          "says a timeout for a Receive that is too small", Departs{departure::kShortReceiveCode});
DEVIATION(nd_no_receive_for_ever, "networkdirect.queue.no-receive", Product::nd_provider, "waits for ever for a Receive of the peer",
          Departs{departure::kNoReceiveForEver});
DEVIATION(nd_failure_kept_from_peer, "networkdirect.queue.failure-ends", Product::nd_provider,
          "does not tell the peer that the connection is over", Departs{departure::kFailureKeptFromPeer});
DEVIATION(nd_send_after_end_swallowed, "networkdirect.queue.send-after", Product::nd_provider,
          "swallows requests after the end of a connection", Departs{departure::kSendAfterEndSwallowed});
DEVIATION(nd_receive_after_end_swallowed, "networkdirect.queue.receive-after", Product::nd_provider,
          "swallows Receives after the end of a connection", Departs{departure::kReceiveAfterEndSwallowed});
DEVIATION(nd_srq_context_lost, "networkdirect.shared.context", Product::nd_provider, "loses the context of shared Receives",
          Departs{departure::kSrqContextLost});
DEVIATION(nd_srq_full_swallows, "networkdirect.shared.full", Product::nd_provider, "swallows Receives when the shared queue is full",
          Departs{departure::kSrqFullSwallows});
DEVIATION(nd_srq_many_sges_swallowed, "networkdirect.shared.many-buffers", Product::nd_provider,
          "swallows shared Receives with too many buffers", Departs{departure::kSrqManySgesSwallowed});
DEVIATION(nd_srq_many_bytes_swallowed, "networkdirect.shared.many-bytes", Product::nd_provider,
          "swallows shared Receives of too many bytes", Departs{departure::kSrqManyBytesSwallowed});
DEVIATION(nd_srq_threshold_ignored, "networkdirect.shared.threshold", Product::nd_provider, "does not tell that Receives run low",
          Departs{departure::kSrqThresholdIgnored});
DEVIATION(nd_srq_notify_eager, "networkdirect.shared.above", Product::nd_provider, "tells at once that Receives run low",
          Departs{departure::kSrqNotifyEager});
DEVIATION(nd_srq_notify_one, "networkdirect.shared.notify-all", Product::nd_provider, "completes one request at a time",
          Departs{departure::kSrqNotifyOne});
DEVIATION(nd_srq_cancel_ignored, "networkdirect.shared.cancel", Product::nd_provider, "does not cancel requests on a shared queue",
          Departs{departure::kSrqCancelIgnored});
DEVIATION(nd_srq_shrinks_below_use, "networkdirect.shared.shrink", Product::nd_provider, "becomes shallower than what is posted",
          Departs{departure::kSrqShrinksBelowUse});
DEVIATION(nd_srq_modify_unlimited, "networkdirect.shared.modify-limit", Product::nd_provider, "says yes to any depth of a shared queue",
          Departs{departure::kSrqModifyUnlimited});
DEVIATION(nd_srq_zero_is_zero, "networkdirect.shared.modify-keeps", Product::nd_provider, "takes a depth of 0 for no room",
          Departs{departure::kSrqZeroIsZero});
DEVIATION(nd_srq_threshold_stays, "networkdirect.shared.modify-threshold", Product::nd_provider, "keeps the first threshold",
          Departs{departure::kSrqThresholdStays});
DEVIATION(nd_srq_breaks, "networkdirect.shared.empty", Product::nd_provider, "ends connections whose shared queue is empty",
          Departs{departure::kSrqBreaks});
DEVIATION(nd_bind_flags_unchecked, "networkdirect.queue.bind-flags", Product::nd_provider, "takes any flag with a Bind or an Invalidate",
          Departs{departure::kBindFlagsUnchecked});

}  // namespace fb::deviations
