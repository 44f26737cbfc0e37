#include "model/auth/algorithms.h"

#include <gtest/gtest.h>

#include "model/auth/formulas.h"
#include "model/auth/secret.h"
#include "tests/model/auth/vectors.h"

namespace fb::auth {
namespace {

using namespace auth_vectors;

TEST(Formulas, AgreeWithIndependentlyComputedVectors) {
  const Bytes secret = from_hex(kSecretHex);
  for (const Chap& v : kChap) {
    SCOPED_TRACE(testing::Message() << v.hash << " " << v.group << " " << v.transform);
    const auto hash = static_cast<AuthHash>(v.hash);
    const auto group = static_cast<DhGroup>(v.group);
    const Bytes c1 = numbers(hash_bytes(hash), 0), c2 = numbers(hash_bytes(hash), 0x80);
    Bytes key;
    if (group != DhGroup::null) {
      const Bytes x = numbers(32, 0x91), y = numbers(32, 0xA3);
      const Bytes gx = dh_public(group, x), gy = dh_public(group, y);
      EXPECT_EQ(to_hex(digest(AuthHash::sha_256, gx)), v.public_digest);
      EXPECT_EQ(dh_shared(group, y, gx), dh_shared(group, x, gy));
      key = session_key(hash, dh_shared(group, y, gx));
      EXPECT_EQ(to_hex(key), v.session_key);
      EXPECT_EQ(to_hex(generated_psk(hash, key, c1, c2)), v.psk);
    }
    const Secret held(secret, v.transform == 0 ? std::nullopt : std::optional{static_cast<AuthHash>(v.transform)});
    const auto sc_c = static_cast<std::uint8_t>(v.sc_c);
    const Bytes a1 = augmented_challenge(hash, group, key, c1);
    const Bytes a2 = augmented_challenge(hash, group, key, c2);
    EXPECT_EQ(to_hex(host_response(hash, held.key_of(kHost), {a1, 1, 0x1234, sc_c, kHost, kSubsystem})), v.r1);
    EXPECT_EQ(to_hex(controller_response(hash, held.key_of(kSubsystem), {a2, 0xFFFFFFFF, 0x1234, sc_c, kHost, kSubsystem})), v.r2);
  }
}

TEST(Formulas, TheVectorOfTheFacts) {
  const Bytes secret = from_hex(kSecretHex);
  EXPECT_EQ(to_hex(host_response(AuthHash::sha_256, secret, {numbers(32, 0), 1, 0x1234, 0, kHost, kSubsystem})),
            "345e2b53bd8a1004a732bfb2683253cccb38713ddf54b7271f9aea93f22938a1");
}

TEST(DiffieHellman, ValuesThatNobodyMaySend) {
  for (const DhGroup group : {DhGroup::ffdhe2048, DhGroup::ffdhe3072, DhGroup::ffdhe4096, DhGroup::ffdhe6144, DhGroup::ffdhe8192}) {
    Bytes value(group_bytes(group));
    EXPECT_FALSE(dh_value_usable(group, value));
    value.back() = 1;
    EXPECT_FALSE(dh_value_usable(group, value));
    value.back() = 2;
    EXPECT_TRUE(dh_value_usable(group, value));
    value = dh_largest(group);
    EXPECT_FALSE(dh_value_usable(group, value));
    --value.back();
    EXPECT_TRUE(dh_value_usable(group, value));
    EXPECT_FALSE(dh_value_usable(group, Bytes(group_bytes(group), 0xFF)));
    EXPECT_FALSE(dh_value_usable(group, {}));
  }
  EXPECT_EQ(group_bytes(DhGroup::null), 0u);
  EXPECT_EQ(group_bytes(static_cast<DhGroup>(9)), 0u);
  EXPECT_EQ(hash_bytes(static_cast<AuthHash>(9)), 0u);
}

TEST(DiffieHellman, ShortValuesKeepTheLengthOfTheGroup) {
  const Bytes small = dh_public(DhGroup::ffdhe2048, Bytes{1});
  ASSERT_EQ(small.size(), 256u);
  EXPECT_EQ(small.back(), 2);
  EXPECT_EQ(small.front(), 0);
}

TEST(Comparison, IsOfWholeValues) {
  EXPECT_TRUE(equal_in_constant_time(Bytes{1, 2}, Bytes{1, 2}));
  EXPECT_FALSE(equal_in_constant_time(Bytes{1, 2}, Bytes{1, 3}));
  EXPECT_FALSE(equal_in_constant_time(Bytes{1, 2}, Bytes{1, 2, 3}));
}

}  // namespace
}  // namespace fb::auth
