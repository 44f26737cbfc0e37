// What virtual time costs: I/O through the whole stack, worlds, a keep-alive of two minutes.
#include <benchmark/benchmark.h>

#include <chrono>

#include "tests/bench/rdma_stack.h"
#include "tests/bench/tcp_stack.h"

namespace fb::bench {
namespace {

// 4 KiB reads at queue depth 32, ICRC on, trace off. Wanted: 150,000 a second on one core.
void virtual_reads(benchmark::State& state) {
  Stack stack;
  stack.host_side.enable();
  IoLoop io(stack.host_side, static_cast<std::uint16_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)), 32768);
  constexpr std::uint64_t kBatch = 1000;
  io.run(kBatch);
  for (auto _ : state) io.run(kBatch);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
  state.SetBytesProcessed(state.items_processed() * state.range(1));
}
BENCHMARK(virtual_reads)->Args({1, 4096})->Args({32, 4096})->Args({32, 131072});

// The same over NVMe/TCP and simulated streams, without digests.
void virtual_tcp_reads(benchmark::State& state) {
  const auto world = World::make_virtual(1);
  net::SimNetwork network(*world);
  net::SimHost& host_end = network.add_host("host", IpAddress::v4(10, 0, 0, 1));
  net::SimHost& target_end = network.add_host("target", IpAddress::v4(10, 0, 0, 2));
  TcpTargetSide target(*world, target_end, target_end.address(), {});
  TcpHostSide host(*world, host_end, host_end.address(), target.listener->local());
  host.enable();
  IoLoop io(host, static_cast<std::uint16_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)), 32768,
            IoLoop::Options{.flow_control = false});
  constexpr std::uint64_t kBatch = 1000;
  io.run(kBatch);
  for (auto _ : state) io.run(kBatch);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
  state.SetBytesProcessed(state.items_processed() * state.range(1));
}
BENCHMARK(virtual_tcp_reads)->Args({1, 4096})->Args({32, 4096})->Args({32, 131072});

// What protection information costs: 4 KiB at queue depth 32 with and without, in turns, so that both see the same
// machine. `cost` is the time of one with tags, checked and stripped or inserted, over the time of one without.
// Wanted: at most 1.25.
class TimedSide {
 public:
  static constexpr std::uint64_t kBatch = 1000;
  TimedSide(const TargetSide::Options& options, bool writes) : stack_(options) {
    stack_.host_side.enable();
    io_ = std::make_unique<IoLoop>(stack_.host_side, std::uint16_t{32}, 4096u, 4096u,
                                   IoLoop::Options{.strips = options.protection_type != 0, .writes = writes});
    io_->run(2 * kBatch);
  }
  double seconds() {
    const auto begun = std::chrono::steady_clock::now();
    io_->run(kBatch);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }

 private:
  Stack stack_;
  std::unique_ptr<IoLoop> io_;
};

void protected_io(benchmark::State& state) {
  const bool writes = state.range(0) != 0;
  TimedSide plain({.blocks_written = 4096}, writes);
  TimedSide tagged({.blocks_written = 4096, .protection_type = 1}, writes);
  double without = 0, with = 0;
  for (auto _ : state) {
    without += plain.seconds();
    with += tagged.seconds();
  }
  state.counters["cost"] = with / without;
}
BENCHMARK(protected_io)->ArgName("writes")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// What ANA, reservations, directives and Lockdown cost while nobody uses them: 4 KiB at queue depth 32 against a
// subsystem that has them and one that does not, in turns. Wanted: nothing that can be measured.
void unused_features(benchmark::State& state) {
  const bool writes = state.range(0) != 0;
  TimedSide without({.blocks_written = 4096, .bare = true}, writes);
  TimedSide with({.blocks_written = 4096}, writes);
  double bare = 0, full = 0;
  for (auto _ : state) {
    bare += without.seconds();
    full += with.seconds();
  }
  state.counters["cost"] = full / bare;
}
BENCHMARK(unused_features)->ArgName("writes")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// A subsystem of 1,024 namespaces and 64 controllers from nothing to ready, and away again. Wanted: under 200 ms.
void large_subsystem(benchmark::State& state) {
  for (auto _ : state) {
    const auto world = World::make_virtual(1);
    subsystem::Target target(*world);
    subsystem::SubsystemOptions options;
    options.controllers = subsystem::ControllerModel::static_controllers;
    options.static_cntlids.clear();
    for (std::uint16_t id = 1; id <= 64; ++id) options.static_cntlids.push_back(id);
    subsystem::Subsystem& disk = target.add_subsystem(std::move(options));
    for (std::uint32_t nsid = 1; nsid <= 1024; ++nsid) {
      subsystem::NamespaceOptions space;
      space.nsid = nsid;
      if (!disk.add_namespace(std::move(space)).ok()) state.SkipWithError("a namespace is refused");
    }
    target.add_port({});
    if (disk.namespaces().size() != 1024 || disk.controllers().size() != 64) state.SkipWithError("not all are there");
  }
}
BENCHMARK(large_subsystem)->Unit(benchmark::kMillisecond);

// A world from nothing to nothing: connect, enable, identify, disconnect. Wanted: 2,000 a second.
void worlds(benchmark::State& state) {
  std::uint64_t events = 0;
  for (auto _ : state) {
    Stack stack;
    stack.host_side.enable();
    for (const auto cns : {nvme::Cns::controller, nvme::Cns::active_namespace_list}) {
      const auto reply = stack.host_side.admin->send(host::identify(cns), 4096).wait();
      if (!reply.ok()) state.SkipWithError("Identify failed");
    }
    stack.host_side.admin->disconnect();
    stack.host_side.admin->ended().wait();
    events += stack.world->loop().events_run();
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["events"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kAvgIterations);
}
BENCHMARK(worlds)->Unit(benchmark::kMicrosecond);

// Two minutes of keep-alive traffic. Wanted: under 5 ms.
void keep_alive_two_minutes(benchmark::State& state) {
  for (auto _ : state) {
    Stack stack;
    stack.host_side.enable();
    for (int second = 0; second < 120; second += 2) {
      stack.world->run_for(Duration::s(2));
      if (!stack.host_side.admin->send(host::keep_alive()).wait().ok()) state.SkipWithError("lost");
    }
  }
}
BENCHMARK(keep_alive_two_minutes)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fb::bench
