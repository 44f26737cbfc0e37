#include "sim/rdma/softroce/cm_states.h"

#include <array>

namespace fb::softroce {

namespace {

using S = CmState;
using E = CmEvent;

constexpr std::uint32_t from(std::initializer_list<S> states) {
  std::uint32_t mask = 0;
  for (const S state : states) mask |= 1u << static_cast<unsigned>(state);
  return mask;
}

struct Transition {
  E event;
  std::uint32_t sources;
  S target;
};

// InfiniBand 12.9.7, without alternate paths and peer-to-peer connects.
constexpr std::array<Transition, kCmEvents> kTransitions = {{
    {E::send_req, from({S::idle}), S::req_sent},
    {E::receive_req, from({S::idle}), S::req_received},
    {E::send_mra_req, from({S::req_received, S::mra_req_sent}), S::mra_req_sent},
    {E::receive_mra_req, from({S::req_sent, S::mra_req_received}), S::mra_req_received},
    {E::send_rep, from({S::req_received, S::mra_req_sent}), S::rep_sent},
    {E::receive_rep, from({S::req_sent, S::mra_req_received}), S::established},
    {E::receive_mra_rep, from({S::rep_sent, S::mra_rep_received}), S::mra_rep_received},
    {E::receive_rtu, from({S::rep_sent, S::mra_rep_received}), S::established},
    {E::receive_data, from({S::rep_sent, S::mra_rep_received}), S::established},
    {E::refuse, from({S::req_received, S::mra_req_sent}), S::idle},
    {E::withdraw, from({S::req_sent, S::mra_req_received, S::mra_rep_sent, S::rep_sent, S::mra_rep_received}), S::timewait},
    {E::receive_rej, from({S::req_sent, S::mra_req_received, S::req_received, S::mra_req_sent}), S::idle},
    {E::receive_late_rej, from({S::mra_rep_sent, S::rep_sent, S::mra_rep_received, S::established, S::dreq_sent}), S::timewait},
    {E::give_up, from({S::req_sent, S::mra_req_received, S::rep_sent, S::mra_rep_received}), S::timewait},
    {E::send_dreq, from({S::established}), S::dreq_sent},
    // A DREQ while the RTU is missing says that the peer did get the REP.
    {E::receive_dreq, from({S::mra_rep_sent, S::rep_sent, S::mra_rep_received, S::established, S::dreq_sent}), S::timewait},
    {E::receive_drep, from({S::dreq_sent}), S::timewait},
    {E::dreq_unanswered, from({S::dreq_sent}), S::timewait},
    {E::timewait_over, from({S::timewait}), S::idle},
    {E::send_mra_rep, from({S::req_sent, S::mra_req_received, S::mra_rep_sent}), S::mra_rep_sent},
    {E::confirm, from({S::mra_rep_sent}), S::established},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTransitions.size(); ++i) {
    if (static_cast<std::size_t>(kTransitions[i].event) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the table is indexed by the event");

}  // namespace

std::string_view name_of(CmState state) {
  constexpr std::array<std::string_view, kCmStates> kNames = {"idle",         "req_sent",     "mra_req_received", "mra_rep_sent",
                                                              "req_received", "mra_req_sent", "rep_sent",         "mra_rep_received",
                                                              "established",  "dreq_sent",    "timewait"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view name_of(CmEvent event) {
  constexpr std::array<std::string_view, kCmEvents> kNames = {
      "send_req",    "receive_req",  "send_mra_req", "receive_mra_req", "send_rep",      "receive_rep",      "receive_mra_rep",
      "receive_rtu", "receive_data", "refuse",       "withdraw",        "receive_rej",   "receive_late_rej", "give_up",
      "send_dreq",   "receive_dreq", "receive_drep", "dreq_unanswered", "timewait_over", "send_mra_rep",     "confirm"};
  return kNames[static_cast<std::size_t>(event)];
}

std::optional<CmState> cm_next(CmState state, CmEvent event) {
  const Transition& row = kTransitions[static_cast<std::size_t>(event)];
  if ((row.sources >> static_cast<unsigned>(state) & 1) == 0) return std::nullopt;
  return row.target;
}

}  // namespace fb::softroce
