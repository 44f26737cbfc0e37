#include "conformance/runner/raw_tls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "conformance/runner/waits.h"
#include "model/auth/algorithms.h"

namespace fb::conformance {

namespace {

using auth::AuthHash;
using namespace tls_number;

enum Extension : std::uint16_t {
  kGroups = 10,
  kSignatureAlgorithms = 13,
  kPreSharedKey = 41,
  kEarlyData = 42,
  kSupportedVersions = 43,
  kPskModes = 45,
  kKeyShare = 51
};
constexpr std::uint8_t kClientHello = 1, kServerHello = 2;
constexpr std::size_t kRandomBytes = 32, kHandshakeHeader = 4, kRecordHeader = 5;

class Writer {
 public:
  Bytes bytes;
  void u8(unsigned value) { bytes.push_back(static_cast<std::uint8_t>(value)); }
  void u16(std::size_t value) {
    u8(static_cast<unsigned>(value >> 8 & 0xFF));
    u8(static_cast<unsigned>(value & 0xFF));
  }
  void put(ByteView more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
  /// A part behind a length of two bytes.
  void counted(ByteView part) {
    u16(part.size());
    put(part);
  }
  void extension(std::uint16_t type, ByteView body) {
    u16(type);
    counted(body);
  }
};

/// Reads without running over the end; `good` tells whether it would have.
class Reader {
 public:
  explicit Reader(ByteView bytes) : rest_(bytes) {}
  bool good = true;
  bool empty() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }
  std::uint8_t u8() {
    const ByteView one = take(1);
    return one.empty() ? std::uint8_t{0} : one[0];
  }
  std::uint16_t u16() {
    const ByteView two = take(2);
    return two.empty() ? std::uint16_t{0} : load_be<std::uint16_t>(two.data());
  }
  ByteView take(std::size_t size) {
    if (size > rest_.size()) {
      good = false;
      rest_ = {};
      return {};
    }
    const ByteView part = rest_.first(size);
    rest_ = rest_.subspan(size);
    return part;
  }

