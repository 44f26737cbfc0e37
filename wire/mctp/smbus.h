// MCTP packets on SMBus and I2C (DSP0237): a block write with command code 0Fh by whoever sends.
// Addresses are in their 8-bit form throughout, bit 0 clear: 3Ah is the device that is called 1Dh.
#pragma once

#include <array>

#include "base/result.h"
#include "wire/layout.h"

namespace fb::mctp::smbus {

inline constexpr std::uint8_t kCommandCode = 0x0F;
inline constexpr std::size_t kHeaderSize = 4;
inline constexpr std::size_t kPecSize = 1;
/// The byte count ends with 255, and counts the source address and the MCTP header.
inline constexpr std::size_t kUnitMax = 250;
/// Where NVMe puts a management endpoint when nobody says otherwise.
inline constexpr std::uint8_t kNvmeEndpointAddress = 0x3A;

namespace header {
/// The slave address as it is on the bus: seven bits, then R/W, which is 0.
inline constexpr Le<"destination", 0, std::uint8_t> destination{};
inline constexpr Le<"command", 1, std::uint8_t> command{};
/// Bytes from the next one to the last before the PEC.
inline constexpr Le<"count", 2, std::uint8_t> count{};
/// The sender's own slave address, with bit 0 set: with 0 it would be IPMB.
inline constexpr Le<"source", 3, std::uint8_t> source{};
}  // namespace header
using Header = Layout<kHeaderSize, header::destination, header::command, header::count, header::source>;

/// What is wrong with a frame; the first that is found, in this order.
enum class Fault : std::uint8_t { too_short, command, count, pec, source };
inline constexpr std::size_t kFaults = 5;
std::string_view name_of(Fault fault);

struct Frame {
  std::uint8_t destination = 0;
  std::uint8_t source = 0;  ///< bit 0 cleared
  ByteView packet;          ///< MCTP header and payload, inside the frame
};

/// Replaces `out` by the frame around a packet of at most kUnitMax bytes of payload.
void encode(Bytes& out, std::uint8_t destination, std::uint8_t source, ByteView packet);

/// Takes apart what was written to a slave, from its address to the PEC; any bytes will do.
Result<Frame, Fault> decode(ByteView frame);

/// Whether a 7-bit address (8-bit form) may belong to an MCTP device: the SMBus specification keeps some.
constexpr bool assignable(std::uint8_t address) {
  const bool reserved =
      address < 0x10 || address == 0x10 || address == 0x18 || address == 0x50 || address == 0x6E || address == 0xC2 || address >= 0xF0;
  return (address & 1) == 0 && !reserved;
}

}  // namespace fb::mctp::smbus
