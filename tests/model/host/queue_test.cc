#include "model/host/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/host/commands.h"
#include "model/host/fault_points.h"
#include "tests/model/host/fake_fabric.h"

namespace fb::host {
namespace {

class TestCommand final : public Command {
 public:
  void on_complete(const nvme::Cqe& cqe, bool answered) override {
    ++completions;
    last = cqe;
    was_answered = answered;
    if (then) then();
  }
  int completions = 0;
  nvme::Cqe last;
  bool was_answered = false;
  std::function<void()> then;
};

class QueueTest : public testing::Test, public QueueHandler {
 protected:
  void on_queue_connected(Queue&, const transport::ChannelFacts&) override { connected = true; }
  void on_queue_end(Queue&, const transport::ChannelEnd& end) override { ends.push_back(end); }
  Duration on_queue_timeout(Queue&, Command& command) override {
    timeouts.push_back(command.cid());
    return Duration::s(1);
  }
  void on_queue_violation(Queue&, std::string_view what) override { violations.emplace_back(what); }
  void on_queue_tolerated(Queue&, std::string_view what) override { tolerated.emplace_back(what); }

  Queue& open(std::uint16_t entries, bool flow_control = true) {
    QueueOptions options;
    options.qid = 1;
    options.entries = entries;
    options.hooks = hooks;
    options.reserve = reserve;
    queue = std::make_unique<Queue>(*world, fabric, *this, options);
    queue->open({});
    world->run_for(Duration::ms(1));
    EXPECT_TRUE(connected);
    // Connect, so that flow control is settled.
    fabric.on_command = [flow_control](FakeChannel& channel, FakeCommand& command) {
      channel.respond(command.sqe, flow_control ? std::uint16_t{1} : std::uint16_t{0xFFFF});
    };
    ConnectArguments arguments;
    arguments.qid = 1;
    arguments.entries = entries;
    if (!flow_control) arguments.cattr = fabrics::cattr_bits::disable_sq_flow_control;
    TestCommand command;
    command.sqe = as_sqe(connect(arguments).sqe);
    EXPECT_TRUE(queue->submit(command));
    world->run_for(Duration::ms(1));
    EXPECT_EQ(command.completions, 1);
    return *queue;
  }
  FakeChannel& channel() { return *fabric.channels.back(); }

  std::unique_ptr<World> world = World::make_virtual(1);
  FakeFabric fabric{*world};
  HostHooks* hooks = nullptr;
  std::uint16_t reserve = 0;
  bool connected = false;
  std::vector<transport::ChannelEnd> ends;
  std::vector<std::uint16_t> timeouts;
  std::vector<std::string> violations, tolerated;
  std::unique_ptr<Queue> queue;
};

TEST_F(QueueTest, NeverMoreThanSizeMinusOneOutstanding) {
  for (const bool flow_control : {true, false}) {
    Queue& q = open(8, flow_control);
    EXPECT_EQ(q.flow_control(), flow_control);
    std::vector<FakeCommand> arrived;
    fabric.on_command = [&](FakeChannel&, FakeCommand& command) { arrived.push_back(command); };
    std::vector<TestCommand> commands(20);
    for (auto& command : commands) {
      command.sqe = flush(1);
      q.submit(command);
    }
    world->run_for(Duration::ms(1));
    EXPECT_EQ(arrived.size(), 7u);
    EXPECT_EQ(q.load(), 20u);
    std::set<std::uint16_t> cids;
    for (const auto& command : arrived) cids.insert(command.sqe.get(nvme::sqe::cid));
    EXPECT_EQ(cids.size(), 7u);
    // Everything goes through in the end, in order.
    std::uint16_t sqhd = 1;
    for (std::size_t i = 0; i < 20; ++i) {
      ASSERT_GT(arrived.size(), i);
      sqhd = static_cast<std::uint16_t>((sqhd + 1) % 8);
      channel().respond(arrived[i].sqe, flow_control ? sqhd : std::uint16_t{0});
      world->run_for(Duration::ms(1));
      EXPECT_EQ(commands[i].completions, 1);
    }
    EXPECT_TRUE(violations.empty());
    queue->close();
    world->run_until_idle();
    queue.reset();
    connected = false;
  }
}

// Property: whatever the order of answers and the lag of SQHD, the SQ never overflows, no CID is used
// twice, and every command completes once.
TEST_F(QueueTest, FlowControlHoldsForAnyController) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed, "flow control");
    const auto size = static_cast<std::uint16_t>(rng.between(2, 33));
    fabric.slow_release = rng.chance(1, 2);
    Queue& q = open(size);
    std::deque<nvme::Sqe> held;   // fetched, not answered
    std::uint32_t unfetched = 0;  // in the SQ as the controller sees it
    std::uint32_t reported = 0;   // fetched but not yet told by SQHD
    std::uint16_t told = 1;
    std::set<std::uint16_t> in_flight;
    bool overflow = false;
    fabric.on_command = [&](FakeChannel&, FakeCommand& command) {
      ++unfetched;
      // Slots between what SQHD says and the tail are taken from the host's view.
      overflow = overflow || unfetched + reported > size - 1u;
      if (!in_flight.insert(command.sqe.get(nvme::sqe::cid)).second) overflow = true;
      held.push_back(command.sqe);
    };
    std::vector<TestCommand> commands(100);
    for (auto& command : commands) {
      command.sqe = flush(1);
      q.submit(command);
    }
    int rounds = 0;
    const auto done = [&] {
      return std::all_of(commands.begin(), commands.end(), [](const TestCommand& c) { return c.completions == 1; });
    };
    while (!done() && ++rounds < 10000) {
      if (held.empty()) {
        world->run_for(Duration::us(30));
        continue;
      }
      const std::size_t pick = rng.below(held.size());
      const nvme::Sqe sqe = held[pick];
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(pick));
      reported += unfetched;
      unfetched = 0;
      // Sometimes the head lags, but with nothing outstanding it must catch up.
      const std::uint32_t advance = held.empty() ? reported : static_cast<std::uint32_t>(rng.below(reported + 1));
      told = static_cast<std::uint16_t>((told + advance) % size);
      reported -= advance;
      in_flight.erase(sqe.get(nvme::sqe::cid));
      channel().respond(sqe, told);
      if (rng.chance(1, 2)) world->run_for(Duration::us(rng.chance(1, 2) ? 5 : 50));
    }
    EXPECT_TRUE(done()) << "seed " << seed;
    EXPECT_FALSE(overflow) << "seed " << seed;
    EXPECT_TRUE(violations.empty()) << "seed " << seed << ": " << violations.front();
    q.close();
    world->run_until_idle();
    queue.reset();
    connected = false;
  }
}

