// The defects that a campaign is known to find: one of each engine's ways to go wrong.
#pragma once

namespace fb::conformance {

struct Planted {
  const char* engine;
  const char* deviation;
  const char* workload;
};

inline constexpr Planted kPlanted[] = {
    {"RC", "rdma_read_takes_one_psn", "rdma"},
    {"RC", "rdma_executes_duplicates", "rdma"},
    {"RC", "rdma_takes_unknown_keys", "rdma"},
    {"RC", "rdma_ignores_invalidate", "rdma"},
    {"RC", "rdma_single_response_is_last", "rdma"},
    {"RC", "rdma_read_wrong_data", "rdma"},
    {"RC", "rdma_replays_wrong_data", "rdma"},
    {"RC", "rdma_lives_after_fatal_nak", "rdma"},
    {"RC", "rdma_takes_bad_icrc", "rdma"},
    {"RC", "rdma_wants_migreq", "rdma"},
    {"CM", "cm_announces_stale_psn", "rdma"},
    {"CM", "cm_req_mtu_too_large", "rdma"},
    {"CM", "cm_req_of_udp_port_space", "rdma"},
    {"PDU", "header_digest_not_looked_at", "tcp"},
    {"PDU", "capsule_digest_not_looked_at", "tcp"},
    {"PDU", "h2cdata_digest_not_looked_at", "tcp"},
    {"PDU", "stream_garbage_silences_all", "tcp"},
    {"PDU", "in_capsule_data_is_spoilt", "tcp"},
    {"PDU", "r2t_leaves_out_the_start", "tcp"},
    {"PDU", "r2t_without_bound", "tcp"},
    {"PDU", "h2cdata_is_spoilt", "tcp"},
    {"PDU", "c2hdata_at_other_offsets", "tcp"},
    {"PDU", "success_and_a_response", "tcp"},
    {"PDU", "tcp_host_any_header_digest", "tcp"},
    {"PDU", "tcp_host_any_data_digest", "tcp"},
    {"PDU", "tcp_host_takes_the_end_for_success", "tcp"},
    {"PDU", "tcp_host_sends_a_block_more", "tcp"},
    {"PDU", "tcp_host_confuses_commands", "tcp"},
    {"host", "host_loss_is_success", "rdma"},
    {"host", "host_never_reconnects", "rdma"},
    {"host", "host_overfills_its_queue", "rdma"},
    {"host", "host_ignores_ana_notices", "rdma"},
    {"host", "host_ignores_namespace_notices", "rdma"},
    {"host", "host_ignores_dnr", "rdma"},
    {"controller", "rdma_answers_before_data", "rdma"},
    {"controller", "rdma_answers_twice", "rdma"},
    {"controller", "keep_alive_leaves_connections", "rdma"},
    {"controller", "keep_alive_locks_out", "rdma"},
    {"controller", "power_takes_flushed_data", "rdma"},
    {"controller", "power_reset_empties_the_cache", "rdma"},
    {"controller", "power_subsystem_reset_empties_the_cache", "rdma"},
    {"controller", "compare_of_the_first_part", "rdma"},
    {"controller", "fused_write_goes_wrong", "tcp"},
    {"controller", "fused_write_in_any_case", "tcp"},
    {"controller", "write_zeroes_does_nothing", "tcp"},
    {"MCTP", "waits_for_ever_for_a_packet", "management"},
    {"MCTP", "does_not_check_the_pec", "management"},
    {"MCTP", "stops_behind_a_packet_that_nobody_takes", "management"},
    {"MCTP", "escapes_flags_alone", "management"},
    {"MCTP", "does_not_undo_escapes", "management"},
    {"MCTP", "numbers_packets_up_to_3", "management"},
    {"MI", "broken_off_commands_keep_their_slot", "management"},
    {"MI", "requester_believes_any_source", "management"},
    {"MI", "requester_reads_vpd_from_the_start", "management"},
    {"MI", "a_gap_is_needed_between_commands", "management"},
};

}  // namespace fb::conformance
