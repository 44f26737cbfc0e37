// The AF_MCTP socket interface of Linux, as its users see it: numbers and structures, in the machine's byte
// order. Own constants, as headers of distributions lack some of them.
#pragma once

#include "wire/layout.h"

namespace fb::mctp::kernel {

inline constexpr int kFamily = 45;  // AF_MCTP
inline constexpr int kSolMctp = 285;
inline constexpr int kOptAddrExt = 1;
inline constexpr std::uint32_t kNetworkAny = 0;
/// That of the older tag calls, which do not name one.
inline constexpr std::uint32_t kNetworkInitial = 1;
inline constexpr std::uint8_t kAddressNull = 0x00;
inline constexpr std::uint8_t kAddressAny = 0xFF;

inline constexpr std::uint8_t kTagMask = 0x07;
inline constexpr std::uint8_t kTagOwner = 0x08;
inline constexpr std::uint8_t kTagPreallocated = 0x10;

inline constexpr unsigned long kAllocTag = 0x89E0;  // SIOCMCTPALLOCTAG
inline constexpr unsigned long kDropTag = 0x89E1;
inline constexpr unsigned long kAllocTag2 = 0x89E2;  // with network and local address
inline constexpr unsigned long kDropTag2 = 0x89E3;

template <FixedString Name, std::size_t Offset, class Storage>
using Native = Field<Name, Offset, Storage, Storage, sizeof(Storage) * 8 - 1, 0, std::endian::native>;

/// sockaddr_mctp.
namespace address {
inline constexpr Native<"family", 0, std::uint16_t> family{};
inline constexpr Native<"network", 4, std::uint32_t> network{};
inline constexpr Native<"eid", 8, std::uint8_t> eid{};
/// Message type, with the IC bit: the first byte of a message, which the payload then lacks.
inline constexpr Native<"type", 9, std::uint8_t> type{};
inline constexpr Native<"tag", 10, std::uint8_t> tag{};
}  // namespace address
using Address = Layout<12, address::family, address::network, address::eid, address::type, address::tag>;

/// sockaddr_mctp_ext: the same with where on the medium, for sockets with kOptAddrExt.
namespace address_ext {
// clang-format off
inline constexpr Native<"interface", 12, std::uint32_t> interface{};
// clang-format on
inline constexpr Native<"hardware_size", 16, std::uint8_t> hardware_size{};
inline constexpr BytesField<"hardware", 20, 32> hardware{};
}  // namespace address_ext
using AddressExt = Layout<52, address::family, address::network, address::eid, address::type, address::tag, address_ext::interface,
                          address_ext::hardware_size, address_ext::hardware>;

/// mctp_ioc_tag_ctl: of the older ioctls, which take network 1.
namespace tag_control {
inline constexpr Native<"peer", 0, std::uint8_t> peer{};
inline constexpr Native<"tag", 1, std::uint8_t> tag{};
inline constexpr Native<"flags", 2, std::uint16_t> flags{};
}  // namespace tag_control
using TagControl = Layout<4, tag_control::peer, tag_control::tag, tag_control::flags>;

/// mctp_ioc_tag_ctl2.
namespace tag_control2 {
inline constexpr Native<"network", 0, std::uint32_t> network{};
inline constexpr Native<"peer", 4, std::uint8_t> peer{};
inline constexpr Native<"local", 5, std::uint8_t> local{};
inline constexpr Native<"flags", 6, std::uint16_t> flags{};
inline constexpr Native<"tag", 8, std::uint8_t> tag{};
}  // namespace tag_control2
using TagControl2 = Layout<12, tag_control2::network, tag_control2::peer, tag_control2::local, tag_control2::flags, tag_control2::tag>;

}  // namespace fb::mctp::kernel
