// What the monitors cost: I/O and whole worlds with and without them, in turns, so that both see the same machine;
// and how fast a capture is judged.
#include <benchmark/benchmark.h>

#include <ctime>
#include <functional>

#include "conformance/monitors/monitors.h"
#include "sim/capture/pcapng.h"
#include "tests/bench/rdma_stack.h"
#include "tests/bench/tcp_stack.h"

namespace fb::bench {
namespace {

// Of processor time: a world has one thread, and other work on the machine is not its cost.
double seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begun = now();
  work();
  return now() - begun;
}

enum class Watched { no, by_nobody, by_monitors };

struct Nobody final : TraceSink {
  void on_event(const TraceEvent&) override {}
};

/// A world of one kind, watched or not.
void one_world(bool tcp, Watched watched, std::uint64_t commands) {
  monitors::Monitors judges({.complete = true});
  Nobody nobody;
  TraceSink& sink = watched == Watched::by_monitors ? static_cast<TraceSink&>(judges) : nobody;
  const auto use = [&](World& world, HostSide& host) {
    if (watched != Watched::no) world.trace().add_sink(sink, TraceSink::Hears::wire);
    host.enable();
    IoLoop io(host, std::uint16_t{8}, 4096u, 4096u, IoLoop::Options{.flow_control = !tcp});
    io.run(commands);
  };
  if (tcp) {
    const auto world = World::make_virtual(1);
    net::SimNetwork network(*world);
    net::SimHost& host_end = network.add_host("host", IpAddress::v4(10, 0, 0, 1));
    net::SimHost& target_end = network.add_host("target", IpAddress::v4(10, 0, 0, 2));
    TcpTargetSide target(*world, target_end, target_end.address(), {});
    TcpHostSide host(*world, host_end, host_end.address(), target.listener->local());
    use(*world, host);
  } else {
    Stack stack;
    use(*stack.world, stack.host_side);
  }
  BENCH_ASSERT(judges.findings().empty(), "good products break no rule");
}

// A world from its making to 200 commands of 4 KiB. `cost` is the time with monitors over the time with a trace that
// nobody reads, `trace` what that one costs over none at all. Wanted: a cost of at most 1.2.
void monitored_worlds(benchmark::State& state) {
  const bool tcp = state.range(0) != 0;
  const auto commands = static_cast<std::uint64_t>(state.range(1));
  one_world(tcp, Watched::by_monitors, commands);
  double without = 0, traced = 0, with = 0;
  for (auto _ : state) {
    without += seconds_of([&] { one_world(tcp, Watched::no, commands); });
    traced += seconds_of([&] { one_world(tcp, Watched::by_nobody, commands); });
    with += seconds_of([&] { one_world(tcp, Watched::by_monitors, commands); });
  }
  state.counters["trace"] = traced / without;
  state.counters["cost"] = with / traced;
}
BENCHMARK(monitored_worlds)->ArgNames({"tcp", "commands"})->ArgsProduct({{0, 1}, {200, 2000}})->Unit(benchmark::kMillisecond);

// A capture of 4 KiB reads and writes, judged. Wanted: 20 MB/s.
void judged_capture(benchmark::State& state) {
  capture::PcapngWriter writer;
  Stack stack;
  stack.world->trace().add_sink(writer);
  stack.host_side.enable();
  IoLoop io(stack.host_side, std::uint16_t{8}, 4096u, 4096u, IoLoop::Options{});
  io.run(4000);
  stack.world->trace().remove_sink(writer);
  const Bytes file = writer.bytes();
  for (auto _ : state) {
    monitors::Monitors judges;
    capture::CaptureReader reader(file);
    capture::CapturedPacket packet;
    while (*reader.next(packet)) judges.on_packet(packet);
    benchmark::DoNotOptimize(judges.findings().size());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(file.size()));
}
BENCHMARK(judged_capture)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fb::bench
