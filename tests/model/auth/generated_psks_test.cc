// Generated PSKs live for ten minutes, and one for each pair of names.
#include <gtest/gtest.h>

#include "model/auth/generated_psks.h"

namespace fb::auth {
namespace {

const std::string kHost = "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
const std::string kDisk = "nqn.2026-11.org.fabricbench:subsystem.1";

GeneratedPsk made(std::uint8_t fill, AuthHash hash = AuthHash::sha_256) {
  return {Bytes(hash == AuthHash::sha_256 ? 32 : 48, fill), hash, kHost, kDisk};
}

struct GeneratedPsksTest : ::testing::Test {
  std::unique_ptr<World> world = World::make_virtual(1);
  PskStore store;
  GeneratedPsks psks{*world, store};
};

TEST_F(GeneratedPsksTest, IsFoundUnderAnIdentityOfTypeG) {
  ASSERT_TRUE(psks.add(made(1)));
  const auto found = store.for_pair(kHost, kDisk, 1);
  ASSERT_TRUE(found);
  const auto whose = PskIdentity::parse(found->identity);
  ASSERT_TRUE(whose);
  EXPECT_EQ(whose->origin, PskOrigin::generated);
  EXPECT_EQ(whose->version, 1);
  EXPECT_EQ(whose->hash, PskHash::sha_256);
  EXPECT_TRUE(store.find(found->identity));
}

TEST_F(GeneratedPsksTest, IsGoneAfterTenMinutes) {
  ASSERT_TRUE(psks.add(made(1)));
  world->run_for(Duration::s(599));
  EXPECT_TRUE(store.for_pair(kHost, kDisk, 1));
  world->run_for(Duration::s(2));
  EXPECT_FALSE(store.for_pair(kHost, kDisk, 1));
  EXPECT_EQ(psks.alive(), 0u);
}

TEST_F(GeneratedPsksTest, ANewOneTakesThePlaceOfTheOld) {
  ASSERT_TRUE(psks.add(made(1)));
  const std::string old = store.for_pair(kHost, kDisk, 1)->identity;
  world->run_for(Duration::s(300));
  ASSERT_TRUE(psks.add(made(2, AuthHash::sha_384)));
  EXPECT_FALSE(store.find(old));
  EXPECT_EQ(psks.alive(), 1u);
  world->run_for(Duration::s(599));
  EXPECT_TRUE(store.for_pair(kHost, kDisk, 1));
}

TEST_F(GeneratedPsksTest, NoCipherSuiteGoesWithSha512) {
  EXPECT_FALSE(psks.add({Bytes(64, 3), AuthHash::sha_512, kHost, kDisk}));
  EXPECT_TRUE(store.empty());
}

}  // namespace
}  // namespace fb::auth
