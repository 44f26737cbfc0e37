// What a careless provider of NDK does with completion queues.
#include "model/deviations/deviation.h"
#include "networkdirect/ndk/provider/fault_points.h"

namespace fb::deviations {

namespace departure = ndk::departure;

DEVIATION(ndk_cq_depth_unchecked, "ndk.cq.depth", Product::ndk_provider, "takes any depth of a completion queue",
          Departs{departure::kCqDepthUnchecked});
DEVIATION(ndk_notify_lost, "ndk.cq.notify", Product::ndk_provider, "does not call back for completions", Departs{departure::kNotifyLost});
DEVIATION(ndk_notify_twice, "ndk.cq.notify-once", Product::ndk_provider, "calls back twice for one arm", Departs{departure::kNotifyTwice});
DEVIATION(ndk_notify_unarmed, "ndk.cq.notify-unarmed", Product::ndk_provider, "stays armed when it has called back",
          Departs{departure::kNotifyUnarmed});
DEVIATION(ndk_arm_ignores_present, "ndk.cq.arm-present", Product::ndk_provider, "forgets completions that came before the queue was armed",
          Departs{departure::kArmIgnoresPresent});
DEVIATION(ndk_arm_solicited_is_any, "ndk.cq.arm-solicited", Product::ndk_provider, "calls back for what was not solicited",
          Departs{departure::kArmSolicitedIsAny});
DEVIATION(ndk_solicit_lost, "ndk.cq.solicited", Product::ndk_provider, "does not solicit", Departs{departure::kSolicitLost});
DEVIATION(ndk_arm_errors_is_any, "ndk.cq.arm-errors", Product::ndk_provider, "calls back for any completion of a queue armed for errors",
          Departs{departure::kArmErrorsIsAny});
DEVIATION(ndk_arm_solicited_misses_errors, "ndk.cq.arm-solicited-errors", Product::ndk_provider,
          "misses failures when a queue is armed for solicited completions", Departs{departure::kArmSolicitedMissesErrors});
DEVIATION(ndk_arm_weaker_wins, "ndk.cq.arm-stronger", Product::ndk_provider, "obeys the last arm alone",
          Departs{departure::kArmWeakerWins});
DEVIATION(ndk_arm_inside_lost, "ndk.cq.arm-inside", Product::ndk_provider, "forgets arms from inside of callbacks",
          Departs{departure::kArmInsideLost});
DEVIATION(ndk_overrun_silent, "ndk.cq.overrun", Product::ndk_provider, "loses completions in silence", Departs{departure::kOverrunSilent});
DEVIATION(ndk_overrun_status_wrong, "ndk.cq.overrun-status", Product::ndk_provider, "says an internal error when a queue overruns",
          Departs{departure::kOverrunStatusWrong});
DEVIATION(ndk_overrun_leaves_queue_pairs, "ndk.cq.overrun-ends", Product::ndk_provider, "keeps connections whose completions are lost",
          Departs{departure::kOverrunLeavesQueuePairs});
DEVIATION(ndk_resize_drops_results, "ndk.cq.resize", Product::ndk_provider, "loses completions when a queue gets another depth",
          Departs{departure::kResizeDropsResults});
DEVIATION(ndk_resize_below_contents, "ndk.cq.resize-small", Product::ndk_provider, "makes queues shallower than what they hold",
          Departs{departure::kResizeBelowContents});
DEVIATION(ndk_cq_resize_unchecked, "ndk.cq.resize-limit", Product::ndk_provider, "takes any depth of a completion queue",
          Departs{departure::kCqDepthUnchecked});
DEVIATION(ndk_moderation_mix_accepted, "ndk.cq.moderation-mix", Product::ndk_provider, "takes an interval and a count without end",
          Departs{departure::kModerationMixAccepted});
DEVIATION(ndk_moderation_ignored, "ndk.cq.moderation", Product::ndk_provider, "does not moderate", Departs{departure::kModerationIgnored});
DEVIATION(ndk_result_bytes_missing, "ndk.cq.bytes", Product::ndk_provider, "does not tell how many bytes came",
          Departs{departure::kResultBytesMissing});
DEVIATION(ndk_result_context_lost, "ndk.cq.context", Product::ndk_provider, "loses the contexts of requests",
          Departs{departure::kResultContextLost});
DEVIATION(ndk_result_queue_pair_context_lost, "ndk.cq.qp-context", Product::ndk_provider, "loses the contexts of queue pairs",
          Departs{departure::kResultQueuePairContextLost});
DEVIATION(ndk_result_type_wrong, "ndk.cq.type", Product::ndk_provider, "calls all results Sends", Departs{departure::kResultTypeWrong});
DEVIATION(ndk_cq_plain_context_lost, "ndk.cq.plain", Product::ndk_provider, "loses the contexts of requests",
          Departs{departure::kResultContextLost});
DEVIATION(ndk_failure_looks_like_success, "ndk.cq.failure", Product::ndk_provider, "says that requests that have failed have succeeded",
          Departs{departure::kFailureLooksLikeSuccess});
DEVIATION(ndk_moderation_replaced_late, "ndk.cq.moderation-replaced", Product::ndk_provider,
          "lets a callback wait for moderation that was replaced", Departs{departure::kModerationReplacedLate});

}  // namespace fb::deviations
