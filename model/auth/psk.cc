#include "model/auth/psk.h"

#include <algorithm>

#include "model/auth/cleanse.h"
#include "model/auth/key_text.h"
#include "wire/fabrics/nqn.h"

namespace fb::auth {

namespace {

constexpr std::string_view kPrefix = "NVMeTLSkey-1:";
constexpr std::string_view kAnyVersion = "NVMeTLSkey-";
constexpr std::string_view kPurpose = "NVMe-over-Fabrics";
constexpr std::string_view kLabelPrefix = "tls13 ";
constexpr std::size_t kContextMax = 255;

bool legal_length(std::size_t bytes) { return bytes == 32 || bytes == 48; }
PskHash hash_of_length(std::size_t bytes) { return bytes == 32 ? PskHash::sha_256 : PskHash::sha_384; }
AuthHash plain(PskHash hash) { return hash == PskHash::sha_256 ? AuthHash::sha_256 : AuthHash::sha_384; }
std::string two_digits(PskHash hash) { return hash == PskHash::sha_256 ? "01" : "02"; }

Failure<Problem> wrong(std::string_view why) { return {Problem{"not a TLS key: " + std::string(why)}}; }

void append(Bytes& to, std::string_view text) { to.insert(to.end(), text.begin(), text.end()); }

Bytes info_of(std::string_view label, std::string_view context, std::size_t length, PskDerivation how) {
  BENCH_ASSERT(context.size() <= kContextMax, "a context has one byte of length");
  const bool old = how == PskDerivation::old_libnvme;
  Bytes info(2);
  const auto size = static_cast<std::uint16_t>(length);
  old ? store_le<std::uint16_t>(info.data(), size) : store_be<std::uint16_t>(info.data(), size);
  if (!old) info.push_back(static_cast<std::uint8_t>(kLabelPrefix.size() + label.size()));
  append(info, kLabelPrefix);
  append(info, label);
  if (!old) info.push_back(static_cast<std::uint8_t>(context.size()));
  append(info, context);
  return info;
}

// HKDF-Extract without a salt, then HKDF-Expand-Label (RFC 5869, RFC 8446 7.1).
Bytes hkdf(PskHash hash, ByteView input, std::string_view label, std::string_view context, std::size_t length, PskDerivation how) {
  const AuthHash h = plain(hash);
  BENCH_ASSERT(length <= hash_bytes(h), "one round is enough");
  const Bytes zeros(hash_bytes(h));
  Bytes prk = hmac(h, zeros, {input});
  const std::uint8_t round[1] = {1};
  Bytes out = hmac(h, prk, {info_of(label, context, length, how), round});
  cleanse(prk.data(), prk.size());
  out.resize(length);
  return out;
}

}  // namespace

std::size_t psk_bytes(PskHash hash) { return hash == PskHash::sha_256 ? 32 : 48; }

// ------------------------------------------------------------------------------- configured PSKs

ConfiguredPsk::ConfiguredPsk(Bytes bytes, std::optional<PskHash> transform) : bytes_(std::move(bytes)), transform_(transform) {
  BENCH_ASSERT(legal_length(bytes_.size()), "PSKs have 32 or 48 bytes");
  BENCH_ASSERT(!transform_ || psk_bytes(*transform_) == bytes_.size(), "the hash fits the length");
}

ConfiguredPsk::~ConfiguredPsk() { cleanse(bytes_.data(), bytes_.size()); }

Result<ConfiguredPsk> ConfiguredPsk::parse(std::string_view text) {
  if (!text.starts_with(kPrefix)) return wrong("it does not begin with NVMeTLSkey-1:");
  const std::string_view rest = text.substr(kPrefix.size());
  if (rest.size() < 4 || rest[2] != ':' || rest.back() != ':') {
    return wrong("the form is NVMeTLSkey-1:hh:BASE64: with two digits and a colon at the end");
  }
  if (rest[0] != '0' || rest[1] < '0' || rest[1] > '2') {
    return wrong("the hash is none of 00, 01 and 02");
  }
  std::optional<PskHash> transform;
  if (rest[1] != '0') transform = static_cast<PskHash>(rest[1] - '0');
  KeyText key = from_base64_with_crc(rest.substr(3, rest.size() - 4), legal_length);
  switch (key.fault) {
    case KeyTextFault::none:
      break;
    case KeyTextFault::not_base64:
      return wrong("what stands between the colons is not BASE64");
    case KeyTextFault::length:
      return wrong("its length is neither 32 nor 48 bytes");
    case KeyTextFault::crc:
      return wrong("the CRC-32 does not match");
  }
  if (transform && psk_bytes(*transform) != key.bytes.size()) {
    cleanse(key.bytes.data(), key.bytes.size());
    return wrong("01 goes with 32 bytes and 02 with 48");
  }
  return ConfiguredPsk(std::move(key.bytes), transform);
}

ConfiguredPsk ConfiguredPsk::generate(NonceSource& nonces, PskHash goes_with, bool transform) {
  return {nonces.bytes(psk_bytes(goes_with)), transform ? std::optional{goes_with} : std::nullopt};
}

PskHash ConfiguredPsk::goes_with() const { return hash_of_length(bytes_.size()); }

Bytes ConfiguredPsk::retained(std::string_view hostnqn, PskDerivation how) const {
  if (!transform_) return bytes_;
  return hkdf(*transform_, bytes_, "HostNQN", hostnqn, bytes_.size(), how);
}

std::string ConfiguredPsk::text() const {
  return std::string(kPrefix) + (transform_ ? two_digits(*transform_) : "00") + ":" + with_crc_to_base64(bytes_) + ":";
}

// ------------------------------------------------------------------------------------ identities

std::optional<PskIdentity> PskIdentity::parse(std::string_view text) {
  // "NVMe" version origin two digits
  if (text.size() < 9 || !text.starts_with("NVMe") || text[8] != ' ') return std::nullopt;
  PskIdentity read;
  if (text[4] != '0' && text[4] != '1') return std::nullopt;
  read.version = text[4] - '0';
  if (text[5] != 'R' && text[5] != 'G') return std::nullopt;
  read.origin = static_cast<PskOrigin>(text[5]);
  const std::string_view hash = text.substr(6, 2);
  if (hash != "01" && hash != "02") return std::nullopt;
  read.hash = hash == "01" ? PskHash::sha_256 : PskHash::sha_384;
  text.remove_prefix(9);
  std::vector<std::string> words;
  while (true) {
    const std::size_t end = text.find(' ');
    if (end == 0 || text.empty()) return std::nullopt;
    words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (words.size() != (read.version == 0 ? 2u : 3u)) return std::nullopt;
  read.hostnqn = std::move(words[0]);
  read.subnqn = std::move(words[1]);
  if (read.version > 0) read.digest = std::move(words[2]);
  return read;
}

std::string PskIdentity::text() const {
  std::string made = "NVMe" + std::to_string(version) + static_cast<char>(origin) + two_digits(hash) + " " + hostnqn + " " + subnqn;
  if (version > 0) made += " " + digest;
  return made;
}

TlsPsk::~TlsPsk() { cleanse(key.data(), key.size()); }

std::string psk_digest(PskHash hash, ByteView input, std::string_view hostnqn, std::string_view subnqn) {
  const ByteView space = as_bytes(" ");
  return to_base64(hmac(plain(hash), input, {as_bytes(hostnqn), space, as_bytes(subnqn), space, as_bytes(kPurpose)}));
}

Result<TlsPsk> derive_tls_psk(PskIdentity whose, ByteView input, PskDerivation how) {
  if (whose.version > 0) {
    whose.digest = psk_digest(whose.hash, input, whose.hostnqn, whose.subnqn);
  }
  std::string identity = whose.text();
  const std::string context = whose.version == 0 ? identity : two_digits(whose.hash) + " " + whose.digest;
  if (context.size() > kContextMax) {
    return Failure{
        Problem{"the PSK identity has " + std::to_string(identity.size()) + " bytes, and version 0 can derive a key from at most 255"}};
  }
  Bytes key = hkdf(whose.hash, input, "nvme-tls-psk", context, psk_bytes(whose.hash), how);
  return TlsPsk(std::move(identity), std::move(key), whose.hash);
}

// ----------------------------------------------------------------------------------------- store

bool PskStore::Line::admits(std::string_view host, std::string_view subsystem) const {
  return (hostnqn == "*" || hostnqn == host) && (subnqn == "*" || subnqn == subsystem);
}

Result<void> PskStore::take(std::vector<std::string_view> words) {
  // Words that are no key go into no message: one of them might be a key with a fault.
  const std::string_view last = words.back();
  if (!last.starts_with(kAnyVersion)) {
    return Failure{Problem{"the last word of the line is no TLS key (NVMeTLSkey-1:...)"}};
  }
  auto psk = ConfiguredPsk::parse(last);
  if (!psk) return Failure{psk.error()};
  words.pop_back();
  if (!words.empty() && words[0].starts_with("NVMe")) {
    const auto identity =
        PskIdentity::parse(std::string_view(words.front().data(), static_cast<std::size_t>(words.back().end() - words.front().begin())));
    if (!identity) {
      return Failure{Problem{"the words in front of the key are no PSK identity"}};
    }
    if (psk_bytes(identity->hash) != psk->bytes().size()) {
      return Failure{Problem{"the key's length is not that of the identity's hash"}};
    }
    add({identity->text(), {psk->bytes().begin(), psk->bytes().end()}, identity->hash});
    return {};
  }
  if (words.size() != 0 && words.size() != 2) {
    return Failure{Problem{"in front of the key stand a host NQN and a subsystem NQN, a PSK identity, or nothing"}};
  }
  Line line{"*", "*", std::move(psk).value()};
  if (words.size() == 2) {
    for (const std::string_view word : words) {
      if (word != "*" && !fabrics::valid_nqn(word)) {
        return Failure{Problem{"a word in front of the key is neither an NQN nor *"}};
      }
    }
    line.hostnqn = words[0];
    line.subnqn = words[1];
  }
  lines_.push_back(std::move(line));
  return {};
}

Result<PskStore> PskStore::parse(std::string_view text, std::string_view name) {
  PskStore store;
  auto read = for_each_line(text, name, [&](std::vector<std::string_view> words) { return store.take(std::move(words)); });
  if (!read) return Failure{read.error()};
  if (store.lines_.empty() && store.ready_.empty()) {
    return Failure{Problem{std::string(name) + ": holds no TLS key"}};
  }
  return store;
}

Result<PskStore> PskStore::read_file(const std::string& path) {
  auto text = read_private_file(path);
  if (!text) return Failure{text.error()};
  return parse(text->view(), path);
}

void PskStore::add(TlsPsk psk) {
  remove(psk.identity);
  ready_.push_back(std::move(psk));
}

void PskStore::remove(std::string_view identity) {
  std::erase_if(ready_, [&](const TlsPsk& psk) { return psk.identity == identity; });
}

Result<TlsPsk> PskStore::derive(const Line& line, PskIdentity whose) const {
  Bytes input = line.psk.retained(whose.hostnqn, how_);
  auto psk = derive_tls_psk(std::move(whose), input, how_);
  cleanse(input.data(), input.size());
  return psk;
}

const PskStore::Line* PskStore::line_for(std::string_view hostnqn, std::string_view subnqn) const {
  const Line* found = nullptr;
  for (const Line& line : lines_) {
    if (!line.admits(hostnqn, subnqn)) continue;
    if (line.names_both()) return &line;
    if (found == nullptr) found = &line;
  }
  return found;
}

const ConfiguredPsk* PskStore::configured_for(std::string_view hostnqn, std::string_view subnqn) const {
  const Line* const line = line_for(hostnqn, subnqn);
  return line == nullptr ? nullptr : &line->psk;
}

Result<TlsPsk> PskStore::for_pair(std::string_view hostnqn, std::string_view subnqn, int version) const {
  const Line* const found = line_for(hostnqn, subnqn);
  // A key with an identity of its own names both, too.
  if (found == nullptr || !found->names_both()) {
    for (const TlsPsk& psk : ready_) {
      const auto whose = PskIdentity::parse(psk.identity);
      if (whose && whose->hostnqn == hostnqn && whose->subnqn == subnqn) return psk;
    }
  }
  if (found == nullptr) {
    return Failure{Problem{"no TLS key for host " + std::string(hostnqn) + " and subsystem " + std::string(subnqn)}};
  }
  return derive(*found, {version, PskOrigin::retained, found->psk.goes_with(), std::string(hostnqn), std::string(subnqn)});
}

std::optional<TlsPsk> PskStore::any() const {
  if (lines_.empty()) return ready_.empty() ? std::nullopt : std::optional(ready_.front());
  const Line& first = lines_.front();
  auto psk = derive(first, {0, PskOrigin::retained, first.psk.goes_with(), first.hostnqn, first.subnqn});
  return psk ? std::optional(std::move(psk).value()) : std::nullopt;
}

std::optional<TlsPsk> PskStore::find(std::string_view identity) const {
  for (const TlsPsk& psk : ready_) {
    if (psk.identity == identity) return psk;
  }
  const auto whose = PskIdentity::parse(identity);
  if (!whose || whose->origin != PskOrigin::retained) return std::nullopt;
  // Two lines may admit a pair, and version 0 does not say which key is meant: as for_pair() chooses.
  for (const bool exact : {true, false}) {
    for (const Line& line : lines_) {
      if (line.names_both() != exact || line.psk.goes_with() != whose->hash || !line.admits(whose->hostnqn, whose->subnqn)) {
        continue;
      }
      auto psk = derive(line, *whose);
      if (psk && equal_in_constant_time(as_bytes(psk->identity), as_bytes(identity))) {
        return std::move(psk).value();
      }
    }
  }
  return std::nullopt;
}

}  // namespace fb::auth
