// The layouts of Get LBA Status, and the readers of what a controller sends.
#include "wire/nvme/lba_status.h"

#include <gtest/gtest.h>

namespace fb::nvme {
namespace {

TEST(LbaStatusLayouts, CommandStandsWhereItShould) {
  Sqe sqe;
  sqe.edit<GetLbaStatusSqe>()
      .set(lba_status_sqe::slba, 0x1122334455667788)
      .set(lba_status_sqe::mndw, ZeroBased<std::uint32_t>::of(64))
      .set(lba_status_sqe::rl, 9u)
      .set(lba_status_sqe::atype, LbaStatusAction::tracked);
  EXPECT_EQ(sqe.get(sqe::cdw10), 0x55667788u);
  EXPECT_EQ(sqe.get(sqe::cdw11), 0x11223344u);
  EXPECT_EQ(sqe.get(sqe::cdw12), 63u);
  EXPECT_EQ(sqe.get(sqe::cdw13), 0x11000009u);
}

TEST(LbaStatusLists, AreReadAsTheyWereWritten) {
  const LbaStatus entries[] = {{7, 1, LbaRangeStatus::marked}, {9, kLbaRangeMax, LbaRangeStatus::unrecoverable}};
  Bytes list(8 + 40);
  EXPECT_EQ(write_lba_statuses(list, entries), 2u);
  EXPECT_EQ(list[0], 2);
  EXPECT_EQ(list[8 + 13], 3);
  EXPECT_EQ(load_le<std::uint32_t>(&list[24 + 8]), 0xFFFFFFFFu);
  const auto read = read_lba_statuses(list);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].count, 1u);
  EXPECT_EQ(read[1].first, 9u);
  EXPECT_EQ(read[1].count, kLbaRangeMax);
  EXPECT_EQ(write_lba_statuses(MutableBytes{list}.first(30), entries), 1u);
  store_le<std::uint32_t>(list.data(), ~std::uint32_t{0});
  EXPECT_EQ(read_lba_statuses(list).size(), 2u);
  EXPECT_TRUE(read_lba_statuses(ByteView{list}.first(7)).empty());
}

TEST(LbaStatusLogs, AreReadAsTheyWereWritten) {
  const LbaStatusRanges namespaces[] = {{.nsid = 3, .action = LbaStatusAction::scan, .everywhere = false, .ranges = {{4, 5}, {10, 1}}},
                                        {.nsid = 8, .action = LbaStatusAction::tracked, .everywhere = true, .ranges = {}}};
  Bytes log = make_lba_status_log(77, namespaces);
  EXPECT_EQ(log.size(), 16u + 16 + 32 + 16);
  log.resize(512);
  const LbaStatusLog read = read_lba_status_log(log);
  EXPECT_FALSE(read.damaged);
  EXPECT_EQ(read.length, 80u);
  EXPECT_EQ(read.estimate, 6u);
  EXPECT_EQ(read.generation, 77);
  ASSERT_EQ(read.namespaces.size(), 2u);
  EXPECT_EQ(read.namespaces[0].nsid, 3u);
  EXPECT_EQ(read.namespaces[0].action, LbaStatusAction::scan);
  ASSERT_EQ(read.namespaces[0].ranges.size(), 2u);
  EXPECT_EQ(read.namespaces[0].ranges[1].first, 10u);
  EXPECT_TRUE(read.namespaces[1].everywhere);
}

TEST(LbaStatusLogs, SayWhatLeavesThem) {
  const LbaStatusRanges one[] = {{.nsid = 3, .action = LbaStatusAction::scan, .everywhere = false, .ranges = {{4, 5}}}};
  Bytes log = make_lba_status_log(1, one);
  for (const std::uint32_t length : {0u, 16u, 20u, 47u}) {
    store_le(log.data(), length);
    EXPECT_TRUE(read_lba_status_log(log).damaged) << length;
  }
  EXPECT_TRUE(read_lba_status_log(ByteView{log}.first(15)).damaged);
}

}  // namespace
}  // namespace fb::nvme
