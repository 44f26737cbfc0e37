// SGL descriptors: 16 bytes, byte 15 holds type and subtype.
#pragma once

#include <array>

#include "wire/layout.h"

namespace fb::nvme {

enum class SglType : std::uint8_t {
  data_block = 0x0,
  bit_bucket = 0x1,
  segment = 0x2,
  last_segment = 0x3,
  keyed_data_block = 0x4,
  transport_data_block = 0x5,
  vendor = 0xF,
};

/// Subtypes are read with the type: Ah and up belong to the transport.
namespace sgl_subtype {
inline constexpr std::uint8_t address = 0x0;
inline constexpr std::uint8_t offset = 0x1;
inline constexpr std::uint8_t tcp_data_buffer = 0xA;
inline constexpr std::uint8_t invalidate_key = 0xF;
}  // namespace sgl_subtype

namespace sgl {
inline constexpr Le<"address", 0, std::uint64_t> address{};
inline constexpr Le<"length", 8, std::uint32_t> length{};
inline constexpr Le<"length", 8, U24> keyed_length{};
inline constexpr Le<"key", 11, std::uint32_t> key{};
inline constexpr LeBits<"subtype", 15, std::uint8_t, 3, 0> subtype{};
inline constexpr LeBits<"type", 15, std::uint8_t, 7, 4, SglType> type{};
}  // namespace sgl

using SglPlain = Layout<16, sgl::address, sgl::length, sgl::subtype, sgl::type>;
using SglKeyed = Layout<16, sgl::address, sgl::keyed_length, sgl::key, sgl::subtype, sgl::type>;

/// A descriptor as a value. Types 4h have a 24-bit length and a key; a longer length is cut when it
/// is written.
struct SglDescriptor {
  static constexpr std::size_t kSize = 16;
  static constexpr std::uint32_t kKeyedLengthMax = 0xFFFFFF;

  SglType type = SglType::data_block;
  std::uint8_t subtype = sgl_subtype::address;
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t key = 0;

  static constexpr SglDescriptor keyed(std::uint64_t address, std::uint32_t length, std::uint32_t key, bool invalidate = false) {
    return {SglType::keyed_data_block, invalidate ? sgl_subtype::invalidate_key : sgl_subtype::address, address, length, key};
  }
  /// Data that follows the command in its capsule.
  static constexpr SglDescriptor in_capsule(std::uint64_t offset, std::uint32_t length) {
    return {SglType::data_block, sgl_subtype::offset, offset, length, 0};
  }
  /// A list of `count` descriptors in the capsule (RDMA).
  static constexpr SglDescriptor list_in_capsule(std::uint64_t offset, std::uint32_t count) {
    return {SglType::last_segment, sgl_subtype::offset, offset, static_cast<std::uint32_t>(count * kSize), 0};
  }
  /// Data that the transport carries on its own (TCP).
  static constexpr SglDescriptor transport(std::uint32_t length) {
    return {SglType::transport_data_block, sgl_subtype::tcp_data_buffer, 0, length, 0};
  }

  constexpr std::uint8_t type_byte() const { return static_cast<std::uint8_t>((static_cast<unsigned>(type) & 0xF) << 4 | (subtype & 0xF)); }

  /// Reads the first 16 bytes of `bytes`, which must be there. Any content is a descriptor.
  static constexpr SglDescriptor parse(ByteView bytes) {
    const View<SglPlain> plain{bytes};
    SglDescriptor made{plain.get(sgl::type), plain.get(sgl::subtype), plain.get(sgl::address), plain.get(sgl::length), 0};
    if (made.type == SglType::keyed_data_block) {
      const View<SglKeyed> keyed_view{bytes};
      made.length = keyed_view.get(sgl::keyed_length);
      made.key = keyed_view.get(sgl::key);
    }
    return made;
  }

  constexpr std::array<std::uint8_t, kSize> bytes() const {
    std::array<std::uint8_t, kSize> made = {};
    if (type == SglType::keyed_data_block) {
      MutableView<SglKeyed>{made}
          .set(sgl::address, address)
          .set(sgl::keyed_length, length)
          .set(sgl::key, key)
          .set(sgl::subtype, subtype)
          .set(sgl::type, type);
    } else {
      MutableView<SglPlain>{made}.set(sgl::address, address).set(sgl::length, length).set(sgl::subtype, subtype).set(sgl::type, type);
    }
    return made;
  }

  constexpr bool operator==(const SglDescriptor&) const = default;
};

}  // namespace fb::nvme
