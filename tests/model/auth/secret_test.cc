#include "model/auth/secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace fb::auth {
namespace {

constexpr std::string_view kExample = "DHHC-1:00:ia6zGodOr4SEG0Zzaw398rpY0wqipUWj4jWjUh4HWUz6aQ2n:";
constexpr std::string_view kHost = "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

TEST(Secret, TheExampleOfTheSpecification) {
  const auto secret = Secret::parse(kExample);
  ASSERT_TRUE(secret.ok());
  EXPECT_EQ(to_hex(secret->bytes()), "89aeb31a874eaf84841b46736b0dfdf2ba58d30aa2a545a3e235a3521e07594c");
  EXPECT_FALSE(secret->transform().has_value());
  EXPECT_EQ(secret->text(), kExample);
  EXPECT_EQ(to_hex(secret->key_of(kHost)), to_hex(secret->bytes()));
  const Secret transformed(Bytes(secret->bytes().begin(), secret->bytes().end()), AuthHash::sha_256);
  EXPECT_EQ(to_hex(transformed.key_of(kHost)), "b9e21c833ba5dbb60ddf4c29b195ac232cd89302646bfdb848bc5b732c93cee5");
}

TEST(Secret, RefusesWhatIsDamagedWithoutShowingIt) {
  const std::string good(kExample);
  const auto altered = [&](std::size_t at, char c) {
    std::string text = good;
    text[at] = c;
    return text;
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "begin"},
      {"DHHC-2:00:" + good.substr(10), "begin"},
      {good.substr(0, good.size() - 1), "colon"},
      {altered(7, '1'), "hash"},
      {altered(8, '4'), "hash"},
      {altered(12, 'Z'), "CRC"},
      {altered(12, '!'), "BASE64"},
      {"DHHC-1:00:AAAA:", "length"},
      {"DHHC-1:00:=:", "BASE64"},
      {"DHHC-1:00::", "BASE64"},
      {"DHHC-1:00:====:", "BASE64"},
  };
  for (const auto& [text, why] : cases) {
    const auto secret = Secret::parse(text);
    ASSERT_FALSE(secret.ok()) << text;
    EXPECT_NE(secret.error().text.find(why), std::string::npos) << secret.error().text;
    EXPECT_EQ(secret.error().text.find("ia6z"), std::string::npos) << "shows the secret";
  }
}

TEST(Secret, MadeOnesComeBack) {
  const auto world = World::make_virtual(7);
  const auto nonces = make_nonces(*world, "test");
  for (const std::size_t bytes : {32u, 48u, 64u}) {
    for (int hash = 0; hash <= 3; ++hash) {
      const auto transform = hash == 0 ? std::nullopt : std::optional{static_cast<AuthHash>(hash)};
      const Secret made = Secret::generate(*nonces, bytes, transform);
      const auto back = Secret::parse(made.text());
      ASSERT_TRUE(back.ok()) << back.error().text;
      EXPECT_EQ(to_hex(back->bytes()), to_hex(made.bytes()));
      EXPECT_EQ(back->transform(), transform);
    }
  }
}

TEST(Secrets, OfAFile) {
  const std::string text = "# hosts\n\n" + std::string(kHost) + " " + std::string(kExample) + "\n* \t" + std::string(kExample) + " " +
                           std::string(kExample) + "\r\n";
  const auto pairs = parse_secrets(text, "keys");
  ASSERT_TRUE(pairs.ok()) << pairs.error().text;
  ASSERT_EQ(pairs->size(), 2u);
  EXPECT_FALSE((*pairs)[0].controller.has_value());
  EXPECT_TRUE((*pairs)[1].controller.has_value());
  EXPECT_EQ(secrets_of(*pairs, kHost), &(*pairs)[0]);
  EXPECT_EQ(secrets_of(*pairs, "nqn.2026-11.org.example:other"), &(*pairs)[1]);
  const auto bare = parse_secrets(kExample, "keys");
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(bare->front().hostnqn, "*");
}

TEST(Secrets, ProblemsNameTheLineAndShowNoSecret) {
  const std::string example(kExample);
  const std::pair<std::string, const char*> cases[] = {
      {"", "keys: holds no secret"},
      {"# nothing\n", "keys: holds no secret"},
      {"host " + example, "keys:1: the first word"},
      {"\n" + std::string(kHost) + "\n", "keys:2: no secret"},
      {example + " " + example + " " + example, "keys:1: more than two"},
      {"* " + example.substr(0, 30) + ":", "keys:1: not a DH-HMAC-CHAP secret"},
  };
  for (const auto& [text, why] : cases) {
    const auto pairs = parse_secrets(text, "keys");
    ASSERT_FALSE(pairs.ok()) << text;
    EXPECT_TRUE(pairs.error().text.starts_with(why)) << pairs.error().text;
    EXPECT_EQ(pairs.error().text.find("ia6z"), std::string::npos) << "shows the secret";
  }
}

TEST(Secrets, FilesBelongToTheirOwnerAlone) {
  const std::string path = testing::TempDir() + "fabricbench_secrets";
  std::ofstream(path) << kExample << "\n";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(read_secret_file(path).ok());
  for (const mode_t mode : {0640u, 0604u, 0620u, 0602u}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const auto refused = read_secret_file(path);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().text.find("chmod 600"), std::string::npos) << refused.error().text;
  }
  std::filesystem::remove(path);
  EXPECT_NE(read_secret_file(path).error().text.find("No such file"), std::string::npos);
  EXPECT_NE(read_secret_file("/").error().text.find("not a regular file"), std::string::npos);
}

TEST(Nonces, AreAFunctionOfTheSeedInVirtualTime) {
  const auto one = World::make_virtual(7), same = World::make_virtual(7), other = World::make_virtual(8);
  const Bytes first = make_nonces(*one, "a")->bytes(64);
  EXPECT_EQ(make_nonces(*same, "a")->bytes(64), first);
  EXPECT_NE(make_nonces(*other, "a")->bytes(64), first);
  EXPECT_NE(make_nonces(*one, "b")->bytes(64), first);
  EXPECT_NE(system_nonces()->bytes(64), system_nonces()->bytes(64));
  EXPECT_EQ(system_nonces()->bytes(1000).size(), 1000u);
}

TEST(Nonces, SequenceNumbersSkipZero) {
  class Fixed final : public NonceSource {
   public:
    void fill(MutableBytes bytes) override {
      // Nothing but zero at first: that is no sequence number.
      for (auto& byte : bytes) byte = calls_ == 0 ? 0x00 : 0xFF;
      ++calls_;
    }

   private:
    int calls_ = 0;
  } nonces;
  EXPECT_EQ(nonces.sequence_number(), 0xFFFFFFFFu);
  EXPECT_EQ(nonces.sequence_number(), 1u);
  EXPECT_EQ(nonces.sequence_number(), 2u);
}

}  // namespace
}  // namespace fb::auth
