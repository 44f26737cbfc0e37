#include <gtest/gtest.h>

#include "tests/model/subsystem/rig.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;

struct Case {
  const char* name;
  ConnectWords words;
  nvme::Status status;
  std::uint32_t dw0;
};

constexpr std::uint32_t in_command(unsigned offset) { return offset; }
constexpr std::uint32_t in_data(unsigned offset) { return offset | 1u << 16; }

class AdminConnect : public ::testing::TestWithParam<Case> {};

TEST_P(AdminConnect, IsRefused) {
  SubsystemOptions options;
  options.allow_any_host = false;
  options.allowed_hosts = {kHostNqn};
  Rig rig(options);
  Line line = rig.open();
  const Reply reply = Rig::connect(line, GetParam().words);
  EXPECT_EQ(nvme::to_string(reply.code().of(nvme::StatusFamily::fabrics)), nvme::to_string(GetParam().status));
  EXPECT_EQ(reply.dw0(), GetParam().dw0);
  // The connection lives, and the honest Connect succeeds on it.
  EXPECT_TRUE(Rig::connect(line, {}).status().ok());
}

ConnectWords with(auto&& change) {
  ConnectWords words;
  change(words);
  return words;
}

INSTANTIATE_TEST_SUITE_P(
    Table, AdminConnect,
    ::testing::Values(
        Case{"recfmt", with([](auto& w) { w.recfmt = 1; }), sc::incompatible_format, 0},
        Case{"sqsize_zero", with([](auto& w) { w.sqsize = 0; }), sc::connect_invalid_parameters, in_command(44)},
        Case{"sqsize_large", with([](auto& w) { w.sqsize = 32; }), sc::connect_invalid_parameters, in_command(44)},
        Case{"qid_other_than_transport", with([](auto& w) { w.qid = 1; }), sc::connect_invalid_parameters, in_command(42)},
        Case{"subnqn_unknown", with([](auto& w) { w.subnqn = "nqn.2026-11.org.fabricbench:other"; }), sc::connect_invalid_parameters,
             in_data(256)},
        Case{"subnqn_syntax", with([](auto& w) { w.subnqn = "disk"; }), sc::connect_invalid_parameters, in_data(256)},
        Case{"subnqn_unterminated", with([](auto& w) { w.subnqn = std::string(256, 'n'); }), sc::connect_invalid_parameters, in_data(256)},
        Case{"hostnqn_empty", with([](auto& w) { w.hostnqn = ""; }), sc::connect_invalid_parameters, in_data(512)},
        Case{"hostnqn_unterminated", with([](auto& w) { w.hostnqn = std::string(256, 'n'); }), sc::connect_invalid_parameters,
             in_data(512)},
        Case{"host_not_allowed", with([](auto& w) { w.hostnqn = "nqn.2026-11.org.fabricbench:eve"; }), sc::connect_invalid_host, 0},
        Case{"hostid_zero", with([](auto& w) { w.hostid = 0; }), sc::connect_invalid_parameters, in_data(0)},
        Case{"cntlid_static_form", with([](auto& w) { w.cntlid = 0xFFFE; }), sc::connect_invalid_parameters, in_data(16)},
        Case{"cntlid_reserved", with([](auto& w) { w.cntlid = 0xFFF5; }), sc::connect_invalid_parameters, in_data(16)},
        Case{"kato_above_maximum", with([](auto& w) { w.kato = 0xFFFFFFFF; }), sc::keep_alive_timeout_invalid, 0}),
    [](const auto& param) { return param.param.name; });

TEST(Connect, GivesAControllerAndCountsTheQueueHead) {
  Rig rig;
  Line line = rig.open();
  const Reply reply = Rig::connect(line, {});
  ASSERT_TRUE(reply.status().ok());
  EXPECT_LT(reply.dw0() & 0xFFFF, 0xFFF0u);
  EXPECT_EQ(reply.dw0() >> 16, 0u);
  EXPECT_EQ(reply.sqhd(), 1);
  EXPECT_EQ(line.send(property_get(0x08, 0)).sqhd(), 2);
}

TEST(Connect, IdentifiersOfTwoHostsDiffer) {
  Rig rig;
  const auto one = rig.start();
  const auto two = rig.start();
  EXPECT_NE(one.cntlid, two.cntlid);
}

TEST(Connect, NothingIsExecutedBefore) {
  Rig rig;
  Line line = rig.open();
  EXPECT_EQ(line.send(property_get(0x08, 0)).code(), sc::command_sequence_error);
  EXPECT_EQ(line.fetch(identify(nvme::Cns::controller).bytes(), 4096).code(), sc::command_sequence_error);
}

TEST(Connect, OnceAQueue) {
  Rig rig;
  auto session = rig.start();
  EXPECT_EQ(Rig::connect(session.admin, {}).code(), sc::command_sequence_error);
  EXPECT_TRUE(session.admin.send(property_get(0x08, 0)).status().ok());
}

TEST(Connect, ShortDataIsNotReadBeyond) {
  Rig rig;
  Line line = rig.open();
  const Reply reply = line.send(ConnectWords{}.sqe(), Bytes(512));
  EXPECT_EQ(reply.code(), sc::data_sgl_length_invalid);
}

