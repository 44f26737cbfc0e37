// Each rule is heard against the product that breaks it: by a deviation of the catalogue where there is one,
// otherwise by packets said by hand (rdma_test.cc, tcp_test.cc, nvme_test.cc, mctp_test.cc, oracle_test.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "conformance/requirements/ledger.h"
#include "conformance/runner/runner.h"
#include "conformance/runner/watched.h"

namespace fb::conformance {
namespace {

using monitors::Rule;

struct Tripped {
  Rule rule;
  std::string_view deviation, by, transport;
};

constexpr Tripped kTripped[] = {
    {Rule::rdma_icrc, "rdma_sends_bad_icrc", "every_packet_has_a_good_icrc", "rdma"},
    {Rule::rdma_pad_zero, "rdma_pads_with_garbage", "payload_is_padded_to_four_bytes", "rdma"},
    {Rule::rdma_psn_of_read, "rdma_read_takes_one_psn", "requests_have_consecutive_psns", "rdma"},
    {Rule::rdma_ack_beyond, "rdma_answers_unknown_opcodes", "reserved_opcodes_are_dropped", "rdma"},
    {Rule::rdma_msn, "rdma_msn_stays_zero", "the_msn_counts_messages", "rdma"},
    {Rule::rdma_read_form, "rdma_single_response_is_last", "a_read_is_answered_with_memory", "rdma"},
    {Rule::cm_request, "cm_req_mapped_addresses", "a_req_is_complete", "rdma"},
    {Rule::cm_rep_depth, "cm_depths_not_clamped", "a_rep_asks_for_no_more_reads_than_offered", "rdma"},
    {Rule::cm_rep_again, "cm_repeats_rep_without_data", "an_unconfirmed_rep_is_repeated_unchanged", "rdma"},
    {Rule::cm_drep, "cm_drep_swaps_ids", "a_dreq_is_answered", "rdma"},
    {Rule::cm_drep_transaction, "cm_drep_other_transaction", "a_dreq_is_answered", "rdma"},
    {Rule::rdma_accept_data, "rdma_accepts_in_other_format", "accept_carries_a_queue_size", "rdma"},
    {Rule::rdma_key_late, "rdma_answers_before_data", "read_data_arrives_before_its_response", "rdma"},
    {Rule::rdma_invalidate, "rdma_invalidates_unasked", "key_is_kept_where_nobody_asked", "rdma"},
    {Rule::nvme_connect_first, "host_connect_property_first", "host_connect_is_first", "rdma"},
    {Rule::nvme_connect_once, "tcp_host_connects_twice", "tcp_host_has_a_connection_for_each_queue", "tcp"},
    {Rule::nvme_cid_reuse, "host_reuses_identifiers", "host_uses_an_identifier_once_at_a_time", "rdma"},
    {Rule::nvme_completion_unknown, "completion_loses_identifier_bits", "each_command_is_completed_once_by_its_identifier", "rdma"},
    {Rule::nvme_completion_twice, "completion_sent_twice", "each_command_is_completed_once_by_its_identifier", "rdma"},
    {Rule::nvme_completion_phase, "completion_with_phase", "reserved_fields_of_completions_are_zero", "rdma"},
    {Rule::nvme_completion_dwords, "completion_flush_dwords", "io_commands_leave_unused_dwords_zero", "tcp"},
    {Rule::nvme_sqhd_off, "sqhd_without_flow_control", "sqhd_is_zero_without_flow_control", "rdma"},
    {Rule::nvme_queue_full, "host_overfills_its_queue", "host_does_not_overfill_its_queue", "rdma"},
    {Rule::nvme_psdt, "host_says_prp_in_admin_commands", "host_points_to_data_with_sgls", "rdma"},
    {Rule::nvme_psdt_no_data, "host_says_prp_without_data", "host_points_to_data_with_sgls", "tcp"},
    {Rule::nvme_psdt_fabrics, "host_says_prp_in_fabrics_commands", "host_points_to_data_with_sgls", "rdma"},
    {Rule::nvme_no_data_descriptor, "host_leaves_descriptors_out", "host_points_to_data_with_sgls", "rdma"},
    {Rule::nvme_hostnqn_uuid, "host_name_has_no_uuid", "host_connect_is_first", "tcp"},
    {Rule::rdma_connect_sqsize, "host_connects_beyond_hsqsize", "host_connect_is_first", "rdma"},
    {Rule::nvme_io_before_ready, "host_io_before_ready", "host_connects_io_after_ready", "tcp"},
    {Rule::nvme_property_stable, "property_vs_writable", "read_only_property_keeps_its_value", "rdma"},
    {Rule::nvme_ready_early, "csts_ready_before_enable", "vs_cc_csts_read_after_connect", "rdma"},
    {Rule::nvme_event_masked, "events_without_pause", "no_second_event_before_the_log_is_read", "rdma"},
    {Rule::tcp_plen, "response_longer_than_itself", "response_capsule_has_its_shape", "tcp"},
    {Rule::tcp_pdo, "c2hdata_not_aligned", "c2hdata_keeps_to_hpda", "tcp"},
    {Rule::tcp_flags, "tcp_host_digests_after_all", "tcp_host_uses_no_digest_that_was_declined", "tcp"},
    {Rule::tcp_hdgst, "header_digest_is_wrong", "header_digest_is_on_every_pdu", "tcp"},
    {Rule::tcp_ddgst, "data_digest_is_wrong", "data_digest_is_on_all_data", "tcp"},
    {Rule::tcp_padding, "c2hdata_padded_with_noise", "padding_is_zero", "tcp"},
    {Rule::tcp_icreq_first, "tcp_host_speaks_before_icresp", "tcp_host_says_nothing_but_icreq_before_icresp", "tcp"},
    {Rule::tcp_icreq_once, "tcp_host_greets_twice", "tcp_host_says_icreq_once", "tcp"},
    {Rule::tcp_icreq_fields, "tcp_host_icreq_hpda_beyond_range", "tcp_host_asks_for_an_alignment_that_can_be", "tcp"},
    {Rule::tcp_icresp_fields, "icresp_cpda_beyond_range", "icresp_cpda_is_in_range", "tcp"},
    {Rule::tcp_icresp_maxh2cdata, "icresp_maxh2cdata_odd", "icresp_maxh2cdata_is_in_dwords", "tcp"},
    {Rule::tcp_icresp_digests, "icresp_enables_digests_unasked", "icresp_enables_no_digest_unasked", "tcp"},
    {Rule::tcp_icresp_order, "icreq_taken_twice", "second_icreq_is_fatal", "tcp"},
    {Rule::tcp_after_termreq, "tcp_host_termreq_is_not_the_last", "tcp_host_says_nothing_after_a_termreq", "tcp"},
    {Rule::tcp_r2t_command, "r2t_of_another_command", "r2t_names_its_command", "tcp"},
    {Rule::tcp_r2t_range, "r2t_leaves_out_the_start", "r2ts_cover_the_write_in_order", "tcp"},
    {Rule::tcp_r2t_limit, "r2t_without_bound", "one_r2t_at_a_time_where_maxr2t_is_0", "tcp"},
    {Rule::tcp_r2t_reserved, "r2t_tail_reserved", "r2t_reserves_what_is_reserved", "tcp"},
    {Rule::tcp_c2h_reserved, "c2hdata_tag_reserved", "c2hdata_reserves_what_is_reserved", "tcp"},
    {Rule::tcp_h2c_unasked, "tcp_host_confuses_commands", "tcp_host_serves_r2ts_of_several_commands", "tcp"},
    {Rule::tcp_h2c_order, "tcp_host_data_with_holes", "tcp_host_data_follows_the_r2t", "tcp"},
    {Rule::tcp_h2c_last, "tcp_host_all_data_is_last", "tcp_host_marks_the_last_data", "tcp"},
    {Rule::tcp_h2c_limit, "tcp_host_ignores_maxh2cdata", "tcp_host_keeps_to_maxh2cdata", "tcp"},
    {Rule::tcp_c2h_order, "c2hdata_at_other_offsets", "c2hdata_is_contiguous_and_complete", "tcp"},
    {Rule::tcp_c2h_range, "short_tcp_sgl_taken", "tcp_sgl_shorter_than_data_is_refused", "tcp"},
    {Rule::tcp_c2h_last, "c2hdata_never_last", "c2hdata_last_pdu_is_on_the_last", "tcp"},
    {Rule::tcp_success_alone, "success_and_a_response", "success_stands_for_the_response", "tcp"},
    {Rule::tcp_success_flow, "success_with_flow_control", "success_needs_flow_control_off", "tcp"},
    {Rule::tcp_capsule_data, "tcp_host_capsule_longer_than_its_data", "tcp_host_capsules_have_their_lengths", "tcp"},
    {Rule::mctp_version, "owner_sends_another_version", "control_requests_of_the_owner_are_sound", "pcie"},
    {Rule::mctp_reserved, "requester_sets_reserved_bits", "packets_of_requests_are_sound", "pcie"},
    {Rule::mctp_assigned_eid, "owner_gives_reserved_eids", "one_device_gets_a_good_eid", "pcie"},
    {Rule::mctp_start, "changes_the_tag_in_an_answer", "all_packets_of_an_answer_name_the_same_exchange", "pcie"},
    {Rule::mctp_sequence, "numbers_all_packets_0", "numbers_of_packets_go_up_by_one", "pcie"},
    {Rule::mctp_unit, "sends_parts_of_unequal_size", "messages_are_cut_into_equal_parts", "pcie"},
    {Rule::mctp_answer, "answers_eid_0_at_eid_8", "who_has_no_eid_is_answered_at_its_address", "pcie"},
    {Rule::mctp_control_one, "cuts_control_answers_in_two", "control_answers_are_single_packets", "pcie"},
    {Rule::mctp_control_bits, "answers_say_request", "answers_are_marked_as_responses", "pcie"},
    {Rule::mctp_control_instance, "answers_with_four_bits_of_the_instance", "instance_ids_come_back", "pcie"},
    {Rule::mctp_control_command, "answers_with_another_command", "command_codes_come_back", "pcie"},
    {Rule::mi_integrity, "answers_without_a_check", "answers_end_with_their_integrity_check", "pcie"},
    {Rule::mi_direction, "answers_that_look_like_requests", "answers_say_that_they_are_answers", "pcie"},
    {Rule::mi_kind, "admin_errors_of_another_kind", "answers_are_of_the_kind_of_their_request", "pcie"},
    {Rule::mi_slot, "answers_always_name_slot_0", "answers_name_the_slot_of_their_request", "pcie"},
    {Rule::mi_reserved, "answers_with_a_reserved_bit", "reserved_bits_of_the_answers_header_are_clear", "pcie"},
    {Rule::mi_status, "refusals_with_a_reserved_status", "every_status_is_one_of_the_table", "pcie"},
    {Rule::mi_more_once, "slow_commands_ask_again_and_again", "a_command_asks_for_time_once", "pcie"},
    {Rule::mi_more_form, "asking_for_time_is_long", "asking_for_time_is_eight_bytes", "pcie"},
    {Rule::mi_primitive_tag, "primitives_with_another_tag", "primitives_bring_their_tag_back", "pcie"},
    {Rule::oracle_smart, "health_counts_blocks", "health_counters_count", "tcp"},
    {Rule::oracle_data, "read_ends_wrong", "written_data_reads_back", "rdma"},
    {Rule::oracle_compare, "compare_always_succeeds", "compare_of_unequal_data_fails", "tcp"},
    {Rule::oracle_error_order, "error_log_begins_with_the_oldest", "error_log_begins_with_the_latest", "rdma"},
    {Rule::oracle_error_entry, "errors_without_namespace", "errors_of_io_commands_name_their_namespace", "tcp"},
    {Rule::oracle_error_count, "health_counts_no_errors", "health_log_counts_error_entries", "rdma"},
    {Rule::oracle_dwords, "completion_flush_dwords", "io_commands_leave_unused_dwords_zero", "rdma"},
    {Rule::oracle_identify_controller, "identify_names_another_controller", "identify_names_the_connected_controller", "tcp"},
    {Rule::oracle_identify_namespace, "identify_more_used_than_there_is", "identify_namespace_sizes_are_ordered", "rdma"},
    {Rule::oracle_identify_active, "identify_inactive_is_active", "identify_of_an_inactive_namespace_is_empty", "tcp"},
    {Rule::oracle_identify_list, "active_list_from_the_first", "active_namespace_list_ascends_behind_its_start", "rdma"},
    {Rule::oracle_features, "thresholds_are_one", "thresholds_of_heat_and_cold_are_apart", "tcp"},
    {Rule::oracle_ana, "ana_change_count_stays", "ana_changes_are_counted", "rdma"},
    {Rule::oracle_discovery, "discovery_genctr_stays", "discovery_generation_counts_changes", "tcp"},
    {Rule::oracle_log_supported, "log_pages_not_listed", "supported_log_pages_are_those_that_can_be_read", "rdma"},
    {Rule::oracle_abort, "abort_claims_success", "abort_of_nothing_aborts_nothing", "tcp"},
    {Rule::oracle_reservation_report, "reservation_reports_all_as_holders", "report_names_the_holder", "tcp"},
    {Rule::oracle_reservation_generation, "reservation_generation_stays", "generation_counts_registrations", "rdma"},
    {Rule::oracle_reservation_keys, "reservation_by_any_key", "acquire_refuses_a_wrong_key", "tcp"},
    {Rule::oracle_reservation_access, "reservation_lets_writes_through", "strangers_do_not_write", "rdma"},
    {Rule::oracle_zone_state, "zones_opened_explicitly", "write_opens_an_empty_zone", "tcp"},
    {Rule::oracle_zone_write, "zones_append_at_start", "append_says_where_it_wrote", "rdma"},
    {Rule::oracle_zone_report, "zones_reported_backwards", "zones_are_reported_in_order", "tcp"},
    {Rule::oracle_firmware_running, "firmware_runs_before_its_reset", "committed_firmware_waits_for_the_reset", "rdma"},
    {Rule::oracle_self_test, "self_test_oldest_first", "self_test_log_begins_with_the_newest", "tcp"},
    {Rule::oracle_sanitize, "sanitize_erased_for_ever", "sanitize_log_tells_of_erased_data", "rdma"},
    {Rule::oracle_host_identity, "host_io_connect_other_hostnqn", "host_io_connect_keeps_its_identity", "tcp"},
    {Rule::oracle_host_cntlid, "host_io_connect_other_controller", "host_io_connect_names_its_controller", "rdma"},
    {Rule::oracle_host_io_kato, "host_io_connect_kato", "host_io_connect_has_no_kato", "tcp"},
    {Rule::oracle_host_queue_size, "host_queue_above_mqes", "host_keeps_to_mqes", "tcp"},
    {Rule::oracle_host_queue_count, "host_number_of_queues_ignored", "host_negotiates_the_number_of_queues", "tcp"},
    {Rule::oracle_host_queues_value, "host_wants_65536_queues", "host_asks_for_a_possible_number_of_queues", "rdma"},
    {Rule::oracle_host_queues_time, "host_counts_queues_late", "host_sets_the_number_of_queues_in_time", "tcp"},
    {Rule::oracle_host_same, "host_is_another_on_its_second_path", "host_is_the_same_on_each_path", "rdma"},
    {Rule::oracle_host_cc, "host_cc_iosqes", "host_writes_a_legal_cc", "tcp"},
    {Rule::oracle_host_cc_rest, "host_cc_reserved_bits", "host_chooses_nothing_that_is_not_offered", "rdma"},
    {Rule::oracle_host_ready, "host_identifies_before_ready", "host_asks_nothing_before_it_is_ready", "tcp"},
    {Rule::oracle_host_reset_order, "host_enables_before_disabled", "host_enables_again_what_is_disabled", "rdma"},
    {Rule::oracle_host_shutdown, "host_speaks_after_its_shutdown", "host_is_quiet_after_its_shutdown", "tcp"},
    {Rule::oracle_host_disconnect, "host_disconnects_its_admin_queue", "host_disconnects_io_queues_alone", "rdma"},
    {Rule::oracle_host_authenticates, "host_auth_impatient", "host_authenticates_before_anything_else", "tcp"},
    {Rule::oracle_host_reserved, "host_fills_dword_2", "host_leaves_reserved_fields_of_commands_alone", "tcp"},
    {Rule::oracle_host_nsid_unused, "host_names_unused_namespace", "host_names_no_namespace_where_none_is_meant", "rdma"},
    {Rule::oracle_host_nsid, "host_names_namespace_0", "host_names_a_namespace_that_is_there", "tcp"},
    {Rule::oracle_host_lba_range, "host_reads_beyond_the_end", "host_stays_within_its_namespace", "rdma"},
    {Rule::oracle_host_mdts, "host_ignores_mdts", "host_splits_transfers_to_mdts", "tcp"},
    {Rule::oracle_host_limits, "host_zeroes_beyond_wzsl", "host_keeps_to_the_limits_of_commands", "rdma"},
    {Rule::oracle_host_copy_limits, "host_copies_beyond_limits", "host_keeps_to_the_limits_of_copy", "tcp"},
    {Rule::oracle_host_length, "host_identifies_into_512_bytes", "host_has_room_for_what_it_asks_for", "rdma"},
    {Rule::oracle_host_no_data, "host_describes_nothing", "host_describes_no_data_where_there_is_none", "tcp"},
    {Rule::oracle_host_optional, "host_sends_unclaimed_commands", "host_does_not_send_what_is_not_claimed", "rdma"},
    {Rule::oracle_host_event_requests, "host_asks_for_too_many_events", "host_keeps_to_the_limit_of_event_requests", "tcp"},
    {Rule::oracle_host_events, "host_enables_events_that_are_not_claimed", "host_enables_the_notices_that_are_claimed", "rdma"},
    {Rule::oracle_host_abort_names, "host_aborts_another_command", "host_aborts_the_command_that_it_means", "tcp"},
    {Rule::oracle_host_aborts, "host_sends_too_many_aborts", "host_keeps_to_the_limit_of_aborts", "rdma"},
    {Rule::oracle_host_log_range, "host_reads_logs_from_an_offset", "host_reads_logs_as_they_can_be_read", "tcp"},
    {Rule::oracle_host_save, "host_saves_features", "host_saves_features_where_it_can", "rdma"},
    {Rule::oracle_host_capsule_tcp, "tcp_host_capsule_of_any_length", "tcp_host_keeps_to_the_capsule_size", "tcp"},
    {Rule::oracle_host_capsule_rdma, "host_overfills_capsules", "host_keeps_to_the_capsule_size", "rdma"},
    {Rule::oracle_host_in_capsule, "host_in_capsule_unclaimed", "host_needs_a_claim_for_data_in_capsules", "rdma"},
    {Rule::oracle_host_sgl_rdma, "host_keyed_subtype_unknown", "host_describes_data_as_rdma_can_carry_it", "rdma"},
    {Rule::oracle_host_reference_tag, "host_reference_tags_off_by_one", "host_begins_reference_tags_with_the_lba", "tcp"},
    {Rule::oracle_host_zones, "host_crosses_zones", "host_keeps_to_zones", "rdma"},
    {Rule::oracle_host_append, "host_appends_too_much", "host_appends_within_the_limit", "tcp"},
    {Rule::oracle_mctp_identity, "says_another_uuid_each_time", "a_uuid_never_changes", "smbus"},
    {Rule::oracle_mi_configuration, "unit_not_kept", "units_can_be_set", "smbus"},
    {Rule::oracle_mi_vpd, "vpd_write_lost", "vpd_write_is_read_back", "smbus"},
    {Rule::oracle_mi_buffer, "buffer_read_from_the_start", "the_buffer_keeps_what_is_written", "smbus"},
    {Rule::oracle_mi_flags, "changes_are_cleared_unasked", "changes_are_told_until_they_are_cleared", "smbus"},
    {Rule::oracle_mi_lengths, "structures_of_another_length", "data_structures_are_as_long_as_told", "smbus"},
    {Rule::oracle_mi_limits, "more_entries_come_than_asked_for", "no_more_entries_come_than_are_asked_for", "smbus"},
};

/// No product of ours can be made to break these; or only as a consequence of something else.
constexpr Rule kByHand[] = {
    Rule::rdma_version,
    Rule::rdma_pad_count,
    Rule::rdma_order,
    Rule::rdma_size,
    Rule::rdma_dma_length,
    Rule::rdma_psn_first,
    Rule::rdma_psn_next,
    Rule::rdma_read_asked,
    Rule::cm_mad,
    Rule::cm_rep_transaction,
    Rule::cm_rtu,
    Rule::rdma_key_unknown,
    Rule::rdma_key_range,
    Rule::rdma_key_direction,
    Rule::nvme_sqhd,
    Rule::nvme_fused,
    Rule::nvme_keep_alive,
    Rule::nvme_property_queue,
    Rule::nvme_property_read_only,
    Rule::tcp_type,
    Rule::tcp_hlen,
    Rule::tcp_h2c_range,
    Rule::tcp_h2c_reserved,
    Rule::tcp_c2h_command,
    Rule::tcp_answers_header_digest,
    Rule::tcp_answers_capsule_digest,
    Rule::tcp_answers_h2c_digest,
    Rule::tcp_answers_transfer_tag,
    Rule::mctp_eid,
    Rule::mi_size,
    Rule::mi_one_command,
    Rule::oracle_error_missing,
    Rule::oracle_identify_agrees,
    Rule::oracle_mdts,
    Rule::oracle_namespace_exists,
    Rule::oracle_lba_range,
    Rule::oracle_block_size,
    Rule::oracle_features_default,
    Rule::oracle_features_saved,
    Rule::oracle_features_reset,
    Rule::oracle_event_enabled,
    Rule::oracle_event_limit,
    Rule::oracle_effects,
    Rule::oracle_nuse,
    Rule::oracle_zone_resources,
    Rule::oracle_firmware_slots,
    Rule::oracle_host_sgl_tcp,
    Rule::oracle_host_keep_alive,
    Rule::oracle_mi_structures,
};

const CaseInfo* case_named(std::string_view name) {
  for (const CaseInfo* info : all_cases()) {
    if (info->name == name) return info;
  }
  return nullptr;
}

struct MonitoredDeviation : testing::TestWithParam<Tripped> {};

TEST_P(MonitoredDeviation, IsHeard) {
  const Tripped& row = GetParam();
  const CaseInfo* info = case_named(row.by);
  const deviations::Deviation* deviation = deviations::find_deviation(row.deviation);
  ASSERT_NE(info, nullptr);
  ASSERT_NE(deviation, nullptr);
  DeclarationCache declarations;
  RunOptions options;
  options.evidence = false;
  options.deviations = deviations::DeviationSet({deviation});
  const CaseResult result = run_case(*info, row.transport, options, declarations);
  bool heard = false;
  for (const monitors::Finding& found : result.monitored) {
    heard = heard || (found.rule == row.rule && blames_product(found, info->role, true));
  }
  EXPECT_TRUE(heard) << monitors::facts_of(row.rule).name << " is silent about " << row.deviation;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, MonitoredDeviation, testing::ValuesIn(kTripped),
                         [](const auto& made) { return std::string(monitors::facts_of(made.param.rule).name); });

TEST(MonitoredCatalogue, EveryRuleIsTripped) {
  std::set<std::string_view> names;
  std::multiset<Rule> tripped(std::begin(kByHand), std::end(kByHand));
  for (const Tripped& row : kTripped) tripped.insert(row.rule);
  for (std::size_t at = 0; at < monitors::catalogue().size(); ++at) {
    const monitors::RuleFacts& facts = monitors::catalogue()[at];
    EXPECT_EQ(tripped.count(static_cast<Rule>(at)), 1u) << facts.name;
    EXPECT_TRUE(names.insert(facts.name).second) << facts.name;
    EXPECT_NE(find_requirement(facts.requirement), nullptr) << facts.requirement;
    EXPECT_FALSE(facts.sentence.empty());
  }
  EXPECT_GE(monitors::catalogue().size(), 40u);
}

// Cases that see nothing wrong themselves keep their verdicts; the rule is reported once, beside them.
TEST(MonitoredCases, LeaveARuleThatTheirProductBreaksToTheRun) {
  const CaseInfo* const one = case_named("abrupt_shutdown_keeps_what_was_written");
  const CaseInfo* const other = case_named("append_writes");
  const deviations::Deviation* const deviation = deviations::find_deviation("completion_with_phase");
  ASSERT_NE(one, nullptr);
  ASSERT_NE(other, nullptr);
  ASSERT_NE(deviation, nullptr);
  RunOptions options;
  options.product.transport = "rdma";
  options.deviations = deviations::DeviationSet({deviation});
  const RunResult run = run_cases({one, other}, options);
  ASSERT_EQ(run.cases.size(), 3u);
  EXPECT_EQ(run.cases[0].verdict, Verdict::pass) << run.cases[0].reason;
  EXPECT_EQ(run.cases[1].verdict, Verdict::pass) << run.cases[1].reason;
  EXPECT_EQ(broken_rules(run.cases[0]), std::vector<std::string_view>{"nvme_completion_phase"});
  const CaseResult& rule = run.cases[2];
  EXPECT_EQ(rule.info->name, "rule_nvme_completion_phase");
  EXPECT_EQ(rule.info->requirement, "nvme.completion.reserved");
  EXPECT_EQ(rule.verdict, Verdict::fail);
  EXPECT_NE(rule.reason.find("nvme.completion.reserved (nvme_completion_phase): packet "), std::string::npos) << rule.reason;
  EXPECT_EQ(rule.findings.at(0).seen, "the response to command 2 has its phase bit set");
  EXPECT_EQ(rule.shown_by, (std::vector<const CaseInfo*>{one, other}));
  options.monitors = false;
  EXPECT_EQ(run_cases({one, other}, options).cases.size(), 2u);
}

// What the rule's own case has said is not said twice.
TEST(MonitoredCases, SayNothingOfARuleWhoseCaseFailed) {
  const CaseInfo* const own = case_named("reserved_fields_of_completions_are_zero");
  const CaseInfo* const other = case_named("connect_refuses_sqsize_zero");
  const deviations::Deviation* const deviation = deviations::find_deviation("completion_with_phase");
  ASSERT_NE(own, nullptr);
  RunOptions options;
  options.product.transport = "rdma";
  options.deviations = deviations::DeviationSet({deviation});
  const RunResult run = run_cases({other, own}, options);
  ASSERT_EQ(run.cases.size(), 2u);
  EXPECT_EQ(std::count_if(run.cases.begin(), run.cases.end(), [](const CaseResult& one) { return one.verdict == Verdict::fail; }), 1);
}

}  // namespace
}  // namespace fb::conformance
