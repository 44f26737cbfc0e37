// Any bytes into a TLS server: as what a peer without a key sends, and, behind the first byte's other
// values, into an established session from its other end, inside records and in place of them.
#include <cstdint>
#include <memory>

#include "base/assert.h"
#include "sim/net/network.h"
#include "sim/tls/tls_host.h"
#include "tests/fuzz/input.h"
#include "tests/sim/net/stream_end.h"

namespace {

using namespace fb;

const IpAddress kHostAddress = IpAddress::v4(10, 0, 0, 1);
const Endpoint kServer{IpAddress::v4(10, 0, 0, 2), 4420};
const Endpoint kRelay{kHostAddress, 9};

struct KeyRing final : tls::Keys {
  Result<tls::Key> for_peer(const Endpoint&) override { return key; }
  std::optional<tls::Key> find(std::string_view identity) override { return identity == key.identity ? std::optional{key} : std::nullopt; }
  tls::Key key{"NVMe0R01 host subsystem", Bytes(32, 7), tls::Suite::aes_128_gcm_sha256};
};

tls::Options options_of(const char* name) {
  tls::Options options;
  options.name = name;
  options.psk_dhe_ke = std::string_view(name) == "host";  // the cheapest exchange
  options.groups = {tls::Group::x25519};
  options.handshakes_max = 64;
  return options;
}

/// One world for all inputs: making it costs more than an input does.
struct Bench {
  Bench() {
    host = &network.add_host("host", kHostAddress);
    target = &network.add_host("target", kServer.address);
    tls_host = std::make_unique<tls::TlsStreamHost>(*world, *host, keys, options_of("host"));
    tls_target = std::make_unique<tls::TlsStreamHost>(*world, *target, keys, options_of("target"));
    listener = std::move(tls_target->listen(kServer, inbox)).value();
    relay = std::move(host->listen(kRelay, relayed)).value();
  }
  std::unique_ptr<World> world = World::make_virtual(1);
  net::SimNetwork network{*world};
  KeyRing keys;
  net::SimHost* host = nullptr;
  net::SimHost* target = nullptr;
  std::unique_ptr<tls::TlsStreamHost> tls_host, tls_target;
  net::test::StreamInbox inbox, relayed;
  std::unique_ptr<net::StreamListener> listener, relay;
};

void pieces(Bench& bench, net::test::StreamUser& into, fuzz::Input& input) {
  while (!input.empty() && into.stream != nullptr) {
    const std::size_t size = 1u + input.byte();
    into.put(input.bytes(size));
    bench.world->run_for(Duration::us(100));
  }
}

void stranger(Bench& bench, fuzz::Input& input) {
  net::test::StreamUser peer;
  BENCH_ASSERT(peer.open(*bench.host, {kHostAddress, 0}, kServer), "a port is free");
  bench.world->run_for(Duration::us(100));
  pieces(bench, peer, input);
  BENCH_ASSERT(bench.inbox.accepted == 0, "nobody comes in without the key");
  peer.stream->finish();
  bench.world->run_for(Duration::ms(1));
}

/// The handshake is carried through a relay, which then has its own ideas.
void in_the_middle(Bench& bench, fuzz::Input& input) {
  net::test::StreamUser client, far;
  BENCH_ASSERT(client.open(*bench.tls_host, {kHostAddress, 0}, kRelay), "a port is free");
  BENCH_ASSERT(far.open(*bench.host, {kHostAddress, 0}, kServer), "a port is free");
  for (int turns = 0; turns < 6; ++turns) {
    bench.world->run_for(Duration::us(200));
    if (bench.relayed.ends.empty()) continue;
    net::test::StreamUser& near = *bench.relayed.ends[0];
    far.put(std::exchange(near.got, {}));
    near.put(std::exchange(far.got, {}));
  }
  BENCH_ASSERT(client.connected && bench.inbox.accepted == 1, "the handshake goes through");
  net::test::StreamUser& server = *bench.inbox.ends[0];
  const bool towards_client = (input.byte() & 1) != 0;
  pieces(bench, towards_client ? *bench.relayed.ends[0] : far, input);
  BENCH_ASSERT(client.got.empty() && server.got.empty(), "nothing that was not encrypted arrives");
  if (server.stream != nullptr) server.stream->close();
  client.stream->close();
  bench.world->run_for(Duration::ms(1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Bench* const bench = new Bench;
  fuzz::Input input(data, size);
  if ((input.byte() & 1) == 0) {
    stranger(*bench, input);
  } else {
    in_the_middle(*bench, input);
  }
  bench->inbox.ends.clear();
  bench->inbox.accepted = 0;
  bench->relayed.ends.clear();
  bench->world->run_for(Duration::s(20));
  BENCH_ASSERT(bench->network.connections() == 0, "nothing stays behind");
  return 0;
}
