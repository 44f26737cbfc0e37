#include "model/auth/algorithms.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <memory>

#include "base/assert.h"
#include "model/auth/cleanse.h"

namespace fb::auth {

namespace {

template <auto Free>
struct Freeing {
  template <class T>
  void operator()(T* held) const {
    Free(held);
  }
};
using Number = std::unique_ptr<BIGNUM, Freeing<BN_clear_free>>;
using NumberContext = std::unique_ptr<BN_CTX, Freeing<BN_CTX_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freeing<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freeing<EVP_MD_CTX_free>>;

const EVP_MD* algorithm(AuthHash hash) {
  switch (hash) {
    case AuthHash::sha_256:
      return EVP_sha256();
    case AuthHash::sha_384:
      return EVP_sha384();
    case AuthHash::sha_512:
      return EVP_sha512();
  }
  BENCH_ASSERT(false, "a hash that is not reserved");
}

const char* openssl_name(DhGroup group) {
  switch (group) {
    case DhGroup::ffdhe2048:
      return "ffdhe2048";
    case DhGroup::ffdhe3072:
      return "ffdhe3072";
    case DhGroup::ffdhe4096:
      return "ffdhe4096";
    case DhGroup::ffdhe6144:
      return "ffdhe6144";
    case DhGroup::ffdhe8192:
      return "ffdhe8192";
    case DhGroup::null:
      break;
  }
  BENCH_ASSERT(false, "a group with a modulus");
}

/// Numbers of RFC 7919, taken from OpenSSL's parameters of that name.
struct Field {
  Number modulus;
  Number generator;
};

Field read_field(DhGroup group) {
  KeyContext context{EVP_PKEY_CTX_new_from_name(nullptr, "DH", nullptr)};
  BENCH_ASSERT(context && EVP_PKEY_paramgen_init(context.get()) > 0, "OpenSSL knows DH");
  std::string name = openssl_name(group);
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, name.data(), 0),
                                   OSSL_PARAM_construct_end()};
  EVP_PKEY* made = nullptr;
  const bool good = EVP_PKEY_CTX_set_params(context.get(), parameters) > 0 && EVP_PKEY_paramgen(context.get(), &made) > 0;
  const Key key{made};
  BIGNUM* p = nullptr;
  BIGNUM* g = nullptr;
  BENCH_ASSERT(
      good && EVP_PKEY_get_bn_param(made, OSSL_PKEY_PARAM_FFC_P, &p) > 0 && EVP_PKEY_get_bn_param(made, OSSL_PKEY_PARAM_FFC_G, &g) > 0,
      "OpenSSL knows the groups of RFC 7919");
  return {Number{p}, Number{g}};
}

/// Constants, read once.
const Field& field_of(DhGroup group) {
  static const std::array<Field, 5> fields = {read_field(DhGroup::ffdhe2048), read_field(DhGroup::ffdhe3072),
                                              read_field(DhGroup::ffdhe4096), read_field(DhGroup::ffdhe6144),
                                              read_field(DhGroup::ffdhe8192)};
  BENCH_ASSERT(group_bytes(group) != 0, "a group with a modulus");
  return fields[static_cast<std::size_t>(group) - 1];
}

Number number_of(ByteView bytes) { return Number{BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr)}; }

Bytes bytes_of(const BIGNUM* number, std::size_t length) {
  Bytes out(length);
  BENCH_ASSERT(BN_bn2binpad(number, out.data(), static_cast<int>(length)) >= 0, "the number fits");
  return out;
}

Bytes power(DhGroup group, const BIGNUM* base, ByteView exponent) {
  const Field& field = field_of(group);
  const NumberContext context{BN_CTX_new()};
  const Number secret = number_of(exponent);
  BN_set_flags(secret.get(), BN_FLG_CONSTTIME);
  const Number result{BN_new()};
  BENCH_ASSERT(BN_mod_exp(result.get(), base, secret.get(), field.modulus.get(), context.get()) > 0, "modular exponentiation works");
  return bytes_of(result.get(), group_bytes(group));
}

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

Bytes digest(AuthHash hash, ByteView data) {
  Bytes out(hash_bytes(hash));
  const DigestContext context{EVP_MD_CTX_new()};
  const bool good = EVP_DigestInit_ex(context.get(), algorithm(hash), nullptr) > 0 &&
                    EVP_DigestUpdate(context.get(), data.data(), data.size()) > 0 &&
                    EVP_DigestFinal_ex(context.get(), out.data(), nullptr) > 0;
  BENCH_ASSERT(good, "hashing works");
  return out;
}

Bytes hmac(AuthHash hash, ByteView key, std::initializer_list<ByteView> parts) {
  const Key held{EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nullptr, key.data(), key.size())};
  const DigestContext context{EVP_MD_CTX_new()};
  bool good = held && EVP_DigestSignInit(context.get(), nullptr, algorithm(hash), nullptr, held.get()) > 0;
  for (const ByteView part : parts) {
    good = good && EVP_DigestSignUpdate(context.get(), part.data(), part.size()) > 0;
  }
  Bytes out(hash_bytes(hash));
  std::size_t length = out.size();
  good = good && EVP_DigestSignFinal(context.get(), out.data(), &length) > 0;
  BENCH_ASSERT(good && length == out.size(), "HMAC works");
  return out;
}

void cleanse(void* bytes, std::size_t size) { OPENSSL_cleanse(bytes, size); }

bool equal_in_constant_time(ByteView a, ByteView b) { return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

std::size_t group_bytes(DhGroup group) {
  switch (group) {
    case DhGroup::ffdhe2048:
      return 256;
    case DhGroup::ffdhe3072:
      return 384;
    case DhGroup::ffdhe4096:
      return 512;
    case DhGroup::ffdhe6144:
      return 768;
    case DhGroup::ffdhe8192:
      return 1024;
    case DhGroup::null:
      break;
  }
  return 0;
}

Bytes dh_public(DhGroup group, ByteView exponent) { return power(group, field_of(group).generator.get(), exponent); }

Bytes dh_shared(DhGroup group, ByteView exponent, ByteView peer) { return power(group, number_of(peer).get(), exponent); }

Bytes dh_largest(DhGroup group) {
  const Number value{BN_dup(field_of(group).modulus.get())};
  BN_sub_word(value.get(), 1);
  return bytes_of(value.get(), group_bytes(group));
}

bool dh_value_usable(DhGroup group, ByteView value) {
  const Number number = number_of(value);
  if (BN_is_zero(number.get()) || BN_is_one(number.get())) return false;
  const Number next{BN_dup(number.get())};
  BN_add_word(next.get(), 1);
  return BN_cmp(next.get(), field_of(group).modulus.get()) < 0;
}

}  // namespace fb::auth
