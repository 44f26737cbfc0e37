// What a careless provider of NetworkDirect does with connectors.
#include "model/deviations/deviation.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::deviations {

namespace departure = networkdirect::departure;

DEVIATION(nd_idle_accepted, "networkdirect.connection.unconnected", Product::nd_provider, "says yes on connectors without a peer",
          Departs{departure::kIdleAccepted});
DEVIATION(nd_bind_twice, "networkdirect.connection.bind-again", Product::nd_provider, "binds a connector again",
          Departs{departure::kBindTwice});
DEVIATION(nd_bind_anywhere, "networkdirect.connection.bind-foreign", Product::nd_provider, "binds connectors to any address",
          Departs{departure::kBindAnywhere});
DEVIATION(nd_connect_unbound, "networkdirect.connection.connect-unbound", Product::nd_provider, "connects without a local address",
          Departs{departure::kConnectUnbound});
DEVIATION(nd_connect_twice_code, "networkdirect.connection.connect-again", Product::nd_provider,
          "says another status to the second Connect", Departs{departure::kConnectTwiceCode});
DEVIATION(nd_pair_busy_code, "networkdirect.connection.pair-busy", Product::nd_provider, "says another status for a queue pair in use",
          Departs{departure::kPairBusyCode});
DEVIATION(nd_spent_pair_taken, "networkdirect.connection.pair-spent", Product::nd_provider, "connects queue pairs that had a connection",
          Departs{departure::kSpentPairTaken});
DEVIATION(nd_connect_data_lost, "networkdirect.connection.request-data", Product::nd_provider, "loses the private data of requests",
          Departs{departure::kConnectDataLost});
DEVIATION(nd_accept_data_lost, "networkdirect.connection.reply-data", Product::nd_provider, "loses the private data of replies",
          Departs{departure::kAcceptDataLost});
DEVIATION(nd_reject_data_lost, "networkdirect.connection.reject-data", Product::nd_provider, "loses the private data of refusals",
          Departs{departure::kRejectDataLost});
DEVIATION(nd_data_size_unsaid, "networkdirect.connection.data-size", Product::nd_provider, "does not say the size of private data",
          Departs{departure::kDataSizeUnsaid});
DEVIATION(nd_private_data_not_cut, "networkdirect.connection.data-part", Product::nd_provider, "copies no private data at all",
          Departs{departure::kPrivateDataNotCut});
DEVIATION(nd_data_before_connecting, "networkdirect.connection.data-none", Product::nd_provider, "gives private data of nobody",
          Departs{departure::kDataBeforeConnecting});
DEVIATION(nd_caller_data_unchecked, "networkdirect.connection.caller-data-large", Product::nd_provider, "cuts private data of requests",
          Departs{departure::kCallerDataUnchecked});
DEVIATION(nd_callee_data_unchecked, "networkdirect.connection.callee-data-large", Product::nd_provider, "cuts private data of replies",
          Departs{departure::kCalleeDataUnchecked});
DEVIATION(nd_read_limits_swapped, "networkdirect.connection.read-limits", Product::nd_provider, "swaps the two limits",
          Departs{departure::kReadLimitsSwapped});
DEVIATION(nd_read_limits_unclipped, "networkdirect.connection.read-limits-offer", Product::nd_provider,
          "agrees to more Reads than were offered", Departs{departure::kReadLimitsUnclipped});
DEVIATION(nd_limits_before_connecting, "networkdirect.connection.read-limits-none", Product::nd_provider,
          "gives limits that were agreed with nobody", Departs{departure::kLimitsBeforeConnecting});
DEVIATION(nd_connect_never_completes, "networkdirect.connection.connect", Product::nd_provider,
          "never completes a Connect that was accepted", Departs{departure::kConnectNeverCompletes});
DEVIATION(nd_accept_completes_early, "networkdirect.connection.accept-waits", Product::nd_provider,
          "completes Accept before there is a connection", Departs{departure::kAcceptCompletesEarly});
DEVIATION(nd_complete_connect_never_completes, "networkdirect.connection.complete", Product::nd_provider, "never completes CompleteConnect",
          Departs{departure::kCompleteConnectNeverCompletes});
DEVIATION(nd_posts_before_complete, "networkdirect.connection.not-before", Product::nd_provider, "takes requests before CompleteConnect",
          Departs{departure::kPostsUnconnected});
DEVIATION(nd_nobody_is_timeout, "networkdirect.connection.nobody", Product::nd_provider, "says a timeout where nobody listens",
          Departs{departure::kRefusedIsTimeout});
DEVIATION(nd_refused_is_timeout, "networkdirect.connection.rejected", Product::nd_provider, "says a timeout for a refusal",
          Departs{departure::kRefusedIsTimeout});
DEVIATION(nd_refusal_spends, "networkdirect.connection.retry", Product::nd_provider, "spends a connector with a refusal",
          Departs{departure::kRefusalSpends});
DEVIATION(nd_failed_connect_drops_receives, "networkdirect.connection.failed-keeps", Product::nd_provider,
          "cancels the Receives of a queue pair that was refused", Departs{departure::kFailedConnectDropsReceives});
DEVIATION(nd_reject_twice, "networkdirect.connection.reject-again", Product::nd_provider, "rejects a request twice",
          Departs{departure::kRejectTwice});
DEVIATION(nd_refused_accept_succeeds, "networkdirect.connection.reply-rejected", Product::nd_provider,
          "accepts what the active side rejected", Departs{departure::kRefusedAcceptSucceeds});
