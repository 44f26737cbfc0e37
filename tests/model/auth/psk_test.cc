#include "model/auth/psk.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "model/auth/formulas.h"
#include "tests/model/auth/vectors.h"

namespace fb::auth {
namespace {

using auth_vectors::kHost;
using auth_vectors::kSubsystem;

constexpr std::string_view kKey = "NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:";
constexpr std::string_view kKey48 = "NVMeTLSkey-1:02:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwP/w0S89ELi3W2LxIcLXVsDn8kXZQ==:";

TEST(Psk, AgreesWithIndependentlyComputedVectors) {
  for (const auth_vectors::Psk& v : auth_vectors::kPsk) {
    SCOPED_TRACE(v.identity);
    const PskDerivation how = v.old ? PskDerivation::old_libnvme : PskDerivation::specified;
    const auto psk = ConfiguredPsk::parse(v.key);
    ASSERT_TRUE(psk.ok());
    EXPECT_EQ(psk->text(), v.key);
    EXPECT_EQ(static_cast<int>(psk->goes_with()), v.hash);
    const Bytes retained = psk->retained(v.host, how);
    EXPECT_EQ(to_hex(retained), v.retained);
    const auto tls =
        derive_tls_psk({v.version, static_cast<PskOrigin>(v.origin), psk->goes_with(), v.host, std::string(kSubsystem)}, retained, how);
    ASSERT_TRUE(tls.ok());
    EXPECT_EQ(tls->identity, v.identity);
    EXPECT_EQ(to_hex(tls->key), v.tls);
  }
}

// The specification's example, and what was derived from it elsewhere.
TEST(Psk, DerivesTheExampleKey) {
  const auto psk = ConfiguredPsk::parse(kKey);
  ASSERT_TRUE(psk.ok());
  EXPECT_EQ(to_hex(psk->bytes()), "5512dbb6737d0106f65975b773dfb011ffc344bcf442e2dd6d8bc4870b5d5b03");
  const Bytes retained = psk->retained(kHost);
  EXPECT_EQ(to_hex(retained), "f0af1bc718d4f23bdd7c1683a3d79bd953ea789d106a0f5207bb574bbe5446ce");
  const auto tls = derive_tls_psk({0, PskOrigin::retained, PskHash::sha_256, std::string(kHost), std::string(kSubsystem)}, retained);
  ASSERT_TRUE(tls.ok());
  EXPECT_EQ(to_hex(tls->key), "8e981666c96a88ef69f6e6a0460ff77ba9039e3d38cbdeee264c4de09d75d246");
}

// Identities that libnvme's own tests expect of it, with the derivation of then and of now.
TEST(Psk, IdentitiesAreThoseOfLibnvme) {
  const std::string host = "nqn.psk-test-host", subsystem = "nqn.psk-test-subsys";
  const struct {
    std::string_view key;
    PskDerivation how;
    const char* identity;
  } known[] = {
      {kKey, PskDerivation::specified, "NVMe1R01 nqn.psk-test-host nqn.psk-test-subsys iSbjiStwJ/1TrTvDlt2fjFmzvsytOJelidNnA+X5lEU="},
      {kKey48, PskDerivation::specified,
       "NVMe1R02 nqn.psk-test-host nqn.psk-test-subsys "
       "QhW2+Rp6RzHlNtCslyRxMnwJ11tKKhz8JCAQpQ+XUD8f9td1VeH5h53yz2wKJG1a"},
      {kKey, PskDerivation::old_libnvme, "NVMe1R01 nqn.psk-test-host nqn.psk-test-subsys 66GuqV08TsAGII39teWUfwQwizjv06Jy8jOcX3NAAzM="},
      {kKey48, PskDerivation::old_libnvme,
       "NVMe1R02 nqn.psk-test-host nqn.psk-test-subsys "
       "RsKmYJ3nAn1ApjjMloJFbAkLPivONDAX/xW327YBUsn2eGShXSjCZvBaOxscLqmz"},
  };
  for (const auto& one : known) {
    const auto psk = ConfiguredPsk::parse(one.key);
    ASSERT_TRUE(psk.ok());
    const auto tls = derive_tls_psk({1, PskOrigin::retained, psk->goes_with(), host, subsystem}, psk->retained(host, one.how), one.how);
    ASSERT_TRUE(tls.ok());
    EXPECT_EQ(tls->identity, one.identity);
  }
}

// What the Linux kernel's unit test expects of a PSK that DH-HMAC-CHAP made.
TEST(Psk, GeneratedPsksAreThoseOfLinux) {
  const struct {
    AuthHash hash;
    PskHash goes_with;
    const char *psk, *digest, *tls;
  } known[] = {{AuthHash::sha_256, PskHash::sha_256, "1733c59fa7f48fcf37f5f26fc4ff0268ad4f78e030f4f3b0bfd1d47e7bb1447a",
                "OldoKuTfKddMuyCznAZojkWD7P4D9/AtzDzLimtOxqI=", "3c17da628474a04d2247c4cab47968c915388193f7c071bd9489cc3666cd7cc8"},
               {AuthHash::sha_384, PskHash::sha_384,
                "f14b2dd3234c459694d3bc63f8968bd6b37c2c6de849e22e11874900"
                "1ce4bbe8640b9e3a748cb11ce4b1d71d359cce39",
                "cffMWk8TSS7HOQebjgYEIkrPrjWPV4JE5cdPB8WhEvY4JBW5YynKyv66XscN4A9n",
                "2774753233537b3fa50eb7d16a8e43457d85f4906c005b2236616c5d"
                "80939d0898fff15bb8b77119d2be0aac423e7590"}};
  for (const auto& one : known) {
    Bytes session(hash_bytes(one.hash)), c1 = session, c2 = session;
    for (std::size_t i = 0; i < session.size(); ++i) {
      session[i] = static_cast<std::uint8_t>('A' + i);
      c1[i] = static_cast<std::uint8_t>(i);
      c2[i] = static_cast<std::uint8_t>(0xFF - i);
    }
    const Bytes psk = generated_psk(one.hash, session, c1, c2);
    EXPECT_EQ(to_hex(psk), one.psk);
    const auto tls = derive_tls_psk({1, PskOrigin::generated, one.goes_with, "hostnqn", "subsysnqn"}, psk);
    ASSERT_TRUE(tls.ok());
    EXPECT_EQ(tls->identity, (one.goes_with == PskHash::sha_256 ? "NVMe1G01 hostnqn subsysnqn " : "NVMe1G02 hostnqn subsysnqn ") +
                                 std::string(one.digest));
    EXPECT_EQ(to_hex(tls->key), one.tls);
  }
}

TEST(Psk, RefusesWhatIsNoKey) {
  const std::string good(kKey);
  const auto why = [](const std::string& text) {
    const auto parsed = ConfiguredPsk::parse(text);
    return parsed ? std::string("accepted") : parsed.error().text;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = good;
    changed.replace(changed.find(from), from.size(), to);
    return why(changed);
  };
  EXPECT_EQ(why(""), "not a TLS key: it does not begin with NVMeTLSkey-1:");
  EXPECT_EQ(with("-1:", "-2:"), "not a TLS key: it does not begin with NVMeTLSkey-1:");
  EXPECT_EQ(with(":01:", ":03:"), "not a TLS key: the hash is none of 00, 01 and 02");
  EXPECT_EQ(with(":01:", ":02:"), "not a TLS key: 01 goes with 32 bytes and 02 with 48");
  EXPECT_EQ(with("VRLb", "VRLc"), "not a TLS key: the CRC-32 does not match");
  EXPECT_EQ(with("VRLb", "VR b"), "not a TLS key: what stands between the colons is not BASE64");
  EXPECT_EQ(with("VRLb", ""), "not a TLS key: its length is neither 32 nor 48 bytes");
  const std::string form = "not a TLS key: the form is NVMeTLSkey-1:hh:BASE64: with two digits and a colon at the end";
  EXPECT_EQ(why(good.substr(0, good.size() - 1)), form);
  EXPECT_EQ(why("NVMeTLSkey-1:"), form);
  EXPECT_EQ(why("NVMeTLSkey-1:001:"), form);
  EXPECT_EQ(why(good + ":"), "not a TLS key: what stands between the colons is not BASE64");
}

TEST(Psk, GeneratesKeysThatParse) {
  const auto nonces = system_nonces();
  for (const PskHash hash : {PskHash::sha_256, PskHash::sha_384}) {
    for (const bool transform : {false, true}) {
      const ConfiguredPsk made = ConfiguredPsk::generate(*nonces, hash, transform);
      const auto parsed = ConfiguredPsk::parse(made.text());
      ASSERT_TRUE(parsed.ok());
      EXPECT_EQ(to_hex(parsed->bytes()), to_hex(made.bytes()));
      EXPECT_EQ(parsed->transform().has_value(), transform);
      EXPECT_EQ(parsed->goes_with(), hash);
      EXPECT_NE(ConfiguredPsk::generate(*nonces, hash, transform).text(), made.text());
    }
  }
}

TEST(PskIdentity, ReadsItsWordsAndNothingElse) {
  const auto zero = PskIdentity::parse("NVMe0R02 h s");
  ASSERT_TRUE(zero.has_value());
  EXPECT_EQ(zero->hash, PskHash::sha_384);
  EXPECT_EQ(zero->hostnqn, "h");
  EXPECT_EQ(zero->subnqn, "s");
  const auto one = PskIdentity::parse("NVMe1G01 h s d=");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->origin, PskOrigin::generated);
  EXPECT_EQ(one->digest, "d=");
  EXPECT_EQ(one->text(), "NVMe1G01 h s d=");
  for (const char* wrong : {"", "NVMe", "NVMe0R01", "NVMe0R01 ", "NVMe0R01 h", "NVMe0R01 h ", "NVMe0R01  h s", "NVMe0R01 h s d",
                            "NVMe1R01 h s", "NVMe1R01 h s d e", "NVMe2R01 h s d", "NVMe0X01 h s", "NVMe0R00 h s", "NVMe0R03 h s",
                            "nvme0R01 h s", "NVMe0R01\th s", "NVMe0R01 h s "}) {
    EXPECT_FALSE(PskIdentity::parse(wrong).has_value()) << wrong;
  }
}

TEST(PskIdentity, OfVersion0MayBeTooLongForAKey) {
  const std::string name = "nqn.2014-08.org.nvmexpress:" + std::string(150, 'x');
  const Bytes input(32, 1);
  const auto zero = derive_tls_psk({0, PskOrigin::retained, PskHash::sha_256, name, name}, input);
  ASSERT_FALSE(zero.ok());
  EXPECT_EQ(zero.error().text, "the PSK identity has 364 bytes, and version 0 can derive a key from at most 255");
  EXPECT_TRUE(derive_tls_psk({1, PskOrigin::retained, PskHash::sha_256, name, name}, input).ok());
}

std::string pair_line(std::string_view host, std::string_view subsystem, std::string_view key) {
  return std::string(host) + " " + std::string(subsystem) + " " + std::string(key) + "\n";
}

TEST(PskStore, HostAndTargetFindTheSameKey) {
  const std::string other = ConfiguredPsk(Bytes(48, 7), std::nullopt).text();
  const auto store =
      PskStore::parse("# keys\n\n" + other + "\n" + pair_line("*", kSubsystem, kKey48) + "\t" + pair_line(kHost, kSubsystem, kKey), "keys");
  ASSERT_TRUE(store.ok()) << store.error().text;
  for (const int version : {0, 1}) {
    const auto exact = store->for_pair(kHost, kSubsystem, version);
    ASSERT_TRUE(exact.ok());
    EXPECT_EQ(exact->hash, PskHash::sha_256) << "the line that names both";
    const auto found = store->find(exact->identity);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->key, exact->key);
    const auto general = store->for_pair("nqn.2014-08.org.example:h", kSubsystem, version);
    ASSERT_TRUE(general.ok());
    EXPECT_EQ(general->hash, PskHash::sha_384) << "the first that admits them";
    EXPECT_EQ(store->configured_for(kHost, kSubsystem)->goes_with(), exact->hash);
    EXPECT_EQ(store->configured_for("nqn.2014-08.org.example:h", kSubsystem)->goes_with(), general->hash);
    ASSERT_TRUE(store->find(general->identity).has_value());
    EXPECT_EQ(store->find(general->identity)->key, general->key);
  }
}

