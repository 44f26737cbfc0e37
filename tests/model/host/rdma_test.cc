// The host over the whole stack: NVMe over RDMA over software RoCEv2 over a simulated network.
#include <gtest/gtest.h>

#include <deque>

#include "model/host/host.h"
#include "model/subsystem/target.h"
#include "model/transport/rdma_controller.h"
#include "model/transport/rdma_host.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::host {
namespace {

/// Drops everything while it is cut.
class Cable final : public net::LinkFilter {
 public:
  net::Verdict on_packet(net::PacketContext&) override { return cut ? net::Verdict::dropped() : net::Verdict::pass(); }
  bool cut = false;
};

struct RdmaRig {
  explicit RdmaRig(std::uint64_t seed = 1, net::LinkFilter* filter = nullptr) : world(World::make_virtual(seed)) {
    network.set_filter(filter);
    disk = &target.add_subsystem({});
    subsystem::NamespaceOptions space;
    space.blocks = 16384;
    BENCH_ASSERT(disk->add_namespace(std::move(space)).ok(), "room for a namespace");
    subsystem::PortOptions port;
    port.traddr = "10.0.0.2";
    target.add_port(port);
    host_device = device(host_end, IpAddress::v4(10, 0, 0, 1));
    target_device = device(target_end, IpAddress::v4(10, 0, 0, 2));
    listen();
    fabric = std::make_unique<transport::RdmaHostFabric>(*world, *host_device);
    host = std::make_unique<Host>(*world, *fabric, HostOptions{});
  }
  std::unique_ptr<softroce::SoftRoceDevice> device(net::SimHost& end, const IpAddress& address) {
    softroce::SoftRoceOptions options;
    options.name = end.name();
    options.address = address;
    return softroce::make_softroce(*world, end, options).value();
  }
  void listen() {
    listener = transport::RdmaControllerFabric::start(*world, *target_device, {}, target.acceptor()).value();
    target.set_listener(1, *listener);
    at = listener->local();
  }
  Controller* connect(std::uint16_t io_queues = 2) {
    ConnectOptions options;
    options.to = at;
    options.subnqn = disk->options().nqn;
    options.io_queues = io_queues;
    const Controller::Outcome outcome = host->connect(options).wait();
    if (!outcome.ok()) error = outcome.error().text;
    return outcome.ok() ? outcome.value() : nullptr;
  }
  Namespace& ns() { return *host->find(disk->options().nqn, 1); }

  std::unique_ptr<World> world;
  net::SimNetwork network{*world};
  net::SimHost& host_end = network.add_host("host", IpAddress::v4(10, 0, 0, 1));
  net::SimHost& target_end = network.add_host("target", IpAddress::v4(10, 0, 0, 2));
  std::unique_ptr<softroce::SoftRoceDevice> host_device, target_device;
  std::unique_ptr<transport::RdmaControllerFabric> listener;  // outlives the target's channels
  subsystem::Target target{*world};
  std::unique_ptr<transport::RdmaHostFabric> fabric;
  std::unique_ptr<Host> host;
  subsystem::Subsystem* disk = nullptr;
  Endpoint at;
  std::string error;
};

/// Writes and reads of any size, several at once, against a copy of the disk.
void exercise(RdmaRig& rig, Rng& rng, int rounds) {
  Bytes disk(16384 * 512);
  ASSERT_TRUE(rig.ns().write_zeroes(0, 16384).wait().ok());
  for (int round = 0; round < rounds; ++round) {
    std::deque<Bytes> memory;
    std::vector<Op<nvme::Status>> ops;
    std::uint64_t at = 0;
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t blocks = rng.between(1, rng.chance(1, 6) ? 2000 : 64);
      at += rng.below(600);
      Bytes& data = memory.emplace_back(blocks * 512);
      rng.fill(data);
      std::copy(data.begin(), data.end(), disk.begin() + static_cast<std::ptrdiff_t>(at * 512));
      ops.push_back(rig.ns().write(at, data));
      at += blocks;
    }
    for (auto& op : ops) ASSERT_TRUE(op.wait().ok());
  }
  Bytes back(disk.size());
  ASSERT_TRUE(rig.ns().read(0, back).wait().ok());
  ASSERT_TRUE(back == disk);
}

TEST(HostOverRdma, DataIsWhatWasWritten) {
  RdmaRig rig;
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr) << rig.error;
  Rng rng(7, "work");
  exercise(rig, rng, 10);
  EXPECT_TRUE(controller->shutdown().wait().ok());
  EXPECT_TRUE(rig.world->run_until_idle(Duration::s(300)));
}

TEST(HostOverRdma, ALossyNetworkIsNotNoticedAbove) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto world_of_filter = World::make_virtual(seed);
    net::RandomLoss loss(*world_of_filter, {.drop = {1, 200}, .duplicate = {1, 300}, .delay = {1, 100}, .corrupt = {}});
    RdmaRig rig(seed, &loss);
    Controller* controller = rig.connect();
    ASSERT_NE(controller, nullptr) << rig.error;
    Rng rng(seed, "work");
    exercise(rig, rng, 4);
    EXPECT_EQ(controller->attempts(), 1u) << controller->error().text;
  }
}

TEST(HostOverRdma, ACutCableIsRecoveredFrom) {
  Cable cable;
  RdmaRig rig(1, &cable);
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr) << rig.error;
  Bytes data(1 << 20), back(1 << 20);
  rig.world->stream("data").fill(data);
  auto write = rig.ns().write(100, data);
  cable.cut = true;  // the capsules are on their way
  rig.world->run_for(Duration::s(30));
  EXPECT_FALSE(controller->live());
  EXPECT_FALSE(write.settled()) << controller->error().text;
  cable.cut = false;
  EXPECT_TRUE(write.wait().ok());
  EXPECT_TRUE(rig.ns().read(100, back).wait().ok());
  EXPECT_TRUE(data == back);
  EXPECT_GE(controller->attempts(), 2u);
}

TEST(HostOverRdma, KeepAliveForTwoMinutes) {
  RdmaRig rig;
  Controller* controller = rig.connect();
  ASSERT_NE(controller, nullptr) << rig.error;
  rig.world->run_for(Duration::s(120));
  EXPECT_TRUE(controller->live());
  EXPECT_GE(controller->keep_alives_sent(), 24u);
}

TEST(HostOverRdma, ManyControllersAndQueues) {
  RdmaRig rig;
  for (int i = 0; i < 5; ++i) ASSERT_NE(rig.connect(8), nullptr) << rig.error;
  EXPECT_EQ(rig.host->namespaces().size(), 1u);
  EXPECT_EQ(rig.ns().paths().all().size(), 5u);
  Rng rng(3, "work");
  exercise(rig, rng, 3);
  EXPECT_TRUE(rig.host->shutdown_all().wait());
}

TEST(HostOverRdma, NobodyListens) {
  RdmaRig rig;
  rig.at.port = 4421;
  EXPECT_EQ(rig.connect(), nullptr);
  EXPECT_FALSE(rig.error.empty());
}

}  // namespace
}  // namespace fb::host
