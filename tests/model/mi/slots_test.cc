// The life of the command slots, and the control primitives.
#include <gtest/gtest.h>

#include "model/mi/slot.h"
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

TEST(Slots, TableOfStates) {
  using S = SlotState;
  using E = SlotEvent;
  const S kStates[] = {S::idle, S::receive, S::process, S::transmit};
  // By event, the target from Idle, Receive, Process and Transmit; nothing where it is not allowed.
  const std::pair<E, std::array<std::optional<S>, 4>> rows[] = {
      {E::start, {S::receive, {}, {}, {}}},
      {E::give_up, {std::nullopt, S::idle, {}, {}}},
      {E::accept, {S::process, S::process, {}, {}}},
      {E::respond, {std::nullopt, {}, S::transmit, {}}},
      {E::sent, {std::nullopt, {}, {}, S::idle}},
      {E::replay, {S::transmit, {}, {}, S::transmit}},
      {E::clear, {S::idle, S::idle, S::idle, S::idle}},
  };
  for (const auto& [event, targets] : rows) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(next_state(kStates[i], event), targets[i]) << name_of(event) << i;
  }
}

TEST(Slots, StatesAsGetStateSeesThem) {
  Rig rig(slow_vpd(Duration::ms(50)));
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
  Bytes long_write = mi_message(Opcode::vpd_write, 0, 100, Bytes(100, 7));
  append_mic(long_write);
  rig.packet(0x8F, Bytes(long_write.begin(), long_write.begin() + 64));  // SOM, owner, tag 7
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::receive);
  EXPECT_EQ(rig.state(1).get(slot_status::ssta), SlotState::idle);
  rig.packet(0x5F, Bytes(long_write.begin() + 64, long_write.end()));  // EOM, sequence 1
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(rig.device.vpd_updates(), 1u);
  auto op = read_vpd(rig);
  rig.world.run_for(Duration::ms(10));
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::process);
  EXPECT_TRUE(op.wait().ok());
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
}

TEST(Slots, PauseStopsBetweenTwoPackets) {
  RigOptions options;
  options.timing = true;
  Rig rig(options);
  auto op = read_vpd(rig);
  while (rig.packets.from(test::kDriveEid).size() < 2) rig.world.step_towards(rig.world.now() + Duration::s(1));
  ASSERT_TRUE(primitive(rig, Primitive::pause).ok());
  rig.world.run_for(Duration::ms(20));
  const auto count = [&] {
    std::size_t packets = 0;
    for (const auto& packet : rig.packets.from(test::kDriveEid)) packets += packet.payload().size() > 12 ? 1 : 0;
    return packets;
  };
  const std::size_t stopped = count();
  EXPECT_LT(stopped, 5u);
  EXPECT_FALSE(op.settled());
  const auto state = rig.state();
  EXPECT_EQ(state.get(slot_status::ssta), SlotState::transmit);
  EXPECT_TRUE(state.get(slot_status::pflg));
  EXPECT_TRUE(rig.state(1).get(slot_status::pflg)) << "both slots";
  rig.world.run_for(Duration::ms(20));
  EXPECT_EQ(count(), stopped);
  EXPECT_TRUE(primitive(rig, Primitive::pause).ok()) << "again is no fault";
  ASSERT_TRUE(primitive(rig, Primitive::resume).ok());
  const Reply reply = op.wait();
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(Bytes(reply.data().begin(), reply.data().end()), rig.device.vpd());
  EXPECT_FALSE(rig.state().get(slot_status::pflg));
  EXPECT_TRUE(primitive(rig, Primitive::resume).ok()) << "when nothing is paused";
  unsigned expected = 0;
  for (const auto& packet : rig.packets.from(test::kDriveEid)) {
    if (packet.payload().size() <= 12 && packet.som() && packet.eom()) continue;
    EXPECT_EQ(packet.sequence(), expected++ & 3u);
  }
}

