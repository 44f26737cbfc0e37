// Authentication Send and Receive: the commands; the messages inside are another matter.
#pragma once

#include "wire/fabrics/sqe.h"

namespace fb::fabrics {

namespace auth_sqe {
inline constexpr Le<"spsp0", 41, std::uint8_t> spsp0{};
inline constexpr Le<"spsp1", 42, std::uint8_t> spsp1{};
inline constexpr Le<"secp", 43, std::uint8_t> secp{};
/// TL of Send, AL of Receive.
inline constexpr Le<"length", 44, std::uint32_t> length{};
}  // namespace auth_sqe
using AuthSqe = FabricsSqe<auth_sqe::spsp0, auth_sqe::spsp1, auth_sqe::secp, auth_sqe::length>;

/// Security protocol of the NVMe authentication messages.
inline constexpr std::uint8_t kNvmeSecurityProtocol = 0xE9;
/// SPSP0 and SPSP1 of the commands that carry them.
inline constexpr std::uint8_t kNvmeSecuritySpecific = 0x01;

}  // namespace fb::fabrics
