// The datagram seam: simulated packets a second.
#include <benchmark/benchmark.h>

#include <memory>

#include "sim/net/network.h"

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
BENCHMARK(sim_packets)->ArgNames({"bytes", "window"})->Args({100, 1})->Args({100, 32})->Args({4112, 32});

}  // namespace
}  // namespace fb::net
