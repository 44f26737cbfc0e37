// I/O: data, splitting, depth, errors, retries.
#include <gtest/gtest.h>

#include <map>

#include "tests/model/host/rig.h"

namespace fb::host {
namespace {

using subsystem::SubsystemOptions;
using Answer = subsystem::SubsystemHooks::Answer;

TEST(Io, RandomOperationsAgainstAModelOfTheDisk) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Rng rng(seed, "shape");
    SubsystemOptions subsystem;
    subsystem.mdts = static_cast<std::uint8_t>(rng.below(4));  // 0: no limit
    subsystem.io_entries_max = static_cast<std::uint16_t>(rng.between(2, 33));
    subsystem.write_zeroes_limit = static_cast<std::uint8_t>(rng.below(3));
    Rig rig(subsystem, seed);
    rig.add_namespace(4096);
    ConnectOptions options = rig.to();
    options.io_queues = static_cast<std::uint16_t>(rng.between(1, 4));
    options.disable_sq_flow_control = rng.chance(1, 2);
    options.in_capsule_max_bytes = rng.chance(1, 2) ? 4096 : 0;
    options.remote_invalidate = rng.chance(1, 2);
    ASSERT_NE(rig.connect(options), nullptr) << rig.last_error.text;
    Namespace& ns = rig.ns();
    Bytes disk(4096 * 512);
    for (int round = 0; round < 120; ++round) {
      const std::uint64_t blocks = rng.between(1, rng.chance(1, 8) ? 512 : 40);
      const std::uint64_t lba = rng.below(4096 - blocks + 1);
      const auto range = MutableBytes(disk).subspan(lba * 512, blocks * 512);
      Bytes data(blocks * 512);
      switch (rng.below(6)) {
        case 0:
        case 1:
          rng.fill(data);
          std::copy(data.begin(), data.end(), range.begin());
          ASSERT_TRUE(ns.write(lba, data).wait().ok());
          break;
        case 2:
          ASSERT_TRUE(ns.write_zeroes(lba, blocks).wait().ok());
          std::fill(range.begin(), range.end(), std::uint8_t{0});
          break;
        case 3: {
          data.assign(range.begin(), range.end());
          const bool differs = rng.chance(1, 2);
          if (differs) data[rng.below(data.size())] ^= 0x10;
          const nvme::Status status = ns.compare(lba, data).wait();
          ASSERT_EQ(status.ok(), !differs);
          if (differs) {
            ASSERT_TRUE(same_code(status, nvme::sc::compare_failure));
          }
          break;
        }
        case 4:
          ASSERT_TRUE(ns.flush().wait().ok());
          ASSERT_TRUE(ns.verify(lba, blocks).wait().ok());
          break;
        default:
          ASSERT_TRUE(ns.read(lba, data).wait().ok());
          ASSERT_TRUE(std::equal(data.begin(), data.end(), range.begin())) << "seed " << seed;
      }
    }
    EXPECT_EQ(rig.host->controllers().front()->attempts(), 1u);
  }
}

TEST(Io, TransfersAreSplitToMdts) {
  SubsystemOptions subsystem;
  subsystem.mdts = 1;  // 8 KiB
  Rig rig(subsystem);
  rig.add_namespace();
  ASSERT_NE(rig.connect(), nullptr);
  EXPECT_EQ(rig.ns().max_transfer(), 8192u);
  Bytes data = rig.random(100 * 512, "data");
  ASSERT_TRUE(rig.ns().write(3, data).wait().ok());
  Bytes back(data.size());
  ASSERT_TRUE(rig.ns().read(3, back).wait().ok());
  EXPECT_EQ(data, back);
  std::map<std::uint64_t, std::uint64_t> covered;
  for (const nvme::Sqe& sqe : rig.hooks.io(nvme::IoOpcode::write)) {
    const auto command = sqe.as<nvme::ReadWriteSqe>();
    EXPECT_LE(command.get(nvme::rw_sqe::nlb).count(), 16u);
    covered[command.get(nvme::rw_sqe::slba)] = command.get(nvme::rw_sqe::nlb).count();
  }
  std::uint64_t at = 3;
  for (const auto& [lba, count] : covered) {
    EXPECT_EQ(lba, at);
    at += count;
  }
  EXPECT_EQ(at, 103u);

  rig.host_hooks.departure = point::mdts_ignored;
  EXPECT_GT(rig.ns().max_transfer(), 8192u);
  EXPECT_FALSE(rig.ns().read(3, back).wait().ok());
}

