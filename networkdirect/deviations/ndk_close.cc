// What a careless provider of NDK does with the close of objects.
#include "model/deviations/deviation.h"
#include "networkdirect/ndk/provider/fault_points.h"

namespace fb::deviations {

namespace departure = ndk::departure;

DEVIATION(ndk_close_fails, "ndk.close.status", Product::ndk_provider, "says that a close has failed", Departs{departure::kCloseFails});
DEVIATION(ndk_close_completes_early, "ndk.close.dependants", Product::ndk_provider,
          "says that a protection domain is closed before its regions are", Departs{departure::kCloseCompletesEarly});
DEVIATION(ndk_close_queue_early, "ndk.close.queue", Product::ndk_provider,
          "says that a completion queue is closed before its queue pairs are", Departs{departure::kCloseCompletesEarly});
DEVIATION(ndk_close_completes_twice, "ndk.close.once", Product::ndk_provider, "calls back twice for a close",
          Departs{departure::kCloseCompletesTwice});
DEVIATION(ndk_close_completes_inline, "ndk.close.inline", Product::ndk_provider, "calls back for a close that is done",
          Departs{departure::kCloseCompletesInline});
DEVIATION(ndk_close_never_completes, "ndk.close.ends", Product::ndk_provider, "forgets a close that pends",
          Departs{departure::kCloseNeverCompletes});
DEVIATION(ndk_close_forgets_requests, "ndk.close.cancels", Product::ndk_provider, "leaves requests pending on objects that are closed",
          Departs{departure::kCloseForgetsRequests});
DEVIATION(ndk_close_qp_silently, "ndk.close.flushes", Product::ndk_provider, "loses what is outstanding on queue pairs that are closed",
          Departs{departure::kCloseQpSilently});
DEVIATION(ndk_close_inside_forgotten, "ndk.close.inside", Product::ndk_provider, "forgets a close that pends",
          Departs{departure::kCloseNeverCompletes});
DEVIATION(ndk_calls_after_close, "ndk.close.last", Product::ndk_provider, "calls back for completion queues that are closed",
          Departs{departure::kCallsAfterClose});

}  // namespace fb::deviations
