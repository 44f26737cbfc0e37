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
      EXPECT_FALSE(blames_product(found, result.info->role, true)) << result.info->name << " over " << result.transport << ": "
                                                << monitors::facts_of(found.rule).name << ", packet " << found.packet << ": " << found.text;
      EXPECT_TRUE(result.info->options.malformed || on_purpose(result.info->name, found.rule) || blames_product(found, result.info->role, true))
          << "the bench in " << result.info->name << ": " << monitors::facts_of(found.rule).name << ", packet " << found.packet << ": "
          << found.text;
    }
  }
}

// A tool: which rules speak against which deviations. --gtest_also_run_disabled_tests --gtest_filter='*Sweep*'
TEST(MonitoredSuite, DISABLED_Sweep) {
  DeclarationCache declarations;
  std::map<std::string_view, std::set<std::string>> heard;
  for (const deviations::Deviation* deviation : deviations::all_deviations()) {
    for (const CaseInfo* info : all_cases()) {
      if (info->requirement != deviation->requirement) continue;
      for (const std::string_view transport : transports_for(*info, {})) {
        if (!deviations::shows_over(*deviation, transport)) continue;
        RunOptions options;
        options.evidence = false;
        options.deviations = deviations::DeviationSet({deviation});
        const CaseResult result = run_case(*info, transport, options, declarations);
        for (const monitors::Finding& found : result.monitored) {
          if (!blames_product(found, result.info->role, true)) continue;
          heard[monitors::facts_of(found.rule).name].insert(std::string(deviation->name) + " " + std::string(info->name) + " " +
                                                            std::string(transport));
        }
      }
    }
  }
  for (const monitors::RuleFacts& rule : monitors::catalogue()) {
    std::printf("%s:\n", std::string(rule.name).c_str());
    for (const std::string& where : heard[rule.name]) std::printf("    %s\n", where.c_str());
  }
}

}  // namespace
}  // namespace fb::conformance
