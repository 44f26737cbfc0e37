// Cross-Controller Reset: the bytes of the command and of the two log pages, by the figures of the specification.
#include "wire/nvme/cross_controller_reset.h"

#include <gtest/gtest.h>

namespace fb::nvme {
namespace {

TEST(CrossControllerResetLayouts, TheCommandHasItsFieldsInDwords10To13) {
  Record<CrossControllerResetSqe> command;
  command.set(ccr_sqe::icid, 0x1234).set(ccr_sqe::ciu, 0x56).set(ccr_sqe::cirn, 0x1122334455667788);
  const ByteView bytes = command.bytes();
  EXPECT_EQ(load_le<std::uint32_t>(&bytes[40]), 0x00561234u);
  EXPECT_EQ(load_le<std::uint32_t>(&bytes[48]), 0x55667788u);
  EXPECT_EQ(load_le<std::uint32_t>(&bytes[52]), 0x11223344u);
}

TEST(CrossControllerResetLayouts, AnEntryOfTheLogHasEightBytes) {
  const CcrEntry entry{
      .icid = 0x0201, .ciu = 3, .acid = 0x0605, .status = CcrStatus::failed, .validated = true, .retry = CcrRetry::alternate};
  const Bytes page = make_ccr_log({&entry, 1});
  ASSERT_EQ(page.size(), 4096u);
  const Bytes expected = {1, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x02, 3, 0, 0x05, 0x06, 2, 0x05};
  EXPECT_EQ(Bytes(page.begin(), page.begin() + 16), expected);
  EXPECT_EQ(read_ccr_log(page), std::vector<CcrEntry>{entry});
}

TEST(CrossControllerResetLayouts, AnEntryOfTheLostHostLogHasEightBytes) {
  const LostHostEntry entry{.cntlid = 0x0201, .losses = 4, .ciu = 9};
  const Bytes page = make_lost_host_log({&entry, 1});
  const Bytes expected = {1, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x02, 4, 9, 0, 0, 0, 0};
  EXPECT_EQ(Bytes(page.begin(), page.begin() + 16), expected);
  EXPECT_EQ(read_lost_host_log(page), std::vector<LostHostEntry>{entry});
}

TEST(CrossControllerResetLayouts, APageWithMoreEntriesThanRoomIsReadAsFarAsItGoes) {
  Bytes page(20);
  page[0] = 0xFF;
  EXPECT_EQ(read_ccr_log(page).size(), 1u);
  EXPECT_TRUE(read_lost_host_log(Bytes(4)).empty());
}

TEST(CrossControllerResetLayouts, APageHoldsFiveHundredAndEleven) {
  const std::vector<CcrEntry> many(600);
  EXPECT_EQ(read_ccr_log(make_ccr_log(many)).size(), 511u);
}

}  // namespace
}  // namespace fb::nvme