TEST(Slots, AResponseWhilePausedWaitsInTransmit) {
  for (const Revision revision : {Revision::r1_1, Revision::r1_2}) {
    RigOptions options = slow_vpd(Duration::ms(50));
    options.device.revision = revision;
    Rig rig(options);
    ASSERT_TRUE(primitive(rig, Primitive::pause).ok());
    auto op = read_vpd(rig);
    rig.world.run_for(Duration::ms(20));
    EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::process);
    rig.world.run_for(Duration::s(1));
    EXPECT_FALSE(op.settled());
    const SlotState then = revision == Revision::r1_1 ? SlotState::process : SlotState::transmit;
    EXPECT_EQ(rig.state().get(slot_status::ssta), then);
    ASSERT_TRUE(primitive(rig, Primitive::resume).ok());
    EXPECT_TRUE(op.wait().ok());
    EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
  }
}

TEST(Slots, PauseAndResumeAreOfBothSlots) {
  for (const Primitive what : {Primitive::pause, Primitive::resume}) {
    Rig rig;
    EXPECT_EQ(primitive(rig, what, 1).status(), Status::invalid_parameter);
    EXPECT_FALSE(rig.state().get(slot_status::pflg));
    RigOptions older;
    older.device.revision = Revision::r1_2;
    Rig lenient(older);
    EXPECT_TRUE(primitive(lenient, what, 1).ok());
  }
}

TEST(Slots, BusySlotsDiscard) {
  Rig rig(slow_vpd(Duration::ms(50)));
  auto first = read_vpd(rig);
  rig.world.run_for(Duration::ms(1));
  EXPECT_TRUE(rig.exchange(mi_message(Opcode::vpd_read, 0, 4)).empty());
  EXPECT_TRUE(first.settled() && first.value().ok());
  EXPECT_EQ(rig.flags(0), error_flag::cmnics);
  EXPECT_EQ(rig.flags(1), 0) << "it is the slot's own";
  EXPECT_EQ(rig.flags(0, true), error_flag::cmnics) << "sticky until cleared";
  EXPECT_EQ(rig.flags(0), 0);
  // Of many packets too, and although the slot is idle again when the last of them comes.
  Rig other(slow_vpd(Duration::ms(50)));
  auto running = read_vpd(other);
  other.world.run_for(Duration::ms(1));
  Bytes write = mi_message(Opcode::vpd_write, 0, 100, Bytes(100, 7));
  append_mic(write);
  other.packet(0x8F, Bytes(write.begin(), write.begin() + 64));
  ASSERT_TRUE(running.wait().ok());
  other.packet(0x5F, Bytes(write.begin() + 64, write.end()));
  other.world.run_for(Duration::s(1));
  EXPECT_EQ(other.device.vpd_updates(), 0u);
  EXPECT_EQ(other.flags(0), error_flag::cmnics);
  EXPECT_TRUE(read_vpd(other).wait().ok());
}

TEST(Slots, BothServeAtTheSameTime) {
  RigOptions options = slow_vpd(Duration::ms(40));
  options.endpoint.durations[{MessageKind::mi_command, 0x00}] = Duration::ms(10);
  Rig rig(options);
  auto slow_one = read_vpd(rig, 0);
  auto quick_one = rig.requester.command(kDriveEid, Opcode::read_data_structure, 0, 0, {}, {.slot = 1, .timeout = {}});
  const Reply quick = quick_one.wait();
  ASSERT_TRUE(quick.ok());
  EXPECT_FALSE(slow_one.settled()) << "the second in came out first";
  EXPECT_EQ(View<MessageHeader>{quick.message}.get(header::csi), 1);
  const Reply late = slow_one.wait();
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(View<MessageHeader>{late.message}.get(header::csi), 0);
  EXPECT_NE(quick.tag.value, late.tag.value);
}

TEST(Slots, PacketsOfBothResponsesMayMix) {
  RigOptions options;
  options.timing = true;
  Rig rig(options);
  auto a = read_vpd(rig, 0);
  auto b = read_vpd(rig, 1);
  ASSERT_TRUE(a.wait().ok());
  ASSERT_TRUE(b.wait().ok());
  EXPECT_EQ(Bytes(a.value().data().begin(), a.value().data().end()), rig.device.vpd());
  EXPECT_EQ(Bytes(b.value().data().begin(), b.value().data().end()), rig.device.vpd());
}

