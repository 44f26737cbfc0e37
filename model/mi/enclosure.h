// A small enclosure, as SES Send and Receive reach it: four slots, two fans, a temperature sensor.
#pragma once

#include <array>
#include <optional>

#include "base/bytes.h"

namespace fb::mi {

class Enclosure {
 public:
  enum class Result : std::uint8_t { done, unsupported_page, refused };

  /// The page of that code, or nothing.
  std::optional<Bytes> page(std::uint8_t code) const;
  /// A control page; its first byte is the code.
  Result control(ByteView page);

  bool available() const { return available_; }
  void set_available(bool available) { available_ = available; }
  bool identify_led(unsigned slot) const { return slots_[slot].identify; }

  static constexpr unsigned kSlots = 4;
  static constexpr unsigned kFans = 2;

 private:
  struct Slot {
    bool identify = false;
    bool off = false;
  };
  Bytes supported() const;
  Bytes configuration() const;
  Bytes status() const;

  std::array<Slot, kSlots> slots_;
  std::array<std::uint8_t, kFans> fan_speed_ = {3, 3};
  std::uint32_t generation_ = 0;
  bool available_ = true;
};

}  // namespace fb::mi
