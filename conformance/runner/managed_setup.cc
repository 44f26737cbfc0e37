#include "conformance/runner/managed_setup.h"

#include <utility>

namespace fb::conformance {

std::unique_ptr<mctp::Segment> make_segment(World& world, const EmbeddedSetup& setup) {
  if (setup.transport == "serial") return std::make_unique<mctp::Segment>(world, setup.managed->serial);
  if (setup.transport == "pcie") return std::make_unique<mctp::Segment>(world, setup.managed->pcie);
  return std::make_unique<mctp::Segment>(world, setup.managed->smbus);
}

namespace {

/// Neighbours are two apart: bit 0 of an SMBus address is no part of it. Two functions of PCIe are on one bus each time.
mctp::PhysicalAddress address_on(std::string_view medium, unsigned smbus, unsigned bdf, unsigned further) {
  if (medium == "smbus") return mctp::smbus_address(static_cast<std::uint8_t>(smbus + 2 * further));
  if (medium == "pcie") return mctp::pcie_address(static_cast<std::uint16_t>(bdf + 0x100 * (further / 2) + further % 2));
  return {};
}

}  // namespace

mctp::PhysicalAddress bench_address_on(std::string_view medium, unsigned further) {
  return address_on(medium, 0x20, further == 0 ? 0x0000 : 0x7F00, further);
}

mctp::PhysicalAddress product_address_on(std::string_view medium, unsigned further) { return address_on(medium, 0x3A, 0x0100, further); }

void send_frame_on(mctp::Segment& segment, mctp::Binding& binding, Bytes frame) {
  if (segment.smbus() != nullptr) return static_cast<mctp::SmbusPort&>(binding).send_frame(std::move(frame));
  if (segment.pcie() != nullptr) return static_cast<mctp::PciePort&>(binding).send_frame(std::move(frame));
  static_cast<mctp::SerialEnd&>(binding).send_frame(std::move(frame));
}

}  // namespace fb::conformance