TEST(Io, OddLengthsAndRangesAreErrorsNotAccidents) {
  Rig rig;
  rig.add_namespace(100);
  ASSERT_NE(rig.connect(), nullptr);
  Bytes odd(700), block(512);
  EXPECT_TRUE(same_code(rig.ns().read(0, odd).wait(), nvme::sc::invalid_field));
  EXPECT_TRUE(rig.ns().read(0, MutableBytes{}).wait().ok());
  EXPECT_TRUE(same_code(rig.ns().read(100, block).wait(), nvme::sc::lba_out_of_range));
  EXPECT_TRUE(rig.ns().read(99, block).wait().ok());
}

TEST(Io, DeallocateAndUncorrectable) {
  Rig rig;
  rig.add_namespace();
  ASSERT_NE(rig.connect(), nullptr);
  Bytes data = rig.random(64 * 512, "data");
  ASSERT_TRUE(rig.ns().write(0, data).wait().ok());
  ASSERT_TRUE(rig.ns().deallocate(8, 8).wait().ok());
  Bytes back(8 * 512, 0xEE);
  ASSERT_TRUE(rig.ns().read(8, back).wait().ok());
  EXPECT_EQ(back, Bytes(8 * 512));
  ASSERT_TRUE(rig.ns().write_uncorrectable(20, 1).wait().ok());
  EXPECT_TRUE(same_code(rig.ns().read(16, back).wait(), nvme::sc::unrecovered_read_error));
}

TEST(Io, FusedCompareAndWrite) {
  Rig rig;
  rig.add_namespace();
  ASSERT_NE(rig.connect(), nullptr);
  Bytes zeroes(512), ones(512, 1);
  auto first = rig.ns().compare_and_write(5, zeroes, ones).wait();
  EXPECT_TRUE(first.first.ok() && first.second.ok());
  auto second = rig.ns().compare_and_write(5, zeroes, ones).wait();
  EXPECT_TRUE(same_code(second.first, nvme::sc::compare_failure));
  EXPECT_TRUE(same_code(second.second, nvme::sc::aborted_failed_fused));
}

TEST(Io, StatusDecidesAboutAnotherAttempt) {
  struct Row {
    nvme::Status status;
    std::size_t attempts;
  };
  // As many attempts as it takes to see the limit.
  const Row rows[] = {
      {nvme::sc::internal_error, 6},
      {nvme::sc::internal_error.with_dnr(), 1},
      {nvme::sc::transient_transport_error, 4},
      {nvme::sc::reservation_conflict, 1},
      {nvme::sc::invalid_field, 1},
      {nvme::sc::lba_out_of_range.with_dnr(), 1},
      {nvme::sc::guard_check_error, 1},
      {nvme::sc::unrecovered_read_error, 1},
      {nvme::sc::namespace_not_ready, 6},
  };
  for (const Row& row : rows) {
    Rig rig;
    rig.add_namespace();
    ASSERT_NE(rig.connect(), nullptr);
    rig.hooks.on_admission = [&](std::uint16_t qid, const nvme::Sqe&) -> std::optional<nvme::Status> {
      if (qid != 0) return row.status;
      return std::nullopt;
    };
    Bytes block(512);
    const nvme::Status got = rig.ns().read(0, block).wait();
    EXPECT_TRUE(same_code(got, row.status)) << nvme::to_string(got);
    EXPECT_EQ(rig.hooks.io(nvme::IoOpcode::read).size(), row.attempts) << nvme::to_string(row.status);
  }
}

TEST(Io, ATransientErrorIsOvercome) {
  Rig rig;
  rig.add_namespace();
  ASSERT_NE(rig.connect(), nullptr);
  int left = 3;
  rig.hooks.on_admission = [&](std::uint16_t qid, const nvme::Sqe&) -> std::optional<nvme::Status> {
    if (qid != 0 && left-- > 0) return nvme::sc::transient_transport_error;
    return std::nullopt;
  };
  Bytes data = rig.random(512, "data"), back(512);
  EXPECT_TRUE(rig.ns().write(0, data).wait().ok());
  EXPECT_TRUE(rig.ns().read(0, back).wait().ok());
  EXPECT_EQ(data, back);
}

TEST(Io, RetryDelaysAreKept) {
  Rig rig;
  rig.add_namespace();
  rig.hooks.on_data_out = [](const nvme::Sqe& sqe, MutableBytes data) {
    if (sqe.bytes()[0] != 0x06 || sqe.get(nvme::sqe::cdw10) != 1) return;
    store_le<std::uint16_t>(data.data() + 130, 20);  // CRDT2: 2 s
  };
  bool acre = false;
  rig.hooks.on_admission = [&](std::uint16_t qid, const nvme::Sqe& sqe) -> std::optional<nvme::Status> {
    if (qid == 0 && sqe.bytes()[0] == 0x09 && sqe.get(nvme::sqe::cdw10) == 0x16) {
      acre = true;
      return nvme::sc::success;
    }
    if (qid != 0 && rig.hooks.io(nvme::IoOpcode::read).size() == 1) {
      return nvme::sc::command_interrupted.with_crd(2);
    }
    return std::nullopt;
  };
  ASSERT_NE(rig.connect(), nullptr);
  EXPECT_TRUE(acre);
  Bytes block(512);
  const Instant start = rig.world->now();
  EXPECT_TRUE(rig.ns().read(0, block).wait().ok());
  EXPECT_GE(rig.world->now() - start, Duration::s(2));
  EXPECT_LE(rig.world->now() - start, Duration::ms(2100));
}

