#include "model/auth/secret.h"

#include <fcntl.h>
#include <isa-l/crc.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "wire/fabrics/nqn.h"

namespace fb::auth {

namespace {

constexpr std::string_view kPrefix = "DHHC-1:";
constexpr std::string_view kPurpose = "NVMe-over-Fabrics";
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kFileMax = 1u << 20;

ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::uint32_t crc_of(ByteView secret) {
  return crc32_gzip_refl(0, secret.data(), secret.size());
}

bool base64_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

std::optional<Bytes> from_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  if (text.empty() || text.size() % 4 != 0 ||
      !std::all_of(digits.begin(), digits.end(), base64_character)) {
    return std::nullopt;
  }
  Bytes out(text.size() / 4 * 3);
  const ByteView in = as_bytes(text);
  if (EVP_DecodeBlock(out.data(), in.data(), static_cast<int>(in.size())) < 0) return std::nullopt;
  out.resize(out.size() - padding);
  return out;
}

std::string to_base64(ByteView bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  EVP_EncodeBlock(reinterpret_cast<std::uint8_t*>(out.data()), bytes.data(),
                  static_cast<int>(bytes.size()));
  out.pop_back();
  return out;
}

bool legal_length(std::size_t bytes) { return bytes == 32 || bytes == 48 || bytes == 64; }

Failure<Problem> wrong(std::string_view why) {
  return {Problem{"not a DH-HMAC-CHAP secret: " + std::string(why)}};
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kSpace); at != std::string_view::npos;
       at = line.find_first_not_of(kSpace, at)) {
    const std::size_t end = std::min(line.find_first_of(kSpace, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

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

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

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
  auto bytes = from_base64(rest.substr(3, rest.size() - 4));
  if (!bytes) return wrong("what stands between the colons is not BASE64");
  if (bytes->size() < kCrcBytes || !legal_length(bytes->size() - kCrcBytes)) {
    return wrong("its length is none of 32, 48 and 64 bytes");
  }
  const std::size_t length = bytes->size() - kCrcBytes;
  const bool intact = load_le<std::uint32_t>(bytes->data() + length) ==
                      crc_of(ByteView{*bytes}.first(length));
  bytes->resize(length);
  if (!intact) return wrong("the CRC-32 does not match");
  return Secret(std::move(*bytes), transform);
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
  Bytes with_crc = bytes_;
  with_crc.resize(bytes_.size() + kCrcBytes);
  store_le<std::uint32_t>(with_crc.data() + bytes_.size(), crc_of(bytes_));
  const int hash = transform_ ? static_cast<int>(*transform_) : 0;
  return std::string(kPrefix) + "0" + std::to_string(hash) + ":" + to_base64(with_crc) + ":";
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
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words.front().starts_with('#')) continue;
    auto pair = parse_line(words);
    if (!pair) {
      return Failure{Problem{std::string(name) + ":" + std::to_string(number) + ": " +
                             pair.error().text}};
    }
    pairs.push_back(std::move(pair).value());
  }
  if (pairs.empty()) return Failure{Problem{std::string(name) + ": holds no secret"}};
  return pairs;
}

Result<std::vector<SecretPair>> read_secret_file(const std::string& path) {
  const auto problem = [&](const std::string& why) { return Failure{Problem{path + ": " + why}}; };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return problem(std::strerror(errno));
  struct stat facts = {};
  std::string text;
  std::string why;
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    why = "not a regular file";
  } else if ((facts.st_mode & 0077) != 0) {
    why = "others than its owner may read or change it; chmod 600 it";
  } else if (facts.st_size > static_cast<off_t>(kFileMax)) {
    why = "too large for a file of secrets";
  } else {
    std::array<char, 4096> part = {};
    for (ssize_t n = 0; (n = ::read(file, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(n));
    }
    OPENSSL_cleanse(part.data(), part.size());
  }
  ::close(file);
  if (!why.empty()) return problem(why);
  auto pairs = parse_secrets(text, path);
  OPENSSL_cleanse(text.data(), text.size());
  return pairs;
}

}  // namespace fb::auth
