// Two simulated hosts, or this machine, with TLS on top: for the tests of sim/tls.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/net/network.h"
#include "sim/tls/tls_host.h"
#include "tests/sim/net/stream_end.h"

namespace fb::tls::test {

inline const IpAddress kHostAddress = IpAddress::v4(10, 0, 0, 1);
inline const IpAddress kTargetAddress = IpAddress::v4(10, 0, 0, 2);
inline const Endpoint kServer{kTargetAddress, 4420};

struct KeyRing final : Keys {
  Result<Key> for_peer(const Endpoint&) override {
    if (!own) return Failure{Problem{"no TLS key"}};
    return *own;
  }
  std::optional<Key> find(std::string_view identity) override {
    asked.emplace_back(identity);
    for (const Key& key : known) {
      if (key.identity == identity) return key;
    }
    return std::nullopt;
  }
  std::optional<Key> own;
  std::vector<Key> known;
  std::vector<std::string> asked;
};

inline Key key_of(Suite suite, std::uint8_t fill = 7, std::string name = "NVMe0R01 host subsystem") {
  return {std::move(name), Bytes(suite == Suite::aes_128_gcm_sha256 ? 32 : 48, fill), suite};
}

struct TlsNet {
  explicit TlsNet(const Options& client_options = {}, const Options& server_options = {}, std::uint64_t seed = 1,
                  const net::LinkOptions& link = {})
      : world(World::make_virtual(seed)), network(*world, link) {
    host = &network.add_host("host", kHostAddress);
    target = &network.add_host("target", kTargetAddress);
    keys.own = key_of(Suite::aes_128_gcm_sha256);
    keys.known = {*keys.own};
    Options named = client_options;
    named.name = "host.tls";
    tls_host = std::make_unique<TlsStreamHost>(*world, *host, keys, named);
    named = server_options;
    named.name = "target.tls";
    tls_target = std::make_unique<TlsStreamHost>(*world, *target, keys, named);
    tls_target->on_refused([this](const Endpoint&, const std::string& why) { refused = why; });
  }
  void listen() { listener = std::move(tls_target->listen(kServer, inbox)).value(); }
  void connect() { ASSERT_TRUE(client.open(*tls_host, {kHostAddress, 0}, kServer)); }
  /// Until nothing happens any more.
  void settle() { ASSERT_TRUE(world->run_until_idle()); }
  void establish() {
    listen();
    connect();
    settle();
    ASSERT_TRUE(client.connected) << why() << " / " << refused;
    ASSERT_EQ(inbox.ends.size(), 1u);
    server = inbox.ends[0].get();
  }
  std::string why() const { return client.end ? client.end->text : "no end"; }

  std::unique_ptr<World> world;
  net::SimNetwork network;
  net::SimHost* host = nullptr;
  net::SimHost* target = nullptr;
  KeyRing keys;
  std::unique_ptr<TlsStreamHost> tls_host, tls_target;
  net::test::StreamInbox inbox;
  net::test::StreamUser client;
  std::unique_ptr<net::StreamListener> listener;
  net::test::StreamUser* server = nullptr;
  std::string refused;
};

}  // namespace fb::tls::test
