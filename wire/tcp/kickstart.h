// Kickstart discovery (NVMe Base 2.1, section 8.3.2.2.2): on a connection of its own a direct discovery controller asks a
// centralized one to register what it has. The two PDUs are read here by their common header alone.
#pragma once

#include <cstdint>

namespace fb::tcp {

inline constexpr std::uint8_t kKickstartRequest = 0x0A, kKickstartResponse = 0x0B;  ///< KDReq, KDResp

/// What is taken for one; records of a registration are far shorter.
inline constexpr std::uint32_t kKickstartMax = 1 << 20;

constexpr bool is_kickstart(std::uint8_t type) { return type == kKickstartRequest || type == kKickstartResponse; }
constexpr bool is_kickstart_request(std::uint8_t type) { return type == kKickstartRequest; }

}  // namespace fb::tcp
