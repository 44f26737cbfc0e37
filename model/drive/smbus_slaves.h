// What a drive has on its SMBus beside MCTP: the basic management command, and the memory that holds its
// vital product data, each at the address that the port says.
#pragma once

#include <optional>

#include "model/mi/device.h"
#include "model/mi/hooks.h"
#include "sim/mctp/plain_slave.h"

namespace fb::mi {

/// Block reads at D4h: the first byte of a write is where the next read begins. A block that was read to its end without
/// contention sets the arbitration bit; Send Byte FFh clears it.
class BasicManagementSlave final : public mctp::SmbusSlave {
 public:
  BasicManagementSlave(Device& device, EndpointHooks& hooks) : device_(device), hooks_(hooks) {}
  void on_write(ByteView bytes) override;
  void on_stop() override;
  Bytes on_read(std::size_t count) override;

 private:
  Device& device_;
  EndpointHooks& hooks_;
  std::uint8_t from_ = 0;
  bool one_byte_ = false;  ///< the last write brought no more
  bool arbitration_ = false;
};

/// A serial EEPROM: one byte of address up to 256 bytes, two above, the high one first. Reads go on where the
/// last one ended, and around at the end. It takes no data: VPD Write is the way.
class VpdMemorySlave final : public mctp::SmbusSlave {
 public:
  VpdMemorySlave(Device& device, EndpointHooks& hooks) : device_(device), hooks_(hooks) {}
  void on_write(ByteView bytes) override;
  Bytes on_read(std::size_t count) override;

 private:
  Device& device_;
  EndpointHooks& hooks_;
  std::size_t from_ = 0;
};

/// Both of them, where the two-wire port of the device has them. All outlive it.
class SmbusSlaves {
 public:
  SmbusSlaves(mctp::SlaveBus& bus, Device& device, std::uint8_t port, EndpointHooks* hooks = nullptr);
  ~SmbusSlaves();
  SmbusSlaves(const SmbusSlaves&) = delete;
  SmbusSlaves& operator=(const SmbusSlaves&) = delete;

 private:
  mctp::SlaveBus& bus_;
  std::optional<BasicManagementSlave> basic_;
  std::optional<VpdMemorySlave> memory_;
  std::uint8_t memory_address_ = 0;
};

}  // namespace fb::mi
