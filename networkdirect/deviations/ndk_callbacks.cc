// What a careless provider of NDK does with answers that pend.
#include "model/deviations/deviation.h"
#include "networkdirect/ndk/provider/fault_points.h"

namespace fb::deviations {

namespace departure = ndk::departure;

DEVIATION(ndk_create_touches_place, "ndk.callbacks.create-place", Product::ndk_provider, "fills the pointer of creations that pend",
          Departs{departure::kCreateTouchesPlace});
DEVIATION(ndk_create_completes_twice, "ndk.callbacks.create-once", Product::ndk_provider, "calls back twice for a creation",
          Departs{departure::kCreateCompletesTwice});
DEVIATION(ndk_create_completes_inline, "ndk.callbacks.create-inline", Product::ndk_provider, "calls back for creations that are done",
          Departs{departure::kCreateCompletesInline});
DEVIATION(ndk_create_never_completes, "ndk.callbacks.create-ends", Product::ndk_provider, "forgets creations that pend",
          Departs{departure::kCreateNeverCompletes});
DEVIATION(ndk_request_completes_twice, "ndk.callbacks.request-once", Product::ndk_provider, "calls back twice for a request",
          Departs{departure::kRequestCompletesTwice});
DEVIATION(ndk_request_completes_inline, "ndk.callbacks.request-inline", Product::ndk_provider, "calls back for requests that are done",
          Departs{departure::kRequestCompletesInline});
DEVIATION(ndk_refusal_calls_back, "ndk.callbacks.request-refused", Product::ndk_provider, "calls back for requests that are done",
          Departs{departure::kRequestCompletesInline});
DEVIATION(ndk_request_never_completes, "ndk.callbacks.request-ends", Product::ndk_provider, "forgets requests that pend",
          Departs{departure::kRequestNeverCompletes});
DEVIATION(ndk_callback_too_high, "ndk.callbacks.level", Product::ndk_provider, "calls back at the level of its interrupt",
          Departs{departure::kCallbackTooHigh});
DEVIATION(ndk_event_too_high, "ndk.callbacks.event-level", Product::ndk_provider, "calls back at the level of its interrupt",
          Departs{departure::kCallbackTooHigh});
DEVIATION(ndk_needs_passive, "ndk.callbacks.at-dispatch", Product::ndk_provider, "wants to be called at PASSIVE_LEVEL",
          Departs{departure::kNeedsPassive});
DEVIATION(ndk_before_return_twice, "ndk.callbacks.before-return", Product::ndk_provider, "calls back twice for a request",
          Departs{departure::kRequestCompletesTwice});

}  // namespace fb::deviations
