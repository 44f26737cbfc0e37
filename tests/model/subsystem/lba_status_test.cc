// Get LBA Status, its log page, feature and event.
#include "tests/model/subsystem/lba_status_session.h"

#include <gtest/gtest.h>

#include "wire/nvme/events.h"
#include "wire/nvme/identify_controller.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::LbaRangeStatus;
using nvme::LbaStatus;
using nvme::LbaStatusAction;

class LbaStatusTest : public ::testing::Test {
 protected:
  std::vector<LbaStatus> ask(LbaStatusAction action, std::uint64_t slba = 0, unsigned blocks = 0, std::size_t bytes = 1024) {
    const Reply reply = host_.admin.fetch(lba_status(static_cast<unsigned>(action), slba, blocks, bytes).bytes(), bytes);
    EXPECT_TRUE(reply.status().ok()) << nvme::to_string(reply.status());
    condition_ = View<nvme::LbaStatusListHeader>{reply.data}.get(nvme::lba_status_list::cmpc);
    return nvme::read_lba_statuses(reply.data);
  }
  nvme::LbaStatusLog log(bool retain) {
    const Reply reply = host_.admin.fetch(lba_status_log(retain).bytes(), 512);
    EXPECT_TRUE(reply.status().ok());
    return nvme::read_lba_status_log(reply.data);
  }
  void spoil(std::uint64_t lba, unsigned blocks) {
    ASSERT_TRUE(host_.io.send(rw(nvme::IoOpcode::write_uncorrectable, lba, blocks, 1).bytes()).status().ok());
  }
  Namespace& ns() { return *rig_.disk->find_namespace(1); }
  bool alerted() {
    const bool told = !host_.admin.replies().empty();
    if (told) {
      EXPECT_EQ(host_.admin.replies().front().dw0() & 0xFFFFFF, 0x0E0502u);
    }
    host_.admin.replies().clear();
    return told;
  }
  void listen() { host_.admin.post(command(nvme::AdminOpcode::async_event_request).bytes()); }

  Rig rig_;
  Managing host_{rig_, ConnectWords{}};
  nvme::LbaStatusCondition condition_ = nvme::LbaStatusCondition::not_told;
};

TEST_F(LbaStatusTest, TellsMarkedBlocksAndLostOnesApart) {
  spoil(10, 4);
  rig_.disk->damage_blocks(ns(), 20, 2);
  rig_.disk->damage_blocks(ns(), 14, 1);
  const auto found = ask(LbaStatusAction::tracked);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, 10u);
  EXPECT_EQ(found[0].count, 5u);
  EXPECT_EQ(found[0].status, LbaRangeStatus::unrecoverable);
  EXPECT_EQ(found[1].first, 20u);
  EXPECT_EQ(condition_, nvme::LbaStatusCondition::complete);
  spoil(20, 2);
  EXPECT_EQ(ask(LbaStatusAction::tracked).back().status, LbaRangeStatus::marked);
}

TEST_F(LbaStatusTest, KeepsToTheRangeAndTheRoom) {
  for (const unsigned lba : {10u, 20u, 30u}) spoil(lba, 4);
  const auto found = ask(LbaStatusAction::tracked, 12, 19);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found.front().first, 12u);
  EXPECT_EQ(found.back().count, 1u);
  EXPECT_EQ(ask(LbaStatusAction::tracked, 0, 0, 8 + 32).size(), 2u);
  EXPECT_EQ(condition_, nvme::LbaStatusCondition::incomplete);
}

TEST_F(LbaStatusTest, WhatIsWrittenIsMended) {
  spoil(10, 4);
  rig_.disk->damage_blocks(ns(), 20, 4);
  EXPECT_TRUE(host_.write(1, 8, 1, 4).status().ok());
  EXPECT_TRUE(host_.write(1, 21, 1, 1).status().ok());
  const auto found = ask(LbaStatusAction::scan);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].first, 12u);
  EXPECT_EQ(found[1].count, 1u);
  EXPECT_EQ(found[2].first, 22u);
}

TEST_F(LbaStatusTest, ScansAndReadsFindWhatNobodyKnew) {
  rig_.disk->fail_media(ns(), 40, 8);
  EXPECT_TRUE(ask(LbaStatusAction::tracked).empty());
  EXPECT_EQ(host_.read(1, 41).code(), sc::unrecovered_read_error);
  ASSERT_EQ(ask(LbaStatusAction::tracked).size(), 1u);
  EXPECT_EQ(ask(LbaStatusAction::tracked)[0].count, 1u);
  EXPECT_EQ(ask(LbaStatusAction::scan)[0].count, 8u);
}

