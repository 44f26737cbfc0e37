// What a careless provider of NetworkDirect does with completion queues.
#include "model/deviations/deviation.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::deviations {

namespace departure = networkdirect::departure;

DEVIATION(nd_notify_lost, "networkdirect.completion.notify-any", Product::nd_provider, "loses notifications",
          Departs{departure::kNotifyLost});
DEVIATION(nd_notify_ignores_present, "networkdirect.completion.notify-present", Product::nd_provider,
          "waits for another completion where one is there", Departs{departure::kNotifyIgnoresPresent});
DEVIATION(nd_notify_one_of_many, "networkdirect.completion.notify-all", Product::nd_provider, "completes one request at a time",
          Departs{departure::kNotifyOneOfMany});
DEVIATION(nd_notify_backwards, "networkdirect.completion.notify-order", Product::nd_provider, "completes the newest request first",
          Departs{departure::kNotifyBackwards});
DEVIATION(nd_notify_again, "networkdirect.completion.notify-once", Product::nd_provider, "tells of the same completion again",
          Departs{departure::kNotifyAgain});
DEVIATION(nd_solicited_is_any, "networkdirect.completion.notify-solicited-only", Product::nd_provider,
          "takes every completion for a solicited one", Departs{departure::kSolicitedIsAny});
DEVIATION(nd_solicit_lost, "networkdirect.completion.notify-solicited", Product::nd_provider, "sends without the event that was asked for",
          Departs{departure::kSolicitLost});
DEVIATION(nd_error_not_solicited, "networkdirect.completion.notify-solicited-error", Product::nd_provider,
          "waits for a solicited Send where a request has failed", Departs{departure::kErrorNotSolicited});
DEVIATION(nd_errors_is_any, "networkdirect.completion.notify-errors", Product::nd_provider,
          "takes every completion for an error of the queue", Departs{departure::kErrorsIsAny});
DEVIATION(nd_notify_no_upgrade, "networkdirect.completion.notify-upgrade", Product::nd_provider,
          "leaves requests of the other kinds pending", Departs{departure::kNotifyNoUpgrade});
DEVIATION(nd_results_twice, "networkdirect.completion.results-once", Product::nd_provider, "leaves results in the queue that were taken",
          Departs{departure::kResultsTwice});
DEVIATION(nd_affinity_fails, "networkdirect.completion.affinity", Product::nd_provider, "fails to say the affinity",
          Departs{departure::kAffinityFails});
DEVIATION(nd_result_bytes_missing, "networkdirect.completion.result-bytes", Product::nd_provider,
          "does not say how much a Receive received", Departs{departure::kResultBytesMissing});
DEVIATION(nd_result_context_lost, "networkdirect.completion.result-context", Product::nd_provider, "loses the context of a request",
          Departs{departure::kResultContextLost});
DEVIATION(nd_result_queue_pair_context_lost, "networkdirect.completion.result-pair", Product::nd_provider,
          "loses the context of a queue pair", Departs{departure::kResultQueuePairContextLost});
DEVIATION(nd_result_type_wrong, "networkdirect.completion.result-type", Product::nd_provider, "says Send for every request",
          Departs{departure::kResultTypeWrong});
DEVIATION(nd_failure_looks_like_success, "networkdirect.completion.result-failure", Product::nd_provider,
          "reports success for requests that failed", Departs{departure::kFailureLooksLikeSuccess});
DEVIATION(nd_initiator_results_backwards, "networkdirect.completion.order-initiator", Product::nd_provider, "reports requests in reverse",
          Departs{departure::kInitiatorResultsBackwards});
DEVIATION(nd_receive_results_backwards, "networkdirect.completion.order-receives", Product::nd_provider, "reports receives in reverse",
          Departs{departure::kReceiveResultsBackwards});
DEVIATION(nd_silent_speaks, "networkdirect.completion.silent", Product::nd_provider, "reports requests that asked for silence",
          Departs{departure::kSilentSpeaks});
DEVIATION(nd_silent_failure_silent, "networkdirect.completion.silent-failure", Product::nd_provider, "keeps silent about failures too",
          Departs{departure::kSilentFailureSilent});
DEVIATION(nd_overrun_silent, "networkdirect.completion.overrun", Product::nd_provider, "drops completions without a word",
          Departs{departure::kOverrunSilent});
DEVIATION(nd_resize_drops_results, "networkdirect.completion.resize-keeps", Product::nd_provider, "drops results when a queue is resized",
          Departs{departure::kResizeDropsResults});
DEVIATION(nd_resize_says_yes, "networkdirect.completion.resize-small", Product::nd_provider, "says yes to a depth that it cannot have",
          Departs{departure::kResizeSaysYes});
DEVIATION(nd_resize_unlimited, "networkdirect.completion.resize-limit", Product::nd_provider, "says yes to any depth",
          Departs{departure::kResizeUnlimited});
DEVIATION(nd_resize_unsupported_taken, "networkdirect.completion.resize-unsupported", Product::nd_provider, "takes Resize though it cannot",
          Departs{departure::kResizeUnsupportedTaken});

}  // namespace fb::deviations
