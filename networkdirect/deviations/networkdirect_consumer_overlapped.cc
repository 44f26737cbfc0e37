// What a careless consumer of NetworkDirect does with overlapped requests.
#include "model/deviations/deviation.h"

namespace fb::deviations {

DEVIATION(nd_consumer_gives_no_overlapped, "networkdirect.consumer.overlapped-given", Product::nd_consumer,
          "registers memory without an OVERLAPPED", Departs{"overlapped.none"});
DEVIATION(nd_consumer_reuses_an_overlapped, "networkdirect.consumer.overlapped-single", Product::nd_consumer,
          "makes a second request with an OVERLAPPED that is pending", Departs{"overlapped.reused"});
DEVIATION(nd_consumer_overwrites_an_overlapped, "networkdirect.consumer.overlapped-unchanged", Product::nd_consumer,
          "writes another event into an OVERLAPPED that is pending", Departs{"overlapped.overwritten"});
DEVIATION(nd_consumer_asks_the_result_of_nothing, "networkdirect.consumer.result-of-request", Product::nd_consumer,
          "asks for the result of an OVERLAPPED that it never used", Departs{"result.of_no_call"});
DEVIATION(nd_consumer_asks_the_result_of_a_failure, "networkdirect.consumer.result-of-failed-call", Product::nd_consumer,
          "asks for the result of a call that failed", Departs{"result.of_failed_call"});
DEVIATION(nd_consumer_asks_another_object, "networkdirect.consumer.result-of-object", Product::nd_consumer,
          "asks another object for the result of a request", Departs{"result.of_other_object"});
DEVIATION(nd_consumer_asks_no_results, "networkdirect.consumer.result-taken", Product::nd_consumer,
          "never asks for the results of requests", Departs{"result.not_asked"});
DEVIATION(nd_consumer_takes_pending_for_done, "networkdirect.consumer.result-taken", Product::nd_consumer, "takes what is pending for done",
          Departs{"pending.taken_for_done"});
DEVIATION(nd_consumer_waits_without_event, "networkdirect.consumer.wait-with-event", Product::nd_consumer,
          "waits for requests that have no event", Departs{"wait.without_event"});

}  // namespace fb::deviations