TEST_F(LbaStatusTest, RefusesWhatMakesNoSense) {
  const auto refused = [&](const nvme::Sqe& sqe) { return host_.admin.fetch(sqe.bytes(), 64).code(); };
  EXPECT_EQ(refused(lba_status(0x12, 0, 0, 64)), sc::invalid_field);
  EXPECT_EQ(refused(lba_status(0x11, ns().blocks(), 0, 64)), sc::lba_out_of_range);
  EXPECT_EQ(refused(lba_status(0x11, ns().blocks() - 4, 5, 64)), sc::lba_out_of_range);
  EXPECT_EQ(refused(lba_status(0x11, 0, 0, 64, 9)), sc::invalid_field);
  EXPECT_EQ(refused(lba_status(0x11, 0, 0, 64, 0xFFFFFFFF)), sc::invalid_field);
}

TEST_F(LbaStatusTest, LogStaysWhileItIsReadAndCountsNews) {
  EXPECT_TRUE(log(false).namespaces.empty());
  spoil(10, 4);
  const auto first = log(true);
  ASSERT_EQ(first.namespaces.size(), 1u);
  EXPECT_EQ(first.generation, 1);
  EXPECT_EQ(first.estimate, 4u);
  spoil(20, 4);
  EXPECT_EQ(log(true).namespaces[0].ranges.size(), 1u);
  const auto after = log(false);
  EXPECT_EQ(after.generation, 2);
  EXPECT_EQ(after.namespaces[0].ranges.size(), 2u);
  EXPECT_FALSE(after.damaged);
  EXPECT_EQ(log(false).generation, 2);
}

TEST_F(LbaStatusTest, AlertsWaitForTheReportInterval) {
  ASSERT_TRUE(host_.admin.send(set_feature(0x0B, 0x2000).bytes()).status().ok());
  EXPECT_EQ(host_.admin.send(set_feature(0x15, 0x0005).bytes()).dw0(), 0x000A000Au);
  EXPECT_EQ(host_.admin.send(set_feature(0x15, 0x000F).bytes()).dw0(), 0x000A000Fu);
  listen();
  rig_.disk->damage_blocks(ns(), 5, 1);
  rig_.world->run_for(Duration::ms(1400));
  EXPECT_FALSE(alerted());
  rig_.world->run_for(Duration::ms(200));
  EXPECT_TRUE(alerted());
  // Until the host has read, there is nothing more to tell.
  listen();
  rig_.disk->damage_blocks(ns(), 6, 1);
  rig_.world->run_for(Duration::s(5));
  EXPECT_FALSE(alerted());
  (void)log(false);
  rig_.disk->damage_blocks(ns(), 7, 1);
  rig_.world->run_for(Duration::s(5));
  EXPECT_TRUE(alerted());
}

TEST_F(LbaStatusTest, FailuresAreToldAtOnceAndOnce) {
  ASSERT_TRUE(host_.admin.send(set_feature(0x0B, 0x2000).bytes()).status().ok());
  listen();
  rig_.disk->fail_media(ns(), 64, 16);
  EXPECT_TRUE(alerted());
  const auto told = log(true);
  ASSERT_EQ(told.namespaces.size(), 1u);
  EXPECT_EQ(told.namespaces[0].action, LbaStatusAction::scan);
  EXPECT_EQ(told.namespaces[0].ranges[0].count, 16u);
  (void)log(false);
  EXPECT_TRUE(log(false).namespaces.empty());
  EXPECT_EQ(ask(LbaStatusAction::scan).size(), 1u);
  EXPECT_EQ(log(false).namespaces[0].action, LbaStatusAction::tracked);
}

TEST(LbaStatusClaims, GoTogether) {
  for (const bool supported : {true, false}) {
    SubsystemOptions options;
    options.lba_status.supported = supported;
    Rig rig(options);
    Managing host(rig, ConnectWords{});
    const Reply page = host.admin.fetch(identify(nvme::Cns::controller).bytes(), 4096);
    const View<nvme::IdentifyController> id{page.data};
    EXPECT_EQ((id.get(nvme::id_ctrl::oacs) & nvme::oacs_bits::get_lba_status) != 0, supported);
    EXPECT_EQ((id.get(nvme::id_ctrl::oaes) & 1u << 13) != 0, supported);
    EXPECT_EQ(host.admin.fetch(lba_status_log(true).bytes(), 512).status().ok(), supported);
    EXPECT_EQ(host.admin.send(get_feature(0x15).bytes()).status().ok(), supported);
    EXPECT_EQ(host.admin.fetch(lba_status(0x11, 0, 0, 64).bytes(), 64).status().ok(), supported);
  }
}

}  // namespace
}  // namespace fb::subsystem::test
