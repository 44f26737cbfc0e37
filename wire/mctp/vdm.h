// MCTP packets in PCI Express vendor defined messages (DSP0238): a TLP header of 16 bytes whose last four
// are the MCTP header, then the payload in whole dwords.
#pragma once

#include "base/result.h"
#include "wire/layout.h"

namespace fb::mctp::vdm {

inline constexpr std::size_t kHeaderSize = 16;
/// Where the MCTP header begins: it is the end of the TLP header.
inline constexpr std::size_t kPacketOffset = 12;
inline constexpr std::uint8_t kMessageCode = 0x7F;
inline constexpr std::uint16_t kVendorId = 0x1AB4;
/// What the length field could say, less than the largest TLP; more than any binding asks for.
inline constexpr std::size_t kUnitMax = 4096;

/// Format and type of the TLP: how the message finds its way.
enum class Route : std::uint8_t {
  to_root = 0x70,
  by_id = 0x72,
  broadcast = 0x73,  ///< from the root complex to all
};

namespace header {
inline constexpr Be<"fmt_type", 0, std::uint8_t, Route> route{};
inline constexpr Be<"tc", 1, std::uint8_t> traffic_class{};
inline constexpr BeBits<"td", 2, std::uint8_t, 7, 7, bool> td{};
inline constexpr BeBits<"ep", 2, std::uint8_t, 6, 6, bool> ep{};
inline constexpr BeBits<"attr", 2, std::uint8_t, 5, 4> attributes{};
inline constexpr BeBits<"at", 2, std::uint8_t, 3, 2> address_type{};
/// Dwords of payload: ten bits over two bytes; 0 says 1024.
inline constexpr BeBits<"length_high", 2, std::uint8_t, 1, 0> length_high{};
inline constexpr Be<"length_low", 3, std::uint8_t> length_low{};
inline constexpr Be<"requester", 4, std::uint16_t> requester{};
inline constexpr BeBits<"pad", 6, std::uint8_t, 5, 4> pad{};
inline constexpr BeBits<"vdm_code", 6, std::uint8_t, 3, 0> vdm_code{};
inline constexpr Be<"message_code", 7, std::uint8_t> message_code{};
inline constexpr Be<"target", 8, std::uint16_t> target{};
inline constexpr Be<"vendor", 10, std::uint16_t> vendor{};
}  // namespace header
using Header = Layout<kHeaderSize, header::route, header::traffic_class, header::td, header::ep, header::attributes, header::address_type,
                      header::length_high, header::length_low, header::requester, header::pad, header::vdm_code, header::message_code,
                      header::target, header::vendor>;

enum class Fault : std::uint8_t {
  too_short,
  route,
  message_code,
  vendor,
  vdm_code,
  digest,   ///< TD or EP is set
  length,   ///< not the dwords that came
  padding,  ///< in front of a packet that is not the last, or all of the payload
};
inline constexpr std::size_t kFaults = 8;
std::string_view name_of(Fault fault);

struct Frame {
  Route route = Route::by_id;
  std::uint16_t requester = 0;
  std::uint16_t target = 0;
  ByteView packet;  ///< MCTP header and payload without padding, inside the frame
};

/// Replaces `out` by the TLP around a packet. Where the packet says which it is, only the last of a message
/// may need padding; what the caller hands in is sent anyhow.
void encode(Bytes& out, Route route, std::uint16_t requester, std::uint16_t target, ByteView packet);

/// Takes a TLP apart; any bytes will do.
Result<Frame, Fault> decode(ByteView frame);

}  // namespace fb::mctp::vdm
