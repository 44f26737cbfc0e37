#include "model/transport/loopback.h"

#include <gtest/gtest.h>

#include "tests/model/transport/channel_bench.h"

namespace fb::transport {
namespace {

using testing::HostQueue;
using testing::pattern;
using testing::Target;

const Endpoint kAt{IpAddress::v4(10, 0, 0, 2), 4420};

struct Loopback : ::testing::Test {
  Loopback() {
    options.io_queues_max = 4;
    fabric = std::make_unique<LoopbackFabric>(*world, options);
    listener = fabric->listen(kAt, target).value();
  }
  std::unique_ptr<HostQueue> connect(std::uint16_t qid, std::uint16_t entries = 32) {
    auto queue = std::make_unique<HostQueue>(*fabric);
    ChannelOptions channel;
    channel.qid = qid;
    channel.entries = entries;
    channel.in_capsule_bytes = qid == 0 ? 0 : 4096;
    queue->channel->connect(kAt, channel);
    world->run_until_idle();
    return queue;
  }

  ControllerFabricOptions options;
  std::unique_ptr<World> world = World::make_virtual(1);
  std::unique_ptr<LoopbackFabric> fabric;
  Target target;
  std::unique_ptr<ControllerFabric> listener;
};

TEST_F(Loopback, MovesDataBothWays) {
  auto host = connect(1);
  ASSERT_TRUE(host->connected);
  for (const std::size_t size : {0u, 1u, 512u, 4096u, 4097u, 65536u, 1u << 20}) {
    Bytes out = pattern(7, size);
    ASSERT_TRUE(host->write(3, out));
    world->run_until_idle();
    EXPECT_EQ(target.queues[0]->written, out) << size;
    Bytes in(size);
    ASSERT_TRUE(host->read(4, in, 99));
    world->run_until_idle();
    EXPECT_EQ(in, pattern(99, size)) << size;
  }
  EXPECT_EQ(host->answers.size(), 14u);
  for (const auto& answer : host->answers) EXPECT_TRUE(answer.status.ok());
  EXPECT_TRUE(host->answers.back().facts.invalidated);
}

TEST_F(Loopback, RefusesWhatRdmaRefuses) {
  const auto status = [&](std::uint16_t qid, std::uint16_t entries) {
    auto host = connect(qid, entries);
    return host->ends.size() == 1 ? host->ends[0].status : 0xFFFF;
  };
  EXPECT_EQ(status(5, 32), 3);
  EXPECT_EQ(status(0, 1), 4);
  EXPECT_EQ(status(0, 33), 4);
  EXPECT_EQ(status(1, 129), 4);
  HostQueue nobody(*fabric);
  nobody.channel->connect({IpAddress::v4(10, 0, 0, 3), 4420}, {});
  HostQueue no_port(*fabric);
  no_port.channel->connect({kAt.address, 4421}, {});
  world->run_until_idle();
  EXPECT_EQ(nobody.ends.at(0).kind, ChannelEnd::Kind::unreachable);
  EXPECT_EQ(no_port.ends.at(0).cm_reason, 8);
  EXPECT_FALSE(fabric->listen(kAt, target).ok());
}

TEST_F(Loopback, EitherEndMayGo) {
  auto host = connect(1);
  target.queues[0]->channel->close();
  world->run_until_idle();
  ASSERT_EQ(host->ends.size(), 1u);
  EXPECT_EQ(host->ends[0].kind, ChannelEnd::Kind::lost);
  EXPECT_TRUE(target.queues[0]->ended.empty());

  auto second = connect(2);
  second->channel->disconnect();
  world->run_until_idle();
  EXPECT_EQ(second->ends.at(0).kind, ChannelEnd::Kind::closed);
  EXPECT_EQ(target.queues[1]->ended.size(), 1u);

  auto third = connect(3);
  target.queues[2]->destroy_on_end = true;
  third->hold(0);
  world->run_until_idle();
  third.reset();
  world->run_until_idle();
  EXPECT_EQ(target.queues[2]->ended.size(), 1u);
}

TEST_F(Loopback, BadMemoryAndBadCapsulesEndTheConnection) {
  auto host = connect(1);
  nvme::Sqe sqe = HostQueue::make(testing::kWrite, 9, 512);
  const auto descriptor = nvme::SglDescriptor::keyed(0x1000, 512, 0x77).bytes();
  sqe.set(nvme::sqe::sgl1, ByteView{descriptor});
  host->raw(sqe);
  world->run_until_idle();
  EXPECT_EQ(host->ends.size(), 1u);
  EXPECT_EQ(target.queues[0]->ended.size(), 1u);

  auto admin = connect(0);
  admin->channel->send_raw(Bytes(65));
  world->run_until_idle();
  EXPECT_EQ(admin->ends.size(), 1u);
  EXPECT_EQ(target.queues[1]->commands, 0u);
}

TEST_F(Loopback, CapsulesWaitForAFreeCommand) {
  auto host = connect(1, 4);
  for (std::uint16_t i = 0; i < 4; ++i) host->hold(i);
  Bytes data = pattern(1, 64);
  host->write(3, data);
  world->run_until_idle();
  EXPECT_EQ(target.queues[0]->commands, 4u);
  target.queues[0]->release_held();
  world->run_until_idle();
  EXPECT_EQ(target.queues[0]->commands, 5u);
  EXPECT_EQ(target.queues[0]->written, data);
}

}  // namespace
}  // namespace fb::transport
