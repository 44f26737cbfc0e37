// What stands behind Security Send and Security Receive: a small responder. Protocol 00h (SPC, security protocol
// information) names what there is; protocol F0h, which is a vendor's, keeps for each of 16 protocol-specific values
// what was sent last, so that a path for security messages can be tried end to end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace fb::subsystem {

inline constexpr std::uint8_t kSecurityInformation = 0x00;
inline constexpr std::uint8_t kSecurityMailbox = 0xF0;
inline constexpr std::uint16_t kMailboxes = 16;

class SecurityResponder {
 public:
  static bool supports(std::uint8_t protocol) { return protocol == kSecurityInformation || protocol == kSecurityMailbox; }
  /// What Security Receive gets; nothing where the protocol does not know `specific`.
  std::optional<Bytes> receive(std::uint8_t protocol, std::uint16_t specific) const;
  /// Whether Security Send may say it, and saying it.
  static bool takes(std::uint8_t protocol, std::uint16_t specific) { return protocol == kSecurityMailbox && specific < kMailboxes; }
  void send(std::uint16_t specific, ByteView data) { mailboxes_[specific].assign(data.begin(), data.end()); }

 private:
  std::array<Bytes, kMailboxes> mailboxes_;
};

}  // namespace fb::subsystem
