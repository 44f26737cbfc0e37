// The input of a fuzz target that is a little program: taken byte by byte, zero when it is used up.
#pragma once

#include <algorithm>

#include "base/bytes.h"

namespace fb::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t value = rest_[0];
    rest_ = rest_.subspan(1);
    return value;
  }
  std::uint16_t word() {
    const std::uint8_t low = byte();
    return static_cast<std::uint16_t>(low | byte() << 8);
  }
  /// At most n bytes: what is left.
  Bytes bytes(std::size_t n) {
    n = std::min(n, rest_.size());
    Bytes made(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(n));
    rest_ = rest_.subspan(n);
    return made;
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(rest_.data()), rest_.size()}; }

 private:
  ByteView rest_;
};

}  // namespace fb::fuzz
