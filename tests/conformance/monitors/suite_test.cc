// The monitors over the suite: silent about honest products, and heard where a product deviates.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>

#include "conformance/monitors/monitors.h"
#include "conformance/runner/runner.h"
#include "conformance/runner/watched.h"

namespace fb::conformance {
namespace {

using monitors::Rule;

TEST(MonitoredSuite, HonestProductsBreakNoRule) {
  RunOptions options;
  options.jobs = 2;
  options.evidence = false;
  for (const CaseResult& result : run_cases(all_cases(), options).cases) {
    for (const monitors::Finding& found : result.monitored) {
      EXPECT_FALSE(blames_product(found, result.info->role, true))
          << result.info->name << " over " << result.transport << ": " << monitors::facts_of(found.rule).name << ", packet " << found.packet
          << ": " << found.text;
      EXPECT_TRUE(result.info->options.malformed || on_purpose(result.info->name, found.rule) ||
                  blames_product(found, result.info->role, true))
          << "the bench in " << result.info->name << ": " << monitors::facts_of(found.rule).name << ", packet " << found.packet << ": "
          << found.text;
    }
  }
}

}  // namespace
}  // namespace fb::conformance
