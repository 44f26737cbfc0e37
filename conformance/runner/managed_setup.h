// The part of an emulated product's setup that is about management: the drive, the medium that it is on, and who
// asks it. In a header of its own, so that other suites do not depend on it.
#pragma once

#include <memory>

#include "conformance/runner/embedded.h"
#include "model/drive/options.h"
#include "model/mi/requester.h"
#include "sim/mctp/network.h"

namespace fb::conformance {

struct ManagedSetup {
  ManagedSetup() { serial.unit_max = mctp::serial::kUnitMax; }
  /// Role endpoint: the drive, on the medium that the transport names. Its endpoint's port is the PCI Express
  /// one on "pcie", the two-wire one elsewhere.
  mi::DriveOptions drive;
  /// A second endpoint of the same device, at the next address, with kSecondEndpointEid; not on a serial line.
  bool second_endpoint = false;
  /// The device is on a second bus too, with one EID for both; not on a serial line.
  bool second_bus = false;
  /// The bench gives it an EID before the case begins.
  bool assigned = true;
  /// There are NVMe-MI Send and Receive; in role controller they are of a device with the options of `drive`.
  bool in_band = false;
  mctp::SmbusOptions smbus;
  mctp::SerialOptions serial;
  mctp::PcieOptions pcie;
  /// Role management-requester.
  mi::RequesterOptions requester;
  /// Role bus.
  mctp::NetworkOptions network;
};

/// The medium of the setup's transport, and where on it the bench and the product are; `further` ones follow.
std::unique_ptr<mctp::Segment> make_segment(World& world, const EmbeddedSetup& setup);
mctp::PhysicalAddress bench_address_on(std::string_view medium, unsigned further = 0);
mctp::PhysicalAddress product_address_on(std::string_view medium, unsigned further = 0);
/// Any bytes as a frame of the binding's own medium.
void send_frame_on(mctp::Segment& segment, mctp::Binding& binding, Bytes frame);

}  // namespace fb::conformance
