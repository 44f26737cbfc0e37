#include "conformance/campaign/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "conformance/campaign/run_world.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

namespace {

/// No time is left, or the user has had enough.
struct Enough {};

Recipe with_earlier_steps(Recipe recipe, std::uint64_t by) {
  for (fault::Decision& decision : recipe.schedule.decisions) {
    if (decision.place.site == fault::Site::step) decision.ordinal -= std::min(decision.ordinal, by);
  }
  std::sort(recipe.schedule.decisions.begin(), recipe.schedule.decisions.end());
  return recipe;
}

class Shrinker {
 public:
  Shrinker(ReplayFile& best, const ShrinkOptions& options, ShrinkResult& result)
      : best_(best), options_(options), result_(result), began_(std::chrono::steady_clock::now()) {}

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

  /// Whether this recipe still fails in the same way; then it is the best.
  bool try_out(Recipe recipe) {
    const unsigned runs = recipe.product.empty() ? 1 : std::max(options_.repetitions, 1u);
    unsigned shown = 0;
    std::uint64_t digest = 0;
    for (unsigned run = 0; run < runs; ++run) {
      if (shown + (runs - run) <= runs / 2) return false;  // too few are left
      if (seconds() > options_.seconds_max) throw Enough{};
      ++result_.worlds;
      const WorldOutcome outcome = run_world(recipe, {.interrupter = options_.interrupter});
      if (outcome.verdict != WorldVerdict::fail || outcome.signature != best_.signature) continue;
      ++shown;
      digest = outcome.digest;
    }
    if (shown <= runs / 2) return false;
    best_.recipe = std::move(recipe);
    best_.digest = digest;
    result_.runs = runs;
    result_.shown = shown;
    if (options_.progress) options_.progress(best_.recipe.schedule.decisions.size(), best_.recipe.steps.size());
    return true;
  }

  /// Leaves out what can be left out of a list, in ever smaller pieces.
  bool thin_out_steps() {
    return thin_out([](Recipe& recipe) -> std::vector<Step>& { return recipe.steps; }, true);
  }
  bool thin_out_faults() {
    return thin_out([](Recipe& recipe) -> std::vector<fault::Decision>& { return recipe.schedule.decisions; }, false);
  }

  /// One of the faults alone may do, at another place in the order: what others changed before it is missing then.
  bool find_alone() {
    if (!best_.recipe.product.empty()) return false;  // it would take hours
    constexpr std::size_t kTried = 16;
    constexpr std::uint64_t kOrdinals = 300;
    const std::vector<fault::Decision> all = best_.recipe.schedule.decisions;
    if (all.size() < 2) return false;
    for (std::size_t i = 0; i < std::min(kTried, all.size()); ++i) {
      for (std::uint64_t ordinal = 0; ordinal < kOrdinals; ++ordinal) {
        Recipe recipe = best_.recipe;
        recipe.schedule.decisions = {all[i]};
        recipe.schedule.decisions[0].ordinal = ordinal;
        if (try_out(std::move(recipe))) return true;
      }
    }
    return false;
  }

  /// Shorter pauses.
  void soften() {
    for (std::size_t i = 0; i < best_.recipe.steps.size(); ++i) {
      if (best_.recipe.steps[i].pause_us == 0) continue;
      Recipe recipe = best_.recipe;
      recipe.steps[i].pause_us = 0;
      try_out(std::move(recipe));
    }
  }

 private:
  /// Where steps are gone, what strikes at a step is tried at one that comes as much earlier, too.
  template <class ListOf>
  bool thin_out(ListOf&& list_of, bool steps) {
    bool any = false;
    std::size_t piece = list_of(best_.recipe).size();
    while (piece > 0) {
      bool removed = false;
      for (std::size_t at = 0; at < list_of(best_.recipe).size();) {
        Recipe recipe = best_.recipe;
        auto& list = list_of(recipe);
        const std::size_t end = std::min(at + piece, list.size());
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at), list.begin() + static_cast<std::ptrdiff_t>(end));
        const std::size_t gone = list_of(best_.recipe).size() - list.size();
        if (try_out(recipe) || (steps && try_out(with_earlier_steps(std::move(recipe), gone)))) {
          removed = any = true;
        } else {
          at += piece;
        }
      }
      if (!removed || piece > 1) piece /= 2;
    }
    return any;
  }

  ReplayFile& best_;
  const ShrinkOptions& options_;
  ShrinkResult& result_;
  std::chrono::steady_clock::time_point began_;
};

/// Only what struck: the rest never happened.
Recipe struck_only(const Recipe& recipe, const WorldOutcome& outcome) {
  Recipe left = recipe;
  left.schedule.decisions.clear();
  for (const fault::Strike& strike : outcome.strikes) left.schedule.decisions.push_back(strike.decision);
  std::sort(left.schedule.decisions.begin(), left.schedule.decisions.end());
  return left;
}

}  // namespace

Result<ShrinkResult> shrink(const ReplayFile& file, const ShrinkOptions& options) {
  WorldOutcome first = run_world(file.recipe, {.interrupter = options.interrupter});
  const auto shows = [&] { return first.verdict == WorldVerdict::fail && first.signature == file.signature; };
  const unsigned tries = file.recipe.product.empty() ? 1 : options.repetitions;
  for (unsigned i = 1; i < tries && !shows(); ++i) first = run_world(file.recipe, {.interrupter = options.interrupter});
  if (!shows()) {
    return Failure{Problem{fmt::format("the world does not fail with '{}': {}", file.signature,
                                       first.signature.empty() ? "it passes" : "it ends with '" + first.signature + "'")}};
  }
  ShrinkResult result;
  result.smallest = file;
  result.decisions_before = file.recipe.schedule.decisions.size();
  result.steps_before = file.recipe.steps.size();
  Shrinker shrinker(result.smallest, options, result);
  try {
    shrinker.try_out(struck_only(file.recipe, first));
    bool again = true;
    while (again) {
      again = shrinker.thin_out_faults();
      again = shrinker.thin_out_steps() || again;
    }
    if (shrinker.find_alone()) {
      while (shrinker.thin_out_steps() || shrinker.thin_out_faults()) {
      }
    }
    shrinker.soften();
  } catch (const Enough&) {
  } catch (const WaitFailure&) {
    result.interrupted = true;
  }
  result.seconds = shrinker.seconds();
  result.decisions_after = result.smallest.recipe.schedule.decisions.size();
  result.steps_after = result.smallest.recipe.steps.size();
  result.story = tell_story(result.smallest.recipe, run_world(result.smallest.recipe));
  return result;
}

}  // namespace fb::conformance
