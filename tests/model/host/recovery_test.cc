// Loss, reconnection, several paths.
#include <gtest/gtest.h>

#include <deque>

#include "tests/model/host/rig.h"

namespace fb::host {
namespace {

using subsystem::SubsystemOptions;
using Answer = subsystem::SubsystemHooks::Answer;

TEST(Recovery, EveryLossKeepsTheData) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SubsystemOptions subsystem;
    subsystem.io_latency = Duration::ms(2);
    Rig rig(subsystem, seed);
    rig.add_namespace(8192);
    ConnectOptions options = rig.to();
    options.io_queues = 2;
    Controller* controller = rig.connect(options);
    ASSERT_NE(controller, nullptr);
    Rng rng(seed, "losses");
    Bytes disk(8192 * 512);
    std::vector<Op<nvme::Status>> writes;
    std::deque<Bytes> memory;
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t lba = static_cast<std::uint64_t>(i) * 100;
      Bytes& data = memory.emplace_back(rng.between(1, 100) * 512);
      rng.fill(data);
      std::copy(data.begin(), data.end(), disk.begin() + static_cast<std::ptrdiff_t>(lba * 512));
      writes.push_back(rig.ns().write(lba, data));
    }
    // Somewhere in the middle every association ends, twice.
    for (int loss = 0; loss < 2; ++loss) {
      rig.world->run_for(Duration::us(static_cast<std::int64_t>(rng.below(4000))));
      rig.disk->end_associations("test");
      EXPECT_TRUE(rig.world->run_until([&] { return !controller->live(); }, Duration::s(1)));
      EXPECT_TRUE(rig.world->run_until([&] { return controller->live(); }, Duration::s(60)));
    }
    for (auto& write : writes) ASSERT_TRUE(write.wait().ok());
    Bytes back(disk.size());
    ASSERT_TRUE(rig.ns().read(0, back).wait().ok());
    EXPECT_EQ(disk, back) << "seed " << seed;
    EXPECT_GE(controller->attempts(), 3u);
  }
}

