// Many worlds: one a seed, the same whatever the number of threads. What fails is told once for each cause, with a
// file that shows it again; and a defect that is planted on purpose has to be found, or nothing that was said counts.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conformance/campaign/replay_file.h"
#include "conformance/campaign/run_world.h"
#include "conformance/campaign/shapes.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

struct Seeds {
  std::uint64_t first = 1, last = 1;  ///< both included
  std::uint64_t count() const { return last - first + 1; }
};
/// "1..10000", "17". The Problem names the text.
Result<Seeds> parse_seeds(std::string_view text);

/// What one seed came to: small, so that it may come from another machine.
struct SeedOutcome {
  std::uint64_t seed = 0;
  WorldVerdict verdict = WorldVerdict::pass;
  std::string signature;
  std::string text;
  std::uint64_t digest = 0;
  std::uint64_t strikes = 0;
};

struct CampaignOptions {
  std::string workload = "mixed";
  /// Somebody's product, tcp://ADDRESS:PORT/NQN: one world at a time, in real time. Empty: ours.
  std::string product;
  fault::Plan plan;
  Seeds seeds;
  std::size_t steps = 60;  ///< of one world
  unsigned jobs = 1;
  std::vector<std::string> deviations;
  /// Each world twice: the digests have to be the same.
  bool twice = false;
  /// Begins no further world after this time; 0: goes through all seeds.
  double seconds_max = 0;
  /// Stops after so many distinct failures; 0: never.
  std::size_t failures_max = 0;
  Interrupter* interrupter = nullptr;
  /// Who runs the seeds from `first` on, where this process does not: gives so many at most and at least one, in
  /// order; none, where it was interrupted. Throws UserError.
  std::function<std::vector<SeedOutcome>(std::uint64_t first, std::uint64_t count)> elsewhere;
  /// One call at a time, now and then: worlds done, distinct failures so far.
  std::function<void(std::uint64_t, std::size_t)> progress;
  /// Worlds that an interrupted campaign of the same options had finished.
  const struct CampaignState* resume = nullptr;
};

struct CampaignFailure {
  std::string signature;
  std::string text;        ///< of the first
  std::uint64_t seed = 0;  ///< the lowest that shows it
  std::uint64_t count = 0;
  std::uint64_t digest = 0;
};

/// What a campaign knows after a number of worlds: enough to go on.
struct CampaignState {
  std::uint64_t next = 0;    ///< seeds below it are done
  std::uint64_t digest = 0;  ///< of those, in the order of their seeds
  std::uint64_t inconclusive = 0;
  std::uint64_t strikes = 0;
  std::vector<CampaignFailure> failures;
};

struct CampaignResult {
  CampaignState state;
  std::uint64_t worlds = 0;  ///< of this run and those that it goes on from
  std::string canary;        ///< "caught", "missed"; "not run" when interrupted before
  bool interrupted = false;
  double seconds = 0;  ///< of this run
  std::uint64_t worlds_here = 0;
  double rate() const { return seconds > 0 ? static_cast<double>(worlds_here) / seconds : 0; }
};

CampaignResult run_campaign(const CampaignOptions& options);

/// One of its worlds (or two, where the options say so). Throws WaitFailure(interrupted), UserError.
SeedOutcome run_seed(const CampaignOptions& options, std::uint64_t seed);
/// The next seed's outcome, in the order of seeds.
void take(CampaignState& state, const SeedOutcome& outcome);
/// "caught" where every kind of world finds its planted defect, or "missed".
std::string look_for_canaries(const CampaignOptions& options);
/// A workload that there is, and a plan that can strike in it; throws UserError.
void check_options(const CampaignOptions& options);

/// The defect that every campaign has to find, and the one among its own worlds where it has to.
std::string_view canary_deviation(WorldKind kind);

/// The file that shows a failure again.
ReplayFile replay_of(const CampaignOptions& options, const CampaignFailure& failure);

}  // namespace fb::conformance
