// What a careless consumer of NetworkDirect does with connectors and listeners.
#include "model/deviations/deviation.h"

namespace fb::deviations {

DEVIATION(nd_consumer_binds_connectors_twice, "networkdirect.consumer.bind-once", Product::nd_consumer, "binds a connector twice",
          Departs{"connector.bound_twice"});
DEVIATION(nd_consumer_binds_listeners_twice, "networkdirect.consumer.bind-once", Product::nd_consumer, "binds a listener twice",
          Departs{"listener.bound_twice"});
DEVIATION(nd_consumer_connects_unbound, "networkdirect.consumer.bind-first", Product::nd_consumer, "connects without Bind",
          Departs{"connector.not_bound"});
DEVIATION(nd_consumer_connects_twice, "networkdirect.consumer.connector-once", Product::nd_consumer,
          "calls Connect a second time on a connector", Departs{"connector.connected_twice"});
DEVIATION(nd_consumer_accepts_twice, "networkdirect.consumer.connector-once", Product::nd_consumer,
          "calls Accept a second time on a connector", Departs{"connector.accepted_twice"});
DEVIATION(nd_consumer_waits_twice_with_a_connector, "networkdirect.consumer.connector-once", Product::nd_consumer,
          "asks for a second request with a connector that waits for one", Departs{"listener.connector_in_use"});
DEVIATION(nd_consumer_connects_a_queue_pair_again, "networkdirect.consumer.queue-pair-once", Product::nd_consumer,
          "connects a queue pair again that was disconnected", Departs{"queue_pair.connected_again"});
DEVIATION(nd_consumer_completes_early, "networkdirect.consumer.complete-once", Product::nd_consumer, "calls CompleteConnect before Connect",
          Departs{"connector.completed_early"});
DEVIATION(nd_consumer_completes_twice, "networkdirect.consumer.complete-once", Product::nd_consumer, "calls CompleteConnect twice",
          Departs{"connector.completed_twice"});
DEVIATION(nd_consumer_never_completes, "networkdirect.consumer.complete-connect", Product::nd_consumer, "takes a reply for a connection",
          Departs{"connector.not_completed"});
DEVIATION(nd_consumer_accepts_nothing, "networkdirect.consumer.accept-request", Product::nd_consumer,
          "calls Accept on a connector without a request", Departs{"connector.accepted_unasked"});
DEVIATION(nd_consumer_rejects_what_it_accepted, "networkdirect.consumer.reject-open", Product::nd_consumer, "calls Reject after Accept",
          Departs{"connector.rejected_after_accept"});
DEVIATION(nd_consumer_rejects_connections, "networkdirect.consumer.reject-open", Product::nd_consumer, "calls Reject on a connection",
          Departs{"connector.rejected_connected"});
DEVIATION(nd_consumer_rejects_twice, "networkdirect.consumer.reject-open", Product::nd_consumer, "calls Reject twice",
          Departs{"connector.rejected_twice"});
DEVIATION(nd_consumer_asks_read_limits_early, "networkdirect.consumer.data-in-time", Product::nd_consumer,
          "asks for read limits before it connects", Departs{"connector.asked_unconnected"});
DEVIATION(nd_consumer_sends_too_much_private_data, "networkdirect.consumer.private-data", Product::nd_consumer,
          "gives Connect more private data than the adapter takes", Departs{"connector.too_much_data"});
DEVIATION(nd_consumer_disconnects_early, "networkdirect.consumer.disconnect-once", Product::nd_consumer,
          "calls Disconnect before it connects", Departs{"connector.disconnected_unconnected"});
DEVIATION(nd_consumer_watches_early, "networkdirect.consumer.disconnect-once", Product::nd_consumer,
          "calls NotifyDisconnect before it connects", Departs{"connector.notified_unconnected"});
DEVIATION(nd_consumer_disconnects_twice, "networkdirect.consumer.disconnect-once", Product::nd_consumer, "calls Disconnect twice",
          Departs{"connector.disconnected_twice"});
DEVIATION(nd_consumer_abandons_connections, "networkdirect.consumer.disconnect-first", Product::nd_consumer,
          "releases the connectors of connections", Departs{"queue_pair.released_connected"});
DEVIATION(nd_consumer_abandons_replies, "networkdirect.consumer.reply-answered", Product::nd_consumer,
          "releases connectors with a reply that it has not answered", Departs{"connector.reply_unanswered"});
DEVIATION(nd_consumer_abandons_requests, "networkdirect.consumer.request-answered", Product::nd_consumer,
          "releases connectors with a request that it has not answered", Departs{"connector.unanswered"});
DEVIATION(nd_consumer_watches_no_connection, "networkdirect.consumer.notify-disconnect", Product::nd_consumer,
          "never asks to be told of a disconnect", Departs{"connector.not_watched"});
DEVIATION(nd_consumer_asks_data_late, "networkdirect.consumer.data-before-answer", Product::nd_consumer,
          "asks for the read limits of a connection that stands", Departs{"connector.asked_late"});
DEVIATION(nd_consumer_reuses_refused_connectors, "networkdirect.consumer.connector-after-refusal", Product::nd_consumer,
          "calls Connect again on a connector that was refused", Departs{"connector.refused_reused"});
DEVIATION(nd_consumer_shares_a_port, "networkdirect.consumer.own-port", Product::nd_consumer, "binds all its connectors to one port",
          Departs{"connector.port_shared"});
DEVIATION(nd_consumer_receives_late, "networkdirect.consumer.receive-first", Product::nd_consumer,
          "posts no Receive before there is a connection", Departs{"post.receive_late"});
DEVIATION(nd_consumer_listens_unbound, "networkdirect.consumer.listen-bound", Product::nd_consumer, "listens without Bind",
          Departs{"listener.not_bound"});
DEVIATION(nd_consumer_listens_twice, "networkdirect.consumer.listen-once", Product::nd_consumer, "calls Listen twice",
          Departs{"listener.listens_twice"});
DEVIATION(nd_consumer_asks_for_requests_early, "networkdirect.consumer.listen-first", Product::nd_consumer,
          "asks for requests before it listens", Departs{"listener.asked_early"});

}  // namespace fb::deviations
