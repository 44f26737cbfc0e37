// The whole stack over real UDP sockets of two loopback addresses, host and target on a core each,
// beside a plain UDP program on the same two cores. The two take turns within one run, so that what the
// machine does meanwhile meets both; the figures are medians, and `ratio` is what counts.
#include <benchmark/benchmark.h>

#include "sim/net/udp_port.h"
#include "tests/bench/machine.h"
#include "tests/bench/raw_udp.h"
#include "tests/bench/rdma_stack.h"

namespace fb::bench {
namespace {

constexpr std::uint64_t kBlocks = 8192;  // 32 MiB, all written

// What a 4 KiB read puts on the wire: a capsule in one SEND; an RDMA WRITE with the data in one packet.
constexpr std::size_t kQuestionBytes = 12 + 64 + 4;
constexpr std::size_t kAnswerBytes = 12 + 16 + 4096 + 4;
// What a long RDMA WRITE is cut into, and how many of them a train of 64 KiB holds.
constexpr std::size_t kSegmentBytes = 12 + 4096 + 4;
constexpr std::size_t kSegments = 15;

struct RealSide {
  std::unique_ptr<World> world = World::make_real(1, true);
  net::RealHost host{*world};
};

/// Host here, target in a thread on the other core, which serves `Raw` while that has its turn.
template <class Raw>
class Duel {
 public:
  explicit Duel(Raw& raw)
      : raw_(raw),
        target_(*far_.world, far_.host, IpAddress::v4(127, 0, 0, 32), {.blocks = kBlocks, .blocks_written = kBlocks}),
        host(*near_.world, near_.host, IpAddress::v4(127, 0, 0, 31), target_.listener->local()),
        peer_([this] { turn(); }) {
    pin_to_core(0);
    host.enable();
  }
  void raw_turn() { turn_of_raw_ = true; }
  void stack_turn() { turn_of_raw_ = false; }
  /// What both sides have sent for each of so many commands, connecting included: datagrams, and the calls that they took.
  void show_sent(benchmark::State& state, std::uint64_t commands) const {
    const auto per = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(commands); };
    const auto show = [&](const std::string& side, const net::RealHostCounters& counters) {
      state.counters[side + "_packets_per_io"] = per(counters.sent);
      state.counters[side + "_sends_per_io"] = per(counters.send_calls);
    };
    show("host", near_.host.counters());
    show("target", far_.host.counters());
  }

 private:
  void turn() {
    if (turn_of_raw_.load(std::memory_order_relaxed)) return raw_.turn();
    far_.world->step_towards(far_.world->now());
  }
  Raw& raw_;
  RealSide far_, near_;
  RdmaTargetSide target_;
  std::atomic<bool> turn_of_raw_ = false;

 public:
  RdmaHostSide host;

 private:
  Peer peer_;
};

template <class Action>
double seconds_of(Action&& action) {
  const double from = seconds_now();
  action();
  return seconds_now() - from;
}

// 4 KiB reads at queue depth 1 against round trips of the same bytes. Wanted: ratio at most 2.5.
void read_latency(benchmark::State& state) {
  RawPingPong raw(kQuestionBytes, kAnswerBytes);
  Duel<RawPingPong> duel(raw);
  IoLoop io(duel.host, 1, 4096, kBlocks);
  constexpr int kWarm = 20, kTimed = 500;
  std::vector<double> raw_s, read_s;
  for (auto _ : state) {
    duel.raw_turn();
    for (int i = 0; i < kWarm; ++i) raw.round_trip();
    for (int i = 0; i < kTimed; ++i) raw_s.push_back(seconds_of([&] { raw.round_trip(); }));
    duel.stack_turn();
    io.run(kWarm);
    io.run(kTimed, &read_s);
  }
  if (!io.holds_pattern()) state.SkipWithError("the data is wrong");
  state.counters["raw_us"] = median(raw_s) * 1e6;
  state.counters["read_us"] = median(read_s) * 1e6;
  state.counters["ratio"] = median(read_s) / median(raw_s);
}
BENCHMARK(read_latency)->Unit(benchmark::kMillisecond)->UseRealTime();

// 4 KiB reads, many at a time, against a program with the same batching. Wanted: ratio at least 0.6.
void read_rate(benchmark::State& state) {
  const auto depth = static_cast<std::uint16_t>(state.range(0));
  RawUdpEcho raw(kQuestionBytes, kAnswerBytes, depth);
  Duel<RawUdpEcho> duel(raw);
  IoLoop io(duel.host, depth, 4096, kBlocks, IoLoop::Options{.random = true});
  constexpr std::uint64_t kReads = 400;
  std::vector<double> raw_rate, read_rate;
  for (auto _ : state) {
    duel.raw_turn();
    raw.run(kReads / 10);
    raw_rate.push_back(kReads / seconds_of([&] { raw.run(kReads); }));
    duel.stack_turn();
    io.run(kReads / 10);
    read_rate.push_back(kReads / seconds_of([&] { io.run(kReads); }));
  }
  if (!io.holds_pattern()) state.SkipWithError("the data is wrong");
  duel.show_sent(state, (kReads + kReads / 10) * read_rate.size());
  state.counters["raw_s"] = median(raw_rate);
  state.counters["reads_s"] = median(read_rate);
  state.counters["ratio"] = median(read_rate) / median(raw_rate);
}
BENCHMARK(read_rate)->ArgName("depth")->Arg(32)->Unit(benchmark::kMillisecond)->UseRealTime();

// 128 KiB reads or writes against trains of datagrams. Wanted: ratio at least 0.8.
void throughput(benchmark::State& state, bool writes) {
  constexpr std::uint32_t kRead = 128 << 10;
  const auto depth = static_cast<std::uint16_t>(state.range(0));
  RawTrains raw(kSegmentBytes, kSegments, kBlocks * 4096, std::size_t{depth} * kRead);
  Duel<RawTrains> duel(raw);
  IoLoop io(duel.host, depth, kRead, kBlocks, IoLoop::Options{.writes = writes});
  constexpr std::uint64_t kReads = 128;
  const std::uint64_t trains = kReads * kRead / raw.train_bytes();
  std::vector<double> raw_rate, read_rate;
  for (auto _ : state) {
    duel.raw_turn();
    const double raw_s = seconds_of([&] {
      for (std::uint64_t i = 0; i < trains; ++i) raw.send_train();
      raw.wait_for_all();
    });
    raw_rate.push_back(static_cast<double>(trains * raw.train_bytes()) / raw_s);
    duel.stack_turn();
    const double read_s = seconds_of([&] { io.run(kReads); });
    read_rate.push_back(static_cast<double>(kReads * kRead) / read_s);
  }
  if (!writes && !io.holds_pattern()) state.SkipWithError("the data is wrong");
  duel.show_sent(state, kReads * read_rate.size());
  state.counters["raw_MB_s"] = median(raw_rate) / 1e6;
  state.counters["MB_s"] = median(read_rate) / 1e6;
  state.counters["ratio"] = median(read_rate) / median(raw_rate);
}
void read_throughput(benchmark::State& state) { throughput(state, false); }
void write_throughput(benchmark::State& state) { throughput(state, true); }
BENCHMARK(read_throughput)->ArgName("depth")->Arg(4)->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(write_throughput)->ArgName("depth")->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace fb::bench
