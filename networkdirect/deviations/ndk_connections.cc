// What a careless provider of NDK does with connectors, listeners and shared endpoints.
#include "model/deviations/deviation.h"
#include "networkdirect/ndk/provider/fault_points.h"

namespace fb::deviations {

namespace departure = ndk::departure;

DEVIATION(ndk_connect_source_unchecked, "ndk.connector.source", Product::ndk_provider, "takes any source address",
          Departs{departure::kConnectSourceUnchecked});
DEVIATION(ndk_connect_data_unchecked, "ndk.connector.data-limit", Product::ndk_provider, "cuts private data that is too long",
          Departs{departure::kConnectDataUnchecked});
DEVIATION(ndk_accept_data_unchecked, "ndk.connector.reply-data-limit", Product::ndk_provider, "cuts private data that is too long",
          Departs{departure::kConnectDataUnchecked});
DEVIATION(ndk_reject_data_unchecked, "ndk.connector.reject-data-limit", Product::ndk_provider, "cuts private data that is too long",
          Departs{departure::kConnectDataUnchecked});
DEVIATION(ndk_connect_data_lost, "ndk.connector.request-data", Product::ndk_provider, "loses the private data of requests",
          Departs{departure::kConnectDataLost});
DEVIATION(ndk_connect_never_completes, "ndk.connector.completes", Product::ndk_provider, "forgets requests that were accepted",
          Departs{departure::kConnectNeverCompletes});
DEVIATION(ndk_refused_is_timeout, "ndk.connector.refused", Product::ndk_provider, "says that time has passed when a request was refused",
          Departs{departure::kRefusedIsTimeout});
DEVIATION(ndk_refused_spends_queue_pair, "ndk.connector.refused-again", Product::ndk_provider,
          "spends the queue pair on a request that was refused", Departs{departure::kRefusedSpendsQueuePair});
DEVIATION(ndk_complete_connect_never_completes, "ndk.connector.complete", Product::ndk_provider, "never completes NdkCompleteConnect",
          Departs{departure::kCompleteConnectNeverCompletes});
DEVIATION(ndk_complete_without_reply, "ndk.connector.complete-early", Product::ndk_provider, "completes what has no reply",
          Departs{departure::kCompleteWithoutReply});
DEVIATION(ndk_accept_data_lost, "ndk.connector.reply-data", Product::ndk_provider, "loses the private data of replies",
          Departs{departure::kAcceptDataLost});
DEVIATION(ndk_accept_completes_early, "ndk.connector.accept-waits", Product::ndk_provider, "completes NdkAccept with the reply",
          Departs{departure::kAcceptCompletesEarly});
DEVIATION(ndk_aborted_accept_succeeds, "ndk.connector.accept-aborted", Product::ndk_provider, "says that a connection is made that was not",
          Departs{departure::kAbortedAcceptSucceeds});
DEVIATION(ndk_reject_data_lost, "ndk.connector.reject-data", Product::ndk_provider, "loses the private data of rejections",
          Departs{departure::kRejectDataLost});
DEVIATION(ndk_reject_twice, "ndk.connector.reject-twice", Product::ndk_provider, "takes a second rejection",
          Departs{departure::kRejectTwice});
DEVIATION(ndk_read_limits_swapped, "ndk.connector.read-limits", Product::ndk_provider, "tells the one limit for the other",
          Departs{departure::kReadLimitsSwapped});
DEVIATION(ndk_read_limits_unclipped, "ndk.connector.read-limits-clipped", Product::ndk_provider, "keeps the limits that it was asked for",
          Departs{departure::kReadLimitsUnclipped});
DEVIATION(ndk_data_query_fails, "ndk.connector.data-query", Product::ndk_provider, "fails when it is asked for the length",
          Departs{departure::kDataQueryFails});
DEVIATION(ndk_data_cut_succeeds, "ndk.connector.data-cut", Product::ndk_provider, "succeeds with a part of the data",
          Departs{departure::kDataCutSucceeds});
DEVIATION(ndk_data_after_accept, "ndk.connector.data-after", Product::ndk_provider, "tells connection data for ever",
          Departs{departure::kDataAfterAccept});
DEVIATION(ndk_peer_address_wrong, "ndk.connector.peer-address", Product::ndk_provider, "tells another port of the peer",
          Departs{departure::kPeerAddressWrong});
DEVIATION(ndk_local_address_wrong, "ndk.connector.local-address", Product::ndk_provider, "tells another port of its own",
          Departs{departure::kLocalAddressWrong});
DEVIATION(ndk_local_chosen_wrong, "ndk.connector.local-chosen", Product::ndk_provider, "tells another port of its own",
          Departs{departure::kLocalAddressWrong});
DEVIATION(ndk_address_cut_succeeds, "ndk.connector.address-cut", Product::ndk_provider, "succeeds without room for an address",
          Departs{departure::kAddressCutSucceeds});
DEVIATION(ndk_disconnect_does_not_flush, "ndk.connector.disconnect-flushes", Product::ndk_provider,
          "leaves requests outstanding when it disconnects", Departs{departure::kDisconnectDoesNotFlush});
DEVIATION(ndk_disconnect_event_lost, "ndk.connector.disconnect-event", Product::ndk_provider, "does not tell that the peer has gone",
          Departs{departure::kDisconnectEventLost});
DEVIATION(ndk_disconnect_event_twice, "ndk.connector.disconnect-once", Product::ndk_provider, "tells twice that the peer has gone",
          Departs{departure::kDisconnectEventTwice});
DEVIATION(ndk_own_disconnect_told, "ndk.connector.disconnect-own", Product::ndk_provider, "tells of its own disconnects",
          Departs{departure::kOwnDisconnectTold});
DEVIATION(ndk_extended_event_lost, "ndk.connector.disconnect-extended", Product::ndk_provider, "forgets events with a reason",
          Departs{departure::kExtendedEventLost});
DEVIATION(ndk_plain_event_lost, "ndk.connector.disconnect-plain", Product::ndk_provider, "does not tell that the peer has gone",
          Departs{departure::kDisconnectEventLost});
DEVIATION(ndk_failure_event_lost, "ndk.connector.failure-event", Product::ndk_provider, "does not tell that the peer has gone",
          Departs{departure::kDisconnectEventLost});
DEVIATION(ndk_close_event_lost, "ndk.connector.close-event", Product::ndk_provider, "does not tell that the peer has gone",
          Departs{departure::kDisconnectEventLost});
DEVIATION(ndk_peer_disconnect_flushes, "ndk.connector.peer-disconnect", Product::ndk_provider, "flushes when the peer disconnects",
          Departs{departure::kPeerDisconnectFlushes});
DEVIATION(ndk_queue_pair_serves_two, "ndk.connector.one", Product::ndk_provider, "takes a queue pair for a second connection",
          Departs{departure::kQueuePairServesTwo});
DEVIATION(ndk_source_port_shared, "ndk.connector.source-port", Product::ndk_provider, "takes source ports that are in use",
          Departs{departure::kSourcePortShared});
DEVIATION(ndk_listen_port_hidden, "ndk.listener.port", Product::ndk_provider, "does not tell the port of a listener",
          Departs{departure::kListenPortHidden});
DEVIATION(ndk_listen_port_shared, "ndk.listener.port-busy", Product::ndk_provider, "gives a port to two listeners",
          Departs{departure::kListenPortShared});
DEVIATION(ndk_listen_address_unchecked, "ndk.listener.address", Product::ndk_provider, "listens at any address",
          Departs{departure::kListenAddressUnchecked});
DEVIATION(ndk_request_lost, "ndk.listener.several", Product::ndk_provider, "forgets requests that come together",
          Departs{departure::kRequestLost});
DEVIATION(ndk_listen_twice, "ndk.listener.twice", Product::ndk_provider, "takes a second address and forgets it",
          Departs{departure::kListenTwice});
DEVIATION(ndk_listener_freed_early, "ndk.listener.keeps-port", Product::ndk_provider,
          "frees the port of a listener before its connectors are closed", Departs{departure::kListenerFreedEarly});
DEVIATION(ndk_listener_closed_is_timeout, "ndk.listener.closed", Product::ndk_provider,
          "says that time has passed when a request was refused", Departs{departure::kRefusedIsTimeout});
DEVIATION(ndk_pause_ignored, "ndk.listener.pause", Product::ndk_provider, "does not pause", Departs{departure::kPauseIgnored});
DEVIATION(ndk_pause_for_ever, "ndk.listener.resume", Product::ndk_provider, "never ends a pause", Departs{departure::kPauseForEver});
DEVIATION(ndk_ephemeral_out_of_range, "ndk.listener.ephemeral", Product::ndk_provider, "chooses ports of the registered range",
          Departs{departure::kEphemeralOutOfRange});
DEVIATION(ndk_endpoint_freed_early, "ndk.endpoint.keeps", Product::ndk_provider, "closes shared endpoints that are in use",
          Departs{departure::kEndpointFreedEarly});
DEVIATION(ndk_tuple_shared, "ndk.endpoint.peers", Product::ndk_provider, "connects twice from one port to one other",
          Departs{departure::kTupleShared});
DEVIATION(ndk_endpoint_address_wrong, "ndk.endpoint.address", Product::ndk_provider, "tells another port of the peer",
          Departs{departure::kPeerAddressWrong});
DEVIATION(ndk_endpoint_port_shared, "ndk.endpoint.busy", Product::ndk_provider, "takes source ports that are in use",
          Departs{departure::kSourcePortShared});
DEVIATION(ndk_endpoint_address_unchecked, "ndk.endpoint.source", Product::ndk_provider, "listens at any address",
          Departs{departure::kListenAddressUnchecked});
DEVIATION(ndk_listen_address_code, "ndk.listener.address-code", Product::ndk_provider, "says a sharing violation for a foreign address",
          Departs{departure::kListenAddressCode});
DEVIATION(ndk_ports_exhausted_code, "ndk.listener.ports-exhausted", Product::ndk_provider, "says a sharing violation when no port is left",
          Departs{departure::kPortsExhaustedCode});
DEVIATION(ndk_ipv6_refused, "ndk.connector.ipv6", Product::ndk_provider, "does not connect to IPv6 addresses",
          Departs{departure::kIpv6Refused});
DEVIATION(ndk_ipv6_address_wrong, "ndk.listener.ipv6-address", Product::ndk_provider, "says another address where it is an IPv6 one",
          Departs{departure::kIpv6AddressWrong});
DEVIATION(ndk_callee_data_understated, "ndk.connector.callee-data-room", Product::ndk_provider,
          "announces less private data than a reply brings", Departs{departure::kInfoCalleeDataSmall});

}  // namespace fb::deviations
