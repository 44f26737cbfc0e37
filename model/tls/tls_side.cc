#include "model/tls/tls_side.h"

#include <utility>

namespace fb::transport {

namespace {

tls::Suite suite_of(auth::PskHash hash) {
  return hash == auth::PskHash::sha_256 ? tls::Suite::aes_128_gcm_sha256 : tls::Suite::aes_256_gcm_sha384;
}

}  // namespace

std::string identity_hint(std::string_view error, int identity_version) {
  if (error.find("TLS handshake failed: the peer sent alert") == std::string_view::npos) return {};
  const std::string other = std::to_string(1 - identity_version);
  return "; the peer may know PSK identities of version " + other + " alone (try --psk-identity-version " + other +
         "), or have another key for these two names";
}

/// Connects with the key of two names.
class TlsSide::Named final : public net::StreamHost {
 public:
  Named(TlsSide& side, std::string hostnqn, std::string subnqn) : side_(side), hostnqn_(std::move(hostnqn)), subnqn_(std::move(subnqn)) {}
  Result<std::unique_ptr<net::Stream>> connect(const Endpoint& local, const Endpoint& to, net::StreamHandler& handler) override {
    auto streams = side_.streams_for(hostnqn_, subnqn_);
    if (!streams) return Failure{streams.error()};
    return streams.value()->connect(local, to, handler);
  }
  Result<std::unique_ptr<net::StreamListener>> listen(const Endpoint& local, net::StreamAcceptor& acceptor) override {
    return side_.listening().listen(local, acceptor);
  }

 private:
  TlsSide& side_;
  std::string hostnqn_, subnqn_;
};

TlsSide::TlsSide(World& world, net::StreamHost& inner, auth::PskStore& store, const TlsSideOptions& options)
    : inner_(inner), store_(store), generated_(world, store), options_(options) {
  generated_.keeps_for_ever = departs("psk.kept");
  tls::Options made = options_.tls;
  made.name = options_.name;
  if (options_.departs) made.departs = [this](std::string_view point) { return departs(point); };
  if (options_.security == ChannelSecurity::offered || departs("server.plain")) {
    either_ = std::make_unique<tls::EitherHost>(world, inner, static_cast<tls::Keys&>(*this), made);
  } else {
    strict_ = std::make_unique<tls::TlsStreamHost>(world, inner, static_cast<tls::Keys&>(*this), made);
  }
}

TlsSide::~TlsSide() = default;

bool TlsSide::departs(std::string_view point) const { return options_.departs && options_.departs(std::string("tcp.tls.").append(point)); }

tls::TlsStreamHost& TlsSide::tls() { return either_ != nullptr ? either_->tls() : *strict_; }

net::StreamHost& TlsSide::listening() {
  if (either_ != nullptr) return *either_;
  return *strict_;
}

Result<net::StreamHost*> TlsSide::streams_for(std::string_view hostnqn, std::string_view subnqn) {
  if (departs("client.plain")) return &inner_;
  hostnqn_ = hostnqn;
  subnqn_ = subnqn;
  net::StreamHost* streams = &tls();
  return streams;
}

net::StreamHost& TlsSide::streams_as(std::string_view hostnqn, std::string_view subnqn) {
  named_.push_back(std::make_unique<Named>(*this, std::string(hostnqn), std::string(subnqn)));
  return *named_.back();
}

void TlsSide::keep(const auth::GeneratedPsk& made) {
  if (departs("psk.forgotten")) return;
  (void)generated_.add(made);
}

void TlsSide::on_refused(tls::TlsStreamHost::Refusal told) { tls().on_refused(std::move(told)); }
void TlsSide::on_keylog(tls::TlsStreamHost::KeylogLine told) { tls().on_keylog(std::move(told)); }

tls::Key TlsSide::key_of(const auth::TlsPsk& psk) { return {psk.identity, psk.key, suite_of(psk.hash)}; }

Result<tls::Key> TlsSide::for_peer(const Endpoint&) {
  auto psk = store_.for_pair(hostnqn_, subnqn_, options_.identity_version);
  if (!psk) return Failure{psk.error()};
  tls::Key key = key_of(psk.value());
  if (auto shown = auth::PskIdentity::parse(key.identity)) {
    if (departs("client.identity_order")) std::swap(shown->hostnqn, shown->subnqn);
    if (departs("client.identity_hash")) {
      shown->hash = shown->hash == auth::PskHash::sha_256 ? auth::PskHash::sha_384 : auth::PskHash::sha_256;
    }
    if (departs("client.identity_type")) shown->origin = auth::PskOrigin::generated;
    if (departs("client.digest") && !shown->digest.empty()) std::swap(shown->digest[0], shown->digest[1]);
    key.identity = shown->text();
  }
  if (departs("client.key")) key.bytes[0] ^= 0xFF;
  return key;
}

std::optional<tls::Key> TlsSide::find(std::string_view identity) {
  const auto shown = auth::PskIdentity::parse(identity);
  if (shown && departs(shown->version == 0 ? "server.identity_v0" : "server.identity_v1")) {
    return std::nullopt;
  }
  auto psk = store_.find(identity);
  if (!psk && shown && departs("server.digest")) {
    if (auto other = store_.for_pair(shown->hostnqn, shown->subnqn, shown->version)) {
      tls::Key key = key_of(other.value());
      key.identity = identity;
      return key;
    }
  }
  if (!psk) return std::nullopt;
  return key_of(*psk);
}

std::optional<tls::Key> TlsSide::any() {
  auto psk = store_.any();
  if (!psk) return std::nullopt;
  return key_of(*psk);
}

}  // namespace fb::transport
