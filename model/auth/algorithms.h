// Hashes, HMAC and finite-field Diffie-Hellman of DH-HMAC-CHAP, on OpenSSL. Nothing here draws random
// numbers: exponents come in as bytes.
#pragma once

#include <initializer_list>

#include "base/bytes.h"
#include "wire/fabrics/auth_messages.h"

namespace fb::auth {

using fabrics::AuthFailure;
using fabrics::AuthHash;
using fabrics::DhGroup;
using fabrics::SecureChannel;

/// Bytes of the hash's value; 0 for one that is reserved.
std::size_t hash_bytes(AuthHash hash);
Bytes digest(AuthHash hash, ByteView data);
/// HMAC over the parts as if they were one.
Bytes hmac(AuthHash hash, ByteView key, std::initializer_list<ByteView> parts);
/// Takes equally long whatever the difference is.
bool equal_in_constant_time(ByteView a, ByteView b);

/// Bytes of the group's modulus; 0 for the NULL group and for reserved ones.
std::size_t group_bytes(DhGroup group);
/// g^exponent mod p, big endian, as long as the modulus.
Bytes dh_public(DhGroup group, ByteView exponent);
/// peer^exponent mod p, as long as the modulus.
Bytes dh_shared(DhGroup group, ByteView exponent, ByteView peer);
/// False for 0, 1, p - 1 and anything that is not below p.
bool dh_value_usable(DhGroup group, ByteView value);
/// p - 1 as bytes: what nobody may send.
Bytes dh_largest(DhGroup group);

}  // namespace fb::auth
