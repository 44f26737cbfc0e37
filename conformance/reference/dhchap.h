// DH-HMAC-CHAP and the PSKs of NVMe/TCP from their specification, with OpenSSL alone: a second source for formulas that the
// emulated host and controller share. A defect in those would otherwise agree with itself. Knows nothing of wire/ or model/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace fb::reference {

/// Of HashID 1 to 3; 0 of any other.
std::size_t hash_bytes(std::uint8_t hash);
/// Of DHgID 1 to 5; 0 of any other, NULL among them.
std::size_t group_bytes(std::uint8_t group);
Bytes digest(std::uint8_t hash, ByteView data);
Bytes hmac(std::uint8_t hash, ByteView key, ByteView message);

/// p of RFC 7919.
Bytes dh_prime(std::uint8_t group);
/// g^exponent mod p and base^exponent mod p, both as long as p.
Bytes dh_public(std::uint8_t group, ByteView exponent);
Bytes dh_power(std::uint8_t group, ByteView base, ByteView exponent);
/// The first exponent from `exponent` on with which base^exponent has a leading zero byte; without a base, g^exponent.
Bytes exponent_with_leading_zero(std::uint8_t group, ByteView base, Bytes exponent);

/// The key of an NQN: the secret itself, or its transform by HashID `transform` (0: none).
Bytes key_of(ByteView secret, std::uint8_t transform, std::string_view nqn);

/// What a response is computed from.
struct Response {
  std::uint8_t hash = 1;
  Bytes key;
  Bytes challenge;
  Bytes shared = {};  ///< g^xy mod p; empty with the NULL group
  std::uint32_t seqnum = 0;
  std::uint16_t t_id = 0;
  std::uint8_t sc_c = 0;
  std::string hostnqn, subnqn;

  Bytes of_host() const { return computed("HostHost", hostnqn, subnqn); }
  Bytes of_controller() const { return computed("Controller", subnqn, hostnqn); }

 private:
  Bytes computed(std::string_view role, std::string_view own, std::string_view other) const;
};

/// The PSK that secure channel concatenation makes.
Bytes generated_psk(std::uint8_t hash, ByteView shared, ByteView c1, ByteView c2);

/// A configured PSK as users write it: "NVMeTLSkey-1:hh:BASE64:". Of a form that is known to be good.
struct Configured {
  Bytes bytes;
  std::uint8_t transform = 0;
};
Configured configured_psk(std::string_view text);

/// A configured PSK becomes the retained one of a host; transform 0: as it is.
Bytes retained_psk(ByteView configured, std::uint8_t transform, std::string_view hostnqn);

struct TlsKey {
  std::string identity;
  Bytes key;
};
/// Identity and key for TLS: version 0 or 1, origin 'R' or 'G', HashID 1 or 2.
TlsKey tls_key(int version, char origin, std::uint8_t hash, ByteView input, std::string_view hostnqn, std::string_view subnqn);

}  // namespace fb::reference
