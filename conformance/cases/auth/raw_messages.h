// The messages of an authentication transaction byte by byte, as the figures of the specification have them: what the cases
// send and judge does not go through the code that the emulated products share.
#pragma once

#include <optional>
#include <string>

#include "wire/fabrics/auth_messages.h"

namespace fb::conformance::auth_cases {

using fabrics::AuthChallenge;
using fabrics::AuthFailureReport;
using fabrics::AuthNegotiate;
using fabrics::AuthReply;
using fabrics::AuthSuccess1;
using fabrics::AuthSuccess2;

inline constexpr std::size_t kMessageHead = 16, kDescriptorAt = 8, kDescriptorBytes = 64;

inline bool is_message(ByteView bytes, std::uint8_t type, std::uint8_t id, std::size_t least) {
  return bytes.size() >= least && bytes[0] == type && bytes[1] == id;
}
inline unsigned two_bytes(ByteView bytes, std::size_t at) { return bytes[at] | unsigned{bytes[at + 1]} << 8; }
inline std::uint32_t four_bytes(ByteView bytes, std::size_t at) { return two_bytes(bytes, at) | two_bytes(bytes, at + 2) << 16; }
inline Bytes part(ByteView bytes, std::size_t at, std::size_t count) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + count)};
}

template <class Message>
std::optional<Message> decoded(ByteView bytes);

template <>
inline std::optional<AuthNegotiate> decoded(ByteView bytes) {
  if (!is_message(bytes, 0x00, 0x00, kDescriptorAt)) return std::nullopt;
  const std::size_t count = bytes[7];
  if (bytes.size() < kDescriptorAt + count * kDescriptorBytes) return std::nullopt;
  AuthNegotiate made{static_cast<std::uint16_t>(two_bytes(bytes, 4)), bytes[6], {}};
  for (std::size_t at = kDescriptorAt; made.protocols.size() < count; at += kDescriptorBytes) {
    const std::size_t hashes = bytes[at + 2], groups = bytes[at + 3];
    if (hashes > 30 || groups > 30) return std::nullopt;
    made.protocols.push_back({bytes[at], part(bytes, at + 4, hashes), part(bytes, at + 34, groups)});
  }
  return made;
}
template <>
inline std::optional<AuthChallenge> decoded(ByteView bytes) {
  if (!is_message(bytes, 0x01, 0x01, kMessageHead)) return std::nullopt;
  const std::size_t hl = bytes[6], dhvlen = two_bytes(bytes, 10);
  if (bytes.size() < kMessageHead + hl + dhvlen) return std::nullopt;
  return AuthChallenge{
      static_cast<std::uint16_t>(two_bytes(bytes, 4)), bytes[6], bytes[8], bytes[9], four_bytes(bytes, 12), part(bytes, kMessageHead, hl),
      part(bytes, kMessageHead + hl, dhvlen)};
}
template <>
inline std::optional<AuthReply> decoded(ByteView bytes) {
  if (!is_message(bytes, 0x01, 0x02, kMessageHead)) return std::nullopt;
  const std::size_t hl = bytes[6], dhvlen = two_bytes(bytes, 10);
  if (bytes.size() < kMessageHead + 2 * hl + dhvlen) return std::nullopt;
  return AuthReply{static_cast<std::uint16_t>(two_bytes(bytes, 4)),
                   bytes[6],
                   bytes[8],
                   four_bytes(bytes, 12),
                   part(bytes, kMessageHead, hl),
                   part(bytes, kMessageHead + hl, hl),
                   part(bytes, kMessageHead + 2 * hl, dhvlen)};
}
template <>
inline std::optional<AuthSuccess1> decoded(ByteView bytes) {
  if (!is_message(bytes, 0x01, 0x03, kMessageHead)) return std::nullopt;
  AuthSuccess1 made{static_cast<std::uint16_t>(two_bytes(bytes, 4)), bytes[6], bytes[8], {}};
  // Linux 6.1 ends the message here when there is no response in it.
  if (bytes.size() < kMessageHead + made.hl) return made.rvalid == 0 ? std::optional{made} : std::nullopt;
  made.response = part(bytes, kMessageHead, made.hl);
  return made;
}
template <>
inline std::optional<AuthSuccess2> decoded(ByteView bytes) {
  if (!is_message(bytes, 0x01, 0x04, kMessageHead)) return std::nullopt;
  return AuthSuccess2{static_cast<std::uint16_t>(two_bytes(bytes, 4))};
}
template <>
inline std::optional<AuthFailureReport> decoded(ByteView bytes) {
  const bool from_host = is_message(bytes, 0x00, 0xF0, 8);
  if (!from_host && !is_message(bytes, 0x00, 0xF1, 8)) return std::nullopt;
  return AuthFailureReport{from_host, static_cast<std::uint16_t>(two_bytes(bytes, 4)), bytes[6], bytes[7]};
}

