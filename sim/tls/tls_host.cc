#include "sim/tls/tls_host.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>

#include "sim/tls/tls_stream.h"

namespace fb::tls {

Key::~Key() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

HostState::HostState(World& w, net::StreamHost& i, Keys& k, const Options& o)
    : world(w), inner(i), keys(k), options(o), library(make_library(w, "tls/" + o.name)), lingerers(w) {
  BENCH_ASSERT(o.aes_128_gcm_sha256 || o.aes_256_gcm_sha384, "a cipher suite is switched on");
  BENCH_ASSERT(o.psk_ke || o.psk_dhe_ke, "a key exchange mode is switched on");
  BENCH_ASSERT(!o.groups.empty(), "a group is switched on");
  client = make_context(*this, false);
  server = make_context(*this, true);
}

TlsStreamHost::TlsStreamHost(World& world, net::StreamHost& inner, Keys& keys, const Options& options)
    : state_(std::make_shared<HostState>(world, inner, keys, options)) {}

TlsStreamHost::~TlsStreamHost() = default;

Result<std::unique_ptr<net::Stream>> TlsStreamHost::connect(const Endpoint& local, const Endpoint& to, net::StreamHandler& handler) {
  auto key = state_->keys.for_peer(to);
  if (!key) return Failure{key.error()};
  if (!state_->enabled(key->suite)) {
    return Failure{Problem{fmt::format("TLS to {}: the key goes with {}, which is switched off", to_string(to), name_of(key->suite))}};
  }
  auto stream = std::make_unique<TlsStream>(state_);
  if (auto begun = stream->connect(local, to, std::move(key).value(), handler); !begun) {
    return Failure{begun.error()};
  }
  return std::unique_ptr<net::Stream>(std::move(stream));
}

Result<std::unique_ptr<net::StreamListener>> TlsStreamHost::listen(const Endpoint& local, net::StreamAcceptor& acceptor) {
  auto listener = std::make_unique<TlsListener>(state_, acceptor);
  if (auto open = listener->open(local); !open) return Failure{open.error()};
  return std::unique_ptr<net::StreamListener>(std::move(listener));
}

const Counters& TlsStreamHost::counters() const { return state_->counters; }
void TlsStreamHost::on_refused(Refusal told) { state_->refused = std::move(told); }
void TlsStreamHost::on_keylog(KeylogLine told) { state_->keylog = std::move(told); }

std::optional<Session> session_of(const net::Stream& stream) {
  const auto* const ours = dynamic_cast<const TlsStream*>(&stream);
  return ours != nullptr ? ours->session() : std::nullopt;
}

// -------------------------------------------------------------------------------------- listener

TlsListener::TlsListener(std::shared_ptr<HostState> state, net::StreamAcceptor& acceptor) : state_(std::move(state)), acceptor_(acceptor) {}

TlsListener::~TlsListener() = default;

Result<void> TlsListener::open(const Endpoint& local) {
  auto inner = state_->inner.listen(local, *this);
  if (!inner) return Failure{inner.error()};
  inner_ = std::move(inner).value();
  return {};
}

void TlsListener::on_stream(std::unique_ptr<net::Stream> stream) {
  if (handshaking_.size() >= state_->options.handshakes_max) {
    // The oldest has had the longest to show its key: whoever only fills the room shuts nobody out.
    ++state_->counters.turned_away;
    handshaking_.erase(handshaking_.begin());
  }
  handshaking_.push_back(std::make_unique<TlsStream>(state_));
  handshaking_.back()->accept(std::move(stream), *this);
}

std::unique_ptr<TlsStream> TlsListener::take(TlsStream& stream) {
  const auto found = std::find_if(handshaking_.begin(), handshaking_.end(), [&](const auto& held) { return held.get() == &stream; });
  BENCH_ASSERT(found != handshaking_.end(), "a handshake belongs to its listener");
  std::unique_ptr<TlsStream> taken = std::move(*found);
  handshaking_.erase(found);
  return taken;
}

void TlsListener::complete(TlsStream& stream) { acceptor_.on_stream(take(stream)); }
void TlsListener::drop(TlsStream& stream) { take(stream); }

}  // namespace fb::tls
