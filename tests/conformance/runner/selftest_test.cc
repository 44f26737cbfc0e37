#include "conformance/runner/selftest.h"

#include <gtest/gtest.h>

#include "tests/conformance/runner/fake_cases.h"

namespace fb::conformance {
namespace {

/// The bench tells its case which deviations are on.
class TellingBench final : public Bench {
 public:
  TellingBench(World& world, const Environment& environment) : Bench(world), on(environment.deviations->names()) {}
  bool has(const std::string& name) const { return std::find(on.begin(), on.end(), name) != on.end(); }
  std::vector<std::string> on;
};

std::unique_ptr<Bench> make_telling(World& world, Role, const Environment& environment) {
  return std::make_unique<TellingBench>(world, environment);
}

using deviations::Departs;
using deviations::Product;
DEVIATION(fake_seen, "fake.a.one", Product::controller, "w", Departs{"x"});
DEVIATION(fake_unseen, "fake.a.two", Product::controller, "w", Departs{"x"});
DEVIATION(fake_orphan, "fake.a.nobody", Product::controller, "w", Departs{"x"});

void sees_one(Bench& bench, Check& check) { check.that(!static_cast<TellingBench&>(bench).has("fake_seen"), "all is well"); }
void sees_nothing(Bench&, Check& check) { check.that(true, "all is well"); }
void never_right(Bench&, Check& check) { check.that(false, "all is well"); }

SelftestResult run(const std::vector<const CaseInfo*>& cases) {
  SelftestOptions options;
  options.factory = &make_telling;
  options.jobs = 3;
  return selftest(cases, options);
}

TEST(Selftest, TellsCaughtFromMissed) {
  const CaseInfo one = test::fake_case("sees_one", &sees_one, "fake.a.one");
  const CaseInfo also = test::fake_case("sees_one_too", &sees_one, "fake.a.three");
  const CaseInfo two = test::fake_case("sees_nothing", &sees_nothing, "fake.a.two");
  const SelftestResult result = run({&one, &also, &two});
  EXPECT_EQ(result.deviations, 2u);
  EXPECT_EQ(result.caught, 1u);
  EXPECT_EQ(result.missed, 1u);
  EXPECT_EQ(result.without_deviation, 1u);
  EXPECT_FALSE(result.good());
  ASSERT_EQ(result.cases[0].deviations.size(), 1u);
  EXPECT_EQ(result.cases[0].deviations[0].caught_by, (std::vector<std::string>{"sees_one", "sees_one_too"}));
  EXPECT_NE(std::find(result.without_case.begin(), result.without_case.end(), "fake_orphan"), result.without_case.end());
}

TEST(Selftest, IsGoodOnlyWhenTheHonestProductPasses) {
  const CaseInfo one = test::fake_case("sees_one", &sees_one, "fake.a.one");
  EXPECT_TRUE(run({&one}).good());
  const CaseInfo wrong = test::fake_case("never_right", &never_right, "fake.a.one");
  EXPECT_FALSE(run({&wrong}).good());
  EXPECT_FALSE(run({}).good());
}

TEST(Selftest, MissesNothingThatItWasNotGivenTheTimeFor) {
  const CaseInfo one = test::fake_case("sees_one", &sees_one, "fake.a.one");
  const CaseInfo two = test::fake_case("sees_nothing", &sees_nothing, "fake.a.two");
  Interrupter interrupter;
  SelftestOptions options;
  options.factory = &make_telling;
  options.interrupter = &interrupter;
  options.progress = [&](std::size_t done, std::size_t) {
    if (done == 2) interrupter.fire();  // both honest runs
  };
  const SelftestResult result = selftest({&one, &two}, options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.missed, 0u);
  EXPECT_EQ(result.without_deviation, 0u);
  EXPECT_FALSE(result.good());
}

}  // namespace
}  // namespace fb::conformance
