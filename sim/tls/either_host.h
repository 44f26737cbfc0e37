// A port that takes both TLS and plain connections: the first byte that a peer sends tells which it is.
#pragma once

#include <memory>

#include "sim/tls/tls_host.h"

namespace fb::tls {

/// Connects in plain; what it listens for is either. For protocols whose client speaks first, with a byte
/// that begins no TLS record.
class EitherHost final : public net::StreamHost {
 public:
  /// All must outlive it and its streams. Whoever says nothing for as long as a handshake may take is
  /// dropped, and of handshakes_max who say nothing the oldest is when another comes.
  EitherHost(World& world, net::StreamHost& inner, Keys& keys, const Options& options = {});
  ~EitherHost() override;

  Result<std::unique_ptr<net::Stream>> connect(const Endpoint& local, const Endpoint& to, net::StreamHandler& handler) override;
  Result<std::unique_ptr<net::StreamListener>> listen(const Endpoint& local, net::StreamAcceptor& acceptor) override;
  /// What listens for TLS, for its counters and what it tells.
  TlsStreamHost& tls();

 private:
  class Sorter;
  std::unique_ptr<Sorter> sorter_;
  TlsStreamHost tls_;
  net::StreamHost& inner_;
};

}  // namespace fb::tls