/// The first 16 bytes, but for what differs.
inline Bytes message_head(std::uint8_t type, std::uint8_t id, std::uint16_t t_id, std::size_t bytes = kMessageHead) {
  Bytes made(bytes);
  made[0] = type;
  made[1] = id;
  store_le<std::uint16_t>(made.data() + 4, t_id);
  return made;
}
inline void put_lengths(Bytes& message, const Bytes& dh_value, std::uint32_t seqnum) {
  store_le<std::uint16_t>(message.data() + 10, static_cast<std::uint16_t>(dh_value.size()));
  store_le<std::uint32_t>(message.data() + 12, seqnum);
}
inline void add(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

inline Bytes encoded(const AuthNegotiate& message) {
  Bytes made = message_head(0x00, 0x00, message.t_id, kDescriptorAt + message.protocols.size() * kDescriptorBytes);
  made[6] = message.sc_c;
  made[7] = static_cast<std::uint8_t>(message.protocols.size());
  std::size_t at = kDescriptorAt;
  for (const auto& offer : message.protocols) {
    made[at] = offer.authid;
    made[at + 2] = static_cast<std::uint8_t>(offer.hashes.size());
    made[at + 3] = static_cast<std::uint8_t>(offer.groups.size());
    std::copy(offer.hashes.begin(), offer.hashes.end(), made.begin() + static_cast<std::ptrdiff_t>(at + 4));
    std::copy(offer.groups.begin(), offer.groups.end(), made.begin() + static_cast<std::ptrdiff_t>(at + 34));
    at += kDescriptorBytes;
  }
  return made;
}
inline Bytes encoded(const AuthChallenge& message) {
  Bytes made = message_head(0x01, 0x01, message.t_id);
  made[6] = message.hl;
  made[8] = message.hash;
  made[9] = message.group;
  put_lengths(made, message.dh_value, message.seqnum);
  add(made, message.challenge);
  add(made, message.dh_value);
  return made;
}
inline Bytes encoded(const AuthReply& message) {
  Bytes made = message_head(0x01, 0x02, message.t_id);
  made[6] = message.hl;
  made[8] = message.cvalid;
  put_lengths(made, message.dh_value, message.seqnum);
  add(made, message.response);
  add(made, message.challenge);
  add(made, message.dh_value);
  return made;
}
inline Bytes encoded(const AuthSuccess1& message) {
  Bytes made = message_head(0x01, 0x03, message.t_id);
  made[6] = message.hl;
  made[8] = message.rvalid;
  add(made, message.response);
  return made;
}
inline Bytes encoded(const AuthSuccess2& message) { return message_head(0x01, 0x04, message.t_id); }
inline Bytes encoded(const AuthFailureReport& message) {
  Bytes made = message_head(0x00, message.from_host ? 0xF0 : 0xF1, message.t_id);
  made[6] = message.rcode;
  made[7] = message.rcodeex;
  return made;
}

}  // namespace fb::conformance::auth_cases
