// Defects planted on purpose, one at a time: a campaign finds each of them, and what it hands back is small.
// FABRICBENCH_UPDATE=docs/planted-defects.md writes the table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "conformance/campaign/campaign.h"
#include "conformance/campaign/shrink.h"
#include "tests/conformance/campaign/planted.h"

namespace fb::conformance {
namespace {

constexpr Seeds kSeeds{1, 2000};
constexpr std::size_t kFaultsMax = 5;

struct Found {
  std::uint64_t seed = 0;
  ShrinkResult shrunk;
  std::string problem = "not found";
};

Found look_for(const Planted& planted) {
  CampaignOptions options;
  options.workload = planted.workload;
  options.plan = standard_plan();
  options.seeds = kSeeds;
  options.deviations = {planted.deviation};
  options.failures_max = 1;
  const CampaignResult campaign = run_campaign(options);
  Found found;
  if (campaign.state.failures.empty()) return found;
  found.seed = campaign.state.failures.front().seed;
  auto less = shrink(replay_of(options, campaign.state.failures.front()), {.seconds_max = 120});
  found.problem = less ? "" : less.error().text;
  if (less) found.shrunk = std::move(less).value();
  return found;
}

std::string told(const Found& found) {
  std::string text;
  for (const fault::Decision& decision : found.shrunk.smallest.recipe.schedule.decisions) {
    text += (text.empty() ? "" : "; ") + fault::tell(decision);
  }
  return text.empty() ? "none" : text;
}

void write_table(const char* path, const std::vector<Found>& found) {
  std::ofstream out(path);
  out << "# Planted defects\n\n"
         "Defects of the products that a campaign finds with the standard plan, each within 2,000 seeds, and what\n"
         "shrinking leaves of the world that showed it. A test plants them one at a time and writes this table.\n\n"
         "| where | defect | worlds | seed | faults | steps | what is seen | the faults that are left |\n"
         "|---|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ShrinkResult& shrunk = found[i].shrunk;
    out << fmt::format("| {} | `{}` | {} | {} | {} to {} | {} to {} | {} | {} |\n", kPlanted[i].engine, kPlanted[i].deviation,
                       kPlanted[i].workload, found[i].seed, shrunk.decisions_before, shrunk.decisions_after, shrunk.steps_before,
                       shrunk.steps_after, shrunk.smallest.signature, told(found[i]));
  }
}

TEST(Planted, EachDefectIsFoundAndShrunk) {
#ifdef FABRICBENCH_SLOW_BUILD
  std::vector<Found> found(3);
#else
  std::vector<Found> found(std::size(kPlanted));
#endif
  for_each_parallel(found.size(), 2, [&](std::size_t i) { found[i] = look_for(kPlanted[i]); });
  std::vector<double> left;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].problem, "") << kPlanted[i].deviation;
    EXPECT_LE(found[i].shrunk.decisions_after, kFaultsMax) << kPlanted[i].deviation << ": " << told(found[i]);
    if (found[i].shrunk.decisions_before == 0) continue;
    left.push_back(static_cast<double>(found[i].shrunk.decisions_after) / static_cast<double>(found[i].shrunk.decisions_before));
  }
  std::sort(left.begin(), left.end());
  ASSERT_FALSE(left.empty());
  EXPECT_LE(left[left.size() / 2], 0.1) << "at least nine of ten decisions go, in the median";
  if (const char* const path = std::getenv("FABRICBENCH_UPDATE")) write_table(path, found);
}

TEST(Planted, AreFortyAndFromEveryEngine) {
  EXPECT_GE(std::size(kPlanted), 40u);
  std::map<std::string, unsigned> engines;
  for (const Planted& planted : kPlanted) ++engines[planted.engine];
  for (const char* engine : {"RC", "CM", "PDU", "host", "controller", "MCTP", "MI"}) EXPECT_GE(engines[engine], 1u) << engine;
}

TEST(Planted, TheTableInTheDocumentsHasThem) {
  std::ifstream file(FABRICBENCH_TEST_DATA "/../../docs/planted-defects.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const Planted& planted : kPlanted) {
    EXPECT_NE(text.find(fmt::format("`{}`", planted.deviation)), std::string::npos) << planted.deviation;
  }
}

}  // namespace
}  // namespace fb::conformance
