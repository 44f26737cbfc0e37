#include "cli/preload/adapter.h"

#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "cli/preload/client.h"
#include "sim/mctp/i2c_frame.h"

namespace fb::preload {

namespace {

using mctp::I2cCall;
using mctp::I2cFrame;
using mctp::I2cPart;

constexpr std::size_t kI2cMessagesMax = 42, kI2cMessageMax = 8192;

int transfer(int fd, const i2c_rdwr_ioctl_data& asked) {
  if (asked.msgs == nullptr || asked.nmsgs == 0 || asked.nmsgs > kI2cMessagesMax) return failed(EINVAL);
  static thread_local std::uint8_t bytes[mctp::kI2cAnswerMax];
  I2cPart parts[kI2cMessagesMax];
  iovec payload[kI2cMessagesMax + 1];
  payload[0] = {parts, asked.nmsgs * sizeof parts[0]};
  std::size_t count = 1, room = 0;
  for (std::size_t i = 0; i < asked.nmsgs; ++i) {
    const i2c_msg& message = asked.msgs[i];
    parts[i].address = message.addr;
    parts[i].flags = message.flags;
    parts[i].length = message.len;
    if (message.len > kI2cMessageMax || (message.len > 0 && message.buf == nullptr)) return failed(EINVAL);
    if ((message.flags & I2C_M_RD) == 0) {
      payload[count++] = {message.buf, message.len};
    } else if ((message.flags & I2C_M_RECV_LEN) != 0) {
      // The buffer says how many bytes there are beside the block, its count among them.
      if (message.len < 1 || message.buf[0] < 1 || message.len < message.buf[0] + I2C_SMBUS_BLOCK_MAX) return failed(EINVAL);
      parts[i].length = static_cast<std::uint16_t>(message.buf[0] - 1);
      room += 1u + I2C_SMBUS_BLOCK_MAX + parts[i].length;
    } else {
      room += message.len;
    }
  }
  if (room > sizeof bytes) return failed(EOPNOTSUPP);
  I2cFrame frame;
  frame.call = I2cCall::transfer;
  frame.value = asked.nmsgs;
  const I2cFrame answer = ask(fd, frame, payload, count, {bytes, room});
  if (answer.error != 0) return failed(answer.error);
  const std::uint8_t* from = bytes;
  for (std::size_t i = 0; i < asked.nmsgs; ++i) {
    i2c_msg& message = asked.msgs[i];
    if ((message.flags & I2C_M_RD) == 0) continue;
    const bool counted = (message.flags & I2C_M_RECV_LEN) != 0;
    const std::size_t size = counted ? 1u + *from + parts[i].length : message.len;
    std::memcpy(message.buf, from, size);
    from += size;
  }
  return static_cast<int>(asked.nmsgs);
}

/// Bytes of the union that a call of this kind reads or writes.
std::size_t smbus_data_size(std::uint32_t size) {
  if (size == I2C_SMBUS_BYTE || size == I2C_SMBUS_BYTE_DATA) return 1;
  if (size == I2C_SMBUS_WORD_DATA || size == I2C_SMBUS_PROC_CALL) return 2;
  return sizeof(i2c_smbus_data);
}

int smbus_call(int fd, const i2c_smbus_ioctl_data& asked) {
  static_assert(sizeof(i2c_smbus_data) == 34);
  std::uint8_t data[sizeof(i2c_smbus_data)] = {};
  const std::size_t size = smbus_data_size(asked.size);
  if (asked.data != nullptr) std::memcpy(data, asked.data, size);
  I2cFrame frame;
  frame.call = I2cCall::smbus;
  frame.value = asked.read_write;
  frame.size = asked.size;
  frame.command = asked.command;
  const iovec part = {data, sizeof data};
  const I2cFrame answer = ask(fd, frame, &part, asked.data != nullptr ? 1 : 0, {data, sizeof data});
  if (answer.error != 0) return failed(answer.error);
  const bool calls_back = asked.size == I2C_SMBUS_PROC_CALL || asked.size == I2C_SMBUS_BLOCK_PROC_CALL;
  if (asked.data != nullptr && (asked.read_write == I2C_SMBUS_READ || calls_back)) std::memcpy(asked.data, data, size);
  return 0;
}

}  // namespace

int adapter_of(const char* path) {
  if (path == nullptr || adapters() == nullptr) return -1;
  for (const char* const folder : {"/dev/i2c-", "/dev/i2c/"}) {
    const std::size_t size = std::strlen(folder);
    if (std::strncmp(path, folder, size) != 0) continue;
    char* end = nullptr;
    const long number = std::strtol(path + size, &end, 10);
    return end != path + size && *end == 0 && number >= 0 && number < 65536 ? static_cast<int>(number) : -1;
  }
  return -1;
}

int open_adapter(int number, int flags) {
  const int fd = connected(adapters(), (flags & O_CLOEXEC) != 0, (flags & O_NONBLOCK) != 0, ENOENT);
  if (fd < 0) return fd;
  I2cFrame frame;
  frame.call = I2cCall::open;
  frame.value = static_cast<std::uint32_t>(number);
  const I2cFrame answer = ask(fd, frame);
  if (answer.error == 0) return fd;
  NEXT(close)(fd);
  return failed(answer.error);
}

ssize_t read_adapter(int fd, void* to, std::size_t size) {
  I2cFrame frame;
  frame.call = I2cCall::read;
  frame.value = static_cast<std::uint32_t>(std::min(size, kI2cMessageMax));
  const I2cFrame answer = ask(fd, frame, nullptr, 0, {to, frame.value});
  return answer.error == 0 ? static_cast<ssize_t>(frame.value) : failed(answer.error);
}

ssize_t write_adapter(int fd, const void* from, std::size_t size) {
  I2cFrame frame;
  frame.call = I2cCall::write;
  const iovec part = {const_cast<void*>(from), std::min(size, kI2cMessageMax)};
  const I2cFrame answer = ask(fd, frame, &part, 1);
  return answer.error == 0 ? static_cast<ssize_t>(part.iov_len) : failed(answer.error);
}

int adapter_call(int fd, unsigned long request, void* argument) {
  const auto number = reinterpret_cast<std::uintptr_t>(argument);
  I2cFrame frame;
  frame.value = static_cast<std::uint32_t>(number);
  switch (request) {
    case I2C_SLAVE:
    case I2C_SLAVE_FORCE:
      if (number > 0x7F) return failed(EINVAL);
      frame.call = I2cCall::slave;
      return result_of(ask(fd, frame));
    case I2C_TENBIT:
      return number == 0 ? 0 : failed(EINVAL);
    case I2C_PEC:
      frame.call = I2cCall::pec;
      return result_of(ask(fd, frame));
    case I2C_FUNCS:
      *static_cast<unsigned long*>(argument) = I2C_FUNC_I2C | I2C_FUNC_SMBUS_EMUL_ALL;
      return 0;
    case I2C_RDWR:
      return transfer(fd, *static_cast<const i2c_rdwr_ioctl_data*>(argument));
    case I2C_SMBUS:
      return smbus_call(fd, *static_cast<const i2c_smbus_ioctl_data*>(argument));
    case I2C_RETRIES:
    case I2C_TIMEOUT:
      return number > 0x7FFFFFFF ? failed(EINVAL) : 0;
    default:
      return failed(ENOTTY);
  }
}

}  // namespace fb::preload
