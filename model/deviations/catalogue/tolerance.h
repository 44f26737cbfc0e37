// Shapes of hand-written deviations: checks that are left out for some commands only, properties that
// read wrong.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "wire/fabrics/property.h"

namespace fb::deviations {

using subsystem::CommandContext;
using subsystem::Refusal;
using subsystem::SubsystemHooks;

/// Once the first check would have refused, it is left out, and so are the others that the same fault
/// runs into. Other faults are found as before.
class ToleratesChain : public SubsystemHooks {
 public:
  explicit ToleratesChain(std::initializer_list<std::string_view> checks) : checks_(checks) {}
  bool refuses(const CommandContext&, Refusal& refusal) override {
    if (refusal.check == checks_.front()) armed_ = true;
    return !armed_ || std::find(checks_.begin(), checks_.end(), refusal.check) == checks_.end();
  }

 protected:
  void arm() { armed_ = true; }

 private:
  std::vector<std::string_view> checks_;
  bool armed_ = false;
};

/// Leaves out a check for the admin queue alone, or for I/O queues alone.
class ToleratesOnQueue : public SubsystemHooks {
 public:
  ToleratesOnQueue(std::string_view check, bool admin) : check_(check), admin_(admin) {}
  bool refuses(const CommandContext& command, Refusal& refusal) override { return refusal.check != check_ || (command.qid == 0) != admin_; }

 private:
  std::string_view check_;
  bool admin_;
};

/// A property reads with bits that are wrong.
template <std::uint32_t Offset, std::uint64_t Clear, std::uint64_t Set>
class PropertyReads final : public SubsystemHooks {
 public:
  void property_read(std::uint32_t offset, std::uint64_t& value) override {
    if (offset == Offset) value = (value & ~Clear) | Set;
  }
};

/// Fields of a command as the hooks see it.
inline std::uint8_t fctype_of(const CommandContext& command) { return command.sqe[0] == 0x7F ? command.sqe[4] : 0xFF; }
inline bool is_connect(const CommandContext& command) { return fctype_of(command) == 0x01; }

}  // namespace fb::deviations
