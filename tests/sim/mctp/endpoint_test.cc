#include "sim/mctp/endpoint.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/mctp/control_requester.h"
#include "sim/mctp/control_responder.h"
#include "sim/mctp/pcie_fabric.h"
#include "sim/mctp/smbus_segment.h"

namespace fb::mctp {
namespace {

// Keeps what a port tells.
struct Recorder final : MessageHandler {
  struct Message {
    Eid source;
    Eid destination;
    Tag tag;
    PhysicalAddress from;
    Bytes body;
  };
  void on_message(const Incoming& message) override {
    messages.push_back({message.source, message.destination, message.tag, message.from, Bytes(message.body.begin(), message.body.end())});
  }
  void on_started(const Incoming&) override { ++started; }
  void on_abandoned(Eid, Tag, Abandoned why) override { abandoned.push_back(why); }
  void on_sent(SendId id, bool delivered) override { sent.push_back({id, delivered}); }
  void on_drop(Drop why) override { drops.push_back(why); }

  std::vector<Message> messages;
  int started = 0;
  std::vector<Abandoned> abandoned;
  std::vector<std::pair<SendId, bool>> sent;
  std::vector<Drop> drops;
};

Bytes body_of(std::size_t size, std::uint8_t type = 0x04) {
  Bytes body(size);
  for (std::size_t at = 0; at < size; ++at) body[at] = static_cast<std::uint8_t>(at * 7);
  body[0] = type;
  return body;
}

class TwoOnABus : public ::testing::Test {
 protected:
  TwoOnABus() {
    a.set_handler(MessageType::nvme_mi, &at_a, 4224);
    b.set_handler(MessageType::nvme_mi, &at_b, 4224);
    a.set_route(9, 9, smbus_address(0x3A));
  }
  Outgoing to_b(Bytes body, Tag tag = {0, true}) {
    Outgoing message;
    message.destination = 9;
    message.tag = tag;
    message.body = std::move(body);
    return message;
  }

