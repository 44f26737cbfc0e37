// The named points at which the consumer asks ConsumerHooks::departs(). Each breaks a rule that NetworkDirect has for its
// consumers by one small step, for whoever judges consumers.
#pragma once

#include <string_view>

namespace fb::networkdirect {

struct ConsumerDeparture {
  std::string_view name;
  std::string_view breaks;  ///< what a provider may rely on
  /// It touches what has been freed unless something that judges stands between consumer and provider.
  bool dangerous = false;
};

inline constexpr ConsumerDeparture kConsumerDepartures[] = {
    // The adapter.
    {"adapter.info_version", "InfoVersion is 1 or ND_VERSION_2 when an adapter is queried"},
    {"adapter.leaked", "the adapter is released at the end"},
    {"adapter.released_first", "an adapter is released after its objects"},
    {"adapter.released_twice", "a reference is released once", true},
    {"adapter.used_after_release", "no method is called on an adapter that was released: Query", true},
    // Asynchronous calls.
    {"overlapped.none", "an asynchronous method is given an OVERLAPPED"},
    {"overlapped.reused", "an OVERLAPPED serves one call at a time"},
    {"overlapped.overwritten", "an OVERLAPPED stays as it is until its call has ended"},
    {"result.not_asked", "the result of a call is asked for with GetOverlappedResult of the object"},
    {"result.of_no_call", "the result is asked for of a call that was made"},
    {"result.of_failed_call", "a call that failed has no result"},
    {"result.of_other_object", "the result of a call is asked of the object on which it was made"},
    {"wait.without_event", "who waits for the end of a call gave it an event"},
    {"pending.taken_for_done", "what returned ND_PENDING is done only when its end has been told of"},
    // Memory.
    {"region.token_early", "tokens are asked for once memory is registered"},
    {"region.empty", "something is registered"},
    {"region.unknown_flag", "memory is registered with the flags that exist"},
    {"region.registered_twice", "a region registers one piece of memory at a time"},
    {"region.local_write_missing", "memory that is to receive data is registered for it"},
    {"region.read_sink_missing", "memory that Reads fill is registered as their sink"},
    {"region.deregistered_twice", "a registration is taken back once"},
    {"region.released_registered", "memory is deregistered before its region is released"},
    {"region.deregistered_in_flight", "memory stays registered while requests refer to it"},
    {"region.deregistered_with_window", "memory is deregistered when no window is bound in it"},
    {"region.leaked", "memory regions are released"},
    {"region.used_after_release", "no method is called on a region that was released: GetLocalToken", true},
    {"window.bound_twice", "only a window that is not bound is bound"},
    {"window.invalidated_unbound", "only a window that is bound is invalidated"},
    {"window.invalidated_elsewhere", "a window is invalidated on the queue pair on which it was bound"},
    {"window.bound_unregistered", "a window is bound in a region that is registered"},
    {"window.beyond_region", "a window lies within its region"},
    {"window.write_unasked", "a window for writing is bound in memory that may be written"},
    {"window.grants_nothing", "a window gives the peer some right"},
    {"window.token_early", "the token of a window is asked for when it is bound"},
    // Requests.
    {"post.bad_token", "a buffer carries the local token of its region"},
    {"post.stale_token", "the region of a buffer is registered"},
    {"post.beyond_region", "a buffer lies within its region"},
    {"post.token_in_host_order", "a remote token is given as the peer's GetRemoteToken gave it"},
    {"post.too_many_sges", "a request has no more buffers than its queue takes"},
    {"post.unknown_flag", "a request has the flags that exist for it"},
    {"post.read_inline", "a Read takes no inline data"},
    {"post.write_solicited", "a Write solicits nothing"},
    {"post.receive_late", "who receives has posted a Receive before the other end may send"},
    {"post.unconnected", "requests other than receives are posted while there is a connection"},
    {"post.after_failure", "nothing is posted after a result that failed"},
    {"post.receive_beside_shared_queue", "a queue pair with a shared receive queue takes no receives of its own"},
    {"post.buffer_changed", "buffers stay as they are while requests refer to them"},
    // Completion and shared receive queues.
    {"completion_queue.too_deep", "a completion queue is not deeper than the adapter allows"},
    {"completion_queue.depth_zero", "a completion queue has room for something"},
    {"completion_queue.results_untaken", "results are taken, so that the places of their requests are free again"},
    {"completion_queue.shallow", "a completion queue has room for all that may complete"},
    {"completion_queue.foreign_file", "the file of an object is its adapter's"},
    {"completion_queue.notify_type", "Notify has one of its three types"},
    {"completion_queue.leaked", "completion queues are released"},
    {"completion_queue.used_after_release", "no method is called on a completion queue that was released: GetResults", true},
    {"shared_queue.too_deep", "a shared receive queue is not deeper than the adapter allows"},
    {"shared_queue.threshold_too_large", "the threshold of a shared receive queue is no more than its depth"},
    {"shared_queue.leaked", "shared receive queues are released"},
    {"shared_queue.used_after_release", "no method is called on a shared receive queue that was released: Receive", true},
    // Queue pairs.
    {"queue_pair.too_deep", "a queue pair is not deeper than the adapter allows"},
    {"queue_pair.without_queue", "a queue pair has a completion queue on either side"},
    {"queue_pair.foreign_queue", "the queues of a queue pair are completion queues"},
    {"queue_pair.queue_of_other_adapter", "the queues of a queue pair are of the same adapter"},
    {"queue_pair.released_queue", "the queues of a queue pair have not been released", true},
    {"queue_pair.released_last", "queue pairs are released before their completion queues"},
    {"queue_pair.shallow", "a queue is deep enough for what is posted"},
    {"queue_pair.no_inline", "a queue pair has room for the inline data that are posted"},
    {"queue_pair.connected_again", "a queue pair serves one connection"},
    {"queue_pair.released_connected", "a connection is ended with Disconnect before its queue pair is released"},
    {"queue_pair.leaked", "queue pairs are released"},
    {"queue_pair.used_after_release", "no method is called on a queue pair that was released: Flush", true},
    // Connections.
    {"connector.not_bound", "a connector is bound before it connects"},
    {"connector.bound_twice", "a connector is bound once"},
    {"connector.without_queue_pair", "Connect is given a queue pair"},
    {"connector.connected_twice", "a connector connects once at a time"},
    {"connector.too_much_data", "private data of Connect fits into MaxCallerData"},
    {"connector.no_reads", "who wants to Read asks for it when connecting"},
    {"connector.completed_early", "CompleteConnect comes after the end of Connect"},
    {"connector.completed_twice", "CompleteConnect is called once"},
    {"connector.not_completed", "a connection is made with CompleteConnect before it is used"},
    {"connector.accepted_twice", "a request is accepted once"},
    {"connector.accepted_unasked", "a request is accepted that has come"},
    {"connector.rejected_after_accept", "a request that was accepted is not rejected"},
    {"connector.rejected_connected", "Reject is for connections that are not made yet"},
    {"connector.rejected_twice", "a request is rejected once"},
    {"connector.asked_late", "read limits are asked for before the other end is answered"},
    {"connector.refused_reused", "an attempt after a refusal is made with another connector"},
    {"connector.port_shared", "connections to one remote port come from different local ports"},
    {"connector.asked_unconnected", "read limits are asked for when the other end has spoken"},
    {"connector.notified_unconnected", "NotifyDisconnect is for connections that were made"},
    {"connector.disconnected_unconnected", "Disconnect is for connections that were made"},
    {"connector.disconnected_twice", "Disconnect is called once"},
    {"connector.unanswered", "a request is accepted or rejected before its connector is released"},
    {"connector.reply_unanswered", "a reply is answered before its connector is released"},
    {"connector.not_watched", "who has a connection asks to be told of its end"},
    {"connector.leaked", "connectors are released"},
    {"connector.used_after_release", "no method is called on a connector that was released: GetReadLimits", true},
    // Listeners.
    {"listener.not_bound", "a listener is bound before it listens"},
    {"listener.bound_twice", "a listener is bound once"},
    {"listener.listens_twice", "a listener begins to listen once"},
    {"listener.asked_early", "requests are asked for when the listener listens"},
    {"listener.connector_in_use", "GetConnectionRequest is given a connector that nobody uses"},
    {"listener.leaked", "listeners are released"},
    {"listener.used_after_release", "no method is called on a listener that was released: GetLocalAddress", true},
};

}  // namespace fb::networkdirect