TEST(PskStore, RefusesStrangersAndOtherDigests) {
  const auto store = PskStore::parse(pair_line(kHost, kSubsystem, kKey), "keys");
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->configured_for("nqn.2014-08.org.example:h", kSubsystem), nullptr);
  const auto none = store->for_pair("nqn.2014-08.org.example:h", kSubsystem, 0);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().text, "no TLS key for host nqn.2014-08.org.example:h and subsystem " + std::string(kSubsystem));
  const std::string good = store->for_pair(kHost, kSubsystem, 1)->identity;
  EXPECT_TRUE(store->find(good).has_value());
  std::string changed = good;
  changed[changed.size() - 5] = changed[changed.size() - 5] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(store->find(changed).has_value());
  std::string generated = good;
  generated[5] = 'G';
  EXPECT_FALSE(store->find(generated).has_value()) << "a configured key is not a generated one";
  std::string hash = store->for_pair(kHost, kSubsystem, 0)->identity;
  hash[7] = '2';
  EXPECT_FALSE(store->find(hash).has_value());
  EXPECT_FALSE(store->find("").has_value());
  PskStore old = *store;
  old.set_derivation(PskDerivation::old_libnvme);
  EXPECT_FALSE(old.find(good).has_value());
}

TEST(PskStore, KeepsKeysThatWereDerivedElsewhere) {
  const std::string identity = "NVMe1R01 " + std::string(kHost) + " " + std::string(kSubsystem) + " abc=";
  auto store = PskStore::parse(identity + " " + std::string(kKey), "keys");
  ASSERT_TRUE(store.ok()) << store.error().text;
  ASSERT_TRUE(store->find(identity).has_value());
  EXPECT_EQ(to_hex(store->find(identity)->key), "5512dbb6737d0106f65975b773dfb011ffc344bcf442e2dd6d8bc4870b5d5b03");
  EXPECT_EQ(store->for_pair(kHost, kSubsystem, 0)->identity, identity) << "it is the only one";
  store->add({identity, Bytes(32, 9), PskHash::sha_256});
  EXPECT_EQ(store->find(identity)->key, Bytes(32, 9));
  store->remove(identity);
  EXPECT_FALSE(store->find(identity).has_value());
}

