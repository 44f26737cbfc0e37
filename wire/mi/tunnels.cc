#include "wire/mi/tunnels.h"

#include <algorithm>

namespace fb::mi {

namespace {

constexpr std::uint8_t kMandatoryAdmin[] = {0x02, 0x06, 0x0A};
constexpr std::uint8_t kOptionalAdmin[] = {0x09, 0x0D, 0x10, 0x11, 0x14, 0x15, 0x1C, 0x20, 0x24, 0x80, 0x81, 0x82, 0x84, 0x86};
/// Features that belong to a host's queues and events, or to memory of its own.
constexpr std::uint8_t kProhibitedFeatures[] = {0x01, 0x03, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B,
                                                0x0D, 0x0F, 0x12, 0x13, 0x14, 0x15, 0x16, 0x18};

template <std::size_t N>
bool among(const std::uint8_t (&codes)[N], std::uint8_t code) {
  return std::find(std::begin(codes), std::end(codes), code) != std::end(codes);
}

}  // namespace

Policy admin_policy(std::uint8_t opcode) {
  if (among(kMandatoryAdmin, opcode)) return Policy::mandatory;
  if (among(kOptionalAdmin, opcode) || opcode >= 0xC0) return Policy::optional;
  return Policy::prohibited;
}

Policy feature_policy(std::uint8_t fid) { return among(kProhibitedFeatures, fid) ? Policy::prohibited : Policy::optional; }

std::string_view name_of(PcieOpcode opcode) {
  switch (opcode) {
    case PcieOpcode::configuration_read:
      return "PCIe Configuration Read";
    case PcieOpcode::configuration_write:
      return "PCIe Configuration Write";
    case PcieOpcode::memory_read:
      return "PCIe Memory Read";
    case PcieOpcode::memory_write:
      return "PCIe Memory Write";
    case PcieOpcode::io_read:
      return "PCIe I/O Read";
    case PcieOpcode::io_write:
      return "PCIe I/O Write";
  }
  return "Reserved";
}

}  // namespace fb::mi