TEST(Slots, AutoPause) {
  Rig rig(slow_vpd(Duration::ms(20)));
  auto op = rig.requester.command(kDriveEid, Opcode::vpd_read, 0, 16, {}, {.auto_pause = true, .timeout = {}});
  rig.world.run_for(Duration::s(1));
  EXPECT_FALSE(op.settled());
  EXPECT_TRUE(rig.state().get(slot_status::pflg));
  EXPECT_FALSE(rig.state(1).get(slot_status::pflg)) << "of this slot alone";
  ASSERT_TRUE(primitive(rig, Primitive::resume).ok());
  EXPECT_TRUE(op.wait().ok());
  RigOptions without;
  without.endpoint.auto_pause = false;
  Rig plain(without);
  EXPECT_TRUE(plain.requester.command(kDriveEid, Opcode::vpd_read, 0, 16, {}, {.auto_pause = true, .timeout = {}}).wait().ok())
      << "ignored where it is not supported";
  without.endpoint.auto_pause_refused = true;
  Rig strict(without);
  const Reply refused = strict.requester.command(kDriveEid, Opcode::vpd_read, 0, 16, {}, {.auto_pause = true, .timeout = {}}).wait();
  EXPECT_EQ(refused.status(), Status::invalid_parameter);
  EXPECT_EQ(refused.error_at(), (ParameterError{2, 1}));
}

// ---- More Processing Required ----

TEST(MoreProcessing, ComesOnceAndInTime) {
  Rig rig(slow_vpd(Duration::ms(450)));
  const Reply reply = read_vpd(rig).wait();
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply.more_processing, 1u);
  EXPECT_EQ(reply.more_time, 4u) << "360 ms were left";
  EXPECT_LE((reply.first - reply.sent).count_ms(), 100);
  EXPECT_EQ((reply.answered - reply.sent).count_ms(), 450);
  unsigned single = 0;
  for (const auto& packet : rig.packets.from(test::kDriveEid)) {
    EXPECT_EQ(packet.tag(), reply.tag.value);
    single += packet.payload().size() == 12 ? 1 : 0;
  }
  EXPECT_EQ(single, 2u) << "MPR, and the last packet of the answer which happens to be as long";
}

TEST(MoreProcessing, NotForQuickCommandsNorForOldRevisions) {
  Rig quick(slow_vpd(Duration::ms(80)));
  EXPECT_EQ(read_vpd(quick).wait().more_processing, 0u);
  RigOptions old = slow_vpd(Duration::ms(450));
  old.device.revision = Revision::r1_1;
  Rig rig(old);
  const Reply reply = read_vpd(rig).wait();
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(reply.more_processing, 0u);
}

TEST(MoreProcessing, NotWhilePaused) {
  Rig rig(slow_vpd(Duration::ms(450)));
  auto op = read_vpd(rig);
  rig.world.run_for(Duration::ms(20));
  ASSERT_TRUE(primitive(rig, Primitive::pause).ok());
  const std::size_t before = rig.packets.from(test::kDriveEid).size();
  rig.world.run_for(Duration::ms(200));
  EXPECT_EQ(rig.packets.from(test::kDriveEid).size(), before);
  ASSERT_TRUE(primitive(rig, Primitive::resume).ok());
  const Reply reply = op.wait();
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(reply.more_processing, 1u);
}

// ---- Abort ----

TEST(Abort, ResultsByState) {
  Rig rig(slow_vpd(Duration::ms(50)));
  EXPECT_EQ(primitive(rig, Primitive::abort).cpsr(), 0u) << "idle";
  auto processing = read_vpd(rig);
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(primitive(rig, Primitive::abort).cpsr(), 2u) << "part way";
  rig.world.run_for(Duration::s(1));
  EXPECT_FALSE(processing.settled());
  processing.cancel();
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
  // In Receive: the rest that comes is not taken for a command.
  Bytes write = mi_message(Opcode::vpd_write, 0, 100, Bytes(100, 7));
  append_mic(write);
  rig.packet(0x8F, Bytes(write.begin(), write.begin() + 64));
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(primitive(rig, Primitive::abort).cpsr(), 1u) << "before it began";
  rig.packet(0x5F, Bytes(write.begin() + 64, write.end()));
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(rig.device.vpd_updates(), 0u);
  rig.world.run_for(Duration::s(10));
  // Complete but held back by Pause.
  ASSERT_TRUE(primitive(rig, Primitive::pause).ok());
  auto held = rig.requester.command(kDriveEid, Opcode::read_data_structure);
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(primitive(rig, Primitive::abort).cpsr(), 0u);
  ASSERT_TRUE(primitive(rig, Primitive::resume).ok());
  rig.world.run_for(Duration::ms(100));
  EXPECT_FALSE(held.settled());
}

