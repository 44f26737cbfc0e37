// What passes between a program with our preload library and the I2C adapters that it opened: one frame a call on a unix socket
// (SOCK_SEQPACKET), one connection for each open file. Each request carries the writing end of a pipe (SCM_RIGHTS), into which its
// answer is written: a frame, and behind it `length` bytes. Both ends are on this machine: numbers are in its own byte order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fb::mctp {

/// Names the unix socket of the adapters in the environment of a program that uses them.
inline constexpr char kI2cVariable[] = "FABRICBENCH_I2C";

enum class I2cCall : std::uint32_t {
  open,      ///< value: the number of the adapter; first of all
  slave,     ///< value: the address that read, write and SMBus calls go to
  pec,       ///< value: SMBus calls have a packet error code
  transfer,  ///< value: messages. Payload: an I2cPart for each, then the bytes of the writes. Answer: the bytes of the reads
  smbus,     ///< value: 1 a read; size, command. Payload, where there is data: 34 bytes; the same in the answer
  write,     ///< payload: one message to the slave
  read,      ///< value: bytes of one message from the slave
};

struct I2cFrame {
  I2cCall call = I2cCall::open;
  std::int32_t error = 0;  ///< of an answer: an errno, or 0
  std::uint32_t value = 0;
  std::uint32_t size = 0;
  std::uint32_t command = 0;
  std::uint32_t length = 0;  ///< of an answer: bytes behind it
};
static_assert(sizeof(I2cFrame) == 24);

/// A message of a transfer, as struct i2c_msg has it, without its pointer.
struct I2cPart {
  std::uint16_t address = 0;
  std::uint16_t flags = 0;  ///< I2C_M_RD, I2C_M_RECV_LEN
  std::uint16_t length = 0;
};
static_assert(sizeof(I2cPart) == 6);

/// Of an answer: no pipe holds more at once.
inline constexpr std::size_t kI2cAnswerMax = 60'000;

}  // namespace fb::mctp
