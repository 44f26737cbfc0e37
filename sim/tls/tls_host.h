// TLS 1.3 with external pre-shared keys and nothing else, around any StreamHost: what it connects and
// what it accepts are streams of the same seam. No certificates, no other versions, no tickets, no
// early data.
//
// A stream exists for its user when the handshake is complete: on_connected() follows it, and an acceptor
// hears of peers that have shown their key. A handshake that fails ends a connecting stream with kind
// `failed` and a sentence that names the alert. Half-close is a close_notify and a FIN behind it; a FIN
// without one is an end with kind `failed`, since anybody can send it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault_point.h"
#include "sim/core/world.h"
#include "sim/net/stream.h"

namespace fb::tls {

/// Cipher suites; a key goes with one of them, by its hash.
enum class Suite : std::uint8_t { aes_128_gcm_sha256, aes_256_gcm_sha384 };
enum class Group : std::uint8_t { ffdhe2048, ffdhe3072, ffdhe4096, secp256r1, secp384r1, x25519 };

std::string_view name_of(Suite suite);
std::string_view name_of(Group group);

/// A pre-shared key. Wiped when it goes.
struct Key {
  std::string identity;
  Bytes bytes;
  Suite suite = Suite::aes_128_gcm_sha256;

  Key(std::string name, Bytes secret, Suite goes_with) : identity(std::move(name)), bytes(std::move(secret)), suite(goes_with) {}
  Key(const Key&) = default;
  Key(Key&&) = default;
  Key& operator=(const Key&) = default;
  Key& operator=(Key&&) = default;
  ~Key();
};

/// Who knows the keys.
class Keys {
 public:
  /// The key to show to this listener.
  virtual Result<Key> for_peer(const Endpoint& to) = 0;
  /// The key behind what a client offers; any bytes.
  virtual std::optional<Key> find(std::string_view identity) = 0;
  /// Some key: for a deviation.
  virtual std::optional<Key> any() { return std::nullopt; }

 protected:
  ~Keys() = default;
};

inline constexpr FaultPoint kFaultPoints[] = {
    {"server.version", "a client without TLS 1.3 is served with TLS 1.2"},
    {"server.identity", "a client whose identity nobody knows is served with some key"},
    {"server.stays.binder", "a wrong binder does not end the connection"},
    {"server.stays.no_psk", "a client without a PSK is neither refused nor served"},
    {"server.no_sha256", "TLS_AES_128_GCM_SHA256 is switched off"},
    {"server.no_psk_ke", "a client with psk_ke alone is refused"},
    {"server.no_ffdhe3072", "ffdhe3072 is switched off"},
    {"server.other_hash", "of the suites that a client offers the strongest is taken, or none"},
    {"client.version", "TLS 1.2 is offered, and taken"},
    {"client.stays.version", "a server that chooses TLS 1.2, which was not offered, is not left"},
    {"client.version_1_2", "TLS 1.2 is all that is offered"},
    {"client.no_sha256", "TLS_AES_128_GCM_SHA256 is not offered"},
    {"client.no_ffdhe3072", "ffdhe3072 is not offered"},
    {"client.no_psk_ke", "psk_ke is not offered"},
    {"client.early_data", "data is sent before the handshake is complete"},
};

struct Options {
  std::string name = "tls";  ///< actor in the trace, and the random stream: one of its own for each host
  bool aes_128_gcm_sha256 = true;
  bool aes_256_gcm_sha384 = true;
  /// Key exchange by the PSK alone, without forward secrecy.
  bool psk_ke = true;
  /// With (EC)DHE. OpenSSL's client cannot leave the offer out: without it, it ends the connection when
  /// the server takes it.
  bool psk_dhe_ke = true;
  std::vector<Group> groups = {Group::ffdhe3072, Group::secp384r1};  ///< in order of preference
  /// Misbehaviours: asked with the names of kFaultPoints.
  std::function<bool(std::string_view)> departs = {};
  Duration handshake_timeout = Duration::s(10);
  std::size_t handshakes_max = 1024;  ///< of a listener, at once; the oldest gives way to a further one
};

struct Counters {
  std::uint64_t connected = 0;    ///< complete handshakes of clients
  std::uint64_t accepted = 0;     ///< of servers
  std::uint64_t failed = 0;       ///< handshakes of either
  std::uint64_t turned_away = 0;  ///< peers that gave way to newer ones
};

/// What a complete handshake agreed on.
struct Session {
  std::string identity;
  Suite suite = Suite::aes_128_gcm_sha256;
  std::string group;  ///< empty: the PSK alone
};

struct HostState;

class TlsStreamHost final : public net::StreamHost {
 public:
  /// `inner` and `keys` must outlive it and its streams.
  TlsStreamHost(World& world, net::StreamHost& inner, Keys& keys, const Options& options = {});
  ~TlsStreamHost() override;

  /// Fails, beyond what the seam says, when there is no key for the peer, or its suite is switched off.
  Result<std::unique_ptr<net::Stream>> connect(const Endpoint& local, const Endpoint& to, net::StreamHandler& handler) override;
  Result<std::unique_ptr<net::StreamListener>> listen(const Endpoint& local, net::StreamAcceptor& acceptor) override;

  const Counters& counters() const;
  /// Hears why a listener refused a peer; who connects hears it by on_end().
  using Refusal = std::function<void(const Endpoint& peer, const std::string& why)>;
  void on_refused(Refusal told);
  /// Lines of an NSS key log: the secrets of each session, never a PSK. The trace has them as notes with
  /// the label kTlsKeylogLabel while somebody listens to it, for captures that are to be decrypted.
  using KeylogLine = std::function<void(std::string_view line)>;
  void on_keylog(KeylogLine told);

 private:
  std::shared_ptr<HostState> state_;
};

/// What was agreed on; nothing for a stream that is not TLS, or not yet.
std::optional<Session> session_of(const net::Stream& stream);

}  // namespace fb::tls
