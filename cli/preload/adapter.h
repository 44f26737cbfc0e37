// I2C adapters of the bus as files of a program: what it does with them goes to the bus (sim/mctp/i2c_frame.h).
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace fb::preload {

/// The number in /dev/i2c-N or /dev/i2c/N; -1: another path, or there are no adapters.
int adapter_of(const char* path);
/// Results and errno as those of open(), read(), write() and ioctl() of the kernel's I2C devices.
int open_adapter(int number, int flags);
ssize_t read_adapter(int fd, void* to, std::size_t size);
ssize_t write_adapter(int fd, const void* from, std::size_t size);
int adapter_call(int fd, unsigned long request, void* argument);

}  // namespace fb::preload
