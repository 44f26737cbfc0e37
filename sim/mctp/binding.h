// The seam below an endpoint: one attachment to one medium. It carries packets from physical address to
// physical address, with whatever frame its binding puts around them, and knows nothing of messages.
#pragma once

#include <string>

#include "base/time.h"
#include "sim/mctp/port.h"
#include "wire/mctp/control.h"

namespace fb::mctp {

/// What the specification of a binding says of timing (fact of the binding, not of a device).
struct BindingFacts {
  control::BindingId binding = control::BindingId::vendor;
  control::MediumId medium = control::MediumId::unspecified;
  std::size_t unit_max = kBaselineUnit;  ///< payload of a packet that its frame can hold
  std::size_t unit_step = 1;             ///< parts that are not the last are multiples of it
  std::uint8_t address_size = 0;
  bool discovery = false;                      ///< has Endpoint Discovery and the Discovered flag
  Duration answer_within = Duration::ms(100);  ///< MT1
  Duration retry_after = Duration::ms(300);    ///< MT2: no answer by then, ask again
  Duration instance_life = Duration::s(5);     ///< MT4
  int retries = 2;                             ///< MN1: further tries of a control request
  Duration packet_gap = Duration::ms(100);     ///< T3: a message whose next packet stays away longer is dead
  Duration reclaim = Duration::s(5);           ///< TRECLAIM
};

/// Told by a binding what happens. Calls come from events of the loop, never from inside send().
class PacketSink {
 public:
  /// A packet, MCTP header and payload, that came in whole; valid only during the call.
  virtual void on_packet(const PhysicalAddress& from, ByteView packet) = 0;
  /// Something came in that was no frame, or whose check did not hold.
  virtual void on_damaged() = 0;
  /// The packet has left, or the medium gave it up after its retries. The next may be sent.
  virtual void on_packet_sent(bool delivered) = 0;

 protected:
  ~PacketSink() = default;
};

class EndpointHooks;

class Binding {
 public:
  virtual ~Binding() = default;
  /// Asked by simulated media about every frame; null is honest.
  void set_hooks(EndpointHooks* hooks) { hooks_ = hooks; }
  virtual const BindingFacts& facts() const = 0;
  /// Our own address on the medium.
  virtual PhysicalAddress address() const = 0;
  virtual void set_sink(PacketSink* sink) = 0;
  /// One packet at a time: not again before on_packet_sent(). The bytes are copied. An empty address goes
  /// where the medium sends what is addressed to nobody: to the root complex, to the other end of the
  /// line; on SMBus nowhere.
  virtual void send(const PhysicalAddress& to, ByteView packet) = 0;

 protected:
  EndpointHooks* hooks_ = nullptr;
};

/// "3a", "0100"; "-" when empty.
std::string to_string(const PhysicalAddress& address);

constexpr PhysicalAddress smbus_address(std::uint8_t eight_bit) {
  PhysicalAddress address;
  address.bytes[0] = static_cast<std::uint8_t>(eight_bit & 0xFE);
  address.size = 1;
  return address;
}
/// Bus, device and function in one number.
constexpr PhysicalAddress pcie_address(std::uint16_t bdf) {
  PhysicalAddress address;
  address.bytes[0] = static_cast<std::uint8_t>(bdf >> 8);
  address.bytes[1] = static_cast<std::uint8_t>(bdf & 0xFF);
  address.size = 2;
  return address;
}
/// On PCI Express: to the root complex, wherever it is. No device has this number.
inline constexpr PhysicalAddress kToRoot = pcie_address(0xFFFF);
constexpr std::uint16_t bdf_of(const PhysicalAddress& address) {
  return static_cast<std::uint16_t>(address.bytes[0] << 8 | address.bytes[1]);
}

}  // namespace fb::mctp