TEST(PskStore, SaysWhichLineIsWrongAndShowsNoKey) {
  const std::string key(kKey), body = key.substr(16, 20);
  const struct {
    std::string line, why;
  } wrong[] = {
      {"", "keys: holds no TLS key"},
      {"hello", "keys:1: the last word of the line is no TLS key (NVMeTLSkey-1:...)"},
      {"\n" + key.substr(0, 40),
       "keys:2: not a TLS key: the form is NVMeTLSkey-1:hh:BASE64: with two "
       "digits and a colon at the end"},
      {"nqn.2014-08.org.example:h " + key,
       "keys:1: in front of the key stand a host NQN and a subsystem NQN, "
       "a PSK identity, or nothing"},
      {"host subsystem " + key, "keys:1: a word in front of the key is neither an NQN nor *"},
      {"NVMe0R01 h " + key, "keys:1: the words in front of the key are no PSK identity"},
      {"NVMe0R02 h s " + key, "keys:1: the key's length is not that of the identity's hash"},
      {"* * * " + key,
       "keys:1: in front of the key stand a host NQN and a subsystem NQN, a PSK identity, "
       "or nothing"},
      {key + " " + key + " " + key, "keys:1: the words in front of the key are no PSK identity"},
  };
  for (const auto& one : wrong) {
    const auto store = PskStore::parse(one.line, "keys");
    ASSERT_FALSE(store.ok()) << one.line;
    EXPECT_EQ(store.error().text, one.why);
    EXPECT_EQ(store.error().text.find(body), std::string::npos);
  }
}

TEST(PskStore, ReadsAFileOfItsOwnerAlone) {
  const std::string path = testing::TempDir() + "/psk_store_test." + std::to_string(::getpid());
  std::ofstream(path) << kKey << "\n";
  ::chmod(path.c_str(), 0640);
  auto open = PskStore::read_file(path);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().text, path + ": others than its owner may read or change it; chmod 600 it");
  ::chmod(path.c_str(), 0600);
  const auto store = PskStore::read_file(path);
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE(store->for_pair(kHost, kSubsystem, 1).ok());
  std::remove(path.c_str());
  const auto gone = PskStore::read_file(path);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().text, path + ": No such file or directory");
}

}  // namespace
}  // namespace fb::auth
