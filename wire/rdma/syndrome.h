// The AETH syndrome, its credit codes, and the RNR timer codes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace fb::roce {

enum class SyndromeKind : std::uint8_t { ack, rnr_nak, reserved, nak };

enum class NakCode : std::uint8_t {
  psn_sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operational_error = 3,
  invalid_rd_request = 4,
};

/// "End-to-end credits are not used".
inline constexpr std::uint8_t kNoCredits = 31;
inline constexpr std::uint8_t kAckSyndrome = kNoCredits;

constexpr SyndromeKind kind_of_syndrome(std::uint8_t syndrome) { return static_cast<SyndromeKind>(syndrome >> 5 & 3); }
/// Credit code, RNR timer code or NAK code, by kind.
constexpr std::uint8_t value_of_syndrome(std::uint8_t syndrome) { return syndrome & 31; }
constexpr std::uint8_t nak_syndrome(NakCode code) { return static_cast<std::uint8_t>(0x60 | static_cast<unsigned>(code)); }
constexpr std::uint8_t rnr_syndrome(std::uint8_t timer_code) { return static_cast<std::uint8_t>(0x20 | (timer_code & 31)); }

/// Credits that a code 0..30 grants; code 31 grants without limit (0 here stands for code 0 only).
constexpr std::uint32_t credits_of(std::uint8_t code) {
  if (code < 5) return code;
  // 5 6 7 8 ... stand for 6 8 12 16 24 ...: the powers of two and their halves between.
  const unsigned step = code - 4u;
  return (step & 1) != 0 ? 6u << (step / 2) : 4u << (step / 2);
}

namespace syndrome_detail {
/// In units of 10 microseconds.
inline constexpr std::array<std::uint32_t, 32> kRnrTimer = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                                            48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                                            2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
}  // namespace syndrome_detail

/// The least time that a requester waits after an RNR NAK with this timer code.
constexpr Duration rnr_delay(std::uint8_t timer_code) { return Duration::us(10) * syndrome_detail::kRnrTimer[timer_code & 31]; }

/// Local ACK timeout: 4.096 us * 2^code; code 0 means never.
constexpr Duration ack_timeout(std::uint8_t code) {
  return (code & 31) == 0 ? Duration::forever() : Duration::ns(std::int64_t{4096} << (code & 31));
}

/// "ACK", "RNR NAK", "NAK PSN sequence error" ...
std::string_view name_of_syndrome(std::uint8_t syndrome);

}  // namespace fb::roce
