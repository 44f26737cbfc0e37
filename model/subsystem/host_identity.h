// Who is at the other end of an association.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace fb::subsystem {

struct HostIdentity {
  std::array<std::uint8_t, 16> hostid = {};
  std::string hostnqn;
  /// The name under which it found the subsystem.
  std::string subnqn;
};

}  // namespace fb::subsystem
