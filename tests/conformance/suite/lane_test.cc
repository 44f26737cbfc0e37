#include "conformance/runner/lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "conformance/runner/runner.h"

namespace fb::conformance {
namespace {

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
    EXPECT_FALSE(one.reason.empty());
    for (const std::string_view name : one.lanes) EXPECT_EQ(std::ranges::count(all_lanes(), name, &Lane::name), 1) << name;
    for (const std::string_view name : one.cases) EXPECT_EQ(std::ranges::count(all_cases(), name, &CaseInfo::name), 1) << name;
  }
}

/// A row that is not needed hides what a lane could see.
TEST(LaneExceptions, AreNeeded) {
  RunOptions options;
  options.evidence = options.monitors = options.exceptions = false;
  DeclarationCache declarations;
  const auto needed = [&](const LaneException& row, const Lane& lane, const CaseInfo& info) {
    return std::ranges::any_of(info.options.transports, [&](std::string_view transport) {
      if (!lane.concerns(info, transport) || (!row.transport.empty() && row.transport != transport)) return false;
      const Verdict verdict = run_case(info, transport, options, declarations, lane).verdict;
      return verdict != Verdict::pass && verdict != Verdict::skip;
    });
  };
  for (const LaneException& row : lane_exceptions()) {
    for (const std::string_view lane : row.lanes) {
      for (const std::string_view name : row.cases) {
        const auto at = std::ranges::find(all_lanes(), lane, &Lane::name);
        const auto info = std::ranges::find(all_cases(), name, &CaseInfo::name);
        ASSERT_TRUE(at != all_lanes().end() && info != all_cases().end()) << name << " in " << lane;
        EXPECT_TRUE(needed(row, *at, **info)) << name << " passes in " << lane;
      }
    }
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