DEVIATION(nd_abandoned_accept_succeeds, "networkdirect.connection.abandoned", Product::nd_provider,
          "accepts what the active side abandoned", Departs{departure::kRefusedAcceptSucceeds});
DEVIATION(nd_connector_cancel_ignored, "networkdirect.connection.cancel", Product::nd_provider, "does not cancel requests of connectors",
          Departs{departure::kConnectorCancelIgnored});
DEVIATION(nd_connector_release_forgets, "networkdirect.connection.release", Product::nd_provider,
          "forgets what is pending on a connector that is released", Departs{departure::kConnectorReleaseForgets});
DEVIATION(nd_impatient_accept, "networkdirect.connection.patience-request", Product::nd_provider,
          "gives up a request that waits for Accept", Departs{departure::kImpatientAccept});
DEVIATION(nd_impatient_complete, "networkdirect.connection.patience-reply", Product::nd_provider,
          "gives up a reply that waits for CompleteConnect", Departs{departure::kImpatientComplete});
DEVIATION(nd_completes_after_end, "networkdirect.connection.complete-withdrawn", Product::nd_provider,
          "completes a connection that the accepting side has withdrawn", Departs{departure::kCompletesAfterEnd});
DEVIATION(nd_local_port_hidden, "networkdirect.connection.local-address", Product::nd_provider, "does not say its own port",
          Departs{departure::kLocalPortHidden});
DEVIATION(nd_peer_address_wrong, "networkdirect.connection.peer-address", Product::nd_provider, "says another port of the peer",
          Departs{departure::kPeerAddressWrong});
DEVIATION(nd_ephemeral_low, "networkdirect.connection.ephemeral", Product::nd_provider, "chooses ports below 49152",
          Departs{departure::kEphemeralLow});
DEVIATION(nd_short_address_touched, "networkdirect.connection.address-short", Product::nd_provider,
          "writes to a buffer that is too small for an address", Departs{departure::kShortAddressTouched});
DEVIATION(nd_address_before_connecting, "networkdirect.connection.address-none", Product::nd_provider,
          "says the address of a connector without one", Departs{departure::kAddressBeforeConnecting});
DEVIATION(nd_disconnect_unnoticed, "networkdirect.connection.notify", Product::nd_provider, "does not notice that its peer disconnects",
          Departs{departure::kDisconnectUnnoticed});
DEVIATION(nd_notify_disconnect_fails, "networkdirect.connection.notify-code", Product::nd_provider,
          "cancels NotifyDisconnect when the peer disconnects", Departs{departure::kNotifyDisconnectFails});
DEVIATION(nd_notify_before_connecting, "networkdirect.connection.notify-none", Product::nd_provider, "waits for the disconnect of nobody",
          Departs{departure::kNotifyBeforeConnecting});
DEVIATION(nd_notify_cancel_ignored, "networkdirect.connection.notify-cancel", Product::nd_provider, "does not cancel NotifyDisconnect",
          Departs{departure::kConnectorCancelIgnored});
DEVIATION(nd_disconnect_never_completes, "networkdirect.connection.disconnect", Product::nd_provider, "never completes Disconnect",
          Departs{departure::kDisconnectNeverCompletes});
DEVIATION(nd_disconnect_twice, "networkdirect.connection.disconnect-again", Product::nd_provider, "disconnects twice",
          Departs{departure::kDisconnectTwice});
DEVIATION(nd_disconnect_after_peer_refused, "networkdirect.connection.disconnect-after-peer", Product::nd_provider,
          "refuses Disconnect where the peer was first", Departs{departure::kDisconnectAfterPeerRefused});
DEVIATION(nd_disconnects_meet_badly, "networkdirect.connection.disconnect-both", Product::nd_provider,
          "fails a Disconnect that meets the peer's", Departs{departure::kDisconnectsMeetBadly});
DEVIATION(nd_disconnect_loses_receives, "networkdirect.connection.disconnect-flushes", Product::nd_provider,
          "loses the Receives of a connection that it ends", Departs{departure::kFlushedSilently});
DEVIATION(nd_peer_flush_as_error, "networkdirect.connection.peer-flush", Product::nd_provider,
          "says another failure when the peer disconnects", Departs{departure::kFlushedAsError});
DEVIATION(nd_nowhere_reached, "networkdirect.connection.nowhere", Product::nd_provider, "connects to the unspecified address",
          Departs{departure::kNowhereReached});
DEVIATION(nd_loopback_refused, "networkdirect.connection.loopback", Product::nd_provider, "does not connect to its own address",
          Departs{departure::kLoopbackRefused});
DEVIATION(nd_ports_exhausted_code, "networkdirect.connection.ports-exhausted", Product::nd_provider,
          "says a sharing violation when no port is left", Departs{departure::kPortsExhaustedCode});
DEVIATION(nd_ipv6_refused, "networkdirect.connection.ipv6", Product::nd_provider, "does not connect to IPv6 addresses",
          Departs{departure::kIpv6Refused});
DEVIATION(nd_ipv6_address_cut, "networkdirect.connection.ipv6-address", Product::nd_provider,
          "says the size of an IPv4 address for an IPv6 one", Departs{departure::kIpv6AddressCut});
DEVIATION(nd_callee_data_understated, "networkdirect.connection.callee-data-room", Product::nd_provider,
          "announces less private data than a reply brings", Departs{departure::kInfoCalleeDataSmall});
DEVIATION(nd_caller_data_understated, "networkdirect.connection.caller-data-room", Product::nd_provider,
          "announces less private data than a request brings", Departs{departure::kInfoCallerDataSmall});

}  // namespace fb::deviations
