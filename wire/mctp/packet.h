// The MCTP transport header and what every message begins with (DSP0236 1.3.1, section 8.1). Multi-byte
// fields of MCTP are big endian.
#pragma once

#include "wire/layout.h"

namespace fb::mctp {

using Eid = std::uint8_t;
/// "No EID": accepted by whoever owns the physical address; a source that has none yet. Never bridged.
inline constexpr Eid kNullEid = 0x00;
/// Everybody on one bus. Never bridged.
inline constexpr Eid kBroadcastEid = 0xFF;
/// The lowest EID that may be assigned; 01h to 07h are reserved.
inline constexpr Eid kFirstEid = 0x08;

inline constexpr std::uint8_t kHeaderVersion = 1;
inline constexpr std::size_t kHeaderSize = 4;
/// Bytes of payload in a packet that every endpoint takes: the baseline transmission unit.
inline constexpr std::size_t kBaselineUnit = 64;

namespace packet {
inline constexpr LeBits<"reserved", 0, std::uint8_t, 7, 4> reserved{};
inline constexpr LeBits<"version", 0, std::uint8_t, 3, 0> version{};
inline constexpr Le<"destination", 1, std::uint8_t> destination{};
inline constexpr Le<"source", 2, std::uint8_t> source{};
inline constexpr LeBits<"som", 3, std::uint8_t, 7, 7, bool> som{};
inline constexpr LeBits<"eom", 3, std::uint8_t, 6, 6, bool> eom{};
inline constexpr LeBits<"sequence", 3, std::uint8_t, 5, 4> sequence{};
/// The sender chose the tag: a request, a datagram, an event.
inline constexpr LeBits<"tag_owner", 3, std::uint8_t, 3, 3, bool> tag_owner{};
inline constexpr LeBits<"tag", 3, std::uint8_t, 2, 0> tag{};
}  // namespace packet
using PacketHeader = Layout<kHeaderSize, packet::reserved, packet::version, packet::destination, packet::source, packet::som, packet::eom,
                            packet::sequence, packet::tag_owner, packet::tag>;

/// Message types (DSP0239 1.11.1).
enum class MessageType : std::uint8_t {
  control = 0x00,
  pldm = 0x01,
  nc_si = 0x02,
  ethernet = 0x03,
  nvme_mi = 0x04,
  spdm = 0x05,
  secured = 0x06,
  cxl_fm_api = 0x07,
  cxl_cci = 0x08,
  pcie_mi = 0x09,
  vendor_pci = 0x7E,
  vendor_iana = 0x7F,
};

/// The first byte of a message, in its first packet only.
namespace message {
inline constexpr LeBits<"ic", 0, std::uint8_t, 7, 7, bool> ic{};
inline constexpr LeBits<"type", 0, std::uint8_t, 6, 0, MessageType> type{};
}  // namespace message
using MessageStart = Layout<1, message::ic, message::type>;

}  // namespace fb::mctp