TEST_F(QueueTest, StrayAndDoubledResponsesAreViolations) {
  Queue& q = open(8);
  fabric.on_command = [&](FakeChannel& c, FakeCommand& command) {
    c.respond(command.sqe, 2);
    c.respond(command.sqe, 2);
  };
  TestCommand command;
  command.sqe = flush(1);
  q.submit(command);
  world->run_for(Duration::ms(1));
  EXPECT_EQ(command.completions, 1);
  EXPECT_EQ(q.counters().stray_responses, 1u);
  EXPECT_EQ(violations.size(), 1u);
}

TEST_F(QueueTest, AnImpossibleSqhdIsAViolation) {
  Queue& q = open(8);
  for (const std::uint16_t sqhd : {std::uint16_t{7}, std::uint16_t{8}, std::uint16_t{0xFFFF}}) {
    violations.clear();
    fabric.on_command = [&](FakeChannel& c, FakeCommand& command) { c.respond(command.sqe, sqhd); };
    TestCommand command;
    command.sqe = flush(1);
    q.submit(command);
    world->run_for(Duration::ms(1));
    EXPECT_EQ(command.completions, 1);
    EXPECT_EQ(violations.size(), 1u) << sqhd;
  }
}

// SUCCESS in C2HData has no SQHD. With SQ flow control on that is the controller's fault, and no reason to stop: several rounds of
// the queue go by, mixed with responses that have one.
TEST_F(QueueTest, SuccessWithFlowControlIsCountedAndToldOnce) {
  Queue& q = open(8);
  std::deque<FakeCommand> arrived;
  fabric.on_command = [&](FakeChannel&, FakeCommand& command) { arrived.push_back(command); };
  std::vector<TestCommand> commands(60);
  for (auto& command : commands) {
    command.sqe = flush(1);
    q.submit(command);
  }
  world->run_for(Duration::ms(1));
  unsigned sqhd = 1;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    ASSERT_FALSE(arrived.empty());
    EXPECT_LE(arrived.size(), 7u);
    const nvme::Sqe sqe = arrived.front().sqe;
    arrived.pop_front();
    sqhd = (sqhd + 1) % 8;
    // Long stretches without SQHD, longer than the queue.
    if (i % 20 < 18) {
      channel().succeed(sqe);
    } else {
      channel().respond(sqe, static_cast<std::uint16_t>(sqhd));
    }
    world->run_for(Duration::ms(1));
    EXPECT_EQ(commands[i].completions, 1);
    EXPECT_TRUE(commands[i].last.get(nvme::cqe::status).ok());
  }
  EXPECT_TRUE(violations.empty()) << violations.front();
  EXPECT_EQ(q.counters().without_sqhd, 54u);
  ASSERT_EQ(tolerated.size(), 1u);
  EXPECT_NE(tolerated[0].find("SUCCESS in C2HData"), std::string::npos);
  // A response that has an impossible SQHD is judged as ever.
  TestCommand last;
  last.sqe = flush(1);
  q.submit(last);
  world->run_for(Duration::ms(1));
  channel().respond(arrived.front().sqe, 8);
  world->run_for(Duration::ms(1));
  EXPECT_EQ(violations.size(), 1u);
}

