// What both sides compute from a transaction: augmented challenges, responses, the session key and the
// PSK for a secure channel (NVMe Base 8.3.5.5).
#pragma once

#include <string_view>

#include "model/auth/algorithms.h"

namespace fb::auth {

/// H(g^xy mod p).
inline Bytes session_key(AuthHash hash, ByteView shared) { return digest(hash, shared); }
/// C itself without a group, else HMAC(KS, C).
Bytes augmented_challenge(AuthHash hash, DhGroup group, ByteView session_key, ByteView challenge);
/// PSK = HMAC(KS, C1 || C2).
inline Bytes generated_psk(AuthHash hash, ByteView session_key, ByteView c1, ByteView c2) { return hmac(hash, session_key, {c1, c2}); }

/// What goes into a response beside the key.
struct ResponseInput {
  ByteView augmented_challenge;
  std::uint32_t seqnum = 0;
  std::uint16_t t_id = 0;
  std::uint8_t sc_c = 0;
  std::string_view hostnqn;
  std::string_view subnqn;
};
/// R1 with the host's key.
Bytes host_response(AuthHash hash, ByteView key, const ResponseInput& input);
/// R2 with the controller's key.
Bytes controller_response(AuthHash hash, ByteView key, const ResponseInput& input);

}  // namespace fb::auth