TEST(Abort, SomeCommandsCannotBeStopped) {
  for (const Revision revision : {Revision::r2_0, Revision::r2_1}) {
    RigOptions options = slow_vpd(Duration::ms(50));
    options.device.revision = revision;
    options.endpoint.unabortable = {{MessageKind::mi_command, static_cast<std::uint8_t>(Opcode::vpd_read)}};
    Rig rig(options);
    auto op = read_vpd(rig);
    rig.world.run_for(Duration::ms(1));
    const bool knows = revision == Revision::r2_1;
    EXPECT_EQ(primitive(rig, Primitive::abort).status(), knows ? Status::unable_to_abort : Status::success);
    rig.world.run_for(Duration::ms(100));
    EXPECT_EQ(op.settled(), knows);
  }
}

TEST(Abort, LeavesTheOtherSlotAlone) {
  Rig rig(slow_vpd(Duration::ms(50)));
  auto zero = read_vpd(rig, 0);
  auto one = read_vpd(rig, 1);
  rig.world.run_for(Duration::ms(1));
  ASSERT_TRUE(primitive(rig, Primitive::abort, 0).ok());
  EXPECT_TRUE(one.wait().ok());
  EXPECT_FALSE(zero.settled());
  EXPECT_FALSE(rig.requester.replay(kDriveEid, 0).wait().primitive.cpsr() & 1);
  EXPECT_TRUE(rig.requester.replay(kDriveEid, 1).wait().primitive.cpsr() & 1);
}

TEST(Abort, EndsAPause) {
  for (const Revision revision : {Revision::r1_2, Revision::r2_0}) {
    RigOptions options;
    options.device.revision = revision;
    Rig rig(options);
    ASSERT_TRUE(primitive(rig, Primitive::pause).ok());
    auto other = read_vpd(rig, 1);
    rig.world.run_for(Duration::ms(1));
    ASSERT_TRUE(primitive(rig, Primitive::abort, 0).ok());
    rig.world.run_for(Duration::ms(1));
    EXPECT_FALSE(rig.state(0).get(slot_status::pflg));
    const bool of_both = revision == Revision::r2_0;
    EXPECT_EQ(rig.state(1).get(slot_status::pflg), !of_both);
    EXPECT_EQ(other.settled(), of_both) << "what the other slot held goes on";
    primitive(rig, Primitive::resume);
    EXPECT_TRUE(other.wait().ok());
  }
}

TEST(Abort, StopsWhatIsBeingSent) {
  RigOptions options;
  options.timing = true;
  Rig rig(options);
  auto op = read_vpd(rig);
  while (rig.packets.from(test::kDriveEid).size() < 2) rig.world.step_towards(rig.world.now() + Duration::s(1));
  const Reply aborted = primitive(rig, Primitive::abort);
  ASSERT_TRUE(aborted.ok());
  rig.world.run_for(Duration::s(1));
  EXPECT_FALSE(op.settled());
  std::size_t ends = 0;
  for (const auto& packet : rig.packets.from(test::kDriveEid)) ends += packet.eom() ? 1 : 0;
  EXPECT_EQ(ends, 1u) << "that of the primitive's answer";
  EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
}

TEST(Primitives, TagsAndUnknownOnes) {
  Rig rig;
  for (unsigned tag = 0; tag < 256; ++tag) {
    Bytes body = from_hex("8400000003000000");
    body[5] = static_cast<std::uint8_t>(tag);
    const auto answers = rig.exchange(body);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0][5], tag);
  }
  for (unsigned code = 5; code < 256; ++code) {
    Bytes body = from_hex("8400000000550000");
    body[4] = static_cast<std::uint8_t>(code);
    const auto answers = rig.exchange(body);
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(to_hex(answers[0]), "8480000003550000") << code;
  }
}

// ---- the error flags ----

