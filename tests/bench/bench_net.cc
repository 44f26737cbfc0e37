// The datagram seam: simulated packets a second, and real sockets beside a plain UDP program.
#include <benchmark/benchmark.h>

#include <memory>

#include "sim/net/network.h"
#include "sim/net/udp_port.h"
#include "tests/bench/machine.h"
#include "tests/bench/raw_udp.h"

namespace fb::net {
namespace {

struct Count final : DatagramReceiver {
  void on_datagram(const Arrival& arrival) override {
    ++packets;
    bytes += arrival.payload.size();
    benchmark::DoNotOptimize(arrival.payload.data());
  }
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

// Send and delivery of one packet, with `window` of them on their way.
void sim_packets(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto window = state.range(1);
  auto world = World::make_virtual(1);
  SimNetwork network(*world);
  SimHost& a = network.add_host("a", IpAddress::v4(10, 0, 0, 1));
  SimHost& b = network.add_host("b", IpAddress::v4(10, 0, 0, 2));
  auto from = std::move(a.open({a.address(), 4791})).value();
  auto to = std::move(b.open({b.address(), 4791})).value();
  Count count;
  to->set_receiver(&count);
  const Endpoint there = to->local();
  for (auto _ : state) {
    for (std::int64_t i = 0; i < window; ++i) {
      const Outgoing out = from->begin(there, size);
      store_le<std::uint64_t>(out.payload.data() + size - 8, count.packets);
      from->commit();
    }
    world->run_until_idle();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(count.packets));
}
BENCHMARK(sim_packets)
    ->ArgNames({"bytes", "window"})
    ->Args({100, 1})
    ->Args({100, 32})
    ->Args({4112, 32});

void raw_ping_pong(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  bench::pin_to_core(0);
  bench::RawPingPong program(size, size);
  bench::Peer peer([&program] { program.turn(); });
  for (auto _ : state) {
    if (!program.round_trip()) state.SkipWithError("cannot send");
  }
}
BENCHMARK(raw_ping_pong)->ArgName("bytes")->Arg(64)->Arg(4112)->UseRealTime();

void raw_trains(benchmark::State& state) {
  bench::pin_to_core(0);
  bench::RawTrains program(static_cast<std::size_t>(state.range(0)), 15, 0, 0);
  bench::Peer peer([&program] { program.turn(); });
  for (auto _ : state) {
    if (!program.send_train()) state.SkipWithError("cannot send");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(program.train_bytes()));
}
BENCHMARK(raw_trains)->ArgName("bytes")->Arg(4112)->UseRealTime();

// A world of its own in a thread of its own, with one port.
struct RealPeer {
  std::unique_ptr<World> world = World::make_real(1, true);
  RealHost host{*world};
  std::unique_ptr<DatagramPort> port;
  explicit RealPeer(std::uint8_t last) {
    port = std::move(host.open({IpAddress::v4(127, 0, 0, last), 0})).value();
  }
  void step() { world->step_towards(world->now()); }
};

struct Echo final : DatagramReceiver {
  explicit Echo(DatagramPort& p) : port(p) { port.set_receiver(this); }
  void on_datagram(const Arrival& arrival) override {
    const Outgoing out = port.begin(arrival.source, arrival.payload.size());
    std::copy(arrival.payload.begin(), arrival.payload.end(), out.payload.begin());
    port.commit();
  }
  DatagramPort& port;
};

void port_ping_pong(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  RealPeer near(2), far(3);
  Echo echo(*far.port);
  Count count;
  near.port->set_receiver(&count);
  bench::Peer peer([&far] { far.step(); });
  std::uint64_t sent = 0;
  for (auto _ : state) {
    (void)near.port->begin(far.port->local(), size);
    near.port->commit();
    near.port->flush();
    ++sent;
    while (count.packets < sent) near.step();
  }
}
BENCHMARK(port_ping_pong)->ArgName("bytes")->Arg(64)->Arg(4112)->UseRealTime();

// Confirms what arrived at the end of every batch.
struct Confirm final : DatagramReceiver {
  Confirm(DatagramPort& p, const Endpoint& t) : port(p), to(t) { port.set_receiver(this); }
  void on_datagram(const Arrival& arrival) override { bytes += arrival.payload.size(); }
  void on_batch_end() override {
    store_le<std::uint64_t>(port.begin(to, 8).payload.data(), bytes);
    port.commit();
  }
  DatagramPort& port;
  Endpoint to;
  std::uint64_t bytes = 0;
};

void port_trains(benchmark::State& state) {
  constexpr std::size_t kSegments = 15;
  const auto size = static_cast<std::size_t>(state.range(0));
  RealPeer near(2), far(3);
  Confirm confirm(*far.port, near.port->local());
  struct Confirmed final : DatagramReceiver {
    void on_datagram(const Arrival& arrival) override {
      if (arrival.payload.size() == 8) bytes = load_le<std::uint64_t>(arrival.payload.data());
    }
    std::uint64_t bytes = 0;
  } confirmed;
  near.port->set_receiver(&confirmed);
  bench::Peer peer([&far] { far.step(); });
  const std::uint64_t window = size * kSegments * bench::RawTrains::kWindow;
  std::uint64_t sent = 0;
  for (auto _ : state) {
    int idle = 0;
    while (sent - confirmed.bytes >= window && ++idle < 1'000'000) near.step();
    if (idle == 1'000'000) state.SkipWithError("datagrams were lost");
    for (std::size_t i = 0; i < kSegments; ++i) {
      (void)near.port->begin(far.port->local(), size);
      near.port->commit();
    }
    near.port->flush();
    sent += size * kSegments;
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size * kSegments));
}
BENCHMARK(port_trains)->ArgName("bytes")->Arg(4112)->UseRealTime();

}  // namespace
}  // namespace fb::net
