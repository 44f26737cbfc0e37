// The Replay primitive: what is sent again, from where on, and when there is nothing.
#include <gtest/gtest.h>

#include "tests/model/mi/rig.h"

namespace fb::mi {
namespace {

using test::kDriveEid;
using test::mi_message;
using test::primitive;
using test::read_vpd;
using test::Rig;
using test::RigOptions;
using test::slow_vpd;

TEST(Replay, FromEachPacket) {
  Rig rig;
  const Reply first = read_vpd(rig).wait();
  ASSERT_TRUE(first.ok());
  Bytes whole = first.message;
  append_mic(whole);
  ASSERT_EQ(whole.size(), 268u);
  for (std::uint8_t offset = 0; offset < 5; ++offset) {
    rig.packets.seen.clear();
    const ReplayReply replay = rig.requester.replay(kDriveEid, 0, offset).wait();
    ASSERT_TRUE(replay.primitive.ok());
    EXPECT_EQ(replay.primitive.cpsr(), kReplayResponds);
    Bytes expected;
    if (offset != 0) expected.assign(whole.begin(), whole.begin() + 4);
    expected.insert(expected.end(), whole.begin() + offset * 64, whole.end());
    EXPECT_EQ(replay.message, expected) << +offset;
    const auto packets = rig.packets.from(test::kDriveEid);
    ASSERT_EQ(packets.size(), 1u + (expected.size() + 63) / 64);
    EXPECT_EQ(packets.size(), 6u - offset);
    EXPECT_TRUE(packets[1].som());
    for (const auto& packet : packets) EXPECT_EQ(packet.tag(), replay.primitive.tag.value);
    EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
  }
}

TEST(Replay, BeyondTheLastPacket) {
  Rig rig;
  ASSERT_TRUE(read_vpd(rig).wait().ok());
  EXPECT_EQ(rig.requester.replay(kDriveEid, 0, 5).wait().primitive.status(), Status::invalid_parameter);
  EXPECT_TRUE(rig.requester.replay(kDriveEid, 0, 4).wait().primitive.ok());
}

TEST(Replay, NothingIsThere) {
  Rig rig;
  const auto nothing = [&](unsigned slot) {
    const ReplayReply replay = rig.requester.replay(kDriveEid, slot).wait();
    EXPECT_TRUE(replay.primitive.ok());
    EXPECT_EQ(replay.primitive.cpsr(), 0u);
    EXPECT_TRUE(replay.message.empty());
  };
  nothing(0);
  ASSERT_TRUE(read_vpd(rig).wait().ok());
  nothing(1);
  ASSERT_TRUE(primitive(rig, Primitive::abort).ok());
  nothing(0);
  ASSERT_TRUE(read_vpd(rig).wait().ok());
  rig.endpoint.reset();
  nothing(0);
}

TEST(Replay, TheLastOfEachSlot) {
  Rig rig;
  ASSERT_TRUE(read_vpd(rig, 0, 32).wait().ok());
  ASSERT_TRUE(rig.requester.command(kDriveEid, Opcode::subsystem_health_poll, 0, 0, {}, {.slot = 1, .timeout = {}}).wait().ok());
  EXPECT_EQ(rig.requester.replay(kDriveEid, 0).wait().message.size(), 8u + 32 + 4);
  EXPECT_EQ(rig.requester.replay(kDriveEid, 1).wait().message.size(), 8u + 8 + 4);
  EXPECT_EQ(rig.requester.replay(kDriveEid, 0).wait().message.size(), 8u + 32 + 4) << "as often as asked";
}

TEST(Replay, WhileTheResponseIsBeingSentItBeginsAgain) {
  RigOptions options;
  options.timing = true;
  Rig rig(options);
  auto op = read_vpd(rig);
  while (rig.packets.from(test::kDriveEid).size() < 2) rig.world.step_towards(rig.world.now() + Duration::s(1));
  const ReplayReply replay = rig.requester.replay(kDriveEid, 0).wait();
  EXPECT_EQ(replay.primitive.cpsr(), kReplayResponds);
  EXPECT_EQ(replay.message.size(), 268u);
  EXPECT_TRUE(mic_ok(replay.message));
  EXPECT_FALSE(op.settled());
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
}

TEST(Replay, EndsAPause) {
  for (const Revision revision : {Revision::r1_1, Revision::r2_0}) {
    RigOptions options;
    options.device.revision = revision;
    Rig rig(options);
    ASSERT_TRUE(primitive(rig, Primitive::pause).ok());
    auto held = read_vpd(rig);
    auto other = read_vpd(rig, 1);
    rig.world.run_for(Duration::ms(1));
    const SlotState then = revision == Revision::r1_1 ? SlotState::process : SlotState::transmit;
    EXPECT_EQ(rig.state().get(slot_status::ssta), then);
    const ReplayReply replay = rig.requester.replay(kDriveEid, 0).wait();
    EXPECT_EQ(replay.message.size(), 268u);
    rig.world.run_for(Duration::s(1));
    EXPECT_FALSE(held.settled()) << "it was sent once, in answer to Replay";
    EXPECT_TRUE(other.settled() && other.value().ok());
    EXPECT_FALSE(rig.state().get(slot_status::pflg));
    EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
  }
}

TEST(Replay, NothingWhileACommandComesIn) {
  Rig rig;
  ASSERT_TRUE(read_vpd(rig).wait().ok());
  Bytes write = mi_message(Opcode::vpd_write, 0, 100, Bytes(100, 7));
  append_mic(write);
  rig.packet(0x8F, Bytes(write.begin(), write.begin() + 64));
  rig.world.run_for(Duration::ms(1));
  const ReplayReply replay = rig.requester.replay(kDriveEid, 0).wait();
  EXPECT_TRUE(replay.primitive.ok());
  EXPECT_EQ(replay.primitive.cpsr(), 0u);
  rig.packet(0x5F, Bytes(write.begin() + 64, write.end()));
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(rig.device.vpd_updates(), 1u);
}

TEST(Replay, MoreProcessingRequiredToo) {
  Rig rig(slow_vpd(Duration::ms(450)));
  auto op = read_vpd(rig);
  rig.world.run_for(Duration::ms(150));
  const ReplayReply replay = rig.requester.replay(kDriveEid, 0).wait();
  EXPECT_EQ(replay.primitive.cpsr(), kReplayResponds);
  ASSERT_EQ(replay.message.size(), 12u);
  EXPECT_EQ(replay.message[4], 0x01);
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::process);
  EXPECT_TRUE(op.wait().ok());
}

}  // namespace
}  // namespace fb::mi
