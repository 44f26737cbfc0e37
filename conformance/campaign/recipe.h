// Everything that one world of a campaign is made from: run twice, it is the same world. Steps and faults are
// explicit lists, so that any of them can be left out without moving the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/fault/plan.h"

namespace fb::conformance {

/// What a worker does in one step. Of a management world those from `health` on.
enum class Deed : std::uint8_t {
  read,
  write,
  flush,
  compare,
  compare_and_write,
  write_zeroes,
  deallocate,
  verify,
  rescan,
  reserve,
  release,
  health,
  vpd_write,  ///< of what stands there
  vpd_read,
  subsystem_info,
  controllers,
  configuration,
  identify,
  smart,
  set_feature,
};
inline constexpr std::size_t kDeeds = 20;
std::string_view name_of(Deed deed);
constexpr bool is_management(Deed deed) { return deed >= Deed::health; }
inline constexpr std::uint32_t kVpdBytes = 128;  ///< of a drive of these worlds

/// One step of one worker: workers run side by side, the steps of one after each other. As text:
/// "3 write 17+4 @250" (worker, deed, where, how many, microseconds to wait before it).
struct Step {
  unsigned worker = 0;
  Deed deed = Deed::read;
  std::uint64_t at = 0;     ///< first block; bytes of a buffer
  std::uint32_t count = 1;  ///< blocks; bytes
  std::uint32_t pause_us = 0;
  bool operator==(const Step&) const = default;
};
std::string to_string(const Step& step);
Result<Step> parse_step(std::string_view text);

struct Recipe {
  std::string workload = "mixed";
  /// Somebody's product, tcp://ADDRESS:PORT/NQN, in real time; empty: ours, in a world of its own.
  std::string product;
  std::uint64_t seed = 1;
  std::vector<std::string> deviations;  ///< what the products do wrong
  std::vector<Step> steps;
  fault::Schedule schedule;
};

/// The names that `workload` may have, with one line about each.
struct WorkloadFacts {
  std::string_view name;
  std::string_view what;
};
const std::vector<WorkloadFacts>& workloads();

/// What a plan and a seed make of a workload of so many steps. The Problem names an unknown workload.
Result<Recipe> make_recipe(const std::string& workload, std::uint64_t seed, const fault::Plan& plan, std::size_t steps);
/// The same with somebody's product at an URL; the workload is its transport.
Recipe make_product_recipe(const std::string& product, std::uint64_t seed, const fault::Plan& plan, std::size_t steps);

/// Faults of every level, few enough for honest products to get over.
const fault::Plan& standard_plan();
/// Faults that can be made on the way to somebody's product, and cost little time.
const fault::Plan& product_plan(std::string_view transport);
/// The Problem names the first fault of the plan that cannot be made on the way to somebody's product.
Result<void> reaches_product(const fault::Plan& plan, std::string_view transport);

}  // namespace fb::conformance
