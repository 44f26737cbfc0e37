#include "sim/core/world.h"

#include <string>

#include <gtest/gtest.h>

#include "sim/core/op.h"

namespace fb {
namespace {

using namespace literals;

struct Recorder {
  std::string& log;
  char name;
  void fire() { log.push_back(name); }
  Timer<Recorder, &Recorder::fire> timer{"test.record", *this};
};

TEST(VirtualLoop, OrdersByDeadlineThenSequence) {
  auto world = World::make_virtual(1);
  std::string log;
  Recorder a{log, 'a'}, b{log, 'b'}, c{log, 'c'};
  world->loop().schedule_after(a.timer, 2_ms);
  world->loop().schedule_after(b.timer, 1_ms);
  world->loop().schedule_after(c.timer, 2_ms);
  EXPECT_TRUE(world->run_until_idle());
  EXPECT_EQ(log, "bac");
  EXPECT_EQ(world->now(), Instant::at_ns(2'000'000));
}

TEST(VirtualLoop, HeapKeepsOrderUnderRandomScheduleMoveCancel) {
  auto world = World::make_virtual(1);
  Rng rng(42);
  struct Check {
    World& world;
    Instant expected = Instant::never();
    int fired = 0;
    void fire() {
      ++fired;
      EXPECT_EQ(world.now(), expected);
    }
    Timer<Check, &Check::fire> timer{"test.check", *this};
  };
  std::vector<std::unique_ptr<Check>> events;
  for (int i = 0; i < 300; ++i) events.push_back(std::make_unique<Check>(*world));
  int live = 0;
  for (int i = 0; i < 2000; ++i) {
    Check& check = *events[rng.below(events.size())];
    if (rng.chance(1, 4)) {
      world->loop().cancel(check.timer);
      check.expected = Instant::never();
    } else {
      check.expected = world->now() + Duration::ns(static_cast<std::int64_t>(rng.below(1000)));
      world->loop().schedule(check.timer, check.expected);
    }
  }
  for (const auto& e : events) live += e->timer.scheduled();
  EXPECT_TRUE(world->run_until_idle());
  int fired = 0;
  for (const auto& e : events) fired += e->fired;
  EXPECT_EQ(fired, live);
}

TEST(World, SameSeedSameDigest) {
  const auto run = [](std::uint64_t seed) {
    auto world = World::make_virtual(seed);
    std::string log;
    Recorder a{log, 'a'}, b{log, 'b'};
    Rng rng = world->stream("test");
    for (int i = 0; i < 10; ++i) {
      world->loop().schedule_after(a.timer, Duration::ns(static_cast<std::int64_t>(rng.below(100))));
      world->loop().schedule_after(b.timer, Duration::ns(static_cast<std::int64_t>(rng.below(100))));
      world->run_until_idle();
    }
    return world->digest();
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
  // Part of the contract between machines and compilers.
  EXPECT_EQ(run(5), 7998188000943847778u);
}

TEST(World, PumpingInsideAnEventIsAnAssertion) {
  auto world = World::make_virtual(1);
  struct Pump {
    World& world;
    void fire() { world.run_for(1_ms); }
    Timer<Pump, &Pump::fire> timer{"test.pump", *this};
  } pump{*world};
  world->loop().schedule_after(pump.timer, 1_ms);
  EXPECT_THROW(world->run_until_idle(), AssertionFailure);
}

struct Settler {
  Promise<int> promise;
  void fire() { promise.settle(7); }
  Timer<Settler, &Settler::fire> timer{"test.settle", *this};
};

TEST(Op, WaitsInVirtualTime) {
  auto world = World::make_virtual(1);
  auto [promise, op] = make_op<int>(*world, "seven");
  Settler settler{std::move(promise)};
  world->loop().schedule_after(settler.timer, 120_s);
  EXPECT_EQ(op.wait(), 7);
  EXPECT_EQ(world->now(), Instant{} + 120_s);
}

TEST(Op, DeadlockNamesEveryPendingOperation) {
  auto world = World::make_virtual(1);
  auto first = make_op<int>(*world, "reply to Connect");
  auto second = make_op<int>(*world, "reply to Identify");
  try {
    second.op.wait();
    FAIL() << "a value came from nowhere";
  } catch (const WaitFailure& failure) {
    EXPECT_EQ(failure.end(), WaitEnd::deadlock);
    EXPECT_NE(std::string(failure.what()).find("reply to Connect; reply to Identify"), std::string::npos);
  }
}

TEST(Op, TimeoutCancelAndAbandon) {
  auto world = World::make_virtual(1);
  auto [promise, op] = make_op<int>(*world, "seven");
  Settler settler{std::move(promise)};
  world->loop().schedule_after(settler.timer, 10_s);
  EXPECT_EQ(op.wait_for(1_s), std::nullopt);
  EXPECT_EQ(world->now(), Instant{} + 1_s);
  bool told = false;
  settler.promise.on_cancel([&] { told = true; });
  op.cancel();
  EXPECT_TRUE(told);
  world->run_until_idle();
  EXPECT_FALSE(op.settled());

  auto dropped = make_op<int>(*world, "nobody");
  dropped.promise = Promise<int>();
  try {
    dropped.op.wait();
    FAIL();
  } catch (const WaitFailure& failure) {
    EXPECT_EQ(failure.end(), WaitEnd::abandoned);
  }
}

TEST(Op, OutlivesItsWorld) {
  auto world = World::make_virtual(1);
  auto made = make_op<int>(*world, "late");
  world.reset();
  EXPECT_FALSE(made.op.settled());
}

TEST(RealLoop, RunsTimersInRealTime) {
  auto world = World::make_real(1);
  auto [promise, op] = make_op<int>(*world, "seven");
  Settler settler{std::move(promise)};
  world->loop().schedule_after(settler.timer, 5_ms);
  EXPECT_EQ(op.wait(), 7);
  EXPECT_GE(world->now(), Instant{} + 5_ms);
}

// Sends at the end of the turn, as ports do; counts what had happened by then.
struct Sender final : TurnEndHandler {
  explicit Sender(World& w) : world(w) {}
  void first() { world.loop().schedule(second_timer, world.now()); }
  void second() { ++done; }
  void on_turn_end() override {
    ++turns;
    done_by_then = done;
  }
  World& world;
  int done = 0, done_by_then = 0, turns = 0;
  Timer<Sender, &Sender::first> first_timer{"test.first", *this};
  Timer<Sender, &Sender::second> second_timer{"test.second", *this};
};

TEST(RealLoop, TheTurnEndsAfterWhatIsDueAndWhatThatMakesDue) {
  auto world = World::make_real(1);
  Sender sender(*world);
  world->real_loop()->at_turn_end(sender);
  world->loop().schedule(sender.first_timer, world->now());
  world->step_towards(world->now() + 1_ms);
  EXPECT_EQ(sender.done_by_then, 1);
  world->run_for(1_ms);
  EXPECT_EQ(sender.turns, 1) << "asked for once, called once";
  world->real_loop()->at_turn_end(sender);
  world->real_loop()->cancel_turn_end(sender);
  world->run_for(1_ms);
  EXPECT_EQ(sender.turns, 1);
}

// Schedules itself again and again for now.
struct Restless {
  explicit Restless(World& w) : world(w) { again(); }
  void again() {
    ++runs;
    world.loop().schedule(timer, world.now());
  }
  World& world;
  int runs = 0;
  Timer<Restless, &Restless::again> timer{"test.restless", *this};
};

TEST(RealLoop, AnEventThatIsAlwaysDueDoesNotKeepTheLoop) {
  auto world = World::make_real(1);
  Restless restless(*world);
  EXPECT_EQ(world->step_towards(world->now() + 1_ms), Loop::Step::ran);
  EXPECT_GT(restless.runs, 1);
}

TEST(RealLoop, InterruptEndsAWait) {
  auto world = World::make_real(1);
  auto made = make_op<int>(*world, "never");
  world->interrupt();
  EXPECT_THROW(made.op.wait(), WaitFailure);
}

}  // namespace
}  // namespace fb
