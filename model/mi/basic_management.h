// The SMBus basic management command of a device: what a block read at address 6Ah returns. A function of
// the device's state; who has a bus puts it there.
#pragma once

#include <array>

#include "model/mi/device.h"
#include "wire/mi/basic.h"

namespace fb::mi {

/// All 32 bytes from command code 0 on, each block with its PEC: over what a read of that block alone has on
/// the bus before it (write address, command code, read address). `arbitration`: a block was read
/// without contention since the bit was last cleared.
std::array<std::uint8_t, kBasicBlockSize> basic_management(Device& device, bool arbitration = true);

}  // namespace fb::mi
