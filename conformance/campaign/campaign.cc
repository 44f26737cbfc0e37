#include "conformance/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/or_throw.h"

namespace fb::conformance {

namespace {

/// Worlds between two looks at the clock, and between two states that a campaign can be resumed from.
constexpr std::uint64_t kBatch = 128;
/// The canary has so many worlds of each kind to be found in.
constexpr std::uint64_t kCanaryWorlds = 60;

std::uint64_t folded(std::uint64_t digest, std::uint64_t word) { return mix64(digest ^ word); }

Recipe recipe_of(const CampaignOptions& options, std::uint64_t seed) {
  if (!options.product.empty()) return make_product_recipe(options.product, seed, options.plan, options.steps);
  auto made = make_recipe(options.workload, seed, options.plan, options.steps);
  if (!made) throw UserError(made.error().text);
  Recipe recipe = std::move(made).value();
  recipe.deviations = options.deviations;
  return recipe;
}

bool stopped(const CampaignOptions& options) { return options.interrupter != nullptr && options.interrupter->fired(); }

bool differs_when_watched(const Recipe& recipe, const CampaignOptions& options, std::uint64_t digest) {
  struct Listener final : TraceSink {
    void on_event(const TraceEvent&) override {}
  } listener;
  return run_world(recipe, {.sink = &listener, .interrupter = options.interrupter}).digest != digest;
}

void add_failure(CampaignState& state, const SeedOutcome& outcome) {
  for (CampaignFailure& known : state.failures) {
    if (known.signature != outcome.signature) continue;
    ++known.count;
    return;
  }
  state.failures.push_back({outcome.signature, outcome.text, outcome.seed, 1, outcome.digest});
}

std::vector<SeedOutcome> run_here(const CampaignOptions& options, std::uint64_t first, std::uint64_t count) {
  // A product is one, and a look at the clock is due after each of its worlds.
  const bool simulated = options.product.empty();
  std::vector<SeedOutcome> outcomes(std::min(count, simulated ? kBatch : 1));
  const auto run_one = [&](std::size_t index) { outcomes[index] = run_seed(options, first + index); };
  for_each_parallel(outcomes.size(), simulated ? options.jobs : 1, run_one);
  return outcomes;
}

/// The next worlds. False when interrupted: they count as not run then.
bool run_batch(const CampaignOptions& options, CampaignState& state) {
  const std::uint64_t first = state.next;
  const std::uint64_t count = options.seeds.last - first + 1;
  std::vector<SeedOutcome> outcomes;
  try {
    outcomes = options.elsewhere ? options.elsewhere(first, count) : run_here(options, first, count);
  } catch (const WaitFailure&) {
    return false;
  }
  if (stopped(options) || outcomes.empty()) return false;
  const SeedOutcome& head = outcomes.front();
  if (first == options.seeds.first && head.signature == kProductUnusable) throw UserError(head.text);
  for (const SeedOutcome& outcome : outcomes) take(state, outcome);
  return true;
}

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

bool canary_found(const CampaignOptions& options, WorldKind kind) {
  CampaignOptions planted = options;
  planted.product.clear();  // the judges are the same, and this defect is ours
  planted.deviations = {std::string(canary_deviation(kind))};
  std::uint64_t tried = 0;
  for (std::uint64_t seed = options.seeds.first; tried < kCanaryWorlds; ++seed) {
    if (world_kind(options.workload, seed).value() != kind) continue;
    ++tried;
    if (run_world(recipe_of(planted, seed), {.interrupter = options.interrupter}).verdict == WorldVerdict::fail) return true;
  }
  return false;
}

}  // namespace

Result<Seeds> parse_seeds(std::string_view text) {
  const auto wrong = Failure{Problem{fmt::format("--seeds '{}': a number, or a range as 1..10000", text)}};
  Seeds seeds;
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, seeds.first);
  if (read.ec != std::errc{}) return wrong;
  seeds.last = seeds.first;
  if (read.ptr == end) return seeds;
  if (!std::string_view(read.ptr, end).starts_with("..")) return wrong;
  read = std::from_chars(read.ptr + 2, end, seeds.last);
  if (read.ec != std::errc{} || read.ptr != end || seeds.last < seeds.first) return wrong;
  return seeds;
}

std::string_view canary_deviation(WorldKind kind) { return kind == WorldKind::management ? "vpd_read_one_byte_short" : "write_ends_wrong"; }

SeedOutcome run_seed(const CampaignOptions& options, std::uint64_t seed) {
  const Recipe recipe = recipe_of(options, seed);
  WorldOutcome world = run_world(recipe, {.interrupter = options.interrupter});
  // With somebody who listens: that must not matter either.
  if (options.twice && differs_when_watched(recipe, options, world.digest)) {
    world.verdict = WorldVerdict::fail;
    world.signature = "not deterministic";
    world.text = "two runs of one world differ";
  }
  return {seed, world.verdict, std::move(world.signature), std::move(world.text), world.digest, world.strikes.size()};
}

void take(CampaignState& state, const SeedOutcome& outcome) {
  state.digest = folded(state.digest, outcome.digest);
  state.strikes += outcome.strikes;
  if (outcome.verdict == WorldVerdict::inconclusive) ++state.inconclusive;
  if (outcome.verdict == WorldVerdict::fail) add_failure(state, outcome);
  state.next = outcome.seed + 1;
}

std::string look_for_canaries(const CampaignOptions& options) {
  std::vector<WorldKind> kinds = {WorldKind::rdma, WorldKind::tcp, WorldKind::management};
  if (options.workload != "mixed") kinds = {world_kind(options.workload, 1).value()};
  for (const WorldKind kind : kinds) {
    if (!canary_found(options, kind)) return "missed";
  }
  return "caught";
}

void check_options(const CampaignOptions& options) {
  if (!options.product.empty()) return or_throw(reaches_product(options.plan, options.workload));
  const auto places = or_throw(places_of_workload(options.workload));
  or_throw(fault::fits(options.plan, places));
}

CampaignResult run_campaign(const CampaignOptions& options) {
  check_options(options);
  const auto began = std::chrono::steady_clock::now();
  CampaignResult result;
  result.canary = "not run";
  if (options.resume != nullptr)
    result.state = *options.resume;
  else
    result.state.next = options.seeds.first;
  const std::uint64_t before = result.state.next;
  while (result.state.next <= options.seeds.last) {
    if (stopped(options) || !run_batch(options, result.state)) {
      result.interrupted = true;
      break;
    }
    if (options.progress) options.progress(result.state.next - options.seeds.first, result.state.failures.size());
    if (options.failures_max != 0 && result.state.failures.size() >= options.failures_max) break;
    if (!result.state.failures.empty() && result.state.failures.back().signature == kProductUnusable) break;  // it is gone
    if (options.seconds_max > 0 && seconds_since(began) >= options.seconds_max) break;
  }
  result.worlds = result.state.next - options.seeds.first;
  result.worlds_here = result.state.next - before;
  result.seconds = seconds_since(began);
  try {
    if (!result.interrupted) result.canary = look_for_canaries(options);
  } catch (const WaitFailure&) {
    result.interrupted = true;
  }
  return result;
}

ReplayFile replay_of(const CampaignOptions& options, const CampaignFailure& failure) {
  return {recipe_of(options, failure.seed), failure.signature, failure.digest};
}

}  // namespace fb::conformance
