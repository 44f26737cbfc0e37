#include "conformance/evidence/tls_opener.h"

#include <fmt/format.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <memory>

namespace fb::evidence {

namespace {

constexpr std::size_t kRecordHeader = 5, kHandshakeHeader = 4, kRandom = 32, kIv = 12;
constexpr std::size_t kRecordMax = (16 << 10) + 256, kHelloMax = 128 << 10;
constexpr std::uint8_t kChangeCipherSpec = 20, kHandshake = 22, kApplication = 23;
constexpr std::uint8_t kClientHello = 1, kServerHello = 2;
constexpr std::uint8_t kRetryRandom[kRandom] = {  // of a ServerHello that asks for another ClientHello
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
    0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C};
constexpr std::size_t kSecretsMax = 65'536;

std::string key_of(std::string_view label, ByteView random) {
  std::string key(label);
  key += ' ';
  return key + to_hex(random);
}

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
  line.remove_prefix(begin);
  const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

// HKDF-Expand-Label of RFC 8446, for what one block of the hash is enough for.
Bytes expand(const char* digest, const Bytes& secret, std::string_view label, std::size_t length) {
  Bytes info = {static_cast<std::uint8_t>(length >> 8 & 0xFF), static_cast<std::uint8_t>(length & 0xFF),
                static_cast<std::uint8_t>(label.size() + 6)};
  for (const std::string_view part : {std::string_view("tls13 "), label}) {
    for (const char c : part) info.push_back(static_cast<std::uint8_t>(c));
  }
  info.push_back(0);  // no context
  info.push_back(1);  // the first block
  Bytes block(EVP_MAX_MD_SIZE);
  unsigned size = 0;
  const EVP_MD* const hash = EVP_get_digestbyname(digest);
  const int secret_size = static_cast<int>(secret.size());
  if (hash == nullptr || HMAC(hash, secret.data(), secret_size, info.data(), info.size(), block.data(), &size) == nullptr) return {};
  block.resize(std::min<std::size_t>(length, size));
  return block;
}

}  // namespace

// -------------------------------------------------------------------------------------------- keys

void TlsKeys::add(std::string_view keylog) {
  while (!keylog.empty()) {
    const std::size_t end = std::min(keylog.find('\n'), keylog.size());
    std::string_view line = keylog.substr(0, end);
    keylog.remove_prefix(std::min(end + 1, keylog.size()));
    const std::string_view label = next_word(line);
    const Bytes random = from_hex(next_word(line));
    Bytes secret = from_hex(next_word(line));
    if (label.empty() || label[0] == '#' || random.size() != kRandom || secret.empty() || secret.size() > EVP_MAX_MD_SIZE) continue;
    if (secrets_.size() < kSecretsMax) secrets_.insert_or_assign(key_of(label, random), std::move(secret));
  }
}

const Bytes* TlsKeys::known(const std::string& key) const {
  const auto found = secrets_.find(key);
  return found == secrets_.end() ? nullptr : &found->second;
}

const Bytes* TlsKeys::find(std::string_view label, ByteView client_random) {
  const std::string key = key_of(label, client_random);
  const Bytes* secret = known(key);
  if (secret == nullptr && reload_) {
    add(reload_());
    secret = known(key);
  }
  return secret;
}

// ------------------------------------------------------------------------------------------ records

const TlsOpener::Suite* TlsOpener::suite_of(std::uint16_t code) {
  static constexpr Suite kSuites[] = {
      {0x1301, "aes-128-gcm", "sha256", 16, 16, false},       {0x1302, "aes-256-gcm", "sha384", 32, 16, false},
      {0x1303, "chacha20-poly1305", "sha256", 32, 16, false}, {0x1304, "aes-128-ccm", "sha256", 16, 16, true},
      {0x1305, "aes-128-ccm", "sha256", 16, 8, true},
  };
  const auto found = std::find_if(std::begin(kSuites), std::end(kSuites), [&](const Suite& suite) { return suite.code == code; });
  return found == std::end(kSuites) ? nullptr : found;
}

bool TlsOpener::give_up(std::string why) {
  why_ = std::move(why);
  return false;
}

bool TlsOpener::feed(bool by_client, ByteView bytes, Bytes& plain) {
  if (!why_.empty()) return false;
  Bytes& pending = sides_[by_client].pending;
  pending.insert(pending.end(), bytes.begin(), bytes.end());
  ByteView rest = pending;
  bool good = true;
  while (good && rest.size() >= kRecordHeader) {
    const std::size_t length = load_be<std::uint16_t>(&rest[3]);
    if (rest[0] < kChangeCipherSpec || rest[0] > kApplication || length > kRecordMax) {
      good = give_up("what follows is no record");
      break;
    }
    if (rest.size() < kRecordHeader + length) break;
    good = record(by_client, rest.first(kRecordHeader), rest.subspan(kRecordHeader, length), plain);
    rest = rest.subspan(kRecordHeader + length);
  }
  pending.erase(pending.begin(), pending.end() - static_cast<std::ptrdiff_t>(rest.size()));
  return good;
}

bool TlsOpener::record(bool by_client, ByteView header, ByteView body, Bytes& plain) {
  Side& side = sides_[by_client];
  const std::uint8_t type = header[0];
  if (type == kHandshake && !side.epoch) {
    if (side.hello.size() > kHelloMax) return give_up("a hello without end");
    side.hello.insert(side.hello.end(), body.begin(), body.end());
    return read_hello(by_client);
  }
  if (type != kApplication) return true;
  Bytes inner;
  if (!open_in_some_epoch(by_client, header, body, inner)) {
    return give_up(why_.empty() ? "a record does not open with the secrets of the key log" : why_);
  }
  while (!inner.empty() && inner.back() == 0) inner.pop_back();
  if (inner.empty()) return true;
  const std::uint8_t kind = inner.back();
  inner.pop_back();
  if (kind != kApplication) return true;
  opened_ = true;
  plain.insert(plain.end(), inner.begin(), inner.end());
  return true;
}

bool TlsOpener::read_hello(bool by_client) {
  Bytes& hello = sides_[by_client].hello;
  if (hello.size() < kHandshakeHeader) return true;
  const std::size_t length = std::size_t{hello[1]} << 16 | std::size_t{hello[2]} << 8 | hello[3];
  if (hello.size() < kHandshakeHeader + length) return true;
  const ByteView body = ByteView(hello).subspan(kHandshakeHeader, length);
  constexpr std::size_t kBehindRandom = 2 + kRandom;
  if (hello[0] != (by_client ? kClientHello : kServerHello) || body.size() < kBehindRandom + 1) return give_up("no hello of TLS");
  const ByteView random = body.subspan(2, kRandom);
  if (by_client) {
    client_random_.assign(random.begin(), random.end());
  } else if (!std::equal(random.begin(), random.end(), std::begin(kRetryRandom))) {
    const std::size_t suite = kBehindRandom + 1 + body[kBehindRandom];
    if (body.size() < suite + 2) return give_up("no hello of TLS");
    const auto chosen = load_be<std::uint16_t>(&body[suite]);
    suite_ = suite_of(chosen);
    if (suite_ == nullptr && chosen >> 8 != 0x13) {
      return give_up(fmt::format("it is TLS 1.2 or earlier (cipher suite {:04X}h), and NVMe/TCP uses TLS 1.3", chosen));
    }
    if (suite_ == nullptr) return give_up(fmt::format("its cipher suite {:04X}h is not supported", chosen));
  }
  hello.clear();
  return true;
}

std::optional<TlsOpener::Epoch> TlsOpener::epoch_of(Bytes secret) const {
  Epoch made;
  made.key = expand(suite_->digest, secret, "key", suite_->key_bytes);
  made.iv = expand(suite_->digest, secret, "iv", kIv);
  made.secret = std::move(secret);
  if (made.key.size() != suite_->key_bytes || made.iv.size() != kIv) return std::nullopt;
  return made;
}

bool TlsOpener::enter(Side& side, const char* label) {
  const Bytes* const secret = keys_.find(label, client_random_);
  if (secret == nullptr) return false;
  side.epoch = epoch_of(*secret);
  return side.epoch.has_value();
}

// Neither the end of the handshake nor a key update can be seen from outside: what does not open in the one epoch is tried
// in the next.
bool TlsOpener::open_in_some_epoch(bool by_client, ByteView header, ByteView body, Bytes& inner) {
  Side& side = sides_[by_client];
  if (client_random_.empty() || suite_ == nullptr) return give_up("its handshake is missing");
  const char* const handshake = by_client ? "CLIENT_HANDSHAKE_TRAFFIC_SECRET" : "SERVER_HANDSHAKE_TRAFFIC_SECRET";
  const char* const application = by_client ? "CLIENT_TRAFFIC_SECRET_0" : "SERVER_TRAFFIC_SECRET_0";
  if (!side.epoch && !enter(side, handshake)) return give_up("the key log has no secret of it");
  if (open(*side.epoch, header, body, inner)) return true;
  std::optional<Epoch> next;
  if (side.application) {
    next = epoch_of(expand(suite_->digest, side.epoch->secret, "traffic upd", side.epoch->secret.size()));
  } else if (const Bytes* const secret = keys_.find(application, client_random_)) {
    next = epoch_of(*secret);
  }
  if (!next || !open(*next, header, body, inner)) return false;
  side.epoch = std::move(next);
  side.application = true;
  return true;
}

bool TlsOpener::open(Epoch& epoch, ByteView header, ByteView body, Bytes& inner) const {
  if (body.size() < suite_->tag_bytes) return false;
  const ByteView sealed = body.first(body.size() - suite_->tag_bytes), tag = body.last(suite_->tag_bytes);
  Bytes nonce = epoch.iv;
  for (unsigned i = 0; i < 8; ++i) nonce[kIv - 1 - i] ^= static_cast<std::uint8_t>(epoch.sequence >> 8 * i & 0xFF);
  using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;
  using Cipher = std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)>;
  const Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  const Cipher cipher(EVP_CIPHER_fetch(nullptr, suite_->cipher, nullptr), &EVP_CIPHER_free);
  if (!context || !cipher) return false;
  const int size = static_cast<int>(sealed.size());
  int length = 0;
  inner.assign(sealed.size() + 16, 0);
  auto* const expected = const_cast<std::uint8_t*>(tag.data());  // OpenSSL's call reads it
  bool good = EVP_DecryptInit_ex2(context.get(), cipher.get(), nullptr, nullptr, nullptr) == 1 &&
              EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_IVLEN, kIv, nullptr) == 1 &&
              EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()), expected) == 1 &&
              EVP_DecryptInit_ex2(context.get(), nullptr, epoch.key.data(), nonce.data(), nullptr) == 1;
  // CCM wants to know all of its lengths beforehand, and is done with the one call.
  if (good && suite_->ccm) good = EVP_DecryptUpdate(context.get(), nullptr, &length, nullptr, size) == 1;
  good = good && EVP_DecryptUpdate(context.get(), nullptr, &length, header.data(), static_cast<int>(header.size())) == 1 &&
         EVP_DecryptUpdate(context.get(), inner.data(), &length, sealed.data(), size) == 1;
  if (good && !suite_->ccm) {
    int last = 0;
    good = EVP_DecryptFinal_ex(context.get(), inner.data() + length, &last) == 1;
    length += last;
  }
  if (!good) return false;
  inner.resize(static_cast<std::size_t>(length));
  ++epoch.sequence;
  return true;
}

}  // namespace fb::evidence
