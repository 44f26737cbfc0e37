// NVMe over RDMA with NetworkDirect under either side: host and subsystem know nothing of it.
#include "tests/networkdirect/consumer/rig.h"

#include <deque>

#include "model/host/host.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"

namespace fb::networkdirect::testing {
namespace {

constexpr std::uint64_t kBlocks = 4096;
constexpr std::size_t kBlock = 512;

struct Disks {
  Disks(Kind host_kind, Kind target_kind, std::uint64_t seed = 1)
      : world(World::make_virtual(seed)),
        network(*world),
        host_end(network.add_host("host", IpAddress::v4(10, 0, 0, 1))),
        target_end(network.add_host("target", IpAddress::v4(10, 0, 0, 2))),
        host_station(*world, host_end, host_kind),
        target_station(*world, target_end, target_kind),
        target(*world) {
    disk = &target.add_subsystem({});
    subsystem::NamespaceOptions space;
    space.blocks = kBlocks;
    BENCH_ASSERT(disk->add_namespace(std::move(space)).ok(), "room for a namespace");
    subsystem::PortOptions port;
    port.traddr = "10.0.0.2";
    target.add_port(port);
    listener = transport::RdmaControllerFabric::start(*world, target_station.device(), {}, target.acceptor()).value();
    target.set_listener(1, *listener);
    fabric = std::make_unique<transport::RdmaHostFabric>(*world, host_station.device());
    host = std::make_unique<host::Host>(*world, *fabric, host::HostOptions{});
  }
  host::Controller* connect(std::uint16_t io_queues = 2) {
    host::ConnectOptions options;
    options.to = listener->local();
    options.subnqn = disk->options().nqn;
    options.io_queues = io_queues;
    const auto outcome = host->connect(options).wait();
    if (!outcome.ok()) error = outcome.error().text;
    return outcome.ok() ? outcome.value() : nullptr;
  }
  host::Namespace& space() { return *host->find(disk->options().nqn, 1); }

  std::unique_ptr<World> world;
  net::SimNetwork network;
  net::SimHost& host_end;
  net::SimHost& target_end;
  Station host_station, target_station;
  std::unique_ptr<transport::RdmaControllerFabric> listener;  // outlives the target's channels
  subsystem::Target target;
  std::unique_ptr<transport::RdmaHostFabric> fabric;
  std::unique_ptr<host::Host> host;
  subsystem::Subsystem* disk = nullptr;
  std::string error;
};

/// Writes of any size, several at once, and all of it read back.
void exercise(Disks& rig, int rounds) {
  Rng rng(7, "work");
  Bytes expected(kBlocks * kBlock);
  ASSERT_TRUE(rig.space().write_zeroes(0, kBlocks).wait().ok());
  for (int round = 0; round < rounds; ++round) {
    std::deque<Bytes> memory;
    std::vector<Op<nvme::Status>> ops;
    std::uint64_t at = 0;
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t blocks = rng.between(1, rng.chance(1, 6) ? 500 : 32);
      at += rng.below(150);
      Bytes& data = memory.emplace_back(blocks * kBlock);
      rng.fill(data);
      std::ranges::copy(data, expected.begin() + static_cast<std::ptrdiff_t>(at * kBlock));
      ops.push_back(rig.space().write(at, data));
      at += blocks;
    }
    for (auto& op : ops) ASSERT_TRUE(op.wait().ok());
  }
  Bytes back(expected.size());
  ASSERT_TRUE(rig.space().read(0, back).wait().ok());
  EXPECT_TRUE(back == expected);
}

class Nvme : public ::testing::TestWithParam<std::pair<Kind, Kind>> {};

INSTANTIATE_TEST_SUITE_P(All, Nvme,
                         ::testing::Values(std::pair(Kind::stacked, Kind::stacked), std::pair(Kind::stacked, Kind::plain),
                                           std::pair(Kind::plain, Kind::stacked)),
                         [](const auto& way) { return name_of(way.param.first) + "To" + name_of(way.param.second); });

TEST_P(Nvme, DataIsWhatWasWritten) {
  Disks rig(GetParam().first, GetParam().second);
  host::Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr) << rig.error;
  exercise(rig, 8);
  EXPECT_TRUE(controller->shutdown().wait().ok());
  EXPECT_TRUE(rig.world->run_until_idle(Duration::s(300)));
}

TEST_P(Nvme, ASubsystemThatIsNotThereIsRefusedByName) {
  Disks rig(GetParam().first, GetParam().second);
  host::ConnectOptions options;
  options.to = rig.listener->local();
  options.subnqn = "nqn.2026-01.org.example:nobody";
  EXPECT_FALSE(rig.host->connect(options).wait().ok());
  EXPECT_NE(rig.connect(), nullptr) << rig.error;
}

TEST_P(Nvme, TwoRunsAreTheSame) {
  const auto run = [] {
    Disks rig(GetParam().first, GetParam().second, 5);
    EXPECT_NE(rig.connect(), nullptr) << rig.error;
    exercise(rig, 2);
    return rig.world->digest();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace fb::networkdirect::testing
