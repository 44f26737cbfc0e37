// What a careless provider of NetworkDirect does with overlapped requests.
#include "model/deviations/deviation.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::deviations {

namespace departure = networkdirect::departure;

DEVIATION(nd_packet_twice, "networkdirect.overlapped.pending-packet", Product::nd_provider, "sends two packets for a registration",
          Departs{departure::kPacketTwice});
DEVIATION(nd_success_with_packet, "networkdirect.overlapped.success-packet", Product::nd_provider,
          "sends a packet for a request that was done in the call", Departs{departure::kSuccessWithPacket});
DEVIATION(nd_failure_sends_packet, "networkdirect.overlapped.failure-packet", Product::nd_provider,
          "sends a packet for a call that has failed", Departs{departure::kFailureSendsPacket});
DEVIATION(nd_event_not_set, "networkdirect.overlapped.event", Product::nd_provider, "sets no event for a registration",
          Departs{departure::kEventNotSet});
DEVIATION(nd_event_stays_set, "networkdirect.overlapped.event-reset", Product::nd_provider,
          "leaves the event set that the request came with", Departs{departure::kEventStaysSet});
DEVIATION(nd_low_bit_ignored, "networkdirect.overlapped.low-bit", Product::nd_provider,
          "sends packets in spite of the low bit of the event handle", Departs{departure::kLowBitIgnored});
DEVIATION(nd_cancel_looks_good, "networkdirect.overlapped.failed-packet", Product::nd_provider, "completes cancelled requests with success",
          Departs{departure::kCancelLooksGood});
DEVIATION(nd_result_forgotten, "networkdirect.overlapped.result", Product::nd_provider, "says success for requests that failed",
          Departs{departure::kResultForgotten});
DEVIATION(nd_result_pending_forgotten, "networkdirect.overlapped.result-pending", Product::nd_provider,
          "says success for requests that are pending", Departs{departure::kResultPendingForgotten});
DEVIATION(nd_result_elsewhere_unknown, "networkdirect.overlapped.result-elsewhere", Product::nd_provider,
          "knows the requests of a region on that region alone", Departs{departure::kResultElsewhereUnknown});
DEVIATION(nd_wait_ignored, "networkdirect.overlapped.wait", Product::nd_provider, "does not wait for a request to end",
          Departs{departure::kWaitIgnored});
DEVIATION(nd_cancel_backwards, "networkdirect.overlapped.cancel-order", Product::nd_provider, "cancels the newest request first",
          Departs{departure::kCancelBackwards});
DEVIATION(nd_cancel_other_code, "networkdirect.overlapped.cancel-code", Product::nd_provider, "ends cancelled requests with another status",
          Departs{departure::kCancelOtherCode});
DEVIATION(nd_cancel_nothing_fails, "networkdirect.overlapped.cancel-nothing", Product::nd_provider, "fails to cancel",
          Departs{departure::kCancelNothingFails});
DEVIATION(nd_release_forgets_requests, "networkdirect.overlapped.release-cancels", Product::nd_provider,
          "forgets what is pending on a completion queue that is released", Departs{departure::kReleaseForgetsRequests});
DEVIATION(nd_late_notify_lost, "networkdirect.overlapped.each-pending", Product::nd_provider,
          "never completes NotifyDisconnect of a connection that is over", Departs{departure::kLateNotifyLost});
DEVIATION(nd_inline_told, "networkdirect.overlapped.each-at-once", Product::nd_provider,
          "sends packets for requests that ended in their call", Departs{departure::kInlineTold});

}  // namespace fb::deviations
