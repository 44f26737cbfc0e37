#include "conformance/reference/dhchap.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "tests/model/auth/vectors.h"

namespace fb::reference {
namespace {

using namespace auth_vectors;

TEST(Reference, ComputesResponsesAsPythonDoes) {
  const Bytes secret = from_hex(kSecretHex);
  for (const Chap& v : kChap) {
    SCOPED_TRACE(testing::Message() << v.hash << " " << v.group << " " << v.transform);
    const auto hash = static_cast<std::uint8_t>(v.hash), group = static_cast<std::uint8_t>(v.group);
    const auto transform = static_cast<std::uint8_t>(v.transform);
    Response input{hash,
                   key_of(secret, transform, kHost),
                   numbers(hash_bytes(hash), 0),
                   {},
                   1,
                   0x1234,
                   static_cast<std::uint8_t>(v.sc_c),
                   std::string(kHost),
                   std::string(kSubsystem)};
    if (group != 0) {
      const Bytes gx = dh_public(group, numbers(32, 0x91));
      EXPECT_EQ(to_hex(digest(1, gx)), v.public_digest);
      input.shared = dh_power(group, gx, numbers(32, 0xA3));
      EXPECT_EQ(to_hex(digest(hash, input.shared)), v.session_key);
      EXPECT_EQ(to_hex(generated_psk(hash, input.shared, numbers(hash_bytes(hash), 0), numbers(hash_bytes(hash), 0x80))), v.psk);
    }
    EXPECT_EQ(to_hex(input.of_host()), v.r1);
    input.key = key_of(secret, transform, kSubsystem);
    input.challenge = numbers(hash_bytes(hash), 0x80);
    input.seqnum = 0xFFFFFFFF;
    EXPECT_EQ(to_hex(input.of_controller()), v.r2);
  }
}

TEST(Reference, DerivesKeysOfTlsAsPythonDoes) {
  for (const Psk& v : kPsk) {
    if (v.old) continue;
    SCOPED_TRACE(v.identity);
    const Configured psk = configured_psk(v.key);
    EXPECT_EQ(psk.transform, v.transform);
    const Bytes retained = retained_psk(psk.bytes, psk.transform, v.host);
    EXPECT_EQ(to_hex(retained), v.retained);
    const TlsKey key = tls_key(v.version, v.origin, static_cast<std::uint8_t>(v.hash), retained, v.host, kSubsystem);
    EXPECT_EQ(key.identity, v.identity);
    EXPECT_EQ(to_hex(key.key), v.tls);
  }
}

TEST(Reference, FindsValuesWithALeadingZeroByte) {
  const Bytes first = numbers(32, 0x91);
  const Bytes exponent = exponent_with_leading_zero(1, {}, first);
  EXPECT_EQ(dh_public(1, exponent).front(), 0);
  const Bytes peer = dh_public(1, numbers(32, 0xA3));
  EXPECT_EQ(dh_power(1, peer, exponent_with_leading_zero(1, peer, first)).front(), 0);
}

}  // namespace
}  // namespace fb::reference