 private:
  ByteView rest_;
};

std::vector<std::uint16_t> words_in(ByteView bytes) {
  std::vector<std::uint16_t> found;
  for (; bytes.size() >= 2; bytes = bytes.subspan(2)) found.push_back(load_be<std::uint16_t>(bytes.data()));
  return found;
}

Bytes as_words(const std::vector<std::uint16_t>& values) {
  Writer list;
  for (const std::uint16_t value : values) list.u16(value);
  return list.bytes;
}

AuthHash hash_of(const auth::TlsPsk& psk) { return psk.hash == auth::PskHash::sha_256 ? AuthHash::sha_256 : AuthHash::sha_384; }

Bytes expand_label(AuthHash hash, ByteView secret, std::string_view label, ByteView context) {
  const std::string whole = "tls13 " + std::string(label);
  Writer info;
  info.u16(auth::hash_bytes(hash));
  info.u8(static_cast<unsigned>(whole.size()));
  info.put({reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size()});
  info.u8(static_cast<unsigned>(context.size()));
  info.put(context);
  info.u8(1);  // the first block is all we need
  return auth::hmac(hash, secret, {info.bytes});
}

Bytes record(std::uint8_t type, ByteView body) {
  Writer out;
  out.u8(type);
  out.u16(0x0301);
  out.counted(body);
  return out.bytes;
}

void set_length(Bytes& message) {
  const std::size_t length = message.size() - kHandshakeHeader;
  message[1] = static_cast<std::uint8_t>(length >> 16);
  message[2] = static_cast<std::uint8_t>(length >> 8);
  message[3] = static_cast<std::uint8_t>(length);
}

Bytes hello_extensions(const TlsHello& hello, Rng& random) {
  Writer list;
  Writer part;
  part.u8(static_cast<unsigned>(hello.versions.size() * 2));
  part.put(as_words(hello.versions));
  list.extension(kSupportedVersions, part.bytes);
  part = {};
  part.counted(as_words({0x0403, 0x0804}));
  list.extension(kSignatureAlgorithms, part.bytes);
  if (!hello.groups.empty()) {
    part = {};
    part.counted(as_words(hello.groups));
    list.extension(kGroups, part.bytes);
    Writer shares;
    if (std::find(hello.groups.begin(), hello.groups.end(), kFfdhe3072) != hello.groups.end()) {
      Bytes exponent(32);
      for (std::uint8_t& byte : exponent) byte = static_cast<std::uint8_t>(random.next());
      shares.u16(kFfdhe3072);
      shares.counted(auth::dh_public(auth::DhGroup::ffdhe3072, exponent));
    }
    part = {};
    part.counted(shares.bytes);
    list.extension(kKeyShare, part.bytes);
  }
  if (!hello.modes.empty()) {
    part = {};
    part.u8(static_cast<unsigned>(hello.modes.size()));
    part.put(hello.modes);
    list.extension(kPskModes, part.bytes);
  }
  if (hello.early_data) list.extension(kEarlyData, {});
  return list.bytes;
}

void read_extension(TlsHello& hello, std::uint16_t type, ByteView body) {
  Reader in(body);
  switch (type) {
    case kSupportedVersions:
      hello.versions = words_in(in.take(in.u8()));
      break;
    case kGroups:
      hello.groups = words_in(in.take(in.u16()));
      break;
    case kEarlyData:
      hello.early_data = true;
      break;
    case kPskModes: {
      const ByteView modes = in.take(in.u8());
      hello.modes.assign(modes.begin(), modes.end());
      break;
    }
    case kKeyShare: {
      Reader list(in.take(in.u16()));
      while (!list.empty()) {
        hello.shares.push_back(list.u16());
        list.take(list.u16());
      }
      in.good = in.good && list.good;
      break;
    }
    case kPreSharedKey: {
      Reader list(in.take(in.u16()));
      while (!list.empty()) {
        const ByteView name = list.take(list.u16());
        hello.identities.emplace_back(name.begin(), name.end());
        list.take(4);
      }
      Reader binders(in.take(in.u16()));
      while (!binders.empty()) {
        const ByteView binder = binders.take(binders.u8());
        hello.binders.emplace_back(binder.begin(), binder.end());
      }
      in.good = in.good && list.good && binders.good;
      break;
    }
    default:
      return;
  }
  hello.well_formed = hello.well_formed && in.good;
}

}  // namespace

TlsHello TlsHello::parse(ByteView message) {
  TlsHello hello;
  hello.versions.clear();
  hello.suites.clear();
  hello.groups.clear();
  hello.modes.clear();
  Reader in(message);
  hello.well_formed = in.u8() == kClientHello;
  in.take(3);
  const std::uint16_t legacy = in.u16();
  in.take(kRandomBytes);
  in.take(in.u8());
  hello.suites = words_in(in.take(in.u16()));
  in.take(in.u8());
  std::size_t binders_at = 0;
  if (!in.empty()) {
    Reader list(in.take(in.u16()));
    while (!list.empty()) {
      const std::uint16_t type = list.u16();
      const ByteView body = list.take(list.u16());
      read_extension(hello, type, body);
      if (type == kPreSharedKey && body.size() >= 2) {
        const std::size_t identities = 2u + load_be<std::uint16_t>(body.data());
        const std::size_t end = message.size() - in.left() - list.left();
        if (identities < body.size()) binders_at = end - body.size() + identities;
      }
    }
    hello.well_formed = hello.well_formed && list.good;
  }
  hello.well_formed = hello.well_formed && in.good;
  if (hello.versions.empty()) hello.versions = {legacy};
  hello.up_to_binders.assign(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(binders_at));
  return hello;
}

Bytes binder_of(const auth::TlsPsk& psk, ByteView up_to_binders) {
  const AuthHash hash = hash_of(psk);
  const Bytes zeroes(auth::hash_bytes(hash));
  const Bytes early = auth::hmac(hash, zeroes, {psk.key});
  const Bytes key = expand_label(hash, early, "ext binder", auth::digest(hash, {}));
  const Bytes finished = expand_label(hash, key, "finished", {});
  return auth::hmac(hash, finished, {auth::digest(hash, up_to_binders)});
}

Bytes client_hello(const TlsHello& hello, const auth::TlsPsk* psk, Rng& random, bool binder_right) {
  Writer message;
  message.u8(kClientHello);
  message.u8(0);
  message.u16(0);
  message.u16(kTls12);
  for (std::size_t i = 0; i < kRandomBytes; ++i) message.u8(static_cast<unsigned>(random.next() & 0xFF));
  message.u8(0);
  message.counted(as_words(hello.suites));
  message.u8(1);
  message.u8(0);
  Writer extensions;
  extensions.put(hello_extensions(hello, random));
  if (psk == nullptr) {
    message.counted(extensions.bytes);
    set_length(message.bytes);
    return record(kHandshake, message.bytes);
  }
  const std::size_t binder_bytes = auth::hash_bytes(hash_of(*psk));
  Writer identities;
  identities.counted({reinterpret_cast<const std::uint8_t*>(psk->identity.data()), psk->identity.size()});
  identities.u16(0);
  identities.u16(0);
  Writer offer;
  offer.counted(identities.bytes);
  offer.u16(1 + binder_bytes);
  offer.u8(static_cast<unsigned>(binder_bytes));
  offer.put(Bytes(binder_bytes));
  extensions.extension(kPreSharedKey, offer.bytes);
  message.counted(extensions.bytes);
  set_length(message.bytes);
  const std::size_t binder_at = message.bytes.size() - binder_bytes;
  Bytes binder = binder_of(*psk, ByteView(message.bytes).first(binder_at - 3));
  if (!binder_right) binder[0] ^= 0xFF;
  std::copy(binder.begin(), binder.end(), message.bytes.begin() + static_cast<std::ptrdiff_t>(binder_at));
  return record(kHandshake, message.bytes);
}

std::string TlsAnswer::text() const {
  switch (kind) {
    case Kind::server_hello:
      return fmt::format("a ServerHello: version {:04X}h, suite {:04X}h, group {:04X}h, {}", version, suite, group,
                         psk ? "with PSK" : "without PSK");
    case Kind::alert:
      return fmt::format("alert {}", alert);
    case Kind::closed:
      return "the connection ended";
    case Kind::other:
      return "something that is not TLS";
    case Kind::silence:
      break;
  }
  return "nothing, and the connection stays";
}

RawTls::RawTls(World& world, net::StreamHost& host, const IpAddress& local) : world_(world), host_(host), local_(local) {}

RawTls::~RawTls() = default;

void RawTls::connect(const Endpoint& to) {
  auto made = host_.connect({local_, 0}, to, *this);
  if (!made) throw CannotArrange{made.error().text};
  stream_ = std::move(made).value();
  waits::until(
      world_, [&] { return connected_ || closed_; }, kPatience);
  if (!connected_) throw CannotArrange{"no TCP connection: " + why_};
}

Endpoint RawTls::listen(std::uint16_t port) {
  auto made = host_.listen({local_, port}, *this);
  if (!made) throw CannotArrange{made.error().text};
  listener_ = std::move(made).value();
  return listener_->local();
}

void RawTls::on_stream(std::unique_ptr<net::Stream> stream) {
  if (stream_ != nullptr) return;  // destroyed: only the first one counts
  stream_ = std::move(stream);
  connected_ = true;
  stream_->set_handler(this);
}

void RawTls::on_readable() {
  std::array<std::uint8_t, 16384> room;
  for (;;) {
    const std::array<MutableBytes, 1> part{MutableBytes(room)};
    const std::size_t got = stream_->receive(part);
    all_.insert(all_.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(got));
    if (got < room.size()) break;
  }
  if (stream_->finished()) closed_ = true;
}

void RawTls::on_end(const net::StreamEnd& end) {
  closed_ = true;
  why_ = end.text;
}

void RawTls::send(ByteView bytes) {
  if (stream_ == nullptr || closed_) return;
  const std::array<ByteView, 1> parts{bytes};
  if (stream_->send(parts) != bytes.size()) throw CannotArrange{"no room for a few bytes"};
}

std::optional<TlsRecord> RawTls::next(Duration limit) {
  std::size_t size = 0;
  const auto whole = [&] {
    const ByteView rest = ByteView(all_).subspan(taken_);
    if (rest.size() < kRecordHeader) return false;
    size = kRecordHeader + load_be<std::uint16_t>(rest.data() + 3);
    return rest.size() >= size;
  };
  waits::until(
      world_, [&] { return whole() || closed_; }, limit);
  if (!whole()) return std::nullopt;
  const ByteView rest = ByteView(all_).subspan(taken_, size);
  taken_ += size;
  return TlsRecord{rest[0], Bytes(rest.begin() + kRecordHeader, rest.end())};
}

TlsAnswer RawTls::answer(Duration limit) {
  TlsAnswer said;
  waits::until(
      world_, [&] { return all_.size() > taken_ || closed_; }, limit);
  if (all_.size() == taken_) {
    said.kind = closed_ ? TlsAnswer::Kind::closed : TlsAnswer::Kind::silence;
    return said;
  }
  said.kind = TlsAnswer::Kind::other;
  if (all_[taken_] != kAlert && all_[taken_] != kHandshake) return said;
  const auto got = next(limit);
  if (!got) return said;
  if (got->type == kAlert && got->body.size() >= 2) {
    said.kind = TlsAnswer::Kind::alert;
    said.alert = got->body[1];
    return said;
  }
  Reader in(got->body);
  if (in.u8() != kServerHello) return said;
  in.take(3);
  said.version = in.u16();
  in.take(kRandomBytes);
  in.take(in.u8());
  said.suite = in.u16();
  in.u8();
  Reader list(in.empty() ? ByteView() : in.take(in.u16()));
  while (!list.empty()) {
    const std::uint16_t type = list.u16();
    const ByteView body = list.take(list.u16());
    if (type == kSupportedVersions && body.size() >= 2) said.version = load_be<std::uint16_t>(body.data());
    if (type == kKeyShare && body.size() >= 2) said.group = load_be<std::uint16_t>(body.data());
    if (type == kPreSharedKey) said.psk = true;
  }
  if (in.good && list.good) said.kind = TlsAnswer::Kind::server_hello;
  return said;
}

std::optional<TlsHello> RawTls::hello(Duration limit) {
  waits::until(
      world_, [&] { return !all_.empty() || closed_; }, limit);
  if (all_.empty() || all_[0] != kHandshake) return std::nullopt;
  const auto got = next(limit);
  if (!got) return std::nullopt;
  return TlsHello::parse(got->body);
}

bool RawTls::wait_closed(Duration limit) {
  return waits::until(
      world_, [&] { return closed_; }, limit);
}

}  // namespace fb::conformance
