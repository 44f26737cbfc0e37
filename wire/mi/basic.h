// The SMBus basic management command: what a drive tells at address 6Ah without MCTP (technical note of the
// NVMe-MI working group).
#pragma once

#include "wire/mi/message.h"

namespace fb::mi {

namespace basic_status {
inline constexpr Le<"length", 0, std::uint8_t> length{};
/// Always 3.
inline constexpr LeBits<"ones", 1, std::uint8_t, 1, 0> ones{};
inline constexpr LeBits<"p1la", 1, std::uint8_t, 2, 2, bool> p1la{};
inline constexpr LeBits<"p0la", 1, std::uint8_t, 3, 3, bool> p0la{};
inline constexpr LeBits<"rnr", 1, std::uint8_t, 4, 4, bool> rnr{};
inline constexpr LeBits<"df", 1, std::uint8_t, 5, 5, bool> df{};
inline constexpr LeBits<"not_ready", 1, std::uint8_t, 6, 6, bool> not_ready{};
/// A block was read without contention since Send Byte FFh cleared it.
inline constexpr LeBits<"arbitration", 1, std::uint8_t, 7, 7, bool> arbitration{};
inline constexpr Le<"warnings", 2, std::uint8_t> warnings{};
inline constexpr Le<"ctemp", 3, std::uint8_t> ctemp{};
inline constexpr Le<"pdlu", 4, std::uint8_t> pdlu{};
}  // namespace basic_status
/// Command code 0: seven bytes, of which the last two are reserved; PEC follows.
using BasicStatus =
    Layout<7, basic_status::length, basic_status::ones, basic_status::p1la, basic_status::p0la, basic_status::rnr, basic_status::df,
           basic_status::not_ready, basic_status::arbitration, basic_status::warnings, basic_status::ctemp, basic_status::pdlu>;

namespace basic_identity {
inline constexpr Le<"length", 0, std::uint8_t> length{};
inline constexpr Be<"vid", 1, std::uint16_t> vid{};
inline constexpr BytesField<"serial", 3, 20> serial{};
}  // namespace basic_identity
/// Command code 8.
using BasicIdentity = Layout<23, basic_identity::length, basic_identity::vid, basic_identity::serial>;

/// Where the blocks stand in one transfer from 0 on: status at 0 with its PEC at 7, identity at 8 with its
/// PEC at 31.
inline constexpr std::size_t kBasicIdentityAt = 8;
inline constexpr std::size_t kBasicBlockSize = 32;
inline constexpr std::uint8_t kBasicAddress = 0xD4;  ///< 8-bit form, writing

}  // namespace fb::mi