TEST(Recovery, WritesWaitUntilTheOldControllerHasStopped) {
  SubsystemOptions subsystem;
  subsystem.io_latency = Duration::ms(50);
  subsystem.cqt_ms = 1500;
  Rig rig(subsystem);
  rig.add_namespace();
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  Bytes data = rig.random(512, "data"), back(512);
  auto write = rig.ns().write(1, data);
  auto read = rig.ns().read(2, back);
  rig.world->run_for(Duration::ms(10));
  const Instant lost = rig.world->now();
  rig.disk->end_associations("test");
  EXPECT_TRUE(read.wait().ok());  // harmless: as soon as there is a way
  EXPECT_LE(rig.world->now() - lost, Duration::s(2));
  EXPECT_TRUE(write.wait().ok());
  EXPECT_GE(rig.world->now() - lost, Duration::ms(11'400));
  EXPECT_LE(rig.world->now() - lost, Duration::ms(12'000));
}

TEST(Recovery, HowLongAWriteWaitsFollowsFromKeepAliveAndQuiesceTimes) {
  struct Row {
    const char* name;
    std::uint32_t kato_ms;
    std::uint16_t kas;
    bool traffic;
    std::uint16_t cqt_ms;
    std::int64_t expected_ms;  ///< from the Keep Alive before, or with traffic from the loss
  };
  const Row rows[] = {
      {"two KATT and CQT", 2000, 10, false, 1500, 5500},
      {"three KATT by traffic", 2000, 10, true, 1500, 7500},
      {"KATT is rounded up to KAS", 1500, 20, false, 1, 4001},
      {"no CQT: what the user gives", 2000, 10, false, 0, 4000 + 700},
      {"no keep alive: nothing to wait for", 0, 10, false, 1500, 0},
  };
  for (const Row& row : rows) {
    SubsystemOptions subsystem;
    subsystem.kas = row.kas;
    subsystem.traffic_based_keep_alive = row.traffic;
    subsystem.cqt_ms = row.cqt_ms;
    Rig rig(subsystem);
    rig.add_namespace();
    ConnectOptions options = rig.to();
    options.kato_ms = row.kato_ms;
    options.quiesce_unreported = Duration::ms(700);
    ASSERT_NE(rig.connect(options), nullptr) << row.name;
    // Only the I/O queue is lost at first: the host learns of the end by its commands alone.
    bool once = true;
    rig.hooks.on_completion = [&](std::uint16_t qid, const nvme::Sqe&, MutableBytes) {
      return qid != 0 && std::exchange(once, false) ? Answer::disconnect_instead : Answer::send;
    };
    const Instant lost = rig.world->now();
    Bytes data = rig.random(512, "data");
    EXPECT_TRUE(rig.ns().write(1, data).wait().ok()) << row.name;
    const Duration waited = rig.world->now() - lost;
    EXPECT_GE(waited, Duration::ms(row.expected_ms) - Duration::ms(10)) << row.name;
    EXPECT_LE(waited, Duration::ms(std::max<std::int64_t>(row.expected_ms, 500) + 10)) << row.name;
  }
}

TEST(Recovery, TheLossOfAnIoQueueEndsTheAssociation) {
  Rig rig;
  rig.add_namespace();
  ConnectOptions options = rig.to();
  options.io_queues = 2;
  Controller* controller = rig.connect(options);
  ASSERT_NE(controller, nullptr);
  bool once = true;
  rig.hooks.on_completion = [&](std::uint16_t qid, const nvme::Sqe&, MutableBytes) {
    return qid != 0 && std::exchange(once, false) ? Answer::disconnect_instead : Answer::send;
  };
  Bytes data = rig.random(512, "data"), back(512);
  EXPECT_TRUE(rig.ns().write(1, data).wait().ok());
  EXPECT_EQ(controller->attempts(), 2u);
  EXPECT_TRUE(rig.ns().read(1, back).wait().ok());
  EXPECT_EQ(data, back);
}

TEST(Recovery, AttemptsBackOffAndEnd) {
  Rig rig;
  rig.add_namespace();
  ConnectOptions options = rig.to();
  options.controller_loss_timeout = Duration::s(60);
  Controller* controller = rig.connect(options);
  ASSERT_NE(controller, nullptr);
  Bytes block(512);
  rig.listeners.clear();  // nobody listens any more
  rig.disk->end_associations("test");
  rig.world->run_for(Duration::ms(1));
  auto read = rig.ns().read(0, block);
  rig.world->run_for(Duration::s(30));
  EXPECT_EQ(controller->state(), ControllerState::recovering);
  EXPECT_FALSE(read.settled());
  const nvme::Status status = read.wait();
  EXPECT_TRUE(same_code(status, nvme::sc::host_pathing_error));
  EXPECT_EQ(controller->reached(ControllerState::gone).wait(), ControllerState::gone);
  EXPECT_GE(controller->attempts(), 6u);  // 0.5, 1, 2, 4, 8, 10, 10, ...
  EXPECT_LE(controller->attempts(), 13u);
}

TEST(Recovery, AListenerThatComesBackIsFound) {
  Rig rig;
  rig.add_namespace();
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  rig.listeners.clear();
  rig.disk->end_associations("test");
  rig.world->run_for(Duration::s(20));
  EXPECT_FALSE(controller->live());
  rig.listen(1);
  EXPECT_EQ(controller->reached(ControllerState::live).wait(), ControllerState::live);
  Bytes block(512);
  EXPECT_TRUE(rig.ns().read(0, block).wait().ok());
}

TEST(Recovery, APermanentRefusalEndsTheAttempts) {
  Rig rig;
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  rig.disk->set_moved(true);
  rig.disk->end_associations("test");
  EXPECT_EQ(controller->reached(ControllerState::gone).wait(), ControllerState::gone);
  EXPECT_TRUE(same_code(controller->error().status, nvme::sc::connect_restart_discovery));
  EXPECT_EQ(controller->attempts(), 2u);
}

TEST(Recovery, ShutdownWhileRecoveringJustEnds) {
  Rig rig;
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  rig.disk->end_associations("test");
  rig.world->run_for(Duration::ms(10));
  ASSERT_EQ(controller->state(), ControllerState::recovering);
  EXPECT_TRUE(controller->shutdown().wait().ok());
  EXPECT_TRUE(rig.world->run_until_idle(Duration::s(600)));
}

TEST(Recovery, TheHostMayGoWithCommandsUnderWay) {
  SubsystemOptions subsystem;
  subsystem.io_latency = Duration::s(1);
  Rig rig(subsystem);
  rig.add_namespace();
  ASSERT_NE(rig.connect(), nullptr);
  Bytes block(512);
  auto read = rig.ns().read(0, block);
  rig.world->run_for(Duration::ms(1));
  rig.host.reset();
  EXPECT_TRUE(same_code(read.wait(), nvme::sc::host_pathing_error));
}

// ---- Several paths ----

struct TwoPaths : Rig {
  explicit TwoPaths(SubsystemOptions options = {}) : Rig(std::move(options)) {
    add_port(2);
    add_namespace();
    first = connect(to(1));
    second = connect(to(2));
  }
  std::uint64_t done(Controller* controller) { return controller->io_queue(0)->counters().completed; }
  Controller* first = nullptr;
  Controller* second = nullptr;
};

TEST(Multipath, OneNamespaceTwoControllersInTurn) {
  TwoPaths rig;
  ASSERT_TRUE(rig.first != nullptr && rig.second != nullptr) << rig.last_error.text;
  EXPECT_EQ(rig.host->namespaces().size(), 1u);
  EXPECT_EQ(rig.ns().paths().all().size(), 2u);
  const std::uint64_t a = rig.done(rig.first), b = rig.done(rig.second);
  Bytes block(512);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(rig.ns().read(0, block).wait().ok());
  EXPECT_EQ(rig.done(rig.first) - a, 10u);
  EXPECT_EQ(rig.done(rig.second) - b, 10u);
}

TEST(Multipath, OptimizedPathsArePreferred) {
  TwoPaths rig;
  rig.disk->set_ana_state(1, nvme::AnaState::non_optimized, 1);
  rig.world->run_for(Duration::ms(50));
  const std::uint64_t a = rig.done(rig.first);
  Bytes block(512);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(rig.ns().read(0, block).wait().ok());
  EXPECT_EQ(rig.done(rig.first), a);
  rig.disk->set_ana_state(1, nvme::AnaState::inaccessible, 2);
  rig.world->run_for(Duration::ms(50));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(rig.ns().read(0, block).wait().ok());
  EXPECT_EQ(rig.done(rig.first), a + 20);
}

TEST(Multipath, APathErrorIsEnoughToSwitch) {
  TwoPaths rig;
  // The event does not come: the status alone must do.
  rig.hooks.departure = "sub.events.silent";
  rig.hooks.on_completion = [](std::uint16_t, const nvme::Sqe& sqe, MutableBytes) {
    return sqe.bytes()[0] == 0x0C ? Answer::withhold : Answer::send;
  };
  rig.disk->set_ana_state(1, nvme::AnaState::inaccessible, 1);
  Bytes data = rig.random(512, "data"), back(512);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(rig.ns().write(0, data).wait().ok());
  EXPECT_TRUE(rig.ns().read(0, back).wait().ok());
  EXPECT_EQ(data, back);
  EXPECT_LE(rig.world->now().count_ns(), Duration::s(1).count_ns());
}

TEST(Multipath, InChangeOneWaitsAtMostAnatt) {
  SubsystemOptions subsystem;
  subsystem.ana_transition_s = 8;
  TwoPaths rig(subsystem);
  rig.disk->set_ana_state(1, nvme::AnaState::change);
  rig.world->run_for(Duration::ms(50));
  Bytes block(512);
  auto read = rig.ns().read(0, block);
  rig.world->run_for(Duration::s(5));
  EXPECT_FALSE(read.settled());
  rig.disk->set_ana_state(1, nvme::AnaState::optimized);
  EXPECT_TRUE(read.wait().ok());

  rig.disk->set_ana_state(1, nvme::AnaState::change);
  rig.world->run_for(Duration::ms(50));
  const Instant start = rig.world->now();
  const nvme::Status status = rig.ns().read(0, block).wait();
  EXPECT_TRUE(same_code(status, nvme::sc::ana_transition)) << nvme::to_string(status);
  EXPECT_GE(rig.world->now() - start, Duration::s(8));
  EXPECT_LE(rig.world->now() - start, Duration::s(9));
}

TEST(Multipath, TheLossOfOneControllerIsBridgedByTheOther) {
  SubsystemOptions subsystem;
  subsystem.io_latency = Duration::ms(1);
  TwoPaths rig(subsystem);
  std::vector<Op<nvme::Status>> writes;
  std::deque<Bytes> memory;
  for (std::uint64_t i = 0; i < 32; ++i) {
    memory.push_back(rig.random(4096, "write " + std::to_string(i)));
    writes.push_back(rig.ns().write(i * 8, memory.back()));
  }
  rig.world->run_for(Duration::us(300));
  rig.first->disconnect();
  for (auto& write : writes) EXPECT_TRUE(write.wait().ok());
  for (std::uint64_t i = 0; i < 32; ++i) {
    Bytes back(4096);
    EXPECT_TRUE(rig.ns().read(i * 8, back).wait().ok());
    EXPECT_EQ(back, memory[i]);
  }
  EXPECT_EQ(rig.first->state(), ControllerState::gone);
}

TEST(Multipath, QueueDepthPolicyPrefersTheIdlePath) {
  Rig rig;
  rig.host = std::make_unique<Host>(*rig.world, rig.fabric, HostOptions{}, PathPolicy::queue_depth);
  rig.add_port(2);
  rig.add_namespace();
  Controller* first = rig.connect(rig.to(1));
  Controller* second = rig.connect(rig.to(2));
  ASSERT_TRUE(first != nullptr && second != nullptr);
  std::vector<Op<nvme::Status>> reads;
  std::deque<Bytes> memory;
  for (std::uint64_t i = 0; i < 16; ++i) {
    memory.emplace_back(512);
    reads.push_back(rig.ns().read(i, memory.back()));
  }
  EXPECT_EQ(first->io_load(), 8u);
  EXPECT_EQ(second->io_load(), 8u);
  for (auto& read : reads) EXPECT_TRUE(read.wait().ok());
}

TEST(Multipath, NumaPolicyKeepsToOnePath) {
  Rig rig;
  rig.host = std::make_unique<Host>(*rig.world, rig.fabric, HostOptions{}, PathPolicy::numa);
  rig.add_port(2);
  rig.add_namespace();
  Controller* first = rig.connect(rig.to(1));
  Controller* second = rig.connect(rig.to(2));
  ASSERT_TRUE(first != nullptr && second != nullptr);
  Bytes block(512);
  const auto loads = [&] {
    std::vector<Op<nvme::Status>> reads;
    for (std::uint64_t i = 0; i < 16; ++i) reads.push_back(rig.ns().read(i, block));
    const std::pair<std::size_t, std::size_t> found{first->io_load(), second->io_load()};
    for (auto& read : reads) EXPECT_TRUE(read.wait().ok());
    return found;
  };
  EXPECT_EQ(loads(), std::pair(std::size_t{16}, std::size_t{0}));
  rig.disk->set_ana_state(1, nvme::AnaState::non_optimized, 1);
  rig.world->run_for(Duration::s(1));
  EXPECT_EQ(loads(), std::pair(std::size_t{0}, std::size_t{16}));
  // Equally good again: it stays where it is.
  rig.disk->set_ana_state(1, nvme::AnaState::optimized, 1);
  rig.world->run_for(Duration::s(1));
  EXPECT_EQ(loads(), std::pair(std::size_t{0}, std::size_t{16}));
}

TEST(Multipath, PrivateNamespacesAreNotJoined) {
  Rig rig;
  rig.add_port(2);
  subsystem::NamespaceOptions options;
  options.shared = false;
  ASSERT_TRUE(rig.disk->add_namespace(std::move(options)).ok());
  Controller* first = rig.connect(rig.to(1));
  Controller* second = rig.connect(rig.to(2));
  ASSERT_TRUE(first != nullptr && second != nullptr);
  for (Namespace* ns : rig.host->namespaces()) EXPECT_EQ(ns->paths().all().size(), 1u);
}

}  // namespace
}  // namespace fb::host
