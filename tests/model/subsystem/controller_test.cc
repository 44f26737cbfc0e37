// Properties, enable, reset, shutdown, keep alive.
#include <gtest/gtest.h>

#include "tests/model/subsystem/rig.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
namespace prop = fabrics::property;

constexpr std::uint32_t kRdy = 1, kCfs = 2, kShstDone = 2u << 2;

TEST(StateTable, OnlyTheseStepsExist) {
  using S = ControllerState;
  using E = ControllerEvent;
  EXPECT_EQ(next_state(S::disabled, E::enable), S::enabling);
  EXPECT_EQ(next_state(S::enabling, E::enabled), S::ready);
  EXPECT_EQ(next_state(S::ready, E::reset), S::resetting);
  EXPECT_EQ(next_state(S::resetting, E::reset_done), S::disabled);
  EXPECT_EQ(next_state(S::shut_down, E::enable), S::enabling);
  EXPECT_EQ(next_state(S::shut_down, E::reset), S::resetting);
  EXPECT_FALSE(next_state(S::ready, E::enable));
  EXPECT_FALSE(next_state(S::failed, E::enable));
  EXPECT_FALSE(next_state(S::disabled, E::reset));
  EXPECT_FALSE(next_state(S::shutting_down, E::enabled));
  EXPECT_FALSE(next_state(S::failed, E::fail));
}

TEST(Properties, Values) {
  Rig rig;
  auto session = rig.start();
  const Reply cap = session.admin.send(property_get(prop::cap, 1));
  ASSERT_TRUE(cap.status().ok());
  const std::uint64_t value = cap.dw0() | std::uint64_t{cap.cqe.get(nvme::cqe::dw1)} << 32;
  const auto record = record_from_integer<fabrics::Cap>(value);
  EXPECT_EQ(record.get(fabrics::cap::mqes).count(), 128u);
  EXPECT_TRUE(record.get(fabrics::cap::cqr));
  EXPECT_EQ(record.get(fabrics::cap::dstrd), 0u);
  EXPECT_GE(record.get(fabrics::cap::mpsmax), record.get(fabrics::cap::mpsmin));
  EXPECT_EQ(rig.property(session.admin, prop::vs), 0x20000u);
  EXPECT_EQ(rig.property(session.admin, prop::cc), 0x00460001u);
  EXPECT_EQ(rig.property(session.admin, prop::csts), kRdy);
  EXPECT_EQ(rig.property(session.admin, prop::nssr), 0u);
  const auto crto = record_from_integer<fabrics::Crto>(rig.property(session.admin, prop::crto));
  EXPECT_GE(crto.get(fabrics::crto::crwmt), crto.get(fabrics::crto::crimt));
}

TEST(Properties, WrongOnes) {
  Rig rig;
  auto session = rig.start();
  for (const Bytes& sqe : {property_get(prop::cap, 0), property_get(prop::vs, 1), property_get(0x24, 0), property_get(0x1304, 0),
                           property_get(0x09, 0), property_get(prop::vs, 2), property_set(prop::cap, 0, 1), property_set(prop::vs, 0),
                           property_set(prop::crto, 0), property_set(prop::cc, 1, 1), property_set(0x28, 0)}) {
    const Reply reply = session.admin.send(sqe);
    EXPECT_EQ(reply.code(), sc::invalid_field) << to_hex(sqe);
  }
  Line io = rig.start_io(session);
  EXPECT_EQ(io.send(property_get(prop::vs, 0)).code(), sc::invalid_field);
  Bytes unknown = property_get(prop::vs, 0);
  unknown[4] = 0x33;
  EXPECT_EQ(session.admin.send(unknown).code(), sc::invalid_field);
}

TEST(Properties, OlderVersionHasNoCrto) {
  SubsystemOptions options;
  options.version = fabrics::version(1, 4, 0);
  Rig rig(options);
  auto session = rig.start();
  EXPECT_EQ(session.admin.send(property_get(prop::crto, 0)).code(), sc::invalid_field);
  EXPECT_EQ(session.admin.fetch(get_log(0, 1024).bytes(), 1024).code(), sc::invalid_log_page);
  EXPECT_EQ(session.admin.fetch(identify(nvme::Cns::command_set_combinations).bytes(), 4096).code(), sc::invalid_field);
}

