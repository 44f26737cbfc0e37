// Whether consumers of NDK keep to each rule that the verifier knows and that a consumer can break
// by a small step.
#include "networkdirect/cases/ndk/consumer_scene.h"

namespace fb::conformance {

CONFORMANCE_CASE(ndk_consumer_rule_closed_twice, "ndk.consumer.closed-twice", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::closed_twice);
}

CONFORMANCE_CASE(ndk_consumer_rule_completion_missing, "ndk.consumer.completion-missing", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::completion_missing);
}

CONFORMANCE_CASE(ndk_consumer_rule_leaked_object, "ndk.consumer.leaked-object", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::leaked_object);
}

CONFORMANCE_CASE(ndk_consumer_rule_use_after_close, "ndk.consumer.use-after-close", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::use_after_close);
}

CONFORMANCE_CASE(ndk_consumer_rule_token_before_registration, "ndk.consumer.token-before-registration", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::token_before_registration);
}

CONFORMANCE_CASE(ndk_consumer_rule_registered_twice, "ndk.consumer.registered-twice", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::registered_twice);
}

CONFORMANCE_CASE(ndk_consumer_rule_mdl_too_short, "ndk.consumer.mdl-too-short", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::mdl_too_short);
}

CONFORMANCE_CASE(ndk_consumer_rule_region_closed_registered, "ndk.consumer.region-closed-registered", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::region_closed_registered);
}

CONFORMANCE_CASE(ndk_consumer_rule_deregister_unregistered, "ndk.consumer.deregister-unregistered", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::deregister_unregistered);
}

CONFORMANCE_CASE(ndk_consumer_rule_register_of_fast_region, "ndk.consumer.register-of-fast-region", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::register_of_fast_region);
}

CONFORMANCE_CASE(ndk_consumer_rule_initialize_of_plain_region, "ndk.consumer.initialize-of-plain-region", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::initialize_of_plain_region);
}

CONFORMANCE_CASE(ndk_consumer_rule_fast_region_uninitialized, "ndk.consumer.fast-region-uninitialized", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::fast_region_uninitialized);
}

CONFORMANCE_CASE(ndk_consumer_rule_initialize_pages_wrong, "ndk.consumer.initialize-pages-wrong", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::initialize_pages_wrong);
}

CONFORMANCE_CASE(ndk_consumer_rule_fast_remote_denied, "ndk.consumer.fast-remote-denied", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::fast_remote_denied);
}

CONFORMANCE_CASE(ndk_consumer_rule_mdl_changed_in_flight, "ndk.consumer.mdl-changed-in-flight", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::mdl_changed_in_flight);
}

CONFORMANCE_CASE(ndk_consumer_rule_lam_released_in_use, "ndk.consumer.lam-released-in-use", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::lam_released_in_use);
}

CONFORMANCE_CASE(ndk_consumer_rule_lam_released_twice, "ndk.consumer.lam-released-twice", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::lam_released_twice);
}

CONFORMANCE_CASE(ndk_consumer_rule_lam_leaked, "ndk.consumer.lam-leaked", roles::consumer) { keeps_ndk(bench, check, NdkRule::lam_leaked); }

CONFORMANCE_CASE(ndk_consumer_rule_sge_token_unknown, "ndk.consumer.sge-token-unknown", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::sge_token_unknown);
}

CONFORMANCE_CASE(ndk_consumer_rule_sge_count_exceeded, "ndk.consumer.sge-count-exceeded", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::sge_count_exceeded);
}

CONFORMANCE_CASE(ndk_consumer_rule_op_flags_unknown, "ndk.consumer.op-flags-unknown", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::op_flags_unknown);
}

CONFORMANCE_CASE(ndk_consumer_rule_deferred_without_end, "ndk.consumer.deferred-without-end", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::deferred_without_end);
}

CONFORMANCE_CASE(ndk_consumer_rule_op_flags_misplaced, "ndk.consumer.op-flags-misplaced", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::op_flags_misplaced);
}

CONFORMANCE_CASE(ndk_consumer_rule_receive_beside_shared, "ndk.consumer.receive-beside-shared", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::receive_beside_shared);
}

CONFORMANCE_CASE(ndk_consumer_rule_fast_offset_wrong, "ndk.consumer.fast-offset-wrong", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::fast_offset_wrong);
}

CONFORMANCE_CASE(ndk_consumer_rule_fast_length_exceeded, "ndk.consumer.fast-length-exceeded", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::fast_length_exceeded);
}