class IoConnect : public ::testing::TestWithParam<Case> {};

TEST_P(IoConnect, IsRefused) {
  Rig rig;
  const auto session = rig.start();
  ConnectWords words = GetParam().words;
  if (words.cntlid == 0xFFFF) words.cntlid = session.cntlid;
  Line line = rig.open(words.qid);
  const Reply reply = Rig::connect(line, words);
  EXPECT_EQ(nvme::to_string(reply.code().of(nvme::StatusFamily::fabrics)), nvme::to_string(GetParam().status));
  EXPECT_EQ(reply.dw0(), GetParam().dw0);
  EXPECT_FALSE(session.admin.closed());
}

ConnectWords io_with(auto&& change) {
  ConnectWords words;
  words.qid = 1;
  words.sqsize = 127;
  change(words);
  return words;
}

INSTANTIATE_TEST_SUITE_P(
    Table, IoConnect,
    ::testing::Values(Case{"sqsize_zero", io_with([](auto& w) { w.sqsize = 0; }), sc::connect_invalid_parameters, in_command(44)},
                      Case{"sqsize_above_mqes", io_with([](auto& w) { w.sqsize = 128; }), sc::connect_invalid_parameters, in_command(44)},
                      Case{"qid_above_limit", io_with([](auto& w) { w.qid = 17; }), sc::connect_invalid_parameters, in_command(42)},
                      Case{"cntlid", io_with([](auto& w) { w.cntlid = 77; }), sc::connect_invalid_parameters, in_data(16)},
                      Case{"hostnqn", io_with([](auto& w) { w.hostnqn = "nqn.2026-11.org.fabricbench:eve"; }),
                           sc::connect_invalid_parameters, in_data(512)},
                      Case{"hostid", io_with([](auto& w) { w.hostid = 0x78; }), sc::connect_invalid_parameters, in_data(0)}),
    [](const auto& param) { return param.param.name; });

TEST(IoConnect, TheSameQueueTwice) {
  Rig rig;
  const auto session = rig.start();
  Line io = rig.start_io(session);
  Line again = rig.open(1);
  ConnectWords words = io_with([](auto&) {});
  words.cntlid = session.cntlid;
  EXPECT_EQ(Rig::connect(again, words).code(), sc::command_sequence_error);
  EXPECT_FALSE(io.closed());
}

TEST(IoConnect, ZeroHostIdentifierIsIgnored) {
  Rig rig;
  const auto session = rig.start();
  ConnectWords words = io_with([](auto& w) { w.hostid = 0; });
  words.cntlid = session.cntlid;
  Line line = rig.open(1);
  EXPECT_TRUE(Rig::connect(line, words).status().ok());
}

TEST(IoConnect, NotBeforeReady) {
  Rig rig;
  Line admin = rig.open();
  const Reply reply = Rig::connect(admin, {});
  ConnectWords words = io_with([](auto&) {});
  words.cntlid = static_cast<std::uint16_t>(reply.dw0());
  Line line = rig.open(1);
  EXPECT_EQ(Rig::connect(line, words).code(), sc::connect_invalid_parameters);
}

TEST(IoConnect, FlowControlOffIsAgreedTo) {
  Rig rig;
  const auto session = rig.start();
  ConnectWords words = io_with([](auto& w) { w.cattr = 4; });
  words.cntlid = session.cntlid;
  Line line = rig.open(1);
  EXPECT_EQ(Rig::connect(line, words).sqhd(), 0xFFFF);
  EXPECT_EQ(line.send(command(nvme::IoOpcode::flush, 1).bytes()).sqhd(), 0);
}

TEST(StaticModel, BusyFreeAndReserved) {
  SubsystemOptions options;
  options.controllers = ControllerModel::static_controllers;
  options.static_cntlids = {5, 6};
  Rig rig(options);
  Line first = rig.open();
  EXPECT_EQ(Rig::connect(first, with([](auto& w) { w.cntlid = 6; })).dw0(), 6u);
  Line second = rig.open();
  EXPECT_EQ(Rig::connect(second, with([](auto& w) { w.cntlid = 6; })).code(), sc::controller_busy);
  EXPECT_EQ(Rig::connect(second, {}).code(), sc::connect_invalid_parameters);
  EXPECT_EQ(Rig::connect(second, with([](auto& w) { w.cntlid = 9; })).dw0(), in_data(16));
  EXPECT_EQ(Rig::connect(second, with([](auto& w) { w.cntlid = 0xFFFE; })).dw0(), 5u);
  Line third = rig.open();
  EXPECT_EQ(Rig::connect(third, with([](auto& w) { w.cntlid = 0xFFFE; })).code(), sc::controller_busy);
  first.lose();
  rig.world->run_for(Duration::ms(1));
  EXPECT_EQ(Rig::connect(third, with([](auto& w) { w.cntlid = 0xFFFE; })).dw0(), 6u);
}

}  // namespace
}  // namespace fb::subsystem::test
