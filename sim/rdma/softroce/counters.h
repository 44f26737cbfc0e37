// What the device has counted: packets, recoveries, and drops by reason.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fb::softroce {

struct SoftCounters {
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t bytes_sent = 0;      ///< UDP payload
  std::uint64_t bytes_received = 0;  ///< UDP payload
  std::uint64_t acks_sent = 0;
  std::uint64_t sequence_naks_sent = 0;
  std::uint64_t rnr_naks_sent = 0;
  std::uint64_t fatal_naks_sent = 0;
  std::uint64_t sequence_naks_received = 0;
  std::uint64_t rnr_naks_received = 0;
  std::uint64_t fatal_naks_received = 0;
  std::uint64_t implied_naks = 0;
  std::uint64_t ack_timeouts = 0;
  std::uint64_t rewinds = 0;
  std::uint64_t duplicate_requests = 0;
  std::uint64_t reads_replayed = 0;
  std::uint64_t atomics_replayed = 0;

  // Dropped, in the order of the checks.
  std::uint64_t drop_too_short = 0;
  std::uint64_t drop_bad_version = 0;
  std::uint64_t drop_congestion_notification = 0;
  std::uint64_t drop_unknown_opcode = 0;
  std::uint64_t drop_wrong_transport = 0;
  std::uint64_t drop_bad_length = 0;
  std::uint64_t drop_unknown_qp = 0;
  std::uint64_t drop_qp_not_ready = 0;
  std::uint64_t drop_foreign_address = 0;
  std::uint64_t drop_bad_pkey = 0;
  std::uint64_t drop_bad_qkey = 0;
  std::uint64_t drop_bad_icrc = 0;
  std::uint64_t drop_out_of_sequence = 0;
  std::uint64_t drop_while_not_ready = 0;
  std::uint64_t drop_unknown_duplicate = 0;
  std::uint64_t drop_ghost_ack = 0;
  std::uint64_t drop_old_response = 0;
  std::uint64_t drop_ignored_nak = 0;
};

struct NamedCounter {
  std::string_view name;
  std::uint64_t SoftCounters::*value;
};
/// Every counter above, in order.
std::span<const NamedCounter> named_counters();

}  // namespace fb::softroce
