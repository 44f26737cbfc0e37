#include "wire/mi/basic.h"

namespace fb::mi {

std::uint8_t smbus_pec(ByteView bytes, std::uint8_t crc) {
  for (const std::uint8_t byte : bytes) {
    unsigned value = crc ^ byte;
    for (int bit = 0; bit < 8; ++bit) value = (value & 0x80) != 0 ? (value << 1 ^ 0x07) : value << 1;
    crc = static_cast<std::uint8_t>(value);
  }
  return crc;
}

}  // namespace fb::mi
