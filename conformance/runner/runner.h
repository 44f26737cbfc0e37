// Runs cases: a fresh world each, exceptions contained, results in a stable order whatever the number
// of threads, one digest.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "conformance/monitors/finding.h"
#include "conformance/runner/case.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/verdict.h"
#include "sim/capture/pcapng.h"

namespace fb::conformance {

inline constexpr std::string_view kToolName = "fabricbench";
std::string_view tool_version();

/// What came of one case.
struct CaseResult {
  const CaseInfo* info = nullptr;
  std::string_view transport = {};  ///< that it ran over
  std::string_view lane = "plain";
  bool embedded = false;  ///< the product is an emulated one
  Verdict verdict = Verdict::none;
  Disposition disposition = Disposition::as_expected;
  std::string reason;  ///< the first failure; why it was skipped; what broke
  std::vector<Finding> findings;
  std::vector<monitors::Finding> monitored;  ///< rules that somebody broke: the product, or the bench on purpose
  std::vector<bool> blamed = {};             ///< for each of those: it was the product
  std::uint64_t digest = 0;
  std::int64_t duration_virtual_ns = 0;
  std::int64_t duration_wall_us = 0;
  std::string capture;  ///< where the capture was left, relative to the report folder
  /// Of a rule that holds for every exchange (rule_case()): the cases in which the product broke it.
  std::vector<const CaseInfo*> shown_by = {};
  /// The waiver that covers this failure, or expects a failure that did not come; all empty without one. What a peer profile
  /// knows has a reason alone.
  std::string waiver = {}, waiver_owner = {}, waiver_link = {}, waiver_expires = {};
  /// Why a waiver of this case does not help: expired, another failure, or no failure at all.
  std::string waiver_problem = {};
  bool finished = false;  ///< false: interrupted before its end
};

/// The names of the rules of every exchange that the product broke in this case, in the order of the catalogue. The verdict of
/// the case is its own; the run reports each rule once.
std::vector<std::string_view> broken_rules(const CaseResult& result);

/// Begins the words by which the trace of a case tells that a check did not hold.
inline constexpr std::string_view kFailedWords = "failed: ";

/// Sees the trace of a case, and then what came of it.
class CaseWatcher : public TraceSink {
 public:
  virtual void finished(const CaseResult& result) = 0;
};

class WaitBudget;

/// Stops what is running, from any thread.
class Interrupter {
 public:
  void fire();
  bool fired() const { return fired_; }

  /// Makes a world reachable for fire() while the guard lives.
  class Guard {
   public:
    Guard(Interrupter* interrupter, World& world);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Interrupter* interrupter_;
    World* world_;
  };

 private:
  std::mutex mutex_;
  std::vector<World*> worlds_;
  std::atomic<bool> fired_{false};
};

/// One of the two that talk to each other through a proxy.
enum class Side : std::uint8_t { host, controller };
inline std::string_view name_of(Side side) { return side == Side::host ? "host" : "controller"; }

/// A rule that one of them broke.
struct LiveFinding {
  monitors::Finding finding;
  Side side = Side::host;
};

/// A product that went down.
struct Stopped {
  std::string after;  ///< the case; empty: before the first
  std::string why;
  std::size_t not_run = 0;
  /// "the product went down in or after CASE: WHY".
  std::string text() const;
};

using BenchFactory = std::unique_ptr<Bench> (*)(World& world, Role role, const Environment& environment);

struct RunOptions {
  Product product;
  deviations::DeviationSet deviations;
  std::vector<const Lane*> lanes = {};  ///< empty: the plain one
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  bool twice = false;      ///< run each case twice and hold the digests against each other
  bool evidence = true;    ///< fold every packet into the digest; false where nobody reads digests
  bool exceptions = true;  ///< leave out what lane_exceptions() names
  bool monitors = true;    ///< hold the rules of conformance/monitors against all that is exchanged
  BenchFactory factory = &make_bench;
  /// Of a real controller, after a case that did not pass: why it takes no connection any more, or nothing.
  std::function<std::optional<std::string>(const Product&)> down = &why_down;
  /// The product is down before the first case: none is run.
  std::optional<Stopped> stopped = {};
  Interrupter* interrupter = nullptr;
  /// What a run waits for a real product; run_cases() has one of its own.
  WaitBudget* waits = nullptr;
  /// Given the capture of each finished case with its result, from the thread that ran it; returns where it was left.
  std::function<std::string(const CaseResult&, std::string_view transport, std::string_view lane, const capture::PcapngWriter&)>
      keep_capture;
  /// A watcher for a case that begins, or nothing; called in the thread that runs it.
  std::function<std::unique_ptr<CaseWatcher>(const CaseInfo&, std::string_view transport, std::string_view lane)> watch;
  /// One call at a time: a result, how many are done, how many there are.
  std::function<void(const CaseResult&, std::size_t, std::size_t)> progress;
};

/// Which cases; what is empty chooses everything.
struct Selection {
  std::vector<std::string> suites = {};
  std::vector<std::string> cases = {};  ///< globs
  std::vector<std::string> roles = {};
  std::string transport = {};
};

/// By name. A Problem names what is unknown, and what is known.
Result<std::vector<const CaseInfo*>> select(const std::vector<const CaseInfo*>& from, const Selection& selection);

/// One case over one of its transports and in one lane, in a world of its own. Throws WaitFailure(interrupted) only.
CaseResult run_case(const CaseInfo& info, std::string_view transport, const RunOptions& options, DeclarationCache& declarations,
                    const Lane& lane = plain_lane());

/// The transports over which this product is held against the case: none, where it has another.
std::vector<std::string_view> transports_for(const CaseInfo& info, const Product& product);

struct RunResult {
  /// Finished ones, lane by lane, by name and transport, and behind them each rule of every exchange that the product broke.
  std::vector<CaseResult> cases;
  std::uint64_t digest = 0;
  bool canary_caught = false;
  bool interrupted = false;
  std::optional<Stopped> stopped = {};
  /// Of traffic that others exchanged through a proxy: what was found. No case was run then, and no canary: `cases` are the
  /// rules that had something to judge.
  std::optional<std::vector<LiveFinding>> live = {};
  /// The run had no canary, or was interrupted before it.
  bool canary_not_run() const { return !canary_caught && (interrupted || live.has_value()); }
  /// What the reader of a report should know beside the cases: waivers that cover nothing, captures that could not be kept.
  std::vector<std::string> remarks = {};
};

/// All of them, each over every transport that it and the product have and in every lane that concerns it, and the canary.
/// Dispositions are not set: see waivers.h.
RunResult run_cases(const std::vector<const CaseInfo*>& cases, const RunOptions& options);

/// Whether the bench connects to it, case by case: then it may be gone for one.
bool is_real_controller(const Product& product);

/// Roles of the cases that such a product can be held against; of the embedded one all.
std::vector<std::string> roles_of(const Product& product);
/// Those of them that are run unless somebody selects others: only its owner knows what a discovery controller is to be.
std::vector<std::string> usual_roles_of(const Product& product);

/// The case that must fail with such a product, and whether it did for its own reason.
const CaseInfo& canary_case(const Product& product = {});
bool canary_caught(const CaseResult& result);

/// The seed of a case's world under the seed of a run.
std::uint64_t world_seed(std::uint64_t seed, std::string_view name);

/// Calls work(0) ... work(count - 1) from `jobs` threads.
void for_each_parallel(std::size_t count, unsigned jobs, const std::function<void(std::size_t)>& work);

}  // namespace fb::conformance
