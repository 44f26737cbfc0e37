#include "model/mi/pcie_function.h"

#include <algorithm>

#include "base/assert.h"
#include "model/subsystem/controller.h"
#include "wire/fabrics/property.h"

namespace fb::mi {

namespace {

namespace at {
constexpr std::size_t kCommand = 0x04, kStatus = 0x06, kRevision = 0x08, kClass = 0x09, kBar0 = 0x10, kBar2 = 0x18, kSubsystemVendor = 0x2C,
                      kSubsystemId = 0x2E, kCapabilities = 0x34, kInterruptPin = 0x3D, kPower = 0x40, kMsix = 0x50, kExpress = 0x70,
                      kErrors = 0x100;
}  // namespace at

constexpr std::uint8_t kCapabilityPower = 0x01, kCapabilityExpress = 0x10, kCapabilityMsix = 0x11;
constexpr std::size_t kMemoryBar = 16 * 1024;
constexpr std::size_t kIoBar = 256;
constexpr std::size_t kDoorbells = 0x1000;
constexpr std::size_t kRegisters = 0x80;
constexpr std::uint64_t kMemoryBase = 0xFE800000, kIoBase = 0xC000;

}  // namespace

PcieFunction::PcieFunction(const PcieIds& ids)
    : space_(kConfigurationSpace), writable_(kConfigurationSpace), scratch_(kIoBar), doorbells_(kMemoryBar - kDoorbells) {
  const auto word = [&](std::size_t where, std::uint16_t value) { store_le(&space_[where], value); };
  const auto dword = [&](std::size_t where, std::uint32_t value) { store_le(&space_[where], value); };
  word(0, ids.vid);
  word(2, ids.did);
  word(at::kCommand, 0x0007);  // I/O, memory, bus master
  store_le<std::uint16_t>(&writable_[at::kCommand], 0x0547);
  word(at::kStatus, 0x0010);  // has capabilities
  space_[at::kRevision] = 1;
  space_[at::kClass] = 0x02;  // NVM Express
  space_[at::kClass + 1] = 0x08;
  space_[at::kClass + 2] = 0x01;
  dword(at::kBar0, static_cast<std::uint32_t>(kMemoryBase) | 0x4);  // memory, 64-bit
  store_le<std::uint32_t>(&writable_[at::kBar0], ~static_cast<std::uint32_t>(kMemoryBar - 1));
  store_le<std::uint32_t>(&writable_[at::kBar0 + 4], ~0u);
  dword(at::kBar2, static_cast<std::uint32_t>(kIoBase) | 0x1);  // I/O
  store_le<std::uint32_t>(&writable_[at::kBar2], ~static_cast<std::uint32_t>(kIoBar - 1));
  word(at::kSubsystemVendor, ids.ssvid);
  word(at::kSubsystemId, ids.ssid);
  space_[at::kCapabilities] = at::kPower;
  space_[at::kInterruptPin] = 1;
  writable_[at::kInterruptPin - 1] = 0xFF;  // interrupt line
  capability(at::kPower, kCapabilityPower, at::kMsix);
  word(at::kPower + 2, 0x0003);
  writable_[at::kPower + 4] = 0x03;
  capability(at::kMsix, kCapabilityMsix, at::kExpress);
  word(at::kMsix + 2, 0x0007);
  dword(at::kMsix + 4, 0x00002000);
  dword(at::kMsix + 8, 0x00003000);
  capability(at::kExpress, kCapabilityExpress, 0);
  word(at::kExpress + 2, 0x0002);
  dword(at::kExpress + 12, 0x00000044);  // four lanes of 16 GT/s
  word(at::kExpress + 18, 0x0044);
  dword(at::kErrors, 0x00010001);  // advanced error reporting, the last of the extended ones
}

void PcieFunction::capability(std::size_t where, std::uint8_t id, std::size_t next) {
  space_[where] = id;
  space_[where + 1] = static_cast<std::uint8_t>(next);
}

PcieFunction::BarKind PcieFunction::bar_kind(unsigned bar) const {
  return bar == 0 ? BarKind::memory : bar == 2 ? BarKind::io : BarKind::none;
}

std::uint64_t PcieFunction::bar_size(unsigned bar) const { return bar == 0 ? kMemoryBar : bar == 2 ? kIoBar : 0; }

unsigned PcieFunction::power_state() const { return space_[at::kPower + 4]; }  // the other bits of the byte are not writable

void PcieFunction::read_configuration(std::size_t offset, MutableBytes out) const {
  BENCH_ASSERT(offset + out.size() <= space_.size(), "a read beyond the configuration space");
  std::copy_n(space_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
}

void PcieFunction::write_configuration(std::size_t offset, ByteView data) {
  BENCH_ASSERT(offset + data.size() <= space_.size(), "a write beyond the configuration space");
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::uint8_t mask = writable_[offset + i];
    std::uint8_t& byte = space_[offset + i];
    byte = static_cast<std::uint8_t>((byte & ~mask) | (data[i] & mask));
  }
}

void PcieFunction::read_bar(unsigned bar, std::uint64_t offset, MutableBytes out, const subsystem::Controller& controller) const {
  BENCH_ASSERT(offset + out.size() <= bar_size(bar), "a read beyond the BAR");
  if (bar_kind(bar) == BarKind::io) {
    std::copy_n(scratch_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return;
  }
  Bytes window(kMemoryBar);
  for (std::uint32_t where = 0; where < kRegisters; where += 4) {
    std::uint64_t value = 0;
    unsigned bytes = 0;
    if (!controller.property_value(where, value, bytes)) continue;
    store_le(&window[where], static_cast<std::uint32_t>(value));
    if (bytes == 8) store_le(&window[where + 4], static_cast<std::uint32_t>(value >> 32));
  }
  std::copy(doorbells_.begin(), doorbells_.end(), window.begin() + kDoorbells);
  std::copy_n(window.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
}

void PcieFunction::write_bar(unsigned bar, std::uint64_t offset, ByteView data, subsystem::Controller& controller) {
  BENCH_ASSERT(offset + data.size() <= bar_size(bar), "a write beyond the BAR");
  if (bar_kind(bar) == BarKind::io) {
    std::copy(data.begin(), data.end(), scratch_.begin() + static_cast<std::ptrdiff_t>(offset));
    return;
  }
  // Registers are written as whole dwords.
  for (std::size_t i = 0; i + 4 <= data.size() && offset + i < kRegisters; i += 4) {
    if ((offset + i) % 4 == 0) {
      controller.write_register(static_cast<std::uint32_t>(offset + i), load_le<std::uint32_t>(&data[i]));
    }
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (offset + i >= kDoorbells) doorbells_[offset + i - kDoorbells] = data[i];
  }
}

}  // namespace fb::mi
