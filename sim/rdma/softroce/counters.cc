#include "sim/rdma/softroce/counters.h"

#include <iterator>

namespace fb::softroce {

namespace {
constexpr NamedCounter kCounters[] = {
    {"packets_sent", &SoftCounters::packets_sent},
    {"packets_received", &SoftCounters::packets_received},
    {"bytes_sent", &SoftCounters::bytes_sent},
    {"bytes_received", &SoftCounters::bytes_received},
    {"acks_sent", &SoftCounters::acks_sent},
    {"sequence_naks_sent", &SoftCounters::sequence_naks_sent},
    {"rnr_naks_sent", &SoftCounters::rnr_naks_sent},
    {"fatal_naks_sent", &SoftCounters::fatal_naks_sent},
    {"sequence_naks_received", &SoftCounters::sequence_naks_received},
    {"rnr_naks_received", &SoftCounters::rnr_naks_received},
    {"fatal_naks_received", &SoftCounters::fatal_naks_received},
    {"implied_naks", &SoftCounters::implied_naks},
    {"ack_timeouts", &SoftCounters::ack_timeouts},
    {"rewinds", &SoftCounters::rewinds},
    {"duplicate_requests", &SoftCounters::duplicate_requests},
    {"reads_replayed", &SoftCounters::reads_replayed},
    {"atomics_replayed", &SoftCounters::atomics_replayed},
    {"drop_too_short", &SoftCounters::drop_too_short},
    {"drop_bad_version", &SoftCounters::drop_bad_version},
    {"drop_congestion_notification", &SoftCounters::drop_congestion_notification},
    {"drop_unknown_opcode", &SoftCounters::drop_unknown_opcode},
    {"drop_wrong_transport", &SoftCounters::drop_wrong_transport},
    {"drop_bad_length", &SoftCounters::drop_bad_length},
    {"drop_unknown_qp", &SoftCounters::drop_unknown_qp},
    {"drop_qp_not_ready", &SoftCounters::drop_qp_not_ready},
    {"drop_foreign_address", &SoftCounters::drop_foreign_address},
    {"drop_bad_pkey", &SoftCounters::drop_bad_pkey},
    {"drop_bad_qkey", &SoftCounters::drop_bad_qkey},
    {"drop_bad_icrc", &SoftCounters::drop_bad_icrc},
    {"drop_out_of_sequence", &SoftCounters::drop_out_of_sequence},
    {"drop_while_not_ready", &SoftCounters::drop_while_not_ready},
    {"drop_unknown_duplicate", &SoftCounters::drop_unknown_duplicate},
    {"drop_ghost_ack", &SoftCounters::drop_ghost_ack},
    {"drop_old_response", &SoftCounters::drop_old_response},
    {"drop_ignored_nak", &SoftCounters::drop_ignored_nak},
};
static_assert(std::size(kCounters) * sizeof(std::uint64_t) == sizeof(SoftCounters), "a counter is missing from the table");
}  // namespace

std::span<const NamedCounter> named_counters() { return kCounters; }

}  // namespace fb::softroce
