// The ways that a connection of the host side of NVMe/TCP goes from state to state, as its trace tells them
// ("nvme-tcp.state").
#pragma once

#include <string_view>
#include <utility>

namespace fb::transport {

inline constexpr std::pair<std::string_view, std::string_view> kTcpHostWays[] = {
    {"idle", "connecting"}, {"connecting", "greeting"}, {"connecting", "ended"}, {"connecting", "idle"}, {"greeting", "connected"},
    {"greeting", "ended"},  {"greeting", "idle"},       {"connected", "ended"},  {"connected", "idle"},  {"ended", "idle"},
};

}  // namespace fb::transport
