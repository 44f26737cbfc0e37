// What a careless consumer of NDK does.
#include "model/deviations/deviation.h"

namespace fb::deviations {

DEVIATION(ndk_consumer_pd_closed_twice, "ndk.consumer.closed-twice", Product::ndk_consumer,
          "breaks the rule: a protection domain is closed once", Departs{"pd.closed_twice"});
DEVIATION(ndk_consumer_cq_closed_twice, "ndk.consumer.closed-twice", Product::ndk_consumer,
          "breaks the rule: a completion queue is closed once", Departs{"cq.closed_twice"});
DEVIATION(ndk_consumer_srq_closed_twice, "ndk.consumer.closed-twice", Product::ndk_consumer,
          "breaks the rule: a shared receive queue is closed once", Departs{"srq.closed_twice"});
DEVIATION(ndk_consumer_qp_closed_twice, "ndk.consumer.closed-twice", Product::ndk_consumer, "breaks the rule: a queue pair is closed once",
          Departs{"qp.closed_twice"});
DEVIATION(ndk_consumer_mr_closed_twice, "ndk.consumer.closed-twice", Product::ndk_consumer,
          "breaks the rule: a memory region is closed once", Departs{"mr.closed_twice"});
DEVIATION(ndk_consumer_connector_closed_twice, "ndk.consumer.closed-twice", Product::ndk_consumer,
          "breaks the rule: a connector is closed once", Departs{"connector.closed_twice"});
DEVIATION(ndk_consumer_listener_closed_twice, "ndk.consumer.closed-twice", Product::ndk_consumer,
          "breaks the rule: a listener is closed once", Departs{"listener.closed_twice"});
DEVIATION(ndk_consumer_close_no_completion, "ndk.consumer.completion-missing", Product::ndk_consumer,
          "breaks the rule: a close that may pend comes with a completion callback", Departs{"close.no_completion"});
DEVIATION(ndk_consumer_pd_leaked, "ndk.consumer.leaked-object", Product::ndk_consumer,
          "breaks the rule: protection domains are closed before the adapter is", Departs{"pd.leaked"});
DEVIATION(ndk_consumer_cq_leaked, "ndk.consumer.leaked-object", Product::ndk_consumer,
          "breaks the rule: completion queues are closed before the adapter is", Departs{"cq.leaked"});
DEVIATION(ndk_consumer_srq_leaked, "ndk.consumer.leaked-object", Product::ndk_consumer,
          "breaks the rule: shared receive queues are closed before the adapter is", Departs{"srq.leaked"});
DEVIATION(ndk_consumer_qp_leaked, "ndk.consumer.leaked-object", Product::ndk_consumer,
          "breaks the rule: queue pairs are closed before the adapter is", Departs{"qp.leaked"});
DEVIATION(ndk_consumer_mr_leaked, "ndk.consumer.leaked-object", Product::ndk_consumer,
          "breaks the rule: memory regions are closed before the adapter is", Departs{"mr.leaked"});
DEVIATION(ndk_consumer_connector_leaked, "ndk.consumer.leaked-object", Product::ndk_consumer,
          "breaks the rule: connectors are closed before the adapter is", Departs{"connector.leaked"});
DEVIATION(ndk_consumer_listener_leaked, "ndk.consumer.leaked-object", Product::ndk_consumer,
          "breaks the rule: listeners are closed before the adapter is", Departs{"listener.leaked"});
DEVIATION(ndk_consumer_cq_used_after_close, "ndk.consumer.use-after-close", Product::ndk_consumer,
          "breaks the rule: no function is called on a completion queue after its close: NdkArmCq", Departs{"cq.used_after_close"});
DEVIATION(ndk_consumer_srq_used_after_close, "ndk.consumer.use-after-close", Product::ndk_consumer,
          "breaks the rule: no function is called on a shared receive queue after its close: "
          "NdkSrqReceive",
          Departs{"srq.used_after_close"});
DEVIATION(ndk_consumer_qp_used_after_close, "ndk.consumer.use-after-close", Product::ndk_consumer,
          "breaks the rule: no function is called on a queue pair after its close: NdkFlush", Departs{"qp.used_after_close"});
DEVIATION(ndk_consumer_pending_taken_for_done, "ndk.consumer.token-before-registration", Product::ndk_consumer,
          "breaks the rule: what pends is not done: tokens are asked for after the registration's "
          "completion",
          Departs{"pending.taken_for_done"});
DEVIATION(ndk_consumer_mr_token_early, "ndk.consumer.token-before-registration", Product::ndk_consumer,
          "breaks the rule: tokens are asked for after the registration: NdkGetLocalTokenFromMr "
          "right after NdkCreateMr",
          Departs{"mr.token_early"});
DEVIATION(ndk_consumer_mr_registered_twice, "ndk.consumer.registered-twice", Product::ndk_consumer,
          "breaks the rule: a memory region is registered once at a time", Departs{"mr.registered_twice"});
DEVIATION(ndk_consumer_mr_beyond_mdl, "ndk.consumer.mdl-too-short", Product::ndk_consumer,
          "breaks the rule: NdkRegisterMr registers no more than its MDL describes", Departs{"mr.beyond_mdl"});
DEVIATION(ndk_consumer_mr_close_without_deregister, "ndk.consumer.region-closed-registered", Product::ndk_consumer,
          "breaks the rule: what NdkRegisterMr registered is deregistered before the close", Departs{"mr.close_without_deregister"});
DEVIATION(ndk_consumer_mr_deregistered_twice, "ndk.consumer.deregister-unregistered", Product::ndk_consumer,
          "breaks the rule: a registration is taken back once", Departs{"mr.deregistered_twice"});
DEVIATION(ndk_consumer_mr_register_of_fast, "ndk.consumer.register-of-fast-region", Product::ndk_consumer,
          "breaks the rule: NdkRegisterMr is for regions that were not created for fast registration", Departs{"mr.register_of_fast"});
DEVIATION(ndk_consumer_mr_fast_of_plain, "ndk.consumer.initialize-of-plain-region", Product::ndk_consumer,
          "breaks the rule: NdkInitializeFastRegisterMr is for regions that were created for fast "
          "registration",
          Departs{"mr.fast_of_plain"});
DEVIATION(ndk_consumer_mr_uninitialised, "ndk.consumer.fast-region-uninitialized", Product::ndk_consumer,
          "breaks the rule: a fast region is initialised before it is used", Departs{"mr.uninitialised"});
DEVIATION(ndk_consumer_mr_too_many_pages, "ndk.consumer.initialize-pages-wrong", Product::ndk_consumer,
          "breaks the rule: a fast region has no more pages than the adapter's FRMRPageCount", Departs{"mr.too_many_pages"});
DEVIATION(ndk_consumer_mr_local_only, "ndk.consumer.fast-remote-denied", Product::ndk_consumer,
          "breaks the rule: remote rights need a fast region that was initialised for remote access", Departs{"mr.local_only"});
DEVIATION(ndk_consumer_mdl_changed_in_flight, "ndk.consumer.mdl-changed-in-flight", Product::ndk_consumer,
          "breaks the rule: an MDL stays as it is until the call that took it has completed", Departs{"mdl.changed_in_flight"});
DEVIATION(ndk_consumer_lam_beyond_mdl, "ndk.consumer.mdl-too-short", Product::ndk_consumer,
          "breaks the rule: NdkBuildLAM maps no more than its MDL describes", Departs{"lam.beyond_mdl"});
DEVIATION(ndk_consumer_lam_released_early, "ndk.consumer.lam-released-in-use", Product::ndk_consumer,
          "breaks the rule: a mapping is released after the region that uses it is invalid", Departs{"lam.released_early"});
DEVIATION(ndk_consumer_lam_released_twice, "ndk.consumer.lam-released-twice", Product::ndk_consumer,
          "breaks the rule: a mapping is released once", Departs{"lam.released_twice"});
DEVIATION(ndk_consumer_lam_leaked, "ndk.consumer.lam-leaked", Product::ndk_consumer, "breaks the rule: every mapping is released",
          Departs{"lam.leaked"});
DEVIATION(ndk_consumer_post_bad_token, "ndk.consumer.sge-token-unknown", Product::ndk_consumer,
          "breaks the rule: an SGE carries the local token of its region", Departs{"post.bad_token"});
DEVIATION(ndk_consumer_post_too_many_sges, "ndk.consumer.sge-count-exceeded", Product::ndk_consumer,
          "breaks the rule: a request has no more SGEs than the queue pair takes", Departs{"post.too_many_sges"});
DEVIATION(ndk_consumer_post_unknown_flag, "ndk.consumer.op-flags-unknown", Product::ndk_consumer,
          "breaks the rule: a request has the flags that exist", Departs{"post.unknown_flag"});
DEVIATION(ndk_consumer_post_defer_without_end, "ndk.consumer.deferred-without-end", Product::ndk_consumer,
          "breaks the rule: a chain of deferred requests ends with one that is not", Departs{"post.defer_without_end"});
DEVIATION(ndk_consumer_read_inline, "ndk.consumer.op-flags-misplaced", Product::ndk_consumer,
          "breaks the rule: NdkRead takes no inline data", Departs{"read.inline"});
DEVIATION(ndk_consumer_receive_beside_shared_queue, "ndk.consumer.receive-beside-shared", Product::ndk_consumer,
          "breaks the rule: a queue pair with a shared receive queue takes no receives of its own", Departs{"receive.beside_shared_queue"});
DEVIATION(ndk_consumer_fast_register_other_offset, "ndk.consumer.fast-offset-wrong", Product::ndk_consumer,
          "breaks the rule: the base address and FBO are the same within their page", Departs{"fast_register.other_offset"});
DEVIATION(ndk_consumer_fast_register_beyond_pages, "ndk.consumer.fast-length-exceeded", Product::ndk_consumer,
          "breaks the rule: no more is registered than the pages hold", Departs{"fast_register.beyond_pages"});
DEVIATION(ndk_consumer_fast_register_again_valid, "ndk.consumer.fast-register-of-valid-region", Product::ndk_consumer,
          "breaks the rule: only a region that is invalid is registered", Departs{"fast_register.again_valid"});
DEVIATION(ndk_consumer_invalidate_twice, "ndk.consumer.invalidate-of-invalid-region", Product::ndk_consumer,
          "breaks the rule: only a region that is valid is invalidated", Departs{"invalidate.twice"});
DEVIATION(ndk_consumer_invalidate_plain_region, "ndk.consumer.invalidate-of-plain-region", Product::ndk_consumer,
          "breaks the rule: memory of NdkRegisterMr is not invalidated", Departs{"invalidate.plain_region"});
DEVIATION(ndk_consumer_qp_too_deep, "ndk.consumer.qp-depth-exceeded", Product::ndk_consumer,
          "breaks the rule: a queue pair is not deeper than the adapter allows", Departs{"qp.too_deep"});
DEVIATION(ndk_consumer_qp_not_flushed, "ndk.consumer.deregister-in-use", Product::ndk_consumer,
          "breaks the rule: buffers stay while requests refer to them: a queue pair is flushed "
          "before they go",
          Departs{"qp.not_flushed"});
DEVIATION(ndk_consumer_query_in_callback, "ndk.consumer.irql-too-high", Product::ndk_consumer,
          "breaks the rule: NdkQueryAdapterInfo is called at PASSIVE_LEVEL", Departs{"query.in_callback"});
DEVIATION(ndk_consumer_cq_too_deep, "ndk.consumer.cq-depth-exceeded", Product::ndk_consumer,
          "breaks the rule: a completion queue is not deeper than the adapter allows", Departs{"cq.too_deep"});
DEVIATION(ndk_consumer_cq_armed_wrongly, "ndk.consumer.arm-type-unknown", Product::ndk_consumer,
          "breaks the rule: NdkArmCq is called with one of its three types", Departs{"cq.armed_wrongly"});
DEVIATION(ndk_consumer_cq_polled_in_callback, "ndk.consumer.cq-calls-overlap", Product::ndk_consumer,
          "breaks the rule: NdkGetCqResults does not run while NdkArmCq does: seen where the "
          "provider calls back from there",
          Departs{"cq.polled_in_callback"});
DEVIATION(ndk_consumer_connect_too_much_data, "ndk.consumer.private-data-too-long", Product::ndk_consumer,
          "breaks the rule: private data of NdkConnect fits into MaxCallerData", Departs{"connect.too_much_data"});
DEVIATION(ndk_consumer_connect_twice, "ndk.consumer.connect-twice", Product::ndk_consumer, "breaks the rule: a connector connects once",
          Departs{"connect.twice"});
DEVIATION(ndk_consumer_connect_not_completed, "ndk.consumer.post-unconnected", Product::ndk_consumer,
          "breaks the rule: a connection that was accepted is completed with NdkCompleteConnect "
          "before it is used",
          Departs{"connect.not_completed"});
DEVIATION(ndk_consumer_connect_completed_twice, "ndk.consumer.complete-connect-twice", Product::ndk_consumer,
          "breaks the rule: NdkCompleteConnect is called once", Departs{"connect.completed_twice"});
DEVIATION(ndk_consumer_connect_data_asked_late, "ndk.consumer.connection-data-late", Product::ndk_consumer,
          "breaks the rule: NdkGetConnectionData is called before NdkCompleteConnect", Departs{"connect.data_asked_late"});
DEVIATION(ndk_consumer_accept_too_much_data, "ndk.consumer.private-data-too-long", Product::ndk_consumer,
          "breaks the rule: private data of NdkAccept fits into MaxCalleeData", Departs{"accept.too_much_data"});
DEVIATION(ndk_consumer_accept_twice, "ndk.consumer.accept-twice", Product::ndk_consumer, "breaks the rule: a request is accepted once",
          Departs{"accept.twice"});
DEVIATION(ndk_consumer_accept_then_reject, "ndk.consumer.reject-after-accept", Product::ndk_consumer,
          "breaks the rule: a request that was accepted is not rejected", Departs{"accept.then_reject"});
DEVIATION(ndk_consumer_request_unanswered, "ndk.consumer.request-unanswered", Product::ndk_consumer,
          "breaks the rule: a connection request is accepted or rejected before its connector is closed", Departs{"request.unanswered"});
DEVIATION(ndk_consumer_request_rejected_twice, "ndk.consumer.rejected-twice", Product::ndk_consumer,
          "breaks the rule: a connection request is rejected once", Departs{"request.rejected_twice"});
DEVIATION(ndk_consumer_disconnect_unconnected, "ndk.consumer.disconnect-unconnected", Product::ndk_consumer,
          "breaks the rule: NdkDisconnect is for connectors that are connected", Departs{"disconnect.unconnected"});
DEVIATION(ndk_consumer_disconnect_twice, "ndk.consumer.disconnected-twice", Product::ndk_consumer,
          "breaks the rule: NdkDisconnect is called once", Departs{"disconnect.twice"});
DEVIATION(ndk_consumer_qp_connected_again, "ndk.consumer.queue-pair-reused", Product::ndk_consumer,
          "breaks the rule: a queue pair serves one connection", Departs{"qp.connected_again"});
DEVIATION(ndk_consumer_qp_closed_connected, "ndk.consumer.closed-connected", Product::ndk_consumer,
          "closes a connected queue pair without NdkDisconnect", Departs{"qp.closed_connected"});
DEVIATION(ndk_consumer_cq_never_armed, "ndk.consumer.cq-never-armed", Product::ndk_consumer, "never arms its completion queues",
          Departs{"cq.never_armed"});
DEVIATION(ndk_consumer_connector_refused_reused, "ndk.consumer.connector-after-refusal", Product::ndk_consumer,
          "calls NdkConnect again on a connector that was refused", Departs{"connect.refused_reused"});
DEVIATION(ndk_consumer_port_shared, "ndk.consumer.own-port", Product::ndk_consumer, "connects from one port always",
          Departs{"connect.port_shared"});
DEVIATION(ndk_consumer_receives_late, "ndk.consumer.receive-first", Product::ndk_consumer, "posts no receive before there is a connection",
          Departs{"receive.late"});
DEVIATION(ndk_consumer_listener_listens_twice, "ndk.consumer.listen-twice", Product::ndk_consumer,
          "breaks the rule: NdkListen is called once", Departs{"listener.listens_twice"});

}  // namespace fb::deviations
