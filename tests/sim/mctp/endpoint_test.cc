#include "sim/mctp/endpoint.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/mctp/control_requester.h"
#include "sim/mctp/control_responder.h"
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
    messages.push_back({message.source, message.destination, message.tag, message.from,
                        Bytes(message.body.begin(), message.body.end())});
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
