#include "sim/fault/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/core/world.h"
#include "sim/fault/points.h"

namespace fb::fault {
namespace {

const std::vector<Place> kPlaces = {{Site::packet, "host->target"}, {Site::packet, "target->host"}, {Site::step, {}}};

Plan plan_of(const char* text) {
  auto read = parse_plan(text, "plan.yaml");
  EXPECT_TRUE(read.ok()) << read.error().text;
  return std::move(read).value();
}

TEST(Plan, ReadsEveryField) {
  const Plan plan = plan_of(
      "name: lossy\n"
      "swarm: true\n"
      "faults:\n"
      "  - kind: drop\n"
      "    where: host->target\n"
      "    every: 40\n"
      "    most: 12\n"
      "  - kind: delay\n"
      "    amount: [10us, 2ms]\n"
      "    from: 20\n"
      "    to: 400\n");
  EXPECT_EQ(plan.name, "lossy");
  EXPECT_TRUE(plan.swarm);
  ASSERT_EQ(plan.rules.size(), 2u);
  EXPECT_EQ(plan.rules[0].where, "host->target");
  EXPECT_EQ(plan.rules[0].every, 40u);
  EXPECT_EQ(plan.rules[0].most, 12u);
  EXPECT_EQ(plan.rules[1].low, 10'000u);
  EXPECT_EQ(plan.rules[1].high, 2'000'000u);
  EXPECT_EQ(plan.rules[1].from, 20u);
  EXPECT_EQ(plan.rules[1].to, 400u);
}

TEST(Plan, IsTheSameAfterItsOwnText) {
  const Plan plan = plan_of("name: a\nfaults:\n  - kind: slow\n    amount: 3ms\n  - kind: drop\n    from: 7\n");
  const Plan again = plan_of(to_yaml(plan).c_str());
  EXPECT_EQ(to_yaml(again), to_yaml(plan));
  EXPECT_TRUE(plan_of(to_yaml(Plan()).c_str()).rules.empty());
  const std::vector<Place> places = {{Site::packet, "a->b"}, {Site::admission, {}}};
  EXPECT_EQ(generate(again, 5, places).decisions, generate(plan, 5, places).decisions);
}

TEST(Plan, SaysWhatIsWrongAndInWhichLine) {
  struct Row {
    const char* text;
    const char* says;
  };
  const Row rows[] = {
      {"", "plan.yaml:1: a plan is a map"},
      {"faults: [", "plan.yaml:"},
      {"fault:\n  - kind: drop\n", "plan.yaml:1: a plan has no field 'fault'"},
      {"faults:\n  - kind: gremlin\n", "plan.yaml:2: unknown kind of fault 'gremlin'"},
      {"faults:\n  - every: 5\n", "plan.yaml:2: a fault has a 'kind'"},
      {"faults:\n  - kind: drop\n    often: 5\n", "plan.yaml:3: a fault has no field 'often'"},
      {"faults:\n  - kind: drop\n    every: 0\n", "plan.yaml:3: every is a number from 1"},
      {"faults:\n  - kind: drop\n    every: -1\n", "plan.yaml:3: every is a number from 1"},
      {"faults:\n  - kind: drop\n    amount: 5\n", "plan.yaml:3: drop has no amount"},
      {"faults:\n  - kind: delay\n    amount: 5 parsec\n", "plan.yaml:3: '5 parsec' is not a valid amount of delay"},
      {"faults:\n  - kind: delay\n    amount: 9000s\n", "plan.yaml:3: the amount of delay lies between"},
      {"faults:\n  - kind: delay\n    amount: [2ms, 1ms]\n", "plan.yaml:3: the lowest amount is above"},
      {"faults:\n  - kind: delay\n    amount: 99999999999999999999s\n", "plan.yaml:3: "},
      {"faults:\n  - kind: drop\n    from: 20\n    to: 10\n", "plan.yaml:2: from 20 to 10 is empty"},
      {"faults:\n  - kind: drop\n    from: 20\n    to: 20\n", "plan.yaml:2: from 20 to 20 is empty"},
      {"faults:\n  - kind: drop\n    every: 5\n    every: 7\n", "plan.yaml:4: 'every' occurs twice"},
      {"name: a\nname: b\n", "plan.yaml:2: 'name' occurs twice"},
      {"faults:\n  - kind: dropp\n", "plan.yaml:2: unknown kind of fault 'dropp'; did you mean 'drop'?"},
      {"faults:\n  - kind: drop\n    evry: 5\n",
       "plan.yaml:3: a fault has no field 'evry'; known are kind, where, every, most, from, to, amount; did you mean 'every'?"},
      {"swarm: perhaps\n", "plan.yaml:1: swarm is true or false"},
      {"faults: drop\n", "plan.yaml:1: 'faults' is a list"},
      {"name: a\n", "plan.yaml:1: a plan without 'faults'"},
      {"name: [a]\nfaults: []\n", "plan.yaml:1: name is a text"},
      {"faults:\n  - kind: drop\n    where: ''\n", "plan.yaml:3: where is a text"},
      {"faults:\n  - kind: drop\n    where: [a]\n", "plan.yaml:3: where is a text"},
      {"faults: []\n---\nfaults: []\n", "plan.yaml:3: a second document"},
      {"faults:\n  - kind: mtu\n    amount: 20\n", "plan.yaml:3: the amount of mtu lies between 68 and 9216"},
  };
  for (const Row& row : rows) {
    const auto read = parse_plan(row.text, "plan.yaml");
    ASSERT_FALSE(read.ok()) << row.text;
    EXPECT_TRUE(read.error().text.starts_with(row.says)) << read.error().text;
    EXPECT_EQ(read.error().text.find('\n'), std::string::npos);
  }
}

TEST(Plan, APlaceThatThereIsNoneOfIsTold) {
  const Plan plan = plan_of("faults:\n  - kind: duplicate\n  - kind: drop\n    where: moon->target\n");
  const auto fitting = fits(plan, kPlaces);
  ASSERT_FALSE(fitting.ok());
  EXPECT_EQ(fitting.error().text,
            "plan.yaml:3: no place 'moon->target': drop can occur at: host->target, target->host; "
            "did you mean 'host->target'?");
  EXPECT_TRUE(fits(plan_of("faults:\n  - kind: drop\n    where: target->host\n"), kPlaces).ok());
  EXPECT_FALSE(fits(plan_of("faults:\n  - kind: media_error\n"), kPlaces).ok()) << "nothing can strike";
  EXPECT_TRUE(fits(Plan{}, kPlaces).ok()) << "no faults at all are a plan too";
}

TEST(Plan, KeepsToItsRates) {
  const Plan plan = plan_of("faults:\n  - kind: drop\n    every: 20\n    most: 100000\n    from: 100\n    to: 20000\n");
  const Schedule schedule = generate(plan, 3, {kPlaces[0]});
  EXPECT_NEAR(static_cast<double>(schedule.decisions.size()), 19'900.0 / 20, 60);
  EXPECT_GE(schedule.decisions.front().ordinal, 100u);
  EXPECT_LT(schedule.decisions.back().ordinal, 20'000u);
  EXPECT_TRUE(std::is_sorted(schedule.decisions.begin(), schedule.decisions.end()));
}

TEST(Plan, OneMorePlaceOrRuleChangesNothingElse) {
  const Plan plan = plan_of("faults:\n  - kind: drop\n  - kind: delay\n");
  const Plan longer = plan_of("faults:\n  - kind: drop\n  - kind: delay\n  - kind: controller_reset\n");
  const std::vector<Place> fewer(kPlaces.begin(), kPlaces.begin() + 1);
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    const Schedule small = generate(plan, seed, fewer), large = generate(longer, seed, kPlaces);
    EXPECT_TRUE(std::includes(large.decisions.begin(), large.decisions.end(), small.decisions.begin(), small.decisions.end()));
  }
}

TEST(Plan, ASwarmHasAnotherPartOfTheFaultsEachTime) {
  const Plan plan = plan_of("swarm: true\nfaults:\n  - kind: drop\n  - kind: delay\n  - kind: duplicate\n");
  std::array<unsigned, 8> seen{};
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    unsigned kinds = 0;
    for (const Decision& decision : generate(plan, seed, kPlaces).decisions) {
      kinds |= decision.kind == Kind::drop ? 1u : decision.kind == Kind::delay ? 2u : 4u;
    }
    ++seen[kinds];
  }
  for (const unsigned count : seen) EXPECT_GT(count, 20u) << "each of the eight subsets comes about as often";
}

TEST(Points, StrikeWhereTheScheduleSaysAndNowhereElse) {
  const auto world = World::make_virtual(1);
  Schedule schedule;
  for (const char* text : {"packet:a->b#2 drop", "packet:a->b#2 delay 5000", "packet:a->b#4 drop", "packet:b->a#0 drop"}) {
    schedule.decisions.push_back(*parse_decision(text));
  }
  std::sort(schedule.decisions.begin(), schedule.decisions.end());
  Points points(*world, schedule);
  Point& point = points.at({Site::packet, "a->b"});
  std::vector<std::size_t> found;
  for (int i = 0; i < 6; ++i) {
    const auto decisions = point.next();
    found.push_back(decisions.size());
    for (const Decision& decision : decisions) point.struck(decision);
  }
  EXPECT_EQ(found, (std::vector<std::size_t>{0, 0, 2, 0, 1, 0}));
  EXPECT_EQ(points.strikes().size(), 3u);
  EXPECT_EQ(points.at({Site::packet, "c->d"}).next().size(), 0u);
  points.disarm();
  EXPECT_EQ(points.at({Site::packet, "b->a"}).next().size(), 0u);
}

}  // namespace
}  // namespace fb::fault
