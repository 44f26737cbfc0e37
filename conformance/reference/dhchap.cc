#include "conformance/reference/dhchap.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/dh.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/objects.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>

#include "base/assert.h"

namespace fb::reference {

namespace {

struct Free {
  void operator()(BIGNUM* held) const { BN_free(held); }
  void operator()(BN_CTX* held) const { BN_CTX_free(held); }
  void operator()(EVP_KDF* held) const { EVP_KDF_free(held); }
  void operator()(EVP_KDF_CTX* held) const { EVP_KDF_CTX_free(held); }
  void operator()(EVP_PKEY* held) const { EVP_PKEY_free(held); }
  void operator()(EVP_PKEY_CTX* held) const { EVP_PKEY_CTX_free(held); }
};
using Number = std::unique_ptr<BIGNUM, Free>;
using Context = std::unique_ptr<BN_CTX, Free>;

const EVP_MD* algorithm(std::uint8_t hash) {
  constexpr int kIds[] = {NID_sha256, NID_sha384, NID_sha512};
  BENCH_ASSERT(hash >= 1 && hash <= 3, "HashID 1 to 3");
  return EVP_get_digestbynid(kIds[hash - 1]);
}

struct Group {
  Number p;
  Number g;
};

Group read_group(const char* name) {
  const std::unique_ptr<EVP_PKEY_CTX, Free> context{EVP_PKEY_CTX_new_from_name(nullptr, "DH", nullptr)};
  std::string text = name;
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, text.data(), 0), OSSL_PARAM_construct_end()};
  EVP_PKEY* made = nullptr;
  BENCH_ASSERT(
      EVP_PKEY_fromdata_init(context.get()) > 0 && EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_KEY_PARAMETERS, parameters) > 0,
      "OpenSSL knows the groups of RFC 7919");
  const std::unique_ptr<EVP_PKEY, Free> key{made};
  BIGNUM *p = nullptr, *g = nullptr;
  BENCH_ASSERT(EVP_PKEY_get_bn_param(made, "p", &p) > 0 && EVP_PKEY_get_bn_param(made, "g", &g) > 0, "a group has a prime");
  return {Number{p}, Number{g}};
}

/// Constants, read once.
const Group& group_of(std::uint8_t group) {
  static const std::array<Group, 5> all = {read_group("ffdhe2048"), read_group("ffdhe3072"), read_group("ffdhe4096"),
                                           read_group("ffdhe6144"), read_group("ffdhe8192")};
  BENCH_ASSERT(group >= 1 && group <= 5, "DHgID 1 to 5");
  return all[group - 1u];
}

Number number(ByteView bytes) { return Number{BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr)}; }

Bytes padded(const BIGNUM* value, std::uint8_t group) {
  Bytes out(group_bytes(group));
  BENCH_ASSERT(BN_bn2binpad(value, out.data(), static_cast<int>(out.size())) >= 0, "a value below p");
  return out;
}

Number raised(std::uint8_t group, const BIGNUM* base, ByteView exponent) {
  const Context context{BN_CTX_new()};
  Number out{BN_new()};
  BENCH_ASSERT(BN_mod_exp(out.get(), base, number(exponent).get(), group_of(group).p.get(), context.get()) > 0, "a power");
  return out;
}

void put(Bytes& to, std::string_view text) { to.insert(to.end(), text.begin(), text.end()); }
void put(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

void put_number(Bytes& to, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> 8 * i));
}

std::string base64(ByteView bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

/// HKDF-Extract without a salt and HKDF-Expand-Label of TLS 1.3, with as many bytes as the hash has.
Bytes hkdf(std::uint8_t hash, ByteView input, std::string_view label, std::string_view context) {
  const std::size_t length = hash_bytes(hash);
  Bytes info = {0, static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(6 + label.size())};
  put(info, std::string_view("tls13 "));
  put(info, label);
  info.push_back(static_cast<std::uint8_t>(context.size()));
  put(info, context);
  const std::unique_ptr<EVP_KDF, Free> kdf{EVP_KDF_fetch(nullptr, "HKDF", nullptr)};
  const std::unique_ptr<EVP_KDF_CTX, Free> state{EVP_KDF_CTX_new(kdf.get())};
  std::string name = EVP_MD_get0_name(algorithm(hash));
  Bytes key(input.begin(), input.end());
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, name.data(), 0),
                                   OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
                                   OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
                                   OSSL_PARAM_construct_end()};
  Bytes out(length);
  BENCH_ASSERT(EVP_KDF_derive(state.get(), out.data(), out.size(), parameters) > 0, "HKDF works");
  return out;
}

}  // namespace

std::size_t hash_bytes(std::uint8_t hash) { return hash == 1 ? 32 : hash == 2 ? 48 : hash == 3 ? 64 : 0; }

std::size_t group_bytes(std::uint8_t group) {
  constexpr std::size_t kBits[] = {0, 2048, 3072, 4096, 6144, 8192};
  return group < std::size(kBits) ? kBits[group] / 8 : 0;
}

