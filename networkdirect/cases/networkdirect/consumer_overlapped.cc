// Whether consumers deal rightly with overlapped requests.
#include "networkdirect/cases/networkdirect/consumer_scene.h"

namespace fb::conformance {
namespace {

void connect_and_part(NdConsumer& nd) {
  NdLine& line = nd.connect();
  nd.program().watch();
  exchange(nd, line);
  line.qp().disconnect();
  nd.program().wait("the end of the connection", [&] { return line.disconnected > 0; });
}

}  // namespace

CONFORMANCE_CASE(nd_consumer_gives_an_overlapped, "networkdirect.consumer.overlapped-given", roles::consumer) {
  keeps(bench, check, Rule::overlapped_null, {{"connector", "Connect", true}, {"memory region", "RegisterAt", true}}, connect_and_part);
}

CONFORMANCE_CASE(nd_consumer_uses_an_overlapped_for_one_request, "networkdirect.consumer.overlapped-single", roles::consumer) {
  keeps(bench, check, Rule::overlapped_reused, {{"connector", "Connect", true}, {"completion queue", "Notify", true}}, connect_and_part);
}

CONFORMANCE_CASE(nd_consumer_leaves_a_pending_overlapped_alone, "networkdirect.consumer.overlapped-unchanged", roles::consumer) {
  keeps(bench, check, Rule::overlapped_changed, {{"connector", "Connect", true}, {"completion queue", "Notify", true}}, connect_and_part);
}

CONFORMANCE_CASE(nd_consumer_asks_for_results_of_requests, "networkdirect.consumer.result-of-request", roles::consumer) {
  keeps(bench, check, Rule::result_of_unknown_request, {{"connector", "GetOverlappedResult"}}, connect_and_part);
}

CONFORMANCE_CASE(nd_consumer_asks_for_no_result_of_failed_calls, "networkdirect.consumer.result-of-failed-call", roles::consumer) {
  keeps(bench, check, Rule::result_of_failed_call, {{"connector", "Connect"}}, [](NdConsumer& nd) {
    // The adapter has addresses of the other family alone: the call itself fails.
    const IpAddress of_v6 = IpAddress::v6({0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
    const IpAddress other = nd.peer_at().address.is_v4() ? of_v6 : IpAddress::v4(192, 0, 2, 99);
    NdLine& line = nd.program().ask({other, NdConsumer::kPeerPort});
    must(line.unreachable > 0, "an address that the adapter does not reach");
    must(nd.called("connector", "Connect").pending == 0, "a Connect that fails in the call");
  });
}

CONFORMANCE_CASE(nd_consumer_asks_the_object_of_the_request, "networkdirect.consumer.result-of-object", roles::consumer) {
  keeps(bench, check, Rule::result_from_other_object, {{"connector", "GetOverlappedResult"}}, connect_and_part);
}

CONFORMANCE_CASE(nd_consumer_takes_the_results_of_requests, "networkdirect.consumer.result-taken", roles::consumer) {
  keeps(bench, check, Rule::result_not_taken, {{"connector", "Connect", true}, {"memory region", "RegisterAt", true}}, [](NdConsumer& nd) {
    connect_and_part(nd);
    nd.connect();
  });
}

CONFORMANCE_CASE(nd_consumer_waits_with_an_event, "networkdirect.consumer.wait-with-event", roles::consumer) {
  keeps(bench, check, Rule::wait_without_event, {{"memory region", "RegisterAt", true}, {"memory region", "GetOverlappedResult"}},
        connect_and_part);
}

}  // namespace fb::conformance
