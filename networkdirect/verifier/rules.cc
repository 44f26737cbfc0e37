#include "networkdirect/verifier/rules.h"

#include <algorithm>
#include <array>

namespace fb::networkdirect::verifier {

namespace {

using enum Rule;
using enum Severity;

constexpr auto kRules = std::to_array<RuleEntry>({
    {use_after_release, "use_after_release", violation, "IUnknown::Release",
     "An object is not called after its last reference was released."},
    {release_too_often, "release_too_often", violation, "IUnknown::Release", "Release is called once for each reference, not more often."},
    {released_during_call, "released_during_call", violation, "IUnknown::Release",
     "A caller holds a reference for as long as its call lasts."},
    {argument_null, "argument_null", violation, "IND2Adapter", "Pointers that a method needs are not null."},
    {argument_foreign, "argument_foreign", violation, "IND2Adapter",
     "An object that is passed is of the provider that it is passed to, and of the kind that the method asks for."},
    {argument_released, "argument_released", violation, "IUnknown::Release",
     "An object is not passed to a method after its last reference was released."},
    {argument_of_other_adapter, "argument_of_other_adapter", violation, "IND2Adapter",
     "Objects that work together were created by the same instance of IND2Adapter."},
    {file_foreign, "file_foreign", violation, "IND2Adapter::CreateOverlappedFile",
     "The file of an object is one that the same adapter's CreateOverlappedFile returned."},
    {adapter_released_first, "adapter_released_first", advice, "IND2Adapter",
     "The objects of an adapter are released before it; in what order is left to the consumer, and this one is easy to follow."},
    {queue_released_first, "queue_released_first", advice, "IND2CompletionQueue",
     "A completion queue outlives the queue pairs on it: nobody can read what they complete afterwards."},
    {leaked_object, "leaked_object", violation, "IUnknown::Release", "Every reference is released in the end."},
    {overlapped_null, "overlapped_null", violation, "IND2Overlapped", "A method that may finish later is given an OVERLAPPED."},
    {overlapped_reused, "overlapped_reused", violation, "IND2Overlapped",
     "An OVERLAPPED is not used for another request while its request is pending."},
    {overlapped_changed, "overlapped_changed", violation, "IND2Overlapped", "An OVERLAPPED stays as it is while its request is pending."},
    {result_of_unknown_request, "result_of_unknown_request", violation, "IND2Overlapped::GetOverlappedResult",
     "The result is asked for with the OVERLAPPED with which a request of this adapter was started."},
    {result_of_inline_success, "result_of_inline_success", violation, "IND2Overlapped::GetOverlappedResult",
     "A call that returned ND_SUCCESS has ended; its OVERLAPPED has no result."},
    {result_of_failed_call, "result_of_failed_call", violation, "IND2Overlapped::GetOverlappedResult",
     "A call that failed has started nothing; its OVERLAPPED has no result."},
    {result_from_other_object, "result_from_other_object", advice, "IND2Overlapped::GetOverlappedResult",
     "The result is asked of the object on which the request was made."},
    {result_not_taken, "result_not_taken", advice, "IND2Overlapped::GetOverlappedResult",
     "GetOverlappedResult is called for every request that was pending: providers may have work left to do in it."},
    {wait_without_event, "wait_without_event", violation, "IND2Overlapped::GetOverlappedResult",
     "Who wants to wait for a request gave its OVERLAPPED an event when the request was made."},
    {info_version_wrong, "info_version_wrong", violation, "IND2Adapter::Query",
     "InfoVersion says which form of ND2_ADAPTER_INFO the caller knows: ND_VERSION_2, or 1 as the documentation has it."},
    {adapter_limit_exceeded, "adapter_limit_exceeded", advice, "IND2Adapter::Query",
     "What is asked for lies within the limits that Query reports."},
    {flags_unknown, "flags_unknown", violation, "IND2QueuePair", "A method is given the flags that it knows, and no others."},
    {register_nothing, "register_nothing", violation, "IND2MemoryRegion::Register", "A buffer to register has an address and a length."},
    {register_twice, "register_twice", violation, "IND2MemoryRegion::Register", "A memory region has one buffer at a time."},
    {token_before_register, "token_before_register", violation, "IND2MemoryRegion::GetLocalToken",
     "The tokens of a region are asked for once it is registered."},
    {deregister_unregistered, "deregister_unregistered", violation, "IND2MemoryRegion::Deregister",
     "Deregister follows a Register that succeeded."},
    {deregister_in_use, "deregister_in_use", violation, "IND2MemoryRegion::Deregister",
     "A region stays registered until the requests that use it have completed."},
    {deregister_with_windows, "deregister_with_windows", violation, "IND2MemoryRegion::Deregister",
     "A region stays registered until no window is bound in it."},
    {region_released_registered, "region_released_registered", violation, "IND2MemoryRegion::Deregister",
     "Deregister is called before the region is released; otherwise its memory stays locked."},
    {region_memory_unmapped, "region_memory_unmapped", violation, "IND2MemoryRegion::Register",
     "Memory stays mapped while it is registered."},
    {sge_token_unknown, "sge_token_unknown", violation, "ND2_SGE",
     "The token of a buffer is one that GetLocalToken returned on this adapter."},
    {sge_token_deregistered, "sge_token_deregistered", violation, "ND2_SGE",
     "The token of a buffer belongs to a region that is registered."},
    {sge_outside_region, "sge_outside_region", violation, "ND2_SGE", "A buffer lies within the region that its token names."},
    {sge_not_writable, "sge_not_writable", violation, "IND2MemoryRegion::Register",
     "Buffers that receive data lie in regions with ND_MR_FLAG_ALLOW_LOCAL_WRITE."},
    {read_sink_missing, "read_sink_missing", violation, "IND2MemoryRegion::Register",
     "Buffers that receive the data of a Read lie in regions with ND_MR_FLAG_RDMA_READ_SINK; some adapters cannot do without."},
    {sge_count_exceeded, "sge_count_exceeded", violation, "IND2Adapter::CreateQueuePair",
     "A request has no more buffers than its queue was created for."},
    {inline_too_long, "inline_too_long", violation, "IND2QueuePair::Send",
     "The data of an inline request are no longer than the queue pair was created for."},
    {post_unconnected, "post_unconnected", violation, "IND2QueuePair::Send",
     "Requests other than Receive are made on a connected queue pair."},
    {post_after_failure, "post_after_failure", advice, "IND2QueuePair::Send",
     "After a result that failed the connection is over; further requests are only cancelled."},
    {queue_depth_exceeded, "queue_depth_exceeded", violation, "IND2Adapter::CreateQueuePair",
     "No more requests are outstanding than the queue was created for."},
    {queue_depth_presumed, "queue_depth_presumed", advice, "IND2Adapter::CreateQueuePair",
     "A request is counted as outstanding until its result, or a later one of its queue, has been taken."},
    {receive_on_shared, "receive_on_shared", violation, "IND2Adapter::CreateQueuePairWithSrq",
     "A queue pair on a shared receive queue gets its Receives from there."},
    {read_without_limit, "read_without_limit", violation, "IND2Connector::Connect",
     "Who gave an outbound read limit of zero does not Read."},
    {bind_unregistered, "bind_unregistered", violation, "IND2QueuePair::Bind", "A window is bound in a region that is registered."},
    {bind_outside_region, "bind_outside_region", violation, "IND2QueuePair::Bind", "What a window covers lies within its region."},
    {bind_rights_missing, "bind_rights_missing", violation, "IND2QueuePair::Bind",
     "A window that lets the peer write is bound in a region with ND_MR_FLAG_ALLOW_LOCAL_WRITE."},
    {bind_grants_nothing, "bind_grants_nothing", advice, "IND2QueuePair::Bind", "A window lets the peer read or write, or both."},
    {bind_of_bound_window, "bind_of_bound_window", violation, "IND2QueuePair::Bind",
     "A bound window is invalidated before it is bound again."},
    {window_not_bound, "window_not_bound", violation, "IND2QueuePair::Invalidate", "Only a bound window is invalidated."},
    {window_of_other_queue_pair, "window_of_other_queue_pair", violation, "IND2QueuePair::Invalidate",
     "A window is invalidated on the queue pair on which it was bound."},
    {window_token_invalid, "window_token_invalid", violation, "IND2MemoryWindow::GetRemoteToken",
     "The token of a window is asked for while it is bound."},
    {notify_type_unknown, "notify_type_unknown", violation, "IND2CompletionQueue::Notify",
     "The type of a notification is one of the three that there are."},
    {completion_queue_shallow, "completion_queue_shallow", advice, "IND2Adapter::CreateCompletionQueue",
     "A completion queue has room for the results of all requests that are outstanding; one that overruns is dead."},
    {completion_queue_empty, "completion_queue_empty", violation, "IND2Adapter::CreateCompletionQueue",
     "A completion queue has room for one result at least."},
    {bound_twice, "bound_twice", violation, "IND2Connector::Bind", "A connector or listener is bound to one address, once."},
    {connect_before_bind, "connect_before_bind", violation, "IND2Connector::Connect", "A connector is bound before it connects."},
    {connector_reused, "connector_reused", violation, "IND2Connector",
     "A connector serves one connection; only an attempt that failed before a reply may be repeated."},
    {queue_pair_reused, "queue_pair_reused", violation, "IND2Connector::Disconnect",
     "A queue pair is connected once, and by one connector at a time."},
    {complete_connect_misplaced, "complete_connect_misplaced", violation, "IND2Connector::CompleteConnect",
     "CompleteConnect follows a Connect that succeeded, once."},
    {accept_without_request, "accept_without_request", violation, "IND2Connector::Accept",
     "Accept is called on a connector that GetConnectionRequest filled."},
    {reject_misplaced, "reject_misplaced", violation, "IND2Connector::Reject",
     "Reject answers a request, or a reply to one's own, that has not been answered."},
    {connection_data_early, "connection_data_early", violation, "IND2Connector::GetPrivateData",
     "What the peer said is asked for once there is a request or a reply."},
    {connection_data_late, "connection_data_late", advice, "IND2Connector::GetPrivateData",
     "What the peer said is asked for before it is answered with Accept or CompleteConnect; afterwards some cards know nothing of it."},
    {private_data_too_long, "private_data_too_long", violation, "IND2Connector::Connect",
     "Private data are no longer than MaxCallerData at Connect and MaxCalleeData in an answer."},
    {disconnect_unconnected, "disconnect_unconnected", violation, "IND2Connector::Disconnect",
     "Disconnect and NotifyDisconnect are for connections, and Disconnect ends one once."},
    {connection_abandoned, "connection_abandoned", advice, "IND2Connector::Disconnect",
     "A connection is ended with Disconnect, rather than by releasing the connector."},
    {reply_abandoned, "reply_abandoned", advice, "IND2Connector::CompleteConnect",
     "A reply is answered with CompleteConnect or Reject, rather than by releasing the connector."},
    {request_abandoned, "request_abandoned", advice, "IND2Listener::GetConnectionRequest",
     "A request is answered with Accept or Reject, rather than by releasing the connector."},
    {notify_disconnect_missing, "notify_disconnect_missing", advice, "IND2Connector::NotifyDisconnect",
     "Who has a connection asks to be told of its end."},
    {connector_refused_reused, "connector_refused_reused", advice, "IND2Connector::Connect",
     "An attempt after a refusal or a timeout is made with another connector; some cards have spent the first."},
    {ports_shared, "ports_shared", advice, "IND2Connector::Bind",
     "Connections to one remote port come from different local ports; some cards refuse the second of one port."},
    {receives_late, "receives_late", advice, "IND2QueuePair::Receive",
     "Who receives has posted a Receive before Accept or CompleteConnect: the peer may send at once, and fails where there is none."},
    {listen_before_bind, "listen_before_bind", violation, "IND2Listener::Listen", "A listener is bound before it listens."},
    {listen_twice, "listen_twice", violation, "IND2Listener::Listen", "A listener starts to listen once."},
    {request_before_listen, "request_before_listen", violation, "IND2Listener::GetConnectionRequest",
     "Requests are asked of a listener that listens."},
});

static_assert(kRules.size() == static_cast<std::size_t>(count_of_rules));
static_assert([] {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (kRules[i].rule != static_cast<Rule>(i)) return false;
  }
  return true;
}());

}  // namespace

std::span<const RuleEntry> rules() { return kRules; }

const RuleEntry& entry_of(Rule rule) { return kRules[static_cast<std::size_t>(rule)]; }

const RuleEntry* find_rule(std::string_view name) {
  const auto at = std::ranges::find(kRules, name, &RuleEntry::name);
  return at == kRules.end() ? nullptr : &*at;
}

}  // namespace fb::networkdirect::verifier