TEST(Enable, TakesItsTimeAndRefusesABadConfiguration) {
  Rig rig;
  Line line = rig.open();
  Rig::connect(line, {});
  EXPECT_EQ(rig.property(line, prop::csts), 0u);
  EXPECT_EQ(line.fetch(identify(nvme::Cns::controller).bytes(), 4096).code(), sc::command_sequence_error);
  line.send(property_set(prop::cc, 0x00450001));  // IOSQES 5
  rig.world->run_for(Duration::s(20));
  EXPECT_EQ(rig.property(line, prop::csts), kCfs);
  line.send(property_set(prop::cc, 0));
  EXPECT_EQ(rig.property(line, prop::csts), 0u);
  line.send(property_set(prop::cc, 0x00460001));
  EXPECT_EQ(rig.property(line, prop::csts), 0u);
  rig.world->run_for(Duration::ms(1));
  EXPECT_EQ(rig.property(line, prop::csts), kRdy);
}

TEST(Reset, DropsQueuesAndRequestsAndKeepsTheAdminQueue) {
  Rig rig;
  auto session = rig.start();
  Line io = rig.start_io(session);
  session.admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  session.admin.send(set_feature(0x0B, 0x100).bytes());
  session.admin.send(property_set(prop::cc, 0x00460000));
  EXPECT_EQ(rig.property(session.admin, prop::csts), 0u);
  EXPECT_TRUE(io.closed());
  EXPECT_EQ(session.admin.wire().dropped, 1u);
  EXPECT_TRUE(session.admin.replies().empty());
  rig.enable(session.admin);
  EXPECT_EQ(session.admin.send(get_feature(0x0B).bytes()).dw0(), 0u);
  Line again = rig.start_io(session);
  EXPECT_TRUE(again.send(command(nvme::IoOpcode::flush, 1).bytes()).status().ok());
}

TEST(Shutdown, OnlyFabricsCommandsAfterwards) {
  Rig rig;
  ConnectWords words;
  words.kato = 2000;
  auto session = rig.start(words);
  Line io = rig.start_io(session);
  session.admin.send(property_set(prop::cc, 0x00464001));
  EXPECT_EQ(rig.property(session.admin, prop::csts) & 0xC, 1u << 2);
  rig.world->run_for(Duration::ms(2));
  EXPECT_EQ(rig.property(session.admin, prop::csts), kShstDone | kRdy);
  EXPECT_EQ(session.admin.fetch(identify(nvme::Cns::controller).bytes(), 4096).code(), sc::command_sequence_error);
  EXPECT_EQ(io.send(command(nvme::IoOpcode::flush, 1).bytes()).code(), sc::command_sequence_error);
  rig.world->run_for(Duration::s(100));  // the keep alive timer stands still
  EXPECT_FALSE(session.admin.closed());
  session.admin.send(property_set(prop::cc, 0));
  EXPECT_EQ(rig.property(session.admin, prop::csts), 0u);
  rig.enable(session.admin);
  EXPECT_EQ(rig.property(session.admin, prop::csts), kRdy);
}

TEST(Shutdown, OfADisabledControllerIsLeftByEnabling) {
  Rig rig;
  Line line = rig.open();
  Rig::connect(line, {});
  line.send(property_set(prop::cc, 0x00464000));
  rig.world->run_for(Duration::ms(2));
  EXPECT_EQ(rig.property(line, prop::csts), kShstDone);
  rig.enable(line);
  EXPECT_EQ(rig.property(line, prop::csts), kRdy);
}

TEST(SubsystemReset, EndsEveryAssociation) {
  Rig rig;
  auto one = rig.start();
  auto two = rig.start();
  EXPECT_TRUE(one.admin.send(property_set(prop::nssr, 0x12345678)).status().ok());
  rig.world->run_for(Duration::ms(10));
  EXPECT_FALSE(two.admin.closed());
  EXPECT_TRUE(one.admin.send(property_set(prop::nssr, fabrics::kNssrValue)).status().ok());
  rig.world->run_for(Duration::ms(10));
  EXPECT_TRUE(one.admin.closed());
  EXPECT_TRUE(two.admin.closed());
}

