// The polls follow the model's events; what changed is each endpoint's own.
#include <gtest/gtest.h>

#include "model/mi/basic_management.h"
#include "tests/model/mi/rig.h"
#include "wire/fabrics/property.h"
#include "wire/mctp/crc.h"

namespace fb::mi {
namespace {

using test::kDriveEid;
using test::Rig;
using test::RigOptions;

Record<SubsystemHealth> poll(Rig& rig, bool clear = false) {
  const auto answer = rig.requester.poll_subsystem(kDriveEid, clear).wait();
  EXPECT_TRUE(answer.ok());
  return answer.value.value_or(Record<SubsystemHealth>{});
}
std::uint16_t changes(Rig& rig, bool clear = false) { return poll(rig, clear).get(subsystem_health::ccs); }

struct Cause {
  const char* what;
  std::uint16_t bits;
  void (*make)(Rig&);
};

void enable(Rig& rig, std::uint16_t cntlid) {
  rig.disk.find_controller(cntlid)->write_register(fabrics::property::cc, 0x00460001);
  rig.world.run_for(Duration::ms(5));
}

const Cause kCauses[] = {
    {"temperature", change_bits::ctemp, [](Rig& rig) { rig.disk.set_temperature(311); }},
    {"life", change_bits::pdlu, [](Rig& rig) { rig.disk.set_percentage_used(3); }},
    {"spare", change_bits::spare, [](Rig& rig) { rig.disk.set_available_spare(90); }},
    {"warning", change_bits::cwarn, [](Rig& rig) { rig.disk.set_critical_warning(4); }},
    {"namespace", change_bits::nac | change_bits::csts, [](Rig& rig) { (void)rig.disk.add_namespace({}); }},
    {"enable", change_bits::rdy | change_bits::ceco | change_bits::csts, [](Rig& rig) { enable(rig, 1); }},
    {"shutdown", change_bits::shst | change_bits::csts, [](Rig& rig) { rig.disk.find_controller(2)->shut_down(); }},
    {"fatal", change_bits::cfs | change_bits::ceco | change_bits::csts,
     [](Rig& rig) { rig.disk.find_controller(1)->write_register(fabrics::property::cc, 0x1); }},
};

TEST(Health, EachEventSetsItsBitsUntilCleared) {
  for (const Cause& cause : kCauses) {
    Rig rig;
    EXPECT_EQ(changes(rig), 0u);
    cause.make(rig);
    EXPECT_EQ(changes(rig), cause.bits) << cause.what;
    EXPECT_EQ(changes(rig, true), cause.bits) << cause.what << ": clearing comes after telling";
    EXPECT_EQ(changes(rig), 0u) << cause.what;
  }
}

TEST(Health, TheSameValueAgainIsNoChange) {
  Rig rig;
  rig.disk.set_temperature(rig.disk.temperature());
  rig.disk.set_percentage_used(0);
  rig.disk.set_available_spare(100);
  rig.disk.set_critical_warning(0);
  EXPECT_EQ(changes(rig), 0u);
}

TEST(Health, ConfigurationSetClearsByItsOwnNumbers) {
  for (unsigned position = 0; position < kClearBits; ++position) {
    Rig rig;
    for (const Cause& cause : kCauses) cause.make(rig);
    const std::uint16_t before = changes(rig);
    ASSERT_TRUE(rig.requester.clear_health(kDriveEid, 1u << position).wait().ok());
    EXPECT_EQ(changes(rig), before & ~change_bit_of_clear(position)) << position;
  }
}

TEST(Health, EachEndpointHasItsOwnChanges) {
  Rig rig;
  auto port = rig.segment.attach("second", 0x3C);
  mctp::Endpoint end(rig.world, *port, {.name = "second", .eid = 10});
  end.set_route(8, 8, mctp::smbus_address(0x20));
  rig.requester_end.set_route(10, 10, mctp::smbus_address(0x3C));
  Endpoint second(rig.world, rig.device, end, {.port = 0});
  rig.disk.set_temperature(311);
  EXPECT_EQ(changes(rig, true), change_bits::ctemp);
  EXPECT_EQ(changes(rig), 0u);
  EXPECT_EQ(rig.requester.poll_subsystem(10).wait().value->get(subsystem_health::ccs), change_bits::ctemp);
  ASSERT_TRUE(rig.requester.write_buffer(10, 0, {1}).wait().ok());
  EXPECT_EQ(rig.requester.read_buffer(kDriveEid, 0, 1).wait().value->at(0), 0) << "buffers are not shared";
}

TEST(Health, StatusBits) {
  Rig rig;
  rig.disk.set_critical_warning(0x15);
  rig.disk.set_percentage_used(255);
  EXPECT_EQ(poll(rig).get(subsystem_health::sw), 0xEA);
  EXPECT_EQ(poll(rig).get(subsystem_health::pdlu), 255);
  for (const auto& [kelvins, code] : {std::pair{400, 0x7F}, std::pair{213, 0xC4}, std::pair{272, 0xFF}}) {
    rig.disk.set_temperature(static_cast<std::uint16_t>(kelvins));
    EXPECT_EQ(poll(rig).get(subsystem_health::ctemp), code);
  }
  rig.device.set_sensor(Sensor::stale);
  EXPECT_EQ(poll(rig).get(subsystem_health::ctemp), 0x80);
  rig.device.set_sensor(Sensor::failed);
  EXPECT_EQ(poll(rig).get(subsystem_health::ctemp), 0x81);
  rig.device.set_link(0, false);
  rig.device.set_functional(false);
  rig.device.set_reset_required(true);
  rig.device.set_sanitize_failed(true);
  EXPECT_EQ(poll(rig).bytes()[0], 0x40);
}

TEST(ControllerPoll, EntriesAndSmart) {
  Rig rig;
  rig.disk.set_temperature(320);
  rig.disk.set_percentage_used(7);
  enable(rig, 2);
  const auto all = rig.requester.poll_controllers(kDriveEid, {}).wait();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all.value->size(), 2u);
  EXPECT_EQ(all.reply.nmresp() >> 16 & 0xFF, 2u) << "RENT counts from 1";
  const auto& one = all.value->at(0);
  EXPECT_EQ(one.get(controller_health::ctlid), 1);
  EXPECT_FALSE(one.get(controller_health::rdy));
  EXPECT_EQ(one.get(controller_health::ctemp), 320);
  EXPECT_EQ(one.get(controller_health::pdlu), 7);
  EXPECT_EQ(one.get(controller_health::spare), 100);
  EXPECT_TRUE(all.value->at(1).get(controller_health::rdy));
  EXPECT_TRUE(all.value->at(1).get(controller_health::ceco));
  EXPECT_FALSE(one.get(controller_health::ceco));
}

TEST(ControllerPoll, MaximumAndStart) {
  RigOptions options;
  options.subsystem.static_cntlids = {1, 2, 5, 9};
  Rig rig(options);
  const auto ids = [&](Requester::PollTerms terms) {
    const auto answer = rig.requester.poll_controllers(kDriveEid, terms).wait();
    std::vector<unsigned> found;
    for (const auto& entry : answer.value.value()) found.push_back(entry.get(controller_health::ctlid));
    return found;
  };
  using List = std::vector<unsigned>;
  EXPECT_EQ(ids({}), (List{1, 2, 5, 9}));
  EXPECT_EQ(ids({.entries_max = 2}), (List{1, 2}));
  EXPECT_EQ(ids({.first = 3, .entries_max = 1}), (List{5}));
  EXPECT_EQ(ids({.first = 10}), List{});
}

TEST(ControllerPoll, FiltersByKindOfFunction) {
  RigOptions options;
  options.subsystem.static_cntlids = {1, 2, 3};
  options.device.functions = {{2, FunctionKind::physical}, {3, FunctionKind::virtual_function}};
  Rig rig(options);
  for (unsigned mask = 0; mask < 8; ++mask) {
    const auto answer =
        rig.requester
            .poll_controllers(kDriveEid, {.plain = (mask & 1) != 0, .physical = (mask & 2) != 0, .virtual_functions = (mask & 4) != 0})
            .wait();
    unsigned seen = 0;
    for (const auto& entry : answer.value.value()) seen |= 1u << (entry.get(controller_health::ctlid) - 1u);
    EXPECT_EQ(seen, mask);
  }
}

TEST(ControllerPoll, SelectsByWhatChanged) {
  Rig rig;
  const auto selected = [&](std::uint8_t selection) {
    const auto answer = rig.requester.poll_controllers(kDriveEid, {.all = false, .selection = selection}).wait();
    return answer.value.value().size();
  };
  for (unsigned bit = 0; bit < 5; ++bit) EXPECT_EQ(selected(static_cast<std::uint8_t>(1u << bit)), 0u);
  rig.disk.set_temperature(311);
  EXPECT_EQ(selected(2), 2u);
  EXPECT_EQ(selected(0x1D), 0u);
  EXPECT_EQ(selected(0), 0u);
  enable(rig, 1);
  EXPECT_EQ(selected(1), 1u);
  rig.disk.set_percentage_used(1);
  EXPECT_EQ(selected(4), 2u);
  rig.disk.set_available_spare(1);
  EXPECT_EQ(selected(8), 2u);
  rig.disk.set_critical_warning(1);
  EXPECT_EQ(selected(16), 2u);
}

TEST(ControllerPoll, ClearsWhatItReturned) {
  Rig rig;
  rig.disk.set_temperature(311);
  const auto first = rig.requester.poll_controllers(kDriveEid, {.entries_max = 1, .clear = true}).wait();
  EXPECT_EQ(first.value->at(0).get(controller_health::chsc), change_bits::ctemp);
  const auto both = rig.requester.poll_controllers(kDriveEid, {}).wait();
  EXPECT_EQ(both.value->at(0).get(controller_health::chsc), 0);
  EXPECT_EQ(both.value->at(1).get(controller_health::chsc), change_bits::ctemp);
  EXPECT_EQ(changes(rig), change_bits::ctemp) << "the composite status is not touched";
}

TEST(ControllerPoll, OldRevisionsCountFromZero) {
  RigOptions options;
  options.device.revision = Revision::r1_0;
  Rig rig(options);
  const Reply reply = rig.requester.command(kDriveEid, Opcode::controller_health_poll, 0x87FE0000).wait();
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply.nmresp() >> 16, 1u);
  EXPECT_EQ(reply.data().size(), 32u);
}

TEST(BasicManagement, SaysWhatThePollSays) {
  RigOptions options;
  options.subsystem.serial = "S1";
  options.subsystem.vid = 0x1234;
  Rig rig(options);
  rig.disk.set_percentage_used(2);
  auto block = basic_management(rig.device);
  EXPECT_EQ(to_hex(block).substr(0, 14), "06bbff25020000");
  EXPECT_EQ(to_hex(ByteView{block}.subspan(8, 23)),
            "16"
            "1234"
            "5331"
            "202020202020202020202020202020202020");
  EXPECT_EQ(basic_management(rig.device, false)[7], 0xC6) << "as it was computed elsewhere";
  const std::uint8_t before[] = {0xD4, 0x00, 0xD5};
  EXPECT_EQ(block[7], mctp::pec(ByteView{block}.first(7), mctp::pec(before)));
  rig.disk.set_critical_warning(1);
  block = basic_management(rig.device, false);
  EXPECT_EQ(block[1], 0x3B);
  EXPECT_EQ(block[2], 0xFE);
}

}  // namespace
}  // namespace fb::mi
