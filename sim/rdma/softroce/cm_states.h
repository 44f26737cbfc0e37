// The states of one connection and the one table of what may happen in them (event, allowed sources,
// target). The engine changes state nowhere else; the drawing comes from the same table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fb::softroce {

enum class CmState : std::uint8_t {
  idle,              ///< before the first message and after the last
  req_sent,          ///< active: waiting for the REP
  mra_req_received,  ///< active: the peer asked for more time
  mra_rep_sent,      ///< active: the peer accepted, and has been told to wait for our user
  req_received,      ///< passive: the listener decides
  mra_req_sent,      ///< passive: the same, and the peer has been told to wait
  rep_sent,          ///< passive: waiting for the RTU
  mra_rep_received,  ///< passive: the peer asked for more time
  established,
  dreq_sent,  ///< waiting for the DREP
  timewait,   ///< over, but neither IDs nor QPN are free yet
};
inline constexpr std::size_t kCmStates = 11;

enum class CmEvent : std::uint8_t {
  send_req,
  receive_req,
  send_mra_req,
  receive_mra_req,
  send_rep,
  receive_rep,
  receive_mra_rep,
  receive_rtu,
  receive_data,      ///< a request arrived before the RTU: it is established
  refuse,            ///< we reject a REQ: nothing of ours was ever promised
  withdraw,          ///< we end a handshake that has exposed our QPN
  receive_rej,       ///< before anything of the passive side was promised
  receive_late_rej,  ///< afterwards
  give_up,           ///< the last resend went unanswered
  send_dreq,
  receive_dreq,
  receive_drep,
  dreq_unanswered,
  timewait_over,
  send_mra_rep,  ///< the reply is held back for the user
  confirm,       ///< the user agrees to a reply that was held back
};
inline constexpr std::size_t kCmEvents = 21;

std::string_view name_of(CmState state);
std::string_view name_of(CmEvent event);

/// Where `event` leads from `state`; nothing when it is not allowed there.
std::optional<CmState> cm_next(CmState state, CmEvent event);

/// Passive connections that somebody else's message has opened and that are not established yet.
constexpr bool is_half_open(CmState state) {
  return state == CmState::req_received || state == CmState::mra_req_sent || state == CmState::rep_sent ||
         state == CmState::mra_rep_received;
}
/// The listener's decision is awaited.
constexpr bool awaits_decision(CmState state) { return state == CmState::req_received || state == CmState::mra_req_sent; }
/// Our REP is out and unconfirmed.
constexpr bool awaits_rtu(CmState state) { return state == CmState::rep_sent || state == CmState::mra_rep_received; }
/// Our REQ is out and unanswered.
constexpr bool awaits_rep(CmState state) { return state == CmState::req_sent || state == CmState::mra_req_received; }

}  // namespace fb::softroce
