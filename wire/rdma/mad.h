// Management datagrams (InfiniBand chapter 13) as far as the connection manager needs them: the common
// header of 24 bytes and ClassPortInfo. A MAD is always 256 bytes; the message takes the other 232.
#pragma once

#include "wire/layout.h"

namespace fb::cm {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr std::size_t kMadHeaderBytes = 24;
inline constexpr std::size_t kMessageBytes = kMadBytes - kMadHeaderBytes;

inline constexpr std::uint8_t kMadBaseVersion = 1;
inline constexpr std::uint8_t kCmClass = 0x07;
inline constexpr std::uint8_t kCmClassVersion = 2;

enum class Method : std::uint8_t { get = 0x01, set = 0x02, send = 0x03, get_response = 0x81 };

enum class Attribute : std::uint16_t {
  class_port_info = 0x0001,
  req = 0x0010,
  mra = 0x0011,
  rej = 0x0012,
  rep = 0x0013,
  rtu = 0x0014,
  dreq = 0x0015,
  drep = 0x0016,
  sidr_req = 0x0017,
  sidr_rep = 0x0018,
  lap = 0x0019,
  apr = 0x001A,
};
/// "REQ", "ClassPortInfo"; "attribute" for what is not a CM attribute.
std::string_view name_of(Attribute attribute);

/// MAD status 3 in bits 4:2: this method and attribute are not supported together.
inline constexpr std::uint16_t kStatusMethodAttributeUnsupported = 0x000C;

namespace mad {
inline constexpr Be<"base_version", 0, std::uint8_t> base_version{};
inline constexpr Be<"class", 1, std::uint8_t> management_class{};
inline constexpr Be<"class_version", 2, std::uint8_t> class_version{};
inline constexpr Be<"method", 3, std::uint8_t, Method> method{};
inline constexpr Be<"status", 4, std::uint16_t> status{};
inline constexpr Be<"class_specific", 6, std::uint16_t> class_specific{};
inline constexpr Be<"tid", 8, std::uint64_t> tid{};
inline constexpr Be<"attribute", 16, std::uint16_t, Attribute> attribute{};
inline constexpr Be<"attribute_modifier", 20, std::uint32_t> attribute_modifier{};
}  // namespace mad

using MadHeader = Layout<kMadHeaderBytes, mad::base_version, mad::management_class, mad::class_version, mad::method, mad::status,
                         mad::class_specific, mad::tid, mad::attribute, mad::attribute_modifier>;

/// ClassPortInfo, in the message part of a GetResp.
namespace class_port_info {
inline constexpr Be<"base_version", 0, std::uint8_t> base_version{};
inline constexpr Be<"class_version", 1, std::uint8_t> class_version{};
inline constexpr Be<"capability_mask", 2, std::uint16_t> capability_mask{};
inline constexpr BeBits<"capability_mask2", 4, std::uint32_t, 31, 5> capability_mask2{};
inline constexpr BeBits<"response_time", 4, std::uint32_t, 4, 0> response_time{};
inline constexpr BytesField<"redirect_gid", 8, 16> redirect_gid{};
inline constexpr BytesField<"redirect", 24, 16> redirect{};
inline constexpr BytesField<"trap", 40, 32> trap{};
/// Capability of a connection manager that serves reliable connections.
inline constexpr std::uint16_t kReliableConnectionCapable = 0x0200;
}  // namespace class_port_info

using ClassPortInfo = Layout<72, class_port_info::base_version, class_port_info::class_version, class_port_info::capability_mask,
                             class_port_info::capability_mask2, class_port_info::response_time, class_port_info::redirect_gid,
                             class_port_info::redirect, class_port_info::trap>;

/// A management datagram of the connection manager's class, ready to be filled.
class Mad {
 public:
  Mad() = default;
  /// Method Send; the IDs that every CM message begins with are the message's own matter.
  Mad(Attribute attribute, std::uint64_t tid) {
    header()
        .set(mad::base_version, kMadBaseVersion)
        .set(mad::management_class, kCmClass)
        .set(mad::class_version, kCmClassVersion)
        .set(mad::method, Method::send)
        .set(mad::tid, tid)
        .set(mad::attribute, attribute);
  }
  MutableView<MadHeader> header() { return MutableView<MadHeader>{bytes_}; }
  /// The message behind the header, seen as `L`.
  template <class L>
  MutableView<L> message() {
    return MutableView<L>{MutableBytes{bytes_}.subspan(kMadHeaderBytes)};
  }
  ByteView bytes() const { return bytes_; }
  MutableBytes mutable_bytes() { return bytes_; }
  bool operator==(const Mad&) const = default;

 private:
  std::array<std::uint8_t, kMadBytes> bytes_ = {};
};

/// The message part of a MAD of 256 bytes, seen as `L`.
template <class L>
View<L> message_of(ByteView mad256) {
  return View<L>{mad256.subspan(kMadHeaderBytes)};
}

/// One line for people: name, transaction, every field that is not zero. Any bytes are welcome.
std::string describe_mad(ByteView mad256);

}  // namespace fb::cm