TEST(Association, IsDroppedWhenNeverEnabled) {
  Rig rig;
  Line line = rig.open();
  Rig::connect(line, {});
  rig.world->run_for(Duration::s(121));
  EXPECT_FALSE(line.closed());
  rig.world->run_for(Duration::s(60));
  EXPECT_TRUE(line.closed());
  EXPECT_EQ(rig.disk->controllers().size(), 0u);
  EXPECT_EQ(rig.target.port().queues(), 0u);
}

TEST(KeepAlive, ExpiresAfterTheTimeoutAndNotBefore) {
  SubsystemOptions options;
  options.controllers = ControllerModel::static_controllers;
  Rig rig(options);
  ConnectWords words;
  words.kato = 1500;  // two seconds in units of one
  words.cntlid = 3;
  auto session = rig.start(words);
  EXPECT_EQ(session.admin.send(get_feature(0x0F).bytes()).dw0(), 2000u);
  for (int i = 0; i < 5; ++i) {
    rig.world->run_for(Duration::ms(1900));
    EXPECT_TRUE(session.admin.send(command(nvme::AdminOpcode::keep_alive).bytes()).status().ok());
  }
  rig.world->run_for(Duration::ms(2000));
  EXPECT_FALSE(session.admin.closed());
  rig.world->run_for(Duration::ms(2));
  EXPECT_TRUE(session.admin.closed());
  // A new association with the same controller finds it in the error log.
  auto again = rig.start(words);
  const Reply log = again.admin.fetch(get_log(1, 64).bytes(), 64);
  EXPECT_EQ(View<nvme::ErrorEntry>{log.data}.get(nvme::error_entry::status).code(), sc::keep_alive_timer_expired);
}

TEST(KeepAlive, DoesNotRunWhileDisabled) {
  Rig rig;
  ConnectWords words;
  words.kato = 1000;
  Line line = rig.open();
  Rig::connect(line, words);
  rig.world->run_for(Duration::s(60));
  EXPECT_FALSE(line.closed());
}

TEST(KeepAlive, TrafficCounts) {
  SubsystemOptions options;
  options.traffic_based_keep_alive = true;
  Rig rig(options);
  ConnectWords words;
  words.kato = 1000;
  auto session = rig.start(words);
  Line io = rig.start_io(session);
  for (int i = 0; i < 10; ++i) {
    rig.world->run_for(Duration::ms(900));
    EXPECT_TRUE(io.send(command(nvme::IoOpcode::flush, 1).bytes()).status().ok());
  }
  rig.world->run_for(Duration::ms(2003));
  EXPECT_TRUE(io.closed());
}

TEST(KeepAlive, FeatureRules) {
  Rig rig;
  auto session = rig.start();
  EXPECT_EQ(session.admin.send(set_feature(0x0F, 0).bytes()).code(), sc::keep_alive_timeout_invalid);
  EXPECT_EQ(session.admin.send(set_feature(0x0F, 0xFFFFFFFF).bytes()).code(), sc::keep_alive_timeout_invalid);
  EXPECT_TRUE(session.admin.send(set_feature(0x0F, 4100).bytes()).status().ok());
  EXPECT_EQ(session.admin.send(get_feature(0x0F).bytes()).dw0(), 5000u);
  rig.world->run_for(Duration::ms(5002));
  EXPECT_TRUE(session.admin.closed());
}

TEST(KeepAlive, NotOffered) {
  SubsystemOptions options;
  options.kas = 0;
  Rig rig(options);
  auto session = rig.start();
  EXPECT_EQ(session.admin.send(command(nvme::AdminOpcode::keep_alive).bytes()).code(), sc::invalid_opcode);
  EXPECT_EQ(session.admin.send(set_feature(0x0F, 1000).bytes()).code(), sc::invalid_field);
}

}  // namespace
}  // namespace fb::subsystem::test
