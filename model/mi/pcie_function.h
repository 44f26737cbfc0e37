// The PCI Express function of one controller, as the PCIe command tunnel reaches it: configuration space,
// a memory BAR with the controller's registers, an I/O BAR of scratch bytes.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace fb::subsystem {
class Controller;
}

namespace fb::mi {

struct PcieIds {
  std::uint16_t vid = 0, did = 0, ssvid = 0, ssid = 0;
};

inline constexpr std::size_t kConfigurationSpace = 4096;

class PcieFunction {
 public:
  explicit PcieFunction(const PcieIds& ids);

  enum class BarKind : std::uint8_t { none, memory, io };
  /// A 64-bit memory BAR takes two numbers; the upper one is none.
  BarKind bar_kind(unsigned bar) const;
  std::uint64_t bar_size(unsigned bar) const;

  /// Any range inside the 4 KiB.
  void read_configuration(std::size_t offset, MutableBytes out) const;
  /// Only the bits that a function lets be written change.
  void write_configuration(std::size_t offset, ByteView data);
  void read_bar(unsigned bar, std::uint64_t offset, MutableBytes out, const subsystem::Controller& controller) const;
  void write_bar(unsigned bar, std::uint64_t offset, ByteView data, subsystem::Controller& controller);

  /// The function is in D0 and its device is not held in reset: else PCIe commands may be refused.
  bool accessible() const { return accessible_ && power_state() == 0; }
  void set_accessible(bool accessible) { accessible_ = accessible; }
  /// Locked down: nothing is written, and only configuration space is read.
  bool locked() const { return locked_; }
  void set_locked(bool locked) { locked_ = locked; }
  /// PMCSR: 0 is D0, 3 is D3hot.
  unsigned power_state() const;

 private:
  void capability(std::size_t at, std::uint8_t id, std::size_t next);

  Bytes space_;
  Bytes writable_;   ///< a mask of space_
  Bytes scratch_;    ///< of the I/O BAR
  Bytes doorbells_;  ///< of the memory BAR, behind the registers
  bool accessible_ = true;
  bool locked_ = false;
};

}  // namespace fb::mi
