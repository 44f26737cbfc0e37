#include "model/host/raw_queue.h"

#include <gtest/gtest.h>

#include "tests/model/host/fake_fabric.h"

namespace fb::host {
namespace {

class RawQueueTest : public testing::Test {
 protected:
  RawQueue& open() {
    queue = std::make_unique<RawQueue>(*world, fabric, RawQueueOptions{.to = {}});
    EXPECT_TRUE(queue->connect_transport().wait().connected);
    return *queue;
  }
  std::unique_ptr<World> world = World::make_virtual(1);
  FakeFabric fabric{*world};
  std::unique_ptr<RawQueue> queue;
};

TEST_F(RawQueueTest, SendsWhatItIsGivenAndHandsOutWhatComes) {
  fabric.on_command = [](FakeChannel& channel, FakeCommand& command) {
    EXPECT_EQ(command.sqe.get(nvme::sqe::opcode), 0x06);
    EXPECT_EQ(command.sqe.get(nvme::sqe::cid), 77);
    command.transfer.data[5] = 0xAB;
    channel.respond(command.sqe, 3, nvme::sc::invalid_field.with_dnr(), 0x1122334455667788);
  };
  RawQueue& q = open();
  auto command = identify(nvme::Cns::controller);
  command.set(nvme::sqe::cid, 77);
  const RawReply reply = q.send(command, 4096).wait();
  EXPECT_TRUE(reply.answered());
  EXPECT_FALSE(reply.ok());
  EXPECT_EQ(reply.status(), nvme::sc::invalid_field.with_dnr());
  EXPECT_EQ(reply.value(), 0x1122334455667788u);
  EXPECT_EQ(reply.data.at(5), 0xAB);
  EXPECT_EQ(q.outstanding(), 0u);
}

TEST_F(RawQueueTest, SeveralOutstandingAndDuplicates) {
  std::vector<nvme::Sqe> held;
  fabric.on_command = [&](FakeChannel&, FakeCommand& c) { held.push_back(c.sqe); };
  RawQueue& q = open();
  auto same = keep_alive();
  same.set(nvme::sqe::cid, 9);
  auto first = q.send(same);
  auto second = q.send(same);
  auto third = q.send(keep_alive());
  world->run_for(Duration::ms(1));
  ASSERT_EQ(held.size(), 3u);
  EXPECT_EQ(held[2].get(nvme::sqe::cid), 1);
  FakeChannel& channel = *fabric.channels.back();
  channel.respond(held[2], 1);
  channel.respond(held[0], 2, {}, 1);
  channel.respond(held[1], 3, {}, 2);
  EXPECT_TRUE(third.wait().ok());
  EXPECT_EQ(first.wait().dw0(), 1u);
  EXPECT_EQ(second.wait().dw0(), 2u);
}

TEST_F(RawQueueTest, UnclaimedResponsesAreKept) {
  fabric.on_command = [](FakeChannel& channel, FakeCommand& c) { channel.respond(c.sqe, 1); };
  RawQueue& q = open();
  EXPECT_FALSE(q.next_response().wait_for(Duration::s(5)));  // must not swallow the next one
  q.post({.sqe = keep_alive()});
  EXPECT_TRUE(q.next_response().wait().ok());
  Bytes capsule(64);
  capsule[2] = 0x34;
  ASSERT_TRUE(q.post_capsule(capsule));
  EXPECT_EQ(q.next_response().wait().cqe.get(nvme::cqe::cid), 0x34);
  EXPECT_TRUE(q.send_capsule(capsule, 0x34).wait().ok());
}

// A product that answers without end would cost all memory.
TEST_F(RawQueueTest, AFloodOfResponsesEndsTheConnection) {
  std::vector<nvme::Sqe> sent;
  fabric.on_command = [&](FakeChannel&, FakeCommand& c) { sent.push_back(c.sqe); };
  RawQueue& q = open();
  auto never = q.send(keep_alive());
  world->run_for(Duration::ms(1));
  ASSERT_EQ(sent.size(), 1u);
  nvme::Sqe another = sent.front();
  another.set(nvme::sqe::cid, 0x7777);
  for (unsigned i = 0; i < 131'073; ++i) fabric.channels.front()->respond(another, 1);
  const RawReply reply = never.wait();
  EXPECT_FALSE(reply.answered());
  ASSERT_TRUE(reply.end.has_value());
  EXPECT_NE(reply.end->text.find("responses without end"), std::string::npos) << reply.end->text;
}

TEST_F(RawQueueTest, TheEndSettlesEverything) {
  RawQueue& q = open();
  auto reply = q.send(keep_alive());
  auto next = q.next_response();
  auto end = q.ended();
  world->run_for(Duration::ms(1));
  fabric.channels.back()->end({transport::ChannelEnd::Kind::lost, 0, 0, "gone"});
  EXPECT_FALSE(reply.wait().answered());
  EXPECT_FALSE(next.wait().answered());
  EXPECT_EQ(end.wait().text, "gone");
  EXPECT_FALSE(q.send(keep_alive()).wait().answered());
  EXPECT_FALSE(q.post_capsule(Bytes(64)));
}

TEST_F(RawQueueTest, ARefusalIsAValue) {
  fabric.on_connect = [](const transport::ChannelOptions&) {
    return transport::ChannelEnd{transport::ChannelEnd::Kind::refused, 28, 4, "HSQSIZE"};
  };
  RawQueue q(*world, fabric, {.to = {}});
  const RawConnection connection = q.connect_transport().wait();
  EXPECT_FALSE(connection.connected);
  EXPECT_EQ(connection.end.status, 4);
}

TEST_F(RawQueueTest, DeadlockNamesTheCommand) {
  RawQueue& q = open();
  try {
    q.send(identify(nvme::Cns::controller), 4096).wait();
    FAIL();
  } catch (const WaitFailure& failure) {
    EXPECT_EQ(failure.end(), WaitEnd::deadlock);
    EXPECT_NE(std::string(failure.what()).find("Identify on queue 0"), std::string::npos);
  }
}

TEST(Commands, ConnectSaysWhatItIsTold) {
  ConnectArguments arguments;
  arguments.qid = 3;
  arguments.entries = 128;
  arguments.kato_ms = 5000;
  arguments.cntlid = 7;
  arguments.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-000000000001";
  arguments.subnqn = "nqn.2026-11.test:a";
  const ConnectCommand made = connect(arguments);
  EXPECT_EQ(made.sqe.get(nvme::sqe::opcode), 0x7F);
  EXPECT_EQ(made.sqe.bytes()[1], 0x40);
  EXPECT_EQ(made.sqe.get(fabrics::connect_sqe::sqsize).raw(), 127);
  EXPECT_EQ(fabrics::terminated_text(made.data.get(fabrics::connect_data::subnqn)), "nqn.2026-11.test:a");
  EXPECT_EQ(made.data.get(fabrics::connect_data::cntlid), 7);
}

}  // namespace
}  // namespace fb::host
