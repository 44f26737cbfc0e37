// Asynchronous events: enabled, sent, sent again, acknowledged.
#include <gtest/gtest.h>

#include "tests/model/mi/rig.h"

namespace fb::mi {
namespace {

using test::kDriveEid;
using test::mi_message;
using test::Rig;
using test::RigOptions;

constexpr auto kTemperature = static_cast<std::uint8_t>(EventId::composite_temperature);
constexpr auto kReady = static_cast<std::uint8_t>(EventId::controller_ready);

struct EventRig : Rig {
  explicit EventRig(bool acknowledge = true, RigOptions options = {}) : Rig(with(options, acknowledge)) {
    requester.on_event([this](const EventReport& report) { reports.push_back(report); });
  }
  static RigOptions with(RigOptions options, bool acknowledge) {
    options.requester.acknowledge_events = acknowledge;
    return options;
  }
  OccurrenceList enable(std::vector<EventState> events, Requester::EventTerms terms = {}) {
    const auto answer = requester.synchronize_events(kDriveEid, std::move(events), terms).wait();
    EXPECT_TRUE(answer.ok()) << name_of(answer.reply.status());
    return answer.value.value_or(OccurrenceList{});
  }
  std::vector<EventReport> reports;
};

TEST(AsyncEvents, NoneIsEnabledAtFirst) {
  EventRig rig;
  const auto states = rig.requester.supported_events(kDriveEid).wait();
  ASSERT_TRUE(states.ok());
  EXPECT_EQ(states.value->size(), 10u);
  for (const EventState& state : *states.value) EXPECT_FALSE(state.enabled);
  rig.disk.set_temperature(311);
  rig.world.run_for(Duration::s(5));
  EXPECT_TRUE(rig.reports.empty());
}

TEST(AsyncEvents, EnabledOnesAreReported) {
  EventRig rig;
  EXPECT_TRUE(rig.enable({{kTemperature, true}, {kReady, true}}).items.empty());
  const auto states = rig.requester.supported_events(kDriveEid).wait();
  EXPECT_TRUE(states.value->at(0).enabled);
  rig.disk.set_temperature(311);
  rig.disk.set_percentage_used(9);  // not enabled
  rig.world.run_for(Duration::s(30));
  ASSERT_EQ(rig.reports.size(), 1u) << "acknowledged, so that it is not sent again";
  ASSERT_EQ(rig.reports[0].list.items.size(), 1u);
  EXPECT_EQ(rig.reports[0].list.items[0].id, kTemperature);
  EXPECT_EQ(rig.reports[0].list.items[0].scope, EventScope::subsystem);
  rig.disk.find_controller(2)->write_register(0x14, 0x00460001);
  rig.world.run_for(Duration::s(30));
  ASSERT_EQ(rig.reports.size(), 2u);
  EXPECT_EQ(rig.reports[1].list.items[0].context, 2u);
  EXPECT_EQ(rig.reports[1].list.items[0].scope, EventScope::controller);
  EXPECT_NE(rig.reports[1].list.generation, rig.reports[0].list.generation);
}

TEST(AsyncEvents, TheMessageItself) {
  EventRig rig;
  rig.enable({{kTemperature, true}});
  rig.packets.seen.clear();
  rig.disk.set_temperature(311);
  rig.world.run_for(Duration::ms(1));
  const auto packets = rig.packets.from(test::kDriveEid);
  ASSERT_FALSE(packets.empty());
  EXPECT_TRUE(packets[0].owner());
  EXPECT_EQ(to_hex(packets[0].payload().first(4)), "84280000");
  const Bytes message(packets[0].payload().begin(), packets[0].payload().end());
  EXPECT_TRUE(mic_ok(message));
}

TEST(AsyncEvents, TheDelayGathers) {
  EventRig rig;
  rig.enable({{kTemperature, true}, {static_cast<std::uint8_t>(EventId::available_spare), true}}, {.delay_s = 3});
  rig.disk.set_temperature(311);
  rig.world.run_for(Duration::s(2));
  EXPECT_TRUE(rig.reports.empty());
  rig.disk.set_available_spare(50);
  rig.disk.set_temperature(312);
  rig.world.run_for(Duration::ms(1100));
  ASSERT_EQ(rig.reports.size(), 1u);
  EXPECT_EQ(rig.reports[0].list.items.size(), 2u) << "the same occurrence is not told twice";
}

TEST(AsyncEvents, RepeatedUntilAcknowledged) {
  EventRig rig(false);
  rig.enable({{kTemperature, true}}, {.retry_100ms = 5});
  rig.disk.set_temperature(311);
  rig.world.run_for(Duration::ms(1600));
  ASSERT_EQ(rig.reports.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rig.reports[i].list.generation, rig.reports[0].list.generation);
    EXPECT_EQ(rig.reports[i].list.retry, i);
    EXPECT_EQ(rig.reports[i].list.items.empty(), i != 0) << "nothing new";
  }
  rig.disk.set_temperature(312);
  const auto rest = rig.requester.acknowledge_events(kDriveEid).wait();
  ASSERT_TRUE(rest.ok());
  ASSERT_EQ(rest.value->items.size(), 1u) << "what came since is in the answer";
  rig.world.run_for(Duration::s(60));
  EXPECT_EQ(rig.reports.size(), 4u);
}

TEST(AsyncEvents, NotForEver) {
  EventRig rig(false);
  rig.enable({{kTemperature, true}}, {.retry_100ms = 1});
  rig.disk.set_temperature(311);
  EXPECT_TRUE(rig.world.run_until_idle());
  EXPECT_EQ(rig.reports.size(), 8u) << "one and seven more: three bits count them";
}

TEST(AsyncEvents, DisabledAgain) {
  EventRig rig;
  rig.enable({{kTemperature, true}});
  rig.enable({{kTemperature, false}});
  rig.disk.set_temperature(311);
  rig.world.run_for(Duration::s(5));
  EXPECT_TRUE(rig.reports.empty());
  rig.enable({{kTemperature, true}});
  rig.endpoint.reset();
  rig.disk.set_temperature(312);
  rig.world.run_for(Duration::s(5));
  EXPECT_TRUE(rig.reports.empty()) << "a reset disables";
}

TEST(AsyncEvents, PauseHoldsThem) {
  EventRig rig;
  rig.enable({{kTemperature, true}});
  ASSERT_TRUE(rig.requester.primitive(kDriveEid, Primitive::pause).wait().ok());
  rig.disk.set_temperature(311);
  rig.world.run_for(Duration::s(2));
  EXPECT_TRUE(rig.reports.empty());
  ASSERT_TRUE(rig.requester.primitive(kDriveEid, Primitive::resume).wait().ok());
  rig.world.run_for(Duration::ms(10));
  EXPECT_EQ(rig.reports.size(), 1u);
}

TEST(AsyncEvents, WhoseEvents) {
  EventRig rig;
  rig.enable({{kReady, true}}, {.controllers = false});
  rig.disk.find_controller(1)->write_register(0x14, 0x00460001);
  rig.world.run_for(Duration::s(1));
  ASSERT_EQ(rig.reports.size(), 1u);
  EXPECT_EQ(rig.reports[0].list.items[0].scope, EventScope::subsystem);
  EXPECT_EQ(rig.reports[0].list.items[0].context, 0u);
}

TEST(AsyncEvents, LinksOfPorts) {
  EventRig rig;
  rig.enable({{static_cast<std::uint8_t>(EventId::pcie_link_active), true}});
  rig.device.set_link(0, false);
  rig.world.run_for(Duration::s(1));
  ASSERT_EQ(rig.reports.size(), 1u);
  EXPECT_EQ(rig.reports[0].list.items[0].scope, EventScope::port);
}

TEST(AsyncEvents, MalformedLists) {
  Rig rig;
  struct Case {
    const char* list;
    const char* answer;
  };
  const Case cases[] = {
      {"", "8488000006000000"},  // nothing where a list must be
      {"0100", "8488000006000000"},
      {"0100090005030680", "8488000006000000"},  // longer than it is
      {"0101080005030680", "8488000004001100"},  // version
      {"0100080006030680", "8488000004001400"},  // header length
      {"0100080005040680", "8488000004001500"},  // item length
      {"0200080005030680", "8488000004001000"},  // count
      {"0100080005030a80", "8488000004001600"},  // an event that is not there
      {"010008000503ff80", "8488000004001600"},
  };
  for (const Case& entry : cases) {
    const auto answers = rig.exchange(mi_message(Opcode::configuration_set, 4, 0, from_hex(entry.list)));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(to_hex(answers[0]), entry.answer) << entry.list;
  }
}

}  // namespace
}  // namespace fb::mi
