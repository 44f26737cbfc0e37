// Which rules the bench itself breaks, case by case: that is how these cases find out what a product does
// about it. Sorted by case; a new line belongs to a new case, and to nothing else.
#include <algorithm>
#include <utility>

#include "conformance/runner/watched.h"

namespace fb::conformance {

namespace {

using monitors::Rule;

constexpr std::pair<std::string_view, Rule> kOnPurpose[] = {
    {"a_busy_slot_answers_with_no_error", Rule::mi_one_command},
    {"a_command_that_a_busy_slot_discards_is_flagged", Rule::mi_one_command},
    {"a_damaged_event_is_not_believed", Rule::mi_integrity},
    {"a_first_inside_a_message_is_refused", Rule::rdma_order},
    {"a_first_that_is_not_full_is_refused", Rule::rdma_size},
    {"a_gap_after_waiting_is_told", Rule::rdma_psn_next},
    {"a_gap_in_the_numbers_ends_the_message", Rule::mctp_sequence},
    {"a_gap_is_answered_by_one_sequence_nak", Rule::rdma_psn_first},
    {"a_last_without_a_first_is_refused", Rule::rdma_order},
    {"a_lone_end_packet_is_dropped", Rule::mctp_start},
    {"a_lone_middle_packet_is_dropped", Rule::mctp_start},
    {"a_mad_of_another_kind_is_dropped", Rule::cm_mad},
    {"a_middle_packet_of_another_size_does_no_harm", Rule::mctp_unit},
    {"a_middle_packet_of_another_size_does_no_harm", Rule::mi_integrity},
    {"a_middle_packet_of_another_size_does_no_harm", Rule::mi_one_command},
    {"a_middle_that_is_not_full_is_refused", Rule::rdma_size},
    {"a_middle_without_a_first_is_refused", Rule::rdma_order},
    {"a_new_start_begins_the_message_anew", Rule::mctp_start},
    {"a_packet_that_comes_twice_ends_the_message", Rule::mctp_sequence},
    {"a_read_response_completes_no_send", Rule::rdma_read_asked},
    {"a_req_for_another_transport_is_rejected", Rule::cm_request},
    {"a_request_is_no_answer", Rule::mi_direction},
    {"a_reserved_path_mtu_is_rejected", Rule::cm_request},
    {"a_second_gap_is_answered_again", Rule::rdma_psn_first},
    {"a_write_longer_than_announced_is_refused", Rule::rdma_dma_length},
    {"a_write_shorter_than_announced_is_refused", Rule::rdma_dma_length},
    {"a_write_that_ends_with_nothing_is_refused", Rule::rdma_size},
    {"a_wrong_check_is_not_believed", Rule::mi_integrity},
    {"an_acknowledgement_of_nothing_sent_is_ignored", Rule::rdma_ack_beyond},
    {"an_answer_of_another_kind_is_not_believed", Rule::mi_kind},
    {"an_answer_of_the_other_slot_is_not_believed", Rule::mi_slot},
    {"an_empty_last_is_refused", Rule::rdma_size},
    {"an_ip_header_of_the_other_ip_version_is_rejected", Rule::cm_request},
    {"another_message_type_is_not_believed", Rule::mi_integrity},
    {"answers_to_other_requests_are_not_taken", Rule::mctp_control_bits},
    {"capsule_before_icreq_is_not_served", Rule::tcp_icreq_first},
    {"commands_before_connect_are_refused", Rule::nvme_connect_first},
    {"control_messages_have_no_integrity_check", Rule::mctp_control_one},
    {"failed_connect_adds_no_error_log_entry", Rule::nvme_connect_once},
    {"h2cdata_after_the_last_is_fatal", Rule::tcp_h2c_unasked},
    {"h2cdata_below_its_r2t_is_fatal", Rule::tcp_h2c_range},
    {"h2cdata_beyond_its_r2t_is_fatal", Rule::tcp_h2c_range},
    {"h2cdata_beyond_maxh2cdata_is_fatal", Rule::tcp_h2c_limit},
    {"h2cdata_of_an_unknown_tag_is_fatal", Rule::tcp_h2c_unasked},
    {"h2cdata_with_a_gap_is_fatal", Rule::tcp_h2c_order},
    {"h2cdata_with_an_early_last_is_not_all", Rule::tcp_h2c_last},
    {"host_completes_nothing_by_an_unknown_identifier", Rule::nvme_completion_unknown},
    {"host_notices_a_bogus_invalidation", Rule::rdma_invalidate},
    {"host_takes_back_what_was_not_invalidated", Rule::rdma_key_late},
    {"icreq_of_unknown_format_is_fatal", Rule::tcp_icreq_fields},
    {"icreq_with_hpda_out_of_range_is_fatal", Rule::tcp_icreq_fields},
    {"in_capsule_data_beyond_the_capsule_is_refused", Rule::tcp_capsule_data},
    {"in_capsule_offset_beyond_capsule_is_refused", Rule::tcp_capsule_data},
    {"io_connect_is_refused_before_enable", Rule::nvme_io_before_ready},
    {"lone_first_half_is_aborted", Rule::nvme_fused},
    {"lone_second_half_is_aborted", Rule::nvme_fused},
    {"messages_that_are_no_requests_are_not_answered", Rule::mctp_answer},
    {"messages_that_are_no_requests_are_not_answered", Rule::mctp_control_bits},
    {"more_processing_for_ever_is_given_up", Rule::mi_more_once},
    {"overfilled_queue_ends_the_association", Rule::nvme_queue_full},
    {"packets_above_the_unit_are_dropped", Rule::mi_one_command},
    {"packets_of_answers_join_no_request", Rule::mctp_start},
    {"packets_of_other_messages_are_no_part", Rule::mctp_start},
    {"packets_of_other_messages_are_no_part", Rule::mctp_sequence},
    {"pdu_of_the_other_direction_is_fatal", Rule::tcp_type},
    {"property_command_on_io_queue_is_refused", Rule::nvme_property_queue},
    {"prps_are_refused", Rule::nvme_psdt},
    {"read_only_property_keeps_its_value", Rule::nvme_property_read_only},
    {"refusals_carry_nothing_but_their_code", Rule::mctp_assigned_eid},
    {"reserved_eids_are_refused_or_held", Rule::mctp_assigned_eid},
    {"second_connect_on_admin_queue_is_refused", Rule::nvme_connect_once},
    {"second_icreq_is_fatal", Rule::tcp_icreq_once},
    {"slots_are_clean_after_a_reset", Rule::mi_integrity},
    {"spoiled_answers_are_not_taken", Rule::mctp_start},
    {"spoiled_answers_are_not_taken", Rule::mctp_sequence},
    {"stray_packets_are_dropped", Rule::mctp_version},
    {"stray_packets_are_dropped", Rule::mctp_answer},
    {"stray_packets_are_dropped", Rule::mi_direction},
    {"tcp_host_aligns_in_capsule_data", Rule::tcp_pdo},
    {"tcp_host_does_not_take_success_for_half_the_data", Rule::tcp_success_flow},
    {"tcp_host_knows_what_to_make_of_success", Rule::tcp_success_flow},
    {"tcp_host_refuses_c2hdata_after_the_last", Rule::tcp_c2h_last},
    {"tcp_host_refuses_c2hdata_behind_a_hole", Rule::tcp_c2h_order},
    {"tcp_host_refuses_c2hdata_beyond_its_buffer", Rule::tcp_c2h_range},
    {"tcp_host_refuses_c2hdata_for_a_write", Rule::tcp_c2h_command},
    {"tcp_host_refuses_c2hdata_of_an_unknown_command", Rule::tcp_c2h_command},
    {"tcp_host_refuses_more_r2ts_than_it_allows", Rule::tcp_r2t_limit},
    {"tcp_host_refuses_or_keeps_to_a_small_maxh2cdata", Rule::tcp_icresp_maxh2cdata},
    {"tcp_host_refuses_r2t_behind_a_hole", Rule::tcp_r2t_range},
    {"tcp_host_refuses_r2t_beyond_its_buffer", Rule::tcp_r2t_range},
    {"tcp_host_refuses_r2t_for_a_read", Rule::tcp_r2t_command},
    {"tcp_host_refuses_r2t_for_nothing", Rule::tcp_r2t_range},
    {"tcp_host_refuses_r2t_for_the_same_bytes", Rule::tcp_r2t_range},
    {"tcp_host_refuses_r2t_of_an_unknown_command", Rule::tcp_r2t_command},
    {"tcp_host_refuses_success_without_last", Rule::tcp_c2h_last},
    {"termreq_brings_the_whole_header_back", Rule::tcp_h2c_unasked},
    {"termreq_reserves_what_is_reserved", Rule::tcp_h2c_unasked},
    {"the_answer_of_another_primitive_is_not_believed", Rule::mi_primitive_tag},
    {"the_broadcast_eid_cannot_be_assigned", Rule::mctp_assigned_eid},
    {"the_null_eid_cannot_be_assigned", Rule::mctp_assigned_eid},
    {"the_receive_of_a_broken_message_comes_back", Rule::rdma_order},
    {"who_does_not_own_its_tag_is_not_answered", Rule::mctp_answer},
    {"who_does_not_own_its_tag_is_not_answered", Rule::mctp_control_bits},
    {"who_does_not_own_its_tag_is_not_answered", Rule::mi_direction},
};

static_assert(std::is_sorted(std::begin(kOnPurpose), std::end(kOnPurpose)));

}  // namespace

bool on_purpose(std::string_view name, Rule rule) {
  return std::binary_search(std::begin(kOnPurpose), std::end(kOnPurpose), std::pair{name, rule});
}

}  // namespace fb::conformance
