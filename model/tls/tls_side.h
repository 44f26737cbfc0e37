// TLS for one side of NVMe/TCP: PSKs by the names of hosts and subsystems, around any streams.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/auth/generated_psks.h"
#include "model/auth/psk.h"
#include "model/transport/controller_channel.h"
#include "model/transport/tcp_host.h"
#include "sim/tls/either_host.h"
#include "sim/tls/tls_host.h"

namespace fb::transport {

/// What to try after a handshake that a peer ended with an alert, for the end of its message; empty where nothing is known.
std::string identity_hint(std::string_view error, int identity_version);

struct TlsSideOptions {
  std::string name = "tls";
  int identity_version = 1;
  /// A side that listens: whether it takes plain connections too.
  ChannelSecurity security = ChannelSecurity::required;
  tls::Options tls = {};
  /// Asked with "tcp.tls." and the names of tls::kFaultPoints and kTlsSidePoints.
  std::function<bool(std::string_view)> departs = {};
};

inline constexpr FaultPoint kTlsSidePoints[] = {
    {"server.plain", "plain connections are served on a port that requires TLS"},
    {"server.identity_v0", "identities of version 0 are not known"},
    {"server.identity_v1", "identities of version 1 are not known"},
    {"server.digest", "the digest of an identity of version 1 is not compared"},
    {"psk.forgotten", "a PSK that authentication made is not kept"},
    {"psk.kept", "a PSK that authentication made is kept for ever"},
    {"client.identity_order", "the identity names the subsystem first"},
    {"client.identity_hash", "the identity names another hash than the key's"},
    {"client.identity_type", "the identity of a retained PSK says that it was generated"},
    {"client.digest", "the digest of the identity is made up"},
    {"client.key", "the key is not derived from the configured one"},
    {"client.plain", "connections are made without TLS although it was asked for"},
};

class TlsSide final : public SecureStreams, private tls::Keys {
 public:
  /// All must outlive it and its streams. Generated PSKs go into `store`.
  TlsSide(World& world, net::StreamHost& inner, auth::PskStore& store, const TlsSideOptions& options);
  ~TlsSide();

  /// For what listens.
  net::StreamHost& listening();
  /// For what connects.
  Result<net::StreamHost*> streams_for(std::string_view hostnqn, std::string_view subnqn) override;
  /// The same as one host whose connections all use the key of these two.
  net::StreamHost& streams_as(std::string_view hostnqn, std::string_view subnqn);
  auth::PskStore& store() { return store_; }
  /// Keeps what authentication made, for as long as it lives.
  void keep(const auth::GeneratedPsk& made);
  /// Why a listener refused a peer.
  void on_refused(tls::TlsStreamHost::Refusal told);
  void on_keylog(tls::TlsStreamHost::KeylogLine told);

 private:
  class Named;
  Result<tls::Key> for_peer(const Endpoint& to) override;
  std::optional<tls::Key> find(std::string_view identity) override;
  std::optional<tls::Key> any() override;
  bool departs(std::string_view point) const;
  static tls::Key key_of(const auth::TlsPsk& psk);
  tls::TlsStreamHost& tls();

  net::StreamHost& inner_;
  auth::PskStore& store_;
  auth::GeneratedPsks generated_;
  TlsSideOptions options_;
  std::string hostnqn_, subnqn_;
  std::unique_ptr<tls::TlsStreamHost> strict_;
  std::unique_ptr<tls::EitherHost> either_;
  std::vector<std::unique_ptr<Named>> named_;
};

}  // namespace fb::transport