TEST(Io, AnAbortedCommandIsTriedAgain) {
  SubsystemOptions subsystem;
  subsystem.io_latency = Duration::s(100);  // far beyond the host's patience
  Rig rig(subsystem);
  rig.add_namespace();
  ConnectOptions options = rig.to();
  options.io_timeout = Duration::s(2);
  options.abort_grace = Duration::s(1);
  options.command_retries = 2;
  Controller* controller = rig.connect(options);
  ASSERT_NE(controller, nullptr);
  Bytes block(512);
  const nvme::Status status = rig.ns().read(0, block).wait();
  EXPECT_TRUE(same_code(status, nvme::sc::abort_requested)) << nvme::to_string(status);
  EXPECT_EQ(rig.hooks.count_admin(nvme::AdminOpcode::abort), 3u);
  EXPECT_TRUE(controller->live());
}

TEST(Io, SilenceLeadsToAbortThenReset) {
  Rig rig;
  rig.add_namespace();
  ConnectOptions options = rig.to();
  options.io_timeout = Duration::s(2);
  options.abort_grace = Duration::s(1);
  Controller* controller = rig.connect(options);
  ASSERT_NE(controller, nullptr);
  Bytes data = rig.random(512, "data"), back(512);
  const Instant start = rig.world->now();
  rig.hooks.on_completion = [&](std::uint16_t qid, const nvme::Sqe&, MutableBytes) {
    const bool mute = qid != 0 && rig.world->now() - start < Duration::ms(2900);
    return mute ? Answer::withhold : Answer::send;
  };
  EXPECT_TRUE(rig.ns().write(9, data).wait().ok());
  EXPECT_GE(rig.world->now() - start, Duration::s(3));
  EXPECT_EQ(rig.hooks.count_admin(nvme::AdminOpcode::abort), 1u);
  EXPECT_EQ(rig.world->trace().marks("host.controller.reset"), 1u);
  EXPECT_TRUE(rig.ns().read(9, back).wait().ok());
  EXPECT_EQ(data, back);
  EXPECT_EQ(controller->attempts(), 1u);
}

TEST(Io, AResponseForNoCommandCompletesNothing) {
  Rig rig;
  rig.add_namespace();
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr);
  bool once = true;
  rig.hooks.on_completion = [&](std::uint16_t qid, const nvme::Sqe&, MutableBytes) {
    return qid != 0 && std::exchange(once, false) ? Answer::send_twice : Answer::send;
  };
  Bytes data = rig.random(512, "data"), back(512);
  EXPECT_TRUE(rig.ns().write(0, data).wait().ok());
  EXPECT_TRUE(rig.ns().read(0, back).wait().ok());
  EXPECT_EQ(data, back);
  rig.world->run_for(Duration::s(5));
  EXPECT_TRUE(controller->live());
}

class Looping final : public IoRequest {
 public:
  void on_done(nvme::Status status) override {
    ++done;
    errors += !status.ok();
    if (--left > 0) target->submit(*this);
  }
  Namespace* target = nullptr;
  int left = 0;
  int done = 0;
  int errors = 0;
};

TEST(Io, RequestsOfTheCallerAreReused) {
  Rig rig;
  rig.add_namespace();
  ConnectOptions options = rig.to();
  options.io_queues = 2;
  options.queue_entries = 16;
  Controller* controller = rig.connect(options);
  ASSERT_NE(controller, nullptr);
  std::vector<Looping> loops(64);  // more than fit into the queues
  std::vector<Bytes> memory(64, Bytes(4096));
  for (std::size_t i = 0; i < loops.size(); ++i) {
    loops[i].target = &rig.ns();
    loops[i].left = 50;
    loops[i].lba = i * 8;
    loops[i].blocks = 8;
    loops[i].data = memory[i];
    rig.ns().submit(loops[i]);
  }
  rig.world->run_for(Duration::s(1));
  for (const Looping& loop : loops) {
    EXPECT_EQ(loop.done, 50);
    EXPECT_EQ(loop.errors, 0);
  }
  // Both queues did their part.
  EXPECT_NEAR(static_cast<double>(controller->io_queue(0)->counters().completed),
              static_cast<double>(controller->io_queue(1)->counters().completed), 10.0);
}

}  // namespace
}  // namespace fb::host