CONFORMANCE_CASE(ndk_consumer_rule_fast_register_of_valid_region, "ndk.consumer.fast-register-of-valid-region", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::fast_register_of_valid_region);
}

CONFORMANCE_CASE(ndk_consumer_rule_invalidate_of_invalid_region, "ndk.consumer.invalidate-of-invalid-region", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::invalidate_of_invalid_region);
}

CONFORMANCE_CASE(ndk_consumer_rule_invalidate_of_plain_region, "ndk.consumer.invalidate-of-plain-region", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::invalidate_of_plain_region);
}

CONFORMANCE_CASE(ndk_consumer_rule_qp_depth_exceeded, "ndk.consumer.qp-depth-exceeded", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::qp_depth_exceeded);
}

CONFORMANCE_CASE(ndk_consumer_rule_deregister_in_use, "ndk.consumer.deregister-in-use", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::deregister_in_use);
}

CONFORMANCE_CASE(ndk_consumer_rule_irql_too_high, "ndk.consumer.irql-too-high", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::irql_too_high);
}

CONFORMANCE_CASE(ndk_consumer_rule_cq_depth_exceeded, "ndk.consumer.cq-depth-exceeded", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::cq_depth_exceeded);
}

CONFORMANCE_CASE(ndk_consumer_rule_arm_type_unknown, "ndk.consumer.arm-type-unknown", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::arm_type_unknown);
}

CONFORMANCE_CASE(ndk_consumer_rule_cq_calls_overlap, "ndk.consumer.cq-calls-overlap", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::cq_calls_overlap);
}

CONFORMANCE_CASE(ndk_consumer_rule_private_data_too_long, "ndk.consumer.private-data-too-long", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::private_data_too_long);
}

CONFORMANCE_CASE(ndk_consumer_rule_connect_twice, "ndk.consumer.connect-twice", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::connect_twice);
}

CONFORMANCE_CASE(ndk_consumer_rule_post_unconnected, "ndk.consumer.post-unconnected", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::post_unconnected);
}

CONFORMANCE_CASE(ndk_consumer_rule_complete_connect_twice, "ndk.consumer.complete-connect-twice", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::complete_connect_twice);
}

CONFORMANCE_CASE(ndk_consumer_rule_connection_data_late, "ndk.consumer.connection-data-late", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::connection_data_late);
}

CONFORMANCE_CASE(ndk_consumer_rule_accept_twice, "ndk.consumer.accept-twice", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::accept_twice);
}

CONFORMANCE_CASE(ndk_consumer_rule_reject_after_accept, "ndk.consumer.reject-after-accept", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::reject_after_accept);
}

CONFORMANCE_CASE(ndk_consumer_rule_request_unanswered, "ndk.consumer.request-unanswered", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::request_unanswered);
}

CONFORMANCE_CASE(ndk_consumer_rule_rejected_twice, "ndk.consumer.rejected-twice", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::rejected_twice);
}

CONFORMANCE_CASE(ndk_consumer_rule_disconnect_unconnected, "ndk.consumer.disconnect-unconnected", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::disconnect_unconnected);
}

CONFORMANCE_CASE(ndk_consumer_rule_disconnected_twice, "ndk.consumer.disconnected-twice", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::disconnected_twice);
}

CONFORMANCE_CASE(ndk_consumer_rule_queue_pair_reused, "ndk.consumer.queue-pair-reused", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::queue_pair_reused);
}

CONFORMANCE_CASE(ndk_consumer_rule_closed_connected, "ndk.consumer.closed-connected", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::closed_connected);
}

CONFORMANCE_CASE(ndk_consumer_rule_listen_twice, "ndk.consumer.listen-twice", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::listen_twice);
}

CONFORMANCE_CASE(ndk_consumer_rule_cq_never_armed, "ndk.consumer.cq-never-armed", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::cq_never_armed);
}

CONFORMANCE_CASE(ndk_consumer_rule_connector_refused_reused, "ndk.consumer.connector-after-refusal", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::connector_refused_reused);
}

CONFORMANCE_CASE(ndk_consumer_rule_ports_shared, "ndk.consumer.own-port", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::ports_shared);
}

CONFORMANCE_CASE(ndk_consumer_rule_receives_late, "ndk.consumer.receive-first", roles::consumer) {
  keeps_ndk(bench, check, NdkRule::receives_late);
}

}  // namespace fb::conformance
