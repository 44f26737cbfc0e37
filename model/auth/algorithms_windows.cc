// On Windows' own library. It has no modular arithmetic for groups of one's choice, so Diffie-Hellman has the NULL group alone.
#include "model/auth/algorithms.h"

#include <windows.h>
// After the types that it needs.
#include <bcrypt.h>

#include "base/assert.h"
#include "model/auth/cleanse.h"

namespace fb::auth {

namespace {

LPCWSTR algorithm(AuthHash hash) {
  switch (hash) {
    case AuthHash::sha_256:
      return BCRYPT_SHA256_ALGORITHM;
    case AuthHash::sha_384:
      return BCRYPT_SHA384_ALGORITHM;
    case AuthHash::sha_512:
      return BCRYPT_SHA512_ALGORITHM;
  }
  BENCH_ASSERT(false, "a hash that is not reserved");
}

PUCHAR writable(ByteView bytes) { return const_cast<PUCHAR>(bytes.data()); }

/// With a key: HMAC.
Bytes hashed(AuthHash hash, ULONG flags, ByteView key, std::initializer_list<ByteView> parts) {
  BCRYPT_ALG_HANDLE provider = nullptr;
  BCRYPT_HASH_HANDLE state = nullptr;
  Bytes out(hash_bytes(hash));
  bool good = BCryptOpenAlgorithmProvider(&provider, algorithm(hash), nullptr, flags) >= 0 &&
              BCryptCreateHash(provider, &state, nullptr, 0, writable(key), static_cast<ULONG>(key.size()), 0) >= 0;
  for (const ByteView part : parts) {
    good = good && BCryptHashData(state, writable(part), static_cast<ULONG>(part.size()), 0) >= 0;
  }
  good = good && BCryptFinishHash(state, out.data(), static_cast<ULONG>(out.size()), 0) >= 0;
  if (state != nullptr) BCryptDestroyHash(state);
  if (provider != nullptr) BCryptCloseAlgorithmProvider(provider, 0);
  BENCH_ASSERT(good, "hashing works");
  return out;
}

[[noreturn]] void no_group() { BENCH_ASSERT(false, "a group with a modulus"); }

}  // namespace

std::size_t hash_bytes(AuthHash hash) {
  switch (hash) {
    case AuthHash::sha_256:
      return 32;
    case AuthHash::sha_384:
      return 48;
    case AuthHash::sha_512:
      return 64;
  }
  return 0;
}

Bytes digest(AuthHash hash, ByteView data) { return hashed(hash, 0, {}, {data}); }

Bytes hmac(AuthHash hash, ByteView key, std::initializer_list<ByteView> parts) {
  return hashed(hash, BCRYPT_ALG_HANDLE_HMAC_FLAG, key, parts);
}

bool equal_in_constant_time(ByteView a, ByteView b) {
  if (a.size() != b.size()) return false;
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

void cleanse(void* bytes, std::size_t size) { SecureZeroMemory(bytes, size); }

std::size_t group_bytes(DhGroup) { return 0; }
Bytes dh_public(DhGroup, ByteView) { no_group(); }
Bytes dh_shared(DhGroup, ByteView, ByteView) { no_group(); }
Bytes dh_largest(DhGroup) { no_group(); }
bool dh_value_usable(DhGroup, ByteView) { return false; }

}  // namespace fb::auth
