// Slaves of an SMBus that are no MCTP devices, as their makers see the bus.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace fb::mctp {

/// What a master reads and writes as any SMBus does, beside MCTP: an EEPROM, the basic management command of
/// NVMe. Told at the STOP of a write, and byte for byte of a read.
class SmbusSlave {
 public:
  /// The bytes behind the address, at a STOP or a repeated START.
  virtual void on_write(ByteView bytes) = 0;
  /// The STOP of a write behind which nothing was read: what came was all.
  virtual void on_stop() {}
  /// What it sends in a read of `count` bytes; what is missing reads as FFh, as an idle line does.
  virtual Bytes on_read(std::size_t count) = 0;

 protected:
  ~SmbusSlave() = default;
};

/// A bus that they can be put on.
class SlaveBus {
 public:
  /// At an address (8-bit form) that is free; null takes the slave off. It outlives its being there.
  virtual void set_slave(std::uint8_t address, SmbusSlave* slave) = 0;

 protected:
  ~SlaveBus() = default;
};

}  // namespace fb::mctp
