// Test vectors of DH-HMAC-CHAP and of TLS PSKs, computed in Python with hashlib, hmac and its integers; every implementation of
// these formulas is compared with them.
#pragma once

#include <string_view>

#include "base/bytes.h"

namespace fb::auth_vectors {

inline constexpr std::string_view kHost = "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
inline constexpr std::string_view kSubsystem = "nqn.2014-08.org.nvmexpress:uuid:36ebf5a9-1df9-47b3-a6d0-e9ba32e428a2";
inline constexpr std::string_view kSecretHex = "89aeb31a874eaf84841b46736b0dfdf2ba58d30aa2a545a3e235a3521e07594c";

struct Chap {
  int hash, group, transform, sc_c;
  const char* public_digest;
  const char* session_key;
  const char* r1;
  const char* r2;
  const char* psk;
};
inline constexpr Chap kChap[] = {
#include "tests/model/auth/vectors.inc"
};

struct Psk {
  int hash, transform, version;
  char origin;
  bool old;  ///< derived as libnvme before 1.14 did
  const char *key, *host, *retained, *identity, *tls;
};
inline constexpr Psk kPsk[] = {
#include "tests/model/auth/psk_vectors.inc"
};

/// The bytes first, first + 1 and so on, of which the vectors take their challenges and exponents.
inline Bytes numbers(std::size_t count, unsigned first) {
  Bytes made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::uint8_t>(first + i);
  return made;
}

}  // namespace fb::auth_vectors