  std::unique_ptr<World> world = World::make_virtual(1);
  SmbusSegment segment{*world, {}};
  std::unique_ptr<SmbusPort> port_a = segment.attach("a", 0x20);
  std::unique_ptr<SmbusPort> port_b = segment.attach("b", 0x3A);
  Endpoint a{*world, *port_a, {.name = "a", .eid = 8}};
  Endpoint b{*world, *port_b, {.name = "b", .eid = 9}};
  Recorder at_a;
  Recorder at_b;
};

TEST_F(TwoOnABus, AMessageOfManyPacketsAndItsAnswer) {
  const Bytes question = body_of(200);
  const auto tag = a.take_tag(9);
  ASSERT_TRUE(tag.has_value());
  const SendId id = a.send(to_b(question, *tag));
  world->run_until_idle();
  ASSERT_EQ(at_b.messages.size(), 1u);
  EXPECT_EQ(at_b.messages[0].body, question);
  EXPECT_EQ(at_b.messages[0].source, 8);
  EXPECT_EQ(at_b.messages[0].from, smbus_address(0x20));
  EXPECT_EQ(at_b.started, 1);
  ASSERT_EQ(at_a.sent.size(), 1u);
  EXPECT_EQ(at_a.sent[0], std::make_pair(id, true));
  EXPECT_EQ(segment.counters().delivered, 4u);

  Outgoing answer;
  answer.destination = 8;
  answer.tag = {tag->value, false};
  answer.body = body_of(130);
  b.send(answer);
  world->run_until_idle();
  ASSERT_EQ(at_a.messages.size(), 1u);
  EXPECT_EQ(at_a.messages[0].body, answer.body);
  a.release_tag(9, *tag);
  b.send(answer);
  world->run_until_idle();
  EXPECT_EQ(at_a.messages.size(), 1u) << "nobody waits for it any more";
  EXPECT_EQ(at_a.drops, std::vector<Drop>(3, Drop::unexpected_tag));
}

// What each packet on the bus was: its tag and number, and whether it was the first or the last.
struct Watch final : TraceSink {
  void on_event(const TraceEvent& event) override {
    if (event.label != kTraceLabel) return;
    const View<PacketHeader> head{event.bytes};
    std::string text = std::to_string(head.get(packet::tag)) + "/";
    text += std::to_string(head.get(packet::sequence));
    if (head.get(packet::som)) text += "S";
    if (head.get(packet::eom)) text += "E";
    packets.push_back(text);
    sizes.push_back(event.bytes.size() - kHeaderSize);
  }
  std::vector<std::string> packets;
  std::vector<std::size_t> sizes;
};

TEST_F(TwoOnABus, PartsAreEqualAndNumberedFromZero) {
  Watch watch;
  world->trace().add_sink(watch);
  a.send(to_b(body_of(64 * 5 + 1)));
  world->run_until_idle();
  world->trace().remove_sink(watch);
  EXPECT_EQ(watch.packets, (std::vector<std::string>{"0/0S", "0/1", "0/2", "0/3", "0/0", "0/1E"}));
  EXPECT_EQ(watch.sizes, (std::vector<std::size_t>{64, 64, 64, 64, 64, 1}));
}

TEST_F(TwoOnABus, AMessageThatFillsItsPacketsHasNoEmptyOne) {
  Watch watch;
  world->trace().add_sink(watch);
  a.send(to_b(body_of(128)));
  world->run_until_idle();
  world->trace().remove_sink(watch);
  EXPECT_EQ(watch.packets, (std::vector<std::string>{"0/0S", "0/1E"}));
}

TEST_F(TwoOnABus, MessagesOfDifferentTagsTakeTurns) {
  Watch watch;
  world->trace().add_sink(watch);
  a.send(to_b(body_of(150), {0, true}));
  a.send(to_b(body_of(150), {1, true}));
  a.send(to_b(body_of(70), {0, true}));  // waits for the first
  world->run_until_idle();
  world->trace().remove_sink(watch);
  EXPECT_EQ(watch.packets, (std::vector<std::string>{"0/0S", "1/0S", "0/1", "1/1", "0/2E", "1/2E", "0/0S", "0/1E"}));
  EXPECT_EQ(at_b.messages.size(), 3u);
}

TEST_F(TwoOnABus, AMessageStopsBetweenTwoPackets) {
  const SendId id = a.send(to_b(body_of(300)));
  const SendId other = a.send(to_b(body_of(70), {1, true}));
  world->run_until([&] { return a.packets_sent(id) == 2; }, Duration::s(1));
  a.hold(id);
  a.hold(99);
  world->run_for(Duration::ms(50));
  // One packet was on the bus when it was held.
  const std::size_t left = a.packets_sent(id);
  EXPECT_LE(left, 3u);
  EXPECT_EQ(at_b.messages.size(), 1u) << "the other went on";
  ASSERT_EQ(at_a.sent.size(), 1u);
  EXPECT_EQ(at_a.sent[0].first, other);
  world->run_for(Duration::ms(20));
  EXPECT_EQ(a.packets_sent(id), left);
  a.resume(id);
  world->run_until_idle();
  EXPECT_EQ(at_b.messages.size(), 2u);
  EXPECT_EQ(at_b.messages[1].body, body_of(300));
  EXPECT_EQ(a.packets_sent(id), 0u) << "finished";
}

TEST_F(TwoOnABus, HeldForTooLongItIsDeadAtTheReceiver) {
  const SendId id = a.send(to_b(body_of(300)));
  world->run_until([&] { return a.packets_sent(id) == 1; }, Duration::s(1));
  a.hold(id);
  world->run_until_idle();
  EXPECT_EQ(at_b.abandoned, std::vector<Abandoned>{Abandoned::timed_out});
  a.resume(id);
  world->run_until_idle();
  EXPECT_TRUE(at_b.messages.empty());
  EXPECT_FALSE(at_b.drops.empty());
}

TEST_F(TwoOnABus, NothingMoreOfAMessageThatIsWithdrawn) {
  const SendId id = a.send(to_b(body_of(300)));
  world->run_until([&] { return a.packets_sent(id) == 2; }, Duration::s(1));
  a.withdraw(id);
  const SendId next = a.send(to_b(body_of(10)));
  world->run_until_idle();
  ASSERT_EQ(at_a.sent.size(), 1u) << "nothing is told of what was withdrawn";
  EXPECT_EQ(at_a.sent[0], std::make_pair(next, true));
  ASSERT_EQ(at_b.messages.size(), 1u);
  EXPECT_EQ(at_b.messages[0].body, body_of(10));
  EXPECT_EQ(at_b.abandoned, std::vector<Abandoned>{Abandoned::restarted});
}

TEST_F(TwoOnABus, WhatIsNotAcknowledgedEndsTheMessage) {
  port_b->nack_next(9);
  const SendId id = a.send(to_b(body_of(300)));
  world->run_until_idle();
  ASSERT_EQ(at_a.sent.size(), 1u);
  EXPECT_EQ(at_a.sent[0], std::make_pair(id, false));
  EXPECT_EQ(a.counters().messages_undelivered, 1u);
  EXPECT_TRUE(at_b.messages.empty());
  EXPECT_EQ(a.queued(), 0u);
}

TEST_F(TwoOnABus, LargerUnitsWhenBothAgree) {
  Outgoing message = to_b(body_of(500));
  message.unit = 250;
  a.send(message);
  world->run_until_idle();
  EXPECT_EQ(at_b.drops, std::vector<Drop>(2, Drop::unit_unsupported));
  EXPECT_EQ(b.unit_max(), 250u);
  b.set_unit(250);
  a.send(message);
  world->run_until_idle();
  ASSERT_EQ(at_b.messages.size(), 1u);
  EXPECT_EQ(at_b.messages[0].body, body_of(500));
}

TEST_F(TwoOnABus, EightTagsToEachPeer) {
  for (std::uint8_t value = 0; value < 8; ++value) EXPECT_EQ(a.take_tag(9)->value, value);
  EXPECT_FALSE(a.take_tag(9).has_value());
  EXPECT_EQ(a.take_tag(10)->value, 0) << "another peer has eight of its own";
  a.release_tag(9, {5, true});
  EXPECT_EQ(a.take_tag(9)->value, 5);
  EXPECT_FALSE(a.take_tag(kNullEid).has_value()) << "an answer to it could come from anybody";
}

TEST_F(TwoOnABus, ATagThatCameBackIsTheLastToGoOutAgain) {
  for (std::uint8_t turn = 0; turn < 20; ++turn) {
    const auto tag = a.take_tag(9);
    ASSERT_TRUE(tag.has_value());
    EXPECT_EQ(tag->value, turn % 8);
    a.release_tag(9, *tag);
  }
}

TEST_F(TwoOnABus, AnswersGoWhereTheQuestionCameFrom) {
  a.set_eid(kNullEid);
  Outgoing question = to_b(body_of(20));
  question.destination = kNullEid;
  question.to = smbus_address(0x3A);
  const auto tag = a.take_tag(kNullEid);
  a.send(question);
  world->run_until_idle();
  ASSERT_EQ(at_b.messages.size(), 1u);
  EXPECT_EQ(at_b.messages[0].source, kNullEid);
  Outgoing answer;
  answer.destination = kNullEid;
  answer.to = at_b.messages[0].from;
  answer.tag = {tag->value, false};
  answer.body = body_of(30);
  b.send(answer);
  world->run_until_idle();
  ASSERT_EQ(at_a.messages.size(), 1u);
  EXPECT_EQ(at_a.messages[0].source, 9);
}

// Hooks: a packet left out, doubled, changed.
TEST_F(TwoOnABus, HooksStandBetweenMessagesAndPackets) {
  struct Changing final : EndpointHooks {
    void packets_out(PhysicalAddress&, std::vector<Bytes>& packets) override {
      const std::size_t at = seen++;
      if (mode == 1 && at == 1) packets.clear();
      if (mode == 2 && at == 1) packets.push_back(packets[0]);
      if (mode == 3) packets[0][0] = 2;
    }
    void packet_in(const PhysicalAddress&, Bytes& packet) override {
      if (mode == 4) packet.clear();
    }
    int mode = 0;
    std::size_t seen = 0;
  } hooks;
  a.set_hooks(&hooks);
  b.set_hooks(&hooks);
  const auto run = [&](int mode) {
    at_b.messages.clear();
    at_b.abandoned.clear();
    at_b.drops.clear();
    at_a.sent.clear();
    hooks.mode = mode;
    hooks.seen = 0;
    a.send(to_b(body_of(200)));
    world->run_until_idle();
    EXPECT_EQ(at_a.sent.size(), 1u);
  };
  run(0);
  EXPECT_EQ(at_b.messages.size(), 1u);
  run(1);
  EXPECT_EQ(at_b.abandoned, std::vector<Abandoned>{Abandoned::out_of_sequence});
  run(2);
  EXPECT_EQ(at_b.abandoned, std::vector<Abandoned>{Abandoned::out_of_sequence});
  run(3);
  EXPECT_EQ(at_b.drops, std::vector<Drop>(4, Drop::header_version));
  run(4);
  EXPECT_TRUE(at_b.messages.empty() && at_b.drops.empty());
}

TEST_F(TwoOnABus, RawPacketsTakeTheirTurn) {
  a.send(to_b(body_of(200)));
  a.send_packet(smbus_address(0x3A), from_hex("010908d804aabb"));
  a.send_packet(smbus_address(0x3A), from_hex("0109"));
  world->run_until_idle();
  ASSERT_EQ(at_b.messages.size(), 1u) << "the raw packet restarted the message of the same tag";
  EXPECT_EQ(port_b->counters().faults[0], 1u) << "too short for a block write of MCTP";
}

TEST(Endpoint, OnPcieOnlyTheLastPacketIsPadded) {
  const auto world = World::make_virtual(1);
  PcieFabric fabric(*world);
  const auto root = fabric.attach("root", 0, true);
  const auto device = fabric.attach("device", 0x0100);
  Endpoint a(*world, *root, {.name = "a", .eid = 8});
  Endpoint b(*world, *device, {.name = "b", .eid = 9});
  Recorder at_b;
  b.set_handler(MessageType::nvme_mi, &at_b, 4224);
  b.set_unit(128);
  for (std::size_t unit = 64; unit < 72; ++unit) {
    Outgoing out;
    out.destination = 9;
    out.to = pcie_address(0x0100);
    out.tag = {0, true};
    out.unit = unit;
    out.body = body_of(300 + unit);
    a.send(out);
    world->run_until_idle();
    ASSERT_FALSE(at_b.messages.empty());
    EXPECT_EQ(at_b.messages.back().body, out.body) << unit;
  }
  EXPECT_EQ(at_b.messages.size(), 8u);
  EXPECT_TRUE(at_b.drops.empty());
}

// The same run twice is the same run.
TEST(Endpoint, RunsAreReproducible) {
  const auto run = [](std::uint64_t seed) {
    const auto world = World::make_virtual(seed);
    SmbusSegment segment(*world, {.clock_hz = 400'000});
    const auto left = segment.attach("a", 0x20);
    const auto right = segment.attach("b", 0x3A);
    Endpoint a(*world, *left, {.name = "a", .eid = 8});
    Endpoint b(*world, *right, {.name = "b", .eid = 9});
    Recorder at_a, at_b;
    a.set_handler(MessageType::nvme_mi, &at_a, 4224);
    b.set_handler(MessageType::nvme_mi, &at_b, 4224);
    Rng rng = world->stream("messages");
    for (int at = 0; at < 50; ++at) {
      Endpoint& from = rng.chance(1, 2) ? a : b;
      Outgoing out;
      out.destination = &from == &a ? Eid{9} : Eid{8};
      out.to = smbus_address(&from == &a ? 0x3A : 0x20);
      out.tag = {static_cast<std::uint8_t>(rng.below(8)), true};
      out.body = body_of(1 + rng.below(1000));
      from.send(std::move(out));
      world->run_for(Duration::us(static_cast<std::int64_t>(rng.below(20'000))));
    }
    world->run_until_idle();
    EXPECT_EQ(at_a.messages.size() + at_b.messages.size(), 50u);
    EXPECT_EQ(at_a.sent.size() + at_b.sent.size(), 50u);
    return world->digest();
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST_F(TwoOnABus, AnEndpointIsGivenAnEid) {
  ControlDevice owner_device;
  ControlDevice device({.types = {{0x04, {{0xF1, 0xF2, 0xFF, 0}}}}});
  Control owner(a, owner_device);
  Control control(b, device);
  b.set_eid(kNullEid);
  const ControlPeer there{kNullEid, smbus_address(0x3A)};
  auto before = owner.requester().ask(there, control::Command::get_endpoint_id).wait();
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(to_hex(before.data()), "000000");
  EXPECT_EQ(before.source, kNullEid);
  auto set = owner.requester().ask(there, control::Command::set_endpoint_id, {0, 9}).wait();
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(to_hex(set.data()), "000900");
  EXPECT_EQ(b.eid(), 9);
  auto after = owner.requester().ask({9, {}}, control::Command::get_endpoint_id).wait();
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(to_hex(after.data()), "090000");
  EXPECT_EQ(after.source, 9);
}

}  // namespace
}  // namespace fb::mctp
