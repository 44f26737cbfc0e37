// The layouts of the Zoned Namespace command set, and the readers of what a controller sends.
#include "wire/nvme/zones.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "wire/nvme/status.h"

#if __has_include(<nvme/types.h>)
#include <nvme/types.h>
#define FB_HAS_LIBNVME 1
#endif

namespace fb::nvme {
namespace {

TEST(ZoneLayouts, CommandsStandWhereTheyShould) {
  Sqe sqe;
  sqe.edit<ZoneSendSqe>()
      .set(zone_send_sqe::slba, 0x1122334455667788)
      .set(zone_send_sqe::zsa, ZoneSendAction::reset)
      .set(zone_send_sqe::select_all, true);
  EXPECT_EQ(sqe.get(sqe::cdw10), 0x55667788u);
  EXPECT_EQ(sqe.get(sqe::cdw11), 0x11223344u);
  EXPECT_EQ(sqe.get(sqe::cdw13), 0x104u);
  sqe.edit<ZoneSendSqe>()
      .set(zone_send_sqe::zsa, ZoneSendAction::flush_explicit_zrwa)
      .set(zone_send_sqe::select_all, false)
      .set(zone_send_sqe::zrwaa, true);
  EXPECT_EQ(sqe.get(sqe::cdw13), 0x211u);
  Sqe report;
  report.edit<ZoneReceiveSqe>()
      .set(zone_receive_sqe::numd, ZeroBased<std::uint32_t>::of(64))
      .set(zone_receive_sqe::zra, ZoneReceiveAction::extended_report)
      .set(zone_receive_sqe::zrasf, ZoneReporting::closed)
      .set(zone_receive_sqe::partial, true);
  EXPECT_EQ(report.get(sqe::cdw12), 63u);
  EXPECT_EQ(report.get(sqe::cdw13), 0x10401u);
  Sqe append;
  append.edit<ZoneAppendSqe>().set(zone_append_sqe::piremap, true).set(rw_sqe::nlb, ZeroBased<std::uint16_t>::of(8));
  EXPECT_EQ(append.get(sqe::cdw12), 0x02000007u);
}

#ifdef FB_HAS_LIBNVME

TEST(ZoneLayouts, RandomWriteAreasStandWhereLibnvmeHasThem) {
  EXPECT_EQ(id_ns_zoned::numzrwa.offset, offsetof(struct nvme_zns_id_ns, numzrwa));
  EXPECT_EQ(id_ns_zoned::zrwafg.offset, offsetof(struct nvme_zns_id_ns, zrwafg));
  EXPECT_EQ(id_ns_zoned::zrwasz.offset, offsetof(struct nvme_zns_id_ns, zrwasz));
  EXPECT_EQ(id_ns_zoned::zrwacap.offset, offsetof(struct nvme_zns_id_ns, zrwacap));
  EXPECT_EQ(id_ns_zoned::lbafe.offset, offsetof(struct nvme_zns_id_ns, lbafe));
  EXPECT_EQ(int{zone_attribute_bits::zrwa_valid}, int{NVME_ZNS_ZA_ZRWAV});
  EXPECT_EQ(static_cast<int>(ZoneSendAction::flush_explicit_zrwa), static_cast<int>(NVME_ZNS_ZSA_ZRWA_FLUSH));
  EXPECT_EQ(sc::invalid_zone_operation_request, Status::make(1, NVME_SC_ZNS_INVALID_OP_REQUEST));
  EXPECT_EQ(sc::zrwa_resources_unavailable, Status::make(1, NVME_SC_ZNS_ZRWA_RESOURCES_UNAVAILABLE));
}

#endif

TEST(ZoneLayouts, PagesStandWhereTheyShould) {
  EXPECT_EQ(id_ns_zoned::lbafe.offset, 2816u);
  EXPECT_EQ(id_ns_zoned::frl3.offset, 40u);
  Bytes page(kIdentifySize);
  edit_element<LbaFormatExtension>(page, id_ns_zoned::lbafe, 2).set(lba_format_extension::zsze, 0x40).set(lba_format_extension::zdes, 3u);
  EXPECT_EQ(page[2816 + 32], 0x40);
  EXPECT_EQ(page[2816 + 40], 3);
}

TEST(ZoneReports, AreReadAsTheyWereWritten) {
  Bytes report(64 + 2 * 128);
  store_le<std::uint64_t>(report.data(), 2);
  ZoneFacts zone{
      .start = 64, .capacity = 48, .write_pointer = 70, .state = ZoneState::closed, .attributes = 0x80, .extension = Bytes(64, 0x42)};
  write_zone(MutableBytes{report}.subspan(64, 128), zone);
  EXPECT_EQ(report[64], 2);
  EXPECT_EQ(report[65], 0x40);
  EXPECT_EQ(report[66], 0x80);
  zone.start = 128;
  write_zone(MutableBytes{report}.subspan(192, 128), zone);
  const auto zones = read_zone_report(report, 64);
  ASSERT_EQ(zones.size(), 2u);
  EXPECT_EQ(zones[0].start, 64u);
  EXPECT_EQ(zones[0].capacity, 48u);
  EXPECT_EQ(zones[0].write_pointer, 70u);
  EXPECT_EQ(zones[0].state, ZoneState::closed);
  EXPECT_EQ(zones[0].extension, Bytes(64, 0x42));
  EXPECT_EQ(zones[1].start, 128u);
}

TEST(ZoneReports, EndWithTheData) {
  Bytes report(64 + 64 + 63);
  store_le<std::uint64_t>(report.data(), ~std::uint64_t{0});
  EXPECT_EQ(read_zone_report(report).size(), 1u);
  EXPECT_TRUE(read_zone_report(ByteView{report}.first(63)).empty());
  EXPECT_TRUE(read_zone_report(report, 1u << 20).empty());
}

TEST(ChangedZoneLists, AreReadAsTheyWereWritten) {
  const Bytes log = write_changed_zones({.starts = {0, 64, 1u << 30}});
  EXPECT_EQ(log.size(), 4096u);
  EXPECT_EQ(log[0], 3);
  EXPECT_EQ(read_changed_zones(log).starts, (std::vector<std::uint64_t>{0, 64, 1u << 30}));
  const Bytes many = write_changed_zones({.starts = std::vector<std::uint64_t>(512)});
  EXPECT_TRUE(read_changed_zones(many).too_many);
  Bytes cut(24);
  cut[0] = 200;
  EXPECT_EQ(read_changed_zones(cut).starts.size(), 2u);
  EXPECT_TRUE(read_changed_zones(ByteView{cut}.first(7)).starts.empty());
}

TEST(ZoneStates, HaveNames) {
  EXPECT_EQ(name_of(ZoneState::implicitly_opened), "implicitly opened");
  EXPECT_EQ(name_of(static_cast<ZoneState>(0)), "reserved");
}

}  // namespace
}  // namespace fb::nvme
