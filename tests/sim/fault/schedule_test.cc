#include "sim/fault/schedule.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace fb::fault {
namespace {

Decision drawn(Rng& rng, const KindFacts& facts) {
  const char* const places[] = {"", "host->target", "target", "bus"};
  Decision decision;
  decision.kind = facts.kind;
  decision.place = {facts.site, places[rng.below(4)]};
  decision.ordinal = rng.below(100'000);
  decision.amount = rng.between(facts.low, facts.high);
  return decision;
}

TEST(Schedule, DecisionsOfEveryKindReadBackFromTheirText) {
  Rng rng(1, "decisions");
  for (const KindFacts& facts : all_kinds()) {
    for (int i = 0; i < 50; ++i) {
      const Decision decision = drawn(rng, facts);
      const auto read = parse_decision(to_string(decision));
      ASSERT_TRUE(read.ok()) << to_string(decision) << ": " << read.error().text;
      EXPECT_EQ(*read, decision);
    }
  }
}

TEST(Schedule, EveryKindHasANameOfItsOwnAndAStoryWithoutGaps) {
  for (const KindFacts& facts : all_kinds()) {
    EXPECT_EQ(find_kind(facts.name), &facts);
    Decision decision;
    decision.kind = facts.kind;
    decision.place = {facts.site, "host->target"};
    decision.amount = facts.low;
    const std::string told = tell(decision);
    EXPECT_EQ(told.find('{'), std::string::npos) << told;
    EXPECT_EQ(told.find("thing"), std::string::npos) << told;
  }
  EXPECT_EQ(find_kind("gremlin"), nullptr);
}

TEST(Schedule, TellsInWords) {
  EXPECT_EQ(tell(*parse_decision("packet:host->target#7 drop")), "drop packet 7 from host to target");
  EXPECT_EQ(tell(*parse_decision("packet:target->host#9 delay 2000000")), "delay packet 9 from target to host by 2 ms");
  EXPECT_EQ(tell(*parse_decision("admission#3 status 770")), "answer I/O command 3 with status 3/02h");
  EXPECT_EQ(tell(*parse_decision("completion#4 withhold")), "lose the completion of I/O command 4");
}

TEST(Schedule, SaysWhatIsWrongWithAText) {
  struct Row {
    const char* text;
    const char* says;
  };
  const Row rows[] = {
      {"", "it has the form"},
      {"packet:host->target drop", "it has the form"},
      {"packet:host->target# drop", "no number after '#'"},
      {"packet:host->target#x drop", "no number after '#'"},
      {"packet:host->target#7 gremlin", "unknown kind of fault 'gremlin'"},
      {"media:namespace#7 drop", "drop can occur at a packet, not at a media"},
      {"packet:host->target#7 drop 5", "has no amount"},
      {"packet:host->target#7 delay", "needs an amount"},
      {"packet:host->target#7 delay much", "its amount is not a number"},
      {"packet:host->target#7 delay 99999999999", "its amount lies outside"},
      {"packet:host->target#99999999999999999999 drop", "no number after '#'"},
  };
  for (const Row& row : rows) {
    const auto read = parse_decision(row.text);
    ASSERT_FALSE(read.ok()) << row.text;
    EXPECT_NE(read.error().text.find(row.says), std::string::npos) << read.error().text;
  }
}

TEST(Schedule, WhatLiesBeyondTheBudgetIsNobodysFault) {
  const auto of = [](const char* text, unsigned times) {
    Schedule schedule;
    for (unsigned i = 0; i < times; ++i) {
      schedule.decisions.push_back(*parse_decision(text));
      schedule.decisions.back().ordinal += i;
    }
    return schedule;
  };
  const Budget budget;
  EXPECT_EQ(of("admission#1 status 6", budget.statuses).beyond(budget), "");
  EXPECT_NE(of("admission#1 status 6", budget.statuses + 1).beyond(budget), "");
  EXPECT_EQ(of("step#1 controller_reset", budget.losses).beyond(budget), "");
  EXPECT_NE(of("step#1 controller_reset", budget.losses + 1).beyond(budget), "");
  EXPECT_EQ(of("packet:a->b#1 partition 10000000000", 3).beyond(budget), "");
  EXPECT_NE(of("packet:a->b#1 partition 10000000000", 4).beyond(budget), "");
  EXPECT_EQ(of("frame:bus#1 frame_drop", budget.frames).beyond(budget), "");
  EXPECT_NE(of("frame:bus#1 frame_drop", budget.frames + 1).beyond(budget), "");
  Schedule paths = of("step#1 ana 18", 3);
  EXPECT_EQ(paths.beyond(budget), "");
  paths.decisions.push_back(*parse_decision("admin#4 admin_withhold"));
  EXPECT_NE(paths.beyond(budget), "");
  EXPECT_EQ(of("packet:a->b#1 drop", 100).beyond(budget), "") << "losses of packets are made good without bound";
  EXPECT_FALSE(of("packet:a->b#1 corrupt 5", 1).lies());
  EXPECT_TRUE(of("packet:a->b#1 forge 5", 1).lies());
  EXPECT_NE(of("packet:a->b#1 forge 5", 1).beyond(budget), "");
}

}  // namespace
}  // namespace fb::fault
