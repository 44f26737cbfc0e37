#include "conformance/report/transitions.h"

#include <algorithm>

#include "model/host/controller_state.h"
#include "model/mi/slot.h"
#include "model/subsystem/state.h"
#include "model/transport/tcp_host_states.h"
#include "sim/rdma/softroce/cm_states.h"
#include "sim/rdma/verbs_types.h"

namespace fb::conformance {

namespace {

/// Every pair (from, to) of a table over states and events; each once, in the order of the states.
template <class State, class Event, class Next>
auto pairs_of(std::size_t states, std::size_t events, Next&& next) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (std::size_t s = 0; s < states; ++s) {
    for (std::size_t e = 0; e < events; ++e) {
      const auto to = next(static_cast<State>(s), static_cast<Event>(e));
      if (!to) continue;
      const std::pair pair{name_of(static_cast<State>(s)), name_of(*to)};
      if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
    }
  }
  return pairs;
}

StateMachine controller() {
  using namespace subsystem;
  return {
      "Controller", "The life of a controller between CC and CSTS.", "controller.state",
      pairs_of<ControllerState, ControllerEvent>(7, 7, [](ControllerState s, ControllerEvent e) { return subsystem::next_state(s, e); })};
}

StateMachine association() {
  using namespace host;
  return {"Association of the host", "The life of an association as the emulated host leads it.", "host.state",
          pairs_of<ControllerState, ControllerEvent>(10, 10, [](ControllerState s, ControllerEvent e) { return host::next_state(s, e); })};
}

StateMachine connection_manager() {
  using namespace softroce;
  return {"RDMA connection", "One side of a connection in the connection manager (InfiniBand 12.9.7).", "cm.state",
          pairs_of<CmState, CmEvent>(kCmStates, kCmEvents, [](CmState s, CmEvent e) { return cm_next(s, e); })};
}

StateMachine slot() {
  using namespace mi;
  return {"NVMe-MI command slot", "A command slot of a management endpoint.", "mi.slot",
          pairs_of<SlotState, SlotEvent>(4, 7, [](SlotState s, SlotEvent e) { return mi::next_state(s, e); })};
}

/// The engine has no table: these are the ways that it goes.
StateMachine queue_pair() {
  using rdma::QpState;
  StateMachine machine{"Queue pair", "A queue pair of the software RDMA device.", "qp.state", {}};
  const std::pair<QpState, QpState> ways[] = {{QpState::init, QpState::ready_to_receive},
                                              {QpState::ready_to_receive, QpState::ready_to_send},
                                              {QpState::init, QpState::error},
                                              {QpState::ready_to_receive, QpState::error},
                                              {QpState::ready_to_send, QpState::error}};
  for (const auto& [from, to] : ways) machine.allowed.emplace_back(name_of(from), name_of(to));
  return machine;
}

StateMachine tcp_connection() {
  StateMachine machine{"NVMe/TCP connection", "A connection of the host: TCP, then ICReq and ICResp, then PDUs.", "nvme-tcp.state", {}};
  for (const auto& [from, to] : transport::kTcpHostWays) machine.allowed.emplace_back(from, to);
  return machine;
}

/// "1: ready -> resetting", "qp 0x000011 INIT -> RTR: path known": the words around the arrow.
bool split(std::string_view text, std::string_view& from, std::string_view& to) {
  constexpr std::string_view kArrow = " -> ";
  const std::size_t arrow = text.find(kArrow);
  if (arrow == text.npos) return false;
  from = text.substr(0, arrow);
  to = text.substr(arrow + kArrow.size());
  if (const std::size_t colon = from.rfind(": "); colon != from.npos) from.remove_prefix(colon + 2);
  to = to.substr(0, std::min(to.find(" ("), to.find(": ")));
  return true;
}

}  // namespace

std::vector<StateMachine> state_machines() {
  return {controller(), association(), queue_pair(), connection_manager(), tcp_connection(), slot()};
}

void TransitionCounts::see(std::string_view label, std::string_view text) {
  std::string_view from, to;
  if (!split(text, from, to)) return;
  if (from.starts_with("qp 0x")) from.remove_prefix(std::min(from.size(), from.rfind(' ') + 1));
  ++counts_[Key(label, from, to)];
}

void TransitionCounts::add(const TransitionCounts& other) {
  for (const auto& [key, count] : other.counts_) counts_[key] += count;
}

std::uint64_t TransitionCounts::of(std::string_view label, std::string_view from, std::string_view to) const {
  const auto found = counts_.find(Key(label, from, to));
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace fb::conformance
