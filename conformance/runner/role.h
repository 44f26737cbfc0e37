// Which side of a protocol a case judges.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fb::conformance {

enum class Role : std::uint8_t {
  controller,
  host,
  requester,
  responder,
  endpoint,
  management_requester,
  bus,
  provider,
  consumer,
  cdc,  ///< a centralized discovery controller
  ddc,  ///< a direct discovery controller, as a centralized one meets it
};

namespace roles {
using enum Role;
}  // namespace roles

inline constexpr std::string_view kRoleNames[] = {"controller", "host",     "requester", "responder", "endpoint", "management-requester",
                                                  "bus",        "provider", "consumer",  "cdc",       "ddc"};

constexpr std::string_view name_of(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

/// Roles of NVMe-MI and MCTP: what they run over are media, not fabrics.
constexpr bool manages(Role role) { return role == Role::endpoint || role == Role::management_requester || role == Role::bus; }

/// Roles of NetworkDirect and NDK: what they run over is the programming interface.
constexpr bool programs(Role role) { return role == Role::provider || role == Role::consumer; }

/// Discovery controllers that take part in centralized discovery; the bench meets them as it does any controller.
constexpr bool discovers(Role role) { return role == Role::cdc || role == Role::ddc; }

constexpr std::optional<Role> role_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kRoleNames); ++i) {
    if (kRoleNames[i] == name) return static_cast<Role>(i);
  }
  return std::nullopt;
}

}  // namespace fb::conformance
