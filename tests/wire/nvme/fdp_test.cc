// The layouts of Flexible Data Placement, held against the structures of libnvme, and the readers of what a controller sends.
#include "wire/nvme/fdp.h"

#include <gtest/gtest.h>

#include <cstddef>

#if __has_include(<nvme/types.h>)
#include <nvme/types.h>
#define FB_HAS_LIBNVME 1
#endif

namespace fb::nvme {
namespace {

struct Place {
  const char* name;
  std::size_t ours, theirs;
};

#ifdef FB_HAS_LIBNVME

#define FB_PLACE(field, structure, member) \
  Place { #member, field.offset, offsetof(struct structure, member) }

TEST(FdpLayouts, FieldsStandWhereLibnvmeHasThem) {
  const Place places[] = {
      FB_PLACE(fdp_configurations::numfdpc, nvme_fdp_config_log, n),
      FB_PLACE(fdp_configurations::ver, nvme_fdp_config_log, version),
      FB_PLACE(fdp_configurations::sze, nvme_fdp_config_log, size),
      FB_PLACE(fdp_configuration::dsze, nvme_fdp_config_desc, size),
      FB_PLACE(fdp_configuration::rgif, nvme_fdp_config_desc, fdpa),
      FB_PLACE(fdp_configuration::vss, nvme_fdp_config_desc, vss),
      FB_PLACE(fdp_configuration::nrg, nvme_fdp_config_desc, nrg),
      FB_PLACE(fdp_configuration::nruh, nvme_fdp_config_desc, nruh),
      FB_PLACE(fdp_configuration::maxpids, nvme_fdp_config_desc, maxpids),
      FB_PLACE(fdp_configuration::nns, nvme_fdp_config_desc, nnss),
      FB_PLACE(fdp_configuration::runs, nvme_fdp_config_desc, runs),
      FB_PLACE(fdp_configuration::erutl, nvme_fdp_config_desc, erutl),
      FB_PLACE(reclaim_unit_handle::ruht, nvme_fdp_ruh_desc, ruht),
      FB_PLACE(handle_usage::nruh, nvme_fdp_ruhu_log, nruh),
      FB_PLACE(handle_usage_descriptor::ruha, nvme_fdp_ruhu_desc, ruha),
      FB_PLACE(fdp_statistics::hbmw, nvme_fdp_stats_log, hbmw),
      FB_PLACE(fdp_statistics::mbmw, nvme_fdp_stats_log, mbmw),
      FB_PLACE(fdp_statistics::mbe, nvme_fdp_stats_log, mbe),
      FB_PLACE(fdp_events::numfdpe, nvme_fdp_events_log, n),
      FB_PLACE(fdp_event::etyp, nvme_fdp_event, type),
      FB_PLACE(fdp_event::piv, nvme_fdp_event, flags),
      FB_PLACE(fdp_event::pid, nvme_fdp_event, pid),
      FB_PLACE(fdp_event::etmsp, nvme_fdp_event, ts),
      FB_PLACE(fdp_event::nsid, nvme_fdp_event, nsid),
      FB_PLACE(fdp_event::etsp, nvme_fdp_event, type_specific),
      FB_PLACE(fdp_event::rgid, nvme_fdp_event, rgid),
      FB_PLACE(fdp_event::ruhid, nvme_fdp_event, ruhid),
      FB_PLACE(fdp_event::vs, nvme_fdp_event, vs),
      FB_PLACE(fdp_events_feature::phndl, nvme_feat_fdp_events_cdw11, phndl),
      FB_PLACE(fdp_events_feature::noet, nvme_feat_fdp_events_cdw11, noet),
      FB_PLACE(fdp_event_support::fdpet, nvme_fdp_supported_event_desc, evt),
      FB_PLACE(fdp_event_support::fdpee, nvme_fdp_supported_event_desc, evta),
      FB_PLACE(handle_status::nruhsd, nvme_fdp_ruh_status, nruhsd),
      FB_PLACE(handle_status_descriptor::pid, nvme_fdp_ruh_status_desc, pid),
      FB_PLACE(handle_status_descriptor::ruhid, nvme_fdp_ruh_status_desc, ruhid),
      FB_PLACE(handle_status_descriptor::earutr, nvme_fdp_ruh_status_desc, earutr),
      FB_PLACE(handle_status_descriptor::ruamw, nvme_fdp_ruh_status_desc, ruamw),
      {"configs", FdpConfigurationsHeader::size, offsetof(struct nvme_fdp_config_log, configs)},
      {"ruhs", FdpConfigurationDescriptor::size, offsetof(struct nvme_fdp_config_desc, ruhs)},
      {"ruhus", HandleUsageHeader::size, offsetof(struct nvme_fdp_ruhu_log, ruhus)},
      {"events", FdpEventsHeader::size, offsetof(struct nvme_fdp_events_log, events)},
      {"ruhss", HandleStatusHeader::size, offsetof(struct nvme_fdp_ruh_status, ruhss)},
      {"event", FdpEvent::size, sizeof(struct nvme_fdp_event)},
      {"statistics", FdpStatistics::size, sizeof(struct nvme_fdp_stats_log)},
      {"status", HandleStatusDescriptor::size, sizeof(struct nvme_fdp_ruh_status_desc)},
      {"usage", HandleUsageDescriptor::size, sizeof(struct nvme_fdp_ruhu_desc)},
  };
  for (const Place& place : places) EXPECT_EQ(place.ours, place.theirs) << place.name;
}

#endif

// nlbam and lba of libnvme 1.3's struct nvme_fdp_event_realloc are not at 2 and 4: its structure is not packed.
TEST(FdpLayouts, MediaReallocatedStandsAsTheSpecificationHasIt) {
  EXPECT_EQ(media_reallocated::nlbam.offset, 2u);
  EXPECT_EQ(media_reallocated::lba.offset, 4u);
}

TEST(FdpLayouts, CommandsStandWhereTheyShould) {
  Sqe sqe;
  sqe.edit<IoManagementReceiveSqe>().set(io_management_sqe::mo, 1u).set(io_management_sqe::mos, 0x1234u).set(io_management_sqe::numd, 7u);
  EXPECT_EQ(sqe.get(sqe::cdw10), 0x12340001u);
  EXPECT_EQ(sqe.get(sqe::cdw11), 7u);
}

TEST(PlacementIdentifiers, HaveTheirGroupInTheUpperBits) {
  EXPECT_EQ(placement_id(2, 5, 4), 0x2005);
  EXPECT_EQ(reclaim_group_of(0x2005, 4), 2u);
  EXPECT_EQ(placement_handle_of(0x2005, 4), 5u);
  EXPECT_EQ(placement_id(1, 5, 0), 5);
  EXPECT_EQ(placement_handle_of(0xF005, 0), 0xF005u);
}

TEST(FdpConfigurations, AreReadAsTheyWereWritten) {
  FdpConfigurationFacts one;
  one.group_bits = 3;
  one.valid = true;
  one.reclaim_groups = 5;
  one.identifiers_max = 7;
  one.namespaces = 9;
  one.unit_bytes = 1 << 20;
  one.time_limit_s = 60;
  one.handles = {ReclaimUnitHandleType::initially_isolated, ReclaimUnitHandleType::persistently_isolated,
                 ReclaimUnitHandleType::initially_isolated};
  const FdpConfigurationFacts both[] = {one, {.reclaim_groups = 1, .handles = {ReclaimUnitHandleType::initially_isolated}}};
  Bytes log = make_fdp_configurations(both);
  EXPECT_EQ(log.size(), 16u + 80 + 72);
  EXPECT_EQ(log[0], 1);
  log.resize(512);
  const FdpConfigurationsLog read = read_fdp_configurations(log);
  EXPECT_FALSE(read.damaged);
  EXPECT_EQ(read.size, 168u);
  ASSERT_EQ(read.configurations.size(), 2u);
  EXPECT_EQ(read.configurations[0].group_bits, 3u);
  EXPECT_EQ(read.configurations[0].identifiers_max, 7u);
  EXPECT_EQ(read.configurations[0].unit_bytes, 1u << 20);
  ASSERT_EQ(read.configurations[0].handles.size(), 3u);
  EXPECT_EQ(read.configurations[0].handles[1], ReclaimUnitHandleType::persistently_isolated);
  EXPECT_TRUE(read_fdp_configurations(ByteView{log}.first(40)).damaged);
}

TEST(HandleStatuses, AreReadAsTheyWereWritten) {
  const HandleStatus two[] = {{0x1002, 3, 60, 1000}, {0x2002, 3, 0, 7}};
  const Bytes data = make_handle_statuses(two);
  ASSERT_EQ(data.size(), 80u);
  EXPECT_EQ(data[14], 2);
  const auto read = read_handle_statuses(data);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].id, 0x1002);
  EXPECT_EQ(read[1].blocks_left, 7u);
  EXPECT_EQ(read_handle_statuses(ByteView{data}.first(79)).size(), 1u);
}

}  // namespace
}  // namespace fb::nvme
