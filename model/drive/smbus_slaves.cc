#include "model/drive/smbus_slaves.h"

#include <algorithm>

#include "model/mi/basic_management.h"
#include "model/mi/fault_points.h"

namespace fb::mi {

namespace {
constexpr std::size_t kShortMemory = 256;
constexpr std::uint8_t kClearArbitration = 0xFF;
}  // namespace

void BasicManagementSlave::on_write(ByteView bytes) {
  one_byte_ = bytes.size() == 1;
  if (!bytes.empty()) from_ = bytes[0];
}

void BasicManagementSlave::on_stop() {
  if (one_byte_ && from_ == kClearArbitration && !hooks_.departs(departure::basic_arbitration_stays)) arbitration_ = false;
}

Bytes BasicManagementSlave::on_read(std::size_t count) {
  const bool shown = arbitration_ != hooks_.departs(departure::basic_arbitration_inverted);
  const auto block = basic_management(device_, shown);
  const std::size_t from = std::min<std::size_t>(from_, block.size());
  const std::size_t size = std::min(count, block.size() - from);
  Bytes bytes(block.begin() + static_cast<std::ptrdiff_t>(from), block.begin() + static_cast<std::ptrdiff_t>(from + size));
  // The first byte of a block says how many follow it.
  const bool begins = from == 0 || from == kBasicIdentityAt;
  if (begins && size > block[from]) arbitration_ = true;
  hooks_.slave_read(EndpointHooks::Slave::basic_management, from_, bytes);
  return bytes;
}

void VpdMemorySlave::on_write(ByteView bytes) {
  const bool wide = device_.vpd().size() > kShortMemory;
  if (bytes.size() < (wide ? 2u : 1u)) return;
  from_ = wide ? std::size_t{load_be<std::uint16_t>(bytes.data())} : bytes[0];
  from_ %= device_.vpd().size();
}

Bytes VpdMemorySlave::on_read(std::size_t count) {
  const Bytes& image = device_.vpd();
  const std::size_t first = from_;
  Bytes bytes(count);
  for (std::uint8_t& byte : bytes) {
    byte = image[from_];
    from_ = (from_ + 1) % image.size();
  }
  hooks_.slave_read(EndpointHooks::Slave::vpd_memory, first, bytes);
  return bytes;
}

SmbusSlaves::SmbusSlaves(mctp::SlaveBus& bus, Device& device, std::uint8_t port, EndpointHooks* hooks) : bus_(bus) {
  const DevicePort& facts = device.port(port);
  if (facts.type != PortType::two_wire) return;
  EndpointHooks& speaks = hooks != nullptr ? *hooks : no_endpoint_hooks();
  if (facts.basic_management) bus_.set_slave(kBasicAddress, &basic_.emplace(device, speaks));
  if (facts.vpd_address == 0) return;
  memory_address_ = facts.vpd_address;
  bus_.set_slave(memory_address_, &memory_.emplace(device, speaks));
}

SmbusSlaves::~SmbusSlaves() {
  if (basic_) bus_.set_slave(kBasicAddress, nullptr);
  if (memory_) bus_.set_slave(memory_address_, nullptr);
}

}  // namespace fb::mi
