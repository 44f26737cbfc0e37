// The named points at which the consumer asks ConsumerHooks::departs(). Each breaks a rule that NDK has for consumers by
// one small step, for whoever judges consumers. The providers of kernels trust their consumers: with some of these a
// provider that checks nothing reads freed memory, so that something that judges should stand between.
#pragma once

#include <string_view>

#include "base/fault_point.h"

namespace fb::ndk {

inline constexpr FaultPoint kConsumerFaultPoints[] = {
    // Closing.
    {"pd.closed_twice", "a protection domain is closed once"},
    {"cq.closed_twice", "a completion queue is closed once"},
    {"srq.closed_twice", "a shared receive queue is closed once"},
    {"qp.closed_twice", "a queue pair is closed once"},
    {"mr.closed_twice", "a memory region is closed once"},
    {"connector.closed_twice", "a connector is closed once"},
    {"listener.closed_twice", "a listener is closed once"},
    {"close.no_completion", "a close that may pend comes with a completion callback"},
    {"pd.leaked", "protection domains are closed before the adapter is"},
    {"cq.leaked", "completion queues are closed before the adapter is"},
    {"srq.leaked", "shared receive queues are closed before the adapter is"},
    {"qp.leaked", "queue pairs are closed before the adapter is"},
    {"mr.leaked", "memory regions are closed before the adapter is"},
    {"connector.leaked", "connectors are closed before the adapter is"},
    {"listener.leaked", "listeners are closed before the adapter is"},
    {"cq.used_after_close", "no function is called on a completion queue after its close: NdkArmCq"},
    {"srq.used_after_close", "no function is called on a shared receive queue after its close: NdkSrqReceive"},
    {"qp.used_after_close", "no function is called on a queue pair after its close: NdkFlush"},
    // Memory.
    {"pending.taken_for_done", "what pends is not done: tokens are asked for after the registration's completion"},
    {"mr.token_early", "tokens are asked for after the registration: NdkGetLocalTokenFromMr right after NdkCreateMr"},
    {"mr.registered_twice", "a memory region is registered once at a time"},
    {"mr.beyond_mdl", "NdkRegisterMr registers no more than its MDL describes"},
    {"mr.close_without_deregister", "what NdkRegisterMr registered is deregistered before the close"},
    {"mr.deregistered_twice", "a registration is taken back once"},
    {"mr.register_of_fast", "NdkRegisterMr is for regions that were not created for fast registration"},
    {"mr.fast_of_plain", "NdkInitializeFastRegisterMr is for regions that were created for fast registration"},
    {"mr.uninitialised", "a fast region is initialised before it is used"},
    {"mr.too_many_pages", "a fast region has no more pages than the adapter's FRMRPageCount"},
    {"mr.local_only", "remote rights need a fast region that was initialised for remote access"},
    {"mdl.changed_in_flight", "an MDL stays as it is until the call that took it has completed"},
    {"lam.beyond_mdl", "NdkBuildLAM maps no more than its MDL describes"},
    {"lam.released_early", "a mapping is released after the region that uses it is invalid"},
    {"lam.released_twice", "a mapping is released once"},
    {"lam.leaked", "every mapping is released"},
    // Requests.
    {"post.bad_token", "an SGE carries the local token of its region"},
    {"post.too_many_sges", "a request has no more SGEs than the queue pair takes"},
    {"post.unknown_flag", "a request has the flags that exist"},
    {"post.defer_without_end", "a chain of deferred requests ends with one that is not"},
    {"read.inline", "NdkRead takes no inline data"},
    {"receive.late", "who receives has posted a receive before the peer may send"},
    {"receive.beside_shared_queue", "a queue pair with a shared receive queue takes no receives of its own"},
    {"fast_register.other_offset", "the base address and FBO are the same within their page"},
    {"fast_register.beyond_pages", "no more is registered than the pages hold"},
    {"fast_register.again_valid", "only a region that is invalid is registered"},
    {"invalidate.twice", "only a region that is valid is invalidated"},
    {"invalidate.plain_region", "memory of NdkRegisterMr is not invalidated"},
    {"qp.too_deep", "a queue pair is not deeper than the adapter allows"},
    {"qp.not_flushed", "buffers stay while requests refer to them: a queue pair is flushed before they go"},
    // Completion queues, and what is called from their callbacks.
    {"query.in_callback", "NdkQueryAdapterInfo is called at PASSIVE_LEVEL"},
    {"cq.too_deep", "a completion queue is not deeper than the adapter allows"},
    {"cq.armed_wrongly", "NdkArmCq is called with one of its three types"},
    {"cq.never_armed", "who gave a completion queue a callback arms it"},
    {"cq.polled_in_callback", "NdkGetCqResults does not run while NdkArmCq does: seen where the provider calls back from there"},
    // Connections.
    {"connect.too_much_data", "private data of NdkConnect fits into MaxCallerData"},
    {"connect.twice", "a connector connects once"},
    {"connect.refused_reused", "an attempt after a refusal is made with another connector"},
    {"connect.port_shared", "connections to one remote port come from different local ports"},
    {"connect.not_completed", "a connection that was accepted is completed with NdkCompleteConnect before it is used"},
    {"connect.completed_twice", "NdkCompleteConnect is called once"},
    {"connect.data_asked_late", "NdkGetConnectionData is called before NdkCompleteConnect"},
    {"accept.too_much_data", "private data of NdkAccept fits into MaxCalleeData"},
    {"accept.twice", "a request is accepted once"},
    {"accept.then_reject", "a request that was accepted is not rejected"},
    {"request.unanswered", "a connection request is accepted or rejected before its connector is closed"},
    {"request.rejected_twice", "a connection request is rejected once"},
    {"disconnect.unconnected", "NdkDisconnect is for connectors that are connected"},
    {"disconnect.twice", "NdkDisconnect is called once"},
    {"qp.connected_again", "a queue pair serves one connection"},
    {"qp.closed_connected", "nothing: a provider disconnects what is closed without it"},
    {"listener.listens_twice", "NdkListen is called once"},
};

}  // namespace fb::ndk
