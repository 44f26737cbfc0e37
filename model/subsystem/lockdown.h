// What Lockdown has prohibited, for all controllers and management endpoints of a subsystem, until power is lost.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "model/subsystem/options.h"
#include "wire/nvme/lockdown.h"

namespace fb::subsystem {

class Lockdown {
 public:
  explicit Lockdown(const LockdownOptions& options) : options_(options) {}

  /// Whether it can be prohibited at all.
  bool prohibitable(nvme::LockdownScope scope, std::uint8_t code) const;
  void set(nvme::LockdownScope scope, std::uint8_t code, nvme::LockdownInterface where, bool prohibit);
  bool prohibits(nvme::LockdownScope scope, std::uint8_t code, bool out_of_band) const {
    return any_ && set_of(scope, out_of_band).test(code);
  }
  void lift_all();
  /// Ascending.
  std::vector<std::uint8_t> list(nvme::LockdownScope scope, nvme::LockdownContents contents) const;

 private:
  using Codes = std::bitset<256>;
  const Codes& set_of(nvme::LockdownScope scope, bool out_of_band) const {
    return prohibited_[scope == nvme::LockdownScope::set_features ? 1 : 0][out_of_band ? 1 : 0];
  }

  const LockdownOptions& options_;
  Codes prohibited_[2][2];  ///< by scope, by interface
  bool any_ = false;        ///< something has been prohibited: the hot path asks no further otherwise
};

}  // namespace fb::subsystem
