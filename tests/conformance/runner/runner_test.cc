#include "conformance/runner/runner.h"

#include <gtest/gtest.h>

#include "tests/conformance/runner/fake_cases.h"

namespace fb::conformance {
namespace {

using test::fake_case;
using test::fake_options;
using test::run_fake;

void passes(Bench&, Check& check) { check.equal("answer", 1, 1); }
void fails(Bench&, Check& check) { check.equal("answer", 1, one_of(2, 3)); }
void checks_nothing(Bench&, Check&) {}
void breaks(Bench&, Check& check) {
  check.equal("answer", 1, 1);
  BENCH_ASSERT(false, "a broken invariant");
}
void throws_anything(Bench&, Check&) { throw 7; }
void waits_for_ever(Bench& bench, Check&) {
  auto made = make_op<int>(bench.world(), "Connect reply on queue 0");
  made.op.wait();
}
void cannot_arrange(Bench&, Check&) { throw CannotArrange{"no second path"}; }
void fails_then_waits(Bench& bench, Check& check) {
  check.equal("first", 1, 2);
  waits_for_ever(bench, check);
}
void fails_then_breaks(Bench&, Check& check) {
  check.equal("first", 1, 2);
  BENCH_ASSERT(false, "then the bench broke");
}
void leaves_early(Bench&, Check& check) {
  check.require(false, "a door", "a wall");
  check.raise(Verdict::error, "never reached");
}
void steps_a_while(Bench& bench, Check& check) {
  bench.world().run_for(Duration::s(120));
  bench.mark("bench.walked");
  check.that(true, "time passes");
}
void draws(Bench& bench, Check& check) {
  bench.world().loop().fold(bench.random("dice").next());
  check.that(true, "a draw");
}

TEST(CaseFrame, GivesEachEndItsVerdict) {
  EXPECT_EQ(run_fake(fake_case("a", &passes)).verdict, Verdict::pass);
  EXPECT_EQ(run_fake(fake_case("a", &fails)).verdict, Verdict::fail);
  EXPECT_EQ(run_fake(fake_case("a", &checks_nothing)).verdict, Verdict::error);
  EXPECT_EQ(run_fake(fake_case("a", &breaks)).verdict, Verdict::error);
  EXPECT_EQ(run_fake(fake_case("a", &throws_anything)).verdict, Verdict::error);
  EXPECT_EQ(run_fake(fake_case("a", &cannot_arrange)).verdict, Verdict::inconclusive);
  EXPECT_EQ(run_fake(fake_case("a", &fails_then_breaks)).verdict, Verdict::error);
  EXPECT_EQ(run_fake(fake_case("a", &leaves_early)).verdict, Verdict::fail);
}

TEST(CaseFrame, DeadlockIsAFailThatNamesWhatWasWaitedFor) {
  const CaseResult result = run_fake(fake_case("a", &waits_for_ever));
  EXPECT_EQ(result.verdict, Verdict::fail);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_NE(result.findings[0].seen.find("Connect reply on queue 0"), std::string::npos);
  EXPECT_EQ(run_fake(fake_case("a", &fails_then_waits)).findings.size(), 2u);
}

TEST(CaseFrame, PassWithoutItsMarkIsAnError) {
  CaseInfo info = fake_case("a", &steps_a_while);
  info.options.marks = {"bench.walked"};
  EXPECT_EQ(run_fake(info).verdict, Verdict::pass);
  info.options.marks = {"bench.walked", "bench.ran"};
  const CaseResult result = run_fake(info);
  EXPECT_EQ(result.verdict, Verdict::error);
  EXPECT_NE(result.reason.find("bench.ran"), std::string::npos);
  EXPECT_EQ(result.duration_virtual_ns, Duration::s(120).count_ns());
}

TEST(CaseFrame, BrokenCleaningUpIsAnErrorToo) {
  RunOptions options = fake_options();
  options.factory = [](World& world, Role, const Environment&) -> std::unique_ptr<Bench> {
    auto bench = std::make_unique<test::FakeBench>(world);
    bench->finish_breaks = true;
    return bench;
  };
  EXPECT_EQ(run_fake(fake_case("a", &passes), options).verdict, Verdict::error);
}

TEST(CaseFrame, SurroundingsThatAreMissingAreInconclusive) {
  RunOptions options = fake_options();
  options.factory = [](World&, Role, const Environment&) -> std::unique_ptr<Bench> {
    throw UserError("UDP port 4791 of 10.0.0.1 is taken");
  };
  const CaseResult result = run_fake(fake_case("a", &passes), options);
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_NE(result.reason.find("4791"), std::string::npos);
}

TEST(CaseFrame, RealProductsSkipWhatOnlyEmulatedOnesOffer) {
  RunOptions options = fake_options();
  options.product.embedded = false;
  CaseInfo info = fake_case("a", &passes);
  EXPECT_EQ(run_fake(info, options).verdict, Verdict::pass);
  info.options.lasting = Duration::s(120);
  EXPECT_EQ(run_fake(info, options).verdict, Verdict::skip);
  options.product.slow = true;
  EXPECT_EQ(run_fake(info, options).verdict, Verdict::pass);
  info.options.arrangement = "a second namespace";
  const CaseResult skipped = run_fake(info, options);
  EXPECT_EQ(skipped.verdict, Verdict::skip);
  EXPECT_NE(skipped.reason.find("a second namespace"), std::string::npos);
}

TEST(Digest, FollowsTheSeedAndTheNameAlone) {
  const auto digest = [](std::string_view name, std::uint64_t seed) {
    RunOptions options = fake_options();
    options.seed = seed;
    return run_fake(fake_case(name, &draws), options).digest;
  };
  EXPECT_EQ(digest("a", 1), digest("a", 1));
  EXPECT_NE(digest("a", 1), digest("a", 2));
  EXPECT_NE(digest("a", 1), digest("b", 1));
}

TEST(Twice, SeesACaseThatIsNotDeterministic) {
  static std::uint64_t calls = 0;
  const CaseInfo info = fake_case("a", [](Bench& bench, Check& check) {
    bench.world().loop().fold(++calls);
    check.that(true, "x");
  });
  RunOptions options = fake_options();
  EXPECT_EQ(run_fake(info, options).verdict, Verdict::pass);
  options.twice = true;
  EXPECT_EQ(run_fake(info, options).verdict, Verdict::error);
  EXPECT_EQ(run_fake(fake_case("a", &draws), options).verdict, Verdict::pass);
}

TEST(Run, IsInOrderWhateverTheJobs) {
  std::vector<CaseInfo> infos;
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("case_" + std::to_string(100 + i));
  for (const std::string& name : names) infos.push_back(fake_case(name, &draws));
  std::vector<const CaseInfo*> cases;
  for (const CaseInfo& info : infos) cases.push_back(&info);
  RunOptions options = fake_options();
  const RunResult one = run_cases(cases, options);
  options.jobs = 4;
  std::size_t told = 0;
  options.progress = [&](const CaseResult&, std::size_t done, std::size_t all) {
    EXPECT_EQ(done, ++told);
    EXPECT_EQ(all, 40u);
  };
  const RunResult four = run_cases(cases, options);
  EXPECT_EQ(told, 40u);
  EXPECT_EQ(one.digest, four.digest);
  ASSERT_EQ(four.cases.size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(four.cases[i].info, cases[i]);
}

TEST(Run, InterruptedKeepsWhatWasFinished) {
  static Interrupter* interrupter = nullptr;
  Interrupter own;
  interrupter = &own;
  const CaseInfo first = fake_case("a", &passes);
  const CaseInfo second = fake_case("b", [](Bench& bench, Check& check) {
    interrupter->fire();
    bench.world().run_for(Duration::s(1));
    check.that(true, "never reached");
  });
  const CaseInfo third = fake_case("c", &passes);
  RunOptions options = fake_options();
  options.interrupter = &own;
  const RunResult run = run_cases({&first, &second, &third}, options);
  EXPECT_TRUE(run.interrupted);
  ASSERT_EQ(run.cases.size(), 1u);
  EXPECT_EQ(run.cases[0].info, &first);
}

TEST(Run, CaptureThatCannotBeWrittenEndsTheRunWithItsReason) {
  const CaseInfo info = fake_case("a", &passes);
  RunOptions options = fake_options();
  options.jobs = 2;
  options.keep_capture = [](const CaseResult&, std::string_view, std::string_view, const capture::PcapngWriter&) -> std::string {
    throw UserError("the disk is full");
  };
  EXPECT_THROW(run_cases({&info, &info, &info}, options), UserError);
}

TEST(Run, ProductThatGoesDownKeepsTheVerdictsUpToThen) {
  RunOptions options = fake_options();
  options.product = parse_product("tcp://127.0.0.1:1/nqn.2026-11.org.example:disk", "127.0.0.1").value();
  unsigned asked = 0;
  options.down = [&](const Product&) -> std::optional<std::string> {
    if (++asked < 2) return std::nullopt;
    return "nobody listens";
  };
  const CaseInfo infos[] = {fake_case("a", &passes), fake_case("b", &cannot_arrange), fake_case("c", &passes),
                            fake_case("d", &fails),  fake_case("e", &passes),         fake_case("f", &passes)};
  std::vector<const CaseInfo*> cases;
  for (const CaseInfo& info : infos) cases.push_back(&info);
  const RunResult run = run_cases(cases, options);
  EXPECT_EQ(asked, 2u) << "after what did not pass, and no more once it is down";
  ASSERT_TRUE(run.stopped.has_value());
  EXPECT_EQ(run.stopped->after, "d");
  EXPECT_EQ(run.stopped->not_run, 2u);
  ASSERT_EQ(run.cases.size(), 6u);
  const Verdict expected[] = {Verdict::pass, Verdict::inconclusive, Verdict::pass,
                              Verdict::fail, Verdict::inconclusive, Verdict::inconclusive};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(run.cases[i].verdict, expected[i]) << infos[i].name;
  EXPECT_NE(run.cases[5].reason.find("went down in or after d: nobody listens"), std::string::npos) << run.cases[5].reason;
}

TEST(Run, ProductThatIsNotThereIsNoCasesBusiness) {
  RunOptions options = fake_options();
  options.product = parse_product("tcp://127.0.0.1:1/nqn.2026-11.org.example:disk", "127.0.0.1").value();
  options.stopped = Stopped{{}, "nobody listens", 0};
  const CaseInfo info = fake_case("a", &fails);
  const RunResult run = run_cases({&info}, options);
  ASSERT_EQ(run.cases.size(), 1u);
  EXPECT_EQ(run.cases[0].verdict, Verdict::inconclusive);
  EXPECT_NE(run.cases[0].reason.find("the product cannot be connected: nobody listens"), std::string::npos) << run.cases[0].reason;
}

TEST(CaseFrame, DoesNotGuessWhatAProductHasThatDidNotLetItselfBeAsked) {
  RunOptions options = fake_options();
  options.product = parse_product("tcp://127.0.0.1:1/nqn.2026-11.org.example:disk", "127.0.0.1").value();
  CaseInfo info = fake_case("a", &fails);
  EXPECT_EQ(run_fake(info, options).verdict, Verdict::fail);
  info.options.applicability.push_back([](const Declared&) -> std::optional<std::string> { return std::nullopt; });
  info.options.transports = {"tcp"};
  const CaseResult result = run_fake(info, options);
  EXPECT_EQ(result.verdict, Verdict::inconclusive);
  EXPECT_NE(result.reason.find("it is not known whether the product has what the case is about"), std::string::npos) << result.reason;
}

TEST(Canary, IsCaughtOnTheEmbeddedProductForItsOwnReason) {
  RunOptions options;
  const RunResult run = run_cases({}, options);
  EXPECT_TRUE(run.canary_caught);
  EXPECT_NE(run_fake(fake_case("x", &fails)).verdict, Verdict::pass);
  EXPECT_FALSE(canary_caught(run_fake(fake_case("x", &fails)))) << "another failure is no canary";
  EXPECT_FALSE(canary_caught(run_fake(fake_case("x", &passes))));
}

TEST(Canary, IsMissedWhenTheMachineryIsBroken) {
  RunOptions options = fake_options();
  options.factory = [](World&, Role, const Environment&) -> std::unique_ptr<Bench> { throw CannotArrange{"nothing works"}; };
  EXPECT_FALSE(run_cases({}, options).canary_caught);
}

TEST(Selection, NamesWhatIsUnknownAndWhatIsKnown) {
  const CaseInfo a = fake_case("connect_a", &passes);
  const CaseInfo b = fake_case("rdma_b", &passes, "rdma.icrc.sent");
  const std::vector<const CaseInfo*> all = {&a, &b};
  EXPECT_EQ(select(all, {}).value().size(), 2u);
  EXPECT_EQ(select(all, {.suites = {"rdma"}}).value(), std::vector<const CaseInfo*>{&b});
  EXPECT_EQ(select(all, {.cases = {"conn*", "rdma_?"}}).value().size(), 2u);
  const auto suite = select(all, {.suites = {"rmda"}});
  ASSERT_FALSE(suite);
  EXPECT_EQ(suite.error().text, "no suite 'rmda'; known are: fabrics, rdma; did you mean 'rdma'?");
  EXPECT_NE(select(all, {.cases = {"conn*", "nothing"}}).error().text.find("nothing"), std::string::npos);
  EXPECT_NE(select(all, {.roles = {"host"}}).error().text.find("host"), std::string::npos);
  EXPECT_FALSE(select(all, {.suites = {"rdma"}, .cases = {"conn*"}}));
  EXPECT_FALSE(select(all, {.transport = "carrier-pigeon"}));
}

}  // namespace
}  // namespace fb::conformance
