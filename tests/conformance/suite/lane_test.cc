#include "conformance/runner/lane.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "conformance/runner/runner.h"

namespace fb::conformance {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  return fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), 0) == 0;
}

TEST(Lanes, HaveNamesAndTextsAndCases) {
  std::set<std::string_view> names;
  for (const Lane& lane : all_lanes()) {
    EXPECT_TRUE(names.insert(lane.name).second) << lane.name;
    EXPECT_FALSE(lane.text.empty()) << lane.name;
    EXPECT_EQ(lane.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string_view::npos) << lane.name;
    EXPECT_EQ(lane.plain(), &lane == &plain_lane()) << lane.name << " concerns no case";
    if (lane.plain()) continue;
    const bool any = std::any_of(all_cases().begin(), all_cases().end(), [&](const CaseInfo* info) {
      return std::any_of(info->options.transports.begin(), info->options.transports.end(),
                         [&](std::string_view transport) { return lane.concerns(*info, transport); });
    });
    EXPECT_TRUE(any) << lane.name;
  }
  EXPECT_GE(names.size(), 12u);
}

TEST(Lanes, AreChosenByNameOrAll) {
  const Product embedded;
  EXPECT_EQ(select_lanes({"all"}, embedded).value().size(), all_lanes().size());
  const auto two = select_lanes({"io-queue-3", "plain", "io-queue-3"}, embedded).value();
  ASSERT_EQ(two.size(), 2u) << "in their order, each once";
  EXPECT_EQ(two[0]->name, "plain");
  EXPECT_EQ(two[1]->name, "io-queue-3");
  const auto unknown = select_lanes({"no-such"}, embedded);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text.find("io-queue-2"), std::string::npos) << "says what there is";
  Product real;
  real.embedded = false;
  real.url = "tcp://192.0.2.7:4420";
  const auto selected = select_lanes({"all"}, real);
  for (const Lane* lane : selected.value()) EXPECT_TRUE(lane->third_party) << lane->name;
  EXPECT_FALSE(select_lanes({"ipv6"}, real)) << "the address of a real product is its own";
}

TEST(LaneExceptions, NameLanesCasesAndReasons) {
  for (const LaneException& one : lane_exceptions()) {
    EXPECT_TRUE(std::any_of(all_lanes().begin(), all_lanes().end(), [&](const Lane& lane) { return matches(one.lane, lane.name); }))
        << one.lane;
    EXPECT_TRUE(std::any_of(all_cases().begin(), all_cases().end(), [&](const CaseInfo* info) { return matches(one.cases, info->name); }))
        << one.cases;
    EXPECT_FALSE(one.reason.empty()) << one.cases;
  }
}

/// A row that is not needed hides what a lane could see.
TEST(LaneExceptions, AreNeeded) {
  RunOptions options;
  options.evidence = options.monitors = options.exceptions = false;
  DeclarationCache declarations;
  for (const LaneException& one : lane_exceptions()) {
    bool needed = false;
    for (const Lane& lane : all_lanes()) {
      if (lane.plain() || !matches(one.lane, lane.name)) continue;
      for (const CaseInfo* info : all_cases()) {
        if (!matches(one.cases, info->name)) continue;
        for (const std::string_view transport : info->options.transports) {
          if (needed || !lane.concerns(*info, transport) || (!one.transport.empty() && one.transport != transport)) continue;
          const Verdict verdict = run_case(*info, transport, options, declarations, lane).verdict;
          needed = verdict != Verdict::pass && verdict != Verdict::skip;
        }
      }
    }
    EXPECT_TRUE(needed) << one.cases << " passes in " << one.lane;
  }
}

TEST(Lanes, AreNoPartOfADigestWithoutThem) {
  std::vector<const CaseInfo*> cases = select(all_cases(), {.cases = {"written_data_reads_back"}}).value();
  RunOptions options;
  const RunResult plain = run_cases(cases, options);
  options.lanes = {&plain_lane()};
  EXPECT_EQ(run_cases(cases, options).digest, plain.digest);
  options.lanes = select_lanes({"plain", "io-queue-3"}, options.product).value();
  const RunResult both = run_cases(cases, options);
  EXPECT_NE(both.digest, plain.digest);
  ASSERT_EQ(both.cases.size(), 2 * plain.cases.size());
  EXPECT_EQ(both.cases.front().digest, plain.cases.front().digest);
  EXPECT_EQ(both.cases.front().lane, "plain");
  EXPECT_EQ(both.cases.back().lane, "io-queue-3");
  EXPECT_NE(both.cases.back().digest, plain.cases.back().digest) << "the queue is another one on the wire";
}

}  // namespace
}  // namespace fb::conformance
