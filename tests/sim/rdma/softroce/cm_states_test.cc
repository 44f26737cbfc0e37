#include "sim/rdma/softroce/cm_states.h"

#include <gtest/gtest.h>

#include <set>

namespace fb::softroce {
namespace {

// States x events, all of it. A change in here is a change of the protocol.
constexpr std::string_view kAllowed = R"(
idle + send_req -> req_sent
idle + receive_req -> req_received
req_sent + receive_mra_req -> mra_req_received
req_sent + receive_rep -> established
req_sent + withdraw -> timewait
req_sent + receive_rej -> idle
req_sent + give_up -> timewait
req_sent + send_mra_rep -> mra_rep_sent
mra_req_received + receive_mra_req -> mra_req_received
mra_req_received + receive_rep -> established
mra_req_received + withdraw -> timewait
mra_req_received + receive_rej -> idle
mra_req_received + give_up -> timewait
mra_req_received + send_mra_rep -> mra_rep_sent
mra_rep_sent + withdraw -> timewait
mra_rep_sent + receive_late_rej -> timewait
mra_rep_sent + receive_dreq -> timewait
mra_rep_sent + send_mra_rep -> mra_rep_sent
mra_rep_sent + confirm -> established
req_received + send_mra_req -> mra_req_sent
req_received + send_rep -> rep_sent
req_received + refuse -> idle
req_received + receive_rej -> idle
mra_req_sent + send_mra_req -> mra_req_sent
mra_req_sent + send_rep -> rep_sent
mra_req_sent + refuse -> idle
mra_req_sent + receive_rej -> idle
rep_sent + receive_mra_rep -> mra_rep_received
rep_sent + receive_rtu -> established
rep_sent + receive_data -> established
rep_sent + withdraw -> timewait
rep_sent + receive_late_rej -> timewait
rep_sent + give_up -> timewait
rep_sent + receive_dreq -> timewait
mra_rep_received + receive_mra_rep -> mra_rep_received
mra_rep_received + receive_rtu -> established
mra_rep_received + receive_data -> established
mra_rep_received + withdraw -> timewait
mra_rep_received + receive_late_rej -> timewait
mra_rep_received + give_up -> timewait
mra_rep_received + receive_dreq -> timewait
established + receive_late_rej -> timewait
established + send_dreq -> dreq_sent
established + receive_dreq -> timewait
dreq_sent + receive_late_rej -> timewait
dreq_sent + receive_dreq -> timewait
dreq_sent + receive_drep -> timewait
dreq_sent + dreq_unanswered -> timewait
timewait + timewait_over -> idle
)";

TEST(CmStates, EveryStateAndEvent) {
  std::string seen = "\n";
  for (std::size_t s = 0; s < kCmStates; ++s) {
    for (std::size_t e = 0; e < kCmEvents; ++e) {
      const auto state = static_cast<CmState>(s);
      const auto event = static_cast<CmEvent>(e);
      const auto target = cm_next(state, event);
      if (!target) continue;
      seen += std::string(name_of(state)) + " + " + std::string(name_of(event)) + " -> " + std::string(name_of(*target)) + "\n";
    }
  }
  EXPECT_EQ(seen, kAllowed);
}

TEST(CmStates, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (std::size_t s = 0; s < kCmStates; ++s) names.insert(name_of(static_cast<CmState>(s)));
  for (std::size_t e = 0; e < kCmEvents; ++e) names.insert(name_of(static_cast<CmEvent>(e)));
  EXPECT_EQ(names.size(), kCmStates + kCmEvents);
}

}  // namespace
}  // namespace fb::softroce