// What a buffer held before is not what a Read brought.
TEST_F(QueueTest, SuccessWithoutTheDataIsNoSuccessOfARead) {
  Queue& q = open(8);
  unsigned sqhd = 1;
  fabric.on_command = [&](FakeChannel& c, FakeCommand& command) {
    sqhd = (sqhd + 1) % 8;
    c.succeed_without(command.sqe, static_cast<std::uint16_t>(sqhd));
  };
  std::vector<TestCommand> reads(3);
  TestCommand other;  // what it returns may be shorter than its buffer
  for (auto& read : reads) {
    read.sqe.set(nvme::sqe::opcode, std::uint8_t{0x02}).set(nvme::sqe::nsid, 1u);
    q.submit(read);
  }
  other.sqe.set(nvme::sqe::opcode, std::uint8_t{0x0E}).set(nvme::sqe::nsid, 1u);
  q.submit(other);
  world->run_for(Duration::ms(1));
  for (const auto& read : reads) {
    EXPECT_EQ(read.completions, 1);
    EXPECT_EQ(read.last.get(nvme::cqe::status), nvme::Status(nvme::sc::data_transfer_error));
  }
  EXPECT_TRUE(other.last.get(nvme::cqe::status).ok());
  EXPECT_EQ(q.counters().without_data, 3u);
  ASSERT_EQ(tolerated.size(), 1u);
  EXPECT_NE(tolerated[0].find("not all its data came"), std::string::npos);
  EXPECT_TRUE(violations.empty());
}

TEST_F(QueueTest, SuccessWithoutFlowControlIsNothingToTell) {
  Queue& q = open(4, false);
  fabric.on_command = [](FakeChannel& channel, FakeCommand& command) { channel.succeed(command.sqe); };
  std::vector<TestCommand> commands(10);
  for (auto& command : commands) {
    command.sqe = flush(1);
    q.submit(command);
  }
  world->run_for(Duration::ms(1));
  for (const auto& command : commands) EXPECT_EQ(command.completions, 1);
  EXPECT_TRUE(tolerated.empty());
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(q.counters().without_sqhd, 0u);
}

TEST_F(QueueTest, WithoutFlowControlSqhdIsNotLookedAt) {
  Queue& q = open(4, false);
  fabric.on_command = [&](FakeChannel& c, FakeCommand& command) { c.respond(command.sqe, 0x1234); };
  std::vector<TestCommand> commands(50);
  for (auto& command : commands) {
    command.sqe = flush(1);
    q.submit(command);
  }
  world->run_for(Duration::ms(10));
  for (const auto& command : commands) EXPECT_EQ(command.completions, 1);
  EXPECT_TRUE(violations.empty());
}

TEST_F(QueueTest, DeadlinesAreReported) {
  Queue& q = open(8);
  fabric.on_command = [](FakeChannel&, FakeCommand&) {};
  TestCommand slow, patient;
  slow.sqe = patient.sqe = flush(1);
  slow.timeout = Duration::s(3);
  patient.timeout = Duration::forever();
  q.submit(patient);
  q.submit(slow);
  world->run_for(Duration::ms(2990));
  EXPECT_TRUE(timeouts.empty());
  world->run_for(Duration::ms(20));
  EXPECT_EQ(timeouts, std::vector<std::uint16_t>{slow.cid()});
  world->run_for(Duration::s(1));  // the grace that the handler gave
  EXPECT_EQ(timeouts.size(), 2u);
  EXPECT_EQ(slow.timeouts(), 2u);
  q.close();
  world->run_until_idle();
  EXPECT_EQ(slow.completions, 1);
  EXPECT_FALSE(slow.was_answered);
  EXPECT_TRUE(same_code(slow.last.get(nvme::cqe::status), nvme::sc::host_pathing_error));
}

TEST_F(QueueTest, AnAnswerWithoutTheTransportsLastWordDoesNotWaitForEver) {
  Queue& q = open(8);
  fabric.never_release = true;
  TestCommand command;
  command.sqe = flush(1);
  command.timeout = Duration::s(3);
  q.submit(command);
  world->run_for(Duration::ms(2990));
  EXPECT_EQ(command.completions, 0);
  world->run_for(Duration::ms(20));
  EXPECT_EQ(command.completions, 1);
  EXPECT_FALSE(command.was_answered);
  EXPECT_EQ(ends.size(), 1u);
  EXPECT_TRUE(timeouts.empty());
}

