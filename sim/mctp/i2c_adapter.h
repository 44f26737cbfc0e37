// An I2C adapter of Linux on a simulated SMBus segment: what its character device (/dev/i2c-N) does for a program, as the kernel's
// I2C core has it, in its effects: transfers of several messages, and the calls of SMBus made of them, with PEC.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "sim/core/world.h"
#include "sim/mctp/smbus_segment.h"

namespace fb::mctp {

/// One part of a transfer, behind a START or a repeated START.
struct I2cMessage {
  std::uint8_t address = 0;  ///< 7-bit form
  bool reads = false;
  bool counted = false;    ///< of a read: its first byte says how many follow (1 to 32), then `size` more bytes
  std::uint16_t size = 0;  ///< of a read
  Bytes data = {};         ///< of a write
};
/// An errno, or 0 and the bytes of each read.
using I2cThen = std::function<void(int error, const std::vector<Bytes>& reads)>;

/// A call of SMBus, with the numbers of the kernel's headers.
struct SmbusCall {
  std::uint8_t address = 0;  ///< 7-bit form
  bool reads = false;
  bool checks = false;  ///< with a packet error code
  std::uint8_t command = 0;
  std::uint32_t size = 0;               ///< I2C_SMBUS_QUICK to I2C_SMBUS_I2C_BLOCK_DATA
  std::array<std::uint8_t, 34> data{};  ///< union i2c_smbus_data: a byte, a word, or a count and a block
};
using SmbusCallThen = std::function<void(int error, const std::array<std::uint8_t, 34>& data)>;

/// The master of a segment of its own. Calls are carried out one after the other, in the order of asking.
class I2cAdapter {
 public:
  static constexpr std::size_t kMessagesMax = 42, kMessageMax = 8192;

  /// The world outlives it, and it the slaves of its segment.
  I2cAdapter(World& world, const SmbusOptions& options);

  SlaveBus& bus() { return segment_; }
  /// False: nobody acknowledges anything.
  void set_present(bool present) { port_->set_present(present); }
  /// Errors: ENXIO nobody acknowledges the address, EPROTO a count that no block has.
  void transfer(std::vector<I2cMessage> messages, I2cThen then);
  /// Also EINVAL for a count that cannot be sent, EOPNOTSUPP for a size that is none, EBADMSG for a wrong PEC.
  void smbus(const SmbusCall& call, SmbusCallThen then);

 private:
  struct Job {
    std::vector<I2cMessage> messages;
    I2cThen then;
    std::size_t at = 0;
    std::vector<Bytes> reads;
  };
  void step();
  void end(int error);

  SmbusSegment segment_;
  std::unique_ptr<SmbusPort> port_;
  std::deque<Job> jobs_;
};

}  // namespace fb::mctp
