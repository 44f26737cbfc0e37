// What a target takes of memory: a thousand connected queues of 128 entries, idle and after each had
// every entry in use; a sparse namespace of 1 TiB. The target is a process of its own, so that nothing
// of the host is counted, and everything of the target is: code, stacks, allocator and all.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>

#include "sim/net/udp_port.h"
#include "tests/bench/machine.h"
#include "tests/bench/rdma_stack.h"

namespace fb::bench {
namespace {

constexpr std::uint16_t kQueues = 1000;
constexpr std::uint16_t kEntries = 128;
const IpAddress kTargetAddress = IpAddress::v4(127, 0, 0, 34);
const IpAddress kHostAddress = IpAddress::v4(127, 0, 0, 33);

/// A target in a child process, on UDP of the loopback interface.
class TargetProcess {
 public:
  explicit TargetProcess(const TargetSide::Options& options) {
    int ready[2];
    BENCH_ASSERT(pipe(ready) == 0, "the kernel gives a pipe");
    pid_ = fork();
    if (pid_ == 0) serve(options, ready[1]);
    close(ready[1]);
    char byte = 0;
    ready_ = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
  }
  ~TargetProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool ready() const { return ready_; }
  double resident() const { return resident_mib(pid_); }

 private:
  [[noreturn]] static void serve(const TargetSide::Options& options, int ready) {
    const auto world = World::make_real(1);
    net::RealHost host(*world);
    const RdmaTargetSide side(*world, host, kTargetAddress, options);
    const char byte = 1;
    if (write(ready, &byte, 1) == 1) {
      for (;;) world->run_for(Duration::s(3600));
    }
    _exit(1);
  }
  pid_t pid_ = -1;
  bool ready_ = false;
};

struct HostProcess {
  std::unique_ptr<World> world = World::make_real(2);
  net::RealHost net{*world};
  RdmaHostSide side{*world, net, kHostAddress, {kTargetAddress, 4420}};
  HostProcess() { side.enable(); }
};

// Wanted: under 300 MiB.
void thousand_queues(benchmark::State& state) {
  for (auto _ : state) {
    TargetProcess target({.io_queues_max = kQueues});
    if (!target.ready()) return state.SkipWithError("the target did not start");
    const double alone = target.resident();
    HostProcess host;
    BENCH_ASSERT(host.side.request_queues(kQueues), "the controller grants every queue");
    std::vector<std::unique_ptr<IoLoop>> queues;
    for (std::uint16_t qid = 1; qid <= kQueues; ++qid) {
      queues.push_back(std::make_unique<IoLoop>(host.side, 0, 4096, 8192, IoLoop::Options{.qid = qid}));
    }
    state.counters["alone_MiB"] = alone;
    state.counters["connected_MiB"] = target.resident();
    // One after the other: the host has no memory for all at once.
    for (const auto& queue : queues) {
      queue->set_depth(kEntries - 1);
      queue->run(kEntries - 1);
      queue->set_depth(0);
    }
    state.counters["busy_MiB"] = target.resident();
    state.counters["queues"] = static_cast<double>(queues.size());
  }
}
BENCHMARK(thousand_queues)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

// Wanted: what is written and no more. 64 MiB, all over the namespace.
void sparse_tebibyte(benchmark::State& state) {
  constexpr std::uint64_t kBlocks = (std::uint64_t{1} << 40) / 4096;
  constexpr std::uint64_t kWritten = 16384;
  Bytes block(4096, 0x5A);
  for (auto _ : state) {
    malloc_trim(0);  // what an earlier benchmark has freed would hide what this one takes
    const double before = resident_mib(getpid());
    subsystem::NamespaceOptions options;
    options.nsid = 1;
    options.block_bytes = 4096;
    options.blocks = kBlocks;
    subsystem::Namespace space("bench", std::move(options));
    const double made = resident_mib(getpid());
    // Runs of 256 blocks, far apart.
    for (std::uint64_t i = 0; i < kWritten; ++i) {
      const std::uint64_t lba = i / 256 * (kBlocks / (kWritten / 256)) + i % 256;
      if (!space.write(lba, block).ok()) return state.SkipWithError("a write failed");
    }
    state.counters["empty_MiB"] = made - before;
    state.counters["held_MiB"] = resident_mib(getpid()) - before;
    state.counters["written_MiB"] = static_cast<double>(kWritten * 4096) / (1 << 20);
  }
}
BENCHMARK(sparse_tebibyte)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fb::bench