TEST_F(QueueTest, TheEndFailsWhatIsSentAndWhatWaits) {
  Queue& q = open(4);
  fabric.on_command = [](FakeChannel&, FakeCommand&) {};
  std::vector<TestCommand> commands(10);
  std::vector<int> order;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    commands[i].sqe = flush(1);
    commands[i].then = [&order, i] { order.push_back(static_cast<int>(i)); };
    q.submit(commands[i]);
  }
  world->run_for(Duration::ms(1));
  channel().end({transport::ChannelEnd::Kind::lost, 0, 0, "link down"});
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(ends.size(), 1u);
  EXPECT_FALSE(q.submit(commands[0]));
}

TEST_F(QueueTest, FusedPairsStayAdjacent) {
  Queue& q = open(4);
  std::vector<nvme::Sqe> arrived;
  std::uint16_t sqhd = 1;
  fabric.on_command = [&](FakeChannel& c, FakeCommand& command) {
    arrived.push_back(command.sqe);
    sqhd = static_cast<std::uint16_t>((sqhd + 1) % 4);
    c.respond(command.sqe, sqhd);
  };
  std::vector<TestCommand> commands(12);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    commands[i].sqe = i % 3 == 0 ? flush(1) : as_sqe(compare(1, i, 1));
  }
  for (std::size_t i = 0; i < commands.size(); i += 3) {
    q.submit(commands[i]);
    q.submit_fused(commands[i + 1], commands[i + 2]);
  }
  world->run_for(Duration::ms(10));
  ASSERT_EQ(arrived.size(), 12u);
  for (std::size_t i = 0; i < arrived.size(); i += 3) {
    EXPECT_EQ(arrived[i].get(nvme::sqe::fuse), nvme::Fuse::normal);
    EXPECT_EQ(arrived[i + 1].get(nvme::sqe::fuse), nvme::Fuse::first);
    EXPECT_EQ(arrived[i + 2].get(nvme::sqe::fuse), nvme::Fuse::second);
  }
}

TEST_F(QueueTest, UrgentCommandsHaveAPlaceOfTheirOwn) {
  reserve = 1;
  Queue& q = open(4);
  std::size_t arrived = 0;
  fabric.on_command = [&](FakeChannel&, FakeCommand&) { ++arrived; };
  std::vector<TestCommand> commands(5);
  for (auto& command : commands) {
    command.sqe = flush(1);
    q.submit(command);
  }
  world->run_for(Duration::ms(1));
  EXPECT_EQ(arrived, 2u);
  TestCommand urgent;
  urgent.sqe = keep_alive();
  urgent.urgent = true;
  q.submit(urgent);
  world->run_for(Duration::ms(1));
  EXPECT_EQ(arrived, 3u);
  q.close();
  world->run_until_idle();
}

class OnePoint final : public HostHooks {
 public:
  explicit OnePoint(std::string_view name) : name_(name) {}
  bool departs(std::string_view asked) override { return asked == name_; }

 private:
  std::string_view name_;
};

TEST_F(QueueTest, DeparturesDepart) {
  const auto fill = [this](std::string_view name, bool flow_control = true) {
    OnePoint one(name);
    hooks = &one;
    Queue& q = open(4, flow_control);
    std::vector<nvme::Sqe> arrived;
    fabric.on_command = [&](FakeChannel&, FakeCommand& c) { arrived.push_back(c.sqe); };
    std::vector<TestCommand> commands(6);
    for (auto& command : commands) {
      command.sqe = flush(1);
      q.submit(command);
    }
    world->run_for(Duration::ms(1));
    q.close();
    world->run_until_idle();
    queue.reset();
    connected = false;
    return arrived;
  };
  EXPECT_EQ(fill("nothing").size(), 3u);
  EXPECT_EQ(fill(point::queue_overfilled).size(), 4u);
  EXPECT_EQ(fill(point::queue_overfilled, false).size(), 3u);
  EXPECT_EQ(fill(point::queue_overfilled_without_flow_control, false).size(), 4u);
  EXPECT_EQ(fill(point::queue_cid_reserved)[0].get(nvme::sqe::cid), 0xFFFF);
  const auto reused = fill(point::queue_cid_reused);
  EXPECT_EQ(reused[0].get(nvme::sqe::cid), reused[1].get(nvme::sqe::cid));
  EXPECT_EQ(fill(point::sqe_psdt_io)[0].get(nvme::sqe::psdt), nvme::Psdt::prp);
  EXPECT_EQ(fill(point::sqe_nsid_zero)[0].get(nvme::sqe::nsid), 0u);
}

}  // namespace
}  // namespace fb::host
