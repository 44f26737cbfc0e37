// The smallest recipe that still shows the same failure: decisions and steps are left out as long as it does, and
// what is left is told in sentences.
#pragma once

#include <functional>

#include "conformance/campaign/replay_file.h"

namespace fb::conformance {

class Interrupter;

struct ShrinkOptions {
  /// Longest time; what is smallest by then is the result.
  double seconds_max = 25;
  /// With somebody's product: a recipe is run so often, and fails if most of its runs do.
  unsigned repetitions = 3;
  Interrupter* interrupter = nullptr;
  /// Decisions and steps that are left.
  std::function<void(std::size_t, std::size_t)> progress = {};
};

struct ShrinkResult {
  ReplayFile smallest;
  std::size_t decisions_before = 0, decisions_after = 0;
  std::size_t steps_before = 0, steps_after = 0;
  std::size_t worlds = 0;  ///< that were run
  /// Runs of the smallest, and how many of them showed the failure: all, where the world is ours.
  unsigned runs = 1, shown = 1;
  double seconds = 0;
  bool interrupted = false;
  std::vector<std::string> story;
};

/// The Problem: the file's world does not fail as the file says.
Result<ShrinkResult> shrink(const ReplayFile& file, const ShrinkOptions& options);

/// What happens in the recipe's world, a sentence each: who is there, what they do, what goes wrong, what is seen.
std::vector<std::string> tell_story(const Recipe& recipe, const WorldOutcome& outcome);

}  // namespace fb::conformance
