// What the two health polls return (NVMe-MI, sections 5.3 and 5.6).
#pragma once

#include "wire/mi/message.h"

namespace fb::mi {

namespace subsystem_health {
inline constexpr LeBits<"snfm", 0, std::uint8_t, 1, 1, bool> snfm{};  ///< 2.1
inline constexpr LeBits<"p1la", 0, std::uint8_t, 2, 2, bool> p1la{};
inline constexpr LeBits<"p0la", 0, std::uint8_t, 3, 3, bool> p0la{};
inline constexpr LeBits<"rnr", 0, std::uint8_t, 4, 4, bool> rnr{};  ///< reset not required
inline constexpr LeBits<"df", 0, std::uint8_t, 5, 5, bool> df{};    ///< drive functional
inline constexpr LeBits<"sfm", 0, std::uint8_t, 6, 6, bool> sfm{};  ///< sanitize failure mode, 1.2
inline constexpr LeBits<"atf", 0, std::uint8_t, 7, 7, bool> atf{};  ///< 2.x
/// SMART warnings, inverted: 1 is good.
inline constexpr Le<"sw", 1, std::uint8_t> sw{};
inline constexpr Le<"ctemp", 2, std::uint8_t> ctemp{};
inline constexpr Le<"pdlu", 3, std::uint8_t> pdlu{};
inline constexpr Le<"ccs", 4, std::uint16_t> ccs{};
}  // namespace subsystem_health
using SubsystemHealth = Layout<8, subsystem_health::snfm, subsystem_health::p1la, subsystem_health::p0la, subsystem_health::rnr,
                               subsystem_health::df, subsystem_health::sfm, subsystem_health::atf, subsystem_health::sw,
                               subsystem_health::ctemp, subsystem_health::pdlu, subsystem_health::ccs>;

/// Bits of the composite controller status, and of a controller's own changed flags.
namespace change_bits {
inline constexpr std::uint16_t rdy = 1u << 0;
inline constexpr std::uint16_t cfs = 1u << 1;
inline constexpr std::uint16_t shst = 1u << 2;
inline constexpr std::uint16_t nssro = 1u << 4;
inline constexpr std::uint16_t ceco = 1u << 5;
inline constexpr std::uint16_t nac = 1u << 6;
inline constexpr std::uint16_t fa = 1u << 7;
inline constexpr std::uint16_t csts = 1u << 8;  ///< any of those below it
inline constexpr std::uint16_t ctemp = 1u << 9;
inline constexpr std::uint16_t pdlu = 1u << 10;
inline constexpr std::uint16_t spare = 1u << 11;
inline constexpr std::uint16_t cwarn = 1u << 12;
inline constexpr std::uint16_t tcida = 1u << 13;
}  // namespace change_bits

/// Configuration Set 02h numbers the same bits without the gap behind SHST: the bit of `position` as a
/// change bit, 0 beyond the last.
constexpr std::uint16_t change_bit_of_clear(unsigned position) {
  constexpr std::uint16_t kBits[] = {change_bits::rdy,   change_bits::cfs,   change_bits::shst, change_bits::nssro, change_bits::ceco,
                                     change_bits::nac,   change_bits::fa,    change_bits::csts, change_bits::ctemp, change_bits::pdlu,
                                     change_bits::spare, change_bits::cwarn, change_bits::tcida};
  return position < std::size(kBits) ? kBits[position] : std::uint16_t{0};
}
inline constexpr unsigned kClearBits = 13;

namespace controller_health {
inline constexpr Le<"ctlid", 0, std::uint16_t> ctlid{};
inline constexpr LeBits<"rdy", 2, std::uint16_t, 0, 0, bool> rdy{};
inline constexpr LeBits<"cfs", 2, std::uint16_t, 1, 1, bool> cfs{};
inline constexpr LeBits<"shst", 2, std::uint16_t, 3, 2> shst{};
inline constexpr LeBits<"nssro", 2, std::uint16_t, 4, 4, bool> nssro{};
inline constexpr LeBits<"ceco", 2, std::uint16_t, 5, 5, bool> ceco{};
inline constexpr LeBits<"nac", 2, std::uint16_t, 6, 6, bool> nac{};
inline constexpr LeBits<"fa", 2, std::uint16_t, 7, 7, bool> fa{};
inline constexpr LeBits<"tcida", 2, std::uint16_t, 8, 8, bool> tcida{};
/// Kelvin.
inline constexpr Le<"ctemp", 4, std::uint16_t> ctemp{};
inline constexpr Le<"pdlu", 6, std::uint8_t> pdlu{};
inline constexpr Le<"spare", 7, std::uint8_t> spare{};
/// Critical warnings as in SMART: 1 is bad.
inline constexpr Le<"cwarn", 8, std::uint8_t> cwarn{};
/// What has changed (1.2).
inline constexpr Le<"chsc", 9, std::uint16_t> chsc{};
}  // namespace controller_health
using ControllerHealth =
    Layout<16, controller_health::ctlid, controller_health::rdy, controller_health::cfs, controller_health::shst, controller_health::nssro,
           controller_health::ceco, controller_health::nac, controller_health::fa, controller_health::tcida, controller_health::ctemp,
           controller_health::pdlu, controller_health::spare, controller_health::cwarn, controller_health::chsc>;

/// CTEMP of the subsystem poll and of the basic management command.
inline constexpr std::uint8_t kTemperatureStale = 0x80;
inline constexpr std::uint8_t kTemperatureFailed = 0x81;
/// Degrees Celsius in two's complement, saturating at 7Fh (127 and more) and C4h (-60 and less).
constexpr std::uint8_t celsius_code(std::uint16_t kelvins) {
  const int celsius = static_cast<int>(kelvins) - 273;
  if (celsius >= 127) return 0x7F;
  if (celsius <= -60) return 0xC4;
  return static_cast<std::uint8_t>(celsius & 0xFF);
}

}  // namespace fb::mi
