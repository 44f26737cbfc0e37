// NVMe/TCP over real sockets of the loopback interface, host and target on a core each, both polling,
// beside a plain TCP program of the same message sizes and the same batching on the same two cores. They
// take turns within one run, so that what the machine does meanwhile meets all; the figures are medians,
// and `ratio` is what counts.
#include <benchmark/benchmark.h>

#include <new>
#include <optional>

#include "model/auth/psk.h"
#include "sim/net/udp_port.h"
#include "sim/tls/tls_host.h"
#include "tests/bench/machine.h"
#include "tests/bench/raw_tcp.h"
#include "tests/bench/tcp_stack.h"
#include "wire/tcp/pdu.h"

namespace {
/// Of the whole process.
std::atomic<std::uint64_t> allocations = 0;

void* counted(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(size != 0 ? size : 1)) return memory;
  std::abort();
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace fb::bench {
namespace {

constexpr std::uint64_t kBlocks = 8192;  // 32 MiB
constexpr std::size_t kQuestionBytes = tcp::CapsuleCmd::size;
constexpr std::size_t kDataHeader = tcp::DataPdu::size;
const IpAddress kAddress = IpAddress::v4(127, 0, 0, 1);

/// The other core: serves whoever has the turn.
class FarCore {
 public:
  using Turn = std::function<void()>;
  /// When this returns, nobody else is being served.
  void serve(const Turn* turn) {
    wanted_.store(turn);
    while (serving_.load() != turn) {
    }
  }

 private:
  void step() {
    const Turn* const turn = wanted_.load(std::memory_order_relaxed);
    if (turn != serving_.load(std::memory_order_relaxed)) serving_.store(turn);
    if (turn != nullptr) (*turn)();
  }
  std::atomic<const Turn*> wanted_ = nullptr, serving_ = nullptr;
  Peer peer_{[this] { step(); }};
};

struct OneKey final : tls::Keys {
  Result<tls::Key> for_peer(const Endpoint&) override { return key; }
  std::optional<tls::Key> find(std::string_view) override { return key; }
  tls::Key key{auth::PskIdentity{.hostnqn = std::string(kHostNqn), .subnqn = std::string(subsystem::kDefaultSubsystemNqn)}.text(),
               Bytes(32, 7), tls::Suite::aes_128_gcm_sha256};
};

struct PairOptions {
  TargetSide::Options target = {.blocks = kBlocks, .null = true};
  bool digests = false;
  bool tls = false;
  bool flow_control = false;
  bool writes = false;  ///< instead of reads
};

/// Host here, target on the other core.
class StackPair {
 public:
  StackPair(FarCore& core, const PairOptions& options, std::uint16_t depth, std::uint32_t bytes)
      : core_(core),
        far_tls_(*far_world_, far_sockets, keys_),
        near_tls_(*near_world_, near_sockets, keys_),
        target(*far_world_, pick(options, far_sockets, far_tls_), kAddress, options.target),
        host(*near_world_, pick(options, near_sockets, near_tls_), kAddress, target.listener->local(),
             {.header_digest = options.digests, .data_digest = options.digests}) {
    take_turn();
    host.enable();
    io.emplace(host, depth, bytes, kBlocks,
               IoLoop::Options{.random = bytes == 4096, .flow_control = options.flow_control, .writes = options.writes});
  }
  ~StackPair() { core_.serve(nullptr); }
  void take_turn() { core_.serve(&turn_); }

 private:
  static net::StreamHost& pick(const PairOptions& options, net::StreamHost& plain, net::StreamHost& secure) {
    return options.tls ? secure : plain;
  }
  FarCore& core_;
  OneKey keys_;
  std::unique_ptr<World> far_world_ = World::make_real(1, true);
  std::unique_ptr<World> near_world_ = World::make_real(2, true);

 public:
  net::RealHost far_sockets{*far_world_}, near_sockets{*near_world_};

 private:
  tls::TlsStreamHost far_tls_, near_tls_;
  FarCore::Turn turn_ = [this] { far_world_->step_towards(far_world_->now()); };

 public:
  TcpTargetSide target;
  TcpHostSide host;
  std::optional<IoLoop> io;
};

/// What both sides have done since the last look; to be called while nobody serves the target.
struct Tally {
  explicit Tally(StackPair& p) : pair(p) { start(); }
  void start() {
    near = pair.host.tcp_fabric.counters();
    far = pair.target.tcp_fabric.counters();
    made = allocations.load();
    near_calls = pair.near_sockets.stream_counters().receive_calls;
    far_calls = pair.far_sockets.stream_counters().receive_calls;
  }
  void add() {
    const auto since = [](transport::TcpCounters& sum, const transport::TcpCounters& now, const transport::TcpCounters& then) {
      sum.pdus_in += now.pdus_in - then.pdus_in;
      sum.pdus_out += now.pdus_out - then.pdus_out;
      sum.receives += now.receives - then.receives;
      sum.sends += now.sends - then.sends;
    };
    since(near_sum, pair.host.tcp_fabric.counters(), near);
    since(far_sum, pair.target.tcp_fabric.counters(), far);
    made_sum += allocations.load() - made;
    near_calls_sum += pair.near_sockets.stream_counters().receive_calls - near_calls;
    far_calls_sum += pair.far_sockets.stream_counters().receive_calls - far_calls;
  }
  void show(benchmark::State& state) const {
    const auto per = [](std::uint64_t pdus, std::uint64_t calls) {
      return static_cast<double>(pdus) / static_cast<double>(std::max<std::uint64_t>(calls, 1));
    };
    state.counters["host_pdus_per_send"] = per(near_sum.pdus_out, near_sum.sends);
    state.counters["host_pdus_per_recv"] = per(near_sum.pdus_in, near_sum.receives);
    state.counters["target_pdus_per_send"] = per(far_sum.pdus_out, far_sum.sends);
    state.counters["target_pdus_per_recv"] = per(far_sum.pdus_in, far_sum.receives);
    // Receives that found nothing: how idle a side is.
    state.counters["host_idle_polls_per_io"] = per(near_calls_sum - near_sum.receives, near_sum.pdus_out);
    state.counters["target_idle_polls_per_io"] = per(far_calls_sum - far_sum.receives, near_sum.pdus_out);
    state.counters["allocations_per_io"] = per(made_sum, near_sum.pdus_out);
  }
  StackPair& pair;
  transport::TcpCounters near, far, near_sum, far_sum;
  std::uint64_t made = 0, made_sum = 0;
  std::uint64_t near_calls = 0, far_calls = 0, near_calls_sum = 0, far_calls_sum = 0;
};

template <class Action>
double seconds_of(Action&& action) {
  const double from = seconds_now();
  action();
  return seconds_now() - from;
}

// 4 KiB reads at queue depth 1 against round trips of the same bytes. Wanted: ratio at most 1.4.
void tcp_latency(benchmark::State& state) {
  pin_to_core(0);
  FarCore core;
  RawTcpEcho raw(kQuestionBytes, kDataHeader + 4096, 1);
  const FarCore::Turn raw_turn = [&] { raw.turn(); };
  StackPair pair(core, {.flow_control = state.range(0) != 0}, 1, 4096);
  constexpr int kWarm = 20, kTimed = 500;
  std::vector<double> raw_s, read_s;
  for (auto _ : state) {
    core.serve(&raw_turn);
    for (int i = 0; i < kWarm; ++i) raw.run(1);
    for (int i = 0; i < kTimed; ++i) raw_s.push_back(seconds_of([&] { raw.run(1); }));
    pair.take_turn();
    pair.io->run(kWarm);
    pair.io->run(kTimed, &read_s);
  }
  state.counters["raw_us"] = median(raw_s) * 1e6;
  state.counters["read_us"] = median(read_s) * 1e6;
  state.counters["ratio"] = median(read_s) / median(raw_s);
}
BENCHMARK(tcp_latency)->ArgName("sqhd")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Runs a stack and the raw program in turns; rates are per second.
void duel(benchmark::State& state, const PairOptions& options, std::uint32_t bytes, std::uint16_t depth, std::size_t raw_memory) {
  pin_to_core(0);
  FarCore core;
  // A Write is a question with its data, and a response capsule.
  RawTcpEcho raw(options.writes ? kQuestionBytes + bytes : kQuestionBytes, options.writes ? tcp::CapsuleResp::size : kDataHeader + bytes,
                 depth, raw_memory);
  const FarCore::Turn raw_turn = [&] { raw.turn(); };
  StackPair pair(core, options, depth, bytes);
  Tally tally(pair);
  const std::uint64_t count = bytes == 4096 ? 400 : 64;
  const double reads = static_cast<double>(count);
  std::vector<double> raw_rate, read_rate;
  for (auto _ : state) {
    core.serve(&raw_turn);
    raw.run(count / 10);
    raw_rate.push_back(reads / seconds_of([&] { raw.run(count); }));
    pair.take_turn();
    pair.io->run(count / 10);
    core.serve(nullptr);
    tally.start();
    pair.take_turn();
    const double took = seconds_of([&] { pair.io->run(count); });
    core.serve(nullptr);
    tally.add();
    read_rate.push_back(reads / took);
  }
  if (!options.writes && !options.target.null && !pair.io->holds_pattern()) state.SkipWithError("the data is wrong");
  state.counters["raw_s"] = median(raw_rate);
  state.counters[options.writes ? "writes_s" : "reads_s"] = median(read_rate);
  state.counters["MB_s"] = median(read_rate) * bytes / 1e6;
  state.counters["ratio"] = median(read_rate) / median(raw_rate);
  tally.show(state);
}

// 4 KiB random reads, null namespace. Wanted: 450,000 a second in a quiet phase, ratio at least 0.6.
void tcp_reads(benchmark::State& state) {
  duel(state, {.flow_control = state.range(1) != 0}, 4096, static_cast<std::uint16_t>(state.range(0)), 0);
}
BENCHMARK(tcp_reads)
    ->ArgNames({"depth", "sqhd"})
    ->Args({32, 0})
    ->Args({32, 1})
    ->Args({8, 0})
    ->Args({120, 0})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// 128 KiB reads of a namespace that holds data. Wanted: ratio at least 0.7.
void tcp_throughput(benchmark::State& state) {
  duel(state, {.target = {.blocks = kBlocks, .blocks_written = kBlocks}}, 128 << 10, static_cast<std::uint16_t>(state.range(0)),
       kBlocks * 4096);
}
BENCHMARK(tcp_throughput)->ArgName("depth")->Arg(4)->Arg(8)->Arg(16)->Arg(32)->Unit(benchmark::kMillisecond)->UseRealTime();

// The same for Writes: 4 KiB in their capsules, 128 KiB behind an R2T each. Wanted: ratio at least 0.75, and 0.92.
void tcp_writes(benchmark::State& state) { duel(state, {.writes = true}, 4096, static_cast<std::uint16_t>(state.range(0)), 0); }
BENCHMARK(tcp_writes)->ArgName("depth")->Arg(32)->Arg(120)->Unit(benchmark::kMillisecond)->UseRealTime();
void tcp_write_throughput(benchmark::State& state) {
  duel(state, {.target = {.blocks = kBlocks, .blocks_written = kBlocks}, .writes = true}, 128 << 10,
       static_cast<std::uint16_t>(state.range(0)), 0);
}
BENCHMARK(tcp_write_throughput)->ArgName("depth")->Arg(4)->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond)->UseRealTime();

// Two stacks in turns: header and data digests on against off (wanted: ratio at least 0.85), or TLS against
// none.
void compare(benchmark::State& state, const PairOptions& with, const PairOptions& without) {
  pin_to_core(0);
  FarCore core;
  const auto bytes = static_cast<std::uint32_t>(state.range(0));
  const auto depth = static_cast<std::uint16_t>(state.range(1));
  StackPair plain(core, without, depth, bytes), other(core, with, depth, bytes);
  const std::uint64_t count = bytes == 4096 ? 400 : 64;
  std::vector<double> plain_rate, other_rate;
  for (auto _ : state) {
    for (auto [pair, rates] : {std::pair{&plain, &plain_rate}, {&other, &other_rate}}) {
      pair->take_turn();
      pair->io->run(count / 10);
      rates->push_back(static_cast<double>(count) / seconds_of([&] { pair->io->run(count); }));
    }
  }
  state.counters["without_s"] = median(plain_rate);
  state.counters["with_s"] = median(other_rate);
  state.counters["ratio"] = median(other_rate) / median(plain_rate);
}
void tcp_digests(benchmark::State& state) {
  const TargetSide::Options target{.blocks = kBlocks, .blocks_written = kBlocks};
  compare(state, {.target = target, .digests = true}, {.target = target});
}
void tcp_tls(benchmark::State& state) { compare(state, {.tls = true}, {}); }
BENCHMARK(tcp_digests)->Args({4096, 32})->Args({128 << 10, 8})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(tcp_tls)->Args({4096, 32})->Args({128 << 10, 8})->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace fb::bench
