// What a careless provider of NetworkDirect does with listeners.
#include "model/deviations/deviation.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::deviations {

namespace departure = networkdirect::departure;

DEVIATION(nd_listener_bind_twice, "networkdirect.listener.bind-again", Product::nd_provider, "binds a listener again",
          Departs{departure::kListenerBindTwice});
DEVIATION(nd_listener_bind_anywhere, "networkdirect.listener.bind-foreign", Product::nd_provider, "binds listeners to any address",
          Departs{departure::kBindAnywhere});
DEVIATION(nd_any_address_refused, "networkdirect.listener.bind-any", Product::nd_provider, "binds no listener to the unspecified address",
          Departs{departure::kAnyAddressRefused});
DEVIATION(nd_listener_port_shared, "networkdirect.listener.port-taken", Product::nd_provider, "binds two listeners to one port",
          Departs{departure::kListenerPortShared});
DEVIATION(nd_listener_ephemeral_low, "networkdirect.listener.ephemeral", Product::nd_provider, "chooses ports below 49152",
          Departs{departure::kListenerEphemeralLow});
DEVIATION(nd_listen_twice, "networkdirect.listener.listen-again", Product::nd_provider, "listens twice", Departs{departure::kListenTwice});
DEVIATION(nd_listen_unbound, "networkdirect.listener.listen-unbound", Product::nd_provider, "listens without an address",
          Departs{departure::kListenUnbound});
DEVIATION(nd_listener_port_hidden, "networkdirect.listener.address", Product::nd_provider, "does not say its port",
          Departs{departure::kListenerPortHidden});
DEVIATION(nd_listener_address_early, "networkdirect.listener.address-early", Product::nd_provider, "says an address before it listens",
          Departs{departure::kListenerAddressEarly});
DEVIATION(nd_request_before_listen, "networkdirect.listener.request-early", Product::nd_provider, "waits for requests before it listens",
          Departs{departure::kRequestBeforeListen});
DEVIATION(nd_used_connector_taken, "networkdirect.listener.used-connector", Product::nd_provider, "takes connectors that are connected",
          Departs{departure::kUsedConnectorTaken});
DEVIATION(nd_requests_out_of_order, "networkdirect.listener.order", Product::nd_provider, "gives out the newest request first",
          Departs{departure::kRequestsOutOfOrder});
DEVIATION(nd_request_answers_all, "networkdirect.listener.one-each", Product::nd_provider, "completes all with one request",
          Departs{departure::kRequestAnswersAll});
DEVIATION(nd_listener_cancel_ignored, "networkdirect.listener.cancel", Product::nd_provider, "does not cancel requests of listeners",
          Departs{departure::kListenerCancelIgnored});
DEVIATION(nd_backlog_ignored, "networkdirect.listener.backlog", Product::nd_provider, "keeps any number of requests",
          Departs{departure::kBacklogIgnored});
DEVIATION(nd_listener_close_forgets, "networkdirect.listener.close-cancels", Product::nd_provider,
          "forgets what is pending on a listener that is released", Departs{departure::kListenerCloseForgets});
DEVIATION(nd_closed_is_timeout, "networkdirect.listener.close-refuses", Product::nd_provider, "says a timeout where the listener went away",
          Departs{departure::kRefusedIsTimeout});
DEVIATION(nd_port_stays_taken, "networkdirect.listener.close-port", Product::nd_provider, "keeps the port of a listener that was released",
          Departs{departure::kPortStaysTaken});
DEVIATION(nd_listener_takes_connections, "networkdirect.listener.close-keeps", Product::nd_provider,
          "ends its connections with the listener", Departs{departure::kListenerTakesConnections});
DEVIATION(nd_listener_ports_exhausted_code, "networkdirect.listener.ports-exhausted", Product::nd_provider,
          "says a sharing violation when no port is left", Departs{departure::kListenerPortsExhaustedCode});

}  // namespace fb::deviations
