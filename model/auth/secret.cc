#include "model/auth/secret.h"

#include "model/auth/cleanse.h"
#include "model/auth/key_text.h"
#include "wire/fabrics/nqn.h"

namespace fb::auth {

namespace {

constexpr std::string_view kPrefix = "DHHC-1:";
constexpr std::string_view kPurpose = "NVMe-over-Fabrics";

bool legal_length(std::size_t bytes) { return bytes == 32 || bytes == 48 || bytes == 64; }

Failure<Problem> wrong(std::string_view why) { return {Problem{"not a DH-HMAC-CHAP secret: " + std::string(why)}}; }

Result<SecretPair> parse_line(std::vector<std::string_view> words) {
  std::string hostnqn = "*";
  if (!words.front().starts_with("DHHC-")) {
    hostnqn = words.front();
    if (hostnqn != "*" && !fabrics::valid_nqn(hostnqn)) {
      return Failure{Problem{"the first word is neither a host NQN nor * nor a secret"}};
    }
    words.erase(words.begin());
  }
  if (words.empty()) return Failure{Problem{"no secret behind the host NQN"}};
  if (words.size() > 2) return Failure{Problem{"more than two secrets"}};
  auto host = Secret::parse(words[0]);
  if (!host) return Failure{host.error()};
  SecretPair pair{std::move(hostnqn), std::move(host).value()};
  if (words.size() == 1) return pair;
  auto controller = Secret::parse(words[1]);
  if (!controller) return Failure{controller.error()};
  pair.controller = std::move(controller).value();
  return pair;
}

}  // namespace

Secret::~Secret() { cleanse(bytes_.data(), bytes_.size()); }

Result<Secret> Secret::parse(std::string_view text) {
  if (!text.starts_with(kPrefix)) return wrong("it does not begin with DHHC-1:");
  const std::string_view rest = text.substr(kPrefix.size());
  if (rest.size() < 4 || rest[2] != ':' || rest.back() != ':') {
    return wrong("the form is DHHC-1:hh:BASE64: with two digits and a colon at the end");
  }
  std::optional<AuthHash> transform;
  const std::string_view hash = rest.substr(0, 2);
  if (hash[0] != '0' || hash[1] < '0' || hash[1] > '3') {
    return wrong("the hash is none of 00, 01, 02 and 03");
  }
  if (hash[1] != '0') transform = static_cast<AuthHash>(hash[1] - '0');
  KeyText key = from_base64_with_crc(rest.substr(3, rest.size() - 4), legal_length);
  switch (key.fault) {
    case KeyTextFault::none:
      break;
    case KeyTextFault::not_base64:
      return wrong("what stands between the colons is not BASE64");
    case KeyTextFault::length:
      return wrong("its length is none of 32, 48 and 64 bytes");
    case KeyTextFault::crc:
      return wrong("the CRC-32 does not match");
  }
  return Secret(std::move(key.bytes), transform);
}

Secret Secret::generate(NonceSource& nonces, std::size_t bytes, std::optional<AuthHash> transform) {
  BENCH_ASSERT(legal_length(bytes), "secrets have 32, 48 or 64 bytes");
  return {nonces.bytes(bytes), transform};
}

Bytes Secret::key_of(std::string_view nqn) const {
  if (!transform_) return bytes_;
  return hmac(*transform_, bytes_, {as_bytes(nqn), as_bytes(kPurpose)});
}

std::string Secret::text() const {
  const int hash = transform_ ? static_cast<int>(*transform_) : 0;
  return std::string(kPrefix) + "0" + std::to_string(hash) + ":" + with_crc_to_base64(bytes_) + ":";
}

const SecretPair* secrets_of(const std::vector<SecretPair>& known, std::string_view hostnqn) {
  const SecretPair* any = nullptr;
  for (const SecretPair& pair : known) {
    if (pair.hostnqn == hostnqn) return &pair;
    if (pair.hostnqn == "*" && any == nullptr) any = &pair;
  }
  return any;
}

Result<std::vector<SecretPair>> parse_secrets(std::string_view text, std::string_view name) {
  std::vector<SecretPair> pairs;
  auto read = for_each_line(text, name, [&](std::vector<std::string_view> words) -> Result<void> {
    auto pair = parse_line(std::move(words));
    if (!pair) return Failure{pair.error()};
    pairs.push_back(std::move(pair).value());
    return {};
  });
  if (!read) return Failure{read.error()};
  if (pairs.empty()) return Failure{Problem{std::string(name) + ": holds no secret"}};
  return pairs;
}

Result<std::vector<SecretPair>> read_secret_file(const std::string& path) {
  auto text = read_private_file(path);
  if (!text) return Failure{text.error()};
  return parse_secrets(text->view(), path);
}

}  // namespace fb::auth