Bytes digest(std::uint8_t hash, ByteView data) {
  Bytes out(hash_bytes(hash));
  BENCH_ASSERT(EVP_Digest(data.data(), data.size(), out.data(), nullptr, algorithm(hash), nullptr) > 0, "hashing works");
  return out;
}

Bytes hmac(std::uint8_t hash, ByteView key, ByteView message) {
  Bytes out(hash_bytes(hash));
  unsigned length = 0;
  // OpenSSL wants a pointer to no key at all, too.
  const std::uint8_t none = 0;
  const auto* const at = key.empty() ? &none : key.data();
  BENCH_ASSERT(HMAC(algorithm(hash), at, static_cast<int>(key.size()), message.data(), message.size(), out.data(), &length) != nullptr &&
                   length == out.size(),
               "HMAC works");
  return out;
}

Bytes dh_prime(std::uint8_t group) { return padded(group_of(group).p.get(), group); }

Bytes dh_public(std::uint8_t group, ByteView exponent) { return dh_power(group, padded(group_of(group).g.get(), group), exponent); }

Bytes dh_power(std::uint8_t group, ByteView base, ByteView exponent) {
  // A case has the same secrets in each lane.
  constexpr std::size_t kPowersMax = 1024;
  static thread_local std::map<std::tuple<std::uint8_t, Bytes, Bytes>, Bytes> powers;
  if (powers.size() == kPowersMax) powers.clear();
  Bytes& power = powers[{group, Bytes(base.begin(), base.end()), Bytes(exponent.begin(), exponent.end())}];
  if (power.empty()) power = padded(raised(group, number(base).get(), exponent).get(), group);
  return power;
}

Bytes exponent_with_leading_zero(std::uint8_t group, ByteView base, Bytes exponent) {
  const Number factor = base.empty() ? Number{BN_dup(group_of(group).g.get())} : number(base);
  const Context context{BN_CTX_new()};
  // One more in the exponent is one multiplication.
  for (Number value = raised(group, factor.get(), exponent); BN_num_bytes(value.get()) == static_cast<int>(group_bytes(group));) {
    BENCH_ASSERT(BN_mod_mul(value.get(), value.get(), factor.get(), group_of(group).p.get(), context.get()) > 0, "a product");
    for (std::size_t i = exponent.size(); i-- > 0 && ++exponent[i] == 0;) {
    }
  }
  return exponent;
}

Bytes key_of(ByteView secret, std::uint8_t transform, std::string_view nqn) {
  if (transform == 0) return {secret.begin(), secret.end()};
  Bytes message;
  put(message, nqn);
  put(message, std::string_view("NVMe-over-Fabrics"));
  return hmac(transform, secret, message);
}

Bytes Response::computed(std::string_view role, std::string_view own, std::string_view other) const {
  Bytes message = shared.empty() ? challenge : hmac(hash, digest(hash, shared), challenge);
  put_number(message, seqnum, 4);
  put_number(message, t_id, 2);
  message.push_back(sc_c);
  put(message, role);
  put(message, own);
  message.push_back(0);
  put(message, other);
  return hmac(hash, key, message);
}

Bytes generated_psk(std::uint8_t hash, ByteView shared, ByteView c1, ByteView c2) {
  Bytes both(c1.begin(), c1.end());
  put(both, c2);
  return hmac(hash, digest(hash, shared), both);
}

Configured configured_psk(std::string_view text) {
  const std::string_view encoded = text.substr(16, text.size() - 17);
  Bytes bytes(encoded.size() / 4 * 3);
  const int length =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(encoded.data()), static_cast<int>(encoded.size()));
  BENCH_ASSERT(length > 0, "BASE64 between the colons");
  const auto padding = static_cast<std::size_t>(std::count(encoded.begin(), encoded.end(), '='));
  bytes.resize(bytes.size() - padding - 4);  // a CRC-32 follows
  return {std::move(bytes), static_cast<std::uint8_t>(text[14] - '0')};
}

Bytes retained_psk(ByteView configured, std::uint8_t transform, std::string_view hostnqn) {
  if (transform == 0) return {configured.begin(), configured.end()};
  return hkdf(transform, configured, "HostNQN", hostnqn);
}

TlsKey tls_key(int version, char origin, std::uint8_t hash, ByteView input, std::string_view hostnqn, std::string_view subnqn) {
  const std::string number_of_hash = "0" + std::to_string(hash);
  TlsKey made;
  made.identity = "NVMe" + std::to_string(version) + origin + number_of_hash + " " + std::string(hostnqn) + " " + std::string(subnqn);
  std::string context = made.identity;
  if (version > 0) {
    Bytes message;
    put(message, std::string(hostnqn) + " " + std::string(subnqn) + " NVMe-over-Fabrics");
    const std::string proof = base64(hmac(hash, input, message));
    made.identity += " " + proof;
    context = number_of_hash + " " + proof;
  }
  made.key = hkdf(hash, input, "nvme-tls-psk", context);
  return made;
}

}  // namespace fb::reference