TEST(Flags, EachCauseSetsItsOwn) {
  struct Cause {
    std::uint16_t flag;
    std::function<void(Rig&)> make;
  };
  Bytes two = mi_message(Opcode::vpd_write, 0, 200, Bytes(200, 7));
  append_mic(two);
  const auto part = [&](std::size_t from, std::size_t size) {
    return Bytes(two.begin() + static_cast<std::ptrdiff_t>(from), two.begin() + static_cast<std::ptrdiff_t>(from + size));
  };
  const Cause causes[] = {
      {error_flag::umep, [&](Rig& rig) { rig.packet(0x08, part(0, 64)); }},
      {error_flag::umep, [&](Rig& rig) { rig.packet(0x48, part(0, 64)); }},
      {error_flag::buemt, [&](Rig& rig) { rig.packet(0xC0, part(0, 20)); }},
      {error_flag::udstid, [&](Rig& rig) { rig.packet(0xC8, part(0, 20), 1, 77); }},
      {error_flag::bhvs, [&](Rig& rig) { rig.packet(0xC8, part(0, 20), 2); }},
      {error_flag::utunt, [&](Rig& rig) { rig.packet(0xC8, part(0, 65)); }},
      {error_flag::ospsn,
       [&](Rig& rig) {
         rig.packet(0x88, part(0, 64));
         rig.packet(0x28, part(64, 64));
       }},
      {error_flag::bpopl,
       [&](Rig& rig) {
         rig.packets.change = [](mctp::FrameContext& context) {
           context.frame.back() ^= 1;
           mctp::FrameVerdict verdict;
           verdict.corrupted = true;
           return verdict;
         };
         rig.packet(0xC8, part(0, 20));
         rig.world.run_for(Duration::ms(1));
         rig.packets.change = nullptr;
       }},
  };
  for (const Cause& cause : causes) {
    Rig rig;
    EXPECT_EQ(rig.flags(), 0);
    cause.make(rig);
    rig.world.run_for(Duration::ms(10));
    EXPECT_EQ(rig.flags(0), cause.flag);
    EXPECT_EQ(rig.flags(1), cause.flag);
    EXPECT_EQ(rig.flags(0), cause.flag) << "sticky";
    EXPECT_EQ(rig.flags(0, true), cause.flag);
    EXPECT_EQ(rig.flags(0), 0);
    EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
    EXPECT_TRUE(read_vpd(rig).wait().ok()) << "and it goes on";
  }
}

TEST(Flags, AChangedPartSize) {
  Rig rig;
  Bytes body = mi_message(Opcode::vpd_write, 0, 200, Bytes(200, 7));
  append_mic(body);
  ASSERT_TRUE(rig.requester.set_unit(kDriveEid, 1, 128).wait().ok());
  rig.packet(0x88, Bytes(body.begin(), body.begin() + 64));
  rig.packet(0x18, Bytes(body.begin() + 64, body.begin() + 144));
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(rig.flags(), error_flag::itu);
}

TEST(Flags, AMessageThatNeverEndsFreesItsSlot) {
  for (const bool flagged : {false, true}) {
    RigOptions options;
    options.endpoint.timeout_flag = flagged;
    Rig rig(options);
    Bytes body = mi_message(Opcode::vpd_write, 0, 200, Bytes(200, 7));
    rig.packet(0x8F, Bytes(body.begin(), body.begin() + 64));
    rig.world.run_for(Duration::s(30));
    EXPECT_EQ(rig.flags(), flagged ? error_flag::twpkt : 0);
    EXPECT_EQ(rig.state().get(slot_status::ssta), SlotState::idle);
  }
}

TEST(Slots, ANewStartTakesTheOldOnesPlace) {
  Rig rig;
  Bytes write = mi_message(Opcode::vpd_write, 0, 100, Bytes(100, 7));
  append_mic(write);
  rig.packet(0x8F, Bytes(write.begin(), write.begin() + 64));
  rig.packet(0x8F, Bytes(write.begin(), write.begin() + 64));
  rig.packet(0x5F, Bytes(write.begin() + 64, write.end()));
  rig.world.run_for(Duration::ms(1));
  EXPECT_EQ(rig.device.vpd_updates(), 1u);
  EXPECT_EQ(rig.flags(), 0);
}

}  // namespace
}  // namespace fb::mi
