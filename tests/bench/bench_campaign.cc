// Worlds of campaigns on one core: connect, commands, faults, recovery, checks. Nobody listens.
#include <benchmark/benchmark.h>

#include "conformance/campaign/recipe.h"
#include "conformance/campaign/run_world.h"

namespace {

using namespace fb;               // NOLINT: a program of its own
using namespace fb::conformance;  // NOLINT

void run_worlds(benchmark::State& state, const char* workload, const fault::Plan& plan, std::size_t steps) {
  std::uint64_t seed = 0, commands = 0, strikes = 0;
  for (auto _ : state) {
    const auto recipe = make_recipe(workload, ++seed, plan, steps);
    const WorldOutcome outcome = run_world(*recipe);
    if (outcome.verdict == WorldVerdict::fail) state.SkipWithError(outcome.text.c_str());
    commands += steps;
    strikes += outcome.strikes.size();
  }
  const auto rate = benchmark::Counter::kIsRate;
  state.counters["worlds_per_s"] = benchmark::Counter(static_cast<double>(seed), rate);
  state.counters["commands_per_s"] = benchmark::Counter(static_cast<double>(commands), rate);
  state.counters["strikes_per_world"] = static_cast<double>(strikes) / static_cast<double>(seed);
}

/// `faults`: 0 none, 1 the standard plan.
void mixed_worlds(benchmark::State& state) {
  run_worlds(state, "mixed", state.range(1) != 0 ? standard_plan() : fault::Plan{}, static_cast<std::size_t>(state.range(0)));
}
BENCHMARK(mixed_worlds)->ArgNames({"steps", "faults"})->Args({200, 1})->Args({200, 0})->Args({60, 1})->Unit(benchmark::kMicrosecond);

void worlds_of(benchmark::State& state, const char* workload) { run_worlds(state, workload, standard_plan(), 200); }
BENCHMARK_CAPTURE(worlds_of, rdma, "rdma")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(worlds_of, tcp, "tcp")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(worlds_of, management, "management")->Unit(benchmark::kMicrosecond);

}  // namespace
